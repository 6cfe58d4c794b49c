//! The SQLite ledger: two processes with two writing threads each.

use crate::cuts::{After, replay};
use crate::planned::LEDGER;
use crate::recording::{Recording, Worker};
use samite_host::files;
use samite_ledger::testing::{PlainFinisher, block_on};
use samite_ledger::verify::{Options, verify};
use samite_ledger::{
    Append, BlockIndex, BlockPlace, Commit, Finisher, Guard, JournalFilter, JournalKind, JournalStatus, LeaseOutcome,
    LeaseRequest, Ledger, NewBlock, NewEntry, NewJournal, NewRow, OpenOptions, Pin, Read, RowQuery, SqliteLedger,
};
use samite_model::{
    BlockId, Commitment, EntryId, EntryKind, FamilyId, Header, JournalId, KeyId, PinId, Position, Pseudonym,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const OWNER: Pseudonym = Pseudonym([7; 16]);
const ROW: u16 = 5;
/// The journal that all write to.
const COMMON: u8 = 99;
const COMMITS: u64 = 50;

/// Something that was acknowledged.
#[derive(Debug, Serialize, Deserialize)]
enum Act {
    /// This commit of this writer.
    Commit(u8, u64),
    /// This epoch of this writer's journal.
    Epoch(u8, u64),
    /// The key of this number was destroyed.
    Destroyed(u8),
    /// A pin of this number was recorded.
    Pinned(u8),
    /// A fork of this writer's journal, at this seq.
    Forked(u8, u64),
    /// The fork of this writer's journal was deleted.
    Deleted(u8),
}

fn journal_id(number: u8) -> JournalId {
    JournalId([number; 16])
}

fn fork_id(writer: u8) -> JournalId {
    journal_id(writer + 100)
}

fn hash(writer: u8, number: u64) -> [u8; 16] {
    let mut hash = [writer; 16];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    hash
}

fn block(writer: u8, number: u64) -> BlockId {
    let mut id = [writer; 32];
    id[..8].copy_from_slice(&number.to_be_bytes());
    BlockId(id)
}

fn entry(writer: u8, number: u64, size: usize, key: u8) -> NewEntry {
    NewEntry {
        id: EntryId(hash(writer, number)),
        kind: EntryKind::MESSAGE,
        epoch: 1,
        time: 1_700_000_000_000_000_000,
        actor: Pseudonym([9; 16]),
        owner: OWNER,
        key: KeyId([key; 8]),
        length: size as u64,
        commitment: Commitment([writer; 32]),
        payload: vec![writer; size],
        rows: vec![NewRow { kind: ROW, hash: hash(writer, number), value: vec![writer] }],
        registers: Vec::new(),
        leaf: None,
    }
}

/// An entry with a leaf in the audit log.
fn act(writer: u8, number: u64) -> NewEntry {
    NewEntry { leaf: Some(leaf_draft(writer, number)), ..entry(writer, number, 200, 3) }
}

fn leaf_draft(writer: u8, number: u64) -> Vec<u8> {
    [&[writer][..], &number.to_be_bytes()].concat()
}

/// How to open the ledger.
fn options(folder: &Path) -> OpenOptions {
    let finisher: Option<Arc<dyn Finisher>> = Some(Arc::new(PlainFinisher));
    OpenOptions { finisher, ..OpenOptions::new(folder.join("ledger.db")).create() }
}

fn new_journal(id: JournalId, parent: Option<Position>) -> NewJournal {
    NewJournal { id, family: FamilyId([1; 16]), kind: JournalKind::Branch, owner: OWNER, parent }
}

fn size(number: u64) -> usize {
    if number.is_multiple_of(5) { 90_000 } else { 300 }
}

fn commit(writer: u8, number: u64) -> Commit {
    let own = vec![entry(writer, 2 * number, size(number), 3), entry(writer, 2 * number + 1, 10, 3)];
    let place = BlockPlace::Inline(vec![writer; 100]);
    Commit {
        guards: vec![Guard::Head { journal: journal_id(writer), seq: 2 * (number - 1) }],
        appends: vec![
            Append { journal: journal_id(writer), entries: own },
            Append { journal: journal_id(COMMON), entries: vec![act(writer, number)] },
        ],
        blocks: vec![NewBlock { id: block(writer, number), owner: OWNER, place }],
        ..Commit::default()
    }
}

fn lease(writer: u8, now: i64) -> LeaseRequest {
    LeaseRequest {
        journal: journal_id(writer),
        // Another writer each time: each takes the lease over.
        writer: Pseudonym([u8::try_from(now).unwrap(); 16]),
        now,
        expires: now + 1,
        process: Vec::new(),
        take_over: None,
    }
}

/// A process: it opens the ledger, and its threads commit.
#[test]
fn child() {
    let Some(worker) = Worker::this() else { return };
    let folder = worker.mount.join("a/b");
    files::create_private_dir(&folder).unwrap();
    let ledger = SqliteLedger::open(options(&folder)).unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=2 {
            let writer = u8::try_from(worker.number * 2 + thread).unwrap();
            let (ledger, worker) = (&ledger, &worker);
            scope.spawn(move || block_on(work(worker, ledger, writer)));
        }
    });
    block_on(ledger.close());
}

async fn work(worker: &Worker, ledger: &SqliteLedger, writer: u8) {
    for journal in [journal_id(writer), journal_id(COMMON)] {
        // Another may have made it before.
        let _ = ledger.commit(Commit { journals: vec![new_journal(journal, None)], ..Commit::default() }).await;
    }
    for number in 1..=COMMITS {
        ledger.commit(commit(writer, number)).await.unwrap();
        worker.acknowledge(&Act::Commit(writer, number));
        if number % 10 == 0 {
            let now = i64::try_from(number).unwrap();
            let LeaseOutcome::Held { epoch, .. } = ledger.lease(lease(writer, now)).await.unwrap() else {
                panic!("the lease is held")
            };
            worker.acknowledge(&Act::Epoch(writer, epoch));
        }
        match number {
            // The first half is folded away on request, the second when enough has gathered.
            5 | 15 | 25 => drop(ledger.checkpoint().await),
            12 => {
                let parent = Position { journal: journal_id(writer), seq: 20 };
                let fork = new_journal(fork_id(writer), Some(parent));
                ledger.commit(Commit { journals: vec![fork], ..Commit::default() }).await.unwrap();
                worker.acknowledge(&Act::Forked(writer, 20));
            }
            22 => {
                ledger.destroy_keys(vec![KeyId([writer + 50; 8])]).await.unwrap();
                worker.acknowledge(&Act::Destroyed(writer + 50));
            }
            32 => {
                let id = PinId([writer; 16]);
                let pin = Pin { id, owner: OWNER, base: None, expires: i64::MAX, packs: Vec::new() };
                ledger.pin(pin).await.unwrap();
                worker.acknowledge(&Act::Pinned(writer));
            }
            42 => {
                ledger.delete_journal(fork_id(writer), 20).await.unwrap();
                worker.acknowledge(&Act::Deleted(writer));
            }
            _ => {}
        }
    }
}

async fn check(after: &After<'_, Act>) {
    let folder = after.directory.join("a/b");
    files::create_private_dir(&folder).unwrap();
    // What the high-water file says is lost, and was not, or was, is an error here.
    let ledger = SqliteLedger::open(options(&folder)).unwrap();
    assert_eq!(ledger.check_physical().await.unwrap(), []);
    let report = verify(&ledger, Options::default()).await.unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let commits = whole_commits(&ledger).await;
    for act in after.acts {
        match *act {
            Act::Commit(writer, number) => {
                let there = commits.get(&writer).copied().unwrap_or(0);
                assert!(number <= there, "{act:?} is lost: there are {there}");
            }
            Act::Epoch(writer, epoch) => {
                assert!(ledger.journal(journal_id(writer)).await.unwrap().unwrap().epoch >= epoch, "{act:?} is lost");
            }
            Act::Destroyed(key) => {
                let mut commit = commit(key - 50, 1_000);
                commit.guards = Vec::new();
                commit.appends = vec![Append { journal: journal_id(key - 50), entries: vec![entry(1, 1, 1, key)] }];
                assert_eq!(ledger.commit(commit).await.unwrap_err().code(), "key_destroyed", "{act:?} is lost");
            }
            Act::Pinned(writer) => {
                assert!(ledger.pins(0).await.unwrap().iter().any(|pin| pin.id.0 == [writer; 16]), "{act:?} is lost");
            }
            Act::Forked(writer, seq) => {
                let fork = ledger.journal(fork_id(writer)).await.unwrap().unwrap();
                assert_eq!(fork.parent, Some(Position { journal: journal_id(writer), seq }));
            }
            Act::Deleted(writer) => {
                let fork = ledger.journal(fork_id(writer)).await.unwrap().unwrap();
                assert_eq!(fork.status, JournalStatus::Deleted);
            }
        }
    }
    go_on(&ledger, &commits).await;
    ledger.close().await;
}

/// How many commits of each writer are there, each of them whole.
async fn whole_commits(ledger: &SqliteLedger) -> BTreeMap<u8, u64> {
    let journals = ledger.journals(JournalFilter::default()).await.unwrap();
    let mut commits: BTreeMap<u8, u64> = BTreeMap::new();
    if journals.iter().any(|journal| journal.id == journal_id(COMMON)) {
        for stored in ledger.read(Read::range(journal_id(COMMON), 1, u64::MAX)).await.unwrap() {
            *commits.entry(Header::decode(&stored.header).unwrap().commitment.0[0]).or_default() += 1;
        }
    }
    check_leaves(ledger, &commits).await;
    for (writer, count) in &commits {
        let entries = ledger.read(Read::range(journal_id(*writer), 1, u64::MAX)).await.unwrap();
        assert_eq!(entries.len() as u64, 2 * count, "a commit of writer {writer} is there by half");
        for (stored, number) in entries.iter().zip(2_u64..) {
            let length = if number % 2 == 0 { size(number / 2) } else { 10 };
            assert!(stored.payload.as_deref() == Some(&vec![*writer; length]), "entry {} has other bytes", stored.seq);
        }
        let at = Position { journal: journal_id(*writer), seq: 2 * count };
        let query = RowQuery { at, kind: ROW, hashes: Vec::new(), limit: usize::MAX };
        assert_eq!(ledger.rows(query).await.unwrap().len() as u64, 2 * count);
        let blocks: Vec<BlockId> = (1..=*count).map(|number| block(*writer, number)).collect();
        let found = ledger.inline_blocks(blocks).await.unwrap();
        assert!(found.iter().all(|found| found.as_deref() == Some(&[*writer; 100])), "a block is lost");
    }
    commits
}

/// The log has a leaf for each act, in their order, and its state is that of its leaves.
async fn check_leaves(ledger: &SqliteLedger, commits: &BTreeMap<u8, u64>) {
    let acts: u64 = commits.values().sum();
    let leaves = ledger.leaves(1, 0, usize::MAX).await.unwrap();
    assert_eq!(leaves.len() as u64, acts);
    let state = ledger.audit_log(None).await.unwrap();
    assert_eq!(state.map_or(0, |state| state.size), acts);
    if acts == 0 {
        return;
    }
    let entries = ledger.read(Read::range(journal_id(COMMON), 1, u64::MAX)).await.unwrap();
    let mut next: BTreeMap<u8, u64> = BTreeMap::new();
    for (leaf, entry) in leaves.iter().zip(&entries) {
        let writer = Header::decode(&entry.header).unwrap().commitment.0[0];
        let number = next.entry(writer).or_default();
        *number += 1;
        let place = [journal_id(COMMON).as_bytes(), &entry.seq.to_be_bytes()[..], entry.link.as_bytes()].concat();
        assert!(*leaf == [leaf_draft(writer, *number), place].concat(), "the leaf of seq {} is another's", entry.seq);
    }
}

/// Writes on, twice: before and after the log is folded away.
async fn go_on(ledger: &SqliteLedger, commits: &BTreeMap<u8, u64>) {
    for (writer, count) in commits {
        ledger.commit(commit(*writer, count + 1)).await.unwrap();
    }
    ledger.checkpoint().await.unwrap();
    for (writer, count) in commits {
        ledger.commit(commit(*writer, count + 2)).await.unwrap();
    }
    assert_eq!(ledger.check_physical().await.unwrap(), []);
}

#[test]
fn a_ledger_of_two_processes_loses_nothing_acknowledged_in_a_power_cut() {
    let recording = Recording::make(|workload| {
        let children: Vec<_> = (0..2).map(|number| workload.start("ledger::child", number, None)).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    });
    let Some(recording) = recording else { return };
    replay(recording, &LEDGER, |after| block_on(check(after)));
}
