//! Less than all of what is remembered of a person: one namespace, and single records with what was made of them.

use super::Planted;
use super::garden::Garden;
use super::scopes::erased_as;
use crate::support::Place;
use futures_lite::future::block_on;
use samite::memory::{
    Edge, Extractor, Memory, MemorySettings, Namespace, NewRecord, RecordKind, Search, Trust, Written,
};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;

/// A record with a text in all that it has.
fn record(garden: &mut Garden, inputs: &[Written]) -> NewRecord {
    let mut text = || garden.add("a record");
    NewRecord {
        metadata: json!({ text(): text() }).as_object().unwrap().clone(),
        source: Some(text()),
        extractor: Some(Extractor { name: text(), version: "1".to_owned() }),
        edge: Some(Edge { from: text(), relation: text(), to: text() }),
        inputs: inputs.iter().map(|one| one.record).collect(),
        ..NewRecord::new(RecordKind::Edge, format!("say {}.", text()), Trust::Model)
    }
}

/// Records that took each other's place, that were taken back, and that were made of others.
fn remember(garden: &mut Garden, memory: &Memory) -> Vec<Written> {
    let (first, second) = (record(garden, &[]), record(garden, &[]));
    let first = block_on(memory.assert(&first)).unwrap();
    let second = block_on(memory.supersede(first.record, &second)).unwrap();
    let made = record(garden, &[first, second]);
    let made = block_on(memory.assert(&made)).unwrap();
    let of_that = record(garden, &[made]);
    let of_that = block_on(memory.assert(&of_that)).unwrap();
    block_on(memory.retract(of_that.record, Some(&garden.add("why a record was taken back")))).unwrap();
    vec![first, second, made, of_that]
}

/// Does so much to a namespace that its index is kept in a file, with all of its texts.
fn keep(place: &Place, memory: &Memory) {
    for _ in 0..260 {
        block_on(memory.set_settings(&MemorySettings::default())).unwrap();
    }
    block_on(memory.search(&Search::new("say"))).unwrap();
    let journal = block_on(memory.position()).unwrap().unwrap().journal.to_string();
    let kept = kept(place);
    assert!(kept.iter().any(|path| path.to_string_lossy().contains(&journal)), "{kept:?}");
}

/// The files in which something of namespaces is kept beside the ledger.
pub(super) fn kept(place: &Place) -> Vec<PathBuf> {
    let mut kept = Vec::new();
    let mut directories = vec![place.store().join("tenants").join("local").join("memory")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { directories.push(path) } else { kept.push(path) }
        }
    }
    kept
}

/// What goes, and what stays of the same person, with the names of the namespaces.
fn planted(gone: Garden, kept: Garden, place: Place) -> Planted {
    let mut surfaces = HashMap::new();
    let mut texts = |garden: Garden| {
        let (found, hashed, names) = garden.into_texts();
        assert!(hashed.is_empty());
        surfaces.extend(names);
        found
    };
    let (gone, stays) = (texts(gone), texts(kept));
    Planted { place, gone, hashed: Vec::new(), stays, surfaces }
}

const POINTS: [&str; 8] = [
    "erase.started",
    "erase.noted",
    "erase.fenced",
    "erase.tombstones",
    "erase.namespaces",
    "erase.collected",
    "erase.compacted",
    "erase.recorded",
];

#[test]
fn a_namespace_goes_with_all_of_its_texts() {
    let place = Place::new();
    let (mut gone, mut kept) = (Garden::new(&place, "local", "gone"), Garden::new(&place, "local", "kept"));
    let names = [gone.add("a name"), gone.add("a name")];
    let memory = gone.client.memory(Namespace::new(names.clone()).unwrap());
    remember(&mut gone, &memory);
    keep(&place, &memory);
    let name = kept.add("a name");
    let other = kept.client.memory(Namespace::new([name]).unwrap());
    remember(&mut kept, &other);
    let planted = planted(gone, kept, place);
    let erase = ["erase", "--memory", &names[0], "--memory", &names[1], "--reason", "asked for", "--yes"];
    erased_as(&planted, "memory", &erase, &POINTS);
}

#[test]
fn a_forgotten_record_goes_with_all_that_was_made_of_it() {
    let place = Place::new();
    let (mut gone, mut kept) = (Garden::new(&place, "local", "gone"), Garden::new(&place, "local", "kept"));
    // One namespace: what was there before, what goes, with what it took the place of, and what came after.
    let name = kept.add("a name");
    let memory = gone.client.memory(Namespace::new([name.clone()]).unwrap());
    let before = record(&mut kept, &[]);
    let before = block_on(memory.assert(&before)).unwrap();
    let first = record(&mut gone, &[]);
    let first = block_on(memory.supersede(before.record, &first)).unwrap();
    let made = record(&mut gone, &[first]);
    let made = block_on(memory.assert(&made)).unwrap();
    let after = record(&mut kept, &[]);
    block_on(memory.supersede(made.record, &after)).unwrap();
    let second = remember(&mut gone, &memory);
    remember(&mut kept, &memory);
    keep(&place, &memory);
    let [first, other, last] = [first, second[0], second[1]].map(|one| one.record.to_string());
    let planted = planted(gone, kept, place);
    let erase = ["memory", "forget", "-n", &name, &first, &other, &last, "--reason", "asked for", "--yes"];
    erased_as(&planted, "records", &erase, &POINTS);
    // What it took the place of stays ended, in the copy as well.
    planted.place.json(&["session", "new"]).json();
    let all = planted.place.json(&["memory", "list", "-n", &name]).json();
    assert_eq!(all["records"].as_array().unwrap().len(), 3, "{all}");
}

#[test]
fn a_search_that_is_killed_while_it_keeps_an_index_leaves_the_old_file_or_the_new_one() {
    let place = Place::new();
    let mut garden = Garden::new(&place, "local", "kept");
    let name = garden.add("a name");
    let said = |garden: &mut Garden, count: usize| {
        for _ in 0..count {
            let text = format!("say {}.", garden.add("a record"));
            let new = NewRecord::new(RecordKind::Semantic, text, Trust::User);
            block_on(garden.client.memory(Namespace::new([name.clone()]).unwrap()).assert(&new)).unwrap();
        }
    };
    let search = ["memory", "search", "-n", &name, "say", "--limit", "1000"];
    let found = |count: usize| {
        let output =
            place.command(&[&["--json"], &search[..]].concat()).env("SAMITE_EMBEDDER", "off").output().unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["records"].as_array().unwrap().len(), count);
    };
    let killed = |point: &str| {
        let mut command = place.command(&search);
        let output = command.env("SAMITE_EMBEDDER", "off").env("SAMITE_KILL_POINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}");
    };
    said(&mut garden, 300);
    killed("memory.before_index");
    assert_eq!(kept(&place), [] as [PathBuf; 0]);
    killed("memory.index_kept");
    let bytes = |place: &Place| std::fs::read(&kept(place)[0]).unwrap();
    let first = bytes(&place);
    found(300);
    assert_eq!(bytes(&place), first);
    said(&mut garden, 300);
    killed("memory.before_index");
    assert_eq!(bytes(&place), first);
    killed("memory.index_kept");
    assert_ne!(bytes(&place), first);
    found(600);
    assert_eq!(kept(&place).len(), 1);
}
