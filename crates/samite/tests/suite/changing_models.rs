//! The model that makes a namespace's vectors is changed while it is written to and searched.

use crate::place::Place;
use crate::support::{World, assert_verifies, run};
use samite::Client;
use samite::memory::{
    Embedder, Memory, ModelSource, Namespace, NewRecord, Recalled, RecordKind, Search, SpaceState, Trust,
};
use samite::payload::ProcessorSet;
use samite_embed::Side;
use samite_model::memory::{Normalisation, Pooling, Space, SpaceParts};
use samite_model::policy::Region;
use samite_model::{Error, Observer, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const DIMENSIONS: u32 = 16;

/// A model that adds up a direction for each word.
struct Adding {
    space: Space,
    processor: Option<String>,
    seed: u64,
    texts: AtomicUsize,
    /// What is wrong with its vectors.
    fault: Mutex<Option<&'static str>>,
}

impl Adding {
    fn new(name: &str, seed: u64) -> Arc<Self> {
        Self::with(name, seed, None)
    }

    fn with(name: &str, seed: u64, processor: Option<&str>) -> Arc<Self> {
        let space = Space::new(SpaceParts {
            provider: "test".into(),
            model: name.into(),
            revision: String::new(),
            dimensions: DIMENSIONS,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalisation: Normalisation::Unit,
        });
        let (texts, fault) = (AtomicUsize::new(0), Mutex::new(None));
        Arc::new(Self { space: space.unwrap(), processor: processor.map(str::to_owned), seed, texts, fault })
    }

    fn direction(&self, word: &str, sum: &mut [f32]) {
        let mut hash = self.seed;
        for byte in word.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        for (place, number) in (0_u64..).zip(sum) {
            let mixed = (hash ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            *number += if mixed >> 63 == 0 { 1.0 } else { -1.0 };
        }
    }
}

impl Embedder for Adding {
    fn space(&self) -> &Space {
        &self.space
    }

    fn processor(&self) -> Option<&str> {
        self.processor.as_deref()
    }

    fn embed(&self, texts: &[&str], _: Side) -> Result<Vec<Vec<f32>>> {
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        let of = |text: &&str| {
            let mut sum = vec![0.25; DIMENSIONS as usize];
            text.to_lowercase()
                .split(|char: char| !char.is_alphanumeric())
                .for_each(|word| self.direction(word, &mut sum));
            sum
        };
        let mut vectors: Vec<Vec<f32>> = texts.iter().map(of).collect();
        match *self.fault.lock().unwrap() {
            Some("down") => return Err(Error::unavailable("embedder_down", "it is down")),
            Some("nan") => vectors[0][3] = f32::NAN,
            Some("short") => vectors[0].truncate(3),
            Some("few") => vectors.truncate(vectors.len() - 1),
            _ => {}
        }
        Ok(vectors)
    }
}

/// Knows some models by their names; the first is the one of namespaces for which none was chosen.
struct Shelf(Vec<(&'static str, Arc<Adding>)>);

impl ModelSource for Shelf {
    fn standard(&self) -> Option<&str> {
        self.0.first().map(|(name, _)| *name)
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let found = found.ok_or_else(|| Error::not_found("no_model", format!("there is no model {name}")))?;
        Ok(found.1.clone())
    }
}

fn shelf() -> (Arc<Shelf>, Arc<Adding>, Arc<Adding>) {
    let (one, two) = (Adding::new("one", 1), Adding::new("two", 2));
    (Arc::new(Shelf(vec![("one", one.clone()), ("two", two.clone()), ("three", Adding::new("three", 3))])), one, two)
}

fn notes(client: &Client) -> Memory {
    client.memory(Namespace::new(["notes"]).unwrap())
}

fn fact(text: &str) -> NewRecord {
    NewRecord::new(RecordKind::Semantic, text, Trust::User)
}

async fn ask(memory: &Memory, text: &str) -> Recalled {
    memory.search(&Search::new(text)).await.unwrap()
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> String {
    outcome.unwrap_err().code().to_owned()
}

fn state(spaces: &[SpaceState]) -> Vec<(&str, bool, u64, u64)> {
    spaces.iter().map(|one| (one.model.name.as_str(), one.is_next, one.made, one.behind)).collect()
}

/// A word for each number, which no other has a part of.
fn word(number: usize) -> String {
    let digit = |digit: u8| char::from(b'a' + (digit - b'0'));
    format!("quo{}x", number.to_string().bytes().map(digit).collect::<String>())
}

/// The files of vectors below a store.
fn files(home: &Path) -> Vec<PathBuf> {
    fn below(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "vectors") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(&home.join("memory"), &mut found);
    found
}

/// Facts, each with a word that no other has.
async fn filled(memory: &Memory, count: usize) {
    for number in 0..count {
        memory.assert(&fact(&format!("shelf {} is one of many", word(number)))).await.unwrap();
    }
}

#[test]
fn a_model_is_changed_and_the_old_vectors_go() {
    let place = Place::new();
    let store = place.open();
    run(async {
        let client = store.client().await.unwrap();
        let (shelf, one, two) = shelf();
        let memory = notes(&client).with_models(shelf.clone());
        filled(&memory, 150).await;
        assert_eq!(memory.embed_all(&Observer::default()).await.unwrap(), 150);
        assert_eq!(state(&memory.spaces().await.unwrap()), [("one", false, 150, 0)]);
        assert_eq!(ask(&memory, &word(7)).await.spaces, [one.space.id()]);
        let outcome = memory.change_model("two", None, &Observer::default()).await.unwrap();
        assert_eq!((outcome.model.name.as_str(), outcome.made, outcome.changed), ("two", 150, true));
        assert_eq!(state(&memory.spaces().await.unwrap()), [("two", false, 150, 0)]);
        assert_eq!(ask(&memory, &word(7)).await.spaces, [two.space.id()]);
        let kept = files(&store.home());
        assert_eq!(kept.len(), 1);
        assert!(kept[0].ends_with(format!("{}.vectors", two.space.id())), "{kept:?}");
        // Nothing of it was made twice, and once more is nothing.
        assert_eq!((one.texts.load(Ordering::SeqCst), two.texts.load(Ordering::SeqCst)), (150 + 1, 150 + 1));
        let outcome = memory.change_model("two", None, &Observer::default()).await.unwrap();
        assert_eq!((outcome.made, outcome.changed), (0, false));
        // Another process finds the model by its name, and one that has another is told both.
        let other = notes(&place.open().client().await.unwrap());
        assert_eq!(ask(&other.with_models(shelf.clone()), &word(7)).await.spaces, [two.space.id()]);
        let error = other.with_embedder(one.clone()).search(&Search::new(word(7))).await.unwrap_err();
        assert_eq!(error.code(), "space_mismatch");
        let both = [one.space.id(), two.space.id()].map(|id| id.short());
        assert!(both.iter().all(|id| error.message().contains(id)), "{error}");
        assert_eq!(code(other.with_embedder(one).embed_all(&Observer::default()).await), "space_mismatch");
        assert_eq!(ask(&other.with_embedder(two), &word(7)).await.spaces.len(), 1);
        assert_eq!(ask(&other, &word(7)).await.records.len(), 1, "by words alone");
        // What it is, is the namespace's: it outlives an erasure and the files.
        std::fs::remove_dir_all(store.home().join("memory")).unwrap();
        let found = ask(&notes(&place.open().client().await.unwrap()).with_models(shelf), &word(7)).await;
        assert_eq!((found.spaces.len(), found.behind.records), (1, 150 - 64));
        assert_verifies(store.store());
    });
}

#[test]
fn while_it_is_changed_both_answer_and_it_can_be_given_up() {
    let world = World::new();
    run(async {
        let (shelf, one, two) = shelf();
        let memory = notes(&world.client).with_models(shelf);
        filled(&memory, 100).await;
        memory.embed_all(&Observer::default()).await.unwrap();
        assert_eq!(code(memory.change_model("four", None, &Observer::default()).await), "no_model");
        assert_eq!(code(memory.abandon_model().await), "no_model_change");
        // It fails in the middle, and is begun all the same.
        *two.fault.lock().unwrap() = Some("down");
        assert_eq!(code(memory.change_model("two", None, &Observer::default()).await), "embedder_down");
        let error = memory.change_model("three", None, &Observer::default()).await.unwrap_err();
        assert_eq!(error.code(), "model_change_underway");
        assert!(error.message().contains("test/two") && error.message().contains("test/three"), "{error}");
        let found = ask(&memory, &word(7)).await;
        assert_eq!((found.spaces.as_slice(), found.behind.failed), (&[one.space.id()][..], Some("embedder_down")));
        *two.fault.lock().unwrap() = None;
        // A search makes some of the next one's vectors too, and is answered by both.
        let found = ask(&memory, &word(7)).await;
        assert_eq!((found.spaces, found.behind.records), (vec![one.space.id(), two.space.id()], 0));
        assert_eq!(state(&memory.spaces().await.unwrap())[0], ("one", false, 100, 0));
        assert!(memory.spaces().await.unwrap()[1].is_next);
        assert_eq!(memory.abandon_model().await.unwrap().name, "two");
        assert_eq!(ask(&memory, &word(7)).await.spaces, [one.space.id()]);
        assert!(memory.change_model("three", None, &Observer::default()).await.unwrap().changed);
        assert_verifies(&world.store);
    });
}

#[test]
fn under_load_every_search_is_answered_at_least_as_by_words() {
    let place = Place::new();
    let store = place.open();
    let (shelf, ..) = shelf();
    let client = run(async { store.client().await.unwrap() });
    let memory = notes(&client).with_models(shelf);
    run(async {
        filled(&memory, 300).await;
        memory.embed_all(&Observer::default()).await.unwrap();
    });
    let is_done = AtomicBool::new(false);
    let searches = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (memory, words) = (&memory, notes(&client));
        let worker = |which: usize| {
            let (words, is_done, searches) = (words.clone(), &is_done, &searches);
            move || {
                run(async {
                    let mut number = which;
                    while !is_done.load(Ordering::SeqCst) {
                        number += 2;
                        memory
                            .assert(&fact(&format!("{} came while it was changed", word(1000 + number))))
                            .await
                            .unwrap();
                        for question in [word(1000 + number), word(number % 300)] {
                            let by_words = ask(&words, &question).await;
                            let by_both = ask(memory, &question).await;
                            let first = |found: &Recalled| found.records[0].standing.record.record;
                            let wanted = first(&by_words);
                            let is_found = by_both.records.iter().any(|one| one.standing.record.record == wanted);
                            assert!(is_found, "{question}");
                            searches.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        };
        let workers = [scope.spawn(worker(0)), scope.spawn(worker(1))];
        for name in ["two", "three", "one"] {
            let before = searches.load(Ordering::SeqCst);
            assert!(run(memory.change_model(name, None, &Observer::default())).unwrap().changed);
            while searches.load(Ordering::SeqCst) < before + 8 && workers.iter().all(|worker| !worker.is_finished()) {
                std::thread::yield_now();
            }
        }
        is_done.store(true, Ordering::SeqCst);
    });
    run(async {
        assert!(searches.load(Ordering::SeqCst) >= 24);
        memory.embed_all(&Observer::default()).await.unwrap();
        let spaces = memory.spaces().await.unwrap();
        assert_eq!((spaces.len(), spaces[0].model.name.as_str(), spaces[0].behind), (1, "one", 0));
        assert_eq!(files(&store.home()).len(), 1);
        assert_verifies(store.store());
    });
}

#[test]
fn a_file_that_is_cut_anywhere_is_read_as_far_as_it_goes_and_made_whole() {
    let place = Place::new();
    let store = place.open();
    run(async {
        let (shelf, one, _) = shelf();
        let memory = notes(&store.client().await.unwrap()).with_models(shelf.clone());
        filled(&memory, 3).await;
        // Three pieces, one a search.
        for number in 0..3 {
            ask(&memory, &word(number)).await;
            filled(&memory, 3 + number).await;
        }
        ask(&memory, &word(4)).await;
        let path = files(&store.home()).remove(0);
        let bytes = std::fs::read(&path).unwrap();
        let mut fewest = usize::MAX;
        for length in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let before = one.texts.load(Ordering::SeqCst);
            let other = notes(&place.open().client().await.unwrap()).with_models(shelf.clone());
            let found = ask(&other, &word(4)).await;
            assert_eq!((found.records[0].standing.record.text.contains(&word(4)), found.behind.records), (true, 0));
            fewest = fewest.min(one.texts.load(Ordering::SeqCst) - before);
            // Whatever was cut, it is whole now.
            let other = notes(&place.open().client().await.unwrap()).with_models(shelf.clone());
            assert_eq!(state(&other.spaces().await.unwrap())[0].3, 0, "{length}");
        }
        // The question, and what was in the last piece.
        assert_eq!(fewest, 2);
    });
}

#[test]
fn what_is_no_vector_is_kept_by_nobody() {
    let world = World::new();
    run(async {
        let (shelf, one, _) = shelf();
        let memory = notes(&world.client).with_models(shelf);
        filled(&memory, 3).await;
        for (fault, is) in [("nan", "bad_vector"), ("short", "wrong_dimensions"), ("few", "wrong_count")] {
            *one.fault.lock().unwrap() = Some(fault);
            let found = ask(&memory, &word(1)).await;
            assert_eq!((found.behind.failed, found.behind.records, found.records.len()), (Some(is), 3, 1));
            assert_eq!(code(memory.embed_all(&Observer::default()).await), is);
            assert_eq!(code(memory.change_model("one", None, &Observer::default()).await), is);
        }
        *one.fault.lock().unwrap() = None;
        assert_eq!(memory.embed_all(&Observer::default()).await.unwrap(), 3);
    });
}

#[test]
fn texts_are_given_to_nobody_who_is_not_registered_for_that() {
    let world = World::new();
    run(async {
        let acme = Adding::with("far", 9, Some("acme"));
        let shelf = Arc::new(Shelf(vec![("one", Adding::new("one", 1)), ("far", acme.clone())]));
        let memory = notes(&world.client).with_models(shelf.clone());
        filled(&memory, 3).await;
        let change = async || memory.change_model("far", None, &Observer::default()).await;
        assert_eq!(code(change().await), "no_processor_for_memory");
        let registered = |receives: &str| ProcessorSet {
            name: "acme".into(),
            region: Region::new("eu").unwrap(),
            purpose: "embeddings".into(),
            agreement: "signed".into(),
            receives: vec![receives.to_owned()],
            removed: false,
            reason: None,
        };
        world.client.register_processor(registered("sessions")).await.unwrap();
        assert_eq!(code(change().await), "no_processor_for_memory");
        assert_eq!(acme.texts.load(Ordering::SeqCst), 0);
        world.client.register_processor(registered("memory")).await.unwrap();
        assert!(change().await.unwrap().changed);
        assert_eq!(acme.texts.load(Ordering::SeqCst), 3);
        // Once it may not have them any more, searches go on by words.
        world.client.remove_processor("acme", None).await.unwrap();
        let found = ask(&memory, &word(1)).await;
        assert_eq!((found.spaces.len(), found.behind.failed), (0, Some("no_processor_for_memory")));
        assert_eq!(found.records.len(), 1);
        assert_eq!(acme.texts.load(Ordering::SeqCst), 3);
    });
}
