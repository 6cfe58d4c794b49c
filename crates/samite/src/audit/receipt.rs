//! What goes with a proof, and what can be believed of it.

use crate::payload::{Event, is_event};
use samite_audit::Leaf;
use samite_model::{Commitment, Error, Header, JournalId, Link, Result, hash};
use serde::{Deserialize, Serialize};

/// What goes with a receipt: the leaf; the entry that is proven, where that is not the leaf's own; and what the entry's commitment
/// is to where that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of this, 1.
    pub v: u32,
    /// The leaf, as it stands in the log.
    pub leaf: String,
    /// The entry that the leaf covers, where it is not the leaf's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<Covered>,
    /// The salt of the commitment, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// The payload that the commitment is to, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

/// An entry, and the headers from it to the one whose link the leaf has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// The entry's journal.
    pub journal: JournalId,
    /// Where it is there.
    pub seq: u64,
    /// The link before it.
    pub before: Link,
    /// The stored headers as base64: its own first.
    pub headers: Vec<String>,
}

/// What a receipt shows, once it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The header of the entry that the leaf covers, where it is not the leaf's own.
    pub covered: Option<Header>,
    /// What the entry says, where that is shown.
    pub payload: Option<Vec<u8>>,
}

impl Shown {
    /// What the entry says: of what a caller wrote, its own bytes, without the frame that they are stored in.
    pub fn said(&self) -> Option<&[u8]> {
        let payload = self.payload.as_deref()?;
        let written = self.covered.as_ref().filter(|header| is_event(header.kind));
        // What is no frame after all is shown as it is.
        Some(written.and_then(|_| Event::decode(payload).ok()).map_or(payload, |event| event.body))
    }
}

impl Receipt {
    /// Checks what goes with a leaf that was proven: the headers lead to the link that the leaf has, and the payload is what the
    /// entry commits to.
    ///
    /// # Errors
    /// `corrupt`: `not_covered_by_leaf` when the leaf does not cover the entry; `commitment_mismatch`.
    pub fn check(&self, leaf: &Leaf) -> Result<Shown> {
        let covered = self.covered.as_ref().map(|covered| covered.check(leaf)).transpose()?;
        let commitment = covered.as_ref().map_or(leaf.commitment, |header| header.commitment);
        Ok(Shown { covered, payload: self.revealed(commitment)? })
    }

    /// What the entry says, once it is checked to be what the commitment is to.
    fn revealed(&self, commitment: Commitment) -> Result<Option<Vec<u8>>> {
        let (Some(salt), Some(payload)) = (&self.salt, &self.payload) else { return Ok(None) };
        let refused =
            || Error::corrupt("commitment_mismatch", "what the receipt shows is not what its entry commits to");
        let salt = data_encoding::HEXLOWER.decode(salt.as_bytes()).map_err(|_| refused())?;
        let salt: [u8; 32] = salt.try_into().map_err(|_| refused())?;
        let payload = data_encoding::BASE64.decode(payload.as_bytes()).map_err(|_| refused())?;
        if hash::commitment(&salt, &payload) == commitment { Ok(Some(payload)) } else { Err(refused()) }
    }
}

impl Covered {
    fn check(&self, leaf: &Leaf) -> Result<Header> {
        let refused = |why: &str| {
            let what = format!("the leaf does not cover seq {} of journal {}: {why}", self.seq, self.journal);
            Error::corrupt("not_covered_by_leaf", what).hint("the receipt proves the leaf alone")
        };
        let (mut link, mut seq, mut own) = (self.before, self.seq, None);
        for encoded in &self.headers {
            let bytes =
                data_encoding::BASE64.decode(encoded.as_bytes()).map_err(|_| refused("a header is no base64"))?;
            let header = Header::decode(&bytes).map_err(|_| refused("a header of it is none"))?;
            if header.seq != seq {
                return Err(refused("its headers are not in their order"));
            }
            link = hash::link(link, &bytes);
            seq = seq.saturating_add(1);
            own.get_or_insert(header);
        }
        let header = own.ok_or_else(|| refused("it has no header"))?;
        let mut said = leaf.anchors.iter().map(|anchor| (anchor.journal, anchor.seq, anchor.link));
        let reached = (self.journal, seq - 1, link);
        if (leaf.journal, leaf.seq, leaf.link) == reached || said.any(|said| said == reached) {
            Ok(header)
        } else {
            Err(refused("its headers lead to another link"))
        }
    }
}
