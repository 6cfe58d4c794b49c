//! The limit: a bare loop that inserts rows into SQLite, the same rows with the same bytes as a ledger that ran steps.

use crate::turns::{count, since};
use rusqlite::{Connection, OpenFlags, Statement};
use samite_host::{Clock as _, SystemClock};
use samite_model::{Error, Result};
use std::path::Path;

/// What one journal's chain of steps left in a ledger: for each step the outcome of the one before and its own start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    journal: i64,
    owner: i64,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, Default)]
struct Step {
    entries: Vec<Entry>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Entry {
    seq: i64,
    header: Vec<u8>,
    link: Vec<u8>,
    payload: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Row {
    kind: i64,
    hash: Vec<u8>,
    seq: i64,
    value: Vec<u8>,
}

impl Chain {
    /// The step whose commit holds this seq: the first start is alone, and every later commit holds two entries.
    fn step_at(&mut self, seq: i64) -> Option<&mut Step> {
        let place = usize::try_from(seq / 2).ok()?;
        self.steps.resize_with(self.steps.len().max(place + 1), Step::default);
        self.steps.get_mut(place)
    }
}

/// How many bytes the register of an open step has.
const REGISTER: usize = 61;

pub(crate) fn failed(error: rusqlite::Error) -> Error {
    Error::internal("bare_sqlite", "the bare loop failed").because(error)
}

/// The chains of the journals of a ledger's database that hold steps.
pub(crate) fn chains(database: &Path) -> Result<Vec<Chain>> {
    let database = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    read_chains(&database).map_err(failed)
}

fn read_chains(database: &Connection) -> rusqlite::Result<Vec<Chain>> {
    let mut journals = database.prepare("SELECT row, owner FROM journal WHERE kind = 1 AND head_seq > 2")?;
    let mut entries =
        database.prepare("SELECT seq, header, link, payload FROM entry WHERE journal = ?1 ORDER BY seq")?;
    let mut rows = database.prepare("SELECT kind, hash, seq, value FROM view_row WHERE journal = ?1 ORDER BY seq")?;
    let mut chains = Vec::new();
    for journal in journals.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (journal, owner) = journal?;
        let mut chain = Chain { journal, owner, steps: Vec::new() };
        let found = entries.query_map([journal], |row| {
            Ok(Entry { seq: row.get(0)?, header: row.get(1)?, link: row.get(2)?, payload: row.get(3)? })
        })?;
        for entry in found {
            let entry = entry?;
            if let Some(step) = chain.step_at(entry.seq) {
                step.entries.push(entry);
            }
        }
        let found = rows.query_map([journal], |row| {
            Ok(Row { kind: row.get(0)?, hash: row.get(1)?, seq: row.get(2)?, value: row.get(3)? })
        })?;
        for row in found {
            let row = row?;
            if let Some(step) = chain.step_at(row.seq) {
                step.rows.push(row);
            }
        }
        chains.push(chain);
    }
    Ok(chains)
}

/// A database with the tables of a ledger and nothing around them.
pub(crate) struct Bare {
    database: Connection,
    chains: Vec<Chain>,
    next: usize,
    /// How many seconds each commit took.
    pub(crate) took: Vec<f64>,
}

impl Bare {
    /// A new database with the tables of the ledger at `model`, to take these chains' rows.
    pub(crate) fn new(path: &Path, model: &Path, chains: Vec<Chain>) -> Result<Self> {
        let make = || -> rusqlite::Result<Connection> {
            let model = Connection::open_with_flags(model, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let tables: Vec<String> = model
                .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let database = Connection::open(path)?;
            database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            database
                .execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -8000;")?;
            database.query_row("PRAGMA wal_autocheckpoint = 2000", [], |_| Ok(()))?;
            database.execute_batch(&tables.join(";"))?;
            for chain in &chains {
                database.execute(
                    "INSERT INTO journal VALUES(?1, randomblob(16), randomblob(16), 1, ?2, NULL, 0, 0, randomblob(32), 1, 0, 0)",
                    (chain.journal, chain.owner),
                )?;
            }
            Ok(database)
        };
        // The first start of each chain is no whole step.
        Ok(Self { database: make().map_err(failed)?, chains, next: 1, took: Vec::new() })
    }

    /// How many steps are left in each chain.
    pub(crate) fn left(&self) -> usize {
        self.chains.iter().map(|chain| chain.steps.len()).min().unwrap_or(0).saturating_sub(self.next + 1)
    }

    /// The next steps of every chain, one commit for the same step of all.
    pub(crate) fn steps(&mut self, steps: usize) -> Result<()> {
        let end = self.next + steps;
        let mut loops = Loop::new(&self.database).map_err(failed)?;
        for place in self.next..end {
            let began = SystemClock.now();
            loops.commit(&self.chains, place).map_err(failed)?;
            self.took.push(since(began));
        }
        self.next = end;
        Ok(())
    }

    /// How many bytes an average step inserts.
    pub(crate) fn bytes_a_step(&self) -> f64 {
        let (mut bytes, mut steps) = (0, 0);
        for step in self.chains.iter().flat_map(|chain| &chain.steps) {
            steps += 1;
            bytes += step.entries.iter().map(|entry| entry.header.len() + 32 + entry.payload.len()).sum::<usize>();
            bytes += step.rows.iter().map(|row| row.hash.len() + row.value.len()).sum::<usize>();
        }
        count(bytes) / count(steps)
    }
}

struct Loop<'c> {
    begin: Statement<'c>,
    entry: Statement<'c>,
    row: Statement<'c>,
    clear: Statement<'c>,
    set: Statement<'c>,
    journal: Statement<'c>,
    commit: Statement<'c>,
}

impl<'c> Loop<'c> {
    fn new(database: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            begin: database.prepare("BEGIN IMMEDIATE")?,
            entry: database.prepare(
                "INSERT INTO entry(journal, seq, owner, header, link, payload) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            row: database.prepare(
                "INSERT INTO view_row(journal, kind, hash, seq, place, owner, value) VALUES(?1, ?2, ?3, ?4, 0, ?5, ?6)",
            )?,
            clear: database.prepare("DELETE FROM register WHERE journal = ?1 AND kind = 1 AND hash = ?2")?,
            set: database.prepare(
                "INSERT INTO register(journal, kind, hash, seq, owner, value) VALUES(?1, 1, ?2, ?3, ?4, ?5)",
            )?,
            journal: database.prepare(
                "UPDATE journal SET head_seq = ?2, head_link = ?3, epoch = 1, registers = ?2, status = 0 WHERE row = ?1",
            )?,
            commit: database.prepare("COMMIT")?,
        })
    }

    fn commit(&mut self, chains: &[Chain], place: usize) -> rusqlite::Result<()> {
        self.begin.execute([])?;
        for chain in chains {
            if let Some(step) = chain.steps.get(place) {
                self.insert(chain, place, step)?;
            }
        }
        self.commit.execute([])?;
        Ok(())
    }

    fn insert(&mut self, chain: &Chain, place: usize, step: &Step) -> rusqlite::Result<()> {
        for entry in &step.entries {
            let bytes = (chain.journal, entry.seq, chain.owner, &entry.header, &entry.link, &entry.payload);
            self.entry.execute(bytes)?;
        }
        for row in &step.rows {
            self.row.execute((chain.journal, row.kind, &row.hash, row.seq, chain.owner, &row.value))?;
        }
        let register = |place: usize| {
            let mut hash = [0_u8; 16];
            if let Some(last) = hash.last_chunk_mut::<8>() {
                // Spread, as hashes are.
                *last = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_right(32).to_be_bytes();
            }
            hash
        };
        self.clear.execute((chain.journal, register(place - 1)))?;
        self.set.execute((
            chain.journal,
            register(place),
            step.entries.last().map(|entry| entry.seq),
            chain.owner,
            [7_u8; REGISTER].as_slice(),
        ))?;
        if let Some(last) = step.entries.last() {
            self.journal.execute((chain.journal, last.seq, &last.link))?;
        }
        Ok(())
    }
}
