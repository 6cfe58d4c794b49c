//! The log inside the ledger: how leaves and signed heads come into the commits of the entries that they are about.

mod draft;
mod finisher;
mod published;
mod state;
#[cfg(test)]
mod tests;

pub use draft::LeafDraft;
pub use finisher::{LogFinisher, SigningKey};
pub use published::{Published, PublishedHeads};
pub use state::LogHead;

use samite_keys::KeystoreName;

/// The origin of a log of a tenant. Its number is part of it, so that no two logs ever disagree under one name.
pub fn origin(keystore: &KeystoreName, log: u64) -> String {
    format!("samite.local/{}/{log}", data_encoding::HEXLOWER.encode(&keystore.id))
}
