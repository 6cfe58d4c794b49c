//! Gathering what the traversal looks at.

use crate::core::Core;
use crate::log::Entry;
use crate::payload::{ArtifactRecord, ArtifactRetained, SessionCreated, SessionKeyed, StepStarted, WorkspaceAttached};
use crate::views::{OpenStep, register, row};
use samite_ledger::{JournalFilter, JournalKind, JournalState, Read, RowQuery};
use samite_model::erasure::{
    ArtifactFacts, Facts, Hold, JournalFacts, MergeFacts, Reference, Role, Run, Scope, SessionFacts,
};
use samite_model::tree::TreePath;
use samite_model::{ArtifactId, BlockId, EntryKind, ErrorKind, FamilyId, Position, Pseudonym, Result, SessionId};
use serde_json::Value;
use std::collections::hash_map::Entry as Looked;
use std::collections::{BTreeSet, HashMap, HashSet};

const PAGE: usize = 512;

const fn role(kind: JournalKind) -> Role {
    match kind {
        JournalKind::Branch => Role::Branch,
        JournalKind::SessionControl => Role::Control,
        JournalKind::TenantControl => Role::Tenant,
        JournalKind::Workspace => Role::Workspace,
        JournalKind::Memory => Role::Memory,
        JournalKind::Audit => Role::Audit,
        JournalKind::Artifacts => Role::Artifacts,
    }
}

impl Core {
    /// All that the traversal looks at, for an erasure of a subject's data.
    pub(super) async fn erasure_facts(&self, scope: &Scope, subject: Pseudonym, holds: &[Hold]) -> Result<Facts> {
        if let Scope::Secret { secret } = scope {
            return Ok(Facts { named: self.secret_runs(secret.0).await?, ..Facts::default() });
        }
        let states = self.0.ledger.journals(JournalFilter::default()).await?;
        let mut runs: HashMap<_, Vec<Run>> = HashMap::new();
        for run in self.0.ledger.owned(subject).await? {
            runs.entry(run.journal).or_default().push(run);
        }
        let journals = states.iter().map(|state| JournalFacts {
            id: state.id,
            family: state.family,
            role: role(state.kind),
            owner: state.owner,
            parent: state.parent,
            head: state.head,
            runs: runs.remove(&state.id).unwrap_or_default(),
        });
        let mut facts = Facts { journals: journals.collect(), ..Facts::default() };
        let named = self.session_keys().await?;
        for state in &states {
            match state.kind {
                JournalKind::SessionControl => facts.sessions.extend(self.session_facts(state, &named).await?),
                JournalKind::Branch => {
                    let own = |(at, merged): (Position, crate::views::MergedRow)| {
                        (at.journal == state.id).then_some(MergeFacts { at, theirs: merged.theirs })
                    };
                    facts.merges.extend(self.second_parents(state).await?.into_iter().filter_map(own));
                }
                _ => {}
            }
        }
        let inputs = !matches!(scope, Scope::Entries { .. });
        self.artifact_facts(&states, inputs, &mut facts).await?;
        if *scope == Scope::User {
            let found = self.in_others(subject, holds).await?;
            facts.elsewhere = found.elsewhere;
            facts.worked = found.worked;
            facts.by_others = found.by_others;
            facts.summaries = found.summaries;
        }
        if let Scope::Entries { session, branch, to, .. } = scope {
            let segments = self.ancestry(Position { journal: *branch, seq: *to }).await?;
            facts.named = segments.iter().map(|at| Run { journal: at.journal, first: at.from, last: at.to }).collect();
            for state in states.iter().filter(|state| state.family == *session && state.kind == JournalKind::Branch) {
                facts.references.extend(self.references(state, true).await?);
            }
        }
        if !matches!(scope, Scope::Artifact { .. }) {
            self.record_facts(&states, scope, subject, &mut facts).await?;
        }
        Ok(facts)
    }

    /// The entries of the tenant's control journal that say what sessions are known by.
    async fn session_keys(&self) -> Result<HashMap<SessionId, Vec<Position>>> {
        let control = self.tenant_control();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(HashMap::new()) };
        let at = Position { journal: control, seq: state.head };
        let query = RowQuery { at, kind: row::SESSION_KEY, hashes: Vec::new(), limit: usize::MAX };
        let mut keys: HashMap<SessionId, Vec<Position>> = HashMap::new();
        for found in self.0.ledger.rows(query).await? {
            keys.entry(FamilyId::from_slice(&found.value)?).or_default().push(found.position);
        }
        Ok(keys)
    }

    async fn session_facts(
        &self,
        control: &JournalState,
        named: &HashMap<SessionId, Vec<Position>>,
    ) -> Result<Option<SessionFacts>> {
        if control.head == 0 {
            return Ok(None);
        }
        let first = self.entry_at(Position { journal: control.id, seq: 1 }).await?;
        // One that was erased is none any more.
        if first.payload.is_none() {
            return Ok(None);
        }
        let created: SessionCreated = first.json()?;
        Ok(Some(SessionFacts {
            session: control.family,
            owner: control.owner,
            parent: created.parent.map(|parent| parent.session),
            named: named.get(&control.family).cloned().unwrap_or_default(),
        }))
    }

    /// The artifacts; what they were made of is looked up where that is asked for.
    async fn artifact_facts(&self, states: &[JournalState], inputs: bool, facts: &mut Facts) -> Result<()> {
        let mut contents: HashMap<BlockId, ArtifactId> = HashMap::new();
        let mut made: Vec<(ArtifactFacts, ArtifactRecord)> = Vec::new();
        for state in states.iter().filter(|state| state.kind == JournalKind::Artifacts) {
            let kinds = vec![EntryKind::ARTIFACT_PUBLISHED, EntryKind::ARTIFACT_RETAINED];
            for entry in self.entries_of(state, kinds).await? {
                if entry.payload.is_none() {
                    continue;
                }
                if entry.header.kind == EntryKind::ARTIFACT_RETAINED {
                    let said: ArtifactRetained = entry.json()?;
                    let of = made.iter_mut().find(|(known, _)| Some(known.artifact) == said.artifact);
                    if let Some((known, _)) = of {
                        known.entries.push(entry.position);
                    }
                    continue;
                }
                let record: ArtifactRecord = entry.json()?;
                contents.insert(record.content, record.artifact);
                let of = ArtifactFacts {
                    artifact: record.artifact,
                    owner: entry.header.owner,
                    entries: vec![entry.position],
                    session: record.lineage.session,
                    name: record.name.clone(),
                    sha256: record.sha256.clone(),
                    inputs: Vec::new(),
                };
                made.push((of, record));
            }
        }
        let mut places: HashMap<ArtifactId, usize> = HashMap::new();
        for (place, (of, _)) in made.iter().enumerate() {
            places.insert(of.artifact, place);
        }
        for state in states.iter().filter(|state| state.kind == JournalKind::Branch) {
            let at = Position { journal: state.id, seq: state.head };
            let query = RowQuery { at, kind: row::ARTIFACT, hashes: Vec::new(), limit: usize::MAX };
            for found in self.0.ledger.rows(query).await?.into_iter().filter(|row| row.position.journal == state.id) {
                let place = places.get(&ArtifactId::from_slice(&found.value)?);
                if let Some((of, _)) = place.and_then(|place| made.get_mut(*place)) {
                    of.entries.push(found.position);
                }
            }
        }
        // Of other owners only those can have an input's bytes who have as many of them.
        let mut sizes: HashMap<u64, BTreeSet<Pseudonym>> = HashMap::new();
        for (of, record) in &made {
            sizes.entry(record.size).or_default().insert(of.owner);
        }
        let mut same: HashMap<(BlockId, Pseudonym), Option<BlockId>> = HashMap::new();
        for (of, record) in made {
            let mut found: Vec<ArtifactId> = Vec::new();
            for input in record.lineage.inputs.iter().filter(|_| inputs) {
                found.extend(contents.get(&input.content));
                let owners = sizes.get(&input.size).into_iter().flatten();
                for other in owners.filter(|other| **other != of.owner) {
                    let content = match same.entry((input.content, *other)) {
                        Looked::Occupied(known) => *known.get(),
                        Looked::Vacant(new) => {
                            *new.insert(self.content_as((of.owner, record.root), &input.place, *other)?)
                        }
                    };
                    found.extend(content.and_then(|content| contents.get(&content)));
                }
            }
            found.retain(|input| *input != of.artifact);
            facts.artifacts.push(ArtifactFacts { inputs: found, ..of });
        }
        Ok(())
    }

    /// The content id that an input would have as another owner's: ids of equal bytes differ from owner to owner. None for
    /// what cannot be read any more.
    fn content_as(&self, tree: (Pseudonym, BlockId), place: &str, owner: Pseudonym) -> Result<Option<BlockId>> {
        let Ok(path) = TreePath::new(place) else { return Ok(None) };
        match samite_workspace::content_as(&self.blocks(), tree, &path, owner) {
            Err(error) if matches!(error.code(), "key_destroyed" | "unknown_subject" | "unknown_key") => Ok(None),
            // Whoever verifies names what is damaged; it keeps nobody else's data from being erased.
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            other => other,
        }
    }

    /// What entries of a branch cannot be read without others of them, and, where that is asked for, which say what others
    /// said.
    pub(super) async fn references(&self, state: &JournalState, summaries: bool) -> Result<Vec<Reference>> {
        let mut found = Vec::new();
        let mut starts: HashMap<String, Position> = HashMap::new();
        for entry in self.entries_of(state, Vec::new()).await? {
            let at = entry.position;
            let to = |to: Position| Reference { at, to: Run { journal: to.journal, first: to.seq, last: to.seq } };
            match entry.header.kind {
                EntryKind::STEP_STARTED => {
                    starts.insert(entry.header.id.to_string(), at);
                }
                EntryKind::STEP_COMPLETED
                | EntryKind::STEP_FAILED
                | EntryKind::STEP_RESOLVED
                | EntryKind::STEP_ABANDONED
                | EntryKind::STEP_EVIDENCE
                | EntryKind::STEP_SEEN
                | EntryKind::STEPS_INHERITED
                    if entry.payload.is_some() =>
                {
                    let said: Value = entry.json()?;
                    found.extend(starts_in(&said).into_iter().map(to));
                }
                _ if entry.is_event() && entry.payload.is_some() => {
                    let attributes = entry.event()?.attributes.unwrap_or_default();
                    if let Some(step) = attributes.get("output_of").and_then(Value::as_str) {
                        found.extend(starts.get(step).copied().map(to));
                    }
                    let seq = |name: &str| attributes.get(name).and_then(Value::as_u64);
                    if let (Some(from), Some(last), true) = (seq("from"), seq("to"), summaries) {
                        found.extend(self.summarised(at, from, last).await?);
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// The entries that a compaction names, wherever they lie.
    async fn summarised(&self, at: Position, from: u64, last: u64) -> Result<Vec<Reference>> {
        let mut found = Vec::new();
        for segment in self.ancestry(at).await? {
            let (first, last) = (segment.from.max(from), segment.to.min(last));
            if first <= last {
                found.push(Reference { at, to: Run { journal: segment.journal, first, last } });
            }
        }
        Ok(found)
    }

    /// The own entries of a journal, opened.
    pub(super) async fn entries_of(&self, state: &JournalState, kinds: Vec<EntryKind>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut from = state.parent.map_or(1, |parent| parent.seq + 1);
        while from <= state.head {
            let read = Read { kinds: kinds.clone(), limit: PAGE, ..Read::range(state.id, from, state.head) };
            let page = self.0.ledger.read(read).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for stored in &page {
                entries.push(self.whole(self.open(state.id, stored)?)?);
            }
        }
        Ok(entries)
    }

    /// The workspaces of these sessions, the signs of life of their open steps, and what they are known by, as hashes.
    pub(super) async fn traces(&self, sessions: &[SessionId]) -> Result<Traces> {
        let wanted: HashSet<SessionId> = sessions.iter().copied().collect();
        let states = self.0.ledger.journals(JournalFilter::default()).await?;
        let mut traces = Traces::default();
        for state in states.iter().filter(|state| wanted.contains(&state.family)) {
            match state.kind {
                JournalKind::SessionControl => {
                    for entry in self.entries_of(state, vec![EntryKind::WORKSPACE_ATTACHED]).await? {
                        if entry.payload.is_some() {
                            let attached: WorkspaceAttached = entry.json()?;
                            traces.workspaces.push(attached.workspace);
                        }
                    }
                }
                JournalKind::Branch if state.registers > 0 => {
                    let (_, registers) = self.0.ledger.registers(state.id).await?;
                    for open in registers.iter().filter(|entry| entry.kind == register::OPEN_STEP) {
                        let entry = self.entry_at(OpenStep::decode(state.id, open)?.start).await?;
                        if entry.payload.is_some() {
                            let started: StepStarted = entry.json()?;
                            let life = started.process.as_ref().and_then(|process| process.get("life"));
                            traces.lives.extend(life.and_then(Value::as_str).map(str::to_owned));
                        }
                    }
                }
                _ => {}
            }
        }
        traces.workspaces.sort_unstable();
        traces.workspaces.dedup();
        for at in self.session_keys().await?.into_iter().filter(|(of, _)| wanted.contains(of)).flat_map(|(_, at)| at) {
            let entry = self.entry_at(at).await?;
            if entry.payload.is_some() {
                let keyed: SessionKeyed = entry.json()?;
                traces.keys.push(FamilyId(self.erased_key_hash(entry.header.owner, &keyed.key)?));
            }
        }
        Ok(traces)
    }

    /// What is kept of the key that a caller knew an erased session by: a hash under the tenant's own key, which outlives
    /// that of the person.
    pub(crate) fn erased_key_hash(&self, subject: Pseudonym, key: &str) -> Result<[u8; 16]> {
        use crate::views::IndexHash as _;
        let control = FamilyId(self.tenant_control().0);
        let hasher = self.hasher(self.0.keys.tenant_pseudonym(), control);
        hasher.hash("erased-session-key", &[subject.as_bytes(), key.as_bytes()])
    }
}

/// What sessions left beside their journals.
#[derive(Debug, Default)]
pub(super) struct Traces {
    /// Workspaces that they worked in.
    pub(super) workspaces: Vec<FamilyId>,
    /// Names of signs of life.
    pub(super) lives: Vec<String>,
    /// Hashes of what callers knew them by.
    pub(super) keys: Vec<FamilyId>,
}

/// The positions of the starts that an entry about steps names.
fn starts_in(said: &Value) -> Vec<Position> {
    let position = |value: &Value| serde_json::from_value::<Position>(value.clone()).ok();
    let mut found: Vec<Position> = said.get("start").and_then(position).into_iter().collect();
    for list in ["steps", "unseen"] {
        let listed = said.get(list).and_then(Value::as_array).into_iter().flatten();
        found.extend(listed.filter_map(|pair| pair.get(1).and_then(position)));
    }
    found
}
