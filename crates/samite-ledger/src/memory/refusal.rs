//! The errors of the contract, worded once.

use crate::{MAXIMUM_LEAF_DRAFT, NewEntry};
use samite_model::{BlockId, Error, JournalId, KeyId, PackId, PinId, Result};

/// Refuses a leaf that cannot be made, before anything is written.
pub(crate) fn check_leaf(entry: &NewEntry, is_made: bool) -> Result<()> {
    match &entry.leaf {
        Some(_) if !is_made => Err(no_finisher()),
        Some(draft) if draft.len() > MAXIMUM_LEAF_DRAFT => Err(Error::invalid(
            "leaf_draft",
            format!("a leaf's draft has {} bytes; {MAXIMUM_LEAF_DRAFT} is the most", draft.len()),
        )),
        _ => Ok(()),
    }
}

/// Refuses to take the last leaf of a log away, or one that there is not.
pub(crate) fn check_prune(log: u64, before: u64, size: u64) -> Result<()> {
    if before < size {
        return Ok(());
    }
    Err(Error::invalid("prune_beyond", format!("log {log} has {size} leaves, and cannot begin at {before}"))
        .hint("name a leaf that the log has"))
}

pub(crate) fn no_finisher() -> Error {
    Error::invalid("no_finisher", "the ledger was opened without an audit log")
        .hint("open it with a finisher, or write entries without leaves")
}

pub(crate) fn no_journal(journal: JournalId) -> Error {
    Error::not_found("no_journal", format!("there is no journal {journal}")).hint("list the journals")
}

pub(crate) fn journal_exists(journal: JournalId) -> Error {
    Error::conflict("journal_exists", format!("journal {journal} exists already"))
}

pub(crate) fn journal_closed(journal: JournalId) -> Error {
    Error::conflict("journal_closed", format!("journal {journal} was deleted and takes no entries"))
        .hint("fork it at an entry that was kept")
}

pub(crate) fn fork_point(parent: JournalId, seq: u64, first: u64, head: u64) -> Error {
    Error::invalid(
        "fork_point",
        format!("journal {parent} has no entry of its own at {seq}: its own entries are {first} to {head}"),
    )
    .hint("fork the journal that the entry is stored in")
}

pub(crate) fn head_moved(journal: JournalId, head: u64, expected: u64) -> Error {
    Error::conflict("head_moved", format!("journal {journal} is at {head}, not at {expected}"))
        .hint("read the new entries, then decide again")
}

pub(crate) fn epoch_passed(journal: JournalId, epoch: u64, expected: u64) -> Error {
    Error::fenced("epoch_passed", format!("journal {journal} is in epoch {epoch}, not in {expected}"))
        .hint("another writer took over: stop writing")
}

pub(crate) fn row_exists(journal: JournalId, kind: u16, at: JournalId, seq: u64) -> Error {
    Error::conflict(
        "row_exists",
        format!("the ancestry of journal {journal} has the row of kind {kind} already, at {at}@{seq}"),
    )
    .hint("read the row and compare")
}

pub(crate) fn registers_moved(journal: JournalId, version: u64, expected: u64) -> Error {
    Error::conflict(
        "registers_moved",
        format!("the registers of journal {journal} are at version {version}, not at {expected}"),
    )
    .hint("read the registers again, then decide again")
}

pub(crate) fn key_destroyed(key: KeyId) -> Error {
    Error::denied("key_destroyed", format!("key {key} was destroyed"))
        .hint("the data subject was erased; read the keystore again")
}

pub(crate) fn pin_lapsed(pin: PinId) -> Error {
    Error::conflict("pin_lapsed", format!("pin {pin} is no longer recorded"))
        .hint("pin again and look for the blocks again")
}

pub(crate) fn pin_live(pin: PinId) -> Error {
    Error::conflict("pin_live", format!("pin {pin} keeps what is to be collected")).hint("read the pins and mark again")
}

pub(crate) fn block_dying(block: BlockId) -> Error {
    Error::conflict("blocks_dying", format!("block {block} is unknown or its pack is dying"))
        .hint("store the block again")
}

pub(crate) fn pack_dying(pack: PackId) -> Error {
    Error::conflict("blocks_dying", format!("pack {pack} is unknown or dying")).hint("write another pack")
}

pub(crate) fn pack_live(pack: PackId) -> Error {
    Error::invalid("pack_live", format!("pack {pack} is live and cannot be forgotten"))
        .hint("mark it dying first, in a collection of its own")
}

pub(crate) fn fork_depends(journal: JournalId, keep_to: u64, fork: JournalId, seq: u64) -> Error {
    Error::conflict(
        "fork_depends",
        format!("journal {journal} cannot be cut after {keep_to}: journal {fork} was forked from it at {seq}"),
    )
    .hint(format!("keep it up to {seq}, or delete the fork first"))
}

pub(crate) fn link_moved(journal: JournalId) -> Error {
    Error::conflict("head_moved", format!("the head of journal {journal} moved since it was marked from"))
        .hint("mark again")
}

pub(crate) fn journals_made(journals: u64, seen: u64) -> Error {
    Error::conflict("head_moved", format!("there are {journals} journals, not the {seen} that were marked from"))
        .hint("mark from the new ones as well")
}

pub(crate) fn unreadable(journal: JournalId, seq: u64) -> Error {
    Error::corrupt("unreadable_entry", format!("the stored bytes of entry {seq} of journal {journal} cannot be read"))
        .hint("run verify; what is intact can still be read")
}

pub(crate) fn missing(journal: JournalId, seq: u64) -> Error {
    Error::corrupt("missing_entry", format!("entry {seq} of journal {journal} is missing"))
        .hint("run verify; what is intact can still be read")
}

pub(crate) fn changed(journal: JournalId, seq: u64) -> Error {
    Error::corrupt("changed_entry", format!("the stored bytes of entry {seq} of journal {journal} were changed"))
        .hint("run verify; what is intact can still be read")
}
