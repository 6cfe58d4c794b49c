//! The keystore and its master: keys live as long as they should, and not longer.

use crate::cuts::{After, replay};
use crate::planned::{KEYS, KEYS_KILLED};
use crate::recording::{Recording, Worker};
use samite_host::SystemRandomness;
use samite_keys::{Domain, FileMaster, Keyring, KeyringOptions};
use samite_model::{BlockId, Owner, Pseudonym, Tenant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::Arc;

/// Beside the recorded file system: the last destruction that was begun.
const UNDER_WAY: &str = "under-way";
const KIND: u8 = 1;

/// Something that was acknowledged.
#[derive(Debug, Serialize, Deserialize)]
enum Act {
    /// Bytes were sealed for an owner, and may be relied on.
    Sealed { owner: String, subject: Pseudonym, id: BlockId, bytes: Vec<u8> },
    /// The keystore as it was, in a backup.
    BackedUp { keystore: Vec<u8> },
    /// An owner's keys are about to be destroyed.
    Destroying { owner: String },
    /// They are.
    Destroyed { owner: String },
}

fn open(disk: &Path) -> Keyring {
    let random = Arc::new(SystemRandomness::new());
    Keyring::open(KeyringOptions {
        directory: disk.join("data/keys"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(disk.join("config/master.key"), random.clone())),
        random,
        create: true,
    })
    .unwrap()
}

fn text(owner: &str) -> Vec<u8> {
    format!("what {owner} said").into_bytes()
}

/// Asks again for the destruction that an earlier process may not have ended: what is answered then must hold, however
/// much of it that process had done.
fn finish(worker: &Worker, keys: &Keyring) {
    if let Ok(bytes) = std::fs::read(worker.beside.join(UNDER_WAY)) {
        let (owner, subject): (String, Pseudonym) = serde_json::from_slice(&bytes).unwrap();
        keys.destroy_subject(subject).unwrap();
        worker.acknowledge(&Act::Destroyed { owner });
    }
}

/// A process: owners come and go.
#[test]
fn child() {
    let Some(worker) = Worker::this() else { return };
    let keys = open(&worker.mount);
    finish(&worker, &keys);
    for number in 1..=8 {
        // The first are those of every process, which uses their keys as it finds them.
        let name = if number < 3 { format!("common-{number}") } else { format!("{}-{number}", worker.number) };
        let subject = keys.subject(&Owner::new(name.as_str()).unwrap()).unwrap().pseudonym;
        let domain = Domain::Owner(subject);
        let id = keys.block_id(domain, KIND, &text(&name)).unwrap();
        let bytes = keys.seal_block(domain, id, KIND, &text(&name)).unwrap();
        worker.acknowledge(&Act::Sealed { owner: name.clone(), subject, id, bytes });
        if number % 3 == 0 {
            let keystore = std::fs::read(worker.mount.join("data/keys/keystore")).unwrap();
            worker.acknowledge(&Act::BackedUp { keystore });
            worker.acknowledge(&Act::Destroying { owner: name.clone() });
            std::fs::write(worker.beside.join(UNDER_WAY), serde_json::to_vec(&(&name, subject)).unwrap()).unwrap();
            keys.destroy_subject(subject).unwrap();
            worker.acknowledge(&Act::Destroyed { owner: name });
        }
    }
}

fn check(after: &After<'_, Act>) {
    let mut destroyed: BTreeMap<&str, bool> = BTreeMap::new();
    let mut backups = Vec::new();
    for act in after.acts {
        match act {
            Act::Destroying { owner } => drop(destroyed.entry(owner).or_insert(false)),
            Act::Destroyed { owner } => drop(destroyed.insert(owner, true)),
            Act::BackedUp { keystore } => backups.push(keystore),
            Act::Sealed { .. } => {}
        }
    }
    are_as_they_should(after, &destroyed);
    // Whoever puts an old keystore back finds nothing of what was destroyed since, and everything else.
    if let Some(oldest) = backups.first() {
        std::fs::write(after.directory.join("data/keys/keystore"), oldest).unwrap();
        are_as_they_should(after, &destroyed);
    }
    let keys = open(after.directory);
    let subject = keys.subject(&Owner::new("after").unwrap()).unwrap().pseudonym;
    assert!(keys.block_id(Domain::Owner(subject), KIND, b"x").is_ok());
}

fn are_as_they_should(after: &After<'_, Act>, destroyed: &BTreeMap<&str, bool>) {
    let keys = open(after.directory);
    for act in after.acts {
        let Act::Sealed { owner, subject, id, bytes } = act else { continue };
        let opened = keys.open_typed_block(Domain::Owner(*subject), *id, bytes);
        match (destroyed.get(owner.as_str()), opened) {
            (Some(true), Ok(_)) => panic!("the keys of {owner} were destroyed and open"),
            // Under way: either.
            (Some(_), Err(error)) => assert_eq!(error.code(), "key_destroyed", "{owner}: {error}"),
            (Some(false) | None, Ok((_, plaintext))) => assert_eq!(plaintext, text(owner)),
            (None, Err(error)) => panic!("the keys of {owner} are lost: {error}"),
        }
    }
}

#[test]
fn keys_are_neither_lost_nor_back_after_a_power_cut() {
    let recording = Recording::make(|workload| {
        for number in 0..2 {
            assert!(workload.start("keys::child", number, None).wait().unwrap().success());
        }
    });
    let Some(recording) = recording else { return };
    replay(recording, &KEYS, check);
}

/// What one process saw done and had not synced when it was killed, the next must not take for durable.
#[test]
fn keys_whose_processes_were_killed_are_neither_lost_nor_back_after_a_power_cut() {
    let points = (1..=22).map(|number| format!("files.atomic.renamed:{number}"));
    let others = ["keys.epoch_created:2", "keys.copied:4", "keys.written:4", "keys.master.before_destroy:1"];
    let points: Vec<String> = points.chain(others.map(str::to_owned)).collect();
    let recording = Recording::make(|workload| {
        for (point, number) in points.iter().zip(10..) {
            let killed = workload.start("keys::child", number, Some(point)).wait().unwrap();
            assert_eq!(killed.signal(), Some(9), "{point} was never reached");
        }
    });
    let Some(recording) = recording else { return };
    replay(recording, &KEYS_KILLED, check);
}
