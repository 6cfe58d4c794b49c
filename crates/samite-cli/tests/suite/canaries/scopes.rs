//! Less than all of a person's data: a session, an artifact, some entries, each with texts of its own.

use super::garden::{Garden, event};
use super::remembered::kept;
use super::surfaces::{ALL, Surface};
use super::{Planted, Receipt, copy_of, killed, put_back};
use crate::support::{Place, text};
use futures_lite::future::block_on;
use samite::artifact::PutArtifact;
use samite_model::EntryKind;
use std::collections::HashMap;
use std::fs;

/// The surfaces that plant in the garden's own session.
const IN_SESSION: [&str; 13] = [
    "bodies of each kind",
    "bodies in other forms",
    "bodies that are too large for a journal",
    "attributes",
    "dedupe ids",
    "steps: keys, tools, inputs, touches, outcomes, errors",
    "branches: names and keys",
    "names, directories and contents of small files",
    "contents of files in other forms",
    "contents of large files",
    "symbolic links and exclusion rules",
    "checkpoints: labels",
    "ends of turns",
];

/// Those that plant entries that stand by themselves.
const IN_ENTRIES: [&str; 6] = [
    "bodies of each kind",
    "bodies in other forms",
    "bodies that are too large for a journal",
    "attributes",
    "dedupe ids",
    "steps: keys, tools, inputs, touches, outcomes, errors",
];

fn named(names: &[&str]) -> Vec<&'static Surface> {
    let found: Vec<_> = ALL.iter().filter(|surface| names.contains(&surface.name)).collect();
    assert_eq!(found.len(), names.len());
    found
}

/// Texts in one session that goes, in an artifact and in entries that go, and in others of the same person that stay.
struct Scopes {
    place: Place,
    session: (String, Vec<String>),
    artifact: (String, Vec<String>),
    entries: (String, Vec<String>),
    kept: Vec<String>,
    surfaces: HashMap<String, &'static str>,
}

/// Publishes something with a text in all that it has, and answers with its id.
fn publish(garden: &mut Garden, name: &str) -> String {
    let mut texts: Vec<String> = (0..6).map(|_| garden.add("an artifact")).collect();
    let (bytes, input) = (garden.beside(&format!("bytes {name}")), garden.beside(&format!("input {name}")));
    fs::write(&bytes, format!("made: {}", texts.pop().unwrap())).unwrap();
    fs::write(&input, format!("made of: {}", texts.pop().unwrap())).unwrap();
    let put = PutArtifact {
        name: texts.pop(),
        of_type: texts.pop(),
        description: texts.pop(),
        dedupe: texts.pop(),
        inputs: vec![input],
        ..PutArtifact::file(bytes)
    };
    garden.write(async |writer| writer.put_artifact(&put).await.unwrap().record.artifact.to_string())
}

fn plant() -> Scopes {
    let place = Place::new();
    let garden = |label| Garden::new(&place, "local", label);
    let mut session = garden("session");
    for surface in named(&IN_SESSION) {
        session.plant(surface);
    }
    let of_session = session.session.to_string();
    let mut artifact = garden("artifact");
    let of_artifact = publish(&mut artifact, "one");
    let mut kept = garden("kept");
    for surface in named(&IN_SESSION) {
        kept.plant(surface);
    }
    publish(&mut kept, "two");
    // Others that stand before and after those that go, in the same session.
    let mut entries = garden("entries");
    let say = |garden: &mut Garden, kept: &mut Garden| {
        let text = kept.add("entries beside those that go");
        garden.say(event(EntryKind::MESSAGE, format!("say {text}.").into_bytes()));
    };
    say(&mut entries, &mut kept);
    let head = |garden: &Garden| {
        let branch = block_on(garden.client.current_branch(garden.session)).unwrap();
        block_on(garden.client.head(garden.session, branch)).unwrap().seq
    };
    let first = head(&entries) + 1;
    for surface in named(&IN_ENTRIES) {
        entries.plant(surface);
    }
    let last = head(&entries);
    say(&mut entries, &mut kept);
    let of_entries = format!("{}@{first}..{last}", entries.session);
    let mut surfaces = HashMap::new();
    let mut texts = |garden: Garden| {
        let (found, hashed, names) = garden.into_texts();
        assert!(hashed.is_empty());
        surfaces.extend(names);
        found
    };
    let session = (of_session, texts(session));
    let artifact = (of_artifact, texts(artifact));
    let entries = (of_entries, texts(entries));
    let kept = texts(kept);
    Scopes { place, session, artifact, entries, kept, surfaces }
}

/// Erases by a scope: positive control, kills at each stage, an older copy, kills in such a copy, and the log by others.
fn erased_by(scope: &str, points: &[&str]) {
    let Scopes { place, session, artifact, entries, kept, surfaces } = plant();
    let mut stays = kept;
    let mut of: HashMap<&str, (String, Vec<String>)> =
        HashMap::from([("--session", session), ("--artifact", artifact), ("--entries", entries)]);
    let (id, gone) = of.remove(scope).unwrap();
    stays.extend(of.into_values().flat_map(|(_, texts)| texts));
    let planted = Planted { place, gone, hashed: Vec::new(), stays, surfaces };
    let erase = ["erase", scope, &id, "--reason", "asked for", "--yes"];
    erased_as(&planted, scope.trim_start_matches('-'), &erase, points);
}

/// The same, of what was planted, by a command.
pub(crate) fn erased_as(planted: &Planted, of: &str, erase: &[&str], points: &[&str]) {
    let place = &planted.place;
    planted.all_are_found();
    let receipt = Receipt::of(place);
    for point in points {
        let place = copy_of(place);
        killed(&place, erase, point);
        place.json(&["session", "new"]).json();
        eprintln!("{of} {point}");
        assert!(kept(&place).is_empty(), "{point}");
        planted.is_clean(&place, 1);
    }
    // A hold on the person stands against it, and nothing is touched.
    place.json(&["hold", "set", "--user", "local", "--reason", "case 1"]).json();
    assert_eq!(place.json(erase).error(6)["code"], "legal_hold");
    planted.all_are_found();
    place.json(&["hold", "lift", "--user", "local", "--reason", "closed"]).json();

    place.json(&["backup", "copy"]).json();
    let erased = place.json(erase).json();
    assert_eq!(text(&erased, "/erased/scope/of"), of);
    assert!(kept(place).is_empty());
    planted.is_clean(place, 1);
    // In a copy: a head that left the store would be missed in an older one.
    receipt.verifies(planted, &copy_of(place), place);
    // In an older copy it goes before that serves, whenever that is killed.
    put_back(place, &place.path().join("copy"));
    assert_eq!(place.json(&["status"]).error(6)["code"], "erasures_pending");
    for point in ["erase.replayed", "erase.tombstones", "erase.collected"] {
        let place = copy_of(place);
        killed(&place, &["session", "new"], point);
        place.json(&["session", "new"]).json();
        eprintln!("{of} again {point}");
        planted.is_clean(&place, 1);
    }
}

#[test]
fn a_session_goes_with_all_of_its_texts() {
    let points = [
        "erase.started",
        "erase.noted",
        "erase.fenced",
        "erase.tombstones",
        "erase.files",
        "gc.dying",
        "erase.collected",
        "ledger.compacted",
        "erase.recorded",
    ];
    erased_by("--session", &points);
}

#[test]
fn an_artifact_goes_with_all_of_its_texts() {
    let points = [
        "erase.started",
        "erase.noted",
        "erase.fenced",
        "erase.tombstones",
        "erase.files_removed",
        "gc.marked",
        "erase.compacted",
        "erase.recorded",
    ];
    erased_by("--artifact", &points);
}

#[test]
fn entries_go_with_all_of_their_texts() {
    let points = [
        "erase.started",
        "erase.noted",
        "erase.fenced",
        "erase.tombstones",
        "erase.files_removed",
        "gc.dying",
        "erase.compacted",
        "erase.recorded",
    ];
    erased_by("--entries", &points);
}
