//! Stopping a running command because a person, or the machine, interrupts it.

use crate::step::Outcome;
use samite_host::supervise::Stopper;
use samite_model::Result;
use samite_model::step::Effect;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Stops a running command. What that makes of its step depends on its effect: see [`Interrupted`].
#[derive(Debug)]
pub struct Interrupt {
    stopper: Stopper,
    signal: Arc<AtomicI32>,
}

/// Takes what interrupts a running command.
#[derive(Clone)]
pub struct OnStart(pub Arc<dyn Fn(Interrupt) + Send + Sync>);

impl std::fmt::Debug for OnStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnStart")
    }
}

impl Interrupt {
    /// Ends everything of the command because of a signal: SIGTERM, and SIGKILL a second later. Does not wait.
    pub fn interrupt(&self, signal: i32) {
        // The first one says why, and it is there before the command can end by it.
        self.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).ok();
        self.stopper.stop();
    }
}

/// Whether a command was interrupted, and by what.
#[derive(Clone, Debug, Default)]
pub(super) struct Signalled(Arc<AtomicI32>);

impl Signalled {
    /// What interrupts a command.
    pub(super) fn interrupt(&self, stopper: Result<Stopper>) -> Result<Interrupt> {
        Ok(Interrupt { stopper: stopper?, signal: self.0.clone() })
    }

    /// The signal, if there was one.
    pub(super) fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }
}

/// A command that was interrupted before it ended well. Nothing of it runs any more.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// The key of its step.
    pub key: String,
    /// The signal that samite got.
    pub signal: i32,
    /// How that was recorded: as a failure that may run again, where doing it again does no harm (idempotent, keyed,
    /// contained). None where half of it may have happened (observable, opaque): then the step is in doubt, and is looked
    /// at or asked about before anything is done again.
    pub outcome: Option<Outcome>,
}

/// Whether a step that was interrupted may simply run again.
pub(super) fn may_run_again(effect: &Effect) -> bool {
    match effect {
        Effect::Idempotent | Effect::Keyed { .. } | Effect::Contained { .. } => true,
        Effect::Observable { .. } | Effect::Opaque => false,
    }
}
