//! What was erased stays so, whatever is done again: appends, steps, publications, erasures, and the store's older copies.

use crate::place::Place;
use crate::support::{attached, event, noise, principal, run, take};
use crate::watched::Watched;
use samite::artifact::{ArtifactFilter, ArtifactSource, PutArtifact};
use samite::embedded::Embedded;
use samite::erasure::{Because, EraseOptions, EraseWhat, ErasureRecord, ErasureState, HoldOn, SweepOptions};
use samite::payload::{Counted, Erased};
use samite::{
    Backends, Begin, Client, Completion, ForkOptions, NewEvent, NewSession, NewStep, Observer, ReadOptions, Store,
    WriterOptions,
};
use samite_model::settings::Settings;
use samite_model::step::Effect;
use samite_model::{BranchId, EntryKind, ErrorKind, SessionId};
use serde_json::json;
use std::fs;
use std::sync::Arc;

fn erasing(what: EraseWhat) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() }
}

async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

async fn session(client: &Client) -> (SessionId, BranchId) {
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    (session, client.current_branch(session).await.unwrap())
}

fn known(dedupe: &str, text: &str) -> NewEvent {
    NewEvent { dedupe: Some(dedupe.to_owned()), ..event(text) }
}

/// How many entries of a session are there, and how many are tombstones.
async fn there(client: &Client, session: SessionId) -> (usize, usize) {
    let entries = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
    let gone = entries.iter().filter(|entry| entry.payload.is_none()).count();
    (entries.len() - gone, gone)
}

async fn is_whole(store: &Embedded) {
    for rebuild in [false, true, false] {
        let verified = store.store().verify(rebuild, None).await.unwrap();
        assert_eq!(verified.findings, [], "{verified:?}");
        assert_eq!((verified.stale_views.len(), verified.rebuilt.len()), (0, 0), "{verified:?}");
        assert!(verified.unreadable.is_empty(), "{verified:?}");
    }
}

async fn is_gone(store: &Embedded, text: &str) {
    let options = SweepOptions { canaries: vec![text.to_owned()], ..SweepOptions::default() };
    assert_eq!(store.sweep(&options).await.unwrap().hits, []);
}

async fn tell(client: &Client, session: SessionId, text: &str) {
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    writer.append(event(text)).await.unwrap();
    writer.release().await.unwrap();
}

fn counted<'a>(stores: &'a [Counted], store: &str) -> &'a Counted {
    stores.iter().find(|one| one.store == store).unwrap_or_else(|| panic!("{store} in {stores:?}"))
}

fn proof(record: ErasureRecord) -> Erased {
    record.proof.unwrap().1
}

#[test]
fn a_repeated_append_brings_nothing_back_here_and_in_an_older_copy() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let (session, branch) = session(&ada).await;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        let first = writer.append(known("d1", "words that go")).await.unwrap().position;
        writer.append(known("d2", "words that stay")).await.unwrap();
        writer.release().await.unwrap();
        store.backup(&place.path("copy")).await.unwrap();
        let what = EraseWhat::Entries { session, branch, from: 1, to: 1 };
        store.erase(&ada, &erasing(what)).await.unwrap();
        let again = async |store: &Embedded, ada: &Client| {
            let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
            let known_again = writer.append(known("d1", "words that go")).await.unwrap();
            assert_eq!((known_again.position, known_again.duplicate), (first, true));
            let other = writer.append(known("d1", "other words")).await.unwrap_err();
            assert_eq!(other.code(), "dedupe_mismatch");
            assert!(writer.append(known("d2", "words that stay")).await.unwrap().duplicate);
            writer.release().await.unwrap();
            assert_eq!(there(ada, session).await, (1, 1));
            is_gone(store, "words that go").await;
            is_whole(store).await;
        };
        again(&store, &ada).await;
        // After the views were made again, too.
        again(&store, &ada).await;
        store.close().await;
        let copy = place.open_at(&place.path("copy"));
        assert_eq!(copy.erased_at_open().len(), 1);
        again(&copy, &client(&copy, "ada").await).await;
    });
}

#[test]
fn a_step_that_was_erased_is_not_run_again() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let (session, branch) = session(&ada).await;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        let step = |key: &str, effect: Effect| NewStep { effect, ..NewStep::new(key, "pay", json!({ "to": key })) };
        let steps = [
            step("whole", Effect::Opaque),
            step("repeatable", Effect::Idempotent),
            step("its end alone", Effect::Opaque),
            step("open", Effect::Idempotent),
            step("kept", Effect::Opaque),
        ];
        for step in &steps {
            let Begin::Run(handle) = writer.begin(step).await.unwrap() else { panic!("it is new") };
            if step.key != "open" {
                writer.finish(&handle, &Completion::completed(json!("paid"))).await.unwrap();
            }
        }
        writer.release().await.unwrap();
        for (from, to) in [(1, 4), (6, 7)] {
            store.erase(&ada, &erasing(EraseWhat::Entries { session, branch, from, to })).await.unwrap();
        }
        is_whole(&store).await;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        for step in &steps[..4] {
            for again in [false, true] {
                let begun = if again { writer.begin_again(step).await } else { writer.begin(step).await };
                let error = begun.unwrap_err();
                assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "step_erased"), "{}", step.key);
            }
        }
        assert!(matches!(writer.begin(&steps[4]).await.unwrap(), Begin::Replay(_)));
        let new = step("another", Effect::Opaque);
        assert!(matches!(writer.begin(&new).await.unwrap(), Begin::Run(_)));
        writer.release().await.unwrap();
        is_whole(&store).await;
    });
}

#[test]
fn an_artifact_that_was_erased_is_not_published_again_by_itself() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let work = place.directory("work");
        fs::write(work.join("report.md"), "bytes that go").unwrap();
        let session = attached(&ada, &work).await;
        let settings = |settings: &mut Settings| settings.deliver = vec!["*.md".to_owned()];
        ada.change_settings(session, settings).await.unwrap();
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        let put = |dedupe: Option<&str>, bytes: &str, name: &str| PutArtifact {
            name: Some(name.to_owned()),
            dedupe: dedupe.map(str::to_owned),
            source: ArtifactSource::Bytes(bytes.as_bytes().to_vec()),
            ..PutArtifact::file("")
        };
        let gone = writer.put_artifact(&put(Some("q1"), "bytes that go", "report.md")).await.unwrap().record.artifact;
        store.erase(&ada, &erasing(EraseWhat::Artifact(gone))).await.unwrap();
        for dedupe in [Some("q1"), Some("q2"), None] {
            let error = writer.put_artifact(&put(dedupe, "bytes that go", "report.md")).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "artifact_erased"), "{dedupe:?}");
        }
        let delivered = writer.publish_deliverables(&Observer::default()).await.unwrap();
        assert_eq!((delivered.published.len(), delivered.failed.len(), delivered.unchanged), (0, 0, 0));
        assert_eq!(delivered.passed_over, ["report.md"]);
        assert_eq!(ada.artifacts(&ArtifactFilter::default()).await.unwrap().len(), 0);
        is_whole(&store).await;
        // Other bytes are another deliverable, and another name says that it is meant.
        fs::write(work.join("report.md"), "other bytes").unwrap();
        assert_eq!(writer.publish_deliverables(&Observer::default()).await.unwrap().published.len(), 1);
        writer.put_artifact(&put(None, "bytes that go", "again.md")).await.unwrap();
        writer.release().await.unwrap();
        // In another session the same is another artifact.
        let (elsewhere, _) = self::session(&ada).await;
        let writer = ada.writer(elsewhere, None, WriterOptions::default()).await.unwrap();
        writer.put_artifact(&put(None, "bytes that go", "report.md")).await.unwrap();
        writer.release().await.unwrap();
        is_whole(&store).await;
    });
}

#[test]
fn the_other_versions_of_an_artifact_are_listed_and_go_when_that_is_decided() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let work = place.directory("work");
        let session = attached(&ada, &work).await;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        let mut versions = Vec::new();
        for text in ["a draft of it", "a better draft of it"] {
            fs::write(work.join("report.md"), text).unwrap();
            let put = PutArtifact::file(work.join("report.md"));
            versions.push(writer.put_artifact(&put).await.unwrap().record.artifact);
        }
        writer.release().await.unwrap();
        let id = |place: usize| samite_model::FamilyId(versions[place].0);
        let mut options = erasing(EraseWhat::Artifact(versions[1]));
        let plan = store.plan_erasure(&ada, &options).await.unwrap();
        let derived: Vec<_> = plan.derived.iter().map(|one| (one.id, one.because, one.taken)).collect();
        assert_eq!(derived, [(id(0), Because::OtherVersion, false)]);
        options.also = vec![id(0)];
        let proof = proof(store.erase(&ada, &options).await.unwrap());
        assert_eq!(counted(&proof.stores, "artifacts").deleted, 2);
        is_gone(&store, "draft of it").await;
        assert_eq!(ada.artifacts(&ArtifactFilter::default()).await.unwrap().len(), 0);
    });
}

#[test]
fn a_proof_counts_only_what_this_erasure_took() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let (session, branch) = session(&ada).await;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        for text in ["one", "two", "three"] {
            writer.append(event(text)).await.unwrap();
        }
        writer.release().await.unwrap();
        let some = || erasing(EraseWhat::Entries { session, branch, from: 1, to: 2 });
        let first = proof(store.erase(&ada, &some()).await.unwrap());
        assert_eq!((first.entries, counted(&first.stores, "entries").deleted), (2, 2));
        // None of it is there to be erased again; of a part, what is there goes.
        let errors = [store.plan_erasure(&ada, &some()).await.err(), store.erase(&ada, &some()).await.err()];
        for error in errors.map(Option::unwrap) {
            assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "erased"), "{error:?}");
        }
        assert_eq!(ada.erasures().await.unwrap().len(), 1);
        tell(&ada, session, "four").await;
        let rest = || erasing(EraseWhat::Entries { session, branch, from: 1, to: 4 });
        assert_eq!(store.plan_erasure(&ada, &rest()).await.unwrap().entries, 2);
        let again = proof(store.erase(&ada, &rest()).await.unwrap());
        assert_eq!((again.entries, counted(&again.stores, "entries").found), (2, 2));
        assert_ne!(again.root, first.root);
        tell(&ada, session, "five").await;
        // Beside the fifth message: what made the session, and the branch's own words of it.
        let what = || erasing(EraseWhat::Session(session));
        let plan = store.plan_erasure(&ada, &what()).await.unwrap();
        let whole = proof(store.erase(&ada, &what()).await.unwrap());
        let control = whole.entries - 1;
        assert!((1..4).contains(&control), "{whole:?}");
        assert_eq!((plan.entries, counted(&whole.stores, "entries").found), (whole.entries, whole.entries));
        // Of a person who comes back, what was erased with the old keys is not found again.
        let before = proof(store.erase(&ada, &erasing(EraseWhat::User("ada".to_owned()))).await.unwrap());
        let ada = client(&store, "ada").await;
        let plan = store.plan_erasure(&ada, &erasing(EraseWhat::User("ada".to_owned()))).await.unwrap();
        assert_eq!(plan.entries, 1, "that they were seen again");
        assert_eq!((before.entries, before.keys.len()), (1, 5), "the rest went before: {before:?}");
        is_whole(&store).await;
    });
}

#[test]
fn the_proof_that_an_older_copy_makes_has_its_own_counts() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let work = place.directory("work");
        fs::write(work.join("report.md"), "bytes of a report").unwrap();
        let of_ada = attached(&ada, &work).await;
        let writer = ada.writer(of_ada, None, WriterOptions::default()).await.unwrap();
        writer.append(event("words")).await.unwrap();
        writer.put_artifact(&PutArtifact::file(work.join("report.md"))).await.unwrap();
        writer.release().await.unwrap();
        let (of_bo, _) = session(&bo).await;
        let child = NewSession {
            parent: Some(samite::payload::ParentSession { session: of_bo, step: None }),
            ..NewSession::default()
        };
        let child = bo.create_session(child).await.unwrap().id;
        store.backup(&place.path("copy")).await.unwrap();
        let whole = [EraseWhat::User("ada".to_owned()), EraseWhat::Session(of_bo)];
        let mut here = Vec::new();
        for what in whole {
            here.push(proof(store.erase(&bo, &erasing(what)).await.unwrap()));
        }
        store.close().await;
        let copy = place.open_at(&place.path("copy"));
        let bo = client(&copy, "bo").await;
        let there: Vec<Erased> = bo.erasures().await.unwrap().into_iter().map(proof).collect();
        assert_eq!((here.len(), there.len()), (2, 2));
        for (here, there) in here.iter().zip(&there) {
            assert!(there.replayed && !here.replayed);
            assert_eq!(here.derived, there.derived);
            for store in ["entries", "blocks", "sessions", "artifacts", "keys"] {
                let (here, there) = (counted(&here.stores, store), counted(&there.stores, store));
                // What the erasing itself adds to the tenant's journal is nobody's.
                assert_eq!((here.found, here.deleted), (there.found, there.deleted), "{store}");
            }
        }
        assert_eq!(there[1].derived.iter().map(|one| one.id).collect::<Vec<_>>(), [child]);
        let ada = &there[0].stores;
        assert_eq!((counted(ada, "sessions").deleted, counted(ada, "artifacts").deleted), (1, 1));
        assert!(counted(ada, "keys").deleted == 5 && counted(ada, "blocks").deleted > 0, "{ada:?}");
    });
}

#[test]
fn a_reader_that_stays_keeps_nobody_from_writing() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let (session, branch) = session(&ada).await;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.append(event("words that go")).await.unwrap();
        writer.release().await.unwrap();
        // Somebody who opened the ledger by other means, and reads an older state of it all the while.
        let ledger = fs::read_dir(place.path("store").join("tenants")).unwrap().next().unwrap().unwrap().path();
        let reader = rusqlite::Connection::open(ledger.join("ledger.db")).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        let count = |reader: &rusqlite::Connection| -> i64 {
            reader.query_row("SELECT count(*) FROM entry WHERE payload IS NOT NULL", [], |row| row.get(0)).unwrap()
        };
        let before = count(&reader);
        let what = EraseWhat::Entries { session, branch, from: 1, to: 1 };
        let error = store.erase(&ada, &erasing(what)).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "busy"));
        store.close().await;
        // Twice: after the first try the next are not made at each opening.
        for round in 1..=2 {
            let store = place.open();
            assert_eq!(store.erasures_wait().map(samite_model::Error::code), Some("busy"), "{round}");
            let ada = client(&store, "ada").await;
            let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
            writer.append(event("and on")).await.unwrap();
            writer.release().await.unwrap();
            assert_eq!(there(&ada, session).await, (round, 1), "what goes is not served");
            assert_eq!(ada.erasures().await.unwrap()[0].state, ErasureState::Started);
            store.close().await;
        }
        assert_eq!(count(&reader), before, "it reads what it read");
        drop(reader);
        let store = place.open();
        assert_eq!(store.resume_erasures(&Observer::default()).await.unwrap().len(), 1);
        assert_eq!(client(&store, "ada").await.erasures().await.unwrap()[0].state, ErasureState::Done);
        is_gone(&store, "words that go").await;
        is_whole(&store).await;
        store.close().await;
        assert!(place.open().erasures_wait().is_none());
    });
}

#[test]
fn a_registered_secret_outlives_whoever_registered_it() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        store.register_secret(&ada, "staple", b"correct horse").await.unwrap();
        let user = ada.pseudonym_of_user("ada").unwrap();
        store.erase(&bo, &erasing(EraseWhat::User("ada".to_owned()))).await.unwrap();
        let listed = bo.registered_secrets().await.unwrap();
        assert_eq!(
            listed.iter().map(|one| (one.name.as_str(), one.length)).collect::<Vec<_>>(),
            [("staple", Some(13))]
        );
        let (session, _) = session(&bo).await;
        let writer = bo.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.append(event("the words are correct horse")).await.unwrap();
        writer.release().await.unwrap();
        let entries = bo.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        let body = String::from_utf8_lossy(entries[0].event().unwrap().body).into_owned();
        assert!(body.starts_with("the words are [secret:staple:"), "{body}");
        assert_ne!(user, bo.pseudonym_of_user("bo").unwrap());
        store.forget_secret(&bo, "staple").await.unwrap();
        is_gone(&store, "correct horse").await;
        assert_eq!(bo.registered_secrets().await.unwrap().len(), 0);
        is_whole(&store).await;
    });
}

#[test]
fn a_hold_that_is_set_meanwhile_keeps_what_was_about_to_go() {
    let place = Place::new();
    let work = place.directory("work");
    let backends = place.backends_in_memory();
    let ledger = Arc::new(Watched::new(backends.ledger.clone()));
    let store = Store::new(Backends { ledger: ledger.clone(), ..backends });
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let session = attached(&ada, &work).await;
        for text in ["one", "two"] {
            fs::write(work.join("file"), text).unwrap();
            take(&ada, session).await;
        }
        fs::write(work.join("report"), "kept for its owner").unwrap();
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        let put = PutArtifact::file(work.join("report"));
        let artifact = writer.put_artifact(&put).await.unwrap().record.artifact;
        writer.release().await.unwrap();
        let fork = ada.fork(session, ForkOptions::default()).await.unwrap().branch;
        let on = HoldOn::User { subject: ada.pseudonym_of_user("ada").unwrap() };
        let hold_before = |kind: EntryKind| {
            let ada = ada.clone();
            ledger.before(kind, async move { assert!(ada.set_hold(on, "case 1").await.unwrap()) });
        };
        hold_before(EntryKind::BRANCH_DELETED);
        assert_eq!(ada.delete_branch(session, fork).await.unwrap_err().code(), "legal_hold");
        assert!(ada.branches(session).await.unwrap().iter().all(|branch| !branch.deleted));
        ada.lift_hold(on, "closed").await.unwrap();

        let rule = samite_model::thinning::Rule { all_for: 0, hourly_for: 0 };
        let plan = ada.plan_thinning(session, None, &rule).await.unwrap();
        assert!(plan.count() > 0);
        hold_before(EntryKind::CHECKPOINTS_THINNED);
        assert_eq!(ada.thin(session, &rule, &plan).await.unwrap_err().code(), "legal_hold");
        assert_eq!(ada.plan_thinning(session, None, &rule).await.unwrap().count(), plan.count());
        ada.lift_hold(on, "closed").await.unwrap();

        ada.keep_artifact(artifact, Some(0)).await.unwrap();
        hold_before(EntryKind::COLLECTED);
        ada.collect().await.unwrap();
        let mut bytes = Vec::new();
        ada.artifact_bytes(artifact, None, &mut bytes).await.unwrap();
        assert_eq!(bytes, b"kept for its owner");
    });
}

#[test]
fn a_sweep_looks_through_blocks_whose_pack_lost_its_index_and_says_what_it_cannot_read() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let work = place.directory("work");
        let mut bytes = noise(1, 600_000);
        bytes[300_000..300_016].copy_from_slice(b"words in a block");
        fs::write(work.join("file"), &bytes).unwrap();
        let session = attached(&ada, &work).await;
        take(&ada, session).await;
        let packs: Vec<_> = below(&place.path("store"), "pack");
        assert!(!packs.is_empty());
        let options = SweepOptions { canaries: vec!["words in a block".to_owned()], ..SweepOptions::default() };
        let damage = |end: usize, length: usize| {
            for pack in &packs {
                let mut bytes = fs::read(pack).unwrap();
                let from = bytes.len() - end;
                bytes[from..from + length].iter_mut().for_each(|byte| *byte ^= 0xff);
                fs::write(pack, bytes).unwrap();
            }
        };
        let sweep = async || {
            let swept = store.sweep(&options).await.unwrap();
            let blocks = swept.places.iter().find(|one| one.name == "blocks").unwrap().clone();
            (swept.found(), swept.unread(), blocks.control)
        };
        assert_eq!(sweep().await, (vec![0], 0, Some(true)));
        // The packs' own indexes: the ledger knows where the blocks are.
        damage(59, 59);
        assert_eq!(sweep().await, (vec![0], packs.len() as u64, Some(true)));
        // The bytes of the blocks: what stands there cannot be told.
        damage(590_000, 580_000);
        let (found, unread, _) = sweep().await;
        assert!(found.is_empty() && unread > packs.len() as u64, "{found:?} {unread}");
    });
}

/// The files below a directory whose names end so.
fn below(directory: &std::path::Path, ending: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path, ending));
        } else if path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
    found
}

/// Two copies of a store with one master erase different things at once: a third copy, from before, is told of all of it.
#[test]
fn two_copies_with_one_master_lose_no_note_of_each_other() {
    const EACH: usize = 6;
    let place = Place::new();
    let (sessions, kept) = run(async {
        let store = place.open();
        let ada = client(&store, "ada").await;
        let mut sessions = Vec::new();
        for number in 0..=2 * EACH {
            let (id, branch) = session(&ada).await;
            let writer = ada.writer(id, Some(branch), WriterOptions::default()).await.unwrap();
            writer.append(event(&format!("planted-{number:02}-here"))).await.unwrap();
            writer.release().await.unwrap();
            sessions.push(id);
        }
        for copy in ["other", "older"] {
            store.backup(&place.path(copy)).await.unwrap();
        }
        store.close().await;
        let kept = sessions.pop().unwrap();
        (sessions, kept)
    });
    let begin = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for (directory, doomed) in ["store", "other"].into_iter().zip(sessions.chunks(EACH)) {
            let (place, begin) = (&place, &begin);
            scope.spawn(move || {
                run(async {
                    let store = place.open_at(&place.path(directory));
                    let ada = client(&store, "ada").await;
                    begin.wait();
                    for session in doomed {
                        store.erase(&ada, &erasing(EraseWhat::Session(*session))).await.unwrap();
                    }
                });
            });
        }
    });
    run(async {
        let older = place.open_at(&place.path("older"));
        assert_eq!(older.erased_at_open().len(), 2 * EACH);
        let ada = client(&older, "ada").await;
        let left: Vec<SessionId> = ada.sessions().await.unwrap().into_iter().map(|info| info.unwrap().id).collect();
        assert_eq!(left, [kept]);
        for number in 0..2 * EACH {
            is_gone(&older, &format!("planted-{number:02}-here")).await;
        }
        is_whole(&older).await;
    });
}
