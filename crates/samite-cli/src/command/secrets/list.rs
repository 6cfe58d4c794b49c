//! `samite secrets list`.

use crate::printer::{Answer, Page, Style, words};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the registered secrets, without the secrets
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite secrets list")]
pub(crate) struct List {}

#[derive(Serialize)]
struct One {
    name: String,
    length: u64,
    fingerprint: String,
    since: String,
}

#[derive(Serialize)]
struct Registered {
    secrets: Vec<One>,
}

impl Answer for Registered {
    fn show(&self, page: &mut Page) {
        if self.secrets.is_empty() {
            return page.styled(Style::Dim, "no secret is registered");
        }
        for one in &self.secrets {
            page.line(format!("{}  {}  {}", one.name, one.fingerprint, words::count(one.length, "byte")));
        }
    }
}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let secrets = client.registered_secrets().await?;
        let secrets = secrets
            .into_iter()
            .filter_map(|secret| {
                Some(One {
                    name: secret.name,
                    length: secret.length? as u64,
                    fingerprint: data_encoding::HEXLOWER.encode(&secret.fingerprint?),
                    since: words::rfc3339(secret.since),
                })
            })
            .collect();
        surface.printer.answer(&Registered { secrets })?;
        Ok(ExitCode::SUCCESS)
    }
}
