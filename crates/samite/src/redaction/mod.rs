//! Redaction of what is written: the tenant's policy, and the one place where every entry passes by it.
//!
//! A policy is an entry of the tenant's control journal, and so are the secrets that were registered. Each process holds
//! both ready (`in_force`).

mod apply;
mod files;
mod repeat;
#[cfg(test)]
mod tests;

use crate::client::Client;
use crate::core::Core;
use crate::payload::{RedactionSet, SecretRegistered};
use crate::views::{self, register};
use data_encoding::BASE64;
use samite_ledger::{Guard, Register};
use samite_model::{EntryKind, Error, Position, Pseudonym, Result};
use samite_redact::{Policy, Redactor, Registered, check_registered};
use std::collections::HashMap;
use std::sync::Arc;

pub use files::{FoundCounts, FoundOf, FoundStatus, HoldingArtifact, HoldingFile};
pub use samite_redact::{Class, Files, Mode, Pattern};

pub(crate) use apply::{files_with_findings, found_files, is_marked, is_marked_entry};

/// How often a change looks again because the tenant's registers changed under it.
const ROUNDS: usize = 64;

/// A secret that is registered, without the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredSecret {
    /// What placeholders call it.
    pub name: String,
    /// Its length in bytes; none when whoever registered it was erased, and it with them.
    pub length: Option<usize>,
    /// The beginning of its keyed hash, as placeholders show it.
    pub fingerprint: Option<[u8; 4]>,
    /// When it was registered, in nanoseconds since 1970.
    pub since: i64,
}

impl Core {
    /// What a registered secret is found by.
    pub(crate) fn secret_hash(&self, name: &str) -> [u8; 16] {
        self.0.keys.writer(&format!("registered secret {name}")).0
    }

    pub(crate) async fn tenant_registers(&self) -> Result<(u64, Vec<Register>)> {
        match self.0.ledger.registers(self.tenant_control()).await {
            Err(error) if error.code() == "no_journal" => Ok((0, Vec::new())),
            other => other,
        }
    }

    pub(crate) async fn policy_in(&self, registers: &[Register]) -> Result<Policy> {
        let Some(found) = registers.iter().find(|one| one.kind == register::REDACTION) else {
            return Ok(Policy::default());
        };
        let entry = self.entry_at(Position { journal: self.tenant_control(), seq: found.seq }).await?;
        if entry.payload.is_none() {
            return Ok(Policy::default());
        }
        Ok(entry.json::<RedactionSet>()?.policy)
    }

    fn secret_draft(&self, registered: &SecretRegistered) -> Result<crate::core::Draft> {
        let views = views::secret_registered(self.secret_hash(&registered.name), registered);
        self.draft(EntryKind::SECRET_REGISTERED, registered, views)
    }

    /// The registered secrets that stand in a person's name, as older versions put them there, to be said in the tenant's.
    pub(crate) async fn secrets_of(&self, subject: Pseudonym) -> Result<Vec<crate::core::Draft>> {
        let (_, registers) = self.tenant_registers().await?;
        let mut drafts = Vec::new();
        for found in registers.iter().filter(|one| one.kind == register::REGISTERED_SECRET) {
            let entry = self.entry_at(Position { journal: self.tenant_control(), seq: found.seq }).await?;
            if entry.header.owner == subject && entry.payload.is_some() {
                drafts.push(self.secret_draft(&entry.json()?)?);
            }
        }
        Ok(drafts)
    }

    /// The registered secrets; one whose owner was erased has no bytes any more.
    pub(crate) async fn secrets_in(&self, registers: &[Register]) -> Result<Vec<(i64, Option<Registered>)>> {
        let mut secrets = Vec::new();
        for found in registers.iter().filter(|one| one.kind == register::REGISTERED_SECRET) {
            let entry = self.entry_at(Position { journal: self.tenant_control(), seq: found.seq }).await?;
            if entry.payload.is_none() {
                secrets.push((entry.header.time, None));
                continue;
            }
            let registered: SecretRegistered = entry.json()?;
            let secret = registered.secret.as_deref().and_then(|text| BASE64.decode(text.as_bytes()).ok());
            secrets.push((entry.header.time, secret.map(|secret| Registered { name: registered.name, secret })));
        }
        Ok(secrets)
    }
}

impl Client {
    /// What is looked for in what is written, and what happens with it: the default where nothing was decided.
    ///
    /// # Errors
    /// As reading of the store fails.
    pub async fn redaction_policy(&self) -> Result<Policy> {
        let (_, registers) = self.core.tenant_registers().await?;
        self.core.policy_in(&registers).await
    }

    /// Changes the policy of the tenant, and answers with what holds from now on: in this process at once, in others within
    /// a second. What is stored already stays as it is. When this returns, it is durable. Where nothing changes, nothing is
    /// written.
    ///
    /// # Errors
    /// `invalid` for patterns that cannot be used (`bad_expression`, `bad_redaction_name`, `too_many_patterns`); `denied`
    /// (`scope_missing`) for whoever may not operate the tenant.
    pub async fn change_redaction(&self, change: impl Fn(&mut Policy)) -> Result<Policy> {
        let control = self.tenant_control();
        let tenant = self.operator().await?;
        for _ in 0..ROUNDS {
            let (version, registers) = self.core.tenant_registers().await?;
            let before = self.core.policy_in(&registers).await?;
            let mut after = before.clone();
            change(&mut after);
            // Some may lie in separate blocks from then on, whatever is decided later.
            after.files_separated |= before.files_separated || after.files == Files::Separate;
            Redactor::new(&after, &[], Arc::new(|_: &[u8]| [0; 4]))?;
            if after == before {
                return Ok(after);
            }
            let set = RedactionSet { policy: after.clone() };
            let draft = self.core.draft(EntryKind::REDACTION_SET, &set, views::redaction_set())?;
            // In the tenant's name: it does not go with whoever decided it.
            let guards = vec![Guard::Registers { journal: control, version }];
            match tenant.core.append_as_tenant(self.by(), vec![draft], guards).await {
                Err(error) if error.code() == "registers_moved" => {}
                other => return other.map(|()| after),
            }
        }
        Err(Error::conflict("session_contended", "the tenant's settings keep changing").hint("try again"))
    }

    /// Registers a secret, which is found exactly from now on, in every encoding. It is stored sealed. A secret of the same
    /// name is replaced. When this returns, it is durable.
    ///
    /// # Errors
    /// `invalid` (`bad_redaction_name`, `secret_too_short`, `secret_too_long`, `too_many_secrets`).
    pub async fn register_secret(&self, name: &str, secret: &[u8]) -> Result<()> {
        self.check_secret(name, secret).await?;
        self.put_secret(SecretRegistered { name: name.to_owned(), secret: Some(BASE64.encode(secret)) }).await
    }

    /// Refuses what cannot be registered.
    pub(crate) async fn check_secret(&self, name: &str, secret: &[u8]) -> Result<()> {
        check_registered(&Registered { name: name.to_owned(), secret: secret.to_vec() })?;
        let (_, registers) = self.core.tenant_registers().await?;
        let many = registers.iter().filter(|one| one.kind == register::REGISTERED_SECRET).count();
        if many >= samite_redact::MOST {
            let message = format!("{many} secrets are registered; at most {} can be", samite_redact::MOST);
            return Err(Error::invalid("too_many_secrets", message).hint("`samite secrets forget NAME` takes one back"));
        }
        Ok(())
    }

    /// Forgets a registered secret: it is not looked for any more. When this returns, it is durable. What held it stays sealed
    /// where it was: [`crate::embedded::Embedded::forget_secret`] destroys that too.
    ///
    /// # Errors
    /// `not_found` (`no_secret`) when none of this name is registered.
    pub async fn forget_secret(&self, name: &str) -> Result<()> {
        let (_, registers) = self.core.tenant_registers().await?;
        let hash = self.core.secret_hash(name);
        if !registers.iter().any(|one| one.kind == register::REGISTERED_SECRET && one.hash == hash) {
            return Err(crate::erasure::no_secret(name));
        }
        self.put_secret(SecretRegistered { name: name.to_owned(), secret: None }).await
    }

    /// What is said of a secret, as an entry for the tenant's control journal, in the tenant's name.
    pub(crate) fn secret_entry(&self, registered: &SecretRegistered) -> Result<samite_ledger::NewEntry> {
        self.core.seal_as_tenant(self.by(), self.core.secret_draft(registered)?)
    }

    async fn put_secret(&self, registered: SecretRegistered) -> Result<()> {
        let draft = self.core.secret_draft(&registered)?;
        // In the tenant's name: what keeps it out of the store does not go with whoever registered it.
        self.operator().await?.core.append_as_tenant(self.by(), vec![draft], Vec::new()).await
    }

    /// The registered secrets, by name, without the secrets.
    ///
    /// # Errors
    /// As reading of the store fails.
    pub async fn registered_secrets(&self) -> Result<Vec<RegisteredSecret>> {
        let (_, registers) = self.core.tenant_registers().await?;
        let keys = &self.core.0.keys;
        let mut secrets: Vec<RegisteredSecret> = self
            .core
            .secrets_in(&registers)
            .await?
            .into_iter()
            .map(|(since, secret)| match secret {
                Some(secret) => RegisteredSecret {
                    length: Some(secret.secret.len()),
                    fingerprint: Some(keys.redaction_mark(&secret.secret)),
                    name: secret.name,
                    since,
                },
                None => RegisteredSecret { name: String::new(), length: None, fingerprint: None, since },
            })
            .collect();
        secrets.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(secrets)
    }

    /// A policy with the registered secrets and the tenant's fingerprints, ready to be used.
    ///
    /// # Errors
    /// As [`Client::change_redaction`], and as reading of the store fails.
    pub async fn redactor_with(&self, policy: &Policy) -> Result<Redactor> {
        let (_, registers) = self.core.tenant_registers().await?;
        let secrets: Vec<_> =
            self.core.secrets_in(&registers).await?.into_iter().filter_map(|(_, secret)| secret).collect();
        let keys = self.core.0.keys.clone();
        Redactor::new(policy, &secrets, Arc::new(move |secret: &[u8]| keys.redaction_mark(secret)))
    }

    /// How often each kind of thing was found in the entries of a branch up to its head, inherited ones included.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub async fn found_in(
        &self,
        session: samite_model::SessionId,
        branch: Option<samite_model::BranchId>,
    ) -> Result<Vec<crate::payload::FoundMany>> {
        let mut reader = self.read(session, branch, crate::log::ReadOptions::default()).await?;
        let mut counts: HashMap<(Class, String, bool), u64> = HashMap::new();
        loop {
            let page = reader.next().await?;
            if page.is_empty() {
                break;
            }
            for found in page.iter().filter_map(apply::marks_of).flat_map(|marks| marks.found) {
                *counts.entry((found.class, found.kind, found.redacted)).or_default() += found.count;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort();
        Ok(counts
            .into_iter()
            .map(|((class, kind, redacted), count)| crate::payload::FoundMany { class, kind, count, redacted })
            .collect())
    }
}
