//! The key that signs a tenant's audit log, and the pseudonyms that stand in it.

use super::subject::key_of;
use super::{Keyring, first_half, keyed_hash};
use crate::keystore::Purpose;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use samite_model::{Error, Pseudonym, Result};

const AUDIT: &str = "audit";

/// The Ed25519 key of a tenant's audit log. The private half never leaves it.
pub struct AuditKey {
    pair: Ed25519KeyPair,
    public: [u8; 32],
}

impl AuditKey {
    /// The public key.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    /// Signs bytes (RFC 8032).
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        let signed = self.pair.sign(message);
        // An Ed25519 signature has 64 bytes.
        for (to, from) in signature.iter_mut().zip(signed.as_ref()) {
            *to = *from;
        }
        signature
    }
}

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AuditKey({})", data_encoding::HEXLOWER.encode(&self.public))
    }
}

impl Keyring {
    /// Makes the key of the audit log where there is none. When this returns, it is durable.
    ///
    /// # Errors
    /// `unavailable` or `denied` when it cannot be stored.
    pub fn ensure_audit_key(&self) -> Result<()> {
        let tenant = self.tenant_pseudonym();
        if self.loaded().entry(tenant, Purpose::AuditSign).is_some() {
            return Ok(());
        }
        let storage = &self.0.storage;
        let loaded = storage.change(|next, base| {
            // Another process may have been first.
            if base.entry(tenant, Purpose::AuditSign).is_some() {
                return Ok(false);
            }
            next.entries.push(storage.new_key(&base.name, &base.keys, Purpose::AuditSign, tenant)?);
            Ok(true)
        })?;
        self.install(loaded);
        Ok(())
    }

    /// The key that signs the audit log.
    ///
    /// # Errors
    /// `not_found` (`no_audit_key`) when none was made yet; `corrupt` when the keystore is damaged.
    pub fn audit_key(&self) -> Result<AuditKey> {
        let tenant = self.tenant_pseudonym();
        if self.loaded().entry(tenant, Purpose::AuditSign).is_none() {
            self.refresh()?;
        }
        let loaded = self.loaded();
        let entry = loaded.entry(tenant, Purpose::AuditSign).ok_or_else(|| {
            Error::not_found("no_audit_key", format!("the keystore {} has no key for an audit log yet", loaded.name))
                .hint("it is made when the store is next opened for writing")
        })?;
        let seed = key_of(&loaded, entry)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref())
            .map_err(|_| Error::corrupt("bad_keystore", "the key of the audit log is none"))?;
        let mut public = [0; 32];
        for (to, from) in public.iter_mut().zip(pair.public_key().as_ref()) {
            *to = *from;
        }
        Ok(AuditKey { pair, public })
    }

    /// A person as the audit log names them: a hash under the person's own key, so that nobody can tell it, not even from
    /// the name, once that key is destroyed.
    ///
    /// # Errors
    /// As [`Keyring::subject_of`].
    pub fn audit_person(&self, subject: impl Into<Pseudonym>) -> Result<Pseudonym> {
        let keys = self.keys(subject.into())?;
        Ok(Pseudonym(first_half(keyed_hash(&keys.index, super::INDEX, AUDIT, b"person"))))
    }

    /// An agent or a workload as the audit log names it; `kind` says which.
    pub fn audit_name(&self, kind: &str, name: &str) -> Pseudonym {
        self.pseudonym(kind, name.as_bytes())
    }
}
