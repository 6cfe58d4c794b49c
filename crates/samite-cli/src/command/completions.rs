//! `samite completions`.

use crate::arguments::Arguments;
use crate::surface::Surface;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use samite_model::Result;
use std::process::ExitCode;

/// Print completions for a shell
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

impl Completions {
    pub(super) fn run(self, surface: &Surface) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "samite", &mut script);
        surface.printer.bytes(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
