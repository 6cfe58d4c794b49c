//! Searching a namespace, and what was found by whom and when.

use super::Memory;
use super::query::{RecordedIn, no_record};
use super::vectors::Behind;
use crate::views::{IndexHash, Projection};
use samite_ledger::{Append, Commit, Read};
use samite_memory::Standing;
use samite_memory::search::{Index, Listed, Scored, Wanted, lists, score};
use samite_model::memory::{MemorySettings, RecordKind, Searched, Treatment, Trust, Verdict, WriterName};
use samite_model::{EntryKind, Error, FamilyId, Position, RecordId, Result, SpaceId};
use serde_json::Value;
use std::collections::HashSet;

/// A list has at most so many places.
const LIMIT: usize = 1000;

/// A question has at most so many bytes.
const QUESTION: usize = 1 << 20;

const PAGE: usize = 512;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// The question, as it was typed: there are no operators. An empty one finds what is newest.
    pub text: String,
    /// So many records at most, 1 to 1,000; of what is apart a share of that comes beside.
    pub limit: usize,
    /// Leave so many of the best out, which were on pages before.
    pub skip: usize,
    /// Of these kinds; none means of all.
    pub kinds: Vec<RecordKind>,
    /// Of these classes of trust; none means of all.
    pub trusts: Vec<Trust>,
    /// With exactly these values in their metadata.
    pub metadata: Vec<(String, Value)>,
    /// As it stood then; a next page is to give the seq of the first.
    pub recorded: Option<RecordedIn>,
    /// What holds at this time, in nanoseconds since 1970; none means now.
    pub valid_at: Option<i64>,
    /// Follow so many edges from the best records.
    pub hops: u32,
}

impl Search {
    /// A question of which nothing else is said: ten records.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            limit: 10,
            skip: 0,
            kinds: Vec::new(),
            trusts: Vec::new(),
            metadata: Vec::new(),
            recorded: None,
            valid_at: None,
            hops: 0,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.limit == 0 || self.limit > LIMIT {
            return Err(Error::invalid("bad_limit", format!("a list has 1 to {LIMIT} places, not {}", self.limit))
                .hint("ask for the next page instead"));
        }
        if self.text.len() > QUESTION {
            return Err(Error::invalid(
                "text_too_long",
                format!("the question has {} bytes; at most {QUESTION}", self.text.len()),
            )
            .hint("ask for less at once"));
        }
        Ok(())
    }

    pub(super) fn wants(&self, standing: &Standing) -> bool {
        let record = &standing.record;
        (self.kinds.is_empty() || self.kinds.contains(&record.kind))
            && (self.trusts.is_empty() || self.trusts.contains(&record.provenance.trust))
            && self.metadata.iter().all(|(name, value)| record.metadata.get(name) == Some(value))
    }
}

/// A record that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundRecord {
    /// The record.
    pub standing: Standing,
    /// Its score, and what that is made of.
    pub scored: Scored,
    /// The edges that led to it from a record that was found by itself; none where it was found so.
    pub over: Vec<RecordId>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// The best records, of classes that are open.
    pub records: Vec<FoundRecord>,
    /// Those of classes that are kept apart.
    pub apart: Vec<FoundRecord>,
    /// The namespace's seq up to which records were seen.
    pub seq: u64,
    /// Where that is recorded; none where there was nothing to see.
    pub recorded: Option<Position>,
    /// What was searched by vectors, and what has none yet.
    pub spaces: Vec<SpaceId>,
    /// What has no vector yet, where it was to be searched by vectors.
    pub behind: Behind,
    /// How many places of the ranking were passed: what the next page leaves out.
    pub next: Option<usize>,
}

/// A search that found a record, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenBy {
    /// Where it is recorded.
    pub at: Position,
    /// When, in nanoseconds since 1970.
    pub time: i64,
    /// What was found.
    pub searched: Searched,
}

/// Which searches are listed.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Those that found this record.
    pub record: Option<RecordId>,
    /// Those that asked this very question.
    pub text: Option<String>,
    /// Those by this agent.
    pub agent: Option<String>,
    /// Those at this time or later, in nanoseconds since 1970.
    pub since: Option<i64>,
}

impl Memory {
    /// The records that answer a question best. That they were found, and by whom, is durable when this returns.
    ///
    /// # Errors
    /// `invalid`: `bad_limit`, `text_too_long`; `not_found` (`no_position`); `unavailable` where it cannot be recorded, and then nothing
    /// is answered; `corrupt` naming the entry that cannot be read.
    pub async fn search(&self, search: &Search) -> Result<Recalled> {
        search.check()?;
        if self.state().await?.is_none() {
            // What a branch wrote for itself is there before the namespace is.
            return if self.on.is_some() { self.recall(search).await } else { Ok(Recalled::default()) };
        }
        let mut found = self.recall(search).await?;
        let ids = |list: &[FoundRecord]| list.iter().map(|one| one.standing.record.record).collect();
        let (records, apart) = (ids(&found.records), ids(&found.apart));
        found.recorded = Some(self.record_search(&search.text, &found, records, apart).await?);
        Ok(found)
    }

    pub(super) async fn recall(&self, search: &Search) -> Result<Recalled> {
        let erasures = self.client.core.settled_erasures().await?;
        let view = self.view(search.recorded, true).await?;
        let standings = &*view.standings;
        let time = search.valid_at.unwrap_or_else(|| match search.recorded {
            Some(RecordedIn::Time(time)) => time,
            _ => self.client.core.now(),
        });
        let (journal, _) = self.client.core.memory_state(self.client.subject.pseudonym, &self.namespace).await?;
        // Whatever is asked about, vectors are those of now.
        let encoders = if self.until.is_some() || search.recorded.is_some() {
            self.encoders(self.shared(false).await?.standings.models()).await?
        } else {
            self.encoders(standings.models()).await?
        };
        let mut index = Index::clone(&view.index);
        let mut behind = self.vectors(journal, erasures, standings, (&mut index, &encoders)).await;
        view.keep_vectors(&index);
        // Who cannot be asked by its vector is asked by its words.
        let (vectors, failed) = Self::question_vectors(&search.text, &encoders, &index);
        behind.failed = failed.or(behind.failed);
        let spaces: Vec<SpaceId> = vectors.iter().map(|(space, _)| *space).collect();
        let vectors: Vec<(SpaceId, &[f32])> =
            vectors.iter().map(|(space, vector)| (*space, vector.as_slice())).collect();
        let wanted = Wanted { text: &search.text, vectors: &vectors };
        // Each by itself: what is apart has no influence on the others.
        let open = score(&index, &view.visible(Treatment::Open, time), &wanted)?;
        let apart = score(&index, &view.visible(Treatment::Apart, time), &wanted)?;
        let chosen = |ranked: Vec<Scored>| -> Vec<Scored> {
            let is_wanted =
                |one: &Scored| standings.all().get(one.document as usize).is_some_and(|one| search.wants(one));
            ranked.into_iter().filter(is_wanted).collect()
        };
        let (open, apart) = (chosen(open), chosen(apart));
        let of = |document: u32| {
            let standing = standings.all().get(document as usize)?;
            Some((standing.record.record, &standing.record.provenance))
        };
        let page = (search.skip, search.limit);
        let Listed { open: best, apart: beside, more } = lists(&open, &apart, standings.settings(), page, of);
        let found = |list: Vec<(RecordId, Scored)>| -> Vec<FoundRecord> {
            let of = |(record, scored): (RecordId, Scored)| {
                Some(FoundRecord { standing: standings.get(record)?.clone(), scored, over: Vec::new() })
            };
            list.into_iter().filter_map(of).collect()
        };
        let next = more.then_some(search.skip + best.len());
        let (records, apart) = (found(best), found(beside));
        let seq = match search.recorded {
            Some(RecordedIn::Seq(seq)) => seq,
            _ => view.seq,
        };
        let mut recalled = Recalled { records, apart, seq, recorded: None, spaces, behind, next };
        if search.hops > 0 {
            super::edges::follow(standings, time, search, &mut recalled);
        }
        Ok(recalled)
    }

    pub(super) async fn record_search(
        &self,
        text: &str,
        found: &Recalled,
        records: Vec<RecordId>,
        apart: Vec<RecordId>,
    ) -> Result<Position> {
        let core = &self.client.core;
        let owner = self.client.subject.pseudonym;
        let (journal, _) = core.memory_state(owner, &self.namespace).await?;
        let principal = self.client.principal();
        let searched = Searched {
            query: self.question(journal, text)?,
            seq: found.seq,
            on: self.on,
            by: WriterName {
                user: principal.user.clone(),
                agent: principal.agent.clone(),
                workload: principal.workload.clone(),
            },
            records,
            apart,
            spaces: found.spaces.clone(),
        };
        let journal = self.searches(journal);
        let draft = core.draft(EntryKind::MEMORY_SEARCHED, &searched, Projection::default())?;
        let entry = core.seal(journal, &self.client.author(0), draft)?;
        let appends = vec![Append { journal, entries: vec![entry] }];
        let receipt = core.0.ledger.commit(Commit { appends, ..Commit::default() }).await?;
        let seq = receipt.first_seqs.first().copied();
        let seq = seq.ok_or_else(|| Error::internal("no_receipt", "a commit answered with no seq"))?;
        Ok(Position { journal, seq })
    }

    fn question(&self, journal: samite_model::JournalId, text: &str) -> Result<samite_model::Fingerprint> {
        let hash = self.client.core.hasher(self.client.subject.pseudonym, FamilyId(journal.0));
        hash.hash("memory-question", &[text.as_bytes()]).map(samite_model::Fingerprint)
    }

    /// The searches of the namespace, oldest first.
    ///
    /// # Errors
    /// `not_found` (`no_record`) for a record that is not in the namespace; `corrupt` naming the entry that cannot be read.
    pub async fn seen(&self, which: &Seen) -> Result<Vec<SeenBy>> {
        let core = &self.client.core;
        let (journal, state) = core.memory_state(self.client.subject.pseudonym, &self.namespace).await?;
        if let Some(record) = which.record {
            self.standings(None).await?.get(record).ok_or_else(|| no_record(record))?;
        }
        let own = self.searches(journal);
        let (Some(_), Some(state)) = (state, core.0.ledger.journal(own).await?) else { return Ok(Vec::new()) };
        let question = which.text.as_deref().map(|text| self.question(journal, text)).transpose()?;
        let mut all = Vec::new();
        let mut from = 1;
        while from <= state.head {
            let page = core.0.ledger.read(Read { limit: PAGE, ..Read::range(own, from, state.head) }).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for stored in &page {
                let entry = core.open(own, stored)?;
                if entry.payload.is_none() || entry.header.kind != EntryKind::MEMORY_SEARCHED {
                    continue;
                }
                let searched: Searched = entry.json()?;
                let found = |record: RecordId| searched.records.contains(&record) || searched.apart.contains(&record);
                if which.record.is_none_or(found)
                    && question.is_none_or(|question| searched.query == question)
                    && which.agent.as_ref().is_none_or(|agent| searched.by.agent == *agent)
                    && which.since.is_none_or(|since| entry.header.time >= since)
                {
                    all.push(SeenBy { at: entry.position, time: entry.header.time, searched });
                }
            }
        }
        Ok(all)
    }

    /// What a record was made of, what that was made of, and so on, the record first; then what was made of it.
    ///
    /// # Errors
    /// `not_found` (`no_record`) when there is none in this namespace.
    pub async fn made_of(&self, record: RecordId) -> Result<(Vec<Standing>, Vec<Standing>)> {
        let standings = self.standings(None).await?;
        standings.get(record).ok_or_else(|| no_record(record))?;
        let mut above = vec![record];
        let mut known: HashSet<RecordId> = HashSet::from([record]);
        let mut next = 0;
        while let Some(one) = above.get(next).copied() {
            next += 1;
            let inputs = standings.get(one).map(|one| one.record.provenance.inputs.clone()).unwrap_or_default();
            above.extend(inputs.into_iter().filter(|input| known.insert(*input)));
        }
        let all = |ids: Vec<RecordId>| ids.into_iter().filter_map(|id| standings.get(id).cloned()).collect();
        let below = standings.derived_from(&[record]).into_iter().filter(|one| *one != record).collect();
        Ok((all(above), all(below)))
    }
}

/// How a record is treated: what somebody approved is like any other, but that no source has more than its share.
pub(super) fn treatment_of(standing: &Standing, settings: &MemorySettings) -> Treatment {
    if standing.verdict == Some(Verdict::Approved) {
        return Treatment::Open;
    }
    settings.treatment(standing.record.provenance.trust)
}
