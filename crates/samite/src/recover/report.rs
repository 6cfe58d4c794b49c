//! What a harness needs to resume a session.

use super::{Assessment, Settlement, Site};
use crate::client::Client;
use crate::fingerprint::{self, Difference, Fingerprint, StateFile};
use crate::step::InDoubt;
use crate::workspace::{ChangeKind, RecordedTree, WorkspaceInfo};
use crate::writer::{Writer, WriterOptions};
use samite_host::files;
use samite_model::recovery::{Ask, Decision};
use samite_model::tree::diff;
use samite_model::{BranchId, Error, Position, Result, SessionId};
use samite_workspace::{Tree, scan};
use std::time::Duration;

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
    /// The key of the step that it is attributed to: the only contained one that ran since the last tree and may
    /// touch it.
    pub step: Option<String>,
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
    /// What differs from it.
    pub drift: Vec<Drift>,
    /// How the environment differs from that at the last checkpoint.
    pub environment: Vec<Difference>,
    /// The state files by convention.
    pub state_files: Vec<StateFile>,
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

/// How long the fingerprint may take.
const FINGERPRINT_TIME: Duration = Duration::from_secs(5);

impl Client {
    /// Finds out where a session stands after a crash, settles what can be settled, and says what a harness needs to
    /// resume. Works when the workspace is gone.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while another writer holds the branch and lives; `corrupt` when the log cannot be read.
    pub async fn recover(&self, session: SessionId, options: RecoverOptions, site: &Site) -> Result<Recovery> {
        let short = options.writer.id.is_none();
        let branch = self.or_current(session, options.branch).await?;
        let writer = self.writer(session, Some(branch), options.writer).await?;
        let recovered = async {
            // Drift is what was there before anything is put back.
            let workspace = self.workspace_report(session, branch).await?;
            let mut steps = Vec::new();
            for doubt in writer.doubts().await? {
                steps.push(writer.recover_step(doubt, options.plan, site).await);
            }
            let position = self.head(session, branch).await?;
            Ok(Recovery { session, position, epoch: writer.epoch(), steps, workspace })
        }
        .await;
        if short {
            writer.release().await?;
        }
        recovered
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
            workspace,
        };
        let directory = exists.then_some(report.workspace.directory.as_path());
        let before: Option<Fingerprint> = report
            .last
            .as_ref()
            .and_then(|last| last.tree.environment.clone())
            .and_then(|value| serde_json::from_value(value).ok());
        if let Some(before) = &before {
            let now = fingerprint::take(directory, Some(before), FINGERPRINT_TIME);
            report.environment = fingerprint::compare(before, &now);
        }
        if let Some(directory) = directory {
            report.state_files = fingerprint::state_files(directory);
            if let Some(last) = &report.last {
                let store = self.core.blocks();
                let owner = self.subject.pseudonym;
                let options = self.core.scan_options(report.workspace.id, directory)?;
                let now = scan(&store, directory, owner, &options)?.listing();
                let changes = diff(&Tree::new(&store, owner, last.tree.root).listing()?, &now);
                let steps = self.contained_since(last.position, head).await?;
                for change in changes {
                    let path = change.path.to_string();
                    let mut may = steps.iter().filter(|(_, within)| {
                        within.is_empty() || within.iter().any(|inside| is_within(&path, inside))
                    });
                    let step = match (may.next(), may.next()) {
                        (Some((key, _)), None) => Some(key.clone()),
                        _ => None,
                    };
                    report.drift.push(Drift { path, kind: change.kind, step });
                }
            }
        }
        Ok(Some(report))
    }

    /// The steps that may have touched the workspace since a tree: key and paths.
    async fn contained_since(&self, tree: Position, head: Position) -> Result<Vec<(String, Vec<String>)>> {
        let steps = self.steps_between(head, tree.seq).await?;
        Ok(steps
            .into_iter()
            .filter_map(|step| match step.started.effect {
                samite_model::step::Effect::Contained { within } => Some((step.started.key, within)),
                _ => None,
            })
            .collect())
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
                let assessment = Assessment { doubt, decision, evidence: None, recorded_output: None };
                RecoveredStep { assessment, settlement: None, error: Some(error) }
            }
        }
    }
}

fn is_within(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path == directory || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}
