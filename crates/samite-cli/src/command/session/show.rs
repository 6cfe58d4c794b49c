//! `samite session show`.

use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::shape::{CheckpointsShape, SessionShape};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show a session, and what its checkpoints cost and left at risk
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session show 3f2a
  samite session show 3f2a --json | jq .head")]
pub(crate) struct Show {
    /// The session
    session: Reference,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    session: SessionShape,
    checkpoints: CheckpointsShape,
}

impl Answer for Shown {
    fn show(&self, page: &mut Page) {
        self.session.show_with(&self.checkpoints.facts(), page);
        self.checkpoints.show_full(self.session.id(), page);
    }
}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let session = self.session.find_session(&client).await?;
        let info = client.session(session).await?;
        let costs = client.session_checkpoints(session).await?;
        surface.printer.answer(&Shown {
            checkpoints: CheckpointsShape::new(&costs, info.current),
            session: SessionShape::new(&info),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
