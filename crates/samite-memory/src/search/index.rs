//! What is looked up: every record of a namespace, in the order in which they came.

use crate::lexical::{Builder, Field, NONE, Part};
use crate::text::{NamedDate, asks};
use crate::vectors::Rows;
use crate::{Bits, Standings};
use samite_model::memory::Record;
use samite_model::{RecordId, Result, SpaceId};
use std::collections::{BTreeMap, HashMap};

/// Days of a civil date are counted in cycles of 400 years.
const DAYS_A_CYCLE: i64 = 146_097;

/// What is known of a record besides its words and its vectors.
#[derive(Clone, Debug)]
struct Entry {
    record: RecordId,
    previous: Option<RecordId>,
    asks: bool,
    date: NamedDate,
}

/// An index of records by words, and by vectors where they were made.
#[derive(Clone, Debug, Default)]
pub struct Index {
    builder: Builder,
    part: Option<Part>,
    entries: Vec<Entry>,
    places: HashMap<RecordId, u32>,
    rows: BTreeMap<SpaceId, Rows>,
}

/// What of a record is made a vector of: what it says.
pub fn embedded_text(record: &Record) -> &str {
    &record.text
}

impl Index {
    /// Takes in the records that it does not have yet. Those that ended stay: who asks says what is visible.
    ///
    /// # Errors
    /// As [`Builder::add`].
    pub fn catch_up(&mut self, standings: &Standings) -> Result<()> {
        for standing in standings.all().iter().skip(self.entries.len()) {
            self.add(&standing.record, standing.recorded)?;
        }
        if self.part.as_ref().is_none_or(|part| part.documents() < self.builder.documents()) {
            self.part = Some(self.builder.build());
        }
        Ok(())
    }

    fn add(&mut self, record: &Record, recorded: i64) -> Result<()> {
        let named = |name: &str| record.metadata.get(name).and_then(|value| value.as_str());
        let mut fields = vec![(Field::Body, record.text.as_str())];
        fields.extend(named("title").map(|title| (Field::Title, title)));
        fields.extend(named("speaker").map(|speaker| (Field::Speaker, speaker)));
        let document = self.builder.add(&fields)?;
        let said = named("date").map(NamedDate::of).filter(|date| *date != NamedDate::default());
        let date = said.unwrap_or_else(|| date_of(record.valid.from.unwrap_or(recorded)));
        self.places.insert(record.record, document);
        let (record, previous, asks) = (record.record, record.previous, asks(&record.text));
        self.entries.push(Entry { record, previous, asks, date });
        Ok(())
    }

    /// How many records there are.
    pub fn documents(&self) -> u32 {
        self.builder.documents()
    }

    /// The number of a record.
    pub fn document(&self, record: RecordId) -> Option<u32> {
        self.places.get(&record).copied()
    }

    /// The record of a number.
    pub fn record(&self, document: u32) -> Option<RecordId> {
        self.entries.get(document as usize).map(|entry| entry.record)
    }

    /// Gives a record its vector in a space.
    ///
    /// # Errors
    /// As [`Rows::new`] and [`Rows::push`].
    pub fn put_vector(&mut self, space: SpaceId, document: u32, vector: &[f32]) -> Result<()> {
        if let Some(rows) = self.rows.get_mut(&space) {
            return rows.push(document, vector);
        }
        let mut rows = Rows::new(vector.len())?;
        rows.push(document, vector)?;
        self.rows.insert(space, rows);
        Ok(())
    }

    /// Gives a record a vector that was kept; nothing for one that is not here, or has one.
    ///
    /// # Errors
    /// As [`Rows::new`] and [`Rows::copy`].
    pub fn take_vector(&mut self, space: SpaceId, record: RecordId, from: &Rows, place: u32) -> Result<()> {
        let Some(document) = self.document(record) else { return Ok(()) };
        if !self.rows.contains_key(&space) {
            self.rows.insert(space, Rows::new(from.dimensions())?);
        }
        match self.rows.get_mut(&space) {
            Some(rows) if !rows.contains(document) => rows.copy(document, from, place).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The vectors in a space.
    pub fn rows(&self, space: SpaceId) -> Option<&Rows> {
        self.rows.get(&space)
    }

    /// The records that have no vector in a space yet, in order.
    pub fn without_vector(&self, space: SpaceId) -> impl Iterator<Item = u32> + '_ {
        let rows = self.rows.get(&space);
        (0..self.documents()).filter(move |document| rows.is_none_or(|rows| !rows.contains(*document)))
    }

    pub(super) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// Each visible record's predecessor, where that is visible too.
    pub(super) fn previous(&self, visible: &Bits) -> Vec<u32> {
        let seen = |document: &u32| visible.contains(*document);
        let of = |(document, entry): (u32, &Entry)| {
            let previous = entry.previous.and_then(|previous| self.document(previous));
            previous.filter(|_| visible.contains(document)).filter(seen).unwrap_or(NONE)
        };
        (0..).zip(&self.entries).map(of).collect()
    }

    pub(super) fn asks(&self, document: u32) -> bool {
        self.entries.get(document as usize).is_some_and(|entry| entry.asks)
    }

    pub(super) fn date(&self, document: u32) -> NamedDate {
        self.entries.get(document as usize).map(|entry| entry.date).unwrap_or_default()
    }
}

/// The day of a time in nanoseconds since 1970, in UTC (the civil calendar from days, after Howard Hinnant's "chrono-Compatible
/// Low-Level Date Algorithms").
fn date_of(time: i64) -> NamedDate {
    let days = time.div_euclid(24 * 3600 * 1_000_000_000) + 719_468;
    let cycle = days.div_euclid(DAYS_A_CYCLE);
    let day_of_cycle = days.rem_euclid(DAYS_A_CYCLE);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
    let part = |number: i64| u32::try_from(number).ok();
    NamedDate { year: part(year), month: part(month), day: part(day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_of_a_time_is_that_of_the_calendar() {
        let day = |seconds: i64| {
            let date = date_of(seconds * 1_000_000_000);
            (date.year.unwrap(), date.month.unwrap(), date.day.unwrap())
        };
        assert_eq!(day(0), (1970, 1, 1));
        assert_eq!(day(951_782_400), (2000, 2, 29));
        assert_eq!(day(951_782_400 - 1), (2000, 2, 28));
        assert_eq!(day(1_683_504_000), (2023, 5, 8));
        assert_eq!(day(-1), (1969, 12, 31));
        assert_eq!(day(4_107_542_399), (2100, 2, 28));
        assert_eq!(day(4_107_542_400), (2100, 3, 1));
    }
}
