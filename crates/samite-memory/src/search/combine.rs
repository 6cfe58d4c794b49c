//! One score of all that is known.

use super::index::Index;
use crate::Bits;
use crate::lexical::{Context, Corpus, Field, Part, Query, Weights};
use crate::text::NamedDate;
use crate::vectors;
use samite_model::{Result, SpaceId};

const LEXICAL: f32 = 0.7;
const VECTOR: f32 = 0.3;
const SPEAKER: f32 = 0.1;
const DATE: f32 = 0.2;
const ASKS: f32 = 0.06;
/// What the vector of the record before counts.
const BEFORE: f32 = 0.2;
/// What the vectors of the records after count.
const AFTER: f32 = 0.3;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The question, as it was typed. There are no operators.
    pub text: &'a str,
    /// The question's vectors, each with the space that it is in, the one that matters most first; none where there is no encoder.
    pub vectors: &'a [(SpaceId, &'a [f32])],
}

/// A record's score, and what it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The record's number in the index.
    pub document: u32,
    /// The score.
    pub score: f32,
    /// The share of the question's words that it and its neighbours answer: 0 to about 1.
    pub coverage: f32,
    /// How much nearer its vector is than those of the others; none where the question has no vector, or the record.
    pub dot: Option<f32>,
    /// Whether the question names who said it.
    pub speaker: bool,
    /// The share of the question's date that is the record's.
    pub date: f32,
    /// Whether it ends with a question itself.
    pub asks: bool,
}

/// The visible records that have anything to do with the question, the best first; of equal ones the newest. An empty question
/// finds the newest.
///
/// # Errors
/// `vector_dimensions`, `vector_not_finite` or `vector_zero` (invalid) for a vector that is none of its space.
pub fn score(index: &Index, visible: &Bits, wanted: &Wanted<'_>) -> Result<Vec<Scored>> {
    if visible.is_empty() {
        return Ok(Vec::new());
    }
    let seen = parts_of(index, visible);
    let parts: Vec<(&Part, &Bits)> = index.parts().zip(&seen).collect();
    let corpus = Corpus::new(&parts);
    let query = Query::new(wanted.text);
    let context = Context::new(index.previous(visible));
    let found = corpus.score(&query, &Weights::default(), &context);
    let asked = NamedDate::of(wanted.text);
    let mut spaces = Vec::new();
    for (space, vector) in wanted.vectors {
        spaces.extend(dots(index, visible, &context, *space, vector)?);
    }
    let dots = fused(spaces);
    let everything = query.is_empty() && dots.is_none();
    let mut all = Vec::new();
    for document in visible.iter() {
        let coverage = found.scores.get(document as usize).copied().unwrap_or_default();
        let fields = found.fields.get(document as usize).copied().unwrap_or_default();
        let dot = dots.as_ref().and_then(|dots| dots.get(document as usize).copied().flatten());
        if coverage == 0.0 && dot.is_none() && !everything {
            continue;
        }
        let relevance = match &dots {
            Some(_) => LEXICAL * coverage + VECTOR * dot.unwrap_or_default(),
            None => coverage,
        };
        let speaker = fields & Field::Speaker.bit() != 0;
        let (date, asks) = (share(asked, index.date(document)), index.asks(document));
        let mut score = relevance + DATE * date;
        if speaker {
            score += SPEAKER;
        }
        if asks {
            score -= ASKS;
        }
        // Who asks for nothing gets what is newest.
        let score = if everything { 0.0 } else { score };
        all.push(Scored { document, score, coverage, dot, speaker, date, asks });
    }
    // No two are equal.
    all.sort_unstable_by(|one, other| other.score.total_cmp(&one.score).then(other.document.cmp(&one.document)));
    Ok(all)
}

/// What is visible of each part.
fn parts_of(index: &Index, visible: &Bits) -> Vec<Bits> {
    let mut begin = 0_u32;
    let of = |part: &Part| {
        let seen = visible.range(begin, part.documents());
        begin = begin.saturating_add(part.documents());
        seen
    };
    index.parts().map(of).collect()
}

/// The share of a question's date that is a record's.
fn share(asked: NamedDate, date: NamedDate) -> f32 {
    let parts = [(asked.year, date.year), (asked.month, date.month), (asked.day, date.day)];
    let (mut given, mut same) = (0.0_f32, 0.0_f32);
    for (asked, date) in parts {
        if asked.is_some() {
            given += 1.0;
            same += if asked == date { 1.0 } else { 0.0 };
        }
    }
    if given == 0.0 { 0.0 } else { same / given }
}

/// How near records are in one space.
struct Dots {
    /// How much nearer each visible record's vector is than the average, with its neighbours'.
    mixed: Vec<Option<f32>>,
    /// Whether it has a vector itself.
    has: Vec<bool>,
    /// The share of what is visible that has one.
    share: f32,
    /// How far they spread around their average.
    spread: f32,
}

/// Nothing where no visible record has a vector.
fn dots(index: &Index, visible: &Bits, context: &Context, space: SpaceId, vector: &[f32]) -> Result<Option<Dots>> {
    let Some(rows) = index.rows(space).filter(|rows| !rows.is_empty()) else { return Ok(None) };
    let query = vectors::Query::new(vector)?;
    let mut raw = Vec::new();
    vectors::scan(vectors::Part { rows, visible }, &query, &mut raw)?;
    let has: Vec<bool> =
        (0..index.documents()).map(|document| visible.contains(document) && rows.contains(document)).collect();
    let (mut sum, mut squares, mut count, mut all) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    for document in visible.iter() {
        all += 1.0;
        if has.get(document as usize).copied().unwrap_or_default() {
            let dot = f64::from(raw.get(document as usize).copied().unwrap_or_default());
            (sum, squares, count) = (sum + dot, squares + dot * dot, count + 1.0);
        }
    }
    if count == 0.0 {
        return Ok(None);
    }
    let variance = (squares / count - (sum / count).powi(2)).max(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a mean of numbers of 32 bits needs no more")]
    let (mean, share, spread) = ((sum / count) as f32, (count / all) as f32, variance.sqrt() as f32);
    let centred = |document: u32| match (raw.get(document as usize), has.get(document as usize)) {
        (Some(dot), Some(true)) => dot - mean,
        _ => 0.0,
    };
    let mixed = |document: u32| {
        let before = context.previous(document).map_or(0.0, centred);
        let after: f32 = context.successors(document).map(centred).sum();
        centred(document) + BEFORE * before + AFTER * after
    };
    let mixed = (0..index.documents()).map(|document| visible.contains(document).then(|| mixed(document)));
    Ok(Some(Dots { mixed: mixed.collect(), has, share, spread }))
}

/// How near records are in all spaces: each by those in which it has a vector, weighted by the share of records that have one there, and
/// brought to the spread of the first. A record that has none is as its neighbours make it in all of them.
fn fused(spaces: Vec<Dots>) -> Option<Vec<Option<f32>>> {
    let mut spaces = spaces;
    if spaces.len() < 2 {
        return spaces.pop().map(|only| only.mixed);
    }
    let first = spaces.first().map_or(1.0, |first| first.spread);
    let scale = |space: &Dots| if first > 0.0 && space.spread > 0.0 { first / space.spread } else { 1.0 };
    let documents = spaces.first().map_or(0, |first| first.mixed.len());
    let of = |document: usize| {
        let has = |space: &Dots| space.has.get(document).copied().unwrap_or_default();
        let is_anywhere = spaces.iter().any(has);
        let (mut sum, mut weight) = (0.0_f32, 0.0_f32);
        for space in spaces.iter().filter(|space| !is_anywhere || has(space)) {
            sum += space.share * scale(space) * space.mixed.get(document).copied().flatten()?;
            weight += space.share;
        }
        Some(sum / weight)
    };
    Some((0..documents).map(of).collect())
}
