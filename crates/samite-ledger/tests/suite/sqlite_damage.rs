//! Cut and flipped files: what was acknowledged and is lost is named, and what is intact is read.

use crate::sqlite_support::{append, create, entry, fill, journal_id, new_journal, read_all};
use samite_host::files;
use samite_ledger::testing::block_on;
use samite_ledger::{
    Append, Commit, JournalFilter, LeaseRequest, Ledger, Lost, OpenOptions, Read, SqliteLedger, verify,
};
use samite_model::{ErrorKind, JournalId, Pseudonym, Result};
use std::fs::OpenOptions as FileOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PAGE: usize = 4096;
const FRAME: usize = PAGE + 24;
const LOG_HEADER: usize = 32;

/// A ledger whose entries 1 to 5 are in the database and 6 to 10 in SQLite's log, one commit each.
struct Store {
    folder: TempDir,
}

impl Store {
    fn new() -> Self {
        let store = Self { folder: tempfile::tempdir().unwrap() };
        let ledger = create(&store.database());
        fill(&ledger, journal_id(1), 1..=5);
        block_on(ledger.checkpoint()).unwrap();
        fill(&ledger, journal_id(1), 6..=10);
        block_on(ledger.close());
        store
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("ledger.db-wal")
    }

    fn high_water(&self) -> PathBuf {
        self.folder.path().join("ledger.high")
    }

    fn open(&self) -> Result<SqliteLedger> {
        SqliteLedger::open(OpenOptions::new(self.database()))
    }

    /// The lengths of the log at which another commit is whole.
    fn commits(&self) -> Vec<usize> {
        let log = files::read(&self.log()).unwrap();
        let frames = (LOG_HEADER..log.len()).step_by(FRAME);
        // A frame that ends a commit says how many pages the database has then.
        frames.filter(|at| log[at + 4..at + 8] != [0; 4]).map(|at| at + FRAME).collect()
    }
}

fn flip(path: &Path, at: usize, bit: u32) {
    let file = FileOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    let at = u64::try_from(at).unwrap();
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ (1 << bit)], at).unwrap();
}

fn size(path: &Path) -> usize {
    usize::try_from(path.metadata().unwrap().len()).unwrap()
}

fn seqs(ledger: &SqliteLedger) -> Vec<u64> {
    read_all(ledger, journal_id(1)).unwrap().iter().map(|entry| entry.seq).collect()
}

/// Expects that the entries after `last` are named as lost, and that those up to it are read.
fn expect_behind(store: &Store, last: u64, read: bool) {
    let error = store.open().unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, "ledger_behind"));
    let journal = journal_id(1);
    let range = Lost::Entries { journal, from: last + 1, to: 10 };
    assert!(error.message().ends_with(&format!(": {range}")), "{error}");
    if read {
        let ledger = SqliteLedger::open(OpenOptions::new(store.database()).read_only()).unwrap();
        assert_eq!(ledger.lost(), [range]);
        assert_eq!(seqs(&ledger), (1..=last).collect::<Vec<_>>());
        block_on(ledger.close());
    }
}

#[test]
fn every_cut_of_the_last_frames_is_named() {
    let store = Store::new();
    let commits = store.commits();
    assert_eq!(commits.len(), 5);
    let log = FileOptions::new().write(true).open(store.log()).unwrap();
    let whole = size(&store.log());
    assert_eq!(commits.last(), Some(&whole));
    // All bytes of the last commit, and of the one before in larger steps.
    let last = (commits[3]..whole).rev();
    let before = (commits[2]..commits[3]).rev().step_by(61);
    for cut in last.chain(before) {
        log.set_len(u64::try_from(cut).unwrap()).unwrap();
        let left = commits.iter().filter(|end| **end <= cut).count();
        expect_behind(&store, 5 + u64::try_from(left).unwrap(), cut % 1021 == 0);
        assert_eq!(size(&store.log()), cut, "a ledger that is behind is left as it is");
    }
}

#[test]
fn a_log_that_is_gone_is_named() {
    let store = Store::new();
    files::remove(&store.log()).unwrap();
    expect_behind(&store, 5, true);
}

#[test]
fn a_flipped_bit_in_the_log_is_named() {
    let store = Store::new();
    let commits = store.commits();
    for (number, at) in (0..size(&store.log())).step_by(229).enumerate() {
        // The rest of the header of the log is neither checked nor needed.
        if (24..LOG_HEADER).contains(&at) {
            continue;
        }
        let bit = u32::try_from(number % 8).unwrap();
        flip(&store.log(), at, bit);
        let left = if at < LOG_HEADER { 0 } else { commits.iter().filter(|end| **end <= at).count() };
        expect_behind(&store, 5 + u64::try_from(left).unwrap(), number % 16 == 0);
        flip(&store.log(), at, bit);
    }
    let ledger = store.open().unwrap();
    assert_eq!(seqs(&ledger), (1..=10).collect::<Vec<_>>());
}

/// How many bytes of the high-water file hold records.
fn used(path: &Path) -> usize {
    let bytes = files::read(path).unwrap();
    (bytes.iter().rposition(|byte| *byte != 0).unwrap() / 48 + 1) * 48
}

#[test]
fn a_tail_that_was_not_acknowledged_may_go() {
    let store = Store::new();
    let commits = store.commits();
    // The last two commits left no record: their writer died before it could answer.
    let records = used(&store.high_water()) - 2 * 48;
    let high_water = FileOptions::new().write(true).open(store.high_water()).unwrap();
    high_water.set_len(u64::try_from(records).unwrap()).unwrap();
    let log = FileOptions::new().write(true).open(store.log()).unwrap();
    for cut in [commits[4] - 1, commits[3] + 1, commits[3] - 1, commits[2]] {
        log.set_len(u64::try_from(cut).unwrap()).unwrap();
        let left = commits.iter().filter(|end| **end <= cut).count();
        let ledger = store.open().unwrap();
        assert_eq!(seqs(&ledger), (1..=5 + u64::try_from(left).unwrap()).collect::<Vec<_>>());
        block_on(ledger.close());
    }
    log.set_len(u64::try_from(commits[2] - 1).unwrap()).unwrap();
    assert!(store.open().unwrap_err().message().ends_with(&format!("entry 8 of journal {}", journal_id(1))));
}

#[test]
fn a_flipped_bit_or_a_cut_of_the_high_water_file_loses_nothing() {
    let store = Store::new();
    let high_water = FileOptions::new().write(true).open(store.high_water()).unwrap();
    for at in (0..used(&store.high_water()) + 48).step_by(5) {
        flip(&store.high_water(), at, 3);
        block_on(store.open().unwrap().close());
        flip(&store.high_water(), at, 3);
    }
    for cut in (0..used(&store.high_water()) + 48).rev().step_by(7) {
        high_water.set_len(u64::try_from(cut).unwrap()).unwrap();
        let ledger = store.open().unwrap();
        assert_eq!(seqs(&ledger).len(), 10);
        block_on(ledger.close());
    }
    // A record of later commits follows one that was torn, and is found.
    fill(&store.open().unwrap(), journal_id(1), 11..=12);
    files::remove(&store.log()).unwrap();
    assert!(store.open().unwrap_err().message().ends_with(&format!("entries 6 to 12 of journal {}", journal_id(1))));
}

#[test]
fn a_loss_is_accepted_by_a_person_and_the_ledger_goes_on() {
    let store = Store::new();
    let commits = store.commits();
    let log = FileOptions::new().write(true).open(store.log()).unwrap();
    log.set_len(u64::try_from(commits[2] - 1).unwrap()).unwrap();

    let ledger = SqliteLedger::open(OpenOptions::new(store.database()).accept_behind()).unwrap();
    let journal = journal_id(1);
    let lost = vec![Lost::Entries { journal, from: 8, to: 10 }];
    assert_eq!(ledger.lost(), lost);
    assert_eq!(seqs(&ledger), (1..=7).collect::<Vec<_>>());
    let refused = block_on(ledger.commit(append(journal, vec![entry(1, 8, 10)]))).unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Corrupt, "ledger_behind"));
    assert_eq!(block_on(ledger.checkpoint()).unwrap_err().code(), "ledger_behind");

    assert_eq!(block_on(ledger.accept_loss()).unwrap(), lost);
    assert_eq!(ledger.lost(), []);
    let receipt = block_on(ledger.commit(append(journal, vec![entry(1, 8, 10)]))).unwrap();
    assert_eq!(receipt.first_seqs, [8]);
    block_on(ledger.close());
    let ledger = store.open().unwrap();
    assert_eq!(seqs(&ledger), (1..=8).collect::<Vec<_>>());
    assert_eq!(block_on(ledger.check_physical()).unwrap(), []);
}

#[test]
fn an_older_database_in_the_place_of_a_newer_one_is_named() {
    let store = Store::new();
    let older = store.folder.path().join("older.db");
    block_on(store.open().unwrap().backup_to(&older)).unwrap();
    let ledger = store.open().unwrap();
    fill(&ledger, journal_id(1), 11..=12);
    fill(&ledger, journal_id(2), 1..=3);
    block_on(ledger.destroy_keys(vec![samite_model::KeyId([8; 8])])).unwrap();
    block_on(ledger.checkpoint()).unwrap();
    block_on(ledger.close());
    files::rename(&older, &store.database()).unwrap();
    let error = store.open().unwrap_err();
    let expected = format!(
        "entries 11 to 12 of journal {}; entries 1 to 3 of journal {}; 1 changes of keys, blocks, pins or views",
        journal_id(1),
        journal_id(2)
    );
    assert!(error.message().ends_with(&expected), "{error}");
}

#[test]
fn many_journals_and_large_groups_are_all_noted() {
    let store = Store::new();
    let ledger = store.open().unwrap();
    let older = store.folder.path().join("older.db");
    block_on(ledger.backup_to(&older)).unwrap();
    let journals: Vec<JournalId> =
        (0..=255).map(|number| JournalId([number, 200].repeat(8).try_into().unwrap())).collect();
    let make = journals.iter().map(|journal| new_journal(*journal, None)).collect();
    block_on(async {
        // 256 marks in one commit, then 256 epochs, then 256 marks in one commit again and again.
        ledger.commit(Commit { journals: make, ..Commit::default() }).await.unwrap();
        for journal in &journals {
            let request = LeaseRequest {
                journal: *journal,
                writer: Pseudonym([4; 16]),
                now: 1,
                expires: 2,
                process: Vec::new(),
                take_over: None,
            };
            ledger.lease(request).await.unwrap();
        }
        for number in 1..=20 {
            let appends = journals
                .iter()
                .map(|journal| Append { journal: *journal, entries: vec![entry(journal.0[0], number, 10)] })
                .collect();
            ledger.commit(Commit { appends, ..Commit::default() }).await.unwrap();
        }
        ledger.close().await;
    });
    files::rename(&older, &store.database()).unwrap();
    files::remove(&store.log()).unwrap();
    let lost = SqliteLedger::open(OpenOptions::new(store.database()).accept_behind()).unwrap().lost();
    let ends: std::collections::HashMap<JournalId, u64> = lost
        .iter()
        .filter_map(|lost| match lost {
            Lost::Entries { journal, to, .. } => Some((*journal, *to)),
            _ => None,
        })
        .collect();
    for journal in journals {
        assert_eq!(ends.get(&journal), Some(&20), "{journal}");
    }
}

#[test]
fn a_flipped_bit_in_the_database_is_named_and_the_rest_is_read() {
    let store = Store::new();
    let ledger = store.open().unwrap();
    fill(&ledger, journal_id(1), 11..=200);
    block_on(ledger.checkpoint()).unwrap();
    let before = read_all(&ledger, journal_id(1)).unwrap();
    block_on(ledger.close());
    let mut named = 0;
    for (number, at) in (0..size(&store.database())).step_by(487).enumerate() {
        let bit = u32::try_from(number % 8).unwrap();
        flip(&store.database(), at, bit);
        match store.open() {
            Err(error) => {
                // In the first pages: the tables themselves, or the journals.
                assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid), "{at}: {error:?}");
            }
            Ok(ledger) => {
                named += usize::from(read_around(&ledger, at, &before));
                block_on(ledger.close());
            }
        }
        flip(&store.database(), at, bit);
    }
    assert!(named > 20, "only {named} flips were found out");
}

#[test]
fn a_list_of_which_nothing_can_be_read_is_said_to_be_so() {
    let store = Store::new();
    block_on(async {
        let ledger = store.open().unwrap();
        ledger.checkpoint().await.unwrap();
        ledger.close().await;
    });
    // The roots of the table of journals and of its index of ids, which lie side by side.
    let roots: Vec<usize> = {
        let database = rusqlite::Connection::open(store.database()).unwrap();
        let mut statement = database.prepare("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'journal'").unwrap();
        let roots = statement.query_map([], |row| row.get::<_, u32>(0)).unwrap();
        roots.map(|root| usize::try_from(root.unwrap()).unwrap()).collect()
    };
    for root in roots {
        flip(&store.database(), (root - 1) * PAGE, 4);
    }
    let ledger = SqliteLedger::open(OpenOptions::new(store.database()).read_only().accept_behind()).unwrap();
    let listed = block_on(verify::list(&ledger, &JournalFilter::default())).unwrap();
    assert_eq!(listed.journals, []);
    assert_eq!(listed.unreadable.len(), 16, "{:?}", listed.unreadable);
    assert!(listed.unreadable.contains(&"journals whose ids begin with 7 cannot be read".to_owned()));
}

/// Reads entry by entry: each is what it was, but for its sealed payload, or is named. Whether any was named.
fn read_around(ledger: &SqliteLedger, at: usize, before: &[samite_ledger::StoredEntry]) -> bool {
    let journal = journal_id(1);
    let whole = read_all(ledger, journal);
    let Err(error) = &whole else {
        for (now, then) in whole.unwrap().iter().zip(before) {
            assert_eq!((now.seq, &now.header, now.link), (then.seq, &then.header, then.link), "{at}");
        }
        return false;
    };
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{at}: {error:?}");
    let mut intact = 0;
    for then in before {
        match block_on(ledger.read(Read::range(journal, then.seq, then.seq))) {
            Ok(now) if now.len() == 1 && now[0].header == then.header && now[0].link == then.link => intact += 1,
            Ok(_) | Err(_) => {}
        }
    }
    // The message names the first that is damaged, unless what leads to all entries is.
    if error.code() != "damaged" {
        assert!(error.message().contains(&journal.to_string()), "{error}");
        assert!(intact >= before.len() / 2, "{at}: only {intact} entries are left: {error}");
    }
    true
}

#[test]
fn a_database_that_is_gone_or_empty_is_not_made_anew() {
    for empty in [false, true] {
        let store = Store::new();
        let path = store.database();
        let log = files::read(&store.log()).unwrap();
        if empty {
            FileOptions::new().write(true).truncate(true).open(&path).unwrap();
        } else {
            files::remove(&path).unwrap();
        }
        for options in [OpenOptions::new(&path), OpenOptions::new(&path).create(), OpenOptions::new(&path).read_only()]
        {
            let error = SqliteLedger::open(options).err().unwrap();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, "ledger_gone"));
            assert!(!error.hints().is_empty());
        }
        assert_eq!(files::read(&store.log()).unwrap(), log);
    }
}
