//! What the tests of the SQLite ledger share.

use samite_ledger::testing::block_on;
use samite_ledger::{
    Append, Commit, JournalKind, Ledger, NewEntry, NewJournal, NewRow, OpenOptions, SqliteLedger, StoredEntry,
};
use samite_model::{Commitment, EntryId, EntryKind, FamilyId, JournalId, KeyId, Position, Pseudonym};
use std::path::Path;

pub(crate) const OWNER: Pseudonym = Pseudonym([7; 16]);
pub(crate) const ROW: u16 = 5;

pub(crate) fn journal_id(number: u8) -> JournalId {
    JournalId([number; 16])
}

/// A hash that says which entry of which writer it is of.
pub(crate) fn hash(writer: u8, number: u64) -> [u8; 16] {
    let mut hash = [writer; 16];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    hash
}

pub(crate) fn entry(writer: u8, number: u64, size: usize) -> NewEntry {
    NewEntry {
        id: EntryId(hash(writer, number)),
        kind: EntryKind::MESSAGE,
        epoch: 1,
        time: 1_700_000_000_000_000_000,
        actor: Pseudonym([9; 16]),
        owner: OWNER,
        key: KeyId([3; 8]),
        length: u64::try_from(size).unwrap(),
        commitment: Commitment([writer; 32]),
        payload: vec![writer; size],
        rows: vec![NewRow { kind: ROW, hash: hash(writer, number), value: vec![writer] }],
        registers: Vec::new(),
        leaf: None,
    }
}

pub(crate) fn new_journal(id: JournalId, parent: Option<Position>) -> NewJournal {
    NewJournal { id, family: FamilyId([1; 16]), kind: JournalKind::Branch, owner: OWNER, parent }
}

pub(crate) fn append(journal: JournalId, entries: Vec<NewEntry>) -> Commit {
    Commit { appends: vec![Append { journal, entries }], ..Commit::default() }
}

pub(crate) fn create(path: &Path) -> SqliteLedger {
    SqliteLedger::open(OpenOptions::new(path).create()).unwrap()
}

/// Makes the journal and one entry a commit, from one number to another.
pub(crate) fn fill(ledger: &SqliteLedger, journal: JournalId, numbers: std::ops::RangeInclusive<u64>) {
    block_on(async {
        if ledger.journal(journal).await.unwrap().is_none() {
            let journals = vec![new_journal(journal, None)];
            ledger.commit(Commit { journals, ..Commit::default() }).await.unwrap();
        }
        for number in numbers {
            ledger.commit(append(journal, vec![entry(journal.0[0], number, 100)])).await.unwrap();
        }
    });
}

pub(crate) fn read_all(ledger: &SqliteLedger, journal: JournalId) -> samite_model::Result<Vec<StoredEntry>> {
    block_on(ledger.read(samite_ledger::Read::range(journal, 1, u64::MAX)))
}
