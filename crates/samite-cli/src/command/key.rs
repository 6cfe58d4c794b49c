//! `samite key`.

use crate::input::{check_new_file, passphrase};
use crate::printer::words::count;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface, file_master};
use clap::{Args, Subcommand};
use samite_host::files;
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Keep the master key safe
///
/// It is in a file outside the store, which `status` names; `SAMITE_MASTER_FILE` names another one. `SAMITE_MASTER_KEY` may
/// hold a key instead, 32 bytes as hexadecimal or base64, and `SAMITE_MASTER_COMMAND` a program that keeps one, with
/// arguments, quoted as for a shell.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    Export(Export),
    Import(Import),
}

/// Write the master key to a file, sealed under a passphrase
///
/// A backup is of no use without the key. Keep the export apart from the store and from its backups. After an erasure,
/// export again and destroy the older export: that it was exported is in the audit log. The passphrase is the first line of --passphrase-file, of
/// `SAMITE_PASSPHRASE`, or of standard input.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite key export /media/stick/samite.key --passphrase-file ~/passphrase
  pass show samite | samite key export samite.key")]
pub(crate) struct Export {
    /// The file, which must not exist
    to: PathBuf,
    /// The file whose first line is the passphrase; - is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Exported {
    path: String,
    bytes: usize,
}

impl Answer for Exported {
    fn show(&self, page: &mut Page) {
        page.line(format!("the master key is in {}, sealed under the passphrase", self.path));
    }
}

impl Key {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Export(command) => command.run(surface).await,
            Self::Import(command) => command.run(surface),
        }
    }
}

/// Put an exported master key where this machine looks for it, so that a backup opens here
///
/// A key that is there already keeps what it has, so that an older export does not bring back what was destroyed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite key import /media/stick/samite.key --passphrase-file ~/passphrase
  samite --store /media/disk/samite-monday session list")]
pub(crate) struct Import {
    /// The exported key
    from: PathBuf,
    /// The file whose first line is the passphrase; - is standard input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Imported {
    path: String,
    keystores: usize,
}

impl Answer for Imported {
    fn show(&self, page: &mut Page) {
        let many = count(self.keystores as u64, "keystore");
        page.line(format!("{many} more can be opened with the master key in {}", self.path));
    }
}

impl Import {
    fn run(self, surface: &Surface) -> Result<ExitCode> {
        let master = file_master()?;
        let exported = files::read(&self.from)?;
        let passphrase = passphrase(self.passphrase_file.as_deref())?;
        let keystores = master.import(&exported, &passphrase)?;
        surface.printer.answer(&Imported { path: master.path().display().to_string(), keystores })?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Export {
    async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        check_new_file(&self.to)?;
        let passphrase = passphrase(self.passphrase_file.as_deref())?;
        let exported = store.export_key(&store.client().await?, &passphrase).await?;
        files::write_atomic(&self.to, &exported, files::PRIVATE_FILE)?;
        surface.printer.answer(&Exported { path: self.to.display().to_string(), bytes: exported.len() })?;
        Ok(ExitCode::SUCCESS)
    }
}
