//! `samite checkpoint thin`.

use crate::input::{asked, can_ask};
use crate::printer::words::{bytes, count, short_id, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::syntax::parse_seconds;
use samite::workspace::{ThinnedBranch, ThinningPlan};
use samite_model::thinning::Rule;
use samite_model::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Thin old checkpoints out: all of the last hour stay, one an hour for a day, one a day after
///
/// Of an hour, and of a day (UTC), the newest stays. A checkpoint that something needs stays in any case: a branch's newest,
/// one that a fork goes on from, a merge, an artifact or a receipt names or an open step would be put back to, one with a
/// label of yours, and what was there before a restore. The log stays; `gc` then takes the trees. It shows what goes and how many
/// bytes that frees, and asks; where nobody can be asked it needs --yes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite checkpoint thin 3f2a --dry-run
  samite checkpoint thin 3f2a:9c41 --yes && samite gc --yes
  samite checkpoint thin 3f2a --all-for 10m --hourly-for 6h")]
pub(super) struct Thin {
    /// SESSION, which means all its branches, or SESSION:BRANCH
    session: Reference,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
    /// Give them up without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Keep all that are younger
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_seconds)]
    all_for: u64,
    /// Keep one an hour of those that are younger, one a day of the others
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = parse_seconds)]
    hourly_for: u64,
}

#[derive(Serialize)]
struct Thinned {
    session: String,
    dry_run: bool,
    count: usize,
    bytes: u64,
    branches: Vec<OfBranch>,
}

#[derive(Serialize)]
struct OfBranch {
    branch: String,
    checkpoints: usize,
    needed: usize,
    bytes: u64,
    thinned: Vec<Gone>,
}

#[derive(Serialize)]
struct Gone {
    id: String,
    seq: u64,
    time: String,
    #[serde(skip)]
    when: i64,
}

impl OfBranch {
    fn new(branch: &ThinnedBranch) -> Self {
        let gone = branch.thinned.iter().map(|tree| Gone {
            id: tree.tree.root.to_string(),
            seq: tree.position.seq,
            time: crate::printer::words::rfc3339(tree.time),
            when: tree.time,
        });
        Self {
            branch: branch.branch.to_string(),
            checkpoints: branch.checkpoints,
            needed: branch.needed,
            bytes: branch.bytes,
            thinned: gone.collect(),
        }
    }
}

/// Puts a plan on a page.
fn show(plan: &ThinningPlan, page: &mut Page) {
    let branches: Vec<OfBranch> = plan.branches.iter().map(OfBranch::new).collect();
    page.line(format!("{} of {} would go, {}", plan.count(), all(plan), bytes(plan.bytes())));
    if plan.count() == 0 {
        return;
    }
    let mut table = Table::new(&[
        ("BRANCH", Column::Left),
        ("CHECKPOINTS", Column::Right),
        ("NEEDED", Column::Right),
        ("GO", Column::Right),
        ("BYTES", Column::Right),
        ("FROM", Column::Left),
        ("TO", Column::Left),
    ]);
    for branch in branches.iter().filter(|branch| !branch.thinned.is_empty()) {
        let when = |gone: Option<&Gone>| gone.map(|gone| time(gone.when)).unwrap_or_default();
        table.row([
            short_id(&branch.branch),
            branch.checkpoints.to_string(),
            branch.needed.to_string(),
            branch.thinned.len().to_string(),
            bytes(branch.bytes),
            when(branch.thinned.first()),
            when(branch.thinned.last()),
        ]);
    }
    page.table(&table);
}

fn all(plan: &ThinningPlan) -> String {
    count(plan.branches.iter().map(|branch| branch.checkpoints as u64).sum(), "checkpoint")
}

impl Answer for Thinned {
    fn show(&self, page: &mut Page) {
        if self.dry_run || self.count == 0 {
            return page.line("nothing was touched");
        }
        page.line(format!("{} thinned out", count(self.count as u64, "checkpoint")));
        page.styled(Style::Dim, format!("`samite gc` takes their trees, {}", bytes(self.bytes)));
    }
}

impl Thin {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(if self.dry_run { Access::Read } else { Access::Write })?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let nanoseconds = |seconds: u64| seconds.saturating_mul(1_000_000_000);
        let rule = Rule { all_for: nanoseconds(self.all_for), hourly_for: nanoseconds(self.hourly_for) };
        let progress = surface.printer.progress("looking at what is needed");
        let mut plan = client.plan_thinning(found.session, found.branch, &rule).await?;
        drop(progress);
        let asks = !self.yes && !self.dry_run && plan.count() > 0;
        if asks && !can_ask() {
            let what = format!("{} of {} would go, {}", plan.count(), all(&plan), bytes(plan.bytes()));
            return Err(Error::invalid("not_confirmed", what)
                .hint("nothing was touched; --yes thins them out, --dry-run shows them"));
        }
        if !surface.printer.is_json() {
            surface.printer.aside_page(|page| show(&plan, page));
        }
        if asks && !asked("thin them out?")? {
            return Err(Error::invalid("not_confirmed", "no checkpoint was thinned out").hint("nothing was touched"));
        }
        if !self.dry_run && plan.count() > 0 {
            plan = client.thin(found.session, &rule, &plan).await?;
        }
        surface.printer.answer(&Thinned {
            session: found.session.to_string(),
            dry_run: self.dry_run,
            count: plan.count(),
            bytes: plan.bytes(),
            branches: plan.branches.iter().map(OfBranch::new).collect(),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
