//! Proofs that stand on their own (C2SP tlog-proof, `.tlog-proof`): an entry's place, the hashes beside its way to the root, and
//! the signed tree head. Whoever has the entry and the log's verifier key verifies one offline.

use crate::merkle::{Hash, HashReader, leaf_hash, prove_inclusion, verify_inclusion};
use crate::note::{LONGEST_NOTE, Note, VerifierKey};
use crate::tree_head::{OpenedTreeHead, TreeHead, number};
use data_encoding::BASE64;
use samite_model::{Error, Result};
use std::fmt;

const FIRST: &str = "c2sp.org/tlog-proof@v1";
/// What a file with a proof is called at its end.
pub const PROOF_EXTENSION: &str = "tlog-proof";
/// The most bytes of what may go with a proof.
pub const LONGEST_EXTRA: usize = 1 << 20;
/// The most hashes that a proof may have: no tree has more levels.
const MOST_HASHES: usize = 63;
/// More than the longest proof has.
const LONGEST: usize = 2 * LONGEST_EXTRA + LONGEST_NOTE;

/// The proof that an entry is in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Where the entry is in the log.
    pub index: u64,
    /// The hashes beside its way to the root, from the bottom.
    pub hashes: Vec<Hash>,
    /// The signed tree head, with the signatures of witnesses.
    pub signed: Note,
    /// What goes with the proof, such as the entry itself. Nobody has signed it: believe of it only what was verified, as
    /// [`Proof::verify`] does with an entry.
    pub extra: Option<Vec<u8>>,
}

impl Proof {
    /// Makes the proof for an entry of the log with this signed tree head, whose hashes are read from `reader`.
    ///
    /// # Errors
    /// `invalid` (`bad_leaf_range`) when the log has no entry there; `corrupt` (`bad_tree_head`) when the note is none; what the
    /// reader answers.
    pub fn make(reader: &mut dyn HashReader, index: u64, signed: &Note) -> Result<Self> {
        let head = TreeHead::parse(signed.text())?;
        let hashes = prove_inclusion(reader, index, head.size)?;
        Ok(Self { index, hashes, signed: signed.clone(), extra: None })
    }

    /// The same with something that goes with it.
    ///
    /// # Errors
    /// `invalid` (`extra_too_long`) when it has more than 1 MiB.
    pub fn with_extra(mut self, extra: Vec<u8>) -> Result<Self> {
        if extra.len() > LONGEST_EXTRA {
            let what =
                format!("what goes with a proof has at most {LONGEST_EXTRA} bytes, and this has {}", extra.len());
            return Err(Error::invalid("extra_too_long", what));
        }
        self.extra = Some(extra);
        Ok(self)
    }

    /// The proof with this text.
    ///
    /// # Errors
    /// `corrupt` (`bad_proof`) when it is none; as [`Note::parse`] and [`TreeHead::parse`] for
    /// the tree head.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = |what: &str| Error::corrupt("bad_proof", format!("this is no proof of a log's entry: {what}"));
        if bytes.len() > LONGEST {
            return Err(bad(&format!("it has {} bytes", bytes.len())));
        }
        let text = str::from_utf8(bytes).map_err(|_| bad("it is no UTF-8"))?;
        let rest = text.strip_prefix(FIRST).and_then(|rest| rest.strip_prefix('\n'));
        let rest = rest.ok_or_else(|| bad(&format!("its first line is not {FIRST:?}")))?;
        let (lines, signed) =
            rest.split_once("\n\n").ok_or_else(|| bad("it has no blank line before the tree head"))?;
        let mut lines = lines.split('\n').peekable();
        let extra = match lines.peek().and_then(|line| line.strip_prefix("extra ")) {
            None => None,
            Some(encoded) => {
                lines.next();
                let extra = BASE64.decode(encoded.as_bytes()).ok().filter(|extra| extra.len() <= LONGEST_EXTRA);
                Some(extra.ok_or_else(|| bad("its line of extra data is none"))?)
            }
        };
        let index = lines.next().and_then(|line| number(line.strip_prefix("index ")?));
        let index = index.ok_or_else(|| bad("it has no line with the index"))?;
        let hashes = lines.map(|line| Hash::from_base64(line).ok_or_else(|| bad("a line of it is no hash")));
        let hashes: Vec<Hash> = hashes.collect::<Result<_>>()?;
        if hashes.len() > MOST_HASHES {
            return Err(bad(&format!("it has more than {MOST_HASHES} hashes")));
        }
        let signed = Note::parse(signed.as_bytes())?;
        TreeHead::parse(signed.text())?;
        Ok(Self { index, hashes, signed, extra })
    }

    /// Verifies that the log with this key has the entry at the index, and answers with the tree head that says so and the known
    /// witnesses that vouch for it.
    ///
    /// # Errors
    /// `corrupt`: `not_included` when the entry is another one; as [`TreeHead::open`] for the tree head.
    pub fn verify(&self, entry: &[u8], log: &VerifierKey, witnesses: &[VerifierKey]) -> Result<OpenedTreeHead> {
        let opened = TreeHead::open(self.signed.to_string().as_bytes(), log, witnesses)?;
        verify_inclusion(leaf_hash(entry), self.index, opened.head.size, &self.hashes, opened.head.root)?;
        Ok(opened)
    }
}

/// The text as [`Proof::parse`] takes it.
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", BASE64.encode(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        for hash in &self.hashes {
            writeln!(f, "{}", hash.to_base64())?;
        }
        write!(f, "\n{}", self.signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documented::{documented, signed, signers};
    use crate::leaf::tests::{full, leaf};
    use proptest::prelude::*;

    fn proof() -> Proof {
        let hashes = [leaf(), full()].map(|leaf| leaf_hash(&leaf.encode().unwrap()));
        Proof::make(&mut &hashes[..], 0, &Note::parse(signed().as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn the_page_has_a_proof() {
        assert_eq!(proof().to_string(), documented("audit-proof"));
        let read = Proof::parse(documented("audit-proof").as_bytes()).unwrap();
        assert_eq!(read, proof());
        let (log, _) = signers();
        let opened = read.verify(&leaf().encode().unwrap(), &log.verifier(), &[]).unwrap();
        assert_eq!((opened.head.origin.as_str(), opened.head.size), ("example.com/audit", 2));
    }

    #[test]
    fn it_verifies_its_entry_and_no_other() {
        let (log, other) = signers();
        let entry = leaf().encode().unwrap();
        let code =
            |proof: &Proof, entry: &[u8]| proof.verify(entry, &log.verifier(), &[]).err().map(|error| error.code());
        assert_eq!(code(&proof(), &entry), None);
        assert_eq!(code(&proof(), &full().encode().unwrap()), Some("not_included"));
        assert_eq!(code(&Proof { index: 1, ..proof() }, &entry), Some("not_included"));
        assert_eq!(code(&Proof { index: 2, ..proof() }, &entry), Some("not_included"));
        assert_eq!(code(&Proof { hashes: Vec::new(), ..proof() }, &entry), Some("not_included"));
        assert_eq!(proof().verify(&entry, &other.verifier(), &[]).unwrap_err().code(), "not_signed");
        let text = proof().to_string().replace("\n2\n", "\n3\n");
        assert_eq!(code(&Proof::parse(text.as_bytes()).unwrap(), &entry), Some("bad_signature"));
    }

    #[test]
    fn what_goes_with_it_comes_back() {
        let with = proof().with_extra(leaf().encode().unwrap()).unwrap();
        assert!(with.to_string().starts_with("c2sp.org/tlog-proof@v1\nextra eyJh"), "{with}");
        let read = Proof::parse(with.to_string().as_bytes()).unwrap();
        assert_eq!(read, with);
        read.verify(read.extra.as_deref().unwrap(), &signers().0.verifier(), &[]).unwrap();
        let empty = proof().with_extra(Vec::new()).unwrap();
        assert_eq!(Proof::parse(empty.to_string().as_bytes()).unwrap(), empty);
        let long = proof().with_extra(vec![0; LONGEST_EXTRA]).unwrap();
        assert_eq!(Proof::parse(long.to_string().as_bytes()).unwrap(), long);
        assert_eq!(proof().with_extra(vec![0; LONGEST_EXTRA + 1]).unwrap_err().code(), "extra_too_long");
    }

    #[test]
    fn any_other_text_is_none() {
        let text = proof().to_string();
        let hash = proof().hashes[0].to_base64();
        for bad in [
            String::new(),
            text.replace("@v1", "@v2"),
            text.replace("index 0", "index 00"),
            text.replace("index 0", "index -1"),
            text.replace("index 0\n", ""),
            text.replace("index 0", "extra ?\nindex 0"),
            text.replace("index 0", "index 0\nextra AAAA"),
            text.replace(&hash, ""),
            text.replace(&hash, &hash[1..]),
            text.replace(&hash, &format!("{hash} ")),
            text.replace(&hash, &vec![hash.as_str(); 64].join("\n")),
            text.replace('\n', "\r\n"),
            text.split("\n\n").next().unwrap().to_owned(),
        ] {
            let code = Proof::parse(bad.as_bytes()).unwrap_err().code();
            assert!(["bad_proof", "bad_note", "bad_tree_head"].contains(&code), "{code}: {bad:?}");
        }
        assert!(Proof::parse(b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn a_flipped_bit_never_proves_another_entry(place in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let entry = leaf().encode().unwrap();
            let mut bytes = proof().to_string().into_bytes();
            // A witness's line that is not asked for may be anything.
            let end = proof().to_string().find("\u{2014} witness").unwrap();
            let place = place.index(end);
            bytes[place] ^= 1 << bit;
            let verified = Proof::parse(&bytes).and_then(|proof| proof.verify(&entry, &signers().0.verifier(), &[]));
            prop_assert!(verified.is_err());
        }
    }
}
