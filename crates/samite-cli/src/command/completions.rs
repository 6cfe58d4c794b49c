//! `samite completions`.

use crate::arguments::Arguments;
use crate::printer::{Answer, Page};
use crate::surface::Surface;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Print completions for a shell
///
/// With --json the script is a string in one document.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite completions bash > ~/.local/share/bash-completion/completions/samite
  samite completions zsh > ~/.zfunc/_samite
  samite completions fish > ~/.config/fish/completions/samite.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

impl Answer for Script {
    // For a person the script itself is the answer.
    fn show(&self, _: &mut Page) {}
}

impl Completions {
    pub(super) fn run(self, surface: &Surface) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "samite", &mut script);
        if surface.printer.is_json() {
            let script = String::from_utf8_lossy(&script).into_owned();
            surface.printer.answer(&Script { shell: self.shell.to_string(), script })?;
        } else {
            surface.printer.bytes(&script)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
