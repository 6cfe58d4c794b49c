//! Runs futures at once on a few threads, each polled only when it was woken.

use samite_model::{Error, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

type Task<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

struct Signal {
    task: usize,
    queued: AtomicBool,
    ready: mpsc::Sender<usize>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            // Nobody waits for it any more when the other end is gone.
            let _ = self.ready.send(self.task);
        }
    }
}

/// Runs all to their end; the first error is the answer.
pub(crate) fn run(threads: usize, tasks: Vec<Task<'_>>) -> Result<()> {
    let mut shares: Vec<Vec<Task<'_>>> = (0..threads).map(|_| Vec::new()).collect();
    for (place, task) in tasks.into_iter().enumerate() {
        if let Some(share) = shares.get_mut(place % threads) {
            share.push(task);
        }
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || run_here(share))).collect();
        running.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::internal("panicked", "a thread of the bench panicked")))
        })
    })
}

fn run_here(tasks: Vec<Task<'_>>) -> Result<()> {
    let (ready, woken) = mpsc::channel();
    let mut left = tasks.len();
    let mut tasks: Vec<(Task<'_>, Arc<Signal>)> = tasks
        .into_iter()
        .enumerate()
        .map(|(task, future)| (future, Arc::new(Signal { task, queued: AtomicBool::new(false), ready: ready.clone() })))
        .collect();
    for (_, signal) in &tasks {
        Arc::clone(signal).wake();
    }
    while left > 0 {
        let Ok(next) = woken.recv() else { break };
        let Some((task, signal)) = tasks.get_mut(next) else { continue };
        signal.queued.store(false, Ordering::Release);
        let waker = Waker::from(Arc::clone(signal));
        if let Poll::Ready(result) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
            result?;
            left -= 1;
        }
    }
    Ok(())
}
