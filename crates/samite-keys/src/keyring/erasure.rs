//! What an erasure asks of the keys: which there are, which were destroyed, and notes that outlive a restored store.

use super::Keyring;
use crate::crypto::{open_in_place, seal_in_place};
use crate::keystore::Purpose;
use samite_host::random_id;
use samite_model::envelope::{Envelope, NONCE_SIZE, PREFIX_SIZE};
use samite_model::{Error, KeyId, Owner, Pseudonym, Result};
use std::collections::HashSet;

const NOTE: &[u8] = b"samite/aad/note/v1\0";

/// How often a note is changed again because another was quicker.
const ROUNDS: usize = 64;

impl Keyring {
    /// The pseudonym of an owner. It is made of the name alone, so that one who was erased has the same when they come
    /// back; nothing is stored.
    pub fn owner_pseudonym(&self, owner: &Owner) -> Pseudonym {
        self.pseudonym("owner", owner.as_str().as_bytes())
    }

    /// The epoch of the secret that wraps all keys.
    ///
    /// # Errors
    /// As [`Keyring::refresh`].
    pub fn epoch(&self) -> Result<u64> {
        self.refresh()?;
        Ok(self.loaded().keystore.epoch)
    }

    /// All that the keystore has of a subject and was not destroyed: keys, and the wrapped name.
    ///
    /// # Errors
    /// As [`Keyring::refresh`].
    pub fn keys_of(&self, subject: Pseudonym) -> Result<Vec<KeyId>> {
        self.refresh()?;
        let loaded = self.loaded();
        let live = loaded.entries(subject).filter(|entry| entry.purpose != Purpose::Destroyed);
        Ok(live.map(|entry| entry.key).collect())
    }

    /// The ids of all keys that were destroyed.
    ///
    /// # Errors
    /// As [`Keyring::refresh`].
    pub fn destroyed_keys(&self) -> Result<HashSet<KeyId>> {
        self.refresh()?;
        let loaded = self.loaded();
        let destroyed = loaded.keystore.entries.iter().filter(|entry| entry.purpose == Purpose::Destroyed);
        Ok(destroyed.map(|entry| entry.key).collect())
    }

    /// Destroys these keys of a subject, as [`Keyring::destroy_subject`]; where they are destroyed already, those that the
    /// subject was given since stay.
    ///
    /// # Errors
    /// As [`Keyring::destroy_subject`].
    pub fn destroy_keys_of(&self, subject: Pseudonym, keys: &[KeyId]) -> Result<()> {
        if subject == self.tenant_pseudonym() {
            return Err(super::tenant_keys());
        }
        let loaded = self.0.storage.destroy(subject, Some(keys))?;
        self.install(loaded);
        Ok(())
    }

    /// Changes a note that the master keeps, sealed under the tenant's key: what a copy of the store that is restored from a backup
    /// must not forget. `change` is given what is kept now (none: nothing) and answers with what to keep in its place, or none to
    /// leave it. It is asked again where another process or another copy of the store was quicker, so that nobody's change is
    /// lost; a master without a lock of its own cannot keep two apart that do so in one instant. When this returns, the note is
    /// durable. False when the master has no room for notes.
    ///
    /// # Errors
    /// `corrupt` (`bad_kept_note`) when it was changed by somebody else or is another store's; `unavailable` (`note_contended`) when
    /// others keep changing it; what `change` answers; as the master says.
    pub fn change_note(
        &self,
        name: &str,
        change: &mut dyn FnMut(Option<Vec<u8>>) -> Result<Option<Vec<u8>>>,
    ) -> Result<bool> {
        let (master, keystore) = (self.master(), self.name());
        for _ in 0..ROUNDS {
            let before = master.load_note(&keystore, name)?;
            let text = before.as_deref().map(|bytes| self.open_note(name, bytes)).transpose()?;
            let Some(text) = change(text)? else { return Ok(true) };
            let bytes = self.seal_note(name, &text)?;
            if let Some(has_room) = master.swap_note(&keystore, name, before.as_deref(), &bytes)? {
                return Ok(has_room);
            }
        }
        let message = format!("others keep changing the note {name:?} that {} keeps of this store", master.describe());
        Err(Error::unavailable("note_contended", message).hint("try again"))
    }

    /// The last note that was kept under a name, if there is one.
    ///
    /// # Errors
    /// `corrupt` (`bad_kept_note`) when it was changed or is another store's; as the master says.
    pub fn note(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let kept = self.master().load_note(&self.name(), name)?;
        kept.map(|bytes| self.open_note(name, &bytes)).transpose()
    }

    fn seal_note(&self, name: &str, text: &[u8]) -> Result<Vec<u8>> {
        let keys = &self.0.tenant_keys;
        let nonce = random_id::<NONCE_SIZE>(&*self.0.storage.random)?;
        let mut bytes = Vec::with_capacity(PREFIX_SIZE + text.len() + 64);
        bytes.extend_from_slice(&Envelope::prefix(keys.data_key, nonce));
        bytes.extend_from_slice(text);
        seal_in_place(&keys.data, nonce, &self.note_data(name), &mut bytes, PREFIX_SIZE)?;
        Ok(bytes)
    }

    fn open_note(&self, name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
        let damaged = || {
            let message = format!("the note {name:?} that {} keeps of this store is damaged", self.master().describe());
            Error::corrupt("bad_kept_note", message)
                .hint("restore it from a backup of the place where the master key is")
        };
        let parts = Envelope::parse(bytes).map_err(|_| damaged())?;
        if parts.key != self.0.tenant_keys.data_key {
            return Err(damaged());
        }
        let mut sealed = parts.sealed.to_vec();
        let text = open_in_place(&self.0.tenant_keys.data, parts.nonce, &self.note_data(name), &mut sealed);
        text.map(|text| text.to_vec()).ok_or_else(damaged)
    }

    fn note_data(&self, name: &str) -> Vec<u8> {
        let mut bytes = NOTE.to_vec();
        let tenant = self.tenant().as_str().as_bytes();
        bytes.push(u8::try_from(tenant.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(tenant);
        bytes.extend_from_slice(&self.name().id);
        bytes.extend_from_slice(name.as_bytes());
        bytes
    }
}
