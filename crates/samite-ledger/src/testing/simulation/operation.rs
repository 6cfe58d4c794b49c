//! What a writer wants done, once.

use super::{OWNER, Seeded};
use crate::{NewEntry, NewRow};
use samite_model::{Commitment, EntryId, EntryKind, JournalId, KeyId, Pseudonym};

/// The kind of dedupe rows.
pub(super) const DEDUPE: u16 = 1;
/// The register that counts.
pub(super) const COUNTER: (u16, [u8; 16]) = (1, [0xc0; 16]);

/// One operation. It is done again and again until its outcome is known, always under the same id.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) id: [u8; 16],
    pub(super) what: What,
    /// Where: chosen at the first attempt, and never changed after.
    pub(super) journal: Option<JournalId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Appends so many entries.
    Append(u8),
    /// Appends one entry if the head is where it was seen.
    AppendAtHead,
    /// Adds one to a register, without a lease.
    Count,
    /// Forks the journal somewhere.
    Fork,
}

impl Operation {
    pub(super) fn plan(random: &Seeded) -> Self {
        let what = match random.below(8) {
            0..=2 => What::Append(1),
            3 => What::Append(3),
            4 => What::AppendAtHead,
            5 | 6 => What::Count,
            _ => What::Fork,
        };
        Self { id: random.bytes(), what, journal: None }
    }

    /// How many entries it appends.
    pub(super) fn entries(&self) -> u8 {
        match self.what {
            What::Append(count) => count,
            What::AppendAtHead | What::Count => 1,
            What::Fork => 0,
        }
    }

    /// The id of its entry of this number.
    pub(super) fn entry_id(&self, number: u8) -> EntryId {
        let mut id = self.id;
        if let Some(last) = id.last_mut() {
            *last ^= number;
        }
        EntryId(id)
    }

    /// An entry of it.
    pub(super) fn entry(&self, number: u8, epoch: u64, time: i64, actor: Pseudonym) -> NewEntry {
        let kind = if self.what == What::Count { EntryKind::EVENT } else { EntryKind::MESSAGE };
        let row = NewRow { kind: DEDUPE, hash: self.id, value: Vec::new() };
        NewEntry {
            id: self.entry_id(number),
            kind,
            epoch,
            time,
            actor,
            owner: OWNER,
            key: KeyId([1; 8]),
            length: 1,
            commitment: Commitment([number; 32]),
            payload: vec![number],
            rows: if number == 0 { vec![row] } else { Vec::new() },
            registers: Vec::new(),
            leaf: None,
        }
    }
}
