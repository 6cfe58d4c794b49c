//! `samite workspace cat`.

use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use data_encoding::BASE64;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Print what a file held at a position
///
/// The bytes are printed as they are. With --json they are one document: `text` when they are text, else `base64`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite workspace cat 3f2a@12 src/main.rs
  samite workspace cat 3f2a@12 logo.png > logo.png")]
pub(crate) struct Cat {
    /// Where: SESSION@SEQ or SESSION:BRANCH@SEQ; without @SEQ, the branch's last tree
    at: Reference,
    /// The path, relative to the workspace
    path: String,
}

#[derive(Serialize)]
struct Held {
    path: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Answer for Held {
    // For a person the bytes themselves are the answer.
    fn show(&self, _: &mut Page) {}
}

/// A path as trees have it.
pub(super) fn inside(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

impl Cat {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let at = self.at.find_position(&client).await?.position;
        let path = inside(&self.path);
        if !surface.printer.is_json() {
            client.cat(at, path, &mut surface.printer.writer()).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut held = Vec::new();
        let bytes = client.cat(at, path, &mut held).await?;
        let (text, base64) = match String::from_utf8(held) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(BASE64.encode(error.as_bytes()))),
        };
        surface.printer.answer(&Held { path: self.path, bytes, text, base64 })?;
        Ok(ExitCode::SUCCESS)
    }
}
