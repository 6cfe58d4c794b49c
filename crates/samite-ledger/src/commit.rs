//! A commit as data: what to append where, the views that change with it, and what must hold for it.

use samite_model::{
    BlockId, Commitment, EntryId, EntryKind, FamilyId, JournalId, KeyId, PackId, PinId, Position, Pseudonym,
};

/// A commit: all of it becomes durable, or none.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// Checked inside the transaction, before anything is written; the first that fails is the error.
    pub guards: Vec<Guard>,
    /// Journals to make, before the appends.
    pub journals: Vec<NewJournal>,
    /// Entries to append, journal by journal, in this order.
    pub appends: Vec<Append>,
    /// Blocks that become known.
    pub blocks: Vec<NewBlock>,
    /// Packs that become known; their bytes are durable already.
    pub packs: Vec<NewPack>,
    /// Pins that this commit makes unnecessary.
    pub unpin: Vec<PinId>,
    /// Renews a lease in passing: the journal, the epoch it must still have, and when it now expires (ns since 1970).
    pub renew: Option<(JournalId, u64, i64)>,
    /// The beginning of an audit log that goes, because it is kept elsewhere: the log and the first index that stays. One
    /// that the log does not have is `invalid` (`prune_beyond`): the last leaf always stays.
    pub prune: Option<(u64, u64)>,
}

/// What a journal is for. Codes are permanent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JournalKind {
    /// A session's branch.
    Branch,
    /// A session's control journal.
    SessionControl,
    /// A tenant's control journal.
    TenantControl,
    /// A workspace's control journal.
    Workspace,
    /// A memory namespace.
    Memory,
    /// A tenant's audit log.
    Audit,
    /// What was published for an owner: artifacts, and how long they are kept.
    Artifacts,
}

impl JournalKind {
    /// The stored code.
    pub const fn code(self) -> u16 {
        match self {
            Self::Branch => 1,
            Self::SessionControl => 2,
            Self::TenantControl => 3,
            Self::Workspace => 4,
            Self::Memory => 5,
            Self::Audit => 6,
            Self::Artifacts => 7,
        }
    }

    /// The kind of a stored code.
    pub const fn from_code(code: u16) -> Option<Self> {
        Some(match code {
            1 => Self::Branch,
            2 => Self::SessionControl,
            3 => Self::TenantControl,
            4 => Self::Workspace,
            5 => Self::Memory,
            6 => Self::Audit,
            7 => Self::Artifacts,
            _ => return None,
        })
    }
}

/// A journal to make. A fork's first entry has the seq after its parent position's.
#[derive(Clone, Debug)]
pub struct NewJournal {
    /// Its id; a journal with this id must not exist (`conflict`, code `journal_exists`).
    pub id: JournalId,
    /// The family it belongs to, such as a session.
    pub family: FamilyId,
    /// What it is for.
    pub kind: JournalKind,
    /// Whose it is.
    pub owner: Pseudonym,
    /// The position it is forked at: a journal's own entry, not one that it inherits (`invalid` otherwise).
    pub parent: Option<Position>,
}

/// Entries for one journal.
#[derive(Clone, Debug)]
pub struct Append {
    /// The journal: an existing one, or one made by the same commit.
    pub journal: JournalId,
    /// The entries, which get the next seqs in this order.
    pub entries: Vec<NewEntry>,
}

/// An entry before it has a place. The ledger adds seq and link, and stores the header's bytes.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// Its id.
    pub id: EntryId,
    /// What it is.
    pub kind: EntryKind,
    /// The writer's epoch.
    pub epoch: u64,
    /// The writer's clock, in nanoseconds since 1970.
    pub time: i64,
    /// Who writes.
    pub actor: Pseudonym,
    /// Whose data it is.
    pub owner: Pseudonym,
    /// The data key of the payload; that it is live is checked in the transaction.
    pub key: KeyId,
    /// The plaintext's length.
    pub length: u64,
    /// The salted hash of the payload.
    pub commitment: Commitment,
    /// The sealed payload.
    pub payload: Vec<u8>,
    /// Index rows, which get this entry's seq.
    pub rows: Vec<NewRow>,
    /// Replaceable rows, which get this entry's seq.
    pub registers: Vec<RegisterChange>,
    /// What the ledger's [`Finisher`](crate::Finisher) makes a leaf of the audit log from, in the same commit; none for an
    /// entry without one.
    pub leaf: Option<Vec<u8>>,
}

/// An index row: inserted once, never replaced, read along the ancestry of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRow {
    /// What the row indexes; the code is the caller's.
    pub kind: u16,
    /// The keyed hash that it is found by.
    pub hash: [u8; 16],
    /// A small value: integers, keyed hashes or sealed bytes, never a caller's string in plain.
    pub value: Vec<u8>,
}

/// A change of a register: the only rows of a journal that are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterChange {
    /// Sets a register.
    Set {
        /// What it is for; the code is the caller's.
        kind: u16,
        /// The keyed hash that it is found by.
        hash: [u8; 16],
        /// Its value, as [`NewRow::value`].
        value: Vec<u8>,
    },
    /// Clears a register; nothing happens when it is clear already.
    Clear {
        /// What it is for.
        kind: u16,
        /// The keyed hash that it is found by.
        hash: [u8; 16],
    },
}

/// What must hold for a commit. All are checked in the transaction, where the answers cannot change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The journal's head is this seq. Fails as `conflict`, code `head_moved`, naming both.
    Head {
        /// The journal.
        journal: JournalId,
        /// The expected head.
        seq: u64,
    },
    /// The journal's epoch is this. Fails as `fenced`, code `epoch_passed`, naming both.
    Epoch {
        /// The journal.
        journal: JournalId,
        /// The expected epoch.
        epoch: u64,
    },
    /// No row with this kind and any of these hashes lies along the journal's ancestry.
    /// Fails as `conflict`, code `row_exists`; the caller then reads the row.
    RowAbsent {
        /// The journal.
        journal: JournalId,
        /// The rows' kind.
        kind: u16,
        /// One hash a distinct subject of the ancestry.
        hashes: Vec<[u8; 16]>,
    },
    /// No register of the journal has changed since it was read at this version.
    /// Fails as `conflict`, code `registers_moved`.
    Registers {
        /// The journal.
        journal: JournalId,
        /// The expected [`JournalState::registers`](crate::JournalState::registers).
        version: u64,
    },
    /// The journal is open: not closed by deletion. Fails as `conflict`, code `journal_closed`.
    Open {
        /// The journal.
        journal: JournalId,
    },
    /// The key was not destroyed. Fails as `denied`, code `key_destroyed`.
    KeyLive {
        /// The key.
        key: KeyId,
    },
    /// The pin is recorded: neither ended, nor lapsed and dropped by a collection. Fails as `conflict`, code `pin_lapsed`.
    PinLive {
        /// The pin.
        pin: PinId,
    },
    /// The blocks are known and none of their packs is dying. Fails as `conflict`, code `blocks_dying`.
    BlocksLive {
        /// The blocks.
        blocks: Vec<BlockId>,
    },
}

/// A block that becomes known.
#[derive(Clone, Debug)]
pub struct NewBlock {
    /// Its id. A block that is known already keeps its first place, unless the pack of that place is dying.
    pub id: BlockId,
    /// Whose domain it is in: the tenant's pseudonym or an owner's.
    pub owner: Pseudonym,
    /// Where its sealed bytes are.
    pub place: crate::BlockPlace,
}

/// A pack that becomes known. One that is known and live already takes the larger size; a dying one is `conflict`
/// (`blocks_dying`).
#[derive(Clone, Debug)]
pub struct NewPack {
    /// Its id.
    pub id: PackId,
    /// The tenant's pseudonym.
    pub owner: Pseudonym,
    /// Its size in bytes.
    pub size: u64,
}

/// What a commit did. When it is returned, all of it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// For each append of the commit, the seq of its first entry.
    pub first_seqs: Vec<u64>,
}
