//! The audit log in the commits of the entries that it is about.

use super::Backend;
use super::fixture::{append, appending, entry, identity, journal, links, making, ok, refused, root, seqs, some};
use crate::{Append, Commit, Guard, LogState, MAXIMUM_LEAF_DRAFT, NewEntry};
use samite_model::{ErrorKind, Link, hash};
use std::sync::Arc;

fn with_leaf(number: u8, draft: &[u8]) -> NewEntry {
    NewEntry { leaf: Some(draft.to_vec()), ..entry(number) }
}

fn leaf(draft: &[u8], number: u8, seq: u64, link: Link) -> Vec<u8> {
    [draft, journal(number).as_bytes(), &seq.to_be_bytes(), link.as_bytes()].concat()
}

fn log(log: u64, size: u64, groups: u64) -> LogState {
    LogState { log, size, state: groups.to_be_bytes().to_vec() }
}

async fn newest(ledger: &dyn Backend) -> LogState {
    some(ok(ledger.audit_log(None).await))
}

/// The first byte of each leaf, which is its draft's.
fn begins(leaves: &[Vec<u8>]) -> Vec<u8> {
    leaves.iter().filter_map(|leaf| leaf.first().copied()).collect()
}

async fn all(ledger: &dyn Backend, log: u64) -> Vec<Vec<u8>> {
    ok(ledger.leaves(log, 0, usize::MAX).await)
}

pub(super) async fn nothing_is_logged_for_entries_without_leaves(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=3).await;
    assert_eq!(ok(ledger.audit_log(None).await), None);
    assert_eq!(ok(ledger.audit_log(Some(1)).await), None);
    assert_eq!(all(&*ledger, 1).await, [[0; 0]; 0]);
}

pub(super) async fn a_leaf_is_made_where_its_entry_is(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, vec![entry(1), with_leaf(2, b"two"), entry(3)])).await);
    let both = vec![with_leaf(4, b"four"), with_leaf(5, b"five")];
    let appends =
        vec![Append { journal: journal(1), entries: both }, Append { journal: journal(2), entries: Vec::new() }];
    let commit = Commit { appends, ..making(2, None, Vec::new()) };
    ok(ledger.commit(commit).await);
    ok(append(&*ledger, 2, vec![with_leaf(6, b"six")]).await);
    let first = links(hash::genesis(&identity(1)), &super::fixture::all(&*ledger, 1).await);
    let second = links(hash::genesis(&identity(2)), &super::fixture::all(&*ledger, 2).await);
    let ([_, two, _, four, five], [six]) = (first.as_slice(), second.as_slice()) else {
        panic!("{first:?} {second:?}");
    };
    let expected =
        [leaf(b"two", 1, 2, *two), leaf(b"four", 1, 4, *four), leaf(b"five", 1, 5, *five), leaf(b"six", 2, 1, *six)];
    assert_eq!(all(&*ledger, 1).await, expected);
    assert_eq!(newest(&*ledger).await, log(1, 4, 3));
    assert_eq!(some(ok(ledger.audit_log(Some(1)).await)), log(1, 4, 3));
    assert_eq!(ok(ledger.audit_log(Some(2)).await), None);
}

pub(super) async fn leaves_are_read_from_an_index_on(ledger: Arc<dyn Backend>) {
    let drafts: Vec<NewEntry> = (1..=5).map(|number| with_leaf(number, &[number])).collect();
    ok(ledger.commit(making(1, None, drafts)).await);
    assert_eq!(begins(&ok(ledger.leaves(1, 1, 2).await)), [2, 3]);
    assert_eq!(begins(&ok(ledger.leaves(1, 3, 9).await)), [4, 5]);
    assert_eq!(begins(&ok(ledger.leaves(1, 5, 9).await)), [0; 0]);
    assert_eq!(begins(&ok(ledger.leaves(2, 0, 9).await)), [0; 0]);
}

pub(super) async fn a_refused_commit_leaves_no_leaf(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, vec![with_leaf(1, b"one")])).await);
    let moved = Guard::Head { journal: journal(1), seq: 9 };
    let commit = Commit { guards: vec![moved], ..appending(1, vec![with_leaf(2, b"two")]) };
    refused(ledger.commit(commit).await, ErrorKind::Conflict, "head_moved");
    let long = vec![with_leaf(2, b"two"), with_leaf(3, &vec![1; MAXIMUM_LEAF_DRAFT + 1])];
    refused(append(&*ledger, 1, long).await, ErrorKind::Invalid, "leaf_draft");
    assert_eq!(seqs(&*ledger, 1).await, [1]);
    assert_eq!(newest(&*ledger).await, log(1, 1, 1));
    ok(append(&*ledger, 1, vec![with_leaf(3, &vec![1; MAXIMUM_LEAF_DRAFT])]).await);
    assert_eq!(newest(&*ledger).await, log(1, 2, 2));
}

pub(super) async fn leaves_outlive_their_journal(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, vec![with_leaf(1, b"one"), with_leaf(2, b"two")])).await);
    let before = all(&*ledger, 1).await;
    ok(ledger.delete_journal(journal(1), 0).await);
    assert_eq!(all(&*ledger, 1).await, before);
    assert_eq!(newest(&*ledger).await, log(1, 2, 1));
}

pub(super) async fn another_log_begins_beside_the_first(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, vec![with_leaf(1, b"one"), with_leaf(2, b"end")])).await);
    ok(append(&*ledger, 1, vec![with_leaf(3, b"three")]).await);
    ok(append(&*ledger, 1, vec![with_leaf(4, b"four")]).await);
    assert_eq!(begins(&all(&*ledger, 2).await), *b"tf");
    assert_eq!(all(&*ledger, 1).await.len(), 2);
    assert_eq!(newest(&*ledger).await, log(2, 2, 2));
    assert_eq!(some(ok(ledger.audit_log(Some(1)).await)), log(1, 2, 1));
}

pub(super) async fn a_beginning_that_was_pruned_is_gone_and_the_log_goes_on(ledger: Arc<dyn Backend>) {
    let drafts: Vec<NewEntry> = (1..=5).map(|number| with_leaf(number, &[number])).collect();
    ok(ledger.commit(making(1, None, drafts)).await);
    // In the commit of an entry that says so, which has a leaf of its own.
    let commit = Commit { prune: Some((1, 3)), ..appending(1, vec![with_leaf(6, &[6])]) };
    ok(ledger.commit(commit).await);
    assert_eq!(begins(&ok(ledger.leaves(1, 0, 9).await)), [0; 0]);
    assert_eq!(begins(&ok(ledger.leaves(1, 2, 9).await)), [0; 0]);
    assert_eq!(begins(&ok(ledger.leaves(1, 3, 9).await)), [4, 5, 6]);
    assert_eq!(newest(&*ledger).await, log(1, 6, 2));
    // Again, or less of it, is no error.
    ok(ledger.commit(Commit { prune: Some((1, 2)), ..Commit::default() }).await);
    ok(append(&*ledger, 1, vec![with_leaf(7, &[7])]).await);
    assert_eq!(begins(&ok(ledger.leaves(1, 3, 9).await)), [4, 5, 6, 7]);
    // The last leaf stays, and what is refused takes nothing.
    for prune in [Some((1, 7)), Some((2, 1)), Some((3, 0))] {
        let commit = Commit { prune, ..appending(1, vec![with_leaf(8, &[8])]) };
        refused(ledger.commit(commit).await, ErrorKind::Invalid, "prune_beyond");
    }
    assert_eq!(begins(&ok(ledger.leaves(1, 3, 9).await)), [4, 5, 6, 7]);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3, 4, 5, 6, 7]);
}
