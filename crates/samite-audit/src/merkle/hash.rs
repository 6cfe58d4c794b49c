//! Hashes of leaves and nodes.

use data_encoding::{BASE64, HEXLOWER};
use ring::digest::{Context, SHA256, digest};
use samite_model::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A hash of the tree: SHA-256. Shown as 64 lower-case hexadecimal digits; in notes and proofs it is base64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; Hash::SIZE]);

impl Hash {
    /// Bytes of a hash.
    pub const SIZE: usize = 32;

    /// The root of the tree without leaves: the hash of nothing.
    pub fn of_nothing() -> Self {
        Self::copy(digest(&SHA256, b"").as_ref())
    }

    /// The bytes as stored.
    pub const fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }

    /// The hash with these bytes; nothing when they are not 32.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The standard base64 of it, with padding: 44 characters.
    pub fn to_base64(self) -> String {
        BASE64.encode(&self.0)
    }

    /// The hash that [`Hash::to_base64`] wrote; nothing for any other text.
    pub fn from_base64(text: &str) -> Option<Self> {
        Self::from_slice(&BASE64.decode(text.as_bytes()).ok()?)
    }

    fn copy(bytes: &[u8]) -> Self {
        let mut hash = [0; Self::SIZE];
        hash.copy_from_slice(bytes);
        Self(hash)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok();
        bytes.and_then(|bytes| Self::from_slice(&bytes)).ok_or_else(|| {
            Error::invalid("bad_hash", format!("{text:?} is no hash: it has 64 lower-case hexadecimal digits"))
        })
    }
}

/// The hash of a leaf: over `00` and the entry's bytes, so that no leaf is taken for a node.
pub fn leaf_hash(entry: &[u8]) -> Hash {
    let mut context = Context::new(&SHA256);
    context.update(&[0]);
    context.update(entry);
    Hash::copy(context.finish().as_ref())
}

/// The hash of a node: over `01` and the hashes below it.
pub fn node_hash(left: Hash, right: Hash) -> Hash {
    // In one piece, which the digest takes without copying it first.
    let mut bytes = [1; 1 + 2 * Hash::SIZE];
    let (first, second) = bytes.split_at_mut(1 + Hash::SIZE);
    if let Some(place) = first.get_mut(1..) {
        place.copy_from_slice(&left.0);
    }
    second.copy_from_slice(&right.0);
    Hash::copy(digest(&SHA256, &bytes).as_ref())
}
