//! What writes: a thread takes whatever waits, commits it as one transaction, and only then answers. A caller that is
//! alone may commit on its own thread instead, which saves two changes of threads, about as long as a sync takes.

use super::failure::{Failure, explain, leaves_outcome_open, outcome_unknown};
use super::high_water::{self, Lost, Mark};
use super::open::{self, OpenOptions, Writing};
use super::queue::Queue;
use super::readers::in_transaction;
use super::wait::Waiting;
use super::work::{Memo, Work};
use crate::{
    BlockPlace, Collection, Commit, Erasure, Finisher, Generation, LeaseOutcome, LeaseRequest, Pin, Receipt, Tombstones,
};
use futures_channel::oneshot;
use rusqlite::Connection;
use samite_host::kill_point;
use samite_model::{Error, JournalId, KeyId, PinId, Result};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// How many requests share a transaction, and so a sync.
const GROUP: usize = 256;
/// How many bytes of payloads do, about.
const GROUP_BYTES: usize = 16 << 20;
/// How many bytes of payloads a caller writes on its own thread, at most.
const SHORT_BYTES: usize = 256 << 10;
/// How many packs a pin names that a caller records on its own thread, at most.
const SHORT_PINS: usize = 64;
/// How many pages of SQLite's log are moved into the database at once: 8 MiB.
const CHECKPOINT_PAGES: i64 = 2_000;
/// How many marks are written at once.
const MARKS: usize = 160;
/// A log of so many bytes is moved into the database at the end: what is closed takes no more than it holds.
const FOLDED_AT_END: u64 = 1 << 20;

/// What a caller wants written.
pub(super) enum Request {
    Commit(Commit),
    Lease(LeaseRequest),
    ReplaceViews(Vec<Generation>),
    Delete(JournalId, u64),
    DestroyKeys(Vec<KeyId>),
    Erase(Erasure),
    Pin(Pin),
    Unpin(PinId),
    Collect(Collection),
}

impl Request {
    /// The bytes of its payloads, which are most of what is written for it.
    fn bytes(&self) -> usize {
        let Self::Commit(commit) = self else { return 0 };
        let entries = commit.appends.iter().flat_map(|append| &append.entries).map(|entry| entry.payload.len());
        let blocks = commit.blocks.iter().map(|block| match &block.place {
            BlockPlace::Inline(bytes) => bytes.len(),
            BlockPlace::Pack { .. } => 0,
        });
        entries.chain(blocks).sum()
    }

    /// Whether it takes no longer than a sync and some rows.
    fn is_short(&self) -> bool {
        match self {
            Self::Commit(_) => self.bytes() <= SHORT_BYTES,
            Self::Lease(_) | Self::Unpin(_) => true,
            Self::Pin(pin) => pin.packs.len() <= SHORT_PINS,
            _ => false,
        }
    }

    /// What is being done, for the error when the storage fails.
    fn doing(&self) -> String {
        match self {
            Self::Commit(commit) => match commit.appends.first() {
                Some(append) => format!("append to journal {}", append.journal),
                None => "commit".to_owned(),
            },
            Self::Lease(request) => format!("lease journal {}", request.journal),
            Self::ReplaceViews(_) => "replace views".to_owned(),
            Self::Delete(journal, _) => format!("delete journal {journal}"),
            Self::DestroyKeys(_) => "destroy keys".to_owned(),
            Self::Erase(_) => "erase entries".to_owned(),
            Self::Pin(pin) => format!("record pin {}", pin.id),
            Self::Unpin(pin) => format!("end pin {pin}"),
            Self::Collect(_) => "collect blocks".to_owned(),
        }
    }
}

/// What came of it.
pub(super) enum Outcome {
    Committed(Receipt),
    Leased(LeaseOutcome),
    Erased(Tombstones),
    Done,
}

pub(super) struct Job {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Result<Outcome>>,
}

pub(super) enum Message {
    Job(Box<Job>),
    /// The log has become long.
    CheckpointDue,
    /// Moves the log into the database and empties it.
    Checkpoint(oneshot::Sender<Result<()>>),
    /// Writes the database anew and empties the log.
    Compact(oneshot::Sender<Result<()>>),
    /// Takes what is there for all there was.
    AcceptLoss(oneshot::Sender<Result<Vec<Lost>>>),
}

pub(super) struct Writer {
    path: PathBuf,
    writing: Writing,
    memo: Memo,
    waiters: Arc<Waiting>,
    lost: Vec<Lost>,
    /// At how many pages of the log to try the next checkpoint.
    checkpoint_at: i64,
    /// Makes the audit log.
    finisher: Option<Arc<dyn Finisher>>,
}

/// Why a transaction was not committed.
enum Undone {
    /// It was rolled back.
    RolledBack(rusqlite::Error),
    /// Nobody can say.
    Unknown(rusqlite::Error),
}

impl Undone {
    /// What the one who asked for it is told.
    fn explain(self, request: &Request) -> Error {
        match self {
            Self::RolledBack(error) => explain(error, &request.doing()),
            Self::Unknown(error) => outcome_unknown().because(error),
        }
    }
}

impl Writer {
    pub(super) fn new(options: &OpenOptions, writing: Writing, lost: Vec<Lost>, waiters: Arc<Waiting>) -> Self {
        let (path, finisher) = (options.path.clone(), options.finisher.clone());
        Self { path, writing, memo: Memo::default(), waiters, lost, checkpoint_at: CHECKPOINT_PAGES, finisher }
    }

    /// Serves until the queue is closed and empty, and drops the writer then.
    pub(super) fn run(shared: &Mutex<Option<Self>>, queue: &Queue<Message>) {
        // However this thread ends, whoever asks afterwards is told, and no file stays open.
        let _closing = Closing { shared, queue };
        let mut messages = VecDeque::with_capacity(GROUP);
        let mut jobs = Vec::with_capacity(GROUP);
        while queue.take(GROUP, &mut messages) {
            // A caller that panicked in a commit has left nobody knows what: whatever it was is rolled back at the end.
            let Ok(mut held) = shared.lock() else { return };
            let Some(writer) = held.as_mut() else { return };
            writer.serve_messages(&mut messages, &mut jobs);
        }
        if let Some(writer) = shared.lock().ok().as_mut().and_then(|held| held.as_mut()) {
            writer.fold_log_at_end();
        }
    }

    fn serve_messages(&mut self, messages: &mut VecDeque<Message>, jobs: &mut Vec<Job>) {
        let mut bytes = 0;
        while let Some(message) = messages.pop_front() {
            match message {
                Message::Job(job) => {
                    bytes += job.request.bytes();
                    jobs.push(*job);
                    if bytes > GROUP_BYTES {
                        self.serve(jobs);
                        self.checkpoint_when_due();
                        bytes = 0;
                    }
                }
                // It is looked for anyhow.
                Message::CheckpointDue => {}
                Message::Checkpoint(reply) => {
                    self.serve(jobs);
                    let _ = reply.send(self.checkpoint());
                }
                Message::Compact(reply) => {
                    self.serve(jobs);
                    let _ = reply.send(self.compact());
                }
                Message::AcceptLoss(reply) => {
                    self.serve(jobs);
                    let _ = reply.send(self.accept_loss());
                }
            }
        }
        self.serve(jobs);
        self.checkpoint_when_due();
    }

    /// Serves one request on its caller's thread when nobody else is at the ledger, in this process or another; none,
    /// and nothing done, otherwise. Those who wait for a commit are still to be woken.
    pub(super) fn serve_alone(
        shared: &Mutex<Option<Self>>,
        queue: &Queue<Message>,
        request: &Request,
    ) -> Option<Result<Outcome>> {
        if !queue.is_quiet() || !request.is_short() {
            return None;
        }
        let _panicking = Panicking { shared, queue };
        let mut held = shared.try_lock().ok()?;
        let writer = held.as_mut().filter(|writer| writer.lost.is_empty())?;
        if !writer.begin_at_once() {
            return None;
        }
        let result = match writer.transact_begun(&[request]) {
            Ok(mut results) => results.pop().unwrap_or_else(|| Err(outcome_unknown())),
            Err(undone) => Err(undone.explain(request)),
        };
        if writer.is_checkpoint_due() {
            // Callers do not wait for it, and a queue that is closed has no need of it.
            let _ = queue.push(Message::CheckpointDue);
        }
        Some(result)
    }

    /// Begins a transaction, unless another process has one.
    fn begin_at_once(&self) -> bool {
        let connection = &self.writing.connection;
        kill_point("ledger.before_begin");
        connection.patient.store(false, Ordering::Relaxed);
        let begun = execute(&connection.database, "BEGIN IMMEDIATE");
        connection.patient.store(true, Ordering::Relaxed);
        begun.is_ok()
    }

    /// Reads in a transaction of its own.
    pub(super) fn look<T>(
        &self,
        read: impl FnOnce(&Connection) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Failure> {
        in_transaction(&self.writing.connection.database, read)
    }

    fn fold_log_at_end(&mut self) {
        let log = open::log_path(&self.path);
        if self.lost.is_empty() && log.metadata().is_ok_and(|log| log.len() >= FOLDED_AT_END) {
            // Another process that uses it may be in the way, and does it at its own end.
            let _ = self.checkpoint();
        }
    }

    fn serve(&mut self, jobs: &mut Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        if !self.lost.is_empty() {
            for job in jobs.drain(..) {
                let _ = job.reply.send(Err(high_water::behind(&self.path, &self.lost)));
            }
            return;
        }
        let requests: Vec<&Request> = jobs.iter().map(|job| &job.request).collect();
        let results = match self.transact(&requests) {
            Ok(results) => results,
            // What breaks one must not break the others.
            Err(Undone::RolledBack(_)) if requests.len() > 1 => {
                requests.iter().map(|request| self.transact_alone(request)).collect()
            }
            Err(Undone::Unknown(error)) if requests.len() > 1 => {
                let message = error.to_string();
                requests.iter().map(|_| Err(outcome_unknown().because(message.clone()))).collect()
            }
            Err(undone) => requests.first().map(|request| Err(undone.explain(request))).into_iter().collect(),
        };
        self.waiters.wake();
        for (job, result) in jobs.drain(..).zip(results) {
            // Whoever asked may no longer wait for it.
            let _ = job.reply.send(result);
        }
    }

    fn transact_alone(&mut self, request: &Request) -> Result<Outcome> {
        match self.transact(&[request]) {
            Ok(mut results) => results.pop().unwrap_or_else(|| Err(outcome_unknown())),
            Err(undone) => Err(undone.explain(request)),
        }
    }

    /// One transaction for all requests. Those that are refused have written nothing; the others are durable when this
    /// returns.
    fn transact(&mut self, requests: &[&Request]) -> std::result::Result<Vec<Result<Outcome>>, Undone> {
        kill_point("ledger.before_begin");
        execute(&self.writing.connection.database, "BEGIN IMMEDIATE").map_err(Undone::RolledBack)?;
        self.transact_begun(requests)
    }

    /// The same in a transaction that has begun.
    fn transact_begun(&mut self, requests: &[&Request]) -> std::result::Result<Vec<Result<Outcome>>, Undone> {
        let database = &self.writing.connection.database;
        kill_point("ledger.after_begin");
        let (results, marks) = match apply_all(database, &mut self.memo, self.finisher.as_deref(), requests) {
            Ok(applied) => applied,
            Err(error) => {
                self.memo.clear();
                return Err(match roll_back(database) {
                    Ok(()) => Undone::RolledBack(error),
                    Err(error) => Undone::Unknown(error),
                });
            }
        };
        let Some(marks) = marks else {
            return match roll_back(database) {
                Ok(()) => Ok(results),
                Err(error) => Err(Undone::RolledBack(error)),
            };
        };
        kill_point("ledger.before_commit");
        if let Err(error) = execute(database, "COMMIT") {
            self.memo.clear();
            let open = leaves_outcome_open(&error);
            return Err(match roll_back(database) {
                Ok(()) if !open => Undone::RolledBack(error),
                _ => Undone::Unknown(error),
            });
        }
        kill_point("ledger.after_commit");
        if !marks.is_empty() {
            // The commit is durable whatever becomes of this: a record that is missing only says less.
            let _ = self.mark(&marks);
        }
        kill_point("ledger.after_high_water");
        Ok(results)
    }

    fn log_pages(&self) -> i64 {
        self.writing.connection.log_pages.load(Ordering::Relaxed)
    }

    fn is_checkpoint_due(&self) -> bool {
        self.log_pages() >= self.checkpoint_at
    }

    fn checkpoint_when_due(&mut self) {
        if !self.is_checkpoint_due() {
            return;
        }
        kill_point("ledger.before_checkpoint");
        // What does not work now works later: the log is as good as the database until then.
        let moved = checkpoint(&self.writing.connection.database, "PASSIVE");
        kill_point("ledger.in_checkpoint");
        if matches!(moved, Ok(true)) {
            self.checkpoint_at = CHECKPOINT_PAGES;
            let _ = self.fold();
        } else {
            self.checkpoint_at = self.log_pages().saturating_add(CHECKPOINT_PAGES / 4);
        }
        kill_point("ledger.after_checkpoint");
    }

    fn checkpoint(&mut self) -> Result<()> {
        if !self.lost.is_empty() {
            return Err(high_water::behind(&self.path, &self.lost));
        }
        // Whoever reads an older state keeps the log in use, and must not keep the commits of others waiting.
        let connection = &mut self.writing.connection;
        let moved = connection.wait_briefly().and_then(|()| checkpoint(&connection.database, "TRUNCATE"));
        let moved = connection.wait_long().and(moved);
        match moved {
            Ok(true) => self.fold(),
            Ok(false) => {
                Err(Error::unavailable("busy", "checkpoint: another process is using the ledger").hint("try again"))
            }
            Err(error) => Err(explain(error, "checkpoint")),
        }
    }

    fn compact(&mut self) -> Result<()> {
        if !self.lost.is_empty() {
            return Err(high_water::behind(&self.path, &self.lost));
        }
        // Whoever reads an older state is in the way of the last step: that is found out before all is written anew.
        self.checkpoint()?;
        let database = &self.writing.connection.database;
        // In a file without a name, since all of it may be more than there is memory.
        let written = database
            .execute_batch("PRAGMA temp_store = FILE; VACUUM;")
            .map_err(|error| explain(error, "write the database anew"));
        let restored = database.execute_batch("PRAGMA temp_store = MEMORY;");
        kill_point("ledger.compacted");
        written?;
        restored.map_err(|error| explain(error, "write the database anew"))?;
        self.checkpoint()
    }

    /// Notes in the high-water file what was acknowledged.
    fn mark(&mut self, marks: &[Mark]) -> Result<()> {
        for marks in marks.chunks(MARKS) {
            let records = high_water::encode(marks);
            if !self.writing.log.append(&records)? {
                self.fold()?;
                self.writing.log.append(&records)?;
            }
        }
        Ok(())
    }

    /// Goes on in the other half of the high-water file, with fewer records.
    fn fold(&mut self) -> Result<()> {
        let mut locked = self.writing.log.lock()?;
        let marks = high_water::decode(&locked.read()?);
        kill_point("ledger.in_fold");
        locked.turn(&high_water::encode(&high_water::fold(&marks)))
    }

    fn accept_loss(&mut self) -> Result<Vec<Lost>> {
        let database = &self.writing.connection.database;
        let doing = "accept the loss";
        execute(database, "BEGIN IMMEDIATE").map_err(|error| explain(error, doing))?;
        let accepted = (|| {
            let mut locked = self.writing.log.lock()?;
            let marks = high_water::decode(&locked.read()?);
            let failed = |error| explain(error, doing);
            let lost = high_water::compare(database, &marks).map_err(failed)?;
            let count = high_water::changes(database).map_err(failed)?;
            locked.replace(&high_water::encode(&[Mark::Changes { count }]))?;
            Ok(lost)
        })();
        let ended = roll_back(database).map_err(|error| explain(error, doing));
        let lost = accepted?;
        ended?;
        self.lost.clear();
        Ok(lost)
    }
}

/// Closes the queue and the database when it goes, and drops what waits: those who asked are told by that.
struct Closing<'writer> {
    shared: &'writer Mutex<Option<Writer>>,
    queue: &'writer Queue<Message>,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.queue.close();
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut left = VecDeque::new();
        while self.queue.take(usize::MAX, &mut left) {
            left.clear();
        }
    }
}

/// Closes the database when its caller panics with it, so that it does not stay locked: whatever it was is rolled back.
pub(super) struct Panicking<'writer> {
    pub(super) shared: &'writer Mutex<Option<Writer>>,
    pub(super) queue: &'writer Queue<Message>,
}

impl Drop for Panicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(Closing { shared: self.shared, queue: self.queue });
        }
    }
}

type Applied = (Vec<Result<Outcome>>, Option<Vec<Mark>>);

/// Applies requests in their order; the marks are none when nothing was written.
fn apply_all(
    database: &Connection,
    memo: &mut Memo,
    finisher: Option<&dyn Finisher>,
    requests: &[&Request],
) -> rusqlite::Result<Applied> {
    let mut work = Work::new(database, memo, finisher);
    let mut results = Vec::with_capacity(requests.len());
    for request in requests {
        match apply(&mut work, request) {
            Ok(outcome) => results.push(Ok(outcome)),
            Err(Failure::Refused(error)) => results.push(Err(error)),
            Err(Failure::Broken(error)) => return Err(error),
        }
        kill_point("ledger.after_insert");
    }
    if !work.has_written() {
        return Ok((results, None));
    }
    Ok((results, Some(work.finish()?)))
}

fn apply(work: &mut Work<'_>, request: &Request) -> std::result::Result<Outcome, Failure> {
    match request {
        Request::Commit(commit) => return work.commit(commit).map(Outcome::Committed),
        Request::Lease(request) => return work.lease(request).map(Outcome::Leased),
        Request::ReplaceViews(generations) => work.replace_views(generations)?,
        Request::Delete(journal, keep_to) => work.delete(*journal, *keep_to)?,
        Request::DestroyKeys(keys) => work.destroy_keys(keys)?,
        Request::Erase(erasure) => return work.erase(erasure).map(Outcome::Erased),
        Request::Pin(pin) => work.pin(pin)?,
        Request::Unpin(pin) => work.drop_pin(*pin)?,
        Request::Collect(collection) => work.collect(collection)?,
    }
    Ok(Outcome::Done)
}

fn execute(database: &Connection, sql: &str) -> rusqlite::Result<()> {
    database.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Ends a transaction that SQLite has not ended by itself.
fn roll_back(database: &Connection) -> rusqlite::Result<()> {
    if database.is_autocommit() { Ok(()) } else { execute(database, "ROLLBACK") }
}

/// Moves the log into the database; whether all of it was.
fn checkpoint(database: &Connection, mode: &str) -> rusqlite::Result<bool> {
    database.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        let (busy, pages, moved): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(busy == 0 && pages == moved)
    })
}

#[cfg(test)]
mod tests {
    use super::super::SqliteLedger;
    use super::*;
    use crate::Ledger;
    use crate::testing::block_on;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_caller_that_panics_in_a_commit_leaves_the_database_free_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = SqliteLedger::open(OpenOptions::new(&path).create()).unwrap();
        let other = SqliteLedger::open(OpenOptions::new(&path)).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let (shared, queue) = (&ledger.shared.writer, ledger.shared.queue.as_ref().unwrap());
            let _panicking = Panicking { shared, queue };
            let held = ledger.shared.writer.lock().unwrap();
            assert!(held.as_ref().unwrap().begin_at_once());
            assert!(!other.shared.writer.lock().unwrap().as_ref().unwrap().begin_at_once());
            panic!("in a commit");
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"in a commit"));
        block_on(other.destroy_keys(vec![KeyId([1; 8])])).unwrap();
        assert_eq!(block_on(ledger.commit(Commit::default())).unwrap_err().code(), "closed");
    }
}
