//! Processors: others who are given data, in the tenant's region or where a transfer was decided.

use super::{ROUNDS, contended, views};
use crate::client::Client;
use crate::core::Core;
use crate::payload::ProcessorSet;
use crate::views::register;
use samite_model::policy::{Placement, Region, check_receives};
use samite_model::{EntryKind, Error, FamilyId, Pseudonym, Result, limits};
use std::collections::BTreeMap;

/// Somebody else who is given data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The processor.
    pub name: String,
    /// Where it is.
    pub region: Region,
    /// What for.
    pub purpose: String,
    /// The agreement with it.
    pub agreement: String,
    /// The stores that it receives.
    pub receives: Vec<String>,
    /// Who registered it.
    pub actor: Pseudonym,
    /// When, in nanoseconds since 1970.
    pub since: i64,
}

impl Processor {
    /// What an entry says of it.
    fn as_set(&self) -> ProcessorSet {
        ProcessorSet {
            name: self.name.clone(),
            region: self.region.clone(),
            purpose: self.purpose.clone(),
            agreement: self.agreement.clone(),
            receives: self.receives.clone(),
            removed: false,
            reason: None,
        }
    }
}

impl Core {
    /// What every processor that there ever was received, by name: what it was given is not taken back by removing it.
    pub(crate) async fn processors_ever(&self) -> Result<Vec<ProcessorSet>> {
        let mut all: BTreeMap<(String, Region), ProcessorSet> = BTreeMap::new();
        for (_, mut set) in self.said_of_tenant::<ProcessorSet>(EntryKind::PROCESSOR_SET).await? {
            let key = (set.name.clone(), set.region.clone());
            if let Some(before) = all.get(&key) {
                set.receives.extend(before.receives.iter().cloned());
                set.receives.sort();
                set.receives.dedup();
            }
            all.insert(key, set);
        }
        Ok(all.into_values().collect())
    }

    /// Hashes what the tenant's own entries name.
    pub(super) fn tenant_hasher(&self) -> crate::core::FamilyHash<'_> {
        self.hasher(self.0.keys.tenant_pseudonym(), FamilyId(self.tenant_control().0))
    }
}

impl Client {
    /// The processors that are given data, by name.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when an entry cannot be read.
    pub async fn processors(&self) -> Result<Vec<Processor>> {
        let this = &self.operator().await?;
        let (_, registers) = this.core.decided_registers().await?;
        let mut processors = Vec::new();
        for entry in this.core.standing(&registers, register::PROCESSOR).await? {
            let ProcessorSet { name, region, purpose, agreement, receives, .. } = entry.json()?;
            let (actor, since) = (entry.header.actor, entry.header.time);
            processors.push(Processor { name, region, purpose, agreement, receives, actor, since });
        }
        processors.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(processors)
    }

    /// Registers a processor, or says anew what it receives. When this returns, it is durable. What is refused because of
    /// its region is recorded.
    ///
    /// # Errors
    /// `invalid` for names that are empty or too long, or stores that there are not (`bad_receives`); `denied`
    /// (`other_region`) when it is outside of the tenant's region and no transfer there was decided.
    pub async fn register_processor(&self, processor: ProcessorSet) -> Result<()> {
        let this = &self.operator().await?;
        limits::check_name("a processor's name", &processor.name)?;
        limits::check_name("a purpose", &processor.purpose)?;
        limits::check_name("an agreement", &processor.agreement)?;
        check_receives(processor.receives.iter().map(String::as_str))?;
        let mut set = ProcessorSet { removed: false, reason: None, ..processor };
        set.purpose = this.core.kept_words(&set.purpose).await?;
        set.agreement = this.core.kept_words(&set.agreement).await?;
        set.receives.sort();
        set.receives.dedup();
        for _ in 0..ROUNDS {
            let (version, placement) = this.core.placement(&set.region).await?;
            if placement == Placement::Refused {
                this.record_refusal("processor", &set.region).await?;
                let what = format!("processor {:?}", set.name);
                return Err(this.core.refuse_region(&what, Some(&set.region)).await?);
            }
            let projection = views::processor_set(&this.core.tenant_hasher(), &set)?;
            let draft = this.core.draft(EntryKind::PROCESSOR_SET, &set, projection)?;
            if this.decide_as_tenant(draft, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// Records that a processor receives nothing any more. What it was given stays with it, and proofs of deletion still
    /// name it. When this returns, it is durable.
    ///
    /// # Errors
    /// `not_found` (`no_processor`) when there is none of this name.
    pub async fn remove_processor(&self, name: &str, reason: Option<&str>) -> Result<()> {
        let this = &self.operator().await?;
        reason.map_or(Ok(()), |reason| limits::check_name("a reason", reason))?;
        let reason = match reason {
            Some(reason) => Some(this.core.kept_words(reason).await?),
            None => None,
        };
        for _ in 0..ROUNDS {
            let (version, _) = this.core.decided_registers().await?;
            let processors = this.processors().await?;
            let found = processors.iter().find(|processor| processor.name == name).ok_or_else(|| {
                Error::not_found("no_processor", format!("no processor {name:?} is registered"))
                    .hint("`samite processor list` shows those that are")
            })?;
            let set = ProcessorSet { removed: true, reason: reason.clone(), ..found.as_set() };
            let projection = views::processor_set(&this.core.tenant_hasher(), &set)?;
            let draft = this.core.draft(EntryKind::PROCESSOR_SET, &set, projection)?;
            if this.decide_as_tenant(draft, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }
}
