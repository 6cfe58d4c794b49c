//! What is kept of a namespace, in the process and between processes: a search answers as if nothing had been kept.

use crate::place::Place;
use crate::support::{principal, run};
use samite::embedded::Embedded;
use samite::erasure::{EraseOptions, EraseWhat};
use samite::memory::{
    BranchMemory, Memory, MemoryFilter, MemorySettings, Namespace, NewRecord, Recalled, RecordKind, RecordedIn,
    RevokedSource, Search, Standing, Treatment, Trust, Verdict,
};
use samite::{Client, NewSession, Observer, WriterOptions};
use samite_embed::{Embedder, Normalisation, Pooling, Side, Space, SpaceParts};
use samite_model::{Position, RecordId, Result};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WORDS: [&str; 12] =
    ["lamp", "tea", "Oslo", "bicycle", "garden", "blue", "Ann", "winter", "2023-05-08", "train", "book", "not"];

fn name() -> Namespace {
    Namespace::new(["notes"]).unwrap()
}

/// An encoder whose vectors follow from the letters.
#[derive(Debug)]
struct Letters(Space);

impl Letters {
    fn new() -> Arc<Self> {
        let parts = SpaceParts {
            provider: "test".into(),
            model: "letters".into(),
            revision: "1".into(),
            dimensions: 5,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalisation: Normalisation::Unit,
        };
        Arc::new(Self(Space::new(parts).unwrap()))
    }
}

impl Embedder for Letters {
    fn space(&self) -> &Space {
        &self.0
    }

    fn embed(&self, texts: &[&str], _side: Side) -> Result<Vec<Vec<f32>>> {
        let of = |text: &&str| {
            let mut vector = vec![0.5_f32; 5];
            for byte in text.bytes() {
                vector[usize::from(byte % 5)] += f32::from(byte % 7) - 2.0;
            }
            vector
        };
        Ok(texts.iter().map(of).collect())
    }
}

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn text(&mut self) -> String {
        let count = 2 + self.below(6);
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        format!("{} {}", words.join(" "), self.below(40))
    }

    fn new_record(&mut self, known: &[RecordId]) -> NewRecord {
        let trust = [Trust::User, Trust::Model, Trust::Tool, Trust::Web][self.below(4)];
        let mut metadata = serde_json::Map::new();
        if self.below(2) == 0 {
            metadata.insert("speaker".into(), json!(["Ann", "Bob"][self.below(2)]));
        }
        let some = |numbers: &mut Self| (!known.is_empty()).then(|| known[numbers.below(known.len())]);
        let (previous, input) = (some(self).filter(|_| self.below(2) == 0), some(self).filter(|_| self.below(5) == 0));
        NewRecord {
            metadata,
            previous,
            inputs: input.into_iter().collect(),
            source: (trust == Trust::Web).then(|| format!("https://{}.example/", self.below(5))),
            ..NewRecord::new(RecordKind::Semantic, self.text(), trust)
        }
    }
}

/// A namespace in use: one process that goes on, and a session in it.
struct Used {
    place: Place,
    store: Embedded,
    client: Client,
    /// None where it is searched by words alone.
    encoder: Option<Arc<Letters>>,
}

impl Used {
    fn new(encoder: Option<Arc<Letters>>) -> Self {
        let place = Place::new();
        let store = place.open();
        let client = run(store.store().client(principal("ada"))).unwrap();
        Self { place, store, client, encoder }
    }

    fn memory(&self) -> Memory {
        self.of(&self.client)
    }

    fn of(&self, client: &Client) -> Memory {
        let memory = client.memory(name());
        match &self.encoder {
            Some(encoder) => memory.with_embedder(encoder.clone()),
            None => memory,
        }
    }

    /// The namespace in a new process.
    fn anew(&self, view: impl Fn(Memory) -> Memory) -> Memory {
        let client = run(self.place.open().store().client(principal("ada"))).unwrap();
        view(self.of(&client))
    }

    /// Where files are kept beside the ledger.
    fn kept(&self) -> PathBuf {
        self.store.home().join("memory")
    }

    /// The kept index, if there is one.
    fn file(&self) -> Option<PathBuf> {
        let journal = run(self.memory().position()).unwrap()?.journal;
        Some(self.kept().join(journal.to_string()).join("records.index")).filter(|path| path.exists())
    }

    async fn forget(&self, record: RecordId) {
        let what = EraseWhat::Records { namespace: name(), records: vec![record] };
        let options =
            EraseOptions { what, reason: "asked for".into(), also: Vec::new(), observer: Observer::default() };
        self.store.erase(&self.client, &options).await.unwrap();
    }
}

/// What is asked, with what is to be the same whoever asks.
fn asked(memory: &Memory, text: &str, recorded: Option<RecordedIn>, hops: u32) -> (Recalled, Vec<Standing>) {
    let search = Search { recorded, hops, valid_at: Some(7), limit: 20, ..Search::new(text) };
    let found = run(memory.search(&search)).unwrap();
    let all = run(memory.records(&MemoryFilter { all: true, recorded, ..MemoryFilter::default() })).unwrap();
    (Recalled { recorded: None, ..found }, all)
}

/// Asks the process that goes on, a new one with what is kept, and one for which nothing is kept: all answer the same.
fn agree(used: &Used, numbers: &mut Numbers, view: impl Fn(Memory) -> Memory) {
    let (text, hops) = (numbers.text(), u32::try_from(numbers.below(2)).unwrap());
    let ongoing = view(used.memory());
    // The vectors of all are there, so that who makes some does not matter.
    run(ongoing.embed_all(&Observer::default())).unwrap();
    let seq = run(used.memory().position()).unwrap().map(|at| RecordedIn::Seq(at.seq));
    for recorded in [None, seq] {
        let known = asked(&ongoing, &text, recorded, hops);
        assert_eq!(asked(&used.anew(&view), &text, recorded, hops), known, "{text}");
        if !used.kept().exists() {
            continue;
        }
        let away = used.place.path("away");
        fs::rename(used.kept(), &away).unwrap();
        let anew = used.anew(&view);
        run(anew.embed_all(&Observer::default())).unwrap();
        assert_eq!(asked(&anew, &text, recorded, hops), known, "{text}");
        fs::remove_dir_all(used.kept()).unwrap();
        fs::rename(&away, used.kept()).unwrap();
    }
}

/// Does something to a namespace, or to a branch of it.
async fn act(used: &Used, branch: &BranchMemory<'_>, numbers: &mut Numbers) {
    let memory = used.memory();
    let all = memory.records(&MemoryFilter::default()).await.unwrap();
    let known: Vec<RecordId> = all.iter().map(|one| one.record.record).collect();
    let new = numbers.new_record(&known);
    if known.is_empty() {
        memory.assert(&NewRecord { trust: Trust::User, ..new }).await.unwrap();
        return;
    }
    let one = known[numbers.below(known.len())];
    // What is refused changes nothing.
    let _ = match numbers.below(14) {
        0..=2 => memory.assert(&new).await.map(|_| ()),
        3 => memory.supersede(one, &new).await.map(|_| ()),
        4 => memory.correct(one, &new).await.map(|_| ()),
        5 => memory.retract(one, Some("why")).await.map(|_| ()),
        6 => memory.pin(one, numbers.below(2) == 0).await.map(|_| ()),
        7 => {
            let source = RevokedSource { records: vec![one], ..RevokedSource::default() };
            memory.revoke(&source, "a page that lies").await.map(|_| ())
        }
        8 => match memory.quarantined().await.unwrap().first() {
            Some(waits) => memory.decide(&[waits.record.record], Verdict::Approved, None).await.map(|_| ()),
            None => Ok(()),
        },
        9 => {
            let treatment = [Treatment::Open, Treatment::Apart][numbers.below(2)];
            let treatments = [(Trust::Tool, treatment)].into_iter().collect();
            memory.set_settings(&MemorySettings { treatments, ..MemorySettings::default() }).await.map(|_| ())
        }
        10 | 11 => branch.assert(&new).await.map(|_| ()),
        12 => branch.retract(one, None).await.map(|_| ()),
        _ => branch.promote().await.map(|_| ()),
    };
}

#[test]
fn whatever_is_done_what_is_kept_answers_like_what_is_made_anew() {
    for seed in 0..4 {
        eprintln!("seed {seed}");
        let (used, mut numbers) = (Used::new(Some(Letters::new())), Numbers(seed));
        let session = run(used.client.create_session(NewSession::default())).unwrap().id;
        let writer = run(used.client.writer(session, None, WriterOptions::default())).unwrap();
        let branch = writer.memory(name());
        run(used.memory().assert(&NewRecord::new(RecordKind::Semantic, "the first", Trust::User))).unwrap();
        // Of some there is a file, and of others there are too few for one.
        if seed % 2 == 1 {
            for number in 0..300 {
                let text = format!("{} of {number}", numbers.text());
                run(used.memory().assert(&NewRecord::new(RecordKind::Semantic, text, Trust::User))).unwrap();
            }
        }
        for round in 0..8 {
            for _ in 0..6 {
                run(act(&used, &branch, &mut numbers));
            }
            if round == 4 {
                let all = run(used.memory().records(&MemoryFilter::default())).unwrap();
                let one = all[numbers.below(all.len())].record.record;
                run(used.forget(one));
                assert_eq!(used.file(), None);
            }
            agree(&used, &mut numbers, |memory| memory);
            let (journal, head) = (writer.branch(), run(used.client.head(session, writer.branch())).unwrap());
            let at = Position { journal, seq: head.seq };
            agree(&used, &mut numbers, |memory| memory.on(at));
        }
        assert_eq!(used.file().is_some(), seed % 2 == 1);
        run(writer.release()).unwrap();
    }
}

fn fill(memory: &Memory, what: &str, count: usize) {
    for number in 0..count {
        let text = format!("the {what} {number}");
        run(memory.assert(&NewRecord::new(RecordKind::Semantic, text, Trust::User))).unwrap();
    }
}

/// How many records a new process finds of these words, and whether it knows the file.
fn counted(used: &Used, words: &[&str]) -> Vec<usize> {
    let memory = used.anew(|memory| memory);
    let all = run(memory.records(&MemoryFilter::default())).unwrap();
    for word in words {
        let found = run(memory.search(&Search::new(*word))).unwrap();
        assert!(found.records.iter().all(|one| one.standing.record.text.contains(word)), "{word}");
    }
    words.iter().map(|word| all.iter().filter(|one| one.record.text.contains(word)).count()).collect()
}

#[test]
fn a_file_of_another_history_or_a_damaged_one_is_made_again() {
    let used = Used::new(None);
    let memory = used.memory();
    fill(&memory, "lamp", 300);
    assert_eq!(used.file(), None);
    run(memory.search(&Search::new("lamp"))).unwrap();
    let path = used.file().unwrap();
    let old = fs::read(&path).unwrap();
    assert!(!old.windows(8).any(|bytes| bytes == b"the lamp"), "sealed");
    // A few more are no reason to write it again.
    fill(&memory, "chair", 20);
    run(memory.search(&Search::new("chair"))).unwrap();
    assert_eq!(fs::read(&path).unwrap(), old);
    assert_eq!(counted(&used, &["lamp", "chair"]), [300, 20]);
    // What another copy of the store made meanwhile is not taken.
    copy(&used.place.path("store"), &used.place.path("copy"));
    let there = run(used.place.open_at(&used.place.path("copy")).store().client(principal("ada"))).unwrap();
    fill(&there.memory(name()), "rose", 300);
    run(there.memory(name()).search(&Search::new("rose"))).unwrap();
    let home = path.strip_prefix(used.place.path("store")).unwrap();
    let other = fs::read(used.place.path("copy").join(home)).unwrap();
    assert_ne!(other, old);
    fs::write(&path, &other).unwrap();
    assert_eq!(counted(&used, &["lamp", "chair", "rose"]), [300, 20, 0]);
    fill(&memory, "table", 300);
    fs::write(&path, &other).unwrap();
    assert_eq!(counted(&used, &["lamp", "chair", "rose", "table"]), [300, 20, 0, 300]);
    assert_ne!(fs::read(&path).unwrap(), other);
    // An older one is gone on from; a damaged one is made again.
    fs::write(&path, &old).unwrap();
    assert_eq!(counted(&used, &["lamp", "table"]), [300, 300]);
    for place in (0..old.len()).step_by(old.len() / 12) {
        let mut changed = old.clone();
        changed[place] ^= 4;
        fs::write(&path, &changed).unwrap();
        assert_eq!(counted(&used, &["lamp", "chair"]), [300, 20], "{place}");
        fs::write(&path, &old[..place]).unwrap();
        assert_eq!(counted(&used, &["lamp", "chair"]), [300, 20], "{place}");
    }
}

#[test]
fn nothing_is_kept_over_an_erasure_by_whoever_kept_it() {
    let used = Used::new(None);
    let memory = used.memory();
    fill(&memory, "lamp", 300);
    let gone = run(memory.assert(&NewRecord::new(RecordKind::Semantic, "a canary", Trust::User))).unwrap();
    // Another process has it too.
    let other = used.anew(|memory| memory);
    for memory in [&memory, &other] {
        assert_eq!(run(memory.search(&Search::new("canary"))).unwrap().records.len(), 1);
    }
    assert!(used.file().is_some());
    run(used.forget(gone.record));
    assert_eq!(used.file(), None);
    for memory in [&memory, &other, &used.anew(|memory| memory)] {
        assert_eq!(having(memory, "canary"), 0);
    }
    // It is made again of what is left.
    assert!(used.file().is_some());
    assert_eq!(counted(&used, &["lamp", "canary"]), [300, 0]);
    run(used.store.erase(
        &used.client,
        &EraseOptions {
            what: EraseWhat::Memory(name()),
            reason: "asked for".into(),
            also: Vec::new(),
            observer: Observer::default(),
        },
    ))
    .unwrap();
    assert!(fs::read_dir(used.kept()).unwrap().next().is_none());
    assert_eq!(run(other.records(&MemoryFilter::default())).unwrap(), []);
    fill(&memory, "anew", 1);
    assert_eq!(run(other.records(&MemoryFilter::default())).unwrap().len(), 1);
}

/// How many records are found that have a word.
fn having(memory: &Memory, word: &str) -> usize {
    let found = run(memory.search(&Search::new(word))).unwrap();
    found.records.iter().filter(|one| one.standing.record.text.contains(word)).count()
}

/// Copies a store that nobody writes to.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy(&path, &to) } else { fs::copy(&path, &to).map(|_| ()).unwrap() }
    }
}

#[test]
fn many_who_read_and_write_at_once_see_what_was_acknowledged() {
    let used = Used::new(Some(Letters::new()));
    fill(&used.memory(), "lamp", 3);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let memory = used.memory();
            scope.spawn(move || {
                for number in 0..20 {
                    let text = format!("said by {writer} as {number}");
                    let new = NewRecord::new(RecordKind::Semantic, text, Trust::User);
                    let written = run(memory.assert(&new)).unwrap();
                    assert_eq!(run(memory.record_of(written.record, None)).unwrap().at, written.at);
                    let found = run(memory.search(&Search { limit: 100, ..Search::new("said") })).unwrap();
                    assert!(found.records.iter().any(|one| one.standing.record.record == written.record));
                }
            });
        }
    });
    assert_eq!(run(used.memory().records(&MemoryFilter::default())).unwrap().len(), 63);
    agree(&used, &mut Numbers(9), |memory| memory);
}
