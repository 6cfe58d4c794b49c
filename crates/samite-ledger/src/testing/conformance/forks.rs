//! Forks and what they inherit.

use super::Backend;
use super::fixture::{
    all, append, at, entries, fork, identity, journal, links, making, new_journal, ok, refused, root, seqs, some, state,
};
use crate::Commit;
use samite_model::{ErrorKind, hash};
use std::sync::Arc;

pub(super) async fn a_fork_continues_after_its_parent(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=5).await;
    ok(ledger.commit(making(2, Some(at(1, 3)), Vec::new())).await);
    let parent_link = some(all(&*ledger, 1).await.get(2).map(|entry| entry.link));
    let before = hash::fork(&identity(2), journal(1), 3, parent_link);
    let made = state(&*ledger, 2).await;
    assert_eq!((made.parent, made.head, made.head_link), (Some(at(1, 3)), 3, before));
    assert_eq!(ok(append(&*ledger, 2, entries(6..=7)).await).first_seqs, [4]);
    let stored = all(&*ledger, 2).await;
    assert_eq!(stored.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [4, 5]);
    let stored_links: Vec<_> = stored.iter().map(|entry| entry.link).collect();
    assert_eq!(stored_links, links(before, &stored));
    let now = state(&*ledger, 2).await;
    assert_eq!((now.head, Some(now.head_link)), (5, stored_links.last().copied()));
}

pub(super) async fn a_fork_of_a_fork_is_chained_to_both(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    fork(&*ledger, 2, at(1, 2), 3..=4).await;
    fork(&*ledger, 3, at(2, 3), 5..=5).await;
    let middle_link = some(all(&*ledger, 2).await.first().map(|entry| entry.link));
    let before = hash::fork(&identity(3), journal(2), 3, middle_link);
    let stored = all(&*ledger, 3).await;
    assert_eq!(
        stored.iter().map(|entry| (entry.seq, entry.link)).collect::<Vec<_>>(),
        [(4, some(links(before, &stored).first().copied()))]
    );
}

pub(super) async fn forks_do_not_see_each_other(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    fork(&*ledger, 2, at(1, 1), 3..=3).await;
    fork(&*ledger, 3, at(1, 1), 4..=6).await;
    assert_eq!(seqs(&*ledger, 1).await, [1, 2]);
    assert_eq!(seqs(&*ledger, 2).await, [2]);
    assert_eq!(seqs(&*ledger, 3).await, [2, 3, 4]);
}

pub(super) async fn a_fork_point_is_an_own_entry(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=3).await;
    fork(&*ledger, 2, at(1, 2), 4..=4).await;
    // Before any entry, past the head, and one that journal 2 inherits.
    for (number, point) in [(11, at(1, 0)), (12, at(1, 4)), (13, at(2, 2)), (14, at(2, 4))] {
        let message =
            refused(ledger.commit(making(number, Some(point), Vec::new())).await, ErrorKind::Invalid, "fork_point");
        assert!(message.contains(&point.journal.to_string()), "{message}");
        assert_eq!(ok(ledger.journal(journal(number)).await), None);
    }
    refused(ledger.commit(making(15, Some(at(9, 1)), Vec::new())).await, ErrorKind::NotFound, "no_journal");
    // Journals are made before entries are appended, so a fork of what the same commit appends has nothing to start at.
    let mut commit = making(16, None, entries(5..=5));
    commit.journals.push(new_journal(17, Some(at(16, 1))));
    refused(ledger.commit(commit).await, ErrorKind::Invalid, "fork_point");
    let commit =
        Commit { journals: vec![new_journal(18, Some(at(1, 4)))], ..super::fixture::appending(1, entries(6..=6)) };
    refused(ledger.commit(commit).await, ErrorKind::Invalid, "fork_point");
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3]);
}

pub(super) async fn a_fork_is_unmoved_by_its_parent(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    fork(&*ledger, 2, at(1, 2), 3..=3).await;
    let (before, stored) = (state(&*ledger, 2).await, all(&*ledger, 2).await);
    ok(append(&*ledger, 1, entries(4..=6)).await);
    assert_eq!((state(&*ledger, 2).await, all(&*ledger, 2).await), (before, stored));
}
