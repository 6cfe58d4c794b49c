//! The rows of a checkpoint database: a SQLite file as it lies, or a PostgreSQL dump staged in a private one.

use super::copy_text::Table;
use super::index;
use rusqlite::{Connection, OpenFlags, Params, Row};
use samite_model::{Error, Result};
use std::path::Path;

/// A checkpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Checkpoint {
    /// What its writer calls the encoding of its bytes.
    pub(super) encoding: String,
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: Vec<u8>,
}

/// Which checkpoint a row is.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckpointRow {
    pub(super) place: i64,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    /// How many rows before it have the same id: a database without the saver's keys may have such.
    pub(super) again: u64,
}

/// A value of a channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Blob {
    pub(super) encoding: String,
    pub(super) bytes: Vec<u8>,
}

/// Which blob a row is.
#[derive(Clone, Debug, Default)]
pub(super) struct BlobRow {
    pub(super) place: i64,
    pub(super) channel: String,
    pub(super) version: String,
    /// As [`CheckpointRow::again`].
    pub(super) again: u64,
}

/// A pending write.
#[derive(Clone, Debug, Default)]
pub(super) struct Write {
    pub(super) task: String,
    pub(super) index: i64,
    pub(super) channel: String,
    pub(super) value: Blob,
    /// As [`CheckpointRow::again`].
    pub(super) again: u64,
}

/// A checkpoint database.
#[derive(Debug)]
pub struct Checkpoints {
    pub(super) connection: Connection,
}

/// Every row of a table, read with one statement.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(unreadable)?;
    let rows = statement.query_map(params, |row| read(row)).map_err(unreadable)?;
    rows.collect::<rusqlite::Result<_>>().map_err(unreadable)
}

pub(super) fn unreadable(error: rusqlite::Error) -> Error {
    Error::unavailable("checkpoints_unreadable", "the checkpoint database cannot be read")
        .hint("look at its file and at the disk, then import again: it goes on where it stopped")
        .because(error)
}

fn no_checkpoints() -> Error {
    Error::invalid("no_checkpoints", "there is no table of LangGraph's checkpoints in it").hint(
        "name the database of a SQLite saver, a plain dump of a PostgreSQL saver's (pg_dump), or its postgresql:// address",
    )
}

/// Text or bytes, as either saver may have stored them.
pub(super) fn bytes(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(at)? {
        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}

/// Text, and an empty one where there is none.
pub(super) fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(row, at)?).into_owned())
}

impl Checkpoints {
    /// The database of a SQLite saver. It is opened for reading only, and read as it is now.
    ///
    /// # Errors
    /// `invalid` (`no_checkpoints`) when it holds no table of checkpoints; `unavailable` (`checkpoints_unreadable`) when
    /// it cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(unreadable)?;
        // One transaction: what is written meanwhile is for the next import.
        let found = connection.execute_batch("PRAGMA trusted_schema = OFF; BEGIN").and_then(|()| {
            let tables = "SELECT name, type = 'table' AND NOT wr FROM pragma_table_list
                WHERE schema = 'main' AND name IN ('checkpoints', 'writes')";
            let mut statement = connection.prepare(tables)?;
            let found = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
            found.collect::<rusqlite::Result<Vec<_>>>()
        });
        match found {
            // A view may be a query without an end.
            Ok(found) if found.iter().any(|(_, is_plain)| !is_plain) => Err(no_checkpoints()),
            Ok(found) if found.iter().any(|(name, _)| name == "checkpoints") => {
                let has_writes = found.iter().any(|(name, _)| name == "writes");
                Self { connection }.indexed(has_writes, false)
            }
            Ok(_) => Err(no_checkpoints()),
            Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::NotADatabase => {
                Err(no_checkpoints())
            }
            Err(error) => Err(unreadable(error)),
        }
    }

    /// Notes which rows there are.
    fn indexed(self, has_writes: bool, has_blobs: bool) -> Result<Self> {
        index::make(&self.connection, has_writes, has_blobs).map_err(unreadable)?;
        Ok(self)
    }

    /// An empty database for rows that come from elsewhere, in a private file that goes with it.
    pub(super) fn staged() -> Result<Self> {
        let connection = Connection::open("").map_err(unreadable)?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
                 CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT,
                     parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB);
                 CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER,
                     channel TEXT, type TEXT, value BLOB);
                 CREATE TABLE blobs (thread_id TEXT, checkpoint_ns TEXT, channel TEXT, version TEXT, type TEXT, blob BLOB);
                 BEGIN",
            )
            .map_err(unreadable)?;
        Ok(Self { connection })
    }

    /// Adds a row to a staged database; `field` gives a column's value.
    pub(super) fn stage(&self, table: Table, field: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<()> {
        let text = |name: &str| field(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let named = |name: &str| text(name).unwrap_or_default();
        let (thread, namespace) = (field("thread_id"), field("checkpoint_ns"));
        let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| -> Result<()> {
            self.connection
                .prepare_cached(sql)
                .and_then(|mut statement| statement.execute(params))
                .map_err(unreadable)?;
            Ok(())
        };
        match table {
            Table::Checkpoints => run(
                "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)",
                &[
                    &thread,
                    &namespace,
                    &field("checkpoint_id"),
                    &field("parent_checkpoint_id"),
                    // It is JSON, whatever is said of it.
                    &"json",
                    &field("checkpoint").unwrap_or_default(),
                    &field("metadata").unwrap_or_default(),
                ],
            ),
            Table::Blobs => run(
                "INSERT INTO blobs VALUES (?, ?, ?, ?, ?, ?)",
                &[
                    &thread,
                    &namespace,
                    &field("channel"),
                    &field("version"),
                    &named("type"),
                    &field("blob").unwrap_or_default(),
                ],
            ),
            Table::Writes => run(
                "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                &[
                    &thread,
                    &namespace,
                    &field("checkpoint_id"),
                    &field("task_id"),
                    &named("idx").parse::<i64>().unwrap_or_default(),
                    &field("channel"),
                    &named("type"),
                    &field("blob").unwrap_or_default(),
                ],
            ),
        }
    }

    /// Ends staging: nothing was there when no table was.
    pub(super) fn staging_done(self, tables: usize) -> Result<Self> {
        self.connection.execute_batch("COMMIT; BEGIN").map_err(unreadable)?;
        if tables == 0 { Err(no_checkpoints()) } else { self.indexed(true, true) }
    }

    pub(super) fn checkpoint(&self, row: &CheckpointRow) -> Result<Checkpoint> {
        let sql = "SELECT type, checkpoint, metadata FROM main.checkpoints WHERE rowid = ?";
        let mut found = all(&self.connection, sql, [row.place], |row| {
            Ok(Checkpoint { encoding: text(row, 0)?, bytes: bytes(row, 1)?, metadata: bytes(row, 2)? })
        })?;
        Ok(found.pop().unwrap_or_default())
    }

    pub(super) fn writes(&self, thread: &str, namespace: &str, id: &str) -> Result<Vec<Write>> {
        let sql =
            "SELECT found.task, found.idx, found.again, of.channel, of.type, of.value FROM temp.found_writes found
            JOIN main.writes of ON of.rowid = found.place
            WHERE thread = ? AND namespace = ? AND id = ? ORDER BY task, found.idx, again";
        all(&self.connection, sql, [thread, namespace, id], |row| {
            let value = Blob { encoding: text(row, 4)?, bytes: bytes(row, 5)? };
            let again = index::natural(row, 2)?;
            Ok(Write { task: text(row, 0)?, index: row.get(1)?, again, channel: text(row, 3)?, value })
        })
    }

    pub(super) fn blob(&self, row: &BlobRow) -> Result<Blob> {
        let sql = "SELECT type, blob FROM main.blobs WHERE rowid = ?";
        let mut found =
            all(&self.connection, sql, [row.place], |row| Ok(Blob { encoding: text(row, 0)?, bytes: bytes(row, 1)? }))?;
        Ok(found.pop().unwrap_or_default())
    }
}
