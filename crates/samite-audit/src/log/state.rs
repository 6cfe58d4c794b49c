//! A log as the ledger stores it beside its leaves: its frontier and its signed head.

use crate::{Frontier, Note, TreeHead};
use samite_model::{Error, Result};

const VERSION: u8 = 1;

/// The frontier of a log, and the note that is its signed tree head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// What the next leaf is added to.
    pub frontier: Frontier,
    /// The signed tree head.
    pub note: Note,
}

impl LogHead {
    /// The bytes to store: version ‖ len16 frontier ‖ note.
    pub fn encode(&self) -> Vec<u8> {
        let frontier = self.frontier.encode();
        let note = self.note.to_string();
        let length = u16::try_from(frontier.len()).unwrap_or(u16::MAX);
        [&[VERSION][..], &length.to_be_bytes(), &frontier, note.as_bytes()].concat()
    }

    /// The state with these bytes.
    ///
    /// # Errors
    /// `corrupt` (`bad_log_state`) when they are none, or the tree head is not that of the frontier.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |what: &str| Error::corrupt("bad_log_state", format!("the state of the audit log {what}"));
        let parts = bytes.split_first_chunk::<3>().and_then(|([version, high, low], rest)| {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            rest.split_at_checked(length).filter(|_| *version == VERSION)
        });
        let (frontier, note) = parts.ok_or_else(|| bad("is cut off, or of another version"))?;
        let state = Self { frontier: Frontier::decode(frontier)?, note: Note::parse(note)? };
        let head = state.head()?;
        if (head.size, head.root) != (state.frontier.size(), state.frontier.root()) {
            return Err(bad("has a signed head that is not that of its leaves"));
        }
        Ok(state)
    }

    /// What the signed head says.
    ///
    /// # Errors
    /// `corrupt` (`bad_tree_head`) when it is none.
    pub fn head(&self) -> Result<TreeHead> {
        TreeHead::parse(self.note.text())
    }
}
