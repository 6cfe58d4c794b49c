//! `samite gc`.

use crate::input::{asked, can_ask};
use crate::printer::words::{bytes, count, short_id};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::{Client, CollectOptions, CollectionPlan};
use samite_model::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

/// Reclaim what no retained branch needs, after showing what goes, branch by branch
///
/// Workspace trees go once their branch is not current and its time is over, or it was deleted, and then its large
/// payloads go too; so do checkpoints that were thinned out. Logs of branches that were not deleted stay. Artifacts go with their inputs once their own time is over:
/// not before, whatever becomes of their session, and never without a policy. Writers at work are not disturbed. A
/// collection that took something is recorded. Where something goes it asks; where nobody can be asked it needs --yes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite gc --dry-run
  samite gc --yes
  samite gc --dry-run --json | jq .plan.bytes")]
pub(crate) struct Gc {
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
    /// Take it without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
}

#[derive(Serialize)]
struct Plan {
    branches: Vec<Reclaimable>,
    artifacts: Vec<ReclaimableArtifact>,
    unrecorded: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Reclaimable {
    session: String,
    branch: String,
    deleted: bool,
    thinned: bool,
    trees: usize,
    bytes: u64,
}

#[derive(Serialize)]
struct ReclaimableArtifact {
    id: String,
    session: String,
    name: String,
    bytes: u64,
}

/// What would go, and what went.
#[derive(Serialize)]
struct Reclaimed {
    dry_run: bool,
    plan: Plan,
    collected: Option<Value>,
}

impl Plan {
    async fn new(client: &Client, plan: &CollectionPlan) -> Result<Self> {
        let mut artifacts = Vec::new();
        for going in &plan.artifacts {
            let record = client.artifact(going.artifact).await?.record;
            let (id, session) = (record.artifact.to_string(), record.lineage.session.to_string());
            artifacts.push(ReclaimableArtifact { id, session, name: record.name, bytes: going.bytes });
        }
        Ok(Self {
            artifacts,
            branches: plan
                .branches
                .iter()
                .map(|branch| Reclaimable {
                    session: branch.session.to_string(),
                    branch: branch.branch.to_string(),
                    deleted: branch.deleted,
                    thinned: branch.thinned,
                    trees: branch.trees,
                    bytes: branch.bytes,
                })
                .collect(),
            unrecorded: plan.unrecorded,
            bytes: plan.bytes,
        })
    }

    fn show(&self, page: &mut Page) {
        if self.branches.is_empty() {
            page.styled(Style::Dim, "no branch has trees that would go");
        } else {
            self.table(page);
        }
        if !self.artifacts.is_empty() {
            self.artifacts(page);
        }
        if self.unrecorded > 0 {
            let left = bytes(self.unrecorded);
            page.styled(Style::Dim, format!("{left} of no branch: stored by a command that was cut off or refused"));
        }
    }

    fn artifacts(&self, page: &mut Page) {
        page.gap();
        let mut table = Table::new(&[
            ("SESSION", Column::Left),
            ("ARTIFACT", Column::Left),
            ("NAME", Column::Flexible),
            ("WHY", Column::Left),
            ("BYTES", Column::Right),
        ]);
        for artifact in &self.artifacts {
            table.row([
                short_id(&artifact.session),
                short_id(&artifact.id),
                artifact.name.clone(),
                "its time is over".to_owned(),
                bytes(artifact.bytes),
            ]);
        }
        page.table(&table);
    }

    fn table(&self, page: &mut Page) {
        let mut table = Table::new(&[
            ("SESSION", Column::Left),
            ("BRANCH", Column::Left),
            ("WHY", Column::Left),
            ("TREES", Column::Right),
            ("BYTES", Column::Right),
        ]);
        for branch in &self.branches {
            let why = match (branch.deleted, branch.thinned) {
                (true, _) => "deleted",
                (false, true) => "thinned out",
                (false, false) => "its time is over",
            };
            table.row([
                short_id(&branch.session),
                short_id(&branch.branch),
                why.to_owned(),
                branch.trees.to_string(),
                bytes(branch.bytes),
            ]);
        }
        page.table(&table);
    }
}

impl Answer for Reclaimed {
    fn show(&self, page: &mut Page) {
        let Some(collected) = &self.collected else {
            self.plan.show(page);
            return page.line(format!("{} would go; nothing was touched", bytes(self.plan.bytes)));
        };
        let number = |name: &str| collected.get(name).and_then(Value::as_u64).unwrap_or_default();
        let disk = collected.get("disk_bytes").and_then(Value::as_i64).unwrap_or_default();
        page.line(format!("{} went, {}", count(number("blocks"), "block"), bytes(number("bytes"))));
        let freed = u64::try_from(disk).unwrap_or_default();
        let packs = number("packs_dropped") + number("packs_rewritten");
        page.styled(
            Style::Dim,
            format!("{} removed or rewritten, {} less on disk", count(packs, "pack"), bytes(freed)),
        );
    }
}

impl Gc {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let progress = surface.printer.progress("looking at what is needed");
        let plan = Plan::new(&client, &client.plan_collection().await?).await?;
        drop(progress);
        let takes = !plan.branches.is_empty() || !plan.artifacts.is_empty() || plan.unrecorded > 0;
        let asks = takes && !self.yes && !self.dry_run;
        if asks && !can_ask() {
            return Err(Error::invalid("not_confirmed", format!("{} would go", bytes(plan.bytes)))
                .hint("nothing was touched; --yes takes it, --dry-run shows it"));
        }
        let collected = if self.dry_run {
            None
        } else {
            // A person sees what goes before it does; with --json both are one document.
            if !surface.printer.is_json() {
                surface.printer.aside_page(|page| plan.show(page));
            }
            if asks && !asked("take it?")? {
                return Err(Error::invalid("not_confirmed", "nothing was collected").hint("nothing was touched"));
            }
            let progress = surface.printer.progress("collecting");
            let options = CollectOptions { observer: progress.observer(), ..CollectOptions::default() };
            let collected = client.collect_with(&options).await?;
            drop(progress);
            Some(serde_json::to_value(&collected).unwrap_or_default())
        };
        surface.printer.answer(&Reclaimed { dry_run: self.dry_run, plan, collected })?;
        Ok(ExitCode::SUCCESS)
    }
}
