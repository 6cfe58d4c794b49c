//! `samite session new`.

use super::set::Choices;
use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::shape::SessionShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::NewSession;
use samite::payload::ParentSession;
use samite_model::Result;
use samite_model::settings::Settings;
use serde::Serialize;
use std::process::ExitCode;

/// Make a session
///
/// It has one branch, which is current. When this returns, it is durable. The first use of a store makes the store and
/// says where its master key is.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session new
  samite session new --name 'fix the build'
  id=$(samite session new --json | jq -r .id)
  samite session new --name reviewer --parent 3f2a@17
  samite session new --name payments --branching linear")]
pub(crate) struct New {
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// The caller's id for it: making it again is a conflict
    #[arg(long)]
    key: Option<String>,
    /// The session that it works for: SESSION, or SESSION@SEQ with the seq of the step that starts it
    #[arg(long, value_name = "SESSION")]
    parent: Option<Reference>,
    #[command(flatten)]
    settings: Choices,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Made(SessionShape);

impl Answer for Made {
    fn show(&self, page: &mut Page) {
        page.line(self.0.id());
    }
}

impl New {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        self.settings.check()?;
        let client = surface.open(Access::Create)?.client().await?;
        let parent = match &self.parent {
            Some(parent) => {
                let found = parent.find(&client).await?;
                let step = match found.seq {
                    Some(seq) => {
                        let branch = found.branch_or_current(&client).await?;
                        Some(client.position(found.session, branch, seq).await?)
                    }
                    None => None,
                };
                Some(ParentSession { session: found.session, step })
            }
            None => None,
        };
        let mut settings = Settings::default();
        self.settings.apply(&mut settings);
        let new = NewSession { name: self.name, key: self.key, parent, settings, source: None };
        let info = client.create_session(new).await?;
        self.settings.explain(&surface.printer);
        surface.printer.answer(&Made(SessionShape::new(&info)))?;
        Ok(ExitCode::SUCCESS)
    }
}
