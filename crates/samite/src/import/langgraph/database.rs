//! The rows of a checkpoint database: a SQLite file as it lies, or a PostgreSQL dump staged in a private one.

use super::copy_text::Table;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, Row};
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

/// A value of a channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Blob {
    pub(super) encoding: String,
    pub(super) bytes: Vec<u8>,
}

/// A pending write.
#[derive(Clone, Debug, Default)]
pub(super) struct Write {
    pub(super) task: String,
    pub(super) index: i64,
    pub(super) channel: String,
    pub(super) value: Blob,
}

/// A checkpoint database.
#[derive(Debug)]
pub struct Checkpoints {
    connection: Connection,
    has_blobs: bool,
}

/// Every row of a table, read with one statement.
fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(unreadable)?;
    let rows = statement.query_map(params, |row| read(row)).map_err(unreadable)?;
    rows.collect::<rusqlite::Result<_>>().map_err(unreadable)
}

fn unreadable(error: rusqlite::Error) -> Error {
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
fn bytes(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(at)? {
        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}

/// Text, and an empty one where there is none.
fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
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
            let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'checkpoints'";
            connection.query_row(table, [], |_| Ok(())).optional()
        });
        match found {
            Ok(Some(())) => Ok(Self { connection, has_blobs: false }),
            Ok(None) => Err(no_checkpoints()),
            Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::NotADatabase => {
                Err(no_checkpoints())
            }
            Err(error) => Err(unreadable(error)),
        }
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
                 CREATE INDEX of_checkpoints ON checkpoints (thread_id, checkpoint_ns, checkpoint_id);
                 CREATE INDEX of_writes ON writes (thread_id, checkpoint_ns, checkpoint_id);
                 CREATE INDEX of_blobs ON blobs (thread_id, checkpoint_ns, channel, version);
                 BEGIN",
            )
            .map_err(unreadable)?;
        Ok(Self { connection, has_blobs: true })
    }

    /// Adds a row to a staged database; `field` gives a column's value.
    pub(super) fn stage(&self, table: Table, field: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<()> {
        let text = |name: &str| field(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let named = |name: &str| text(name).unwrap_or_default();
        let (thread, namespace) = (named("thread_id"), named("checkpoint_ns"));
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
                    &named("checkpoint_id"),
                    &text("parent_checkpoint_id"),
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
                    &named("channel"),
                    &named("version"),
                    &named("type"),
                    &field("blob").unwrap_or_default(),
                ],
            ),
            Table::Writes => run(
                "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                &[
                    &thread,
                    &namespace,
                    &named("checkpoint_id"),
                    &named("task_id"),
                    &named("idx").parse::<i64>().unwrap_or_default(),
                    &named("channel"),
                    &named("type"),
                    &field("blob").unwrap_or_default(),
                ],
            ),
        }
    }

    /// Ends staging: nothing was there when no table was.
    pub(super) fn staging_done(self, tables: usize) -> Result<Self> {
        self.connection.execute_batch("COMMIT; BEGIN").map_err(unreadable)?;
        if tables == 0 { Err(no_checkpoints()) } else { Ok(self) }
    }

    /// How many rows there are.
    ///
    /// # Errors
    /// `unavailable` (`checkpoints_unreadable`) when it cannot be read.
    pub fn rows(&self) -> Result<u64> {
        let count = |table: &str| -> Result<u64> {
            let sql = format!("SELECT count(*) FROM {table}");
            let counted: i64 = self.connection.query_row(&sql, [], |row| row.get(0)).map_err(unreadable)?;
            Ok(u64::try_from(counted).unwrap_or_default())
        };
        Ok(count("checkpoints")? + count("writes")? + if self.has_blobs { count("blobs")? } else { 0 })
    }

    /// The threads, in order.
    ///
    /// # Errors
    /// `unavailable` (`checkpoints_unreadable`) when it cannot be read.
    pub fn threads(&self) -> Result<Vec<String>> {
        let mut sql = "SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM writes".to_owned();
        if self.has_blobs {
            sql += " UNION SELECT thread_id FROM blobs";
        }
        sql += " ORDER BY 1";
        all(&self.connection, &sql, [], |row| text(row, 0))
    }

    /// The namespaces of a thread, in order; the graph's own, which is empty, always is the first.
    pub(super) fn namespaces(&self, thread: &str) -> Result<Vec<String>> {
        let mut sql = "SELECT checkpoint_ns FROM checkpoints WHERE thread_id = ?1
            UNION SELECT checkpoint_ns FROM writes WHERE thread_id = ?1"
            .to_owned();
        if self.has_blobs {
            sql += " UNION SELECT checkpoint_ns FROM blobs WHERE thread_id = ?1";
        }
        sql += " UNION SELECT '' ORDER BY 1";
        all(&self.connection, &sql, [thread], |row| text(row, 0))
    }

    /// The checkpoints of a namespace with their parents, in order: their ids grow with time.
    pub(super) fn skeleton(&self, thread: &str, namespace: &str) -> Result<Vec<(String, Option<String>)>> {
        let sql = "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
            WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id";
        all(&self.connection, sql, [thread, namespace], |row| {
            Ok((text(row, 0)?, Some(text(row, 1)?).filter(|parent| !parent.is_empty())))
        })
    }

    pub(super) fn checkpoint(&self, thread: &str, namespace: &str, id: &str) -> Result<Checkpoint> {
        let sql = "SELECT type, checkpoint, metadata FROM checkpoints
            WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?";
        let mut found = all(&self.connection, sql, [thread, namespace, id], |row| {
            Ok(Checkpoint { encoding: text(row, 0)?, bytes: bytes(row, 1)?, metadata: bytes(row, 2)? })
        })?;
        Ok(found.pop().unwrap_or_default())
    }

    pub(super) fn writes(&self, thread: &str, namespace: &str, id: &str) -> Result<Vec<Write>> {
        let sql = "SELECT task_id, idx, channel, type, value FROM writes
            WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_id, idx";
        all(&self.connection, sql, [thread, namespace, id], |row| {
            let value = Blob { encoding: text(row, 3)?, bytes: bytes(row, 4)? };
            Ok(Write { task: text(row, 0)?, index: row.get(1)?, channel: text(row, 2)?, value })
        })
    }

    /// The blobs of a namespace: channels and versions.
    pub(super) fn blobs(&self, thread: &str, namespace: &str) -> Result<Vec<(String, String)>> {
        if !self.has_blobs {
            return Ok(Vec::new());
        }
        let sql = "SELECT channel, version FROM blobs WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY 1, 2";
        all(&self.connection, sql, [thread, namespace], |row| Ok((text(row, 0)?, text(row, 1)?)))
    }

    pub(super) fn blob(&self, thread: &str, namespace: &str, channel: &str, version: &str) -> Result<Option<Blob>> {
        if !self.has_blobs {
            return Ok(None);
        }
        let sql = "SELECT type, blob FROM blobs
            WHERE thread_id = ? AND checkpoint_ns = ? AND channel = ? AND version = ?";
        let mut found = all(&self.connection, sql, [thread, namespace, channel, version], |row| {
            Ok(Blob { encoding: text(row, 0)?, bytes: bytes(row, 1)? })
        })?;
        Ok(found.pop())
    }

    /// Checkpoints that writes name and that are not there.
    pub(super) fn strays(&self, thread: &str, namespace: &str) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT checkpoint_id FROM writes WHERE thread_id = ?1 AND checkpoint_ns = ?2
            AND checkpoint_id NOT IN (SELECT checkpoint_id FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2)
            ORDER BY 1";
        all(&self.connection, sql, [thread, namespace], |row| text(row, 0))
    }
}
