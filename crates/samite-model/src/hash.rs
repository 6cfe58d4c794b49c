//! The hashes of a journal: links, and commitments to payloads. All are SHA-256 with a domain before the input.

use crate::id::{Commitment, FamilyId, JournalId, Link, Pseudonym};
use ring::digest::{Context, SHA256};

const GENESIS: &[u8] = b"samite/genesis/v1\0";
const FORK: &[u8] = b"samite/fork/v1\0";
const LINK: &[u8] = b"samite/link/v1\0";
const COMMITMENT: &[u8] = b"samite/commitment/v1\0";

/// SHA-256 over parts, joined.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    bytes
}

/// What binds a journal's identity into its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalIdentity {
    /// The journal.
    pub id: JournalId,
    /// Its family.
    pub family: FamilyId,
    /// Its owner.
    pub owner: Pseudonym,
    /// The code of the journal's kind.
    pub kind: u16,
}

impl JournalIdentity {
    fn bytes(&self) -> [u8; 50] {
        let mut bytes = [0; 50];
        let (id, rest) = bytes.split_at_mut(16);
        let (family, rest) = rest.split_at_mut(16);
        let (owner, kind) = rest.split_at_mut(16);
        id.copy_from_slice(self.id.as_bytes());
        family.copy_from_slice(self.family.as_bytes());
        owner.copy_from_slice(self.owner.as_bytes());
        kind.copy_from_slice(&self.kind.to_be_bytes());
        bytes
    }
}

/// The link before the first entry of a root journal.
pub fn genesis(journal: &JournalIdentity) -> Link {
    Link(digest(&[GENESIS, &journal.bytes()]))
}

/// The link before the first entry of a fork: it covers the parent's link at the fork point.
pub fn fork(journal: &JournalIdentity, parent: JournalId, fork_seq: u64, parent_link: Link) -> Link {
    Link(digest(&[FORK, parent_link.as_bytes(), parent.as_bytes(), &fork_seq.to_be_bytes(), &journal.bytes()]))
}

/// The link of an entry: over the link before it and its header's stored bytes.
pub fn link(previous: Link, header: &[u8]) -> Link {
    Link(digest(&[LINK, previous.as_bytes(), header]))
}

/// The commitment to a payload: over a random salt and the plaintext, so that erasing both reveals nothing and changes
/// no hash.
pub fn commitment(salt: &[u8; 32], payload: &[u8]) -> Commitment {
    Commitment(digest(&[COMMITMENT, salt, payload]))
}

/// A plain SHA-256 of bytes that come in pieces, for people to compare; it stands in sealed payloads only, because a hash
/// of a short text is that text to whoever guesses it.
pub struct Sha256(Context);

impl Default for Sha256 {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Sha256 {
    /// Goes on with more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes, in lower-case hexadecimal digits.
    pub fn finish(self) -> String {
        data_encoding::HEXLOWER.encode(self.0.finish().as_ref())
    }
}

/// A commitment to a payload that comes in pieces.
pub struct CommitmentHasher(Context);

impl CommitmentHasher {
    /// Begins with the salt.
    pub fn new(salt: &[u8; 32]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(COMMITMENT);
        context.update(salt);
        Self(context)
    }

    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The commitment to all pieces.
    pub fn finish(self) -> Commitment {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.finish().as_ref());
        Commitment(bytes)
    }
}

impl std::fmt::Debug for CommitmentHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CommitmentHasher")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> JournalIdentity {
        JournalIdentity { id: JournalId([1; 16]), family: FamilyId([2; 16]), owner: Pseudonym([3; 16]), kind: 1 }
    }

    // The right values were computed with Python's hashlib from docs/formats.md.
    #[test]
    fn golden_vectors() {
        let header = crate::header::tests::example().encode();
        let first = genesis(&journal());
        assert_eq!(first.to_string(), "ef6926b3a99bf1ff9ddf8db3b92469f70dba41542ae83c54a4bdf5658761750c");
        let second = link(first, &header);
        assert_eq!(second.to_string(), "0d7df39f65988195e7dcd6331edeb95713690788b47ecdd2820dfd0e93473ad1");
        assert_eq!(
            fork(&journal(), JournalId([9; 16]), 7, second).to_string(),
            "2e2ae688aec45048477a077037673420096c560a5eff59b2d65d165fa82bce51"
        );
        assert_eq!(
            commitment(&[7; 32], b"hello").to_string(),
            "000163265310139f823e58cc3b463c53c91e65f3c25f3d330d9e84657fc1179b"
        );
    }

    #[test]
    fn pieces_have_the_commitment_of_the_whole() {
        let mut hasher = CommitmentHasher::new(&[7; 32]);
        for piece in [b"he".as_slice(), b"", b"llo"] {
            hasher.update(piece);
        }
        assert_eq!(hasher.finish(), commitment(&[7; 32], b"hello"));
    }
}
