//! The policies of an organisation, in Cedar: entries of the tenant's control journal, asked at each act of every client of the
//! tenant beside ownership, grants and scopes, of which they only take away.
//!
//! A tenant that has some is served by builds that can evaluate them, and by no others.

use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::payload::OrganisationSet;
use crate::policy::{ROUNDS, contended};
use crate::views::{Projection, register};
use futures_lite::future::block_on;
use samite_ledger::Register;
use samite_model::access::{Policy, ResourceKind, Right, chain};
use samite_model::{EntryKind, Error, Position, Principal, Pseudonym, Result};
use samite_policy::{Engine, Target, engine_missing};
use std::sync::Arc;

pub use samite_policy::{AVAILABLE, LONGEST, SCHEMA};

/// What stands of an organisation's policies, as a process holds it ready.
#[derive(Clone)]
pub(crate) enum Organisation {
    /// Nobody has looked yet: nothing may be done.
    Unknown,
    /// There are none.
    None,
    /// These.
    Some(Arc<Engine>),
    /// There are some, which cannot be read or evaluated: nothing may be done.
    Broken,
}

impl Organisation {
    /// What they say of one act.
    pub(crate) fn say(&self, principal: &Principal, right: Right, target: &Target<'_>) -> Policy {
        match self {
            Self::Unknown | Self::Broken => Policy::Failed,
            Self::None => Policy::Silent,
            Self::Some(engine) => engine.say(principal, right, target),
        }
    }

    /// Whether nothing is decided by them.
    pub(crate) const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// Makes policies ready to be asked; an entry that was erased has none that could be.
pub(crate) fn compile(text: Option<&str>) -> Organisation {
    let engine = text.and_then(|text| Engine::new(text).ok());
    engine.map_or(Organisation::Broken, |engine| Organisation::Some(Arc::new(engine)))
}

/// What is wrong with policies or may be, before anybody decides them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// How many policies there are.
    pub policies: usize,
    /// What may be a mistake, in words.
    pub warnings: Vec<String>,
}

/// Validates policies against the [schema](SCHEMA).
///
/// # Errors
/// `invalid` (`bad_policy`) naming what is wrong and on which line; `denied` (`policy_engine_missing`) in a build without the engine.
pub fn check(text: &str) -> Result<Checked> {
    let engine = Engine::new(text).map_err(missing_here)?;
    Ok(Checked { policies: engine.count(), warnings: engine.warnings().to_vec() })
}

/// The same refusal, where no tenant has policies yet.
fn missing_here(error: Error) -> Error {
    if error.code() != "policy_engine_missing" {
        return error;
    }
    Error::denied("policy_engine_missing", "this build of samite cannot evaluate policies of an organisation")
        .hint("use a build with the feature cedar: cargo build --release --features cedar")
}

/// Policies of an organisation that stood from some time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The entry's seq in the tenant's control journal.
    pub seq: u64,
    /// Since when, in nanoseconds since 1970.
    pub since: i64,
    /// Who decided them.
    pub actor: Pseudonym,
    /// The policies; none where they were taken back.
    pub policies: Option<String>,
}

/// What an entry makes of the registers.
pub(crate) fn views_of(set: &OrganisationSet) -> Projection {
    match set.policies {
        Some(_) => Projection::default().set(register::ORGANISATION, [0; 16], Vec::new()),
        None => Projection::default().clear(register::ORGANISATION, [0; 16]),
    }
}

impl Core {
    /// The policies that an entry of the tenant's control journal has; none where it was erased.
    pub(crate) async fn organisation_text(&self, seq: u64) -> Result<Option<String>> {
        let entry = self.whole(self.entry_at(Position { journal: self.tenant_control(), seq }).await?)?;
        if entry.payload.is_none() {
            return Ok(None);
        }
        Ok(entry.json::<OrganisationSet>()?.policies)
    }

    fn standing_organisation(registers: &[Register]) -> Option<u64> {
        registers.iter().find(|found| found.kind == register::ORGANISATION).map(|found| found.seq)
    }
}

impl Client {
    /// The whole tenant, for who may decide the organisation's policies: who may operate it. Policies that cannot be evaluated
    /// at all keep nobody from replacing them.
    async fn organisation_keeper(&self) -> Result<Self> {
        self.core.refresh().await?;
        // A build that cannot evaluate any takes none back either.
        let broken = samite_policy::AVAILABLE && matches!(self.core.organisation(), Organisation::Broken);
        match self.operator().await {
            Err(error) if broken && error.code() == "policy_forbids" => self.operator_whatever_policies_say(),
            other => other,
        }
    }

    /// The organisation's policies that stand, if there are any.
    ///
    /// # Errors
    /// `denied` (`scope_missing`, `policy_forbids`) for who may not operate the tenant; `corrupt` when they cannot be read.
    pub async fn organisation_policies(&self) -> Result<Option<Decided>> {
        let this = self.organisation_keeper().await?;
        let (_, registers) = this.core.decided_registers().await?;
        match Core::standing_organisation(&registers) {
            Some(seq) => this.decided_at(seq).await.map(Some),
            None => Ok(None),
        }
    }

    /// All that ever stood, oldest first: between two of them the first one was in force.
    ///
    /// # Errors
    /// As [`Client::organisation_policies`].
    pub async fn organisation_history(&self) -> Result<Vec<Decided>> {
        let this = self.organisation_keeper().await?;
        let mut history = Vec::new();
        for (position, _) in this.core.said_of_tenant::<OrganisationSet>(EntryKind::ORGANISATION_SET).await? {
            history.push(this.decided_at(position.seq).await?);
        }
        Ok(history)
    }

    async fn decided_at(&self, seq: u64) -> Result<Decided> {
        let at = Position { journal: self.core.tenant_control(), seq };
        let entry = self.core.whole(self.core.entry_at(at).await?)?;
        let (since, actor) = (entry.header.time, entry.header.actor);
        Ok(Decided { seq, since, actor, policies: entry.json::<OrganisationSet>()?.policies })
    }

    /// Decides the organisation's policies, or takes them back (none): they hold in this process at once, in others within a
    /// second. They only forbid: what ownership, grants and scopes do not allow stays forbidden. When this returns, it is
    /// durable; where nothing changes, nothing is written and false is the answer.
    ///
    /// # Errors
    /// As [`check`]; `denied` (`scope_missing`, `policy_forbids`) for who may not operate the tenant; `conflict` (`policy_locks_out`)
    /// when under the new ones this principal could not operate the tenant, and so never take them back.
    pub async fn set_organisation_policies(&self, policies: Option<&str>) -> Result<bool> {
        let this = self.organisation_keeper().await?;
        if let Some(text) = policies {
            let engine = Engine::new(text).map_err(missing_here)?;
            let tenant = this.core.0.keys.tenant();
            let target = Target { kind: ResourceKind::Tenant, id: None, owner: None, tenant };
            let chain = chain(&self.principal);
            if Policy::of_chain(chain.iter().map(|who| engine.say(who, Right::Operate, &target))) != Policy::Silent {
                return Err(Error::conflict(
                    "policy_locks_out",
                    "under these policies whoever sets them could not operate the tenant any more, and so not take them back",
                )
                .hint("permit Samite::Action::\"operate\" on the tenant to whoever keeps the policies"));
            }
        }
        let set = OrganisationSet { policies: policies.map(str::to_owned) };
        for _ in 0..ROUNDS {
            let (version, registers) = this.core.decided_registers().await?;
            let stands = match Core::standing_organisation(&registers) {
                // What cannot be read is replaced.
                Some(seq) => this.core.organisation_text(seq).await.unwrap_or(Some(String::new())),
                None => None,
            };
            if stands == set.policies {
                return Ok(false);
            }
            let draft = this.core.draft(EntryKind::ORGANISATION_SET, &set, views_of(&set))?;
            if this.decide_as_tenant(draft, version).await? {
                return Ok(true);
            }
        }
        Err(contended())
    }
}

impl Embedded {
    /// Refuses a tenant that has policies which this build cannot evaluate.
    pub(crate) fn settle_organisation(&self) -> Result<()> {
        if samite_policy::AVAILABLE {
            return Ok(());
        }
        let (_, registers) = match block_on(self.store().core.decided_registers()) {
            // What a damaged store has is only looked at.
            Err(_) if self.is_read_only() => return Ok(()),
            told => told.map_err(|error| error.context(self.directory().display()))?,
        };
        Core::standing_organisation(&registers).map_or(Ok(()), |_| Err(engine_missing()))
    }
}
