//! `samite tour`: the main job, for real, in a scratch directory.

pub(crate) mod agent;
mod chapters;
mod stage;

use crate::printer::words::duration;
use crate::printer::{Answer, Page, Style};
use crate::surface::Surface;
use clap::Args;
use samite_host::files::{self, io_error};
use samite_host::{Clock, SystemClock};
use samite_model::{Error, Result};
use serde::Serialize;
use stage::{Check, Stage};
use std::path::PathBuf;
use std::process::ExitCode;

/// See the main job done for real in a scratch directory, in under a minute
///
/// An agent works on a git repository made on the spot, is killed between a commit and its record, and is recovered
/// without a second commit; then its session is checkpointed, forked, rewound and verified. Everything is checked, and
/// the exit status is 1 when a check fails. Your own store is not touched.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite tour
  samite tour --keep /tmp/tour")]
pub(crate) struct Tour {
    /// Work in this directory, which must not exist, and keep it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Serialize)]
struct Toured {
    ok: bool,
    checks: Vec<Check>,
    duration_ns: u64,
    #[serde(skip)]
    kept: Option<PathBuf>,
}

impl Answer for Toured {
    fn show(&self, page: &mut Page) {
        page.gap();
        let held = self.checks.iter().filter(|check| check.holds()).count();
        let all = format!("{held} of {} checks hold, in {}", self.checks.len(), duration(self.duration_ns));
        page.styled(if self.ok { Style::Good } else { Style::Bad }, all);
        for check in self.checks.iter().filter(|check| !check.holds()) {
            page.styled(Style::Bad, format!("not so: {}", check.what()));
        }
        if let Some(kept) = &self.kept {
            let kept = kept.display();
            page.line(format!(
                "kept in {kept}: SAMITE_STORE={kept}/store SAMITE_MASTER_FILE={kept}/master.key samite status"
            ));
        }
    }
}

impl Tour {
    /// Goes through it.
    pub(crate) fn run(self, surface: &Surface) -> Result<ExitCode> {
        let began = SystemClock.now();
        let failed = |error: std::io::Error| {
            Error::unavailable("no_scratch", format!("cannot make a scratch directory: {error}"))
                .hint("set TMPDIR to a directory on a local disk")
        };
        // Removed when the tour ends, however it ends.
        let (_removed, scratch) = if let Some(directory) = &self.keep {
            let made = |error| io_error("make the directory", directory, error);
            if files::exists(directory)? {
                return Err(Error::conflict("file_exists", format!("{} exists already", directory.display()))
                    .hint("name a directory that does not exist"));
            }
            std::fs::create_dir(directory).map_err(made)?;
            (None, directory.canonicalize().map_err(made)?)
        } else {
            let directory = tempfile::Builder::new().prefix("samite-tour-").tempdir().map_err(failed)?;
            let path = directory.path().canonicalize().map_err(failed)?;
            (Some(directory), path)
        };
        let mut stage = Stage::new(surface.printer, &scratch)?;
        chapters::all(&mut stage)?;
        let checks = stage.into_checks();
        let ok = !checks.is_empty() && checks.iter().all(Check::holds);
        let duration_ns = u64::try_from(SystemClock.now() - began).unwrap_or(0);
        surface.printer.answer(&Toured { ok, checks, duration_ns, kept: self.keep })?;
        Ok(ExitCode::from(u8::from(!ok)))
    }
}
