//! Makes a part of documents.

use std::collections::HashMap;

use samite_model::{Error, Result};

use super::field::{FIELDS, Field};
use super::part::{MAX_DOCUMENTS, Part};
use super::postings::{List, Posting};
use crate::text::{Language, Languages, Token, tokens};

/// Takes documents, and gives the part that they are at any time: what was written last is searched before it is sealed.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    terms: HashMap<String, u32>,
    lists: Vec<List>,
    /// The term of a word by its language, so that a word is stemmed once.
    stems: HashMap<Language, HashMap<String, u32>>,
    lengths: [Vec<u16>; FIELDS],
    languages: Vec<u8>,
}

impl Builder {
    /// Adds a document and answers with its number. A field that is given twice is both texts one after the other.
    ///
    /// # Errors
    ///
    /// `lexical_part_full` when [`MAX_DOCUMENTS`] are there.
    pub fn add(&mut self, fields: &[(Field, &str)]) -> Result<u32> {
        let document = self.documents();
        if document >= MAX_DOCUMENTS {
            return Err(Error::invalid(
                "lexical_part_full",
                format!("a lexical part holds at most {MAX_DOCUMENTS} documents"),
            )
            .hint("seal it, and begin another"));
        }
        let fields: Vec<(Field, Vec<Token>)> = fields.iter().map(|(field, text)| (*field, tokens(text))).collect();
        let languages = Languages::of(fields.iter().flat_map(|(_, tokens)| tokens));
        let mut found: Vec<(u32, usize)> = Vec::new();
        let mut lengths = [0_u32; FIELDS];
        for (field, tokens) in &fields {
            let mut next = 0;
            for token in tokens {
                found.push((self.term(token, languages), field.number()));
                // A word's own term comes first of those that are made of it, and alone counts.
                if token.position >= next {
                    next = token.position.saturating_add(1);
                    if let Some(length) = lengths.get_mut(field.number()) {
                        *length += 1;
                    }
                }
            }
        }
        found.sort_unstable();
        for of_term in found.chunk_by(|one, other| one.0 == other.0) {
            let mut frequencies = [0_u32; FIELDS];
            for (_, field) in of_term {
                if let Some(frequency) = frequencies.get_mut(*field) {
                    *frequency += 1;
                }
            }
            if let Some(list) = of_term.first().and_then(|(term, _)| self.lists.get_mut(*term as usize)) {
                list.push(&Posting { document, frequencies });
            }
        }
        for (field, length) in self.lengths.iter_mut().zip(lengths) {
            field.push(u16::try_from(length).unwrap_or(u16::MAX));
        }
        self.languages.push(languages.code());
        Ok(document)
    }

    /// How many documents were added.
    pub fn documents(&self) -> u32 {
        u32::try_from(self.languages.len()).unwrap_or(u32::MAX)
    }

    /// The part of all documents so far.
    pub fn build(&self) -> Part {
        let mut terms: Vec<(&str, u32)> = self.terms.iter().map(|(term, number)| (term.as_str(), *number)).collect();
        terms.sort_unstable();
        let postings = |number: u32| self.lists.get(number as usize).map_or(&[][..], |list| list.bytes.as_slice());
        let terms = terms.into_iter().map(|(term, number)| (term, postings(number)));
        Part::new(self.languages.clone(), self.lengths.clone(), terms)
    }

    fn term(&mut self, token: &Token, languages: Languages) -> u32 {
        let Some(language) = languages.of_script(token.script) else { return self.intern(&token.text) };
        if let Some(term) = self.stems.get(&language).and_then(|stems| stems.get(&token.text)) {
            return *term;
        }
        let term = self.intern(&language.stem(&token.text));
        self.stems.entry(language).or_default().insert(token.text.clone(), term);
        term
    }

    fn intern(&mut self, term: &str) -> u32 {
        if let Some(number) = self.terms.get(term) {
            return *number;
        }
        let number = u32::try_from(self.lists.len()).unwrap_or(u32::MAX);
        self.terms.insert(term.to_owned(), number);
        self.lists.push(List::default());
        number
    }
}
