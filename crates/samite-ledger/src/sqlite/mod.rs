//! A ledger in an SQLite database.
//!
//! One connection writes. A thread commits whatever waits as one transaction and answers after the sync; a caller that
//! is alone may do so on its own thread. A few threads read.
//! Several processes may have one ledger open; SQLite's locks order their commits, and nothing that can change is
//! remembered between transactions.

mod blocks_read;
mod blocks_write;
mod commit;
mod connection;
mod erase;
mod failure;
mod guards;
mod high_water;
mod journal_row;
mod lease;
mod leaves;
mod maintain;
mod number;
mod open;
mod queue;
mod read;
mod readers;
mod retire;
mod schema;
mod statements;
mod wait;
mod work;
mod writer;

use crate::{
    BlockIndex, BlockPlace, BlockRow, Collection, Commit, Erasure, Generation, JournalFilter, JournalState, Lease,
    LeaseOutcome, LeaseRequest, Ledger, LogState, PackRow, Pin, Read, Receipt, Register, Row, RowQuery, Run,
    StoredEntry, Tombstones,
};
use async_trait::async_trait;
use failure::{Failure, closed, outcome_unknown};
use futures_channel::oneshot;
use futures_lite::FutureExt as _;
use queue::Queue;
use readers::Readers;
use rusqlite::Connection;
use samite_host::Sleep;
use samite_model::{BlockId, Error, JournalId, KeyId, PinId, Pseudonym, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use wait::Waiting;
use writer::{Job, Message, Outcome, Panicking, Request, Writer};

pub use high_water::Lost;
pub use maintain::{Damage, JournalSize, Statistics};
pub use open::{OpenOptions, Threads};

/// Up to so many entries are few.
const FEW: u64 = 16;
/// Up to so many blocks are few.
const FEW_BLOCKS: usize = 64;

/// Journals and blocks of one tenant in an SQLite database. A clone is another handle on the same ledger; dropping the
/// last one closes its files, after what is under way.
///
/// The files of a ledger that is open must not be copied; [`SqliteLedger::backup_to`] makes a copy that is whole.
#[derive(Clone)]
pub struct SqliteLedger {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    /// None for a ledger that is only read.
    queue: Option<Arc<Queue<Message>>>,
    /// What writes, for whoever may: the thread that serves the queue, or a caller that is alone. None when it is closed.
    writer: Arc<Mutex<Option<Writer>>>,
    threads: Threads,
    /// Serves the queue. It is started when something is put there: a caller that is alone never needs it.
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    waiters: Arc<Waiting>,
    sleep: Arc<dyn Sleep>,
    lost: Mutex<Vec<Lost>>,
}

impl Shared {
    /// Starts the thread that serves the queue, unless it runs.
    fn start(&self, queue: &Arc<Queue<Message>>) -> Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() && !queue.is_closed() {
            let (served, writer) = (Arc::clone(queue), Arc::clone(&self.writer));
            let started = std::thread::Builder::new().name("ledger-writer".into());
            let started = started
                .spawn(move || Writer::run(&writer, &served))
                .map_err(|error| Error::unavailable("no_thread", "no thread can be started to write").because(error))?;
            *thread = Some(started);
        }
        Ok(())
    }

    /// Waits for the threads, once the queue is closed.
    fn end(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        match (thread.take(), &self.queue) {
            (Some(thread), _) => {
                // A writer that panicked has told its callers already, by dropping the replies.
                let _ = thread.join();
            }
            // What the thread would have done at its end.
            (None, Some(queue)) => Writer::run(&self.writer, queue),
            (None, None) => {}
        }
        drop(thread);
        self.readers.close();
    }

    /// Reads on this very thread with the connection that writes, where nobody is at it and callers have opened no other
    /// yet: to open one takes as long as many reads. Else `read` comes back.
    fn look_alone<T, F>(&self, doing: &str, read: F) -> std::result::Result<Result<T>, F>
    where
        F: FnOnce(&Connection) -> std::result::Result<T, Failure>,
    {
        let Some(queue) = self.queue.as_ref().filter(|queue| queue.is_quiet() && !self.readers.has_own()) else {
            return Err(read);
        };
        let _panicking = Panicking { shared: &self.writer, queue };
        match self.writer.try_lock() {
            Ok(held) => match held.as_ref() {
                Some(writer) => Ok(writer.look(read).map_err(|failure| failure.into_error(doing))),
                None => Err(read),
            },
            Err(_) => Err(read),
        }
    }

    /// Where so many blocks are looked up: few of them take no longer than a change of threads.
    fn threads_for(&self, count: usize) -> Threads {
        if count <= FEW_BLOCKS { self.threads } else { Threads::Own }
    }

    /// Reads what takes no longer than a change of threads; see [`Readers::look`].
    async fn look<T, F>(&self, threads: Threads, doing: impl Into<String>, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> std::result::Result<T, Failure> + Send + 'static,
    {
        let doing = doing.into();
        if threads == Threads::Own {
            return self.readers.read(doing, read).await;
        }
        match self.look_alone(&doing, read) {
            Ok(found) => found,
            Err(read) => self.readers.look(threads, doing, read).await,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.close();
        }
        self.end();
    }
}

impl std::fmt::Debug for SqliteLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteLedger").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl SqliteLedger {
    /// Opens a ledger, or makes one.
    ///
    /// # Errors
    /// `not_found` (`no_ledger`); `invalid` (`network_file_system`, `newer_format`); `corrupt` (`not_a_ledger`,
    /// `damaged`), or `ledger_behind` when acknowledged entries are no longer there, with the range of each journal;
    /// `denied` or `unavailable` as the operating system answers.
    pub fn open(options: OpenOptions) -> Result<Self> {
        let opened = open::open(&options)?;
        let waiters = Arc::new(Waiting::default());
        let writer =
            opened.writing.map(|writing| Writer::new(&options, writing, opened.lost.clone(), Arc::clone(&waiters)));
        let queue = writer.is_some().then(|| Arc::new(Queue::new()));
        Ok(Self {
            shared: Arc::new(Shared {
                readers: Readers::new(options.path.clone(), opened.immutable),
                path: options.path,
                queue,
                writer: Arc::new(Mutex::new(writer)),
                threads: options.threads,
                thread: Mutex::default(),
                waiters,
                sleep: options.sleep,
                lost: Mutex::new(opened.lost),
            }),
        })
    }

    /// Whether it is only read: opened so, or on a file system that cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.shared.queue.is_none()
    }

    /// What was acknowledged and is no longer there, when it was opened although something is. Until
    /// [`SqliteLedger::accept_loss`] it is only read.
    pub fn lost(&self) -> Vec<Lost> {
        self.shared.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes what is there for all there was, and returns what was lost. From then on the ledger can be written.
    ///
    /// # Errors
    /// `unavailable` when the ledger cannot be written.
    pub async fn accept_loss(&self) -> Result<Vec<Lost>> {
        let (reply, answer) = oneshot::channel();
        self.tell(Message::AcceptLoss(reply))?;
        let lost = answer.await.map_err(|_| closed())??;
        self.shared.lost.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(lost)
    }

    /// Moves SQLite's log into the database and empties it: what was deleted before is then nowhere on the disk.
    ///
    /// # Errors
    /// `unavailable` (`busy`) while another process reads or writes.
    pub async fn checkpoint(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.tell(Message::Checkpoint(reply))?;
        answer.await.map_err(|_| closed())?
    }

    /// Writes the database anew, without the gaps in which SQLite may leave what it moved or deleted, and empties its log.
    /// Takes the time and, for a while, the space of writing all of it. When this returns, it is durable.
    ///
    /// # Errors
    /// `unavailable` (`busy`) while another process reads or writes, or when the disk is full; nothing is lost then.
    pub async fn compact(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.tell(Message::Compact(reply))?;
        answer.await.map_err(|_| closed())?
    }

    /// Closes all handles on the ledger after what is under way; later calls are `unavailable` (`closed`). When this
    /// returns, this process has no file of it open.
    #[expect(clippy::unused_async, reason = "another backend's end may have to wait")]
    pub async fn close(&self) {
        if let Some(queue) = &self.shared.queue {
            queue.close();
        }
        self.shared.end();
        self.shared.waiters.wake();
    }

    fn tell(&self, message: Message) -> Result<()> {
        let Some(queue) = &self.shared.queue else {
            let path = self.shared.path.display();
            return Err(Error::unavailable("read_only", format!("the ledger {path} is open for reading only"))
                .hint("open it for writing, on a file system that can be written"));
        };
        queue.push(message).map_err(|_| closed())?;
        self.shared.start(queue)
    }

    async fn request(&self, request: Request) -> Result<Outcome> {
        if let Some(queue) = self.shared.queue.as_ref().filter(|_| self.shared.threads == Threads::Caller)
            && let Some(result) = Writer::serve_alone(&self.shared.writer, queue, &request)
        {
            // Not before: who is woken may do anything, and the ledger is free for it now.
            self.shared.waiters.wake();
            if !queue.is_quiet() {
                // Its log is to be moved. Where no thread can be, it is left for the end.
                self.shared.start(queue).ok();
            }
            return result;
        }
        let (reply, answer) = oneshot::channel();
        self.tell(Message::Job(Box::new(Job { request, reply })))?;
        // A writer that is gone before it answered may have committed.
        answer.await.map_err(|_| outcome_unknown())?
    }

    async fn done(&self, request: Request) -> Result<()> {
        self.request(request).await.map(|_| ())
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        match self.request(Request::Commit(commit)).await? {
            Outcome::Committed(receipt) => Ok(receipt),
            Outcome::Leased(_) | Outcome::Erased(_) | Outcome::Done => Err(outcome_unknown()),
        }
    }

    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        let found = self.shared.look(self.shared.threads, format!("read journal {journal}"), move |database| {
            Ok(journal_row::load(database, journal)?.map(|journal| journal.state))
        });
        found.await
    }

    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        // Those of a family are few; all of a store may be many.
        let threads = if filter.family.is_some() { self.shared.threads } else { Threads::Own };
        let found = self.shared.look(threads, "list journals", move |database| {
            Ok(journal_row::list(database, &filter)?.into_iter().map(|journal| journal.state).collect())
        });
        found.await
    }

    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        let doing = format!("read entries of journal {}", read.journal);
        // A page of entries is read while the page before is opened.
        if read.to.saturating_sub(read.from) < FEW {
            let read = move |database: &Connection| read::entries(database, &read);
            return self.shared.look(self.shared.threads, doing, read).await;
        }
        self.shared.readers.read(doing, move |database| read::entries(database, &read)).await
    }

    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        let doing = format!("read rows of journal {}", query.at.journal);
        self.shared.look(self.shared.threads, doing, move |database| read::rows(database, &query)).await
    }

    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        let doing = format!("read registers of journal {journal}");
        self.shared.look(self.shared.threads, doing, move |database| read::registers(database, journal)).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        match self.request(Request::Lease(request)).await? {
            Outcome::Leased(outcome) => Ok(outcome),
            Outcome::Committed(_) | Outcome::Erased(_) | Outcome::Done => Err(outcome_unknown()),
        }
    }

    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        let doing = format!("read the lease of journal {journal}");
        self.shared.look(self.shared.threads, doing, move |database| lease::holder(database, journal)).await
    }

    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        let mut time = self.shared.sleep.sleep(milliseconds.saturating_mul(1_000_000));
        loop {
            let seen = self.shared.waiters.groups();
            let head = self.shared.readers.read(format!("wait for journal {journal}"), move |database| {
                read::journal(database, journal).map(|journal| journal.state.head)
            });
            let head = head.await?;
            if head > after {
                return Ok(head);
            }
            let changed = async {
                self.shared.waiters.changed(seen).await;
                false
            };
            let look = async {
                self.shared.sleep.sleep(wait::LOOK).await;
                false
            };
            let over = async {
                (&mut time).await;
                true
            };
            // The time comes first: a ledger that is busy changes at every look.
            if over.or(changed).or(look).await {
                return Ok(head);
            }
        }
    }

    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.done(Request::ReplaceViews(generation)).await
    }

    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.done(Request::Delete(journal, keep_to)).await
    }

    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        let read = move |database: &Connection| leaves::or_none(database, |database| leaves::state(database, log));
        self.shared.look(self.shared.threads, "read the audit log", read).await
    }

    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        let read = move |database: &Connection| {
            leaves::or_none(database, |database| leaves::leaves(database, log, from, limit))
        };
        self.shared.readers.read("read the audit log", read).await
    }

    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.done(Request::DestroyKeys(keys)).await
    }

    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        match self.request(Request::Erase(erasure)).await? {
            Outcome::Erased(taken) => Ok(taken),
            Outcome::Committed(_) | Outcome::Leased(_) | Outcome::Done => Err(outcome_unknown()),
        }
    }

    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        self.shared.readers.read("find entries of an owner", move |database| erase::owned(database, owner)).await
    }
}

#[async_trait]
impl BlockIndex for SqliteLedger {
    async fn find_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<BlockPlace>>> {
        let threads = self.shared.threads_for(blocks.len());
        self.shared.look(threads, "find blocks", move |database| blocks_read::find(database, &blocks)).await
    }

    async fn inline_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<Vec<u8>>>> {
        let threads = self.shared.threads_for(blocks.len());
        self.shared.look(threads, "read blocks", move |database| blocks_read::inline(database, &blocks)).await
    }

    async fn pin(&self, pin: Pin) -> Result<()> {
        self.done(Request::Pin(pin)).await
    }

    async fn unpin(&self, pin: PinId) -> Result<()> {
        self.done(Request::Unpin(pin)).await
    }

    async fn pins(&self, now: i64) -> Result<Vec<Pin>> {
        self.shared.readers.read("read pins", move |database| blocks_read::pins(database, now)).await
    }

    async fn packs(&self) -> Result<Vec<PackRow>> {
        self.shared.readers.read("list packs", blocks_read::packs).await
    }

    async fn blocks(&self, after: Option<BlockId>, limit: usize) -> Result<Vec<BlockRow>> {
        self.shared.readers.read("list blocks", move |database| blocks_read::list(database, after, limit)).await
    }

    async fn collect(&self, collection: Collection) -> Result<()> {
        self.done(Request::Collect(collection)).await
    }
}
