//! Turning entries into tombstones.

use super::Backend;
use super::fixture::{
    ACTOR, KEY, OWNER, all, append, appending, at, entries, entry, entry_with_row, found, journal, making, ok, refused,
    root, row, state,
};
use crate::{Erasure, Guard, JournalStatus, LeaseOutcome, LeaseRequest, NewEntry, RegisterChange, Run, Tombstones};
use samite_model::{ErrorKind, KeyId, Pseudonym, hash};
use std::sync::Arc;

const OTHER: Pseudonym = Pseudonym([0xb2; 16]);

fn run(number: u8, first: u64, last: u64) -> Run {
    Run { journal: journal(number), first, last }
}

fn erasing(runs: Vec<Run>) -> Erasure {
    Erasure { runs, ..Erasure::default() }
}

pub(super) async fn an_erased_entry_keeps_its_header_and_link(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=4).await;
    let before = all(&*ledger, 1).await;
    let taken = ok(ledger.erase(erasing(vec![run(1, 2, 3)])).await);
    assert_eq!(taken, Tombstones { payloads: 2, views: 0 });
    let after = all(&*ledger, 1).await;
    assert_eq!(after.iter().map(|entry| entry.payload.is_some()).collect::<Vec<_>>(), [true, false, false, true]);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.header, before.link, before.seq), (&after.header, after.link, after.seq));
    }
    // Again, and beyond the end, is no error and takes nothing.
    assert_eq!(ok(ledger.erase(erasing(vec![run(1, 2, 3), run(1, 9, 12)])).await), Tombstones::default());
    // It goes on as before.
    assert_eq!(ok(append(&*ledger, 1, entries(5..=5)).await).first_seqs, [5]);
    let last = all(&*ledger, 1).await.pop().map(|entry| (entry.link, entry.header));
    let expected = before.last().map(|before| before.link);
    assert!(last.is_some_and(|(link, header)| expected.is_some_and(|before| hash::link(before, &header) == link)));
}

pub(super) async fn what_it_added_to_the_views_goes(ledger: Arc<dyn Backend>) {
    let changing = |number: u8| NewEntry {
        registers: vec![RegisterChange::Set { kind: 1, hash: [number; 16], value: vec![number] }],
        ..entry_with_row(number, row(1, 7, number))
    };
    ok(ledger.commit(making(1, None, (1..=3).map(changing).collect())).await);
    let (version, _) = ok(ledger.registers(journal(1)).await);
    assert_eq!(ok(ledger.erase(erasing(vec![run(1, 2, 2)])).await), Tombstones { payloads: 1, views: 2 });
    assert_eq!(found(&*ledger, at(1, 9), 1, &[7]).await, [(at(1, 3), 3), (at(1, 1), 1)]);
    let (after, registers) = ok(ledger.registers(journal(1)).await);
    assert_eq!(registers.iter().map(|register| register.seq).collect::<Vec<_>>(), [1, 3]);
    assert!(after > version, "{after} is not above {version}");
}

pub(super) async fn rows_of_kinds_that_are_kept_stay(ledger: Arc<dyn Backend>) {
    let both = |number: u8| NewEntry { rows: vec![row(1, 7, number), row(2, 7, number)], ..entry(number) };
    ok(ledger.commit(making(1, None, (1..=3).map(both).collect())).await);
    let erasure = Erasure { keep: vec![2, 9], ..erasing(vec![run(1, 1, 2)]) };
    assert_eq!(ok(ledger.erase(erasure).await), Tombstones { payloads: 2, views: 2 });
    assert_eq!(found(&*ledger, at(1, 9), 1, &[7]).await, [(at(1, 3), 3)]);
    assert_eq!(found(&*ledger, at(1, 9), 2, &[7]).await, [(at(1, 3), 3), (at(1, 2), 2), (at(1, 1), 1)]);
    // What stays keeps others of its hash out.
    let mut late = appending(1, entries(4..=4));
    late.guards.push(Guard::RowAbsent { journal: journal(1), kind: 2, hashes: vec![[7; 16]] });
    refused(ledger.commit(late).await, ErrorKind::Conflict, "row_exists");
}

pub(super) async fn only_entries_of_the_owner_go(ledger: Arc<dyn Backend>) {
    let others = NewEntry { owner: OTHER, ..entry_with_row(2, row(1, 7, 2)) };
    ok(ledger.commit(making(1, None, vec![entry(1), others, entry_with_row(3, row(1, 7, 3))])).await);
    let only = Erasure { owner: Some(OTHER), ..erasing(vec![run(1, 1, 3)]) };
    assert_eq!(ok(ledger.erase(only).await), Tombstones { payloads: 1, views: 1 });
    let left: Vec<bool> = all(&*ledger, 1).await.iter().map(|entry| entry.payload.is_some()).collect();
    assert_eq!(left, [true, false, true]);
    assert_eq!(found(&*ledger, at(1, 9), 1, &[7]).await, [(at(1, 3), 3)]);
    let nobody = Erasure { owner: Some(Pseudonym([9; 16])), ..erasing(vec![run(1, 1, 3)]) };
    assert_eq!(ok(ledger.erase(nobody).await), Tombstones::default());
}

pub(super) async fn a_closed_journal_takes_nothing_and_fences(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    let lease = |expires| LeaseRequest {
        journal: journal(1),
        writer: ACTOR,
        now: 1,
        expires,
        process: Vec::new(),
        take_over: None,
    };
    let LeaseOutcome::Held { epoch, .. } = ok(ledger.lease(lease(1_000)).await) else { panic!("nobody else holds it") };
    let before = all(&*ledger, 1).await;
    ok(ledger.erase(Erasure { close: vec![journal(1)], ..Erasure::default() }).await);
    let closed = state(&*ledger, 1).await;
    assert_eq!((closed.status, closed.head, closed.epoch), (JournalStatus::Deleted, 2, epoch + 1));
    assert_eq!(all(&*ledger, 1).await, before);
    assert_eq!(ok(ledger.holder(journal(1)).await), None);
    refused(append(&*ledger, 1, entries(3..=3)).await, ErrorKind::Conflict, "journal_closed");
    let mut late = appending(1, entries(3..=3));
    late.guards.push(Guard::Epoch { journal: journal(1), epoch });
    refused(ledger.commit(late).await, ErrorKind::Fenced, "epoch_passed");
    refused(ledger.lease(lease(2_000)).await, ErrorKind::Conflict, "journal_closed");
    // Closing again changes nothing.
    ok(ledger.erase(Erasure { close: vec![journal(1)], ..Erasure::default() }).await);
    assert_eq!(state(&*ledger, 1).await, closed);
}

pub(super) async fn keys_and_entries_go_together_or_not_at_all(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    let all_of_it = |number| Erasure {
        runs: vec![run(1, 1, 2), run(number, 1, 1)],
        close: vec![journal(1)],
        keys: vec![KEY],
        ..Erasure::default()
    };
    refused(ledger.erase(all_of_it(8)).await, ErrorKind::NotFound, "no_journal");
    assert_eq!(state(&*ledger, 1).await.status, JournalStatus::Open);
    ok(append(&*ledger, 1, entries(3..=3)).await);
    root(&*ledger, 8, 4..=4).await;
    assert_eq!(ok(ledger.erase(all_of_it(8)).await).payloads, 3);
    refused(append(&*ledger, 8, entries(5..=5)).await, ErrorKind::Denied, "key_destroyed");
    let fresh = NewEntry { key: KeyId([8; 8]), ..entry(6) };
    assert_eq!(ok(append(&*ledger, 8, vec![fresh]).await).first_seqs, [2]);
}

pub(super) async fn entries_of_an_owner_are_found(ledger: Arc<dyn Backend>) {
    let others = |number| NewEntry { owner: OTHER, ..entry(number) };
    ok(ledger.commit(making(1, None, vec![entry(1), others(2), others(3), entry(4), others(5)])).await);
    ok(ledger.commit(making(2, None, vec![others(6), entry(7)])).await);
    assert_eq!(ok(ledger.owned(OTHER).await), [run(1, 2, 3), run(1, 5, 5), run(2, 1, 1)]);
    assert_eq!(ok(ledger.owned(OWNER).await), [run(1, 1, 1), run(1, 4, 4), run(2, 2, 2)]);
    assert_eq!(ok(ledger.owned(Pseudonym([9; 16])).await), []);
    ok(ledger.erase(erasing(vec![run(1, 2, 3)])).await);
    assert_eq!(ok(ledger.owned(OTHER).await).first(), Some(&run(1, 2, 3)));
    assert_eq!(run(1, 2, 3).count(), 2);
}
