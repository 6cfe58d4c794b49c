//! Connections, and what is set on them.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// How often a connection asks again for a lock that another process holds: in all, about a minute.
const ATTEMPTS: i32 = 20_000;
const STATEMENTS: usize = 96;

/// Asks again soon at first, since a commit of another process is short.
fn ask_again(attempt: i32) -> bool {
    std::thread::sleep(Duration::from_micros(if attempt < 100 { 500 } else { 3_000 }));
    attempt < ATTEMPTS
}

fn common(database: &mut Connection) -> rusqlite::Result<()> {
    database.busy_handler(Some(ask_again))?;
    database.set_prepared_statement_cache_capacity(STATEMENTS);
    // The log is evidence of what was acknowledged: no close may fold it away unchecked.
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Without it some statements are planned anew for every value that is bound.
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    database.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; \
         PRAGMA cache_size = -8000;",
    )
}

/// The connection that writes.
#[derive(Debug)]
pub(super) struct WriteConnection {
    pub(super) database: Connection,
    /// How many pages its log had after the last commit.
    pub(super) log_pages: Arc<AtomicI64>,
    /// Whether it waits for locks.
    pub(super) patient: Arc<AtomicBool>,
}

impl WriteConnection {
    /// Waits for locks as long as a commit may.
    pub(super) fn wait_long(&mut self) -> rusqlite::Result<()> {
        let patient = Arc::clone(&self.patient);
        self.database.busy_handler(Some(move |attempt| patient.load(Ordering::Relaxed) && ask_again(attempt)))
    }

    /// Waits for locks no longer than other commits may be kept waiting.
    pub(super) fn wait_briefly(&self) -> rusqlite::Result<()> {
        self.database.busy_timeout(Duration::from_millis(500))
    }
}

/// Opens for writing. Nothing is written yet.
pub(super) fn open_writer(path: &Path, create: bool) -> rusqlite::Result<WriteConnection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let mut database = Connection::open_with_flags(path, flags)?;
    common(&mut database)?;
    database.execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 0;")?;
    let log_pages = Arc::new(AtomicI64::new(0));
    let pages = Arc::clone(&log_pages);
    database.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count: i32| {
        pages.store(i64::from(count), Ordering::Relaxed);
        Ok(())
    }))?;
    let mut connection = WriteConnection { database, log_pages, patient: Arc::new(AtomicBool::new(true)) };
    connection.wait_long()?;
    Ok(connection)
}

/// Opens for reading. Immutable means that nothing can write it, as on a read-only file system without a log.
pub(super) fn open_reader(path: &Path, immutable: bool) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = if immutable {
        flags |= OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable_name(path), flags)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    common(&mut database)?;
    database.execute_batch("PRAGMA query_only = ON;")?;
    Ok(database)
}

/// The path as a `file:` name, with every byte that could mean something else escaped.
fn immutable_name(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut name = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            name.push(char::from(*byte));
        } else {
            let _ = write!(name, "%{byte:02x}");
        }
    }
    name.push_str("?immutable=1");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_escaped() {
        assert_eq!(immutable_name(Path::new("/a b?/c%.db")), "file:/a%20b%3f/c%25.db?immutable=1");
    }
}
