//! Sessions and their logs.

use crate::place::Place;
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

#[test]
fn a_payload_too_large_for_its_journal_goes_to_blocks_and_what_is_repeated_is_stored_once() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = client.create_session(NewSession::default()).await.unwrap();
        let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        let mut noise: Vec<u8> = (0..1_500_000u32)
            .flat_map(|number| number.wrapping_mul(2_654_435_761).rotate_left(7).to_be_bytes())
            .collect();
        let event =
            |body: &[u8]| NewEvent { body: body.to_vec(), dedupe: Some(format!("{}", body.len())), ..event("") };
        writer.append(event(&noise)).await.unwrap();
        let before = store.status(&client).await.unwrap().pack_bytes;
        noise.extend_from_slice(b"and a little more");
        let second = writer.append(event(&noise)).await.unwrap();
        let after = store.status(&client).await.unwrap().pack_bytes;
        assert!(after - before < 5 << 20, "{before} {after}");
        let again = writer.append(event(&noise)).await.unwrap();
        assert_eq!((again.duplicate, again.position), (true, second.position));
        let entries = writer.read(ReadOptions::default()).await.unwrap().all().await.unwrap();
        assert!(entries[1].event().unwrap().body == noise);
        let verified = store.store().verify(false, None).await.unwrap();
        assert!(verified.findings.is_empty(), "{:?}", verified.findings);
        assert!(verified.stale_views.is_empty());
    });
}

#[test]
fn a_store_verifies_after_an_owners_keys_are_destroyed() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let writer = world.client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        writer.append(NewEvent { dedupe: Some("one".into()), ..event("hello") }).await.unwrap();
        let bob = world.client_of("bob");
        let kept = bob.create_session(NewSession::default()).await.unwrap();
        world.destroy_keys_of("ada").await;
        let verified = world.store.verify(false, None).await.unwrap();
        assert!(verified.findings.is_empty(), "{:?}", verified.findings);
        assert!(verified.stale_views.is_empty(), "{:?}", verified.stale_views);
        let entries = writer.read(ReadOptions::default()).await.unwrap().all().await.unwrap();
        assert_eq!(entries[0].payload, None);
        assert_eq!(writer.append(event("late")).await.unwrap_err().kind(), ErrorKind::Denied);
        bob.session(kept.id).await.unwrap();
    });
}
