//! Signed tree heads: the size and root of a log, under its name and signature. (The specifications, and the file that holds one,
//! call it a checkpoint; here that word is a session's.)

use crate::merkle::{Frontier, Hash, LARGEST_TREE};
use crate::note::{Cosigner, KeyKind, KeyName, Note, Signer, VerifierKey};
use samite_model::{Error, Result};

/// What a log says of itself at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// The log's name, which is that of its key as well.
    pub origin: String,
    /// How many leaves it has.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
}

/// A tree head whose signature was verified, with the witnesses that vouch for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedTreeHead {
    /// The tree head.
    pub head: TreeHead,
    /// The note that it stood in, with all lines of signature.
    pub note: Note,
    /// The known witnesses that cosigned it.
    pub cosigners: Vec<Cosigner>,
}

impl TreeHead {
    /// That of a log that has this frontier.
    ///
    /// # Errors
    /// `invalid` (`bad_key_name`) when no log can have the name.
    pub fn of(origin: &str, frontier: &Frontier) -> Result<Self> {
        KeyName::check(origin)?;
        Ok(Self { origin: origin.to_owned(), size: frontier.size(), root: frontier.root() })
    }

    /// The text that is signed: three lines.
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, self.root.to_base64())
    }

    /// Signs it with the log's key, whose name is the origin.
    ///
    /// # Errors
    /// `invalid` (`other_origin`) when the signer has another name; what the signer answers.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Note> {
        self.check_name(signer.name())?;
        Note::sign(&self.text(), &[signer])
    }

    /// The tree head with this text.
    ///
    /// # Errors
    /// `corrupt` (`bad_tree_head`) when it is none: it has exactly the lines that [`TreeHead::text`] writes.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |what: &str| Error::corrupt("bad_tree_head", format!("this is no tree head of a log: {what}"));
        let lines: Vec<&str> = text.split('\n').collect();
        let [origin, size, root, ""] = lines.as_slice() else {
            return Err(bad("it has not the three lines origin, size and root"));
        };
        KeyName::check(origin).map_err(|error| bad(error.message()))?;
        let size = number(size).filter(|size| *size <= LARGEST_TREE);
        let size = size.ok_or_else(|| bad("its second line is no number of leaves"))?;
        let root = Hash::from_base64(root).ok_or_else(|| bad("its third line is no hash"))?;
        if size == 0 && root != Hash::of_nothing() {
            return Err(bad("it has no leaves, and the root of some"));
        }
        Ok(Self { origin: (*origin).to_owned(), size, root })
    }

    /// Reads a signed tree head and verifies that the log with this key signed it. Witnesses' signatures are verified too; how
    /// many there must be is for the caller to say.
    ///
    /// # Errors
    /// `corrupt` when it is none (`bad_note`, `bad_tree_head`), when the log (or a known witness) did not sign it (`not_signed`,
    /// `bad_signature`), or when it is another log's (`other_log`).
    pub fn open(signed: &[u8], log: &VerifierKey, witnesses: &[VerifierKey]) -> Result<OpenedTreeHead> {
        let note = Note::parse(signed)?;
        let keys: Vec<VerifierKey> = std::iter::once(log).chain(witnesses).cloned().collect();
        let verified = note.verify(&keys)?;
        if log.kind() != KeyKind::Ed25519 || !verified.signers.contains(log) {
            let what = format!("the log {} did not sign the tree head", log.name());
            return Err(Error::corrupt("not_signed", what).hint("give the verifier key of the log itself"));
        }
        let head = Self::parse(note.text())?;
        if head.origin != log.name() {
            let what = format!("the tree head is that of {:?}, and the key is that of {:?}", head.origin, log.name());
            return Err(Error::corrupt("other_log", what).hint("a log signs with a key of its own name"));
        }
        Ok(OpenedTreeHead { head, note, cosigners: verified.cosigners })
    }

    fn check_name(&self, name: &str) -> Result<()> {
        if name == self.origin {
            return Ok(());
        }
        let what = format!("the key {name:?} does not sign for the log {:?}", self.origin);
        Err(Error::invalid("other_origin", what).hint("a log signs with a key of its own name"))
    }
}

/// A decimal number without a sign or leading zeroes.
pub(crate) fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSigner;

    fn head() -> TreeHead {
        TreeHead { origin: "example.com/log".to_owned(), size: 7, root: Hash([5; 32]) }
    }

    #[test]
    fn it_is_three_lines() {
        assert_eq!(head().text(), "example.com/log\n7\nBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=\n");
        assert_eq!(TreeHead::parse(&head().text()).unwrap(), head());
        let empty = TreeHead::of("a", &Frontier::new()).unwrap();
        assert_eq!(empty.text(), "a\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n");
        assert_eq!(TreeHead::parse(&empty.text()).unwrap(), empty);
        assert_eq!(TreeHead::of("a b", &Frontier::new()).unwrap_err().code(), "bad_key_name");
    }

    #[test]
    fn any_other_text_is_none() {
        let text = head().text();
        for bad in [
            String::new(),
            text.trim_end().to_owned(),
            format!("{text}more\n"),
            format!("{text}\n"),
            text.replace("\n7\n", "\n07\n"),
            text.replace("\n7\n", "\n+7\n"),
            text.replace("\n7\n", "\n-7\n"),
            text.replace("\n7\n", "\n\n"),
            text.replace("\n7\n", "\n9223372036854775808\n"),
            text.replace("\n7\n", "\n99999999999999999999999\n"),
            text.replace("\n7\n", "\n0\n"),
            text.replace('=', ""),
            text.replace("BQU=", "BQV="),
            text.replace("example.com/log", ""),
            text.replace("example.com/log", "a b"),
        ] {
            assert_eq!(TreeHead::parse(&bad).unwrap_err().code(), "bad_tree_head", "{bad:?}");
        }
    }

    #[test]
    fn only_the_log_signs_for_itself() {
        let (log, other) = (TestSigner::new("example.com/log", 1), TestSigner::new("example.com/other", 2));
        let witness = TestSigner::new("witness.example", 3);
        let witness_key = VerifierKey::of(&witness, KeyKind::Cosignature).unwrap();
        assert_eq!(head().sign(&other).unwrap_err().code(), "other_origin");
        let mut note = head().sign(&log).unwrap();
        note.add(crate::note::Signature::cosign(note.text(), 12, &witness).unwrap());
        let signed = note.to_string();
        let opened = TreeHead::open(signed.as_bytes(), &log.verifier(), std::slice::from_ref(&witness_key)).unwrap();
        assert_eq!((opened.head, opened.cosigners.len(), opened.cosigners[0].seconds), (head(), 1, 12));
        let code = |bytes: &[u8], key: &VerifierKey, witnesses: &[VerifierKey]| {
            TreeHead::open(bytes, key, witnesses).unwrap_err().code()
        };
        assert_eq!(code(signed.as_bytes(), &other.verifier(), &[]), "not_signed");
        // A witness alone does not make a log's head, and neither does its key where the log's is asked for.
        assert_eq!(code(signed.as_bytes(), &other.verifier(), std::slice::from_ref(&witness_key)), "not_signed");
        assert_eq!(code(signed.as_bytes(), &witness_key, &[]), "not_signed");
        assert_eq!(code(signed.replace("\n7\n", "\n8\n").as_bytes(), &log.verifier(), &[]), "bad_signature");
        let foreign = Note::sign(&head().text(), &[&other]).unwrap().to_string();
        assert_eq!(code(foreign.as_bytes(), &other.verifier(), &[]), "other_log");
    }
}
