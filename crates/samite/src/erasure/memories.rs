//! Long-term memory in an erasure: what there is of it, what of it goes, and what tells it when it would come back.

use crate::core::Core;
use crate::memory::Operation;
use crate::payload::ErasureStarted;
use crate::views::{IndexHash as _, row};
use samite_ledger::{Guard, JournalFilter, JournalKind, JournalState, Read, RowQuery};
use samite_model::erasure::{Facts, RecordFacts, Run, RunSet, SaidFacts, Scope, plan};
use samite_model::memory::{Edge, Namespace, Opened, Promoted, Record};
use samite_model::{EntryId, EntryKind, Error, FamilyId, JournalId, Position, Pseudonym, RecordId, Result};
use serde_json::json;
use std::collections::{HashMap, HashSet};

const PAGE: usize = 512;

/// The error for a namespace of which there is nothing.
pub(super) fn empty_namespace() -> Error {
    Error::not_found("empty_namespace", "there is nothing in this namespace")
        .hint("`samite memory stats` lists those of a user; names are compared letter by letter")
}

/// The error of who would write again what somebody had forgotten.
pub(crate) fn record_forgotten() -> Error {
    Error::denied("record_forgotten", "a record of this namespace that said this very thing was forgotten")
        .hint("it comes back only when somebody says it who may speak for the user: --trust user")
}

/// Which namespace an operation on a branch is about.
fn namespace_of(operation: &Operation) -> Option<&Namespace> {
    match operation {
        Operation::Asserted(said) => said.namespace.as_ref(),
        Operation::Retracted(said) => said.namespace.as_ref(),
        Operation::Pinned(said) => said.namespace.as_ref(),
        Operation::Decided(_) | Operation::Revoked(_) | Operation::Settled(_) | Operation::Model(_) => None,
    }
}

/// The records that an operation is about, beside one that it asserts.
fn about(operation: Operation) -> Vec<RecordId> {
    match operation {
        Operation::Asserted(_) | Operation::Settled(_) | Operation::Model(_) => Vec::new(),
        Operation::Retracted(said) => vec![said.record],
        Operation::Pinned(said) => vec![said.record],
        Operation::Decided(said) => said.records,
        Operation::Revoked(said) => said.records,
    }
}

/// Where entries of branches lie that were named by a branch which may have inherited them.
#[derive(Default)]
struct Places {
    /// The segments of each branch at its head, where there is such a branch.
    segments: HashMap<JournalId, Vec<Run>>,
    /// Starts of steps that are erased.
    steps: HashMap<EntryId, Position>,
}

impl Places {
    async fn find(&mut self, core: &Core, at: Position) -> Result<Position> {
        let known = if let Some(known) = self.segments.remove(&at.journal) {
            known
        } else if let Some(state) = core.0.ledger.journal(at.journal).await? {
            let segments = core.ancestry(Position { journal: state.id, seq: state.head }).await?;
            segments.iter().map(|one| Run { journal: one.journal, first: one.from, last: one.to }).collect()
        } else {
            Vec::new()
        };
        let within = known.iter().find(|run| (run.first..=run.last).contains(&at.seq));
        let found = within.map_or(at, |run| Position { journal: run.journal, seq: at.seq });
        self.segments.insert(at.journal, known);
        Ok(found)
    }
}

impl Core {
    /// The records that there are, what was said of them, and, where a namespace is meant, what of it is on branches. The name of
    /// the namespace is looked up where it is not known.
    pub(super) async fn record_facts(
        &self,
        states: &[JournalState],
        scope: &Scope,
        subject: Pseudonym,
        facts: &mut Facts,
    ) -> Result<()> {
        let mut places = Places::default();
        if let Scope::Entries { from, to, .. } = scope {
            for run in &facts.named {
                let (first, last) = (run.first.max(*from), run.last.min(*to));
                if let Some(state) = self.0.ledger.journal(run.journal).await?.filter(|_| first <= last) {
                    for (at, header) in self.headers_of(&state, vec![EntryKind::STEP_STARTED]).await? {
                        if (first..=last).contains(&at.seq) {
                            places.steps.insert(header.id, at);
                        }
                    }
                }
            }
        }
        let meant = match scope {
            Scope::Memory { journal } => self.namespace_at(*journal).await?,
            _ => None,
        };
        let mut kinds = Operation::KINDS.to_vec();
        for state in states.iter().filter(|state| state.kind == JournalKind::Memory) {
            for entry in self.entries_of(state, kinds.clone()).await? {
                let Some(payload) = &entry.payload else { continue };
                if let Some(operation) = parse(entry.header.kind, payload, entry.position)? {
                    self.add_record(operation, entry.position, state.owner, &mut places, facts).await?;
                }
            }
        }
        kinds.push(EntryKind::MEMORY_PROMOTED);
        for state in states.iter().filter(|state| state.kind == JournalKind::Branch) {
            for entry in self.entries_of(state, kinds.clone()).await? {
                let Some(payload) = &entry.payload else { continue };
                let at = entry.position;
                let mine = state.owner == subject && meant.is_some();
                let run = Run { journal: at.journal, first: at.seq, last: at.seq };
                if entry.header.kind == EntryKind::MEMORY_PROMOTED {
                    if mine && Some(&entry.json::<Promoted>()?.namespace) == meant.as_ref() {
                        facts.named.push(run);
                    }
                    continue;
                }
                let Some(operation) = parse(entry.header.kind, payload, at)? else { continue };
                if mine && namespace_of(&operation) == meant.as_ref() {
                    facts.named.push(run);
                }
                self.add_record(operation, at, state.owner, &mut places, facts).await?;
            }
        }
        Ok(())
    }

    async fn add_record(
        &self,
        operation: Operation,
        at: Position,
        owner: Pseudonym,
        places: &mut Places,
        facts: &mut Facts,
    ) -> Result<()> {
        let asserted = match operation {
            Operation::Asserted(asserted) => asserted,
            other => {
                let revokes = matches!(other, Operation::Revoked(_));
                let of = about(other);
                if !of.is_empty() {
                    facts.said.push(SaidFacts { at, of, revokes });
                }
                return Ok(());
            }
        };
        let provenance = asserted.record.provenance;
        let mut entries = Vec::with_capacity(provenance.entries.len());
        for span in &provenance.entries {
            entries.push(places.find(self, span.position).await?);
        }
        entries.extend(provenance.step.and_then(|step| places.steps.get(&step)));
        facts.records.push(RecordFacts {
            record: asserted.record.record,
            owner,
            at,
            session: provenance.session,
            entries,
            inputs: provenance.inputs,
            origin: asserted.origin,
            content: asserted.content,
        });
        Ok(())
    }

    /// The name of a namespace, where its journal is there and can be read.
    async fn namespace_at(&self, journal: JournalId) -> Result<Option<Namespace>> {
        if self.0.ledger.journal(journal).await?.is_none_or(|state| state.head == 0) {
            return Ok(None);
        }
        let first = self.readable(Position { journal, seq: 1 }).await?;
        Ok(first.map(|entry| entry.json::<Opened>()).transpose()?.map(|opened| opened.namespace))
    }

    /// Of an erasure of records that another copy of the store recorded, what is here of them at other places: what was made of
    /// them in this copy, and said about them.
    pub(super) async fn records_here(&self, noted: &ErasureStarted) -> Result<Vec<Run>> {
        let Scope::Records { .. } = noted.scope else { return Ok(Vec::new()) };
        let facts = self.erasure_facts(&noted.scope, noted.subject, &[]).await;
        let mut facts = match facts {
            Err(error) if error.kind() == samite_model::ErrorKind::NotFound => return Ok(Vec::new()),
            facts => facts?,
        };
        facts.asked.clone_from(&noted.records);
        Ok(plan(&noted.scope, noted.subject, &facts, &[]).runs)
    }

    /// How many entries among these say a record, and are there.
    pub(crate) async fn count_records(&self, runs: &[Run]) -> Result<u64> {
        let mut count = 0;
        let runs = RunSet::new(runs.iter().copied());
        for journal in runs.journals() {
            let Some(state) = self.0.ledger.journal(journal).await? else { continue };
            if !matches!(state.kind, JournalKind::Memory | JournalKind::Branch) {
                continue;
            }
            let mut from = state.parent.map_or(1, |parent| parent.seq + 1);
            while from <= state.head {
                let kinds = vec![EntryKind::MEMORY_ASSERTED];
                let read = Read { kinds, limit: PAGE, unchecked: true, ..Read::range(journal, from, state.head) };
                let page = self.0.ledger.read(read).await?;
                let Some(last) = page.last() else { break };
                from = last.seq + 1;
                let is_there = |seq| runs.has(Position { journal, seq });
                count += page.iter().filter(|one| one.payload.is_some() && is_there(one.seq)).count() as u64;
            }
        }
        Ok(count)
    }

    /// What else was said of records that go, and stays: it was said of others too, or revoked their source.
    pub(super) fn said_and_stays(facts: &Facts, records: &[RecordId]) -> u64 {
        let going: HashSet<RecordId> = records.iter().copied().collect();
        let stays = |said: &&SaidFacts| {
            let goes = said.of.iter().filter(|record| going.contains(record)).count();
            goes > 0 && (said.revokes || goes < said.of.len())
        };
        facts.said.iter().filter(stays).count() as u64
    }

    /// That nothing comes into these namespaces between a plan and its record.
    pub(super) fn namespaces_stand(facts: &Facts, runs: &[Run], close: &[JournalId]) -> Vec<Guard> {
        let journals: HashSet<JournalId> = runs.iter().map(|run| run.journal).collect();
        let stands = |one: &&samite_model::erasure::JournalFacts| {
            one.role == samite_model::erasure::Role::Memory && journals.contains(&one.id) && !close.contains(&one.id)
        };
        facts.journals.iter().filter(stands).map(|one| Guard::Head { journal: one.id, seq: one.head }).collect()
    }

    /// The hash of what a record says in a namespace, as it is stored: under its owner's key, so that it says nothing without that.
    fn says(&self, owner: Pseudonym, namespace: JournalId, text: &str, edge: Option<&Edge>) -> Result<[u8; 16]> {
        let of = self.hasher(owner, FamilyId(self.tenant_control().0));
        let said = samite_model::json::canonical(&json!({ "text": text, "edge": edge }));
        of.hash("forgotten-record", &[namespace.as_bytes(), &said])
    }

    /// The hashes of what records say that go one by one.
    pub(super) async fn record_hashes(&self, facts: &Facts, records: &[RecordId]) -> Result<Vec<FamilyId>> {
        let going: HashSet<RecordId> = records.iter().copied().collect();
        let mut hashes = Vec::new();
        for known in facts.records.iter().filter(|known| going.contains(&known.record)) {
            let Some(state) = self.0.ledger.journal(known.at.journal).await? else { continue };
            let Some(entry) = self.readable(known.at).await?.filter(|_| state.kind == JournalKind::Memory) else {
                continue;
            };
            let record = self.whole(entry)?.json::<samite_model::memory::Asserted>()?.record;
            hashes.push(FamilyId(self.says(known.owner, state.id, &record.text, record.edge.as_ref())?));
        }
        hashes.sort_unstable();
        hashes.dedup();
        Ok(hashes)
    }

    /// Refuses what names a record that was forgotten, or, where `says` is given, says what such a record said. What is committed with
    /// the guard that is returned is refused (`row_exists`) when that happens meanwhile.
    pub(crate) async fn refuse_forgotten(
        &self,
        owner: Pseudonym,
        namespace: JournalId,
        named: &[RecordId],
        says: Option<&Record>,
    ) -> Result<Option<Guard>> {
        let control = self.tenant_control();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(None) };
        let mut hashes: Vec<[u8; 16]> = named.iter().map(|record| record.0).collect();
        let mut texts = Vec::new();
        if let Some(record) = says {
            // As it was submitted, and as it would be stored.
            let stored = self.kept_words(&record.text).await?;
            for text in [&record.text, &stored] {
                texts.push(self.says(owner, namespace, text, record.edge.as_ref())?);
            }
            hashes.extend(&texts);
        }
        hashes.sort_unstable();
        hashes.dedup();
        if hashes.is_empty() {
            return Ok(None);
        }
        let at = Position { journal: control, seq: state.head };
        let query = RowQuery { at, kind: row::ERASED_RECORD, hashes: hashes.clone(), limit: usize::MAX };
        let found = self.0.ledger.rows(query).await?;
        if let Some(gone) = found.iter().find(|found| !texts.contains(&found.hash)) {
            return Err(crate::memory::no_record(RecordId(gone.hash)));
        }
        if !found.is_empty() {
            return Err(record_forgotten());
        }
        Ok(Some(Guard::RowAbsent { journal: control, kind: row::ERASED_RECORD, hashes }))
    }

    /// What changes whenever an erasure is recorded, while none is under way: what is read then, and kept, is no part of what an
    /// erasure took. None while one is.
    pub(crate) async fn settled_erasures(&self) -> Result<Option<u64>> {
        let control = self.tenant_control();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(Some(0)) };
        if self.2.is_settled(state.registers) {
            return Ok(Some(state.registers));
        }
        let (version, registers) = self.0.ledger.registers(control).await?;
        if registers.iter().any(|register| register.kind == crate::views::register::ERASING) {
            return Ok(None);
        }
        self.2.settle(version);
        Ok(Some(version))
    }

    /// Of some journals those of namespaces, and all of an owner's.
    pub(super) async fn namespaces_among(
        &self,
        journals: &HashSet<JournalId>,
        owner: Option<Pseudonym>,
    ) -> Result<Vec<JournalId>> {
        let filter = JournalFilter { kind: Some(JournalKind::Memory), ..JournalFilter::default() };
        let all = self.0.ledger.journals(filter).await?;
        let is_one = |state: &&JournalState| journals.contains(&state.id) || owner == Some(state.owner);
        Ok(all.iter().filter(is_one).map(|state| state.id).collect())
    }
}

fn parse(kind: EntryKind, payload: &[u8], at: Position) -> Result<Option<Operation>> {
    Operation::parse(kind, payload).map_err(|error| {
        let place = format!("journal {}, seq {}", at.journal, at.seq);
        Error::corrupt("bad_payload", format!("{place} does not hold what its kind says")).because(error)
    })
}
