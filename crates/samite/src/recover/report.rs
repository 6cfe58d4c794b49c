//! What a harness needs to resume a session.

use super::{Assessment, Disagreement, LeftInDoubt, Settlement, Site};
use crate::client::Client;
use crate::core::{from_json, to_json};
use crate::fingerprint::{self, Difference, Fingerprint, StateFile};
use crate::payload::StepStarted;
use crate::step::InDoubt;
use crate::views::{OpenStep, register};
use crate::workspace::{ChangeKind, RecordedTree, WorkspaceInfo};
use crate::writer::{Writer, WriterOptions};
use samite_host::files;
use samite_model::recovery::{Ask, Decision};
use samite_model::settings::Authority;
use samite_model::step::Effect;
use samite_model::tree::diff;
use samite_model::{BranchId, EntryKind, Error, Position, Result, SessionId};
use samite_workspace::{Tree, scan};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How to recover.
#[derive(Clone, Debug, Default)]
pub struct RecoverOptions {
    /// The branch; none means the current one.
    pub branch: Option<BranchId>,
    /// Only look: decide, and change nothing.
    pub plan: bool,
    /// Who recovers.
    pub writer: WriterOptions,
}

/// A step in doubt, and what was done about it.
#[derive(Debug)]
pub struct RecoveredStep {
    /// What is known of it, and the decision.
    pub assessment: Assessment,
    /// What was done; none when only looking.
    pub settlement: Option<Settlement>,
    /// Why it could not be looked at or settled; a person then decides, or the next recovery does.
    pub error: Option<Error>,
}

/// A path of the workspace that differs from the last tree.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The path.
    pub path: String,
    /// How it differs.
    pub kind: ChangeKind,
    /// The key of the step that it is attributed to: the only one that ran since the last tree, when that is a contained
    /// one and may touch it.
    pub step: Option<String>,
    /// The keys of the steps of which one may have changed it, when it cannot be told: those that ran since the last tree,
    /// but for contained ones of other paths. The latest come first, and at most [`Drift::NAMED`] are named.
    pub one_of: Vec<String>,
}

impl Drift {
    /// So many steps are named at most of which one may have changed a path.
    pub const NAMED: usize = 16;

    fn new(path: String, kind: ChangeKind, steps: &[Suspect]) -> Self {
        let mut may = steps.iter().filter(|step| step.may_touch(&path));
        let (step, one_of) = match (may.next(), may.next()) {
            (None, _) => (None, Vec::new()),
            (Some(Suspect { key, within: Some(_) }), None) => (Some(key.clone()), Vec::new()),
            (Some(only), None) => (None, vec![only.key.clone()]),
            (Some(first), Some(second)) => {
                let all = [first, second].into_iter().chain(may);
                (None, all.map(|step| step.key.clone()).take(Self::NAMED).collect())
            }
        };
        Self { path, kind, step, one_of }
    }
}

/// A step that may have changed the workspace since its last tree.
struct Suspect {
    key: String,
    /// The paths that it keeps to, when it is contained; none of them means all.
    within: Option<Vec<String>>,
}

impl Suspect {
    fn new(started: StepStarted) -> Self {
        let within = match started.effect {
            Effect::Contained { within } => Some(within),
            _ => None,
        };
        Self { key: started.key, within }
    }

    fn may_touch(&self, path: &str) -> bool {
        match &self.within {
            Some(within) => within.is_empty() || within.iter().any(|inside| is_within(path, inside)),
            None => true,
        }
    }
}

/// The workspace at recovery.
#[derive(Clone, Debug)]
pub struct WorkspaceReport {
    /// Which.
    pub workspace: WorkspaceInfo,
    /// Whether its directory is there.
    pub exists: bool,
    /// The last tree.
    pub last: Option<RecordedTree>,
    /// What differs from it, after what could be settled was: with [`RecoverOptions::plan`], before.
    pub drift: Vec<Drift>,
    /// How the environment differs from that at the last checkpoint.
    pub environment: Vec<Difference>,
    /// The state files by convention.
    pub state_files: Vec<StateFile>,
    /// What decides where they and the log disagree.
    pub authority: Authority,
    /// Where they do.
    pub disagreements: Vec<Disagreement>,
    /// The checkpoint by which the directory's version was taken up, where the files decide.
    pub taken_up: Option<Position>,
}

/// What a harness needs to resume.
#[derive(Debug)]
pub struct Recovery {
    /// The session.
    pub session: SessionId,
    /// The last durable position of the branch.
    pub position: Position,
    /// The epoch that the recovery ran in.
    pub epoch: u64,
    /// The steps that were in doubt, oldest first.
    pub steps: Vec<RecoveredStep>,
    /// The steps in doubt on the lines that the branch left by rewinds: they are settled there.
    pub left: Vec<LeftInDoubt>,
    /// The workspace, if the branch has one.
    pub workspace: Option<WorkspaceReport>,
}

impl Recovery {
    /// Whether nothing is left for a person to decide, or to wait for.
    pub fn is_clear(&self) -> bool {
        self.steps.iter().all(|step| {
            let decided =
                step.settlement.as_ref().map_or_else(|| step.assessment.is_decided(), |settlement| settlement.decided);
            step.error.is_none() && decided
        })
    }
}

impl Client {
    /// Finds out where a session stands after a crash, settles what can be settled, and says what a harness needs to
    /// resume. Where the session's state files decide and the last tree has them otherwise, they are taken up by a checkpoint.
    /// Works when the workspace is gone.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while another writer holds the branch and lives; `corrupt` when the log cannot be read.
    pub async fn recover(&self, session: SessionId, options: RecoverOptions, site: &Site) -> Result<Recovery> {
        let short = options.writer.id.is_none();
        let branch = self.or_current(session, options.branch).await?;
        let writer = self.writer(session, Some(branch), options.writer).await?;
        let recovered = async {
            let mut steps = Vec::new();
            for doubt in writer.doubts().await? {
                steps.push(writer.recover_step(doubt, options.plan, site).await);
            }
            // A harness goes on from what is there now; what was put back is told with each step.
            let mut workspace = self.workspace_report(session, branch).await?;
            if let Some(report) = workspace.as_mut().filter(|_| !options.plan) {
                report.taken_up = writer.take_up(&report.disagreements).await?;
            }
            let position = self.head(session, branch).await?;
            let left = self.left_in_doubt(session, branch).await?;
            Ok(Recovery { session, position, epoch: writer.epoch(), steps, left, workspace })
        }
        .await;
        writer.let_go(short, recovered).await
    }

    async fn workspace_report(&self, session: SessionId, branch: BranchId) -> Result<Option<WorkspaceReport>> {
        let Some(workspace) = self.workspace_of_branch(session, branch).await? else { return Ok(None) };
        let head = self.head(session, branch).await?;
        let last = self.tree_at(head).await?;
        let exists = files::exists(&workspace.directory)?;
        let mut report = WorkspaceReport {
            exists,
            last,
            drift: Vec::new(),
            environment: Vec::new(),
            state_files: Vec::new(),
            authority: self.settings(session).await?.authority,
            disagreements: Vec::new(),
            taken_up: None,
            workspace,
        };
        let directory = exists.then_some(report.workspace.directory.as_path());
        if let Some(before) = report.last.as_ref().and_then(RecordedTree::environment) {
            let now = fingerprint::take(directory, Some(&before));
            report.environment = self.differences(&before, now).await?;
        }
        if let Some(directory) = directory {
            report.state_files = fingerprint::state_files(directory);
            if let Some(last) = &report.last {
                self.core.refresh_redactor().await?;
                let store = self.core.blocks();
                let owner = self.subject.pseudonym;
                let options = self.core.scan_options(report.workspace.id, directory)?;
                let now = scan(&store, directory, owner, &options)?.listing();
                let changes = diff(&Tree::new(&store, owner, last.tree.root).listing()?, &now);
                report.disagreements = self.disagreements(&report, &changes, report.authority)?;
                let steps = self.suspects(last.position, head).await?;
                let drift = changes.into_iter().map(|change| Drift::new(change.path.to_string(), change.kind, &steps));
                report.drift = drift.collect();
            }
        }
        Ok(Some(report))
    }

    /// How the environment differs from one that was recorded, in which something may have been replaced.
    async fn differences(&self, before: &Fingerprint, now: Fingerprint) -> Result<Vec<Difference>> {
        let mut found = fingerprint::compare(before, &now);
        if !found.is_empty() {
            self.core.refresh_redactor().await?;
            let recorded = to_json(&Recorded { environment: now })?;
            if let Some(bytes) = self.core.redacted_payload(EntryKind::TREE, &recorded)? {
                let replaced: Recorded = from_json("an environment", &bytes)?;
                let also = fingerprint::compare(before, &replaced.environment);
                found.retain(|one| also.iter().any(|other| (one.subject, &one.name) == (other.subject, &other.name)));
            }
        }
        Ok(found)
    }

    /// The steps that may have touched the workspace since a tree, latest first: those that started since, and those that
    /// are open. Each key once.
    async fn suspects(&self, tree: Position, head: Position) -> Result<Vec<Suspect>> {
        let mut suspects: Vec<Suspect> = self
            .steps_between(head, tree.seq)
            .await?
            .into_iter()
            .rev()
            .map(|step| Suspect::new(step.started))
            .collect();
        let (_, registers) = self.core.0.ledger.registers(head.journal).await?;
        for entry in registers.iter().rev().filter(|entry| entry.kind == register::OPEN_STEP) {
            let start = OpenStep::decode(head.journal, entry)?.start;
            suspects.push(Suspect::new(self.core.entry_at(start).await?.json()?));
        }
        let mut seen = HashSet::new();
        suspects.retain(|suspect| seen.insert(suspect.key.clone()));
        Ok(suspects)
    }
}

impl Writer {
    /// Looks at a step in doubt and settles it. What fails for one step hides nothing of the others.
    async fn recover_step(&self, doubt: InDoubt, plan: bool, site: &Site) -> RecoveredStep {
        match self.assess_by(&doubt, site, plan).await {
            Ok(assessment) if plan => RecoveredStep { assessment, settlement: None, error: None },
            Ok(assessment) => match self.settle(&assessment, site).await {
                Ok(settlement) => RecoveredStep { assessment, settlement: Some(settlement), error: None },
                Err(error) => RecoveredStep { assessment, settlement: None, error: Some(error) },
            },
            Err(error) => {
                let decision = Decision::Ask { reason: Ask::CannotTell };
                let assessment =
                    Assessment { doubt, decision, evidence: None, recorded_output: None, processes: Vec::new() };
                RecoveredStep { assessment, settlement: None, error: Some(error) }
            }
        }
    }
}

fn is_within(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path == directory || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect(key: &str, within: Option<&[&str]>) -> Suspect {
        let within = within.map(|paths| paths.iter().map(ToString::to_string).collect());
        Suspect { key: key.to_owned(), within }
    }

    #[test]
    fn drift_is_a_steps_only_where_that_can_be_told() {
        let everywhere: Option<&[&str]> = Some(&[]);
        let table: [(Vec<Suspect>, Option<&str>, &[&str]); 6] = [
            (vec![], None, &[]),
            (vec![suspect("a", everywhere)], Some("a"), &[]),
            (vec![suspect("a", Some(&["src/"])), suspect("b", Some(&["docs"]))], Some("a"), &[]),
            (vec![suspect("a", everywhere), suspect("b", Some(&["src"]))], None, &["a", "b"]),
            (vec![suspect("a", everywhere), suspect("push", None)], None, &["a", "push"]),
            (vec![suspect("push", None), suspect("b", Some(&["srcs"]))], None, &["push"]),
        ];
        for (number, (steps, step, one_of)) in table.into_iter().enumerate() {
            let drift = Drift::new("src/main.c".to_owned(), ChangeKind::Content, &steps);
            assert_eq!(drift.step.as_deref(), step, "{number}");
            assert_eq!(drift.one_of, one_of, "{number}");
        }
    }
}

/// An environment where a tree's entry has it.
#[derive(Serialize, Deserialize)]
struct Recorded {
    environment: Fingerprint,
}
