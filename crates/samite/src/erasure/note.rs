//! The erasures that a restored copy of the store must not forget: a note where the master key lives, sealed.

use crate::core::{Core, from_json, to_json};
use crate::payload::ErasureStarted;
use samite_model::{FamilyId, Result};
use serde::{Deserialize, Serialize};

const NAME: &str = "erasures";

/// The note.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Noted {
    /// All erasures of the store, in their order.
    erasures: Vec<ErasureStarted>,
}

impl Core {
    /// All erasures that are noted.
    ///
    /// # Errors
    /// `corrupt` when the note is damaged; as the master says.
    pub(crate) fn noted_erasures(&self) -> Result<Vec<ErasureStarted>> {
        match self.0.keys.note(NAME)? {
            Some(bytes) => from_json::<Noted>("the note of erasures", &bytes).map(|noted| noted.erasures),
            None => Ok(Vec::new()),
        }
    }

    /// Notes an erasure, unless it is noted. When this returns, it is durable. False when the master has no room for notes:
    /// then a copy of the store that is older than the erasure still has what it took.
    pub(crate) fn note_erasure(&self, started: &ErasureStarted) -> Result<bool> {
        let mut erasures = self.noted_erasures()?;
        if erasures.iter().any(|noted| noted.erasure == started.erasure) {
            return Ok(true);
        }
        erasures.push(ErasureStarted { found: Vec::new(), derived: Vec::new(), ..started.clone() });
        self.0.keys.keep_note(NAME, &to_json(&Noted { erasures })?)
    }

    /// Whether an erasure is noted.
    pub(crate) fn is_noted(&self, erasure: FamilyId) -> Result<bool> {
        Ok(self.noted_erasures()?.iter().any(|noted| noted.erasure == erasure))
    }
}
