//! What is stored, and reading it.

use super::blocks::Blocks;
use super::leaves::Logs;
use super::refusal;
use crate::{Direction, JournalFilter, JournalState, Lease, Read, StoredEntry};
use samite_model::{Header, JournalId, KeyId, Position, Result, hash};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Everything of a ledger.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) journals: HashMap<JournalId, Journal>,
    /// In the order in which they were made.
    pub(super) order: Vec<JournalId>,
    pub(super) destroyed: BTreeSet<KeyId>,
    pub(super) blocks: Blocks,
    pub(super) logs: Logs,
}

/// A journal with its own entries and views.
#[derive(Clone)]
pub(super) struct Journal {
    pub(super) state: JournalState,
    pub(super) entries: BTreeMap<u64, StoredEntry>,
    /// Entries whose bytes cannot be read, as damage leaves them.
    pub(super) unreadable: BTreeSet<u64>,
    pub(super) rows: BTreeMap<RowKey, Vec<u8>>,
    pub(super) registers: BTreeMap<(u16, [u8; 16]), (u64, Vec<u8>)>,
    pub(super) lease: Option<HeldLease>,
}

/// Rows lie in the order in which they are looked up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    pub(super) kind: u16,
    pub(super) hash: [u8; 16],
    pub(super) seq: u64,
    /// The place among the rows of its entry.
    pub(super) place: usize,
}

/// The last lease of a journal. It stays when it was given up, since its writer may come back in the same epoch.
#[derive(Clone)]
pub(super) struct HeldLease {
    pub(super) lease: Lease,
    pub(super) released: bool,
    /// When it expires by what is durable: a renewal without a new epoch need not be.
    pub(super) durable: i64,
}

impl Journal {
    /// The seq of its first own entry.
    pub(super) fn first(&self) -> u64 {
        self.state.parent.map_or(0, |parent| parent.seq).saturating_add(1)
    }

    /// The link before its first own entry, for a state that is being made.
    pub(super) fn identity(state: &JournalState) -> hash::JournalIdentity {
        hash::JournalIdentity { id: state.id, family: state.family, owner: state.owner, kind: state.kind.code() }
    }
}

impl State {
    pub(super) fn journal(&self, journal: JournalId) -> Result<&Journal> {
        self.journals.get(&journal).ok_or_else(|| refusal::no_journal(journal))
    }

    pub(super) fn journal_mut(&mut self, journal: JournalId) -> Result<&mut Journal> {
        self.journals.get_mut(&journal).ok_or_else(|| refusal::no_journal(journal))
    }

    pub(super) fn list(&self, filter: &JournalFilter) -> Vec<JournalState> {
        let wanted = |state: &&JournalState| {
            filter.family.is_none_or(|family| state.family == family)
                && filter.kind.is_none_or(|kind| state.kind == kind)
                && filter.parent.is_none_or(|parent| state.parent.is_some_and(|position| position.journal == parent))
                && filter.prefix.as_ref().is_none_or(|(digits, of_family)| {
                    let id = if *of_family { state.family.to_string() } else { state.id.to_string() };
                    id.starts_with(digits.as_str())
                })
        };
        let journals = self.order.iter().filter_map(|id| self.journals.get(id));
        journals.map(|journal| &journal.state).filter(wanted).cloned().collect()
    }

    pub(super) fn read(&self, read: &Read) -> Result<Vec<StoredEntry>> {
        let journal = self.journal(read.journal)?;
        let from = read.from.max(journal.first());
        let to = if read.unchecked { read.to } else { read.to.min(journal.state.head) };
        let mut found = Vec::new();
        if from > to {
            return Ok(found);
        }
        let forward = read.direction == Direction::Forward;
        let range = journal.entries.range(from..=to).map(|(_, entry)| entry);
        let mut entries: Box<dyn Iterator<Item = &StoredEntry>> =
            if forward { Box::new(range) } else { Box::new(range.rev()) };
        let mut expected = Some(if forward { from } else { to });
        let mut last = None;
        while found.len() < read.limit {
            let Some(seq) = expected else { break };
            let entry = match entries.next() {
                Some(entry) if read.unchecked || entry.seq == seq => entry,
                None if read.unchecked => break,
                _ => return Err(refusal::missing(read.journal, seq)),
            };
            let seq = entry.seq;
            if journal.unreadable.contains(&seq) {
                return Err(refusal::unreadable(read.journal, seq));
            }
            if !read.unchecked && !fits(entry, last, forward) {
                return Err(refusal::changed(read.journal, seq));
            }
            last = Some(entry);
            expected = if forward { (seq < to).then(|| seq + 1) } else { (seq > from).then(|| seq - 1) };
            if !read.kinds.is_empty() {
                let kind = Header::decode(&entry.header)
                    .map_err(|error| error.context(format!("entry {seq} of journal {}", read.journal)))?
                    .kind;
                if !read.kinds.contains(&kind) {
                    continue;
                }
            }
            let payload = entry.payload.as_ref().filter(|_| read.payloads).cloned();
            found.push(StoredEntry { seq, header: entry.header.clone(), link: entry.link, payload });
        }
        Ok(found)
    }

    /// The journals that a position sees, from itself to the root, each with the last seq that it sees.
    pub(super) fn ancestry(&self, at: Position) -> Result<Vec<(&Journal, u64)>> {
        let mut chain = Vec::new();
        let mut next = Some(at);
        while let Some(Position { journal, seq }) = next {
            let journal = self.journal(journal)?;
            chain.push((journal, seq));
            next = journal.state.parent.map(|parent| Position { journal: parent.journal, seq: parent.seq.min(seq) });
        }
        Ok(chain)
    }
}

/// Whether an entry is in its place, and chained to the one that was read before it.
fn fits(entry: &StoredEntry, last: Option<&StoredEntry>, forward: bool) -> bool {
    let in_place = Header::decode(&entry.header).is_ok_and(|header| header.seq == entry.seq);
    let chained = |earlier: &StoredEntry, later: &StoredEntry| hash::link(earlier.link, &later.header) == later.link;
    in_place && last.is_none_or(|last| if forward { chained(last, entry) } else { chained(entry, last) })
}
