//! What is written outside of the store, cut off and done again: each file is whole or not there, each directory whole or known
//! for what it is.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Did, Place, number, text};
use crate::witness::Witness;
use std::fs;
use std::path::Path;

/// What leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// `export --for-training`.
    Training,
    /// `subject export`.
    Subject,
    /// `audit export`, into a folder that has an earlier one.
    Log,
    /// `audit archive --prune`.
    Archive,
    /// `audit witness`.
    Witness,
    /// `audit prove --to`.
    Receipt,
    /// `erase prove --to`.
    Proof,
    /// `retain apply`, which erases what is due.
    Retain,
}

impl Leaving {
    pub(crate) const ALL: [Self; 8] = [
        Self::Training,
        Self::Subject,
        Self::Log,
        Self::Archive,
        Self::Witness,
        Self::Receipt,
        Self::Proof,
        Self::Retain,
    ];
}

impl Scenario for Leaving {
    fn name(&self) -> String {
        let name = match self {
            Self::Training => "export --for-training",
            Self::Subject => "subject export",
            Self::Log => "audit export",
            Self::Archive => "audit archive",
            Self::Witness => "audit witness",
            Self::Receipt => "audit prove",
            Self::Proof => "erase prove",
            Self::Retain => "retain apply",
        };
        format!("leave {name}")
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        let session = place.session();
        let acknowledged = vec![place.say(&session, "first"), place.say(&session, "second")];
        match self {
            Self::Training => training(place, cut, &session),
            Self::Subject => subject(place, cut, &session),
            Self::Log => log(place, cut),
            Self::Archive => archive(place, cut),
            Self::Witness => witness(place, cut),
            Self::Receipt => receipt(place, cut),
            Self::Proof => proof(place, cut),
            Self::Retain => retain(place, cut, &session),
        }
        Counts { kills: cut.kills.get(), lost: place.lost(&session, &acknowledged), ..Counts::default() }
    }
}

/// The files below a directory, by their paths in it, with their bytes.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Does it again where it was not done: that the directory is whole already is the one reason not to.
fn again(place: &Place, arguments: &[&str], whole: &str) -> Option<Did> {
    if place.path().join(whole).exists() {
        let did = place.run(arguments);
        assert!(["not_empty", "file_exists"].contains(&did.code().as_str()), "{did:?}");
        return None;
    }
    let did = place.run(arguments);
    did.json();
    Some(did)
}

fn training(place: &Place, cut: &Cut, session: &str) {
    place.json(&["consent", "set", "yes", "--session", session, "--basis", "form"]);
    let arguments = ["export", "--for-training", "--to-region", "eu", "--basis", "contract", "--all", "data"];
    cut.run(place, &arguments);
    let known = || place.json(&["records"])["datasets"].as_array().unwrap().clone();
    let check = || {
        let about = serde_json::from_str(&place.read("data/dataset.json")).unwrap_or_default();
        let lines = place.read("data/data.jsonl");
        assert_eq!(lines.lines().count() as u64, number(&about, "/entries"));
        assert_eq!(lines.len() as u64, number(&about, "/bytes"));
        assert!(lines.contains("first") && lines.contains("second"), "{lines}");
        let recorded = known().iter().filter(|one| one["dataset"] == about["dataset"]).count();
        assert_eq!(recorded, 1, "what left is recorded");
    };
    if place.path().join("data/data.jsonl").exists() {
        check();
    }
    again(place, &arguments, "data/data.jsonl");
    check();
    let names: Vec<String> = files(&place.path().join("data")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["data.jsonl", "dataset.json"]);
    assert!((1..=2).contains(&known().len()), "once for each that was begun");
}

fn subject(place: &Place, cut: &Cut, session: &str) {
    place.write("work/a.txt", b"in the workspace");
    place.json(&["workspace", "attach", session, "work"]);
    place.json(&["checkpoint", session, "--no-environment"]);
    place.json(&["artifact", "put", session, "work/a.txt"]);
    let arguments = ["subject", "export", "--user", "local", "--to", "ada"];
    cut.run(place, &arguments);
    again(place, &arguments, "ada/subject.json");
    place.json(&["subject", "export", "--user", "local", "--to", "reference"]);
    // The later one has the same of this person, but for the times in `subject.json`, and heads and receipts that are later:
    // that it was handed out is an entry.
    let of = |name: &str| -> Vec<(String, Vec<u8>)> {
        let later = ["subject.json", "receipts.jsonl"];
        let told = |(name, _): &(String, Vec<u8>)| !later.contains(&name.as_str()) && !name.starts_with("proofs/");
        files(&place.path().join(name)).into_iter().filter(told).collect()
    };
    let (one, other) = (of("ada"), of("reference"));
    let names = |all: &[(String, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    assert!(one == other, "what was cut off and done again is not what is done at once");
    assert!(one.iter().any(|(_, bytes)| bytes == b"in the workspace"));
    let key = place.read("ada/audit-key").trim().to_owned();
    let proofs: Vec<_> = fs::read_dir(place.path().join("ada/proofs")).unwrap().collect();
    assert_eq!(proofs.len() as u64, {
        let about = serde_json::from_str(&place.read("ada/subject.json")).unwrap_or_default();
        number(&about, "/journals")
    });
    for proof in proofs {
        let path = proof.unwrap().path();
        place.json(&["audit", "verify-proof", path.to_str().unwrap(), "--key", &key]);
    }
}

fn key(place: &Place) -> String {
    text(&place.json(&["audit", "key"]), "/keys/0/key")
}

fn log(place: &Place, cut: &Cut) {
    let key = key(place);
    place.json(&["audit", "export", "log"]);
    place.session();
    cut.run(place, &["audit", "export", "log"]);
    let verify = ["audit", "verify", "--folder", "log", "--key", &key];
    // At each moment it is what it was, or what it becomes.
    place.json(&verify);
    let done = number(&place.json(&["audit", "export", "log"]), "/size");
    assert_eq!(number(&place.json(&verify), "/leaves"), done);
}

fn archive(place: &Place, cut: &Cut) {
    let key = key(place);
    for _ in 0..3 {
        place.session();
    }
    place.json(&["audit", "export", "log"]);
    let size = number(&place.json(&["audit", "verify", "--folder", "log", "--key", &key]), "/leaves");
    let before = size.to_string();
    let arguments = ["audit", "archive", "log", "cold", "--key", &key, "--before", &before, "--prune"];
    cut.run(place, &arguments);
    place.json(&arguments);
    place.json(&["audit", "verify", "--folder", "cold", "--key", &key, "--to", &before]);
    place.session();
    place.json(&["audit", "export", "log"]);
    place.json(&["audit", "verify", "--folder", "log", "--key", &key, "--from", &before]);
}

fn witness(place: &Place, cut: &Cut) {
    let key = key(place);
    let witness = Witness::start();
    let arguments = ["audit", "witness", &witness.url, "--key", &witness.key];
    cut.run(place, &arguments);
    place.session();
    place.json(&arguments);
    place.json(&["audit", "prove", "0", "--to", "receipt"]);
    let verify = ["audit", "verify-proof", "receipt", "--key", &key, "--witness", &witness.key];
    assert_eq!(text(&place.json(&verify), "/cosigned_by/0"), "witness.example");
}

fn receipt(place: &Place, cut: &Cut) {
    let key = key(place);
    let arguments = ["audit", "prove", "1", "--to", "receipt", "--reveal"];
    cut.run(place, &arguments);
    again(place, &arguments, "receipt");
    place.json(&["audit", "verify-proof", "receipt", "--key", &key]);
}

fn proof(place: &Place, cut: &Cut) {
    let key = key(place);
    let gone = place.session();
    place.say(&gone, "said and gone");
    let erased = place.json(&["erase", "--session", &gone, "--reason", "asked", "--yes"]);
    let id = text(&erased, "/erased/id");
    let arguments = ["erase", "prove", &id, "--to", "proof"];
    cut.run(place, &arguments);
    again(place, &arguments, "proof");
    place.json(&["audit", "verify-proof", "proof", "--key", &key]);
}

fn retain(place: &Place, cut: &Cut, held: &str) {
    let gone = place.session();
    place.say(&gone, "said and gone");
    place.json(&["hold", "set", "--session", held, "--reason", "case"]);
    place.json(&["retain", "set", "session", "0d"]);
    let arguments = ["retain", "apply", "--yes"];
    cut.run(place, &arguments);
    // Whoever opens the store ends what was begun.
    place.json(&arguments);
    assert_eq!(place.run(&["read", &gone]).code(), "no_session");
    let erasures = place.json(&["erase", "list"]);
    let erasures = erasures["erasures"].as_array().unwrap();
    assert_eq!(erasures.len(), 1, "{erasures:?}");
    assert_eq!(erasures[0]["state"], "done");
    let due = place.json(&["retain", "preview"]);
    let due: Vec<bool> = due["due"].as_array().unwrap().iter().map(|one| one["held"] == true).collect();
    assert_eq!(due, [true], "what is held stays, and nothing else is due");
}
