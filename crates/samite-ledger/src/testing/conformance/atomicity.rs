//! A commit that is refused leaves no trace.

use super::Backend;
use super::fixture::{
    KEY, OWNER, append, block, entries, entry, entry_with_row, found, journal, new_journal, ok, refused, root, row,
    seqs, state,
};
use crate::{
    Append, BlockPlace, Collection, Commit, Guard, LeaseOutcome, LeaseRequest, NewBlock, NewEntry, NewPack, Pin,
    RegisterChange,
};
use samite_model::{ErrorKind, KeyId, PackId, PinId, Pseudonym};
use std::sync::Arc;

/// A commit that changes one of everything.
fn everything() -> Commit {
    let mut changed = entry_with_row(3, row(1, 5, 5));
    changed.registers = vec![RegisterChange::Set { kind: 1, hash: [6; 16], value: vec![6] }];
    Commit {
        journals: vec![new_journal(2, Some(super::fixture::at(1, 1)))],
        appends: vec![
            Append { journal: journal(1), entries: vec![changed] },
            Append { journal: journal(2), entries: entries(4..=4) },
        ],
        blocks: vec![NewBlock { id: block(1), owner: OWNER, place: BlockPlace::Inline(vec![1]) }],
        packs: vec![NewPack { id: PackId([1; 16]), owner: OWNER, size: 10 }],
        unpin: vec![PinId([1; 16])],
        renew: Some((journal(1), 1, 9_000)),
        ..Commit::default()
    }
}

/// A journal with two entries, a lease and a pin.
async fn prepare(ledger: &dyn Backend) {
    root(ledger, 1, 1..=2).await;
    let request = LeaseRequest {
        journal: journal(1),
        writer: Pseudonym([1; 16]),
        now: 0,
        expires: 100,
        process: Vec::new(),
        take_over: None,
    };
    ok(ledger.lease(request).await);
    let pin = Pin { id: PinId([1; 16]), owner: OWNER, base: None, expires: 100, packs: Vec::new() };
    ok(ledger.pin(pin).await);
}

/// Checks that all is as [`prepare`] left it.
async fn nothing_happened(ledger: &dyn Backend) {
    assert_eq!(seqs(ledger, 1).await, [1, 2]);
    assert_eq!(state(ledger, 1).await.head, 2);
    assert_eq!(ok(ledger.journal(journal(2)).await), None);
    assert_eq!(found(ledger, super::fixture::at(1, u64::MAX), 1, &[]).await, []);
    assert_eq!(ok(ledger.registers(journal(1)).await), (0, Vec::new()));
    assert_eq!(ok(ledger.blocks(None, 9).await), []);
    assert_eq!(ok(ledger.packs().await), []);
    assert_eq!(ok(ledger.pins(0).await).len(), 1);
    let request = LeaseRequest {
        journal: journal(1),
        writer: Pseudonym([2; 16]),
        now: 50,
        expires: 60,
        process: Vec::new(),
        take_over: None,
    };
    match ok(ledger.lease(request).await) {
        LeaseOutcome::Busy(lease) => assert_eq!(lease.expires, 100),
        other => panic!("the lease is held until 100, not {other:?}"),
    }
}

pub(super) async fn a_failed_guard_leaves_nothing(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    let guards = vec![Guard::Head { journal: journal(1), seq: 2 }, Guard::Epoch { journal: journal(1), epoch: 2 }];
    refused(ledger.commit(Commit { guards, ..everything() }).await, ErrorKind::Fenced, "epoch_passed");
    nothing_happened(&*ledger).await;
    let renew = Some((journal(1), 7, 9_000));
    refused(ledger.commit(Commit { renew, ..everything() }).await, ErrorKind::Fenced, "epoch_passed");
    nothing_happened(&*ledger).await;
    assert_eq!(ok(ledger.commit(everything()).await).first_seqs, [3, 2]);
}

pub(super) async fn a_bad_last_append_leaves_nothing(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    let mut commit = everything();
    commit.appends.push(Append { journal: journal(9), entries: entries(5..=5) });
    refused(ledger.commit(commit).await, ErrorKind::NotFound, "no_journal");
    nothing_happened(&*ledger).await;
}

pub(super) async fn a_destroyed_key_leaves_nothing(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    let other = KeyId([8; 8]);
    ok(ledger.destroy_keys(vec![other]).await);
    ok(ledger.destroy_keys(vec![other]).await);
    let mut commit = everything();
    commit.appends.push(Append { journal: journal(1), entries: vec![NewEntry { key: other, ..entry(5) }] });
    let message = refused(ledger.commit(commit).await, ErrorKind::Denied, "key_destroyed");
    assert!(message.contains(&other.to_string()), "{message}");
    nothing_happened(&*ledger).await;
    assert_eq!(entry(1).key, KEY);
    assert_eq!(ok(append(&*ledger, 1, entries(3..=3)).await).first_seqs, [3]);
}

pub(super) async fn a_dying_pack_leaves_nothing(ledger: Arc<dyn Backend>) {
    let (gone, place) = (PackId([4; 16]), |pack| BlockPlace::Pack { pack, offset: 0, length: 5 });
    let packs = vec![NewPack { id: gone, owner: OWNER, size: 5 }];
    ok(ledger.commit(Commit { packs: packs.clone(), ..Commit::default() }).await);
    ok(ledger.collect(Collection { dying: vec![gone], ..Collection::default() }).await);
    prepare(&*ledger).await;
    for pack in [gone, PackId([5; 16])] {
        let blocks = vec![NewBlock { id: block(2), owner: OWNER, place: place(pack) }];
        refused(ledger.commit(Commit { blocks, ..everything() }).await, ErrorKind::Conflict, "blocks_dying");
    }
    refused(ledger.commit(Commit { packs, ..everything() }).await, ErrorKind::Conflict, "blocks_dying");
    ok(ledger
        .collect(Collection { seen_pins: vec![PinId([1; 16])], forget: vec![gone], ..Collection::default() })
        .await);
    nothing_happened(&*ledger).await;
}
