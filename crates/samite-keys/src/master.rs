//! Where the secrets are that open a keystore: outside the store, so that destroying one destroys what it wrapped.

mod command;
mod environment;
mod export;
mod file;
mod records;

pub use command::CommandMaster;
pub use environment::EnvironmentMaster;
pub use file::FileMaster;

use crate::crypto::Secret;
use samite_model::{Error, Result, Tenant};
use std::fmt;

/// A keystore, as its master knows it: by its tenant's name, and by an id of its own, since two stores of one user may
/// both have a tenant `local`. A store restored from a backup has the id of the one that was backed up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeystoreName {
    /// The tenant.
    pub tenant: Tenant,
    /// The keystore's id, made at random with it.
    pub id: [u8; 16],
}

impl fmt::Display for KeystoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.tenant, data_encoding::HEXLOWER.encode(&self.id))
    }
}

/// Holds the secrets of keystores' epochs. Each method may be called from any thread and any process.
pub trait Master: Send + Sync + 'static {
    /// The secret of an epoch.
    ///
    /// # Errors
    /// `denied`: `wrong_master` when this master never had a secret for the keystore, `epoch_destroyed` when it was
    /// destroyed, and others as the master says; `unavailable` when the master does not answer.
    fn secret(&self, keystore: &KeystoreName, epoch: u64) -> Result<Secret>;

    /// Makes the secret of a new epoch, whose number is greater than all before. Durable when this returns.
    ///
    /// # Errors
    /// `unavailable` or `denied`, and then there is no new epoch.
    fn create_epoch(&self, keystore: &KeystoreName) -> Result<u64>;

    /// Whether this master can destroy a secret.
    ///
    /// # Errors
    /// `denied` (`cannot_destroy`) when it cannot.
    fn can_destroy(&self) -> Result<()>;

    /// Destroys the secret of an epoch; one that is gone already is no error. When this returns, it is gone for good.
    ///
    /// # Errors
    /// `denied` (`cannot_destroy`), or `unavailable`.
    fn destroy_epoch(&self, keystore: &KeystoreName, epoch: u64) -> Result<()>;

    /// Keeps a copy of the wrapped keystore beside the secrets. Durable when this returns. A master that has no room
    /// for it does nothing.
    ///
    /// # Errors
    /// `unavailable` or `denied`.
    fn store_copy(&self, keystore: &KeystoreName, wrapped: &[u8]) -> Result<()>;

    /// The last copy that was stored, if any.
    ///
    /// # Errors
    /// `unavailable` or `denied`.
    fn load_copy(&self, keystore: &KeystoreName) -> Result<Option<Vec<u8>>>;

    /// Keeps a few bytes about a keystore's store beside the secrets, replacing what was kept under the name: what a
    /// copy of the store, restored from a backup, must not be able to forget. `name` is a word of `a-z` and `-`; the
    /// bytes are not secret here, so whoever needs that seals them. Durable when this returns. False when the master has no
    /// room for it.
    ///
    /// # Errors
    /// `unavailable` or `denied`.
    fn store_note(&self, keystore: &KeystoreName, name: &str, bytes: &[u8]) -> Result<bool> {
        let _ = (keystore, name, bytes);
        Ok(false)
    }

    /// As [`Master::store_note`], but only if what is kept under the name is still `before`. None when it is something else by now: then
    /// nothing was changed. A master without a lock of its own compares and then stores: two processes that do so in one instant
    /// are not kept apart.
    ///
    /// # Errors
    /// As [`Master::store_note`].
    fn swap_note(
        &self,
        keystore: &KeystoreName,
        name: &str,
        before: Option<&[u8]>,
        bytes: &[u8],
    ) -> Result<Option<bool>> {
        if self.load_note(keystore, name)?.as_deref() != before {
            return Ok(None);
        }
        self.store_note(keystore, name, bytes).map(Some)
    }

    /// What was kept last under the name, if anything.
    ///
    /// # Errors
    /// `unavailable` or `denied`.
    fn load_note(&self, keystore: &KeystoreName, name: &str) -> Result<Option<Vec<u8>>> {
        let _ = (keystore, name);
        Ok(None)
    }

    /// Where the secrets are, in words for a person.
    fn describe(&self) -> String;

    /// All secrets, sealed under a passphrase. Whoever keeps them can open what is erased later from a backup made
    /// before: export again after an erasure, and destroy the older export.
    ///
    /// # Errors
    /// `invalid` (`cannot_export`) when the secrets are not this master's to give.
    fn export(&self, passphrase: &str) -> Result<Vec<u8>> {
        let _ = passphrase;
        Err(Error::invalid("cannot_export", format!("the master key is in {}", self.describe()))
            .hint("keep a copy of it by that system's own means"))
    }
}

pub(crate) fn wrong_master(master: &dyn Master, keystore: &KeystoreName) -> Error {
    Error::denied("wrong_master", format!("{} has no secret for the keystore {keystore}", master.describe()))
        .hint("use the master key that this store was made with, or import an exported one")
}

pub(crate) fn epoch_destroyed(keystore: &KeystoreName, epoch: u64) -> Error {
    Error::denied("epoch_destroyed", format!("the secret of epoch {epoch} of the keystore {keystore} was destroyed"))
        .hint("something was erased after this keystore was written; the master's copy opens what lives")
}
