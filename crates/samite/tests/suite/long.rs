//! A session of very many entries: reading a part of it, forking it and listing it read as little as for a short one.

use crate::place::{Place, backends_of};
use crate::support::{assert_verifies, event, principal, run};
use crate::watched::Watched;
use samite::{Backends, ForkOptions, NewSession, ReadOptions, Store, WriterOptions};
use samite_ledger::{Append, Commit, Ledger as _, NewEntry};
use samite_model::EntryId;
use std::sync::Arc;

/// 100,000 entries, or as many as the environment says: `SAMITE_TEST_ENTRIES=1000000`.
fn entries() -> u64 {
    std::env::var("SAMITE_TEST_ENTRIES").map_or(100_000, |count| count.parse().unwrap())
}

#[test]
fn a_very_long_session_is_read_forked_and_listed_like_a_short_one() {
    let place = Place::new();
    let count = entries();
    run(async {
        let embedded = place.open();
        let backends = backends_of(&embedded);
        let counting = Arc::new(Watched::new(backends.ledger.clone()));
        let store = Store::new(Backends { ledger: counting.clone(), ..backends });
        let client = store.client(principal("ada")).await.unwrap();
        let session = client.create_session(NewSession::default()).await.unwrap();
        let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
        writer.append(event("first")).await.unwrap();
        let like = writer.read(ReadOptions::default()).await.unwrap().all().await.unwrap().remove(0);
        let payload = like.payload.unwrap();
        let mut next = 2;
        while next <= count {
            let mut batch = Vec::new();
            while next <= count && batch.len() < 2_000 {
                let mut id = [0; 16];
                id[8..].copy_from_slice(&next.to_be_bytes());
                let id = EntryId(id);
                let header = &like.header;
                let sealed = embedded.keys().seal_payload(header.owner, session.current, id, &payload).unwrap();
                batch.push(NewEntry {
                    id,
                    kind: header.kind,
                    epoch: header.epoch,
                    time: header.time,
                    actor: header.actor,
                    owner: header.owner,
                    key: sealed.key,
                    length: sealed.length,
                    commitment: sealed.commitment,
                    payload: sealed.bytes,
                    rows: Vec::new(),
                    registers: Vec::new(),
                    leaf: None,
                });
                next += 1;
            }
            let append = Append { journal: session.current, entries: batch };
            counting.commit(Commit { appends: vec![append], ..Commit::default() }).await.unwrap();
        }
        counting.read_since();
        let few = |what: &str, most: usize| {
            let read = counting.read_since();
            assert!(read <= most, "{what} read {read}");
        };
        let range = ReadOptions { from: count - 9, ..ReadOptions::default() };
        let last = client.read(session.id, None, range).await.unwrap().all().await.unwrap();
        assert_eq!(
            last.iter().map(|entry| entry.position.seq).collect::<Vec<_>>(),
            (count - 9..=count).collect::<Vec<_>>()
        );
        few("a range at the end", 30);
        let backward = ReadOptions { backward: true, headers_only: true, ..ReadOptions::default() };
        let page = client.read(session.id, None, backward).await.unwrap().next().await.unwrap();
        assert_eq!(page[0].position.seq, count);
        few("the newest page", 530);
        assert_eq!(client.session(session.id).await.unwrap().head, count);
        assert_eq!(client.sessions().await.unwrap().len(), 1);
        few("listing", 30);
        for seq in [1, count / 2, count] {
            let fork = client.fork(session.id, ForkOptions { seq: Some(seq), ..ForkOptions::default() }).await.unwrap();
            few("a fork", 540 + usize::try_from(count - seq).unwrap() / 512);
            let beside = client.writer(session.id, Some(fork.branch), WriterOptions::default()).await.unwrap();
            assert_eq!(beside.append(event("beside")).await.unwrap().position.seq, seq + 1);
            few("an append to a fork", 30);
        }
        assert_eq!(writer.append(event("last")).await.unwrap().position.seq, count + 1);
        few("an append", 5);
        assert!(client.steps(session.id, None).await.unwrap().is_empty());
        few("its steps", 30);
        assert_verifies(&store);
    });
}
