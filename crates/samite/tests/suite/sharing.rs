//! What is shared, with whom, and what of it is recorded.

use crate::place::Place;
use crate::support::{World, assert_verifies, attached, event, principal, run, take};
use async_trait::async_trait;
use samite::access::{OfWhat, Policies};
use samite::artifact::{ArtifactFilter, PutArtifact};
use samite::recover::Site;
use samite::workspace::CloseOptions;
use samite::{
    Backends, Begin, Client, ForkOptions, NewEvent, NewSession, NewStep, ReadOptions, Store, Writer, WriterOptions,
};
use samite_host::{Clock, SystemClock, TestClock};
use samite_ledger::{
    Commit, Erasure, Generation, JournalFilter, JournalKind, JournalState, Lease, LeaseOutcome, LeaseRequest, Ledger,
    LogState, MemoryLedger, NewJournal, Read, Receipt, Register, Row, RowQuery, Run, StoredEntry, Tombstones,
};
use samite_model::access::{Grantee, Policy, Right, Rights};
use samite_model::step::Effect;
use samite_model::{EntryKind, Error, JournalId, KeyId, Owner, Position, Principal, Pseudonym, Result, SessionId};
use serde_json::json;
use std::fs;
use std::sync::{Arc, Mutex};

const HOUR: i64 = 3600 * 1_000_000_000;

fn with(user: &str) -> Grantee {
    Grantee::parse(&[format!("user:{user}")]).unwrap()
}

fn rights(rights: &[Right]) -> Rights {
    Rights::of(rights.iter().copied())
}

async fn writer(client: &Client, session: SessionId) -> Writer {
    client.writer(session, None, WriterOptions::default()).await.unwrap()
}

/// A session with a message.
async fn begun(client: &Client, text: &str) -> SessionId {
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    let writer = writer(client, session).await;
    writer.append(event(text)).await.unwrap();
    writer.release().await.unwrap();
    session
}

async fn bodies(client: &Client, session: SessionId) -> Result<Vec<String>> {
    let entries = client.read(session, None, ReadOptions::default()).await?.all().await?;
    let events = entries.iter().filter(|entry| entry.is_event() && entry.payload.is_some());
    Ok(events.map(|entry| String::from_utf8(entry.event().unwrap().body.to_vec()).unwrap()).collect())
}

/// A fork at a seq of the current branch.
fn at_seq(seq: u64) -> ForkOptions {
    ForkOptions { seq: Some(seq), ..ForkOptions::default() }
}

/// Code and words of an error.
fn said<T>(outcome: Result<T>) -> (String, String) {
    match outcome {
        Ok(_) => ("nothing was refused".to_owned(), String::new()),
        Err(error) => (error.code().to_owned(), format!("{error} {:?}", error.hints())),
    }
}

fn code<T>(outcome: Result<T>) -> String {
    said(outcome).0
}

#[test]
fn what_is_not_shared_is_not_there_and_what_is_may_be_read() {
    let world = World::new();
    let (ada, bob) = (&world.client, &world.client_of("bob"));
    run(async {
        let named = NewSession { name: Some("plans".to_owned()), ..NewSession::default() };
        let session = ada.create_session(named).await.unwrap().id;
        let ada_writes = writer(ada, session).await;
        ada_writes.append(event("a secret")).await.unwrap();
        ada_writes.release().await.unwrap();
        let missing = SessionId::from_slice(&[7; 16]).unwrap();
        // Alike, but for the id that was asked for.
        let same = |one: (String, String), other: (String, String)| {
            let one = (one.0, one.1.replace(&session.to_string(), &missing.to_string()));
            assert_eq!(one, other);
        };
        same(said(bob.enter(session).await), said(bob.enter(missing).await));
        same(said(bob.session(session).await), said(bob.session(missing).await));
        same(said(bob.rights(session).await), said(bob.rights(missing).await));
        same(said(bob.grants(session).await), said(bob.grants(missing).await));
        let whole = session.to_string();
        same(said(bob.find_session(&whole).await), said(bob.find_session(&missing.to_string()).await));
        for digits in [1, 2, 4, 8] {
            let prefix = &whole[..digits];
            assert_eq!(said(bob.find_session(prefix).await).0, "no_session", "{prefix}");
        }
        assert_eq!(code(bob.find_session("plans").await), "no_session");
        assert!(bob.shared_sessions().await.unwrap().is_empty());
        assert!(bob.sessions().await.unwrap().is_empty());

        ada.share(session, with("bob"), rights(&[Right::Read]), None).await.unwrap();
        let shared = bob.shared_sessions().await.unwrap();
        let shared = shared[0].as_ref().unwrap();
        assert_eq!((shared.info.id, shared.owner.as_ref().map(Owner::as_str)), (session, Some("user:ada")));
        assert_eq!(shared.rights, rights(&[Right::Read]));
        assert!(bob.sessions().await.unwrap().is_empty(), "it is not his");
        assert_eq!(bob.find_session(&whole[..8]).await.unwrap(), session);
        let there = bob.enter(session).await.unwrap();
        assert_eq!(bodies(&there, session).await.unwrap(), ["a secret"]);
        assert_eq!(there.session(session).await.unwrap().created.name.as_deref(), Some("plans"));
        // Nothing else of hers, and nothing but reading.
        let other = begun(ada, "another").await;
        assert_eq!(code(bob.enter(other).await), "no_session");
        assert_eq!(code(bodies(&there, other).await), "no_session");
        assert_eq!(code(there.writer(session, None, WriterOptions::default()).await), "not_granted");
        assert_eq!(code(there.fork(session, at_seq(1)).await), "not_granted");
        assert_eq!(code(there.share(session, with("eve"), rights(&[Right::Read]), None).await), "not_granted");
        let branch = there.current_branch(session).await.unwrap();
        assert_eq!(code(there.set_lifetime(session, branch, None).await), "not_granted");
        assert_eq!(code(there.change_settings(session, |all| all.deliver.push("x".to_owned())).await), "not_granted");
        assert_eq!(code(there.create_session(NewSession::default()).await), "written_as_another");

        let ended = ada.unshare(session, Some(&with("bob"))).await.unwrap();
        assert_eq!(ended.len(), 1);
        assert_eq!(code(ada.unshare(session, Some(&with("bob"))).await), "no_grant");
        same(said(bob.enter(session).await), said(bob.enter(missing).await));
        // Who was in it already is out of it.
        assert_eq!(code(bodies(&there, session).await), "no_session");
    });
    assert_verifies(&world.store);
}

#[test]
fn a_grantee_adds_in_its_own_name_to_the_owners_data() {
    let world = World::new();
    let (ada, bob) = (&world.client, &world.client_of("bob"));
    run(async {
        let session = begun(ada, "from ada").await;
        let own = begun(bob, "bob's own").await;
        let all = rights(&[Right::Append, Right::Fork, Right::Publish]);
        ada.share(session, with("bob"), all, None).await.unwrap();
        let there = bob.enter(session).await.unwrap();
        let bobs = writer(&there, session).await;
        let deduped = NewEvent { dedupe: Some("once".to_owned()), ..event("from bob") };
        let first = bobs.append(deduped.clone()).await.unwrap();
        let step = NewStep { effect: Effect::Idempotent, ..NewStep::new("k", "tool", json!({"a": 1})) };
        let Begin::Run(handle) = bobs.begin(&step).await.unwrap() else { panic!("it is new") };
        bobs.complete(&handle, json!("done")).await.unwrap();
        bobs.release().await.unwrap();
        // What she asks for by the same key and id is what he did.
        let adas = writer(ada, session).await;
        let again = adas.append(deduped).await.unwrap();
        assert_eq!((again.position, again.duplicate), (first.position, true));
        assert!(matches!(adas.begin(&step).await.unwrap(), Begin::Replay(_)), "it is done");
        adas.release().await.unwrap();
        let header = |client: &Client, session| {
            let client = client.clone();
            run(async move {
                let options = ReadOptions { kinds: vec![EntryKind::MESSAGE], ..ReadOptions::default() };
                let entries = client.read(session, None, options).await.unwrap().all().await.unwrap();
                entries.into_iter().map(|entry| entry.header).collect::<Vec<_>>()
            })
        };
        let (hers, his) = (header(ada, session), header(bob, own));
        assert_eq!(hers.len(), 2);
        assert_eq!((hers[1].owner, hers[1].actor), (hers[0].owner, his[0].actor));
        assert_ne!(hers[0].owner, his[0].owner);
        assert_ne!(hers[0].actor, hers[1].actor);
        assert_eq!(hers[0].key, hers[1].key, "sealed under her key");

        // A fork stays in the session, and is hers.
        let options = ForkOptions { key: Some("his fork".to_owned()), ..ForkOptions::default() };
        let fork = there.fork(session, ForkOptions { seq: Some(2), ..options }).await.unwrap();
        assert_eq!(ada.branch_by_key(session, "his fork").await.unwrap(), Some(fork.branch));
        let line = there.writer(session, Some(fork.branch), WriterOptions::default()).await.unwrap();
        line.append(event("on the fork")).await.unwrap();
        line.release().await.unwrap();
        assert_eq!(ada.branches(session).await.unwrap().len(), 2);
        assert_eq!(code(there.delete_branch(session, fork.branch).await), "not_granted");
        // His own session is where it was.
        assert_eq!(bodies(bob, own).await.unwrap(), ["bob's own"]);
        assert_eq!(code(ada.enter(own).await), "no_session");
    });
    assert_verifies(&world.store);
    run(async {
        // It is her data: it goes with her.
        let session = ada.sessions().await.unwrap()[0].as_ref().unwrap().id;
        world.destroy_keys_of("ada").await;
        assert_eq!(code(bob.enter(session).await), "no_session");
    });
}

#[test]
fn files_of_a_shared_session_are_read_forked_and_worked_on_elsewhere() {
    let world = World::new();
    let place = Place::new();
    let (work, copy) = (place.directory("work"), place.path("copy"));
    let (ada, bob) = (&world.client, &world.client_of("bob"));
    fs::write(work.join("a.txt"), "hers").unwrap();
    run(async {
        let session = attached(ada, &work).await;
        take(ada, session).await;
        let at = ada.head(session, ada.current_branch(session).await.unwrap()).await.unwrap();
        ada.share(session, with("bob"), rights(&[Right::Read]), None).await.unwrap();
        let there = bob.enter(session).await.unwrap();
        let mut bytes = Vec::new();
        there.cat(at, "a.txt", &mut bytes).await.unwrap();
        assert_eq!(bytes, b"hers");
        assert_eq!(code(there.cat(at, "b.txt", &mut bytes).await), code(ada.cat(at, "b.txt", &mut bytes).await));
        assert_eq!(code(bob.cat(at, "a.txt", &mut bytes).await), "no_journal", "not entered, not there");

        ada.share(session, with("bob"), rights(&[Right::Append, Right::Fork]), None).await.unwrap();
        let fork = there.fork(session, at_seq(at.seq)).await.unwrap();
        fs::create_dir(&copy).unwrap();
        there.attach(session, Some(fork.branch), &copy).await.unwrap();
        fs::write(copy.join("a.txt"), "his").unwrap();
        let tree = crate::support::take_of(&there, session, Some(fork.branch)).await;
        let mut bytes = Vec::new();
        ada.cat(Position { journal: fork.branch, seq: tree.position.seq }, "a.txt", &mut bytes).await.unwrap();
        assert_eq!(bytes, b"his");
        // What is safe to delete is the owner's to say.
        let site = Site { base: copy.clone(), lives: place.directory("lives") };
        let (writer, options) = (WriterOptions::default(), CloseOptions::default());
        assert_eq!(code(there.close(session, Some(fork.branch), writer, &options, &site).await), "not_granted");
    });
    assert_verifies(&world.store);
}

#[test]
fn an_artifact_is_shared_by_itself() {
    let world = World::new();
    let place = Place::new();
    let (ada, bob) = (&world.client, &world.client_of("bob"));
    run(async {
        let session = begun(ada, "work").await;
        let adas = writer(ada, session).await;
        let mut made = Vec::new();
        for name in ["one", "two"] {
            fs::write(place.path(name), format!("bytes of {name}")).unwrap();
            made.push(adas.put_artifact(&PutArtifact::file(place.path(name))).await.unwrap().record.artifact);
        }
        adas.release().await.unwrap();
        let (one, two) = (made[0], made[1]);
        assert_eq!(code(bob.enter_artifact(one).await), "no_artifact");
        assert_eq!(code(ada.share_artifact(one, with("bob"), rights(&[Right::Append]), None).await), "not_granted");
        ada.share_artifact(one, with("bob"), rights(&[Right::Read]), None).await.unwrap();
        let there = bob.enter_artifact(one).await.unwrap();
        let mut bytes = Vec::new();
        there.artifact_bytes(one, None, &mut bytes).await.unwrap();
        assert_eq!(bytes, b"bytes of one");
        let listed = there.artifacts(&ArtifactFilter::default()).await.unwrap();
        assert_eq!(listed.iter().map(|found| found.record.artifact).collect::<Vec<_>>(), [one]);
        // The other one is not there, by its id, by its beginning or in a list; nor is the session.
        let none = |outcome: (String, String), id: &str| {
            let words = format!("there is no artifact {id} [\"`samite artifact list` shows those that you may see\"]");
            assert_eq!(outcome, ("no_artifact".to_owned(), words));
        };
        none(said(there.artifact(two).await), &two.to_string());
        none(said(there.artifact_bytes(two, None, &mut bytes).await), &two.to_string());
        none(said(there.find_artifact(&two.to_string()[..6]).await), &two.to_string()[..6]);
        none(said(bob.enter_artifact(two).await), &two.to_string());
        none(said(bob.artifact(one).await), &one.to_string());
        assert_eq!(code(bob.enter(session).await), "no_session");
        assert_eq!(code(there.set_artifact_policy("file", Some(Some(1))).await), "not_granted");
        assert_eq!(ada.artifact_grants(one).await.unwrap().len(), 1);
        assert!(ada.artifact_grants(two).await.unwrap().is_empty());
        // What was published from a session that is shared is seen with it.
        ada.share(session, with("bob"), rights(&[Right::Read]), None).await.unwrap();
        let there = bob.enter(session).await.unwrap();
        assert_eq!(there.artifacts(&ArtifactFilter::default()).await.unwrap().len(), 2);
        ada.unshare(session, None).await.unwrap();
        ada.unshare_artifact(one, None).await.unwrap();
        none(said(bob.enter_artifact(one).await), &one.to_string());
    });
    assert_verifies(&world.store);
}

/// A principal with these scopes.
fn scoped(user: &str, agent: &str, scopes: &[&str]) -> Principal {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    Principal { agent: agent.to_owned(), scopes, ..principal(user) }
}

#[test]
fn an_agent_works_and_changes_neither_grants_nor_retention_unless_a_scope_says_so() {
    let world = World::new();
    let place = Place::new();
    run(async {
        let agent = world.store.client(scoped("ada", "coder", &["openid"])).await.unwrap();
        let session = begun(&agent, "work").await;
        let line = agent.fork(session, at_seq(1)).await.unwrap();
        fs::write(place.path("out"), "bytes").unwrap();
        let writes = writer(&agent, session).await;
        let made = writes.put_artifact(&PutArtifact::file(place.path("out"))).await.unwrap().record.artifact;
        writes.release().await.unwrap();
        let refusals = async |client: &Client| -> Vec<String> {
            vec![
                code(client.share(session, with("bob"), rights(&[Right::Read]), None).await),
                code(client.set_lifetime(session, line.branch, None).await),
                code(client.change_settings(session, |all| all.deliver.push("dist/**".to_owned())).await),
                code(client.keep_artifact(made, Some(1)).await),
                code(client.set_artifact_policy("file", Some(Some(1))).await),
                code(client.delete_branch(session, line.branch).await),
                code(client.plan_collection().await),
                code(client.collect().await),
            ]
        };
        let mut expected = vec!["scope_missing"; 8];
        expected[0] = "not_granted";
        assert_eq!(refusals(&agent).await, expected);
        let keeper = world.store.client(scoped("ada", "coder", &["samite:read", "samite:manage"])).await.unwrap();
        let kept = refusals(&keeper).await;
        assert_eq!(kept[..5], vec!["nothing was refused"; 5]);
        assert_eq!(kept[5..], vec!["scope_missing"; 3]);
        assert_eq!(code(keeper.writer(session, None, WriterOptions::default()).await), "scope_missing");
        let eraser = world.store.client(scoped("ada", "coder", &["samite:read", "samite:erase"])).await.unwrap();
        assert_eq!(code(eraser.delete_branch(session, line.branch).await), "nothing was refused");
        // Without the right to look nothing is there, not even one's own.
        let blind = world.store.reader(scoped("ada", "coder", &["samite:append"])).unwrap();
        assert_eq!(code(blind.session(session).await), "no_session");
        assert_eq!(code(world.store.client(scoped("ada", "nobody", &["samite:none"])).await), "scope_missing");
    });
    assert_verifies(&world.store);
}

#[test]
fn a_sub_agent_has_what_it_asked_for_of_what_its_parent_has() {
    let world = World::new();
    run(async {
        let session = begun(&world.client, "hers").await;
        let parent = world.store.client(scoped("ada", "coder", &[])).await.unwrap();
        let reader = parent.sub_agent("looker", rights(&[Right::Read, Right::Manage])).await.unwrap();
        assert_eq!(reader.principal().parents, ["coder"]);
        assert_eq!(bodies(&reader, session).await.unwrap(), ["hers"]);
        assert_eq!(reader.rights(session).await.unwrap(), rights(&[Right::Read]));
        assert_eq!(code(reader.writer(session, None, WriterOptions::default()).await), "scope_missing");
        let none = reader.sub_agent("deeper", rights(&[Right::Append])).await.unwrap();
        assert_eq!(code(none.session(session).await), "no_session");
        // A grant to its name alone gives it nothing; one to its parent does.
        let bobs = world.store.client(scoped("bob", "planner", &[])).await.unwrap();
        let helper = bobs.sub_agent("helper", Rights::ALL).await.unwrap();
        let to = |agent: &str| Grantee::parse(&[format!("agent:{agent}")]).unwrap();
        world.client.share(session, to("helper"), rights(&[Right::Read]), None).await.unwrap();
        assert_eq!(code(helper.enter(session).await), "no_session");
        world.client.share(session, to("planner"), rights(&[Right::Read]), None).await.unwrap();
        assert_eq!(bodies(&helper.enter(session).await.unwrap(), session).await.unwrap(), ["hers"]);
    });
}

#[test]
fn who_may_manage_shares_no_more_than_it_has_and_for_no_longer() {
    let place = Place::new();
    let clock = Arc::new(TestClock::new(SystemClock.now()));
    let store = Store::new(Backends { clock: clock.clone(), ..place.backends_in_memory() });
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let bob = store.client(principal("bob")).await.unwrap();
        let eve = store.client(principal("eve")).await.unwrap();
        let session = begun(&ada, "hers").await;
        let now = clock.now();
        assert_eq!(code(ada.share(session, with("bob"), Rights::NONE, None).await), "no_rights");
        assert_eq!(code(ada.share(session, with("bob"), rights(&[Right::Erase]), None).await), "not_grantable");
        assert_eq!(code(ada.share(session, with("ada"), rights(&[Right::Read]), None).await), "shared_with_owner");
        assert_eq!(code(ada.share(session, with("bob"), rights(&[Right::Read]), Some(now)).await), "bad_until");
        ada.share(session, with("bob"), rights(&[Right::Manage]), Some(now + HOUR)).await.unwrap();
        let (read, append) = (rights(&[Right::Read]), rights(&[Right::Append]));
        assert_eq!(code(bob.share(session, with("eve"), append, Some(now + 9)).await), "not_granted");
        assert_eq!(code(bob.share(session, with("eve"), read, None).await), "not_granted");
        assert_eq!(code(bob.share(session, with("eve"), read, Some(now + 2 * HOUR)).await), "not_granted");
        let given = bob.share(session, with("eve"), read, Some(now + HOUR)).await.unwrap();
        assert_eq!((given.grant.by.user.as_str(), given.grant.until), ("bob", Some(now + HOUR)));
        // Who manages sees all grants, others their own.
        assert_eq!(ada.grants(session).await.unwrap().len(), 2);
        assert_eq!(bob.grants(session).await.unwrap().len(), 2);
        assert_eq!(eve.grants(session).await.unwrap(), [given]);
        assert_eq!(code(eve.unshare(session, None).await), "not_granted");
        clock.advance(HOUR - 1);
        assert_eq!(bodies(&eve.enter(session).await.unwrap(), session).await.unwrap(), ["hers"]);
        clock.advance(1);
        assert_eq!(code(eve.enter(session).await), "no_session");
        assert_eq!(code(bob.enter(session).await), "no_session");
        // To the same grantee again it takes the other's place; what bob had granted as a manager ends.
        assert_eq!(ada.grants(session).await.unwrap().len(), 2);
        ada.share(session, with("bob"), read, None).await.unwrap();
        ada.share(session, with("bob"), append, None).await.unwrap();
        assert_eq!(ada.grants(session).await.unwrap().len(), 1);
        assert_eq!(bob.rights(session).await.unwrap(), rights(&[Right::Read, Right::Append]));
        assert_eq!(ada.unshare(session, None).await.unwrap().len(), 1);
        assert!(ada.grants(session).await.unwrap().is_empty());
    });
    assert_verifies(&store);
}

#[test]
fn reads_by_others_are_recorded_and_ones_own_are_not() {
    let world = World::new();
    let (ada, bob) = (&world.client, world.client_of("bob"));
    run(async {
        let session = begun(ada, "hers").await;
        ada.share(session, with("bob"), rights(&[Right::Read]), None).await.unwrap();
        bodies(ada, session).await.unwrap();
        assert!(ada.reads_by_others().await.unwrap().is_empty());
        let branch = ada.current_branch(session).await.unwrap();
        {
            let there = bob.enter(session).await.unwrap();
            for _ in 0..3 {
                bodies(&there, session).await.unwrap();
            }
            there.record_reads().await.unwrap();
        }
        let looked = async || -> Vec<(String, Option<SessionId>, u64, u64, u64)> {
            let reads = ada.reads_by_others().await.unwrap();
            let each = reads.iter().flat_map(|read| {
                let user = read.recorded.reader.user.clone();
                read.recorded.read.iter().map(move |looked| (user.clone(), looked.clone()))
            });
            each.filter(|(_, looked)| looked.journal == branch)
                .map(|(user, looked)| (user, looked.session, looked.first, looked.last, looked.entries))
                .collect()
        };
        // At least one batch, at most one a read: how many depends on how long they took.
        let found = looked().await;
        assert_eq!(found.iter().map(|one| one.4).sum::<u64>(), 3, "{found:?}");
        assert!(found.iter().all(|one| one.0 == "bob" && one.1 == Some(session) && (one.2, one.3) == (1, 1)));
        assert!(bob.reads_by_others().await.unwrap().is_empty(), "they are the owner's");

        // Dropped before anybody asked for it: recorded all the same.
        let eve = world.client_of("eve");
        ada.share(session, with("eve"), rights(&[Right::Read]), None).await.unwrap();
        let there = eve.enter(session).await.unwrap();
        let mut reader = there.read(session, None, ReadOptions::default()).await.unwrap();
        drop((eve, there));
        assert_eq!(reader.next().await.unwrap().len(), 1);
        drop(reader);
        assert!(looked().await.iter().any(|one| one.0 == "eve"));

        // Without anybody dropping anything it takes a moment.
        let mia = world.client_of("mia");
        ada.share(session, with("mia"), rights(&[Right::Read]), None).await.unwrap();
        let there = mia.enter(session).await.unwrap();
        bodies(&there, session).await.unwrap();
        while !looked().await.iter().any(|one| one.0 == "mia") {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // What cannot be recorded is not read.
        let only = world.store.reader(principal("bob")).unwrap();
        let there = only.enter(session).await.unwrap();
        assert_eq!(code(bodies(&there, session).await), "reads_unrecorded");
    });
    assert_verifies(&world.store);
}

#[test]
fn an_organisations_policies_beat_owners_and_grants() {
    struct Rules;
    impl Policies for Rules {
        fn say(&self, principal: &Principal, right: Right, resource: &OfWhat<'_>) -> Policy {
            match (principal.user.as_str(), right) {
                ("ada", Right::Fork) => Policy::Forbid,
                ("bob", Right::Read) => Policy::Permit,
                ("eve", Right::Append) => Policy::Failed,
                _ if resource.owner.is_none_or(|owner| owner.as_str() == "user:ada") => Policy::Silent,
                _ => Policy::Silent,
            }
        }
    }
    let place = Place::new();
    let store = Store::new(place.backends_in_memory()).under(Arc::new(Rules));
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let session = begun(&ada, "hers").await;
        assert_eq!(code(ada.fork(session, at_seq(1)).await), "policy_forbids");
        let bob = store.client(principal("bob")).await.unwrap();
        assert_eq!(bodies(&bob.enter(session).await.unwrap(), session).await.unwrap(), ["hers"]);
        let eve = store.client(principal("eve")).await.unwrap();
        assert_eq!(code(eve.enter(session).await), "no_session");
        ada.share(session, with("eve"), rights(&[Right::Append]), None).await.unwrap();
        let there = eve.enter(session).await.unwrap();
        assert_eq!(code(there.writer(session, None, WriterOptions::default()).await), "policy_forbids");
        assert_eq!(code(eve.create_session(NewSession::default()).await), "policy_forbids");
    });
}

#[test]
fn no_right_is_given_for_longer_than_it_is_had() {
    let world = World::new();
    run(async {
        let session = begun(&world.client, "hers").await;
        let until = world.client.share(session, with("x"), rights(&[Right::Read]), None).await.unwrap().at + HOUR;
        let whole = Grantee::parse(&["user:bob"]).unwrap();
        world.client.share(session, whole, rights(&[Right::Manage]), None).await.unwrap();
        let agent = Grantee::parse(&["agent:coder"]).unwrap();
        world.client.share(session, agent, rights(&[Right::Append]), Some(until)).await.unwrap();
        let bob = world.store.client(scoped("bob", "coder", &["samite:all"])).await.unwrap();
        let there = bob.enter(session).await.unwrap();
        let give = async |right, until| code(there.share(session, with("eve"), rights(&[right]), until).await);
        assert_eq!(give(Right::Append, None).await, "not_granted");
        assert_eq!(give(Right::Append, Some(until + 1)).await, "not_granted");
        assert_eq!(give(Right::Append, Some(until)).await, "nothing was refused");
        assert_eq!(give(Right::Read, None).await, "nothing was refused");
    });
}

#[test]
fn what_a_manager_granted_ends_with_the_managers_own_grant() {
    let place = Place::new();
    let clock = Arc::new(TestClock::new(SystemClock.now()));
    let store = Store::new(Backends { clock: clock.clone(), ..place.backends_in_memory() });
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let bob = store.client(principal("bob")).await.unwrap();
        let eve = store.client(principal("eve")).await.unwrap();
        let dan = store.client(principal("dan")).await.unwrap();
        let session = begun(&ada, "hers").await;
        let now = clock.now();
        let (read, append) = (rights(&[Right::Read]), rights(&[Right::Append]));
        let manage = rights(&[Right::Manage]);
        let both = rights(&[Right::Append, Right::Manage]);
        let names = |shared: Vec<samite::access::Shared>| -> Vec<String> {
            shared.into_iter().filter_map(|one| one.grant.to.user).collect()
        };
        let let_in = async || {
            ada.share(session, with("bob"), both, None).await.unwrap();
            bob.share(session, with("eve"), both, None).await.unwrap();
            eve.share(session, with("dan"), read, Some(now + HOUR)).await.unwrap();
        };
        // Taken back: all that rested on it ends in the same act, and does not come back with it.
        let_in().await;
        let there = eve.enter(session).await.unwrap();
        let writing = writer(&there, session).await;
        writing.append(event("while she may")).await.unwrap();
        assert_eq!(names(ada.unshare(session, Some(&with("bob"))).await.unwrap()), ["bob", "eve", "dan"]);
        assert_eq!(code(writing.append(event("too late")).await), "no_journal");
        for who in [&bob, &eve, &dan] {
            assert_eq!(code(who.enter(session).await), "no_session");
        }
        ada.share(session, with("bob"), both, None).await.unwrap();
        assert_eq!(code(eve.enter(session).await), "no_session");
        assert_eq!(names(ada.grants(session).await.unwrap()), ["bob"]);
        // Narrowed: what is not covered any more ends.
        let_in().await;
        ada.share(session, with("bob"), manage, None).await.unwrap();
        assert_eq!(names(ada.grants(session).await.unwrap()), ["bob"]);
        let_in().await;
        ada.share(session, with("bob"), both, Some(now + 2 * HOUR)).await.unwrap();
        assert_eq!(names(ada.grants(session).await.unwrap()), ["bob"]);
        // Widened or as it was, it stays; and nobody outlasts anybody along the way.
        bob.share(session, with("eve"), both, Some(now + 2 * HOUR)).await.unwrap();
        assert_eq!(code(eve.share(session, with("dan"), append, None).await), "not_granted");
        assert_eq!(code(eve.share(session, with("dan"), append, Some(now + 3 * HOUR)).await), "not_granted");
        eve.share(session, with("dan"), append, Some(now + 2 * HOUR)).await.unwrap();
        ada.share(session, with("bob"), both, Some(now + 4 * HOUR)).await.unwrap();
        let mut left = names(ada.grants(session).await.unwrap());
        left.sort();
        assert_eq!(left, ["bob", "dan", "eve"]);
        // A manager takes back from another what rested on that one, and cannot grant away what it stands on itself.
        assert_eq!(code(eve.share(session, with("eve"), read, Some(now + HOUR)).await), "not_granted");
        assert_eq!(names(bob.unshare(session, Some(&with("eve"))).await.unwrap()), ["eve", "dan"]);
        // Run out: it all ends at that time.
        bob.share(session, with("eve"), read, Some(now + 4 * HOUR)).await.unwrap();
        clock.advance(4 * HOUR - 1);
        assert_eq!(bodies(&eve.enter(session).await.unwrap(), session).await.unwrap().len(), 2);
        clock.advance(1);
        assert_eq!(code(eve.enter(session).await), "no_session");
        ada.share(session, with("bob"), both, None).await.unwrap();
        assert_eq!(code(eve.enter(session).await), "no_session");
    });
    assert_verifies(&store);
}

#[test]
fn what_is_forbidden_to_an_agent_is_forbidden_to_those_that_work_for_it() {
    struct Rules;
    impl Policies for Rules {
        fn say(&self, principal: &Principal, right: Right, _: &OfWhat<'_>) -> Policy {
            match (principal.agent.as_str(), right) {
                ("coder", Right::Fork) => Policy::Forbid,
                ("helper", Right::Read) => Policy::Permit,
                _ => Policy::Silent,
            }
        }
    }
    let place = Place::new();
    let store = Store::new(place.backends_in_memory()).under(Arc::new(Rules));
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let session = begun(&ada, "hers").await;
        let coder = store.client(scoped("ada", "coder", &[])).await.unwrap();
        let helper = coder.sub_agent("helper", Rights::ALL).await.unwrap();
        assert_eq!(code(coder.fork(session, at_seq(1)).await), "policy_forbids");
        assert_eq!(code(helper.fork(session, at_seq(1)).await), "policy_forbids");
        // What is permitted to it by name gives it nothing that who it works for has not.
        let bobs = store.client(scoped("bob", "coder", &[])).await.unwrap();
        let helper = bobs.sub_agent("helper", Rights::ALL).await.unwrap();
        assert_eq!(code(helper.enter(session).await), "no_session");
        let alone = store.client(scoped("bob", "helper", &[])).await.unwrap();
        assert_eq!(bodies(&alone.enter(session).await.unwrap(), session).await.unwrap(), ["hers"]);
    });
}

#[test]
fn a_principal_with_any_right_is_let_in_and_seen() {
    let place = Place::new();
    let embedded = place.open();
    let store = embedded.store();
    run(async {
        let mut seen = Vec::new();
        for right in Right::ALL {
            let agent = format!("only-{right}");
            let scope = format!("samite:{right}");
            let client = store.client(scoped("ada", &agent, &[&scope])).await.unwrap();
            seen.push(agent);
            let child = client.sub_agent(&format!("below-{right}"), Rights::ALL).await.unwrap();
            assert_eq!(code(child.find_session("00").await), "no_session");
            seen.push(format!("below-{right}"));
        }
        let acts = store
            .client(principal("ada"))
            .await
            .unwrap()
            .audit()
            .read(&samite::audit::AuditQuery::default())
            .await
            .unwrap();
        let named: Vec<String> = acts.into_iter().filter_map(|act| act.actor.agent).collect();
        for agent in seen {
            assert!(named.iter().any(|one| one.ends_with(&agent)), "{agent}: {named:?}");
        }
        let operator = store.client(scoped("ada", "only-operate", &["samite:operate"])).await.unwrap();
        assert_eq!(code(operator.holds().await), "nothing was refused");
        assert_eq!(code(store.client(scoped("eve", "none", &["samite:none"])).await), "scope_missing");
        assert_eq!(store.verify(false, None).await.unwrap().findings, []);
    });
}

#[test]
fn what_was_decided_of_a_branchs_lifetime_stands_whoever_forks() {
    let world = World::new();
    run(async {
        let session = begun(&world.client, "hers").await;
        let first = world.client.current_branch(session).await.unwrap();
        let agent = world.store.client(scoped("ada", "coder", &[])).await.unwrap();
        let second = agent.fork(session, at_seq(1)).await.unwrap().branch;
        let lifetime = async |branch| {
            let all = world.client.branches(session).await.unwrap();
            all.iter().find(|one| one.id == branch).unwrap().lifetime
        };
        let until = 4_000_000_000_000_000_000;
        for decided in [None, Some(until)] {
            world.client.set_lifetime(session, second, decided).await.unwrap();
            world.client.set_lifetime(session, first, decided).await.unwrap();
            let expected = decided.map_or(samite::Lifetime::Kept, samite::Lifetime::TreesUntil);
            for (to, left) in [(second, first), (first, second), (second, first), (first, second)] {
                agent.make_current(session, to).await.unwrap();
                assert_eq!(lifetime(left).await, expected);
                assert_eq!(lifetime(to).await, samite::Lifetime::Current);
            }
        }
        // A rewind leaves a branch as well, and to keep one is not for who may only fork.
        let rewind = |keep| ForkOptions { reason: samite::payload::ForkReason::Rewind, keep, ..at_seq(1) };
        assert_eq!(code(agent.fork(session, rewind(true)).await), "scope_missing");
        assert_eq!(code(agent.fork(session, ForkOptions { keep: true, ..at_seq(1) }).await), "scope_missing");
        let rewound = agent.fork(session, rewind(false)).await.unwrap();
        assert_eq!((rewound.previous, rewound.trees_until), (first, Some(until)));
        assert_eq!(lifetime(first).await, samite::Lifetime::TreesUntil(until));
        // Of one of which nothing was decided the days begin as it is left.
        world.client.make_current(session, first).await.unwrap();
        assert!(matches!(lifetime(rewound.branch).await, samite::Lifetime::TreesUntil(at) if at < until));
    });
    assert_verifies(&world.store);
}

type Hook = Box<dyn FnOnce() -> Option<Error> + Send>;

/// A ledger that does something right before it commits, once.
struct Hooked {
    inner: MemoryLedger,
    before: Mutex<Option<Hook>>,
}

#[async_trait]
impl Ledger for Hooked {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        let before = self.before.lock().unwrap().take();
        if let Some(error) = before.and_then(|before| before()) {
            return Err(error);
        }
        self.inner.commit(commit).await
    }
    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        self.inner.journal(journal).await
    }
    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.inner.journals(filter).await
    }
    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.inner.read(read).await
    }
    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.inner.rows(query).await
    }
    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.inner.registers(journal).await
    }
    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        self.inner.lease(request).await
    }
    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.inner.holder(journal).await
    }
    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        self.inner.wait(journal, after, milliseconds).await
    }
    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        self.inner.audit_log(log).await
    }
    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.inner.leaves(log, from, limit).await
    }
    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.inner.replace_views(generation).await
    }
    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.inner.delete_journal(journal, keep_to).await
    }
    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.inner.destroy_keys(keys).await
    }
    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        self.inner.erase(erasure).await
    }
    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        self.inner.owned(owner).await
    }
}

#[test]
fn nothing_is_committed_that_rests_on_what_was_revoked_meanwhile() {
    let place = Place::new();
    let memory = Arc::new(MemoryLedger::new(Arc::new(samite_host::SystemSleep)));
    let hooked =
        Arc::new(Hooked { inner: MemoryLedger::new(Arc::new(samite_host::SystemSleep)), before: Mutex::default() });
    let store = Store::new(place.backends(hooked.clone(), memory));
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let bob = store.client(principal("bob")).await.unwrap();
        let session = begun(&ada, "hers").await;
        ada.share(session, with("bob"), rights(&[Right::Append]), None).await.unwrap();
        let bobs = writer(&bob.enter(session).await.unwrap(), session).await;
        bobs.append(event("while he might")).await.unwrap();
        // Something else that changes there meanwhile only makes it look again.
        let hers = ada.clone();
        let settles = move || {
            run(hers.change_settings(session, |all| all.deliver.push("dist/**".to_owned()))).unwrap();
            None
        };
        *hooked.before.lock().unwrap() = Some(Box::new(settles));
        bobs.append(event("and on")).await.unwrap();
        // Revoked between the look and the commit.
        let hers = ada.clone();
        let revokes = move || {
            run(hers.unshare(session, None)).unwrap();
            None
        };
        *hooked.before.lock().unwrap() = Some(Box::new(revokes));
        assert_eq!(code(bobs.append(event("too late")).await), "no_journal");
        assert!(hooked.before.lock().unwrap().is_none());
        assert_eq!(bodies(&ada, session).await.unwrap(), ["hers", "while he might", "and on"]);
        // A read whose record cannot be written is the last one.
        ada.share(session, with("bob"), rights(&[Right::Read]), None).await.unwrap();
        let there = bob.enter(session).await.unwrap();
        there.record_reads().await.unwrap();
        bodies(&there, session).await.unwrap();
        *hooked.before.lock().unwrap() = Some(Box::new(|| Some(Error::unavailable("disk_full", "the disk is full"))));
        while hooked.before.lock().unwrap().is_some() {
            there.record_reads().await.ok();
        }
        let refused = code(bodies(&there, session).await);
        // It may have been written by the next attempt already.
        assert!(matches!(refused.as_str(), "reads_unrecorded" | "nothing was refused"), "{refused}");
        there.record_reads().await.unwrap();
        assert_eq!(bodies(&there, session).await.unwrap().len(), 3);
    });
    assert_verifies(&store);
}

#[test]
fn what_a_fork_inherits_of_another_is_read_by_what_was_granted_there() {
    let place = Place::new();
    let backends = place.backends_in_memory();
    let store = Store::new(backends.clone());
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let bob = store.client(principal("bob")).await.unwrap();
        let (hers, his) = (begun(&ada, "from hers").await, begun(&bob, "his own").await);
        let parent = ada.head(hers, ada.current_branch(hers).await.unwrap()).await.unwrap();
        let own = bob.current_branch(his).await.unwrap();
        let owner = backends.ledger.journal(own).await.unwrap().unwrap().owner;
        // A branch of his session that begins where hers was.
        let id = JournalId([9; 16]);
        let branch = NewJournal { id, family: his, kind: JournalKind::Branch, owner, parent: Some(parent) };
        backends.ledger.commit(Commit { journals: vec![branch], ..Commit::default() }).await.unwrap();
        let read = async || bob.read(his, Some(id), ReadOptions::default()).await?.all().await;
        assert_eq!(code(read().await), "no_journal");
        ada.share(hers, with("bob"), rights(&[Right::Read]), None).await.unwrap();
        let entries = read().await.unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].event().unwrap().body, b"from hers");
        assert_ne!(entries[0].header.owner, owner);
        ada.unshare(hers, None).await.unwrap();
        assert_eq!(code(read().await), "no_journal");
        bob.record_reads().await.unwrap();
        assert!(!ada.reads_by_others().await.unwrap().is_empty());
    });
}

#[test]
fn deliverables_of_a_grantee_are_the_owners() {
    let world = World::new();
    let place = Place::new();
    let (ada, bob) = (&world.client, &world.client_of("bob"));
    run(async {
        let session = begun(ada, "work").await;
        ada.share(session, with("bob"), rights(&[Right::Append]), None).await.unwrap();
        let there = bob.enter(session).await.unwrap();
        fs::write(place.path("out"), "bytes").unwrap();
        let bobs = writer(&there, session).await;
        let put = PutArtifact::file(place.path("out"));
        assert_eq!(code(bobs.put_artifact(&put).await), "not_granted");
        ada.share(session, with("bob"), rights(&[Right::Append, Right::Publish]), None).await.unwrap();
        let made = bobs.put_artifact(&put).await.unwrap();
        bobs.release().await.unwrap();
        let found = ada.artifacts(&ArtifactFilter::default()).await.unwrap();
        assert_eq!(found.iter().map(|one| one.record.artifact).collect::<Vec<_>>(), [made.record.artifact]);
        assert_eq!(found[0].record.by.user, "bob");
        assert!(bob.artifacts(&ArtifactFilter::default()).await.unwrap().is_empty());
    });
    assert_verifies(&world.store);
}
