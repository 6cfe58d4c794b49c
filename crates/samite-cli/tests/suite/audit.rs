//! `samite audit`: what outsiders can verify, and what happens to a store that is put back from a backup.

use crate::support::{Place, text};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use samite_audit::note::{KeyKind, Signature};
use samite_audit::{Note, Signer, VerifierKey};
use samite_model::Result;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

/// A witness that cosigns what continues what it saw, for so many requests. It takes the word of whoever asks for the proof.
pub(crate) struct Witness {
    pub(crate) url: String,
    pub(crate) key: String,
}

struct WitnessKey(Ed25519KeyPair);

impl Signer for WitnessKey {
    fn name(&self) -> &'static str {
        "witness.example"
    }

    fn public_key(&self) -> [u8; 32] {
        self.0.public_key().as_ref().try_into().unwrap()
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64]> {
        Ok(self.0.sign(message).as_ref().try_into().unwrap())
    }
}

impl Witness {
    pub(crate) fn start(requests: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let key = WitnessKey(Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap());
        let verifier = VerifierKey::of(&key, KeyKind::Cosignature).unwrap().to_string();
        std::thread::spawn(move || {
            let mut seen = 0;
            for stream in listener.incoming().take(requests) {
                let mut reader = BufReader::new(stream.unwrap());
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let line = line.to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let body = String::from_utf8(body).unwrap();
                let (asked, signed) = body.split_once("\n\n").unwrap();
                let old: u64 = asked.lines().next().unwrap().strip_prefix("old ").unwrap().parse().unwrap();
                let note = Note::parse(signed.as_bytes()).unwrap();
                let size: u64 = note.text().lines().nth(1).unwrap().parse().unwrap();
                let (status, answer) = if old == seen {
                    seen = size;
                    ("200 OK", Signature::cosign(note.text(), 1_700_000_000, &key).unwrap().line())
                } else {
                    ("409 Conflict", format!("{seen}\n"))
                };
                let kind = "Content-Type: text/x.tlog.size\r\nConnection: close";
                let head = format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {}\r\n\r\n", answer.len());
                reader.get_mut().write_all(format!("{head}{answer}").as_bytes()).unwrap();
            }
        });
        Self { url, key: verifier }
    }
}

fn key(place: &Place) -> String {
    place.run(&["audit", "key"]).ok().trim().to_owned()
}

fn acts(place: &Place) -> Vec<String> {
    let acts: Value = serde_json::from_str(&place.json(&["audit", "log", "--all"]).ok()).unwrap();
    acts["acts"].as_array().unwrap().iter().map(|act| text(act, "/act")).collect()
}

fn copy(from: &Path, to: &Path) {
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
    assert_eq!(acts(&place), ["principal_seen", "session_created"]);
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
    let witness = Witness::start(3);
    let ask = ["audit", "witness", &witness.url, "--key", &witness.key];
    let first: Value = serde_json::from_str(&place.json(&ask).ok()).unwrap();
    place.say(&session, "more");
    let second: Value = serde_json::from_str(&place.json(&ask).ok()).unwrap();
    assert!(second["size"].as_u64() > first["size"].as_u64());
    place.run(&["audit", "prove", "1", "--to", "receipt"]).ok();
    let verify = ["audit", "verify-proof", "receipt", "--key", &key, "--witness", &witness.key];
    let verified: Value = serde_json::from_str(&place.json(&verify).ok()).unwrap();
    assert_eq!(text(&verified, "/cosigned_by/0"), "witness.example");
    // One that nobody listens at.
    let gone = ["audit", "witness", "http://127.0.0.1:9", "--key", &witness.key];
    place.json(&gone).error(7);
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
    // Before anything is done in it, the older copy says what it lacks, and publishes nothing.
    assert_eq!(place.run(&["audit", "verify"]).status, 8);
    let refused = place.json(&["audit", "export", "other"]);
    drop(refused);
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
