//! Registers: the rows that are replaced.

use super::Backend;
use super::fixture::{append, at, entries, entry, fork, journal, making, ok, refused, root, state};
use crate::{Generation, NewEntry, Register, RegisterChange};
use samite_model::ErrorKind;
use std::sync::Arc;

fn set(kind: u16, hash: u8, value: u8) -> RegisterChange {
    RegisterChange::Set { kind, hash: [hash; 16], value: vec![value] }
}

fn clear(kind: u16, hash: u8) -> RegisterChange {
    RegisterChange::Clear { kind, hash: [hash; 16] }
}

fn register(kind: u16, hash: u8, seq: u64, value: u8) -> Register {
    Register { kind, hash: [hash; 16], seq, value: vec![value] }
}

fn changing(number: u8, registers: Vec<RegisterChange>) -> Vec<NewEntry> {
    vec![NewEntry { registers, ..entry(number) }]
}

pub(super) async fn a_register_keeps_its_last_value(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, changing(1, vec![set(2, 9, 11), set(1, 8, 12), set(1, 7, 13)]))).await);
    ok(append(&*ledger, 1, changing(2, vec![set(1, 8, 21), clear(2, 9), set(2, 1, 22)])).await);
    let (_, registers) = ok(ledger.registers(journal(1)).await);
    assert_eq!(registers, [register(1, 7, 1, 13), register(1, 8, 2, 21), register(2, 1, 2, 22)]);
    // Changes of one entry happen in their order.
    ok(append(&*ledger, 1, changing(3, vec![set(1, 7, 31), clear(1, 7), set(1, 8, 32), set(1, 8, 33)])).await);
    let (_, registers) = ok(ledger.registers(journal(1)).await);
    assert_eq!(registers, [register(1, 8, 3, 33), register(2, 1, 2, 22)]);
    refused(ledger.registers(journal(9)).await, ErrorKind::NotFound, "no_journal");
}

pub(super) async fn the_version_counts_changes(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    let mut last = 0;
    for (number, change, moves) in [
        (2, set(1, 1, 1), true),
        (3, set(1, 1, 1), true),
        (4, clear(1, 2), false),
        (5, clear(1, 1), true),
        (6, clear(1, 1), false),
    ] {
        ok(append(&*ledger, 1, changing(number, vec![change.clone()])).await);
        let (version, _) = ok(ledger.registers(journal(1)).await);
        assert_eq!(version > last, moves, "{change:?}: {last}, then {version}");
        assert!(version >= last);
        assert_eq!(state(&*ledger, 1).await.registers, version);
        last = version;
    }
    ok(append(&*ledger, 1, entries(7..=8)).await);
    assert_eq!(ok(ledger.registers(journal(1)).await).0, last);
}

pub(super) async fn a_fork_has_registers_of_its_own(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, changing(1, vec![set(1, 1, 1)]))).await);
    fork(&*ledger, 2, at(1, 1), 2..=2).await;
    assert_eq!(ok(ledger.registers(journal(2)).await), (0, Vec::new()));
    ok(append(&*ledger, 2, changing(3, vec![set(1, 1, 2)])).await);
    assert_eq!(ok(ledger.registers(journal(1)).await).1, [register(1, 1, 1, 1)]);
    assert_eq!(ok(ledger.registers(journal(2)).await).1, [register(1, 1, 3, 2)]);
}

pub(super) async fn replaced_registers_are_the_only_ones(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, changing(1, vec![set(1, 1, 1), set(1, 2, 2)]))).await);
    let (before, _) = ok(ledger.registers(journal(1)).await);
    let registers = vec![register(1, 2, 1, 9), register(3, 0, 1, 8)];
    let generation = Generation { journal: journal(1), rows: Vec::new(), registers: registers.clone(), head: 1 };
    ok(ledger.replace_views(vec![generation]).await);
    let (after, found) = ok(ledger.registers(journal(1)).await);
    assert_eq!(found, registers);
    assert!(after > before, "a rebuild must fail the guards of those who read before it: {before}, then {after}");
}
