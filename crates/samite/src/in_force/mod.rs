//! What an organisation has decided, as a process holds it ready: what is redacted, what its policies forbid, and what leaves of
//! the audit log say of it.
//!
//! All of it is in registers of the tenant's control journal. A process looks after half a second whether they changed, and at
//! once where it changed them itself: what another process decided holds from then on.

mod flags;
mod ledger;

pub(crate) use ledger::Flagged;

use crate::core::{Backends, Core};
use crate::organisation::{self, Organisation};
use crate::views::register;
use flags::Flags;
use samite_ledger::Register;
use samite_model::{ErrorKind, Result};
use samite_redact::{Redactor, Registered};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long what was read holds without another look, in nanoseconds: half a second, so that what another process decided
/// holds within a second everywhere, also where sealing comes some time after the look.
const HOLDS: i64 = 500_000_000;

/// What is in force, by all clients of a store.
#[derive(Clone)]
pub(crate) struct InForce(Arc<Shared>);

struct Shared {
    /// The tenant's own backends: what is looked at is not what one principal sees.
    whole: Backends,
    held: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Goes up where somebody knows that what was read is old.
    changes: u64,
    held: Option<Held>,
    /// What was made ready last, whether or not it is still in force.
    redactor: Option<Arc<Redactor>>,
}

#[derive(Clone)]
struct Held {
    /// When it was looked at.
    read: i64,
    /// The version of the tenant's registers then.
    version: u64,
    /// None until something is to be sealed, or where the policy or a secret cannot be read.
    redactor: Option<Arc<Redactor>>,
    flags: Arc<Flags>,
    organisation: Organisation,
}

impl InForce {
    /// Of a store over these backends; nothing was looked at yet.
    pub(crate) fn new(whole: Backends) -> Self {
        Self(Arc::new(Shared { whole, held: Mutex::default() }))
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// The tenant's own, with what is in force.
    fn unguarded(&self) -> Self {
        Self(self.1.0.whole.clone(), self.1.clone(), self.2.clone())
    }

    /// Looks at what is in force where that is due.
    pub(crate) async fn refresh(&self) -> Result<()> {
        match self.held(HOLDS) {
            Some(_) => Ok(()),
            None => self.unguarded().look().await.map(|_| ()),
        }
    }

    /// Looks at what is redacted where that is due: before something is sealed, where waiting is no matter.
    pub(crate) async fn refresh_redactor(&self) -> Result<()> {
        match self.held(HOLDS).and_then(|held| held.redactor) {
            Some(_) => Ok(()),
            None => self.unguarded().look_at_redaction().await.map(|_| ()),
        }
    }

    /// What is redacted, looked at no longer ago than a second. Without a policy it is the default one.
    pub(crate) fn redactor(&self) -> Result<Arc<Redactor>> {
        // What was looked at a moment ago must not have become old on the way here.
        match self.held(2 * HOLDS).and_then(|held| held.redactor) {
            Some(redactor) => Ok(redactor),
            // Sealing is no asynchronous act. Whoever is about to seal looks before it; this is for those who did not.
            None => futures_lite::future::block_on(self.unguarded().look_at_redaction()),
        }
    }

    /// The words of a decision (a reason, a basis, a purpose) as the policy lets them be kept: they cannot be erased later.
    pub(crate) async fn kept_words(&self, words: &str) -> Result<String> {
        let redactor = match self.held(HOLDS).and_then(|held| held.redactor) {
            Some(redactor) => redactor,
            None => self.unguarded().look_at_redaction().await?,
        };
        let bytes = redactor.redact(words.as_bytes()).bytes;
        Ok(bytes.map_or_else(|| words.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// What is redacted as it was made ready last, for who looked a moment ago.
    pub(crate) fn last_redactor(&self) -> Option<Arc<Redactor>> {
        self.1.locked().redactor.clone()
    }

    /// Makes ready what is redacted: only where something is sealed, since it takes longer than the rest.
    async fn look_at_redaction(&self) -> Result<Arc<Redactor>> {
        let held = self.look().await?;
        if let Some(redactor) = held.redactor {
            return Ok(redactor);
        }
        let (version, registers) = self.tenant_registers().await?;
        let redactor = self.new_redactor(&registers).await?;
        let mut state = self.1.locked();
        if let Some(held) = state.held.as_mut().filter(|held| held.version == version) {
            held.redactor = Some(redactor.clone());
        }
        state.redactor = Some(redactor.clone());
        Ok(redactor)
    }

    /// What the organisation's policies are. One that nobody looked at yet has none that could be evaluated.
    pub(crate) fn organisation(&self) -> Organisation {
        let state = self.1.locked();
        state.held.as_ref().map_or(Organisation::Unknown, |held| held.organisation.clone())
    }

    /// What leaves say of what is in force.
    async fn flags(&self) -> Result<Arc<Flags>> {
        let held = match self.held(HOLDS) {
            Some(held) => Some(held),
            // What is done to mend a store is logged too.
            None => self.look().await.ok(),
        };
        held.map_or_else(|| Flags::unread().map(Arc::new), |held| Ok(held.flags))
    }

    /// What was looked at no longer ago than that, in nanoseconds.
    fn held(&self, within: i64) -> Option<Held> {
        let now = self.now();
        let state = self.1.locked();
        state.held.as_ref().filter(|held| (0..within).contains(&now.saturating_sub(held.read))).cloned()
    }

    /// Looks again at the next use.
    pub(crate) fn look_again(&self) {
        let mut state = self.1.locked();
        state.changes = state.changes.wrapping_add(1);
        // What is forbidden stays so until it was looked at.
        if let Some(held) = &mut state.held {
            held.read = i64::MIN;
            held.version = u64::MAX;
        }
    }

    async fn look(&self) -> Result<Held> {
        let (now, changes) = (self.now(), self.1.locked().changes);
        let (version, registers) = self.tenant_registers().await?;
        {
            let mut state = self.1.locked();
            if let Some(held) = state.held.as_mut().filter(|held| held.version == version) {
                held.read = now;
                return Ok(held.clone());
            }
        }
        let policy = unless_lost(self.policy_in(&registers).await)?;
        let flags = Arc::new(Flags::new(&registers, policy.as_ref())?);
        let organisation = match registers.iter().find(|found| found.kind == register::ORGANISATION) {
            Some(found) => self.organisation_at(found.seq).await?,
            None => Organisation::None,
        };
        let held = Held { read: now, version, redactor: None, flags, organisation };
        let mut state = self.1.locked();
        if state.changes == changes {
            state.held = Some(held.clone());
        }
        Ok(held)
    }

    /// The policies that an entry of the tenant's control journal has.
    async fn organisation_at(&self, seq: u64) -> Result<Organisation> {
        let text = unless_lost(self.organisation_text(seq).await)?.flatten();
        Ok(organisation::compile(text.as_deref()))
    }

    async fn new_redactor(&self, registers: &[Register]) -> Result<Arc<Redactor>> {
        let policy = self.policy_in(registers).await?;
        let secrets: Vec<Registered> =
            self.secrets_in(registers).await?.into_iter().filter_map(|(_, secret)| secret).collect();
        let keys = self.0.keys.clone();
        let fingerprint = Arc::new(move |secret: &[u8]| keys.redaction_mark(secret));
        Ok(Arc::new(Redactor::new(&policy, &secrets, fingerprint)?))
    }
}

/// What was read; none where it is lost for good. What may be read the next time it is tried, such as from a disk that was
/// busy, says nothing of what was decided.
fn unless_lost<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => Ok(None),
        Err(error) if matches!(error.code(), "key_destroyed" | "unknown_subject") => Ok(None),
        Err(error) => Err(error),
    }
}
