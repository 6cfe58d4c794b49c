//! What is decided about records: those that wait for approval, sources that turn out to be bad, and how each class is treated.

use super::query::no_record;
use super::{Memory, RecordedIn};
use crate::core::Draft;
use crate::views::Projection;
use samite_ledger::Guard;
use samite_memory::{Ended, Standing, Standings};
use samite_model::memory::{Decided, MemorySettings, Revoked, RevokedSource, Verdict};
use samite_model::{EntryKind, Error, Position, RecordId, Result, limits};
use serde::Serialize;

/// How often a decision looks again because somebody else wrote.
const TRIES: usize = 16;

/// What a revocation retires.
#[derive(Clone, Debug, Default)]
pub struct Revocation {
    /// What comes from the source itself.
    pub direct: Vec<Standing>,
    /// What was made of that, and so on.
    pub derived: Vec<Standing>,
    /// What the source said too, and stays, since others said it.
    pub stay: Vec<Standing>,
    /// What stands again, since only what goes had taken its place.
    pub back: Vec<Standing>,
    /// What goes, as the entry has it.
    revoked: Revoked,
    /// The namespace's head when this was worked out.
    head: u64,
}

impl Memory {
    /// The records that wait for approval, in the order in which they came.
    ///
    /// # Errors
    /// As [`Memory::standings`].
    pub async fn quarantined(&self) -> Result<Vec<Standing>> {
        let standings = self.standings(None).await?;
        let waits = |standing: &&Standing| {
            standing.ended.is_none() && standing.verdict.is_none() && standing.is_quarantined(standings.settings())
        };
        Ok(standings.all().iter().filter(waits).cloned().collect())
    }

    /// Approves records, which are found from then on, or rejects them. When this returns, that is durable.
    ///
    /// # Errors
    /// `denied` for who may not manage; `not_found` (`no_record`) naming the first that is not there, and then nothing is decided;
    /// `conflict` (`record_ended`); `invalid` (`nothing_named`) without any.
    pub async fn decide(&self, records: &[RecordId], verdict: Verdict, reason: Option<&str>) -> Result<Position> {
        if records.is_empty() {
            return Err(Error::invalid("nothing_named", "no record is named").hint("name the records"));
        }
        // What a branch wrote for itself is decided of once it is taken over.
        let standings = self.shared_standings().await?;
        for record in records {
            super::query::check_stands(standings.get(*record).ok_or_else(|| no_record(*record))?)?;
        }
        let decided = Decided { records: records.to_vec(), verdict, reason: reason.map(str::to_owned) };
        let guard = self.not_forgotten(self.own_journal().await?, records).await?;
        self.append_one(EntryKind::MEMORY_DECIDED, &decided, guard.into_iter().collect()).await
    }

    /// What a revocation would retire. Changes nothing.
    ///
    /// # Errors
    /// `invalid` (`nothing_named`) where nothing says which source it is: nothing never means all.
    pub async fn plan_revocation(&self, source: &RevokedSource) -> Result<Revocation> {
        if source.is_empty() {
            return Err(Error::invalid("nothing_named", "nothing says which source it is: nothing never means all")
                .hint("give --session, --step, --source, --agent, --since or records"));
        }
        let Some(state) = self.state().await? else { return Ok(Revocation::default()) };
        let standings = self.standings(Some(RecordedIn::Seq(state.head))).await?;
        for record in &source.records {
            standings.get(*record).ok_or_else(|| no_record(*record))?;
        }
        let mut source = source.clone();
        if let Some(given) = &source.source
            && !standings
                .all()
                .iter()
                .flat_map(Standing::sayings)
                .any(|(_, from, _)| from.source.as_ref() == Some(given))
        {
            // What was said with a secret in it is stored without.
            source.source = Some(self.stored_source(given).await?);
        }
        let retired = standings.retired_by(&source);
        let revoked = Revoked { records: retired.sayings, reason: String::new(), source };
        let back = brought_back(&standings, &revoked);
        let all = |ids: Vec<RecordId>| ids.into_iter().filter_map(|id| standings.get(id).cloned()).collect();
        let (direct, derived, stay) = (all(retired.direct), all(retired.derived), all(retired.stay));
        Ok(Revocation { direct, derived, stay, back, revoked, head: state.head })
    }

    /// A source as it is stored: what is redacted in it is.
    async fn stored_source(&self, source: &str) -> Result<String> {
        let said = serde_json::json!({ "source": source }).to_string();
        let kept = self.client.core.kept_words(&said).await?;
        let kept: Option<serde_json::Value> = serde_json::from_str(&kept).ok();
        let stored = kept.as_ref().and_then(|kept| kept.get("source")?.as_str());
        Ok(stored.unwrap_or(source).to_owned())
    }

    /// Retires all that comes from a source, and all that was made of it; what it had replaced stands again. When this returns, that
    /// is durable. What it answers with is what was retired, which may be more than what was planned before.
    ///
    /// # Errors
    /// As [`Memory::plan_revocation`]; `denied` for who may not manage; `invalid` (`empty_name`) without a reason; `unavailable`
    /// (`store_busy`) when others kept writing.
    pub async fn revoke(&self, source: &RevokedSource, reason: &str) -> Result<Revocation> {
        limits::check_name("a reason", reason)?;
        for _ in 0..TRIES {
            let plan = self.plan_revocation(source).await?;
            let Some(state) = self.state().await? else { return Ok(plan) };
            let revoked = Revoked { reason: reason.to_owned(), ..plan.revoked.clone() };
            // What somebody makes of it meanwhile goes too.
            let unmoved = Guard::Head { journal: state.id, seq: plan.head };
            match self.append_one(EntryKind::MEMORY_REVOKED, &revoked, vec![unmoved]).await {
                Err(error) if error.code() == "head_moved" => {}
                other => return other.map(|_| plan),
            }
        }
        Err(Error::unavailable("store_busy", "others kept writing to this namespace").hint("try again"))
    }

    /// What was decided for the namespace.
    ///
    /// # Errors
    /// As [`Memory::standings`].
    pub async fn settings(&self) -> Result<MemorySettings> {
        Ok(self.standings(None).await?.settings().clone())
    }

    /// Decides how the namespace treats records. When this returns, that is durable.
    ///
    /// # Errors
    /// `denied` for who may not manage; as [`MemorySettings::check`].
    pub async fn set_settings(&self, settings: &MemorySettings) -> Result<Position> {
        settings.check()?;
        self.append_one(EntryKind::MEMORY_SETTINGS, settings, Vec::new()).await
    }

    async fn append_one(&self, kind: EntryKind, said: &impl Serialize, guards: Vec<Guard>) -> Result<Position> {
        self.client.core.refresh_redactor().await?;
        let draft: Draft = self.client.core.draft(kind, said, Projection::default())?;
        let written = self.append(vec![draft], guards).await?;
        written.first().copied().ok_or_else(|| Error::internal("no_receipt", "nothing came of a write"))
    }
}

/// What stands again once these are revoked.
fn brought_back(standings: &Standings, revoked: &Revoked) -> Vec<Standing> {
    let mut after = standings.clone();
    let at = Position { journal: samite_model::JournalId([0; 16]), seq: u64::MAX };
    after.apply(at, 0, samite_model::memory::Operation::Revoked(revoked.clone()));
    let ended = |standing: &&Standing| matches!(standing.ended, Some((Ended::Replaced { .. }, _)));
    let stands = |record: RecordId| after.get(record).is_some_and(|standing| standing.ended.is_none());
    standings.all().iter().filter(ended).filter(|one| stands(one.record.record)).cloned().collect()
}
