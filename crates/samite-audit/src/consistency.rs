//! Proofs that a log continues what it was, which stand on their own: a file that says how many leaves the older tree has, the
//! hashes between the two (RFC 6962), and the newer tree's signed head. It is what a witness is sent (C2SP tlog-witness).

use crate::merkle::{Hash, verify_consistency};
use crate::note::{LONGEST_NOTE, Note, VerifierKey};
use crate::tree_head::{OpenedTreeHead, TreeHead, number};
use crate::witness::request;
use samite_model::{Error, Result};

/// What such a file begins with.
const FIRST: &str = "old ";
/// The most hashes that it may have.
const MOST_HASHES: usize = 63;

/// The proof that a log continues what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsistencyProof {
    /// How many leaves the older tree has.
    pub old: u64,
    /// The hashes between the two.
    pub hashes: Vec<Hash>,
    /// The signed head of the newer tree.
    pub signed: Note,
}

impl ConsistencyProof {
    /// Whether a file is such a proof, by its beginning.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(FIRST.as_bytes())
    }

    /// The text of the file.
    ///
    /// # Errors
    /// `invalid` (`proof_too_long`) when it has more than 63 hashes.
    pub fn encode(&self) -> Result<String> {
        request(self.old, &self.hashes, &self.signed)
    }

    /// The proof with this text.
    ///
    /// # Errors
    /// `corrupt` (`bad_proof`) when it is none; as [`Note::parse`] and [`TreeHead::parse`] for the tree head.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = |what: &str| Error::corrupt("bad_proof", format!("this is no proof that a log continues: {what}"));
        if bytes.len() > LONGEST_NOTE {
            return Err(bad(&format!("it has {} bytes", bytes.len())));
        }
        let text = str::from_utf8(bytes).map_err(|_| bad("it is no UTF-8"))?;
        let (lines, signed) =
            text.split_once("\n\n").ok_or_else(|| bad("it has no blank line before the tree head"))?;
        let mut lines = lines.split('\n');
        let old = lines.next().and_then(|line| number(line.strip_prefix(FIRST)?));
        let old = old.ok_or_else(|| bad("its first line is not \"old SIZE\""))?;
        let hashes = lines.map(|line| Hash::from_base64(line).ok_or_else(|| bad("a line of it is no hash")));
        let hashes: Vec<Hash> = hashes.collect::<Result<_>>()?;
        if hashes.len() > MOST_HASHES {
            return Err(bad(&format!("it has more than {MOST_HASHES} hashes")));
        }
        let signed = Note::parse(signed.as_bytes())?;
        TreeHead::parse(signed.text())?;
        Ok(Self { old, hashes, signed })
    }

    /// Verifies that the log with this key signed the newer head, and that it continues the tree of the older size with this root.
    /// Answers with the newer head and the known witnesses that vouch for it.
    ///
    /// # Errors
    /// `corrupt`: `not_consistent` when it does not; as [`TreeHead::open`] for the tree head.
    pub fn verify(&self, old_root: Hash, log: &VerifierKey, witnesses: &[VerifierKey]) -> Result<OpenedTreeHead> {
        let opened = TreeHead::open(self.signed.to_string().as_bytes(), log, witnesses)?;
        verify_consistency((self.old, old_root), (opened.head.size, opened.head.root), &self.hashes)?;
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documented::{signed, signers};
    use crate::leaf::tests::{full, leaf};
    use crate::merkle::{leaf_hash, prove_consistency};

    fn proof() -> ConsistencyProof {
        let hashes = [leaf(), full()].map(|leaf| leaf_hash(&leaf.encode().unwrap()));
        let hashes = prove_consistency(&mut &hashes[..], 1, 2).unwrap();
        ConsistencyProof { old: 1, hashes, signed: Note::parse(signed().as_bytes()).unwrap() }
    }

    #[test]
    fn it_shows_that_a_tree_continues_the_older_one_and_no_other() {
        let read = ConsistencyProof::parse(proof().encode().unwrap().as_bytes()).unwrap();
        assert_eq!(read, proof());
        let (log, other) = signers();
        let root = leaf_hash(&leaf().encode().unwrap());
        assert_eq!(read.verify(root, &log.verifier(), &[]).unwrap().head.size, 2);
        let code = |root, key: &VerifierKey| read.verify(root, key, &[]).unwrap_err().code();
        assert_eq!(code(Hash([7; 32]), &log.verifier()), "not_consistent");
        assert_eq!(code(root, &other.verifier()), "not_signed");
        let longer = ConsistencyProof { old: 2, ..read };
        assert_eq!(longer.verify(root, &log.verifier(), &[]).unwrap_err().code(), "not_consistent");
    }

    #[test]
    fn any_other_text_is_none() {
        let text = proof().encode().unwrap();
        assert!(ConsistencyProof::is_one(text.as_bytes()));
        let hash = proof().hashes[0].to_base64();
        for bad in [
            String::new(),
            text.replace("old 1", "old 01"),
            text.replace("old 1", "new 1"),
            text.replace(&hash, &hash[1..]),
            text.replace(&hash, &vec![hash.as_str(); 64].join("\n")),
            text.split("\n\n").next().unwrap().to_owned(),
        ] {
            assert_eq!(ConsistencyProof::parse(bad.as_bytes()).unwrap_err().code(), "bad_proof", "{bad:?}");
        }
    }
}
