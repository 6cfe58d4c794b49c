//! How well documents answer a query.

use super::context::Context;
use super::corpus::{Corpus, single};
use super::field::{FIELDS, Field};
use super::query::{Query, Sought};
use super::weights::Weights;
use crate::text::{Kind, LANGUAGES};

/// What a query's term is in the visible documents.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredTerm {
    /// The folded word, before it is stemmed.
    pub text: String,
    /// What it was made of.
    pub kind: Kind,
    /// How many visible documents have it in a field that has a weight.
    pub document_frequency: u32,
    /// ln(1 + (n - df + 0.5) / (df + 0.5)).
    pub idf: f32,
    /// What its share is multiplied by.
    pub weight: f32,
    /// Whether it is in the speaker field of a visible document.
    pub is_name: bool,
}

/// Every document's score, and what it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// By document, those of the first part first; 0 for one that is invisible or has nothing of the query, nor has a neighbour.
    pub scores: Vec<f32>,
    /// By document the fields that have a term of the query, as [`Field::bit`]s; its own fields, not its neighbours'.
    pub fields: Vec<u8>,
    /// The terms that were looked for.
    pub terms: Vec<ScoredTerm>,
}

/// A term of the query that a document has, for an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The place of the term in [`Scores::terms`].
    pub term: usize,
    /// How often the document itself has it, by field; nowhere if only neighbours have it.
    pub frequencies: [u32; FIELDS],
    /// Its share of the document's score.
    pub score: f32,
}

/// A visible document that has a term.
#[derive(Clone, Copy)]
struct Hit {
    document: u32,
    /// The weighted frequency.
    x: f32,
    frequencies: [u32; FIELDS],
}

/// Scratch for one query.
struct Scorer<'a> {
    corpus: &'a Corpus<'a>,
    weights: &'a Weights,
    context: &'a Context,
    hits: Vec<Hit>,
    /// By document, all zero between two terms.
    y: Vec<f32>,
    touched: Vec<u32>,
}

impl Corpus<'_> {
    /// Scores every document. The score of a visible document depends on nothing but visible documents.
    ///
    /// `context` has a predecessor for each document of the corpus, or is empty.
    pub fn score(&self, query: &Query, weights: &Weights, context: &Context) -> Scores {
        let sought = query.sought(&self.languages, weights.stop_words);
        let mut scorer = Scorer::new(self, weights, context);
        let mut found = Scores {
            scores: vec![0.0; self.documents as usize],
            fields: vec![0; self.documents as usize],
            terms: Vec::with_capacity(sought.len()),
        };
        let mut total = [0.0; LANGUAGES];
        for sought in &sought {
            let term = scorer.find(sought);
            expect(&mut total, sought, &term, weights);
            let Scores { scores: sums, fields, .. } = &mut found;
            for hit in &scorer.hits {
                if let Some(fields) = fields.get_mut(hit.document as usize) {
                    *fields |= hit.fields();
                }
            }
            scorer.spread();
            for document in &scorer.touched {
                if let Some(sum) = sums.get_mut(*document as usize) {
                    *sum += scorer.share(&term, *document);
                }
            }
            scorer.clear();
            found.terms.push(term);
        }
        found.hide(self);
        if weights.is_share {
            found.divide(self, &total);
        }
        found
    }

    /// Which terms of the query each of these documents has, and what each adds to its score.
    pub fn explain(&self, query: &Query, weights: &Weights, context: &Context, documents: &[u32]) -> Vec<Vec<Match>> {
        let sought = query.sought(&self.languages, weights.stop_words);
        let mut scorer = Scorer::new(self, weights, context);
        let mut total = [0.0; LANGUAGES];
        let mut all: Vec<Vec<Match>> = vec![Vec::new(); documents.len()];
        for (number, sought) in sought.iter().enumerate() {
            let term = scorer.find(sought);
            expect(&mut total, sought, &term, weights);
            scorer.spread();
            for (document, matches) in documents.iter().zip(&mut all) {
                let score = scorer.share(&term, *document);
                let hit = scorer.hits.binary_search_by_key(document, |hit| hit.document);
                let hit = hit.ok().and_then(|place| scorer.hits.get(place));
                if self.is_visible(*document) && (hit.is_some() || score > 0.0) {
                    let frequencies = hit.map_or([0; FIELDS], |hit| hit.frequencies);
                    matches.push(Match { term: number, frequencies, score });
                }
            }
            scorer.clear();
        }
        if weights.is_share {
            for (document, matches) in documents.iter().zip(&mut all) {
                let total = self.total(&total, *document);
                for matched in matches {
                    matched.score /= total;
                }
            }
        }
        all
    }

    fn is_visible(&self, document: u32) -> bool {
        let located =
            self.locate(document).and_then(|(part, within)| Some(self.parts.get(part)?.visible.contains(within)));
        located.unwrap_or(false)
    }

    /// The sum that the score of a document is a share of; 1 where there is nothing to have a share of.
    fn total(&self, total: &[f32; LANGUAGES], document: u32) -> f32 {
        let languages =
            self.locate(document).and_then(|(part, document)| Some(self.parts.get(part)?.part.language(document)));
        languages.and_then(|code| total.get(usize::from(code))).copied().filter(|total| *total > 0.0).unwrap_or(1.0)
    }
}

/// Adds what a term is expected to give to what a document in each languages has a share of.
fn expect(total: &mut [f32; LANGUAGES], sought: &Sought<'_>, term: &ScoredTerm, weights: &Weights) {
    let kind = weights.kind(term.kind);
    if !kind.is_expected || term.is_name && weights.names < 1.0 {
        return;
    }
    for variant in &sought.variants {
        for (total, factor) in total.iter_mut().zip(variant.factors) {
            *total += factor * kind.weight * term.idf;
        }
    }
}

impl Scores {
    /// Leaves nothing of what is invisible, whatever links the caller gave.
    fn hide(&mut self, corpus: &Corpus<'_>) {
        for part in &corpus.parts {
            let scores = self.scores.iter_mut().skip(part.offset as usize);
            for (score, document) in scores.zip(0..part.part.documents()) {
                if *score > 0.0 && !part.visible.contains(document) {
                    *score = 0.0;
                }
            }
        }
    }

    fn divide(&mut self, corpus: &Corpus<'_>, total: &[f32; LANGUAGES]) {
        for part in &corpus.parts {
            let scores = self.scores.iter_mut().skip(part.offset as usize);
            for (score, document) in scores.zip(0..part.part.documents()) {
                if *score > 0.0
                    && let Some(total) =
                        total.get(usize::from(part.part.language(document))).filter(|total| **total > 0.0)
                {
                    *score /= total;
                }
            }
        }
    }
}

impl Hit {
    fn fields(&self) -> u8 {
        (0_u8..).zip(self.frequencies).filter(|(_, often)| *often > 0).fold(0, |fields, (field, _)| fields | 1 << field)
    }
}

impl<'a> Scorer<'a> {
    fn new(corpus: &'a Corpus<'a>, weights: &'a Weights, context: &'a Context) -> Self {
        Self {
            corpus,
            weights,
            context,
            hits: Vec::new(),
            y: vec![0.0; corpus.documents as usize],
            touched: Vec::new(),
        }
    }

    /// Collects the visible documents that have a term, in order.
    fn find(&mut self, sought: &Sought<'_>) -> ScoredTerm {
        self.hits.clear();
        let mut frequency = 0_u32;
        let mut is_name = false;
        for part in &self.corpus.parts {
            let begin = self.hits.len();
            for variant in &sought.variants {
                for posting in part.part.postings(&variant.term) {
                    if !part.visible.contains(posting.document) {
                        continue;
                    }
                    let code = usize::from(part.part.language(posting.document));
                    let factor = variant.factors.get(code).copied().unwrap_or(0.0);
                    if factor == 0.0 {
                        continue;
                    }
                    let x = factor * self.frequency(part.part, posting.document, &posting.frequencies);
                    frequency += u32::from(x > 0.0);
                    is_name |= posting.frequencies.get(Field::Speaker.number()).is_some_and(|often| *often > 0);
                    let document = part.offset.saturating_add(posting.document);
                    self.hits.push(Hit { document, x, frequencies: posting.frequencies });
                }
            }
            // The order in which neighbours are added up must not depend on what else is in the part.
            if sought.variants.len() > 1
                && let Some(hits) = self.hits.get_mut(begin..)
            {
                hits.sort_unstable_by_key(|hit| hit.document);
            }
        }
        let (all, with) = (single(u64::from(self.corpus.visible)), single(u64::from(frequency)));
        let idf = ((all - with + 0.5) / (with + 0.5)).ln_1p();
        let mut weight = self.weights.kind(sought.token.kind).weight;
        if is_name {
            weight *= self.weights.names;
        }
        ScoredTerm {
            text: sought.token.text.clone(),
            kind: sought.token.kind,
            document_frequency: frequency,
            idf,
            weight,
            is_name,
        }
    }

    /// The weighted frequency of a term in a document.
    #[inline]
    fn frequency(&self, part: &super::Part, document: u32, frequencies: &[u32; FIELDS]) -> f32 {
        let mut x = 0.0;
        for (field, (weight, (frequency, average))) in
            self.weights.fields.iter().zip(frequencies.iter().zip(self.corpus.average)).enumerate()
        {
            if *frequency > 0 && weight.weight > 0.0 {
                let length = single(u64::from(part.length(field, document))) / average;
                // A part whose bytes lie about lengths must not make a score that is no number.
                let norm = (1.0 - weight.b + weight.b * length).max(0.01);
                x += weight.weight * single(u64::from(*frequency)) / norm;
            }
        }
        x
    }

    /// Adds up what each document and its neighbours have of the term that was found.
    fn spread(&mut self) {
        let Self { weights, context, hits, y, touched, .. } = self;
        let mut add = |document: u32, x: f32| {
            if let Some(y) = y.get_mut(document as usize)
                && x > 0.0
            {
                if *y == 0.0 {
                    touched.push(document);
                }
                *y += x;
            }
        };
        for hit in hits.iter().filter(|hit| hit.x > 0.0) {
            add(hit.document, hit.x);
            context.spread(hit.document, &weights.back, &weights.ahead, &mut |document, weight| {
                add(document, weight * hit.x);
            });
        }
    }

    /// What the term that was spread adds to a document's score.
    #[inline]
    fn share(&self, term: &ScoredTerm, document: u32) -> f32 {
        let y = self.y.get(document as usize).copied().unwrap_or(0.0);
        if y > 0.0 { term.weight * term.idf * self.weights.scale * y / (y + self.weights.k1) } else { 0.0 }
    }

    /// Forgets what was spread.
    fn clear(&mut self) {
        for document in self.touched.drain(..) {
            if let Some(y) = self.y.get_mut(document as usize) {
                *y = 0.0;
            }
        }
    }
}
