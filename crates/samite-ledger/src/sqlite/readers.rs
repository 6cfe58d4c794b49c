//! A few threads that read, each with a connection of its own. They are started when there is something to read. What
//! is short may be read on its caller's thread.

use super::connection;
use super::failure::{Failure, closed};
use super::open::Threads;
use futures_channel::oneshot;
use rusqlite::Connection;
use samite_model::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// More than two cores gain nothing here, and one long read must not stop all others.
const THREADS: usize = 3;

type Job = Box<dyn FnOnce(std::result::Result<&Connection, rusqlite::Error>) + Send>;

pub(super) struct Readers {
    path: PathBuf,
    immutable: bool,
    sender: async_channel::Sender<Job>,
    receiver: async_channel::Receiver<Job>,
    idle: Arc<AtomicUsize>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// What a caller reads with on its own thread; opened at the first use.
    own: Mutex<Option<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, immutable: bool) -> Self {
        let (sender, receiver) = async_channel::unbounded();
        let (idle, threads, own) = (Arc::default(), Mutex::default(), Mutex::default());
        Self { path, immutable, sender, receiver, idle, threads, own }
    }

    /// Reads in one transaction, so that all queries see the same commits.
    pub(super) async fn read<T, F>(&self, doing: impl Into<String>, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> std::result::Result<T, Failure> + Send + 'static,
    {
        let doing = doing.into();
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |database| {
            let result = database.map_err(Failure::from).and_then(|database| in_transaction(database, read));
            // Whoever asked may no longer wait for it.
            let _ = reply.send(result.map_err(|failure| failure.into_error(&doing)));
        });
        self.sender.try_send(job).map_err(|_| closed())?;
        self.start()?;
        answer.await.map_err(|_| closed())?
    }

    /// As [`Readers::read`], on this very thread when no other caller reads on its own; for what takes no longer than a
    /// change of threads.
    pub(super) async fn look<T, F>(&self, threads: Threads, doing: impl Into<String>, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> std::result::Result<T, Failure> + Send + 'static,
    {
        let doing = doing.into();
        if threads == Threads::Caller
            && let Some(mut own) = self.try_own()
            && !self.sender.is_closed()
        {
            return self.read_own(&mut own, read).map_err(|failure| failure.into_error(&doing));
        }
        self.read(doing, read).await
    }

    /// Whether there is a connection already for callers' threads, or a caller reads with it.
    pub(super) fn has_own(&self) -> bool {
        self.try_own().is_none_or(|own| own.is_some())
    }

    fn read_own<T>(
        &self,
        own: &mut Option<Connection>,
        read: impl FnOnce(&Connection) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Failure> {
        // Out of its place meanwhile: the transaction of a read that panics goes with the connection.
        let database = own.take().map_or_else(|| connection::open_reader(&self.path, self.immutable), Ok)?;
        let result = in_transaction(&database, read);
        *own = Some(database);
        result
    }

    /// The place of the connection for callers' threads, unless another caller has it.
    fn try_own(&self) -> Option<MutexGuard<'_, Option<Connection>>> {
        match self.own.try_lock() {
            Ok(own) => Some(own),
            // A read that panicked has left no connection in it.
            Err(TryLockError::Poisoned(own)) => Some(own.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Starts a thread when none is free.
    fn start(&self) -> Result<()> {
        if self.idle.load(Ordering::Relaxed) > 0 {
            return Ok(());
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.len() >= THREADS {
            return Ok(());
        }
        let (path, immutable) = (self.path.clone(), self.immutable);
        let (receiver, idle) = (self.receiver.clone(), Arc::clone(&self.idle));
        let started = std::thread::Builder::new()
            .name("ledger-reader".into())
            .spawn(move || serve(&receiver, &idle, || connection::open_reader(&path, immutable)));
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) if threads.is_empty() => {
                return Err(Error::unavailable("no_thread", "no thread can be started to read").because(error));
            }
            // Those that run will come to it.
            Err(_) => {}
        }
        Ok(())
    }

    /// Ends the threads after the reads that are under way.
    pub(super) fn close(&self) {
        self.sender.close();
        self.own.lock().unwrap_or_else(PoisonError::into_inner).take();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // It ends by itself: no read makes it panic.
            let _ = thread.join();
        }
    }
}

fn serve(jobs: &async_channel::Receiver<Job>, idle: &AtomicUsize, open: impl Fn() -> rusqlite::Result<Connection>) {
    let mut database = None;
    loop {
        idle.fetch_add(1, Ordering::Relaxed);
        let job = jobs.recv_blocking();
        idle.fetch_sub(1, Ordering::Relaxed);
        let Ok(job) = job else { return };
        match database.take().map_or_else(&open, Ok) {
            Ok(opened) => {
                // One that panics has told its caller, by dropping the reply; its transaction goes with the connection.
                if catch_unwind(AssertUnwindSafe(|| job(Ok(&opened)))).is_ok() {
                    database = Some(opened);
                }
            }
            Err(error) => job(Err(error)),
        }
    }
}

pub(super) fn in_transaction<T>(
    database: &Connection,
    read: impl FnOnce(&Connection) -> std::result::Result<T, Failure>,
) -> std::result::Result<T, Failure> {
    database.prepare_cached("BEGIN")?.execute([])?;
    let result = read(database);
    let ended = database.prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
    if ended.is_err() && !database.is_autocommit() {
        database.execute_batch("ROLLBACK")?;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::block_on;
    use std::thread::{self, ThreadId};

    fn count(database: &Connection) -> std::result::Result<i64, Failure> {
        Ok(database.query_row("SELECT count(*) FROM some", [], |row| row.get(0))?)
    }

    /// Reads something and panics then.
    fn fail(database: &Connection) -> std::result::Result<i64, Failure> {
        panic!("{:?}", count(database));
    }

    /// A database, what reads it, and a connection that writes it.
    fn readers(folder: &tempfile::TempDir) -> (Readers, Connection) {
        let path = folder.path().join("some.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE some(number);").unwrap();
        (Readers::new(path, false), writer)
    }

    /// Whether nobody reads an older state.
    fn is_free(writer: &Connection) -> bool {
        writer.execute_batch("INSERT INTO some VALUES(1)").unwrap();
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map(|busy: i64| busy == 0).unwrap()
    }

    #[test]
    fn a_look_that_panics_leaves_no_transaction_open() {
        let folder = tempfile::tempdir().unwrap();
        let (readers, writer) = readers(&folder);
        for _ in 0..2 {
            let failed = catch_unwind(AssertUnwindSafe(|| block_on(readers.look(Threads::Caller, "count", fail))));
            assert!(failed.is_err());
            assert!(is_free(&writer));
        }
        let here = |_: &Connection| Ok::<ThreadId, Failure>(thread::current().id());
        assert_eq!(block_on(readers.look(Threads::Caller, "look", here)).unwrap(), thread::current().id());
        assert_eq!(block_on(readers.look(Threads::Caller, "count", count)).unwrap(), 2);
    }

    #[test]
    fn reads_that_panic_keep_no_other_from_being_served() {
        let folder = tempfile::tempdir().unwrap();
        let (readers, writer) = readers(&folder);
        for _ in 0..=THREADS {
            assert_eq!(block_on(readers.read("count", fail)).unwrap_err().code(), "closed");
        }
        assert_eq!(block_on(readers.read("count", count)).unwrap(), 0);
        assert!(is_free(&writer));
    }
}
