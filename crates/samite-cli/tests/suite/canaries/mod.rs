//! Unique texts of two people, planted through every surface that there is: one is erased, and nothing of them is left in any
//! form, whenever it was killed, and in an older copy of the store too; nothing of the other is missing.
//!
//! Surfaces are a table ([`surfaces::ALL`]): a new store joins it with a line.

mod garden;
mod surfaces;

use crate::support::{Place, text};
use garden::Garden;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// How many texts each person has at least.
const EACH: usize = 300;

/// A store in which both have planted theirs, and the texts.
struct Planted {
    place: Place,
    /// Those that can be found while their keys live, and those that are stored as keyed hashes alone.
    ada: (Vec<String>, Vec<String>),
    bo: (Vec<String>, Vec<String>),
    /// The surface of each.
    surfaces: HashMap<String, &'static str>,
}

fn plant() -> Planted {
    let place = Place::new();
    let mut gardens = ["ada", "bo"].map(|person| Garden::new(&place, person));
    for surface in surfaces::ALL {
        for garden in &mut gardens {
            garden.plant(surface);
        }
    }
    let [ada, bo] = gardens.map(Garden::into_texts);
    assert!(ada.0.len() + ada.1.len() >= EACH && bo.0.len() + bo.1.len() >= EACH, "{} {}", ada.0.len(), bo.0.len());
    // The person at the command line has keys before anything is killed.
    place.json(&["session", "new"]).json();
    let surfaces = ada.2.into_iter().chain(bo.2).collect();
    Planted { place, ada: (ada.0, ada.1), bo: (bo.0, bo.1), surfaces }
}

/// Sweeps for texts, and answers with what it says.
#[track_caller]
fn sweep(planted: &Planted, place: &Place, texts: &[String], expect: &str) -> Value {
    let list = place.path().join("texts");
    fs::write(&list, texts.join("\n")).unwrap();
    let did = place.json(&["erase", "sweep", "--canaries", "texts", "--expect", expect]);
    fs::remove_file(list).unwrap();
    let answer: Value = serde_json::from_str(&did.out).unwrap_or_else(|error| panic!("{error}: {did:?}"));
    let of = |text: &Value| planted.surfaces.get(text.as_str().unwrap_or_default()).copied().unwrap_or("no surface");
    let missing: BTreeSet<_> = answer["missing"].as_array().unwrap().iter().map(of).collect();
    let hits: BTreeSet<_> = answer["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (of(&hit["canary"]), hit["place"].as_str(), hit["form"].as_str()))
        .collect();
    let hits: Vec<_> = hits.iter().take(if did.status == 0 { 0 } else { 20 }).collect();
    let found = &answer["found"];
    assert_eq!(did.status, 0, "{expect} expected of {}: {found} found, missing of {missing:?}, {hits:?}", texts.len());
    answer
}

/// Nothing of the one, all of the other, nothing damaged, and one erasure that is done.
fn is_clean(planted: &Planted, place: &Place) {
    let mut ada = planted.ada.0.clone();
    ada.extend(planted.ada.1.iter().cloned());
    sweep(planted, place, &ada, "gone");
    sweep(planted, place, &planted.bo.0, "found");
    let verified = place.json(&["verify"]);
    assert_eq!(verified.status, 0, "{verified:?}");
    let audited = place.json(&["audit", "verify"]);
    assert_eq!(audited.status, 0, "{audited:?}");
    let erasures = place.json(&["erase", "list"]).json();
    let states: Vec<String> = erasures["erasures"].as_array().unwrap().iter().map(|one| text(one, "/state")).collect();
    assert_eq!(states, ["done"]);
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

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

const ERASE: [&str; 6] = ["erase", "--user", "ada", "--reason", "asked for", "--yes"];

#[test]
fn nothing_of_an_erased_person_is_left_in_any_form_and_all_of_the_other_is() {
    let planted = plant();
    let place = &planted.place;
    // They are found before: else finding nothing after would say nothing.
    let before = sweep(&planted, place, &planted.ada.0, "found");
    sweep(&planted, place, &planted.bo.0, "found");
    for form in ["plain", "utf16le", "utf16be", "base64", "hex", "percent", "json"] {
        let seen = before["hits"].as_array().unwrap().iter().any(|hit| hit["form"] == form);
        assert!(seen, "nothing was found as {form}");
    }
    for name in ["ledger", "packs", "keys", "payloads", "blocks"] {
        let is_it = |one: &&Value| one["name"] == name;
        let place =
            before["places"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{name}: {before}"));
        assert!(place["bytes"].as_u64().unwrap() > 0, "{place}");
    }
    place.json(&["backup", "copy"]).json();
    let erased = place.json(&ERASE).json();
    let proof = &erased["erased"]["proof"];
    assert_eq!(proof["keys"].as_array().unwrap().len(), 5);
    let backup = proof["unreached"].as_array().unwrap().iter().find(|one| one["what"] == "backup").unwrap();
    assert!(text(backup, "/which").ends_with("/copy"), "{backup}");
    is_clean(&planted, place);

    // A copy from before: a look is refused, and the first that writes erases there.
    let store = place.path().join("copy");
    let at = |arguments: &[&str]| place.json(&[&["--store", store.to_str().unwrap()], arguments].concat());
    assert_eq!(at(&["status"]).error(6)["code"], "erasures_pending");
    let resumed = at(&["erase", "resume"]).json();
    assert_eq!(resumed["erasures"][0]["replayed"], true);
    fs::rename(place.path().join("store"), place.path().join("newer")).unwrap();
    fs::rename(&store, place.path().join("store")).unwrap();
    is_clean(&planted, place);
}

/// Where an erasure is killed.
const POINTS: [&str; 23] = [
    "erase.started",
    "erase.noted",
    "erase.carried_over",
    "erase.fenced",
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

#[test]
fn an_erasure_that_is_killed_anywhere_is_finished_by_the_next_that_writes() {
    let planted = plant();
    for point in POINTS {
        let place = copy_of(&planted.place);
        let mut command = place.command(&ERASE);
        let did = command.env("SAMITE_KILL_POINT", point).output().unwrap();
        assert_eq!(did.status.code(), None, "{point}: {}", String::from_utf8_lossy(&did.stderr));
        let status = place.json(&["status"]).json();
        let unfinished = status["unfinished_erasures"].as_array().unwrap().len();
        assert_eq!(unfinished, usize::from(point != "erase.recorded"), "{point}");
        // Whatever writes next.
        place.json(&["session", "new"]).json();
        eprintln!("{point}");
        is_clean(&planted, &place);
    }
}

#[test]
fn an_older_copy_that_is_killed_while_it_is_erased_is_erased_by_the_next() {
    let planted = plant();
    planted.place.json(&["backup", "copy"]).json();
    planted.place.json(&ERASE).json();
    fs::remove_dir_all(planted.place.path().join("store")).unwrap();
    fs::rename(planted.place.path().join("copy"), planted.place.path().join("store")).unwrap();
    for point in ["erase.replayed", "erase.fenced", "erase.keys_destroyed", "erase.tombstones", "gc.dying"] {
        let place = copy_of(&planted.place);
        let mut command = place.command(&["session", "new"]);
        let did = command.env("SAMITE_KILL_POINT", point).output().unwrap();
        assert_eq!(did.status.code(), None, "{point}: {}", String::from_utf8_lossy(&did.stderr));
        place.json(&["session", "new"]).json();
        is_clean(&planted, &place);
    }
}
