//! Index rows along an ancestry.

use super::Backend;
use super::fixture::{append, at, entry, entry_with_row, fork, found, journal, making, ok, refused, root, row, state};
use crate::{Generation, NewEntry, RowQuery};
use samite_model::ErrorKind;
use std::sync::Arc;

pub(super) async fn rows_are_found_newest_first(ledger: Arc<dyn Backend>) {
    let two = NewEntry { rows: vec![row(1, 8, 21), row(1, 7, 22)], ..entry(2) };
    ok(ledger
        .commit(making(1, None, vec![entry_with_row(1, row(1, 7, 11)), two, entry_with_row(3, row(1, 7, 31))]))
        .await);
    let end = at(1, u64::MAX);
    assert_eq!(found(&*ledger, end, 1, &[]).await, [(at(1, 3), 31), (at(1, 2), 21), (at(1, 2), 22), (at(1, 1), 11)]);
    assert_eq!(found(&*ledger, end, 1, &[7]).await, [(at(1, 3), 31), (at(1, 2), 22), (at(1, 1), 11)]);
    assert_eq!(found(&*ledger, end, 1, &[8, 7, 7]).await.len(), 4);
    for (limit, expected) in [(0, &[][..]), (1, &[3]), (3, &[3, 2, 2])] {
        let rows = ok(ledger.rows(RowQuery { at: end, kind: 1, hashes: Vec::new(), limit }).await);
        assert_eq!(rows.iter().map(|row| row.position.seq).collect::<Vec<_>>(), expected);
    }
    let rows = ok(ledger.rows(RowQuery { at: end, kind: 1, hashes: vec![[8; 16]], limit: 9 }).await);
    assert_eq!(rows.iter().map(|row| row.hash).collect::<Vec<_>>(), [[8; 16]]);
}

/// Journal 1 has rows at 1 to 4; journal 2 is forked at 3 and has rows at 4 and 5; journal 3 is forked from it at 4.
async fn family_tree(ledger: &dyn Backend) {
    let with_row = |number: u8| entry_with_row(number, row(1, 7, number));
    ok(ledger.commit(making(1, None, (1..=4).map(with_row).collect())).await);
    ok(ledger.commit(making(2, Some(at(1, 3)), vec![with_row(24), with_row(25)])).await);
    ok(ledger.commit(making(3, Some(at(2, 4)), vec![with_row(35)])).await);
}

pub(super) async fn rows_are_read_along_the_ancestry(ledger: Arc<dyn Backend>) {
    family_tree(&*ledger).await;
    let inherited = [(at(1, 3), 3), (at(1, 2), 2), (at(1, 1), 1)];
    assert_eq!(
        found(&*ledger, at(3, u64::MAX), 1, &[7]).await,
        [&[(at(3, 5), 35), (at(2, 4), 24)][..], &inherited].concat()
    );
    assert_eq!(
        found(&*ledger, at(2, u64::MAX), 1, &[]).await,
        [&[(at(2, 5), 25), (at(2, 4), 24)][..], &inherited].concat()
    );
    assert_eq!(found(&*ledger, at(1, u64::MAX), 1, &[7]).await.len(), 4);
    let limited = ok(ledger.rows(RowQuery { at: at(3, 9), kind: 1, hashes: Vec::new(), limit: 3 }).await);
    assert_eq!(limited.iter().map(|row| row.position).collect::<Vec<_>>(), [at(3, 5), at(2, 4), at(1, 3)]);
}

pub(super) async fn a_position_bounds_what_is_seen(ledger: Arc<dyn Backend>) {
    family_tree(&*ledger).await;
    for (position, expected) in [
        (at(3, 5), &[35, 24, 3, 2, 1][..]),
        (at(3, 4), &[24, 3, 2, 1]),
        (at(3, 3), &[3, 2, 1]),
        (at(3, 2), &[2, 1]),
        (at(2, 4), &[24, 3, 2, 1]),
        (at(1, 2), &[2, 1]),
        (at(3, 0), &[]),
        (at(1, 0), &[]),
    ] {
        let values: Vec<u8> = found(&*ledger, position, 1, &[7]).await.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, expected, "{position:?}");
    }
    let unknown = RowQuery { at: at(9, 1), kind: 1, hashes: Vec::new(), limit: 1 };
    refused(ledger.rows(unknown).await, ErrorKind::NotFound, "no_journal");
}

pub(super) async fn kinds_and_hashes_are_apart(ledger: Arc<dyn Backend>) {
    let rows = vec![row(1, 7, 1), row(2, 7, 2), row(1, 255, 3), row(u16::MAX, 0, 4)];
    ok(ledger.commit(making(1, None, vec![NewEntry { rows, ..entry(1) }])).await);
    for (kind, hashes, expected) in [
        (1, &[][..], &[1, 3][..]),
        (1, &[7], &[1]),
        (2, &[7], &[2]),
        (2, &[255], &[]),
        (3, &[], &[]),
        (u16::MAX, &[], &[4]),
    ] {
        let values: Vec<u8> =
            found(&*ledger, at(1, 1), kind, hashes).await.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, expected, "{kind} {hashes:?}");
    }
}

pub(super) async fn replaced_rows_are_the_only_ones(ledger: Arc<dyn Backend>) {
    family_tree(&*ledger).await;
    let rows = vec![(2, row(1, 7, 92)), (3, row(2, 7, 93)), (4, row(1, 7, 94))];
    ok(ledger.replace_views(vec![Generation { journal: journal(1), rows, registers: Vec::new(), head: 4 }]).await);
    assert_eq!(found(&*ledger, at(1, 9), 1, &[7]).await, [(at(1, 4), 94), (at(1, 2), 92)]);
    assert_eq!(found(&*ledger, at(2, 9), 1, &[7]).await, [(at(2, 5), 25), (at(2, 4), 24), (at(1, 2), 92)]);
    assert_eq!(found(&*ledger, at(2, 9), 2, &[]).await, [(at(1, 3), 93)]);
    ok(append(&*ledger, 1, vec![entry_with_row(5, row(1, 7, 95))]).await);
    assert_eq!(found(&*ledger, at(1, 9), 1, &[7]).await, [(at(1, 5), 95), (at(1, 4), 94), (at(1, 2), 92)]);
}

pub(super) async fn a_stale_rebuild_is_refused(ledger: Arc<dyn Backend>) {
    family_tree(&*ledger).await;
    root(&*ledger, 5, 1..=1).await;
    fork(&*ledger, 6, at(5, 1), 2..=2).await;
    let (before, versions) = (found(&*ledger, at(3, 9), 1, &[]).await, state(&*ledger, 1).await.registers);
    let empty = |number, head| Generation { journal: journal(number), rows: Vec::new(), registers: Vec::new(), head };
    let stale = ledger.replace_views(vec![empty(1, 4), empty(2, 5), empty(3, 4)]).await;
    let message = refused(stale, ErrorKind::Conflict, "head_moved");
    assert!(message.contains(&journal(3).to_string()), "{message}");
    refused(ledger.replace_views(vec![empty(1, 4), empty(9, 0)]).await, ErrorKind::NotFound, "no_journal");
    assert_eq!(found(&*ledger, at(3, 9), 1, &[]).await, before);
    assert_eq!(state(&*ledger, 1).await.registers, versions);
}
