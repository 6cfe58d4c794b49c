//! An immutable index of documents 0 to n.
//!
//! Encoded, byte by byte (integers are varints, seven bits a byte, lowest first):
//!
//! ```text
//! version of this format, version of the analyser
//! documents
//! which fields have lengths (a bit each); for each of these: a length for each document
//! languages: runs of (documents, code)
//! terms; for each, in ascending order of bytes:
//!     bytes shared with the term before (0 for every 16th), bytes of the rest, the rest, bytes of its postings
//! the postings of each term
//! ```

use samite_model::{Error, Result};

use super::bytes::{Reader, damaged, need, put_varint};
use super::field::FIELDS;
use super::postings::Postings;
use crate::text::{ANALYSER, Languages};

/// The most documents that a part holds.
pub const MAX_DOCUMENTS: u32 = 1 << 24;

/// The version of the encoding.
const FORMAT: u8 = 1;

/// Terms in a block of the dictionary, of which only the first is written whole.
const BLOCK: usize = 16;

/// Where a block of the dictionary and its postings begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    dictionary: usize,
    postings: usize,
}

/// An immutable index of documents, numbered from 0 in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    documents: u32,
    /// For each field how many words it has, by document; empty if no document has any. At most 65,535 are counted.
    lengths: [Vec<u16>; FIELDS],
    languages: Vec<u8>,
    terms: usize,
    dictionary: Vec<u8>,
    blocks: Vec<Block>,
    postings: Vec<u8>,
}

/// A term as it is read from the dictionary.
struct Entry<'a> {
    shared: usize,
    rest: &'a [u8],
    postings: u64,
}

fn entry<'a>(reader: &mut Reader<'a>) -> Option<Entry<'a>> {
    let shared = usize::try_from(reader.varint()?).ok()?;
    let length = reader.varint()?;
    let rest = reader.bytes(length)?;
    Some(Entry { shared, rest, postings: reader.varint()? })
}

impl Part {
    /// A part of documents with lengths and languages, and of terms in ascending order with their postings.
    pub(super) fn new<'a>(
        languages: Vec<u8>,
        mut lengths: [Vec<u16>; FIELDS],
        terms: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Self {
        for field in &mut lengths {
            if field.iter().all(|length| *length == 0) {
                *field = Vec::new();
            }
        }
        let documents = u32::try_from(languages.len()).unwrap_or(u32::MAX);
        let mut part = Self { documents, lengths, languages, ..Self::default() };
        let mut last = "";
        for (term, postings) in terms {
            let mut shared = 0;
            if part.terms.is_multiple_of(BLOCK) {
                part.blocks.push(Block { dictionary: part.dictionary.len(), postings: part.postings.len() });
            } else {
                shared = term.bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count();
            }
            let rest = term.as_bytes().get(shared..).unwrap_or_default();
            put_varint(&mut part.dictionary, shared as u64);
            put_varint(&mut part.dictionary, rest.len() as u64);
            part.dictionary.extend_from_slice(rest);
            put_varint(&mut part.dictionary, postings.len() as u64);
            part.postings.extend_from_slice(postings);
            part.terms += 1;
            last = term;
        }
        part.dictionary.shrink_to_fit();
        part.postings.shrink_to_fit();
        part.blocks.shrink_to_fit();
        part
    }

    /// How many documents it has.
    pub const fn documents(&self) -> u32 {
        self.documents
    }

    /// How many different terms it has.
    pub const fn terms(&self) -> usize {
        self.terms
    }

    /// The bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.lengths.iter().map(|field| field.capacity() * 2).sum::<usize>()
            + self.languages.capacity()
            + self.dictionary.capacity()
            + self.blocks.capacity() * size_of::<Block>()
            + self.postings.capacity()
    }

    /// The length of a document's field in words.
    pub(super) fn length(&self, field: usize, document: u32) -> u16 {
        self.lengths.get(field).and_then(|field| field.get(document as usize)).copied().unwrap_or(0)
    }

    /// The code of a document's languages.
    pub(super) fn language(&self, document: u32) -> u8 {
        self.languages.get(document as usize).copied().unwrap_or(0)
    }

    /// The postings of a term.
    pub(super) fn postings(&self, term: &str) -> Postings<'_> {
        Postings::new(self.find(term.as_bytes()).unwrap_or_default())
    }

    fn find(&self, term: &[u8]) -> Option<&[u8]> {
        let after = self.blocks.partition_point(|block| {
            let first = self.dictionary.get(block.dictionary..).and_then(|bytes| entry(&mut Reader(bytes)));
            first.is_some_and(|first| first.rest <= term)
        });
        let block = self.blocks.get(after.checked_sub(1)?)?;
        let mut reader = Reader(self.dictionary.get(block.dictionary..)?);
        let mut start = block.postings;
        let mut current = Vec::new();
        for _ in 0..BLOCK {
            let entry = entry(&mut reader)?;
            let end = start.checked_add(usize::try_from(entry.postings).ok()?)?;
            current.truncate(entry.shared);
            current.extend_from_slice(entry.rest);
            match current.as_slice().cmp(term) {
                std::cmp::Ordering::Less => start = end,
                std::cmp::Ordering::Equal => return self.postings.get(start..end),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }

    /// Each term with its postings, in ascending order.
    pub(super) fn each(&self, mut give: impl FnMut(&str, Postings<'_>)) {
        let mut reader = Reader(&self.dictionary);
        let mut postings = Reader(&self.postings);
        let mut current = Vec::new();
        while let Some(entry) = entry(&mut reader) {
            current.truncate(entry.shared);
            current.extend_from_slice(entry.rest);
            let (Ok(term), Some(bytes)) = (std::str::from_utf8(&current), postings.bytes(entry.postings)) else {
                return;
            };
            give(term, Postings::new(bytes));
        }
    }

    /// As bytes. The same documents give the same bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT, ANALYSER];
        put_varint(&mut bytes, u64::from(self.documents));
        let fields = (0_u8..).zip(&self.lengths).filter(|(_, field)| !field.is_empty());
        bytes.push(fields.clone().fold(0, |mask, (field, _)| mask | 1 << field));
        for length in fields.flat_map(|(_, field)| field) {
            put_varint(&mut bytes, u64::from(*length));
        }
        for run in self.languages.chunk_by(|one, other| one == other) {
            put_varint(&mut bytes, run.len() as u64);
            bytes.extend(run.first());
        }
        put_varint(&mut bytes, self.terms as u64);
        bytes.extend_from_slice(&self.dictionary);
        bytes.extend_from_slice(&self.postings);
        bytes
    }

    /// From bytes, all of which are checked.
    ///
    /// # Errors
    ///
    /// `bad_lexical_part` when they are no part, `lexical_part_outdated` when it was made by another version of the format or
    /// of the analyser, and is to be made again.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let format = need(reader.byte(), "it is empty")?;
        let analyser = need(reader.byte(), "it ends too early")?;
        if format != FORMAT || analyser != ANALYSER {
            return Err(Error::conflict(
                "lexical_part_outdated",
                format!("a lexical part has format {format} and analyser {analyser}, not {FORMAT} and {ANALYSER}"),
            )
            .hint("index the namespace again"));
        }
        let documents = need(reader.u32().filter(|count| *count <= MAX_DOCUMENTS), "it has too many documents")?;
        let fields = need(reader.byte().filter(|fields| *fields < 1 << FIELDS), "it has unknown fields")?;
        let mut lengths: [Vec<u16>; FIELDS] = Default::default();
        for (number, field) in lengths.iter_mut().enumerate() {
            if fields >> number & 1 == 1 {
                // Each length takes a byte at least: a count beyond the rest is a lie that must not allocate.
                if documents as usize > reader.0.len() {
                    return Err(damaged("it ends within its lengths"));
                }
                let length = || reader.u32().and_then(|length| u16::try_from(length).ok());
                *field = need(std::iter::repeat_with(length).take(documents as usize).collect(), "a length")?;
                if field.iter().all(|length| *length == 0) {
                    return Err(damaged("a field without words has lengths"));
                }
            }
        }
        let languages = languages(&mut reader, documents)?;
        let terms = need(reader.varint(), "it ends before its terms")?;
        if terms > reader.0.len() as u64 {
            return Err(damaged("it has fewer terms than it says"));
        }
        let terms = usize::try_from(terms).unwrap_or(usize::MAX);
        let (blocks, dictionary, postings) = dictionary(reader.0, terms)?;
        let part = Self {
            documents,
            lengths,
            languages,
            terms,
            dictionary: dictionary.to_vec(),
            blocks,
            postings: postings.to_vec(),
        };
        part.check()?;
        Ok(part)
    }

    /// Whether the postings of each term are of documents that there are.
    fn check(&self) -> Result<()> {
        let mut right = true;
        self.each(|_, mut postings| {
            let mut any = false;
            for posting in postings.by_ref() {
                any = true;
                right &= posting.document < self.documents;
            }
            right &= any && postings.is_at_end();
        });
        if right { Ok(()) } else { Err(damaged("postings that make no sense")) }
    }
}

/// The runs of languages.
fn languages(reader: &mut Reader<'_>, documents: u32) -> Result<Vec<u8>> {
    let mut codes = Vec::new();
    while codes.len() < documents as usize {
        let run = need(reader.u32(), "it ends within its languages")? as usize;
        let code = need(reader.byte(), "it ends within its languages")?;
        if run == 0 || run > documents as usize - codes.len() {
            return Err(damaged("it has languages for other documents than it has"));
        }
        codes.resize(codes.len() + run, Languages::from_code(code)?.code());
    }
    Ok(codes)
}

/// The blocks of the dictionary, its bytes and those of the postings: whether they are in order, and each a text.
fn dictionary(bytes: &[u8], terms: usize) -> Result<(Vec<Block>, &[u8], &[u8])> {
    let mut reader = Reader(bytes);
    let mut blocks = Vec::new();
    let mut end = 0_usize;
    let (mut last, mut current): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    for number in 0..terms {
        let begin = bytes.len() - reader.0.len();
        let entry = need(entry(&mut reader), "it ends within its terms")?;
        if number.is_multiple_of(BLOCK) {
            blocks.push(Block { dictionary: begin, postings: end });
        }
        if entry.shared > current.len() || number.is_multiple_of(BLOCK) && entry.shared > 0 {
            return Err(damaged("a term shares more than there is"));
        }
        current.truncate(entry.shared);
        current.extend_from_slice(entry.rest);
        if current <= last || std::str::from_utf8(&current).is_err() {
            return Err(damaged("its terms are out of order or no texts"));
        }
        last.clone_from(&current);
        end = need(
            usize::try_from(entry.postings).ok().and_then(|length| end.checked_add(length)),
            "postings without end",
        )?;
    }
    if end != reader.0.len() {
        return Err(damaged("its postings are longer or shorter than it says"));
    }
    let (dictionary, postings) = bytes.split_at(bytes.len() - end);
    Ok((blocks, dictionary, postings))
}
