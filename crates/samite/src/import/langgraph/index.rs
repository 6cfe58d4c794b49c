//! Which rows a checkpoint database has: each once, in a private table, so that none is missed, whatever is in its ids.
//!
//! A saver's columns have no null and only text. Other hands may have been at a database, and a row whose id cannot be
//! asked for would be lost: so rows are read by their places, and named by what stands in [`name`].

use super::database::{BlobRow, CheckpointRow, Checkpoints, all, text, unreadable};
use crate::import::frame::ids::key;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row};
use samite_model::Result;
use std::borrow::Cow;

const TABLES: &str = "
    CREATE TEMP TABLE found_checkpoints (thread TEXT, namespace TEXT, id TEXT, parent TEXT, place INTEGER, again INTEGER);
    CREATE TEMP TABLE found_writes (thread TEXT, namespace TEXT, id TEXT, task TEXT, idx INTEGER, place INTEGER,
        again INTEGER);
    CREATE TEMP TABLE found_blobs (thread TEXT, namespace TEXT, channel TEXT, version TEXT, place INTEGER, again INTEGER);
    CREATE UNIQUE INDEX temp.of_checkpoints ON found_checkpoints (thread, namespace, id, again);
    CREATE UNIQUE INDEX temp.of_writes ON found_writes (thread, namespace, id, task, idx, again);
    CREATE UNIQUE INDEX temp.of_blobs ON found_blobs (thread, namespace, channel, version, again);";

/// An id as text. Bytes that are no text stand with their hash, so that two of them do not become one.
fn name<'a>(row: &'a Row<'_>, at: usize) -> rusqlite::Result<Cow<'a, str>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => std::str::from_utf8(bytes).map_or_else(
            |_| {
                let hash = data_encoding::HEXLOWER.encode(&key(bytes));
                Cow::Owned(format!("{}\u{fffd}{hash}", String::from_utf8_lossy(bytes)))
            },
            Cow::Borrowed,
        ),
    })
}

/// A thread's id as text; one that is null is no other's.
fn thread<'a>(row: &'a Row<'_>, at: usize) -> rusqlite::Result<Cow<'a, str>> {
    if row.get_ref(at)? == ValueRef::Null { Ok(Cow::Borrowed("\u{fffd}")) } else { name(row, at) }
}

/// A count.
pub(super) fn natural(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or_default())
}

/// A number, however it stands; 0 for what is none.
fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<i64> {
    Ok(name(row, at)?.parse().unwrap_or_default())
}

/// Notes the rows of the tables that there are.
pub(super) fn make(connection: &Connection, has_writes: bool, has_blobs: bool) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    let mut rows = connection.prepare(
        "SELECT rowid, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM main.checkpoints ORDER BY rowid",
    )?;
    let mut add = connection.prepare(
        "INSERT INTO found_checkpoints SELECT ?1, ?2, ?3, ?4, ?5,
            (SELECT coalesce(max(again) + 1, 0) FROM found_checkpoints
                WHERE thread = ?1 AND namespace = ?2 AND id = ?3)",
    )?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let place: i64 = row.get(0)?;
        add.execute((thread(row, 1)?, name(row, 2)?, name(row, 3)?, name(row, 4)?, place))?;
    }
    if has_writes {
        let mut rows = connection.prepare(
            "SELECT rowid, thread_id, checkpoint_ns, checkpoint_id, task_id, idx FROM main.writes ORDER BY rowid",
        )?;
        let mut add = connection.prepare(
            "INSERT INTO found_writes SELECT ?1, ?2, ?3, ?4, ?5, ?6, (SELECT coalesce(max(again) + 1, 0) FROM found_writes
                WHERE thread = ?1 AND namespace = ?2 AND id = ?3 AND task = ?4 AND idx = ?5)",
        )?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let place: i64 = row.get(0)?;
            add.execute((thread(row, 1)?, name(row, 2)?, name(row, 3)?, name(row, 4)?, number(row, 5)?, place))?;
        }
    }
    if has_blobs {
        let mut rows = connection
            .prepare("SELECT rowid, thread_id, checkpoint_ns, channel, version FROM main.blobs ORDER BY rowid")?;
        let mut add = connection.prepare(
            "INSERT INTO found_blobs SELECT ?1, ?2, ?3, ?4, ?5, (SELECT coalesce(max(again) + 1, 0) FROM found_blobs
                WHERE thread = ?1 AND namespace = ?2 AND channel = ?3 AND version = ?4)",
        )?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let place: i64 = row.get(0)?;
            add.execute((thread(row, 1)?, name(row, 2)?, name(row, 3)?, name(row, 4)?, place))?;
        }
    }
    Ok(())
}

impl Checkpoints {
    /// How many rows there are.
    ///
    /// # Errors
    /// `unavailable` (`checkpoints_unreadable`) when it cannot be read.
    pub fn rows(&self) -> Result<u64> {
        self.count(
            "SELECT (SELECT count(*) FROM found_checkpoints) + (SELECT count(*) FROM found_writes)
            + (SELECT count(*) FROM found_blobs)",
            &[],
        )
    }

    /// How many rows a thread has.
    pub(super) fn rows_of(&self, thread: &str) -> Result<u64> {
        self.count(
            "SELECT (SELECT count(*) FROM found_checkpoints WHERE thread = ?1)
            + (SELECT count(*) FROM found_writes WHERE thread = ?1)
            + (SELECT count(*) FROM found_blobs WHERE thread = ?1)",
            &[&thread],
        )
    }

    fn count(&self, sql: &str, params: &[&dyn rusqlite::ToSql]) -> Result<u64> {
        self.connection.query_row(sql, params, |row| natural(row, 0)).map_err(unreadable)
    }

    /// The threads, in order.
    ///
    /// # Errors
    /// `unavailable` (`checkpoints_unreadable`) when it cannot be read.
    pub fn threads(&self) -> Result<Vec<String>> {
        let sql = "SELECT thread FROM found_checkpoints UNION SELECT thread FROM found_writes
            UNION SELECT thread FROM found_blobs ORDER BY 1";
        all(&self.connection, sql, [], |row| text(row, 0))
    }

    /// The namespaces of a thread, in order; the graph's own, which is empty, always is the first.
    pub(super) fn namespaces(&self, thread: &str) -> Result<Vec<String>> {
        let sql = "SELECT namespace FROM found_checkpoints WHERE thread = ?1
            UNION SELECT namespace FROM found_writes WHERE thread = ?1
            UNION SELECT namespace FROM found_blobs WHERE thread = ?1 UNION SELECT '' ORDER BY 1";
        all(&self.connection, sql, [thread], |row| text(row, 0))
    }

    /// The checkpoints of a namespace with their parents, in order: their ids grow with time.
    pub(super) fn skeleton(&self, thread: &str, namespace: &str) -> Result<Vec<CheckpointRow>> {
        let sql = "SELECT place, id, parent, again FROM found_checkpoints
            WHERE thread = ? AND namespace = ? ORDER BY id, again";
        all(&self.connection, sql, [thread, namespace], |row| {
            let parent = Some(text(row, 2)?).filter(|parent| !parent.is_empty());
            Ok(CheckpointRow { place: row.get(0)?, id: text(row, 1)?, parent, again: natural(row, 3)? })
        })
    }

    /// The blobs of a namespace, in order of channels and versions.
    pub(super) fn blobs(&self, thread: &str, namespace: &str) -> Result<Vec<BlobRow>> {
        let sql = "SELECT place, channel, version, again FROM found_blobs
            WHERE thread = ? AND namespace = ? ORDER BY channel, version, again";
        all(&self.connection, sql, [thread, namespace], blob_row)
    }

    /// The first blob of a channel in a version.
    pub(super) fn blob_of(&self, thread: &str, namespace: &str, of: &(String, String)) -> Result<Option<BlobRow>> {
        let sql = "SELECT place, channel, version, again FROM found_blobs
            WHERE thread = ? AND namespace = ? AND channel = ? AND version = ? AND again = 0";
        let params = [thread, namespace, &of.0, &of.1];
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, blob_row).optional())
            .map_err(unreadable)
    }

    /// Checkpoints that writes name and that are not there.
    pub(super) fn strays(&self, thread: &str, namespace: &str) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT id FROM found_writes WHERE thread = ?1 AND namespace = ?2
            AND id NOT IN (SELECT id FROM found_checkpoints WHERE thread = ?1 AND namespace = ?2) ORDER BY 1";
        all(&self.connection, sql, [thread, namespace], |row| text(row, 0))
    }
}

fn blob_row(row: &Row<'_>) -> rusqlite::Result<BlobRow> {
    Ok(BlobRow { place: row.get(0)?, channel: text(row, 1)?, version: text(row, 2)?, again: natural(row, 3)? })
}
