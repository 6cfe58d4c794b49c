//! Erasing long-term memory: a namespace, single records with all that was made of them, and with a person or a session.

use crate::place::Place;
use crate::support::{event, principal, run};
use samite::embedded::Embedded;
use samite::erasure::{Because, DerivedKind, EraseOptions, EraseWhat, ErasureRecord, HoldOn, SweepOptions};
use samite::memory::{
    Ended, Memory, MemoryFilter, Namespace, NewRecord, RecordKind, RecordedIn, Span, Standing, Trust, Written,
};
use samite::{Client, NewSession, Observer, SubjectExportOptions, WriterOptions};
use samite_embed::{Embedder, Normalisation, Pooling, Side, Space, SpaceParts};
use samite_ledger::{JournalFilter, JournalKind, Ledger};
use samite_model::{FamilyId, Position, RecordId, Result, SessionId};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn erasing(what: EraseWhat) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() }
}

fn name(segments: &[&str]) -> Namespace {
    Namespace::new(segments.iter().copied()).unwrap()
}

fn forgetting(records: &[Written]) -> EraseOptions {
    let records = records.iter().map(|written| written.record).collect();
    erasing(EraseWhat::Records { namespace: name(&["notes"]), records })
}

async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

fn notes(client: &Client) -> Memory {
    client.memory(name(&["notes"]))
}

fn fact(text: &str) -> NewRecord {
    NewRecord::new(RecordKind::Semantic, text, Trust::User)
}

fn of(text: &str, inputs: &[Written]) -> NewRecord {
    NewRecord { inputs: inputs.iter().map(|written| written.record).collect(), ..fact(text) }
}

async fn texts(memory: &Memory, filter: &MemoryFilter) -> Vec<String> {
    memory.records(filter).await.unwrap().into_iter().map(|one| one.record.text.clone()).collect()
}

async fn now(memory: &Memory) -> Vec<String> {
    texts(memory, &MemoryFilter::default()).await
}

async fn all(memory: &Memory) -> Vec<String> {
    texts(memory, &MemoryFilter { all: true, ..MemoryFilter::default() }).await
}

async fn is_whole(store: &Embedded) {
    for rebuild in [false, true, false] {
        let verified = store.store().verify(rebuild, None).await.unwrap();
        assert_eq!(verified.findings, [], "{verified:?}");
        assert_eq!((verified.stale_views.len(), verified.rebuilt.len()), (0, 0), "{verified:?}");
        assert!(verified.unreadable.is_empty(), "{verified:?}");
    }
}

async fn found(store: &Embedded, texts: &[&str]) -> Vec<usize> {
    let canaries = texts.iter().map(|text| (*text).to_owned()).collect();
    store.sweep(&SweepOptions { canaries, ..SweepOptions::default() }).await.unwrap().found()
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> String {
    outcome.unwrap_err().code().to_owned()
}

fn counted(record: &ErasureRecord, store: &str) -> (u64, u64, u64) {
    let (_, proof) = record.proof.as_ref().unwrap();
    let one = proof.stores.iter().find(|one| one.store == store).unwrap_or_else(|| panic!("{store}: {proof:?}"));
    (one.found, one.deleted, one.retained)
}

/// Copies a store that nobody works in.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy(&path, &to) } else { fs::copy(&path, &to).map(|_| ()).unwrap() }
    }
}

async fn session_with(client: &Client, texts: &[&str]) -> SessionId {
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    for text in texts {
        writer.append(event(text)).await.unwrap();
    }
    writer.release().await.unwrap();
    session
}

/// Where the index of a namespace lies.
fn index(place: &Place, journal: &str) -> PathBuf {
    let tenant = fs::read_dir(place.path("store").join("tenants")).unwrap().next().unwrap().unwrap().path();
    tenant.join("memory").join(journal)
}

#[test]
fn a_namespace_goes_whole_and_what_is_written_next_begins_it_anew() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let gone = ada.memory(name(&["name-of-the-first", "team"]));
        let first = gone.assert(&fact("what goes with the namespace")).await.unwrap();
        gone.supersede(first.record, &fact("what came after it")).await.unwrap();
        let last = gone.assert(&fact("what was taken back")).await.unwrap();
        gone.retract(last.record, Some("the reason of it")).await.unwrap();
        notes(&ada).assert(&fact("another of hers")).await.unwrap();
        bo.memory(name(&["name-of-the-first", "team"])).assert(&fact("of the same name, his")).await.unwrap();
        let journal = gone.position().await.unwrap().unwrap().journal;
        let what = || erasing(EraseWhat::Memory(name(&["name-of-the-first", "team"])));
        let plan = store.plan_erasure(&ada, &what()).await.unwrap();
        // What opens it, three records, one end.
        assert_eq!((plan.scope.name(), plan.entries, plan.keys, plan.derived.len()), ("memory", 5, 0, 0));
        let words = ["what goes with the", "what came after", "what was taken back", "the reason of it"];
        assert_eq!(found(&store, &words).await.len(), 4);

        // What is beside the ledger goes too, and nothing of others.
        let (file, other) = (index(&place, &journal.to_string()), index(&place, &"7".repeat(32)));
        for directory in [&file, &other] {
            fs::create_dir_all(directory.join("parts")).unwrap();
            fs::write(directory.join("parts/1"), "what goes with the namespace").unwrap();
        }
        let record = store.erase(&ada, &what()).await.unwrap();
        assert_eq!((counted(&record, "records"), counted(&record, "entries")), ((3, 3, 0), (5, 5, 0)));
        assert_eq!(counted(&record, "files"), (1, 1, 0));
        assert!(!file.exists() && other.join("parts/1").exists());
        fs::remove_dir_all(other).unwrap();
        assert_eq!(found(&store, &words).await, [] as [usize; 0]);
        is_whole(&store).await;
        assert_eq!(all(&gone).await, [""; 0]);
        assert_eq!(code(store.erase(&ada, &what()).await), "empty_namespace");
        let named = |all: Vec<(Namespace, _)>| all.into_iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
        assert_eq!(named(ada.memory_namespaces().await.unwrap()), ["notes"]);
        assert_eq!(all(&bo.memory(name(&["name-of-the-first", "team"]))).await, ["of the same name, his"]);
        assert_eq!(all(&notes(&ada)).await, ["another of hers"]);
        assert!(record.started.records.is_empty() && record.started.record_hashes.is_empty());

        // It is written to anew, whoever says the same, and may go once more.
        let same = NewRecord::new(RecordKind::Semantic, "what goes with the namespace", Trust::Model);
        assert!(!gone.assert(&same).await.unwrap().duplicate);
        assert_ne!(gone.position().await.unwrap().unwrap().journal, journal);
        assert_eq!(counted(&store.erase(&ada, &what()).await.unwrap(), "records"), (1, 1, 0));
        gone.assert(&same).await.unwrap();
        assert_eq!(all(&gone).await, ["what goes with the namespace"]);
        is_whole(&store).await;
    });
}

#[test]
fn what_was_made_of_a_forgotten_record_goes_and_what_it_replaced_stays_ended() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let memory = notes(&ada);
        let old = memory.assert(&fact("lived in Rome")).await.unwrap();
        let goes = memory.supersede(old.record, &fact("lives in Oslo")).await.unwrap();
        let made = memory.assert(&of("far from the sea? no", &[goes])).await.unwrap();
        let of_that = memory.assert(&of("likes ships", &[made])).await.unwrap();
        let stays = memory.assert(&fact("drinks tea")).await.unwrap();
        let mixed = memory.assert(&of("tea on ships", &[stays, of_that])).await.unwrap();
        memory.retract(made.record, Some("a reason with words")).await.unwrap();
        memory.pin(of_that.record, true).await.unwrap();
        let next = memory.supersede(mixed.record, &fact("coffee on land")).await.unwrap();
        let plan = store.plan_erasure(&ada, &forgetting(&[goes])).await.unwrap();
        let derived: Vec<_> = plan.derived.iter().map(|one| (one.kind, one.id.0, one.because, one.taken)).collect();
        let mut expected: Vec<_> = [made, of_that, mixed]
            .iter()
            .map(|one| (DerivedKind::Record, one.record.0, Because::MadeOf, true))
            .collect();
        expected.sort_by_key(|one| one.1);
        assert_eq!(derived, expected);
        assert_eq!(plan.entries, 6);
        let record = store.erase(&ada, &forgetting(&[goes])).await.unwrap();
        assert_eq!((counted(&record, "records"), counted(&record, "entries")), ((4, 4, 0), (6, 6, 0)));
        let words = ["lives in Oslo", "far from the sea", "likes ships", "tea on ships", "a reason with words"];
        assert_eq!(found(&store, &words).await, [] as [usize; 0]);
        is_whole(&store).await;
        assert_eq!(now(&memory).await, ["drinks tea", "coffee on land"]);
        assert_eq!(all(&memory).await, ["lived in Rome", "drinks tea", "coffee on land"]);
        let ended = |standing: Standing| standing.ended.map(|(ended, _)| ended);
        let by = ended(memory.record_of(old.record, None).await.unwrap());
        assert!(matches!(by, Some(Ended::Replaced { by, .. }) if by == goes.record), "{by:?}");
        // As of before it ended, it stood; from then on it did not.
        let at = |seq| MemoryFilter { recorded: Some(RecordedIn::Seq(seq)), ..MemoryFilter::default() };
        assert_eq!(texts(&memory, &at(old.at.seq)).await, ["lived in Rome"]);
        assert_eq!(texts(&memory, &at(goes.at.seq)).await, [""; 0]);
        // Nobody finds it, and nothing is written about it or made of it any more.
        for gone in [goes, made, of_that, mixed] {
            assert_eq!(code(memory.record_of(gone.record, None).await), "no_record");
            assert_eq!(code(memory.retract(gone.record, None).await), "no_record");
            assert_eq!(code(memory.pin(gone.record, true).await), "no_record");
            assert_eq!(code(memory.supersede(gone.record, &fact("x")).await), "no_record");
            assert_eq!(code(memory.assert(&of("x", &[gone])).await), "no_record");
        }
        assert_eq!(code(memory.supersede(old.record, &fact("x")).await), "record_ended");
        assert_eq!(memory.history(next.record).await.unwrap().len(), 1);
        assert_eq!(memory.history(old.record).await.unwrap().len(), 1);
        assert_eq!(code(store.erase(&ada, &forgetting(&[goes])).await), "no_record");
        memory.retract(next.record, None).await.unwrap();
        is_whole(&store).await;
    });
}

#[test]
fn what_was_forgotten_is_said_again_by_nobody_but_the_user() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let memory = notes(&ada);
        let gone = memory.assert(&fact("born in May")).await.unwrap();
        let edge = NewRecord {
            edge: Some(samite::memory::Edge { from: "Ada".into(), relation: "knows".into(), to: "Bo".into() }),
            ..NewRecord::new(RecordKind::Edge, "a relation", Trust::Model)
        };
        let relation = memory.assert(&edge).await.unwrap();
        let record = store.erase(&ada, &forgetting(&[gone, relation])).await.unwrap();
        assert_eq!((record.started.records.len(), record.started.record_hashes.len()), (2, 2));
        // By whatever class that cannot speak for the user, from wherever, of whatever kind.
        for trust in [Trust::Model, Trust::Tool, Trust::Web] {
            let said =
                NewRecord { source: Some("a page".into()), ..NewRecord::new(RecordKind::Chunk, "born in May", trust) };
            assert_eq!(code(memory.assert(&said).await), "record_forgotten");
        }
        let other = memory.assert(&NewRecord::new(RecordKind::Semantic, "born in June", Trust::Model)).await.unwrap();
        let in_place = NewRecord::new(RecordKind::Semantic, "born in May", Trust::Model);
        assert_eq!(code(memory.supersede(other.record, &in_place).await), "record_forgotten");
        assert_eq!(code(memory.assert(&edge).await), "record_forgotten");
        let elsewhere =
            NewRecord { edge: edge.edge.map(|edge| samite::memory::Edge { to: "Cleo".into(), ..edge }), ..edge };
        memory.assert(&elsewhere).await.unwrap();
        // Elsewhere, and of another person, it was never forgotten.
        ada.memory(name(&["other"])).assert(&in_place).await.unwrap();
        notes(&client(&store, "bo").await).assert(&in_place).await.unwrap();
        // Somebody wishes it.
        let back = memory.assert(&fact("born in May")).await.unwrap();
        assert!(!back.duplicate && back.record != gone.record);
        assert!(memory.assert(&fact("born in May")).await.unwrap().duplicate);
        assert_eq!(code(memory.assert(&in_place).await), "record_forgotten");
        store.erase(&ada, &forgetting(&[back])).await.unwrap();
        assert_eq!(now(&memory).await, ["born in June", "a relation"]);
        is_whole(&store).await;
        store.close().await;
        let store = place.open();
        assert_eq!(code(notes(&client(&store, "ada").await).assert(&in_place).await), "record_forgotten");
    });
}

#[test]
fn nobody_names_what_is_anothers() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let hers = notes(&ada).assert(&fact("hers")).await.unwrap();
        assert_eq!(code(store.erase(&bo, &forgetting(&[hers])).await), "empty_namespace");
        notes(&bo).assert(&fact("his")).await.unwrap();
        let said = |outcome: Result<ErasureRecord>, id: RecordId| {
            outcome.unwrap_err().to_string().replace(&id.to_string(), "ID")
        };
        let nobodys = Written { record: RecordId([7; 16]), ..hers };
        let of_hers = said(store.erase(&bo, &forgetting(&[hers])).await, hers.record);
        assert_eq!(of_hers, said(store.erase(&bo, &forgetting(&[nobodys])).await, nobodys.record));
        assert_eq!(code(store.erase(&bo, &forgetting(&[])).await), "bad_scope");
        store.erase(&bo, &erasing(EraseWhat::Memory(name(&["notes"])))).await.unwrap();
        assert_eq!((all(&notes(&ada)).await, all(&notes(&bo)).await), (vec!["hers".to_owned()], Vec::new()));
    });
}

#[test]
fn a_person_goes_with_all_that_was_remembered_and_comes_back_to_nothing() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let memory = ada.memory(name(&["a-name-she-chose"]));
        let first = memory.assert(&fact("said by her once")).await.unwrap();
        memory.supersede(first.record, &of("made of it", &[first])).await.unwrap();
        let edge = samite::memory::Edge { from: "her-self".into(), relation: "met".into(), to: "some-body".into() };
        memory.assert(&NewRecord { edge: Some(edge), kind: RecordKind::Edge, ..fact("they met") }).await.unwrap();
        let forgotten = notes(&ada).assert(&fact("forgotten before")).await.unwrap();
        store.erase(&ada, &forgetting(&[forgotten])).await.unwrap();
        notes(&bo).assert(&fact("of another")).await.unwrap();

        let options =
            SubjectExportOptions { user: "ada".to_owned(), to: place.path("mine"), ..SubjectExportOptions::default() };
        store.export_subject(&ada, &options).await.unwrap();
        let journal = memory.position().await.unwrap().unwrap().journal;
        let exported =
            fs::read_to_string(place.path("mine").join("journals").join(format!("{journal}.jsonl"))).unwrap();
        let lines: Vec<serde_json::Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["memory_opened", "memory_asserted", "memory_asserted", "memory_asserted"]);
        assert_eq!(lines[0]["body"]["json"]["namespace"][0], "a-name-she-chose");
        assert_eq!(lines[1]["body"]["json"]["record"]["text"], "said by her once");
        assert_eq!(lines[2]["body"]["json"]["replaces"]["record"], first.record.to_string());

        let user = || erasing(EraseWhat::User("ada".to_owned()));
        let words = ["a-name-she-chose", "said by her once", "made of it", "her-self", "some-body", "they met"];
        assert_eq!(found(&store, &words).await.len(), words.len());
        let record = store.erase(&bo, &user()).await.unwrap();
        assert_eq!(counted(&record, "records"), (3, 3, 0));
        assert_eq!(found(&store, &words).await, [] as [usize; 0]);
        is_whole(&store).await;
        assert_eq!(all(&notes(&bo)).await, ["of another"]);

        let back = client(&store, "ada").await;
        assert_eq!(back.memory_namespaces().await.unwrap().len(), 0);
        let memory = back.memory(name(&["a-name-she-chose"]));
        assert_eq!(all(&memory).await, [""; 0]);
        memory.assert(&fact("said anew")).await.unwrap();
        // By other keys nothing is known of what was forgotten.
        notes(&back).assert(&NewRecord::new(RecordKind::Semantic, "forgotten before", Trust::Model)).await.unwrap();
        assert_eq!(all(&memory).await, ["said anew"]);
        is_whole(&store).await;
        store.close().await;
        let store = place.open();
        assert_eq!(all(&client(&store, "ada").await.memory(name(&["a-name-she-chose"]))).await, ["said anew"]);
        let states =
            store.ledger().journals(JournalFilter { kind: Some(JournalKind::Memory), ..JournalFilter::default() });
        // Each with the journal of what was found in it.
        assert_eq!(states.await.unwrap().len(), 2 * 5);
    });
}

#[test]
fn what_was_made_of_a_session_is_listed_and_goes_when_it_is_decided() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let session = session_with(&ada, &["one", "two", "three"]).await;
        let branch = ada.current_branch(session).await.unwrap();
        let memory = notes(&ada);
        let span = |seq| Span { position: Position { journal: branch, seq }, bytes: None };
        let from = Some((session, branch, None));
        let of_one = memory.assert(&NewRecord { from, entries: vec![span(1)], ..fact("of one") }).await.unwrap();
        let of_two = memory.assert(&NewRecord { from, entries: vec![span(2)], ..fact("of two") }).await.unwrap();
        let made = memory.assert(&of("made of that", &[of_one])).await.unwrap();
        memory.assert(&fact("by itself")).await.unwrap();
        let id = |written: Written| FamilyId(written.record.0);
        let listed = async |options: &EraseOptions| {
            let plan = store.plan_erasure(&ada, options).await.unwrap();
            let mut all: Vec<_> = plan.derived.iter().map(|one| (one.id, one.because, one.taken)).collect();
            all.sort_unstable();
            all
        };
        let sorted = |mut all: Vec<_>| {
            all.sort_unstable();
            all
        };
        let entries = EraseWhat::Entries { session, branch, from: 1, to: 1 };
        let mut options = erasing(entries);
        assert_eq!(listed(&options).await, [(id(of_one), Because::MadeOf, false)]);
        options.also = vec![id(of_one)];
        let expected = vec![(id(of_one), Because::MadeOf, true), (id(made), Because::MadeOf, false)];
        assert_eq!(listed(&options).await, sorted(expected));
        let record = store.erase(&ada, &options).await.unwrap();
        assert_eq!(counted(&record, "records"), (1, 1, 0));
        assert_eq!(now(&memory).await, ["of two", "made of that", "by itself"]);
        assert_eq!(
            code(memory.assert(&NewRecord::new(RecordKind::Semantic, "of one", Trust::Model)).await),
            "record_forgotten"
        );

        let mut options = erasing(EraseWhat::Session(session));
        assert_eq!(listed(&options).await, [(id(of_two), Because::MadeThere, false)]);
        // A hold on the session keeps what was made in it.
        let on = ada.session_to_hold(session).await.unwrap();
        ada.set_hold(on, "a case").await.unwrap();
        assert_eq!(code(store.erase(&ada, &forgetting(&[of_two])).await), "legal_hold");
        assert_eq!(code(store.erase(&ada, &erasing(EraseWhat::Memory(name(&["notes"])))).await), "legal_hold");
        store.erase(&ada, &forgetting(&[made])).await.unwrap();
        ada.lift_hold(on, "done").await.unwrap();
        options.also = vec![id(of_two)];
        store.erase(&ada, &options).await.unwrap();
        assert_eq!(now(&memory).await, ["by itself"]);
        is_whole(&store).await;
        let on = HoldOn::User { subject: ada.pseudonym_of_user("ada").unwrap() };
        ada.set_hold(on, "a case").await.unwrap();
        let plan = store.plan_erasure(&ada, &erasing(EraseWhat::Memory(name(&["notes"])))).await.unwrap();
        assert_eq!(plan.held.unwrap().reason, "a case");
        assert_eq!(code(store.erase(&ada, &erasing(EraseWhat::Memory(name(&["notes"])))).await), "legal_hold");
        assert_eq!(now(&memory).await, ["by itself"]);
    });
}

#[test]
fn an_older_copy_forgets_before_it_serves() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let gone = notes(&ada).assert(&fact("to be forgotten")).await.unwrap();
        notes(&ada).assert(&of("made of that", &[gone])).await.unwrap();
        notes(&ada).assert(&fact("to be kept")).await.unwrap();
        ada.memory(name(&["whole"])).assert(&fact("to go with its namespace")).await.unwrap();
        store.close().await;
        copy(&place.path("store"), &place.path("copy"));
        let store = place.open();
        let ada = client(&store, "ada").await;
        store.erase(&ada, &forgetting(&[gone])).await.unwrap();
        store.erase(&ada, &erasing(EraseWhat::Memory(name(&["whole"])))).await.unwrap();
        store.close().await;

        let older = place.open_at(&place.path("copy"));
        assert_eq!(older.erased_at_open().len(), 2);
        for record in older.erased_at_open() {
            assert!(record.started.replayed);
            let records = if record.started.scope.name() == "records" { (2, 2, 0) } else { (1, 1, 0) };
            assert_eq!(counted(record, "records"), records);
        }
        let words = ["to be forgotten", "made of that", "to go with its namespace", "to be kept"];
        assert_eq!(found(&older, &words).await, [3]);
        is_whole(&older).await;
        let ada = client(&older, "ada").await;
        assert_eq!(all(&notes(&ada)).await, ["to be kept"]);
        let again = NewRecord::new(RecordKind::Semantic, "made of that", Trust::Model);
        assert_eq!(code(notes(&ada).assert(&again).await), "record_forgotten");
        assert_eq!(all(&ada.memory(name(&["whole"]))).await, [""; 0]);
        ada.memory(name(&["whole"])).assert(&fact("anew")).await.unwrap();
        is_whole(&older).await;
    });
}

#[test]
fn a_copy_that_went_on_forgets_what_it_made_of_it_since() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let gone = notes(&ada).assert(&fact("to be forgotten")).await.unwrap();
        store.close().await;
        copy(&place.path("store"), &place.path("copy"));
        let other = place.open_at(&place.path("copy"));
        let there = client(&other, "ada").await;
        notes(&there).assert(&of("made of it there", &[gone])).await.unwrap();
        notes(&there).assert(&fact("of nothing")).await.unwrap();
        other.close().await;
        let store = place.open();
        let ada = client(&store, "ada").await;
        notes(&ada).assert(&fact("at the same place")).await.unwrap();
        store.erase(&ada, &forgetting(&[gone])).await.unwrap();
        store.close().await;
        let other = place.open_at(&place.path("copy"));
        assert_eq!(found(&other, &["to be forgotten", "made of it there", "of nothing"]).await, [2]);
        assert_eq!(all(&notes(&client(&other, "ada").await)).await, ["of nothing"]);
        is_whole(&other).await;
    });
}

#[test]
fn what_a_branch_wrote_goes_with_it_and_is_not_taken_over() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let memory = notes(&ada);
        let session = ada.create_session(NewSession::default()).await.unwrap();
        let writer = ada.writer(session.id, None, WriterOptions::default()).await.unwrap();
        let branch = writer.memory(name(&["notes"]));
        let taken = branch.assert(&fact("said on the branch")).await.unwrap();
        branch.promote().await.unwrap();
        let same = branch.assert(&fact("said in both")).await.unwrap();
        let both = memory.assert(&fact("said in both")).await.unwrap();
        branch.assert(&of("made of it on the branch", &[same])).await.unwrap();
        branch.assert(&fact("of nothing, on the branch")).await.unwrap();
        memory.assert(&fact("of nothing")).await.unwrap();
        store.erase(&ada, &forgetting(&[taken, both])).await.unwrap();
        let words = ["said on the branch", "said in both", "made of it on the branch", "of nothing, on the branch"];
        assert_eq!(found(&store, &words).await, [3]);
        is_whole(&store).await;
        let seen = branch.seen().await.unwrap();
        assert_eq!(now(&seen).await, ["of nothing", "of nothing, on the branch"]);
        // A branch says it again neither by an agent, nor about it; by the user's wish it does, and keeps it to itself.
        let by_agent = NewRecord::new(RecordKind::Semantic, "said in both", Trust::Model);
        assert_eq!(code(branch.assert(&by_agent).await), "record_forgotten");
        assert_eq!(code(branch.retract(taken.record, None).await), "no_record");
        let again = branch.assert(&fact("said in both")).await.unwrap();
        let promotion = branch.promote().await.unwrap();
        assert_eq!((promotion.records.len(), promotion.forgotten), (1, vec![again.record]));
        assert_eq!(now(&memory).await, ["of nothing", "of nothing, on the branch"]);
        assert_eq!(branch.promote().await.unwrap(), samite::memory::Promotion::default());

        // The whole namespace goes with what is on branches, and with what was found in it.
        memory.search(&samite::memory::Search::new("nothing")).await.unwrap();
        let record = store.erase(&ada, &erasing(EraseWhat::Memory(name(&["notes"])))).await.unwrap();
        assert_eq!(counted(&record, "records"), (4, 4, 0));
        assert_eq!(record.started.close.len(), 2);
        assert_eq!(found(&store, &words).await, [] as [usize; 0]);
        assert_eq!(all(&branch.seen().await.unwrap()).await, [""; 0]);
        assert_eq!(memory.seen(&samite::memory::Seen::default()).await.unwrap(), []);
        writer.release().await.unwrap();
        memory.assert(&fact("anew")).await.unwrap();
        memory.search(&samite::memory::Search::new("anew")).await.unwrap();
        is_whole(&store).await;
    });
}

#[test]
fn what_a_revoked_and_forgotten_record_had_replaced_stands() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let memory = notes(&ada);
        let old = NewRecord::new(RecordKind::Semantic, "born in Rome", Trust::Tool);
        let old = memory.assert(&old).await.unwrap();
        let web = NewRecord::new(RecordKind::Semantic, "born on the moon", Trust::Tool);
        let poison = memory.supersede(old.record, &web).await.unwrap();
        let source = samite::memory::RevokedSource { records: vec![poison.record], ..Default::default() };
        memory.revoke(&source, "a page that lies").await.unwrap();
        assert_eq!(now(&memory).await, ["born in Rome"]);
        let record = store.erase(&ada, &forgetting(&[poison])).await.unwrap();
        assert_eq!(counted(&record, "said_of_records"), (1, 0, 1));
        assert_eq!(now(&memory).await, ["born in Rome"]);
        assert_eq!(found(&store, &["born on the moon"]).await, [] as [usize; 0]);
        is_whole(&store).await;
        memory.supersede(old.record, &fact("born in Bari")).await.unwrap();
        assert_eq!(now(&memory).await, ["born in Bari"]);
        is_whole(&store).await;
    });
}

#[test]
fn what_is_written_while_it_is_forgotten_goes_too_or_is_refused() {
    let place = Place::new();
    let store = place.open();
    let ada = run(client(&store, "ada"));
    for round in 0..4 {
        let memory = notes(&ada);
        let gone = run(memory.assert(&fact(&format!("forgotten in round {round}")))).unwrap();
        let started = std::sync::Barrier::new(3);
        let outcomes = std::thread::scope(|scope| {
            let write = |what: &'static str| {
                let (memory, started) = (&memory, &started);
                scope.spawn(move || {
                    started.wait();
                    let mut written = 0;
                    for number in 0..40 {
                        let text = format!("late {what} {round} {number}");
                        let did = run(async {
                            match what {
                                "made" => memory.assert(&of(&text, &[gone])).await.map(|_| ()),
                                _ => memory.retract(gone.record, Some(&text)).await.map(|_| ()),
                            }
                        });
                        match did {
                            Ok(()) => written += 1,
                            Err(error) => assert!(
                                matches!(error.code(), "no_record" | "record_ended" | "store_busy"),
                                "{error:?}"
                            ),
                        }
                    }
                    written
                })
            };
            let others = [write("made"), write("retracted")];
            started.wait();
            run(store.erase(&ada, &forgetting(&[gone]))).unwrap();
            others.map(|one| one.join().unwrap())
        });
        eprintln!("written meanwhile: {outcomes:?}");
        run(async {
            assert_eq!(all(&memory).await, [""; 0]);
            let texts: Vec<String> = ["made", "retracted"].map(|what| format!("late {what} {round}")).to_vec();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            assert_eq!(found(&store, &texts).await, [] as [usize; 0]);
            is_whole(&store).await;
        });
    }
}

/// An encoder that may do something while it makes vectors.
struct Interrupted {
    space: Space,
    meanwhile: std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupted")
    }
}

impl Interrupted {
    fn new() -> Arc<Self> {
        let space = Space::new(SpaceParts {
            provider: "test".into(),
            model: "interrupted".into(),
            revision: "1".into(),
            dimensions: 2,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalisation: Normalisation::Unit,
        });
        Arc::new(Self { space: space.unwrap(), meanwhile: std::sync::Mutex::default() })
    }
}

impl Embedder for Interrupted {
    fn space(&self) -> &Space {
        &self.space
    }

    fn embed(&self, texts: &[&str], _side: Side) -> Result<Vec<Vec<f32>>> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
    }
}

/// How many files are kept beside the ledger of what is remembered.
fn kept(place: &Place) -> usize {
    fn below(path: &Path) -> usize {
        let Ok(entries) = fs::read_dir(path) else { return usize::from(path.is_file()) };
        entries.map(|entry| below(&entry.unwrap().path())).sum()
    }
    below(&index(place, ""))
}

#[test]
fn no_vector_of_what_was_erased_is_kept_not_even_by_who_made_it_meanwhile() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let encoder = Interrupted::new();
    let ada = run(client(&store, "ada"));
    let memory = notes(&ada).with_embedder(encoder.clone());
    let written = |text: &str| run(memory.assert(&fact(text))).unwrap();
    let (first, second) = (written("to be forgotten"), written("to be forgotten later"));
    written("to be kept");
    assert_eq!(run(memory.embed_all(&Observer::default())).unwrap(), 3);
    assert_eq!(kept(&place), 1);
    run(store.erase(&ada, &forgetting(&[first]))).unwrap();
    assert_eq!(kept(&place), 0);
    // Somebody who had read it goes on, and keeps what was made of it.
    let (of_store, of_ada) = (store.clone(), ada.clone());
    *encoder.meanwhile.lock().unwrap() = Some(Box::new(move || {
        std::thread::spawn(move || run(of_store.erase(&of_ada, &forgetting(&[second]))).unwrap()).join().unwrap();
    }));
    // Of what it had made nothing is kept: it looks anew, and makes that of what is left.
    assert_eq!(run(memory.embed_all(&Observer::default())).unwrap(), 3);
    assert_eq!(run(memory.embed_all(&Observer::default())).unwrap(), 0);
    assert_eq!(kept(&place), 1);
    // What a branch wrote is in the file of its owner's namespace, and goes with the session.
    let session = run(ada.create_session(NewSession::default())).unwrap();
    let position = run(async {
        let writer = ada.writer(session.id, None, WriterOptions::default()).await.unwrap();
        let at = writer.memory(name(&["notes"])).assert(&fact("on a branch")).await.unwrap().at;
        writer.release().await.unwrap();
        at
    });
    assert_eq!(run(memory.on(position).embed_all(&Observer::default())).unwrap(), 1);
    run(store.erase(&ada, &erasing(EraseWhat::Session(session.id)))).unwrap();
    assert_eq!(kept(&place), 0);
    run(is_whole(&store));
}

#[test]
fn what_was_redacted_and_forgotten_is_known_again() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        store.register_secret(&ada, "db", b"hunter2!of-the-database").await.unwrap();
        let memory = notes(&ada);
        let text = "she logs in with hunter2!of-the-database there";
        let gone = memory.assert(&fact(text)).await.unwrap();
        let stored = memory.record_of(gone.record, None).await.unwrap().record.text.clone();
        assert!(stored != text && !stored.contains("hunter2"), "{stored}");
        store.erase(&ada, &forgetting(&[gone])).await.unwrap();
        for said in [text, stored.as_str()] {
            let said = NewRecord::new(RecordKind::Semantic, said, Trust::Model);
            assert_eq!(code(memory.assert(&said).await), "record_forgotten");
        }
    });
}
