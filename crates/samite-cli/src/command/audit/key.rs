//! `samite audit key`.

use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Print the verifier key of the log: with it alone, anybody can verify an export
///
/// Give it to whoever is to check the log, by a way that this machine cannot change. A store that was put back from an
/// older backup goes on with another log, under another name and key line; --all prints those of all its logs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit key > key
  samite audit key --all")]
pub(crate) struct Key {
    /// Those of older logs too
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct Keys {
    keys: Vec<One>,
}

#[derive(Serialize)]
struct One {
    log: u64,
    origin: String,
    key: String,
    size: u64,
    /// The first leaf that is in the store.
    minimum: u64,
    root: String,
}

impl Answer for Keys {
    fn show(&self, page: &mut Page) {
        let many = self.keys.len() > 1;
        for one in &self.keys {
            if many {
                let moved = if one.minimum > 0 { format!(", from {} on", one.minimum) } else { String::new() };
                page.styled(Style::Dim, format!("log {}, {} leaves{moved}:", one.log, one.size));
            }
            page.line(&one.key);
        }
    }
}

impl Key {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let mut logs = client.audit().logs().await?;
        if logs.is_empty() {
            return Err(Error::not_found("no_audit_log", "nothing was logged yet")
                .hint("the log begins with the first act on the store"));
        }
        if !self.all {
            logs.drain(..logs.len() - 1);
        }
        let keys = logs.into_iter().map(|log| One {
            log: log.log,
            origin: log.origin,
            key: log.key.to_string(),
            size: log.size,
            minimum: log.minimum,
            root: log.root.to_string(),
        });
        surface.printer.answer(&Keys { keys: keys.collect() })?;
        Ok(ExitCode::SUCCESS)
    }
}
