//! Unique texts, planted through every surface that there is: what is erased, by each scope, leaves nothing of them in any
//! form, whenever it was killed, and in an older copy of the store too; nothing of the others is missing.
//!
//! Surfaces are tables ([`surfaces::ALL`], [`elsewhere::ALL`], [`memories::ALL`]): a new store joins them with a line.

mod elsewhere;
mod garden;
mod memories;
mod remembered;
mod scopes;
mod surfaces;

use crate::outsiders::installed;
use crate::support::{Place, copy_tree, text};
use garden::Garden;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

/// How many texts each person has at least.
const EACH: usize = 300;

/// Whom the texts are of. The name of the first must go too.
const ADA: &str = "ada.lovelace";
const BO: &str = "bob.de.groot";

/// A store in which texts were planted.
struct Planted {
    place: Place,
    /// Those that go, and can be found while their keys live.
    gone: Vec<String>,
    /// Those that go, and are stored as keyed hashes alone.
    hashed: Vec<String>,
    /// Those that stay.
    stays: Vec<String>,
    /// The surface of each.
    surfaces: HashMap<String, &'static str>,
}

/// Texts of two people, and of the tenant itself.
fn plant() -> Planted {
    let place = Place::new();
    let mut gardens = [Garden::new(&place, ADA, "ada"), Garden::new(&place, BO, "bo")];
    for surface in surfaces::ALL.iter().chain(elsewhere::ALL).chain(memories::ALL) {
        for garden in &mut gardens {
            garden.plant(surface);
        }
    }
    let registered: Vec<String> = (0..4).map(|number| format!("registered-for-the-tenant-{number}")).collect();
    elsewhere::secrets(&gardens[0], &registered);
    let [ada, bo] = gardens.map(Garden::into_texts);
    assert!(ada.0.len() + ada.1.len() >= EACH && bo.0.len() + bo.1.len() >= EACH, "{} {}", ada.0.len(), bo.0.len());
    // The person at the command line has keys before anything is killed.
    place.json(&["session", "new"]).json();
    let mut surfaces: HashMap<String, &'static str> = ada.2.into_iter().chain(bo.2).collect();
    let (mut gone, mut stays) = (ada.0, bo.0);
    gone.push(ADA.to_owned());
    stays.push(BO.to_owned());
    let of_tenant = decide(&place);
    surfaces.extend(of_tenant.iter().map(|text| (text.clone(), "the tenant's own decisions")));
    surfaces.extend([ADA, BO].map(|name| (name.to_owned(), "names")));
    surfaces.extend(registered.iter().map(|text| (text.clone(), "registered secrets")));
    stays.extend(of_tenant);
    stays.extend(registered);
    Planted { place, gone, hashed: ada.1, stays, surfaces }
}

/// What the tenant decides about people is its own record: words that were given with it stay, under pseudonyms.
fn decide(place: &Place) -> Vec<String> {
    let words: Vec<String> = (0..9).map(|number| format!("tenants-own-words-{number}")).collect();
    let [basis, reason, purpose, agreement, hold, lifted, pattern, export, processor] = words.as_slice() else {
        panic!("nine")
    };
    let pattern = format!("own={pattern}");
    let all: [&[&str]; 6] = [
        &["consent", "set", "yes", "--user", ADA, "--basis", basis, "--reason", reason],
        &[
            &["processor", "register", processor, "--region", "eu", "--purpose", purpose][..],
            &["--agreement", agreement, "--receives", "sessions"],
        ]
        .concat(),
        &["hold", "set", "--user", ADA, "--reason", hold],
        &["hold", "lift", "--user", ADA, "--reason", lifted],
        &["policy", "redaction", "--pattern", &pattern],
        &["export", "--for-training", "--to-region", "eu", "--basis", export, "--all", "dataset"],
    ];
    for arguments in all {
        let did = place.json(arguments);
        assert_eq!(did.status, 0, "{arguments:?}: {did:?}");
    }
    words
}

/// Sweeps for texts, and answers with what it says and which of them it found.
fn sweep(place: &Place, texts: &[&String], also: &[&str]) -> (Value, BTreeSet<String>) {
    let list = place.path().join("texts");
    fs::write(&list, texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join("\n")).unwrap();
    let mut arguments = vec!["erase", "sweep", "--canaries", "texts"];
    arguments.extend(also.iter().flat_map(|path| ["--also", path]));
    let did = place.json(&arguments);
    fs::remove_file(list).unwrap();
    let answer: Value = serde_json::from_str(&did.out).unwrap_or_else(|error| panic!("{error}: {did:?}"));
    assert_eq!(answer["canaries"], texts.len());
    let found = answer["hits"].as_array().unwrap().iter().map(|hit| text(hit, "/canary")).collect();
    (answer, found)
}

impl Planted {
    /// How many of the texts are found, by surface, where not all or none of them should be.
    #[track_caller]
    fn expect(&self, place: &Place, gone: &[&String], stays: &[&String], also: &[&str]) -> Value {
        let all: Vec<&String> = gone.iter().chain(stays).copied().collect();
        let (answer, found) = sweep(place, &all, also);
        let of = |text: &str| self.surfaces.get(text).copied().unwrap_or("no surface");
        let missing: BTreeSet<_> = stays.iter().filter(|text| !found.contains(**text)).map(|text| of(text)).collect();
        let hits = answer["hits"].as_array().unwrap().iter();
        let left: BTreeSet<_> = hits
            .filter(|hit| gone.iter().any(|text| hit["canary"] == text.as_str()))
            .map(|hit| (of(hit["canary"].as_str().unwrap()), hit["place"].to_string(), hit["at"].to_string()))
            .take(20)
            .collect();
        assert!(missing.is_empty() && left.is_empty(), "missing of {missing:?}; left of {left:?}");
        answer
    }

    /// All are found: else finding nothing after would say nothing.
    #[track_caller]
    fn all_are_found(&self) -> Value {
        let all: Vec<&String> = self.gone.iter().chain(&self.stays).collect();
        self.expect(&self.place, &[], &all, &[])
    }

    /// Nothing of what goes, all of what stays, nothing damaged, and as many erasures, which are done.
    #[track_caller]
    fn is_clean(&self, place: &Place, erasures: usize) {
        let gone: Vec<&String> = self.gone.iter().chain(&self.hashed).collect();
        let stays: Vec<&String> = self.stays.iter().collect();
        self.expect(place, &gone, &stays, &[]);
        verifies(place, erasures);
    }
}

#[track_caller]
fn verifies(place: &Place, erasures: usize) {
    for arguments in [&["verify"][..], &["audit", "verify"]] {
        let verified = place.json(arguments);
        assert_eq!(verified.status, 0, "{verified:?}");
    }
    let all = place.json(&["erase", "list"]).json();
    let states: Vec<String> = all["erasures"].as_array().unwrap().iter().map(|one| text(one, "/state")).collect();
    assert_eq!(states, vec!["done"; erasures]);
}

/// A receipt from before anything was erased, and the key that it is checked with.
struct Receipt {
    key: String,
}

impl Receipt {
    fn of(place: &Place) -> Self {
        let key = place.run(&["audit", "key"]).ok().trim().to_owned();
        place.run(&["audit", "prove", "1", "--reveal", "--to", "receipt"]).ok();
        Self { key }
    }

    /// The receipt verifies, and so does the log: here, and by a program of others, which reads what was exported. No text that
    /// went is in that.
    fn verifies(&self, planted: &Planted, place: &Place, from: &Place) {
        let receipt = from.path().join("receipt");
        place.run(&["audit", "verify-proof", receipt.to_str().unwrap(), "--key", &self.key]).ok();
        place.run(&["audit", "export", "exported"]).ok();
        let gone: Vec<&String> = planted.gone.iter().chain(&planted.hashed).collect();
        planted.expect(place, &gone, &[], &["exported"]);
        let key = place.run(&["audit", "key"]).ok().trim().to_owned();
        if let Some(program) = installed("crates-verify") {
            let did = Command::new(&program).args(["exported", &key]).current_dir(place.path()).output().unwrap();
            assert!(did.status.success(), "{did:?}");
        }
    }
}

/// A copy of a place that nobody works in.
fn copy_of(place: &Place) -> Place {
    let copy = Place::new();
    for name in ["store", "master.copies"] {
        copy_tree(&place.path().join(name), &copy.path().join(name));
    }
    fs::copy(place.path().join("master.key"), copy.path().join("master.key")).unwrap();
    copy
}

/// Puts another store in the place of this one's.
fn put_back(place: &Place, copy: &Path) {
    fs::rename(place.path().join("store"), place.path().join("newer")).unwrap();
    fs::rename(copy, place.path().join("store")).unwrap();
}

/// Runs a command that is killed at a point.
#[track_caller]
fn killed(place: &Place, arguments: &[&str], point: &str) {
    let did = place.command(arguments).env("SAMITE_KILL_POINT", point).output().unwrap();
    assert_eq!(did.status.code(), None, "{point}: {}", String::from_utf8_lossy(&did.stderr));
}

const ERASE: [&str; 6] = ["erase", "--user", ADA, "--reason", "asked for", "--yes"];

#[test]
fn nothing_of_an_erased_person_is_left_in_any_form_and_all_of_the_other_is() {
    let planted = plant();
    let place = &planted.place;
    let before = planted.all_are_found();
    for form in ["plain", "utf16le", "utf16be", "base64", "hex", "percent", "json"] {
        let seen = before["hits"].as_array().unwrap().iter().any(|hit| hit["form"] == form);
        assert!(seen, "nothing was found as {form}");
    }
    for name in ["ledger", "packs", "keys", "payloads", "blocks", "tables"] {
        let is_it = |one: &&Value| one["name"] == name;
        let place =
            before["places"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{name}: {before}"));
        assert!(place["bytes"].as_u64().unwrap() > 0, "{place}");
    }
    let receipt = Receipt::of(place);
    place.json(&["backup", "copy"]).json();
    let erased = place.json(&ERASE).json();
    let proof = &erased["erased"]["proof"];
    assert_eq!(proof["keys"].as_array().unwrap().len(), 5);
    let unreached = proof["unreached"].as_array().unwrap();
    let backup = unreached.iter().find(|one| one["what"] == "backup").unwrap();
    assert!(text(backup, "/which").ends_with("/copy"), "{backup}");
    for what in ["dataset", "processor"] {
        assert!(unreached.iter().any(|one| one["what"] == what), "{what}: {unreached:?}");
    }
    let counted = |store: &str| proof["stores"].as_array().unwrap().iter().find(|one| one["store"] == store).unwrap();
    // Three messages with a step of two entries each, the grant to her; her grant, and what was recorded of her reading.
    assert_eq!((&counted("words_elsewhere")["deleted"], &counted("decisions")["retained"]), (&10.into(), &3.into()));
    assert!(counted("names_elsewhere")["deleted"].as_u64().unwrap() >= 2);
    planted.is_clean(place, 1);
    // In a copy: a head that left the store would be missed in an older one.
    receipt.verifies(&planted, &copy_of(place), place);

    // A copy from before: a look is refused, and the first that writes erases there.
    let store = place.path().join("copy");
    let at = |arguments: &[&str]| place.json(&[&["--store", store.to_str().unwrap()], arguments].concat());
    assert_eq!(at(&["status"]).error(6)["code"], "erasures_pending");
    let resumed = at(&["erase", "resume"]).json();
    assert_eq!(resumed["erasures"][0]["replayed"], true);
    put_back(place, &store);
    planted.is_clean(place, 1);
}

/// Where an erasure is killed.
const POINTS: [&str; 26] = [
    "erase.started",
    "erase.noted",
    "erase.carried_over",
    "erase.fenced",
    "erase.said_again",
    "erase.others",
    "keys.epoch_created",
    "keys.copied",
    "keys.written",
    "keys.master.before_destroy",
    "keys.epoch_destroyed",
    "erase.keys_destroyed",
    "erase.tombstones",
    "erase.tombstones:2",
    "erase.files",
    "erase.files_removed",
    "erase.namespaces",
    "gc.marked",
    "gc.rewritten",
    "gc.dying",
    "gc.forgotten",
    "gc.unlinked",
    "erase.collected",
    "ledger.compacted",
    "erase.compacted",
    "erase.recorded",
];

/// Kills an erasure at points, and sees that the next that writes finishes it.
fn killed_at(points: &[&str]) {
    let planted = plant();
    for point in points {
        let place = copy_of(&planted.place);
        killed(&place, &ERASE, point);
        let status = place.json(&["status"]).json();
        let unfinished = status["unfinished_erasures"].as_array().unwrap().len();
        assert_eq!(unfinished, usize::from(*point != "erase.recorded"), "{point}");
        // Whatever writes next.
        place.json(&["session", "new"]).json();
        eprintln!("{point}");
        planted.is_clean(&place, 1);
    }
}

#[test]
fn an_erasure_that_is_killed_before_anything_is_deleted_is_finished_by_the_next_that_writes() {
    killed_at(&POINTS[..13]);
}

#[test]
fn an_erasure_that_is_killed_while_it_deletes_is_finished_by_the_next_that_writes() {
    killed_at(&POINTS[13..]);
}

#[test]
fn an_older_copy_that_is_killed_while_it_is_erased_is_erased_by_the_next() {
    let planted = plant();
    planted.place.json(&["backup", "copy"]).json();
    planted.place.json(&ERASE).json();
    put_back(&planted.place, &planted.place.path().join("copy"));
    for point in
        ["erase.replayed", "erase.fenced", "erase.others", "erase.keys_destroyed", "erase.tombstones", "gc.dying"]
    {
        let place = copy_of(&planted.place);
        killed(&place, &["session", "new"], point);
        place.json(&["session", "new"]).json();
        eprintln!("{point}");
        planted.is_clean(&place, 1);
    }
}
