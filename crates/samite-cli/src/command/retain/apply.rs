//! `samite retain apply`.

use super::AllDue;
use crate::input::{asked, can_ask};
use crate::printer::Answer;
use crate::printer::words::count;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::{Error, Result};
use std::process::ExitCode;

/// Erase what is due, each with a proof of its own
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
        let plan = AllDue::new(&client, false, &client.retention_due(None).await?)?;
        if plan.free() == 0 {
            surface.printer.answer(&plan)?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.yes && !can_ask() {
            let many = count(plan.free() as u64, "thing");
            return Err(Error::invalid("not_confirmed", format!("{many} would be erased"))
                .hint("nothing was touched; --yes erases it, `samite retain preview` shows it"));
        }
        if !surface.printer.is_json() {
            let plan = AllDue { about_to_be: true, ..plan };
            surface.printer.aside_page(|page| plan.show(page));
        }
        if !self.yes && !asked("erase it for good?")? {
            return Err(Error::invalid("not_confirmed", "nothing was erased").hint("nothing was touched"));
        }
        let progress = surface.printer.progress("erasing");
        let done = store.apply_retention(&client, &progress.observer()).await?;
        drop(progress);
        surface.printer.answer(&AllDue::new(&client, true, &done)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
