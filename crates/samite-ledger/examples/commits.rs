//! How fast the SQLite ledger commits, against a bare loop that writes the same rows: ratios of one run.
//!
//! `cargo run --release -p samite-ledger --example commits [FOLDER]`

#![expect(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, reason = "an example that measures")]

use rusqlite::Connection;
use samite_ledger::{
    Append, Commit, Guard, JournalKind, Ledger, NewEntry, NewJournal, NewRow, OpenOptions, RegisterChange, SqliteLedger,
};
use samite_model::{Commitment, EntryId, EntryKind, FamilyId, JournalId, KeyId, Pseudonym};
use std::path::Path;
use std::time::Instant;

const PAYLOAD: usize = 600;
const WRITERS: u64 = 64;
const ROUNDS: usize = 5;

fn id(kind: u8, writer: u64, number: u64) -> [u8; 16] {
    let mut id = [kind; 16];
    id[..8].copy_from_slice(&(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes());
    id[8..12].copy_from_slice(&u32::try_from(writer).unwrap().to_be_bytes());
    id
}

fn payload(writer: u64, number: u64) -> Vec<u8> {
    let mut state = writer << 32 | number | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u8::try_from(state >> 56).unwrap()
    };
    (0..PAYLOAD).map(|_| next()).collect()
}

/// A step's start, as a fabric would write it: four guards, an entry, a row and a register.
fn step(writer: u64, number: u64) -> Commit {
    let journal = JournalId(id(1, writer, 0));
    let hash = id(2, writer, number);
    let entry = NewEntry {
        id: EntryId(id(3, writer, number)),
        kind: EntryKind::STEP_STARTED,
        epoch: 0,
        time: 0,
        actor: Pseudonym([1; 16]),
        owner: Pseudonym([2; 16]),
        key: KeyId([3; 8]),
        length: 600,
        commitment: Commitment([4; 32]),
        payload: payload(writer, number),
        rows: vec![NewRow { kind: 1, hash, value: vec![0; 24] }],
        registers: vec![RegisterChange::Set { kind: 1, hash: [9; 16], value: vec![0; 24] }],
        leaf: None,
    };
    Commit {
        guards: vec![
            Guard::Epoch { journal, epoch: 0 },
            Guard::Head { journal, seq: number - 1 },
            Guard::RowAbsent { journal, kind: 1, hashes: vec![hash] },
            Guard::KeyLive { key: KeyId([3; 8]) },
        ],
        appends: vec![Append { journal, entries: vec![entry] }],
        ..Commit::default()
    }
}

/// Commits a second of the ledger: writers as threads, each waiting for its own commits.
fn ledger(folder: &Path, writers: u64, commits: u64) -> f64 {
    let path = folder.join("ledger.db");
    let ledger = SqliteLedger::open(OpenOptions::new(path).create()).unwrap();
    futures_lite::future::block_on(async {
        let journals = (1..=writers).map(|writer| NewJournal {
            id: JournalId(id(1, writer, 0)),
            family: FamilyId([1; 16]),
            kind: JournalKind::Branch,
            owner: Pseudonym([2; 16]),
            parent: None,
        });
        ledger.commit(Commit { journals: journals.collect(), ..Commit::default() }).await.unwrap();
    });
    let start = Instant::now();
    std::thread::scope(|scope| {
        for writer in 1..=writers {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in 1..=commits / writers {
                    futures_lite::future::block_on(ledger.commit(step(writer, number))).unwrap();
                }
            });
        }
    });
    rate(commits, start)
}

/// Commits a second of a loop that writes the same rows, so many commits a transaction.
fn bare(folder: &Path, together: u64, commits: u64) -> f64 {
    let database = Connection::open(folder.join("bare.db")).unwrap();
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE entry(id INTEGER PRIMARY KEY, journal INTEGER, seq INTEGER, owner INTEGER, header BLOB,
                                link BLOB, payload BLOB);
             CREATE UNIQUE INDEX place ON entry(journal, seq);
             CREATE TABLE view_row(journal INTEGER, kind INTEGER, hash BLOB, seq INTEGER, place INTEGER,
                                   owner INTEGER, value BLOB, PRIMARY KEY(journal, kind, hash, seq)) WITHOUT ROWID;
             CREATE TABLE register(journal INTEGER, kind INTEGER, hash BLOB, seq INTEGER, owner INTEGER, value BLOB,
                                   PRIMARY KEY(journal, kind, hash)) WITHOUT ROWID;
             CREATE TABLE journal(row INTEGER PRIMARY KEY, id BLOB, family BLOB, head INTEGER, link BLOB);",
        )
        .unwrap();
    for writer in 1..=together {
        database
            .execute(
                "INSERT INTO journal VALUES(?1, ?2, ?3, 0, ?4)",
                (i64::try_from(writer).unwrap(), id(1, writer, 0), [1_u8; 16], [0_u8; 32]),
            )
            .unwrap();
    }
    let start = Instant::now();
    for number in 1..=commits / together {
        database.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        for writer in 1..=together {
            let (journal, seq) = (i64::try_from(writer).unwrap(), i64::try_from(number).unwrap());
            let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
                database.prepare_cached(sql).unwrap().execute(values).unwrap();
            };
            run(
                "INSERT INTO entry(journal, seq, owner, header, link, payload) VALUES(?1, ?2, 2, ?3, ?4, ?5)",
                &[&journal, &seq, &[5_u8; 124], &[6_u8; 32], &payload(writer, number)],
            );
            run(
                "INSERT INTO view_row VALUES(?1, 1, ?2, ?3, 0, 2, ?4)",
                &[&journal, &id(2, writer, number), &seq, &[0_u8; 24]],
            );
            run(
                "INSERT OR REPLACE INTO register VALUES(?1, 1, ?2, ?3, 2, ?4)",
                &[&journal, &[9_u8; 16], &seq, &[0_u8; 24]],
            );
            run("UPDATE journal SET head = ?2, link = ?3 WHERE row = ?1", &[&journal, &seq, &[7_u8; 32]]);
        }
        database.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }
    rate(commits, start)
}

#[expect(clippy::cast_precision_loss, reason = "a count of thousands")]
fn rate(commits: u64, start: Instant) -> f64 {
    commits as f64 / start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Runs both by turns, so that what else the machine does meets both.
fn compare(name: &str, folder: &Path, writers: u64, commits: u64) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let round = tempfile::tempdir_in(folder).unwrap();
        theirs.push(bare(round.path(), writers, commits));
        ours.push(ledger(round.path(), writers, commits));
    }
    let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    println!(
        "{name}: ledger {:.0}/s, bare {:.0}/s, ratio {:.2} (median of {ROUNDS})",
        median(ours),
        median(theirs),
        median(ratios)
    );
}

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    compare("one writer, one sync a commit", folder.as_ref(), 1, 3_000);
    compare("64 writers against 64 a transaction", folder.as_ref(), WRITERS, 64 * 500);
}
