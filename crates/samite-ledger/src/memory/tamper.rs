//! Damage behind the ledger's back, for tests of what looks for it.

use super::MemoryLedger;
use super::state::Journal;
use samite_model::{Error, JournalId, Result};

/// What happens to stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tampering {
    /// One bit of an entry's header is flipped (its number is taken modulo the header's bits).
    FlipHeader {
        /// The entry.
        seq: u64,
        /// The bit.
        bit: usize,
    },
    /// One bit of an entry's link is flipped.
    FlipLink {
        /// The entry.
        seq: u64,
        /// The bit.
        bit: usize,
    },
    /// One bit of an entry's sealed payload is flipped.
    FlipPayload {
        /// The entry.
        seq: u64,
        /// The bit.
        bit: usize,
    },
    /// An entry is gone.
    Remove {
        /// The entry.
        seq: u64,
    },
    /// Two entries have each other's place, with all that belongs to them.
    Swap {
        /// One entry.
        a: u64,
        /// The other.
        b: u64,
    },
    /// All entries after this one are gone; the head still names the last.
    Cut {
        /// The last entry left.
        after: u64,
    },
    /// The head and its link are those of an older entry; the entries after it are still stored.
    MoveHead {
        /// The entry that the head names.
        seq: u64,
    },
    /// One bit of the link at the head is flipped.
    FlipHeadLink {
        /// The bit.
        bit: usize,
    },
    /// An entry's bytes can no longer be read.
    MakeUnreadable {
        /// The entry.
        seq: u64,
    },
}

fn flip(bytes: &mut [u8], bit: usize) {
    let bits = bytes.len().saturating_mul(8).max(1);
    if let Some(byte) = bytes.get_mut(bit % bits / 8) {
        *byte ^= 1 << (bit % 8);
    }
}

impl MemoryLedger {
    /// Loses what the contract does not promise to be durable: renewals of leases, and that they were given up.
    pub(crate) fn lose_volatile(&self) {
        for journal in self.state().journals.values_mut() {
            if let Some(held) = &mut journal.lease {
                held.lease.expires = held.durable;
                held.released = false;
            }
        }
    }

    /// Damages a journal's stored bytes.
    ///
    /// # Errors
    /// `not_found` when there is no such journal or entry.
    pub fn tamper(&self, journal: JournalId, tampering: Tampering) -> Result<()> {
        let mut state = self.state();
        let done = apply(state.journal_mut(journal)?, tampering);
        done.ok_or_else(|| Error::not_found("no_entry", format!("journal {journal} has no entry for {tampering:?}")))
    }
}

fn apply(journal: &mut Journal, tampering: Tampering) -> Option<()> {
    match tampering {
        Tampering::FlipHeader { seq, bit } => flip(&mut journal.entries.get_mut(&seq)?.header, bit),
        Tampering::FlipLink { seq, bit } => flip(&mut journal.entries.get_mut(&seq)?.link.0, bit),
        Tampering::FlipPayload { seq, bit } => flip(journal.entries.get_mut(&seq)?.payload.as_mut()?, bit),
        Tampering::Remove { seq } => drop(journal.entries.remove(&seq)?),
        Tampering::Swap { a, b } => {
            let (mut first, mut second) = (journal.entries.get(&a)?.clone(), journal.entries.get(&b)?.clone());
            (first.seq, second.seq) = (b, a);
            journal.entries.insert(a, second);
            journal.entries.insert(b, first);
        }
        Tampering::Cut { after } => journal.entries.retain(|seq, _| *seq <= after),
        Tampering::MoveHead { seq } => {
            journal.state.head_link = journal.entries.get(&seq)?.link;
            journal.state.head = seq;
        }
        Tampering::FlipHeadLink { bit } => flip(&mut journal.state.head_link.0, bit),
        Tampering::MakeUnreadable { seq } => {
            journal.entries.get(&seq)?;
            journal.unreadable.insert(seq);
        }
    }
    Some(())
}
