//! Writing to a namespace. Each write says which record it ends, and is refused when that has ended before.

use super::{Memory, views};
use crate::core::FamilyHash;
use samite_ledger::{JournalState, RowQuery};
use samite_memory::{Standing, Standings};
use samite_model::access::Right;
use samite_model::memory::{
    Asserted, Changed, Edge, Extractor, Pinned, Provenance, Record, RecordKind, Replaces, Retracted, Span, Trust,
    Validity, WriterName,
};
use samite_model::{
    BranchId, EntryId, EntryKind, Error, FamilyId, Fingerprint, JournalId, Position, RecordId, Result, SessionId,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// How often a write looks again because somebody else wrote.
const TRIES: usize = 8;

/// A record to be written.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// What it is.
    pub kind: RecordKind,
    /// What it says.
    pub text: String,
    /// What else is to be known of it.
    pub metadata: Map<String, Value>,
    /// The relation, where it is one.
    pub edge: Option<Edge>,
    /// When what it says is so.
    pub valid: Validity,
    /// The record before it in what it is a part of.
    pub previous: Option<RecordId>,
    /// How far its source is trusted; what was made of other records is never trusted more than they are.
    pub trust: Trust,
    /// The session, branch and step that it comes from.
    pub from: Option<(SessionId, BranchId, Option<EntryId>)>,
    /// The entries that it was made of.
    pub entries: Vec<Span>,
    /// The records that it was made of.
    pub inputs: Vec<RecordId>,
    /// Where that came from: an address, a path, a tool.
    pub source: Option<String>,
    /// What made it.
    pub extractor: Option<Extractor>,
}

impl NewRecord {
    /// A record of which nothing else is said.
    pub fn new(kind: RecordKind, text: impl Into<String>, trust: Trust) -> Self {
        Self {
            kind,
            text: text.into(),
            metadata: Map::new(),
            edge: None,
            valid: Validity::default(),
            previous: None,
            trust,
            from: None,
            entries: Vec::new(),
            inputs: Vec::new(),
            source: None,
            extractor: None,
        }
    }
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The record.
    pub record: RecordId,
    /// The entry that it is in.
    pub at: Position,
    /// Whether it was there already.
    pub duplicate: bool,
}

impl Memory {
    /// Writes a record. What says the same, of the same kind, trust and source, and has not ended, is no second record, whoever of
    /// several wrote it first; that it was said in another session, step or by another agent too, or made of other records, is kept.
    /// When this returns, it is durable.
    ///
    /// # Errors
    /// `invalid` as [`Record::check`] says; `denied` (`not_pinnable`) for a pinned one that nobody vouches for; `not_found`
    /// (`no_record`) naming a record that it is said to be made of; `unavailable` (`store_busy`) when others kept writing the same.
    pub async fn assert(&self, new: &NewRecord) -> Result<Written> {
        let record = self.record(new, self.trusts(new).await?)?;
        self.put(record, None).await
    }

    /// Writes a record in the place of one that was so until now. When this returns, it is durable.
    ///
    /// # Errors
    /// As [`Memory::assert`]; `not_found` (`no_record`), and `conflict` (`record_ended`) naming what took its place, when that has
    /// ended already; `denied`: `not_vouched_for` where the user or an operator stands behind it and the principal does not speak for
    /// them, `less_trusted` where the new one is trusted less.
    pub async fn supersede(&self, replaced: RecordId, new: &NewRecord) -> Result<Written> {
        let record = self.record(new, self.trusts(new).await?)?;
        self.put(record, Some((replaced, Changed::Superseded))).await
    }

    /// Writes a record in the place of one that was never so. When this returns, it is durable.
    ///
    /// # Errors
    /// As [`Memory::supersede`].
    pub async fn correct(&self, replaced: RecordId, new: &NewRecord) -> Result<Written> {
        let record = self.record(new, self.trusts(new).await?)?;
        self.put(record, Some((replaced, Changed::Corrected))).await
    }

    /// Says that a record does not hold any more; it stays in the history. When this returns, that is durable.
    ///
    /// # Errors
    /// As [`Memory::supersede`] of the record.
    pub async fn retract(&self, record: RecordId, reason: Option<&str>) -> Result<Position> {
        for _ in 0..TRIES {
            let life = self.life(record, None).await?;
            let state = self.state().await?.ok_or_else(|| super::query::no_record(record))?;
            let retracted = Retracted { namespace: None, record, life, reason: reason.map(str::to_owned) };
            let hash = self.hasher(&state);
            let ended = views::ended_row(&hash, record, life)?;
            let views = views::retracted(&hash, &retracted)?;
            let draft = self.client.core.draft(EntryKind::MEMORY_RETRACTED, &retracted, views)?;
            let mut guards = vec![Self::absent(state.id, ended)];
            guards.extend(self.not_forgotten(state.id, &[record]).await?);
            match self.append(vec![draft], guards).await {
                // Somebody ended it meanwhile.
                Err(error) if error.code() == "row_exists" => {}
                other => return only(&other?),
            }
        }
        Err(busy())
    }

    /// Pins a record, so that it is in every prompt, or unpins it. When this returns, that is durable.
    ///
    /// # Errors
    /// `not_found` (`no_record`); `conflict` (`record_ended`); `denied` (`not_pinnable`) for one that nobody vouches for.
    pub async fn pin(&self, record: RecordId, pinned: bool) -> Result<Position> {
        let state = self.state().await?.ok_or_else(|| super::query::no_record(record))?;
        let guard = self.not_forgotten(state.id, &[record]).await?;
        let standings = self.shared_standings().await?;
        let standing = standings.get(record).ok_or_else(|| super::query::no_record(record))?;
        super::query::check_stands(standing)?;
        let trust = standing.record.provenance.trust;
        if pinned && !trust.may_be_pinned() {
            return Err(samite_model::memory::not_pinnable(trust));
        }
        self.check_may_end(standing, None)?;
        let draft = Pinned { namespace: None, record, pinned };
        let draft = self.client.core.draft(EntryKind::MEMORY_PINNED, &draft, crate::views::Projection::default())?;
        match self.append(vec![draft], guard.into_iter().collect()).await {
            Err(error) if error.code() == "row_exists" => Err(super::query::no_record(record)),
            other => only(&other?),
        }
    }

    /// The record as it would be stored.
    pub(super) fn record(&self, new: &NewRecord, trusts: Vec<Trust>) -> Result<Record> {
        let principal = self.client.principal();
        let (session, branch, step) = match new.from {
            Some((session, branch, step)) => (Some(session), Some(branch), step),
            None => (None, None, None),
        };
        let record = Record {
            record: RecordId(self.client.core.random_id()?),
            kind: new.kind,
            text: new.text.clone(),
            metadata: new.metadata.clone(),
            edge: new.edge.clone(),
            valid: new.valid,
            previous: new.previous,
            provenance: Provenance {
                session,
                branch,
                entries: new.entries.clone(),
                step,
                inputs: new.inputs.clone(),
                source: new.source.clone(),
                extractor: new.extractor.clone(),
                writer: WriterName {
                    user: principal.user.clone(),
                    agent: principal.agent.clone(),
                    workload: principal.workload.clone(),
                },
                trust: new.trust.derived(trusts),
            },
        };
        record.check()?;
        self.vouch(new.trust)?;
        Ok(record)
    }

    /// How far the records are trusted that another is made of.
    async fn trusts(&self, new: &NewRecord) -> Result<Vec<Trust>> {
        let mut trusts = Vec::new();
        if let Some(state) = self.state().await? {
            for input in &new.inputs {
                trusts.push(self.trust_of(&state, *input).await?);
            }
        } else if let Some(input) = new.inputs.first() {
            return Err(super::query::no_record(*input));
        }
        Ok(trusts)
    }

    /// Refuses what somebody says in the name of those who may pin it, without a right that agents do not have by themselves.
    fn vouch(&self, trust: Trust) -> Result<()> {
        self.vouch_for(trust, "what is said in the name of", "write it as what a model concluded: --trust model")
    }

    /// Refuses to end, or to pin, what somebody stands behind whom the principal does not speak for; and to put in its place what is
    /// trusted less.
    pub(super) fn check_may_end(&self, standing: &Standing, by: Option<Trust>) -> Result<()> {
        let trust = standing.record.provenance.trust;
        self.vouch_for(trust, "to end or pin what is said in the name of", "write what you found beside it")?;
        match by {
            Some(by) if by < trust => Err(Error::denied(
                "less_trusted",
                format!("what comes from {by} does not take the place of what {trust} stands behind"),
            )
            .hint(format!(
                "write it beside record {}, or stand behind it: --trust {trust}",
                standing.record.record.short()
            ))),
            _ => Ok(()),
        }
    }

    fn vouch_for(&self, trust: Trust, what: &str, hint: &str) -> Result<()> {
        let authority = &self.client.authority;
        // Who was let into another's session speaks for themselves alone.
        let is_own = self.client.subject.pseudonym == authority.subject;
        let decision = match trust {
            Trust::User => authority.own_right(Right::Manage),
            Trust::Operator => authority.on_tenant(Right::Operate),
            Trust::Web | Trust::Tool | Trust::Model => return Ok(()),
        };
        if decision.is_allowed() && (is_own || trust != Trust::User) {
            return Ok(());
        }
        let right = if trust == Trust::User { Right::Manage } else { Right::Operate };
        Err(Error::denied("not_vouched_for", format!("{what} the {trust} needs the right to {right}")).hint(hint))
    }

    async fn put(&self, record: Record, replaced: Option<(RecordId, Changed)>) -> Result<Written> {
        let core = &self.client.core;
        core.refresh_redactor().await?;
        let (mut after, mut tries, mut standings, mut again) = (None, 0, None, None);
        while tries < TRIES {
            let (journal, state) = core.memory_state(self.client.subject.pseudonym, &self.namespace).await?;
            let hash = core.hasher(self.client.subject.pseudonym, FamilyId(journal.0));
            let content = views::content(&hash, &record, after)?;
            if let Some(state) = &state
                && let Some((known, at)) = self.found(state, views::content_row(content)).await?
            {
                // What is there is what was just written, and its acknowledgement was lost.
                if known == record.record {
                    return Ok(Written { record: known, at, duplicate: false });
                }
                // The same was said before: it is that, or it comes after that has ended.
                let standings: &Arc<Standings> = match &mut standings {
                    Some(known) => known,
                    none => none.insert(self.shared_standings().await?),
                };
                match standings.get(known) {
                    Some(standing) if standing.ended.is_none() => {
                        let known = standing.record.record;
                        match replaced {
                            Some((replaced, _)) if replaced == known => return Err(unchanged(known)),
                            // Who asked for a replacement gets one, and not two that say the same.
                            Some(_) => return Err(said_already(known)),
                            None => {}
                        }
                        let there = Written { record: known, at, duplicate: true };
                        if standing.was_said(&record.provenance) {
                            return Ok(there);
                        }
                        (tries, again) = (tries + 1, Some((known, standing.lives, there)));
                    }
                    found => {
                        after = Some(found.map_or(known, |standing| standing.record.record));
                        continue;
                    }
                }
            }
            if let Some((known, life, there)) = again.take() {
                standings = None;
                match self.say_again(journal, &hash, &record, (known, life, content)).await {
                    Err(error) if matches!(error.code(), "row_exists" | "outcome_unknown") => continue,
                    other => return other.map(|_| there),
                }
            }
            // Only what others do meanwhile counts, not how often the same was said and ended before.
            (tries, standings) = (tries + 1, None);
            let mut guards = vec![Self::absent(journal, views::content_row(content))];
            guards.extend(self.not_said_again(journal, &record, replaced.map(|(replaced, _)| replaced)).await?);
            let mut asserted =
                Asserted { namespace: None, record: record.clone(), replaces: None, content, origin: None };
            if let Some((ended, changed)) = replaced {
                let life = self.life(ended, Some(asserted.record.provenance.trust)).await?;
                guards.push(Self::absent(journal, views::ended_row(&hash, ended, life)?));
                asserted.replaces = Some(Replaces { record: ended, changed, life });
            }
            let views = views::asserted(&hash, &asserted)?;
            let draft = core.draft(EntryKind::MEMORY_ASSERTED, &asserted, views)?;
            match self.append(vec![draft], guards).await {
                // Somebody else said the same, ended what is to be replaced, or made the journal.
                Err(error) if matches!(error.code(), "row_exists" | "journal_exists" | "outcome_unknown") => {}
                Err(error) if crate::writer::is_collected(&error) => {}
                other => return Ok(Written { record: record.record, at: only(&other?)?, duplicate: false }),
            }
        }
        Err(busy())
    }

    /// Writes that a record was said by somebody else too, so that it stays when the source is revoked that said it first.
    async fn say_again(
        &self,
        journal: JournalId,
        hash: &FamilyHash<'_>,
        record: &Record,
        (known, life, content): (RecordId, u32, Fingerprint),
    ) -> Result<Position> {
        let mut guards = vec![Self::absent(journal, views::ended_row(hash, known, life)?)];
        guards.extend(self.not_said_again(journal, record, Some(known)).await?);
        let asserted = Asserted { namespace: None, record: record.clone(), replaces: None, content, origin: None };
        let views = views::asserted(hash, &asserted)?;
        let draft = self.client.core.draft(EntryKind::MEMORY_ASSERTED, &asserted, views)?;
        only(&self.append(vec![draft], guards).await?)
    }

    /// Which life of a record is to be ended, perhaps by another that is trusted so far.
    async fn life(&self, record: RecordId, by: Option<Trust>) -> Result<u32> {
        let standings = self.shared_standings().await?;
        let standing = standings.get(record).ok_or_else(|| super::query::no_record(record))?;
        super::query::check_stands(standing)?;
        self.check_may_end(standing, by)?;
        Ok(standing.lives)
    }

    pub(super) fn hasher(&self, state: &JournalState) -> FamilyHash<'_> {
        self.client.core.hasher(self.client.subject.pseudonym, state.family)
    }

    /// The record that a row names, and where it is.
    async fn found(&self, state: &JournalState, row: views::MemoryRow) -> Result<Option<(RecordId, Position)>> {
        let at = Position { journal: state.id, seq: state.head };
        let query = RowQuery { at, kind: row.kind, hashes: vec![row.hash], limit: 1 };
        let found = self.client.core.0.ledger.rows(query).await?;
        found.first().map(|row| Ok((RecordId::from_slice(&row.value)?, row.position))).transpose()
    }

    /// How far a record is trusted that another is made of.
    async fn trust_of(&self, state: &JournalState, record: RecordId) -> Result<Trust> {
        let at = Position { journal: state.id, seq: state.head };
        let kind = crate::views::row::MEMORY_RECORD;
        let query = RowQuery { at, kind, hashes: vec![*record.as_bytes()], limit: 1 };
        let core = &self.client.core;
        let Some(found) = core.0.ledger.rows(query).await?.into_iter().next() else {
            return Err(super::query::no_record(record));
        };
        let entry = core.whole(core.entry_at(found.position).await?)?;
        if entry.payload.is_none() {
            return Err(super::query::no_record(record));
        }
        Ok(entry.json::<Asserted>()?.record.provenance.trust)
    }
}

fn only(positions: &[Position]) -> Result<Position> {
    positions.first().copied().ok_or_else(|| Error::internal("no_receipt", "nothing came of a write"))
}

pub(super) fn busy() -> Error {
    Error::unavailable("store_busy", "others kept writing the same to this namespace").hint("try again")
}

pub(super) fn unchanged(record: RecordId) -> Error {
    Error::conflict("record_unchanged", format!("record {} says that already", record.short()))
        .hint("give another text, or leave it as it is")
}

pub(super) fn said_already(record: RecordId) -> Error {
    Error::conflict("record_exists", format!("record {} says that already", record.short()))
        .hint("retract the one that does not hold any more instead of replacing it")
}
