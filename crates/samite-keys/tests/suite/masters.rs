//! Each master does what it promises, and no more.

use crate::common::{Scratch, open, owner, random, seal};
use samite_host::files::{self, write_atomic};
use samite_keys::{CommandMaster, EnvironmentMaster, FileMaster, Keyring, KeystoreName, Master};
use samite_model::{ErrorKind, Tenant};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

#[test]
fn a_file_master_is_private() {
    let scratch = Scratch::new();
    scratch.open().unwrap();
    let config = scratch.root.join("config");
    assert_eq!(files::mode(&config).unwrap(), 0o700);
    assert_eq!(files::mode(&config.join("master.key")).unwrap(), 0o600);
    assert_eq!(files::mode(&config.join("master.copies")).unwrap(), 0o700);
    assert_eq!(files::mode(&scratch.keys()).unwrap(), 0o700);
    assert_eq!(files::mode(&scratch.keystore()).unwrap(), 0o600);
    assert!(scratch.master().describe().ends_with("config/master.key"));

    std::fs::set_permissions(config.join("master.key"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = scratch.open().unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "master_exposed"));
}

#[test]
fn another_master_does_not_open_it() {
    let scratch = Scratch::new();
    scratch.open().unwrap();
    let other = Arc::new(FileMaster::new(scratch.root.join("other/master.key"), random()));
    let error = scratch.open_with(other, random(), true).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "wrong_master"));
    assert!(error.hints()[0].contains("master key"), "{:?}", error.hints());
}

#[test]
fn a_damaged_master_file_is_corrupt() {
    let scratch = Scratch::new();
    scratch.open().unwrap();
    let path = scratch.root.join("config/master.key");
    let mut bytes = files::read(&path).unwrap();
    bytes[60] ^= 1;
    write_atomic(&path, &bytes, 0o600).unwrap();
    let error = scratch.open().unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, "bad_master"));
    assert!(error.message().contains("master.key"));
}

#[test]
fn an_exported_key_opens_the_store_elsewhere() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let sealed = seal(&keyring, ada.pseudonym, b"words");
    let exported = scratch.master().export("four random words").unwrap();

    let other = FileMaster::new(scratch.root.join("other/master.key"), random());
    assert_eq!(other.import(&exported, "three random words").unwrap_err().code(), "wrong_passphrase");
    assert_eq!(other.import(&exported, "four random words").unwrap(), 1);
    assert_eq!(other.import(&exported, "four random words").unwrap(), 0);
    let elsewhere = scratch.open_with(Arc::new(other), random(), false).unwrap();
    assert_eq!(open(&elsewhere, &sealed).unwrap(), b"words");
}

#[test]
fn an_older_export_does_not_bring_back_what_was_destroyed() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let exported = scratch.master().export("four random words").unwrap();
    keyring.destroy_subject(ada.pseudonym).unwrap();
    let master = FileMaster::new(scratch.root.join("config/master.key"), random());
    assert_eq!(master.import(&exported, "four random words").unwrap(), 0);
    assert_eq!(master.secret(&keyring.name(), 1).unwrap_err().code(), "epoch_destroyed");
}

#[test]
fn a_master_in_the_environment_opens_and_cannot_destroy() {
    let scratch = Scratch::new();
    let master = |digit: &str| -> Arc<dyn Master> { Arc::new(EnvironmentMaster::new(&digit.repeat(64)).unwrap()) };
    let keyring = scratch.open_with(master("7"), random(), true).unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let sealed = seal(&keyring, ada.pseudonym, b"words");
    let before = files::read(&scratch.keystore()).unwrap();
    let error = keyring.destroy_subject(ada.pseudonym).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "cannot_destroy"));
    assert_eq!(files::read(&scratch.keystore()).unwrap(), before);

    let again = scratch.open_with(master("7"), random(), false).unwrap();
    assert_eq!(open(&again, &sealed).unwrap(), b"words");
    let error = scratch.open_with(master("8"), random(), false).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "wrong_master"));
}

/// A key management service of a few lines: secrets in files, through standard input and output alone.
const SERVICE: &str = r#"#!/bin/sh
set -eu
cd "$(dirname "$0")"
verb=$1 name=$2-$3 epoch=${4:-}
case $verb in
  get) [ -e "$name.$epoch" ] || exit 3; cat "$name.$epoch" ;;
  create) last=$(cat "$name.last" 2>/dev/null || echo 0); next=$((last + 1))
    head -c 32 /dev/urandom | base64 -w0 > "$name.$next"; echo $next > "$name.last"; echo $next ;;
  destroy) [ -e refuse ] && exit 6; rm -f "$name.$epoch" ;;
  put-copy) cat > "$name.copy" ;;
  get-copy) [ -e "$name.copy" ] || exit 3; cat "$name.copy" ;;
  put-note) cat > "$name.$4.note" ;;
  get-note) [ -e "$name.$4.note" ] || exit 3; cat "$name.$4.note" ;;
esac
"#;

#[test]
fn a_command_can_be_the_master() {
    let scratch = Scratch::new();
    let service = scratch.root.join("service");
    write_atomic(&service, SERVICE.as_bytes(), 0o700).unwrap();
    let master = || -> Arc<dyn Master> {
        Arc::new(CommandMaster::new("sh", vec![scratch.root.join("service").into_os_string()]))
    };
    let keyring = scratch.open_with(master(), random(), true).unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let bob = keyring.subject(&owner("bob")).unwrap();
    let (from_ada, from_bob) = (seal(&keyring, ada.pseudonym, b"hers"), seal(&keyring, bob.pseudonym, b"his"));
    let backup = files::read(&scratch.keystore()).unwrap();

    write_atomic(&scratch.root.join("refuse"), b"", 0o600).unwrap();
    let refused = keyring.destroy_subject(ada.pseudonym).unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Denied, "cannot_destroy"));
    files::remove(&scratch.root.join("refuse")).unwrap();
    keyring.destroy_subject(ada.pseudonym).unwrap();

    write_atomic(&scratch.keystore(), &backup, 0o600).unwrap();
    let restored = scratch.open_with(master(), random(), false).unwrap();
    assert_eq!(open(&restored, &from_bob).unwrap(), b"his");
    assert_eq!(open(&restored, &from_ada).unwrap_err().code(), "key_destroyed");

    notes_are_kept(&*master(), &keyring.name());

    let broken = CommandMaster::new("false", Vec::new());
    let name = KeystoreName { tenant: Tenant::new("local").unwrap(), id: [0; 16] };
    assert_eq!(broken.secret(&name, 1).unwrap_err().code(), "master_failed");
    let silent = CommandMaster::new("true", Vec::new());
    assert_eq!(silent.create_epoch(&name).unwrap_err().code(), "master_failed");
    assert_eq!(silent.secret(&name, 1).unwrap_err().code(), "master_failed");
}

fn notes_are_kept(master: &dyn Master, name: &KeystoreName) {
    assert_eq!(master.load_note(name, "head").unwrap(), None);
    assert!(master.store_note(name, "head", b"first").unwrap());
    assert!(master.store_note(name, "head", b"second").unwrap());
    assert!(master.store_note(name, "erased", b"other").unwrap());
    assert_eq!(master.load_note(name, "head").unwrap().as_deref(), Some(&b"second"[..]));
    let other = KeystoreName { id: [9; 16], ..name.clone() };
    assert_eq!(master.load_note(&other, "head").unwrap(), None);
    // A note is swapped for what was read, and for nothing else.
    assert_eq!(master.swap_note(name, "head", Some(b"first"), b"third").unwrap(), None);
    assert_eq!(master.swap_note(name, "head", None, b"third").unwrap(), None);
    assert_eq!(master.load_note(name, "head").unwrap().as_deref(), Some(&b"second"[..]));
    assert_eq!(master.swap_note(name, "head", Some(b"second"), b"third").unwrap(), Some(true));
    assert_eq!(master.swap_note(&other, "head", None, b"new").unwrap(), Some(true));
    assert_eq!(master.load_note(name, "head").unwrap().as_deref(), Some(&b"third"[..]));
}

#[test]
fn a_master_keeps_notes_where_it_has_room_for_them() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    notes_are_kept(&*scratch.master(), &keyring.name());
    let environment = EnvironmentMaster::new(&"7".repeat(64)).unwrap();
    assert!(!environment.store_note(&keyring.name(), "head", b"first").unwrap());
    assert_eq!(environment.load_note(&keyring.name(), "head").unwrap(), None);
}

#[test]
fn the_key_of_the_audit_log_is_made_once_and_outlives_erasures() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    assert_eq!(keyring.audit_key().unwrap_err().code(), "no_audit_key");
    keyring.ensure_audit_key().unwrap();
    let public = keyring.audit_key().unwrap().public();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let (person, bob) = (keyring.audit_person(ada).unwrap(), keyring.subject(&owner("bob")).unwrap());
    assert_eq!(keyring.audit_person(ada).unwrap(), person);
    assert_ne!(keyring.audit_person(bob).unwrap(), person);
    keyring.destroy_subject(ada.pseudonym).unwrap();
    let again = scratch.open().unwrap();
    again.ensure_audit_key().unwrap();
    let key = again.audit_key().unwrap();
    assert_eq!(key.public(), public);
    let verifier = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, public);
    verifier.verify(b"message", &key.sign(b"message")).unwrap();
    assert!(verifier.verify(b"other", &key.sign(b"message")).is_err());
    assert_eq!(again.audit_person(ada).unwrap_err().code(), "key_destroyed");
}

fn keep(keyring: &Keyring, name: &str, text: &[u8]) -> bool {
    keyring.change_note(name, &mut |_| Ok(Some(text.to_vec()))).unwrap()
}

/// Two copies of a store with one master: what one notes while the other is about to is not lost.
#[test]
fn a_note_that_was_changed_meanwhile_is_changed_again() {
    let scratch = Scratch::new();
    let (keyring, copy) = (scratch.open().unwrap(), scratch.open().unwrap());
    let add = |kept: Option<Vec<u8>>, word: &str| -> samite_model::Result<Option<Vec<u8>>> {
        let mut text = kept.unwrap_or_default();
        text.extend_from_slice(word.as_bytes());
        Ok(Some(text))
    };
    let mut asked = 0;
    let changed = keyring.change_note("erasures", &mut |kept| {
        asked += 1;
        if asked == 1 {
            assert!(copy.change_note("erasures", &mut |kept| add(kept, "theirs ")).unwrap());
        }
        add(kept, "ours ")
    });
    assert!(changed.unwrap());
    assert_eq!(asked, 2);
    assert_eq!(keyring.note("erasures").unwrap().as_deref(), Some(&b"theirs ours "[..]));
    // What is to stay as it is, stays, and somebody who is always quicker is told.
    assert!(keyring.change_note("erasures", &mut |_| Ok(None)).unwrap());
    assert_eq!(copy.note("erasures").unwrap().as_deref(), Some(&b"theirs ours "[..]));
    let contended = keyring.change_note("erasures", &mut |kept| {
        assert!(keep(&copy, "erasures", b"again"));
        add(kept, "never")
    });
    assert_eq!(contended.unwrap_err().code(), "note_contended");
    assert_eq!(keyring.note("erasures").unwrap().as_deref(), Some(&b"again"[..]));
}

#[test]
fn a_note_is_sealed_and_is_that_of_its_store_and_name() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    assert_eq!(keyring.note("erasures").unwrap(), None);
    assert!(keep(&keyring, "erasures", b"the words of a note"));
    assert_eq!(keyring.note("erasures").unwrap().as_deref(), Some(&b"the words of a note"[..]));
    let stored = scratch.master().load_note(&keyring.name(), "erasures").unwrap().unwrap();
    assert!(!stored.windows(5).any(|window| window == b"words"));
    // Neither another name's nor a changed one is taken for it.
    scratch.master().store_note(&keyring.name(), "other", &stored).unwrap();
    assert_eq!(keyring.note("other").unwrap_err().code(), "bad_kept_note");
    let mut changed = stored.clone();
    *changed.last_mut().unwrap() ^= 1;
    scratch.master().store_note(&keyring.name(), "erasures", &changed).unwrap();
    assert_eq!(keyring.note("erasures").unwrap_err().code(), "bad_kept_note");
    let environment = Arc::new(EnvironmentMaster::new(&"7".repeat(64)).unwrap());
    let other = Scratch::new();
    let keyring = other.open_with(environment, random(), true).unwrap();
    assert!(!keep(&keyring, "erasures", b"no room"));
}

#[test]
fn only_the_keys_that_are_named_are_destroyed_and_those_of_who_came_back_stay() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    assert_eq!(keyring.owner_pseudonym(&owner("ada")), ada.pseudonym);
    let old = keyring.keys_of(ada.pseudonym).unwrap();
    assert_eq!((old.len(), keyring.epoch().unwrap()), (5, 1));
    keyring.destroy_keys_of(ada.pseudonym, &old).unwrap();
    assert_eq!((keyring.keys_of(ada.pseudonym).unwrap().len(), keyring.epoch().unwrap()), (0, 2));
    let destroyed = keyring.destroyed_keys().unwrap();
    assert!(old.iter().all(|key| destroyed.contains(key)));
    let back = keyring.subject(&owner("ada")).unwrap();
    assert!(back.pseudonym == ada.pseudonym && back.key != ada.key);
    // The erasure that is finished again takes nothing of it.
    keyring.destroy_keys_of(ada.pseudonym, &old).unwrap();
    assert_eq!((keyring.keys_of(ada.pseudonym).unwrap().len(), keyring.epoch().unwrap()), (5, 2));
    assert_eq!(keyring.destroy_keys_of(keyring.tenant_pseudonym(), &old).unwrap_err().code(), "tenant_keys");
}
