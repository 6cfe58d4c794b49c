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
/// The bytes are printed as they are. With --json they are a string in one document, as text, or, where they are none,
/// in base64.
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
    session: String,
    branch: String,
    seq: u64,
    path: String,
    bytes: u64,
    /// `text` or `base64`.
    encoding: &'static str,
    content: String,
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
        let found = self.at.find_position(&client).await?;
        let at = found.position;
        let path = inside(&self.path);
        if !surface.printer.is_json() {
            surface.printer.pieces(async |out| client.cat(at, path, out).await).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut held = Vec::new();
        let bytes = client.cat(at, path, &mut held).await?;
        let (encoding, content) = match String::from_utf8(held) {
            Ok(text) => ("text", text),
            Err(error) => ("base64", BASE64.encode(error.as_bytes())),
        };
        surface.printer.answer(&Held {
            session: found.session.to_string(),
            branch: found.branch.to_string(),
            seq: at.seq,
            path: self.path,
            bytes,
            encoding,
            content,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
