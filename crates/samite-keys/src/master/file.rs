//! A master key in a file of its own, outside the store.

use super::export;
use super::records::Records;
use super::{KeystoreName, Master, epoch_destroyed, wrong_master};
use crate::crypto::{Secret, random_secret};
use samite_host::files::{self, FileLock, PRIVATE_FILE};
use samite_host::{Random, kill_point};
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Secrets in a file that only its user can read (0600, in a directory of 0700), with a copy of each wrapped keystore
/// in a directory beside it. Several processes may use it at once.
pub struct FileMaster {
    path: PathBuf,
    random: Arc<dyn Random>,
}

impl FileMaster {
    /// The master in this file, which is made when the first keystore is.
    pub fn new(path: impl Into<PathBuf>, random: Arc<dyn Random>) -> Self {
        Self { path: path.into(), random }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the secrets of an [export](Master::export) into this master. A keystore that it knows already keeps what
    /// it has, so that an older export does not bring back what was destroyed. Returns how many keystores were new.
    ///
    /// # Errors
    /// `denied` (`wrong_passphrase`) when the passphrase does not open it or it was changed, `corrupt` when it is no
    /// export; and as for writing the file.
    pub fn import(&self, exported: &[u8], passphrase: &str) -> Result<usize> {
        let imported = Records::decode(&export::open(exported, passphrase)?, "the exported key")?;
        let _lock = self.lock()?;
        let mut records = self.read()?;
        let before = records.0.len();
        for (name, record) in imported.0 {
            records.0.entry(name).or_insert(record);
        }
        let added = records.0.len() - before;
        if added > 0 {
            self.write(&records)?;
        }
        Ok(added)
    }

    /// One lock for all masters of the directory, so that what interrupted writes left can be told from what is being
    /// written: it holds secrets, and must not outlive their destruction.
    fn lock(&self) -> Result<FileLock> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        files::create_private_dir(directory)?;
        let lock = FileLock::acquire(&directory.join("master.lock"))?;
        for name in files::list(directory)?.iter().filter(|name| files::is_temporary(name)) {
            files::erase(&directory.join(name))?;
        }
        Ok(lock)
    }

    /// Reads without the lock. Who changes the file overwrites the old one after the new one has its name: a reader
    /// that had opened the old one sees zeros, and looks again.
    fn read_shared(&self) -> Result<Records> {
        let mut read = self.read();
        for _ in 0..10 {
            match &read {
                Err(error) if error.code() == "bad_master" => read = self.read(),
                _ => break,
            }
        }
        read
    }

    fn read(&self) -> Result<Records> {
        let Some(bytes) = files::read_if_exists(&self.path)?.map(Zeroizing::new) else {
            return Ok(Records::default());
        };
        if files::mode(&self.path)? & 0o077 != 0 {
            return Err(Error::denied(
                "master_exposed",
                format!("others may read the master key in {}", self.path.display()),
            )
            .hint(format!("chmod 600 {}", self.path.display())));
        }
        Records::decode(&bytes, &self.describe())
    }

    /// Every old file is overwritten, since it may hold a secret that is destroyed later.
    fn write(&self, records: &Records) -> Result<()> {
        files::replace_and_erase(&self.path, &records.encode(), PRIVATE_FILE)
    }

    fn note_path(&self, keystore: &KeystoreName, name: &str) -> PathBuf {
        self.path.with_extension("copies").join(format!("{keystore}.{name}"))
    }

    fn copy_path(&self, keystore: &KeystoreName) -> PathBuf {
        self.path.with_extension("copies").join(keystore.to_string())
    }
}

impl std::fmt::Debug for FileMaster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileMaster({})", self.path.display())
    }
}

impl Master for FileMaster {
    fn secret(&self, keystore: &KeystoreName, epoch: u64) -> Result<Secret> {
        let records = self.read_shared()?;
        let record = records.0.get(keystore).ok_or_else(|| wrong_master(self, keystore))?;
        match record.secrets.get(&epoch) {
            Some(secret) => Ok(secret.clone()),
            None if epoch <= record.latest => Err(epoch_destroyed(keystore, epoch)),
            None => Err(wrong_master(self, keystore)),
        }
    }

    fn create_epoch(&self, keystore: &KeystoreName) -> Result<u64> {
        let _lock = self.lock()?;
        let mut records = self.read()?;
        let record = records.0.entry(keystore.clone()).or_default();
        record.latest += 1;
        let epoch = record.latest;
        record.secrets.insert(epoch, random_secret(&*self.random)?);
        self.write(&records)?;
        Ok(epoch)
    }

    fn can_destroy(&self) -> Result<()> {
        Ok(())
    }

    fn destroy_epoch(&self, keystore: &KeystoreName, epoch: u64) -> Result<()> {
        let _lock = self.lock()?;
        let mut records = self.read()?;
        let record = records.0.get_mut(keystore).ok_or_else(|| wrong_master(self, keystore))?;
        if record.secrets.remove(&epoch).is_none() {
            // Whoever destroyed it may have been killed before that was durable.
            return files::sync_dir(self.path.parent().unwrap_or(Path::new(".")));
        }
        kill_point("keys.master.before_destroy");
        self.write(&records)
    }

    fn store_copy(&self, keystore: &KeystoreName, wrapped: &[u8]) -> Result<()> {
        let path = self.copy_path(keystore);
        if let Some(parent) = path.parent() {
            files::create_private_dir(parent)?;
        }
        files::write_atomic(&path, wrapped, PRIVATE_FILE)
    }

    fn load_copy(&self, keystore: &KeystoreName) -> Result<Option<Vec<u8>>> {
        files::read_if_exists(&self.copy_path(keystore))
    }

    fn store_note(&self, keystore: &KeystoreName, name: &str, bytes: &[u8]) -> Result<bool> {
        let path = self.note_path(keystore, name);
        if let Some(parent) = path.parent() {
            files::create_private_dir(parent)?;
        }
        files::write_atomic(&path, bytes, PRIVATE_FILE)?;
        Ok(true)
    }

    fn swap_note(
        &self,
        keystore: &KeystoreName,
        name: &str,
        before: Option<&[u8]>,
        bytes: &[u8],
    ) -> Result<Option<bool>> {
        let _lock = self.lock()?;
        if self.load_note(keystore, name)?.as_deref() != before {
            return Ok(None);
        }
        self.store_note(keystore, name, bytes).map(Some)
    }

    fn load_note(&self, keystore: &KeystoreName, name: &str) -> Result<Option<Vec<u8>>> {
        files::read_if_exists(&self.note_path(keystore, name))
    }

    fn describe(&self) -> String {
        format!("the file {}", self.path.display())
    }

    fn export(&self, passphrase: &str) -> Result<Vec<u8>> {
        let records = self.read_shared()?;
        if records.0.is_empty() {
            return Err(Error::not_found("no_master", format!("there is no master key in {}", self.path.display())));
        }
        export::seal(&records.encode(), passphrase, &*self.random)
    }
}
