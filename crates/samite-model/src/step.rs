//! A step: a tool execution with a durable boundary, and what is known of it at a position.

use serde::{Deserialize, Serialize};

/// What a step can do to the world, and so how doubt about it is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "class")]
pub enum Effect {
    /// Doing it again changes nothing more: run again.
    Idempotent,
    /// The outside dedupes on our idempotency key, for `window_seconds` after the first start (none: for ever).
    Keyed {
        /// How long the outside remembers a key, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window_seconds: Option<u64>,
    },
    /// Only the workspace, or these paths of it: put its tree back and run again.
    Contained {
        /// Paths relative to the workspace; empty means the whole of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        within: Vec<String>,
    },
    /// A probe can tell whether it happened.
    Observable {
        /// How long after the writer was lost a "did not" starts to count, in seconds; none: 30 for a probe that looks
        /// at something remote (see [`crate::recovery::SETTLE_SECONDS`]), at once for one that does not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settle_seconds: Option<u64>,
    },
    /// Only a person can tell.
    Opaque,
}

impl Effect {
    /// The class's name on the command line and in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::Keyed { .. } => "keyed",
            Self::Contained { .. } => "contained",
            Self::Observable { .. } => "observable",
            Self::Opaque => "opaque",
        }
    }
}

/// How to look whether a step's effect happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "probe")]
pub enum Probe {
    /// A git ref, in a local repository or on a remote of it.
    GitRef {
        /// The repository's directory.
        repository: String,
        /// The remote's name or URL; none means the local repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote: Option<String>,
        /// The ref, such as `refs/heads/main`.
        reference: String,
        /// What the ref was when the step started, as found then; none means that it did not exist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        /// The commit that the step was going to put there, when it is known before (a push).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<String>,
    },
    /// A file: exists, or has this SHA-256.
    File {
        /// The path.
        path: String,
        /// The SHA-256 it has once the step happened; none means that existing is enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
        /// What was there at the start: the SHA-256 of a file, or `directory`; none means that nothing was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    /// A command: exit 0 = happened, 1 = did not, other = cannot tell.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// The directory it runs in; none means where the look is taken from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<String>,
        /// What it said when the step started: unless that was "did not", a later "happened" tells nothing. None means
        /// that nobody looked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Verdict>,
    },
    /// An HTTP GET: 2xx = happened, 404 or 410 = did not, other = cannot tell.
    HttpGet {
        /// The URL.
        url: String,
        /// What the body must contain to count as happened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contains: Option<String>,
        /// What it said when the step started: unless that was "did not", a later "happened" tells nothing. None means
        /// that nobody looked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Verdict>,
    },
    /// The workspace's tree: unchanged = did not happen, changed = cannot tell.
    Workspace,
}

impl Probe {
    /// Whether a "did not" counts only after a settle time, because the outside may still be at it.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::HttpGet { .. } => true,
            Self::GitRef { remote, .. } => remote.is_some(),
            Self::File { .. } | Self::Command { .. } | Self::Workspace => false,
        }
    }
}

/// What a probe saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it says.
    pub verdict: Verdict,
    /// What was looked at and what was there, in words.
    pub seen: String,
    /// Paths of the workspace that differ, when that is what was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// What evidence says about an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It happened.
    Happened,
    /// It did not.
    DidNot,
    /// It cannot be told.
    CannotTell,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// It did what it should.
    Completed,
    /// It failed and is not tried again: a replay fails the same way.
    Failed,
    /// It failed and the next `begin` with its key runs it again.
    FailedRetryable,
}

/// Where a step stands at a position of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing is recorded.
    Absent,
    /// Started; its writer may be at it.
    Started,
    /// Started, no outcome, its writer gone.
    InDoubt,
    /// Ended well.
    Completed,
    /// Ended badly, for good.
    Failed,
    /// Ended badly; may run again.
    FailedRetryable,
    /// Given up by a person.
    Abandoned,
}

/// What happens to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A writer starts it.
    Start,
    /// It completes.
    Complete,
    /// It fails; `true` when it may run again.
    Fail(bool),
    /// Its writer is gone, or the branch is forked while it runs.
    LoseWriter,
    /// A person or a probe settles the doubt: it happened.
    ResolveHappened,
    /// A person or a probe settles the doubt: it did not, so it may run again.
    ResolveDidNot,
    /// A recovery decision runs it again, whether or not it happened: as its next attempt, with the same idempotency key.
    RunAgain,
    /// A caller asks for a step that failed to run again.
    Retry,
    /// A person gives it up.
    Abandon,
}

/// The step machine: the state after an event, or nothing when the event is not possible there.
pub const fn next(state: State, event: Event) -> Option<State> {
    use Event as E;
    use State as S;
    Some(match (state, event) {
        (S::Absent | S::FailedRetryable, E::Start)
        | (S::InDoubt, E::RunAgain)
        | (S::Failed | S::FailedRetryable, E::Retry) => S::Started,
        (S::Started, E::Complete) | (S::InDoubt, E::ResolveHappened) => S::Completed,
        (S::Started, E::Fail(false)) => S::Failed,
        (S::Started, E::Fail(true)) | (S::InDoubt, E::ResolveDidNot) => S::FailedRetryable,
        (S::Started, E::LoseWriter) => S::InDoubt,
        (S::InDoubt | S::FailedRetryable, E::Abandon) => S::Abandoned,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_this_table() {
        use Event as E;
        use State as S;
        let states = [S::Absent, S::Started, S::InDoubt, S::Completed, S::Failed, S::FailedRetryable, S::Abandoned];
        let events = [
            E::Start,
            E::Complete,
            E::Fail(false),
            E::Fail(true),
            E::LoseWriter,
            E::ResolveHappened,
            E::ResolveDidNot,
            E::Abandon,
            E::RunAgain,
            E::Retry,
        ];
        let none = None;
        #[rustfmt::skip]
        let table = [
            // Start             Complete            Fail              Fail(retry)                Lose              Happened            DidNot                     Abandon             RunAgain          Retry
            [Some(S::Started), none,               none,            none,                     none,             none,               none,                     none,               none,             none],
            [none,             Some(S::Completed), Some(S::Failed), Some(S::FailedRetryable), Some(S::InDoubt), none,               none,                     none,               none,             none],
            [none,             none,               none,            none,                     none,             Some(S::Completed), Some(S::FailedRetryable), Some(S::Abandoned), Some(S::Started), none],
            [none,             none,               none,            none,                     none,             none,               none,                     none,               none,             none],
            [none,             none,               none,            none,                     none,             none,               none,                     none,               none,             Some(S::Started)],
            [Some(S::Started), none,               none,            none,                     none,             none,               none,                     Some(S::Abandoned), none,             Some(S::Started)],
            [none,             none,               none,            none,                     none,             none,               none,                     none,               none,             none],
        ];
        for (state, row) in states.iter().zip(table) {
            for (event, expected) in events.iter().zip(row) {
                assert_eq!(next(*state, *event), expected, "{state:?} {event:?}");
            }
        }
    }
}
