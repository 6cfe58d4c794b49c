//! Processes that are killed at every point of a commit and of a checkpoint, beside one that goes on.
//!
//! A child is this program again, running the test [`child`] only.

use crate::sqlite_support::{ROW, append, entry, hash, journal_id, new_journal};
use samite_host::files;
use samite_ledger::testing::block_on;
use samite_ledger::{Append, Commit, Guard, Ledger, OpenOptions, Read, RowQuery, SqliteLedger};
use samite_model::{Header, JournalId, Position};
use std::collections::BTreeMap;
use std::fs::OpenOptions as FileOptions;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const WRITERS: u8 = 4;
/// The journal that all writers write to.
const COMMON: u8 = 99;

/// What a child does: `WRITERS` threads commit, each to its own journal and to the common one at once.
#[test]
fn child() {
    let Ok(folder) = std::env::var("SAMITE_TEST_STORE") else { return };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let (first, commits, size) =
        (number("SAMITE_TEST_FIRST"), number("SAMITE_TEST_COMMITS"), number("SAMITE_TEST_SIZE"));
    let folder = Path::new(&folder);
    let ledger = SqliteLedger::open(OpenOptions::new(folder.join("ledger.db")).create()).unwrap();
    std::thread::scope(|scope| {
        for writer in 1..=WRITERS {
            let writer = writer + u8::try_from(first).unwrap();
            let ledger = &ledger;
            scope.spawn(move || write(folder, ledger, writer, commits, usize::try_from(size).unwrap()));
        }
    });
    block_on(ledger.close());
}

/// Commits, and notes what was acknowledged.
fn write(folder: &Path, ledger: &SqliteLedger, writer: u8, commits: u64, size: usize) {
    let mut notes =
        FileOptions::new().append(true).create(true).open(folder.join(format!("acknowledged-{writer}"))).unwrap();
    for journal in [journal_id(writer), journal_id(COMMON)] {
        let journals = vec![new_journal(journal, None)];
        // Another may have made it before.
        let _ = block_on(ledger.commit(Commit { journals, ..Commit::default() }));
    }
    let start = block_on(ledger.journal(journal_id(writer))).unwrap().unwrap().head / 2;
    for number in start + 1..=start + commits {
        let own = vec![entry(writer, 2 * number, size), entry(writer, 2 * number + 1, 10)];
        let mut commit = append(journal_id(writer), own);
        commit.appends.push(Append { journal: journal_id(COMMON), entries: vec![entry(writer, number, size)] });
        commit.guards.push(Guard::Head { journal: journal_id(writer), seq: 2 * (number - 1) });
        let hashes = vec![hash(writer, number)];
        commit.guards.push(Guard::RowAbsent { journal: journal_id(COMMON), kind: ROW, hashes });
        block_on(ledger.commit(commit)).unwrap();
        writeln!(notes, "{number}").unwrap();
    }
}

fn start(folder: &Path, first: u8, commits: u64, size: u64, kill_point: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["sqlite_kill::child", "--exact", "--nocapture", "--test-threads=1"])
        .env("SAMITE_TEST_STORE", folder)
        .env("SAMITE_TEST_FIRST", first.to_string())
        .env("SAMITE_TEST_COMMITS", commits.to_string())
        .env("SAMITE_TEST_SIZE", size.to_string())
        .env("SAMITE_KILL_POINT", kill_point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Checks that every acknowledged commit is there, none is there by half, and all is chained.
fn check(folder: &Path) -> u64 {
    let notes = |writer: u8| files::read(&folder.join(format!("acknowledged-{writer}"))).unwrap_or_default();
    let notes: Vec<u64> = (0..=u8::MAX)
        .map(|writer| u64::try_from(notes(writer).split(|byte| *byte == b'\n').count() - 1).unwrap())
        .collect();
    // Another process writes meanwhile: what is checked is one moment of the ledger, as a backup has it.
    let live = SqliteLedger::open(OpenOptions::new(folder.join("ledger.db"))).unwrap();
    let copy = folder.join("copy.db");
    block_on(live.backup_to(&copy)).unwrap();
    block_on(live.close());
    let ledger = SqliteLedger::open(OpenOptions::new(&copy)).unwrap();
    let read = |journal: JournalId| block_on(ledger.read(Read::range(journal, 1, u64::MAX))).unwrap();
    let mut common: BTreeMap<u8, u64> = BTreeMap::new();
    let journals = block_on(ledger.journals(samite_ledger::JournalFilter::default())).unwrap();
    let made = journals.iter().any(|journal| journal.id == journal_id(COMMON));
    for stored in if made { read(journal_id(COMMON)) } else { Vec::new() } {
        let writer = Header::decode(&stored.header).unwrap().commitment.0[0];
        *common.entry(writer).or_default() += 1;
    }
    let mut all = 0;
    for journal in journals {
        if journal.id == journal_id(COMMON) {
            continue;
        }
        let writer = journal.id.0[0];
        let entries = u64::try_from(read(journal.id).len()).unwrap();
        let commits = common.get(&writer).copied().unwrap_or(0);
        assert_eq!(entries, 2 * commits, "a commit of writer {writer} is there by half");
        let acknowledged = notes[usize::from(writer)];
        assert!(acknowledged <= commits, "{acknowledged} of writer {writer} were acknowledged, {commits} are there");
        let rows = block_on(ledger.rows(RowQuery {
            at: Position { journal: journal.id, seq: journal.head },
            kind: ROW,
            hashes: Vec::new(),
            limit: usize::MAX,
        }));
        assert_eq!(u64::try_from(rows.unwrap().len()).unwrap(), entries);
        all += commits;
    }
    assert_eq!(block_on(ledger.check_physical()).unwrap(), []);
    block_on(ledger.close());
    for file in ["copy.db", "copy.db-wal", "copy.db-shm", "copy.high"] {
        let _ = files::remove(&folder.join(file));
    }
    all
}

/// Kills one process at a point while another writes on; then the first comes back.
fn kill_at(point: &str, times: &[u64], size: u64) {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let mut beside = start(folder, 50, 30, size, "");
    let mut least = 0;
    for time in times {
        let killed = start(folder, 0, 100_000, size, &format!("{point}:{time}")).wait().unwrap();
        assert_eq!(killed.signal(), Some(9), "{point} was never reached");
        let all = check(folder);
        assert!(all >= least);
        least = all;
    }
    assert!(beside.wait().unwrap().success());
    // A process that is not killed ends its work over what the killed ones left.
    assert!(start(folder, 0, 3, size, "").wait().unwrap().success());
    assert!(check(folder) >= least + u64::from(WRITERS) * 3);
}

macro_rules! kill_points {
    ($($test:ident $point:literal $times:expr, $size:literal;)*) => {$(
        #[test]
        fn $test() {
            kill_at($point, &$times, $size);
        }
    )*};
}

kill_points! {
    killed_before_begin "ledger.before_begin" [1, 9, 30], 100;
    killed_after_begin "ledger.after_begin" [1, 9, 30], 100;
    killed_after_an_insert "ledger.after_insert" [1, 8, 13, 70], 100;
    killed_before_commit "ledger.before_commit" [1, 9, 30], 100;
    killed_after_commit "ledger.after_commit" [1, 9, 30], 100;
    killed_after_high_water "ledger.after_high_water" [1, 9, 30], 100;
    killed_before_a_checkpoint "ledger.before_checkpoint" [1, 2], 20_000;
    killed_in_a_checkpoint "ledger.in_checkpoint" [1, 2], 20_000;
    killed_in_a_fold "ledger.in_fold" [1, 2], 20_000;
    killed_before_the_fold_is_there "shared_log.before_write" [1, 2], 20_000;
    killed_after_a_checkpoint "ledger.after_checkpoint" [1, 2], 20_000;
}
