//! `samite identity check`.

use super::Shown;
use crate::input::file_or_input;
use crate::surface::Surface;
use clap::Args;
use samite_host::files;
use samite_identity::{Config, LONGEST_TOKEN, Verifier};
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show whom a token stands for, or why it is refused
///
/// The token comes from a file or from standard input, never as an argument, which other processes can see.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite identity check --config identity.toml --token-file token
  issue-token | samite identity check --config identity.toml --json")]
pub(super) struct Check {
    /// The configuration: which issuers are believed, and where their keys are
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The file with the token; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    token_file: PathBuf,
    /// Let the configuration's development tokens count
    #[arg(long)]
    dev: bool,
}

/// The largest configuration, in bytes.
const LARGEST: u64 = 1 << 20;

impl Check {
    pub(super) fn run(self, surface: &Surface) -> Result<ExitCode> {
        let text = file_or_input("the configuration", &self.config, LARGEST)?;
        let text = String::from_utf8(text).map_err(|_| {
            Error::invalid("bad_identity_config", format!("{} is not text", self.config.display()))
                .hint("docs/identity.md has one that is right")
        })?;
        let directory = if self.config == Path::new("-") {
            crate::surface::here()?
        } else {
            files::canonical(&self.config)?.parent().map(Path::to_path_buf).unwrap_or_default()
        };
        let verifier = Verifier::new(Config::parse(&text, &directory)?, self.dev)?;
        let token = file_or_input("the token", &self.token_file, 2 * LONGEST_TOKEN as u64)?;
        let token = String::from_utf8_lossy(&token);
        surface.printer.answer(&Shown::new(&verifier.principal(token.trim())?)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
