//! How far long work is, for whoever waits for it.

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

/// Is told how far long work is, by the thread that does it: it must return soon. The default hears nothing.
#[derive(Clone, Default)]
pub struct Observer(Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl Observer {
    /// An observer that calls this.
    pub fn new(tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Tells how far something is.
    pub fn tell(&self, what: &'static str, done: u64, whole: Option<u64>) {
        if let Some(tell) = &self.0 {
            tell(Progress { what, done, whole });
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}
