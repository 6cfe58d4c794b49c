//! The keys of one issuer, as they were last fetched, and when they are fetched again.

use crate::fetch::{Fetch, KeySource};
use crate::keys::Keys;
use samite_host::Clock;
use samite_model::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// How long a key set is used without another look, in nanoseconds: five minutes.
pub const FRESH: i64 = 300 * SECOND;

/// How long one is used that cannot be looked at again: fifteen minutes.
pub const STALE: i64 = 900 * SECOND;

/// After a fetch for a key that is not known, how long none is fetched for another: 30 s.
pub const COOL_DOWN: i64 = 30 * SECOND;

const SECOND: i64 = 1_000_000_000;

/// The keys of one issuer.
pub(crate) struct KeySet {
    source: KeySource,
    clock: Arc<dyn Clock>,
    fetch: Arc<dyn Fetch>,
    known: RwLock<Known>,
    /// When it was tried last, and for what; held while somebody fetches, so that one does it for all.
    tried: Mutex<Tried>,
}

#[derive(Clone, Default)]
struct Known {
    keys: Arc<Keys>,
    /// When they were fetched, in nanoseconds since 1970.
    at: Option<i64>,
}

#[derive(Default)]
struct Tried {
    /// A fetch of a set that had become old, and failed.
    failed: Option<i64>,
    /// A fetch for a key that was not known.
    unknown: Option<i64>,
}

impl KeySet {
    pub(crate) fn new(source: KeySource, clock: Arc<dyn Clock>, fetch: Arc<dyn Fetch>) -> Self {
        Self { source, clock, fetch, known: RwLock::default(), tried: Mutex::default() }
    }

    /// The keys that are to be looked for one of this id: fetched again when they are old, or do not have it.
    ///
    /// # Errors
    /// `unavailable` (`keys_unavailable`) when they cannot be had.
    pub(crate) fn keys(&self, id: Option<&str>) -> Result<Arc<Keys>> {
        let known = self.current()?;
        if !known.keys.find(id).is_empty() {
            return Ok(known.keys);
        }
        let mut tried = self.tried();
        // Somebody else may have fetched while this one waited.
        let known = self.known();
        let now = self.clock.now();
        if !known.keys.find(id).is_empty() || is_within(tried.unknown, now, COOL_DOWN) {
            return Ok(known.keys);
        }
        tried.unknown = Some(now);
        // What is known stays where the fetch fails: nobody makes others' keys go by asking for one that is not there.
        Ok(self.fetch(now).map_or(known.keys, |fetched| fetched.keys))
    }

    /// What is known, if it is fresh or can be made so.
    fn current(&self) -> Result<Known> {
        let known = self.known();
        if is_within(known.at, self.clock.now(), FRESH) {
            return Ok(known);
        }
        let mut tried = self.tried();
        let known = self.known();
        let now = self.clock.now();
        if is_within(known.at, now, FRESH) {
            return Ok(known);
        }
        let usable = is_within(known.at, now, STALE);
        if is_within(tried.failed, now, COOL_DOWN) {
            return if usable { Ok(known) } else { Err(unavailable(&self.source)) };
        }
        match self.fetch(now) {
            Ok(fetched) => {
                tried.failed = None;
                Ok(fetched)
            }
            Err(error) => {
                tried.failed = Some(now);
                if usable { Ok(known) } else { Err(error) }
            }
        }
    }

    fn fetch(&self, now: i64) -> Result<Known> {
        let bytes = self.fetch.fetch(&self.source)?;
        let keys = Keys::parse(&bytes).filter(|keys| keys.count() > 0).ok_or_else(|| {
            Error::unavailable("bad_key_set", format!("what is at {} is no set of keys that can be used", self.source))
                .hint("a JSON Web Key Set with RSA, P-256, P-384 or Ed25519 keys for signatures")
        })?;
        let known = Known { keys: Arc::new(keys), at: Some(now) };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known.clone();
        Ok(known)
    }

    fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tried(&self) -> MutexGuard<'_, Tried> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something happened less than so long ago. A clock that was put back does not make it last longer.
fn is_within(since: Option<i64>, now: i64, long: i64) -> bool {
    since.is_some_and(|since| now >= since && now.saturating_sub(since) < long)
}

fn unavailable(source: &KeySource) -> Error {
    Error::unavailable("keys_unavailable", format!("the keys at {source} could not be read a moment ago"))
        .hint("see that the issuer answers, and try again in half a minute")
}
