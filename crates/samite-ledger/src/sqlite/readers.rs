//! A few threads that read, each with a connection of its own. They are started when there is something to read. What
//! is short may be read on its caller's thread.

use super::connection;
use super::failure::{Failure, closed};
use super::open::Threads;
use futures_channel::oneshot;
use rusqlite::Connection;
use samite_model::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
        if threads == Threads::Caller
            && let Ok(mut own) = self.own.try_lock()
            && !self.sender.is_closed()
        {
            let explain = |failure: Failure, doing: String| failure.into_error(&doing);
            if own.is_none() {
                match connection::open_reader(&self.path, self.immutable) {
                    Ok(opened) => *own = Some(opened),
                    Err(error) => return Err(explain(error.into(), doing.into())),
                }
            }
            if let Some(database) = own.as_ref() {
                return in_transaction(database, read).map_err(|failure| explain(failure, doing.into()));
            }
            return Err(closed());
        }
        self.read(doing, read).await
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
            // A read that panicked has told its caller already, by dropping the reply.
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
        if database.is_none() {
            match open() {
                Ok(opened) => database = Some(opened),
                Err(error) => {
                    job(Err(error));
                    continue;
                }
            }
        }
        if let Some(database) = &database {
            job(Ok(database));
        }
    }
}

fn in_transaction<T>(
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
