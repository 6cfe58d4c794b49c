//! The audit log: leaves in the commits of their acts, against a bare SQLite loop that inserts the same leaves; and appends of a
//! session with and without the log.

use crate::Bench;
use crate::bare::failed;
use crate::forks::event;
use crate::store::Scratch;
use crate::table::{Row, Table, Target};
use crate::turns::{count, in_turns, median, since};
use futures_lite::future::block_on;
use rusqlite::Connection;
use samite::audit::tlog::leaf::{Actor, Word};
use samite::audit::tlog::log::{LeafDraft, LogFinisher};
use samite::{Backends, NewSession, Store, Writer, WriterOptions};
use samite_blocks::FilePackStore;
use samite_host::{Clock as _, SystemClock, SystemRandomness, files};
use samite_ledger::{
    Append, Commit, Finisher, JournalKind, Ledger as _, NewEntry, NewJournal, OpenOptions, SqliteLedger,
};
use samite_model::{Commitment, EntryId, EntryKind, FamilyId, JournalId, KeyId, Pseudonym, Result};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const JOURNAL: JournalId = JournalId([1; 16]);
const OWNER: Pseudonym = Pseudonym([2; 16]);
/// What an act's entry says, sealed.
const PAYLOAD: usize = 300;
const ROUNDS: usize = 60;
const APPENDS: usize = 40;

/// Acts on a ledger with an audit log.
struct Acts {
    ledger: SqliteLedger,
    next: u64,
    /// Whether the acts have leaves.
    leaves: bool,
    took: Vec<f64>,
}

impl Acts {
    fn new(path: &Path, scratch: &Scratch) -> Result<Self> {
        let finisher: Arc<dyn Finisher> = Arc::new(LogFinisher::new(scratch.embedded.keys().clone(), None));
        let ledger = SqliteLedger::open(OpenOptions { finisher: Some(finisher), ..OpenOptions::new(path).create() })?;
        let journal = NewJournal {
            id: JOURNAL,
            family: FamilyId(JOURNAL.0),
            kind: JournalKind::TenantControl,
            owner: OWNER,
            parent: None,
        };
        block_on(ledger.commit(Commit { journals: vec![journal], ..Commit::default() }))?;
        Ok(Self { ledger, next: 0, leaves: true, took: Vec::new() })
    }

    fn entry(&mut self) -> NewEntry {
        self.next += 1;
        let mut id = [7; 16];
        id.iter_mut().zip(self.next.to_be_bytes()).for_each(|(to, from)| *to = from);
        let actor = Actor { user: OWNER, agent: Some(Pseudonym([3; 16])), workload: Some(Pseudonym([4; 16])) };
        // What most leaves say of what is in force.
        let policy = ["pii_report", "secret_redact"].iter().filter_map(|word| Word::new(word).ok()).collect();
        let (consent, anchors) = (BTreeSet::new(), Vec::new());
        NewEntry {
            id: EntryId(id),
            kind: EntryKind::BRANCH_FORKED,
            epoch: 0,
            time: SystemClock.now(),
            actor: Pseudonym([5; 16]),
            owner: OWNER,
            key: KeyId([6; 8]),
            length: PAYLOAD as u64,
            commitment: Commitment([8; 32]),
            payload: vec![9; PAYLOAD],
            rows: Vec::new(),
            registers: Vec::new(),
            leaf: self.leaves.then(|| LeafDraft { actor, owner: OWNER, policy, consent, anchors }.encode()),
        }
    }

    fn commit(&mut self, acts: usize) -> Result<()> {
        let entries = (0..acts).map(|_| self.entry()).collect();
        let appends = vec![Append { journal: JOURNAL, entries }];
        let began = SystemClock.now();
        block_on(self.ledger.commit(Commit { appends, ..Commit::default() }))?;
        self.took.push(since(began));
        Ok(())
    }
}

/// A loop that inserts the leaves alone, as a program would that needs nothing else.
struct Inserts {
    database: Connection,
    leaves: Vec<Vec<u8>>,
    next: usize,
    took: Vec<f64>,
}

impl Inserts {
    fn new(path: &Path, leaves: Vec<Vec<u8>>) -> Result<Self> {
        let database = Connection::open(path).map_err(failed)?;
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
                 CREATE TABLE leaf(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;",
            )
            .map_err(failed)?;
        Ok(Self { database, leaves, next: 0, took: Vec::new() })
    }

    fn commit(&mut self, leaves: usize) -> Result<()> {
        let began = SystemClock.now();
        let insert = || -> rusqlite::Result<()> {
            let transaction = self.database.unchecked_transaction()?;
            let mut statement = transaction.prepare_cached("INSERT INTO leaf(id, owner, bytes) VALUES(?1, 1, ?2)")?;
            for index in self.next..self.next + leaves {
                let leaf = self.leaves.get(index % self.leaves.len()).map(Vec::as_slice).unwrap_or_default();
                statement.execute((i64::try_from(index).unwrap_or(i64::MAX), leaf))?;
            }
            drop(statement);
            transaction.commit()
        };
        insert().map_err(failed)?;
        self.next += leaves;
        self.took.push(since(began));
        Ok(())
    }
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    leaves(bench, table)?;
    appends(bench, table)
}

fn leaves(bench: &Bench, table: &mut Table) -> Result<()> {
    let scratch = Scratch::new(bench)?;
    let path = |name: &str| scratch.directory.path().join(name);
    let mut ours = Acts::new(&path("acts.db"), &scratch)?;
    ours.commit(512)?;
    let mut other = Inserts::new(&path("leaves.db"), block_on(ours.ledger.leaves(1, 0, 512))?)?;
    for _ in 0..200 {
        ours.commit(1)?;
        other.commit(1)?;
    }
    (ours.took, other.took) = (Vec::new(), Vec::new());
    in_turns(ROUNDS, |_| (0..16).try_for_each(|_| ours.commit(1)), |_| (0..16).try_for_each(|_| other.commit(1)))?;
    let (own, bare) = (median(&mut ours.took), median(&mut other.took));
    let name = "acts, one a commit / bare SQLite inserts of their leaves";
    row(table, name, 1.0 / own, 1.0 / bare);
    bulk(&scratch, table)
}

fn row(table: &mut Table, name: &str, ours: f64, other: f64) {
    table.row(&Row { name, ours, other, unit: "leaves/s", ratio: ours / other, target: Target::AtLeast(0.7) });
}

/// Many acts a commit: the whole of it, entries and all, and what of it the leaves are.
fn bulk(scratch: &Scratch, table: &mut Table) -> Result<()> {
    const MANY: usize = 256;
    let path = |name: &str| scratch.directory.path().join(name);
    let mut ours = Acts::new(&path("many.db"), scratch)?;
    let mut plain = Acts::new(&path("plain.db"), scratch)?;
    plain.leaves = false;
    ours.commit(512)?;
    let mut other = Inserts::new(&path("inserts.db"), block_on(ours.ledger.leaves(1, 0, 512))?)?;
    let mut turn = |rounds: usize| -> Result<()> {
        for _ in 0..rounds {
            ours.commit(MANY)?;
            plain.commit(MANY)?;
            other.commit(MANY)?;
        }
        Ok(())
    };
    turn(200)?;
    turn(ROUNDS)?;
    for took in [&mut ours.took, &mut plain.took, &mut other.took] {
        took.drain(..took.len().saturating_sub(ROUNDS));
    }
    let (own, without, bare) = (median(&mut ours.took), median(&mut plain.took), median(&mut other.took));
    let many = count(MANY);
    row(table, "acts, 256 a commit / bare SQLite inserts of their leaves", many / own, many / bare);
    row(table, "  the leaves of it: with them less without", many / (own - without), many / bare);
    Ok(())
}

/// A writer of a store whose ledger has no audit log.
fn unlogged(scratch: &Scratch) -> Result<Writer> {
    let directory = scratch.directory.path().join("unlogged");
    files::create_private_dir(&directory)?;
    let ledger = Arc::new(SqliteLedger::open(OpenOptions::new(directory.join("ledger.db")).create())?);
    let store = Store::new(Backends {
        ledger: ledger.clone(),
        blocks: ledger,
        packs: Arc::new(FilePackStore::open(&directory)?),
        keys: scratch.embedded.keys().clone(),
        directory: None,
        logged: false,
        tiles: None,
        caches: None,
        memory: None,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandomness::new()),
    });
    block_on(async {
        let client = store.client(scratch.client.principal().clone()).await?;
        let session = client.create_session(NewSession::default()).await?.id;
        client.writer(session, None, WriterOptions::default()).await
    })
}

fn appends(bench: &Bench, table: &mut Table) -> Result<()> {
    let scratch = Scratch::new(bench)?;
    let (logged, plain) = (scratch.session()?.1, unlogged(&scratch)?);
    let append = |writer: &Writer, took: &mut Vec<f64>| -> Result<()> {
        for _ in 0..APPENDS {
            let event = event(500)?;
            let began = SystemClock.now();
            block_on(writer.append(event))?;
            took.push(since(began));
        }
        Ok(())
    };
    for _ in 0..10 {
        append(&logged, &mut Vec::new())?;
        append(&plain, &mut Vec::new())?;
    }
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    in_turns(ROUNDS, |_| append(&logged, &mut ours), |_| append(&plain, &mut other))?;
    let (with, without) = (median(&mut ours), median(&mut other));
    table.row(&Row {
        name: "an append with the audit log / without",
        ours: with * 1e6,
        other: without * 1e6,
        unit: "µs",
        ratio: with / without,
        target: Target::AtMost(1.1),
    });
    Ok(())
}
