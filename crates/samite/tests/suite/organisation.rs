//! An organisation's policies: what each act is asked about, and when what was decided holds.

use crate::audit_archive::{Opened, open};
use crate::place::Place;
use crate::support::{World, event, principal, run};
use samite::artifact::{ArtifactFilter, ArtifactSource, PutArtifact};
use samite::audit::AuditQuery;
use samite::embedded::Embedded;
use samite::erasure::{EraseOptions, EraseWhat};
use samite::policy::{Region, TrainingOptions};
use samite::{Backends, Client, NewSession, Observer, ReadOptions, Store, SubjectExportOptions, WriterOptions};
use samite_host::{SystemClock, SystemSleep, TestClock};
use samite_ledger::testing::{Faults, FaultyStore, Seeded};
use samite_model::access::{Grantee, Right, Rights};
use samite_model::{ArtifactId, Result, SessionId};
use std::sync::Arc;

const SECOND: i64 = 1_000_000_000;

/// Everything is permitted but this.
async fn forbid(client: &Client, what: &str) {
    let policies = format!("permit(principal, action, resource);\nforbid(principal, {what};\n");
    assert!(client.set_organisation_policies(Some(&policies)).await.unwrap());
}

fn code<T>(outcome: Result<T>) -> String {
    outcome.err().map_or_else(|| "nothing was refused".to_owned(), |error| error.code().to_owned())
}

async fn told(client: &Client, text: &str) -> SessionId {
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    writer.append(event(text)).await.unwrap();
    writer.release().await.unwrap();
    session
}

async fn put(client: &Client, session: SessionId, name: &str) -> ArtifactId {
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    let new = PutArtifact {
        source: ArtifactSource::Bytes(name.as_bytes().to_vec()),
        name: Some(name.to_owned()),
        ..PutArtifact::file(name)
    };
    let put = writer.put_artifact(&new).await.unwrap();
    writer.release().await.unwrap();
    put.record.artifact
}

async fn names(client: &Client) -> Vec<String> {
    let listed = client.artifacts(&ArtifactFilter::default()).await.unwrap();
    listed.into_iter().map(|one| one.record.name).collect()
}

fn erasing(what: EraseWhat) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() }
}

async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

#[test]
fn an_artifact_is_asked_about_by_itself_whoever_reads_it() {
    let world = World::new();
    run(async {
        let ada = &world.client;
        let session = told(ada, "hers").await;
        let (secret, plain) = (put(ada, session, "secret").await, put(ada, session, "plain").await);
        let bob = Grantee::parse(&["user:bob".to_owned()]).unwrap();
        ada.share(session, bob, Rights::of([Right::Read]), None).await.unwrap();
        let there = world.client_of("bob").enter(session).await.unwrap();
        assert_eq!(names(&there).await.len(), 2);
        forbid(ada, &format!("action == Samite::Action::\"read\", resource == Samite::Artifact::\"{secret}\")")).await;
        // Its owner does not see it, nor does who was let into the session.
        assert_eq!(names(ada).await, ["plain"]);
        assert_eq!(names(&there).await, ["plain"]);
        assert_eq!(code(ada.artifact(secret).await), "no_artifact");
        ada.artifact(plain).await.unwrap();
        forbid(ada, &format!("action == Samite::Action::\"manage\", resource == Samite::Artifact::\"{secret}\")"))
            .await;
        assert_eq!(names(ada).await.len(), 2);
        assert_eq!(code(ada.keep_artifact(secret, Some(3)).await), "policy_forbids");
        ada.keep_artifact(plain, Some(3)).await.unwrap();
    });
}

#[test]
fn what_is_erased_exported_and_let_go_of_is_asked_about_thing_by_thing() {
    let place = Place::new();
    let store = place.open();
    run(async {
        let ada = &client(&store, "ada").await;
        let (kept, other) = (told(ada, "kept").await, told(ada, "other").await);
        let artifact = put(ada, other, "report").await;
        for session in [kept, other] {
            let on = ada.session_to_consent(session).await.unwrap();
            ada.set_consent(on, true, "contract", None).await.unwrap();
        }
        forbid(ada, &format!("action == Samite::Action::\"erase\", resource == Samite::Session::\"{kept}\")")).await;
        let erase = async |what: EraseWhat| store.plan_erasure(ada, &erasing(what)).await;
        assert_eq!(code(erase(EraseWhat::Session(kept)).await), "policy_forbids");
        let branch = ada.current_branch(kept).await.unwrap();
        let entries = EraseWhat::Entries { session: kept, branch, from: 1, to: 1 };
        assert_eq!(code(erase(entries).await), "policy_forbids");
        // A person is not erased in part.
        assert_eq!(code(erase(EraseWhat::User("ada".to_owned())).await), "policy_forbids");
        erase(EraseWhat::Session(other)).await.unwrap();
        erase(EraseWhat::Artifact(artifact)).await.unwrap();
        forbid(ada, "action == Samite::Action::\"erase\", resource is Samite::Artifact)").await;
        assert_eq!(code(erase(EraseWhat::Artifact(artifact)).await), "policy_forbids");
        assert_eq!(code(erase(EraseWhat::User("ada".to_owned())).await), "policy_forbids");
        erase(EraseWhat::Session(kept)).await.unwrap();
        // Whoever looks after the tenant hands out no more than they may read.
        forbid(ada, &format!("action == Samite::Action::\"read\", resource == Samite::Session::\"{kept}\")")).await;
        let boss = &client(&store, "boss").await;
        for (who, to) in [(ada, "one"), (boss, "two")] {
            let options =
                SubjectExportOptions { user: "ada".to_owned(), to: place.path(to), ..SubjectExportOptions::default() };
            assert_eq!(code(store.export_subject(who, &options).await), "policy_forbids");
            assert!(!place.path(to).exists());
        }
        let options = TrainingOptions {
            to: place.path("data"),
            region: Region::new("eu").unwrap(),
            basis: "contract".to_owned(),
            sessions: None,
            observer: Observer::default(),
        };
        let done = store.export_for_training(boss, &options).await.unwrap();
        let left: Vec<_> = done.left_out.iter().map(|left| (left.session, left.forbidden)).collect();
        assert_eq!(left, [(kept, true)]);
        let data = std::fs::read_to_string(place.path("data").join("data.jsonl")).unwrap();
        assert!(!data.contains(&kept.to_string()) && data.contains(&other.to_string()), "{data}");
        // An entry that the audit log leads to is an entry that is read.
        let acts = boss.audit().read(&AuditQuery { session: Some(kept), ..AuditQuery::default() }).await.unwrap();
        let index = acts.iter().find(|act| act.session == Some(kept)).unwrap().index;
        assert_eq!(code(boss.audit().show(None, index).await), "policy_forbids");
    });
}

#[test]
fn what_a_person_has_is_exported_whole_whatever_is_forbidden_to_the_node() {
    let place = Place::new();
    let store = place.open();
    run(async {
        let ada = &client(&store, "ada").await;
        let session = told(ada, "hers").await;
        put(ada, session, "report").await;
        // Neither the user that a node works as without a token, nor the agent that exports.
        let policies = "permit(principal, action, resource);
            forbid(principal, action == Samite::Action::\"operate\", resource) when { principal.user == Samite::User::\"local\" };
            forbid(principal, action == Samite::Action::\"read\", resource) unless { principal.agent == Samite::Agent::\"test\" };";
        assert!(ada.set_organisation_policies(Some(policies)).await.unwrap());
        let boss = &client(&store, "boss").await;
        for (who, to) in [(ada, "one"), (boss, "two")] {
            let options =
                SubjectExportOptions { user: "ada".to_owned(), to: place.path(to), ..SubjectExportOptions::default() };
            let done = store.export_subject(who, &options).await.unwrap();
            assert_eq!((done.artifacts, done.heads.len() as u64 >= 2), (1, true));
            assert_eq!(done.receipts, done.heads.len() as u64);
        }
    });
}

#[test]
fn what_another_process_decides_holds_within_a_second_for_handles_that_are_held() {
    let place = tempfile::tempdir().unwrap();
    let Opened { store: here, .. } = open(place.path(), 0);
    run(async {
        let ada = here.client(principal("ada")).await.unwrap();
        let session = told(&ada, "hers").await;
        let Opened { store: there, clock, .. } = open(place.path(), 0);
        let bob = there.client(principal("bob")).await.unwrap();
        let log = bob.audit();
        let acts = log.read(&AuditQuery::default()).await.unwrap();
        assert!(!acts.is_empty());
        forbid(
            &ada,
            "action == Samite::Action::\"operate\", resource) when { principal.user == Samite::User::\"bob\" }",
        )
        .await;
        clock.advance(SECOND);
        // The handle that he had, a new one, and what hands out more than a list.
        assert_eq!(code(log.show(None, 0).await), "policy_forbids");
        assert_eq!(code(bob.audit().read(&AuditQuery::default()).await), "policy_forbids");
        assert_eq!(code(log.verify(&[], &Observer::default()).await), "policy_forbids");
        assert_eq!(
            code(log.export(None, false, &place.path().join("out"), &Observer::default()).await),
            "policy_forbids"
        );
        ada.audit().show(None, 0).await.unwrap();
        ada.set_organisation_policies(None).await.unwrap();
        clock.advance(SECOND);
        log.show(None, 0).await.unwrap();
        assert_eq!(ada.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap().len(), 1);
    });
}

#[test]
fn a_store_that_cannot_be_read_for_a_while_forbids_nothing_afterwards() {
    let place = Place::new();
    let faulty = FaultyStore::new(Seeded::new(7), Arc::new(SystemSleep), Faults::NONE);
    let ledger = Arc::new(faulty.open());
    let clock = Arc::new(TestClock::new(samite_host::Clock::now(&SystemClock)));
    let store = Store::new(Backends { clock: clock.clone(), ..place.backends(ledger.clone(), ledger) });
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let session = told(&ada, "hers").await;
        forbid(&ada, "action == Samite::Action::\"fork\", resource)").await;
        for _ in 0..3 {
            faulty.set_faults(Faults { unavailable: 1000, ..Faults::NONE });
            clock.advance(SECOND);
            assert_ne!(code(ada.read(session, None, ReadOptions::default()).await), "policy_forbids");
            faulty.set_faults(Faults::NONE);
            ada.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        }
        assert_eq!(code(ada.fork(session, samite::ForkOptions::default()).await), "policy_forbids");
    });
}

#[test]
fn whoever_an_agent_works_for_is_asked_too_before_policies_are_set() {
    let world = World::new();
    run(async {
        let helper = world.client.sub_agent("helper", Rights::of(Right::ALL)).await.unwrap();
        let only_it = "permit(principal, action, resource);\nforbid(principal, action == Samite::Action::\"operate\", resource) \
                       unless { principal.agent == Samite::Agent::\"helper\" };";
        // What is forbidden to whom it works for is forbidden to it.
        assert_eq!(code(helper.set_organisation_policies(Some(only_it)).await), "policy_locks_out");
        assert_eq!(code(world.client.set_organisation_policies(Some(only_it)).await), "policy_locks_out");
        told(&world.client, "nothing changed").await;
        let not_it = only_it.replace("unless", "when");
        assert!(world.client.set_organisation_policies(Some(&not_it)).await.unwrap());
        assert_eq!(code(helper.set_organisation_policies(None).await), "policy_forbids");
        assert!(world.client.set_organisation_policies(None).await.unwrap());
    });
}
