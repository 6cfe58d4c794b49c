//! The last head of a log that left the store, as it is noted where the master key lives.

use crate::{Hash, TreeHead};
use samite_model::{Error, Result};
use serde::{Deserialize, Serialize};

/// A published tree head, with what tells a copy of the store that does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Which log of the tenant.
    pub log: u64,
    /// The head.
    pub head: TreeHead,
    /// The hash of its last leaf.
    pub last_leaf: Hash,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    log: u64,
    origin: String,
    size: u64,
    root: String,
    last_leaf: String,
}

impl Published {
    /// The name of the note at the master.
    pub const NOTE: &'static str = "audit-head";

    /// The bytes of the note: JSON.
    ///
    /// # Errors
    /// `internal` when it cannot be written.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let stored = Stored {
            version: 1,
            log: self.log,
            origin: self.head.origin.clone(),
            size: self.head.size,
            root: self.head.root.to_string(),
            last_leaf: self.last_leaf.to_string(),
        };
        serde_json::to_vec(&stored)
            .map_err(|error| Error::internal("unserialisable", "a published head cannot be written").because(error))
    }

    /// The published head in a note.
    ///
    /// # Errors
    /// `corrupt` (`bad_published_head`) when there is none in it.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = || {
            Error::corrupt("bad_published_head", "what was noted of the audit log's last published head cannot be read")
                .hint("put the file back that lies beside the master key, or remove it once you know that this store is not an older copy")
        };
        let stored: Stored = serde_json::from_slice(bytes).map_err(|error| bad().because(error))?;
        if stored.version != 1 {
            return Err(bad());
        }
        let root = stored.root.parse().map_err(|_| bad())?;
        let head = TreeHead { origin: stored.origin, size: stored.size, root };
        Ok(Self { log: stored.log, head, last_leaf: stored.last_leaf.parse().map_err(|_| bad())? })
    }
}
