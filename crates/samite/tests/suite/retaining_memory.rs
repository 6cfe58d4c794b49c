//! Records of long-term memory go by their age, as sessions and artifacts do: shown first, never what is held, each namespace with a proof.

use crate::place::Place;
use crate::support::{event, principal, run};
use samite::embedded::Embedded;
use samite::erasure::SweepOptions;
use samite::memory::{Memory, MemoryFilter, Namespace, NewRecord, RecordKind, Search, Trust, Written};
use samite::policy::{Due, Retained};
use samite::{Client, NewSession, Observer, WriterOptions};
use samite_model::{RecordId, SessionId};
use std::fs;

const DAY: i64 = 24 * 3600 * 1_000_000_000;

fn named(client: &Client, name: &str) -> Memory {
    client.memory(Namespace::new([name]).unwrap())
}

async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

fn fact(text: &str) -> NewRecord {
    NewRecord::new(RecordKind::Semantic, text, Trust::User)
}

fn of(text: &str, inputs: &[Written]) -> NewRecord {
    NewRecord { inputs: inputs.iter().map(|written| written.record).collect(), ..fact(text) }
}

async fn all(memory: &Memory) -> Vec<String> {
    let filter = MemoryFilter { all: true, ..MemoryFilter::default() };
    memory.records(&filter).await.unwrap().into_iter().map(|one| one.record.text.clone()).collect()
}

/// What is due: of whose namespace, which records, and whether a hold keeps them.
fn listed(due: &[Due]) -> Vec<(String, Vec<RecordId>, bool)> {
    let name = |one: &Due| one.namespace.as_ref().map(ToString::to_string).unwrap_or_default();
    due.iter().map(|one| (name(one), one.records.clone(), one.held)).collect()
}

async fn session(client: &Client) -> SessionId {
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    writer.append(event("said there")).await.unwrap();
    writer.release().await.unwrap();
    session
}

#[test]
fn records_are_due_by_the_last_time_that_they_or_what_is_made_of_them_were_said() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let memory = named(&ada, "notes");
        let old = memory.assert(&fact("an old one")).await.unwrap();
        let base = memory.assert(&fact("made into something")).await.unwrap();
        let ended = memory.assert(&fact("taken back")).await.unwrap();
        memory.retract(ended.record, None).await.unwrap();
        memory.pin(old.record, true).await.unwrap();
        let last_old = memory.record_of(ended.record, None).await.unwrap().recorded;
        let made = memory.assert(&of("made of the second", &[base])).await.unwrap();
        let made_at = memory.record_of(made.record, None).await.unwrap().recorded;
        assert!(last_old < made_at);
        let due = async |by: i64| listed(&ada.retention_due(Some(by)).await.unwrap());
        // Nothing decided keeps all.
        assert_eq!(due(i64::MAX).await, []);
        ada.set_retention(Retained::Memory, Some(2)).await.unwrap();
        assert_eq!(ada.retentions().await.unwrap().get(&Retained::Memory), Some(&2));
        let first_at = memory.record_of(old.record, None).await.unwrap().recorded;
        assert_eq!(due(first_at + 2 * DAY - 1).await, []);
        let of_notes = |records: &[Written]| {
            vec![("notes".to_owned(), records.iter().map(|one| one.record).collect::<Vec<_>>(), false)]
        };
        assert_eq!(due(first_at + 2 * DAY).await, of_notes(&[old]));
        // What something younger was made of stays until that is due.
        assert_eq!(due(last_old + 2 * DAY).await, of_notes(&[old, ended]));
        assert_eq!(due(made_at + 2 * DAY).await, of_notes(&[old, base, ended, made]));
        // Who says it once more keeps it.
        let session = session(&ada).await;
        let branch = ada.current_branch(session).await.unwrap();
        let again = NewRecord { from: Some((session, branch, None)), ..fact("an old one") };
        memory.assert(&again).await.unwrap();
        assert_eq!(due(made_at + 2 * DAY).await, of_notes(&[base, ended, made]));
        ada.set_retention(Retained::Memory, None).await.unwrap();
        assert_eq!(due(i64::MAX).await, []);
        assert_eq!(all(&memory).await.len(), 4, "nothing goes by a decision alone");
    });
}

#[test]
fn what_is_due_goes_with_a_proof_and_what_is_held_stays_with_what_it_was_made_of() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let memory = named(&ada, "notes");
        let session = session(&ada).await;
        let branch = ada.current_branch(session).await.unwrap();
        let base = memory.assert(&fact("xylographic-base")).await.unwrap();
        let from = Some((session, branch, None));
        let held = memory.assert(&NewRecord { from, ..of("quixotic-held", &[base]) }).await.unwrap();
        let gone = memory.assert(&fact("zymurgic-gone")).await.unwrap();
        named(&ada, "other").assert(&fact("of the other namespace")).await.unwrap();
        named(&bo, "notes").assert(&fact("of another person")).await.unwrap();
        memory.search(&Search::new("xylographic")).await.unwrap();
        let journal = memory.position().await.unwrap().unwrap().journal;
        let kept = store.home().join("memory").join(journal.to_string());
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join("part"), "zymurgic-gone").unwrap();
        ada.set_hold(ada.session_to_hold(session).await.unwrap(), "case 12").await.unwrap();
        bo.set_retention(Retained::Memory, Some(0)).await.unwrap();
        let due = bo.retention_due(None).await.unwrap();
        assert!(due.iter().all(|one| (one.kind, one.session, one.artifact) == (Retained::Memory, None, None)));
        let mine: Vec<_> = due.iter().filter(|one| one.owner != bo.pseudonym_of_user("bo").unwrap()).cloned().collect();
        let mut mine = listed(&mine);
        mine.sort_by_key(|(name, _, held)| (name.clone(), *held));
        assert_eq!(mine[0], ("notes".to_owned(), vec![gone.record], false));
        assert_eq!(mine[1], ("notes".to_owned(), vec![base.record, held.record], true));
        assert_eq!((mine[2].0.as_str(), mine[2].1.len(), mine.len(), due.len()), ("other", 1, 3, 4));

        let done = store.apply_retention(&bo, &Observer::default()).await.unwrap();
        assert_eq!(done.iter().filter(|one| one.erasure.is_some()).count(), 3);
        assert_eq!(all(&memory).await, ["xylographic-base", "quixotic-held"]);
        assert_eq!(all(&named(&ada, "other")).await, [""; 0]);
        assert_eq!(all(&named(&bo, "notes")).await, [""; 0]);
        let erasures = ada.erasures().await.unwrap();
        let proof = erasures.iter().find(|one| one.started.records == [gone.record]).unwrap();
        assert_eq!(proof.started.reason, "retention of kind memory");
        let counted = &proof.proof.as_ref().unwrap().1.stores;
        let records = counted.iter().find(|one| one.store == "records").unwrap();
        assert_eq!((records.found, records.deleted, records.retained), (1, 1, 0));
        // Nothing is left of it in any file, nor anything that was made of it.
        assert!(!kept.exists());
        let canaries = vec!["zymurgic-gone".to_owned(), "of another person".to_owned(), "quixotic-held".to_owned()];
        let swept = store.sweep(&SweepOptions { canaries, ..SweepOptions::default() }).await.unwrap();
        assert_eq!(swept.found(), [2]);
        // Nobody asked that it never be said again.
        memory.assert(&NewRecord::new(RecordKind::Semantic, "zymurgic-gone", Trust::Model)).await.unwrap();
        ada.lift_hold(ada.session_to_hold(session).await.unwrap(), "over").await.unwrap();
        store.apply_retention(&bo, &Observer::default()).await.unwrap();
        assert_eq!(all(&memory).await, [""; 0]);
        let verified = store.store().verify(true, None).await.unwrap();
        assert_eq!(verified.findings, [], "{verified:?}");
        assert_eq!(store.apply_retention(&bo, &Observer::default()).await.unwrap(), []);
    });
}
