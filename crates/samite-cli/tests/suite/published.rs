//! Heads of the audit log that leave the store: none ever contradicts another, in whatever way and from whatever copy it left.

use crate::audit::{acts, copy, key};
use crate::support::{Place, Witness, text};
use samite_audit::{Note, Proof, TreeHead};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

fn head(place: &Place, receipt: &str) -> TreeHead {
    let proof = Proof::parse(&fs::read(place.path().join(receipt)).unwrap()).unwrap();
    TreeHead::parse(proof.signed.text()).unwrap()
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.json(arguments).ok()).unwrap()
}

fn refused(place: &Place, arguments: &[&str]) -> String {
    text(&place.json(arguments).error(4), "/code")
}

/// Keeps the store as it is now under a name.
fn keep(place: &Place, name: &str) {
    copy(&place.store(), &place.path().join(name));
}

/// Puts a kept store back.
fn put_back(place: &Place, name: &str) {
    fs::remove_dir_all(place.store()).unwrap();
    copy(&place.path().join(name), &place.store());
}

/// The size that the note beside the master key has of the newest log.
fn noted(place: &Place) -> u64 {
    let notes: Vec<_> = walk(place.path()).into_iter().filter(|path| path.ends_with(".audit-head")).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    let note: Value = serde_json::from_slice(&fs::read(&notes[0]).unwrap()).unwrap();
    note["heads"].as_array().unwrap().last().unwrap()["size"].as_u64().unwrap()
}

fn walk(directory: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn receipts_of_two_copies_have_heads_of_two_logs() {
    let place = Place::new();
    let session = place.session();
    keep(&place, "older");
    place.run(&["fork", &session]).ok();
    place.run(&["audit", "prove", "1", "--to", "first"]).ok();
    assert_eq!(noted(&place), head(&place, "first").size);
    put_back(&place, "older");
    place.session();
    place.run(&["audit", "prove", "0", "--to", "second"]).ok();
    let (first, second) = (head(&place, "first"), head(&place, "second"));
    assert!(first.origin.ends_with("/1") && second.origin.ends_with("/2"), "{first:?} {second:?}");
    // The old log's receipts and proofs are not given away from here.
    assert_eq!(refused(&place, &["audit", "prove", "1", "--log", "1"]), "published_ahead");
    assert_eq!(refused(&place, &["audit", "consistency", "1", "--log", "1"]), "published_ahead");
    assert_eq!(refused(&place, &["audit", "export", "old", "--log", "1"]), "published_ahead");
    assert!(place.run(&["audit", "verify"]).ok().contains("verified"));
}

#[test]
fn an_older_log_that_has_what_was_published_of_it_is_given_to_auditors() {
    let place = Place::new();
    let session = place.session();
    keep(&place, "older");
    place.run(&["fork", &session]).ok();
    place.run(&["audit", "export", "first"]).ok();
    keep(&place, "whole");
    let first = key(&place);
    put_back(&place, "older");
    place.run(&["audit", "export", "second"]).ok();
    // The store that has all of the first log comes back: the second one is not its own, and it begins a third.
    put_back(&place, "whole");
    assert_eq!(refused(&place, &["audit", "prove", "1"]), "published_ahead");
    place.run(&["audit", "anchor"]).ok();
    assert!(key(&place).contains("/3+"), "{}", key(&place));
    place.run(&["audit", "export", "first", "--log", "1"]).ok();
    place.run(&["audit", "verify", "--folder", "first", "--key", &first]).ok();
    place.run(&["audit", "prove", "1", "--log", "1", "--to", "receipt"]).ok();
    place.run(&["audit", "verify-proof", "receipt", "--key", &first]).ok();
}

#[test]
fn a_store_that_was_put_back_proves_all_of_before_in_its_new_log() {
    let place = Place::new();
    let session = place.session();
    let seq = place.say(&session, "from before");
    place.say(&session, "after it");
    place.run(&["audit", "anchor"]).ok();
    keep(&place, "older");
    place.run(&["fork", &session]).ok();
    place.run(&["audit", "export", "out"]).ok();
    put_back(&place, "older");
    place.session();
    let at = format!("{session}@{seq}");
    assert_eq!(refused(&place, &["audit", "prove", &at]), "published_ahead");
    place.run(&["audit", "anchor"]).ok();
    // Once they are all there, none is put there again.
    assert!(place.run(&["audit", "anchor"]).ok().contains("already"));
    let proven = json(&place, &["audit", "prove", &at, "--reveal", "--to", "receipt"]);
    assert_eq!((proven["log"].as_u64(), text(&proven, "/kind")), (Some(2), "message".to_owned()));
    let exported = json(&place, &["subject", "export", "--user", "local", "--to", "mine"]);
    assert_eq!(exported["receipts"], exported["journals"]);
    let own = key(&place);
    fs::remove_dir_all(place.store()).unwrap();
    let verified = json(&place, &["audit", "verify-proof", "receipt", "--key", &own]);
    assert_eq!(verified["entry"]["seq"].as_u64(), Some(seq));
    assert_eq!((text(&verified, "/act"), text(&verified, "/entry/kind")), ("anchored".into(), "message".into()));
    assert_eq!(verified["payload"], "from before", "the words, without the frame that they are stored in");
    let told = place.run(&["audit", "verify-proof", "receipt", "--key", &own]).ok();
    assert!(told.lines().any(|line| line == "\"from before\""), "{told}");
    for proof in fs::read_dir(place.path().join("mine/proofs")).unwrap() {
        let path = proof.unwrap().path();
        place.run(&["audit", "verify-proof", path.to_str().unwrap(), "--key", &own]).ok();
    }
}

#[test]
fn what_is_shown_of_a_covered_entry_must_be_that_entry() {
    let place = Place::new();
    let session = place.session();
    let seq = place.say(&session, "the words");
    place.say(&session, "other words");
    place.run(&["audit", "anchor"]).ok();
    place.run(&["audit", "prove", &format!("{session}@{seq}"), "--reveal", "--to", "receipt"]).ok();
    let own = key(&place);
    let bytes = fs::read(place.path().join("receipt")).unwrap();
    let proof = Proof::parse(&bytes).unwrap();
    let receipt: Value = serde_json::from_slice(proof.extra.as_deref().unwrap()).unwrap();
    let tampering: [fn(&mut Value); 4] = [
        |receipt| receipt["covered"]["before"] = Value::String("00".repeat(32)),
        |receipt| receipt["covered"]["seq"] = Value::from(2),
        |receipt| drop(receipt["covered"]["headers"].as_array_mut().unwrap().pop()),
        |receipt| receipt["payload"] = Value::String("e30=".to_owned()),
    ];
    for tamper in tampering {
        let mut receipt = receipt.clone();
        tamper(&mut receipt);
        let changed = Proof { extra: None, ..proof.clone() }.with_extra(receipt.to_string().into_bytes()).unwrap();
        fs::write(place.path().join("changed"), changed.to_string()).unwrap();
        place.json(&["audit", "verify-proof", "changed", "--key", &own]).error(8);
    }
    place.run(&["audit", "verify-proof", "receipt", "--key", &own]).ok();
}

#[test]
fn a_deletion_is_proven_by_its_own_act_after_the_store_was_put_back() {
    let place = Place::new();
    let session = place.session();
    place.say(&session, "to be gone");
    let erased = json(&place, &["erase", "--session", &session, "--reason", "asked", "--yes"]);
    let id = text(&erased, "/erased/id");
    keep(&place, "older");
    place.session();
    place.run(&["audit", "export", "out"]).ok();
    put_back(&place, "older");
    place.run(&["consent", "set", "yes", "--user", "local", "--basis", "a contract"]).ok();
    place.run(&["erase", "prove", &id, "--to", "proof"]).ok();
    let verified = json(&place, &["audit", "verify-proof", "proof", "--key", &key(&place)]);
    assert_eq!(
        (text(&verified, "/entry/kind"), text(&verified, "/payload/erasure")),
        ("erased".to_owned(), id.clone())
    );
    // Its acts are found by the session's whole id, and what was decided of it is among them.
    let log = json(&place, &["audit", "log", "--session", &session, "--all", "--log", "1"]);
    let acts: Vec<String> = log["acts"].as_array().unwrap().iter().map(|act| text(act, "/act")).collect();
    assert_eq!(acts, ["session_created", "erasure_started", "erased"]);
    assert_eq!(json(&place, &["audit", "log"])["earlier"], serde_json::json!([1]));
}

#[test]
fn what_a_witness_cosigned_is_exported_and_a_second_one_cosigns_the_same_head() {
    let place = Place::new();
    let session = place.session();
    let own = key(&place);
    let (a, b) = (Witness::start(), Witness::named("other.example", 8));
    json(&place, &["audit", "witness", &a.url, "--key", &a.key]);
    json(&place, &["audit", "witness", &b.url, "--key", &b.key]);
    place.run(&["audit", "export", "out"]).ok();
    let verify = ["audit", "verify", "--folder", "out", "--key", &own, "--witness", &a.key, "--witness", &b.key];
    assert_eq!(json(&place, &verify)["cosigned_by"], serde_json::json!(["witness.example", "other.example"]));
    place.run(&["audit", "prove", "1", "--to", "receipt"]).ok();
    let receipt = ["audit", "verify-proof", "receipt", "--key", &own, "--witness", &a.key, "--witness", &b.key];
    assert_eq!(json(&place, &receipt)["cosigned_by"].as_array().unwrap().len(), 2);
    // Something is done: the newest head has no cosignature, and the last cosigned one is still there.
    place.run(&["fork", &session]).ok();
    place.run(&["audit", "export", "newest"]).ok();
    let newest = ["audit", "verify", "--folder", "newest", "--key", &own, "--witness", &a.key];
    assert_eq!(place.run(&newest).status, 8);
    place.run(&["audit", "export", "cosigned", "--cosigned"]).ok();
    place.run(&["audit", "verify", "--folder", "cosigned", "--key", &own, "--witness", &a.key]).ok();
    // Two are asked about one head; one that is not there does not take the other's answer away.
    let ask = ["audit", "witness", "http://127.0.0.1:9", &b.url, "--key", &a.key, "--key", &b.key];
    let did = place.json(&ask);
    assert_eq!(did.status, 7, "{did:?}");
    let said: Value = serde_json::from_str(&did.out).unwrap();
    assert!(text(&said, "/witnesses/0/error").contains("http://127.0.0.1:9"), "{said}");
    assert_eq!(said["witnesses"][1]["cosigned_at"].as_u64(), Some(1_700_000_000));
    place.run(&["audit", "export", "again"]).ok();
    place.run(&["audit", "verify", "--folder", "again", "--key", &own, "--witness", &b.key]).ok();
    assert_eq!(
        text(&place.json(&["audit", "witness", "nowhere", "--key", &a.key]).error(2), "/code"),
        "bad_witness_address"
    );
}

#[test]
fn a_log_that_grew_is_checked_offline_against_an_older_head() {
    let place = Place::new();
    let session = place.session();
    let own = key(&place);
    let exported = json(&place, &["audit", "export", "out"]);
    place.run(&["fork", &session]).ok();
    let size = exported["size"].as_u64().unwrap().to_string();
    let grown = json(&place, &["audit", "consistency", &size, "--to", "grown"]);
    assert_eq!((text(&grown, "/old_root"), grown["new"].as_u64()), (text(&exported, "/root"), Some(noted(&place))));
    fs::rename(place.store(), place.path().join("away")).unwrap();
    let verify = ["audit", "verify-proof", "grown", "--old", "out/checkpoint", "--key", &own];
    let verified = json(&place, &verify);
    assert_eq!(
        (text(&verified, "/old_root"), text(&verified, "/root")),
        (text(&grown, "/old_root"), text(&grown, "/new_root"))
    );
    // Without the key, and without a store, it says what is missing.
    let error = place.json(&["audit", "verify-proof", "grown", "--old", "out/checkpoint"]).error(3);
    assert!(error.to_string().contains("--key"), "{error}");
    place.json(&["audit", "verify-proof", "grown", "--key", &own]).error(2);
    let proof = fs::read_to_string(place.path().join("grown")).unwrap();
    let hash = proof.lines().nth(1).unwrap();
    let other = proof.replacen(hash, "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", 1);
    fs::write(place.path().join("grown"), other).unwrap();
    place.json(&verify).error(8);
}

#[test]
fn tiles_of_another_history_are_made_again() {
    let place = Place::new();
    let session = place.session();
    place.run(&["backup", "backup"]).ok();
    place.run(&["fork", &session]).ok();
    place.run(&["fork", &session]).ok();
    place.run(&["audit", "prove", "1", "--to", "before"]).ok();
    let home = place.store().join("tenants/local");
    assert!(home.join("tlog/log-1/checkpoint").exists());
    // The tiles stay, the ledger is older, and the master's note of it is gone, as one in the environment never had it.
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.high"] {
        fs::remove_file(home.join(name)).ok();
    }
    copy(&place.path().join("backup/tenants/local"), &home);
    for note in walk(place.path()).iter().filter(|path| path.ends_with(".audit-head")) {
        fs::remove_file(note).unwrap();
    }
    let own = key(&place);
    for index in ["1", "2"] {
        place.run(&["audit", "prove", index, "--to", &format!("receipt-{index}")]).ok();
        place.run(&["audit", "verify-proof", &format!("receipt-{index}"), "--key", &own]).ok();
        // It goes another way, until it is as long, and longer.
        place.session();
        place.session();
    }
    place.run(&["audit", "consistency", "3"]).ok();
}

#[test]
fn the_note_of_what_was_published_only_goes_forward() {
    let place = Place::new();
    let session = place.session();
    place.say(&session, "hello");
    for round in 0..2 {
        let started = (0..4).map(|number| {
            let folder = format!("out-{round}-{number}");
            place.command(&["audit", "export", &folder]).stdout(Stdio::null()).spawn().unwrap()
        });
        for mut child in started.collect::<Vec<_>>() {
            assert!(child.wait().unwrap().success());
        }
        let size = |number: usize| {
            let note = fs::read(place.path().join(format!("out-{round}-{number}/checkpoint"))).unwrap();
            TreeHead::parse(Note::parse(&note).unwrap().text()).unwrap().size
        };
        assert_eq!(Some(noted(&place)), (0..4).map(size).max());
    }
}

#[test]
fn the_log_says_what_it_does_not_know_and_who_was_nobody() {
    let place = Place::new();
    let session = place.session();
    let error = place.json(&["audit", "log", "--act", "bogus"]).error(2);
    assert_eq!(text(&error, "/code"), "unknown_act");
    assert!(error.to_string().contains("session_created"), "{error}");
    let of = |user: &str| json(&place, &["audit", "log", "--user", user])["acts"].as_array().unwrap().len();
    assert_eq!((of("local"), of("user:local"), of("ada")), (2, 2, 0));
    place.run(&["audit", "anchor"]).ok();
    let shown = json(&place, &["audit", "show", "2"]);
    assert_eq!((text(&shown, "/act"), text(&shown, "/owner")), ("anchored".to_owned(), "tenant".to_owned()));
    place.run(&["hold", "set", "--session", &session, "--reason", "a court"]).ok();
    place.run(&["hold", "lift", "--session", &session, "--reason", "over"]).ok();
    let log = json(&place, &["audit", "log", "--session", &session]);
    let found: Vec<String> = log["acts"].as_array().unwrap().iter().map(|act| text(act, "/act")).collect();
    assert_eq!(found, ["session_created", "hold_set", "hold_lifted"]);
    assert_eq!(acts(&place).len(), 5);
    place.run_with_input(&["secrets", "register", "staple"], b"correct horse\n").ok();
    place.run(&["secrets", "forget", "staple"]).ok();
    // What was registered is erased as well.
    let log = place.run(&["audit", "log", "--last", "4"]).ok();
    assert_eq!(log.matches("secret_registered").count(), 2, "{log}");
    assert_eq!(log.matches("secret_registered (forgotten)").count(), 1, "{log}");
    // Records of processing count the acts of the log, whichever journal they are in.
    let records = json(&place, &["records"]);
    let counted = records["categories"].as_array().unwrap().iter().find(|one| one["category"] == "acts").unwrap();
    assert_eq!(counted["count"].as_u64(), Some(9));
}
