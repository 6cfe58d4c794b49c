//! Reading entries, rows and registers.

use super::failure::{Failure, explain};
use super::journal_row::{self, JournalRow};
use super::number::{limit, number, stored};
use crate::memory::refusal;
use crate::{Direction, Read, Register, Row, RowQuery, StoredEntry};
use rusqlite::Connection;
use samite_model::{EntryKind, JournalId, Link, Position, hash};

pub(super) fn journal(database: &Connection, id: JournalId) -> Result<JournalRow, Failure> {
    journal_row::load(database, id)?.ok_or_else(|| refusal::no_journal(id).into())
}

/// Own entries of a journal. Each is checked against its place, and against the link before it where that was read:
/// a damaged one is named instead of returned.
pub(super) fn entries(database: &Connection, read: &Read) -> Result<Vec<StoredEntry>, Failure> {
    let journal = journal(database, read.journal)?;
    let from = read.from.max(journal.fork_seq().saturating_add(1));
    let to = if read.unchecked { read.to } else { read.to.min(journal.state.head) };
    let mut found = Vec::new();
    if from > to || read.limit == 0 {
        return Ok(found);
    }
    let mut statement = database.prepare_cached(match (read.direction, read.payloads) {
        (Direction::Forward, true) => {
            "SELECT seq, header, link, payload FROM entry WHERE journal = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq"
        }
        (Direction::Forward, false) => {
            "SELECT seq, header, link FROM entry WHERE journal = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq"
        }
        (Direction::Backward, true) => {
            "SELECT seq, header, link, payload FROM entry WHERE journal = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq DESC"
        }
        (Direction::Backward, false) => {
            "SELECT seq, header, link FROM entry WHERE journal = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq DESC"
        }
    })?;
    let damaged = |seq: u64| move |error: rusqlite::Error| unreadable(read.journal, seq, error);
    let mut expected = Expected::new(&journal, read.direction, from, to);
    let mut rows = statement.query((journal.row, stored(from), stored(to)))?;
    while found.len() < read.limit {
        let Some(seq) = expected.seq else { break };
        let Some(row) = rows.next().map_err(damaged(seq))? else {
            if read.unchecked {
                break;
            }
            return Err(missing(read.journal, seq));
        };
        let stored_seq = number(row.get(0)?);
        if stored_seq != seq && !read.unchecked {
            return Err(missing(read.journal, seq));
        }
        let seq = stored_seq;
        let header = row.get_ref(1)?.as_blob().map_err(|error| damaged(seq)(error.into()))?;
        let link = Link(row.get(2).map_err(damaged(seq))?);
        if !read.unchecked && !expected.accepts(seq, header, link) {
            return Err(changed(read.journal, seq));
        }
        expected.seq = Some(seq);
        expected.advance();
        if !read.kinds.is_empty() && !kind_of(header).is_some_and(|kind| read.kinds.contains(&kind)) {
            continue;
        }
        let payload = if read.payloads { row.get(3).map_err(damaged(seq))? } else { None };
        found.push(StoredEntry { seq, header: header.to_vec(), link, payload });
    }
    Ok(found)
}

/// Follows the chain through a range, in either direction.
struct Expected {
    direction: Direction,
    from: u64,
    to: u64,
    /// The seq that comes next.
    seq: Option<u64>,
    /// Forward: the link before the next entry. Backward: the link of the next entry, and the header after it that
    /// must lead from the one to the other.
    link: Option<Link>,
    after: Option<(Vec<u8>, Link)>,
}

impl Expected {
    fn new(journal: &JournalRow, direction: Direction, from: u64, to: u64) -> Self {
        let at_head = direction == Direction::Backward && to == journal.state.head;
        // The link before the first entry of a root is known; that of a fork would cost a look at its parent.
        let at_root = direction == Direction::Forward && from == 1 && journal.state.parent.is_none();
        let state = &journal.state;
        let link = if at_head {
            Some(state.head_link)
        } else if at_root {
            let (id, family, owner) = (state.id, state.family, state.owner);
            Some(hash::genesis(&hash::JournalIdentity { id, family, owner, kind: state.kind.code() }))
        } else {
            None
        };
        let seq = Some(if direction == Direction::Forward { from } else { to });
        Self { direction, from, to, seq, link, after: None }
    }

    /// Whether the entry is in its place and the links that are known fit.
    fn accepts(&mut self, seq: u64, header: &[u8], link: Link) -> bool {
        let in_place = header.get(4..12) == Some(&seq.to_be_bytes()[..]);
        let fits = match self.direction {
            Direction::Forward => {
                let fits = self.link.is_none_or(|previous| hash::link(previous, header) == link);
                self.link = Some(link);
                fits
            }
            Direction::Backward => {
                let fits = match (&self.after, self.link) {
                    (Some((next, next_link)), _) => hash::link(link, next) == *next_link,
                    (None, Some(head)) => head == link,
                    (None, None) => true,
                };
                self.after = Some((header.to_vec(), link));
                fits
            }
        };
        in_place && fits
    }

    fn advance(&mut self) {
        self.seq = match (self.direction, self.seq) {
            (Direction::Forward, Some(seq)) if seq < self.to => Some(seq + 1),
            (Direction::Backward, Some(seq)) if seq > self.from => Some(seq - 1),
            _ => None,
        };
    }
}

fn kind_of(header: &[u8]) -> Option<EntryKind> {
    let code = header.get(2..4)?.first_chunk::<2>()?;
    Some(EntryKind::from_code(u16::from_be_bytes(*code)))
}

/// Names the entry that the storage could not give.
fn unreadable(journal: JournalId, seq: u64, error: rusqlite::Error) -> Failure {
    let found = explain(error, "read");
    if found.kind() == samite_model::ErrorKind::Corrupt {
        Failure::Refused(refusal::unreadable(journal, seq).because(found))
    } else {
        Failure::Refused(found)
    }
}

fn missing(journal: JournalId, seq: u64) -> Failure {
    Failure::Refused(refusal::missing(journal, seq))
}

fn changed(journal: JournalId, seq: u64) -> Failure {
    Failure::Refused(refusal::changed(journal, seq))
}

/// Rows along the ancestry, newest position first.
pub(super) fn rows(database: &Connection, query: &RowQuery) -> Result<Vec<Row>, Failure> {
    let mut hashes = query.hashes.clone();
    hashes.sort_unstable();
    hashes.dedup();
    let mut found = Vec::new();
    let mut next = Some((journal(database, query.at.journal)?, query.at.seq));
    while let Some((journal, up_to)) = next {
        if found.len() >= query.limit {
            break;
        }
        let left = query.limit - found.len();
        found.extend(own_rows(database, &journal, up_to, query.kind, &hashes, left)?);
        let up_to = journal.fork_seq().min(up_to);
        next = match journal.parent {
            Some(parent) => Some((journal_row::load_row(database, parent)?, up_to)),
            None => None,
        };
    }
    Ok(found)
}

/// Own rows of a journal up to a seq, newest first; those of one entry in the order in which it gave them.
fn own_rows(
    database: &Connection,
    journal: &JournalRow,
    up_to: u64,
    kind: u16,
    hashes: &[[u8; 16]],
    most: usize,
) -> rusqlite::Result<Vec<Row>> {
    let mut found: Vec<(i64, Row)> = Vec::new();
    let mut take = |row: &rusqlite::Row<'_>| -> rusqlite::Result<()> {
        let position = Position { journal: journal.state.id, seq: number(row.get(0)?) };
        found.push((row.get(1)?, Row { position, hash: row.get(2)?, value: row.get(3)? }));
        Ok(())
    };
    if hashes.is_empty() {
        let mut statement = database.prepare_cached(
            "SELECT seq, place, hash, value FROM view_row WHERE journal = ?1 AND kind = ?2 AND seq <= ?3 \
             ORDER BY seq DESC, place LIMIT ?4",
        )?;
        let mut rows = statement.query((journal.row, kind, stored(up_to), limit(most)))?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
    } else {
        let mut statement = database.prepare_cached(
            "SELECT seq, place, hash, value FROM view_row WHERE journal = ?1 AND kind = ?2 AND hash = ?3 \
             AND seq <= ?4 ORDER BY seq DESC, place LIMIT ?5",
        )?;
        for hash in hashes {
            let mut rows = statement.query((journal.row, kind, hash, stored(up_to), limit(most)))?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
        }
    }
    found.sort_by_key(|(place, row)| (std::cmp::Reverse(row.position.seq), *place));
    found.truncate(most);
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

/// All registers of a journal, by kind and hash.
pub(super) fn registers(database: &Connection, id: JournalId) -> Result<(u64, Vec<Register>), Failure> {
    let journal = journal(database, id)?;
    let mut statement = database
        .prepare_cached("SELECT kind, hash, seq, value FROM register WHERE journal = ?1 ORDER BY kind, hash")?;
    let registers = statement.query_map([journal.row], |row| {
        Ok(Register { kind: row.get(0)?, hash: row.get(1)?, seq: number(row.get(2)?), value: row.get(3)? })
    })?;
    Ok((journal.state.registers, registers.collect::<rusqlite::Result<_>>()?))
}
