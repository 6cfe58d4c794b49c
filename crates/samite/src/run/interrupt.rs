//! Stopping a running command because a person, or the machine, interrupts it.

use crate::step::Outcome;
use samite_host::supervise::Stopper;
use samite_model::step::Effect;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stops a step that begins, or its running command. What that makes of the step depends on its effect: see
/// [`Interrupted`].
#[derive(Debug)]
pub struct Interrupt(Signalled);

/// Takes what interrupts a command, once, before its step begins.
#[derive(Clone)]
pub struct OnStart(pub Arc<dyn Fn(Interrupt) + Send + Sync>);

impl std::fmt::Debug for OnStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnStart")
    }
}

impl Interrupt {
    /// Ends everything of the command because of a signal: SIGTERM, and SIGKILL a second later. A command that was not let
    /// go yet is not started. Does not wait. False when no step is under way, so that the signal is the caller's alone.
    pub fn interrupt(&self, signal: i32) -> bool {
        let mut state = self.0.locked();
        match &state.at {
            At::Nothing => return false,
            At::Beginning => {}
            At::Running(stopper) => stopper.stop(),
        }
        // The first one says why.
        state.signal.get_or_insert(signal);
        true
    }
}

/// Whether a command was interrupted, and by what.
#[derive(Clone, Debug, Default)]
pub(super) struct Signalled(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    signal: Option<i32>,
    at: At,
    handed_out: bool,
}

/// What a signal would interrupt.
#[derive(Debug, Default)]
enum At {
    #[default]
    Nothing,
    Beginning,
    Running(Stopper),
}

impl Signalled {
    /// A step begins: from now on a signal is kept. What interrupts it is handed out the first time.
    pub(super) fn begin(&self, on_start: Option<&OnStart>) {
        let mut state = self.locked();
        state.at = At::Beginning;
        let first = !std::mem::replace(&mut state.handed_out, true);
        drop(state);
        if let (Some(OnStart(hand_out)), true) = (on_start, first) {
            hand_out(Interrupt(self.clone()));
        }
    }

    /// The command was let go. A signal that came since anybody looked stops it.
    pub(super) fn running(&self, stopper: Stopper) {
        let mut state = self.locked();
        if state.signal.is_some() {
            stopper.stop();
        }
        state.at = At::Running(stopper);
    }

    /// Nothing is under way any more.
    pub(super) fn end(&self) {
        self.locked().at = At::Nothing;
    }

    /// The signal, if there was one.
    pub(super) fn signal(&self) -> Option<i32> {
        self.locked().signal
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that was interrupted before it ended well, or before it was started. Nothing of it runs any more.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// The key of its step.
    pub key: String,
    /// The signal that samite got.
    pub signal: i32,
    /// Whether the step was begun. Where it was not, nothing is recorded of it.
    pub begun: bool,
    /// How that was recorded: as a failure that may run again, where doing it again does no harm (idempotent, keyed,
    /// contained). None where half of it may have happened (observable, opaque): then the step is in doubt, and is looked
    /// at or asked about before anything is done again. A command that was not started may run again whatever its effect.
    pub outcome: Option<Outcome>,
}

/// Whether a step that was interrupted may simply run again.
pub(super) fn may_run_again(effect: &Effect) -> bool {
    match effect {
        Effect::Idempotent | Effect::Keyed { .. } | Effect::Contained { .. } => true,
        Effect::Observable { .. } | Effect::Opaque => false,
    }
}
