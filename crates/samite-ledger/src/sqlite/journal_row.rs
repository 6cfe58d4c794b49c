//! Journals as stored.

use super::number::{number, stored};
use super::statements::Statements;
use crate::{JournalFilter, JournalKind, JournalState, JournalStatus};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql};
use samite_model::{FamilyId, JournalId, Link, Position, Pseudonym};

pub(super) const OPEN: i64 = 0;
pub(super) const DELETED: i64 = 1;

/// A journal with the integers that it is known by inside.
#[derive(Clone, Debug)]
pub(super) struct JournalRow {
    pub(super) row: i64,
    pub(super) owner: i64,
    pub(super) parent: Option<i64>,
    pub(super) state: JournalState,
}

impl JournalRow {
    /// The seq before its first own entry.
    pub(super) fn fork_seq(&self) -> u64 {
        self.state.parent.map_or(0, |parent| parent.seq)
    }
}

/// A query for journals, with what follows its FROM.
macro_rules! select {
    ($after:literal) => {
        concat!(
            "SELECT j.row, j.id, j.family, j.kind, j.owner, o.pseudonym, j.parent, p.id, j.fork_seq, ",
            "j.head_seq, j.head_link, j.epoch, j.registers, j.status ",
            "FROM journal j LEFT JOIN owner o ON o.owner = j.owner LEFT JOIN journal p ON p.row = j.parent",
            $after
        )
    };
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<JournalRow> {
    let code: i64 = row.get(3)?;
    let kind = u16::try_from(code).ok().and_then(JournalKind::from_code);
    let kind = kind.ok_or(rusqlite::Error::IntegralValueOutOfRange(3, code))?;
    let parent: Option<i64> = row.get(6)?;
    let parent_id: Option<[u8; 16]> = row.get(7)?;
    if parent.is_some() && parent_id.is_none() {
        let message = "a journal's parent is missing";
        return Err(rusqlite::Error::FromSqlConversionFailure(7, Type::Null, message.into()));
    }
    let fork_seq = number(row.get(8)?);
    let state = JournalState {
        id: JournalId(row.get(1)?),
        family: FamilyId(row.get(2)?),
        kind,
        owner: Pseudonym(row.get(5)?),
        parent: parent_id.map(|journal| Position { journal: JournalId(journal), seq: fork_seq }),
        head: number(row.get(9)?),
        head_link: Link(row.get(10)?),
        epoch: number(row.get(11)?),
        registers: number(row.get(12)?),
        status: status(row.get(13)?),
    };
    Ok(JournalRow { row: row.get(0)?, owner: row.get(4)?, parent, state })
}

/// A journal by its id.
pub(super) fn load(database: &Connection, journal: JournalId) -> rusqlite::Result<Option<JournalRow>> {
    database.prepare_cached(select!(" WHERE j.id = ?1"))?.query_row([&journal.0], from_row).optional()
}

/// A journal that was seen before, with what can change of it read anew; none when it is no longer where it was.
pub(super) fn load_again(
    statements: &mut Statements<'_>,
    mut known: JournalRow,
) -> rusqlite::Result<Option<JournalRow>> {
    let state = &mut known.state;
    let found = statements
        .journal()?
        .query_row((known.row, &state.id.0), |row| {
            state.head = number(row.get(0)?);
            state.head_link = Link(row.get(1)?);
            state.epoch = number(row.get(2)?);
            state.registers = number(row.get(3)?);
            state.status = status(row.get(4)?);
            Ok(())
        })
        .optional()?;
    Ok(found.map(|()| known))
}

fn status(code: i64) -> JournalStatus {
    if code == OPEN { JournalStatus::Open } else { JournalStatus::Deleted }
}

/// A journal by the integer that it is known by inside.
pub(super) fn load_row(database: &Connection, row: i64) -> rusqlite::Result<JournalRow> {
    database.prepare_cached(select!(" WHERE j.row = ?1"))?.query_row([row], from_row)
}

/// Journals that match, in the order in which they were made.
pub(super) fn list(database: &Connection, filter: &JournalFilter) -> rusqlite::Result<Vec<JournalRow>> {
    let mut wanted: Vec<&str> = Vec::new();
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    if let Some(family) = filter.family {
        wanted.push("j.family = ?");
        values.push(Box::new(family.0));
    }
    if let Some(kind) = filter.kind {
        wanted.push("j.kind = ?");
        values.push(Box::new(kind.code()));
    }
    if let Some(parent) = filter.parent {
        wanted.push("p.id = ? AND j.parent IS NOT NULL");
        values.push(Box::new(parent.0));
    }
    if let Some((digits, of_family)) = &filter.prefix {
        let Some((first, last)) = prefix_range(digits) else { return Ok(Vec::new()) };
        wanted.push(if *of_family { "j.family BETWEEN ? AND ?" } else { "j.id BETWEEN ? AND ?" });
        values.push(Box::new(first));
        values.push(Box::new(last));
    }
    let condition = if wanted.is_empty() { String::new() } else { format!(" WHERE {}", wanted.join(" AND ")) };
    let mut statement = database.prepare_cached(&format!("{}{condition} ORDER BY j.row", select!("")))?;
    let values = values.iter().map(AsRef::as_ref);
    statement.query_map(rusqlite::params_from_iter(values), from_row)?.collect()
}

/// The first and the last id whose digits begin so; none for what are not digits of an id.
fn prefix_range(digits: &str) -> Option<([u8; 16], [u8; 16])> {
    let (mut first, mut last) = ([0_u8; 16], [u8::MAX; 16]);
    for (at, digit) in digits.bytes().enumerate() {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        let (first, last) = (first.get_mut(at / 2)?, last.get_mut(at / 2)?);
        if at % 2 == 0 {
            *first = value << 4;
            *last = value << 4 | 0x0f;
        } else {
            *first = *first & 0xf0 | value;
            *last = *last & 0xf0 | value;
        }
    }
    Some((first, last))
}

/// Writes what can change of a journal.
pub(super) fn update(statements: &mut Statements<'_>, journal: &JournalRow) -> rusqlite::Result<()> {
    let state = &journal.state;
    let status = if state.status == JournalStatus::Open { OPEN } else { DELETED };
    statements.update_journal()?.execute((
        journal.row,
        stored(state.head),
        &state.head_link.0,
        stored(state.epoch),
        stored(state.registers),
        status,
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_any_number_make_a_range() {
        let (first, last) = prefix_range("a1f").unwrap();
        assert_eq!((&first[..3], &last[..3]), (&[0xa1, 0xf0, 0][..], &[0xa1, 0xff, 0xff][..]));
        let (first, last) = prefix_range("").unwrap();
        assert_eq!((first, last), ([0; 16], [0xff; 16]));
        assert!(prefix_range("A").is_none());
        assert!(prefix_range("0x").is_none());
        assert!(prefix_range(&"0".repeat(33)).is_none());
    }
}
