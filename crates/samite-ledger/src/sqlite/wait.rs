//! Waiting for a head to move: woken by this process's writer, and looking now and then for other processes' commits.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

/// How often to look for what other processes committed, in nanoseconds.
pub(super) const LOOK: u64 = 20_000_000;

/// Who waits, and how many groups were committed.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    groups: u64,
    wakers: Vec<Waker>,
}

impl Waiting {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many groups were committed; to be read before looking at what they may change.
    pub(super) fn groups(&self) -> u64 {
        self.state().groups
    }

    /// Says that a group was committed.
    pub(super) fn wake(&self) {
        let wakers = {
            let mut state = self.state();
            state.groups = state.groups.wrapping_add(1);
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Completes when a group was committed after `seen`.
    pub(super) async fn changed(&self, seen: u64) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.groups != seen {
                return Poll::Ready(());
            }
            if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                state.wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OpenOptions, SqliteLedger};
    use crate::testing::block_on;
    use crate::{Commit, Ledger};
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

    /// Counts how often it is woken while the ledger can be written.
    struct Woken {
        ledger: SqliteLedger,
        free: AtomicUsize,
    }

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            let free = self.ledger.shared.writer.try_lock().is_ok();
            self.free.fetch_add(usize::from(free), Ordering::SeqCst);
        }
    }

    #[test]
    fn who_waits_is_woken_by_a_caller_that_is_done_with_the_ledger() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = SqliteLedger::open(OpenOptions::new(folder.path().join("ledger.db")).create()).unwrap();
        let woken = Arc::new(Woken { ledger: ledger.clone(), free: AtomicUsize::new(0) });
        let waiters = &ledger.shared.waiters;
        let mut changed = pin!(waiters.changed(waiters.groups()));
        let waker = Waker::from(Arc::clone(&woken));
        assert!(changed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        block_on(ledger.commit(Commit::default())).unwrap();
        assert_eq!(woken.free.load(Ordering::SeqCst), 1);
        assert!(changed.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
