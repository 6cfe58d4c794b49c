//! The high-water file: what was acknowledged, in a small file beside the database.
//!
//! SQLite cuts a damaged log silently at the first bad frame, and with it acknowledged commits. So every group of
//! commits leaves records here of how far it came. The file is never synced: it may be behind the database, which is
//! harmless, but not ahead of it, since a record is written after the commit was synced. A ledger that is behind its
//! high water has lost something, and the records say what.
//!
//! A record has 48 bytes: kind, version (1), six zeroes, journal (16), value (8), first (8), checksum (8). A record
//! whose checksum is wrong, as a torn or zeroed one, counts as absent.

use super::journal_row;
use super::number::number;
use crate::JournalStatus;
use rusqlite::Connection;
use samite_model::{Error, JournalId};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// How many bytes a record has.
pub(super) const RECORD: usize = 48;
const VERSION: u8 = 1;
/// How many journals a rewrite keeps: those that changed last, which a log that is cut loses first.
const KEPT: usize = 256;

/// One thing that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Entries of a journal from the first to the last.
    Entries { journal: JournalId, first: u64, last: u64 },
    /// A journal was made.
    Journal { journal: JournalId },
    /// A journal entered an epoch.
    Epoch { journal: JournalId, epoch: u64 },
    /// So many changes of what is no entry: keys, blocks, rebuilt views, deletions.
    Changes { count: u64 },
}

/// Something that was acknowledged and is no longer there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Entries of a journal.
    Entries {
        /// The journal.
        journal: JournalId,
        /// The first seq that is missing.
        from: u64,
        /// The last seq that is missing.
        to: u64,
    },
    /// A journal that had no entries of its own.
    Journal(JournalId),
    /// A takeover of a journal's lease.
    Epoch {
        /// The journal.
        journal: JournalId,
        /// The epoch that it had.
        epoch: u64,
    },
    /// The last changes of what is no entry: destroyed keys, blocks, pins, rebuilt views or deleted journals.
    Changes {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries { journal, from, to } if from == to => write!(f, "entry {from} of journal {journal}"),
            Self::Entries { journal, from, to } => write!(f, "entries {from} to {to} of journal {journal}"),
            Self::Journal(journal) => write!(f, "journal {journal}"),
            Self::Epoch { journal, epoch } => write!(f, "epoch {epoch} of journal {journal}"),
            Self::Changes { count } => write!(f, "{count} changes of keys, blocks, pins or views"),
        }
    }
}

/// The error of a ledger that is behind its high water.
pub(super) fn behind(path: &Path, lost: &[Lost]) -> Error {
    const NAMED: usize = 8;
    let mut names: Vec<String> = lost.iter().take(NAMED).map(ToString::to_string).collect();
    if lost.len() > NAMED {
        names.push(format!("{} more", lost.len() - NAMED));
    }
    Error::corrupt(
        "ledger_behind",
        format!("the ledger {} has lost what it acknowledged: {}", path.display(), names.join("; ")),
    )
    .hint("restore a backup, or keep a copy of the files and go on without what was lost: verify --accept-loss")
    .hint("what is left can be read meanwhile")
}

fn checksum(record: &[u8]) -> [u8; 8] {
    const LABEL: &[u8; 21] = b"samite/high-water/v1\0";
    let mut bytes = [0; LABEL.len() + RECORD - 8];
    let (label, rest) = bytes.split_at_mut(LABEL.len());
    label.copy_from_slice(LABEL);
    if record.len() == rest.len() {
        rest.copy_from_slice(record);
    }
    *blake3::hash(&bytes).as_bytes().first_chunk().unwrap_or(&[0; 8])
}

/// The records of these marks.
pub(super) fn encode(marks: &[Mark]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(marks.len() * RECORD);
    for mark in marks {
        let none = JournalId([0; 16]);
        let (kind, journal, value, first) = match *mark {
            Mark::Entries { journal, first, last } => (1, journal, last, first),
            Mark::Journal { journal } => (2, journal, 0, 0),
            Mark::Epoch { journal, epoch } => (3, journal, epoch, 0),
            Mark::Changes { count } => (4, none, count, 0),
        };
        let start = bytes.len();
        bytes.extend_from_slice(&[kind, VERSION, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(journal.as_bytes());
        bytes.extend_from_slice(&u64::to_be_bytes(value));
        bytes.extend_from_slice(&u64::to_be_bytes(first));
        let sum = checksum(bytes.get(start..).unwrap_or_default());
        bytes.extend_from_slice(&sum);
    }
    bytes
}

/// The marks of a file; whatever is no whole record of ours counts as absent.
pub(super) fn decode(bytes: &[u8]) -> Vec<Mark> {
    bytes.as_chunks::<RECORD>().0.iter().filter_map(decode_one).collect()
}

fn decode_one(record: &[u8; RECORD]) -> Option<Mark> {
    let (body, sum) = record.split_last_chunk::<8>()?;
    let ([kind, VERSION, 0, 0, 0, 0, 0, 0], rest) = body.split_first_chunk::<8>()? else { return None };
    let (journal, rest) = rest.split_first_chunk::<16>()?;
    let (value, rest) = rest.split_first_chunk::<8>()?;
    let first = u64::from_be_bytes(*rest.first_chunk::<8>()?);
    if checksum(body) != *sum {
        return None;
    }
    let (journal, value) = (JournalId(*journal), u64::from_be_bytes(*value));
    Some(match kind {
        1 => Mark::Entries { journal, first, last: value },
        2 => Mark::Journal { journal },
        3 => Mark::Epoch { journal, epoch: value },
        4 => Mark::Changes { count: value },
        _ => return None,
    })
}

/// What marks say together.
#[derive(Debug, Default)]
struct Known {
    journals: HashMap<JournalId, KnownJournal>,
    changes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct KnownJournal {
    entries: Option<(u64, u64)>,
    epoch: u64,
    /// The place of its last mark.
    at: usize,
}

impl Known {
    fn of(marks: &[Mark]) -> Self {
        let mut known = Self::default();
        for (at, mark) in marks.iter().enumerate() {
            match *mark {
                Mark::Entries { journal, first, last } => {
                    let entry = known.journals.entry(journal).or_default();
                    let (from, to) = entry.entries.unwrap_or((first, last));
                    entry.entries = Some((from.min(first), to.max(last)));
                    entry.at = at;
                }
                Mark::Journal { journal } => known.journals.entry(journal).or_default().at = at,
                Mark::Epoch { journal, epoch } => {
                    let entry = known.journals.entry(journal).or_default();
                    entry.epoch = entry.epoch.max(epoch);
                    entry.at = at;
                }
                Mark::Changes { count } => known.changes = known.changes.max(count),
            }
        }
        known
    }

    /// Journals with the one that changed first in front.
    fn in_order(&self) -> Vec<(JournalId, KnownJournal)> {
        let mut journals: Vec<_> = self.journals.iter().map(|(id, journal)| (*id, *journal)).collect();
        journals.sort_by_key(|(_, journal)| journal.at);
        journals
    }
}

/// The same with fewer records: the last of each journal, of the journals that changed last.
pub(super) fn fold(marks: &[Mark]) -> Vec<Mark> {
    let known = Known::of(marks);
    let journals = known.in_order();
    let skip = journals.len().saturating_sub(KEPT);
    let mut folded = vec![Mark::Changes { count: known.changes }];
    for (journal, known) in journals.into_iter().skip(skip) {
        match known.entries {
            Some((first, last)) => folded.push(Mark::Entries { journal, first, last }),
            None => folded.push(Mark::Journal { journal }),
        }
        if known.epoch > 0 {
            folded.push(Mark::Epoch { journal, epoch: known.epoch });
        }
    }
    folded
}

/// What the marks say was acknowledged and the database does not have.
pub(super) fn compare(database: &Connection, marks: &[Mark]) -> rusqlite::Result<Vec<Lost>> {
    let known = Known::of(marks);
    let mut lost = Vec::new();
    for (id, known) in known.in_order() {
        let Some(found) = journal_row::load(database, id)? else {
            lost.push(match known.entries {
                Some((from, to)) => Lost::Entries { journal: id, from, to },
                None => Lost::Journal(id),
            });
            continue;
        };
        // The head of a deleted journal went down, and a deletion that was lost is among the changes.
        if let Some((_, to)) = known.entries
            && found.state.head < to
            && found.state.status == JournalStatus::Open
        {
            lost.push(Lost::Entries { journal: id, from: found.state.head.saturating_add(1), to });
        }
        if found.state.epoch < known.epoch {
            lost.push(Lost::Epoch { journal: id, epoch: known.epoch });
        }
    }
    let changes = changes(database)?;
    if changes < known.changes {
        lost.push(Lost::Changes { count: known.changes - changes });
    }
    Ok(lost)
}

/// How many changes of what is no entry the database has seen.
pub(super) fn changes(database: &Connection) -> rusqlite::Result<u64> {
    database.query_row("SELECT changes FROM state WHERE id = 1", [], |row| row.get(0)).map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: JournalId = JournalId([1; 16]);
    const TWO: JournalId = JournalId([2; 16]);

    fn marks() -> Vec<Mark> {
        vec![
            Mark::Journal { journal: ONE },
            Mark::Entries { journal: ONE, first: 1, last: 2 },
            Mark::Epoch { journal: ONE, epoch: 1 },
            Mark::Changes { count: 3 },
            Mark::Journal { journal: TWO },
            Mark::Entries { journal: ONE, first: 3, last: 3 },
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = encode(&marks());
        assert_eq!(bytes.len(), 6 * RECORD);
        assert_eq!(decode(&bytes), marks());
    }

    #[test]
    fn a_record_has_the_documented_bytes() {
        let bytes = encode(&[Mark::Entries { journal: ONE, first: 3, last: 5 }]);
        let expected = [&[1, 1, 0, 0, 0, 0, 0, 0][..], &[1; 16], &5_u64.to_be_bytes(), &3_u64.to_be_bytes()].concat();
        assert_eq!(bytes[..40], expected);
    }

    #[test]
    fn a_torn_zeroed_or_flipped_record_is_absent_and_the_others_are_read() {
        let bytes = encode(&marks());
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), marks()[..cut / RECORD]);
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let mut expected = marks();
            expected.remove(at / RECORD);
            assert_eq!(decode(&damaged), expected, "{at}");
        }
        assert_eq!(decode(&[0; 4 * RECORD]), []);
    }

    #[test]
    fn folding_keeps_what_counts() {
        let folded = fold(&marks());
        assert_eq!(
            folded,
            [
                Mark::Changes { count: 3 },
                Mark::Journal { journal: TWO },
                Mark::Entries { journal: ONE, first: 1, last: 3 },
                Mark::Epoch { journal: ONE, epoch: 1 },
            ]
        );
        assert_eq!(fold(&folded), folded);
    }

    #[test]
    fn folding_is_bounded() {
        let many: Vec<Mark> = (0..1000_u64)
            .map(|at| {
                let mut id = [0; 16];
                id[..8].copy_from_slice(&at.to_be_bytes());
                Mark::Entries { journal: JournalId(id), first: 1, last: at }
            })
            .collect();
        let folded = fold(&many);
        assert_eq!(folded.len(), KEPT + 1);
        assert_eq!(folded.last(), many.last());
    }
}
