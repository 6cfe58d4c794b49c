//! What callers may give: names, keys, payloads, ids, paths; and what a newer samite may have left.

use crate::place::Place;
use crate::support::{World, assert_verifies, attached, event, files_only, noise, run};
use samite::workspace::RestoreRequest;
use samite::{ForkOptions, NewEvent, NewSession, NewStep, ReadOptions, WriterOptions};
use samite_ledger::{Append, Commit, Ledger as _, NewEntry};
use samite_model::{EntryId, EntryKind, Error, ErrorKind};
use serde_json::{Value, json};

#[track_caller]
fn invalid<T>(outcome: Result<T, Error>, code: &str) {
    let Err(error) = outcome else { panic!("it is invalid") };
    assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, code), "{error}");
}

#[test]
fn names_and_keys_have_up_to_512_bytes_and_no_control_characters() {
    let world = World::new();
    let client = &world.client;
    let longest = "k".repeat(512);
    // 513 bytes, in 171 characters.
    let too_long = "€".repeat(171);
    let bad = [
        (too_long.as_str(), "name_too_long"),
        ("", "empty_name"),
        ("a\nb", "bad_name"),
        ("a\u{0}b", "bad_name"),
        ("\u{9b}31m", "bad_name"),
    ];
    run(async {
        let new = NewSession { name: Some(longest.clone()), key: Some(longest.clone()), ..NewSession::default() };
        let session = client.create_session(new).await.unwrap().id;
        let options = WriterOptions { id: Some(longest.clone()), ..WriterOptions::default() };
        let writer = client.writer(session, None, options).await.unwrap();
        let deduped = |id: &str| NewEvent { dedupe: Some(id.to_owned()), ..event("x") };
        writer.append(deduped(&longest)).await.unwrap();
        let step = |key: &str, tool: &str, touch: &str| NewStep {
            touches: vec![touch.to_owned()],
            ..NewStep::new(key, tool, Value::Null)
        };
        writer.begin(&step(&longest, &longest, &longest)).await.unwrap();
        let fork = ForkOptions { name: Some(longest.clone()), key: Some(longest.clone()), ..ForkOptions::default() };
        client.fork(session, fork).await.unwrap();
        for (name, code) in bad {
            let some = Some(name.to_owned());
            invalid(client.create_session(NewSession { name: some.clone(), ..NewSession::default() }).await, code);
            invalid(client.create_session(NewSession { key: some.clone(), ..NewSession::default() }).await, code);
            let options = WriterOptions { id: some.clone(), ..WriterOptions::default() };
            invalid(client.writer(session, None, options).await.map(|_| ()), code);
            invalid(writer.append(deduped(name)).await, code);
            for (key, tool, touch) in [(name, "t", "t"), ("k", name, "t"), ("k", "t", name)] {
                invalid(writer.begin(&step(key, tool, touch)).await, code);
            }
            invalid(client.fork(session, ForkOptions { name: some.clone(), ..ForkOptions::default() }).await, code);
            invalid(client.fork(session, ForkOptions { key: some, ..ForkOptions::default() }).await, code);
        }
        assert_eq!(client.session(session).await.unwrap().head, 2);
        assert_eq!(client.branches(session).await.unwrap().len(), 2);
    });
    assert_verifies(&world.store);
}

#[test]
fn payloads_around_the_limit_of_a_journal_come_back_whole() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        // The frame around an event has five bytes.
        let sizes = [0, 1, (1 << 20) - 6, (1 << 20) - 5, (1 << 20) - 4, 1 << 20, (1 << 20) + 1];
        for (number, size) in sizes.into_iter().enumerate() {
            let body = noise(number as u64 + 1, size);
            writer.append(NewEvent { body, dedupe: None, ..event("") }).await.unwrap();
        }
        let entries = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        for (number, (entry, size)) in entries.iter().zip(sizes).enumerate() {
            assert!(entry.event().unwrap().body == noise(number as u64 + 1, size), "{size}");
            assert_eq!(entry.header.length, size as u64 + 5);
            assert_eq!(entry.blocks.is_empty(), size + 5 <= 1 << 20, "{size}");
        }
        let long = json!({ "words": "x".repeat(70_000) });
        invalid(writer.append(NewEvent { attributes: Some(long), ..event("") }).await, "attributes_too_long");
        // An outcome that is too large for its journal, from a writer that was fenced, is evidence all the same.
        let samite::Begin::Run(handle) = writer.begin(&NewStep::new("k", "t", Value::Null)).await.unwrap() else {
            panic!("not run")
        };
        let take_over = WriterOptions { take_over: true, ..WriterOptions::default() };
        let successor = client.writer(session, None, take_over).await.unwrap();
        let output = json!("y".repeat(3 << 20));
        assert_eq!(writer.complete(&handle, output.clone()).await.unwrap_err().kind(), ErrorKind::Fenced);
        assert_eq!(successor.doubts().await.unwrap()[0].recorded[0].output, output);
        client.collect().await.unwrap();
        assert_eq!(successor.doubts().await.unwrap()[0].recorded[0].output, output);
        assert_verifies(store.store());
    });
}

#[test]
fn odd_ids_are_found_nowhere_and_an_ambiguous_one_is_not_guessed() {
    let world = World::new();
    let client = &world.client;
    run(async {
        let mut ids = Vec::new();
        // Among 17 ids, two begin with the same digit.
        for _ in 0..17 {
            ids.push(client.create_session(NewSession::default()).await.unwrap().id.to_string());
        }
        let twice = ids.iter().find(|id| ids.iter().filter(|other| other[..1] == id[..1]).count() > 1).unwrap();
        let error = client.find_session(&twice[..1]).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, "ambiguous_prefix"));
        assert!(error.hints()[0].starts_with("give more digits: "), "{:?}", error.hints());
        for odd in ["", "zz", "' OR 1=1 --", "%", "_", "..", &"0".repeat(33), "\u{0}", "É"] {
            let error = client.find_session(odd).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{odd:?}");
            let session = client.find_session(twice).await.unwrap();
            assert_eq!(client.find_branch(session, odd).await.unwrap_err().kind(), ErrorKind::NotFound, "{odd:?}");
        }
        let session = client.find_session(twice).await.unwrap();
        let branch = client.current_branch(session).await.unwrap();
        for seq in [1, u64::MAX] {
            let error = client.position(session, branch, seq).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "no_position"));
            let fork = ForkOptions { seq: Some(seq), ..ForkOptions::default() };
            assert_eq!(client.fork(session, fork).await.unwrap_err().kind(), ErrorKind::NotFound);
        }
        let range = ReadOptions { from: u64::MAX, ..ReadOptions::default() };
        assert_eq!(client.read(session, None, range).await.unwrap().all().await.unwrap(), []);
    });
}

#[test]
fn paths_that_lead_out_of_the_workspace_are_refused() {
    let place = Place::new();
    let work = place.directory("work");
    std::fs::write(place.path("outside"), "outside").unwrap();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        std::fs::write(work.join("inside"), "inside").unwrap();
        std::os::unix::fs::symlink(place.path("outside"), work.join("link")).unwrap();
        let taken = client.checkpoint(session, None, WriterOptions::default(), files_only()).await.unwrap();
        std::fs::write(work.join("inside"), "changed").unwrap();
        for path in ["../outside", "..", "/etc/passwd", "a/../../outside", "./inside", "a//b", "a\u{0}b"] {
            invalid(client.cat(taken.position, path, &mut Vec::new()).await, "path_outside");
            invalid(client.path_log(taken.position, path).await, "path_outside");
            let request = RestoreRequest { within: vec![path.to_owned()], force: true, ..RestoreRequest::default() };
            invalid(client.plan_restore(session, None, taken.position, &request).await.map(|_| ()), "path_outside");
            let before = client.session(session).await.unwrap().head;
            let writer = WriterOptions::default();
            invalid(client.restore(session, None, taken.position, writer, &request).await, "path_outside");
            // Nothing was begun that would have to be recovered.
            assert!(client.steps(session, None).await.unwrap().is_empty(), "{path}");
            assert_eq!(client.session(session).await.unwrap().head, before, "{path}");
        }
        // A link is read as a link, not as what it points at.
        let error = client.cat(taken.position, "link", &mut Vec::new()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound), "{} {error}", error.code());
        assert_eq!(std::fs::read_to_string(work.join("inside")).unwrap(), "changed");
        assert_eq!(std::fs::read_to_string(place.path("outside")).unwrap(), "outside");
    });
}

#[test]
fn an_entry_of_a_newer_samite_is_kept_and_shown() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = client.create_session(NewSession::default()).await.unwrap();
        let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        writer.append(event("before")).await.unwrap();
        let mine = writer.read(ReadOptions::default()).await.unwrap().all().await.unwrap().remove(0).header;
        let (kind, id) = (EntryKind::from_name("kind-4711").unwrap(), EntryId([7; 16]));
        let payload = br#"{"of": "the future", "more": [1, 2.50, 12345678901234567890]}"#;
        let sealed = store.keys().seal_payload(mine.owner, session.current, id, payload).unwrap();
        let entry = NewEntry {
            id,
            kind,
            epoch: mine.epoch,
            time: mine.time,
            actor: mine.actor,
            owner: mine.owner,
            key: sealed.key,
            length: sealed.length,
            commitment: sealed.commitment,
            payload: sealed.bytes,
            rows: Vec::new(),
            registers: Vec::new(),
            leaf: None,
        };
        let append = Append { journal: session.current, entries: vec![entry] };
        store.ledger().commit(Commit { appends: vec![append], ..Commit::default() }).await.unwrap();
        writer.append(event("after")).await.unwrap();
        let fork = client.fork(session.id, ForkOptions::default()).await.unwrap().branch;
        for branch in [session.current, fork] {
            let read = client.read(session.id, Some(branch), ReadOptions::default()).await.unwrap();
            let entries = read.all().await.unwrap();
            assert_eq!(entries.len(), 3);
            assert_eq!((entries[1].header.kind, entries[1].payload.as_deref()), (kind, Some(payload.as_slice())));
            assert_eq!(entries[1].header.kind.name(), "kind-4711");
        }
        let only = ReadOptions { kinds: vec![kind], ..ReadOptions::default() };
        assert_eq!(client.read(session.id, None, only).await.unwrap().all().await.unwrap().len(), 1);
        client.collect().await.unwrap();
        store.store().verify(true, None).await.unwrap();
        assert_verifies(store.store());
    });
}
