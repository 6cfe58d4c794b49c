//! Less than all of what is remembered of a person: one namespace, and single records with what was made of them.

use super::Planted;
use super::garden::Garden;
use super::scopes::erased_as;
use crate::support::Place;
use futures_lite::future::block_on;
use samite::memory::{Edge, Extractor, Memory, Namespace, NewRecord, RecordKind, Trust, Written};
use serde_json::json;
use std::collections::HashMap;

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
    let [first, other, last] = [first, second[0], second[1]].map(|one| one.record.to_string());
    let planted = planted(gone, kept, place);
    let erase = ["memory", "forget", "-n", &name, &first, &other, &last, "--reason", "asked for", "--yes"];
    erased_as(&planted, "records", &erase, &POINTS);
    // What it took the place of stays ended, in the copy as well.
    planted.place.json(&["session", "new"]).json();
    let all = planted.place.json(&["memory", "list", "-n", &name]).json();
    assert_eq!(all["records"].as_array().unwrap().len(), 3, "{all}");
}
