//! Artifacts: published once, found by ancestry, kept longer than what made them.

use crate::place::Place;
use crate::support::{World, assert_verifies, attached, noise, principal, run, take};
use samite::artifact::{Artifact, ArtifactFilter, ArtifactSource, ByteRange, Kept, Put, PutArtifact, UsageBy};
use samite::payload::KnownBy;
use samite::{Begin, Client, Completion, ForkOptions, NewStep, Store, Writer, WriterOptions};
use samite_ledger::testing::{Faults, FaultyStore, Seeded};
use samite_ledger::{Generation, JournalFilter, JournalKind, Ledger};
use samite_model::step::Effect;
use samite_model::{ArtifactId, BranchId, ErrorKind, Observer, SessionId};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DAY: i64 = 24 * 3600 * 1_000_000_000;

async fn writer(client: &Client, session: SessionId, branch: Option<BranchId>) -> Writer {
    client.writer(session, branch, WriterOptions::default()).await.unwrap()
}

async fn put_with(client: &Client, session: SessionId, branch: Option<BranchId>, put: &PutArtifact) -> Put {
    let writer = writer(client, session, branch).await;
    let put = writer.put_artifact(put).await.unwrap();
    writer.release().await.unwrap();
    put
}

async fn put(client: &Client, session: SessionId, path: &Path) -> Put {
    put_with(client, session, None, &PutArtifact::file(path)).await
}

async fn bytes_of(client: &Client, artifact: ArtifactId) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match client.artifact_bytes(artifact, None, &mut bytes).await {
        Ok(_) => Ok(bytes),
        Err(error) => Err(error.code().to_owned()),
    }
}

async fn names(client: &Client, filter: ArtifactFilter) -> Vec<(String, u64, u64)> {
    let listed = client.artifacts(&filter).await.unwrap();
    listed.into_iter().map(|found| (found.record.name, found.record.version, found.versions)).collect()
}

fn version(name: &str, version: u64, versions: u64) -> (String, u64, u64) {
    (name.to_owned(), version, versions)
}

#[test]
fn what_is_put_is_recorded_once_and_again_only_when_it_changed() {
    let world = World::new();
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = &world.client;
        let session = attached(client, &work).await;
        fs::write(work.join("report.csv"), "a,b\n").unwrap();
        let first = put(client, session, &work.join("report.csv")).await;
        assert!(!first.duplicate);
        let record = &first.record;
        // printf 'a,b\n' | sha256sum
        assert_eq!(record.sha256, "5be08c9684a1d25efcee09318204824278b08bbfb4aef973ffefd0b9d7478313");
        assert_eq!(
            (record.name.as_str(), record.of_type.as_str(), record.mime.as_str()),
            ("report.csv", "table", "text/csv")
        );
        assert_eq!((record.size, record.version, record.by.user.as_str()), (4, 1, "ada"));
        assert_eq!(record.lineage.session, session);
        let again = put(client, session, &work.join("report.csv")).await;
        assert!(again.duplicate);
        assert_eq!(again.record.artifact, record.artifact);
        let described =
            PutArtifact { description: Some("the quarter".into()), ..PutArtifact::file(work.join("report.csv")) };
        let second = put_with(client, session, None, &described).await;
        assert!(!second.duplicate);
        assert_eq!((second.record.version, second.record.content), (2, record.content));
        fs::write(work.join("report.csv"), "c,d\n").unwrap();
        let third = put(client, session, &work.join("report.csv")).await;
        assert_eq!(third.record.version, 3);
        assert_ne!(third.record.content, record.content);
        assert_eq!(names(client, ArtifactFilter::default()).await, [version("report.csv", 3, 3)]);
        let all = ArtifactFilter { all_versions: true, ..ArtifactFilter::default() };
        assert_eq!(names(client, all).await.len(), 3);
        assert_eq!(bytes_of(client, record.artifact).await.unwrap(), b"a,b\n");
        assert_eq!(bytes_of(client, third.record.artifact).await.unwrap(), b"c,d\n");
        // Nobody else sees any of it.
        let bob = world.client_of("bob");
        assert!(names(&bob, ArtifactFilter::default()).await.is_empty());
        assert_eq!(bob.find_artifact(&record.artifact.to_string()).await.unwrap_err().code(), "no_artifact");
        assert_eq!(bytes_of(&bob, record.artifact).await.unwrap_err(), "no_artifact");
    });
    assert_verifies(&world.store);
}

#[test]
fn a_fork_sees_what_was_published_before_it_and_its_parent_sees_none_of_the_forks() {
    let world = World::new();
    let place = Place::new();
    run(async {
        let client = &world.client;
        let session = client.create_session(samite::NewSession::default()).await.unwrap().id;
        let main = client.current_branch(session).await.unwrap();
        let text = |name: &str, text: &str| PutArtifact {
            source: ArtifactSource::Bytes(text.as_bytes().to_vec()),
            name: Some(name.to_owned()),
            ..PutArtifact::file("")
        };
        put_with(client, session, None, &text("a", "one")).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        // The same bytes are no new version on the fork either.
        assert!(put_with(client, session, Some(fork), &text("a", "one")).await.duplicate);
        put_with(client, session, Some(fork), &text("a", "two")).await;
        put_with(client, session, Some(fork), &text("b", "of the fork")).await;
        put_with(client, session, Some(main), &text("c", "of the parent")).await;
        let at = async |branch| {
            let head = client.head(session, branch).await.unwrap();
            let filter = ArtifactFilter { at: Some(head), ..ArtifactFilter::default() };
            names(client, filter).await.into_iter().map(|(name, version, _)| (name, version)).collect::<Vec<_>>()
        };
        let named =
            |pairs: &[(&str, u64)]| pairs.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
        assert_eq!(at(fork).await, named(&[("a", 2), ("b", 1)]));
        assert_eq!(at(main).await, named(&[("a", 1), ("c", 1)]));
        let of_session = ArtifactFilter { session: Some(session), ..ArtifactFilter::default() };
        assert_eq!(names(client, of_session).await, [version("a", 2, 2), version("b", 1, 1), version("c", 1, 1)]);
        let none = put_without_name(client, session).await;
        assert_eq!(none, "no_name");
        drop(place);
    });
    assert_verifies(&world.store);
}

async fn put_without_name(client: &Client, session: SessionId) -> String {
    let put = PutArtifact { source: ArtifactSource::Bytes(vec![1]), ..PutArtifact::file("") };
    let writer = writer(client, session, None).await;
    let error = writer.put_artifact(&put).await.unwrap_err();
    writer.release().await.unwrap();
    error.code().to_owned()
}

#[test]
fn a_dedupe_id_publishes_once_and_refuses_other_bytes() {
    let world = World::new();
    run(async {
        let client = &world.client;
        let session = client.create_session(samite::NewSession::default()).await.unwrap().id;
        let keyed = |bytes: &str| PutArtifact {
            source: ArtifactSource::Bytes(bytes.as_bytes().to_vec()),
            name: Some("x".to_owned()),
            dedupe: Some("key".to_owned()),
            ..PutArtifact::file("")
        };
        let first = put_with(client, session, None, &keyed("one")).await;
        let other = PutArtifact { dedupe: None, ..keyed("between") };
        put_with(client, session, None, &other).await;
        // Not the last version any more, and still the same call.
        let again = put_with(client, session, None, &keyed("one")).await;
        assert_eq!((again.duplicate, again.record.artifact), (true, first.record.artifact));
        let writer = writer(client, session, None).await;
        let error = writer.put_artifact(&keyed("else")).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "dedupe_mismatch"));
        assert_eq!(names(client, ArtifactFilter::default()).await, [version("x", 2, 2)]);
    });
    assert_verifies(&world.store);
}

#[test]
fn a_dedupe_id_is_known_too_where_the_last_version_was_the_same_already() {
    let world = World::new();
    run(async {
        let client = &world.client;
        let session = client.create_session(samite::NewSession::default()).await.unwrap().id;
        let bytes = |bytes: &str, dedupe: Option<&str>| PutArtifact {
            source: ArtifactSource::Bytes(bytes.as_bytes().to_vec()),
            name: Some("x".to_owned()),
            dedupe: dedupe.map(str::to_owned),
            ..PutArtifact::file("")
        };
        let first = put_with(client, session, None, &bytes("one", None)).await;
        let keyed = put_with(client, session, None, &bytes("one", Some("key"))).await;
        assert_eq!((keyed.duplicate, keyed.record.artifact), (true, first.record.artifact));
        put_with(client, session, None, &bytes("two", None)).await;
        // Whoever lost the answer asks again, and something else came between.
        let again = put_with(client, session, None, &bytes("one", Some("key"))).await;
        assert_eq!((again.duplicate, again.record.artifact), (true, first.record.artifact));
        // Also where other bytes are those of the last version.
        let writer = writer(client, session, None).await;
        assert_eq!(writer.put_artifact(&bytes("two", Some("key"))).await.unwrap_err().code(), "dedupe_mismatch");
        writer.release().await.unwrap();
        let now = put_with(client, session, None, &bytes("two", None)).await;
        assert_eq!((now.duplicate, now.record.version), (true, 2));
        assert_eq!(names(client, ArtifactFilter::default()).await, [version("x", 2, 2)]);
    });
    assert_verifies(&world.store);
}

#[test]
fn what_is_put_again_when_its_time_is_over_is_kept_anew() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    let start = samite_host::Clock::now(&*clock);
    run(async {
        let session = attached(&client, &work).await;
        client.change_settings(session, |settings| settings.deliver = vec!["*.bin".to_owned()]).await.unwrap();
        client.set_artifact_policy("file", Some(Some(7))).await.unwrap();
        let deliver = async || {
            client.publish_deliverables(session, None, WriterOptions::default(), &Observer::default()).await.unwrap()
        };
        fs::write(work.join("1.bin"), noise(1, 400_000)).unwrap();
        fs::write(work.join("2.bin"), noise(2, 400_000)).unwrap();
        assert_eq!(deliver().await.published.len(), 2);
        // Over, and not collected yet: what is said to be published must outlast the next collection.
        clock.set(start + 8 * DAY);
        let put = put(&client, session, &work.join("1.bin")).await;
        assert_eq!((put.duplicate, put.record.version), (false, 2));
        let delivered = deliver().await;
        let names: Vec<&str> = delivered.published.iter().map(|record| record.name.as_str()).collect();
        assert_eq!((names, delivered.unchanged), (vec!["2.bin"], 1));
        client.collect().await.unwrap();
        assert!(bytes_of(&client, put.record.artifact).await.unwrap() == noise(1, 400_000));
        assert!(bytes_of(&client, delivered.published[0].artifact).await.unwrap() == noise(2, 400_000));
    });
}

#[test]
fn a_put_whose_acknowledgement_got_lost_is_published_once() {
    let place = Place::new();
    let storage = FaultyStore::new(Seeded::new(7), Arc::new(samite_host::SystemSleep), Faults::NONE);
    let ledger = Arc::new(storage.open());
    let store = Store::new(place.backends(ledger.clone(), ledger));
    let client = run(store.client(principal("ada"))).unwrap();
    run(async {
        let session = client.create_session(samite::NewSession::default()).await.unwrap().id;
        let writer = writer(&client, session, None).await;
        let text = PutArtifact {
            source: ArtifactSource::Bytes(b"words".to_vec()),
            name: Some("x".to_owned()),
            ..PutArtifact::file("")
        };
        storage.set_faults(Faults { lost_acknowledgement: 1000, ..Faults::NONE });
        let first = writer.put_artifact(&text).await;
        storage.set_faults(Faults::NONE);
        let again = writer.put_artifact(&text).await.unwrap();
        if let Ok(first) = first {
            assert_eq!(first.record.artifact, again.record.artifact);
        }
        assert_eq!(names(&client, ArtifactFilter { all_versions: true, ..ArtifactFilter::default() }).await.len(), 1);
    });
}

/// Runs a contained step by hand: what `step run` records of one.
async fn contained(client: &Client, session: SessionId, work: &Path, key: &str, script: &str, act: impl FnOnce()) {
    let writer = writer(client, session, None).await;
    let before = writer.checkpoint(crate::support::files_only()).await.unwrap().root;
    let input = json!({ "argv": ["sh", "-c", script], "directory": work.to_string_lossy() });
    let effect = Effect::Contained { within: Vec::new() };
    let step = NewStep { effect, tree: Some(before), ..NewStep::new(key, "sh", input) };
    let Begin::Run(handle) = writer.begin(&step).await.unwrap() else { panic!("not run") };
    act();
    writer.finish_with_tree(&handle, &Completion::completed(json!({ "status": 0 }))).await.unwrap();
    writer.release().await.unwrap();
}

#[test]
fn the_step_that_made_a_file_is_told_by_the_trees_and_its_inputs_are_as_it_found_them() {
    let world = World::new();
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = &world.client;
        let session = attached(client, &work).await;
        fs::create_dir(work.join("data")).unwrap();
        fs::write(work.join("data/in.txt"), "before\n").unwrap();
        contained(client, session, &work, "make", "sort data/in.txt > out.txt; echo after > data/in.txt", || {
            fs::write(work.join("out.txt"), "before\n").unwrap();
            fs::write(work.join("data/in.txt"), "after\n").unwrap();
        })
        .await;
        contained(client, session, &work, "other", "true", || fs::write(work.join("other.txt"), "x").unwrap()).await;
        let with = PutArtifact { inputs: vec![work.join("data")], ..PutArtifact::file(work.join("out.txt")) };
        let put = put_with(client, session, None, &with).await;
        let lineage = &put.record.lineage;
        let step = lineage.step.as_ref().unwrap();
        assert_eq!((step.key.as_str(), step.known_by), ("make", KnownBy::Trees));
        assert_eq!(lineage.inputs.len(), 1);
        assert_eq!((lineage.inputs[0].path.as_str(), lineage.inputs[0].before_step), ("data", true));
        let made = client.reproduce(put.record.artifact, &place.path("again")).await.unwrap();
        assert_eq!(fs::read_to_string(place.path("again/work/data/in.txt")).unwrap(), "before\n");
        assert_eq!(made.argv.as_ref().unwrap()[2], "sort data/in.txt > out.txt; echo after > data/in.txt");
        let compared = client.run_again(&made, Duration::from_mins(1)).unwrap();
        assert_eq!((compared.same, compared.status), (true, Some(0)));
        // A file that no tree tells about has no step.
        fs::write(work.join("late.txt"), "late").unwrap();
        assert_eq!(put_file(client, session, &work.join("late.txt")).await.record.lineage.step, None);
        let missing = PutArtifact { step: Some("none".into()), ..PutArtifact::file(work.join("out.txt")) };
        let writer = writer(client, session, None).await;
        assert_eq!(writer.put_artifact(&missing).await.unwrap_err().code(), "no_step");
    });
    assert_verifies(&world.store);
}

async fn put_file(client: &Client, session: SessionId, path: &Path) -> Put {
    put(client, session, path).await
}

#[test]
fn reproducing_tells_same_from_other_and_an_input_in_the_outputs_place_proves_nothing() {
    let world = World::new();
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = &world.client;
        let session = attached(client, &work).await;
        fs::write(work.join("in.txt"), "b\na\n").unwrap();
        fs::write(work.join("out.txt"), "a\nb\n").unwrap();
        let cases: [(&[&str], bool, Option<u64>); 4] = [
            (&["sh", "-c", "sort in.txt > out.txt"], true, Some(4)),
            (&["sh", "-c", "cat in.txt > out.txt"], false, Some(4)),
            // The whole workspace is an input, and holds the output: doing nothing does not make it.
            (&["true"], false, None),
            (&["sh", "-c", "mkdir out.txt; exit 3"], false, None),
        ];
        for (number, (words, same, size)) in cases.into_iter().enumerate() {
            let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
            let put = PutArtifact {
                inputs: vec![work.clone()],
                command: Some((argv, work.clone())),
                ..PutArtifact::file(work.join("out.txt"))
            };
            let put = put_with(client, session, None, &put).await;
            let made = client.reproduce(put.record.artifact, &place.path(&format!("again{number}"))).await.unwrap();
            let compared = client.run_again(&made, Duration::from_mins(1)).unwrap();
            assert_eq!((compared.same, compared.size), (same, size), "{words:?}: {compared:?}");
        }
        let put = put(client, session, &work.join("in.txt")).await;
        let made = client.reproduce(put.record.artifact, &place.path("bare")).await.unwrap();
        assert_eq!(client.run_again(&made, Duration::from_mins(1)).unwrap_err().code(), "no_command");
        let again = client.reproduce(put.record.artifact, &place.path("bare")).await.unwrap_err();
        assert_eq!(again.code(), "not_empty");
    });
}

#[test]
fn a_link_among_the_inputs_leads_neither_the_command_nor_its_output_elsewhere() {
    let world = World::new();
    let place = Place::new();
    let work = place.directory("work");
    let private = place.directory("private");
    run(async {
        let client = &world.client;
        let session = attached(client, &work).await;
        fs::write(private.join("key"), "precious").unwrap();
        std::os::unix::fs::symlink(&private, work.join("sub")).unwrap();
        fs::write(work.join("out"), "x").unwrap();
        let put = PutArtifact {
            name: Some("sub/key".into()),
            inputs: vec![work.clone()],
            command: Some((vec!["true".into()], private.clone())),
            ..PutArtifact::file(work.join("out"))
        };
        let put = put_with(client, session, None, &put).await;
        let made = client.reproduce(put.record.artifact, &place.path("again")).await.unwrap();
        assert_eq!(made.output, None);
        assert_eq!(client.run_again(&made, Duration::from_mins(1)).unwrap_err().code(), "no_output");
        assert_eq!(fs::read_to_string(private.join("key")).unwrap(), "precious");
        assert_eq!(made.runs_in, made.directory.join("work"));
    });
}

#[test]
fn an_artifact_outlives_its_branch_its_session_and_its_workspace() {
    let place = Place::new();
    let work = place.directory("work");
    let elsewhere = place.directory("elsewhere");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        let main = client.current_branch(session).await.unwrap();
        let big = noise(3, 3_000_000);
        let writer_of_main = writer(&client, session, None).await;
        writer_of_main.append(crate::support::event("begin")).await.unwrap();
        writer_of_main.release().await.unwrap();
        fs::write(work.join("big.bin"), &big).unwrap();
        fs::write(elsewhere.join("numbers"), "1\n2\n").unwrap();
        let at = take(&client, session).await.position;
        let options = ForkOptions { seq: Some(at.seq), ..ForkOptions::default() };
        let fork = client.fork(session, options).await.unwrap().branch;
        let second = place.directory("second");
        client.attach(session, Some(fork), &second).await.unwrap();
        fs::write(second.join("in.bin"), &big).unwrap();
        fs::write(second.join("out.bin"), &big).unwrap();
        let argv: Vec<OsString> = ["cp", "in.bin", "out.bin"].iter().map(OsString::from).collect();
        let given = PutArtifact {
            inputs: vec![second.join("in.bin"), elsewhere.join("numbers")],
            command: Some((argv, second.clone())),
            description: Some("a copy".into()),
            ..PutArtifact::file(second.join("out.bin"))
        };
        let put = put_with(&client, session, Some(fork), &given).await.record;
        // All of it goes: the branch, the trees of what is left, the directories.
        client.delete_branch(session, fork).await.unwrap();
        let other = client.fork(session, ForkOptions { seq: Some(1), ..ForkOptions::default() }).await.unwrap().branch;
        client.make_current(session, other).await.unwrap();
        client.set_lifetime(session, main, Some(1)).await.unwrap();
        fs::remove_dir_all(&work).unwrap();
        fs::remove_dir_all(&second).unwrap();
        fs::remove_dir_all(&elsewhere).unwrap();
        for _ in 0..2 {
            client.collect().await.unwrap();
        }
        assert_eq!(client.cat(at, "big.bin", &mut Vec::new()).await.unwrap_err().code(), "tree_collected");
        // A process that comes later still has it all.
        store.close().await;
        let client = place.client().await;
        let found = client.artifact(put.artifact).await.unwrap();
        assert_eq!(found.record, put);
        assert_eq!((found.kept, found.collected), (Kept::NoPolicy, false));
        assert!(bytes_of(&client, put.artifact).await.unwrap() == big);
        let mut part = Vec::new();
        let range: ByteRange = "1999990-2000009".parse().unwrap();
        assert_eq!(client.artifact_bytes(put.artifact, Some(range), &mut part).await.unwrap(), 20);
        assert_eq!(part, big[1_999_990..2_000_010]);
        assert_eq!(found.record.lineage.branch, fork);
        let paths: Vec<&str> = found.record.lineage.inputs.iter().map(|input| input.path.as_str()).collect();
        let numbers = place.root().canonicalize().unwrap().join("elsewhere/numbers");
        assert_eq!(paths, [numbers.to_str().unwrap(), "in.bin"]);
        let made = client.reproduce(put.artifact, &place.path("again")).await.unwrap();
        assert!(client.run_again(&made, Duration::from_mins(1)).unwrap().same);
        let outside = place.root().canonicalize().unwrap().join("elsewhere/numbers");
        let outside = place.path("again/outside").join(outside.strip_prefix("/").unwrap());
        assert_eq!(fs::read_to_string(outside).unwrap(), "1\n2\n");
    });
    assert_verifies(place.open().store());
}

#[test]
fn nothing_goes_without_a_policy_and_what_has_one_goes_when_its_time_is_over() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    let start = samite_host::Clock::now(&*clock);
    run(async {
        let session = attached(&client, &work).await;
        let mut ids = Vec::new();
        for (number, of_type) in [(1, "chart"), (2, "chart"), (3, "table"), (4, "odd type")] {
            let path = work.join(format!("{number}.bin"));
            fs::write(&path, noise(number, 400_000)).unwrap();
            let put = PutArtifact { of_type: Some(of_type.to_owned()), ..PutArtifact::file(path) };
            ids.push(put_with(&client, session, None, &put).await.record.artifact);
        }
        let going = async || {
            let plan = client.plan_collection().await.unwrap();
            plan.artifacts.iter().map(|going| going.artifact).collect::<Vec<_>>()
        };
        clock.set(start + 10_000 * DAY);
        assert_eq!(going().await, []);
        let status = client.artifacts_status().await.unwrap();
        assert_eq!((status.versions, status.without_policy), (4, 4));
        assert_eq!(status.types_without_policy, ["chart", "odd type", "table"]);
        client.set_artifact_policy("chart", Some(Some(30))).await.unwrap();
        client.set_artifact_policy("table", Some(None)).await.unwrap();
        assert!(client.has_artifact_policy("chart").await.unwrap());
        assert!(!client.has_artifact_policy("odd type").await.unwrap());
        clock.set(start + 29 * DAY);
        assert_eq!(going().await, []);
        clock.set(start + 31 * DAY);
        assert_eq!(going().await, [ids[0], ids[1]]);
        // What was decided for one alone counts before its type's policy.
        client.keep_artifact(ids[0], Some(5)).await.unwrap();
        assert_eq!(client.artifact(ids[0]).await.unwrap().kept, Kept::Until(start + 36 * DAY));
        client.keep_artifact(ids[3], Some(1)).await.unwrap();
        assert_eq!(going().await, [ids[1]]);
        let collected = client.collect().await.unwrap();
        assert!(collected.bytes > 400_000, "{collected:?}");
        assert_eq!(going().await, []);
        assert_eq!(bytes_of(&client, ids[1]).await.unwrap_err(), "artifact_collected");
        assert_eq!(client.keep_artifact(ids[1], None).await.unwrap_err().code(), "artifact_collected");
        let gone: Artifact = client.artifact(ids[1]).await.unwrap();
        assert!(gone.collected);
        assert_eq!(gone.record.name, "2.bin");
        clock.set(start + 40 * DAY);
        assert_eq!(going().await, [ids[0], ids[3]]);
        client.keep_artifact(ids[0], None).await.unwrap();
        client.keep_artifact_by_policy(ids[3]).await.unwrap();
        assert_eq!(going().await, []);
        client.collect().await.unwrap();
        for (id, number) in [(ids[0], 1), (ids[2], 3), (ids[3], 4)] {
            assert!(bytes_of(&client, id).await.unwrap() == noise(number, 400_000), "{number}");
        }
        // The same bytes again are stored again: the last version has none any more.
        let put = PutArtifact { of_type: Some("chart".into()), ..PutArtifact::file(work.join("2.bin")) };
        let again = put_with(&client, session, None, &put).await;
        assert_eq!((again.duplicate, again.record.version), (false, 2));
        assert!(bytes_of(&client, again.record.artifact).await.unwrap() == noise(2, 400_000));
        let usage = client.artifact_usage(UsageBy::Type).await.unwrap();
        let usage: Vec<(&str, u64, u64)> =
            usage.iter().map(|usage| (usage.group.as_str(), usage.versions, usage.bytes)).collect();
        assert_eq!(usage, [("chart", 2, 800_000), ("odd type", 1, 400_000), ("table", 1, 400_000)]);
        let by_user = client.artifact_usage(UsageBy::User).await.unwrap();
        assert_eq!((by_user.len(), by_user[0].group.as_str(), by_user[0].names), (1, "ada", 4));
        let policies = client.artifact_policies().await.unwrap();
        let policies: Vec<_> = policies.iter().map(|policy| (policy.of_type.as_str(), policy.days)).collect();
        assert_eq!(policies, [("chart", Some(30)), ("table", None)]);
        client.set_artifact_policy("chart", None).await.unwrap();
        assert_eq!(client.artifact_policies().await.unwrap().len(), 1);
    });
}

#[test]
fn deliverables_are_published_when_they_changed_and_one_that_cannot_be_keeps_no_other() {
    use std::os::unix::ffi::OsStringExt;
    let world = World::new();
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = &world.client;
        let session = attached(client, &work).await;
        let deliver = async || {
            client.publish_deliverables(session, None, WriterOptions::default(), &Observer::default()).await.unwrap()
        };
        let delivered = deliver().await;
        assert!(delivered.published.is_empty() && delivered.is_complete());
        let patterns = vec!["dist/**".to_owned(), "/report.md".to_owned()];
        client.change_settings(session, |settings| settings.deliver.clone_from(&patterns)).await.unwrap();
        fs::create_dir_all(work.join("dist/deep")).unwrap();
        fs::write(place.path("secret"), "outside").unwrap();
        std::os::unix::fs::symlink(place.path("secret"), work.join("dist/link")).unwrap();
        fs::write(work.join("dist/a.js"), "a").unwrap();
        fs::write(work.join("dist/deep/b.js"), "b").unwrap();
        fs::write(work.join("dist").join(OsString::from_vec(b"odd\xff".to_vec())), "odd").unwrap();
        fs::write(work.join("report.md"), "# done").unwrap();
        fs::write(work.join("source.js"), "not for the user").unwrap();
        let delivered = deliver().await;
        let published: Vec<&str> = delivered.published.iter().map(|record| record.name.as_str()).collect();
        assert_eq!(published, ["dist/a.js", "dist/deep/b.js", "report.md"]);
        let failed: Vec<_> =
            delivered.failed.iter().map(|failed| (failed.path.as_str(), failed.error.code())).collect();
        assert_eq!(failed, [("dist/odd\\xff", "bad_name")]);
        let again = deliver().await;
        assert_eq!((again.published.len(), again.unchanged), (0, 3));
        fs::write(work.join("dist/a.js"), "changed").unwrap();
        fs::remove_file(work.join("report.md")).unwrap();
        let third = deliver().await;
        assert_eq!(third.published.len(), 1);
        assert_eq!((third.published[0].name.as_str(), third.published[0].version), ("dist/a.js", 2));
        assert_eq!(third.unchanged, 1);
        assert_eq!(names(client, ArtifactFilter::default()).await.len(), 3);
        fs::remove_dir_all(&work).unwrap();
        let gone = deliver().await;
        assert_eq!((gone.failed.len(), gone.failed[0].path.as_str()), (1, "."));
        let wrong = client.change_settings(session, |settings| settings.deliver = vec!["a[z-a]".to_owned()]).await;
        assert_eq!(wrong.unwrap_err().code(), "bad_pattern");
    });
    assert_verifies(&world.store);
}

#[test]
fn a_store_that_cannot_be_written_is_no_fault_of_the_files_that_are_for_the_user() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        client.change_settings(session, |settings| settings.deliver = vec!["*.bin".to_owned()]).await.unwrap();
        for number in [1, 2] {
            fs::write(work.join(format!("{number}.bin")), noise(number, 400_000)).unwrap();
        }
        let options = WriterOptions::default;
        let packs = store.home().join("packs");
        let aside = packs.with_extension("aside");
        fs::rename(&packs, &aside).unwrap();
        fs::write(&packs, "no directory").unwrap();
        let failed = client.publish_deliverables(session, None, options(), &Observer::default()).await.unwrap_err();
        assert_eq!(failed.code(), "wrong_file_type");
        assert!(failed.message().contains("/packs "), "{failed}");
        fs::remove_file(&packs).unwrap();
        fs::rename(&aside, &packs).unwrap();
        let delivered = client.publish_deliverables(session, None, options(), &Observer::default()).await.unwrap();
        assert_eq!((delivered.published.len(), delivered.failed.len()), (2, 0));
        assert_verifies(store.store());
    });
}

#[test]
fn views_of_artifacts_are_made_again_and_a_missing_tree_is_found() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        fs::write(work.join("a"), noise(1, 300_000)).unwrap();
        let put = put(&client, session, &work.join("a")).await.record;
        client.set_artifact_policy("file", Some(Some(7))).await.unwrap();
        let filter = JournalFilter { kind: Some(JournalKind::Artifacts), ..JournalFilter::default() };
        let journal = store.ledger().journals(filter).await.unwrap().remove(0);
        let empty = Generation { journal: journal.id, rows: Vec::new(), registers: Vec::new(), head: journal.head };
        store.ledger().replace_views(vec![empty]).await.unwrap();
        assert_eq!(bytes_of(&client, put.artifact).await.unwrap_err(), "no_artifact");
        let verified = store.store().verify(false, None).await.unwrap();
        assert_eq!(verified.stale_views, [journal.id]);
        let verified = store.store().verify(true, None).await.unwrap();
        assert_eq!(verified.rebuilt, [journal.id]);
        assert!(bytes_of(&client, put.artifact).await.unwrap() == noise(1, 300_000));
        assert_eq!(client.artifact_policies().await.unwrap().len(), 1);
        assert_verifies(store.store());
        // A backup carries all of it.
        store.backup(&place.path("copy")).await.unwrap();
        let copy = place.open_at(&place.path("copy"));
        let restored = copy.client().await.unwrap();
        assert!(bytes_of(&restored, put.artifact).await.unwrap() == noise(1, 300_000));
        assert_verifies(copy.store());
        copy.close().await;
        store.close().await;
        let store = place.open();
        for pack in crate::support::packs(&store.home()) {
            fs::remove_file(pack).unwrap();
        }
        let verified = store.store().verify(false, None).await.unwrap();
        let at: Vec<_> =
            verified.findings.iter().map(|finding| (finding.journal, finding.first, finding.what.name())).collect();
        assert_eq!(at, [(journal.id, 1, "tree")]);
    });
}

#[test]
fn what_belonged_to_an_erased_person_stands_in_nobodys_way() {
    let world = World::new();
    let place = Place::new();
    run(async {
        let bob = world.client_of("bob");
        let session = bob.create_session(samite::NewSession::default()).await.unwrap().id;
        fs::write(place.path("x"), noise(1, 300_000)).unwrap();
        put(&bob, session, &place.path("x")).await;
        world.destroy_keys_of("bob").await;
        world.client.collect().await.unwrap();
        assert!(names(&world.client, ArtifactFilter::default()).await.is_empty());
    });
    assert_verifies(&world.store);
}

#[test]
fn bad_input_changes_nothing() {
    let world = World::new();
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = &world.client;
        let session = attached(client, &work).await;
        fs::create_dir(work.join("d")).unwrap();
        fs::write(work.join("f"), "x").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(work.join("pipe")).status().unwrap().success());
        let file = || PutArtifact::file(work.join("f"));
        let cases = [
            (PutArtifact::file(work.join("none")), "no_file"),
            (PutArtifact::file(work.join("d")), "not_a_file"),
            (PutArtifact::file(work.join("pipe")), "not_a_file"),
            (PutArtifact { name: Some(String::new()), ..file() }, "empty_name"),
            (PutArtifact { name: Some("a\x1b[2J".into()), ..file() }, "bad_name"),
            (PutArtifact { of_type: Some("t".repeat(513)), ..file() }, "name_too_long"),
            (PutArtifact { description: Some("d".repeat(4097)), ..file() }, "description_too_long"),
            (PutArtifact { inputs: vec![work.join("none")], ..file() }, "no_file"),
            (PutArtifact { inputs: vec![work.clone(), work.join("f")], ..file() }, "paths_collide"),
            (PutArtifact { inputs: vec![work.join("pipe")], ..file() }, "wrong_file_type"),
            (PutArtifact { command: Some((Vec::new(), work.clone())), ..file() }, "no_command"),
        ];
        let before = client.head(session, client.current_branch(session).await.unwrap()).await.unwrap();
        let writer = writer(client, session, None).await;
        for (put, code) in cases {
            assert_eq!(writer.put_artifact(&put).await.unwrap_err().code(), code, "{put:?}");
        }
        let after = client.head(session, client.current_branch(session).await.unwrap()).await.unwrap();
        assert_eq!(before, after);
        assert!(names(client, ArtifactFilter::default()).await.is_empty());
    });
    assert_verifies(&world.store);
}
