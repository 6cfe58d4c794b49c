//! The erasures that a restored copy of the store must not forget: a note where the master key lives, sealed.

use crate::core::{Core, from_json, to_json};
use crate::payload::ErasureStarted;
use samite_model::{FamilyId, Result};
use serde::{Deserialize, Serialize};

const NAME: &str = "erasures";

/// So much that was made of what was erased is noted with it.
const DERIVED: usize = 256;

/// The note.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// All erasures of the store, in their order.
    pub(crate) erasures: Vec<ErasureStarted>,
    /// Those that are done somewhere: a copy in which one is not is older than its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) done: Vec<FamilyId>,
}

impl Core {
    /// All erasures that are noted.
    ///
    /// # Errors
    /// `corrupt` when the note is damaged; as the master says.
    pub(crate) fn noted_erasures(&self) -> Result<Noted> {
        decoded(self.0.keys.note(NAME)?)
    }

    /// Notes an erasure, unless it is noted; what another copy of the store notes meanwhile stays. When this returns, it is durable. False when the master has no room for notes:
    /// then a copy of the store that is older than the erasure still has what it took.
    pub(crate) fn note_erasure(&self, started: &ErasureStarted) -> Result<bool> {
        // What was decided about what was made of it is needed again; of much, the rest is looked for again.
        let stays = started.derived.len() <= DERIVED;
        let derived = started.derived.iter().filter(|one| stays || one.taken).copied().collect();
        let started = ErasureStarted { found: Vec::new(), kept: None, derived, ..started.clone() };
        self.0.keys.change_note(NAME, &mut |kept| {
            let mut noted = decoded(kept)?;
            if noted.erasures.iter().any(|noted| noted.erasure == started.erasure) {
                return Ok(None);
            }
            noted.erasures.push(started.clone());
            to_json(&noted).map(Some)
        })
    }

    /// Notes that erasures are done, as far as they are noted at all. When this returns, that is durable.
    pub(crate) fn note_done(&self, erasures: &[FamilyId]) -> Result<()> {
        let changed = self.0.keys.change_note(NAME, &mut |kept| {
            let mut noted = decoded(kept)?;
            let is_noted = |id: &FamilyId| noted.erasures.iter().any(|known| known.erasure == *id);
            let new: Vec<FamilyId> =
                erasures.iter().filter(|id| is_noted(id) && !noted.done.contains(id)).copied().collect();
            if new.is_empty() {
                return Ok(None);
            }
            noted.done.extend(new);
            to_json(&noted).map(Some)
        });
        changed.map(|_| ())
    }

    /// Whether an erasure is noted.
    pub(crate) fn is_noted(&self, erasure: FamilyId) -> Result<bool> {
        Ok(self.noted_erasures()?.erasures.iter().any(|noted| noted.erasure == erasure))
    }
}

fn decoded(kept: Option<Vec<u8>>) -> Result<Noted> {
    kept.map(|bytes| from_json("the note of erasures", &bytes)).transpose().map(Option::unwrap_or_default)
}
