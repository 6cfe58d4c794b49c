//! Blocks, packs and pins as they become known.

use super::Backend;
use super::fixture::{OWNER, block, ok, refused};
use crate::{BlockPlace, BlockRow, Collection, Commit, NewBlock, NewPack, PackRow, PackState, Pin};
use samite_model::{BlockId, ErrorKind, PackId, PinId, Pseudonym};
use std::sync::Arc;

pub(super) const OTHER: Pseudonym = Pseudonym([0xb2; 16]);

pub(super) fn pack(number: u8) -> PackId {
    PackId([number; 16])
}

pub(super) fn pin_id(number: u8) -> PinId {
    PinId([number; 16])
}

pub(super) fn new_pack(number: u8, size: u64) -> NewPack {
    NewPack { id: pack(number), owner: OWNER, size }
}

pub(super) fn inline(number: u8, bytes: &[u8]) -> NewBlock {
    NewBlock { id: block(number), owner: OWNER, place: BlockPlace::Inline(bytes.to_vec()) }
}

pub(super) fn place(number: u8, offset: u64, length: u32) -> BlockPlace {
    BlockPlace::Pack { pack: pack(number), offset, length }
}

pub(super) fn packed(number: u8, place: BlockPlace) -> NewBlock {
    NewBlock { id: block(number), owner: OWNER, place }
}

pub(super) fn pin(number: u8, expires: i64, packs: &[u8]) -> Pin {
    Pin {
        id: pin_id(number),
        owner: OWNER,
        base: None,
        expires,
        packs: packs.iter().map(|number| pack(*number)).collect(),
    }
}

pub(super) async fn add(ledger: &dyn Backend, packs: Vec<NewPack>, blocks: Vec<NewBlock>) {
    ok(ledger.commit(Commit { blocks, packs, ..Commit::default() }).await);
}

pub(super) async fn find(ledger: &dyn Backend, numbers: &[u8]) -> Vec<Option<BlockPlace>> {
    ok(ledger.find_blocks(numbers.iter().map(|number| block(*number)).collect()).await)
}

/// An inline place as a find returns it.
pub(super) const BARE: Option<BlockPlace> = Some(BlockPlace::Inline(Vec::new()));

pub(super) async fn an_inline_block_is_found_without_its_bytes(ledger: Arc<dyn Backend>) {
    add(&*ledger, vec![new_pack(1, 9)], vec![inline(1, b"one"), inline(2, b""), packed(3, place(1, 0, 9))]).await;
    assert_eq!(find(&*ledger, &[2, 9, 1, 1]).await, [BARE, None, BARE, BARE]);
    let ids: Vec<BlockId> = [1, 3, 9, 2].map(block).to_vec();
    assert_eq!(ok(ledger.inline_blocks(ids).await), [Some(b"one".to_vec()), None, None, Some(Vec::new())]);
    assert_eq!(find(&*ledger, &[]).await, []);
}

pub(super) async fn a_block_in_a_pack_is_found(ledger: Arc<dyn Backend>) {
    let far = place(2, 1 << 40, u32::MAX);
    add(
        &*ledger,
        vec![new_pack(1, 100), new_pack(2, 1 << 41)],
        vec![packed(1, place(1, 7, 50)), packed(2, far.clone())],
    )
    .await;
    assert_eq!(find(&*ledger, &[1, 2, 3]).await, [Some(place(1, 7, 50)), Some(far), None]);
    // A later commit may name a pack that is known.
    add(&*ledger, Vec::new(), vec![packed(3, place(1, 57, 5))]).await;
    assert_eq!(find(&*ledger, &[3]).await, [Some(place(1, 57, 5))]);
}

pub(super) async fn a_known_block_keeps_its_first_place(ledger: Arc<dyn Backend>) {
    add(&*ledger, vec![new_pack(1, 9)], vec![inline(1, b"one"), packed(2, place(1, 0, 9))]).await;
    let second = vec![packed(1, place(2, 0, 3)), packed(2, place(2, 3, 4)), inline(3, b"a"), inline(3, b"bc")];
    add(&*ledger, vec![new_pack(2, 7)], second).await;
    assert_eq!(find(&*ledger, &[1, 2]).await, [BARE, Some(place(1, 0, 9))]);
    assert_eq!(ok(ledger.inline_blocks(vec![block(3)]).await), [Some(b"a".to_vec())]);
}

pub(super) async fn a_block_of_a_dying_pack_takes_its_new_place(ledger: Arc<dyn Backend>) {
    add(&*ledger, vec![new_pack(1, 9)], vec![packed(1, place(1, 0, 9))]).await;
    ok(ledger.collect(Collection { dying: vec![pack(1)], ..Collection::default() }).await);
    add(&*ledger, vec![new_pack(2, 9)], vec![packed(1, place(2, 0, 9))]).await;
    assert_eq!(find(&*ledger, &[1]).await, [Some(place(2, 0, 9))]);
    ok(ledger.collect(Collection { forget: vec![pack(1)], ..Collection::default() }).await);
    assert_eq!(find(&*ledger, &[1]).await, [Some(place(2, 0, 9))]);
}

pub(super) async fn blocks_are_listed_by_id(ledger: Arc<dyn Backend>) {
    let other = NewBlock { owner: OTHER, ..inline(5, b"five!") };
    add(&*ledger, vec![new_pack(1, 9)], vec![other, inline(1, b"one"), packed(3, place(1, 2, 7))]).await;
    let row = |number, owner, place, size| BlockRow { id: block(number), owner, place, size };
    let bare = BlockPlace::Inline(Vec::new());
    let all = [row(1, OWNER, bare.clone(), 3), row(3, OWNER, place(1, 2, 7), 7), row(5, OTHER, bare, 5)];
    assert_eq!(ok(ledger.blocks(None, 9).await), all);
    assert_eq!(ok(ledger.blocks(None, 2).await), all[..2]);
    assert_eq!(ok(ledger.blocks(Some(block(1)), 9).await), all[1..]);
    assert_eq!(ok(ledger.blocks(Some(block(2)), 1).await), all[1..2]);
    assert_eq!(ok(ledger.blocks(Some(block(5)), 9).await), []);
    assert_eq!(ok(ledger.blocks(None, 0).await), []);
}

pub(super) async fn packs_are_listed_with_their_states(ledger: Arc<dyn Backend>) {
    assert_eq!(ok(ledger.packs().await), []);
    add(&*ledger, vec![new_pack(3, 30), new_pack(1, 10)], Vec::new()).await;
    ok(ledger.collect(Collection { dying: vec![pack(3)], ..Collection::default() }).await);
    assert_eq!(
        ok(ledger.packs().await),
        [
            PackRow { id: pack(1), owner: OWNER, size: 10, state: PackState::Live },
            PackRow { id: pack(3), owner: OWNER, size: 30, state: PackState::Dying },
        ]
    );
}

pub(super) async fn a_pack_grows_and_a_dying_one_does_not(ledger: Arc<dyn Backend>) {
    for (size, expected) in [(10, 10), (25, 25), (20, 25)] {
        add(&*ledger, vec![new_pack(1, size)], Vec::new()).await;
        let sizes: Vec<u64> = ok(ledger.packs().await).iter().map(|pack| pack.size).collect();
        assert_eq!(sizes, [expected]);
    }
    ok(ledger.collect(Collection { dying: vec![pack(1)], ..Collection::default() }).await);
    let again = Commit { packs: vec![new_pack(1, 30)], ..Commit::default() };
    let message = refused(ledger.commit(again).await, ErrorKind::Conflict, "blocks_dying");
    assert!(message.contains(&pack(1).to_string()), "{message}");
}

pub(super) async fn pins_are_recorded_renewed_and_ended(ledger: Arc<dyn Backend>) {
    assert_eq!(ok(ledger.pins(0).await), []);
    let full = Pin { base: Some(block(7)), owner: OTHER, ..pin(1, 100, &[3, 1]) };
    ok(ledger.pin(full.clone()).await);
    assert_eq!(ok(ledger.pins(0).await), [full]);
    let renewed = pin(1, 200, &[1, 2]);
    ok(ledger.pin(renewed.clone()).await);
    assert_eq!(ok(ledger.pins(0).await), [renewed]);
    ok(ledger.unpin(pin_id(1)).await);
    ok(ledger.unpin(pin_id(1)).await);
    assert_eq!(ok(ledger.pins(0).await), []);
}

pub(super) async fn pins_lapse_at_their_time(ledger: Arc<dyn Backend>) {
    ok(ledger.pin(pin(1, 100, &[])).await);
    ok(ledger.pin(pin(2, 200, &[])).await);
    for (now, expected) in [(99, &[1, 2][..]), (100, &[2]), (199, &[2]), (200, &[])] {
        let mut live: Vec<PinId> = ok(ledger.pins(now).await).into_iter().map(|pin| pin.id).collect();
        live.sort();
        assert_eq!(live, expected.iter().map(|number| pin_id(*number)).collect::<Vec<_>>(), "at {now}");
    }
}

pub(super) async fn a_commit_ends_pins(ledger: Arc<dyn Backend>) {
    ok(ledger.pin(pin(1, 100, &[])).await);
    ok(ledger.pin(pin(2, 100, &[])).await);
    let guards = vec![crate::Guard::PinLive { pin: pin_id(1) }];
    ok(ledger.commit(Commit { guards, unpin: vec![pin_id(1), pin_id(9)], ..Commit::default() }).await);
    assert_eq!(ok(ledger.pins(0).await), [pin(2, 100, &[])]);
}
