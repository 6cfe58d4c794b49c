//! A session of very many entries: reading a part of it, forking it and listing it read as little as for a short one.

use crate::support::{Place, assert_verifies, event, principal, run};
use async_trait::async_trait;
use samite::{Backends, ForkOptions, NewSession, ReadOptions, Store, WriterOptions};
use samite_blocks::FilePackStore;
use samite_host::{SystemClock, SystemRandomness};
use samite_ledger::{
    Append, Commit, Generation, JournalFilter, JournalState, Lease, LeaseOutcome, LeaseRequest, Ledger, NewEntry, Read,
    Receipt, Register, Row, RowQuery, SqliteLedger, StoredEntry,
};
use samite_model::{EntryId, JournalId, KeyId, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A ledger that counts what is read from it.
struct Counting {
    ledger: SqliteLedger,
    read: AtomicUsize,
}

impl Counting {
    /// What was read since it was last asked.
    fn since(&self) -> usize {
        self.read.swap(0, Ordering::Relaxed)
    }

    fn count<T>(&self, found: Result<Vec<T>>) -> Result<Vec<T>> {
        self.read.fetch_add(1 + found.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        found
    }
}

#[async_trait]
impl Ledger for Counting {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        self.ledger.commit(commit).await
    }
    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        self.read.fetch_add(1, Ordering::Relaxed);
        self.ledger.journal(journal).await
    }
    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.count(self.ledger.journals(filter).await)
    }
    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.count(self.ledger.read(read).await)
    }
    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.count(self.ledger.rows(query).await)
    }
    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.read.fetch_add(1, Ordering::Relaxed);
        self.ledger.registers(journal).await
    }
    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        self.ledger.lease(request).await
    }
    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.ledger.holder(journal).await
    }
    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        self.ledger.wait(journal, after, milliseconds).await
    }
    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.ledger.replace_views(generation).await
    }
    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.ledger.delete_journal(journal, keep_to).await
    }
    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.ledger.destroy_keys(keys).await
    }
}

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
        let counting = Arc::new(Counting { ledger: embedded.ledger().clone(), read: AtomicUsize::new(0) });
        let store = Store::new(Backends {
            ledger: counting.clone(),
            blocks: Arc::new(embedded.ledger().clone()),
            packs: Arc::new(FilePackStore::open(&embedded.home().join("packs")).unwrap()),
            keys: embedded.keys().clone(),
            directory: None,
            caches: None,
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandomness::new()),
        });
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
                });
                next += 1;
            }
            let append = Append { journal: session.current, entries: batch };
            counting.commit(Commit { appends: vec![append], ..Commit::default() }).await.unwrap();
        }
        counting.since();
        let few = |what: &str, most: usize| {
            let read = counting.since();
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
