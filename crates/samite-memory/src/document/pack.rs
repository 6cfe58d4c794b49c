//! Which of the places are cut: by what is there, so that what changes in one place changes little elsewhere.

use super::breaks::Break;
use super::layout::{INSIDE, LINE, PARAGRAPH, SENTENCE, Strength};
use super::limits::Limits;

/// How much of the text after a place decides between it and others as good, in bytes.
const SEEN: usize = 48;

/// The places that are cut, the text's beginning and end among them.
///
/// After a cut, the best place within reach is the next: between the least and the most that a piece has. Of places that are
/// equally good it is the one with the greatest hash of what stands after it. Two versions of a text that are the same from some
/// place on soon choose the same, and go on alike, as with content-defined chunking of bytes. Each place is looked at at most as
/// often as the most has the least, and once more.
pub(super) fn cuts(text: &str, breaks: &[Break], limits: &Limits) -> Vec<usize> {
    let mut cuts = vec![0];
    let Some(end) = breaks.last() else { return cuts };
    // What two places as good as each other are decided by, once for each.
    let hashes: Vec<u64> = breaks.iter().map(|place| hash(text, place.at)).collect();
    let mut from = 0;
    while let Some(start) = breaks.get(from).filter(|start| start.at < end.at) {
        from = next(breaks, &hashes, from, end.weight - start.weight, limits).max(from + 1);
        cuts.push(breaks.get(from).map_or(end.at, |place| place.at));
    }
    cuts
}

/// The number of the next place to cut.
fn next(breaks: &[Break], hashes: &[u64], from: usize, rest: u64, limits: &Limits) -> usize {
    let last = breaks.len() - 1;
    if rest <= limits.usual() {
        return last;
    }
    let Some(start) = breaks.get(from) else { return last };
    let reach = |most: u64| {
        // Places are few within reach, many in a text.
        let near = breaks.get(from..).unwrap_or_default();
        near.iter().take_while(|place| place.weight - start.weight <= most).count() + from
    };
    // What is left at the end is not less than a piece has.
    let until = reach(limits.most().min(rest - limits.least()));
    let first = reach(limits.least().saturating_sub(1)).max(from + 1);
    let best = best(breaks, hashes, first, until);
    if rest <= limits.most() {
        return best.filter(|(strength, _)| *strength >= PARAGRAPH).map_or(last, |(_, number)| number);
    }
    match best {
        Some((_, number)) if breaks.get(number).is_some_and(|place| !place.whole && place.strength != INSIDE) => number,
        // Rather a short piece than one that cuts what is better left whole.
        Some((_, number)) => early(breaks, from, first).unwrap_or(number),
        None => early(breaks, from, first).unwrap_or_else(|| reach(limits.most()).saturating_sub(1)),
    }
}

/// The best of these places.
fn best(breaks: &[Break], hashes: &[u64], first: usize, until: usize) -> Option<(Strength, usize)> {
    let places = breaks.get(first..until)?.iter().zip(hashes.get(first..until)?).enumerate();
    places
        .max_by_key(|(_, (place, hash))| (place.strength, **hash))
        .map(|(number, (place, _))| (place.strength, first + number))
}

/// The last place before the least of a piece that cuts nothing which is better left whole.
fn early(breaks: &[Break], from: usize, first: usize) -> Option<usize> {
    let places = breaks.get(from + 1..first)?;
    let good = |least: Strength| {
        places.iter().rposition(|place| !place.whole && place.strength >= least && place.strength != INSIDE)
    };
    good(LINE).or_else(|| good(SENTENCE)).map(|number| from + 1 + number)
}

/// A hash of what stands after a place: FNV-1a with a final mix. It decides nothing but which of equals is taken.
fn hash(text: &str, at: usize) -> u64 {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in after.iter().take(SEEN).filter(|byte| !byte.is_ascii_whitespace()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}
