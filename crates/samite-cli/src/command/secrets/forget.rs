//! `samite secrets forget`.

use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Look for a registered secret no more, and destroy what held it
///
/// What placeholders took the place of stays replaced. The entries in which the secret was sealed become tombstones, and
/// the database is written anew: an erasure as any other, with a proof (`samite erase list`). A copy of the store that is
/// older does the same before it serves.
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
    /// The erasure of what held it.
    erasure: String,
}

impl Answer for Forgotten {
    fn show(&self, page: &mut Page) {
        page.line(format!("{} is not looked for any more, and what held it is destroyed", self.name));
    }
}

impl Forget {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let erasure = store.forget_secret(&client, &self.name).await?.started.erasure.to_string();
        surface.printer.answer(&Forgotten { name: self.name, erasure })?;
        Ok(ExitCode::SUCCESS)
    }
}
