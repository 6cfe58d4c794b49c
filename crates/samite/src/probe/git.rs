//! A git ref, in a repository or on a remote of it, read through the `git` command.

use super::{blind, cannot_tell, evidence, excerpt, without_secrets};
use samite_host::supervise::{Bounded, BoundedOutcome, run_bounded};
use samite_model::step::{Evidence, Verdict};
use samite_model::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// Which ref.
pub(super) struct Place<'a> {
    pub(super) repository: &'a Path,
    pub(super) remote: Option<&'a str>,
    pub(super) reference: &'a str,
}

/// Whatever points git at another repository than the one that is asked for: set while a hook of git runs.
const WITHOUT: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
];

/// What is wrong, in words.
type Answer<T> = std::result::Result<T, String>;

/// The ref and the commit to expect there, as they stand before the step: a push will move a branch of the remote to
/// where the branch of the same name is here.
pub(super) fn prepare(
    place: &Place<'_>,
    expected: Option<&str>,
    limit: Duration,
) -> Result<(Option<String>, Option<String>)> {
    let before = place.read(limit).map_err(|why| blind(&why))?;
    let expected = match expected {
        Some(expected) if is_object(expected) => Some(expected.to_owned()),
        Some(expected) => {
            let name = format!("{expected}^{{commit}}");
            let found = place.commit(&name, limit).map_err(|why| blind(&why))?;
            Some(found.ok_or_else(|| Error::invalid("bad_probe", format!("{expected:?} is no commit")))?)
        }
        None if place.remote.is_some() => {
            place.here().read(limit).ok().flatten().filter(|here| before.as_ref() != Some(here))
        }
        None => None,
    };
    Ok((before, expected))
}

pub(super) fn look(place: &Place<'_>, before: Option<&str>, expected: Option<&str>, limit: Duration) -> Evidence {
    let name = place.name();
    let now = match place.read(limit) {
        Ok(now) => now,
        Err(why) => return cannot_tell(why),
    };
    let Some(now) = now else {
        return match before {
            None => evidence(Verdict::DidNot, format!("{name} does not exist, as before the step started")),
            Some(before) => cannot_tell(format!("{name} was {before} before the step started, and is gone")),
        };
    };
    if before == Some(now.as_str()) {
        return evidence(Verdict::DidNot, format!("{name} is {now}, as before the step started"));
    }
    if expected == Some(now.as_str()) {
        return evidence(Verdict::Happened, format!("{name} is {now}, as the step meant it"));
    }
    let moved = format!("{name} was {} before the step started, and is {now}", before.unwrap_or("absent"));
    match place.explain(&now, before, expected, limit) {
        Ok(Some(why)) => evidence(Verdict::Happened, format!("{moved}, {why}")),
        Ok(None) => cannot_tell(moved),
        Err(why) => cannot_tell(format!("{moved}; {why}")),
    }
}

impl Place<'_> {
    fn here(&self) -> Place<'_> {
        Place { remote: None, ..*self }
    }

    fn name(&self) -> String {
        match self.remote {
            Some(remote) => format!("{} of {}", self.reference, without_secrets(remote)),
            None => format!("{} of {}", self.reference, self.repository.display()),
        }
    }

    /// Why a ref that is neither where it was nor where it was meant to be is still our doing, if it is.
    fn explain(
        &self,
        now: &str,
        before: Option<&str>,
        expected: Option<&str>,
        limit: Duration,
    ) -> Answer<Option<String>> {
        if self.remote.is_some() && self.commit(&format!("{now}^{{commit}}"), limit)?.is_none() {
            return Err("a commit that is not known here".to_owned());
        }
        if let Some(expected) = expected {
            // Ours arrived, and others put theirs on top.
            let arrived = self.is_ancestor(expected, now, limit)?;
            let was_there = match before {
                Some(before) if arrived => self.is_ancestor(expected, before, limit)?,
                _ => false,
            };
            if arrived && !was_there {
                return Ok(Some(format!("on top of {expected}, which the step meant to bring there")));
            }
            if self.remote.is_none() {
                return Ok(None);
            }
        }
        // A commit on top of what was there is ours; on a remote, only if it is also where the branch is here.
        if self.remote.is_some() && self.here().read(limit)?.as_deref() != Some(now) {
            return Ok(None);
        }
        let parent = self.first_parent(now, limit)?;
        let ours =
            parent.as_deref() == before || (self.remote.is_some() && parent.is_some() && parent.as_deref() == expected);
        Ok(ours.then(|| "a commit on top of that".to_owned()))
    }

    /// Where the ref points; none when there is no such ref.
    fn read(&self, limit: Duration) -> Answer<Option<String>> {
        match self.remote {
            None => self.read_local(limit),
            Some(remote) => {
                let outcome = self.git(&["ls-remote", "--", remote, self.reference], limit)?;
                if outcome.status != Some(0) {
                    return Err(failure(&self.name(), &outcome, limit));
                }
                let text = String::from_utf8_lossy(&outcome.stdout);
                // The command matches the ends of names as well.
                let mut refs = text.lines().filter_map(|line| line.split_once('\t'));
                Ok(refs.find(|(_, name)| *name == self.reference).map(|(object, _)| object.to_owned()))
            }
        }
    }

    fn read_local(&self, limit: Duration) -> Answer<Option<String>> {
        let outcome = self.git(&["show-ref", "--verify", "--hash", "--", self.reference], limit)?;
        if outcome.status == Some(0) {
            return Ok(Some(first_line(&outcome.stdout)));
        }
        // Being quiet, it tells an absent ref from a repository that cannot be read.
        let quiet = self.git(&["show-ref", "--verify", "--quiet", "--", self.reference], limit)?;
        if quiet.status == Some(1) { Ok(None) } else { Err(failure(&self.name(), &outcome, limit)) }
    }

    fn commit(&self, name: &str, limit: Duration) -> Answer<Option<String>> {
        let outcome = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", name], limit)?;
        Ok((outcome.status == Some(0)).then(|| first_line(&outcome.stdout)))
    }

    fn first_parent(&self, commit: &str, limit: Duration) -> Answer<Option<String>> {
        let outcome = self.git(&["rev-list", "--parents", "-n", "1", commit], limit)?;
        if outcome.status != Some(0) {
            return Err(failure(commit, &outcome, limit));
        }
        Ok(first_line(&outcome.stdout).split(' ').nth(1).map(str::to_owned))
    }

    fn is_ancestor(&self, older: &str, newer: &str, limit: Duration) -> Answer<bool> {
        let outcome = self.git(&["merge-base", "--is-ancestor", older, newer], limit)?;
        match outcome.status {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failure(older, &outcome, limit)),
        }
    }

    fn git(&self, arguments: &[&str], limit: Duration) -> Answer<BoundedOutcome> {
        let mut argv: Vec<OsString> = vec!["git".into(), "-C".into(), self.repository.into()];
        argv.extend(arguments.iter().map(OsString::from));
        let mut env = vec![
            ("GIT_TERMINAL_PROMPT", OsStr::new("0")),
            ("GIT_ASKPASS", OsStr::new("true")),
            ("SSH_ASKPASS", OsStr::new("true")),
            ("GIT_OPTIONAL_LOCKS", OsStr::new("0")),
            ("GIT_NO_REPLACE_OBJECTS", OsStr::new("1")),
            ("LC_ALL", OsStr::new("C")),
        ];
        if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
            env.push(("GIT_SSH_COMMAND", OsStr::new("ssh -oBatchMode=yes")));
        }
        let bounded = Bounded { env: &env, without: &WITHOUT, output_limit: 1 << 20, ..Bounded::new(&argv, limit) };
        match run_bounded(&bounded) {
            // What is looked for might be in the part that was not kept.
            Ok(outcome) if outcome.overflowed => Err(format!("{} cannot be read: git said too much", self.name())),
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(format!("git was asked: {error}")),
            other => other.map_err(|error| format!("git cannot be run: {error}")),
        }
    }
}

fn failure(name: &str, outcome: &BoundedOutcome, limit: Duration) -> String {
    if outcome.timed_out {
        format!("{name} cannot be read: git did not answer within {} s", limit.as_secs_f32())
    } else {
        format!("{name} cannot be read: {}", words_of(&outcome.stderr))
    }
}

/// What git complains about, with no password of a URL in it.
fn words_of(stderr: &[u8]) -> String {
    excerpt(stderr)
        .split(' ')
        .map(|word| if word.contains("://") { without_secrets(word) } else { word.to_owned() })
        .collect::<Vec<_>>()
        .join(" ")
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned()
}

/// Whether a text is the whole name of an object.
fn is_object(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}
