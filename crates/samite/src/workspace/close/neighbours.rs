//! Who else works in a directory, or below or above it: other branches and sessions, and their open steps.

use super::super::WorkspaceInfo;
use super::Closing;
use crate::payload::{StepStarted, WorkspaceAttached};
use crate::recover::{Fate, LostProcess, Runner, Site, runner, running};
use crate::views::{OpenStep, register};
use samite_ledger::{Guard, JournalFilter, JournalKind, JournalStatus};
use samite_model::closing::{Finding, What};
use samite_model::{BranchId, JournalId, Position, Result, SessionId};
use std::path::{Path, PathBuf};

/// A branch whose directory is this one, or in it, or around it; or, of the same session, elsewhere.
pub(super) struct Neighbour {
    session: SessionId,
    branch: BranchId,
    directory: PathBuf,
    /// The version of its registers when its open steps were read.
    version: u64,
    open: Vec<Open>,
}

/// A step without an outcome.
struct Open {
    started: StepStarted,
    start: Position,
    /// Whether the writer that started it holds its branch, and the process that runs it is not gone.
    lives: bool,
}

/// Whether one directory is the other, in it, or around it.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

impl Closing<'_> {
    /// The branch itself, those whose directory overlaps with this one, and the other branches of the session that have one.
    pub(super) async fn neighbours(&self) -> Result<Vec<Neighbour>> {
        let core = &self.client.core;
        let filter = JournalFilter { kind: Some(JournalKind::SessionControl), ..JournalFilter::default() };
        let mut neighbours = Vec::new();
        for control in core.0.ledger.journals(filter).await? {
            if control.owner != self.client.subject.pseudonym {
                continue;
            }
            let (_, registers) = core.0.ledger.registers(control.id).await?;
            for entry in registers.iter().filter(|entry| entry.kind == register::WORKSPACE) {
                let branch = JournalId::from_slice(&entry.value)?;
                let at = Position { journal: control.id, seq: entry.seq };
                let attached: WorkspaceAttached = core.entry_at(at).await?.json()?;
                let directory = PathBuf::from(attached.path);
                let own = control.family == self.session;
                if !own && !overlap(&directory, &self.workspace.directory) {
                    continue;
                }
                if core.journal(branch).await?.status != JournalStatus::Open {
                    continue;
                }
                neighbours.push(self.neighbour(control.family, branch, directory).await?);
            }
        }
        Ok(neighbours)
    }

    async fn neighbour(&self, session: SessionId, branch: BranchId, directory: PathBuf) -> Result<Neighbour> {
        let core = &self.client.core;
        let (version, registers) = core.0.ledger.registers(branch).await?;
        let holder = core.live_holder(branch).await?.map(|lease| lease.epoch);
        let mut open = Vec::new();
        for entry in registers.iter().filter(|entry| entry.kind == register::OPEN_STEP) {
            let step = OpenStep::decode(branch, entry)?;
            let started: StepStarted = core.entry_at(step.start).await?.json()?;
            let lives = !step.inherited && holder == Some(step.epoch) && runner(&started) != Runner::Gone;
            open.push(Open { started, start: step.start, lives });
        }
        open.sort_by_key(|step| step.start.seq);
        Ok(Neighbour { session, branch, directory, version, open })
    }
}

impl Neighbour {
    /// What keeps a receipt from being committed when this branch has begun or ended a step meanwhile.
    pub(super) fn guard(&self) -> Guard {
        Guard::Registers { journal: self.branch, version: self.version }
    }

    /// Whether it works in the directory that is closed, or in or around it.
    pub(super) fn is_here(&self, workspace: &WorkspaceInfo) -> bool {
        overlap(&self.directory, &workspace.directory)
    }

    /// What a close of a workspace should know of it.
    pub(super) fn findings(&self, session: SessionId, workspace: &WorkspaceInfo, site: &Site) -> Result<Vec<Finding>> {
        let about = |what, words: String| Finding {
            session: Some(self.session),
            branch: Some(self.branch),
            ..Finding::new(what, words)
        };
        let directory = self.directory.display().to_string();
        let mut findings = Vec::new();
        if !self.is_here(workspace) {
            let words = format!("branch {} works in {directory}", self.branch.short());
            return Ok(vec![about(What::OtherDirectory, words).at(directory)]);
        }
        if self.session != session {
            let words = format!("session {} works in {directory} too", self.session.short());
            findings.push(about(What::OtherSession, words).at(directory));
        } else if self.branch != workspace.branch {
            let words = format!("branch {} works in {directory}", self.branch.short());
            findings.push(about(What::OtherDirectory, words).at(directory));
        }
        for step in &self.open {
            let key = &step.started.key;
            let of = |finding: Finding| Finding { step: Some(key.clone()), seq: Some(step.start.seq), ..finding };
            let (what, how) =
                if step.lives { (What::StepOpen, "has no outcome yet") } else { (What::StepInDoubt, "is in doubt") };
            findings.push(of(about(what, format!("step {key:?} ({}) {how}", step.started.tool))));
            for process in running(&step.started, site)? {
                findings.push(of(about(process_kind(&process), process_words(&process, key)).of_process(&process)));
            }
        }
        Ok(findings)
    }
}

fn process_kind(process: &LostProcess) -> What {
    if process.fate == Fate::Unseen { What::ProcessUnseen } else { What::ProcessRunning }
}

fn process_words(process: &LostProcess, key: &str) -> String {
    let part = process.part.name();
    let how = if process.fate == Fate::Unseen { "cannot be seen from here" } else { "runs" };
    match process.pid {
        Some(pid) => format!("the {part} of step {key:?}, process {pid}, {how}"),
        None => format!("the {part} of step {key:?} {how}"),
    }
}

/// The number of a process in a finding.
trait OfProcess {
    fn of_process(self, process: &LostProcess) -> Self;
}

impl OfProcess for Finding {
    fn of_process(self, process: &LostProcess) -> Self {
        Self { pid: process.pid, ..self }
    }
}
