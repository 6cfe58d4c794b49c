//! The audit log's leaves and state.

use super::failure::Failure;
use super::number::{limit, number, stored};
use super::schema;
use super::work::Work;
use crate::audit::{LogState, Placed};
use crate::memory::refusal;
use rusqlite::{Connection, OptionalExtension as _};
use samite_model::{Error, Header, JournalId, Link, Result};

/// The id of a leaf's row.
fn leaf_id(log: u64, index: u64) -> i64 {
    stored((log << schema::LEAF_BITS) | index)
}

/// A refusal inside the transaction, which is then rolled back.
fn broken(error: Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

impl Work<'_> {
    /// Adds the leaf of an entry that was just inserted.
    pub(super) fn add_leaf(
        &mut self,
        draft: &[u8],
        journal: JournalId,
        header: &Header,
        link: Link,
        owner: i64,
    ) -> rusqlite::Result<()> {
        let mut group = match self.group.take() {
            Some(group) => group,
            None => self.begin_group()?,
        };
        let bytes = group.finishing.leaf(draft, &Placed { journal, header, link }).map_err(broken)?;
        self.statements.insert_leaf()?.execute((leaf_id(group.log, group.next), owner, &bytes))?;
        group.next = group.next.saturating_add(1);
        self.group = Some(group);
        Ok(())
    }

    fn begin_group(&self) -> rusqlite::Result<super::work::Group> {
        let Some(finisher) = self.finisher else {
            return Err(broken(refusal::no_finisher()));
        };
        let current = state(self.database, None)?;
        let size = current.as_ref().map_or(0, |current| current.size);
        let newest = current.as_ref().map(|current| current.log);
        let database = self.database;
        let mut read = |log: u64, index: u64| -> Result<Option<Vec<u8>>> {
            let found =
                leaves(database, log, index, 1).map_err(|error| super::failure::explain(error, "read a leaf"))?;
            Ok(found.into_iter().next())
        };
        let finishing = finisher.begin(current, &mut read).map_err(broken)?;
        let log = finishing.log();
        let next = if newest == Some(log) { size } else { 0 };
        Ok(super::work::Group { finishing, log, next })
    }

    /// Writes the state of the log back, once a group.
    pub(super) fn finish_group(&mut self) -> rusqlite::Result<()> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let state = group.finishing.finish().map_err(broken)?;
        self.database
            .prepare_cached(
                "INSERT INTO audit_log(log, owner, size, state) VALUES(?1, ?2, ?3, ?4) \
                 ON CONFLICT DO UPDATE SET size = excluded.size, state = excluded.state",
            )?
            .execute((stored(state.log), schema::TENANT, stored(state.size), &state.state))?;
        Ok(())
    }
}

/// A log by its number, or the newest.
pub(super) fn state(database: &Connection, log: Option<u64>) -> rusqlite::Result<Option<LogState>> {
    let newest = log.is_none();
    database
        .prepare_cached("SELECT log, size, state FROM audit_log WHERE ?1 OR log = ?2 ORDER BY log DESC LIMIT 1")?
        .query_row((newest, log.map(stored)), |row| {
            Ok(LogState { log: number(row.get(0)?), size: number(row.get(1)?), state: row.get(2)? })
        })
        .optional()
}

/// Leaves from an index on, until one is missing.
pub(super) fn leaves(database: &Connection, log: u64, from: u64, most: usize) -> rusqlite::Result<Vec<Vec<u8>>> {
    let mut statement =
        database.prepare_cached("SELECT id, bytes FROM leaf WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3")?;
    let last = leaf_id(log, (1 << schema::LEAF_BITS) - 1);
    let mut rows = statement.query((leaf_id(log, from), last, limit(most)))?;
    let mut found = Vec::new();
    let mut expected = leaf_id(log, from);
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(0)? != expected {
            break;
        }
        expected = expected.saturating_add(1);
        found.push(row.get(1)?);
    }
    Ok(found)
}

/// Takes the leaves of a log before an index away.
pub(super) fn prune(database: &Connection, log: u64, before: u64) -> rusqlite::Result<()> {
    database
        .prepare_cached("DELETE FROM leaf WHERE id >= ?1 AND id < ?2")?
        .execute((leaf_id(log, 0), leaf_id(log, before)))?;
    Ok(())
}

/// What is read of a ledger that only an older version wrote, which has no log.
pub(super) fn or_none<T: Default>(
    database: &Connection,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> std::result::Result<T, Failure> {
    let tables: i64 = database
        .prepare_cached("SELECT count(*) FROM sqlite_schema WHERE name IN ('audit_log', 'leaf')")?
        .query_row([], |row| row.get(0))?;
    if tables < 2 { Ok(T::default()) } else { Ok(read(database)?) }
}
