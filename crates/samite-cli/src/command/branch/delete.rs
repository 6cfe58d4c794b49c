//! `samite branch delete`.

use super::keep::named_branch;
use crate::input::{asked, can_ask};
use crate::printer::words::{count, rfc3339, time};
use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::DeletionPlan;
use samite_model::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Delete a branch: its log and its claim on workspace trees
///
/// What forks of it inherit stays. The current branch cannot be deleted. `gc` then frees the space. It shows what cannot be
/// reached from then on, and asks; where nobody can be asked it needs --yes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite branch delete 3f2a:9c41 --dry-run
  samite branch delete 3f2a:9c41 --yes")]
pub(crate) struct Delete {
    /// The branch: SESSION:BRANCH
    branch: Reference,
    /// Only show what could not be reached any more
    #[arg(long)]
    dry_run: bool,
    /// Delete it without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
}

#[derive(Serialize)]
struct Deleted {
    session: String,
    branch: String,
    dry_run: bool,
    entries: u64,
    trees: usize,
    from: Option<String>,
    kept_to: u64,
}

/// What a deletion cuts off, in words.
fn words(branch: &str, plan: &DeletionPlan) -> String {
    let from = plan.from.map(|from| format!(", from {} on", time(from))).unwrap_or_default();
    format!(
        "branch {branch}: {} and {} cannot be reached any more{from}",
        count(plan.entries, "entry"),
        count(plan.trees as u64, "workspace tree")
    )
}

impl Answer for Deleted {
    fn show(&self, page: &mut Page) {
        if self.dry_run {
            page.line("nothing was touched");
            return;
        }
        page.line(format!("branch {} is deleted", self.branch));
        if self.kept_to > 0 {
            page.line(format!("entries up to seq {} stay, since other branches inherit them", self.kept_to));
        }
    }
}

impl Delete {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(if self.dry_run { Access::Read } else { Access::Write })?.client().await?;
        let (session, branch) = named_branch(&client, &self.branch).await?;
        let plan = client.plan_deletion(session, branch).await?;
        let what = words(&branch.to_string(), &plan);
        let asks = !self.yes && !self.dry_run;
        if asks && !can_ask() {
            return Err(Error::invalid("not_confirmed", what)
                .hint("nothing was touched; --yes deletes it")
                .hint("`samite branch keep` says how long a branch keeps its workspace trees"));
        }
        if !surface.printer.is_json() {
            surface.printer.aside_page(|page| page.line(&what));
        }
        if asks && !asked("delete it?")? {
            return Err(
                Error::invalid("not_confirmed", format!("branch {branch} was not deleted")).hint("nothing was touched")
            );
        }
        let kept_to = if self.dry_run { plan.kept_to } else { client.delete_branch(session, branch).await?.kept_to };
        surface.printer.answer(&Deleted {
            session: session.to_string(),
            branch: branch.to_string(),
            dry_run: self.dry_run,
            entries: plan.entries,
            trees: plan.trees,
            from: plan.from.map(rfc3339),
            kept_to,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
