//! Appending entries.

use super::Backend;
use super::fixture::{
    all, append, appending, entries, entry, family, header, identity, journal, links, making, new_journal, ok, refused,
    root, seqs, some, state,
};
use crate::{Append, Commit, JournalKind, JournalState, JournalStatus, NewEntry, NewJournal};
use samite_model::{ErrorKind, hash};
use std::sync::Arc;

pub(super) async fn entries_get_the_next_seqs(ledger: Arc<dyn Backend>) {
    assert_eq!(ok(ledger.commit(making(1, None, entries(1..=2))).await).first_seqs, [1]);
    assert_eq!(ok(append(&*ledger, 1, entries(3..=3)).await).first_seqs, [3]);
    assert_eq!(ok(append(&*ledger, 1, entries(4..=6)).await).first_seqs, [4]);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(state(&*ledger, 1).await.head, 6);
}

pub(super) async fn headers_are_stored_as_the_model_encodes_them(ledger: Arc<dyn Backend>) {
    let extreme = NewEntry { epoch: u64::from(u32::MAX), time: i64::MIN, length: 4 << 30, ..entry(3) };
    ok(ledger.commit(making(1, None, vec![entry(9), entry(8), extreme])).await);
    let stored = all(&*ledger, 1).await;
    let headers: Vec<&[u8]> = stored.iter().map(|entry| entry.header.as_slice()).collect();
    let mut third = header(3, 3);
    (third.epoch, third.time, third.length) = (u64::from(u32::MAX), i64::MIN, 4 << 30);
    assert_eq!(headers, [&header(9, 1).encode()[..], &header(8, 2).encode()[..], &third.encode()[..]]);
    let payloads: Vec<_> = stored.into_iter().map(|entry| entry.payload).collect();
    assert_eq!(payloads, [Some(vec![9, 9, 9]), Some(vec![8, 8, 8]), Some(vec![3, 3, 3])]);
}

pub(super) async fn links_cover_the_previous_link_and_the_header(ledger: Arc<dyn Backend>) {
    ok(ledger.commit(making(1, None, Vec::new())).await);
    let genesis = hash::genesis(&identity(1));
    let expected = JournalState {
        id: journal(1),
        family: family(1),
        kind: JournalKind::Branch,
        owner: super::fixture::OWNER,
        parent: None,
        head: 0,
        head_link: genesis,
        epoch: 0,
        registers: 0,
        status: JournalStatus::Open,
    };
    assert_eq!(state(&*ledger, 1).await, expected);
    ok(append(&*ledger, 1, entries(1..=2)).await);
    ok(append(&*ledger, 1, entries(3..=3)).await);
    let stored = all(&*ledger, 1).await;
    let stored_links: Vec<_> = stored.iter().map(|entry| entry.link).collect();
    assert_eq!(stored_links, links(genesis, &stored));
    assert_eq!(state(&*ledger, 1).await.head_link, some(stored_links.last().copied()));
}

pub(super) async fn one_commit_appends_to_several_journals(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=3).await;
    let control = NewJournal { kind: JournalKind::SessionControl, family: family(1), ..new_journal(2, None) };
    let commit = Commit {
        journals: vec![control],
        appends: vec![
            Append { journal: journal(2), entries: entries(4..=5) },
            Append { journal: journal(1), entries: entries(6..=6) },
        ],
        ..Commit::default()
    };
    assert_eq!(ok(ledger.commit(commit).await).first_seqs, [1, 4]);
    assert_eq!(seqs(&*ledger, 1).await, [1, 2, 3, 4]);
    assert_eq!(seqs(&*ledger, 2).await, [1, 2]);
    let made = state(&*ledger, 2).await;
    assert_eq!((made.kind, made.family, made.head), (JournalKind::SessionControl, family(1), 2));
}

pub(super) async fn one_commit_may_append_twice_to_a_journal(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=1).await;
    let commit = Commit {
        appends: vec![
            Append { journal: journal(1), entries: entries(2..=3) },
            Append { journal: journal(1), entries: entries(4..=4) },
        ],
        ..Commit::default()
    };
    assert_eq!(ok(ledger.commit(commit).await).first_seqs, [2, 4]);
    let stored = all(&*ledger, 1).await;
    let headers: Vec<&[u8]> = stored.iter().map(|entry| entry.header.as_slice()).collect();
    let expected: Vec<_> = (1..=4).map(|number| header(number, u64::from(number)).encode()).collect();
    assert_eq!(headers, expected.iter().map(<[u8; _]>::as_slice).collect::<Vec<_>>());
}

pub(super) async fn an_append_of_nothing_tells_the_next_seq(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    assert_eq!(ok(append(&*ledger, 1, Vec::new()).await).first_seqs, [3]);
    assert_eq!(ok(ledger.commit(Commit::default()).await).first_seqs, [0_u64; 0]);
    assert_eq!(state(&*ledger, 1).await.head, 2);
}

pub(super) async fn an_unknown_journal_is_not_found(ledger: Arc<dyn Backend>) {
    let message = refused(append(&*ledger, 1, entries(1..=1)).await, ErrorKind::NotFound, "no_journal");
    assert!(message.contains(&journal(1).to_string()), "{message}");
    assert_eq!(ok(ledger.journal(journal(1)).await), None);
}

pub(super) async fn a_journal_is_made_once(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 1..=2).await;
    let message = refused(ledger.commit(making(1, None, entries(3..=3))).await, ErrorKind::Conflict, "journal_exists");
    assert!(message.contains(&journal(1).to_string()), "{message}");
    let twice = Commit { journals: vec![new_journal(2, None), new_journal(2, None)], ..Commit::default() };
    refused(ledger.commit(twice).await, ErrorKind::Conflict, "journal_exists");
    assert_eq!(seqs(&*ledger, 1).await, [1, 2]);
    assert_eq!(ok(ledger.journal(journal(2)).await), None);
}

pub(super) async fn a_payload_of_a_mebibyte_comes_back(ledger: Arc<dyn Backend>) {
    // Sealing adds a little to the largest payload that is kept in a journal.
    let payload: Vec<u8> = (0..(1_u32 << 20) + 86).map(|at| (at % 251) as u8).collect();
    let large = NewEntry { payload: payload.clone(), length: 1 << 20, ..entry(1) };
    let empty = NewEntry { payload: Vec::new(), length: 0, ..entry(2) };
    ok(ledger.commit(making(1, None, Vec::new())).await);
    ok(ledger.commit(appending(1, vec![large, empty])).await);
    let payloads: Vec<_> = all(&*ledger, 1).await.into_iter().map(|entry| entry.payload).collect();
    assert!(payloads == [Some(payload), Some(Vec::new())], "the payloads differ");
}
