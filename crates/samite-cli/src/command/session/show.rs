//! `samite session show`.

use crate::reference::Reference;
use crate::shape::SessionShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show a session
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session show 3f2a
  samite session show 3f2a --json | jq .head")]
pub(crate) struct Show {
    /// The session
    session: Reference,
}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let session = self.session.find_session(&client).await?;
        surface.printer.answer(&SessionShape::new(&client.session(session).await?))?;
        Ok(ExitCode::SUCCESS)
    }
}
