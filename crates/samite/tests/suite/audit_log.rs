//! The audit log: every act has its leaf, in the commit of the act, and what is changed behind its back is found.

use crate::audit_archive::{Opened, open};
use crate::place::Place;
use crate::support::{event, principal, run};
use rusqlite::Connection;
use samite::artifact::{ArtifactSource, PutArtifact};
use samite::audit::AuditQuery;
use samite::embedded::Embedded;
use samite::payload::ForkReason;
use samite::policy::{ConsentOn, Level, Retained};
use samite::workspace::CheckpointOptions;
use samite::{Begin, Client, ForkOptions, NewSession, NewStep, ReadOptions, WriterOptions};
use samite_ledger::Ledger;
use samite_model::access::{Grantee, Right, Rights};
use samite_model::erasure::HoldOn;
use samite_model::hash::{self, JournalIdentity};
use samite_model::{BranchId, Link, Observer, SessionId};
use serde_json::json;
use std::path::Path;

/// A session with three messages and a checkpoint.
async fn session(client: &Client, directory: &Path) -> (SessionId, BranchId) {
    let session = client.create_session(NewSession::default()).await.unwrap();
    let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
    client.attach(session.id, None, directory).await.unwrap();
    for text in ["one", "two", "three"] {
        writer.append(event(text)).await.unwrap();
    }
    writer.checkpoint(CheckpointOptions::default()).await.unwrap();
    writer.release().await.unwrap();
    (session.id, session.current)
}

fn to_bob() -> Grantee {
    Grantee { user: Some("bob".to_owned()), agent: None }
}

async fn acts(client: &Client) -> Vec<String> {
    let read = client.audit().read(&AuditQuery::default()).await.unwrap();
    read.iter().map(|act| act.leaf.act.to_string()).collect()
}

async fn findings(client: &Client) -> Vec<&'static str> {
    let report = client.audit().verify(&[], &Observer::default()).await.unwrap();
    report.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn acts_have_leaves_and_appends_have_none() {
    let place = Place::new();
    let directory = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let (session, branch) = session(&client, &directory).await;
        let expected = ["principal_seen", "session_created", "workspace_attached", "tree"];
        let found = acts(&client).await;
        let options = ForkOptions { reason: ForkReason::Fork, seq: Some(2), ..ForkOptions::default() };
        let forked = client.fork(session, options).await.unwrap();
        assert_eq!(found, expected);
        assert_eq!(acts(&client).await[expected.len()..], ["branch_forked"]);
        let read = client.audit().read(&AuditQuery { session: Some(session), ..AuditQuery::default() }).await.unwrap();
        for act in &read {
            assert_eq!(act.actor.user.as_deref(), Some("user:local"));
            assert_eq!((act.actor.agent.as_deref(), act.actor.workload.as_deref()), (Some("cli"), Some("host")));
            assert_eq!(act.owner.as_deref(), Some("user:local"));
        }
        let (last, entry) = client.audit().show(None, read.last().unwrap().index).await.unwrap();
        let said: samite::payload::BranchForked = entry.unwrap().json().unwrap();
        assert_eq!((said.branch, said.at.journal, said.at.seq), (forked.branch, branch, 2));
        assert_eq!(last.session, Some(session));
        assert_eq!(client.audit().show(None, 99).await.unwrap_err().code(), "no_leaf");
    });
}

#[test]
fn a_store_that_nobody_touched_verifies() {
    let place = Place::new();
    let directory = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        assert!(client.audit().verify(&[], &Observer::default()).await.unwrap().findings.is_empty());
        let (session, branch) = session(&client, &directory).await;
        let forked = client.fork(session, ForkOptions { seq: Some(2), ..ForkOptions::default() }).await.unwrap();
        let writer = client.writer(session, Some(forked.branch), WriterOptions::default()).await.unwrap();
        writer.append(event("beside")).await.unwrap();
        // The branch, and the journals whose last entries are acts.
        assert!(client.audit().anchor(&Observer::default()).await.unwrap() >= 3);
        // Only what moved is anchored again.
        assert_eq!(client.audit().anchor(&Observer::default()).await.unwrap(), 0);
        writer.release().await.unwrap();
        client.delete_branch(session, forked.branch).await.unwrap();
        let report = client.audit().verify(&[], &Observer::default()).await.unwrap();
        assert_eq!(report.findings, []);
        assert_eq!(report.head.unwrap().size, report.leaves);
        let keys: Vec<_> = client.audit().logs().await.unwrap().into_iter().map(|log| log.key).collect();
        assert_eq!(client.audit().verify(&keys, &Observer::default()).await.unwrap().findings, []);
        assert!(client.read(session, Some(branch), samite::ReadOptions::default()).await.is_ok());
    });
}

/// Makes the chain of a journal anew after what was done to its entries, as somebody who knows the format would.
fn chain_again(database: &Connection, journal: BranchId, identity: &JournalIdentity) {
    let row: i64 = database.query_row("SELECT row FROM journal WHERE id = ?1", [journal.0], |row| row.get(0)).unwrap();
    let entries: Vec<(i64, Vec<u8>)> = database
        .prepare("SELECT seq, header FROM entry WHERE journal = ?1 ORDER BY seq")
        .unwrap()
        .query_map([row], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut link: Link = hash::genesis(identity);
    for (seq, header) in &entries {
        link = hash::link(link, header);
        let set = (link.0, row, seq);
        database.execute("UPDATE entry SET link = ?1 WHERE journal = ?2 AND seq = ?3", set).unwrap();
    }
    let head = entries.last().unwrap().0;
    database.execute("UPDATE journal SET head_seq = ?1, head_link = ?2 WHERE row = ?3", (head, link.0, row)).unwrap();
}

async fn tampered(place: &Place, branch: BranchId, sql: &str) -> Vec<&'static str> {
    let store: Embedded = place.open();
    let state = store.ledger().journal(branch).await.unwrap().unwrap();
    let identity = JournalIdentity { id: state.id, family: state.family, owner: state.owner, kind: state.kind.code() };
    let path = store.home().join("ledger.db");
    store.close().await;
    let database = Connection::open(&path).unwrap();
    database.execute(sql, [branch.0]).unwrap();
    chain_again(&database, branch, &identity);
    drop(database);
    std::fs::remove_file(path.with_extension("high")).unwrap();
    let store = place.open();
    let client = store.client().await.unwrap();
    // The chain by itself says nothing: it was made again.
    let verified = store.store().verify(false, None).await.unwrap();
    assert!(!verified.findings.iter().any(|finding| finding.journal == branch), "{:?}", verified.findings);
    findings(&client).await
}

#[test]
fn a_journal_that_was_changed_or_cut_with_its_chain_made_again_is_found() {
    let of = "journal = (SELECT row FROM journal WHERE id = ?1)";
    let changes: [(String, &[&str]); 2] = [
        // The time of an entry, in its header.
        (
            format!(
                "UPDATE entry SET header = CAST(substr(header, 1, 20) || x'01' || substr(header, 22) AS BLOB) WHERE {of} AND seq = 2"
            ),
            &["changed_journal"],
        ),
        (format!("DELETE FROM entry WHERE {of} AND seq > 2"), &["cut_journal"]),
    ];
    for (sql, expected) in changes {
        let place = Place::new();
        let directory = place.directory("work");
        let branch = run(async {
            let store = place.open();
            let client = store.client().await.unwrap();
            let (_, branch) = session(&client, &directory).await;
            store.close().await;
            branch
        });
        assert_eq!(run(tampered(&place, branch, &sql)), expected, "{sql}");
    }
}

#[test]
fn a_log_that_was_changed_or_cut_is_found() {
    for (sql, expected) in [
        (
            "UPDATE leaf SET bytes = CAST(replace(bytes, 'session_created', 'session_deleted') AS BLOB)",
            &["other_root"][..],
        ),
        ("DELETE FROM leaf WHERE id % 1024 = 2", &["missing_leaf"]),
        ("DELETE FROM leaf WHERE id % 1024 = 3", &["missing_leaf"]),
        ("UPDATE leaf SET bytes = CAST(replace(bytes, '\"v\":1', '\"v\":1 ') AS BLOB)", &["bad_leaf"; 4]),
        ("UPDATE audit_log SET size = size - 1", &["other_root"]),
        ("UPDATE audit_log SET state = CAST(replace(state, 'samite.local', 'samite.other') AS BLOB)", &["bad_head"]),
    ] {
        let place = Place::new();
        let directory = place.directory("work");
        run(async {
            let store = place.open();
            session(&store.client().await.unwrap(), &directory).await;
            let path = store.home().join("ledger.db");
            store.close().await;
            Connection::open(&path).unwrap().execute(sql, []).unwrap();
            let store = place.open();
            let found = findings(&store.client().await.unwrap()).await;
            assert_eq!(
                found
                    .iter()
                    .filter(|code| **code != "other_root" || expected.contains(code))
                    .copied()
                    .collect::<Vec<_>>(),
                expected,
                "{sql}"
            );
        });
    }
}

/// Where an entry is covered in the log: the act, and how far the anchor of its journal goes.
async fn covered(client: &Client, branch: BranchId, seq: u64) -> Result<(String, u64), &'static str> {
    let found = client.audit().covering(branch, seq).await.map_err(|error| error.code())?;
    let (act, _) = client.audit().show(Some(found.log), found.index).await.unwrap();
    let anchor = act.leaf.anchors.iter().find(|anchor| anchor.journal == branch);
    Ok((act.leaf.act.to_string(), anchor.map_or(act.leaf.seq, |anchor| anchor.seq)))
}

#[test]
fn a_branch_that_is_given_up_is_in_the_log() {
    let place = Place::new();
    run(async {
        let client = place.client().await;
        let mut branches = Vec::new();
        for _ in 0..2 {
            let session = client.create_session(NewSession::default()).await.unwrap();
            let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
            writer.append(event("one")).await.unwrap();
            assert_eq!(covered(&client, session.current, 1).await, Err("not_covered"));
            writer.append(event("two")).await.unwrap();
            writer.release().await.unwrap();
            assert_eq!(covered(&client, session.current, 2).await, Ok(("anchored".to_owned(), 2)));
            branches.push(session);
        }
        // Who wrote nothing adds nothing, and neither does who ends with an act.
        let all = acts(&client).await.len();
        let writer = client.writer(branches[0].id, None, WriterOptions::default()).await.unwrap();
        writer.release().await.unwrap();
        assert_eq!(acts(&client).await.len(), all);
        let writer = client.writer(branches[0].id, None, WriterOptions::default()).await.unwrap();
        writer.append(event("three")).await.unwrap();
        writer.end_turn(None).await.unwrap();
        writer.release().await.unwrap();
        assert_eq!(acts(&client).await[all..], ["turn_ended"]);
        assert_eq!(covered(&client, branches[0].current, 3).await, Ok(("turn_ended".to_owned(), 4)));
        assert_eq!(findings(&client).await, [] as [&str; 0]);
    });
}

/// What was left by who held it for one act, died or let its lease run out is anchored by whoever gives a branch up a minute
/// later, and what somebody is at is not.
#[test]
fn what_was_left_is_in_the_log_a_minute_later() {
    const MINUTE: i64 = 60_000_000_000;
    let root = tempfile::tempdir().unwrap();
    let Opened { store, clock, .. } = open(root.path(), 0);
    run(async {
        let client = store.client(principal("ada")).await.unwrap();
        let briefly = async |text: &str| {
            let session = client.create_session(NewSession::default()).await.unwrap();
            let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
            writer.append(event(text)).await.unwrap();
            writer.release_after_act().await.unwrap();
            session.current
        };
        let held = async |time_to_live: i64| {
            let session = client.create_session(NewSession::default()).await.unwrap();
            let options = WriterOptions { time_to_live, ..WriterOptions::default() };
            let writer = client.writer(session.id, None, options).await.unwrap();
            writer.append(event("held")).await.unwrap();
            (session.current, writer)
        };
        let anchored = Ok(("anchored".to_owned(), 1));
        // There was no anchor yet.
        let first = briefly("one").await;
        assert_eq!(covered(&client, first, 1).await, anchored);
        clock.advance(MINUTE - 1);
        let second = briefly("two").await;
        assert_eq!(covered(&client, second, 1).await, Err("not_covered"));
        let ((lapsed, lost), (living, writer)) = (held(MINUTE).await, held(10 * MINUTE).await);
        // As if its process had been killed.
        std::mem::forget(lost);
        clock.advance(MINUTE + 1);
        let before = acts(&client).await.len();
        let third = briefly("three").await;
        let since = acts(&client).await.split_off(before);
        assert_eq!(since, ["session_created", "anchored"], "one leaf for all of them");
        for branch in [second, lapsed, third] {
            assert_eq!(covered(&client, branch, 1).await, anchored);
        }
        assert_eq!(covered(&client, living, 1).await, Err("not_covered"));
        // Whoever held it for longer anchors it at once.
        writer.release().await.unwrap();
        assert_eq!(covered(&client, living, 1).await, anchored);
        // A clock that was put back keeps nothing out for ever.
        let fourth = briefly("four").await;
        assert_eq!(covered(&client, fourth, 1).await, Err("not_covered"));
        clock.advance(-2 * MINUTE);
        let fifth = briefly("five").await;
        for branch in [fourth, fifth] {
            assert_eq!(covered(&client, branch, 1).await, anchored);
        }
        assert_eq!(findings(&client).await, [] as [&str; 0]);
    });
}

/// The owner's own appends ride on anchors; what somebody else writes into what she owns is an act each, in that one's name.
#[test]
fn what_another_writes_has_a_leaf_of_its_own() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let ada = store.store().client(principal("ada")).await.unwrap();
        let bob = store.store().client(principal("bob")).await.unwrap();
        let session = ada.create_session(NewSession::default()).await.unwrap();
        let rights = Rights::of([Right::Append, Right::Fork]);
        ada.share(session.id, to_bob(), rights, None).await.unwrap();
        let writer = ada.writer(session.id, None, WriterOptions::default()).await.unwrap();
        writer.append(event("hers")).await.unwrap();
        writer.release().await.unwrap();
        let operator = store.client().await.unwrap();
        let before = acts(&operator).await.len();
        let there = bob.enter(session.id).await.unwrap();
        let writer = there.writer(session.id, None, WriterOptions::default()).await.unwrap();
        let his = writer.append(event("his")).await.unwrap();
        let Begin::Run(handle) = writer.begin(&NewStep::new("k", "tool", json!({}))).await.unwrap() else {
            panic!("it is new")
        };
        writer.complete(&handle, json!("done")).await.unwrap();
        writer.release().await.unwrap();
        bob.record_reads().await.unwrap();
        let read = operator.audit().read(&AuditQuery::default()).await.unwrap().split_off(before);
        let written: Vec<_> = read.iter().filter(|act| act.leaf.journal == session.current).collect();
        let words: Vec<&str> = written.iter().map(|act| act.leaf.act.as_str()).collect();
        assert_eq!(words, ["message", "step_started", "step_completed"]);
        for act in &written {
            assert_eq!((act.actor.user.as_deref(), act.owner.as_deref()), (Some("user:bob"), Some("user:ada")));
            assert_eq!(act.session, Some(session.id));
        }
        assert_eq!(
            (written[0].leaf.seq, written[0].leaf.entry),
            (his.position.seq, {
                let entries = ada.read(session.id, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
                entries.iter().find(|entry| entry.position == his.position).unwrap().header.id
            })
        );
        assert_eq!(covered(&operator, session.current, his.position.seq).await.unwrap().0, "message");
        let query = AuditQuery { acts: vec!["message".to_owned()], ..AuditQuery::default() };
        assert_eq!(operator.audit().read(&query).await.unwrap().len(), 1);
        // Hers after it has none.
        let writer = ada.writer(session.id, None, WriterOptions::default()).await.unwrap();
        writer.append(event("hers again")).await.unwrap();
        assert_eq!(operator.audit().read(&query).await.unwrap().len(), 1);
        writer.release().await.unwrap();
        assert_eq!(findings(&operator).await, [] as [&str; 0]);
    });
}

#[test]
fn a_collection_anchors_what_is_idle() {
    let place = Place::new();
    run(async {
        let client = place.client().await;
        let session = client.create_session(NewSession::default()).await.unwrap();
        let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        writer.append(event("one")).await.unwrap();
        assert_eq!(covered(&client, session.current, 1).await, Err("not_covered"));
        client.collect().await.unwrap();
        assert_eq!(covered(&client, session.current, 1).await, Ok(("anchored".to_owned(), 1)));
    });
}

#[test]
fn what_others_do_while_the_log_is_verified_is_no_finding() {
    let place = Place::new();
    let directory = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let (session, _) = session(&client, &directory).await;
        let forked = client.fork(session, ForkOptions { seq: Some(2), ..ForkOptions::default() }).await.unwrap();
        let writer = client.writer(session, Some(forked.branch), WriterOptions::default()).await.unwrap();
        writer.append(event("beside")).await.unwrap();
        writer.release().await.unwrap();
        client.audit().anchor(&Observer::default()).await.unwrap();
        // Once the leaves are read, and before the journals are, another process deletes the branch.
        let other = std::sync::Mutex::new(Some(place.open()));
        let observer = Observer::new(move |progress| {
            if progress.what == "verifying leaves"
                && let Some(store) = other.lock().unwrap().take()
            {
                let deleting = std::thread::spawn(move || {
                    run(async {
                        let client = store.client().await.unwrap();
                        client.delete_branch(session, forked.branch).await.unwrap();
                    });
                });
                deleting.join().unwrap();
            }
        });
        let report = client.audit().verify(&[], &observer).await.unwrap();
        assert_eq!(report.findings, []);
        assert_eq!(acts(&client).await.last().unwrap(), "branch_deleted");
    });
}

#[test]
fn a_leaf_that_is_missing_is_named() {
    let place = Place::new();
    let directory = place.directory("work");
    run(async {
        let store = place.open();
        session(&store.client().await.unwrap(), &directory).await;
        let path = store.home().join("ledger.db");
        store.close().await;
        Connection::open(&path).unwrap().execute("DELETE FROM leaf WHERE id % 1024 = 2", []).unwrap();
        let client = place.open().client().await.unwrap();
        let report = client.audit().verify(&[], &Observer::default()).await.unwrap();
        let found: Vec<_> = report.findings.iter().map(|found| (found.code, found.index)).collect();
        assert_eq!(found[0], ("missing_leaf", Some(2)));
    });
}

#[test]
fn leaves_say_what_is_in_force_at_their_act() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        // What a session's making says, as it stands in the log.
        let said = async || {
            let session = client.create_session(NewSession::default()).await.unwrap().id;
            let found =
                client.audit().read(&AuditQuery { session: Some(session), ..AuditQuery::default() }).await.unwrap();
            let bytes = found[0].leaf.encode().unwrap();
            let leaf: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            (leaf["policy"].to_string(), leaf["consent"].to_string())
        };
        let is = |policy: &str, consent: &str| (policy.to_owned(), consent.to_owned());
        assert_eq!(said().await, is(r#"["pii_report","secret_redact"]"#, "null"));
        client.change_redaction(|policy| policy.pii = samite::redaction::Mode::Redact).await.unwrap();
        client.set_capture(None, Some(Level::Decisions)).await.unwrap();
        client.set_retention(Retained::Session, Some(400)).await.unwrap();
        let decided = r#"["capture_decisions","pii_redact","retain_session","secret_redact"]"#;
        assert_eq!(said().await, is(decided, "null"));
        let subject = client.pseudonym_of_user("local").unwrap();
        client.set_consent(ConsentOn::User { subject }, true, "form", None).await.unwrap();
        assert_eq!(said().await, is(decided, r#"["training"]"#));
        client.set_hold(HoldOn::User { subject }, "case 7").await.unwrap();
        client.set_consent(ConsentOn::User { subject }, false, "form", None).await.unwrap();
        let held = r#"["capture_decisions","held","pii_redact","retain_session","secret_redact"]"#;
        assert_eq!(said().await, is(held, "null"));
        client.lift_hold(HoldOn::User { subject }, "closed").await.unwrap();
        // Of one session: the act that decides says what was in force before it.
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        client.set_consent(ConsentOn::Session { session, subject }, true, "form", None).await.unwrap();
        client.set_hold(HoldOn::Session { session, subject }, "case 8").await.unwrap();
        client.share(session, to_bob(), Rights::of([Right::Read]), None).await.unwrap();
        let found = client.audit().read(&AuditQuery { session: Some(session), ..AuditQuery::default() }).await.unwrap();
        let words = |at: usize| -> Vec<String> { found[at].leaf.policy.iter().map(ToString::to_string).collect() };
        assert!(!words(0).contains(&"held".to_owned()) && words(found.len() - 1).contains(&"held".to_owned()));
        // An artifact's act is its session's, though its journal is not.
        let other = client.create_session(NewSession::default()).await.unwrap().id;
        for (session, expected) in [(session, true), (other, false)] {
            let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
            let source = ArtifactSource::Bytes(b"all".to_vec());
            let name = Some("report".to_owned());
            writer.put_artifact(&PutArtifact { source, name, ..PutArtifact::file("report") }).await.unwrap();
            writer.release().await.unwrap();
            let found = client.audit().read(&AuditQuery::default()).await.unwrap();
            let published = found.iter().rfind(|act| act.leaf.act.to_string() == "artifact_published").unwrap();
            assert_eq!(published.leaf.policy.iter().any(|word| word.to_string() == "held"), expected);
        }
        // What another process decides is in force here within a second.
        let other = place.open();
        other.client().await.unwrap().set_capture(None, None).await.unwrap();
        let ends = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while said().await.0.contains("capture") {
            assert!(std::time::Instant::now() < ends, "it is never seen");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(findings(&client).await.is_empty());
    });
}
