//! `samite retain apply`.

use super::AllDue;
use crate::input::{asked, can_ask};
use crate::printer::Answer;
use crate::printer::words::count;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::{Error, Result};
use std::process::ExitCode;

/// Erase what is due, each with a proof of its own, and move old leaves of the audit log to its archive
///
/// Of all persons of the tenant. What is under a legal hold stays. It is shown first; where nobody can be asked it needs --yes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite retain preview
  samite retain apply --yes")]
pub(crate) struct Apply {
    /// Erase without asking
    #[arg(long)]
    yes: bool,
}

impl Apply {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let plan = AllDue::read(&client).await?;
        if plan.free() == 0 && !plan.moves() {
            surface.printer.answer(&plan)?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.yes && !can_ask() {
            let many = count(plan.free() as u64, "thing");
            let leaves = if plan.moves() { ", and leaves of the audit log moved" } else { "" };
            return Err(Error::invalid("not_confirmed", format!("{many} would be erased{leaves}"))
                .hint("nothing was touched; --yes does it, `samite retain preview` shows it"));
        }
        if !surface.printer.is_json() {
            let plan = AllDue { about_to_be: true, ..plan };
            surface.printer.aside_page(|page| plan.show(page));
        }
        if !self.yes && !asked("erase and move it for good?")? {
            return Err(Error::invalid("not_confirmed", "nothing was erased").hint("nothing was touched"));
        }
        let progress = surface.printer.progress("erasing");
        let done = store.apply_retention(&client, &progress.observer()).await?;
        let moved = client.audit().apply_retention(&progress.observer()).await;
        drop(progress);
        // What was erased is told also when leaves could not be moved.
        let erased = AllDue::done(&client, &done, moved.as_deref().unwrap_or_default()).await?;
        surface.printer.answer(&erased)?;
        moved.map(|_| ExitCode::SUCCESS)
    }
}
