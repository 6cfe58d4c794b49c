//! Waiting, as a value that is passed in: no crate below the surfaces knows a runtime.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A future that completes when its time has come.
pub type Sleeping = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits without a thread of the caller's.
pub trait Sleep: Send + Sync + 'static {
    /// Completes after about so many nanoseconds, never before.
    fn sleep(&self, nanoseconds: u64) -> Sleeping;
}

/// Sleeps by the operating system's monotonic clock, on one timer thread for the whole process.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemSleep;

impl Sleep for SystemSleep {
    fn sleep(&self, nanoseconds: u64) -> Sleeping {
        let deadline = now().checked_add(Duration::from_nanos(nanoseconds));
        Box::pin(Timer { deadline, waker: None })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the wait that the others take")]
fn now() -> Instant {
    Instant::now()
}

/// One sleep. Without a deadline (beyond what the clock can name) it never completes.
struct Timer {
    deadline: Option<Instant>,
    waker: Option<Arc<Mutex<Waker>>>,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        if now() >= deadline {
            return Poll::Ready(());
        }
        if let Some(waker) = &self.waker {
            waker.lock().unwrap_or_else(PoisonError::into_inner).clone_from(context.waker());
        } else {
            let waker = Arc::new(Mutex::new(context.waker().clone()));
            self.waker = Some(Arc::clone(&waker));
            timers().add(deadline, waker);
        }
        Poll::Pending
    }
}

/// What the timer thread waits for.
struct Timers {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: BinaryHeap<Reverse<(Instant, u64, WakerCell)>>,
}

/// A waker that takes no part in the order of the queue.
struct WakerCell(Arc<Mutex<Waker>>);

impl PartialEq for WakerCell {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for WakerCell {}
impl PartialOrd for WakerCell {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for WakerCell {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

fn timers() -> &'static Timers {
    static TIMERS: OnceLock<Timers> = OnceLock::new();
    static THREAD: OnceLock<()> = OnceLock::new();
    let timers = TIMERS.get_or_init(|| Timers { queue: Mutex::default(), changed: Condvar::new() });
    THREAD.get_or_init(|| {
        // A thread that cannot be started is tried again by nobody: the process has no threads left for anything.
        drop(std::thread::Builder::new().name("samite-timer".into()).spawn(move || timers.run()));
    });
    timers
}

impl Timers {
    fn add(&self, deadline: Instant, waker: Arc<Mutex<Waker>>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.next += 1;
        let number = queue.next;
        queue.waiting.push(Reverse((deadline, number, WakerCell(waker))));
        drop(queue);
        self.changed.notify_one();
    }

    fn run(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(Reverse((deadline, ..))) = queue.waiting.peek() else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                if let Some(Reverse((_, _, WakerCell(waker)))) = queue.waiting.pop() {
                    let waker = waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    // Waking may run code that sleeps again, which needs the queue.
                    drop(queue);
                    waker.wake();
                    queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                }
            } else {
                queue = self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Wake;

    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    #[test]
    fn sleeps_complete_and_not_before_their_time() {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let started = now();
        let (mut short, mut long) = (SystemSleep.sleep(1_000_000), SystemSleep.sleep(3_000_000));
        for sleep in [&mut long, &mut short] {
            while sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                std::thread::park();
            }
        }
        assert!(now() - started >= Duration::from_millis(3));
    }
}
