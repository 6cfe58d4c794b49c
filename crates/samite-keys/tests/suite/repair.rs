//! A keystore that is damaged, lost or old.

use crate::common::{Scratch, open, owner, random, seal};
use samite_host::files::{self, write_atomic};
use samite_keys::{Domain, EnvironmentMaster, KeystoreName, Master, Secret};
use samite_model::{Error, ErrorKind, Result};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn an_erased_subject_stays_erased_in_an_older_backup() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let bob = keyring.subject(&owner("bob")).unwrap();
    let (from_ada, from_bob) = (seal(&keyring, ada.pseudonym, b"hers"), seal(&keyring, bob.pseudonym, b"his"));
    let domain = Domain::Owner(ada.pseudonym);
    let id = keyring.block_id(domain, 1, b"hers").unwrap();
    let block = keyring.seal_block(domain, id, 1, b"hers").unwrap();
    let backup = files::read(&scratch.keystore()).unwrap();

    let destroyed = keyring.destroy_subject(ada.pseudonym).unwrap();
    assert_eq!(destroyed.len(), 5);
    assert!(destroyed.contains(&ada.key));
    assert_eq!(keyring.destroy_subject(ada.pseudonym).unwrap(), destroyed);

    let check = |keyring: &samite_keys::Keyring| {
        assert_eq!(open(keyring, &from_bob).unwrap(), b"his");
        let error = open(keyring, &from_ada).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "key_destroyed"));
        assert_eq!(keyring.open_block(domain, id, &block).unwrap_err().code(), "key_destroyed");
        assert_eq!(keyring.owner_name(ada.pseudonym).unwrap(), None);
        assert_eq!(keyring.subjects().unwrap(), [bob]);
    };
    check(&keyring);
    check(&scratch.open().unwrap());
    write_atomic(&scratch.keystore(), &backup, 0o600).unwrap();
    let restored = scratch.open().unwrap();
    check(&restored);
    assert!(restored.take_notices()[0].contains("copy"));

    // Who comes back gets new keys, and what was erased stays so.
    let again = restored.subject(&owner("ada")).unwrap();
    assert_eq!(again.pseudonym, ada.pseudonym);
    assert_ne!(again.key, ada.key);
    let new = seal(&restored, ada.pseudonym, b"new");
    assert_eq!(open(&restored, &new).unwrap(), b"new");
    assert_eq!(open(&restored, &from_ada).unwrap_err().code(), "key_destroyed");
    assert_eq!(restored.open_block(domain, id, &block).unwrap_err().code(), "key_destroyed");
}

/// As after a power cut between another process's rename of the keystore and the sync of its directory.
#[test]
fn keys_that_the_masters_copy_alone_knows_are_learned_when_they_are_needed() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    keyring.subject(&owner("ada")).unwrap();
    let before = files::read(&scratch.keystore()).unwrap();
    let bob = keyring.subject(&owner("bob")).unwrap();
    let sealed = seal(&keyring, bob.pseudonym, b"his");
    write_atomic(&scratch.keystore(), &before, 0o600).unwrap();
    let again = scratch.open().unwrap();
    assert_eq!(open(&again, &sealed).unwrap(), b"his");
    // The keystore has them again, and does not need the copy.
    files::remove(&scratch.root.join(format!("config/master.copies/{}", again.name()))).unwrap();
    assert_eq!(open(&scratch.open().unwrap(), &sealed).unwrap(), b"his");
    // An owner that neither knows is unknown.
    let nobody = samite_model::Pseudonym([9; 16]);
    assert_eq!(again.subject_of(nobody).unwrap_err().code(), "unknown_subject");
}

/// A master that counts how often it is asked for a secret, and can be out of reach when one is to be destroyed.
struct Unsteady {
    master: Arc<dyn Master>,
    asked: AtomicUsize,
    away: AtomicBool,
}

impl Unsteady {
    fn new(master: Arc<dyn Master>, away: bool) -> Arc<Self> {
        Arc::new(Self { master, asked: AtomicUsize::new(0), away: AtomicBool::new(away) })
    }
}

impl Master for Unsteady {
    fn secret(&self, keystore: &KeystoreName, epoch: u64) -> Result<Secret> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.master.secret(keystore, epoch)
    }

    fn create_epoch(&self, keystore: &KeystoreName) -> Result<u64> {
        self.master.create_epoch(keystore)
    }

    fn can_destroy(&self) -> Result<()> {
        Ok(())
    }

    fn destroy_epoch(&self, keystore: &KeystoreName, epoch: u64) -> Result<()> {
        if self.away.load(Ordering::SeqCst) {
            return Err(Error::unavailable("away", "the master does not answer"));
        }
        self.master.destroy_epoch(keystore, epoch)
    }

    fn store_copy(&self, keystore: &KeystoreName, wrapped: &[u8]) -> Result<()> {
        self.master.store_copy(keystore, wrapped)
    }

    fn load_copy(&self, keystore: &KeystoreName) -> Result<Option<Vec<u8>>> {
        self.master.load_copy(keystore)
    }

    fn describe(&self) -> String {
        self.master.describe()
    }
}

#[test]
fn an_erasure_that_the_master_could_not_finish_is_finished_later() {
    let scratch = Scratch::new();
    let master = Unsteady::new(scratch.master(), true);
    let keyring = scratch.open_with(master.clone(), random(), true).unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let bob = keyring.subject(&owner("bob")).unwrap();
    let (from_ada, from_bob) = (seal(&keyring, ada.pseudonym, b"hers"), seal(&keyring, bob.pseudonym, b"his"));
    let backup = files::read(&scratch.keystore()).unwrap();
    assert_eq!(keyring.destroy_subject(ada.pseudonym).unwrap_err().code(), "away");

    // Whoever opens it meanwhile can read, and is told.
    let meanwhile = scratch.open_with(master.clone(), random(), false).unwrap();
    assert_eq!(open(&meanwhile, &from_bob).unwrap(), b"his");
    assert_eq!(open(&meanwhile, &from_ada).unwrap_err().code(), "key_destroyed");
    assert!(meanwhile.take_notices()[0].contains("not finished"));
    assert_eq!(meanwhile.destroy_subject(ada.pseudonym).unwrap_err().code(), "away");

    master.away.store(false, Ordering::SeqCst);
    let after = scratch.open_with(master.clone(), random(), false).unwrap();
    assert_eq!(after.take_notices(), Vec::<String>::new());
    assert_eq!(master.secret(&after.name(), 1).unwrap_err().code(), "epoch_destroyed");
    write_atomic(&scratch.keystore(), &backup, 0o600).unwrap();
    let restored = scratch.open().unwrap();
    assert_eq!(open(&restored, &from_bob).unwrap(), b"his");
    assert_eq!(open(&restored, &from_ada).unwrap_err().code(), "key_destroyed");
}

#[test]
fn what_is_known_to_be_destroyed_is_not_looked_for_again() {
    let scratch = Scratch::new();
    let master = Unsteady::new(scratch.master(), false);
    let keyring = scratch.open_with(master.clone(), random(), true).unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let old = seal(&keyring, ada.pseudonym, b"old");
    keyring.destroy_subject(ada.pseudonym).unwrap();
    keyring.subject(&owner("ada")).unwrap();
    let asked = master.asked.load(Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(open(&keyring, &old).unwrap_err().code(), "key_destroyed");
    }
    assert_eq!(master.asked.load(Ordering::SeqCst), asked);
}

#[test]
fn a_damaged_or_lost_keystore_comes_back_from_the_copy() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let sealed = seal(&keyring, ada.pseudonym, b"words");
    let whole = files::read(&scratch.keystore()).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        damage(&scratch.keystore(), &flipped);
        assert_eq!(open(&scratch.open().unwrap(), &sealed).unwrap(), b"words", "byte {at}");
        assert_eq!(files::read(&scratch.keystore()).unwrap(), whole);
        assert_eq!(files::read(&scratch.keys().join("keystore.damaged")).unwrap(), flipped);
    }
    for length in (0..whole.len()).step_by(13) {
        damage(&scratch.keystore(), &whole[..length]);
        assert_eq!(open(&scratch.open().unwrap(), &sealed).unwrap(), b"words", "cut at {length}");
    }
    files::remove(&scratch.keystore()).unwrap();
    assert_eq!(open(&scratch.open().unwrap(), &sealed).unwrap(), b"words");
    // Without the lock's identity, the keystore's own is enough, and the other way round.
    damage(&scratch.keys().join("lock"), b"");
    damage(&scratch.keystore(), &whole[..whole.len() - 1]);
    assert_eq!(open(&scratch.open().unwrap(), &sealed).unwrap(), b"words");
}

#[test]
fn without_a_copy_a_damaged_keystore_is_corrupt() {
    let scratch = Scratch::new();
    let master = || Arc::new(EnvironmentMaster::new(&"7".repeat(64)).unwrap());
    scratch.open_with(master(), random(), true).unwrap();
    let mut bytes = files::read(&scratch.keystore()).unwrap();
    bytes[100] ^= 1;
    damage(&scratch.keystore(), &bytes);
    let error = scratch.open_with(master(), random(), true).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, "bad_keystore"));
    assert!(error.message().contains("keys/keystore"), "{error}");
    assert!(!error.hints().is_empty());
    // A lost one is not replaced by a new one: what it opened would be lost for good.
    files::remove(&scratch.keystore()).unwrap();
    assert_eq!(scratch.open_with(master(), random(), true).unwrap_err().code(), "no_keystore");
}

#[test]
fn no_keystore_is_made_unless_asked_for() {
    let scratch = Scratch::new();
    let error = scratch.open_with(scratch.master(), random(), false).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "no_keystore"));
    assert!(!files::exists(&scratch.keys()).unwrap());
}

#[test]
fn a_backup_opens_with_the_same_master() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let sealed = seal(&keyring, ada.pseudonym, b"words");
    let backup = Scratch::new();
    keyring.back_up(&backup.keys()).unwrap();
    let restored = backup.open_with(scratch.master(), random(), false).unwrap();
    assert_eq!(open(&restored, &sealed).unwrap(), b"words");
    assert_eq!(restored.name(), keyring.name());
}

#[test]
fn a_read_only_keystore_is_opened_and_says_that_it_cannot_change() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let sealed = seal(&keyring, ada.pseudonym, b"words");
    // The superuser may write whatever the modes say; a directory in the lock's place stops everyone.
    files::remove(&scratch.keys().join("lock")).unwrap();
    files::create_private_dir(&scratch.keys().join("lock")).unwrap();
    let reader = scratch.open().unwrap();
    assert_eq!(open(&reader, &sealed).unwrap(), b"words");
    let error = reader.subject(&owner("bob")).unwrap_err();
    assert!(error.message().contains("keys/lock"), "{error}");
}

#[test]
fn two_restored_stores_that_both_went_on_are_united_or_refused() {
    let (one, two) = (Scratch::new(), Scratch::new());
    let keyring = one.open().unwrap();
    keyring.subject(&owner("ada")).unwrap();
    keyring.back_up(&two.keys()).unwrap();
    let open_two = || two.open_with(one.master(), random(), false).unwrap();
    // Different owners: each learns the other's keys.
    let bob = keyring.subject(&owner("bob")).unwrap();
    let other = open_two();
    other.subject(&owner("eve")).unwrap();
    assert_eq!(other.subject(&owner("bob")).unwrap(), bob);
    // One owner, made twice: refused, and nothing is lost.
    let before = files::read(&two.keystore()).unwrap();
    other.back_up(&one.keys()).unwrap();
    let (keyring, other) = (one.open().unwrap(), open_two());
    let from_one = keyring.subject(&owner("zoe")).unwrap();
    write_atomic(&two.keystore(), &before, 0o600).unwrap();
    let path = one.root.join(format!("config/master.copies/{}", keyring.name()));
    let copy = files::read(&path).unwrap();
    write_atomic(&path, &before, 0o600).unwrap();
    assert_ne!(other.subject(&owner("zoe")).unwrap(), from_one);
    let error = keyring.subject(&owner("max")).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "keystores_diverged"));
    write_atomic(&path, &copy, 0o600).unwrap();
    keyring.subject(&owner("max")).unwrap();
}

/// Writes as damage does: not atomically, not synced.
fn damage(path: &Path, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).truncate(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).unwrap();
}
