//! Sessions and their logs.

use crate::support::{World, event, run};
use samite::{NewEvent, NewSession, ReadOptions, WriterOptions};
use samite_model::{EntryKind, ErrorKind};

#[test]
fn what_is_appended_is_read_in_order() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let writer = world.client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        for word in ["one", "two", "three"] {
            writer.append(event(word)).await.unwrap();
        }
        let entries = writer.read(ReadOptions::default()).await.unwrap().all().await.unwrap();
        let bodies: Vec<&[u8]> = entries.iter().map(|entry| entry.event().unwrap().body).collect();
        assert_eq!(bodies, [b"one".as_slice(), b"two", b"three"]);
        assert_eq!(entries.iter().map(|entry| entry.position.seq).collect::<Vec<_>>(), [1, 2, 3]);
    });
}

#[test]
fn a_repeated_append_is_answered_with_its_first_place() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let writer = world.client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        let once = NewEvent { dedupe: Some("m1".into()), expected_head: Some(0), ..event("hello") };
        let first = writer.append(once.clone()).await.unwrap();
        writer.append(event("between")).await.unwrap();
        let second = writer.append(once).await.unwrap();
        assert_eq!((first.position.seq, first.duplicate), (1, false));
        assert_eq!((second.position.seq, second.duplicate), (1, true));
        let other = NewEvent { dedupe: Some("m1".into()), ..event("other") };
        let error = writer.append(other).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "dedupe_mismatch"));
        let late = NewEvent { expected_head: Some(1), ..event("late") };
        assert_eq!(writer.append(late).await.unwrap_err().code(), "head_moved");
        assert_eq!(world.client.session(session.id).await.unwrap().head, 2);
    });
}

#[test]
fn sessions_are_found_by_unique_prefix_and_only_by_their_user() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession { name: Some("s".into()), ..NewSession::default() });
        let session = session.await.unwrap();
        let id = session.id.to_string();
        assert_eq!(world.client.find_session(&id[..12]).await.unwrap(), session.id);
        assert_eq!(world.client.find_session("nonsense").await.unwrap_err().kind(), ErrorKind::NotFound);
        let other = world.client_of("bob");
        assert_eq!(other.find_session(&id).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(other.session(session.id).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(other.sessions().await.unwrap().is_empty());
        assert_eq!(world.client.sessions().await.unwrap().len(), 1);
    });
}

#[test]
fn a_second_writer_waits_or_takes_over_and_fences_the_first() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let first = world.client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        let error = world.client.writer(session.id, None, WriterOptions::default()).await.err().unwrap();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "lease_held"));
        let options = WriterOptions { take_over: true, ..WriterOptions::default() };
        let second = world.client.writer(session.id, None, options).await.unwrap();
        assert_eq!(second.epoch(), first.epoch() + 1);
        let error = first.append(event("zombie")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fenced);
        second.append(event("new")).await.unwrap();
        second.release().await.unwrap();
        world.client.writer(session.id, None, WriterOptions::default()).await.unwrap();
    });
}

#[test]
fn kinds_and_ranges_select() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let writer = world.client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        for number in 0..6 {
            let kind = if number % 2 == 0 { EntryKind::MESSAGE } else { EntryKind::EVENT };
            writer.append(NewEvent { kind, ..event(&number.to_string()) }).await.unwrap();
        }
        let seqs = async |options| -> Vec<u64> {
            let entries = writer.read(options).await.unwrap().all().await.unwrap();
            entries.iter().map(|entry| entry.position.seq).collect()
        };
        assert_eq!(seqs(ReadOptions { kinds: vec![EntryKind::EVENT], ..Default::default() }).await, [2, 4, 6]);
        assert_eq!(seqs(ReadOptions { from: 2, to: Some(4), ..Default::default() }).await, [2, 3, 4]);
        assert_eq!(seqs(ReadOptions { from: 4, backward: true, ..Default::default() }).await, [6, 5, 4]);
    });
}
