//! Long-term memory of one tenant, user or namespace never comes out at another, whatever their names look like; what is missing never
//! means all; and what was erased is in no file and no answer any more.

use crate::place::Place;
use crate::support::{options, principal, run};
use samite::Client;
use samite::embedded::{Embedded, EmbeddedOptions};
use samite::erasure::{EraseOptions, EraseWhat};
use samite::memory::{
    Edge, Memory, MemoryFilter, Namespace, NewRecord, Recalled, RecordKind, RevokedSource, Search, Seen, Trust, Written,
};
use samite_embed::{Embedder, Normalisation, Pooling, Side, Space, SpaceParts};
use samite_ledger::testing::Seeded;
use samite_model::{Observer, Principal, RecordId, Result, Tenant};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names that collide, or look like each other, or like something else, to whatever compares, joins or expands carelessly.
const USERS: [&str; 8] = ["ada", "Ada", "ada%", "*", "\u{ff41}\u{ff44}\u{ff41}", "..", "a/b", "user:ada"];
const SPACES: [&[&str]; 9] =
    [&["a", "b"], &["a/b"], &["a"], &["%"], &["*"], &[".."], &["\u{ff41}"], &["a", "b", "c"], &["\u{e4}"]];
const WORDS: [&str; 6] = ["tea", "secret", "garden", "plan", "money", "the"];

fn open(place: &Place, tenant: &str) -> Embedded {
    let tenant = Tenant::new(tenant).unwrap();
    Embedded::open(EmbeddedOptions { tenant, ..options(&place.path("store"), &place.path("master.key")) }).unwrap()
}

fn of_tenant(tenant: &str, user: &str) -> Principal {
    Principal { tenant: Tenant::new(tenant).unwrap(), ..principal(user) }
}

async fn client(store: &Embedded, tenant: &str, user: &str) -> Client {
    store.store().client(of_tenant(tenant, user)).await.unwrap()
}

fn name(segments: &[&str]) -> Namespace {
    Namespace::new(segments.iter().copied()).unwrap()
}

fn fact(text: &str) -> NewRecord {
    NewRecord::new(RecordKind::Semantic, text, Trust::User)
}

fn of(text: &str, inputs: &[Written]) -> NewRecord {
    NewRecord { inputs: inputs.iter().map(|written| written.record).collect(), ..fact(text) }
}

fn erasing(what: EraseWhat) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() }
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> String {
    outcome.unwrap_err().code().to_owned()
}

fn texts(found: &Recalled) -> Vec<&str> {
    found.records.iter().chain(&found.apart).map(|one| one.standing.record.text.as_str()).collect()
}

/// All that a search says but for where it was recorded: each record with the bits of its scores.
fn answer(found: &Recalled) -> Vec<(RecordId, String, u32, u32, Option<u32>)> {
    let one = |one: &samite::memory::FoundRecord| {
        let (record, scored) = (&one.standing.record, one.scored);
        let dot = scored.dot.map(f32::to_bits);
        (record.record, record.text.clone(), scored.score.to_bits(), scored.coverage.to_bits(), dot)
    };
    found.records.iter().chain(&found.apart).map(one).collect()
}

async fn everything(memory: &Memory) -> Vec<String> {
    let filter = MemoryFilter { all: true, ..MemoryFilter::default() };
    memory.records(&filter).await.unwrap().into_iter().map(|one| one.record.text.clone()).collect()
}

/// An encoder by the first letters of a text.
#[derive(Debug)]
struct Letters(Space);

impl Letters {
    fn new() -> Arc<Self> {
        let space = Space::new(SpaceParts {
            provider: "test".into(),
            model: "letters".into(),
            revision: "1".into(),
            dimensions: 2,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalisation: Normalisation::Unit,
        });
        Arc::new(Self(space.unwrap()))
    }
}

impl Embedder for Letters {
    fn space(&self) -> &Space {
        &self.0
    }

    fn embed(&self, texts: &[&str], _side: Side) -> Result<Vec<Vec<f32>>> {
        let is_early = |text: &&str| text.bytes().next().is_some_and(|first| first < b'n');
        Ok(texts.iter().map(|text| if is_early(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] }).collect())
    }
}

/// Asks five thousand questions, some with the words of others, and asserts that each is answered with what is the asker's.
async fn ask_at_random(random: &Seeded, mine: &[(Memory, String)], all: &[(Memory, String)]) {
    let pick = |count: usize| usize::try_from(random.below(count as u64)).unwrap();
    for _ in 0..5_000 {
        let (memory, whose) = &mine[pick(mine.len())];
        let others = &all[pick(all.len())].1;
        let question = format!("{} {} {} {others}", WORDS[pick(6)], WORDS[pick(6)], USERS[pick(8)]);
        let found = memory.search(&Search { limit: 50, ..Search::new(question) }).await.unwrap();
        assert!(texts(&found).iter().all(|text| text.ends_with(whose)), "{whose}: {found:?}");
    }
}

#[test]
fn of_ten_thousand_questions_none_is_answered_with_what_is_anothers() {
    let place = Place::new();
    run(async {
        let random = Seeded::new(38_42);
        let pick = |count: usize| usize::try_from(random.below(count as u64)).unwrap();
        let stores = ["acme", "beta"].map(|tenant| (tenant, open(&place, tenant)));
        let mut all = Vec::new();
        for (tenant, store) in &stores {
            for user in USERS {
                let client = client(store, tenant, user).await;
                for segments in SPACES {
                    let whose = format!("of {tenant} {user} in {segments:?}.");
                    let memory = client.memory(name(segments));
                    for number in 0..2 {
                        let text = format!("{} {} {number} {whose}", WORDS[pick(6)], WORDS[pick(6)]);
                        memory.assert(&fact(&text)).await.unwrap();
                    }
                    all.push((memory, whose));
                }
            }
        }
        // Each tenant's half of the questions at the same time as the other's.
        let (acme, beta) = all.split_at(all.len() / 2);
        std::thread::scope(|scope| {
            for (seed, mine) in [(38, acme), (42, beta)] {
                let all = &all;
                scope.spawn(move || run(ask_at_random(&Seeded::new(seed), mine, all)));
            }
        });
        for (memory, whose) in &all {
            let listed = everything(memory).await;
            assert!(listed.len() == 2 && listed.iter().all(|text| text.ends_with(whose)), "{whose}: {listed:?}");
            let brief = memory.brief("", 100_000).await.unwrap();
            assert!(brief.records.len() == 2 && brief.records.iter().all(|one| one.record.text.ends_with(whose)));
        }
        // A record's id says nothing to anybody else.
        let (first, others) = all.split_first().unwrap();
        let record = first.0.records(&MemoryFilter::default()).await.unwrap()[0].record.record;
        for (memory, whose) in others {
            assert_eq!(code(memory.record_of(record, None).await), "no_record", "{whose}");
            assert_eq!(code(memory.find_record(&record.to_string()).await), "no_record", "{whose}");
        }
    });
}

#[test]
fn what_is_missing_or_says_nothing_never_means_all() {
    let place = Place::new();
    run(async {
        let store = open(&place, "acme");
        let ada = client(&store, "acme", "ada").await;
        let kept = ada.memory(name(&["notes"])).assert(&fact("not for everybody")).await.unwrap();
        let long = "x".repeat(10_000);
        for (part, value, expected) in [
            ("user", "", "incomplete_principal"),
            ("agent", "", "incomplete_principal"),
            ("workload", "", "incomplete_principal"),
            ("user", "a\0b", "bad_name"),
            ("user", "a\nb", "bad_name"),
            ("agent", "a\nb", "bad_name"),
            ("user", &long, "name_too_long"),
        ] {
            let mut who = of_tenant("acme", "ada");
            match part {
                "user" => who.user = value.to_owned(),
                "agent" => who.agent = value.to_owned(),
                _ => who.workload = value.to_owned(),
            }
            let length = value.len();
            assert_eq!(code(store.store().client(who).await.map(|_| ())), expected, "{part} of {length} bytes");
        }
        let other = code(store.store().client(of_tenant("beta", "ada")).await.map(|_| ()));
        assert_eq!(other, "other_tenant");
        let bad: [&[&str]; 13] = [
            &[],
            &[""],
            &[" "],
            &["notes", ""],
            &["", "notes"],
            &["\u{200b}"],
            &["notes\0"],
            &["no\ntes"],
            &["\u{202e}seton"],
            &["notes\u{200d}"],
            &[" notes"],
            &[&long],
            &["a", "b", "c", "d", "e", "f", "g", "h", "i"],
        ];
        for segments in bad {
            assert_eq!(code(Namespace::new(segments.iter().copied())), "bad_namespace", "{segments:.40?}");
        }
        // What is nowhere answers with nothing, and what changes something of it is refused.
        let nowhere = ada.memory(name(&["nowhere"]));
        assert_eq!(nowhere.search(&Search::new("everybody")).await.unwrap(), Recalled::default());
        assert_eq!(everything(&nowhere).await, [""; 0]);
        assert_eq!(nowhere.brief("everybody", 1000).await.unwrap().records, []);
        assert_eq!(nowhere.seen(&Seen::default()).await.unwrap(), []);
        assert_eq!(code(nowhere.history(kept.record).await), "no_record");
        assert_eq!(code(nowhere.made_of(kept.record).await), "no_record");
        assert_eq!(code(nowhere.find_record("").await), "no_record");
        assert_eq!(code(ada.memory(name(&["notes"])).find_record("").await), "no_record");
        assert_eq!(code(nowhere.retract(kept.record, None).await), "no_record");
        let nothing = RevokedSource::default();
        assert_eq!(code(nowhere.revoke(&nothing, "why").await), "nothing_named");
        assert_eq!(code(ada.memory(name(&["notes"])).revoke(&nothing, "why").await), "nothing_named");
        let whole = erasing(EraseWhat::Memory(name(&["nowhere"])));
        assert_eq!(code(store.erase(&ada, &whole).await), "empty_namespace");
        for user in ["", "*", "%", "Ada", "ada "] {
            let outcome = store.erase(&ada, &erasing(EraseWhat::User(user.to_owned()))).await;
            let expected = if user.is_empty() { "empty_name" } else { "no_subject" };
            assert_eq!(code(outcome), expected, "{user:?}");
        }
        let records = |records: Vec<RecordId>| EraseWhat::Records { namespace: name(&["notes"]), records };
        assert_eq!(code(store.erase(&ada, &erasing(records(Vec::new()))).await), "bad_scope");
        // One that is not there keeps the others from going too: success never means that nothing was done.
        let outcome = store.erase(&ada, &erasing(records(vec![kept.record, RecordId([9; 16])]))).await;
        assert_eq!(code(outcome), "no_record");
        assert_eq!(everything(&ada.memory(name(&["notes"]))).await, ["not for everybody"]);
        assert!(store.store().verify(false, None).await.unwrap().findings.is_empty());
    });
}

#[test]
fn erasing_one_user_changes_no_bit_of_anybody_elses_answers() {
    let place = Place::new();
    run(async {
        let stores = ["acme", "beta"].map(|tenant| (tenant, open(&place, tenant)));
        let users = ["ada", "Ada", "ada%"];
        let mut others = Vec::new();
        for (tenant, store) in &stores {
            for user in users {
                let client = client(store, tenant, user).await;
                let memory = client.memory(name(&["a", "b"])).with_embedder(Letters::new());
                for number in 0..12 {
                    let text = format!("the plan {number} of {user}: tea in garden {number}");
                    memory.assert(&fact(&text)).await.unwrap();
                }
                memory.embed_all(&Observer::default()).await.unwrap();
                if (*tenant, user) != ("acme", "ada") {
                    others.push(memory);
                }
            }
        }
        let ask = async || {
            let mut answers = Vec::new();
            for memory in &others {
                for question in ["tea", "garden 7", "plan of ada", "", "nothing of the kind"] {
                    answers.push(answer(&memory.search(&Search::new(question)).await.unwrap()));
                }
                answers.push(Vec::new());
                let listed = memory.records(&MemoryFilter::default()).await.unwrap();
                assert_eq!(listed.len(), 12);
                let brief = memory.brief("tea", 300).await.unwrap();
                assert!(!brief.records.is_empty());
            }
            answers
        };
        let before = ask().await;
        let (_, acme) = &stores[0];
        let ada = client(acme, "acme", "ada").await;
        let record = acme.erase(&ada, &erasing(EraseWhat::User("ada".to_owned()))).await.unwrap();
        let counted = &record.proof.as_ref().unwrap().1.stores;
        let records = counted.iter().find(|one| one.store == "records").unwrap();
        assert_eq!((records.found, records.deleted, records.retained), (12, 12, 0));
        assert_eq!(ask().await, before);
        // There is nobody left to erase: that is no success.
        assert_eq!(code(acme.erase(&ada, &erasing(EraseWhat::User("ada".to_owned()))).await), "no_subject");
        // Somebody who still held the erased user's client brings nothing back.
        let late = ada.memory(name(&["a", "b"])).assert(&fact("late words of the erased")).await;
        let back = client(acme, "acme", "ada").await.memory(name(&["a", "b"]));
        let listed = everything(&back).await;
        assert!(listed.iter().all(|text| text.starts_with("late")), "{late:?} {listed:?}");
        assert_eq!(ask().await, before);
    });
}

#[test]
fn a_record_goes_with_its_edges_and_no_edge_leads_to_what_is_gone() {
    let place = Place::new();
    run(async {
        let store = open(&place, "acme");
        let ada = client(&store, "acme", "ada").await;
        let memory = ada.memory(name(&["notes"]));
        let episode = memory.assert(&fact("Ada told that she met Grace at the harbour.")).await.unwrap();
        let edge = |from: &str, to: &str, inputs: &[Written]| NewRecord {
            kind: RecordKind::Edge,
            edge: Some(Edge { from: from.into(), relation: "met".into(), to: to.into() }),
            ..of(&format!("{from} met {to}"), inputs)
        };
        memory.assert(&edge("Ada", "Grace", &[episode])).await.unwrap();
        memory.assert(&edge("Grace", "Alan", &[])).await.unwrap();
        memory.assert(&fact("Grace sails at dawn.")).await.unwrap();
        let question = Search { hops: 2, ..Search::new("Whom did Ada meet at the harbour?") };
        let before = memory.search(&question).await.unwrap();
        assert!(texts(&before).contains(&"Ada met Grace") && texts(&before).contains(&"Grace met Alan"), "{before:?}");
        let what = EraseWhat::Records { namespace: name(&["notes"]), records: vec![episode.record] };
        let record = store.erase(&ada, &erasing(what)).await.unwrap();
        assert_eq!(record.started.records.len(), 2);
        let after = memory.search(&question).await.unwrap();
        assert!(!texts(&after).iter().any(|text| text.contains("Ada")), "{after:?}");
        let gone: Vec<RecordId> = record.started.records.clone();
        for one in after.records.iter().chain(&after.apart) {
            assert!(!one.over.iter().any(|over| gone.contains(over)) && !gone.contains(&one.standing.record.record));
        }
        for standing in memory.records(&MemoryFilter { all: true, ..MemoryFilter::default() }).await.unwrap() {
            assert!(standing.sayings().all(|(_, from, _)| from.inputs.iter().all(|input| !gone.contains(input))));
        }
        // The edge that was made of nothing else stays.
        assert_eq!(everything(&memory).await, ["Grace met Alan", "Grace sails at dawn."]);
    });
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn no_file_has_a_word_of_what_was_erased() {
    let place = Place::new();
    run(async {
        let store = open(&place, "acme");
        let ada = client(&store, "acme", "ada").await;
        let memory = ada.memory(name(&["notes"])).with_embedder(Letters::new());
        let words = ["xylographic", "quixotically", "zymurgist"];
        let first = memory.assert(&fact("the xylographic print hangs there")).await.unwrap();
        memory.assert(&of("quixotically it fell", &[first])).await.unwrap();
        memory.assert(&fact("the zymurgist stays")).await.unwrap();
        memory.search(&Search::new("print")).await.unwrap();
        memory.embed_all(&Observer::default()).await.unwrap();
        let what = EraseWhat::Records { namespace: name(&["notes"]), records: vec![first.record] };
        store.erase(&ada, &erasing(what)).await.unwrap();
        memory.search(&Search::new("print xylo quixotic zymurgist")).await.unwrap();
        let check = async |store: &Embedded, gone: &[&str]| {
            let ada = client(store, "acme", "ada").await;
            let memory = ada.memory(name(&["notes"])).with_embedder(Letters::new());
            for word in gone {
                let found = memory.search(&Search { limit: 100, ..Search::new(word[..6].to_owned()) }).await.unwrap();
                assert!(!texts(&found).iter().any(|text| text.contains(word)));
                let utf16: Vec<u8> = word.encode_utf16().flat_map(u16::to_le_bytes).collect();
                for file in files_below(&place.path("store")) {
                    let bytes = fs::read(&file).unwrap();
                    for needle in [word.as_bytes(), &utf16] {
                        let has = bytes.windows(needle.len()).any(|window| window == needle);
                        assert!(!has, "{word} is in {}", file.display());
                    }
                }
            }
        };
        check(&store, &words[..2]).await;
        let canaries = words.map(str::to_owned).to_vec();
        let sweep = samite::erasure::SweepOptions { canaries, ..samite::erasure::SweepOptions::default() };
        // What was asked is what was asked: the last word alone is there, as a record and as a question.
        assert_eq!(store.sweep(&sweep).await.unwrap().found(), [2]);
        store.erase(&ada, &erasing(EraseWhat::Memory(name(&["notes"])))).await.unwrap();
        check(&store, &words).await;
        assert_eq!(store.sweep(&sweep).await.unwrap().found(), [] as [usize; 0]);
        store.close().await;
        check(&open(&place, "acme"), &words).await;
    });
}

#[test]
fn a_kept_file_of_another_namespace_user_or_tenant_is_never_used() {
    let place = Place::new();
    run(async {
        let stores = ["acme", "beta"].map(|tenant| (tenant, open(&place, tenant)));
        let mut all = Vec::new();
        for (tenant, store) in &stores {
            for user in ["ada", "Ada"] {
                for space in ["notes", "other"] {
                    let memory = client(store, tenant, user).await.memory(name(&[space])).with_embedder(Letters::new());
                    for number in 0..4 {
                        memory.assert(&fact(&format!("{number} of {tenant} {user} in {space}."))).await.unwrap();
                    }
                    memory.embed_all(&Observer::default()).await.unwrap();
                    memory.search(&Search::new("of")).await.unwrap();
                    let journal = memory.position().await.unwrap().unwrap().journal.to_string();
                    all.push((memory, store.home().join("memory").join(journal)));
                }
            }
        }
        let ask = async |memory: &Memory| answer(&memory.search(&Search::new("of acme notes")).await.unwrap());
        for place in 0..all.len() {
            let (memory, files) = &all[place];
            let before = ask(memory).await;
            for (_, others) in all.iter().filter(|(_, others)| others != files) {
                for file in files_below(others) {
                    fs::copy(&file, files.join(file.file_name().unwrap())).unwrap();
                }
                assert_eq!(ask(memory).await, before, "{} over {}", others.display(), files.display());
            }
            // What it held was made anew, or is told to be behind, and never another's.
            memory.embed_all(&Observer::default()).await.unwrap();
            assert_eq!(ask(memory).await, before);
        }
    });
}
