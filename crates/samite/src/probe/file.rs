//! A file: whether it is there, with the content that it should have.

use super::{cannot_tell, evidence};
use samite_host::look::{Found, at};
use samite_model::step::{Evidence, Verdict};
use std::path::Path;
use std::time::Duration;

/// What is at a path, as it is recorded: none for nothing, the SHA-256 of a file, or the kind of anything else.
pub(super) fn standing(path: &Path, time_limit: Duration) -> Result<Option<String>, String> {
    match at(path, time_limit) {
        Ok(Found::Nothing) => Ok(None),
        Ok(Found::File { sha256, .. }) => Ok(Some(sha256)),
        Ok(Found::Directory) => Ok(Some("directory".to_owned())),
        Ok(Found::Special) => Ok(Some("special".to_owned())),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

pub(super) fn look(path: &Path, expected: Option<&str>, before: Option<&str>, time_limit: Duration) -> Evidence {
    let now = match standing(path, time_limit) {
        Ok(now) => now,
        Err(why) => return cannot_tell(why),
    };
    let name = path.display();
    match (now.as_deref(), before, expected) {
        (Some(now), Some(before), Some(expected)) if now == expected && before == expected => {
            cannot_tell(format!("{name} has the content that it should have, and had it before the step started"))
        }
        (Some(now), _, Some(expected)) if now == expected => {
            evidence(Verdict::Happened, format!("{name} has the content that it should have ({now})"))
        }
        (None, None, _) => evidence(Verdict::DidNot, format!("{name} does not exist, as before the step started")),
        (Some(now), Some(before), _) if now == before => {
            evidence(Verdict::DidNot, format!("{name} is as it was before the step started ({now})"))
        }
        (Some(now), None, None) => {
            evidence(Verdict::Happened, format!("{name} exists ({now}), and did not before the step started"))
        }
        (Some(now), Some(before), _) => {
            cannot_tell(format!("{name} has changed since the step started: {before}, now {now}"))
        }
        (Some(now), None, Some(_)) => cannot_tell(format!("{name} exists now, with another content ({now})")),
        (None, Some(_), _) => cannot_tell(format!("{name} existed before the step started, and does not now")),
    }
}
