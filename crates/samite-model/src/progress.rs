//! How far long work is, for whoever waits for it, and whether it is to go on.

use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// How far a piece of long work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, in words.
    pub what: &'static str,
    /// How much of it is done.
    pub done: u64,
    /// How much there is to do, when it is known.
    pub whole: Option<u64>,
}

/// Is told how far long work is, by the thread that does it: it must return soon. It may ask the work to stop. The default
/// hears nothing and stops nothing.
#[derive(Clone, Default)]
pub struct Observer {
    tell: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Observer {
    /// An observer that calls this.
    pub fn new(tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { tell: Some(Arc::new(tell)), stop: None }
    }

    /// The same observer, which asks the work to stop from when this says so.
    #[must_use]
    pub fn stopping_when(self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { stop: Some(Arc::new(stop)), ..self }
    }

    /// Tells how far something is.
    pub fn tell(&self, what: &'static str, done: u64, whole: Option<u64>) {
        if let Some(tell) = &self.tell {
            tell(Progress { what, done, whole });
        }
    }

    /// Whether the work is to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop())
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// `unavailable` (`stopped`) when the work is to stop.
    pub fn go_on(&self) -> Result<()> {
        if self.is_stopping() { Err(stopped()) } else { Ok(()) }
    }
}

/// The error of work that was asked to stop.
pub fn stopped() -> Error {
    Error::unavailable("stopped", "there was not enough time to come to the end").hint("try again with more time")
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.tell.is_some()).field(&self.stop.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_when_it_is_asked_to_and_not_before() {
        assert!(Observer::default().go_on().is_ok());
        assert!(Observer::new(|_| ()).stopping_when(|| false).go_on().is_ok());
        assert_eq!(Observer::default().stopping_when(|| true).go_on().unwrap_err().code(), "stopped");
    }
}
