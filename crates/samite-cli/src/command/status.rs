//! `samite status`.

use crate::printer::words::{bytes, count, short_id};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::shape::{BranchCheckpointsShape, BranchShape, CheckpointsShape, ErrorShape, PositionShape, SessionShape};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::SessionStatus;
use samite::artifact::ArtifactsStatus;
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<ErrorShape>,
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
}

#[derive(Serialize)]
struct Branch {
    #[serde(flatten)]
    shape: BranchShape,
    entries: u64,
    log_bytes: u64,
    tree_bytes: u64,
    /// The receipt of its workspace, while that is closed.
    closed: Option<PositionShape>,
    #[serde(flatten)]
    checkpoints: BranchCheckpointsShape,
}

impl Session {
    fn new(status: &SessionStatus) -> Self {
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
                    closed: branch.closed.as_ref().map(|receipt| receipt.position.into()),
                    checkpoints: branch.checkpoints.as_ref().map(BranchCheckpointsShape::new).unwrap_or_default(),
                })
                .collect(),
            checkpoints: CheckpointsShape::new(&status.checkpoints, status.session.current),
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
        for why in &self.unreadable {
            page.styled(Style::Care, format!("unreadable: {}", why.message));
        }
        let open: u64 = self.branches().map(|(_, branch)| branch.shape.open_steps).sum();
        if open > 0 {
            page.styled(Style::Care, format!("{} without an outcome: `samite recover SESSION`", count(open, "step")));
        }
        let closed = self.branches().filter(|(_, branch)| branch.closed.is_some()).count() as u64;
        if closed > 0 {
            page.line(format!("{} closed, with everything in it durable", count(closed, "workspace")));
        }
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

impl Status {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Read)?;
        let client = store.client().await?;
        let status = store.status(&client).await?;
        surface.printer.answer(&Held {
            directory: store.directory().display().to_string(),
            master_key: store.master(),
            database_bytes: status.ledger.database_bytes + status.ledger.log_bytes,
            packs: status.packs,
            pack_bytes: status.pack_bytes,
            entries: status.ledger.entries,
            blocks: status.ledger.blocks,
            sessions: status.sessions.iter().map(Session::new).collect(),
            artifacts: Artifacts::new(&status.artifacts),
            unreadable: status.unreadable.iter().map(ErrorShape::new).collect(),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
