//! A branch that cannot be given up hides nothing of what was done with it.

use crate::support::{Place, event, principal, run};
use samite::recover::{RecoverOptions, Site};
use samite::workspace::{CheckpointOptions, RestoreRequest};
use samite::{Backends, Client, ForkOptions, NewSession, Store, WriterOptions};
use samite_blocks::FilePackStore;
use samite_host::{SystemClock, SystemRandomness, SystemSleep};
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::{
    Commit, Generation, JournalFilter, JournalState, Lease, LeaseOutcome, LeaseRequest, Ledger, MemoryLedger, Read,
    Receipt, Register, Row, RowQuery, StoredEntry,
};
use samite_model::{Error, JournalId, KeyId, Position, Result, Tenant};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A ledger that cannot record that a lease was given up.
struct Keeping {
    ledger: Arc<MemoryLedger>,
    refused: AtomicUsize,
}

#[async_trait::async_trait]
impl Ledger for Keeping {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        self.ledger.commit(commit).await
    }

    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        self.ledger.journal(journal).await
    }

    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.ledger.journals(filter).await
    }

    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.ledger.read(read).await
    }

    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.ledger.rows(query).await
    }

    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.ledger.registers(journal).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        if request.expires <= request.now {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(Error::unavailable("disk_full", "there is no room"));
        }
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

fn keeping(place: &Place) -> (Arc<Keeping>, Client) {
    let random = Arc::new(SystemRandomness::new());
    let keys = Keyring::open(KeyringOptions {
        directory: place.path("keys"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(place.path("master.key"), random.clone())),
        random: random.clone(),
        create: true,
    })
    .unwrap();
    let blocks = Arc::new(MemoryLedger::new(Arc::new(SystemSleep)));
    let ledger = Arc::new(Keeping { ledger: blocks.clone(), refused: AtomicUsize::new(0) });
    let store = Store::new(Backends {
        ledger: ledger.clone(),
        blocks,
        packs: Arc::new(FilePackStore::open(&place.directory("packs")).unwrap()),
        keys,
        directory: None,
        caches: None,
        clock: Arc::new(SystemClock),
        random,
    });
    (ledger, run(store.client(principal("ada"))).unwrap())
}

/// A writer for one command, which gets every branch, since none was given up.
fn short() -> WriterOptions {
    WriterOptions { take_over: true, ..WriterOptions::default() }
}

#[test]
fn a_lease_that_cannot_be_given_up_hides_no_outcome() {
    let place = Place::new();
    let work = place.directory("work");
    let (ledger, client) = keeping(&place);
    let refused = || ledger.refused.swap(0, Ordering::SeqCst);
    run(async {
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        client.attach(session, None, &work).await.unwrap();
        std::fs::write(work.join("file"), "one").unwrap();
        let options = CheckpointOptions { no_environment: true, ..CheckpointOptions::default() };
        let taken = client.checkpoint(session, None, short(), options.clone()).await.unwrap();
        assert_eq!((taken.report.files, refused()), (1, 1));
        std::fs::write(work.join("file"), "another").unwrap();
        client.checkpoint(session, None, short(), options).await.unwrap();
        refused();
        let request = RestoreRequest::default();
        let restored = client.restore(session, None, taken.position, short(), &request).await.unwrap();
        assert_eq!((restored.target, refused()), (taken.root, 1));
        assert_eq!(std::fs::read_to_string(work.join("file")).unwrap(), "one");
        let back = ForkOptions { seq: Some(taken.position.seq), ..ForkOptions::default() };
        let (fork, restored) = client.rewind(session, back, short(), &request).await.unwrap();
        assert_eq!((restored.unwrap().target, refused()), (taken.root, 1));
        assert_eq!(client.current_branch(session).await.unwrap(), fork.branch);
        let site = Site { base: place.path(""), lives: place.path("") };
        let options = RecoverOptions { writer: short(), ..RecoverOptions::default() };
        let recovery = client.recover(session, options, &site).await.unwrap();
        assert!(recovery.is_clear() && refused() == 1);
        // Who gives it up itself is told.
        let writer = client.writer(session, None, short()).await.unwrap();
        let at: Position = writer.append(event("word")).await.unwrap().position;
        assert_eq!(at.journal, fork.branch);
        assert_eq!(writer.release().await.unwrap_err().code(), "disk_full");
    });
}
