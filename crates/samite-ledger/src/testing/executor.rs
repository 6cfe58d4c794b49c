//! An executor on one thread whose order comes from a seed.

use super::{Seeded, SimulatedTime};
use samite_host::Clock;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Tasks that die together, as those of a process do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(u64);

/// Why a run ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// So many tasks wait, and nothing will wake them.
    Stuck(usize),
    /// The steps that were granted are used up.
    Steps,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stuck(tasks) => write!(f, "{tasks} tasks wait for what will not come"),
            Self::Steps => f.write_str("the steps that were granted are used up"),
        }
    }
}

type LocalFuture = Pin<Box<dyn Future<Output = ()>>>;

struct Task {
    process: Process,
    future: LocalFuture,
    waker: Waker,
}

/// Runs tasks one at a time. Which of those that are ready comes next is chosen from the seed; time stands still but
/// for some nanoseconds a step, and jumps to the next sleeper when no task is ready.
pub struct Executor {
    random: Seeded,
    time: SimulatedTime,
    ready: Arc<Mutex<Vec<u64>>>,
    tasks: BTreeMap<u64, Task>,
    spawner: Spawner,
    next: u64,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

/// Starts and kills processes, from inside tasks as well.
#[derive(Clone, Default)]
pub struct Spawner(Rc<RefCell<Orders>>);

impl std::fmt::Debug for Spawner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Spawner")
    }
}

#[derive(Default)]
struct Orders {
    next_process: u64,
    spawned: Vec<(Process, LocalFuture)>,
    killed: BTreeSet<Process>,
}

impl Spawner {
    /// A process without tasks yet.
    pub fn process(&self) -> Process {
        let mut orders = self.0.borrow_mut();
        orders.next_process += 1;
        Process(orders.next_process)
    }

    /// Adds a task to a process; one for a killed process never runs.
    pub fn spawn(&self, process: Process, future: impl Future<Output = ()> + 'static) {
        self.0.borrow_mut().spawned.push((process, Box::pin(future)));
    }

    /// Ends all tasks of a process where they stand: none of them runs on after its current step.
    pub fn kill(&self, process: Process) {
        self.0.borrow_mut().killed.insert(process);
    }

    /// Whether the process was not killed.
    pub fn is_alive(&self, process: Process) -> bool {
        !self.0.borrow().killed.contains(&process)
    }
}

struct ReadyWaker {
    task: u64,
    ready: Arc<Mutex<Vec<u64>>>,
}

impl Wake for ReadyWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if !ready.contains(&self.task) {
            ready.push(self.task);
        }
    }
}

impl Executor {
    /// An executor of a seed, with a clock of its own.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Seeded::new(seed),
            time: SimulatedTime::default(),
            ready: Arc::default(),
            tasks: BTreeMap::new(),
            spawner: Spawner::default(),
            next: 0,
        }
    }

    /// The clock that tasks must tell the time by and sleep by.
    pub fn time(&self) -> SimulatedTime {
        self.time.clone()
    }

    /// The means of starting and killing.
    pub fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// Runs until this future is done, and returns what it returned. Other tasks stay where they are.
    ///
    /// # Errors
    /// [`Stopped`] when it is stuck, or not done after so many steps.
    pub fn block_on<T: 'static>(
        &mut self,
        future: impl Future<Output = T> + 'static,
        steps: u64,
    ) -> Result<T, Stopped> {
        let result = Rc::new(RefCell::new(None));
        let process = self.spawner.process();
        let place = Rc::clone(&result);
        self.spawner.spawn(process, async move {
            let value = future.await;
            *place.borrow_mut() = Some(value);
        });
        for _ in 0..steps {
            let ran = self.step();
            if let Some(value) = result.borrow_mut().take() {
                return Ok(value);
            }
            if !ran {
                return Err(Stopped::Stuck(self.tasks.len()));
            }
        }
        Err(Stopped::Steps)
    }

    /// Runs until no task is left.
    ///
    /// # Errors
    /// [`Stopped`] when those that are left are stuck, or not done after so many steps.
    pub fn run(&mut self, steps: u64) -> Result<(), Stopped> {
        for _ in 0..steps {
            if !self.step() {
                return if self.tasks.is_empty() { Ok(()) } else { Err(Stopped::Stuck(self.tasks.len())) };
            }
        }
        Err(Stopped::Steps)
    }

    /// The current time, in nanoseconds since 1970.
    pub fn now(&self) -> i64 {
        self.time.now()
    }

    /// Takes one step; false when nothing can happen any more.
    fn step(&mut self) -> bool {
        self.carry_out();
        if let Some(id) = self.choose() {
            self.time.advance(self.random.below(1_000));
            if let Some(task) = self.tasks.get_mut(&id)
                && let Poll::Ready(()) = task.future.as_mut().poll(&mut Context::from_waker(&task.waker))
            {
                drop(self.tasks.remove(&id));
            }
            return true;
        }
        self.time.advance_to_next()
    }

    /// Starts and ends what was asked for.
    fn carry_out(&mut self) {
        loop {
            let (spawned, killed) = {
                let mut orders = self.spawner.0.borrow_mut();
                (std::mem::take(&mut orders.spawned), orders.killed.clone())
            };
            // Dropping a future may run code that spawns or kills, which is why this is a loop.
            self.tasks.retain(|_, task| !killed.contains(&task.process));
            if spawned.is_empty() && killed.len() == self.spawner.0.borrow().killed.len() {
                return;
            }
            for (process, future) in spawned.into_iter().filter(|(process, _)| !killed.contains(process)) {
                self.next += 1;
                let waker = Waker::from(Arc::new(ReadyWaker { task: self.next, ready: Arc::clone(&self.ready) }));
                waker.wake_by_ref();
                self.tasks.insert(self.next, Task { process, future, waker });
            }
        }
    }

    /// One of the tasks that are ready.
    fn choose(&self) -> Option<u64> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        while !ready.is_empty() {
            let count = u64::try_from(ready.len()).unwrap_or(1);
            let index = usize::try_from(self.random.below(count)).unwrap_or(0);
            let id = ready.swap_remove(index);
            if self.tasks.contains_key(&id) {
                return Some(id);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_host::Sleep;

    /// Three tasks that sleep and write down what they do.
    fn trace(seed: u64) -> Vec<(u8, i64)> {
        let mut executor = Executor::new(seed);
        let (time, spawner) = (executor.time(), executor.spawner());
        let written = Rc::new(RefCell::new(Vec::new()));
        let start = executor.now();
        for name in 0..3 {
            let (time, written) = (time.clone(), Rc::clone(&written));
            spawner.spawn(spawner.process(), async move {
                for _ in 0..3 {
                    time.sleep(1_000_000).await;
                    written.borrow_mut().push((name, (time.now() - start) / 1_000_000));
                }
            });
        }
        executor.run(1_000).unwrap();
        Rc::try_unwrap(written).unwrap().into_inner()
    }

    #[test]
    fn a_seed_fixes_the_order() {
        assert_eq!(trace(1), trace(1));
        assert!((2..20).any(|seed| trace(seed) != trace(1)));
        let mut times: Vec<i64> = trace(1).into_iter().map(|(_, time)| time).collect();
        assert!(times.is_sorted());
        times.dedup();
        assert_eq!(times, [1, 2, 3]);
    }

    #[test]
    fn a_killed_process_does_nothing_more() {
        let mut executor = Executor::new(3);
        let (time, spawner) = (executor.time(), executor.spawner());
        let reached = Rc::new(RefCell::new(0));
        let victim = spawner.process();
        for _ in 0..2 {
            let (time, reached) = (time.clone(), Rc::clone(&reached));
            spawner.spawn(victim, async move {
                time.sleep(10).await;
                *reached.borrow_mut() += 1;
                time.sleep(1_000_000_000).await;
                *reached.borrow_mut() += 100;
            });
        }
        let killer = spawner.clone();
        spawner.spawn(spawner.process(), async move {
            time.sleep(1_000_000).await;
            killer.kill(victim);
            let reached = Rc::new(());
            killer.spawn(victim, async move { drop(reached) });
        });
        executor.run(1_000).unwrap();
        assert_eq!((*reached.borrow(), spawner.is_alive(victim)), (2, false));
    }

    #[test]
    fn what_waits_for_ever_is_told() {
        let mut executor = Executor::new(3);
        let waiting = executor.block_on(std::future::pending::<()>(), 100);
        assert_eq!(waiting, Err(Stopped::Stuck(1)));
        let mut executor = Executor::new(3);
        let time = executor.time();
        let endless = async move {
            loop {
                time.sleep(1).await;
            }
        };
        assert_eq!(executor.run(5), Ok(()));
        assert_eq!(executor.block_on::<()>(endless, 100), Err(Stopped::Steps));
        assert_eq!(executor.block_on(async { 7 }, 100), Ok(7));
    }
}
