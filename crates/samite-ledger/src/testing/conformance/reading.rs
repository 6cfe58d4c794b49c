//! Reading ranges, and waiting for more.

use super::Backend;
use super::fixture::{append, at, entries, entry, fork, journal, making, ok, refused, root};
use crate::{Direction, NewEntry, Read};
use samite_model::{EntryKind, ErrorKind};
use std::sync::Arc;

async fn read(ledger: &dyn Backend, read: Read) -> Vec<u64> {
    ok(ledger.read(read).await).iter().map(|entry| entry.seq).collect()
}

fn range(from: u64, to: u64) -> Read {
    Read::range(journal(1), from, to)
}

pub(super) async fn a_range_is_inclusive_at_both_ends(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=9).await;
    for (from, to, expected) in [(1, 9, 1..=9), (3, 5, 3..=5), (4, 4, 4..=4), (9, 9, 9..=9)] {
        assert_eq!(read(&*ledger, range(from, to)).await, expected.collect::<Vec<u64>>());
    }
}

pub(super) async fn a_range_beyond_the_entries_is_clipped(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=3).await;
    for (from, to, expected) in [
        (0, u64::MAX, &[1, 2, 3][..]),
        (2, 100, &[2, 3]),
        (0, 1, &[1]),
        (0, 0, &[]),
        (4, u64::MAX, &[]),
        (u64::MAX, u64::MAX, &[]),
        (3, 2, &[]),
    ] {
        assert_eq!(read(&*ledger, range(from, to)).await, expected, "{from} to {to}");
    }
}

pub(super) async fn kinds_are_filtered_before_the_limit(ledger: Arc<dyn Backend>) {
    let kinds = [EntryKind::MESSAGE, EntryKind::EVENT, EntryKind::TREE, EntryKind::EVENT, EntryKind::from_code(999)];
    let entries = (1..).zip(kinds).map(|(number, kind)| NewEntry { kind, ..entry(number) }).collect();
    ok(ledger.commit(making(1, None, entries)).await);
    for (kinds, limit, expected) in [
        (vec![], usize::MAX, &[1, 2, 3, 4, 5][..]),
        (vec![], 2, &[1, 2]),
        (vec![], 0, &[]),
        (vec![EntryKind::EVENT], usize::MAX, &[2, 4]),
        (vec![EntryKind::EVENT], 1, &[2]),
        (vec![EntryKind::TREE, EntryKind::from_code(999)], 5, &[3, 5]),
        (vec![EntryKind::CUT], 5, &[]),
    ] {
        let found = read(&*ledger, Read { kinds: kinds.clone(), limit, ..range(1, 9) }).await;
        assert_eq!(found, expected, "{kinds:?}, at most {limit}");
    }
}

pub(super) async fn backward_reads_the_newest_first(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=9).await;
    let backward = |from, to, limit| Read { limit, direction: Direction::Backward, ..range(from, to) };
    assert_eq!(read(&*ledger, backward(1, u64::MAX, 3)).await, [9, 8, 7]);
    assert_eq!(read(&*ledger, backward(2, 5, 9)).await, [5, 4, 3, 2]);
    let kinds = vec![EntryKind::EVENT];
    assert_eq!(read(&*ledger, Read { kinds, ..backward(1, 9, 9) }).await, [0; 0]);
}

pub(super) async fn payloads_are_fetched_when_asked_for(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    let with = ok(ledger.read(range(1, 2)).await);
    let without = ok(ledger.read(Read { payloads: false, ..range(1, 2) }).await);
    assert_eq!(
        with.iter().map(|entry| entry.payload.clone()).collect::<Vec<_>>(),
        [Some(vec![1, 1, 1]), Some(vec![2, 2, 2])]
    );
    assert_eq!(without.iter().map(|entry| entry.payload.clone()).collect::<Vec<_>>(), [None, None]);
    assert!(with.iter().zip(&without).all(|(a, b)| (a.seq, &a.header, a.link) == (b.seq, &b.header, b.link)));
}

pub(super) async fn inherited_entries_are_not_read(ledger: Arc<dyn Backend>) {
    root(&*ledger, 2, 1..=5).await;
    fork(&*ledger, 1, at(2, 3), 6..=7).await;
    assert_eq!(read(&*ledger, range(0, u64::MAX)).await, [4, 5]);
    assert_eq!(read(&*ledger, range(1, 3)).await, [0; 0]);
    assert_eq!(read(&*ledger, range(3, 4)).await, [4]);
}

pub(super) async fn an_unknown_journal_is_not_found(ledger: Arc<dyn Backend>) {
    for read in [range(1, 2), range(2, 1), Read { limit: 0, ..range(1, 2) }] {
        let message = refused(ledger.read(read).await, ErrorKind::NotFound, "no_journal");
        assert!(message.contains(&journal(1).to_string()), "{message}");
    }
    refused(ledger.wait(journal(1), 0, 0).await, ErrorKind::NotFound, "no_journal");
}

pub(super) async fn waiting_ends_with_an_append(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    assert_eq!(ok(ledger.wait(journal(1), 1, 600_000).await), 2);
    let (head, receipt) =
        futures_lite::future::zip(ledger.wait(journal(1), 2, 600_000), append(&*ledger, 1, entries(3..=4))).await;
    assert_eq!((ok(head), ok(receipt).first_seqs), (4, vec![3]));
}

pub(super) async fn waiting_ends_with_its_time(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    assert_eq!(ok(ledger.wait(journal(1), 2, 0).await), 2);
    assert_eq!(ok(ledger.wait(journal(1), 7, 1).await), 2);
}
