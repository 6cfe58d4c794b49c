//! Verifier keys: what anybody needs to verify a signature.

use super::{ID, Signer};
use data_encoding::{BASE64, HEXLOWER};
use ring::digest::{Context, SHA256};
use ring::signature::{ED25519, UnparsedPublicKey};
use samite_model::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The form that names of keys have.
pub struct KeyName;

impl KeyName {
    /// Refuses what cannot be a key's name: the empty one, and any with white space, `+`, or control characters.
    ///
    /// # Errors
    /// `invalid` (`bad_key_name`).
    pub fn check(name: &str) -> Result<()> {
        let refused = |char: char| char.is_whitespace() || char.is_control() || char == '+';
        if name.is_empty() || name.contains(refused) {
            let what = format!("{name:?} is no name of a key: it is not empty, and has no white space and no '+'");
            return Err(Error::invalid("bad_key_name", what)
                .hint("take a name like that of a page that is yours, without a scheme: example.com/audit"));
        }
        Ok(())
    }
}

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyKind {
    /// A note's text, as a log does.
    Ed25519,
    /// A tree head's text and the time, as a witness does (`cosignature/v1`).
    Cosignature,
}

impl KeyKind {
    /// The byte that stands for it before the public key.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::Cosignature => 4,
        }
    }
}

/// A public key with its name: `name+id+key`, id in hexadecimal digits and key in base64.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VerifierKey {
    name: String,
    kind: KeyKind,
    public_key: [u8; 32],
    id: [u8; ID],
}

impl VerifierKey {
    /// The key with this name and public key of Ed25519.
    ///
    /// # Errors
    /// `invalid` (`bad_key_name`) when a key cannot have the name.
    pub fn new(name: &str, kind: KeyKind, public_key: [u8; 32]) -> Result<Self> {
        KeyName::check(name)?;
        let mut context = Context::new(&SHA256);
        context.update(name.as_bytes());
        context.update(&[b'\n', kind.code()]);
        context.update(&public_key);
        let mut id = [0; ID];
        for (place, byte) in id.iter_mut().zip(context.finish().as_ref()) {
            *place = *byte;
        }
        Ok(Self { name: name.to_owned(), kind, public_key, id })
    }

    /// That of a signer.
    ///
    /// # Errors
    /// As [`VerifierKey::new`].
    pub fn of(signer: &dyn Signer, kind: KeyKind) -> Result<Self> {
        Self::new(signer.name(), kind, signer.public_key())
    }

    /// The key's name; for a log, its origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it signs.
    pub const fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The public key.
    pub const fn public_key(&self) -> &[u8; 32] {
        &self.public_key
    }

    /// What stands before its signatures; it is short, and tells keys apart only where nobody makes others on purpose.
    pub const fn id(&self) -> [u8; ID] {
        self.id
    }

    /// Whether this is its signature over the message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.public_key).verify(message, signature).is_ok()
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![self.kind.code()];
        key.extend(self.public_key);
        write!(f, "{}+{}+{}", self.name, HEXLOWER.encode(&self.id), BASE64.encode(&key))
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierKey({self})")
    }
}

impl FromStr for VerifierKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |what: &str| {
            Error::invalid("bad_verifier_key", format!("{text:?} is no verifier key: {what}"))
                .hint("it has the form NAME+ID+KEY; `samite audit key` prints that of a log")
        };
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad("it has no three parts"));
        };
        let key = BASE64.decode(key.as_bytes()).map_err(|_| bad("its key is no base64"))?;
        let kind = match key.first() {
            Some(1) => KeyKind::Ed25519,
            Some(4) => KeyKind::Cosignature,
            _ => return Err(bad("its kind is unknown: it is neither Ed25519 (1) nor a witness's (4)")),
        };
        let public_key =
            key.get(1..).and_then(|key| key.try_into().ok()).ok_or_else(|| bad("its key has no 32 bytes"))?;
        let read = Self::new(name, kind, public_key)?;
        if HEXLOWER.encode(&read.id) == id { Ok(read) } else { Err(bad("its id is not that of its name and key")) }
    }
}
