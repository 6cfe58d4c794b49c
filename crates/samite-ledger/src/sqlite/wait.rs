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
