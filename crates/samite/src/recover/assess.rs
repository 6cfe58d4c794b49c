//! What is known of a step in doubt, and what follows from it.

use super::Site;
use crate::payload::SettledBy;
use crate::probe;
use crate::step::{InDoubt, Resolution, Settled};
use crate::workspace::RESTORE;
use crate::writer::Writer;
use samite_host::supervise::{Exit, Recorded, Standing, end_or_find, sign_of_life};
use samite_model::recovery::{Decision, Known, Look, Workspace, decide};
use samite_model::step::{Effect, Evidence, OutcomeKind, Verdict};
use samite_model::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long recovery waits for what still runs to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A step in doubt with what to do about it.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// The step.
    pub doubt: InDoubt,
    /// What to do.
    pub decision: Decision,
    /// What was seen.
    pub evidence: Option<Evidence>,
    /// What the writer itself, or the branch that a fork left, recorded as its output.
    pub recorded_output: Option<Value>,
}

impl Assessment {
    /// Whether there is something to carry out, without a person or a wait.
    pub fn is_decided(&self) -> bool {
        matches!(self.decision, Decision::RunAgain | Decision::PutBackAndRunAgain | Decision::Completed)
    }

    /// The resolution that lets the step run again.
    pub(crate) fn did_not(&self) -> Resolution {
        Resolution { what: Settled::DidNot, by: self.settled_by(), evidence: self.evidence.clone(), note: None }
    }

    /// The resolution that it happened.
    pub(crate) fn happened(&self) -> Resolution {
        let output = self.recorded_output.clone().unwrap_or_else(
            || serde_json::json!({ "happened": self.evidence.as_ref().map(|evidence| evidence.seen.clone()) }),
        );
        Resolution {
            what: Settled::Happened(output),
            by: self.settled_by(),
            evidence: self.evidence.clone(),
            note: None,
        }
    }

    fn settled_by(&self) -> SettledBy {
        if matches!(self.doubt.step.started.effect, Effect::Observable { .. }) {
            SettledBy::Probe
        } else {
            SettledBy::Effect
        }
    }
}

/// The processes of a step, as its start records them.
pub(crate) fn process_value(recorded: &Recorded, life: &str) -> Result<Value> {
    let process = StepProcess { supervised: data_encoding::HEXLOWER.encode(&recorded.encode()), life: life.to_owned() };
    serde_json::to_value(process).map_err(|error| Error::internal("unserialisable", "a process record").because(error))
}

/// The processes of a step, as its start records them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StepProcess {
    /// The supervisor's record, in hexadecimal digits.
    supervised: String,
    /// The name of its sign of life.
    life: String,
}

impl StepProcess {
    fn recorded(&self, site: &Site) -> Result<Recorded> {
        let bytes = data_encoding::HEXLOWER
            .decode(self.supervised.as_bytes())
            .map_err(|_| Error::corrupt("bad_process", "a step's processes are not recorded as they should be"))?;
        Ok(Recorded::decode(&bytes)?.with_sign_of_life(&self.life_path(site)))
    }

    fn life_path(&self, site: &Site) -> PathBuf {
        // The name comes from the log: only its last part is used.
        let name = Path::new(&self.life).file_name().unwrap_or_default();
        site.lives.join(name)
    }
}

impl Writer {
    /// Finds out about a step in doubt: ends what still runs, looks with its probe, compares the workspace. Nothing is
    /// written.
    ///
    /// # Errors
    /// `unavailable` when the process table cannot be read; `corrupt` when an entry cannot.
    pub async fn assess(&self, doubt: &InDoubt, site: &Site) -> Result<Assessment> {
        let step = &doubt.step;
        let process: Option<StepProcess> =
            step.started.process.as_ref().and_then(|value| serde_json::from_value(value.clone()).ok());
        let own = step.start.journal == self.branch();
        let mut alive = false;
        let mut lost_at = None;
        let mut life = None;
        if let (true, Some(process)) = (own, &process) {
            let recorded = process.recorded(site)?;
            life = sign_of_life(&process.life_path(site)).ok().flatten();
            lost_at = life.as_ref().map(|life| life.renewed);
            match end_or_find(&recorded, PATIENCE)? {
                // What cannot be seen from here is not taken for gone.
                Standing::StillRunning(_) | Standing::Unseen => alive = true,
                // Its survivors worked until now.
                Standing::EndedNow => lost_at = Some(self.core().now()),
                Standing::Ended | Standing::OtherBoot => {}
            }
        }
        if !own {
            let (_, open) = self.open_steps(false).await?;
            if let Some(open) = open.iter().find(|open| open.id == step.id) {
                alive = self.parent_is_at_it(open).await?;
            }
        }
        let now = self.core().now();
        let since = |then: i64| u64::try_from(now.saturating_sub(then) / 1_000_000_000).ok();
        // The writer itself said how it ended, in an epoch that had passed or on the branch that a fork left.
        let recorded = doubt
            .recorded
            .iter()
            .find(|ended| ended.kind == OutcomeKind::Completed)
            .filter(|_| own || !matches!(step.started.effect, Effect::Contained { .. }));
        if let (Some(ended), false) = (recorded, alive) {
            let seen = if own {
                "the writer recorded the outcome after another had taken over".to_owned()
            } else {
                format!("branch {} recorded the outcome after this branch left it", step.start.journal.short())
            };
            return Ok(Assessment {
                doubt: doubt.clone(),
                decision: Decision::Completed,
                evidence: Some(Evidence { verdict: Verdict::Happened, seen, paths: Vec::new() }),
                recorded_output: Some(ended.output.clone()),
            });
        }
        if step.started.tool == RESTORE && own {
            // A restore is planned anew from how things stand, so going on with it is always right.
            return Ok(Assessment {
                doubt: doubt.clone(),
                decision: if alive { Decision::Busy } else { Decision::RunAgain },
                evidence: None,
                recorded_output: None,
            });
        }
        let mut evidence = None;
        let mut look = if step.started.probe.is_some() { Look::NotYet } else { Look::NoProbe };
        let mut workspace = Workspace::Unknown;
        if !alive {
            if let (Effect::Observable { .. }, Some(probe)) = (&step.started.effect, &step.started.probe) {
                let seen = probe::look(probe, &probe::Lookout::new(&site.base));
                look = Look::Saw(seen.verdict);
                evidence = Some(seen);
            }
            if let Effect::Contained { within } = &step.started.effect {
                let (standing, seen) = self.workspace_of(step, within, lost_at, site).await?;
                workspace = standing;
                evidence = Some(seen);
            }
        }
        let mut decision = decide(&Known {
            effect: step.started.effect.clone(),
            alive,
            age_seconds: since(step.started_at).unwrap_or(u64::MAX),
            workspace,
            look,
            remote: step.started.probe.as_ref().is_some_and(samite_model::step::Probe::is_remote),
            lost_seconds: since(lost_at.unwrap_or(step.started_at)).unwrap_or(0),
        });
        // Where only a person could tell, the supervisor's last word can: it saw the command end well.
        let ended = life.and_then(|life| life.ended);
        if let (Decision::Ask { .. }, Effect::Opaque | Effect::Observable { .. }, Some((Exit::Code(0), _))) =
            (decision, &step.started.effect, ended)
        {
            decision = Decision::Completed;
            let seen = "its supervisor saw the command end with status 0; its output was not recorded".to_owned();
            evidence = Some(Evidence { verdict: Verdict::Happened, seen, paths: Vec::new() });
        }
        Ok(Assessment { doubt: doubt.clone(), decision, evidence, recorded_output: None })
    }
}
