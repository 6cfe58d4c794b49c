//! Opening, backup, sizes, several processes' worth of handles, and file systems that do not do as they should.

use crate::sqlite_support::{append, create, entry, fill, journal_id, new_journal, read_all};
use samite_host::files;
use samite_ledger::testing::{PlainFinisher, block_on};
use samite_ledger::{Commit, Finisher, Ledger, NewEntry, OpenOptions, SqliteLedger};
use samite_model::{ErrorKind, KeyId, Position};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

fn open_error(options: OpenOptions) -> (ErrorKind, &'static str) {
    let error = SqliteLedger::open(options).unwrap_err();
    (error.kind(), error.code())
}

#[test]
fn what_is_no_ledger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    assert_eq!(open_error(OpenOptions::new(&path)), (ErrorKind::NotFound, "no_ledger"));
    assert!(!path.exists(), "a look makes nothing");
    let other = folder.path().join("other.db");
    let text = "this is not a database, but a text that is long enough to look at".repeat(20);
    files::write_atomic(&other, text.as_bytes(), 0o600).unwrap();
    assert_eq!(open_error(OpenOptions::new(&other)).0, ErrorKind::Corrupt);
    assert_eq!(open_error(OpenOptions::new(&other).read_only()).0, ErrorKind::Corrupt);
    let foreign = folder.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE a(b)").unwrap();
    assert_eq!(open_error(OpenOptions::new(&foreign).create()), (ErrorKind::Corrupt, "not_a_ledger"));
    drop(create(&path));
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
    assert_eq!(open_error(OpenOptions::new(&path)), (ErrorKind::Invalid, "newer_format"));
}

#[test]
fn a_ledger_of_the_first_version_is_read_and_brought_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = create(&path);
    fill(&ledger, journal_id(1), 1..=3);
    drop(ledger);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("DROP TABLE audit_log; DROP TABLE leaf; PRAGMA user_version = 1").unwrap();
    drop(database);
    let version = || -> i64 {
        let database = rusqlite::Connection::open(&path).unwrap();
        database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    let reader = SqliteLedger::open(OpenOptions::new(&path).read_only()).unwrap();
    assert_eq!(block_on(reader.audit_log(None)).unwrap(), None);
    assert_eq!(block_on(reader.leaves(1, 0, 9)).unwrap(), [[0; 0]; 0]);
    drop(reader);
    assert_eq!(version(), 1);
    let finisher: Option<Arc<dyn Finisher>> = Some(Arc::new(PlainFinisher));
    let ledger = SqliteLedger::open(OpenOptions { finisher, ..OpenOptions::new(&path) }).unwrap();
    assert_eq!(version(), 2);
    let leaf = NewEntry { leaf: Some(b"draft".to_vec()), ..entry(1, 4, 100) };
    block_on(ledger.commit(append(journal_id(1), vec![leaf]))).unwrap();
    assert_eq!(block_on(ledger.leaves(1, 0, 9)).unwrap().len(), 1);
    assert_eq!(read_all(&ledger, journal_id(1)).unwrap().len(), 4);
}

#[test]
fn the_files_are_their_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = create(&folder.path().join("ledger.db"));
    fill(&ledger, journal_id(1), 1..=1);
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.high"] {
        let mode = folder.path().join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_ledger_that_is_closed_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = create(&folder.path().join("ledger.db"));
    let other = ledger.clone();
    fill(&ledger, journal_id(1), 1..=1);
    block_on(ledger.close());
    assert_eq!(block_on(other.commit(append(journal_id(1), vec![]))).unwrap_err().code(), "closed");
    assert_eq!(block_on(other.journal(journal_id(1))).unwrap_err().code(), "closed");
}

#[test]
fn a_ledger_is_read_while_another_handle_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let writer = create(&path);
    fill(&writer, journal_id(1), 1..=3);
    let reader = SqliteLedger::open(OpenOptions::new(&path).read_only()).unwrap();
    assert!(reader.is_read_only());
    assert_eq!(read_all(&reader, journal_id(1)).unwrap().len(), 3);
    let refused = block_on(reader.commit(append(journal_id(1), vec![entry(1, 4, 1)]))).unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Unavailable, "read_only"));
    // What another handle commits is seen by one that waits.
    let waited = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(reader.wait(journal_id(1), 3, 60_000)).unwrap());
        fill(&writer, journal_id(1), 4..=4);
        waiting.join().unwrap()
    });
    assert_eq!(waited, 4);
}

#[test]
fn a_backup_is_whole_while_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = create(&folder.path().join("ledger.db"));
    fill(&ledger, journal_id(1), 1..=50);
    let copies: Vec<_> = (0..3).map(|number| folder.path().join(format!("copy-{number}.db"))).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| fill(&ledger, journal_id(1), 51..=400));
        for copy in &copies {
            block_on(ledger.backup_to(copy)).unwrap();
        }
    });
    let mut before = 50;
    for copy in &copies {
        let backup = SqliteLedger::open(OpenOptions::new(copy)).unwrap();
        let entries = read_all(&backup, journal_id(1)).unwrap();
        assert!(entries.len() >= before, "{} entries after {before}", entries.len());
        before = entries.len();
        assert_eq!(block_on(backup.check_physical()).unwrap(), []);
    }
    assert_eq!(block_on(ledger.backup_to(&copies[0])).unwrap_err().code(), "file_exists");
    let nowhere = folder.path().join("none/copy.db");
    assert_eq!(block_on(ledger.backup_to(nowhere)).unwrap_err().code(), "no_file");
}

#[test]
fn sizes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = create(&folder.path().join("ledger.db"));
    fill(&ledger, journal_id(1), 1..=10);
    let statistics = block_on(ledger.statistics()).unwrap();
    assert_eq!((statistics.journals, statistics.entries, statistics.blocks), (1, 10, 0));
    assert!(statistics.log_bytes > 0);
    let size = block_on(ledger.journal_size(journal_id(1), 7)).unwrap();
    assert_eq!((size.entries, size.bytes), (3, 3 * (124 + 32 + 100)));
    assert_eq!(block_on(ledger.journal_size(journal_id(2), 0)).unwrap_err().code(), "no_journal");
    block_on(ledger.checkpoint()).unwrap();
    assert_eq!(block_on(ledger.statistics()).unwrap().log_bytes, 0);
}

#[test]
fn a_fork_costs_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = create(&folder.path().join("ledger.db"));
    fill(&ledger, journal_id(1), 1..=10);
    block_on(ledger.checkpoint()).unwrap();
    let before = block_on(ledger.statistics()).unwrap();
    for number in 0..500_u64 {
        let mut id = [9; 16];
        id[..8].copy_from_slice(&number.to_be_bytes());
        let parent = Some(Position { journal: journal_id(1), seq: 1 + number % 10 });
        let journals = vec![new_journal(samite_model::JournalId(id), parent)];
        block_on(ledger.commit(Commit { journals, ..Commit::default() })).unwrap();
    }
    block_on(ledger.checkpoint()).unwrap();
    let after = block_on(ledger.statistics()).unwrap();
    assert_eq!(after.journals, 501);
    let grown = after.database_bytes - before.database_bytes;
    assert!(grown < 250_000, "500 forks take {grown} bytes");
}

#[test]
fn a_destroyed_key_is_destroyed_for_another_handle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (one, other) = (create(&path), create(&path));
    fill(&one, journal_id(1), 1..=2);
    fill(&other, journal_id(1), 3..=4);
    block_on(one.destroy_keys(vec![KeyId([3; 8])])).unwrap();
    let refused = block_on(other.commit(append(journal_id(1), vec![entry(1, 5, 1)]))).unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Denied, "key_destroyed"));
    assert_eq!(read_all(&other, journal_id(1)).unwrap().len(), 4);
}

#[test]
fn two_handles_write_one_journal_without_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (one, other) = (create(&path), create(&path));
    fill(&one, journal_id(1), 1..=1);
    std::thread::scope(|scope| {
        scope.spawn(|| fill(&one, journal_id(1), 2..=100));
        scope.spawn(|| fill(&other, journal_id(1), 101..=199));
    });
    assert_eq!(read_all(&one, journal_id(1)).unwrap().len(), 199);
    drop((one, other));
    // Neither's records put the other's in doubt.
    let ledger = SqliteLedger::open(OpenOptions::new(&path)).unwrap();
    assert_eq!(block_on(ledger.check_physical()).unwrap(), []);
}

/// A mount that ends with the test; none, said aloud, where the test may not mount.
struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    fn new(arguments: &[&str], at: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(arguments).arg(at).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(at));
        }
        eprintln!("SKIPPED: mount {arguments:?} is not allowed here");
        None
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=1m", "none"], folder.path()) else { return };
    let path = folder.path().join("ledger.db");
    let ledger = create(&path);
    fill(&ledger, journal_id(1), 1..=3);
    let mut head = 3;
    let error = loop {
        match block_on(ledger.commit(append(journal_id(1), vec![entry(1, head + 1, 50_000)]))) {
            Ok(_) => head += 1,
            Err(error) => break error,
        }
        assert!(head < 1_000);
    };
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "disk_full"));
    assert!(!error.hints().is_empty());
    assert_eq!(block_on(ledger.journal(journal_id(1))).unwrap().unwrap().head, head);
    block_on(ledger.close());
    let ledger = SqliteLedger::open(OpenOptions::new(&path)).unwrap();
    assert_eq!(u64::try_from(read_all(&ledger, journal_id(1)).unwrap().len()).unwrap(), head);
    assert_eq!(block_on(ledger.check_physical()).unwrap(), []);
}

#[test]
fn a_read_only_file_system_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (real, bound) = (folder.path().join("real"), folder.path().join("bound"));
    files::create_private_dir(&real).unwrap();
    files::create_private_dir(&bound).unwrap();
    let path = real.join("ledger.db");
    let ledger = create(&path);
    fill(&ledger, journal_id(1), 1..=3);
    block_on(ledger.close());
    let Some(_mount) = Mount::new(&["--bind", "-o", "ro", &real.to_string_lossy()], &bound) else { return };
    let look = || {
        let ledger = SqliteLedger::open(OpenOptions::new(bound.join("ledger.db"))).unwrap();
        assert!(ledger.is_read_only());
        assert_eq!(read_all(&ledger, journal_id(1)).unwrap().len(), 3);
        let refused = block_on(ledger.commit(append(journal_id(1), vec![entry(1, 4, 1)]))).unwrap_err();
        assert_eq!((refused.kind(), refused.code()), (ErrorKind::Unavailable, "read_only"));
        block_on(ledger.close());
    };
    // With the log and its index there; then with neither.
    look();
    let ledger = SqliteLedger::open(OpenOptions::new(&path)).unwrap();
    block_on(ledger.checkpoint()).unwrap();
    block_on(ledger.close());
    files::remove(&real.join("ledger.db-wal")).unwrap();
    files::remove(&real.join("ledger.db-shm")).unwrap();
    look();
}

#[test]
fn waiting_ends_with_its_time_while_others_commit() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let ledger = create(&folder.path().join("ledger.db"));
    fill(&ledger, journal_id(1), 1..=1);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !over.load(Ordering::SeqCst) {
                number += 1;
                fill(&ledger, journal_id(2), number..=number);
            }
        });
        assert_eq!(block_on(ledger.wait(journal_id(1), 1, 30)).unwrap(), 1);
        over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn commits_of_more_bytes_than_a_transaction_takes_are_shared_out() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = create(&folder.path().join("ledger.db"));
    fill(&ledger, journal_id(1), 1..=1);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in 0..5 {
                    let commit = append(journal_id(1), vec![entry(10 + writer, number, 1 << 20)]);
                    block_on(ledger.commit(commit)).unwrap();
                }
            });
        }
    });
    assert_eq!(block_on(ledger.journal(journal_id(1))).unwrap().unwrap().head, 41);
    assert_eq!(block_on(ledger.check_physical()).unwrap(), []);
}

#[test]
fn a_large_log_is_folded_into_the_database_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = create(&path);
    fill(&ledger, journal_id(1), 1..=1);
    for number in 0..3 {
        block_on(ledger.commit(append(journal_id(1), vec![entry(2, number, 1 << 20)]))).unwrap();
    }
    let log = folder.path().join("ledger.db-wal");
    assert!(log.metadata().unwrap().len() > 3 << 20);
    drop(ledger);
    assert_eq!(log.metadata().unwrap().len(), 0);
    let ledger = SqliteLedger::open(OpenOptions::new(&path)).unwrap();
    assert_eq!(read_all(&ledger, journal_id(1)).unwrap().len(), 4);
}
