//! Guards: each holds or fails by itself, with its own kind and code.

use super::Backend;
use super::fixture::{
    KEY, OWNER, append, appending, at, block, entries, entry, entry_with_row, fork, found, journal, making, ok,
    refused, root, row, seqs,
};
use crate::{BlockPlace, Collection, Commit, Guard, LeaseRequest, NewBlock, NewEntry, NewPack, Pin, RegisterChange};
use samite_model::{ErrorKind, JournalId, KeyId, PackId, PinId, Pseudonym, Result};
use std::sync::Arc;

async fn try_guard(ledger: &dyn Backend, guard: Guard) -> Result<()> {
    ledger.commit(Commit { guards: vec![guard], ..Commit::default() }).await.map(drop)
}

fn row_absent(number: u8, kind: u16, hashes: &[u8]) -> Guard {
    Guard::RowAbsent { journal: journal(number), kind, hashes: hashes.iter().map(|hash| [*hash; 16]).collect() }
}

pub(super) async fn head(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=3).await;
    fork(&*ledger, 2, at(1, 2), 4..=4).await;
    ok(ledger.commit(making(3, Some(at(1, 2)), Vec::new())).await);
    for (number, head) in [(1, 3), (2, 3), (3, 2)] {
        ok(try_guard(&*ledger, Guard::Head { journal: journal(number), seq: head }).await);
        for seq in [head - 1, head + 1] {
            let result = try_guard(&*ledger, Guard::Head { journal: journal(number), seq }).await;
            let message = refused(result, ErrorKind::Conflict, "head_moved");
            for part in [journal(number).to_string(), head.to_string(), seq.to_string()] {
                assert!(message.contains(&part), "{message:?} does not name {part}");
            }
        }
    }
}

pub(super) async fn epoch(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    ok(try_guard(&*ledger, Guard::Epoch { journal: journal(1), epoch: 0 }).await);
    for (writer, expected) in [(1, 1), (2, 2)] {
        let request = LeaseRequest {
            journal: journal(1),
            writer: Pseudonym([writer; 16]),
            now: i64::from(writer) * 100,
            expires: i64::from(writer) * 100 + 10,
            process: Vec::new(),
            take_over: None,
        };
        ok(ledger.lease(request).await);
        ok(try_guard(&*ledger, Guard::Epoch { journal: journal(1), epoch: expected }).await);
        for other in [expected - 1, expected + 1] {
            let result = try_guard(&*ledger, Guard::Epoch { journal: journal(1), epoch: other }).await;
            let message = refused(result, ErrorKind::Fenced, "epoch_passed");
            assert!(message.contains(&journal(1).to_string()), "{message}");
        }
    }
}

pub(super) async fn row_absent_along_the_ancestry(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, vec![entry_with_row(1, row(1, 5, 50)), entry(2)])).await);
    fork(&*ledger, 2, at(1, 2), 3..=3).await;
    ok(append(&*ledger, 2, vec![entry_with_row(4, row(1, 6, 60))]).await);
    fork(&*ledger, 3, at(2, 4), 5..=5).await;
    for (number, hashes) in [(1, &[5][..]), (2, &[5]), (3, &[5]), (2, &[6]), (3, &[6]), (3, &[9, 6]), (3, &[9, 5, 8])] {
        let result = try_guard(&*ledger, row_absent(number, 1, hashes)).await;
        refused(result, ErrorKind::Conflict, "row_exists");
    }
}

pub(super) async fn row_absent_beside_the_ancestry(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, vec![entry(1), entry_with_row(2, row(1, 5, 50))])).await);
    // Forked before the row, beside it, and another kind or hash.
    fork(&*ledger, 2, at(1, 1), 3..=3).await;
    ok(append(&*ledger, 2, vec![entry_with_row(4, row(1, 6, 60))]).await);
    for (number, kind, hashes) in
        [(2, 1, &[5][..]), (1, 1, &[6]), (1, 2, &[5]), (1, 1, &[4, 7]), (1, 0, &[5]), (1, 1, &[])]
    {
        ok(try_guard(&*ledger, row_absent(number, kind, hashes)).await);
    }
    // A row of the commit itself is not there yet when guards are checked.
    let commit =
        Commit { guards: vec![row_absent(1, 1, &[7])], ..appending(1, vec![entry_with_row(5, row(1, 7, 70))]) };
    ok(ledger.commit(commit.clone()).await);
    refused(ledger.commit(commit).await, ErrorKind::Conflict, "row_exists");
}

pub(super) async fn registers(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    let (version, _) = ok(ledger.registers(journal(1)).await);
    assert_eq!(version, 0);
    let set = RegisterChange::Set { kind: 1, hash: [1; 16], value: vec![1] };
    let commit = Commit {
        guards: vec![Guard::Registers { journal: journal(1), version }],
        ..appending(1, vec![NewEntry { registers: vec![set], ..entry(2) }])
    };
    ok(ledger.commit(commit.clone()).await);
    let message = refused(ledger.commit(commit.clone()).await, ErrorKind::Conflict, "registers_moved");
    assert!(message.contains(&journal(1).to_string()), "{message}");
    let (version, _) = ok(ledger.registers(journal(1)).await);
    ok(append(&*ledger, 1, entries(3..=3)).await);
    let guards = vec![Guard::Registers { journal: journal(1), version }];
    ok(ledger.commit(Commit { guards, ..commit }).await);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3, 4]);
}

pub(super) async fn open(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    let guard = Guard::Open { journal: journal(1) };
    ok(try_guard(&*ledger, guard.clone()).await);
    ok(ledger.delete_journal(journal(1), 0).await);
    let message = refused(try_guard(&*ledger, guard).await, ErrorKind::Conflict, "journal_closed");
    assert!(message.contains(&journal(1).to_string()), "{message}");
}

pub(super) async fn key_live(ledger: Arc<dyn Backend>) {
    ok(try_guard(&*ledger, Guard::KeyLive { key: KEY }).await);
    ok(ledger.destroy_keys(vec![KeyId([1; 8]), KEY]).await);
    let message = refused(try_guard(&*ledger, Guard::KeyLive { key: KEY }).await, ErrorKind::Denied, "key_destroyed");
    assert!(message.contains(&KEY.to_string()), "{message}");
    ok(try_guard(&*ledger, Guard::KeyLive { key: KeyId([2; 8]) }).await);
}

pub(super) async fn pin_live(ledger: Arc<dyn Backend>) {
    let pin = |number, expires| Pin { id: PinId([number; 16]), owner: OWNER, base: None, expires, packs: Vec::new() };
    let guard = |number| Guard::PinLive { pin: PinId([number; 16]) };
    let message = refused(try_guard(&*ledger, guard(1)).await, ErrorKind::Conflict, "pin_lapsed");
    assert!(message.contains(&PinId([1; 16]).to_string()), "{message}");
    for (number, expires) in [(1, 100), (2, 200)] {
        ok(ledger.pin(pin(number, expires)).await);
        ok(try_guard(&*ledger, guard(number)).await);
    }
    ok(ledger.collect(Collection { seen_pins: vec![PinId([2; 16])], now: 100, ..Collection::default() }).await);
    refused(try_guard(&*ledger, guard(1)).await, ErrorKind::Conflict, "pin_lapsed");
    ok(try_guard(&*ledger, guard(2)).await);
    ok(ledger.unpin(PinId([2; 16])).await);
    refused(try_guard(&*ledger, guard(2)).await, ErrorKind::Conflict, "pin_lapsed");
    ok(ledger.pin(pin(1, 300)).await);
    ok(try_guard(&*ledger, guard(1)).await);
}

pub(super) async fn blocks_live(ledger: Arc<dyn Backend>) {
    let pack = PackId([1; 16]);
    let commit = Commit {
        packs: vec![NewPack { id: pack, owner: OWNER, size: 9 }],
        blocks: vec![
            NewBlock { id: block(1), owner: OWNER, place: BlockPlace::Inline(vec![1]) },
            NewBlock { id: block(2), owner: OWNER, place: BlockPlace::Pack { pack, offset: 0, length: 9 } },
        ],
        ..Commit::default()
    };
    let guard = |numbers: &[u8]| Guard::BlocksLive { blocks: numbers.iter().map(|number| block(*number)).collect() };
    ok(ledger.commit(commit).await);
    ok(try_guard(&*ledger, guard(&[])).await);
    ok(try_guard(&*ledger, guard(&[1, 2])).await);
    refused(try_guard(&*ledger, guard(&[1, 2, 3])).await, ErrorKind::Conflict, "blocks_dying");
    ok(ledger.collect(Collection { dying: vec![pack], ..Collection::default() }).await);
    refused(try_guard(&*ledger, guard(&[1, 2])).await, ErrorKind::Conflict, "blocks_dying");
    ok(try_guard(&*ledger, guard(&[1])).await);
}

pub(super) async fn the_first_that_fails_is_the_error(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    let stale = Guard::Head { journal: journal(1), seq: 7 };
    let fenced = Guard::Epoch { journal: journal(1), epoch: 7 };
    let pin = Guard::PinLive { pin: PinId([1; 16]) };
    let holds = Guard::Head { journal: journal(1), seq: 1 };
    for (guards, kind, code) in [
        (vec![holds.clone(), stale.clone(), fenced.clone()], ErrorKind::Conflict, "head_moved"),
        (vec![holds.clone(), fenced.clone(), stale.clone()], ErrorKind::Fenced, "epoch_passed"),
        (vec![pin, fenced, stale, holds], ErrorKind::Conflict, "pin_lapsed"),
    ] {
        // The journal to make exists, which a guard outranks.
        refused(ledger.commit(Commit { guards, ..making(1, None, Vec::new()) }).await, kind, code);
    }
}

pub(super) async fn an_unknown_journal_is_not_found(ledger: Arc<dyn Backend>) {
    let journal: JournalId = journal(9);
    for guard in [
        Guard::Head { journal, seq: 0 },
        Guard::Epoch { journal, epoch: 0 },
        row_absent(9, 1, &[1]),
        Guard::Registers { journal, version: 0 },
        Guard::Open { journal },
    ] {
        let message = refused(try_guard(&*ledger, guard.clone()).await, ErrorKind::NotFound, "no_journal");
        assert!(message.contains(&journal.to_string()), "{message}");
        // Guards look before the commit's own journals are made.
        refused(
            ledger.commit(Commit { guards: vec![guard], ..making(9, None, Vec::new()) }).await,
            ErrorKind::NotFound,
            "no_journal",
        );
    }
}

pub(super) async fn a_dedupe_row_makes_a_retry_safe(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    let commit = Commit {
        guards: vec![row_absent(1, 3, &[8])],
        ..appending(1, vec![entry_with_row(2, row(3, 8, 80)), entry(3)])
    };
    assert_eq!(ok(ledger.commit(commit.clone()).await).first_seqs, [2]);
    for _ in 0..3 {
        refused(ledger.commit(commit.clone()).await, ErrorKind::Conflict, "row_exists");
    }
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3]);
    assert_eq!(found(&*ledger, at(1, u64::MAX), 3, &[8]).await, [(at(1, 2), 80)]);
}
