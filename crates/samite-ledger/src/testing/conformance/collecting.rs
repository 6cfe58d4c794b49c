//! Collections: marking packs dying, forgetting them, moving blocks.

use super::Backend;
use super::blocks::{BARE, OTHER, add, find, inline, new_pack, pack, packed, pin, pin_id, place};
use super::fixture::{append, block, entries, journal, ok, refused, root, state};
use crate::{Collection, NewBlock, PackState};
use samite_model::{ErrorKind, Link, PackId};
use std::sync::Arc;

/// Pack 1 with blocks 1 and 2, pack 2 with block 3, inline block 4.
async fn prepare(ledger: &dyn Backend) {
    let blocks =
        vec![packed(1, place(1, 0, 5)), packed(2, place(1, 5, 5)), packed(3, place(2, 0, 9)), inline(4, b"four")];
    add(ledger, vec![new_pack(1, 10), new_pack(2, 9)], blocks).await;
}

async fn packs(ledger: &dyn Backend) -> Vec<(PackId, PackState)> {
    ok(ledger.packs().await).into_iter().map(|pack| (pack.id, pack.state)).collect()
}

fn dying(number: u8) -> Collection {
    Collection { dying: vec![pack(number)], ..Collection::default() }
}

fn forgetting(number: u8) -> Collection {
    Collection { forget: vec![pack(number)], ..Collection::default() }
}

pub(super) async fn a_dying_pack_is_not_found(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    ok(ledger.collect(dying(1)).await);
    assert_eq!(find(&*ledger, &[1, 2, 3, 4]).await, [None, None, Some(place(2, 0, 9)), BARE]);
    assert_eq!(packs(&*ledger).await, [(pack(1), PackState::Dying), (pack(2), PackState::Live)]);
    // Its rows are there until it is forgotten.
    assert_eq!(ok(ledger.blocks(None, 9).await).len(), 4);
}

pub(super) async fn a_dying_pack_is_forgotten_with_its_blocks(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    ok(ledger.collect(dying(1)).await);
    ok(ledger.collect(forgetting(1)).await);
    assert_eq!(packs(&*ledger).await, [(pack(2), PackState::Live)]);
    let left: Vec<_> = ok(ledger.blocks(None, 9).await).into_iter().map(|row| row.id).collect();
    assert_eq!(left, [block(3), block(4)]);
}

pub(super) async fn a_live_pack_is_not_forgotten(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    let message = refused(ledger.collect(forgetting(1)).await, ErrorKind::Invalid, "pack_live");
    assert!(message.contains(&pack(1).to_string()), "{message}");
    // Not in the step that marks it either: a writer must have had the chance to see it dying.
    let both = Collection { forget: vec![pack(1)], ..dying(1) };
    refused(ledger.collect(both).await, ErrorKind::Invalid, "pack_live");
    assert_eq!(find(&*ledger, &[1]).await, [Some(place(1, 0, 5))]);
}

pub(super) async fn an_unseen_pin_stops_it(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    ok(ledger.pin(pin(1, 100, &[])).await);
    let message = refused(ledger.collect(dying(1)).await, ErrorKind::Conflict, "pin_live");
    assert!(message.contains(&pin_id(1).to_string()), "{message}");
    refused(
        ledger.collect(Collection { seen_pins: vec![pin_id(2)], ..dying(1) }).await,
        ErrorKind::Conflict,
        "pin_live",
    );
    ok(ledger.collect(Collection { seen_pins: vec![pin_id(2), pin_id(1)], ..dying(1) }).await);
    assert_eq!(find(&*ledger, &[1]).await, [None]);
    assert_eq!(ok(ledger.pins(0).await).len(), 1);
}

pub(super) async fn a_pinned_pack_does_not_die(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    ok(ledger.pin(pin(1, 100, &[3, 1])).await);
    let seen = |number, now| Collection { seen_pins: vec![pin_id(1)], now, ..dying(number) };
    refused(ledger.collect(seen(1, 0)).await, ErrorKind::Conflict, "pin_live");
    ok(ledger.collect(seen(2, 0)).await);
    ok(ledger.collect(seen(1, 100)).await);
    assert_eq!(find(&*ledger, &[1, 3]).await, [None, None]);
}

pub(super) async fn lapsed_pins_are_dropped(ledger: Arc<dyn Backend>) {
    ok(ledger.pin(pin(1, 100, &[])).await);
    ok(ledger.pin(pin(2, 101, &[])).await);
    ok(ledger.collect(Collection { seen_pins: vec![pin_id(2)], now: 100, ..Collection::default() }).await);
    assert_eq!(ok(ledger.pins(0).await), [pin(2, 101, &[])]);
}

pub(super) async fn a_moved_head_stops_it(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    root(&*ledger, 1, 1..=2).await;
    let seen = |link| Collection { seen_heads: vec![(journal(1), link)], ..dying(1) };
    let before = state(&*ledger, 1).await.head_link;
    ok(append(&*ledger, 1, entries(3..=3)).await);
    for link in [before, Link([0; 32])] {
        let message = refused(ledger.collect(seen(link)).await, ErrorKind::Conflict, "head_moved");
        assert!(message.contains(&journal(1).to_string()), "{message}");
    }
    assert_eq!(find(&*ledger, &[1]).await, [Some(place(1, 0, 5))]);
    ok(ledger.collect(seen(state(&*ledger, 1).await.head_link)).await);
    assert_eq!(find(&*ledger, &[1]).await, [None]);
}

pub(super) async fn a_new_journal_stops_it(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    root(&*ledger, 1, 1..=2).await;
    root(&*ledger, 2, 1..=2).await;
    ok(ledger.delete_journal(journal(2), 0).await);
    let seen = |count| Collection { seen_journals: Some(count), ..dying(1) };
    for count in [0, 1, 3] {
        refused(ledger.collect(seen(count)).await, ErrorKind::Conflict, "head_moved");
    }
    assert_eq!(find(&*ledger, &[1]).await, [Some(place(1, 0, 5))]);
    ok(ledger.collect(seen(2)).await);
    assert_eq!(find(&*ledger, &[1]).await, [None]);
}

pub(super) async fn moved_blocks_take_the_new_place(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    let moved = vec![packed(1, place(3, 0, 5)), packed(4, place(3, 5, 4))];
    let step = Collection { moved, packs: vec![new_pack(3, 9)], ..dying(1) };
    ok(ledger.collect(step).await);
    assert_eq!(find(&*ledger, &[1, 2, 4]).await, [Some(place(3, 0, 5)), None, Some(place(3, 5, 4))]);
    assert_eq!(ok(ledger.inline_blocks(vec![block(4)]).await), [None]);
    ok(ledger.collect(forgetting(1)).await);
    assert_eq!(find(&*ledger, &[1, 2, 4]).await, [Some(place(3, 0, 5)), None, Some(place(3, 5, 4))]);
    assert_eq!(packs(&*ledger).await, [(pack(2), PackState::Live), (pack(3), PackState::Live)]);
}

pub(super) async fn blocks_are_forgotten(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    add(&*ledger, Vec::new(), vec![NewBlock { owner: OTHER, ..inline(5, b"five") }]).await;
    ok(ledger.collect(Collection { forget_blocks: vec![block(4), block(1), block(9)], ..Collection::default() }).await);
    assert_eq!(find(&*ledger, &[1, 2, 4, 5]).await, [None, Some(place(1, 5, 5)), None, BARE]);
    assert_eq!(ok(ledger.inline_blocks(vec![block(4)]).await), [None]);
}

pub(super) async fn a_refused_collection_changes_nothing(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    ok(ledger.collect(dying(2)).await);
    ok(ledger.pin(pin(1, 50, &[])).await);
    ok(ledger.pin(pin(2, 500, &[])).await);
    let step = |seen_pins| Collection {
        seen_pins,
        now: 100,
        dying: vec![pack(1)],
        forget: vec![pack(2)],
        forget_blocks: vec![block(4)],
        moved: vec![packed(1, place(3, 0, 5))],
        packs: vec![new_pack(3, 5)],
        seen_heads: Vec::new(),
        seen_journals: Some(0),
    };
    refused(ledger.collect(step(Vec::new())).await, ErrorKind::Conflict, "pin_live");
    assert_eq!(find(&*ledger, &[1, 4]).await, [Some(place(1, 0, 5)), BARE]);
    assert_eq!(packs(&*ledger).await, [(pack(1), PackState::Live), (pack(2), PackState::Dying)]);
    assert_eq!(ok(ledger.pins(0).await).len(), 2);
    let unknown_pack = Collection { packs: Vec::new(), ..step(vec![pin_id(2)]) };
    refused(ledger.collect(unknown_pack).await, ErrorKind::Conflict, "blocks_dying");
    assert_eq!(ok(ledger.blocks(None, 9).await).len(), 4);
    ok(ledger.collect(step(vec![pin_id(2)])).await);
    assert_eq!(packs(&*ledger).await, [(pack(1), PackState::Dying), (pack(3), PackState::Live)]);
    assert_eq!(find(&*ledger, &[1, 4]).await, [Some(place(3, 0, 5)), None]);
}

pub(super) async fn a_step_can_be_repeated(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    for _ in 0..2 {
        ok(ledger.collect(dying(1)).await);
    }
    for _ in 0..2 {
        ok(ledger.collect(Collection { forget_blocks: vec![block(4)], ..forgetting(1) }).await);
    }
    ok(ledger.collect(dying(1)).await);
    assert_eq!(packs(&*ledger).await, [(pack(2), PackState::Live)]);
}
