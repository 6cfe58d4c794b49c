//! `samite audit show`.

use super::log::Act;
use crate::printer::words::time;
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

/// Show one act: its leaf as it stands in the log, and its entry while that is there
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit show 12
  samite audit show 12 --json | jq .leaf")]
pub(crate) struct Show {
    /// The leaf's index, as `samite audit log` shows it
    index: u64,
    /// An older log of this store, by its number
    #[arg(long, value_name = "LOG")]
    log: Option<u64>,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    act: Act,
    hash: String,
    leaf: Value,
    /// What the entry says; none when it was erased, or is large.
    payload: Option<Value>,
    erased: bool,
    #[serde(skip)]
    at: i64,
}

impl Answer for Shown {
    fn show(&self, page: &mut Page) {
        let fact = |page: &mut Page, name: &str, value: &str| {
            page.spans(&[(Style::Dim, &format!("{name:<9}")), (Style::Plain, value)]);
        };
        fact(page, "act", &self.act.what());
        fact(page, "when", &time(self.at));
        fact(page, "who", &self.act.who());
        fact(page, "of", self.act.owner.as_deref().unwrap_or("(erased)"));
        if let Some(session) = &self.act.session {
            fact(page, "session", session);
        }
        fact(page, "entry", &format!("{}@{}", self.act.journal, self.act.seq));
        if !self.act.policy.is_empty() {
            fact(page, "in force", &self.act.policy.join(", "));
        }
        if !self.act.consent.is_empty() {
            fact(page, "consent", &self.act.consent.join(", "));
        }
        fact(page, "leaf", &self.hash);
        match &self.payload {
            Some(payload) => page.block(0, &format!("{payload:#}"), None),
            None if self.erased => page.styled(Style::Dim, "what it says was erased, or its journal is gone"),
            None => {}
        }
    }
}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let (act, entry) = match client.audit().show(self.log, self.index).await {
            // It is somebody else's, and that it was shown is recorded.
            Err(error) if error.code() == "reads_unrecorded" => {
                drop(client);
                let client = surface.open(Access::Write)?.client().await?;
                client.audit().show(self.log, self.index).await?
            }
            other => other?,
        };
        let leaf = String::from_utf8_lossy(&act.leaf.encode()?).into_owned();
        let payload = entry.as_ref().and_then(|entry| entry.payload.as_deref());
        let erased = entry.as_ref().is_none_or(|entry| entry.payload.is_none() && entry.blocks.is_empty());
        surface.printer.answer(&Shown {
            hash: act.hash.to_string(),
            leaf: serde_json::from_str(&leaf).unwrap_or(Value::Null),
            payload: payload.and_then(|payload| serde_json::from_slice(payload).ok()),
            erased,
            at: act.leaf.at,
            act: Act::new(&act),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
