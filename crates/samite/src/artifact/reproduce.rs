//! Making an artifact again: its inputs in a directory, its command, and whether the same bytes come of it.

use super::place::{BYTES, WORK};
use crate::client::Client;
use crate::payload::ArtifactRecord;
use crate::run::{argv_of, is_redacted};
use samite_host::files;
use samite_host::supervise::{Bounded, Overflow, run_bounded};
use samite_model::tree::TreePath;
use samite_model::{ArtifactId, Error, Result};
use samite_workspace::{FileSource, RestoreOptions, Tree, materialise};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An artifact's inputs in a directory, ready to make it again.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Its record.
    pub record: ArtifactRecord,
    /// The directory: `work` in it stands for the workspace, `outside` holds inputs from elsewhere, `artifact` its bytes.
    pub directory: PathBuf,
    /// The recorded command; none when none was.
    pub argv: Option<Vec<OsString>>,
    /// Where it runs now.
    pub runs_in: PathBuf,
    /// Where its output is expected; none when it was not a file of the workspace.
    pub output: Option<PathBuf>,
}

/// What came of running the recorded command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Its exit status; none when a signal or the time limit ended it.
    pub status: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// The beginning of its standard output, at most 64 KiB.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error, at most 64 KiB.
    pub stderr: Vec<u8>,
    /// How many bytes came of it; none when there is no output.
    pub size: Option<u64>,
    /// Their SHA-256.
    pub sha256: Option<String>,
    /// Whether they are the artifact's bytes.
    pub same: bool,
}

/// So much of a command's words is kept.
const WORDS: usize = 64 << 10;

fn no_output(name: &str) -> Error {
    Error::invalid("no_output", format!("{name:?} is no path in the workspace"))
        .hint("run the command yourself and compare: `artifact` in the directory has its bytes")
}

/// A directory below another, unless a symbolic link among the inputs leads elsewhere on the way.
fn below_without_links(top: &Path, path: &TreePath) -> Result<Option<PathBuf>> {
    let mut at = top.to_owned();
    for name in path.names() {
        at = at.join(OsStr::from_bytes(name));
        if files::exists(&at)? && files::canonical(&at)? != at {
            return Ok(None);
        }
    }
    Ok(Some(at))
}

/// Where an output of this name is expected.
fn output_below(top: &Path, name: &str) -> Result<Option<PathBuf>> {
    match TreePath::new(name.as_bytes()) {
        Ok(path) if !path.is_top() => {
            let directory = below_without_links(top, &path.parent().unwrap_or_default())?;
            Ok(directory.map(|directory| directory.join(OsStr::from_bytes(path.name()))))
        }
        _ => Ok(None),
    }
}

impl Client {
    /// Puts an artifact's inputs and bytes into a new directory, and says how it was made. Nothing is run. The files are
    /// written and not synced.
    ///
    /// # Errors
    /// `conflict` (`not_empty`) when the directory holds something; as [`Client::artifact_bytes`].
    pub async fn reproduce(&self, artifact: ArtifactId, directory: &Path) -> Result<Reproduction> {
        let record = self.present(artifact).await?;
        if files::exists(directory)? && !files::list(directory)?.is_empty() {
            return Err(Error::conflict("not_empty", format!("{} holds something already", directory.display()))
                .hint("give a directory that does not exist"));
        }
        let store = self.core.blocks();
        let operation = self.core.random_id()?;
        let options = RestoreOptions::new(operation, self.subject.pseudonym, None, record.root);
        let made = materialise(&store, directory, &options)?;
        if let Some(failed) = made.failed.first() {
            return Err(Error::conflict("not_put_back", format!("{} could not be made: {}", failed.path, failed.what))
                .hint("give a directory on a file system that can hold it"));
        }
        let directory = files::canonical(directory)?;
        let work = directory.join(WORK);
        files::create_private_dir(&work)?;
        let command = record.lineage.command.clone();
        let argv = command.as_ref().and_then(|command| {
            let input = json!({ "argv": command.argv, "directory": command.directory });
            argv_of(&input).map(|(argv, _)| argv)
        });
        // A directory outside of the workspace is none of ours: the command runs at the top.
        let below = command.map(|command| command.directory).filter(|below| !below.starts_with('/'));
        let runs_in = match below.as_deref().map(|below| TreePath::new(below.as_bytes())) {
            Some(Ok(below)) => below_without_links(&work, &below)?.unwrap_or_else(|| work.clone()),
            _ => work.clone(),
        };
        files::create_private_dir(&runs_in)?;
        let output = output_below(&work, &record.name)?;
        Ok(Reproduction { record, directory, argv, runs_in, output })
    }

    /// Runs the recorded command where its inputs were put, and compares what comes of it with the artifact. It runs as this
    /// user and may do whatever this user may: look at it first. Blocks its thread.
    ///
    /// # Errors
    /// `invalid`: `no_command` when none was recorded, `command_redacted` when a secret was taken out of it, `no_output` when it was not a file of the workspace; `unavailable`
    /// when it cannot be started.
    pub fn run_again(&self, made: &Reproduction, time_limit: Duration) -> Result<Compared> {
        let (argv, program) = made.argv.as_deref().and_then(|argv| Some((argv, argv.first()?))).ok_or_else(|| {
            Error::invalid("no_command", "no command was recorded with the artifact")
                .hint("publish it with --step KEY or with a command: `samite artifact put … -- COMMAND`")
        })?;
        if is_redacted(argv) {
            return Err(Error::invalid(
                "command_redacted",
                format!("the command of artifact {} held a secret, which is not kept", made.record.artifact.short()),
            )
            .hint("run it by hand, with the secret in place of its placeholder"));
        }
        let output = made.output.as_deref().ok_or_else(|| no_output(&made.record.name))?;
        if output_below(&made.directory.join(WORK), &made.record.name)?.as_deref() != Some(output) {
            return Err(no_output(&made.record.name));
        }
        self.make_room(made, output)?;
        let limits = Bounded {
            cwd: Some(&made.runs_in),
            output_limit: WORDS,
            overflow: Overflow::Drop,
            ..Bounded::new(argv, time_limit)
        };
        let ran = run_bounded(&limits).map_err(|error| {
            Error::unavailable("not_started", format!("{} cannot be run", Path::new(program).display())).because(error)
        })?;
        let found = match FileSource::open(output) {
            Ok(file) => Some(file.sha256()?),
            Err(error) if matches!(error.code(), "no_file" | "not_a_file") => None,
            Err(error) => return Err(error),
        };
        let (sha256, size) = found.map(|(sha256, stamp)| (sha256, stamp.size)).unzip();
        let same = sha256.as_ref() == Some(&made.record.sha256) && size == Some(made.record.size);
        Ok(Compared {
            status: ran.status,
            timed_out: ran.timed_out,
            stdout: ran.stdout,
            stderr: ran.stderr,
            size,
            sha256,
            same,
        })
    }

    /// What stands where the output shall be came with an input: it proves nothing, unless the command was given it itself.
    fn make_room(&self, made: &Reproduction, output: &Path) -> Result<()> {
        let is_input = made.record.lineage.inputs.iter().any(|input| input.path == made.record.name);
        if files::exists(output)? {
            if !is_input {
                files::remove(output)?;
            }
        } else if let Some(parent) = output.parent() {
            files::create_private_dir(parent)?;
        }
        let store = self.core.blocks();
        // That the bytes are there to be compared with.
        Tree::new(&store, self.subject.pseudonym, made.record.root).entry(&TreePath::new(BYTES)?).map(|_| ())
    }
}
