//! What an entry of the audit log says: which act, by whom, on whose data, and where the whole of it stands. It is small, canonical
//! JSON, and has no words of anybody in it: names are keyed pseudonyms, and what was done in detail is a commitment. So a leaf
//! never needs to go.

mod json;
mod read;
mod word;

pub use json::{Json, LARGEST_INTEGER};
pub use word::Word;

use crate::TreeHead;
use crate::tile::LONGEST_ENTRY;
use samite_model::{Commitment, EntryId, JournalId, Link, Pseudonym, Result};
use std::collections::BTreeSet;

/// The version of leaves.
pub const VERSION: i64 = 1;
/// The most bytes that a leaf may have.
pub const LONGEST: usize = LONGEST_ENTRY;
/// As many anchors as surely fit into one leaf.
pub const MOST_ANCHORS: usize = 400;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What was done.
    pub act: Word,
    /// When, by the clock of who wrote it: nanoseconds since 1970.
    pub at: i64,
    /// The journal that the act is an entry of.
    pub journal: JournalId,
    /// Where it is there.
    pub seq: u64,
    /// The entry's id.
    pub entry: EntryId,
    /// The journal's link there, which covers all entries before it as well.
    pub link: Link,
    /// The entry's commitment to what was done in detail.
    pub commitment: Commitment,
    /// Who did it.
    pub actor: Actor,
    /// Whose data it is about.
    pub owner: Pseudonym,
    /// What a policy said to it: flags of a fixed list.
    pub policy: BTreeSet<Word>,
    /// What the owner has consented to: flags of a fixed list.
    pub consent: BTreeSet<Word>,
    /// Other journals, and how far they had come.
    pub anchors: Vec<Anchor>,
    /// In the first leaf of a log: the last published tree head of the log that it takes the place of.
    pub previous: Option<TreeHead>,
    /// Other fields, such as those of a newer samite: kept and verified with the rest, and otherwise ignored.
    pub extra: Vec<(String, Json)>,
}

/// Who did something, by keyed pseudonyms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The person.
    pub user: Pseudonym,
    /// The agent that acted for them, if it was one.
    pub agent: Option<Pseudonym>,
    /// The workload that it ran as, if that is known.
    pub workload: Option<Pseudonym>,
}

/// How far a journal had come: whoever changes or cuts what is before has another link there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The journal.
    pub journal: JournalId,
    /// The seq of its last entry then.
    pub seq: u64,
    /// Its link there.
    pub link: Link,
}

impl Leaf {
    /// The bytes that go into the log, and are hashed as they are ever after.
    ///
    /// # Errors
    /// `invalid`: `leaf_too_long` when they are more than 65,535; `bad_json_value` when a seq or an extra field cannot be written,
    /// or an extra field has the key of another one.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let string = |value: &dyn std::fmt::Display| Json::String(value.to_string());
        let words = |words: &BTreeSet<Word>| Json::Array(words.iter().map(|word| string(word)).collect());
        let mut fields = vec![
            ("v", Json::Integer(VERSION)),
            ("act", string(&self.act)),
            ("at", string(&self.at)),
            ("journal", string(&self.journal)),
            ("seq", integer(self.seq)),
            ("entry", string(&self.entry)),
            ("link", string(&self.link)),
            ("commitment", string(&self.commitment)),
            ("actor", self.actor.to_json()),
            ("owner", string(&self.owner)),
        ];
        // What there is nothing of is not written.
        if !self.policy.is_empty() {
            fields.push(("policy", words(&self.policy)));
        }
        if !self.consent.is_empty() {
            fields.push(("consent", words(&self.consent)));
        }
        if !self.anchors.is_empty() {
            fields.push(("anchors", Json::Array(self.anchors.iter().map(|anchor| anchor.to_json()).collect())));
        }
        if let Some(head) = &self.previous {
            let fields_of_head =
                [("origin", string(&head.origin)), ("size", integer(head.size)), ("root", string(&head.root))];
            fields.push(("previous", object(fields_of_head)));
        }
        let mut fields: Vec<(String, Json)> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        fields.extend(self.extra.iter().cloned());
        let bytes = Json::Object(fields).write()?.into_bytes();
        if bytes.len() > LONGEST { Err(crate::tile::too_long(bytes.len())) } else { Ok(bytes) }
    }
}

impl Actor {
    fn to_json(self) -> Json {
        let parts = [("user", Some(self.user)), ("agent", self.agent), ("workload", self.workload)];
        object(parts.into_iter().filter_map(|(key, part)| Some((key, Json::String(part?.to_string())))))
    }
}

impl Anchor {
    fn to_json(self) -> Json {
        object([
            ("journal", Json::String(self.journal.to_string())),
            ("seq", integer(self.seq)),
            ("link", Json::String(self.link.to_string())),
        ])
    }
}

fn object(fields: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// An integer that is too large becomes one that writing refuses.
fn integer(value: u64) -> Json {
    Json::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
pub(crate) mod tests;
