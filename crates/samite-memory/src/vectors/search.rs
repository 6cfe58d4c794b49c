//! Search over the parts of an index.

use super::best::{Best, Candidate};
use super::check_same;
use super::query::Query;
use super::rows::{Group, Rows};
use crate::Bits;
use samite_model::Result;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;

/// So many rows are worth a thread of their own.
const ROWS_A_THREAD: u32 = 16_384;
/// So many rows are scanned before their sums are looked at.
const STEP: usize = 256;

/// The rows of one part, and which of its documents count.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The vectors.
    pub rows: &'a Rows,
    /// The documents that count.
    pub visible: &'a Bits,
}

/// A document that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Which of the parts it is in.
    pub part: usize,
    /// Its number there.
    pub document: u32,
    /// The cosine of its vector and the query's, -1 to 1.
    pub score: f32,
}

impl Hit {
    /// Better ones are greater: those with greater scores, and of these the newest.
    fn order(&self, other: &Self) -> Ordering {
        let place = |hit: &Self| (hit.part, hit.document);
        self.score.total_cmp(&other.score).then_with(|| place(self).cmp(&place(other)))
    }
}

/// The visible documents with the best exact scores, best first, at most so many; of equal ones the newest first: those of later
/// parts, and of greater numbers.
///
/// Up to so many threads scan, one for each 16,384 rows and at most as many as given. How many there are changes nothing
/// about what is found.
///
/// # Errors
///
/// `vector_dimensions` (invalid) if a part is of another space than the query.
pub fn nearest(parts: &[Part<'_>], query: &Query, top: usize, threads: NonZeroUsize) -> Result<Vec<Hit>> {
    for part in parts {
        check_same(part.rows.dimensions(), query.dimensions())?;
    }
    if top == 0 {
        return Ok(Vec::new());
    }
    let groups: Vec<(usize, &Group)> = (0..)
        .zip(parts)
        .flat_map(|(number, part)| part.rows.groups().iter().map(move |group| (number, group)))
        .collect();
    let rows: u32 = parts.iter().map(|part| part.rows.len()).fold(0, u32::saturating_add);
    let threads = threads.get().min((rows / ROWS_A_THREAD).max(1) as usize);
    let share = groups.len().div_ceil(threads).max(1);
    let candidates = |groups: &[(usize, &Group)]| {
        let mut best = Best::new(top);
        for (number, group) in groups {
            if let Some(part) = parts.get(*number) {
                look(group, *number, part.visible, query, &mut best);
            }
        }
        best
    };
    let mut best = Best::new(top);
    let mut shares = groups.chunks(share);
    let first = shares.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = shares.map(|share| (share, spawn(scope, || candidates(share)))).collect();
        best.join(candidates(first));
        for (share, other) in others {
            // Without a thread, or with one that failed, its share is done here.
            let other = other.and_then(|other| other.join().ok());
            best.join(other.unwrap_or_else(|| candidates(share)));
        }
    });
    Ok(settle(parts, query, top, best.into_candidates()))
}

/// Starts a thread, if the system has one.
fn spawn<'scope, 'env, T: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    act: impl FnOnce() -> T + Send + 'scope,
) -> Option<std::thread::ScopedJoinHandle<'scope, T>> {
    std::thread::Builder::new().name("samite-vectors".to_owned()).spawn_scoped(scope, act).ok()
}

/// Looks through a group for rows that may be among the best.
fn look(group: &Group, part: usize, visible: &Bits, query: &Query, best: &mut Best) {
    each_step(group, query, |documents, scales, dots| {
        let mut floor = best.floor();
        for ((dot, scale), document) in dots.iter().zip(scales).zip(documents) {
            let (least, most) = query.between(*dot, *scale);
            if most >= floor && visible.contains(*document) {
                best.add(least, Candidate { most, part, document: *document });
                floor = best.floor();
            }
        }
    });
}

/// Scans a group, some rows at a time: their documents, scales and sums.
fn each_step(group: &Group, query: &Query, mut act: impl FnMut(&[u32], &[f32], &[i32])) {
    let mut dots = [0; STEP];
    let rows = group.high.chunks(STEP * query.dimensions().max(1));
    for ((high, documents), scales) in rows.zip(group.documents.chunks(STEP)).zip(group.scales.chunks(STEP)) {
        query.rough(high, &mut dots);
        act(documents, scales, dots.get(..documents.len()).unwrap_or_default());
    }
}

/// The best of the candidates by their exact scores. Those come first that may have the greatest.
fn settle(parts: &[Part<'_>], query: &Query, top: usize, candidates: Vec<Candidate>) -> Vec<Hit> {
    let mut best: BinaryHeap<Reverse<Ranked>> = BinaryHeap::new();
    for Candidate { most, part, document } in candidates {
        let full = best.len() >= top;
        if full && best.peek().is_some_and(|worst| most < worst.0.0.score) {
            break;
        }
        let Some(row) = parts.get(part).and_then(|part| part.rows.row(document)) else { continue };
        best.push(Reverse(Ranked(Hit { part, document, score: query.exact(row.high, row.low, row.scale) })));
        if full {
            best.pop();
        }
    }
    // Reversed once more, the best come first.
    best.into_sorted_vec().into_iter().map(|Reverse(Ranked(hit))| hit).collect()
}

/// A hit in the order of hits.
struct Ranked(Hit);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

/// Rough scores of all visible documents, by their numbers; 0 for those that are invisible or have no vector. What was in the
/// buffer is gone, its memory is used again.
///
/// A score is off by what the low bytes are worth: with 384 dimensions of about equal size by some ten-thousandths, and never by more
/// than `sum|q| / 254` times the largest component of the row, of both with length 1.
///
/// # Errors
///
/// `vector_dimensions` (invalid) if the part is of another space than the query.
pub fn scan(part: Part<'_>, query: &Query, scores: &mut Vec<f32>) -> Result<()> {
    check_same(part.rows.dimensions(), query.dimensions())?;
    scores.clear();
    scores.resize(part.visible.documents() as usize, 0.0);
    for group in part.rows.groups() {
        each_step(group, query, |documents, scales, dots| {
            for ((dot, scale), document) in dots.iter().zip(scales).zip(documents) {
                if part.visible.contains(*document)
                    && let Some(score) = scores.get_mut(*document as usize)
                {
                    *score = query.score(*dot, *scale);
                }
            }
        });
    }
    Ok(())
}

/// The exact scores of documents, in the order in which they are given; none for one that is invisible or has no vector.
///
/// # Errors
///
/// `vector_dimensions` (invalid) if the part is of another space than the query.
pub fn exact(part: Part<'_>, query: &Query, documents: &[u32]) -> Result<Vec<Option<f32>>> {
    check_same(part.rows.dimensions(), query.dimensions())?;
    let score = |document: &u32| {
        let row = part.visible.contains(*document).then(|| part.rows.row(*document))??;
        Some(query.exact(row.high, row.low, row.scale))
    };
    Ok(documents.iter().map(score).collect())
}
