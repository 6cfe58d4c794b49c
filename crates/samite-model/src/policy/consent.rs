//! Consent to training.

use crate::{Pseudonym, SessionId};
use serde::{Deserialize, Serialize};

/// What a consent is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum ConsentOn {
    /// All of a person's data.
    User {
        /// The person.
        subject: Pseudonym,
    },
    /// A session.
    Session {
        /// The session.
        session: SessionId,
        /// Whose it is.
        subject: Pseudonym,
    },
}

impl ConsentOn {
    /// What the consent's register is found by.
    pub const fn hash(&self) -> [u8; 16] {
        match self {
            Self::User { subject } => subject.0,
            Self::Session { session, .. } => session.0,
        }
    }

    /// Whose data it is about.
    pub const fn subject(&self) -> Pseudonym {
        match self {
            Self::User { subject } | Self::Session { subject, .. } => *subject,
        }
    }

    /// The name in tables and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Session { .. } => "session",
        }
    }
}

/// Whether a session may be used for training, after what was said of its owner and of itself. Nothing said is no, and one
/// no outweighs every yes.
pub const fn given(owner: Option<bool>, session: Option<bool>) -> bool {
    matches!((owner, session), (Some(true), None | Some(true)) | (None, Some(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_no_and_one_no_outweighs_every_yes() {
        let (yes, no) = (Some(true), Some(false));
        let table = [
            (None, None, false),
            (yes, None, true),
            (None, yes, true),
            (yes, yes, true),
            (no, yes, false),
            (yes, no, false),
            (no, None, false),
            (None, no, false),
            (no, no, false),
        ];
        for (owner, session, expected) in table {
            assert_eq!(given(owner, session), expected, "{owner:?} {session:?}");
        }
    }
}
