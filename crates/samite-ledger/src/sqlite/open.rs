//! Opening: what is there is checked against the high water before anything can write.

use super::connection::{self, WriteConnection};
use super::failure::explain;
use super::high_water::{self, Lost};
use super::schema;
use crate::Finisher;
use rusqlite::{Connection, ErrorCode};
use samite_host::{SharedLog, Sleep, SystemSleep, files, mounts};
use samite_model::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which threads write and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// A caller that is alone commits on its own thread, which saves two changes of threads: the call blocks it for a
    /// sync, but not for other callers' commits, nor for those of other processes. It may wait for a process that is
    /// just opening the ledger. What is short to read is read on its caller's thread too.
    #[default]
    Caller,
    /// Only the ledger's own: for a server, whose threads have other calls to serve.
    Own,
}

/// How to open a ledger.
#[derive(Clone)]
pub struct OpenOptions {
    /// The database's file. Beside it lie `-wal` and `-shm`, and the high-water file with the ending `high`.
    pub path: PathBuf,
    /// Makes the ledger when there is none. Its directory must exist.
    pub create: bool,
    /// Opens for reading only: every change is `unavailable` (`read_only`). A ledger on a read-only file system is
    /// opened so anyhow. One that is behind its high water can be opened so; see
    /// [`SqliteLedger::lost`](super::SqliteLedger::lost).
    pub read_only: bool,
    /// Opens a ledger although it is behind its high water, for reading until
    /// [`SqliteLedger::accept_loss`](super::SqliteLedger::accept_loss). With `read_only`, also one that is so damaged
    /// that nobody can tell whether it is.
    pub accept_behind: bool,
    /// Which threads write and read.
    pub threads: Threads,
    /// How [`Ledger::wait`](crate::Ledger::wait) waits.
    pub sleep: Arc<dyn Sleep>,
    /// Makes the audit log; without one, no entry may have a leaf.
    pub finisher: Option<Arc<dyn Finisher>>,
}

impl OpenOptions {
    /// A ledger that exists, for reading and writing, with the operating system's clock.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            create: false,
            read_only: false,
            accept_behind: false,
            threads: Threads::default(),
            sleep: Arc::new(SystemSleep),
            finisher: None,
        }
    }

    /// The same, but made when there is none.
    #[must_use]
    pub fn create(mut self) -> Self {
        self.create = true;
        self
    }

    /// The same, but for reading only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// The same, but opened although it is behind its high water.
    #[must_use]
    pub fn accept_behind(mut self) -> Self {
        self.accept_behind = true;
        self
    }
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions")
            .field("path", &self.path)
            .field("create", &self.create)
            .field("read_only", &self.read_only)
            .field("accept_behind", &self.accept_behind)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// What writes: none for a ledger that is only read.
pub(super) struct Writing {
    pub(super) connection: WriteConnection,
    pub(super) log: SharedLog,
}

pub(super) struct Opened {
    pub(super) writing: Option<Writing>,
    /// Whether readers may take the files for unchanging.
    pub(super) immutable: bool,
    pub(super) lost: Vec<Lost>,
}

/// Where the high-water file of a ledger is.
pub(super) fn high_water_path(path: &Path) -> PathBuf {
    path.with_extension("high")
}

pub(super) fn open(options: &OpenOptions) -> Result<Opened> {
    let path = &options.path;
    mounts::refuse_network(path)?;
    let exists = files::exists(path)?;
    refuse_emptied(path)?;
    if !exists && (!options.create || options.read_only) {
        return Err(no_ledger(path));
    }
    if options.read_only {
        return open_to_read(path, options.accept_behind);
    }
    // Whoever opens waits here for another that is making the ledger.
    let mut log = match SharedLog::open(high_water_path(path), high_water::RECORD) {
        Err(error) if exists && matches!(error.code(), "read_only" | "no_permission") => {
            return open_to_read(path, options.accept_behind);
        }
        other => other?,
    };
    let mut locked = log.lock()?;
    // Read before the database is: whatever is acknowledged by now will be in it.
    let marks = locked.read()?;
    if !exists {
        // SQLite would make it readable by others.
        drop(files::AppendFile::create(path).or_else(|error| match error.code() {
            "file_exists" => files::AppendFile::open(path),
            _ => Err(error),
        })?);
    }
    let doing = format!("open {}", path.display());
    let connection = connection::open_writer(path, options.create).map_err(|error| explain(error, &doing))?;
    if connection.database.is_readonly("main").map_err(|error| explain(error, &doing))? {
        drop(connection);
        return open_to_read(path, options.accept_behind);
    }
    prepare(&connection.database, path, options.create)?;
    let lost = high_water::compare(&connection.database, &high_water::decode(&marks))
        .map_err(|error| explain(error, &doing))?;
    if !lost.is_empty() && !options.accept_behind {
        return Err(high_water::behind(path, &lost));
    }
    drop(locked);
    Ok(Opened { writing: Some(Writing { connection, log }), immutable: false, lost })
}

/// A database that is gone or empty, though something was acknowledged in it, is not made anew: SQLite would throw its
/// log away, which may hold all there was.
fn refuse_emptied(path: &Path) -> Result<()> {
    let size = match path.metadata() {
        Ok(metadata) => metadata.len(),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => 0,
        Err(source) => return Err(files::io_error("look at", path, source)),
    };
    if size > 0 || high_water::decode(&files::read_if_exists(&high_water_path(path))?.unwrap_or_default()).is_empty() {
        return Ok(());
    }
    let what = format!("the ledger {} is gone or empty, though entries in it were acknowledged", path.display());
    Err(Error::corrupt("ledger_gone", what)
        .hint("put the file back, or restore a backup")
        .hint(format!("leave {} as it is until then: it may hold the newest entries", log_path(path).display())))
}

fn no_ledger(path: &Path) -> Error {
    Error::not_found("no_ledger", format!("there is no ledger at {}", path.display()))
}

/// Makes the tables of a new ledger, and refuses what is none.
fn prepare(database: &Connection, path: &Path, create: bool) -> Result<()> {
    let doing = format!("open {}", path.display());
    let failed = |error| explain(error, &doing);
    let number = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let version = number("user_version").map_err(failed)?;
    if version == 0 {
        let tables: i64 =
            database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
        if tables > 0 {
            return Err(not_a_ledger(path));
        }
        if !create {
            return Err(no_ledger(path));
        }
        let (application, version) = (schema::APPLICATION, schema::VERSION);
        let mode: String = database.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(failed)?;
        if mode != "wal" {
            return Err(Error::unavailable(
                "no_wal",
                format!("{doing}: the file system cannot hold a write-ahead log"),
            ));
        }
        let (tables, since) = (schema::SCHEMA, schema::SINCE_2);
        return database
            .execute_batch(&format!(
                "BEGIN IMMEDIATE; {tables} {since} PRAGMA application_id = {application}; PRAGMA user_version = {version}; COMMIT;"
            ))
            .map_err(failed);
    }
    if number("application_id").map_err(failed)? != schema::APPLICATION {
        return Err(not_a_ledger(path));
    }
    check_version(path, version)?;
    if version < schema::VERSION {
        bring_up(database).map_err(failed)?;
    }
    Ok(())
}

/// Adds what an older version lacks, unless another process did: the high-water file's lock keeps others from opening it.
fn bring_up(database: &Connection) -> rusqlite::Result<()> {
    let (since, version) = (schema::SINCE_2, schema::VERSION);
    database.execute_batch(&format!("BEGIN IMMEDIATE; {since} PRAGMA user_version = {version}; COMMIT;"))
}

fn check_version(path: &Path, version: i64) -> Result<()> {
    if (schema::OLDEST..=schema::VERSION).contains(&version) {
        return Ok(());
    }
    Err(Error::invalid(
        "newer_format",
        format!("the ledger {} has format {version}; this samite knows {}", path.display(), schema::VERSION),
    )
    .hint("use a newer samite"))
}

fn not_a_ledger(path: &Path) -> Error {
    Error::corrupt("not_a_ledger", format!("{} is not a ledger", path.display()))
        .hint("restore a backup, or name another file")
}

/// Opens what can only be read, and says what it has lost instead of refusing it.
fn open_to_read(path: &Path, accept_damage: bool) -> Result<Opened> {
    let doing = format!("open {} for reading", path.display());
    let marks = files::read_if_exists(&high_water_path(path))?.unwrap_or_default();
    let look = |immutable: bool| -> rusqlite::Result<(i64, i64, Connection)> {
        let database = connection::open_reader(path, immutable)?;
        let number = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (application, version) = (number("application_id")?, number("user_version")?);
        Ok((application, version, database))
    };
    let mut immutable = false;
    let mut found = look(false);
    if let Err(error) = &found
        && matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
        && log_is_empty(path)?
    {
        // Nothing is in the log and no index of it can be made: the database alone is all there is.
        immutable = true;
        found = look(true);
    }
    let (application, version, database) = found.map_err(|error| explain(error, &doing))?;
    if version == 0 {
        return Err(no_ledger(path));
    }
    if application != schema::APPLICATION {
        return Err(not_a_ledger(path));
    }
    check_version(path, version)?;
    let lost = match high_water::compare(&database, &high_water::decode(&marks)) {
        Ok(lost) => lost,
        Err(error) => match explain(error, &doing) {
            // Whoever asked for what is left finds the journals that cannot be read, and goes on past them.
            error if accept_damage && error.kind() == ErrorKind::Corrupt => Vec::new(),
            error => return Err(error),
        },
    };
    Ok(Opened { writing: None, immutable, lost })
}

/// Where SQLite's log of a database is.
pub(super) fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn log_is_empty(path: &Path) -> Result<bool> {
    let log = log_path(path);
    Ok(match log.metadata() {
        Ok(metadata) => metadata.len() == 0,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => true,
        Err(source) => return Err(files::io_error("look at", &log, source)),
    })
}
