//! `samite secrets forget`.

use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Look for a registered secret no more
///
/// What placeholders took the place of stays replaced. The secret itself stays sealed in the log of the store, where
/// nothing reads it any more.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite secrets forget db")]
pub(crate) struct Forget {
    /// Its name
    name: String,
}

#[derive(Serialize)]
struct Forgotten {
    name: String,
}

impl Answer for Forgotten {
    fn show(&self, page: &mut Page) {
        page.line(format!("{} is not looked for any more", self.name));
    }
}

impl Forget {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        client.forget_secret(&self.name).await?;
        surface.printer.answer(&Forgotten { name: self.name })?;
        Ok(ExitCode::SUCCESS)
    }
}
