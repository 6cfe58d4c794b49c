//! Deleting journals.

use super::Backend;
use super::fixture::{
    all, append, at, entries, entry_with_row, family, fork, found, identity, journal, listed, making, ok, refused,
    root, row, seqs, some, state,
};
use crate::{JournalFilter, JournalStatus, LeaseOutcome, LeaseRequest, NewEntry, RegisterChange};
use samite_model::{ErrorKind, Pseudonym, hash};
use std::sync::Arc;

pub(super) async fn a_deleted_journal_takes_nothing(ledger: Arc<dyn Backend>) {
    refused(ledger.delete_journal(journal(1), 0).await, ErrorKind::NotFound, "no_journal");
    root(&*ledger, 1, 1..=3).await;
    ok(ledger.delete_journal(journal(1), 0).await);
    let left = state(&*ledger, 1).await;
    assert_eq!((left.status, left.head), (JournalStatus::Deleted, 0));
    assert_eq!((left.family, left.head_link), (family(1), hash::genesis(&identity(1))));
    assert_eq!(seqs(&*ledger, 1).await, [0; 0]);
    assert_eq!(listed(&*ledger, JournalFilter::default()).await, [journal(1)]);
    let message = refused(append(&*ledger, 1, entries(4..=4)).await, ErrorKind::Conflict, "journal_closed");
    assert!(message.contains(&journal(1).to_string()), "{message}");
    refused(ledger.commit(making(1, None, Vec::new())).await, ErrorKind::Conflict, "journal_exists");
    let lease = |expires| LeaseRequest {
        journal: journal(1),
        writer: Pseudonym([1; 16]),
        now: 0,
        expires,
        process: Vec::new(),
        take_over: None,
    };
    refused(ledger.lease(lease(10)).await, ErrorKind::Conflict, "journal_closed");
    assert_eq!(ok(ledger.lease(lease(0)).await), LeaseOutcome::Released);
}

pub(super) async fn what_is_above_goes_and_what_is_below_stays(ledger: Arc<dyn Backend>) {
    let changing = |number: u8| NewEntry {
        registers: vec![RegisterChange::Set { kind: 1, hash: [number; 16], value: vec![number] }],
        ..entry_with_row(number, row(1, 7, number))
    };
    ok(ledger.commit(making(1, None, (1..=4).map(changing).collect())).await);
    let (kept, (version, _)) = (all(&*ledger, 1).await, ok(ledger.registers(journal(1)).await));
    ok(ledger.delete_journal(journal(1), 2).await);
    assert_eq!(all(&*ledger, 1).await, kept.get(..2).unwrap_or_default());
    let left = state(&*ledger, 1).await;
    assert_eq!((left.status, left.head), (JournalStatus::Deleted, 2));
    assert_eq!(left.head_link, some(kept.get(1)).link);
    assert_eq!(found(&*ledger, at(1, 9), 1, &[7]).await, [(at(1, 2), 2), (at(1, 1), 1)]);
    let (after, registers) = ok(ledger.registers(journal(1)).await);
    assert_eq!(registers.iter().map(|register| register.seq).collect::<Vec<_>>(), [1, 2]);
    assert!(after > version, "{after} is not above {version}");
}

pub(super) async fn a_fork_keeps_what_it_needs(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=6).await;
    fork(&*ledger, 2, at(1, 4), 7..=7).await;
    fork(&*ledger, 3, at(1, 2), 8..=8).await;
    for keep_to in [0, 2, 3] {
        let message = refused(ledger.delete_journal(journal(1), keep_to).await, ErrorKind::Conflict, "fork_depends");
        assert!(message.contains(&journal(2).to_string()), "{message}");
    }
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(state(&*ledger, 1).await.status, JournalStatus::Open);
    ok(ledger.delete_journal(journal(1), 4).await);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3, 4]);
    assert_eq!(ok(append(&*ledger, 2, entries(9..=9)).await).first_seqs, [6]);
}

pub(super) async fn a_kept_entry_can_be_forked(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=6).await;
    fork(&*ledger, 2, at(1, 4), 7..=7).await;
    ok(ledger.delete_journal(journal(1), 4).await);
    fork(&*ledger, 3, at(1, 2), 8..=8).await;
    assert_eq!(seqs(&*ledger, 3).await, [3]);
    refused(ledger.commit(making(4, Some(at(1, 5)), Vec::new())).await, ErrorKind::Invalid, "fork_point");
}

pub(super) async fn deletion_can_go_on(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=6).await;
    ok(ledger.delete_journal(journal(1), 99).await);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3, 4, 5, 6]);
    ok(ledger.delete_journal(journal(1), 3).await);
    ok(ledger.delete_journal(journal(1), 5).await);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3]);
    ok(ledger.delete_journal(journal(1), 1).await);
    assert_eq!(seqs(&*ledger, 1).await, [1]);
    assert_eq!(state(&*ledger, 1).await.head, 1);
}

pub(super) async fn a_deleted_fork_lets_its_parent_go(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=4).await;
    fork(&*ledger, 2, at(1, 3), 5..=6).await;
    fork(&*ledger, 3, at(2, 4), 7..=7).await;
    // Journal 3 needs one entry of journal 2, which therefore still needs its parent.
    ok(ledger.delete_journal(journal(2), 4).await);
    refused(ledger.delete_journal(journal(1), 0).await, ErrorKind::Conflict, "fork_depends");
    ok(ledger.delete_journal(journal(3), 0).await);
    ok(ledger.delete_journal(journal(2), 0).await);
    let left = state(&*ledger, 2).await;
    let parent_link = some(all(&*ledger, 1).await.get(2).map(|entry| entry.link));
    assert_eq!((left.head, left.head_link), (3, hash::fork(&identity(2), journal(1), 3, parent_link)));
    ok(ledger.delete_journal(journal(1), 0).await);
    assert_eq!(seqs(&*ledger, 1).await, [0; 0]);
}
