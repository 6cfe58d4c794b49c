//! What waits for the writer.
//!
//! A channel would do, but the writer is the limit: it takes all that waits at once, and looks a moment longer before
//! it sleeps, since the next commit of a chain comes right after the answer to the last. While many callers are at it,
//! it lets some of them arrive before it begins, since each transaction costs a sync however much is in it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the writer looks again before it sleeps: for some tens of microseconds, as a caller needs to seal its next
/// entries. To be woken takes longer than that, above all in a virtual machine whose idle cores halt.
const LOOKS: u32 = 1_500;
/// How long it lets others arrive, at most: about as long as a fast disk needs for a sync.
const GATHER: Duration = Duration::from_micros(300);

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
    /// How many wait, for looks without the lock.
    length: AtomicUsize,
    /// Whether several came at once lately.
    crowded: AtomicBool,
    /// Whether what was taken is being served.
    serving: AtomicBool,
    looks: u32,
}

struct State<T> {
    waiting: VecDeque<T>,
    closed: bool,
    /// With how many in the queue the sleeping writer wants to be woken; 0 while it is awake.
    wake_at: usize,
    /// How many were taken the last time, and the time before.
    taken: (usize, usize),
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), closed: false, wake_at: 0, taken: (0, 0) };
        // With one core, looking would keep the callers from what is looked for.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let looks = if cores > 1 { LOOKS } else { 0 };
        Self {
            state: Mutex::new(state),
            arrived: Condvar::new(),
            length: AtomicUsize::new(0),
            crowded: AtomicBool::new(false),
            serving: AtomicBool::new(false),
            looks,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing waits or is being served, and callers have come one at a time lately: one more gains nothing by
    /// waiting for others, and passes nobody.
    pub(super) fn is_quiet(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
            && !self.serving.load(Ordering::Acquire)
            && !self.crowded.load(Ordering::Relaxed)
    }

    /// Adds one, unless the queue is closed. Every caller waits for its answer, so callers bound the queue.
    pub(super) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.state();
        if state.closed {
            return Err(item);
        }
        state.waiting.push_back(item);
        self.length.store(state.waiting.len(), Ordering::Release);
        let wake = (1..=state.waiting.len()).contains(&state.wake_at);
        if wake {
            state.wake_at = 0;
        }
        drop(state);
        if wake {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Takes what waits, at most so many, after what is there already; sleeps while nothing waits. False when the
    /// queue is closed and empty. What was taken before has been served.
    pub(super) fn take(&self, most: usize, into: &mut VecDeque<T>) -> bool {
        self.serving.store(false, Ordering::Release);
        for _ in 0..self.looks {
            if self.length.load(Ordering::Acquire) > 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = self.state();
        while state.waiting.is_empty() {
            if state.closed {
                return false;
            }
            state.wake_at = 1;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Half of those who came last time: the others come while these are written.
        let expected = state.taken.0.max(state.taken.1) / 2;
        if state.waiting.len() < expected && !state.closed {
            state.wake_at = expected;
            state = self.arrived.wait_timeout(state, GATHER).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.wake_at = 0;
        let some = state.waiting.len().min(most);
        state.taken = (some, state.taken.0);
        self.crowded.store(state.taken.0.max(state.taken.1) > 1, Ordering::Relaxed);
        into.extend(state.waiting.drain(..some));
        self.serving.store(true, Ordering::Release);
        self.length.store(state.waiting.len(), Ordering::Release);
        true
    }

    /// Takes no more; what waits is still served.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }
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
    fn who_came_last_time_is_waited_for_but_not_long() {
        let queue = Queue::new();
        let mut taken = VecDeque::new();
        (0..8).for_each(|number| queue.push(number).unwrap());
        assert!(queue.take(8, &mut taken));
        queue.push(8).unwrap();
        assert!(queue.take(8, &mut taken));
        assert_eq!(taken.len(), 9);
        let state = queue.state();
        assert_eq!((state.taken, state.wake_at), ((1, 8), 0));
    }

    #[test]
    fn it_is_quiet_when_callers_came_one_at_a_time() {
        let queue = Queue::new();
        let mut taken = VecDeque::new();
        assert!(queue.is_quiet());
        (0..2).for_each(|number| queue.push(number).unwrap());
        assert!(!queue.is_quiet());
        assert!(queue.take(8, &mut taken));
        assert!(!queue.is_quiet());
        for number in 2..4 {
            queue.push(number).unwrap();
            assert!(queue.take(8, &mut taken));
            assert!(!queue.is_quiet(), "what was taken is not served yet");
        }
        queue.push(4).unwrap();
        assert!(!queue.is_quiet());
        queue.close();
        assert!(queue.take(8, &mut taken));
        assert!(!queue.take(8, &mut taken));
        assert!(queue.is_quiet());
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
