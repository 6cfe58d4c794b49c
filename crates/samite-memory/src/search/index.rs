//! What is looked up: every record of a namespace, in the order in which they came.

use crate::lexical::{Builder, Field, MAX_DOCUMENTS, NONE, Part};
use crate::text::{NamedDate, asks};
use crate::vectors::Rows;
use crate::{Bits, Standings};
use samite_model::memory::Record;
use samite_model::{Error, RecordId, Result, SpaceId};
use std::collections::btree_map::Entry as Known;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Days of a civil date are counted in cycles of 400 years.
const DAYS_A_CYCLE: i64 = 146_097;

/// A part that is added is merged into the one before where it has more than this share of its documents: so there are few parts, and
/// a document is seldom written again.
const SHARE: u32 = 4;

/// What is known of a record besides its words and its vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    record: RecordId,
    /// The number of the record before it, where that is here.
    previous: u32,
    asks: bool,
    date: NamedDate,
}

/// An index of records by words, and by vectors where they were made. A copy shares what it has with the first, until one of them takes
/// in more.
#[derive(Clone, Debug, Default)]
pub struct Index {
    parts: Vec<Arc<Part>>,
    entries: Arc<Vec<Entry>>,
    places: Arc<HashMap<RecordId, u32>>,
    /// Those whose predecessor did not come yet, by that.
    waiting: Arc<HashMap<RecordId, Vec<u32>>>,
    rows: BTreeMap<SpaceId, Arc<Rows>>,
    /// How much of files was taken in.
    taken: BTreeMap<SpaceId, Taken>,
}

/// How much of a file of vectors was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Which file it was: one that was made anew has another number.
    pub generation: u64,
    /// Up to which byte.
    pub length: u64,
}

/// What of a record is made a vector of: what it says.
pub fn embedded_text(record: &Record) -> &str {
    &record.text
}

impl Index {
    /// The index of these records, from the parts that their words are in.
    ///
    /// # Errors
    /// `bad_lexical_part` when the parts are of another number of documents.
    pub fn from_parts(standings: &Standings, parts: Vec<Part>) -> Result<Self> {
        let mut index = Self::default();
        let documents: u64 = parts.iter().map(|part| u64::from(part.documents())).sum();
        if documents > standings.all().len() as u64 {
            return Err(Error::corrupt("bad_lexical_part", "lexical parts are of more records than there are")
                .hint("index the namespace again"));
        }
        let known = usize::try_from(documents).unwrap_or(usize::MAX);
        for standing in standings.all().iter().take(known) {
            index.enter(&standing.record, standing.recorded);
        }
        index.parts = parts.into_iter().map(Arc::new).collect();
        Ok(index)
    }

    /// Takes in the records that it does not have yet. Those that ended stay: who asks says what is visible.
    ///
    /// # Errors
    /// As [`Builder::add`].
    pub fn catch_up(&mut self, standings: &Standings) -> Result<()> {
        if self.entries.len() >= standings.all().len() {
            return Ok(());
        }
        let mut builder = Builder::default();
        for standing in standings.all().iter().skip(self.entries.len()) {
            builder.add(&fields(&standing.record))?;
        }
        for standing in standings.all().iter().skip(self.entries.len()) {
            self.enter(&standing.record, standing.recorded);
        }
        self.parts.push(Arc::new(builder.build()));
        self.merge();
        Ok(())
    }

    /// Makes one part of the last ones where they are of about one size.
    fn merge(&mut self) {
        while let [.., before, last] = self.parts.as_slice()
            && last.documents() > before.documents() / SHARE
            && last.documents().saturating_add(before.documents()) <= MAX_DOCUMENTS
        {
            let (all_before, all_last) = (Bits::all(before.documents()), Bits::all(last.documents()));
            let merged = Part::merged(&[(before, &all_before), (last, &all_last)]);
            self.parts.truncate(self.parts.len().saturating_sub(2));
            self.parts.push(Arc::new(merged));
        }
    }

    fn enter(&mut self, record: &Record, recorded: i64) {
        let document = self.documents();
        let named = record.metadata.get("date").and_then(|value| value.as_str()).map(NamedDate::of);
        let date = named.filter(|date| *date != NamedDate::default());
        let date = date.unwrap_or_else(|| date_of(record.valid.from.unwrap_or(recorded)));
        let entries = Arc::make_mut(&mut self.entries);
        Arc::make_mut(&mut self.places).insert(record.record, document);
        let mut before = NONE;
        if let Some(previous) = record.previous {
            before = self.places.get(&previous).copied().unwrap_or(NONE);
            if before == NONE {
                Arc::make_mut(&mut self.waiting).entry(previous).or_default().push(document);
            }
        }
        entries.push(Entry { record: record.record, previous: before, asks: asks(&record.text), date });
        // What came before it without what it follows.
        if self.waiting.contains_key(&record.record) {
            for after in Arc::make_mut(&mut self.waiting).remove(&record.record).unwrap_or_default() {
                if let Some(entry) = entries.get_mut(after as usize) {
                    entry.previous = document;
                }
            }
        }
    }

    /// How many records there are.
    pub fn documents(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    /// The parts that the words are in, in the order of their documents.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().map(AsRef::as_ref)
    }

    /// About how many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.memory()).sum();
        let rows: usize = self.rows.values().map(|rows| rows.len() as usize * (2 * rows.dimensions() + 12)).sum();
        // A place is an id and a number in a table that is half full.
        parts + rows + self.entries.capacity() * size_of::<Entry>() + self.places.capacity() * 48
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
            return Arc::make_mut(rows).push(document, vector);
        }
        let mut rows = Rows::new(vector.len())?;
        rows.push(document, vector)?;
        self.rows.insert(space, Arc::new(rows));
        Ok(())
    }

    /// Gives a record a vector that was kept; nothing for one that is not here, or has one.
    ///
    /// # Errors
    /// As [`Rows::new`] and [`Rows::copy`].
    pub fn take_vector(&mut self, space: SpaceId, record: RecordId, from: &Rows, place: u32) -> Result<()> {
        let Some(document) = self.document(record) else { return Ok(()) };
        let rows = match self.rows.entry(space) {
            Known::Occupied(known) => known.into_mut(),
            Known::Vacant(new) => new.insert(Arc::new(Rows::new(from.dimensions())?)),
        };
        if rows.contains(document) { Ok(()) } else { Arc::make_mut(rows).copy(document, from, place).map(|_| ()) }
    }

    /// How much of the file of a space was taken in.
    pub fn taken(&self, space: SpaceId) -> Option<Taken> {
        self.taken.get(&space).copied()
    }

    /// Notes how much of the file of a space was taken in.
    pub fn set_taken(&mut self, space: SpaceId, taken: Taken) {
        self.taken.insert(space, taken);
    }

    /// The vectors in a space.
    pub fn rows(&self, space: SpaceId) -> Option<&Rows> {
        self.rows.get(&space).map(AsRef::as_ref)
    }

    /// A copy that has no vectors.
    #[must_use]
    pub fn without_vectors(&self) -> Self {
        Self { rows: BTreeMap::new(), taken: BTreeMap::new(), ..self.clone() }
    }

    /// Takes over the vectors that a copy of it got since, where that has the same records.
    pub fn take_rows(&mut self, copy: &Self) {
        // Rows go by the numbers of records.
        if !Arc::ptr_eq(&copy.entries, &self.entries) && copy.entries != self.entries {
            return;
        }
        for (space, rows) in &copy.rows {
            if self.rows.get(space).is_none_or(|known| known.len() < rows.len()) {
                self.rows.insert(*space, rows.clone());
                self.taken.remove(space);
                self.taken.extend(copy.taken(*space).map(|taken| (*space, taken)));
            }
        }
    }

    /// The records that have no vector in a space yet, in order.
    pub fn without_vector(&self, space: SpaceId) -> impl Iterator<Item = u32> + '_ {
        let rows = self.rows.get(&space);
        (0..self.documents()).filter(move |document| rows.is_none_or(|rows| !rows.contains(*document)))
    }

    /// Each visible record's predecessor, where that is visible too.
    pub(super) fn previous(&self, visible: &Bits) -> Vec<u32> {
        let of = |(document, entry): (u32, &Entry)| {
            let is_seen = visible.contains(document) && visible.contains(entry.previous);
            if is_seen { entry.previous } else { NONE }
        };
        (0..).zip(self.entries.iter()).map(of).collect()
    }

    pub(super) fn asks(&self, document: u32) -> bool {
        self.entries.get(document as usize).is_some_and(|entry| entry.asks)
    }

    pub(super) fn date(&self, document: u32) -> NamedDate {
        self.entries.get(document as usize).map(|entry| entry.date).unwrap_or_default()
    }
}

/// What of a record is looked up by its words.
fn fields(record: &Record) -> Vec<(Field, &str)> {
    let named = |name: &str| record.metadata.get(name).and_then(|value| value.as_str());
    let mut fields = vec![(Field::Body, record.text.as_str())];
    fields.extend(named("title").map(|title| (Field::Title, title)));
    fields.extend(named("speaker").map(|speaker| (Field::Speaker, speaker)));
    fields
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
