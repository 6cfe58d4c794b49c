//! What is known of a step in doubt, and what follows from it.

use super::Site;
use super::lost::{self, Fate, LostProcess};
use crate::payload::{SettledBy, StepStarted};
use crate::probe;
use crate::run::argv_of;
use crate::step::{InDoubt, Outcome, Resolution, Settled, StepRecord};
use crate::workspace::RESTORE;
use crate::writer::Writer;
use data_encoding::HEXLOWER;
use samite_host::files;
use samite_host::process::{self, Identity, Liveness};
use samite_host::supervise::{Exit, Recorded, SignOfLife, Standing, end_or_find, find, sign_of_life};
use samite_model::recovery::{Decision, Known, Look, Workspace, decide};
use samite_model::step::{Effect, Evidence, OutcomeKind, Probe, Verdict};
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
    /// The processes that its start names, and what runs of them: none for a step that was carried out elsewhere, and
    /// where another branch says how it ended.
    pub processes: Vec<LostProcess>,
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
    StepProcess {
        supervised: Some(HEXLOWER.encode(&recorded.encode())),
        life: Some(life.to_owned()),
        runner: Some(HEXLOWER.encode(&process::current()?.encode())),
    }
    .value()
}

/// The processes of a step that this process itself carries out.
pub(crate) fn own_process_value() -> Result<Value> {
    let runner = Some(HEXLOWER.encode(&process::current()?.encode()));
    StepProcess { supervised: None, life: None, runner }.value()
}

/// The processes of a step that another process carries out.
pub(crate) fn runner_value(runner: &Identity) -> Result<Value> {
    StepProcess { supervised: None, life: None, runner: Some(HEXLOWER.encode(&runner.encode())) }.value()
}

/// The processes of a step, as its start records them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StepProcess {
    /// The supervisor's record, in hexadecimal digits; none when no command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supervised: Option<String>,
    /// The name of its sign of life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    life: Option<String>,
    /// The process that runs the step and records its outcome, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runner: Option<String>,
}

/// Where the process that runs a step, and would record its outcome, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// The step's start names none.
    NotRecorded,
    /// It runs.
    Alive,
    /// It has ended, so nobody will record an outcome.
    Gone,
    /// It cannot be seen from here.
    Unseen,
}

/// The process that runs a step, and would record its outcome; none where its start names none.
pub(crate) fn runner_of(started: &StepStarted) -> Option<Identity> {
    StepProcess::of(started)?.runner()
}

/// Where the process that runs a step is. Looks, and ends nothing.
pub(crate) fn runner(started: &StepStarted) -> Runner {
    let Some(process) = StepProcess::of(started) else { return Runner::NotRecorded };
    match process.runner().as_ref().map(Identity::liveness) {
        Some(Liveness::Alive) => Runner::Alive,
        Some(Liveness::Gone | Liveness::OtherBoot) => Runner::Gone,
        Some(Liveness::Unknown) => Runner::Unseen,
        None => Runner::NotRecorded,
    }
}

impl StepProcess {
    fn of(started: &StepStarted) -> Option<Self> {
        started.process.as_ref().and_then(|value| serde_json::from_value(value.clone()).ok())
    }

    fn runner(&self) -> Option<Identity> {
        Identity::decode(&HEXLOWER.decode(self.runner.as_ref()?.as_bytes()).ok()?).ok()
    }

    fn value(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|error| Error::internal("unserialisable", "a process record").because(error))
    }

    fn recorded(&self, site: &Site) -> Result<Option<Recorded>> {
        let Some(supervised) = &self.supervised else { return Ok(None) };
        let bytes = HEXLOWER
            .decode(supervised.as_bytes())
            .map_err(|_| Error::corrupt("bad_process", "a step's processes are not recorded as they should be"))?;
        let recorded = Recorded::decode(&bytes)?;
        Ok(Some(match self.life_path(site) {
            Some(life) => recorded.with_sign_of_life(&life),
            None => recorded,
        }))
    }

    fn life_path(&self, site: &Site) -> Option<PathBuf> {
        // The name comes from the log: only its last part is used.
        Some(site.lives.join(Path::new(self.life.as_ref()?).file_name()?))
    }
}

/// When the supervisor of a step gave a sign of life last, in nanoseconds since 1970; none where there is no such sign.
pub(crate) fn signed_at(started: &StepStarted, site: &Site) -> Option<i64> {
    let path = StepProcess::of(started)?.life_path(site)?;
    sign_of_life(&path).ok().flatten().map(|life| life.renewed)
}

/// The processes of a step without an outcome that run, or cannot be seen from here. Looks, and ends nothing.
///
/// # Errors
/// `unavailable` when the process table cannot be read; `corrupt` when the step's start does not name them as it should.
pub(crate) fn running(started: &StepStarted, site: &Site) -> Result<Vec<LostProcess>> {
    let Some(process) = StepProcess::of(started) else { return Ok(Vec::new()) };
    let mut all: Vec<LostProcess> = process.runner().as_ref().map(lost::runner).into_iter().collect();
    if let Some(recorded) = process.recorded(site)? {
        let standing = find(&recorded)?;
        all.extend(lost::supervised(&recorded, &command_of(started), &standing, &standing));
    }
    all.retain(|process| matches!(process.fate, Fate::Running | Fate::Unseen));
    Ok(all)
}

/// The command that a step's start names, as text.
fn command_of(started: &StepStarted) -> Vec<String> {
    let command = argv_of(&started.input).map(|(argv, _)| argv).unwrap_or_default();
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What is known of the processes of a step in doubt.
#[derive(Default)]
struct Processes {
    /// Whether one runs, or cannot be seen from here.
    alive: bool,
    /// The sign of life.
    life: Option<SignOfLife>,
    /// When they were last seen running, in nanoseconds since 1970.
    lost_at: Option<i64>,
    /// When they gave a sign of life last: what changed later need not be theirs, even where some of them still ran.
    signed_at: Option<i64>,
    /// What became of each.
    all: Vec<LostProcess>,
}

/// Where the time is kept at which a step without a sign of life was lost at the latest.
fn doubt_path(step: &StepRecord, site: &Site) -> PathBuf {
    site.lives.join(format!("{}.doubt", step.id))
}

/// Removes what the lives directory holds of a step that is not in doubt any more. A file that stays does no harm.
pub(crate) fn forget_life(step: &StepRecord, site: &Site) {
    if let Some(life) = StepProcess::of(&step.started).and_then(|process| process.life_path(site)) {
        files::remove(&life).ok();
    }
    let path = doubt_path(step, site);
    if files::exists(&path).unwrap_or(false) {
        files::remove(&path).ok();
    }
}

impl Writer {
    /// Finds out about a step in doubt: ends what still runs, looks with its probe, compares the workspace. Nothing is
    /// written.
    ///
    /// # Errors
    /// `unavailable` when the process table cannot be read; `corrupt` when an entry cannot.
    pub async fn assess(&self, doubt: &InDoubt, site: &Site) -> Result<Assessment> {
        self.assess_by(doubt, site, false).await
    }

    /// What is known of the processes of a step in doubt.
    fn processes(&self, step: &StepRecord, site: &Site, only_look: bool) -> Result<Processes> {
        let mut known = Processes::default();
        let Some(process) = StepProcess::of(&step.started) else { return Ok(known) };
        known.all.extend(process.runner().as_ref().map(lost::runner));
        let Some(recorded) = process.recorded(site)? else { return Ok(known) };
        known.life = process.life_path(site).and_then(|path| sign_of_life(&path).ok().flatten());
        known.lost_at = known.life.as_ref().map(|life| life.renewed);
        known.signed_at = known.lost_at;
        // What runs for the branch that a fork left is not this branch's to end.
        let leave = only_look || step.start.journal != self.branch();
        let before = find(&recorded)?;
        let after = if leave { before.clone() } else { end_or_find(&recorded, PATIENCE)? };
        let command = command_of(&step.started);
        // What ran a moment ago and had ended when recovery came to end it was not ended by it.
        let before = if after == Standing::Ended { Standing::Ended } else { before };
        known.all.extend(lost::supervised(&recorded, &command, &before, &after));
        match after {
            // What cannot be seen from here is not taken for gone.
            Standing::StillRunning(_) | Standing::Unseen => known.alive = true,
            Standing::EndedNow => {
                // Its survivors worked until now, and its supervisor, if it was one of them, said so.
                known.lost_at = Some(self.core().now());
                known.signed_at = process
                    .life_path(site)
                    .and_then(|path| sign_of_life(&path).ok().flatten())
                    .map(|life| life.renewed)
                    .or(known.signed_at);
            }
            Standing::Ended | Standing::OtherBoot => {}
        }
        Ok(known)
    }

    /// When a step was lost at the latest that left no sign of life: at the end of its writer's lease where that is
    /// known, else now. The first answer is kept, so that a later look counts from it.
    fn lost_at_the_latest(&self, step: &StepRecord, site: &Site, only_look: bool) -> Result<i64> {
        let path = doubt_path(step, site);
        let kept = files::read_if_exists(&path)?.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok());
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let now = self.core().now();
        let own = step.start.journal == self.branch();
        let lease = self.previous.as_ref().filter(|lease| own && lease.epoch == step.epoch);
        // A lease that was taken over before it expired ended with the takeover.
        let lost = lease.map_or(now, |lease| lease.expires.min(now));
        if !only_look {
            files::write_atomic(&path, lost.to_string().as_bytes(), 0o600)?;
        }
        Ok(lost)
    }

    /// As [`Writer::assess`]; `only_look` ends nothing and keeps nothing.
    pub(crate) async fn assess_by(&self, doubt: &InDoubt, site: &Site, only_look: bool) -> Result<Assessment> {
        let mut processes = Vec::new();
        let assessment = self.assess_seeing(doubt, site, only_look, &mut processes).await?;
        Ok(Assessment { processes, ..assessment })
    }

    /// The same; the processes go to `seen`.
    async fn assess_seeing(
        &self,
        doubt: &InDoubt,
        site: &Site,
        only_look: bool,
        seen: &mut Vec<LostProcess>,
    ) -> Result<Assessment> {
        let step = &doubt.step;
        let own = step.start.journal == self.branch();
        // The branch that a fork left knows best how its step ended.
        let Processes { mut alive, life, lost_at, signed_at, all } = if own || doubt.recorded.is_empty() {
            self.processes(step, site, only_look)?
        } else {
            Processes::default()
        };
        *seen = all;
        if !own && !alive {
            let (_, open) = self.open_steps(false).await?;
            if let Some(open) = open.iter().find(|open| open.id == step.id) {
                alive = self.parent_is_at_it(open).await?;
            }
        }
        let now = self.core().now();
        let since = |then: i64| u64::try_from(now.saturating_sub(then) / 1_000_000_000).ok();
        // The writer itself said how it ended, in an epoch that had passed or on the branch that a fork left. Where it did
        // not, what a doubt was settled to on another branch counts.
        let is_told = doubt.recorded.iter().any(|outcome| outcome.settled.is_none());
        let recorded = doubt
            .recorded
            .iter()
            .find(|ended| ended.kind == OutcomeKind::Completed && ended.settled.is_some() != is_told)
            .filter(|_| own || !matches!(step.started.effect, Effect::Contained { .. }));
        if let (Some(ended), false) = (recorded, alive) {
            let seen = if own {
                "the writer recorded the outcome after another had taken over".to_owned()
            } else {
                told(ended)
            };
            return Ok(Assessment {
                doubt: doubt.clone(),
                decision: Decision::Completed,
                evidence: Some(Evidence { verdict: Verdict::Happened, seen, paths: Vec::new() }),
                recorded_output: Some(ended.output.clone()),
                processes: Vec::new(),
            });
        }
        if step.started.tool == RESTORE && own {
            // A restore is planned anew from how things stand, so going on with it is always right.
            return Ok(Assessment {
                doubt: doubt.clone(),
                decision: if alive { Decision::Busy } else { Decision::RunAgain },
                evidence: None,
                recorded_output: None,
                processes: Vec::new(),
            });
        }
        let mut evidence = None;
        let mut look = if step.started.probe.is_some() { Look::NotYet } else { Look::NoProbe };
        let mut workspace = Workspace::Unknown;
        if !alive {
            if let (Effect::Observable { .. }, Some(probe)) = (&step.started.effect, &step.started.probe) {
                let compared = match probe {
                    Probe::Workspace => Some(self.workspace_of(step, &[], signed_at).await?),
                    _ => None,
                };
                let changed = || match &compared {
                    Some((Workspace::Unchanged, _)) => Ok(Vec::new()),
                    Some((Workspace::ChangedByStep | Workspace::ChangedByOthers, seen)) => Ok(seen.paths.clone()),
                    Some((Workspace::Unknown | Workspace::Gone, seen)) => {
                        Err(Error::unavailable("no_tree", seen.seen.clone()))
                    }
                    None => Err(Error::unavailable("no_tree", "the workspace was not compared")),
                };
                let seen =
                    probe::look(probe, &probe::Lookout { changed: Some(&changed), ..probe::Lookout::new(&site.base) });
                look = Look::Saw(seen.verdict);
                evidence = Some(seen);
            }
            if let Effect::Contained { within } = &step.started.effect {
                // What runs on the branch that a fork left changes another line's files.
                let (standing, seen) = self.workspace_of(step, within, signed_at.filter(|_| own)).await?;
                workspace = standing;
                evidence = Some(seen);
            }
        }
        let lost_at = match (lost_at, &look) {
            (None, Look::Saw(_)) => Some(self.lost_at_the_latest(step, site, only_look)?),
            _ => lost_at,
        };
        let mut decision = decide(&Known {
            effect: step.started.effect.clone(),
            alive,
            age_seconds: since(step.started.first_started.unwrap_or(step.started_at)).unwrap_or(u64::MAX),
            workspace,
            look,
            remote: step.started.probe.as_ref().is_some_and(samite_model::step::Probe::is_remote),
            lost_seconds: lost_at.and_then(since).unwrap_or(0),
        });
        // Where only a person could tell, the supervisor's last word can: it saw the command end well.
        let ended = life.filter(|_| own).and_then(|life| life.ended);
        if let (Decision::Ask { .. }, Effect::Opaque | Effect::Observable { .. }, Some((Exit::Code(0), _))) =
            (decision, &step.started.effect, ended)
        {
            decision = Decision::Completed;
            evidence = Some(ended_well());
        }
        // So can how it came to its end, for whoever decides.
        evidence = with_signal(evidence, decision, ended.map(|(exit, _)| exit));
        if let (Decision::Ask { .. }, None, Some(outcome)) = (decision, &evidence, doubt.recorded.first()) {
            // Nothing could be looked at: whoever decides is told what others know.
            evidence = Some(Evidence { verdict: Verdict::CannotTell, seen: told(outcome), paths: Vec::new() });
        }
        Ok(Assessment { doubt: doubt.clone(), decision, evidence, recorded_output: None, processes: Vec::new() })
    }
}

/// What the supervisor's last word tells of a command that did what it should.
fn ended_well() -> Evidence {
    let seen = "its supervisor saw the command end with status 0; its output was not recorded".to_owned();
    Evidence { verdict: Verdict::Happened, seen, paths: Vec::new() }
}

/// What was seen and, where that decides nothing, that a signal ended the command.
fn with_signal(evidence: Option<Evidence>, decision: Decision, ended: Option<Exit>) -> Option<Evidence> {
    let (Decision::Ask { .. } | Decision::Wait { .. }, Some(Exit::Signal(signal))) = (decision, ended) else {
        return evidence;
    };
    let died = format!("its supervisor saw signal {signal} end the command");
    Some(match evidence {
        Some(seen) => Evidence { seen: format!("{}; {died}", seen.seen), ..seen },
        None => Evidence { verdict: Verdict::CannotTell, seen: died, paths: Vec::new() },
    })
}

/// What another branch, or a writer that was fenced, recorded of a step, in words.
fn told(outcome: &Outcome) -> String {
    let branch = outcome.position.journal.short();
    let how = match (outcome.settled, outcome.kind) {
        (None, OutcomeKind::Completed) => {
            return format!("branch {branch} recorded the outcome after this branch left it");
        }
        (None, OutcomeKind::Failed | OutcomeKind::FailedRetryable) => {
            return format!("branch {branch} recorded that it failed");
        }
        (Some(_), _) if outcome.abandoned => "it was given up",
        (Some(_), OutcomeKind::Completed) => "it happened",
        (Some(_), OutcomeKind::Failed | OutcomeKind::FailedRetryable) => "it did not happen",
    };
    let by = match outcome.settled {
        Some(SettledBy::Person) => "a person's word",
        Some(SettledBy::Probe) => "a probe",
        Some(SettledBy::Effect) | None => "its effect",
    };
    format!("branch {branch} settled the doubt after this branch left it, by {by}: {how}")
}
