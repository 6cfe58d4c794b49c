//! `samite status`.

use crate::printer::words::{bytes, count, short_id};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::shape::{
    BranchCheckpointsShape, BranchShape, CheckpointsShape, ClosedAtShape, ErrorShape, FoundShape, SessionShape,
};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::SessionStatus;
use samite::artifact::ArtifactsStatus;
use samite::erasure::ErasureState;
use samite::redaction::FoundStatus;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show what the store holds, where its master key is, and what checkpoints and branches that are not current cost
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite status
  samite status --json \\
      | jq '.sessions[].branches[] | select(.current | not).tree_bytes'")]
pub(crate) struct Status {}

#[derive(Serialize)]
struct Held {
    directory: String,
    master_key: String,
    database_bytes: u64,
    packs: usize,
    pack_bytes: u64,
    entries: u64,
    blocks: u64,
    sessions: Vec<Session>,
    artifacts: Artifacts,
    erasures: usize,
    unfinished_erasures: Vec<String>,
    holds: usize,
    dropped: Dropped,
    found: Vec<FoundShape>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<ErrorShape>,
}

/// What was dropped of events before they were written.
#[derive(Serialize)]
struct Dropped {
    entries: u64,
    pieces: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Artifacts {
    versions: u64,
    bytes: u64,
    without_policy: u64,
    types_without_policy: Vec<String>,
}

impl Artifacts {
    fn new(status: &ArtifactsStatus) -> Self {
        let ArtifactsStatus { versions, bytes, without_policy, types_without_policy } = status.clone();
        Self { versions, bytes, without_policy, types_without_policy }
    }

    fn words(&self) -> String {
        if self.versions == 0 {
            return String::new();
        }
        format!("{}, {}", count(self.versions, "version"), bytes(self.bytes))
    }

    fn warn(&self, page: &mut Page) {
        if self.without_policy > 0 {
            let types = self.types_without_policy.join(", ");
            let many = count(self.without_policy, "artifact");
            page.styled(Style::Care, format!("{many} kept without a policy ({types}): `samite artifact policy TYPE`"));
        }
    }
}

#[derive(Serialize)]
struct Session {
    #[serde(flatten)]
    shape: SessionShape,
    branches: Vec<Branch>,
    checkpoints: CheckpointsShape,
    /// What redaction found in what it wrote.
    found: Vec<FoundShape>,
}

#[derive(Serialize)]
struct Branch {
    #[serde(flatten)]
    shape: BranchShape,
    entries: u64,
    log_bytes: u64,
    tree_bytes: u64,
    /// The receipt of its workspace, while nothing was recorded there since it was closed.
    closed: Option<ClosedAtShape>,
    #[serde(flatten)]
    checkpoints: BranchCheckpointsShape,
}

impl Session {
    fn new(status: &SessionStatus, found: &FoundStatus) -> Self {
        let found = found.sessions.iter().find(|(session, _)| *session == status.session.id);
        Self {
            shape: SessionShape::new(&status.session),
            branches: status
                .branches
                .iter()
                .map(|branch| Branch {
                    shape: BranchShape::new(&branch.branch),
                    entries: branch.entries,
                    log_bytes: branch.log_bytes,
                    tree_bytes: branch.tree_bytes,
                    closed: branch.closed.as_ref().map(ClosedAtShape::new),
                    checkpoints: branch.checkpoints.as_ref().map(BranchCheckpointsShape::new).unwrap_or_default(),
                })
                .collect(),
            checkpoints: CheckpointsShape::new(&status.checkpoints, status.session.current),
            found: found.map(|(_, counts)| FoundShape::all(counts)).unwrap_or_default(),
        }
    }
}

impl Answer for Held {
    fn show(&self, page: &mut Page) {
        page.facts(&[
            ("store", self.directory.clone()),
            ("master key", self.master_key.clone()),
            ("journals", format!("{} in {}", count(self.entries, "entry"), bytes(self.database_bytes))),
            ("blocks", format!("{}, {} in {}", self.blocks, count(self.packs as u64, "pack"), bytes(self.pack_bytes))),
            ("sessions", self.sessions.len().to_string()),
            ("artifacts", self.artifacts.words()),
        ]);
        self.artifacts.warn(page);
        if self.erasures > 0 || self.holds > 0 {
            let (erasures, holds) = (count(self.erasures as u64, "erasure"), count(self.holds as u64, "legal hold"));
            page.styled(Style::Dim, format!("{erasures}, {holds}: `samite erase list`, `samite hold list`"));
        }
        if self.dropped.entries > 0 {
            let Dropped { entries, pieces, bytes: dropped } = &self.dropped;
            let (entries, pieces) = (count(*entries, "entry"), count(*pieces, "piece"));
            let text = format!("{pieces} of {entries} dropped ({}): `samite capture show`", bytes(*dropped));
            page.styled(Style::Dim, text);
        }
        FoundShape::show_all(&self.found, page);
        for erasure in &self.unfinished_erasures {
            let erasure = short_id(erasure);
            page.styled(
                Style::Care,
                format!(
                    "erasure {erasure} is not done: the next command that writes, or `samite erase resume`, finishes it"
                ),
            );
        }
        for why in &self.unreadable {
            page.styled(Style::Care, format!("unreadable: {}", why.message));
        }
        self.show_open(page);
        self.show_closed(page);
        self.show_checkpoints(page);
        let aside: Vec<_> =
            self.branches().filter(|(_, branch)| !branch.shape.current && !branch.shape.deleted).collect();
        if aside.is_empty() {
            return;
        }
        page.gap();
        page.line("branches that are not current, and what they cost:");
        let mut table = Table::new(&[
            ("SESSION", Column::Left),
            ("NAME", Column::Flexible),
            ("BRANCH", Column::Left),
            ("ENTRIES", Column::Right),
            ("LOG", Column::Right),
            ("TREES", Column::Right),
            ("TREES UNTIL", Column::Left),
        ]);
        for (session, branch) in aside {
            table.row([
                short_id(session.id()),
                session.name().unwrap_or_default().to_owned(),
                branch.shape.short(),
                branch.entries.to_string(),
                bytes(branch.log_bytes),
                bytes(branch.tree_bytes),
                branch.shape.trees_kept(),
            ]);
        }
        page.table(&table);
    }
}

impl Held {
    /// The branches with steps that have no outcome, as they are written on the command line.
    fn show_open(&self, page: &mut Page) {
        let with: Vec<_> = self.branches().filter(|(_, branch)| branch.shape.open_steps > 0).collect();
        let open: u64 = with.iter().map(|(_, branch)| branch.shape.open_steps).sum();
        if open == 0 {
            return;
        }
        let named = some(&with, |(session, branch)| reference(session, branch));
        page.styled(Style::Care, format!("{} without an outcome, in {named}", count(open, "step")));
        if let Some((session, branch)) = with.first() {
            let reference = reference(session, branch);
            page.styled(Style::Dim, format!("`samite recover {reference}` says what is to do there"));
        }
    }

    /// The workspaces that were closed. What was written there since then is in no tree, and nobody looked.
    fn show_closed(&self, page: &mut Page) {
        let with: Vec<_> =
            self.branches().filter_map(|(session, branch)| Some((session, branch, branch.closed.as_ref()?))).collect();
        if with.is_empty() {
            return;
        }
        let named =
            some(&with, |(session, branch, closed)| format!("{} ({})", reference(session, branch), closed.when()));
        page.line(format!("{} closed: {named}", count(with.len() as u64, "workspace")));
        page.styled(
            Style::Dim,
            "all in it was durable then; `samite workspace status SESSION` shows what changed since",
        );
    }

    /// What checkpoints cost, session by session, and what was at risk between them.
    fn show_checkpoints(&self, page: &mut Page) {
        let mut table = Table::new(&[
            ("SESSION", Column::Left),
            ("NAME", Column::Flexible),
            ("COUNT", Column::Right),
            ("HOLD", Column::Right),
            ("TOOK", Column::Right),
            ("OF TIME", Column::Right),
            ("WORST LOSS", Column::Right),
            ("SINCE LAST", Column::Right),
        ]);
        let with: Vec<_> = self.sessions.iter().filter(|session| session.checkpoints.count > 0).collect();
        if with.is_empty() {
            return;
        }
        page.gap();
        page.line("checkpoints, and the work that a loss would have cost at worst:");
        for session in &with {
            let checkpoints = &session.checkpoints;
            table.row([
                short_id(session.shape.id()),
                session.shape.name().unwrap_or_default().to_owned(),
                checkpoints.count.to_string(),
                checkpoints.held(),
                checkpoints.took(),
                checkpoints.part().unwrap_or_default(),
                checkpoints.worst(),
                checkpoints.unsaved(),
            ]);
        }
        page.table(&table);
        for session in &with {
            session.checkpoints.show_full(&short_id(session.shape.id()), page);
        }
    }

    fn branches(&self) -> impl Iterator<Item = (&SessionShape, &Branch)> {
        self.sessions.iter().flat_map(|session| session.branches.iter().map(|branch| (&session.shape, branch)))
    }
}

/// So many of a kind are named.
const NAMED: usize = 3;

/// A few by name, and how many more there are.
fn some<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    let mut named: Vec<String> = all.iter().take(NAMED).map(name).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more", all.len() - NAMED));
    }
    named.join(", ")
}

/// A branch as a person writes it: the session alone where it is current.
fn reference(session: &SessionShape, branch: &Branch) -> String {
    let session = short_id(session.id());
    if branch.shape.current { session } else { format!("{session}:{}", branch.shape.short()) }
}

impl Status {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Read)?;
        let client = store.client().await?;
        let status = store.status(&client).await?;
        let erasures = client.erasures().await?;
        let unfinished = erasures.iter().filter(|record| record.state == ErasureState::Started);
        surface.printer.answer(&Held {
            directory: store.directory().display().to_string(),
            master_key: store.master(),
            database_bytes: status.ledger.database_bytes + status.ledger.log_bytes,
            packs: status.packs,
            pack_bytes: status.pack_bytes,
            entries: status.ledger.entries,
            blocks: status.ledger.blocks,
            sessions: status.sessions.iter().map(|session| Session::new(session, &status.found)).collect(),
            artifacts: Artifacts::new(&status.artifacts),
            erasures: erasures.len(),
            unfinished_erasures: unfinished.map(|record| record.started.erasure.to_string()).collect(),
            holds: client.holds().await?.len(),
            dropped: Dropped {
                entries: status.captured.entries,
                pieces: status.captured.pieces,
                bytes: status.captured.bytes,
            },
            found: FoundShape::all(&status.found.all),
            unreadable: status.unreadable.iter().map(ErrorShape::new).collect(),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
