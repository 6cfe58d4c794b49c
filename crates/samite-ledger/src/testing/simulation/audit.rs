//! What must hold, whatever happened.

use super::operation::{COUNTER, DEDUPE, What};
use super::record::Record;
use super::{LEASE, World};
use crate::verify::{Options, verify};
use crate::{JournalFilter, JournalState, JournalStatus, Ledger, MemoryLedger, Read, RowQuery, StoredEntry};
use samite_host::Sleep;
use samite_model::{EntryId, EntryKind, Header, JournalId, Position, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Looks on while the writers work: epochs never go down, heads only by deletion.
pub(super) async fn watch(world: Rc<World>) {
    while world.unfinished.get() > 0 {
        if let Ok(journals) = world.store.truth().journals(JournalFilter::default()).await {
            see(&mut world.record.borrow_mut(), &journals);
        }
        world.time.sleep(LEASE.unsigned_abs() / 4).await;
    }
}

fn see(record: &mut Record, journals: &[JournalState]) {
    for state in journals {
        let (epoch, head) = record.seen.insert(state.id, (state.epoch, state.head)).unwrap_or_default();
        if state.epoch < epoch {
            record.violations.push(format!("the epoch of {} went from {epoch} to {}", state.id, state.epoch));
        }
        if state.head < head && state.status == JournalStatus::Open {
            record.violations.push(format!("the head of {} went from {head} to {}", state.id, state.head));
        }
    }
}

/// Looks at everything at the end. Returns how many entries there are, and a digest of them.
pub(super) async fn at_end(world: &World) -> std::result::Result<(u64, u64), String> {
    let truth = world.store.truth();
    let mut record = std::mem::take(&mut *world.record.borrow_mut());
    let outcome = everything(truth, &mut record).await.map_err(|error| format!("the audit failed: {error}"));
    let violations = std::mem::take(&mut record.violations);
    world.record.replace(record);
    let result = outcome?;
    if violations.is_empty() { Ok(result) } else { Err(violations.join("\n")) }
}

async fn everything(truth: &MemoryLedger, record: &mut Record) -> Result<(u64, u64)> {
    let report = verify(truth, Options::default()).await?;
    record.violations.extend(report.findings.into_iter().map(|finding| finding.message));
    let journals = truth.journals(JournalFilter::default()).await?;
    see(record, &journals);
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut count = 0_u64;
    let mut stored: BTreeMap<JournalId, Vec<(Header, StoredEntry)>> = BTreeMap::new();
    for state in &journals {
        let entries = truth.read(Read::range(state.id, 0, u64::MAX)).await?;
        for byte in entries.iter().flat_map(|entry| entry.link.as_bytes()) {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        count = count.saturating_add(u64::try_from(entries.len()).unwrap_or(u64::MAX));
        let decoded = entries.into_iter().map(|entry| Ok((Header::decode(&entry.header)?, entry)));
        stored.insert(state.id, decoded.collect::<Result<_>>()?);
    }
    for state in &journals {
        let entries = stored.get(&state.id).map(Vec::as_slice).unwrap_or_default();
        writers_held_their_epochs(record, state, entries);
        deletions_kept_what_was_asked(record, state);
        counts_add_up(truth, record, state, entries).await?;
        nothing_was_done_twice(truth, record, state).await?;
    }
    nothing_acknowledged_is_lost(record, &journals, &stored);
    operations_are_whole(record, &journals, &stored);
    Ok((count, digest))
}

/// Epochs do not go down along a journal, and every entry under a lease is of the writer that its epoch was granted to.
fn writers_held_their_epochs(record: &mut Record, state: &JournalState, entries: &[(Header, StoredEntry)]) {
    let mut last = 0;
    // Who counts does so without a lease.
    for (header, entry) in entries.iter().filter(|(header, _)| header.kind != EntryKind::EVENT) {
        if header.epoch < last {
            record
                .violations
                .push(format!("{}@{} was appended in epoch {} after {last}", state.id, entry.seq, header.epoch));
        }
        last = header.epoch;
        if record.granted.get(&(state.id, header.epoch)) != Some(&header.actor) {
            record.violations.push(format!(
                "{}@{} was appended by {} in epoch {}, which was another's",
                state.id, entry.seq, header.actor, header.epoch
            ));
        }
    }
}

fn deletions_kept_what_was_asked(record: &mut Record, state: &JournalState) {
    if state.status == JournalStatus::Deleted {
        let first = state.parent.map_or(0, |parent| parent.seq);
        let asked = record.deletions.get(&state.id);
        let right = asked.is_some_and(|asked| asked.iter().any(|keep_to| state.head <= *keep_to.max(&first)));
        if !right {
            record.violations.push(format!("{} was cut to {}, which nobody asked for", state.id, state.head));
        }
    }
}

/// The register of a journal counts its counting entries.
async fn counts_add_up(
    truth: &MemoryLedger,
    record: &mut Record,
    state: &JournalState,
    entries: &[(Header, StoredEntry)],
) -> Result<()> {
    if state.status == JournalStatus::Deleted {
        return Ok(());
    }
    let (_, registers) = truth.registers(state.id).await?;
    let stored = registers.iter().find(|register| (register.kind, register.hash) == COUNTER);
    let value = stored.and_then(|register| register.value.first()).copied().map_or(0, usize::from);
    let counted = entries.iter().filter(|(header, _)| header.kind == EntryKind::EVENT).count();
    if value != counted {
        record.violations.push(format!("{} counted to {value} in {counted} entries", state.id));
    }
    Ok(())
}

/// No dedupe row lies twice along an ancestry.
async fn nothing_was_done_twice(truth: &MemoryLedger, record: &mut Record, state: &JournalState) -> Result<()> {
    let at = Position { journal: state.id, seq: u64::MAX };
    let rows = truth.rows(RowQuery { at, kind: DEDUPE, hashes: Vec::new(), limit: usize::MAX }).await?;
    let mut seen: BTreeMap<[u8; 16], Position> = BTreeMap::new();
    for row in rows {
        if let Some(other) = seen.insert(row.hash, row.position) {
            record.violations.push(format!("one operation was done at {other:?} and at {:?}", row.position));
        }
        if !record.attempted.contains_key(&row.hash) {
            record.violations.push(format!("{:?} was attempted by nobody", row.position));
        }
    }
    Ok(())
}

/// Every acknowledged operation is where it was said to be, unless a deletion took it.
fn nothing_acknowledged_is_lost(
    record: &mut Record,
    journals: &[JournalState],
    stored: &BTreeMap<JournalId, Vec<(Header, StoredEntry)>>,
) {
    let states: BTreeMap<JournalId, &JournalState> = journals.iter().map(|state| (state.id, state)).collect();
    for (id, at) in &record.acknowledged {
        let Some(operation) = record.attempted.get(id) else { continue };
        let deleted =
            states.get(&at.journal).is_some_and(|state| state.status == JournalStatus::Deleted && at.seq > state.head);
        let entries = stored.get(&at.journal).map(Vec::as_slice).unwrap_or_default();
        let found = entries.iter().find(|(_, entry)| entry.seq == at.seq).map(|(header, _)| header.id);
        if !deleted && found != Some(operation.entry_id(0)) {
            record.violations.push(format!("{operation:?}, acknowledged at {at:?}, is lost: {found:?} is there"));
        }
    }
    for fork in &record.forked {
        if states.get(fork).is_none_or(|state| state.parent.is_none()) {
            record.violations.push(format!("the acknowledged fork {fork} is lost"));
        }
    }
}

/// The entries of an operation are all there, one after the other, or none is.
fn operations_are_whole(
    record: &mut Record,
    journals: &[JournalState],
    stored: &BTreeMap<JournalId, Vec<(Header, StoredEntry)>>,
) {
    let deleted: BTreeSet<JournalId> =
        journals.iter().filter(|state| state.status == JournalStatus::Deleted).map(|state| state.id).collect();
    let mut places: BTreeMap<EntryId, Vec<Position>> = BTreeMap::new();
    for (journal, entries) in stored {
        for (header, entry) in entries {
            places.entry(header.id).or_default().push(Position { journal: *journal, seq: entry.seq });
        }
    }
    for operation in record.attempted.values().filter(|operation| operation.what != What::Fork) {
        let positions: Vec<&[Position]> = (0..operation.entries())
            .map(|number| places.get(&operation.entry_id(number)).map(Vec::as_slice).unwrap_or_default())
            .collect();
        let none = positions.iter().all(|places| places.is_empty());
        let start = positions.first().and_then(|places| places.first()).copied();
        let whole = start.is_some_and(|start| {
            (start.seq..).zip(&positions).all(|(seq, places)| **places == [Position { journal: start.journal, seq }])
        });
        if !none && !whole && !operation.journal.is_some_and(|journal| deleted.contains(&journal)) {
            record.violations.push(format!("{operation:?} is there in part: {positions:?}"));
        }
    }
}
