//! What waits for the writer.
//!
//! A channel would do, but the writer is the limit: it takes all that waits at once, and looks a moment longer before
//! it sleeps, since the next commit of a chain comes right after the answer to the last.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How often the writer looks again before it sleeps, letting others run between.
const LOOKS: u32 = 40;

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    closed: bool,
    sleeping: bool,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), closed: false, sleeping: false };
        Self { state: Mutex::new(state), arrived: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one, unless the queue is closed. Every caller waits for its answer, so callers bound the queue.
    pub(super) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.state();
        if state.closed {
            return Err(item);
        }
        state.waiting.push_back(item);
        let wake = std::mem::take(&mut state.sleeping);
        drop(state);
        if wake {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Takes what waits, at most so many, after what is there already; sleeps while nothing waits. False when the
    /// queue is closed and empty.
    pub(super) fn take(&self, most: usize, into: &mut VecDeque<T>) -> bool {
        for _ in 0..LOOKS {
            if self.take_now(most, into) {
                return true;
            }
            std::thread::yield_now();
        }
        let mut state = self.state();
        while state.waiting.is_empty() {
            if state.closed {
                return false;
            }
            state.sleeping = true;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        move_some(&mut state, most, into);
        true
    }

    fn take_now(&self, most: usize, into: &mut VecDeque<T>) -> bool {
        let mut state = self.state();
        if state.waiting.is_empty() {
            return false;
        }
        move_some(&mut state, most, into);
        true
    }

    /// Takes no more; what waits is still served.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_all();
    }
}

fn move_some<T>(state: &mut State<T>, most: usize, into: &mut VecDeque<T>) {
    let some = state.waiting.len().min(most);
    into.extend(state.waiting.drain(..some));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_waits_is_taken_in_order_and_in_parts() {
        let queue = Queue::new();
        (0..5).for_each(|number| queue.push(number).unwrap());
        let mut taken = VecDeque::new();
        assert!(queue.take(3, &mut taken));
        assert_eq!(taken, [0, 1, 2]);
        queue.close();
        assert_eq!(queue.push(9), Err(9));
        assert!(queue.take(3, &mut taken));
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        assert!(!queue.take(3, &mut taken));
    }

    #[test]
    fn a_sleeper_is_woken_by_a_push_and_by_the_end() {
        let queue = Arc::new(Queue::new());
        let taker = Arc::clone(&queue);
        let thread = std::thread::spawn(move || {
            let (mut all, mut some) = (Vec::new(), VecDeque::new());
            while taker.take(2, &mut some) {
                all.extend(some.drain(..));
            }
            all
        });
        for number in 0..2_000 {
            queue.push(number).unwrap();
        }
        queue.close();
        assert_eq!(thread.join().unwrap(), (0..2_000).collect::<Vec<_>>());
    }
}
