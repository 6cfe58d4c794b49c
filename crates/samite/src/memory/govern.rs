//! What is decided about records: those that wait for approval, sources that turn out to be bad, and how each class is treated.

use super::query::no_record;
use super::{Memory, RecordedIn};
use crate::core::Draft;
use crate::views::Projection;
use samite_ledger::Guard;
use samite_memory::{Ended, Standing, Standings};
use samite_model::memory::{Decided, MemorySettings, Revoked, Verdict};
use samite_model::{EntryId, EntryKind, Error, Position, RecordId, Result, SessionId, limits};
use serde::Serialize;

/// How often a decision looks again because somebody else wrote.
const TRIES: usize = 16;

/// Which source is revoked: what all that is given here is true of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevokedSource {
    /// These records.
    pub records: Vec<RecordId>,
    /// What was written in this session.
    pub session: Option<SessionId>,
    /// What this step brought, by its started entry.
    pub step: Option<EntryId>,
    /// What comes from this address, path or tool.
    pub source: Option<String>,
    /// What this agent wrote.
    pub agent: Option<String>,
    /// What was written at this time or later, in nanoseconds since 1970.
    pub since: Option<i64>,
}

impl RevokedSource {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn matches(&self, standing: &Standing) -> bool {
        let from = &standing.record.provenance;
        (self.records.is_empty() || self.records.contains(&standing.record.record))
            && self.session.is_none_or(|session| from.session == Some(session))
            && self.step.is_none_or(|step| from.step == Some(step))
            && self.source.as_ref().is_none_or(|source| from.source.as_ref() == Some(source))
            && self.agent.as_ref().is_none_or(|agent| from.writer.agent == *agent)
            && self.since.is_none_or(|since| standing.recorded >= since)
    }
}

/// What a revocation retires.
#[derive(Clone, Debug, Default)]
pub struct Revocation {
    /// What comes from the source itself.
    pub direct: Vec<Standing>,
    /// What was made of that, and so on.
    pub derived: Vec<Standing>,
    /// What stands again, since only what goes had taken its place.
    pub back: Vec<Standing>,
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
        let standings = self.standings(None).await?;
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
        let direct: Vec<RecordId> =
            standings.all().iter().filter(|one| source.matches(one)).map(|one| one.record.record).collect();
        let all = standings.derived_from(&direct);
        let found = |record: &RecordId| standings.get(*record).cloned();
        let back = brought_back(&standings, &all);
        let derived = all.iter().filter(|record| !direct.contains(record)).filter_map(found).collect();
        let direct = direct.iter().filter_map(found).collect();
        Ok(Revocation { direct, derived, back, head: state.head })
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
            let going = plan.direct.iter().chain(&plan.derived);
            let records: Vec<RecordId> = going.map(|one| one.record.record).collect();
            let Some(state) = self.state().await? else { return Ok(plan) };
            if records.is_empty() {
                return Ok(plan);
            }
            let revoked = Revoked { records, reason: reason.to_owned() };
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
fn brought_back(standings: &Standings, records: &[RecordId]) -> Vec<Standing> {
    let mut after = standings.clone();
    let at = Position { journal: samite_model::JournalId([0; 16]), seq: u64::MAX };
    let revoked = Revoked { records: records.to_vec(), reason: String::new() };
    after.apply(at, 0, samite_model::memory::Operation::Revoked(revoked));
    let ended = |standing: &&Standing| matches!(standing.ended, Some((Ended::Replaced { .. }, _)));
    let stands = |record: RecordId| after.get(record).is_some_and(|standing| standing.ended.is_none());
    standings.all().iter().filter(ended).filter(|one| stands(one.record.record)).cloned().collect()
}
