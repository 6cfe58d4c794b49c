//! `samite audit`: what outsiders can verify, and what happens to a store that is put back from a backup.

use crate::support::{Place, Witness, hints, text};
use samite_audit::VerifierKey;
use samite_audit::note::KeyKind;
use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) fn key(place: &Place) -> String {
    place.run(&["audit", "key"]).ok().trim().to_owned()
}

pub(crate) fn acts(place: &Place) -> Vec<String> {
    let acts: Value = serde_json::from_str(&place.json(&["audit", "log", "--all"]).ok()).unwrap();
    acts["acts"].as_array().unwrap().iter().map(|act| text(act, "/act")).collect()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn who_did_what_is_shown_and_ordinary_appends_are_not() {
    let place = Place::new();
    let session = place.session();
    place.say(&session, "hello");
    place.say(&session, "again");
    // The first that is left in a minute is anchored, with all that is idle then.
    assert_eq!(acts(&place), ["principal_seen", "session_created", "anchored"]);
    place.run(&["fork", &session]).ok();
    assert_eq!(acts(&place).last().unwrap(), "branch_forked");
    let shown: Value = serde_json::from_str(&place.json(&["audit", "show", "1"]).ok()).unwrap();
    assert_eq!((text(&shown, "/user"), text(&shown, "/session")), ("user:local".to_owned(), session));
    place.json(&["audit", "show", "9"]).error(3);
}

#[test]
fn a_folder_is_verified_without_the_store_and_what_is_changed_in_it_is_found() {
    let place = Place::new();
    place.session();
    let key = key(&place);
    place.run(&["audit", "export", "out"]).ok();
    let session = place.session();
    place.say(&session, "later");
    place.run(&["audit", "export", "out"]).ok();
    fs::remove_dir_all(place.store()).unwrap();
    let verify = ["audit", "verify", "--folder", "out", "--key", &key];
    let verified: Value = serde_json::from_str(&place.json(&verify).ok()).unwrap();
    // principal, session, anchors, published, session, anchors.
    assert_eq!((verified["size"].as_u64(), &verified["ok"]), (Some(6), &Value::Bool(true)));
    let bundle = place.path().join("out/tile/entries/000.p/6");
    let mut bytes = fs::read(&bundle).unwrap();
    bytes[40] ^= 1;
    fs::write(&bundle, bytes).unwrap();
    assert_eq!(place.run(&verify).status, 8);
}

#[test]
fn a_receipt_proves_an_act_offline_and_nothing_else() {
    let place = Place::new();
    let session = place.session();
    let key = key(&place);
    place.run(&["audit", "prove", "1", "--reveal", "--to", "receipt"]).ok();
    place.say(&session, "anchored as its branch was left");
    let seq = place.say(&session, "covered by an anchor");
    place.json(&["audit", "prove", &format!("{session}@{seq}")]).error(3);
    place.run(&["audit", "anchor"]).ok();
    place.run(&["audit", "prove", &format!("{session}@{seq}"), "--to", "anchored"]).ok();
    assert_eq!(place.run(&["audit", "prove", "1", "--to", "receipt"]).status, 4);
    fs::remove_dir_all(place.store()).unwrap();
    let verify = |file: &str, key: &str| place.json(&["audit", "verify-proof", file, "--key", key]);
    let verified: Value = serde_json::from_str(&verify("receipt", &key).ok()).unwrap();
    assert_eq!((text(&verified, "/act"), text(&verified, "/payload/session")), ("session_created".into(), session));
    let anchored: Value = serde_json::from_str(&verify("anchored", &key).ok()).unwrap();
    assert_eq!((text(&anchored, "/act"), anchored["payload"].is_null()), ("anchored".to_owned(), true));
    let receipt = fs::read_to_string(place.path().join("receipt")).unwrap();
    let other = VerifierKey::new(key.split('+').next().unwrap(), KeyKind::Ed25519, [9; 32]).unwrap().to_string();
    verify("receipt", &other).error(8);
    fs::write(place.path().join("moved"), receipt.replacen("index 1\n", "index 0\n", 1)).unwrap();
    verify("moved", &key).error(8);
    let witness = VerifierKey::new("witness.example", KeyKind::Cosignature, [9; 32]).unwrap().to_string();
    place.json(&["audit", "verify-proof", "receipt", "--key", &key, "--witness", &witness]).error(8);
}

#[test]
fn a_witness_cosigns_what_continues_and_its_signature_is_in_receipts() {
    let place = Place::new();
    let session = place.session();
    let key = key(&place);
    let witness = Witness::start();
    let ask = ["audit", "witness", &witness.url, "--key", &witness.key];
    let first: Value = serde_json::from_str(&place.json(&ask).ok()).unwrap();
    place.say(&session, "more");
    let second: Value = serde_json::from_str(&place.json(&ask).ok()).unwrap();
    assert!(second["size"].as_u64() > first["size"].as_u64());
    place.run(&["audit", "prove", "1", "--to", "receipt"]).ok();
    let verify = ["audit", "verify-proof", "receipt", "--key", &key, "--witness", &witness.key];
    let verified: Value = serde_json::from_str(&place.json(&verify).ok()).unwrap();
    assert_eq!(text(&verified, "/cosigned_by/0"), "witness.example");
    // One that nobody listens at is told before anything is anchored or published.
    place.say(&session, "and more");
    let log = || place.json(&["audit", "log", "--all"]).json()["acts"].as_array().unwrap().len();
    let before = log();
    let gone = ["audit", "witness", "http://127.0.0.1:9", "--key", &witness.key];
    let error = place.json(&gone).error(7);
    assert_eq!(text(&error, "/code"), "no_witness");
    assert!(hints(&error).contains("nothing was anchored or published"), "{error}");
    assert_eq!(log(), before);
}

#[test]
fn a_folder_that_is_not_there_is_no_finding() {
    let place = Place::new();
    place.session();
    let key = key(&place);
    for missing in ["nowhere", "not/there/either"] {
        let error = place.json(&["audit", "verify", "--folder", missing, "--key", &key]).error(3);
        assert_eq!(text(&error, "/code"), "no_file", "{error}");
    }
    // One that is there and holds no log is one.
    fs::create_dir(place.path().join("empty")).unwrap();
    let found = place.json(&["audit", "verify", "--folder", "empty", "--key", &key]);
    assert_eq!(found.status, 8, "{found:?}");
    let found: Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(text(&found, "/findings/0/code"), "damaged_folder");
}

#[test]
fn a_store_that_is_put_back_begins_another_log_that_names_what_was_published() {
    let place = Place::new();
    let session = place.session();
    let first = key(&place);
    copy(&place.store(), &place.path().join("older"));
    place.say(&session, "after the copy");
    place.run(&["audit", "export", "out"]).ok();
    assert!(place.run(&["audit", "verify"]).ok().contains("verified"));
    fs::rename(place.store(), place.path().join("newer")).unwrap();
    copy(&place.path().join("older"), &place.store());
    // Before anything is done in it, the older copy says what it lacks, and gives no head of that log away.
    assert_eq!(place.run(&["audit", "verify"]).status, 8);
    assert_eq!(text(&place.json(&["audit", "prove", "1"]).error(4), "/code"), "published_ahead");
    place.run(&["fork", &session]).ok();
    let second = key(&place);
    assert!(first.contains("/1+") && second.contains("/2+"), "{first} {second}");
    let acts: Value = serde_json::from_str(&place.json(&["audit", "log", "--all"]).ok()).unwrap();
    let leaf: Value = serde_json::from_str(&place.json(&["audit", "show", "0"]).ok()).unwrap();
    let old = first.split('+').next().unwrap();
    assert_eq!(text(&leaf, "/leaf/previous/origin"), old, "{acts}");
    place.run(&["audit", "export", "again"]).ok();
    let verify = ["audit", "verify", "--folder", "again", "--key", &second];
    assert!(place.run(&verify).ok().contains("verified"));
    // The folder of the first log is not gone on with.
    place.json(&["audit", "export", "out"]).error(4);
}

#[test]
fn a_deletion_is_proven_offline_and_the_log_still_verifies() {
    let place = Place::new();
    let session = place.session();
    let seq = place.say(&session, "to be gone");
    place.run(&["audit", "anchor"]).ok();
    let key = key(&place);
    place.run(&["audit", "prove", &format!("{session}@{seq}"), "--to", "before"]).ok();
    let exported: Value =
        serde_json::from_str(&place.json(&["subject", "export", "--user", "local", "--to", "mine"]).ok()).unwrap();
    assert!(exported["receipts"].as_u64() == exported["journals"].as_u64(), "{exported}");
    let own = fs::read_to_string(place.path().join("mine/audit-key")).unwrap();
    assert_eq!(own.trim(), key);
    for proof in fs::read_dir(place.path().join("mine/proofs")).unwrap() {
        let path = proof.unwrap().path();
        place.run(&["audit", "verify-proof", path.to_str().unwrap(), "--key", &key]).ok();
    }
    let erase = ["erase", "--session", &session, "--reason", "asked", "--yes"];
    let erased: Value = serde_json::from_str(&place.json(&erase).ok()).unwrap();
    let id = text(&erased, "/erased/id");
    place.run(&["erase", "prove", &id, "--to", "erased.tlog-proof"]).ok();
    assert!(place.run(&["audit", "verify"]).ok().contains("verified"));
    fs::remove_dir_all(place.store()).unwrap();
    let verify = |file: &str| -> Value {
        serde_json::from_str(&place.json(&["audit", "verify-proof", file, "--key", &key]).ok()).unwrap()
    };
    let proof = verify("erased.tlog-proof");
    assert_eq!((text(&proof, "/act"), text(&proof, "/payload/erasure")), ("erased".to_owned(), id));
    // What was proven before the erasure still is.
    assert_eq!(text(&verify("before"), "/act"), "anchored");
}
