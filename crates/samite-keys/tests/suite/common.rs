//! A scratch directory with a master and a keystore.

use samite_host::{Random, SeededRandom, SystemRandomness};
use samite_keys::{FileMaster, Keyring, KeyringOptions, Master};
use samite_model::{EntryId, EntryKind, Header, JournalId, Owner, Pseudonym, Result, Tenant};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) struct Scratch {
    _directory: Option<tempfile::TempDir>,
    pub(crate) root: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { root: directory.path().to_owned(), _directory: Some(directory) }
    }

    /// One that another process made.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), _directory: None }
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.root.join("store/tenants/local/keys")
    }

    pub(crate) fn keystore(&self) -> PathBuf {
        self.keys().join("keystore")
    }

    pub(crate) fn master(&self) -> Arc<dyn Master> {
        Arc::new(FileMaster::new(self.root.join("config/master.key"), random()))
    }

    pub(crate) fn open(&self) -> Result<Keyring> {
        self.open_with(self.master(), random(), true)
    }

    pub(crate) fn open_with(&self, master: Arc<dyn Master>, random: Arc<dyn Random>, create: bool) -> Result<Keyring> {
        let tenant = Tenant::new("local").unwrap();
        Keyring::open(KeyringOptions { directory: self.keys(), tenant, master, random, create })
    }
}

pub(crate) fn random() -> Arc<dyn Random> {
    Arc::new(SystemRandomness::new())
}

pub(crate) fn seeded(seed: u64) -> Arc<dyn Random> {
    Arc::new(SeededRandom::new(seed))
}

pub(crate) fn owner(name: &str) -> Owner {
    Owner::new(format!("user:{name}")).unwrap()
}

pub(crate) const JOURNAL: JournalId = JournalId([1; 16]);
pub(crate) const ENTRY: EntryId = EntryId([2; 16]);

/// Seals a payload, and gives the header that goes with it.
pub(crate) fn seal(keyring: &Keyring, owner: Pseudonym, payload: &[u8]) -> (Header, Vec<u8>) {
    let sealed = keyring.seal_payload(owner, JOURNAL, ENTRY, payload).unwrap();
    let header = Header {
        kind: EntryKind::MESSAGE,
        seq: 1,
        epoch: 1,
        time: 0,
        id: ENTRY,
        actor: owner,
        owner,
        key: sealed.key,
        length: sealed.length,
        commitment: sealed.commitment,
    };
    (header, sealed.bytes)
}

pub(crate) fn open(keyring: &Keyring, (header, bytes): &(Header, Vec<u8>)) -> Result<Vec<u8>> {
    let opened = keyring.open_payload(header, JOURNAL, bytes)?;
    let salt = opened.salt;
    let payload = opened.into_inline()?;
    samite_keys::check_commitment(&salt, &payload, header.commitment)?;
    Ok(payload)
}
