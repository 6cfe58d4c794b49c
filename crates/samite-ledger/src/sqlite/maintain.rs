//! Looking after a ledger: backup, physical check, sizes.

use super::failure::{Failure, explain};
use super::journal_row;
use super::number::{number, stored};
use super::{SqliteLedger, open, read};
use crate::JournalFilter;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OptionalExtension as _};
use samite_host::files;
use samite_model::{Error, JournalId, Link, Result};
use std::path::{Path, PathBuf};

/// Something that is physically wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The journal, when it is known.
    pub journal: Option<JournalId>,
    /// The first seq that it concerns, when it is known.
    pub seq: Option<u64>,
    /// What is wrong, for a person.
    pub what: String,
}

/// How large a ledger is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes of the database's file.
    pub database_bytes: u64,
    /// Bytes of it that are free, to be used again.
    pub free_bytes: u64,
    /// Bytes of SQLite's log beside it.
    pub log_bytes: u64,
    /// How many journals there are.
    pub journals: u64,
    /// How many entries there are.
    pub entries: u64,
    /// How many blocks are known.
    pub blocks: u64,
}

/// What a part of a journal takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalSize {
    /// How many own entries it has there.
    pub entries: u64,
    /// The bytes of their headers, links and sealed payloads.
    pub bytes: u64,
}

impl SqliteLedger {
    /// Writes a copy of the whole ledger, consistent while others write, and checks it. When this returns, the copy is
    /// durable. A copy that fails leaves nothing under the path.
    ///
    /// # Errors
    /// `conflict` (`file_exists`); `corrupt` when the copy does not pass its check; `unavailable` when it cannot be
    /// written.
    pub async fn backup_to(&self, path: impl Into<PathBuf>) -> Result<()> {
        let path = path.into();
        self.shared.readers.read("back up", move |database| back_up(database, &path).map_err(Failure::Refused)).await
    }

    /// Looks for physical damage: SQLite's own check, and each journal's head against its entries. Hash chains are not
    /// checked here.
    ///
    /// # Errors
    /// `unavailable` when the ledger cannot be read. Damage is no error, but the answer.
    pub async fn check_physical(&self) -> Result<Vec<Damage>> {
        self.shared.readers.read("check", |database| Ok(check(database))).await
    }

    /// How large it is.
    ///
    /// # Errors
    /// `corrupt` or `unavailable` when it cannot be read.
    pub async fn statistics(&self) -> Result<Statistics> {
        let log = open::log_path(&self.shared.path);
        let log_bytes = log.metadata().map_or(0, |metadata| metadata.len());
        let found = self.shared.readers.read("read sizes", move |database| {
            let pragma = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0).map(number));
            let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0).map(number));
            let page = pragma("page_size")?;
            Ok(Statistics {
                database_bytes: pragma("page_count")?.saturating_mul(page),
                free_bytes: pragma("freelist_count")?.saturating_mul(page),
                log_bytes,
                journals: count("SELECT count(*) FROM journal")?,
                entries: count("SELECT count(*) FROM entry")?,
                blocks: count("SELECT count(*) FROM block")?,
            })
        });
        found.await
    }

    /// What the own entries of a journal above a seq take.
    ///
    /// # Errors
    /// `not_found` (`no_journal`) for an unknown journal.
    pub async fn journal_size(&self, journal: JournalId, above: u64) -> Result<JournalSize> {
        let found = self.shared.readers.read("read sizes", move |database| {
            let row = read::journal(database, journal)?.row;
            let size = database
                .prepare_cached(
                    "SELECT count(*), coalesce(sum(length(header) + length(link) + coalesce(length(payload), 0)), 0) \
                     FROM entry WHERE journal = ?1 AND seq > ?2",
                )?
                .query_row((row, stored(above)), |row| {
                    Ok(JournalSize { entries: number(row.get(0)?), bytes: number(row.get(1)?) })
                })?;
            Ok(size)
        });
        found.await
    }
}

/// Copies what the reader's transaction sees: later commits of others neither enter the copy nor start it anew.
fn back_up(source: &Connection, path: &Path) -> Result<()> {
    const PAGES: i32 = 512;
    let doing = format!("back up to {}", path.display());
    let failed = |error| explain(error, &doing);
    if files::exists(path)? {
        return Err(Error::conflict("file_exists", format!("{} exists already", path.display()))
            .hint("name a new file for the backup"));
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    files::remove(&partial)?;
    drop(files::AppendFile::create(&partial)?);
    let copied = (|| {
        source.query_row("SELECT count(*) FROM state", [], |_| Ok(())).map_err(failed)?;
        let mut copy = Connection::open(&partial).map_err(failed)?;
        copy.execute_batch("PRAGMA synchronous = FULL;").map_err(failed)?;
        {
            let backup = Backup::new(source, &mut copy).map_err(failed)?;
            while backup.step(PAGES).map_err(failed)? != StepResult::Done {}
        }
        let damage = integrity(&copy).map_err(failed)?;
        if let Some(first) = damage.first() {
            return Err(Error::corrupt("damaged", format!("{doing}: the copy does not pass its check: {first}"))
                .hint("run verify on the ledger"));
        }
        drop(copy);
        files::AppendFile::open(&partial)?.sync()
    })();
    match copied.and_then(|()| files::rename(&partial, path)) {
        Ok(()) => Ok(()),
        Err(error) => {
            // The first error says more than one of cleaning up.
            let _ = files::remove(&partial);
            Err(error)
        }
    }
}

/// What SQLite's own check finds.
fn integrity(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = database.prepare("PRAGMA integrity_check(100)")?;
    let lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

fn check(database: &Connection) -> Vec<Damage> {
    let somewhere = |what: String| Damage { journal: None, seq: None, what };
    let mut damage: Vec<Damage> = match integrity(database) {
        Ok(lines) => lines.into_iter().map(somewhere).collect(),
        Err(error) => vec![somewhere(explain(error, "SQLite's check").to_string())],
    };
    match journal_row::list(database, &JournalFilter::default()) {
        Ok(journals) => {
            for journal in journals {
                damage.extend(check_journal(database, &journal));
            }
        }
        Err(error) => damage.push(somewhere(explain(error, "list journals").to_string())),
    }
    damage
}

/// Checks that a journal's own entries are all there, from its fork point to its head, and that the last has its link.
fn check_journal(database: &Connection, journal: &journal_row::JournalRow) -> Option<Damage> {
    let id = journal.state.id;
    let at = |seq: u64, what: &str| Some(Damage { journal: Some(id), seq: Some(seq), what: what.to_owned() });
    let (first, head) = (journal.fork_seq().saturating_add(1), journal.state.head);
    let mut expected = first;
    let walked = (|| -> rusqlite::Result<()> {
        let mut statement = database.prepare_cached("SELECT seq FROM entry WHERE journal = ?1 ORDER BY seq")?;
        let mut rows = statement.query([journal.row])?;
        while let Some(row) = rows.next()? {
            if number(row.get(0)?) != expected {
                break;
            }
            expected = expected.saturating_add(1);
        }
        Ok(())
    })();
    if walked.is_err() {
        return at(expected, "the entry cannot be read");
    }
    if expected <= head {
        return at(expected, "the entry is missing");
    }
    if expected > head.saturating_add(1) {
        return at(head.saturating_add(1), "the entry is beyond the head");
    }
    if head < first {
        return None;
    }
    let link = database
        .prepare_cached("SELECT link FROM entry WHERE journal = ?1 AND seq = ?2")
        .and_then(|mut look| look.query_row((journal.row, stored(head)), |row| Ok(Link(row.get(0)?))).optional());
    match link {
        Ok(Some(link)) if link == journal.state.head_link => None,
        Ok(_) => at(head, "the entry's link is not the head's"),
        Err(_) => at(head, "the entry cannot be read"),
    }
}
