//! Looking whether a step's effect happened.
//!
//! [`prepare`] notes how things stand when a step starts; [`look`] compares later. Both block for at most the time
//! limit, touch nothing, and say "cannot tell" rather than guess: an error is a look that saw nothing.

mod command;
mod file;
mod git;
mod http;
#[cfg(test)]
mod tests;
mod workspace;

use samite_model::step::{Evidence, Probe, Verdict};
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a look may take, unless told otherwise: 20 seconds.
pub const TIME_LIMIT: Duration = Duration::from_secs(20);

/// From where to look, and for how long.
pub struct Lookout<'a> {
    /// The directory that relative paths start from and commands run in.
    pub base: &'a Path,
    /// How long a look may take.
    pub time_limit: Duration,
    /// For the workspace probe: the paths that differ from the tree recorded at the start.
    pub changed: Option<&'a dyn Fn() -> Result<Vec<String>>>,
}

impl<'a> Lookout<'a> {
    /// From a directory, with the usual time limit.
    pub fn new(base: &'a Path) -> Self {
        Self { base, time_limit: TIME_LIMIT, changed: None }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }
}

impl std::fmt::Debug for Lookout<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookout").field("base", &self.base).finish_non_exhaustive()
    }
}

/// Looks, and says what was seen.
pub fn look(probe: &Probe, from: &Lookout<'_>) -> Evidence {
    match probe {
        Probe::GitRef { repository, remote, reference, before, expected } => {
            let place = git::Place { repository: &from.path(repository), remote: remote.as_deref(), reference };
            git::look(&place, before.as_deref(), expected.as_deref(), from.time_limit)
        }
        Probe::File { path, sha256, before } => {
            file::look(&from.path(path), sha256.as_deref(), before.as_deref(), from.time_limit)
        }
        Probe::Command { argv, directory, before } => {
            let directory = directory.as_deref().map_or_else(|| from.base.to_owned(), |directory| from.path(directory));
            since(*before, command::look(argv, &directory, from.time_limit))
        }
        Probe::HttpGet { url, contains, before } => {
            since(*before, http::look(url, contains.as_deref(), from.time_limit))
        }
        Probe::Workspace => workspace::look(from.changed),
    }
}

/// Notes in a probe how things stand before its step starts, with every path made absolute.
///
/// # Errors
/// `unavailable` (`probe_blind`) when the state before cannot be seen, so that no later look could tell anything:
/// do not start the step. `invalid` (`bad_probe`) when the commit that it expects does not exist.
pub fn prepare(probe: Probe, from: &Lookout<'_>) -> Result<Probe> {
    let absolute = |path: &str| from.path(path).to_string_lossy().into_owned();
    Ok(match probe {
        Probe::GitRef { repository, remote, reference, expected, .. } => {
            let path = from.path(&repository);
            let place = git::Place { repository: &path, remote: remote.as_deref(), reference: &reference };
            let (before, expected) = git::prepare(&place, expected.as_deref(), from.time_limit)?;
            Probe::GitRef { repository: absolute(&repository), remote, reference, before, expected }
        }
        Probe::File { path, sha256, .. } => {
            let before = file::standing(&from.path(&path), from.time_limit).map_err(|why| blind(&why))?;
            Probe::File { path: absolute(&path), sha256, before }
        }
        Probe::Command { argv, directory, .. } => {
            let directory = absolute(directory.as_deref().unwrap_or_default());
            let before = command::look(&argv, Path::new(&directory), from.time_limit).verdict;
            Probe::Command { argv, directory: Some(directory), before: Some(before) }
        }
        Probe::HttpGet { url, contains, .. } => {
            let before = http::look(&url, contains.as_deref(), from.time_limit).verdict;
            Probe::HttpGet { url, contains, before: Some(before) }
        }
        Probe::Workspace => Probe::Workspace,
    })
}

fn blind(why: &str) -> Error {
    Error::unavailable("probe_blind", format!("the probe cannot see how things stand before the step: {why}"))
        .hint("mend what it looks at, or declare another effect")
}

fn evidence(verdict: Verdict, seen: impl Into<String>) -> Evidence {
    Evidence { verdict, seen: seen.into(), paths: Vec::new() }
}

fn cannot_tell(seen: impl Into<String>) -> Evidence {
    evidence(Verdict::CannotTell, seen)
}

/// What a look that has no memory tells, given what it said when the step started: only a change means something.
fn since(before: Option<Verdict>, now: Evidence) -> Evidence {
    match (before, now.verdict) {
        (None | Some(Verdict::DidNot), _) | (_, Verdict::CannotTell) => now,
        (Some(Verdict::Happened), Verdict::Happened) => {
            cannot_tell(format!("{}; it was so before the step started", now.seen))
        }
        (Some(Verdict::Happened), Verdict::DidNot) => {
            cannot_tell(format!("{}; it was otherwise before the step started", now.seen))
        }
        (Some(Verdict::CannotTell), _) => {
            cannot_tell(format!("{}; how it was before the step started could not be seen", now.seen))
        }
    }
}

/// The beginning of what somebody wrote, on one line.
fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(bytes);
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = words.chars().filter(|character| !character.is_control()).take(LONGEST).collect();
    if short.len() < words.len() {
        short.push('…');
    }
    short
}

/// A URL without what may be secret in it: user, password and query.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            format!("{scheme}://{}{path}", authority.rsplit('@').next().unwrap_or_default())
        }
        None => url.to_owned(),
    }
}
