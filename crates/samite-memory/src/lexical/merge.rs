//! Several parts made one, without what is no longer visible.

use std::collections::BTreeMap;

use super::field::FIELDS;
use super::part::Part;
use super::postings::{List, Posting};
use crate::Bits;

impl Part {
    /// The documents of several parts that are kept, in order, as one part: the same as if they alone had been added to one.
    pub fn merged(parts: &[(&Self, &Bits)]) -> Self {
        let mut languages = Vec::new();
        let mut lengths: [Vec<u16>; FIELDS] = Default::default();
        let mut terms: BTreeMap<String, List> = BTreeMap::new();
        for (part, kept) in parts {
            let mut numbers: Vec<Option<u32>> = vec![None; part.documents() as usize];
            for document in kept.iter() {
                if let Some(number) = numbers.get_mut(document as usize) {
                    *number = u32::try_from(languages.len()).ok();
                    languages.push(part.language(document));
                    for (field, lengths) in lengths.iter_mut().enumerate() {
                        lengths.push(part.length(field, document));
                    }
                }
            }
            part.each(|term, postings| {
                for Posting { document, frequencies } in postings {
                    if let Some(Some(document)) = numbers.get(document as usize) {
                        let posting = Posting { document: *document, frequencies };
                        match terms.get_mut(term) {
                            Some(list) => list.push(&posting),
                            None => terms.entry(term.to_owned()).or_default().push(&posting),
                        }
                    }
                }
            });
        }
        Self::new(languages, lengths, terms.iter().map(|(term, list)| (term.as_str(), list.bytes.as_slice())))
    }
}
