//! Signed notes (C2SP signed-note): a text, a blank line, and a line for each signature.

mod key;
mod verify;

pub use key::{KeyKind, KeyName, VerifierKey};
pub use verify::{Cosigner, Verified};

use data_encoding::BASE64;
use samite_model::{Error, Result};

/// The most bytes that a note may have.
pub const LONGEST_NOTE: usize = 1_000_000;
/// The most signatures that a note may have.
pub const MOST_SIGNATURES: usize = 100;

/// What begins a line with a signature: an em dash and a space.
const MARK: &str = "\u{2014} ";
/// Bytes of a signature's key id.
const ID: usize = 4;

/// Whoever has a private key of Ed25519, and signs with it what they are given.
pub trait Signer {
    /// The key's name: not empty, and without white space or `+`. For a log, its origin.
    fn name(&self) -> &str;

    /// The public key that goes with the private one.
    fn public_key(&self) -> [u8; 32];

    /// The signature of Ed25519 (RFC 8032) over these bytes.
    ///
    /// # Errors
    /// What keeps the key from being used.
    fn sign(&self, message: &[u8]) -> Result<[u8; 64]>;
}

/// One line of signature. It says nothing until it is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the key.
    pub name: String,
    /// The key's id, which tells apart keys of one name.
    pub key_id: [u8; ID],
    /// What the key made of the text.
    pub bytes: Vec<u8>,
}

impl Signature {
    /// Signs a text for its first line of signature, as a log does with its tree head.
    ///
    /// # Errors
    /// `invalid` (`bad_key_name`) when the signer's name is no name; what the signer answers.
    pub fn make(text: &str, signer: &dyn Signer) -> Result<Self> {
        let key = VerifierKey::of(signer, KeyKind::Ed25519)?;
        let bytes = signer.sign(text.as_bytes())?.to_vec();
        Ok(Self { name: signer.name().to_owned(), key_id: key.id(), bytes })
    }

    /// Cosigns a tree head's text as of a time, in seconds since 1970, as a witness does (`cosignature/v1`).
    ///
    /// # Errors
    /// As [`Signature::make`].
    pub fn cosign(text: &str, seconds: u64, signer: &dyn Signer) -> Result<Self> {
        let key = VerifierKey::of(signer, KeyKind::Cosignature)?;
        let mut bytes = seconds.to_be_bytes().to_vec();
        bytes.extend(signer.sign(&cosigned(text, seconds))?);
        Ok(Self { name: signer.name().to_owned(), key_id: key.id(), bytes })
    }

    /// The line, with its end.
    pub fn line(&self) -> String {
        let bytes = [&self.key_id[..], &self.bytes].concat();
        format!("{MARK}{} {}\n", self.name, BASE64.encode(&bytes))
    }

    /// The signatures of these lines, each with its end.
    ///
    /// # Errors
    /// `corrupt` (`bad_note`) when a line is no signature, or there are too many.
    pub fn parse_lines(lines: &str) -> Result<Vec<Self>> {
        let bad = |what: &str| bad_note(&format!("{what} is no line of signature"));
        let body = lines.strip_suffix('\n').ok_or_else(|| bad("what ends without a line break"))?;
        if body.split('\n').count() > MOST_SIGNATURES {
            return Err(bad_note(&format!("it has more than {MOST_SIGNATURES} signatures")));
        }
        let parse = |line: &str| {
            let (name, encoded) = line.strip_prefix(MARK)?.split_once(' ')?;
            let bytes = BASE64.decode(encoded.as_bytes()).ok()?;
            let (key_id, bytes) = bytes.split_first_chunk::<ID>()?;
            let named = KeyName::check(name).is_ok() && !bytes.is_empty();
            named.then(|| Self { name: name.to_owned(), key_id: *key_id, bytes: bytes.to_vec() })
        };
        let mut signatures = Vec::new();
        for (number, line) in body.split('\n').enumerate() {
            signatures.push(parse(line).ok_or_else(|| bad(&format!("line {} of the signatures", number + 1)))?);
        }
        Ok(signatures)
    }
}

/// A text with signatures. Nothing in it may be believed before [`Note::verify`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<Signature>,
}

impl Note {
    /// A note of a text that ends with a line break, signed by all of these.
    ///
    /// # Errors
    /// `invalid` (`bad_note_text`) when the text cannot be a note's; as [`Signature::make`].
    pub fn sign(text: &str, signers: &[&dyn Signer]) -> Result<Self> {
        if let Some(why) = objection(text) {
            return Err(Error::invalid("bad_note_text", format!("a note's text {why}")));
        }
        let signatures = signers.iter().map(|signer| Signature::make(text, *signer)).collect::<Result<_>>()?;
        Ok(Self { text: text.to_owned(), signatures })
    }

    /// The note with these bytes; its signatures are not verified yet.
    ///
    /// # Errors
    /// `corrupt` (`bad_note`) when they are no signed note, or one that is too long.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > LONGEST_NOTE {
            return Err(bad_note(&format!("it has {} bytes, and a note has at most {LONGEST_NOTE}", bytes.len())));
        }
        let note = str::from_utf8(bytes).map_err(|_| bad_note("it is no UTF-8"))?;
        if let Some(why) = objection(note) {
            return Err(bad_note(&format!("it {why}")));
        }
        let blank = note.rfind("\n\n").ok_or_else(|| bad_note("it has no signatures after a blank line"))?;
        let (text, rest) = note.split_at(blank + 1);
        let signatures = Signature::parse_lines(rest.get(1..).unwrap_or_default())?;
        Ok(Self { text: text.to_owned(), signatures })
    }

    /// The text, with its last line break.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines of signature, verified or not.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// Adds a signature, in place of one by the same key: a witness that cosigns again does so at a later time.
    pub fn add(&mut self, signature: Signature) {
        let by_same = |one: &&mut Signature| (&one.name, one.key_id) == (&signature.name, signature.key_id);
        match self.signatures.iter_mut().find(by_same) {
            Some(older) => *older = signature,
            None => self.signatures.push(signature),
        }
    }
}

/// The bytes as [`Note::parse`] takes them.
impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)?;
        f.write_str("\n")?;
        self.signatures.iter().try_for_each(|signature| f.write_str(&signature.line()))
    }
}

/// What a witness signs of a text: it has its own domain, and says when.
fn cosigned(text: &str, seconds: u64) -> Vec<u8> {
    format!("cosignature/v1\ntime {seconds}\n{text}").into_bytes()
}

fn bad_note(what: &str) -> Error {
    Error::corrupt("bad_note", format!("this is no signed note: {what}"))
}

/// Why a text cannot stand in a note.
fn objection(text: &str) -> Option<String> {
    if !text.ends_with('\n') {
        return Some("does not end with a line break".to_owned());
    }
    let control = text.bytes().find(|byte| *byte < b' ' && *byte != b'\n')?;
    Some(format!("has the control character {control:#04x}"))
}

#[cfg(test)]
pub(crate) mod tests;
