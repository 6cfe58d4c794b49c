//! The views of long-term memory. Pure: the same functions serve the append and the rebuild.

use crate::log::Entry;
use crate::views::{IndexHash, Projection, row};
use samite_model::memory::{Asserted, Namespace, Pinned, Promoted, Record, Retracted};
use samite_model::{EntryKind, Fingerprint, RecordId, Result};
use serde_json::json;

/// Where something is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryRow {
    /// The kind of row.
    pub(crate) kind: u16,
    /// The hash.
    pub(crate) hash: [u8; 16],
}

/// The keyed hash of what a record says, by whom it is vouched for and where it is from: with it the same is known again. When what
/// says the same has ended, the next is another one: it comes after that.
pub(crate) fn content(hash: &dyn IndexHash, record: &Record, after: Option<RecordId>) -> Result<Fingerprint> {
    let said = json!({
        "kind": record.kind, "text": record.text, "metadata": record.metadata, "edge": record.edge, "valid": record.valid,
        "trust": record.provenance.trust, "source": record.provenance.source, "previous": record.previous, "after": after,
    });
    hash.hash("memory-content", &[&samite_model::json::canonical(&said)]).map(Fingerprint)
}

/// The row of content.
pub(crate) const fn content_row(content: Fingerprint) -> MemoryRow {
    MemoryRow { kind: row::MEMORY_CONTENT, hash: content.0 }
}

/// The row of the end of one of a record's lives.
pub(crate) fn ended_row(hash: &dyn IndexHash, record: RecordId, life: u32) -> Result<MemoryRow> {
    let hash = hash.hash("memory-ended", &[record.as_bytes(), &life.to_be_bytes()])?;
    Ok(MemoryRow { kind: row::MEMORY_ENDED, hash })
}

/// The hash of a namespace on a branch.
pub(crate) fn on_branch(hash: &dyn IndexHash, namespace: &Namespace) -> Result<MemoryRow> {
    Ok(MemoryRow { kind: row::MEMORY_ON_BRANCH, hash: hash.hash("memory-namespace", &[&namespace.encode()])? })
}

/// A record: found by its id and by what it says; the one whose place it takes has ended.
pub(crate) fn asserted(hash: &dyn IndexHash, asserted: &Asserted) -> Result<Projection> {
    if asserted.namespace.is_some() {
        return operated(hash, asserted.namespace.as_ref());
    }
    let id = *asserted.record.record.as_bytes();
    let content = content_row(asserted.content);
    let projection = Projection::default().row(row::MEMORY_RECORD, id, Vec::new());
    let projection = projection.row(content.kind, content.hash, id.to_vec());
    match &asserted.replaces {
        Some(replaces) => ended(projection, hash, replaces.record, replaces.life),
        None => Ok(projection),
    }
}

/// A record that ended.
pub(crate) fn retracted(hash: &dyn IndexHash, retracted: &Retracted) -> Result<Projection> {
    match &retracted.namespace {
        Some(namespace) => operated(hash, Some(namespace)),
        None => ended(Projection::default(), hash, retracted.record, retracted.life),
    }
}

fn ended(projection: Projection, hash: &dyn IndexHash, record: RecordId, life: u32) -> Result<Projection> {
    let ended = ended_row(hash, record, life)?;
    Ok(projection.row(ended.kind, ended.hash, Vec::new()))
}

/// What is done on a branch is found by its namespace; in a namespace's own journal everything is its.
pub(crate) fn operated(hash: &dyn IndexHash, namespace: Option<&Namespace>) -> Result<Projection> {
    let Some(namespace) = namespace else { return Ok(Projection::default()) };
    let found = on_branch(hash, namespace)?;
    Ok(Projection::default().row(found.kind, found.hash, Vec::new()))
}

/// What an entry that does something to a namespace adds to the views.
pub(crate) fn of(hash: &dyn IndexHash, entry: &Entry) -> Result<Projection> {
    match entry.header.kind {
        EntryKind::MEMORY_ASSERTED => asserted(hash, &entry.json()?),
        EntryKind::MEMORY_RETRACTED => retracted(hash, &entry.json()?),
        EntryKind::MEMORY_PINNED => operated(hash, entry.json::<Pinned>()?.namespace.as_ref()),
        EntryKind::MEMORY_PROMOTED => operated(hash, Some(&entry.json::<Promoted>()?.namespace)),
        _ => Ok(Projection::default()),
    }
}
