//! The region that a tenant is pinned to, and transfers to others.

use super::{ROUNDS, contended, views};
use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::payload::{RegionSet, TransferDecided};
use crate::views::register;
use samite_ledger::Register;
use samite_model::policy::{Placement, Region};
use samite_model::{EntryKind, Error, Pseudonym, Result, limits};

/// The region that a tenant is pinned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The region.
    pub region: Region,
    /// The one before.
    pub previous: Option<Region>,
    /// Who pinned it.
    pub actor: Pseudonym,
    /// When, in nanoseconds since 1970.
    pub since: i64,
}

/// A transfer to another region that was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The region.
    pub to: Region,
    /// On which basis.
    pub basis: String,
    /// Why, where there is something to say.
    pub reason: Option<String>,
    /// Who decided it.
    pub actor: Pseudonym,
    /// When, in nanoseconds since 1970.
    pub since: i64,
}

impl Core {
    async fn pinned_in(&self, registers: &[Register]) -> Result<Option<Pinned>> {
        let Some(entry) = self.standing(registers, register::REGION).await?.pop() else { return Ok(None) };
        let RegionSet { region, previous } = entry.json()?;
        Ok(Some(Pinned { region, previous, actor: entry.header.actor, since: entry.header.time }))
    }

    async fn transfers_in(&self, registers: &[Register]) -> Result<Vec<Transfer>> {
        let mut transfers = Vec::new();
        for entry in self.standing(registers, register::TRANSFER).await? {
            let TransferDecided { to, basis, reason, .. } = entry.json()?;
            transfers.push(Transfer { to, basis, reason, actor: entry.header.actor, since: entry.header.time });
        }
        transfers.sort_by(|a, b| a.to.cmp(&b.to));
        Ok(transfers)
    }

    /// Whether data may go to a region, with the version of the registers that say so.
    pub(crate) async fn placement(&self, to: &Region) -> Result<(u64, Placement)> {
        let (version, registers) = self.decided_registers().await?;
        let pinned = self.pinned_in(&registers).await?;
        let transfers = self.transfers_in(&registers).await?;
        let decided = transfers.iter().map(|transfer| &transfer.to);
        Ok((version, Placement::of(pinned.as_ref().map(|pinned| &pinned.region), to, decided)))
    }

    /// Whether a node of a region may serve the tenant. Decided by hashes, so that an entry that cannot be read opens
    /// nothing.
    pub(crate) async fn may_serve(&self, node: Option<&Region>) -> Result<bool> {
        let (_, registers) = self.decided_registers().await?;
        let Some(pinned) = registers.iter().find(|entry| entry.kind == register::REGION) else { return Ok(true) };
        let Some(node) = node else { return Ok(false) };
        Ok(views::region_hash(&self.tenant_hasher(), node)?.as_slice() == pinned.value)
    }

    /// The error of what is in another region.
    pub(crate) async fn refuse_region(&self, what: &str, region: Option<&Region>) -> Result<Error> {
        let (_, registers) = self.decided_registers().await?;
        // Where it cannot be read, it is refused all the same.
        let home = match self.pinned_in(&registers).await {
            Ok(Some(pinned)) => format!("region {}", pinned.region),
            Ok(None) => "no region".to_owned(),
            Err(_) => "a region whose name cannot be read".to_owned(),
        };
        let its = region.map_or_else(|| "states no region".to_owned(), |region| format!("is in region {region}"));
        Ok(Error::denied("other_region", format!("the tenant is pinned to {home}, and {what} {its}")))
    }
}

impl Client {
    /// The region that the tenant is pinned to, if it is.
    ///
    /// # Errors
    /// `corrupt` when the entry cannot be read.
    pub async fn region(&self) -> Result<Option<Pinned>> {
        let this = &self.operator().await?;
        let (_, registers) = this.core.decided_registers().await?;
        this.core.pinned_in(&registers).await
    }

    /// The transfers to other regions that were decided.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when an entry cannot be read.
    pub async fn transfers(&self) -> Result<Vec<Transfer>> {
        let this = &self.operator().await?;
        let (_, registers) = this.core.decided_registers().await?;
        this.core.transfers_in(&registers).await
    }

    /// Decides that data may go to another region, or takes that back. What went there stays there. When this returns, it is
    /// durable.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `invalid` for a basis that is empty or too long; `not_found`
    /// (`no_transfer`) when there is none to take back; `conflict` (`processors_elsewhere`) while a processor that is registered is
    /// in that region by it alone.
    pub async fn decide_transfer(&self, decided: &TransferDecided) -> Result<()> {
        let this = &self.operator().await?;
        limits::check_name("a basis", &decided.basis)?;
        decided.reason.as_deref().map_or(Ok(()), |reason| limits::check_name("a reason", reason))?;
        let mut kept = decided.clone();
        kept.basis = this.core.kept_words(&decided.basis).await?;
        if let Some(reason) = &decided.reason {
            kept.reason = Some(this.core.kept_words(reason).await?);
        }
        let decided = &kept;
        for _ in 0..ROUNDS {
            let (version, registers) = this.core.decided_registers().await?;
            if decided.withdrawn && !this.core.transfers_in(&registers).await?.iter().any(|one| one.to == decided.to) {
                let message = format!("no transfer to region {} was decided", decided.to);
                return Err(Error::not_found("no_transfer", message).hint("`samite region show` shows those that were"));
            }
            if decided.withdrawn
                && let Some(pinned) = this.core.pinned_in(&registers).await?
                && pinned.region != decided.to
                && let Some(one) = this.processors().await?.iter().find(|one| one.region == decided.to)
            {
                return Err(processor_elsewhere(one)
                    .hint("remove it with `samite processor remove` first: what is decided for a region, its processors rest on"));
            }
            let projection = views::transfer_decided(&this.core.tenant_hasher(), decided)?;
            let draft = this.core.draft(EntryKind::TRANSFER_DECIDED, decided, projection)?;
            if this.decide_as_tenant(draft, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }
}

fn processor_elsewhere(one: &super::Processor) -> Error {
    Error::conflict("processors_elsewhere", format!("processor {:?} is in region {}", one.name, one.region))
}

impl Embedded {
    /// Pins the tenant to a region: from then on no node of another region, or of none, serves it. When this returns, it is
    /// durable. Where it is pinned there already, nothing is written and false is the answer.
    ///
    /// # Errors
    /// `denied`: `other_region` when this node itself could not serve it any more, `no_transfer_decision` when it is pinned
    /// elsewhere and no transfer there was decided; `conflict` (`processors_elsewhere`) while processors are outside of it.
    pub async fn set_region(&self, client: &Client, region: &Region) -> Result<bool> {
        let client = &client.operator().await?;
        let core = &client.core;
        for _ in 0..ROUNDS {
            let (version, registers) = core.decided_registers().await?;
            let pinned = core.pinned_in(&registers).await?;
            let transfers = core.transfers_in(&registers).await?;
            let previous = pinned.map(|pinned| pinned.region);
            match &previous {
                Some(previous) if previous == region => return Ok(false),
                Some(previous) if !transfers.iter().any(|one| one.to == *region) => {
                    return Err(Error::denied(
                        "no_transfer_decision",
                        format!("the tenant is pinned to region {previous}, and no transfer to {region} was decided"),
                    )
                    .hint(format!("`samite region transfer {region} --basis BASIS` decides it")));
                }
                None if self.region() != Some(region) => {
                    let own = self.region().map_or_else(|| "no region".to_owned(), |own| format!("region {own}"));
                    return Err(Error::denied(
                        "other_region",
                        format!("this node states {own}, and could not serve a tenant that is pinned to {region}"),
                    )
                    .hint(format!("set SAMITE_REGION={region} on each node of that region first")));
                }
                _ => {}
            }
            let decided = |to: &Region| transfers.iter().any(|one| one.to == *to);
            let outside = client.processors().await?;
            if let Some(one) = outside.iter().find(|one| one.region != *region && !decided(&one.region)) {
                return Err(processor_elsewhere(one).hint(
                    "remove it with `samite processor remove`, or decide a transfer with `samite region transfer`",
                ));
            }
            let set = RegionSet { region: region.clone(), previous };
            let projection = views::region_set(&core.tenant_hasher(), &set)?;
            let draft = core.draft(EntryKind::REGION_SET, &set, projection)?;
            if client.decide_as_tenant(draft, version).await? {
                return Ok(true);
            }
        }
        Err(contended())
    }
}
