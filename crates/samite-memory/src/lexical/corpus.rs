//! What is searched: parts, each with what is visible of it, and the statistics of that.

use super::field::FIELDS;
use super::part::Part;
use crate::Bits;
use crate::text::Languages;

/// Parts with their visible documents, counted once for any number of queries.
#[derive(Clone, Debug)]
pub struct Corpus<'a> {
    pub(super) parts: Vec<CorpusPart<'a>>,
    /// Documents of all parts, visible or not.
    pub(super) documents: u32,
    pub(super) visible: u32,
    pub(super) average: [f32; FIELDS],
    /// The languages that visible documents are in.
    pub(super) languages: Vec<Languages>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CorpusPart<'a> {
    pub(super) part: &'a Part,
    pub(super) visible: &'a Bits,
    /// The number that its first document has in the corpus.
    pub(super) offset: u32,
}

impl<'a> Corpus<'a> {
    /// Counts what is visible. Documents are numbered through, those of the first part first.
    pub fn new(parts: &[(&'a Part, &'a Bits)]) -> Self {
        let mut corpus =
            Self { parts: Vec::new(), documents: 0, visible: 0, average: [0.0; FIELDS], languages: Vec::new() };
        let mut sums = [0_u64; FIELDS];
        let mut codes = 0_u64;
        for (part, visible) in parts {
            for document in visible.iter().take_while(|document| *document < part.documents()) {
                corpus.visible += 1;
                codes |= 1 << (part.language(document) & 63);
                for (field, sum) in sums.iter_mut().enumerate() {
                    *sum += u64::from(part.length(field, document));
                }
            }
            corpus.parts.push(CorpusPart { part, visible, offset: corpus.documents });
            corpus.documents = corpus.documents.saturating_add(part.documents());
        }
        for (average, sum) in corpus.average.iter_mut().zip(sums) {
            // Where nothing has a length, no length counts.
            *average = if sum == 0 { 1.0 } else { single(sum) / single(u64::from(corpus.visible)) };
        }
        corpus.languages =
            (0..64).filter(|code| codes >> code & 1 == 1).filter_map(|code| Languages::from_code(code).ok()).collect();
        corpus
    }

    /// How many documents are visible.
    pub const fn visible(&self) -> u32 {
        self.visible
    }

    /// How many documents the parts have, visible or not: the numbers of documents are below it.
    pub const fn documents(&self) -> u32 {
        self.documents
    }

    /// The number that the first document of a part has.
    pub fn offset(&self, part: usize) -> Option<u32> {
        self.parts.get(part).map(|part| part.offset)
    }

    /// The part of a document, and its number there.
    pub fn locate(&self, document: u32) -> Option<(usize, u32)> {
        let part = self.parts.partition_point(|part| part.offset <= document).checked_sub(1)?;
        let within = document - self.parts.get(part)?.offset;
        (document < self.documents).then_some((part, within))
    }
}

/// A count as a single-precision number: exact up to 2^24, and near enough beyond.
#[expect(clippy::cast_precision_loss, reason = "a count beyond 2^24 needs no more than seven digits in a score")]
pub(super) const fn single(count: u64) -> f32 {
    count as f32
}
