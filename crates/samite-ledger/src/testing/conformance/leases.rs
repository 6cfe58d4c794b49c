//! Leases and epochs.

use super::Backend;
use super::fixture::{appending, entries, journal, ok, refused, root, seqs, state};
use crate::{Commit, Guard, Lease, LeaseOutcome, LeaseRequest};
use samite_model::{ErrorKind, Pseudonym};
use std::sync::Arc;

/// A request by a writer at a time.
fn request(writer: u8, now: i64, expires: i64) -> LeaseRequest {
    LeaseRequest {
        journal: journal(1),
        writer: Pseudonym([writer; 16]),
        now,
        expires,
        process: vec![writer, 0xff],
        take_over: None,
    }
}

/// The lease that such a request leaves.
fn lease(writer: u8, epoch: u64, expires: i64) -> Lease {
    Lease { writer: Pseudonym([writer; 16]), epoch, expires, process: vec![writer, 0xff] }
}

fn held(epoch: u64, previous: Option<Lease>) -> LeaseOutcome {
    LeaseOutcome::Held { epoch, previous }
}

async fn ask(ledger: &dyn Backend, request: LeaseRequest) -> LeaseOutcome {
    ok(ledger.lease(request).await)
}

pub(super) async fn the_first_holder_gets_the_first_epoch(ledger: Arc<dyn Backend>) {
    refused(ledger.lease(request(1, 0, 10)).await, ErrorKind::NotFound, "no_journal");
    root(&*ledger, 1, 1..=1).await;
    assert_eq!(state(&*ledger, 1).await.epoch, 0);
    assert_eq!(ask(&*ledger, request(1, 0, 10)).await, held(1, None));
    assert_eq!(state(&*ledger, 1).await.epoch, 1);
}

pub(super) async fn the_same_writer_keeps_its_epoch(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    for (now, expires) in [(0, 10), (5, 20), (5, 15), (14, 110)] {
        assert_eq!(ask(&*ledger, request(1, now, expires)).await, held(1, None));
    }
    let process = vec![9];
    assert_eq!(ask(&*ledger, LeaseRequest { process: process.clone(), ..request(1, 101, 120) }).await, held(1, None));
    let current = Lease { process, ..lease(1, 1, 120) };
    assert_eq!(ask(&*ledger, request(2, 102, 200)).await, LeaseOutcome::Busy(current));
}

pub(super) async fn another_writer_waits(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 10)).await;
    for now in [0, 5, 9] {
        assert_eq!(ask(&*ledger, request(2, now, 50)).await, LeaseOutcome::Busy(lease(1, 1, 10)));
    }
    assert_eq!(state(&*ledger, 1).await.epoch, 1);
}

pub(super) async fn an_expired_lease_is_taken_over(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 10)).await;
    assert_eq!(ask(&*ledger, request(2, 10, 30)).await, held(2, Some(lease(1, 1, 10))));
    assert_eq!(state(&*ledger, 1).await.epoch, 2);
    assert_eq!(ask(&*ledger, request(1, 11, 40)).await, LeaseOutcome::Busy(lease(2, 2, 30)));
    assert_eq!(ask(&*ledger, request(1, 31, 40)).await, held(3, Some(lease(2, 2, 30))));
}

pub(super) async fn a_writer_whose_lease_expired_comes_back_in_a_new_epoch(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 10)).await;
    assert_eq!(ask(&*ledger, request(1, 9, 20)).await, held(1, None));
    assert_eq!(ask(&*ledger, request(1, 20, 30)).await, held(2, Some(lease(1, 1, 20))));
    assert_eq!(ask(&*ledger, request(1, 29, 40)).await, held(2, None));
    // Giving up says that nothing was lost, however late it is said or taken back.
    assert_eq!(ask(&*ledger, request(1, 50, 50)).await, LeaseOutcome::Released);
    assert_eq!(ask(&*ledger, request(1, 90, 100)).await, held(2, None));
    assert_eq!(state(&*ledger, 1).await.epoch, 2);
}

pub(super) async fn a_lease_that_was_given_up_is_taken(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 10)).await;
    assert_eq!(ask(&*ledger, request(1, 5, 5)).await, LeaseOutcome::Released);
    assert_eq!(ask(&*ledger, request(2, 6, 20)).await, held(2, None));
}

pub(super) async fn the_last_holder_comes_back_in_its_epoch(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 10)).await;
    assert_eq!(ask(&*ledger, request(1, 5, 0)).await, LeaseOutcome::Released);
    assert_eq!(ask(&*ledger, request(1, 90, 100)).await, held(1, None));
    assert_eq!(ask(&*ledger, request(2, 91, 200)).await, LeaseOutcome::Busy(lease(1, 1, 100)));
}

pub(super) async fn only_the_holder_gives_up(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    assert_eq!(ask(&*ledger, request(2, 5, 5)).await, LeaseOutcome::Released);
    assert_eq!(state(&*ledger, 1).await.epoch, 0);
    ask(&*ledger, request(1, 0, 10)).await;
    assert_eq!(ask(&*ledger, request(2, 5, 5)).await, LeaseOutcome::Released);
    assert_eq!(ask(&*ledger, request(2, 6, 20)).await, LeaseOutcome::Busy(lease(1, 1, 10)));
}

pub(super) async fn a_holder_seen_gone_is_taken_over(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 100)).await;
    // Seen gone in another epoch than the one it is in: it has come back since.
    let taking = |epoch| LeaseRequest { take_over: Some(epoch), ..request(2, 5, 50) };
    for epoch in [0, 2] {
        assert_eq!(ask(&*ledger, taking(epoch)).await, LeaseOutcome::Busy(lease(1, 1, 100)));
    }
    assert_eq!(ask(&*ledger, taking(1)).await, held(2, Some(lease(1, 1, 100))));
    assert_eq!(ask(&*ledger, taking(1)).await, held(2, None));
    let late = LeaseRequest { take_over: Some(1), ..request(3, 6, 60) };
    assert_eq!(ask(&*ledger, late).await, LeaseOutcome::Busy(lease(2, 2, 50)));
}

pub(super) async fn a_commit_renews_in_passing(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 10)).await;
    let renewing = |epoch| Commit { renew: Some((journal(1), epoch, 99)), ..appending(1, entries(2..=2)) };
    let message = refused(ledger.commit(renewing(0)).await, ErrorKind::Fenced, "epoch_passed");
    assert!(message.contains(&journal(1).to_string()), "{message}");
    ok(ledger.commit(renewing(1)).await);
    assert_eq!(ask(&*ledger, request(2, 50, 60)).await, LeaseOutcome::Busy(lease(1, 1, 99)));
    assert_eq!(seqs(&*ledger, 1).await, [1, 2]);
}

pub(super) async fn a_zombie_is_fenced(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ask(&*ledger, request(1, 0, 10)).await;
    let guarded =
        |epoch| Commit { guards: vec![Guard::Epoch { journal: journal(1), epoch }], ..appending(1, entries(2..=2)) };
    // An expired lease alone fences nobody; a takeover does.
    ok(ledger.commit(guarded(1)).await);
    ask(&*ledger, request(2, 20, 30)).await;
    refused(ledger.commit(guarded(1)).await, ErrorKind::Fenced, "epoch_passed");
    ok(ledger.commit(guarded(2)).await);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3]);
}

pub(super) async fn leases_are_per_journal(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    super::fixture::fork(&*ledger, 2, super::fixture::at(1, 1), 2..=2).await;
    ask(&*ledger, request(1, 0, 10)).await;
    ask(&*ledger, request(2, 10, 20)).await;
    assert_eq!(ask(&*ledger, LeaseRequest { journal: journal(2), ..request(3, 12, 20) }).await, held(1, None));
    assert_eq!((state(&*ledger, 1).await.epoch, state(&*ledger, 2).await.epoch), (2, 1));
}

pub(super) async fn a_holder_is_seen_until_it_gives_up(ledger: Arc<dyn Backend>) {
    refused(ledger.holder(journal(1)).await, ErrorKind::NotFound, "no_journal");
    root(&*ledger, 1, 1..=1).await;
    assert_eq!(ok(ledger.holder(journal(1)).await), None);
    ask(&*ledger, request(1, 0, 10)).await;
    assert_eq!(ok(ledger.holder(journal(1)).await), Some(lease(1, 1, 10)));
    ask(&*ledger, request(2, 20, 30)).await;
    assert_eq!(ok(ledger.holder(journal(1)).await), Some(lease(2, 2, 30)));
    ask(&*ledger, request(1, 21, 21)).await;
    assert_eq!(ok(ledger.holder(journal(1)).await), Some(lease(2, 2, 30)));
    ask(&*ledger, request(2, 22, 22)).await;
    assert_eq!(ok(ledger.holder(journal(1)).await), None);
}
