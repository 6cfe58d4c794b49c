//! The keystore on the disk and its copy with the master: read, changed under a lock, repaired.

use crate::crypto::random_secret;
use crate::keystore::{Entry, EpochKeys, Keystore, Purpose, verify};
use crate::master::{KeystoreName, Master};
use data_encoding::HEXLOWER;
use samite_host::files::{self, FileLock, PRIVATE_FILE};
use samite_host::{Random, kill_point, random_id};
use samite_model::{Error, ErrorKind, KeyId, Pseudonym, Result, Tenant};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const FILE: &str = "keystore";
const DAMAGED: &str = "keystore.damaged";
const LOCK: &str = "lock";

/// A keystore as read, with what opens it.
pub(crate) struct Loaded {
    pub(crate) name: KeystoreName,
    pub(crate) keystore: Keystore,
    pub(crate) keys: EpochKeys,
    by_subject: HashMap<Pseudonym, Vec<usize>>,
}

impl Loaded {
    fn new(name: KeystoreName, keystore: Keystore, keys: EpochKeys) -> Self {
        let mut by_subject: HashMap<Pseudonym, Vec<usize>> = HashMap::new();
        for (at, entry) in keystore.entries.iter().enumerate() {
            by_subject.entry(entry.subject).or_default().push(at);
        }
        Self { name, keystore, keys, by_subject }
    }

    /// All entries of a subject, destroyed ones too.
    pub(crate) fn entries(&self, subject: Pseudonym) -> impl Iterator<Item = &Entry> {
        let places = self.by_subject.get(&subject).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|at| self.keystore.entries.get(*at))
    }

    pub(crate) fn entry(&self, subject: Pseudonym, purpose: Purpose) -> Option<&Entry> {
        self.entries(subject).find(|entry| entry.purpose == purpose)
    }
}

/// Where a keystore is, and who opens it.
pub(crate) struct Storage {
    pub(crate) directory: PathBuf,
    pub(crate) tenant: Tenant,
    pub(crate) master: Arc<dyn Master>,
    pub(crate) random: Arc<dyn Random>,
    notices: Mutex<Vec<String>>,
}

/// Makes the first entries of a new keystore.
pub(crate) type FirstEntries<'a> = &'a dyn Fn(&KeystoreName, &EpochKeys) -> Result<Vec<Entry>>;

impl Storage {
    pub(crate) fn new(directory: PathBuf, tenant: Tenant, master: Arc<dyn Master>, random: Arc<dyn Random>) -> Self {
        Self { directory, tenant, master, random, notices: Mutex::default() }
    }

    /// Takes what a person should be told.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn notice(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Reads the keystore; makes it when there is none and `first` says how. Whether it was made comes with it.
    pub(crate) fn open(&self, first: Option<FirstEntries<'_>>) -> Result<(Loaded, bool)> {
        // Without a lock, so that a read-only store can be opened.
        match self.read() {
            Ok(Some(loaded)) if loaded.keystore.retired == 0 => return Ok((loaded, false)),
            Ok(Some(loaded)) => {
                return match self.lock().and_then(|mut lock| self.load_locked(&mut lock)) {
                    Ok(settled) => Ok((settled, false)),
                    Err(error) => {
                        self.notice(format!("an erasure in the keystore {} is not finished: {error}", loaded.name));
                        Ok((loaded, false))
                    }
                };
            }
            Err(error) if !is_repairable(&error) => return Err(error),
            _ => {}
        }
        if first.is_some() {
            files::create_private_dir(&self.directory)?;
        } else if !files::exists(&self.directory)? {
            return Err(self.missing());
        }
        let mut lock = self.lock()?;
        let identity = read_identity(&mut lock)?;
        if let (None, None, Some(first)) = (identity, files::read_if_exists(&self.path())?, first) {
            return Ok((self.create(&mut lock, first)?, true));
        }
        Ok((self.load_locked(&mut lock)?, false))
    }

    /// Reads the keystore again if it has changed since `current`.
    pub(crate) fn reload(&self, current: &Loaded) -> Result<Option<Loaded>> {
        let read = match self.read() {
            // Between reading the file and asking for its secret, another process may have ended that epoch.
            Err(error) if is_repairable(&error) => {
                self.lock().and_then(|mut lock| self.load_locked(&mut lock)).map(Some)
            }
            read => read,
        };
        Ok(match read? {
            Some(loaded)
                if loaded.keystore.generation != current.keystore.generation
                    || loaded.keystore.epoch != current.keystore.epoch =>
            {
                Some(loaded)
            }
            _ => None,
        })
    }

    /// Changes the keystore under its lock: reads it again, lets `change` add to it, and stores it when that says so.
    /// When this returns, keystore and copy are durable.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Keystore, &Loaded) -> Result<bool>) -> Result<Loaded> {
        let mut lock = self.lock()?;
        let local = self.load_locked(&mut lock)?;
        let (base, learned) = self.reconcile(local)?;
        let mut next = base.keystore.clone();
        if !change(&mut next, &base)? && !learned {
            return Ok(base);
        }
        next.generation += 1;
        self.store(&next, &base.keys)?;
        Ok(Loaded::new(base.name, next, base.keys))
    }

    /// Takes over what the master's copy knows and the keystore does not; where that cannot be written, the file stays
    /// as it is.
    pub(crate) fn learn(&self) -> Result<Loaded> {
        match self.change(|_, _| Ok(false)) {
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Denied) => {
                let local = self.read()?.ok_or_else(|| self.missing())?;
                self.reconcile(local).map(|(known, _)| known)
            }
            learned => learned,
        }
    }

    /// Begins a new epoch without the keys of `subject`, wraps again what lives, and destroys the old secret.
    ///
    /// Interrupted before the new keystore is stored, nothing has changed; after that, whoever opens the keystore next
    /// destroys the old secret.
    pub(crate) fn destroy(&self, subject: Pseudonym, only: Option<&[KeyId]>) -> Result<Loaded> {
        self.master.can_destroy()?;
        let mut lock = self.lock()?;
        let local = self.load_locked(&mut lock)?;
        let (mut base, learned) = self.reconcile(local)?;
        // Whoever comes back after an erasure has other keys, which finishing that erasure must not take.
        let is_meant = |entry: &Entry| only.is_none_or(|only| only.contains(&entry.key));
        if base.entries(subject).all(|entry| entry.purpose == Purpose::Destroyed || !is_meant(entry)) {
            if learned {
                base.keystore.generation += 1;
                self.store(&base.keystore, &base.keys)?;
            }
            return self.settle(base);
        }
        let epoch = self.master.create_epoch(&base.name)?;
        kill_point("keys.epoch_created");
        let keys = EpochKeys::new(&self.master.secret(&base.name, epoch)?)?;
        let mut next = base.keystore.clone();
        next.generation += 1;
        next.retired = if next.retired == 0 { next.epoch } else { next.retired };
        next.epoch = epoch;
        for entry in &mut next.entries {
            if entry.purpose == Purpose::Destroyed {
                continue;
            }
            *entry = if entry.subject == subject && is_meant(entry) {
                Entry { purpose: Purpose::Destroyed, wrapped: Vec::new(), ..entry.clone() }
            } else {
                let plaintext = base.keys.unwrap(&base.name, entry)?;
                keys.wrap(&base.name, (entry.key, entry.purpose, entry.subject), &plaintext, &*self.random)?
            };
        }
        self.store(&next, &keys)?;
        self.settle(Loaded::new(base.name, next, keys))
    }

    /// Destroys what an erasure left to destroy.
    fn settle(&self, mut loaded: Loaded) -> Result<Loaded> {
        if loaded.keystore.retired == 0 {
            return Ok(loaded);
        }
        // The copy must hold what lives before the old secret goes: an older backup is opened by it.
        self.master.store_copy(&loaded.name, &loaded.keystore.encode(&loaded.keys))?;
        for epoch in loaded.keystore.retired..loaded.keystore.epoch {
            self.master.destroy_epoch(&loaded.name, epoch)?;
        }
        kill_point("keys.epoch_destroyed");
        loaded.keystore.retired = 0;
        loaded.keystore.generation += 1;
        self.store(&loaded.keystore, &loaded.keys)?;
        Ok(loaded)
    }

    /// Writes the keystore, as it is now, into another directory. Durable when this returns.
    pub(crate) fn back_up(&self, directory: &Path) -> Result<()> {
        let bytes = files::read(&self.path())?;
        let loaded = self.interpret(&bytes).map_err(|error| self.name_path(error))?;
        files::create_private_dir(directory)?;
        files::write_atomic(&directory.join(FILE), &bytes, PRIVATE_FILE)?;
        write_identity(&mut FileLock::acquire(&directory.join(LOCK))?, loaded.name.id)
    }

    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    fn lock(&self) -> Result<FileLock> {
        let lock = FileLock::acquire(&self.directory.join(LOCK))?;
        files::remove_temporaries(&self.directory)?;
        Ok(lock)
    }

    fn missing(&self) -> Error {
        Error::not_found("no_keystore", format!("there is no keystore in {}", self.directory.display()))
            .hint("is this the right store? a backup has its keys in the same place")
    }

    fn read(&self) -> Result<Option<Loaded>> {
        match files::read_if_exists(&self.path())? {
            Some(bytes) => self.interpret(&bytes).map(Some).map_err(|error| self.name_path(error)),
            None => Ok(None),
        }
    }

    fn name_path(&self, error: Error) -> Error {
        if error.code() == "bad_keystore" { error.context(self.path().display()) } else { error }
    }

    fn interpret(&self, bytes: &[u8]) -> Result<Loaded> {
        let keystore = Keystore::decode(bytes)?;
        let name = KeystoreName { tenant: self.tenant.clone(), id: keystore.id };
        let keys = EpochKeys::new(&self.master.secret(&name, keystore.epoch)?)?;
        if !verify(bytes, &keys) {
            return Err(Error::denied(
                "wrong_master",
                format!("the key in {} is not the one that the keystore {name} was made with", self.master.describe()),
            )
            .hint("use the master key that this store was made with, or import an exported one"));
        }
        Ok(Loaded::new(name, keystore, keys))
    }

    /// The keystore, repaired from the master's copy when the file is missing, damaged, or older than an erasure.
    fn load_locked(&self, lock: &mut FileLock) -> Result<Loaded> {
        let identity = read_identity(lock)?;
        let (error, found) = match self.read() {
            Ok(Some(loaded)) => {
                if identity != Some(loaded.keystore.id) {
                    write_identity(lock, loaded.keystore.id)?;
                }
                return self.settle_if_possible(loaded);
            }
            Ok(None) => (self.missing(), None),
            Err(error) if is_repairable(&error) => (error, files::read_if_exists(&self.path())?),
            Err(error) => return Err(error),
        };
        let in_header = found.as_deref().and_then(|bytes| bytes.get(18..34)?.try_into().ok());
        for id in [identity, in_header].into_iter().flatten() {
            let name = KeystoreName { tenant: self.tenant.clone(), id };
            let Some(copy) = self.master.load_copy(&name)? else { continue };
            let Ok(loaded) = self.interpret(&copy) else { continue };
            if found.is_some() && error.kind() == ErrorKind::Corrupt {
                files::rename(&self.path(), &self.directory.join(DAMAGED))?;
            }
            files::write_atomic(&self.path(), &copy, PRIVATE_FILE)?;
            write_identity(lock, id)?;
            self.notice(format!("{error}; its keys were taken from the copy kept with {}", self.master.describe()));
            let lost = found.as_deref().and_then(|bytes| Keystore::decode(bytes).ok());
            if lost.is_some_and(|lost| !loaded.keystore.covers(&lost)) {
                self.notice("some keys were in this store alone, and are lost with the secret of their epoch".into());
            }
            return self.settle_if_possible(loaded);
        }
        Err(error)
    }

    /// A master that does not answer now does not keep anyone from reading.
    fn settle_if_possible(&self, loaded: Loaded) -> Result<Loaded> {
        if loaded.keystore.retired == 0 {
            return Ok(loaded);
        }
        let (name, bytes) = (loaded.name.clone(), loaded.keystore.encode(&loaded.keys));
        match self.settle(loaded) {
            Ok(settled) => Ok(settled),
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Denied) => {
                self.notice(format!("an erasure in the keystore {name} is not finished: {error}"));
                self.interpret(&bytes)
            }
            Err(error) => Err(error),
        }
    }

    /// What to change: the file, or the master's copy when that knows more. It does after a crash between the two, and
    /// after a restore from an older backup. Whether the file must learn from it comes with it.
    fn reconcile(&self, local: Loaded) -> Result<(Loaded, bool)> {
        let Some(copy) = self.master.load_copy(&local.name)? else { return Ok((local, false)) };
        let copy = match self.interpret(&copy) {
            Ok(copy) => copy,
            Err(error) => {
                self.notice(format!(
                    "the copy of the keystore kept with {} is replaced: {error}",
                    self.master.describe()
                ));
                return Ok((local, false));
            }
        };
        if copy.keystore.generation > local.keystore.generation && copy.keystore.covers(&local.keystore) {
            return Ok((copy, true));
        }
        if local.keystore.covers(&copy.keystore) {
            return Ok((local, false));
        }
        match local.keystore.union(&copy.keystore) {
            Some(union) => Ok((Loaded::new(local.name, union, local.keys), true)),
            None => Err(Error::conflict(
                "keystores_diverged",
                format!(
                    "the keystore {} in {} and another store's have different keys for one owner",
                    local.name,
                    self.directory.display()
                ),
            )
            .hint("two stores were restored from one backup and both went on: keep one of them")),
        }
    }

    /// The copy first: a key that the file has is then never missing in the copy.
    fn store(&self, keystore: &Keystore, keys: &EpochKeys) -> Result<()> {
        let bytes = keystore.encode(keys);
        let name = KeystoreName { tenant: self.tenant.clone(), id: keystore.id };
        self.master.store_copy(&name, &bytes)?;
        kill_point("keys.copied");
        files::write_atomic(&self.path(), &bytes, PRIVATE_FILE)?;
        kill_point("keys.written");
        Ok(())
    }

    fn create(&self, lock: &mut FileLock, first: FirstEntries<'_>) -> Result<Loaded> {
        let name = KeystoreName { tenant: self.tenant.clone(), id: random_id(&*self.random)? };
        let epoch = self.master.create_epoch(&name)?;
        kill_point("keys.epoch_created");
        let keys = EpochKeys::new(&self.master.secret(&name, epoch)?)?;
        let entries = first(&name, &keys)?;
        let keystore = Keystore { id: name.id, generation: 1, epoch, retired: 0, entries };
        self.store(&keystore, &keys)?;
        write_identity(lock, name.id)?;
        Ok(Loaded::new(name, keystore, keys))
    }

    /// A new random key, wrapped.
    pub(crate) fn new_key(
        &self,
        name: &KeystoreName,
        keys: &EpochKeys,
        purpose: Purpose,
        subject: Pseudonym,
    ) -> Result<Entry> {
        let secret = random_secret(&*self.random)?;
        self.new_entry(name, keys, purpose, subject, secret.as_ref())
    }

    /// A new entry with these bytes, wrapped.
    pub(crate) fn new_entry(
        &self,
        name: &KeystoreName,
        keys: &EpochKeys,
        purpose: Purpose,
        subject: Pseudonym,
        plaintext: &[u8],
    ) -> Result<Entry> {
        keys.wrap(name, (KeyId(random_id(&*self.random)?), purpose, subject), plaintext, &*self.random)
    }
}

/// Whether the master's copy may help.
fn is_repairable(error: &Error) -> bool {
    error.code() == "bad_keystore" || error.code() == "epoch_destroyed"
}

/// The keystore's id stands in the lock's file too, so that a keystore that is lost or damaged can be found again.
fn read_identity(lock: &mut FileLock) -> Result<Option<[u8; 16]>> {
    let contents = lock.contents()?;
    Ok(HEXLOWER.decode(contents.trim_ascii()).ok().and_then(|id| id.try_into().ok()))
}

fn write_identity(lock: &mut FileLock, id: [u8; 16]) -> Result<()> {
    lock.set_contents(format!("{}\n", HEXLOWER.encode(&id)).as_bytes())
}
