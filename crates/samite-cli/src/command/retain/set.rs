//! `samite retain set`.

use super::Retentions;
use crate::surface::{Access, Surface};
use clap::{Args, ValueEnum};
use samite::policy::{Retained, days};
use samite_host::files;
use samite_model::{Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Decide how long a kind of things is kept
///
/// Nothing goes by that alone: `samite retain preview` shows what is due, `samite retain apply` erases it. A session is due
/// when none of its branches was written to for so long; an artifact so long after its publication, where `samite
/// artifact keep` and `samite artifact policy` decided nothing for it; a record of long-term memory so long after it was
/// last said, or something that was made of it was, pinned or not. What of the audit log is older, at least 183 days, moves to the folder that --archive names, where it verifies, and out of the store. Without --archive none is named any more,
/// and nothing moves.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite retain set session 400d
  samite retain set artifact 7y
  samite retain set memory 2y
  samite retain set audit 400d --archive /mnt/cold
  samite retain set session keep")]
pub(crate) struct Set {
    /// The kind
    kind: Kind,
    /// How long: days, weeks or years (400d, 8w, 7y; a year has 366 days), or keep
    duration: String,
    /// Where older leaves of the audit log go, outside the store; it is made where the directory above it is there, and may have an earlier part of the log
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
}

/// What has a retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Sessions
    Session,
    /// Artifacts
    Artifact,
    /// The audit log
    Audit,
    /// Records of long-term memory
    Memory,
}

impl Set {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let kind = match self.kind {
            Kind::Session => Retained::Session,
            Kind::Artifact => Retained::Artifact,
            Kind::Audit => Retained::Audit,
            Kind::Memory => Retained::Memory,
        };
        let kept = if self.duration == "keep" { None } else { Some(days(&self.duration)?) };
        let client = surface.open(Access::Create)?.client().await?;
        match (&self.archive, kept) {
            (None, _) => client.set_retention(kind, kept).await?,
            (Some(archive), Some(days)) if kind == Retained::Audit => {
                client.set_audit_retention(days, &files::canonical_to_be(archive)?).await?;
            }
            (Some(_), _) => {
                return Err(Error::invalid("usage", "--archive says where old leaves of the audit log go")
                    .hint("samite retain set audit 400d --archive DIR"));
            }
        }
        if kept == Some(0) {
            surface.printer.note(
                "all of it is due from now on: `samite retain preview` lists it, `samite retain apply` erases it",
            );
        }
        surface.printer.answer(&Retentions::read(&client).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
