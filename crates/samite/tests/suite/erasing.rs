//! Erasing a person's data, or a part of it.

use crate::place::Place;
use crate::support::{attached, event, options, principal, run, take};
use samite::embedded::{Embedded, EmbeddedOptions, EnvironmentMaster};
use samite::erasure::{DerivedKind, EraseOptions, EraseWhat, ErasureState, HoldOn, Run, Scope, SweepOptions};
use samite::{
    Begin, Client, ForkOptions, NewEvent, NewSession, NewStep, Observer, ReadOptions, SubjectExportOptions,
    WriterOptions,
};
use samite_ledger::{BlockIndex, Erasure, Ledger};
use samite_model::{ErrorKind, Principal, SessionId};
use serde_json::json;
use std::sync::Arc;

/// What to erase, for no reason that names anybody.
fn erasing(what: EraseWhat) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() }
}

fn user(name: &str) -> EraseOptions {
    erasing(EraseWhat::User(name.to_owned()))
}

async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

/// A session with messages.
async fn told(client: &Client, texts: &[&str]) -> SessionId {
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    tell(client, session, texts).await;
    session
}

async fn tell(client: &Client, session: SessionId, texts: &[&str]) {
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    for text in texts {
        writer.append(event(text)).await.unwrap();
    }
    writer.release().await.unwrap();
}

/// The bodies of a session's events; none for one that was erased.
async fn bodies(client: &Client, session: SessionId) -> Vec<Option<String>> {
    let entries = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
    let body = |entry: &samite::Entry| {
        entry.payload.as_ref().map(|_| String::from_utf8_lossy(entry.event().unwrap().body).into_owned())
    };
    entries.iter().filter(|entry| entry.is_event()).map(body).collect()
}

/// Nothing is wrong, and nothing is lost.
async fn is_whole(store: &Embedded) {
    let verified = store.store().verify(false, None).await.unwrap();
    assert_eq!(verified.findings, [], "{verified:?}");
    assert_eq!(verified.stale_views, [], "{verified:?}");
    assert!(verified.unreadable.is_empty() && verified.packs.is_empty(), "{verified:?}");
}

#[test]
fn a_person_goes_and_the_other_stays() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let of_ada = told(&ada, &["ada one", "ada two"]).await;
        let of_bo = told(&bo, &["bo one"]).await;
        let plan = store.plan_erasure(&bo, &user("ada")).await.unwrap();
        assert_eq!((plan.scope, plan.keys), (Scope::User, 5));
        assert!(plan.entries >= 4, "{plan:?}");
        assert_eq!(bodies(&ada, of_ada).await, [Some("ada one".to_owned()), Some("ada two".to_owned())]);

        let record = store.erase(&bo, &user("ada")).await.unwrap();
        assert_eq!(record.state, ErasureState::Done);
        let (_, proof) = record.proof.unwrap();
        assert_eq!((proof.entries, proof.keys.len()), (plan.entries, 5));
        assert_eq!(proof.epochs, (1, 2));
        assert_eq!(proof.root.len(), 64);
        assert_eq!(bodies(&bo, of_bo).await, [Some("bo one".to_owned())]);
        is_whole(&store).await;
        let error = ada.current_branch(of_ada).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "no_session"));
        let again = store.erase(&bo, &user("ada")).await.unwrap_err();
        assert_eq!((again.kind(), again.code()), (ErrorKind::NotFound, "no_subject"));
        store.close().await;
        let store = place.open();
        is_whole(&store).await;
        assert!(store.erased_at_open().is_empty());
        assert_eq!(client(&store, "bo").await.erasures().await.unwrap().len(), 1);
    });
}

#[test]
fn who_comes_back_has_fresh_keys_and_nothing_of_the_old() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let bo = client(&store, "bo").await;
        let ada = client(&store, "ada").await;
        let old = told(&ada, &["old"]).await;
        let keyed = NewSession { key: Some("known by this".to_owned()), ..NewSession::default() };
        ada.create_session(keyed.clone()).await.unwrap();
        let late = ada.writer(old, None, WriterOptions::default()).await.unwrap();
        store.erase(&bo, &user("ada")).await.unwrap();
        // Whoever still writes is fenced.
        let error = late.append(event("late")).await.unwrap_err();
        assert!(matches!(error.code(), "epoch_passed" | "key_destroyed" | "journal_closed"), "{error:?}");
        let error = ada.create_session(NewSession::default()).await.unwrap_err();
        assert_eq!(error.code(), "key_destroyed", "{error:?}");

        let ada = client(&store, "ada").await;
        assert_eq!(ada.sessions().await.unwrap().len(), 0);
        let again = ada.create_session(keyed.clone()).await.unwrap_err();
        assert_eq!((again.kind(), again.code()), (ErrorKind::Denied, "session_erased"));
        // Another person may use the same word.
        bo.create_session(keyed).await.unwrap();
        let new = told(&ada, &["new"]).await;
        assert_eq!(bodies(&ada, new).await, [Some("new".to_owned())]);
        assert_eq!(ada.sessions().await.unwrap().len(), 1);
        is_whole(&store).await;
        // What came back is erased like anything else, and the first proof stays.
        store.erase(&bo, &user("ada")).await.unwrap();
        is_whole(&store).await;
        let all = bo.erasures().await.unwrap();
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|record| record.state == ErasureState::Done));
    });
}

#[test]
fn a_session_goes_and_is_not_made_by_its_key_again() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let keyed = NewSession { key: Some("the key".to_owned()), ..NewSession::default() };
        let gone = ada.create_session(keyed.clone()).await.unwrap().id;
        tell(&ada, gone, &["gone"]).await;
        let kept = told(&ada, &["kept"]).await;
        let record = store.erase(&ada, &erasing(EraseWhat::Session(gone))).await.unwrap();
        let (_, proof) = record.proof.unwrap();
        assert_eq!((proof.keys.len(), proof.scope), (0, Scope::Session { session: gone }));
        assert_eq!(bodies(&ada, kept).await, [Some("kept".to_owned())]);
        let error = ada.create_session(keyed).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "session_erased"));
        assert_eq!(ada.sessions().await.unwrap().len(), 1);
        is_whole(&store).await;
    });
}

#[test]
fn entries_go_with_the_ends_of_their_steps_and_the_session_goes_on() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let session = told(&ada, &["one", "two", "three", "four"]).await;
        let branch = ada.current_branch(session).await.unwrap();
        let what = EraseWhat::Entries { session, branch, from: 2, to: 3 };
        store.erase(&ada, &erasing(what.clone())).await.unwrap();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(bodies(&ada, session).await, [some("one"), None, None, some("four")]);
        tell(&ada, session, &["five"]).await;
        assert_eq!(bodies(&ada, session).await.len(), 5);
        is_whole(&store).await;
        let beyond = EraseWhat::Entries { session, branch, from: 2, to: 99 };
        assert_eq!(store.erase(&ada, &erasing(beyond)).await.unwrap_err().code(), "no_position");
        let none = EraseWhat::Entries { session, branch, from: 3, to: 2 };
        assert_eq!(store.erase(&ada, &erasing(none)).await.unwrap_err().code(), "bad_range");
    });
}

#[test]
fn files_go_unless_another_has_them() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let (one, two) = (place.directory("one"), place.directory("two"));
        let (shared, alone) = ("shared ".repeat(1000), "alone ".repeat(1000));
        std::fs::write(one.join("shared"), &shared).unwrap();
        std::fs::write(one.join("alone"), &alone).unwrap();
        std::fs::write(two.join("shared"), &shared).unwrap();
        let of_ada = attached(&ada, &one).await;
        let of_bo = attached(&bo, &two).await;
        take(&ada, of_ada).await;
        let checkpoint = take(&bo, of_bo).await;
        let plan = store.plan_erasure(&bo, &user("ada")).await.unwrap();
        let blocks = plan.found.iter().find(|one| one.store == "blocks").unwrap();
        assert_eq!(blocks.retained, 1, "{blocks:?}");
        store.erase(&bo, &user("ada")).await.unwrap();
        is_whole(&store).await;
        let mut out = Vec::new();
        bo.cat(checkpoint.position, "shared", &mut out).await.unwrap();
        assert_eq!(out, shared.as_bytes());
        // What is left are Bo's root, his directory and the file.
        assert_eq!(store.ledger().blocks(None, 100).await.unwrap().len(), 3);
    });
}

#[test]
fn an_older_copy_is_erased_before_it_serves() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let of_ada = told(&ada, &["of ada"]).await;
        let of_bo = told(&bo, &["of bo", "also of bo"]).await;
        let work = place.directory("work");
        std::fs::write(work.join("file"), "words of a file".repeat(100)).unwrap();
        ada.attach(of_ada, None, &work).await.unwrap();
        take(&ada, of_ada).await;
        store.backup(&place.path("copy")).await.unwrap();
        let branch = bo.current_branch(of_bo).await.unwrap();
        let entries = EraseWhat::Entries { session: of_bo, branch, from: 1, to: 1 };
        store.erase(&bo, &user("ada")).await.unwrap();
        store.erase(&bo, &erasing(entries)).await.unwrap();
        store.close().await;

        let reading = EmbeddedOptions {
            create: false,
            read_only: true,
            ..options(&place.path("copy"), &place.path("master.key"))
        };
        let error = Embedded::open(reading).err().unwrap();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "erasures_pending"));
        let copy = place.open_at(&place.path("copy"));
        assert_eq!(copy.erased_at_open().len(), 2);
        assert!(copy.erased_at_open().iter().all(|record| record.started.replayed));
        let bo = client(&copy, "bo").await;
        assert_eq!(bodies(&bo, of_bo).await, [None, Some("also of bo".to_owned())]);
        // No chunk of Ada's file is left, though it is under the tenant's key.
        assert_eq!(copy.ledger().blocks(None, 100).await.unwrap().len(), 0);
        is_whole(&copy).await;
        copy.close().await;
        assert!(place.open_at(&place.path("copy")).erased_at_open().is_empty());
    });
}

#[test]
fn a_hold_stands_against_it() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let session = told(&ada, &["held"]).await;
        let on = ada.session_to_hold(session).await.unwrap();
        assert!(ada.set_hold(on, "a court asked").await.unwrap());
        assert!(!ada.set_hold(on, "again").await.unwrap());
        for what in [EraseWhat::User("ada".to_owned()), EraseWhat::Session(session)] {
            let error = store.erase(&ada, &erasing(what)).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "legal_hold"));
        }
        assert_eq!(store.plan_erasure(&bo, &user("ada")).await.unwrap().held.unwrap().reason, "a court asked");
        assert_eq!(bodies(&ada, session).await, [Some("held".to_owned())]);
        is_whole(&store).await;
        let error = ada.lift_hold(HoldOn::User { subject: ada.pseudonym_of_user("ada").unwrap() }, "no").await;
        assert_eq!(error.unwrap_err().code(), "no_hold");
        ada.lift_hold(on, "the court is done").await.unwrap();
        store.erase(&bo, &user("ada")).await.unwrap();
        is_whole(&store).await;
    });
}

#[test]
fn a_master_that_cannot_destroy_is_refused_before_anything_changes() {
    run(async {
        let place = Place::new();
        let mut with = options(&place.path("store"), &place.path("master.key"));
        with.master = Arc::new(EnvironmentMaster::new(&"07".repeat(32)).unwrap());
        let store = Embedded::open(with).unwrap();
        let ada = client(&store, "ada").await;
        let session = told(&ada, &["one", "two"]).await;
        let error = store.erase(&ada, &user("ada")).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "cannot_destroy"));
        assert!(ada.erasures().await.unwrap().is_empty());
        assert_eq!(bodies(&ada, session).await.len(), 2);
        // Less than all of a person's data needs no key to be destroyed; the proof says what a copy would still have.
        let branch = ada.current_branch(session).await.unwrap();
        let what = EraseWhat::Entries { session, branch, from: 1, to: 1 };
        let record = store.erase(&ada, &erasing(what)).await.unwrap();
        let (_, proof) = record.proof.unwrap();
        let copy = proof.unreached.iter().find(|one| one.what == "other_copy").unwrap();
        assert!(copy.until.contains("keeps no note"), "{copy:?}");
        is_whole(&store).await;
    });
}

#[test]
fn what_others_made_of_it_is_listed() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let session = told(&ada, &["one"]).await;
        let child = NewSession {
            parent: Some(samite::payload::ParentSession { session, step: None }),
            ..NewSession::default()
        };
        let child = ada.create_session(child).await.unwrap().id;
        let plan = store.plan_erasure(&ada, &erasing(EraseWhat::Session(session))).await.unwrap();
        let derived: Vec<_> = plan.derived.iter().map(|one| (one.kind, one.id)).collect();
        assert_eq!(derived, [(DerivedKind::Session, child)]);
    });
}

#[test]
fn a_payload_that_no_erasure_took_is_missing() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let session = told(&ada, &["one", "two"]).await;
        let branch = ada.current_branch(session).await.unwrap();
        let runs = vec![Run { journal: branch, first: 1, last: 1 }];
        store.ledger().erase(Erasure { runs, ..Erasure::default() }).await.unwrap();
        let verified = store.store().verify(false, None).await.unwrap();
        let found: Vec<_> = verified.findings.iter().map(|one| (one.journal, one.first, one.what.name())).collect();
        assert_eq!(found, [(branch, 1, "payload")]);
    });
}

#[test]
fn views_are_made_again_without_what_was_erased() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let session = ada.create_session(NewSession::default()).await.unwrap().id;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        for number in 0..3 {
            let step = NewStep::new(format!("step {number}"), "tool", json!({ "number": number }));
            let Begin::Run(handle) = writer.begin(&step).await.unwrap() else { panic!("a new step") };
            writer.complete(&handle, json!("done")).await.unwrap();
        }
        writer.append(NewEvent { dedupe: Some("one".to_owned()), ..event("with an id") }).await.unwrap();
        writer.release().await.unwrap();
        let branch = ada.current_branch(session).await.unwrap();
        let fork = ada.fork(session, ForkOptions { seq: Some(5), ..ForkOptions::default() }).await.unwrap().branch;
        // The start of the second step alone: its end goes with it, and the step that is open in the fork too.
        let what = EraseWhat::Entries { session, branch, from: 3, to: 3 };
        let plan = store.plan_erasure(&ada, &erasing(what.clone())).await.unwrap();
        assert_eq!(plan.entries, 2);
        store.erase(&ada, &erasing(what)).await.unwrap();
        is_whole(&store).await;
        let verified = store.store().verify(true, None).await.unwrap();
        assert_eq!((verified.rebuilt.len(), verified.findings.len()), (0, 0), "{verified:?}");
        // The other steps, both branches and what is appended next are as before.
        let writer = ada.writer(session, Some(branch), WriterOptions::default()).await.unwrap();
        let step = |number: u8| NewStep::new(format!("step {number}"), "tool", json!({ "number": number }));
        assert!(matches!(writer.begin(&step(0)).await.unwrap(), Begin::Replay(_)));
        // It was erased, and not undone: it is not done again.
        assert_eq!(writer.begin(&step(1)).await.unwrap_err().code(), "step_erased");
        writer.release().await.unwrap();
        let in_fork = ada.read(session, Some(fork), ReadOptions::default()).await.unwrap().all().await.unwrap();
        assert_eq!(in_fork.iter().filter(|entry| entry.payload.is_none()).count(), 2);
        is_whole(&store).await;
    });
}

#[test]
fn what_is_held_is_kept_from_collections_thinning_and_deletions() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let work = place.directory("work");
        std::fs::write(work.join("file"), "words".repeat(1000)).unwrap();
        let session = attached(&ada, &work).await;
        take(&ada, session).await;
        let fork = ada.fork(session, ForkOptions::default()).await.unwrap().branch;
        let blocks = async || store.ledger().blocks(None, 100).await.unwrap().len();
        let before = blocks().await;
        let on = HoldOn::User { subject: ada.pseudonym_of_user("ada").unwrap() };
        ada.set_hold(on, "case 1").await.unwrap();
        let error = ada.delete_branch(session, fork).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "legal_hold"));
        let rule = samite_model::thinning::Rule { all_for: 0, hourly_for: 0 };
        let plan = ada.plan_thinning(session, None, &rule).await.unwrap();
        assert_eq!(ada.thin(session, &rule, &plan).await.unwrap_err().code(), "legal_hold");
        // The time of both branches' trees is over.
        let current = ada.current_branch(session).await.unwrap();
        for branch in [fork, current] {
            ada.set_lifetime(session, branch, Some(1)).await.unwrap();
        }
        ada.collect().await.unwrap();
        assert_eq!(blocks().await, before);
        ada.lift_hold(on, "closed").await.unwrap();
        ada.delete_branch(session, fork).await.unwrap();
        ada.collect().await.unwrap();
        is_whole(&store).await;
    });
}

#[test]
fn an_export_has_everything_and_what_proves_it() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let work = place.directory("work");
        std::fs::write(work.join("file"), "in the workspace").unwrap();
        let session = attached(&ada, &work).await;
        tell(&ada, session, &["said by ada"]).await;
        take(&ada, session).await;
        told(&bo, &["said by bo"]).await;
        let to = place.path("export");
        let options =
            SubjectExportOptions { user: "ada".to_owned(), to: to.clone(), ..SubjectExportOptions::default() };
        let done = store.export_subject(&ada, &options).await.unwrap();
        assert_eq!((done.trees, done.artifacts, done.erased), (1, 0, 0));
        let mut lines = Vec::new();
        for entry in std::fs::read_dir(to.join("journals")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains("said by bo"), "{text}");
            lines.extend(text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()));
        }
        assert_eq!(lines.len() as u64, done.entries);
        let said = lines.iter().find(|line| line["body"]["text"] == "said by ada").unwrap();
        // Commitment and link can be checked by the line alone.
        let hex = |name: &str| data_encoding::HEXLOWER.decode(said[name].as_str().unwrap().as_bytes()).unwrap();
        let payload = data_encoding::BASE64.decode(said["payload_base64"].as_str().unwrap().as_bytes()).unwrap();
        let header = samite_model::Header::decode(&hex("header")).unwrap();
        let salt: [u8; 32] = hex("salt").try_into().unwrap();
        assert_eq!(samite_model::hash::commitment(&salt, &payload), header.commitment);
        assert_eq!(said["commitment"], header.commitment.to_string());
        let tree = std::fs::read_dir(to.join("trees")).unwrap().next().unwrap().unwrap().path();
        assert_eq!(std::fs::read_to_string(tree.join("file")).unwrap(), "in the workspace");
        let again = store.export_subject(&ada, &options).await.unwrap_err();
        assert_eq!(again.code(), "not_empty");
        let nobody = SubjectExportOptions { user: "eve".to_owned(), to: place.path("none"), ..options };
        assert_eq!(store.export_subject(&ada, &nobody).await.unwrap_err().code(), "no_subject");
    });
}

#[test]
fn a_sweep_finds_what_is_there_and_says_where_it_looked() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        told(&ada, &["a secret of ada's"]).await;
        let options = |texts: &[&str]| SweepOptions {
            canaries: texts.iter().map(|text| (*text).to_owned()).collect(),
            ..SweepOptions::default()
        };
        let swept = store.sweep(&options(&["secret of ada", "nobody's words"])).await.unwrap();
        assert_eq!(swept.found(), [0]);
        let hit = &swept.hits[0];
        assert_eq!((hit.form, hit.place, hit.count), ("plain", "payloads", 1));
        let controls: Vec<_> =
            swept.places.iter().filter(|one| one.control == Some(true)).map(|one| one.name).collect();
        for name in ["ledger", "keys", "store", "statistics", "payloads"] {
            assert!(controls.contains(&name), "{name}: {:?}", swept.places);
        }
        assert!(swept.bytes() > 100_000, "{swept:?}");
        assert_eq!(store.sweep(&options(&["short"])).await.unwrap_err().code(), "bad_canary");
        assert_eq!(store.sweep(&options(&[])).await.unwrap_err().code(), "bad_canary");
    });
}

#[test]
fn nobody_hands_out_another_persons_data_who_may_not_operate_the_tenant() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        told(&ada, &["said by ada"]).await;
        let scoped = async |user: &str, scopes: &[&str]| {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            store.store().client(Principal { scopes, ..principal(user) }).await.unwrap()
        };
        let of = |user: &str, to: &str| SubjectExportOptions {
            user: user.to_owned(),
            to: place.path(to),
            ..SubjectExportOptions::default()
        };
        let agent = scoped("bo", &[]).await;
        let refused = store.export_subject(&agent, &of("ada", "none")).await.unwrap_err();
        assert_eq!(refused.code(), "scope_missing");
        assert_eq!(store.export_key(&agent, "correct horse battery staple").await.unwrap_err().code(), "scope_missing");
        let blind = scoped("ada", &["samite:append"]).await;
        assert_eq!(store.export_subject(&blind, &of("ada", "none")).await.unwrap_err().code(), "scope_missing");
        assert!(!place.path("none").exists());
        // One's own, and another's by who looks after the tenant.
        let own = scoped("ada", &[]).await;
        assert!(store.export_subject(&own, &of("user:ada", "own")).await.unwrap().entries > 1);
        let operator = scoped("bo", &["samite:operate"]).await;
        assert!(store.export_subject(&operator, &of("ada", "hers")).await.unwrap().entries > 1);
        let query = samite::audit::AuditQuery { acts: vec!["handed_out".to_owned()], ..Default::default() };
        let acts = operator.audit().read(&query).await.unwrap();
        let who: Vec<Option<String>> = acts.into_iter().map(|act| act.actor.user).collect();
        assert_eq!(who, [Some("user:ada".to_owned()), Some("user:bo".to_owned())]);
    });
}

#[test]
fn what_an_operator_is_shown_of_another_person_is_recorded_before() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        told(&ada, &["said by ada"]).await;
        let query = |act: &str| samite::audit::AuditQuery { acts: vec![act.to_owned()], ..Default::default() };
        let created = ada.audit().read(&query("session_created")).await.unwrap().remove(0);
        // One's own is looked at without a word.
        assert!(ada.audit().show(None, created.index).await.unwrap().1.is_some());
        assert!(ada.reads_by_others().await.unwrap().is_empty());
        let shown = bo.audit().show(None, created.index).await.unwrap().1.unwrap();
        assert!(shown.payload.is_some());
        let reads = ada.reads_by_others().await.unwrap();
        assert_eq!((reads.len(), reads[0].recorded.reader.user.as_str()), (1, "bo"));
        assert_eq!(reads[0].recorded.read[0].journal, created.leaf.journal);
        // Where it cannot be recorded, nothing is shown.
        let only = store.store().reader(principal("bo")).unwrap();
        assert_eq!(only.audit().show(None, created.index).await.unwrap_err().code(), "reads_unrecorded");
        assert!(bo.audit().prove(None, created.index, true).await.is_ok());
        assert_eq!(bo.audit().read(&query("handed_out")).await.unwrap().len(), 1);
    });
}

#[test]
fn retention_is_the_whole_tenants() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let (of_ada, of_bo) = (told(&ada, &["said by ada"]).await, told(&bo, &["said by bo"]).await);
        let held = told(&ada, &["held"]).await;
        bo.set_retention(samite::policy::Retained::Session, Some(0)).await.unwrap();
        let on = ada.session_to_hold(held).await.unwrap();
        bo.set_hold(on, "case 12").await.unwrap();
        let mut due: Vec<(SessionId, bool)> =
            bo.retention_due(None).await.unwrap().iter().map(|one| (one.session.unwrap(), one.held)).collect();
        due.sort();
        let mut expected = vec![(of_ada, false), (of_bo, false), (held, true)];
        expected.sort();
        assert_eq!(due, expected);
        // Who may operate the tenant and not erase looks, and takes nothing.
        let scopes = vec!["samite:read".to_owned(), "samite:operate".to_owned()];
        let looker = store.store().client(Principal { scopes, ..principal("bo") }).await.unwrap();
        assert_eq!(looker.retention_due(None).await.unwrap().len(), 3);
        let refused = store.apply_retention(&looker, &Observer::default()).await.unwrap_err();
        assert_eq!(refused.code(), "scope_missing");
        let done = store.apply_retention(&bo, &Observer::default()).await.unwrap();
        assert_eq!(done.iter().filter(|one| one.erasure.is_some()).count(), 2);
        assert_eq!(ada.session(of_ada).await.unwrap_err().code(), "no_session");
        assert_eq!(bo.session(of_bo).await.unwrap_err().code(), "no_session");
        assert_eq!(bodies(&ada, held).await, [Some("held".to_owned())]);
        let proof = bo.erasures().await.unwrap().into_iter().find(|one| one.started.sessions == [of_ada]).unwrap();
        assert_eq!(proof.started.subject, ada.pseudonym_of_user("ada").unwrap());
        is_whole(&store).await;
    });
}
