//! What was found, and what of it stands where several findings overlap.

use crate::policy::{Class, Mode};
use std::borrow::Cow;
use std::ops::Range;

/// How sure a finding is: the surer gives its name where findings overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Personal data.
    Person,
    /// A value beside a name.
    Name,
    /// A pattern of the user's own.
    Pattern,
    /// A token with telling parts.
    Structure,
    /// The password of an address.
    Address,
    /// A form of tokens.
    Form,
    /// A block of text that is one secret.
    Block,
    /// A secret that was registered.
    Registered,
}

/// A place in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) range: Range<usize>,
    pub(crate) class: Class,
    pub(crate) kind: Cow<'static, str>,
    pub(crate) rank: Rank,
}

impl Hit {
    pub(crate) fn secret(range: Range<usize>, kind: &'static str, rank: Rank) -> Self {
        Self { range, class: Class::Secret, kind: Cow::Borrowed(kind), rank }
    }
}

/// One secret or datum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) class: Class,
    pub(crate) kind: Cow<'static, str>,
    /// Its bytes without any encoding.
    pub(crate) bytes: Vec<u8>,
}

/// What was found, in places of the text that it was found in: several when it is spread over pieces of it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Not empty, in order.
    pub(crate) places: Vec<Range<usize>>,
    /// One, or several that share an encoding.
    pub(crate) parts: Vec<Part>,
    pub(crate) mode: Mode,
    pub(crate) rank: Rank,
    /// How many encodings were undone to see it.
    pub(crate) depth: usize,
}

impl Found {
    pub(crate) fn start(&self) -> usize {
        self.places.first().map_or(0, |place| place.start)
    }

    pub(crate) fn end(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }
}

/// Makes one of what overlaps: what is redacted before what is reported, then the surer, then what was seen under more
/// encodings, then the longer. A replaced place covers all that any of them covers.
pub(crate) fn settle(mut found: Vec<Found>) -> Vec<Found> {
    if found.len() < 2 {
        return found;
    }
    found.sort_by_key(|one| (one.start(), one.end()));
    let mut settled: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        match settled.last_mut() {
            Some(last) if next.start() < last.end() => merge(last, next),
            _ => settled.push(next),
        }
    }
    settled
}

fn merge(last: &mut Found, next: Found) {
    let order = |one: &Found| (one.mode == Mode::Redact, one.rank, one.depth, one.end() - one.start());
    let (mut kept, other) = if order(&next) > order(last) {
        (next, std::mem::replace(last, Found::none()))
    } else {
        (std::mem::replace(last, Found::none()), next)
    };
    // Where it is spread over pieces, those say it all; else the place grows to what either covers.
    if kept.places.len() == 1 && other.places.len() == 1 {
        let (start, end) = (kept.start().min(other.start()), kept.end().max(other.end()));
        // A reported datum does not widen what is redacted.
        if kept.mode == other.mode {
            kept.places.clear();
            kept.places.push(start..end);
        }
    } else if kept.places.len() == 1 && kept.mode == other.mode {
        kept.places = other.places;
    }
    *last = kept;
}

impl Found {
    /// The same in a text that has so many bytes more before it.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        for place in &mut self.places {
            *place = place.start + by..place.end + by;
        }
        self
    }

    const fn none() -> Self {
        Self { places: Vec::new(), parts: Vec::new(), mode: Mode::Off, rank: Rank::Person, depth: 0 }
    }
}
