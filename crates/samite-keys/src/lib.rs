//! Sealing, the keystore and the master key of samite.
//!
//! A [`Keyring`] holds one tenant's keys. Each data subject has random keys of its own; they lie in the tenant's
//! keystore, wrapped by a secret of the current epoch that only a [`Master`] holds. Destroying a subject's keys means a
//! new epoch, wrapping again what lives, and destroying the old secret where the master lives: after that no copy of
//! the keystore, however old, opens what the subject left behind. The formats are in docs/formats.md.

mod bytes;
mod compression;
mod crypto;
mod dictionary;
mod keyring;
mod keystore;
mod master;
mod storage;

pub use crypto::Secret;
pub use keyring::{
    AuditKey, Body, Domain, Keyring, KeyringOptions, LiveKey, MAXIMUM_BLOCK, OpenPayload, SealedPayload, Subject,
    check_commitment,
};
pub use keystore::Purpose;
pub use master::{CommandMaster, EnvironmentMaster, FileMaster, KeystoreName, Master};
