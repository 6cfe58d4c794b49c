//! What the fabric knows of a leaf before its entry has a place.

use crate::leaf::{Actor, Anchor, Word};
use samite_model::{Error, JournalId, Link, Pseudonym, Result};
use std::collections::BTreeSet;

const VERSION: u8 = 1;

/// A leaf without what the ledger adds: the journal, the entry's id, seq, time, commitment and kind, and the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafDraft {
    /// Who did it.
    pub actor: Actor,
    /// Whose data it is about.
    pub owner: Pseudonym,
    /// What a policy said to it.
    pub policy: BTreeSet<Word>,
    /// What the owner has consented to.
    pub consent: BTreeSet<Word>,
    /// How far other journals had come.
    pub anchors: Vec<Anchor>,
}

impl LeafDraft {
    /// The bytes that go to the ledger with the entry. They are not stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(80);
        bytes.push(VERSION);
        bytes.extend_from_slice(self.actor.user.as_bytes());
        for part in [self.actor.agent, self.actor.workload] {
            bytes.push(u8::from(part.is_some()));
            bytes.extend_from_slice(part.unwrap_or(Pseudonym([0; 16])).as_bytes());
        }
        bytes.extend_from_slice(self.owner.as_bytes());
        for words in [&self.policy, &self.consent] {
            bytes.extend_from_slice(&count(words.len()));
            for word in words {
                bytes.extend_from_slice(&count(word.as_str().len()));
                bytes.extend_from_slice(word.as_str().as_bytes());
            }
        }
        for anchor in &self.anchors {
            bytes.extend_from_slice(anchor.journal.as_bytes());
            bytes.extend_from_slice(&anchor.seq.to_be_bytes());
            bytes.extend_from_slice(anchor.link.as_bytes());
        }
        bytes
    }

    /// The draft with these bytes.
    ///
    /// # Errors
    /// `internal` (`bad_leaf_draft`) when [`LeafDraft::encode`] did not write them.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad =
            || Error::internal("bad_leaf_draft", "what a leaf is to be made of is not what its entry's writer says");
        let mut rest = Rest(bytes);
        if rest.take::<1>() != Some([VERSION]) {
            return Err(bad());
        }
        let user = Pseudonym(rest.take().ok_or_else(bad)?);
        let mut maybe = || {
            let [is_there] = rest.take()?;
            let part = Pseudonym(rest.take()?);
            Some((is_there == 1, part))
        };
        let (agent, workload) = (maybe().ok_or_else(bad)?, maybe().ok_or_else(bad)?);
        let [agent, workload] = [agent, workload].map(|(is_there, part)| is_there.then_some(part));
        let owner = Pseudonym(rest.take().ok_or_else(bad)?);
        let policy = rest.words().ok_or_else(bad)?;
        let consent = rest.words().ok_or_else(bad)?;
        let mut anchors = Vec::new();
        while !rest.0.is_empty() {
            anchors.push(rest.anchor().ok_or_else(bad)?);
        }
        Ok(Self { actor: Actor { user, agent, workload }, owner, policy, consent, anchors })
    }
}

/// At most 65,535 of anything: more do not fit into a leaf.
fn count(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn words(&mut self) -> Option<BTreeSet<Word>> {
        let words = u16::from_be_bytes(self.take()?);
        let mut found = BTreeSet::new();
        for _ in 0..words {
            let length = usize::from(u16::from_be_bytes(self.take()?));
            let (word, rest) = self.0.split_at_checked(length)?;
            self.0 = rest;
            found.insert(Word::new(str::from_utf8(word).ok()?).ok()?);
        }
        Some(found)
    }

    fn anchor(&mut self) -> Option<Anchor> {
        let journal = JournalId(self.take()?);
        let seq = u64::from_be_bytes(self.take()?);
        Some(Anchor { journal, seq, link: Link(self.take()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> LeafDraft {
        let words = |words: &[&str]| words.iter().map(|word| Word::new(word).unwrap()).collect();
        LeafDraft {
            actor: Actor { user: Pseudonym([1; 16]), agent: Some(Pseudonym([2; 16])), workload: None },
            owner: Pseudonym([3; 16]),
            policy: words(&["allowed", "granted"]),
            consent: words(&["training"]),
            anchors: vec![Anchor { journal: JournalId([4; 16]), seq: 5, link: Link([6; 32]) }],
        }
    }

    #[test]
    fn a_draft_comes_back() {
        let none = LeafDraft { policy: BTreeSet::new(), consent: BTreeSet::new(), anchors: Vec::new(), ..draft() };
        for draft in [draft(), none] {
            assert_eq!(LeafDraft::decode(&draft.encode()).unwrap(), draft);
        }
    }

    #[test]
    fn a_draft_that_is_cut_is_none() {
        let bytes = draft().encode();
        let whole = LeafDraft { anchors: Vec::new(), ..draft() }.encode().len();
        for length in (0..bytes.len()).filter(|length| *length != whole) {
            let error = LeafDraft::decode(&bytes[..length]).unwrap_err();
            assert_eq!(error.code(), "bad_leaf_draft", "{length}");
        }
    }
}
