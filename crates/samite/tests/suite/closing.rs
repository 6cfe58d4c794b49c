//! Closing a workspace: when its directory is said to be safe to delete, and what is said when it is not.

use crate::place::Place;
use crate::support::{assert_verifies, attached, event, run, take};
use samite::recover::Site;
use samite::workspace::{CloseOptions, Closed, RestoreRequest};
use samite::{Begin, Client, ForkOptions, NewSession, NewStep, WriterOptions};
use samite_host::Clock;
use samite_model::closing::What;
use samite_model::{Observer, SessionId};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

pub(crate) fn site(place: &Place) -> Site {
    let lives = place.path("lives");
    fs::create_dir_all(&lives).unwrap();
    Site { base: place.root().to_owned(), lives }
}

fn close(place: &Place, client: &Client, session: SessionId, options: &CloseOptions) -> Closed {
    run(client.close(session, None, WriterOptions::default(), options, &site(place))).unwrap()
}

fn plain(place: &Place, client: &Client, session: SessionId) -> Closed {
    close(place, client, session, &CloseOptions::default())
}

/// What refuses, and the paths or steps that it is about.
fn refusals(closed: &Closed) -> Vec<(&'static str, String)> {
    let about = |found: &samite_model::closing::Finding| found.path.clone().or(found.step.clone()).unwrap_or_default();
    let refuses = closed.findings.iter().filter(|found| found.what.refuses());
    refuses.map(|found| (found.what.code(), about(found))).collect()
}

fn notes(closed: &Closed) -> Vec<(&'static str, String)> {
    let notes = closed.findings.iter().filter(|found| !found.what.refuses());
    notes.map(|found| (found.what.code(), found.path.clone().unwrap_or_default())).collect()
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut below = vec![directory.to_owned()];
    while let Some(next) = below.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().display().to_string();
                found.push((name, fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_a_receipt_vouches_for_comes_back_after_the_directory_is_gone() {
    let place = Place::new();
    let work = place.directory("work");
    let store = place.open();
    let client = run(store.client()).unwrap();
    let session = run(attached(&client, &work));
    fs::write(work.join("a.txt"), "one").unwrap();
    run(take(&client, session));
    fs::write(work.join("a.txt"), "two hours of work").unwrap();
    fs::create_dir(work.join("deep")).unwrap();
    fs::write(work.join("deep/large"), crate::support::noise(7, 900_000)).unwrap();
    fs::write(work.join(".samiteignore"), "*.log\n").unwrap();
    fs::write(work.join("left.log"), "x").unwrap();
    fs::write(work.join(".env"), "SECRET=1").unwrap();
    let closed = plain(&place, &client, session);
    assert_eq!(refusals(&closed), []);
    assert_eq!(notes(&closed), [("excluded", "left.log".to_owned()), ("secret", ".env".to_owned())]);
    let receipt = closed.receipt.clone().unwrap();
    let tree = closed.tree.as_ref().unwrap();
    assert_eq!((receipt.closed.root, receipt.closed.tree), (tree.tree.root, tree.position));
    assert_eq!((receipt.closed.head, receipt.closed.head + 1), (tree.position.seq, receipt.position.seq));
    assert_eq!((receipt.closed.files, receipt.closed.excluded), (4, 1));
    assert!(closed.new_bytes > 900_000 && !closed.already);
    let mut right = files(&work);
    right.retain(|(name, _)| name != "left.log");
    fs::remove_dir_all(&work).unwrap();
    let fork = run(client.fork(session, ForkOptions::default())).unwrap().branch;
    run(client.materialise(session, fork, &place.path("again"))).unwrap();
    assert_eq!(files(&place.path("again")), right);
    assert_eq!(run(client.receipt(session, receipt.position.journal)).unwrap(), Some(receipt));
    // The fork has a directory of its own, which nobody closed.
    assert_eq!(run(client.receipt(session, fork)).unwrap(), None);
    let gone = run(client.close(session, None, WriterOptions::default(), &CloseOptions::default(), &site(&place)));
    assert_eq!(gone.unwrap_err().code(), "workspace_gone");
    assert_verifies(store.store());
}

#[test]
fn a_receipt_is_the_last_word_until_somebody_works_there_again() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let session = run(attached(&client, &work));
    fs::write(work.join("a"), "one").unwrap();
    let first = plain(&place, &client, session).receipt.unwrap();
    let branch = first.position.journal;
    let stands = || run(client.receipt(session, branch)).unwrap().map(|receipt| receipt.position);
    let again = plain(&place, &client, session);
    assert_eq!((again.already, again.receipt.map(|receipt| receipt.position)), (true, Some(first.position)));
    let write = async |step: bool| {
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        if step {
            let Begin::Run(handle) = writer.begin(&NewStep::new("k", "t", Value::Null)).await.unwrap() else {
                panic!()
            };
            writer.complete(&handle, Value::Null).await.unwrap();
        } else {
            writer.append(event("only words")).await.unwrap();
        }
        writer.release().await.unwrap();
    };
    run(write(false));
    assert_eq!(stands(), Some(first.position), "words are no work in the directory");
    run(write(true));
    assert_eq!(stands(), None);
    // A file that changed is found by the next close alone, which takes a tree and says so anew.
    let second = plain(&place, &client, session);
    assert!(!second.already && second.new_bytes == 0);
    assert_eq!(
        second.receipt.as_ref().unwrap().closed.tree,
        first.closed.tree,
        "nothing changed: the tree still holds"
    );
    fs::write(work.join("a"), "two").unwrap();
    let third = plain(&place, &client, session);
    assert!(!third.already && third.receipt.unwrap().closed.root != first.closed.root);
    assert!(stands().is_some());
    // A tree that another session takes of the directory opens it as well.
    let other = run(attached(&client, &work));
    assert!(stands().is_some());
    run(take(&client, other));
    assert_eq!(stands(), None);
    let fourth = plain(&place, &client, session);
    let directory = fs::canonicalize(&work).unwrap().display().to_string();
    assert_eq!(notes(&fourth), [("other_session", directory)]);
    assert!(fourth.is_safe());
}

#[test]
fn steps_without_an_outcome_refuse_whoever_started_them() {
    let place = Place::new();
    let work = place.directory("work");
    fs::create_dir(work.join("inner")).unwrap();
    let (client, _) = place.in_memory();
    let session = run(attached(&client, &work));
    let inner = run(attached(&client, &work.join("inner")));
    let elsewhere = run(attached(&client, &place.directory("elsewhere")));
    fs::write(work.join("a"), "one").unwrap();
    let harness = WriterOptions { id: Some("harness".into()), ..WriterOptions::default() };
    let begin = |session| {
        let writer = run(client.writer(session, None, harness.clone())).unwrap();
        let step = run(writer.begin(&NewStep::new("mail", "send", json!({"to": "b"})))).unwrap();
        let Begin::Run(handle) = step else { panic!("{step:?}") };
        (writer, handle)
    };
    let (_elsewhere, _) = begin(elsewhere);
    let (writer, handle) = begin(inner);
    let closed = plain(&place, &client, session);
    assert_eq!(refusals(&closed), [("step_open", "mail".to_owned())]);
    assert_eq!(closed.findings.iter().find(|found| found.what == What::StepOpen).unwrap().session, Some(inner));
    // It was saved all the same.
    assert_eq!(closed.tree.as_ref().unwrap().tree.report["files"], 1);
    run(writer.complete(&handle, Value::Null)).unwrap();
    assert!(plain(&place, &client, session).is_safe());
    let (writer, _) = begin(session);
    let own = run(client.close(session, None, harness.clone(), &CloseOptions::default(), &site(&place))).unwrap();
    assert_eq!(refusals(&own), [("step_open", "mail".to_owned())]);
    run(writer.release()).unwrap();
    let lost = plain(&place, &client, session);
    assert_eq!(refusals(&lost), [("step_in_doubt", "mail".to_owned())]);
    assert!(lost.receipt.is_none());
    assert_eq!(run(client.receipt(session, lost.workspace.branch)).unwrap(), None);
}

#[test]
fn a_writer_that_lives_is_not_closed_from_under() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let session = run(attached(&client, &work));
    fs::write(work.join("a"), "saved").unwrap();
    run(take(&client, session));
    fs::write(work.join("b"), "not saved").unwrap();
    let writer = run(client.writer(session, None, WriterOptions::default())).unwrap();
    let closed = plain(&place, &client, session);
    assert_eq!(refusals(&closed), [("writer_alive", String::new()), ("unsaved", "b".to_owned())]);
    let head = run(client.head(session, closed.workspace.branch)).unwrap();
    assert_eq!(head.seq, closed.tree.unwrap().position.seq, "nothing was written");
    run(writer.release()).unwrap();
    assert!(plain(&place, &client, session).is_safe());
}

#[test]
fn a_directory_that_does_not_come_to_rest_is_not_safe() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let session = run(attached(&client, &work));
    fs::write(work.join("quiet"), "as it was").unwrap();
    fs::write(work.join("log"), "a").unwrap();
    let log = work.join("log");
    // Whenever it was read, it is written to.
    let observer = Observer::new(move |progress| {
        if progress.what == "reading files" {
            let grown = format!("{}b", fs::read_to_string(&log).unwrap());
            fs::write(&log, grown).unwrap();
        }
    });
    let closed = close(&place, &client, session, &CloseOptions { observer, ..CloseOptions::default() });
    assert_eq!(refusals(&closed), [("changing", "log".to_owned())]);
    let size = closed.findings[0].bytes.unwrap();
    assert!((3..=12).contains(&size), "{size}");
    assert!(!closed.deadline_passed);
    // What was read by then is in a tree.
    assert_eq!(closed.tree.unwrap().tree.report["files"], 2);
    let quiet = plain(&place, &client, session);
    assert!(quiet.is_safe());
}

#[test]
fn what_no_tree_holds_refuses_unless_rules_leave_it_out() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let session = run(attached(&client, &work));
    let _socket = UnixListener::bind(work.join("agent.sock")).unwrap();
    let closed = plain(&place, &client, session);
    assert_eq!(refusals(&closed), [("socket", "agent.sock".to_owned())]);
    fs::write(work.join(".samiteignore"), "*.sock\n").unwrap();
    let closed = plain(&place, &client, session);
    assert_eq!(refusals(&closed), []);
    assert_eq!(notes(&closed), [("excluded", "agent.sock".to_owned())]);
    assert!(closed.is_safe());
}

#[test]
fn a_store_or_key_in_the_directory_refuses() {
    let place = Place::new();
    let store = place.open();
    let client = run(store.client()).unwrap();
    let session = run(attached(&client, place.root()));
    let closed = run(client.close(
        session,
        None,
        WriterOptions::default(),
        &CloseOptions { master: Some(place.path("master.key")), ..CloseOptions::default() },
        &site(&place),
    ))
    .unwrap();
    let codes: Vec<&str> = refusals(&closed).iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["holds_store", "holds_master"]);
    // That the store is left out of the tree is samite's doing, and no rule of the user's.
    assert!(notes(&closed).iter().all(|(code, _)| *code != "excluded"), "{:?}", notes(&closed));
}

#[test]
fn a_deadline_that_has_passed_says_what_is_not_saved() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let session = run(attached(&client, &work));
    for name in ["same", "changed", "gone", "longer"] {
        fs::write(work.join(name), "12345").unwrap();
    }
    let before = run(take(&client, session));
    fs::write(work.join("changed"), "123456789").unwrap();
    fs::write(work.join("new"), vec![0; 70_000]).unwrap();
    fs::remove_file(work.join("gone")).unwrap();
    let closed = close(&place, &client, session, &CloseOptions { deadline: Some(0), ..CloseOptions::default() });
    let unsaved: Vec<(String, Option<u64>)> = closed
        .findings
        .iter()
        .filter(|found| found.what == What::Unsaved)
        .map(|found| (found.path.clone().unwrap(), found.bytes))
        .collect();
    let right = [("changed", 9), ("gone", 0), ("new", 70_000)].map(|(name, bytes)| (name.to_owned(), Some(bytes)));
    assert_eq!(unsaved, right);
    assert!(closed.deadline_passed && !closed.is_safe());
    assert_eq!(closed.tree.unwrap().position, before.position, "there was no time to save any of it");
    assert!(plain(&place, &client, session).is_safe());
    // Nothing differs by names and sizes, but there was no time to make sure.
    fs::write(work.join("same"), "54321").unwrap();
    run(take(&client, session));
    let closed = close(&place, &client, session, &CloseOptions { deadline: Some(0), ..CloseOptions::default() });
    assert_eq!(refusals(&closed), [("not_looked_at", String::new())]);
}

#[test]
fn a_deadline_between_two_looks_leaves_what_was_saved() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    let session = run(attached(&client, &work));
    fs::write(work.join("a"), "one").unwrap();
    let now = clock.clone();
    let observer = Observer::new(move |progress| {
        // The file was read: from now on there is no time left.
        if progress.what == "reading files" {
            now.advance(30_000_000_000);
        }
    });
    let options = CloseOptions { deadline: Some(20_000_000_000), observer, ..CloseOptions::default() };
    let begun = clock.now();
    let closed = close(&place, &client, session, &options);
    assert_eq!(clock.now() - begun, 30_000_000_000);
    assert_eq!(refusals(&closed), [("not_looked_at", String::new())]);
    assert!(closed.deadline_passed);
    assert_eq!(closed.tree.unwrap().tree.report["files"], 1, "the tree was taken in time");
    let (mut text, branch) = (Vec::new(), closed.workspace.branch);
    run(async { client.cat(client.head(session, branch).await.unwrap(), "a", &mut text).await }).unwrap();
    assert_eq!(text, b"one");
    assert!(plain(&place, &client, session).is_safe());
}

#[test]
fn what_a_session_delivers_is_published_first_and_what_cannot_be_refuses() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let session = run(attached(&client, &work));
    let deliver = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        run(client.change_settings(session, |settings| settings.deliver.clone_from(&patterns))).unwrap();
    };
    deliver(&["dist/**"]);
    fs::create_dir(work.join("dist")).unwrap();
    fs::write(work.join("dist/report.pdf"), "for the user").unwrap();
    fs::write(work.join("notes"), "not for the user").unwrap();
    // There is no time for anything: the deliverable is named as well.
    let late = close(&place, &client, session, &CloseOptions { deadline: Some(0), ..CloseOptions::default() });
    assert!(refusals(&late).contains(&("unpublished", "dist/report.pdf".to_owned())), "{:?}", refusals(&late));
    let closed = plain(&place, &client, session);
    assert_eq!(refusals(&closed), []);
    let receipt = closed.receipt.unwrap();
    assert_eq!(receipt.closed.artifacts.len(), 1);
    let all = run(client.artifacts(&samite::artifact::ArtifactFilter::default())).unwrap();
    let told: Vec<(String, String)> =
        all.iter().map(|one| (one.record.artifact.to_string(), one.record.name.clone())).collect();
    assert_eq!(told, [(receipt.closed.artifacts[0].clone(), "dist/report.pdf".to_owned())]);
    let again = plain(&place, &client, session);
    assert!(again.already, "what is as its last version is not published again");
    // A name that is no text cannot be an artifact's.
    fs::write(work.join("dist").join(std::ffi::OsStr::from_bytes(b"bad\xff")), "x").unwrap();
    let closed = plain(&place, &client, session);
    let codes: Vec<&str> = refusals(&closed).iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["unpublished"]);
    assert!(closed.receipt.is_none());
    deliver(&[]);
    assert!(plain(&place, &client, session).is_safe());
}

#[test]
fn a_rewind_opens_a_closed_workspace() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let session = run(client.create_session(NewSession::default())).unwrap().id;
    run(client.attach(session, None, &work)).unwrap();
    fs::write(work.join("a"), "one").unwrap();
    let first = run(take(&client, session));
    fs::write(work.join("a"), "two").unwrap();
    let receipt = plain(&place, &client, session).receipt.unwrap();
    let options = ForkOptions { seq: Some(first.position.seq), ..ForkOptions::default() };
    let writer = WriterOptions::default();
    let (report, _) = run(client.rewind(session, options, writer, &RestoreRequest::default())).unwrap();
    assert_eq!(fs::read_to_string(work.join("a")).unwrap(), "one");
    assert_eq!(run(client.receipt(session, report.branch)).unwrap(), None);
    assert_eq!(run(client.receipt(session, receipt.position.journal)).unwrap(), None, "it has no directory any more");
    let closed = plain(&place, &client, session);
    assert!(closed.is_safe() && !closed.already);
}
