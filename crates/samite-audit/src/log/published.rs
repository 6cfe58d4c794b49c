//! The heads of logs that left the store, as they are noted where the master key lives.

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

/// The largest published head of each log of a tenant. It only grows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedHeads(Vec<Published>);

#[derive(Serialize, Deserialize)]
struct Stored {
    log: u64,
    origin: String,
    size: u64,
    root: String,
    last_leaf: String,
}

/// The note as it is written.
#[derive(Serialize)]
struct Written {
    version: u32,
    heads: Vec<Stored>,
}

/// The note as it is read: version 1 had the head of one log.
#[derive(Deserialize)]
struct Read {
    version: u32,
    #[serde(default)]
    heads: Vec<Stored>,
    #[serde(flatten)]
    only: Option<Stored>,
}

impl PublishedHeads {
    /// The name of the note at the master.
    pub const NOTE: &'static str = "audit-head";

    /// The head of the newest log of which one was published.
    pub fn newest(&self) -> Option<&Published> {
        self.0.last()
    }

    /// The head of a log.
    pub fn of(&self, log: u64) -> Option<&Published> {
        self.0.iter().find(|published| published.log == log)
    }

    /// The head of each log, the oldest log first.
    pub fn all(&self) -> &[Published] {
        &self.0
    }

    /// Puts a head in unless there is one of that log that is as large; whether it did.
    pub fn advance(&mut self, published: Published) -> bool {
        if self.of(published.log).is_some_and(|before| before.head.size >= published.head.size) {
            return false;
        }
        self.0.retain(|before| before.log != published.log);
        self.0.push(published);
        self.0.sort_by_key(|published| published.log);
        true
    }

    /// The bytes of the note: JSON.
    ///
    /// # Errors
    /// `internal` when it cannot be written.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let stored = |published: &Published| Stored {
            log: published.log,
            origin: published.head.origin.clone(),
            size: published.head.size,
            root: published.head.root.to_string(),
            last_leaf: published.last_leaf.to_string(),
        };
        let written = Written { version: 2, heads: self.0.iter().map(stored).collect() };
        serde_json::to_vec(&written)
            .map_err(|error| Error::internal("unserialisable", "a published head cannot be written").because(error))
    }

    /// The published heads in a note, of this version or the one before.
    ///
    /// # Errors
    /// `corrupt` (`bad_published_head`) when there are none in it.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = || {
            Error::corrupt("bad_published_head", "what was noted of the audit log's last published head cannot be read")
                .hint("put the file back that lies beside the master key, or remove it once you know that this store is not an older copy")
        };
        let read: Read = serde_json::from_slice(bytes).map_err(|error| bad().because(error))?;
        let stored = match (read.version, read.only) {
            (1, Some(only)) => vec![only],
            (2, _) if !read.heads.is_empty() => read.heads,
            _ => return Err(bad()),
        };
        let mut heads = Self::default();
        for stored in stored {
            let root = stored.root.parse().map_err(|_| bad())?;
            let head = TreeHead { origin: stored.origin, size: stored.size, root };
            heads.advance(Published { log: stored.log, head, last_leaf: stored.last_leaf.parse().map_err(|_| bad())? });
        }
        Ok(heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(log: u64, size: u64) -> Published {
        let head = TreeHead { origin: format!("samite.local/00/{log}"), size, root: Hash([7; 32]) };
        Published { log, head, last_leaf: Hash([9; 32]) }
    }

    #[test]
    fn it_only_goes_forward_and_keeps_each_log() {
        let mut heads = PublishedHeads::default();
        assert!(heads.advance(head(1, 5)));
        assert!(!heads.advance(head(1, 4)) && !heads.advance(head(1, 5)));
        assert!(heads.advance(head(2, 1)) && heads.advance(head(1, 6)));
        assert_eq!((heads.newest(), heads.of(1), heads.of(3)), (Some(&head(2, 1)), Some(&head(1, 6)), None));
        assert_eq!(PublishedHeads::decode(&heads.encode().unwrap()).unwrap(), heads);
    }

    #[test]
    fn the_note_of_the_version_before_is_read() {
        let root = Hash([7; 32]).to_string();
        let last = Hash([9; 32]).to_string();
        let old = format!(
            r#"{{"version":1,"log":3,"origin":"samite.local/00/3","size":8,"root":"{root}","last_leaf":"{last}"}}"#
        );
        assert_eq!(PublishedHeads::decode(old.as_bytes()).unwrap().newest(), Some(&head(3, 8)));
        for bad in ["{}", r#"{"version":2,"heads":[]}"#, &old.replace(":1,", ":9,"), &old.replace("07", "zz")] {
            assert_eq!(PublishedHeads::decode(bad.as_bytes()).unwrap_err().code(), "bad_published_head", "{bad}");
        }
    }
}
