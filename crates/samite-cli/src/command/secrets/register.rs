//! `samite secrets register`.

use crate::input::file_or_input;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Register a secret: it is replaced wherever it is written, in every encoding
///
/// The secret is read from standard input or a file, never from an argument, which others can see; one line's end at its
/// end is left out. It has at least six bytes, and is stored sealed. A secret of the same name is replaced, and
/// destroyed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  pass show db | samite secrets register db
  samite secrets register deploy-key --file ~/.config/deploy.key")]
pub(crate) struct Register {
    /// What placeholders call it: small letters, digits and hyphens
    name: String,
    /// Read it from a file; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

#[derive(Serialize)]
struct Registered {
    name: String,
    length: u64,
}

impl Answer for Registered {
    fn show(&self, page: &mut Page) {
        page.line(format!("{} is looked for from now on", self.name));
    }
}

impl Register {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let bytes = file_or_input("the secret", &self.file, 64 << 10)?;
        let secret = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
        let store = surface.open(Access::Create)?;
        let client = store.client().await?;
        store.register_secret(&client, &self.name, secret).await?;
        surface.printer.answer(&Registered { name: self.name, length: secret.len() as u64 })?;
        Ok(ExitCode::SUCCESS)
    }
}
