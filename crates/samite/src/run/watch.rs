//! Checkpoints while a long command runs, so that one of two hours does not lose two hours.

use crate::step::StepHandle;
use crate::workspace::Checkpoint;
use crate::writer::Writer;
use samite_model::cadence::{Boundary, Costs, Decision, Why};
use samite_model::settings::Cadence;
use samite_model::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// A checkpoint that nobody asked for, of a command that runs or has ended.
#[derive(Debug)]
pub enum Kept {
    /// It was taken, and is durable.
    Taken(Box<Checkpoint>),
    /// It could not be. The step goes on, or has ended, all the same.
    Failed(Arc<Error>),
}

/// Is told of each checkpoint that nobody asked for, as soon as it is durable or has failed; from another thread.
#[derive(Clone)]
pub struct OnCheckpoint(pub Arc<dyn Fn(Kept) + Send + Sync>);

impl std::fmt::Debug for OnCheckpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnCheckpoint")
    }
}

impl OnCheckpoint {
    /// Tells somebody who wants to know.
    pub(super) fn tell(to: Option<&Self>, kept: Kept) {
        if let Some(Self(tell)) = to {
            tell(kept);
        }
    }
}

/// It is tried again after so long where it failed.
const AGAIN: Duration = Duration::from_mins(1);

impl Writer {
    /// Does something that may take long, and meanwhile takes the checkpoints that the session's bounds ask for.
    pub(super) async fn watched<T>(
        &self,
        handle: &StepHandle,
        to: Option<&OnCheckpoint>,
        act: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let adaptive = match self.client.settings(self.session()).await {
            Ok(settings) => matches!(settings.cadence, Cadence::Adaptive(_)),
            Err(error) => {
                OnCheckpoint::tell(to, Kept::Failed(Arc::new(error)));
                false
            }
        };
        if !adaptive || self.workspace().await?.is_none() {
            return act();
        }
        let (ended, waiting) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut checked = None;
                // What is overdue is taken at once, however soon the step ends.
                loop {
                    let wait = match futures_lite::future::block_on(self.tick(handle, &mut checked, to)) {
                        Ok(wait) => wait,
                        Err(error) => {
                            let is_over = error.kind() == ErrorKind::Fenced;
                            OnCheckpoint::tell(to, Kept::Failed(Arc::new(error)));
                            if is_over {
                                return;
                            }
                            AGAIN
                        }
                    };
                    if waiting.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                }
            });
            let done = act();
            drop(ended);
            done
        })
    }

    /// Takes a checkpoint when one is due, and says when to ask again.
    async fn tick(
        &self,
        handle: &StepHandle,
        checked: &mut Option<Costs>,
        to: Option<&OnCheckpoint>,
    ) -> Result<Duration> {
        match self.due(Boundary::Tick, *checked).await? {
            Decision::Wait { why: Why::Cadence, .. } => Ok(AGAIN),
            Decision::Wait { nanoseconds, .. } => Ok(Duration::from_nanos(nanoseconds.max(1))),
            Decision::Take => {
                let since = checked.map(|checked| checked.begun);
                let (costs, taken) = self.checkpoint_amid(format!("during step {}", handle.key), since).await?;
                *checked = Some(costs);
                if let Some(taken) = taken {
                    OnCheckpoint::tell(to, Kept::Taken(Box::new(taken)));
                }
                Ok(Duration::ZERO)
            }
        }
    }
}
