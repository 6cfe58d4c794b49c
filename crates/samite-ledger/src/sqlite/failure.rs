//! What SQLite answers, in the words of the contract.

use rusqlite::ErrorCode;
use samite_model::Error;

/// Why a request did not happen.
#[derive(Debug)]
pub(super) enum Failure {
    /// The contract refuses it. Nothing was written for it.
    Refused(Error),
    /// The storage failed. What was written in the transaction must be rolled back.
    Broken(rusqlite::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl Failure {
    pub(super) fn into_error(self, doing: &str) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Broken(error) => explain(error, doing),
        }
    }
}

/// The error of the contract for an error of SQLite; `doing` says what was tried.
pub(super) fn explain(error: rusqlite::Error, doing: &str) -> Error {
    use rusqlite::Error as Sqlite;
    // An error of our own that had to pass through a transaction.
    let error = match error {
        Sqlite::ToSqlConversionFailure(inner) => match inner.downcast::<Error>() {
            Ok(own) => return *own,
            Err(other) => Sqlite::ToSqlConversionFailure(other),
        },
        other => other,
    };
    // Our queries are right: a table or column that is missing, or a value of another type or size than was written,
    // can only come from damage.
    let found = if matches!(
        error,
        Sqlite::SqlInputError { .. }
            | Sqlite::FromSqlConversionFailure(..)
            | Sqlite::IntegralValueOutOfRange(..)
            | Sqlite::InvalidColumnType(..)
            | Sqlite::Utf8Error(..)
    ) {
        damaged(doing)
    } else {
        of_code(&error, doing)
    };
    found.because(error)
}

fn of_code(error: &rusqlite::Error, doing: &str) -> Error {
    match error.sqlite_error_code() {
        // Nothing that was written is so large, and nothing wrote a format that SQLite does not know.
        Some(ErrorCode::TooBig) => damaged(doing),
        _ if is_of_another_format(error) => damaged(doing),
        Some(ErrorCode::DiskFull) => Error::unavailable("disk_full", format!("{doing}: the disk is full"))
            .hint("free some space, then try again: nothing was written"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::unavailable("read_only", format!("{doing}: the ledger cannot be written"))
                .hint("it can still be read; check the file's mode and the mount")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::unavailable("busy", format!("{doing}: another process is writing")).hint("try again")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(doing),
        Some(ErrorCode::CannotOpen) => Error::unavailable("cannot_open", format!("{doing}: a file cannot be opened"))
            .hint("check the directory's mode and the limit of open files"),
        // The file that processes share their index of the log through could not grow.
        Some(ErrorCode::SystemIoFailure) if extended(error) == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => {
            Error::unavailable("disk_full", format!("{doing}: the disk is full"))
                .hint("free some space, then try again: nothing was written")
        }
        Some(ErrorCode::SystemIoFailure) => Error::unavailable("io_error", format!("{doing}: input or output failed"))
            .hint("look at the system's log for errors of the disk"),
        Some(ErrorCode::OutOfMemory) => Error::unavailable("no_memory", format!("{doing}: no memory is left")),
        _ => Error::internal("storage", format!("{doing}: the storage refused it")),
    }
}

/// SQLite has no code of its own for a schema whose format it does not know.
fn is_of_another_format(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(why)) if why.contains("unsupported file format"))
}

fn damaged(doing: &str) -> Error {
    Error::corrupt("damaged", format!("{doing}: the stored bytes are damaged"))
        .hint("run verify to see what is damaged; what is intact can still be read")
        .hint("restore a backup")
}

/// SQLite's extended result code.
pub(super) fn extended(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// Whether the storage failed in a way that leaves open whether a commit happened.
pub(super) fn leaves_outcome_open(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
        && extended(error) != Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

/// The error for a commit of which nobody can say whether it happened.
pub(super) fn outcome_unknown() -> Error {
    Error::unavailable("outcome_unknown", "the ledger cannot tell whether the commit happened")
        .hint("read what should be there, then decide")
}

/// The error after the ledger was closed.
pub(super) fn closed() -> Error {
    Error::unavailable("closed", "the ledger was closed").hint("open it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn of(code: i32) -> Error {
        explain(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None), "commit")
    }

    #[test]
    fn failures_have_the_kind_that_says_what_to_do() {
        let codes = [
            (ffi::SQLITE_FULL, "unavailable", "disk_full"),
            (ffi::SQLITE_IOERR_SHMSIZE, "unavailable", "disk_full"),
            (ffi::SQLITE_READONLY, "unavailable", "read_only"),
            (ffi::SQLITE_BUSY, "unavailable", "busy"),
            (ffi::SQLITE_IOERR_FSYNC, "unavailable", "io_error"),
            (ffi::SQLITE_CORRUPT, "corrupt", "damaged"),
            (ffi::SQLITE_NOTADB, "corrupt", "damaged"),
            (ffi::SQLITE_MISUSE, "internal", "storage"),
        ];
        for (code, kind, name) in codes {
            let error = of(code);
            assert_eq!((error.kind().name(), error.code()), (kind, name), "{code}");
        }
        assert!(leaves_outcome_open(&rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_FSYNC), None)));
        assert!(!leaves_outcome_open(&rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None)));
    }
}
