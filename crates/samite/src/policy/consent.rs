//! Consent to training: no, until somebody said yes.

use super::{ROUNDS, contended, views};
use crate::client::Client;
use crate::core::Core;
use crate::log::Entry;
use crate::payload::ConsentSet;
use crate::views::register;
use samite_ledger::Register;
use samite_model::policy::{ConsentOn, given};
use samite_model::{EntryKind, Pseudonym, Result, SessionId, limits};
use std::collections::HashMap;

/// What was said about training, by whom and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// About what.
    pub on: ConsentOn,
    /// Whether it may be used.
    pub given: bool,
    /// On which basis.
    pub basis: String,
    /// Why, where there is something to say.
    pub reason: Option<String>,
    /// Who wrote it.
    pub actor: Pseudonym,
    /// When, in nanoseconds since 1970.
    pub time: i64,
    /// Whether it was said before the person was erased, and counts no more.
    pub void: bool,
}

impl Consent {
    fn new(entry: &Entry, void: bool) -> Result<Self> {
        let ConsentSet { on, given, basis, reason } = entry.json()?;
        Ok(Self { on, given, basis, reason, actor: entry.header.actor, time: entry.header.time, void })
    }
}

/// Everything that stands about training, to be asked often.
#[derive(Clone, Debug, Default)]
pub struct Consents {
    said: HashMap<[u8; 16], bool>,
}

impl Consents {
    /// Whether a session of an owner may be used.
    pub fn given(&self, owner: Pseudonym, session: SessionId) -> bool {
        given(self.said.get(&owner.0).copied(), self.said.get(&session.0).copied())
    }
}

impl Core {
    /// Everything that stands about training.
    pub(crate) async fn consents(&self) -> Result<Consents> {
        let (_, registers) = self.decided_registers().await?;
        let erased = erased_at(&registers);
        // Sessions of a person who was erased are gone with what was said of them.
        let consents = registers.iter().filter(|entry| entry.kind == register::CONSENT);
        let said = consents
            .filter(|entry| erased.get(&entry.hash).is_none_or(|seq| entry.seq > *seq))
            .map(|entry| (entry.hash, entry.value == [1]))
            .collect();
        Ok(Consents { said })
    }
}

/// When persons were erased: by pseudonym, the last seq of the tenant's control journal.
fn erased_at(registers: &[Register]) -> HashMap<[u8; 16], u64> {
    let erased = registers.iter().filter(|entry| entry.kind == register::ERASED_SUBJECT);
    erased.map(|entry| (entry.hash, entry.seq)).collect()
}

impl Client {
    /// Says whether a person's data, or a session, may be used for training. Each is kept, with who said it, when and on
    /// which basis. When this returns, it is durable.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `invalid` for a basis or a reason that is empty or too long.
    pub async fn set_consent(&self, on: ConsentOn, given: bool, basis: &str, reason: Option<&str>) -> Result<()> {
        let this = &self.operator().await?;
        limits::check_name("a basis", basis)?;
        reason.map_or(Ok(()), |reason| limits::check_name("a reason", reason))?;
        let basis = this.core.kept_words(basis).await?;
        let reason = match reason {
            Some(reason) => Some(this.core.kept_words(reason).await?),
            None => None,
        };
        let set = ConsentSet { on, given, basis, reason };
        for _ in 0..ROUNDS {
            let (version, _) = this.core.decided_registers().await?;
            let draft = this.core.draft(EntryKind::CONSENT_SET, &set, views::consent_set(&set))?;
            if this.decide_as_tenant(draft, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// What a consent for a session is about.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn session_to_consent(&self, session: SessionId) -> Result<ConsentOn> {
        let control = self.control(session).await?;
        Ok(ConsentOn::Session { session, subject: control.owner })
    }

    /// Whether a session, looked at alone, may be used for training.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn consent_of(&self, session: SessionId) -> Result<bool> {
        let control = self.control(session).await?;
        Ok(self.core.consents().await?.given(control.owner, session))
    }

    /// What stands about training, in the order in which it was said.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when an entry cannot be read.
    pub async fn consents(&self) -> Result<Vec<Consent>> {
        let this = &self.operator().await?;
        let (_, registers) = this.core.decided_registers().await?;
        let erased = erased_at(&registers);
        let mut consents = Vec::new();
        for entry in this.core.standing(&registers, register::CONSENT).await? {
            let consent = Consent::new(&entry, false)?;
            let void = erased.get(&consent.on.subject().0).is_some_and(|seq| entry.position.seq <= *seq);
            consents.push(Consent { void, ..consent });
        }
        consents.sort_by_key(|consent| consent.time);
        Ok(consents)
    }

    /// Whether a person's data, or a session, may be used as things stand, and nothing else is looked at.
    ///
    /// # Errors
    /// As [`Client::consents`].
    pub async fn may_train(&self, on: ConsentOn) -> Result<bool> {
        let consents = self.operator().await?.core.consents().await?;
        Ok(match on {
            ConsentOn::User { subject } => consents.said.get(&subject.0).copied().unwrap_or(false),
            ConsentOn::Session { session, subject } => consents.given(subject, session),
        })
    }

    /// All that was ever said about a person, or about a session and the person whose it is, oldest first.
    ///
    /// # Errors
    /// As [`Client::consents`].
    pub async fn consent_history(&self, on: ConsentOn) -> Result<Vec<Consent>> {
        let this = &self.operator().await?;
        let erased = erased_at(&this.core.decided_registers().await?.1);
        let mut history = Vec::new();
        for (position, set) in this.core.said_of_tenant::<ConsentSet>(EntryKind::CONSENT_SET).await? {
            let of_person = ConsentOn::User { subject: on.subject() };
            if set.on.hash() == on.hash() || set.on.hash() == of_person.hash() {
                let entry = this.core.entry_at(position).await?;
                let void = erased.get(&on.subject().0).is_some_and(|erased| position.seq <= *erased);
                history.push(Consent::new(&entry, void)?);
            }
        }
        Ok(history)
    }
}
