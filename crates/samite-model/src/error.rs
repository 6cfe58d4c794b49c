//! The one error that samite shows: a kind chosen by what the caller does next, a stable code, words and hints.

use std::error::Error as StdError;
use std::fmt;

/// What the caller can do next. Eight kinds, and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// It does not exist, or is not yours to see: look up another id.
    NotFound,
    /// The state is not what the call assumed: read again, then decide.
    Conflict,
    /// Another writer took over: stop writing.
    Fenced,
    /// The call itself is wrong: change it.
    Invalid,
    /// Not allowed: ask whoever may.
    Denied,
    /// It may work later: retry.
    Unavailable,
    /// Stored bytes are damaged: verify, restore from a backup.
    Corrupt,
    /// A fault of samite: report it.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of their exit statuses.
    pub const ALL: [Self; 8] = [
        Self::Internal,
        Self::Invalid,
        Self::NotFound,
        Self::Conflict,
        Self::Fenced,
        Self::Denied,
        Self::Unavailable,
        Self::Corrupt,
    ];

    /// The name used in JSON and problem documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Fenced => "fenced",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::Corrupt => "corrupt",
            Self::Internal => "internal",
        }
    }

    /// The exit status of the command line: 1 internal, 2 invalid, 3 not found, 4 conflict, 5 fenced, 6 denied,
    /// 7 unavailable, 8 corrupt.
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Invalid => 2,
            Self::NotFound => 3,
            Self::Conflict => 4,
            Self::Fenced => 5,
            Self::Denied => 6,
            Self::Unavailable => 7,
            Self::Corrupt => 8,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What happened, to which journal, path or id, and what to do next.
///
/// The message and the hints are for the caller and never hold a secret or another tenant's words; the source is for
/// logs only.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    hints: Vec<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The result of anything samite does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident;)*) => {
        impl Error {
            $($(#[$doc])*
            pub fn $name(code: &'static str, message: impl Into<String>) -> Self {
                Self::new(ErrorKind::$kind, code, message)
            })*
        }
    };
}

constructors! {
    /// It does not exist, or is not the caller's to see.
    not_found => NotFound;
    /// The state is not what the call assumed.
    conflict => Conflict;
    /// Another writer took over.
    fenced => Fenced;
    /// The call itself is wrong.
    invalid => Invalid;
    /// Not allowed.
    denied => Denied;
    /// It may work later.
    unavailable => Unavailable;
    /// Stored bytes are damaged.
    corrupt => Corrupt;
    /// A fault of samite.
    internal => Internal;
}

impl Error {
    /// An error of a kind, with a stable code (lower case words joined by `_`) and a message.
    pub fn new(kind: ErrorKind, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, code, message: message.into(), hints: Vec::new(), source: None }))
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Adds the cause, which is for logs and never for a client.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Puts "what was being done" before the message: `context: message`.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// What the caller can do next.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable code, finer than the kind.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// What happened, to what.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do next, most useful first.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_documented_exit_statuses() {
        let statuses: Vec<u8> = ErrorKind::ALL.iter().map(|kind| kind.exit_status()).collect();
        assert_eq!(statuses, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn an_error_says_what_happened_and_what_to_do() {
        let error = Error::conflict("head_moved", "journal 01 is at 7, not 5").hint("read again").context("append");
        assert_eq!(error.to_string(), "append: journal 01 is at 7, not 5");
        assert_eq!(error.hints(), ["read again"]);
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "head_moved"));
    }
}
