//! One tenant's keys, ready for use.

mod audit;
mod block;
mod erasure;
mod payload;
mod subject;

pub use audit::AuditKey;
pub use block::{Domain, MAXIMUM_BLOCK};
pub use payload::{Body, OpenPayload, SealedPayload, check_commitment};
pub use subject::{LiveKey, Subject};

use crate::crypto::{Secret, first_half, keyed_hash, random_secret};
use crate::keystore::{Entry, EpochKeys, Purpose};
use crate::master::{KeystoreName, Master};
use crate::storage::{Loaded, Storage};
use samite_host::Random;
use samite_model::{Error, KeyId, Owner, Principal, Pseudonym, Result, Tenant};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use subject::{Keys, SUBJECT_KEYS, key_of};
use zeroize::Zeroizing;

const PSEUDONYM: &[u8] = b"samite/pseudonym/v1\0";
const INDEX: &[u8] = b"samite/index/v1\0";
const FINGERPRINT: &[u8] = b"samite/fingerprint/v1\0";

/// What a keyring is opened with.
pub struct KeyringOptions {
    /// The directory of the keystore: `tenants/TENANT/keys` of a store.
    pub directory: PathBuf,
    /// The tenant.
    pub tenant: Tenant,
    /// Who holds the secret that opens it.
    pub master: Arc<dyn Master>,
    /// Where keys, salts and nonces come from.
    pub random: Arc<dyn Random>,
    /// Whether to make a keystore when there is none.
    pub create: bool,
}

/// One tenant's keys. Clones share them; any thread may use them.
///
/// A keyring keeps what it has opened: after another process destroyed a key, this one can use it until it reads the
/// keystore again ([`Keyring::refresh`]), which is why each append checks in its transaction that its key is live.
#[derive(Clone)]
pub struct Keyring(Arc<Inner>);

struct Inner {
    storage: Storage,
    created: bool,
    loaded: RwLock<Arc<Loaded>>,
    subjects: RwLock<HashMap<Pseudonym, Arc<Keys>>>,
    tenant_keys: Arc<Keys>,
    pseudonym_key: Secret,
    chunk_seed: u64,
}

impl Keyring {
    /// Opens a tenant's keystore, or makes it.
    ///
    /// A keystore that is damaged, lost, or older than an erasure is put back from the copy that the master keeps;
    /// [`Keyring::take_notices`] tells of it.
    ///
    /// # Errors
    /// `not_found` (`no_keystore`) when there is none and none is to be made; `corrupt` (`bad_keystore`) when it is
    /// damaged and the master has no copy; `denied` (`wrong_master`) when the master's secret does not open it;
    /// others as the master and the disk say.
    pub fn open(options: KeyringOptions) -> Result<Self> {
        let storage = Storage::new(options.directory, options.tenant, options.master, options.random);
        let first = |name: &KeystoreName, keys: &EpochKeys| first_entries(&storage, name, keys);
        let (loaded, created) = storage.open(options.create.then_some(&first))?;
        let incomplete = || {
            Error::corrupt("bad_keystore", format!("the keystore {} lacks the tenant's own keys", loaded.name))
                .hint("restore the keys directory of the store from a backup")
        };
        let entry = loaded.keystore.entries.iter().find(|entry| entry.purpose == Purpose::Pseudonym);
        let entry = entry.ok_or_else(incomplete)?;
        let tenant = entry.subject;
        let pseudonym_key = key_of(&loaded, entry)?;
        let seed = loaded.entry(tenant, Purpose::ChunkSeed).ok_or_else(incomplete)?;
        let seed = key_of(&loaded, seed)?;
        let chunk_seed = u64::from_be_bytes(seed.first_chunk().copied().unwrap_or_default());
        let tenant_keys = Arc::new(Keys::of(&loaded, tenant)?.ok_or_else(incomplete)?);
        Ok(Self(Arc::new(Inner {
            storage,
            created,
            loaded: RwLock::new(Arc::new(loaded)),
            subjects: RwLock::default(),
            tenant_keys,
            pseudonym_key,
            chunk_seed,
        })))
    }

    /// Whether opening made the keystore: the time to tell a person where the master key is.
    pub fn created(&self) -> bool {
        self.0.created
    }

    /// Takes what a person should be told about the keystore, such as a repair.
    pub fn take_notices(&self) -> Vec<String> {
        self.0.storage.take_notices()
    }

    /// The tenant.
    pub fn tenant(&self) -> &Tenant {
        &self.0.storage.tenant
    }

    /// The keystore's name, by which the master knows it.
    pub fn name(&self) -> KeystoreName {
        self.loaded().name.clone()
    }

    /// Who holds the secret that opens the keystore.
    pub fn master(&self) -> &dyn Master {
        &*self.0.storage.master
    }

    /// Reads the keystore again if another process has changed it: destroyed keys are then no longer used.
    ///
    /// # Errors
    /// As [`Keyring::open`].
    pub fn refresh(&self) -> Result<()> {
        let current = self.loaded();
        if let Some(loaded) = self.0.storage.reload(&current)? {
            self.install(loaded);
        }
        Ok(())
    }

    /// Writes the keystore into another directory, which is made, as a part of a backup: copy it after the ledger, whose
    /// keys it then has. When this returns, it is durable. It opens with the same master.
    ///
    /// # Errors
    /// `corrupt` when the keystore is damaged; as the disk says.
    pub fn back_up(&self, directory: &Path) -> Result<()> {
        self.0.storage.back_up(directory)
    }

    /// An owner's keys, made at the first use. When this returns, they are durable.
    ///
    /// # Errors
    /// `unavailable` or `denied` when new keys cannot be stored.
    pub fn subject(&self, owner: &Owner) -> Result<Subject> {
        let pseudonym = self.pseudonym("owner", owner.as_str().as_bytes());
        if let Some(keys) = self.known(pseudonym)? {
            return Ok(keys.subject());
        }
        let storage = &self.0.storage;
        let loaded = storage.change(|next, base| {
            // Another process may have been first.
            if base.entry(pseudonym, Purpose::Data).is_some() {
                return Ok(false);
            }
            for purpose in SUBJECT_KEYS {
                next.entries.push(storage.new_key(&base.name, &base.keys, purpose, pseudonym)?);
            }
            let name = owner.as_str().as_bytes();
            next.entries.push(storage.new_entry(&base.name, &base.keys, Purpose::OwnerName, pseudonym, name)?);
            Ok(true)
        })?;
        self.install(loaded);
        self.keys(pseudonym).map(|keys| keys.subject())
    }

    /// The keys of a subject that is known by its pseudonym.
    ///
    /// # Errors
    /// `not_found` (`unknown_subject`), or `denied` (`key_destroyed`) when it was erased.
    pub fn subject_of(&self, pseudonym: Pseudonym) -> Result<Subject> {
        self.keys(pseudonym).map(|keys| keys.subject())
    }

    /// The name behind a pseudonym; `None` for one that is erased, unknown, or no owner's.
    ///
    /// # Errors
    /// `corrupt` when the keystore is damaged.
    pub fn owner_name(&self, pseudonym: Pseudonym) -> Result<Option<Owner>> {
        if self.loaded().entry(pseudonym, Purpose::OwnerName).is_none() {
            self.refresh()?;
        }
        let loaded = self.loaded();
        let Some(entry) = loaded.entry(pseudonym, Purpose::OwnerName) else { return Ok(None) };
        let name = loaded.keys.unwrap(&loaded.name, entry)?;
        let name = std::str::from_utf8(&name)
            .map_err(|_| Error::corrupt("bad_keystore", format!("the owner's name of {pseudonym} is not text")))?;
        Owner::new(name).map(Some)
    }

    /// All subjects whose keys live, the tenant itself left out, in the order of their pseudonyms.
    ///
    /// # Errors
    /// As [`Keyring::refresh`].
    pub fn subjects(&self) -> Result<Vec<Subject>> {
        let tenant = self.tenant_pseudonym();
        let data = |live: &LiveKey| live.purpose == Purpose::Data && live.subject != tenant;
        let live = self.live_keys()?.into_iter().filter(data);
        let mut subjects: Vec<Subject> = live.map(|live| Subject { pseudonym: live.subject, key: live.key }).collect();
        subjects.sort_by_key(|subject| subject.pseudonym);
        Ok(subjects)
    }

    /// All keys that live, as the keystore says now.
    ///
    /// # Errors
    /// As [`Keyring::refresh`].
    pub fn live_keys(&self) -> Result<Vec<LiveKey>> {
        self.refresh()?;
        let live = |entry: &&Entry| !matches!(entry.purpose, Purpose::Destroyed | Purpose::OwnerName);
        let key = |entry: &Entry| LiveKey { key: entry.key, purpose: entry.purpose, subject: entry.subject };
        Ok(self.loaded().keystore.entries.iter().filter(live).map(key).collect())
    }

    /// Destroys all keys of a subject, for good: a new epoch, what lives is wrapped again, and the old secret is
    /// destroyed where the master lives. Returns the ids of the subject's destroyed keys. Doing it again is no error.
    ///
    /// When this returns, no keystore of any age opens what the subject's keys sealed. Interrupted, it has either not
    /// begun, or is finished by whoever opens the keystore next.
    ///
    /// # Errors
    /// `denied` (`cannot_destroy`) when the master cannot, and then nothing has changed; `not_found`
    /// (`unknown_subject`); `invalid` (`tenant_keys`) for the tenant's own pseudonym; `conflict`
    /// (`keystores_diverged`) when another store shares this keystore and has keys that this one lacks.
    pub fn destroy_subject(&self, subject: Pseudonym) -> Result<Vec<KeyId>> {
        if subject == self.tenant_pseudonym() {
            return Err(tenant_keys());
        }
        let loaded = self.0.storage.destroy(subject, None)?;
        let destroyed: Vec<KeyId> = loaded.entries(subject).map(|entry| entry.key).collect();
        self.install(loaded);
        if destroyed.is_empty() {
            return Err(unknown_subject(subject));
        }
        Ok(destroyed)
    }

    /// The tenant's own pseudonym: the owner of what belongs to nobody in particular.
    pub fn tenant_pseudonym(&self) -> Pseudonym {
        self.0.tenant_keys.pseudonym
    }

    /// Who acts, as it stands in a header.
    pub fn actor(&self, principal: &Principal) -> Pseudonym {
        self.pseudonym("actor", &principal.actor_bytes())
    }

    /// A writer's id, as it stands in a lease.
    pub fn writer(&self, id: &str) -> Pseudonym {
        self.pseudonym("writer", id.as_bytes())
    }

    /// The keyed hash of a secret that is shown in its place: the same for all of the tenant, and of no use for guessing
    /// without its keys.
    pub fn redaction_mark(&self, secret: &[u8]) -> [u8; 4] {
        let hash = self.pseudonym("redaction", secret);
        hash.as_bytes().first_chunk().copied().unwrap_or_default()
    }

    /// The hash that an index row is found by, under the subject's random index key. Domains do not meet.
    ///
    /// # Errors
    /// As [`Keyring::subject_of`].
    pub fn index_hash(&self, subject: impl Into<Pseudonym>, domain: &str, bytes: &[u8]) -> Result<[u8; 16]> {
        let keys = self.keys(subject.into())?;
        Ok(first_half(keyed_hash(&keys.index, INDEX, domain, bytes)))
    }

    /// A keyed fingerprint: tells whether bytes that were submitted again are the same.
    ///
    /// # Errors
    /// As [`Keyring::subject_of`].
    pub fn fingerprint(&self, subject: impl Into<Pseudonym>, bytes: &[u8]) -> Result<[u8; 32]> {
        let keys = self.keys(subject.into())?;
        Ok(keyed_hash(&keys.index, FINGERPRINT, "", bytes))
    }

    /// The tenant's seed for cutting files into chunks.
    pub fn chunk_seed(&self) -> u64 {
        self.0.chunk_seed
    }

    fn pseudonym(&self, domain: &str, bytes: &[u8]) -> Pseudonym {
        Pseudonym(first_half(keyed_hash(&self.0.pseudonym_key, PSEUDONYM, domain, bytes)))
    }

    fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.0.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces what is known, and forgets the keys that are gone.
    fn install(&self, loaded: Loaded) {
        let mut current = self.0.loaded.write().unwrap_or_else(PoisonError::into_inner);
        let order = |keystore: &Loaded| (keystore.keystore.epoch, keystore.keystore.generation);
        // Two threads may have read at once: the later state stays.
        if order(&loaded) < order(&current) {
            return;
        }
        let mut subjects = self.0.subjects.write().unwrap_or_else(PoisonError::into_inner);
        subjects.retain(|pseudonym, keys| {
            loaded.entry(*pseudonym, Purpose::Data).is_some_and(|entry| entry.key == keys.data_key)
        });
        *current = Arc::new(loaded);
    }

    /// A subject's keys, from memory or from the keystore as last read.
    fn known(&self, pseudonym: Pseudonym) -> Result<Option<Arc<Keys>>> {
        if pseudonym == self.0.tenant_keys.pseudonym {
            return Ok(Some(Arc::clone(&self.0.tenant_keys)));
        }
        if let Some(keys) = self.0.subjects.read().unwrap_or_else(PoisonError::into_inner).get(&pseudonym) {
            return Ok(Some(Arc::clone(keys)));
        }
        // Held until the keys are remembered, so that `install` cannot forget them in between.
        let loaded = self.0.loaded.read().unwrap_or_else(PoisonError::into_inner);
        let Some(keys) = Keys::of(&loaded, pseudonym)?.map(Arc::new) else { return Ok(None) };
        let mut subjects = self.0.subjects.write().unwrap_or_else(PoisonError::into_inner);
        subjects.insert(pseudonym, Arc::clone(&keys));
        Ok(Some(keys))
    }

    /// A subject's keys; an unknown one may have been made by another process, so the keystore is read again.
    fn keys(&self, pseudonym: Pseudonym) -> Result<Arc<Keys>> {
        if let Some(keys) = self.known(pseudonym)? {
            return Ok(keys);
        }
        self.refresh()?;
        if let Some(keys) = self.known(pseudonym)? {
            return Ok(keys);
        }
        // The keystore may have lost it: another process was seen to make it, and the power failed before the file's
        // name was durable. The master's copy was durable first.
        if self.loaded().entries(pseudonym).next().is_none() {
            self.install(self.0.storage.learn()?);
            if let Some(keys) = self.known(pseudonym)? {
                return Ok(keys);
            }
        }
        if self.loaded().entries(pseudonym).next().is_some() {
            return Err(key_destroyed(format!("the keys of the owner {pseudonym} were destroyed")));
        }
        Err(unknown_subject(pseudonym))
    }

    /// A subject's keys, to open what this key sealed: one that nobody here knows may have been made by another process,
    /// so the keystore is read again.
    fn keys_with(&self, pseudonym: Pseudonym, key: KeyId) -> Result<Arc<Keys>> {
        let keys = self.keys(pseudonym)?;
        let is_known = || self.loaded().entries(pseudonym).any(|entry| entry.key == key);
        if [keys.data_key, keys.block_key].contains(&key) || is_known() {
            return Ok(keys);
        }
        self.refresh()?;
        self.keys(pseudonym)
    }
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keyring({})", self.loaded().name)
    }
}

fn tenant_keys() -> Error {
    Error::invalid("tenant_keys", "the tenant's own keys are not those of a subject").hint("remove the tenant instead")
}

fn key_destroyed(message: String) -> Error {
    Error::denied("key_destroyed", message).hint("its data was erased and cannot be read again")
}

fn unknown_subject(pseudonym: Pseudonym) -> Error {
    Error::not_found("unknown_subject", format!("the keystore has no keys of an owner {pseudonym}"))
        .hint("was the keystore restored from a backup that is older than the ledger?")
}

/// What a new keystore holds: the tenant's own keys.
fn first_entries(storage: &Storage, name: &KeystoreName, keys: &EpochKeys) -> Result<Vec<Entry>> {
    let pseudonym_key: Secret = random_secret(&*storage.random)?;
    let hash = keyed_hash(&pseudonym_key, PSEUDONYM, "tenant", storage.tenant.as_str().as_bytes());
    let tenant = Pseudonym(first_half(hash));
    let pseudonym_key = Zeroizing::new(pseudonym_key.to_vec());
    let mut entries = vec![storage.new_entry(name, keys, Purpose::Pseudonym, tenant, &pseudonym_key)?];
    for purpose in SUBJECT_KEYS.into_iter().chain([Purpose::ChunkSeed]) {
        entries.push(storage.new_key(name, keys, purpose, tenant)?);
    }
    Ok(entries)
}
