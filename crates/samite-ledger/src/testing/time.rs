//! Time that passes only when nothing else can happen.

use samite_host::{Clock, Sleep, Sleeping};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A virtual clock: tells and waits for a time that an [`Executor`](super::Executor) moves. A clone is the same clock.
#[derive(Clone, Debug, Default)]
pub struct SimulatedTime(Arc<Mutex<Time>>);

#[derive(Debug)]
struct Time {
    now: i64,
    next: u64,
    sleeping: BTreeMap<(i64, u64), Waker>,
}

impl Default for Time {
    fn default() -> Self {
        // Some day in 2033, so that a time that was left at 0 is seen.
        Self { now: 2_000_000_000_000_000_000, next: 0, sleeping: BTreeMap::new() }
    }
}

impl SimulatedTime {
    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass, and wakes whose time has come.
    pub fn advance(&self, nanoseconds: u64) {
        let mut time = self.time();
        time.now = time.now.saturating_add_unsigned(nanoseconds);
        let now = time.now;
        let later = time.sleeping.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut time.sleeping, later);
        drop(time);
        due.into_values().for_each(Waker::wake);
    }

    /// Lets time pass up to the next sleeper, if there is one.
    pub(super) fn advance_to_next(&self) -> bool {
        let left = {
            let time = self.time();
            time.sleeping.keys().next().map(|(due, _)| due.saturating_sub(time.now))
        };
        match left {
            Some(left) => {
                self.advance(u64::try_from(left).unwrap_or(0));
                true
            }
            None => false,
        }
    }
}

impl Clock for SimulatedTime {
    fn now(&self) -> i64 {
        self.time().now
    }
}

impl Sleep for SimulatedTime {
    fn sleep(&self, nanoseconds: u64) -> Sleeping {
        let due = self.now().saturating_add_unsigned(nanoseconds);
        Box::pin(Sleeper { time: self.clone(), due, key: None })
    }
}

struct Sleeper {
    time: SimulatedTime,
    due: i64,
    key: Option<(i64, u64)>,
}

impl Future for Sleeper {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let due = self.due;
        let key = {
            let mut time = self.time.time();
            if time.now >= due {
                return Poll::Ready(());
            }
            let key = self.key.unwrap_or_else(|| {
                time.next += 1;
                (due, time.next)
            });
            time.sleeping.insert(key, context.waker().clone());
            key
        };
        self.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            // The waker is dropped after the lock, since it may be the last to hold something that sleeps.
            let waker = self.time.time().sleeping.remove(&key);
            drop(waker);
        }
    }
}
