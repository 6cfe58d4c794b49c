//! Small values that the checks are written with.

use super::Backend;
use crate::{
    Append, Commit, JournalFilter, JournalKind, JournalState, NewEntry, NewJournal, NewRow, Read, Receipt, RowQuery,
    StoredEntry,
};
use samite_model::{
    BlockId, Commitment, EntryId, EntryKind, ErrorKind, FamilyId, Header, JournalId, KeyId, Link, Position, Pseudonym,
    Result, hash,
};
use std::fmt::Debug;

pub(super) const OWNER: Pseudonym = Pseudonym([0xa1; 16]);
pub(super) const ACTOR: Pseudonym = Pseudonym([0xac; 16]);
pub(super) const KEY: KeyId = KeyId([7; 8]);

pub(super) fn journal(number: u8) -> JournalId {
    JournalId([number; 16])
}

pub(super) fn at(number: u8, seq: u64) -> Position {
    Position { journal: journal(number), seq }
}

pub(super) fn family(number: u8) -> FamilyId {
    FamilyId([number; 16])
}

pub(super) fn block(number: u8) -> BlockId {
    BlockId([number; 32])
}

/// The value, or a panic that shows the error.
#[track_caller]
pub(super) fn ok<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{} ({}): {error}", error.kind(), error.code()),
    }
}

#[track_caller]
pub(super) fn some<T>(value: Option<T>) -> T {
    match value {
        Some(value) => value,
        None => panic!("there is nothing where something should be"),
    }
}

/// Checks kind and code of an error, and that it says what to do or names what it is about.
#[track_caller]
pub(super) fn refused<T: Debug>(result: Result<T>, kind: ErrorKind, code: &str) -> String {
    match result {
        Ok(value) => panic!("{value:?} instead of {kind} ({code})"),
        Err(error) => {
            assert_eq!((error.kind(), error.code()), (kind, code), "{error}");
            error.message().to_owned()
        }
    }
}

/// An entry of which every field tells its number.
pub(super) fn entry(number: u8) -> NewEntry {
    NewEntry {
        id: EntryId([number; 16]),
        kind: EntryKind::MESSAGE,
        epoch: 0,
        time: 1_000 + i64::from(number),
        actor: ACTOR,
        owner: OWNER,
        key: KEY,
        length: u64::from(number) + 40,
        commitment: Commitment([number; 32]),
        payload: vec![number; 3],
        rows: Vec::new(),
        registers: Vec::new(),
        leaf: None,
    }
}

pub(super) fn entries(numbers: std::ops::RangeInclusive<u8>) -> Vec<NewEntry> {
    numbers.map(entry).collect()
}

/// The header that [`entry`] must be stored with.
pub(super) fn header(number: u8, seq: u64) -> Header {
    let entry = entry(number);
    Header {
        kind: entry.kind,
        seq,
        epoch: entry.epoch,
        time: entry.time,
        id: entry.id,
        actor: entry.actor,
        owner: entry.owner,
        key: entry.key,
        length: entry.length,
        commitment: entry.commitment,
    }
}

pub(super) fn row(kind: u16, hash: u8, value: u8) -> NewRow {
    NewRow { kind, hash: [hash; 16], value: vec![value] }
}

pub(super) fn entry_with_row(number: u8, row: NewRow) -> NewEntry {
    NewEntry { rows: vec![row], ..entry(number) }
}

pub(super) fn new_journal(number: u8, parent: Option<Position>) -> NewJournal {
    NewJournal { id: journal(number), family: family(number), kind: JournalKind::Branch, owner: OWNER, parent }
}

pub(super) fn identity(number: u8) -> hash::JournalIdentity {
    hash::JournalIdentity { id: journal(number), family: family(number), owner: OWNER, kind: 1 }
}

/// A commit that makes a journal with entries.
pub(super) fn making(number: u8, parent: Option<Position>, entries: Vec<NewEntry>) -> Commit {
    Commit { journals: vec![new_journal(number, parent)], ..appending(number, entries) }
}

/// A commit that appends entries.
pub(super) fn appending(number: u8, entries: Vec<NewEntry>) -> Commit {
    Commit { appends: vec![Append { journal: journal(number), entries }], ..Commit::default() }
}

/// Makes a root journal with entries of these numbers.
pub(super) async fn root(ledger: &dyn Backend, number: u8, numbers: std::ops::RangeInclusive<u8>) {
    ok(ledger.commit(making(number, None, entries(numbers))).await);
}

/// Makes a fork with entries of these numbers.
pub(super) async fn fork(ledger: &dyn Backend, number: u8, parent: Position, numbers: std::ops::RangeInclusive<u8>) {
    ok(ledger.commit(making(number, Some(parent), entries(numbers))).await);
}

pub(super) async fn append(ledger: &dyn Backend, number: u8, entries: Vec<NewEntry>) -> Result<Receipt> {
    ledger.commit(appending(number, entries)).await
}

pub(super) async fn state(ledger: &dyn Backend, number: u8) -> JournalState {
    some(ok(ledger.journal(journal(number)).await))
}

pub(super) async fn all(ledger: &dyn Backend, number: u8) -> Vec<StoredEntry> {
    ok(ledger.read(Read::range(journal(number), 0, u64::MAX)).await)
}

pub(super) async fn seqs(ledger: &dyn Backend, number: u8) -> Vec<u64> {
    all(ledger, number).await.iter().map(|entry| entry.seq).collect()
}

pub(super) async fn listed(ledger: &dyn Backend, filter: JournalFilter) -> Vec<JournalId> {
    ok(ledger.journals(filter).await).into_iter().map(|state| state.id).collect()
}

/// Where rows of a kind are, with the first byte of their values.
pub(super) async fn found(ledger: &dyn Backend, at: Position, kind: u16, hashes: &[u8]) -> Vec<(Position, u8)> {
    let hashes = hashes.iter().map(|hash| [*hash; 16]).collect();
    let rows = ok(ledger.rows(RowQuery { at, kind, hashes, limit: usize::MAX }).await);
    rows.into_iter().map(|row| (row.position, row.value.first().copied().unwrap_or(0))).collect()
}

/// The links of a journal's entries, computed from the link before the first.
pub(super) fn links(mut previous: Link, entries: &[StoredEntry]) -> Vec<Link> {
    let mut links = Vec::new();
    for entry in entries {
        previous = hash::link(previous, &entry.header);
        links.push(previous);
    }
    links
}
