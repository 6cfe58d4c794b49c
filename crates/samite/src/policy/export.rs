//! Exporting for training what may be used for it, and recording what left.

use super::{Consents, Region, contended};
use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::log::Entry;
use crate::payload::ArtifactRecord;
use crate::payload::{DatasetExported, Merged, SessionCreated, StepEnded, StepStarted, is_event};
use crate::subject_export::{outside, said};
use crate::views::Projection;
use crate::whole_directory::WholeDirectory;
use data_encoding::HEXLOWER;
use ring::digest::{Context, SHA256};
use samite_host::files::{self, AppendFile};
use samite_host::kill_point;
use samite_ledger::{JournalFilter, JournalKind, JournalState, Read};
use samite_model::access::Right;
use samite_model::erasure::{Root, Run};
use samite_model::json::canonical;
use samite_model::policy::{Derivation, Node, Placement, Source};
use samite_model::{ArtifactId, BlockId, EntryKind, Error, FamilyId, Observer, Result, SessionId, limits};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PAGE: usize = 256;

/// What is said of a data set beside it.
const ABOUT: &str = "dataset.json";

/// The kinds of entries that a data set has.
const KINDS: [EntryKind; 9] = [
    EntryKind::MESSAGE,
    EntryKind::MODEL_RESPONSE,
    EntryKind::EVENT,
    EntryKind::COMPACTION,
    EntryKind::TURN_ENDED,
    EntryKind::STEP_STARTED,
    EntryKind::STEP_COMPLETED,
    EntryKind::STEP_FAILED,
    EntryKind::ARTIFACT_PUBLISHED,
];

/// What to export, where to, and why that is allowed.
#[derive(Clone, Debug)]
pub struct TrainingOptions {
    /// The directory, which is made and must be empty.
    pub to: PathBuf,
    /// The region that it goes to.
    pub region: Region,
    /// On which basis.
    pub basis: String,
    /// These sessions alone; none are all of the tenant.
    pub sessions: Option<Vec<SessionId>>,
    /// Is told how many entries are written.
    pub observer: Observer,
}

/// A branch or an artifact that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The session.
    pub session: SessionId,
    /// The branch.
    pub branch: samite_model::BranchId,
    /// The artifact, where only that was left out.
    pub artifact: Option<ArtifactId>,
    /// The sessions without consent that it came from.
    pub without_consent: Vec<SessionId>,
    /// Whether a part of what it was made of is not there any more.
    pub unknown: bool,
    /// Whether the organisation's policies forbid whoever exports to read the session.
    pub forbidden: bool,
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingExport {
    /// What was recorded of it.
    pub dataset: DatasetExported,
    /// How many branches are in it.
    pub branches: u64,
    /// What was left out, and why.
    pub left_out: Vec<LeftOut>,
}

/// What was made of what, and what may be used.
struct Provenance {
    graph: Derivation,
    consents: Consents,
}

/// What is being written.
struct Writing {
    /// None while it is only worked out what would be written.
    file: Option<AppendFile>,
    dataset: FamilyId,
    digest: Context,
    bytes: u64,
    root: Root,
    runs: Vec<Run>,
    sources: BTreeSet<Source>,
    branches: u64,
    left_out: Vec<LeftOut>,
}

impl Embedded {
    /// Writes what may be used for training into a directory: `data.jsonl`, a line for each entry, and `dataset.json`. A branch
    /// is in it when each session that it came from may be used: its own, those of branches that it was forked from or
    /// merged, and the one that it works for; an artifact's entry also those of the artifacts that it was made of. What leaves is
    /// worked out and recorded before the first byte of it is written. When this returns, both are durable.
    ///
    /// # Errors
    /// `denied`: `other_region` for another region without a transfer that was decided, which is recorded; `no_consent` when
    /// nothing may be used. `invalid` for a basis that is empty; `conflict`: `not_empty` when the directory holds something other
    /// than what an export left behind that was cut off, `policies_contended` when something was decided meanwhile,
    /// `export_changed` when something was erased while it was written.
    pub async fn export_for_training(&self, client: &Client, options: &TrainingOptions) -> Result<TrainingExport> {
        limits::check_name("a basis", &options.basis)?;
        let client = &client.operator().await?;
        let core = &client.core;
        let (version, placement) = core.placement(&options.region).await?;
        if placement == Placement::Refused {
            client.record_refusal("export", &options.region).await?;
            return Err(core
                .refuse_region("the export", Some(&options.region))
                .await?
                .hint(format!("`samite region transfer {} --basis BASIS` decides a transfer", options.region)));
        }
        outside(self.directory(), &options.to)?;
        let provenance = core.provenance().await?;
        let mut states = core.branches_of_tenant().await?;
        if let Some(sessions) = &options.sessions {
            states.retain(|state| sessions.contains(&state.family));
        }
        let mut forbidden = Vec::new();
        for state in &states {
            if client.authority.unless_forbidden_on_session(Right::Read, state.family, state.owner).is_err() {
                forbidden.push(LeftOut {
                    session: state.family,
                    branch: state.id,
                    artifact: None,
                    without_consent: Vec::new(),
                    unknown: false,
                    forbidden: true,
                });
            }
        }
        states.retain(|state| forbidden.iter().all(|left| left.branch != state.id));
        let directory = WholeDirectory::begin(&options.to, "data.jsonl", &[ABOUT])?;
        // Nothing of it is readable anywhere before it is recorded that it left: so it is worked out first, and written then.
        let mut planned = Writing::new(FamilyId(core.random_id()?), None, forbidden.clone());
        let recorded = match planned.write_all(core, &provenance, &states, &options.observer).await {
            Ok(()) => planned.record(client, options, version).await,
            Err(error) => Err(error),
        };
        let dataset = match recorded {
            Ok(dataset) => dataset,
            Err(error) => {
                directory.give_up()?;
                return Err(error);
            }
        };
        kill_point("export.recorded");
        let mut writing = Writing::new(dataset.dataset, Some(AppendFile::open(&directory.part())?), forbidden);
        let written = writing.write_all(core, &provenance, &states, &options.observer).await;
        if let Err(error) = written.and_then(|()| writing.check(&dataset)) {
            directory.give_up()?;
            return Err(error);
        }
        kill_point("export.written");
        describe(&options.to, &dataset)?;
        directory.end()?;
        Ok(TrainingExport { dataset, branches: writing.branches, left_out: writing.left_out })
    }
}

/// A message names so many sessions.
const NAMED: usize = 5;

/// Why all was left out, with the sessions.
fn why_nothing(left_out: &[LeftOut]) -> String {
    let named = |sessions: BTreeSet<SessionId>, what: &str| {
        let more = sessions.len().saturating_sub(NAMED);
        let names: Vec<String> = sessions.iter().take(NAMED).map(SessionId::short).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("{what} {}{more}", names.join(", ")))
    };
    let of =
        |is_it: fn(&LeftOut) -> bool| left_out.iter().filter(|left| is_it(left)).map(|left| left.session).collect();
    let without = left_out.iter().flat_map(|left| left.without_consent.iter().copied()).collect();
    let why: Vec<String> = [
        named(without, "nobody consented for the sessions"),
        named(of(|left| left.forbidden), "policies forbid to read the sessions"),
        named(of(|left| left.unknown), "a part of what they were made of is gone for the sessions"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if why.is_empty() { "there are no entries".to_owned() } else { why.join("; ") }
}

impl Writing {
    fn new(dataset: FamilyId, file: Option<AppendFile>, left_out: Vec<LeftOut>) -> Self {
        Self {
            file,
            dataset,
            digest: Context::new(&SHA256),
            bytes: 0,
            root: Root::default(),
            runs: Vec::new(),
            sources: BTreeSet::new(),
            branches: 0,
            left_out,
        }
    }

    /// Whether what was written is what was recorded.
    fn check(&self, dataset: &DatasetExported) -> Result<()> {
        if self.sha256() == dataset.sha256 {
            return Ok(());
        }
        Err(Error::conflict("export_changed", "something of the data set was erased while it was written")
            .hint("nothing of it was left in the directory; export again"))
    }

    fn sha256(&self) -> String {
        HEXLOWER.encode(self.digest.clone().finish().as_ref())
    }

    async fn write_all(
        &mut self,
        core: &Core,
        provenance: &Provenance,
        states: &[JournalState],
        observer: &Observer,
    ) -> Result<()> {
        for state in states {
            if let Some(left) = provenance.refused(Node::Journal(state.id), state) {
                self.left_out.push(left);
                continue;
            }
            self.branch(core, provenance, state, observer).await?;
        }
        if self.root.leaves() == 0 {
            let nothing = format!("nothing of that may be used for training: {}", why_nothing(&self.left_out));
            return Err(Error::denied("no_consent", nothing)
                .hint("`samite consent list` shows what was said; nothing said is no"));
        }
        self.file.as_ref().map_or(Ok(()), AppendFile::sync)
    }

    async fn branch(
        &mut self,
        core: &Core,
        provenance: &Provenance,
        state: &JournalState,
        observer: &Observer,
    ) -> Result<()> {
        let mut from = state.parent.map_or(1, |parent| parent.seq.saturating_add(1));
        let before = self.root.leaves();
        while from <= state.head {
            let read = Read { kinds: KINDS.to_vec(), limit: PAGE, ..Read::range(state.id, from, state.head) };
            let page = core.0.ledger.read(read).await?;
            let Some(last) = page.last() else { break };
            from = last.seq.saturating_add(1);
            for stored in &page {
                let entry = core.whole(core.open(state.id, stored)?)?;
                if entry.payload.is_none() {
                    continue;
                }
                if let Some(left) = provenance.refused_artifact(&entry, state)? {
                    self.left_out.push(left);
                    continue;
                }
                self.line(state, &entry)?;
            }
            let doing = if self.file.is_some() { "writing entries" } else { "reading entries" };
            observer.tell(doing, self.root.leaves(), None);
        }
        if self.root.leaves() > before {
            self.branches = self.branches.saturating_add(1);
            self.sources.extend(provenance.graph.sources(Node::Journal(state.id)).all);
        }
        Ok(())
    }

    fn line(&mut self, state: &JournalState, entry: &Entry) -> Result<()> {
        let mut line = Map::from_iter([
            ("dataset".to_owned(), json!(self.dataset)),
            ("session".to_owned(), json!(state.family)),
            ("branch".to_owned(), json!(state.id)),
            ("parent".to_owned(), json!(state.parent)),
            ("seq".to_owned(), json!(entry.position.seq)),
            ("kind".to_owned(), json!(entry.header.kind.name())),
            ("time".to_owned(), json!(entry.header.time)),
        ]);
        line.extend(content(entry)?);
        let mut bytes = canonical(&Value::Object(line));
        bytes.push(b'\n');
        self.digest.update(&bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if let Some(file) = &mut self.file {
            file.append(&bytes)?;
        }
        self.root.push(&entry.header.commitment);
        let seq = entry.position.seq;
        match self.runs.last_mut() {
            Some(last) if last.journal == state.id && last.last.saturating_add(1) == seq => last.last = seq,
            _ => self.runs.push(Run { journal: state.id, first: seq, last: seq }),
        }
        Ok(())
    }

    async fn record(&mut self, client: &Client, options: &TrainingOptions, version: u64) -> Result<DatasetExported> {
        kill_point("export.gathered");
        let dataset = DatasetExported {
            dataset: self.dataset,
            region: options.region.clone(),
            basis: options.basis.clone(),
            root: HEXLOWER.encode(&self.root.finish()),
            entries: self.root.leaves(),
            bytes: self.bytes,
            sha256: self.sha256(),
            runs: std::mem::take(&mut self.runs),
            sources: self.sources.iter().copied().map(Into::into).collect(),
            left_out: self.left_out.len() as u64,
        };
        let draft = client.core.draft(EntryKind::DATASET_EXPORTED, &dataset, Projection::default())?;
        // A consent that was taken back meanwhile, or an erasure, moves the registers.
        if client.decide_as_tenant(draft, version).await? { Ok(dataset) } else { Err(contended()) }
    }
}

/// What a line says of an entry besides where it is.
fn content(entry: &Entry) -> Result<Map<String, Value>> {
    let fields = match entry.header.kind {
        kind if is_event(kind) => {
            let event = entry.event()?;
            json!({ "attributes": event.attributes, "body": said(event.body) })
        }
        EntryKind::STEP_STARTED => {
            let started: StepStarted = entry.json()?;
            json!({ "step": started.key, "tool": started.tool, "input": started.input, "attempt": started.attempt })
        }
        EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED => {
            let ended: StepEnded = entry.json()?;
            json!({ "start": ended.start, "output": ended.output })
        }
        EntryKind::ARTIFACT_PUBLISHED => {
            let published: crate::payload::ArtifactPublished = entry.json()?;
            json!({ "name": published.name, "type": published.of_type, "size": published.size })
        }
        _ => json!({}),
    };
    Ok(match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

fn describe(to: &Path, dataset: &DatasetExported) -> Result<()> {
    let about = json!({
        "dataset": dataset.dataset, "region": dataset.region, "basis": dataset.basis, "entries": dataset.entries,
        "bytes": dataset.bytes, "sha256": dataset.sha256, "root": dataset.root,
    });
    files::write_atomic(&to.join(ABOUT), format!("{about:#}\n").as_bytes(), files::PRIVATE_FILE)
}

impl Provenance {
    /// Why something is left out, if it is.
    fn refused(&self, node: Node, state: &JournalState) -> Option<LeftOut> {
        let sources = self.graph.sources(node);
        let without: BTreeSet<SessionId> = sources
            .all
            .iter()
            .filter(|source| !self.consents.given(source.owner, source.session))
            .map(|source| source.session)
            .collect();
        if without.is_empty() && !sources.unknown {
            return None;
        }
        let artifact = match node {
            Node::Artifact(artifact) => Some(artifact),
            Node::Journal(_) | Node::Session(_) => None,
        };
        Some(LeftOut {
            session: state.family,
            branch: state.id,
            artifact,
            without_consent: without.into_iter().collect(),
            unknown: sources.unknown,
            forbidden: false,
        })
    }

    fn refused_artifact(&self, entry: &Entry, state: &JournalState) -> Result<Option<LeftOut>> {
        if entry.header.kind != EntryKind::ARTIFACT_PUBLISHED {
            return Ok(None);
        }
        let published: crate::payload::ArtifactPublished = entry.json()?;
        Ok(self.refused(Node::Artifact(published.artifact), state))
    }
}

impl Core {
    /// All branches of the tenant.
    async fn branches_of_tenant(&self) -> Result<Vec<JournalState>> {
        let filter = JournalFilter { kind: Some(JournalKind::Branch), ..JournalFilter::default() };
        self.0.ledger.journals(filter).await
    }

    /// The entries of one kind in a journal; none stands for one that was erased.
    async fn said_in<T: serde::de::DeserializeOwned>(
        &self,
        state: &JournalState,
        kind: EntryKind,
    ) -> Result<Vec<Option<T>>> {
        let mut found = Vec::new();
        let mut from = state.parent.map_or(1, |parent| parent.seq.saturating_add(1));
        while from <= state.head {
            let read = Read { kinds: vec![kind], limit: PAGE, ..Read::range(state.id, from, state.head) };
            let page = self.0.ledger.read(read).await?;
            let Some(last) = page.last() else { break };
            from = last.seq.saturating_add(1);
            for stored in &page {
                let entry = self.whole(self.open(state.id, stored)?)?;
                found.push(entry.payload.is_some().then(|| entry.json()).transpose()?);
            }
        }
        Ok(found)
    }

    /// What everything was made of.
    async fn provenance(&self) -> Result<Provenance> {
        let mut graph = Derivation::default();
        for state in self.branches_of_tenant().await? {
            graph.node(Node::Session(state.family)).from.insert(Node::Journal(state.id));
            let facts = graph.node(Node::Journal(state.id));
            facts.sources.insert(Source { session: state.family, owner: state.owner });
            facts.from.extend(state.parent.map(|parent| Node::Journal(parent.journal)));
            for merged in self.said_in::<Merged>(&state, EntryKind::MERGED).await? {
                match merged {
                    Some(merged) => {
                        facts.from.insert(Node::Journal(merged.theirs.journal));
                    }
                    None => facts.unknown = true,
                }
            }
        }
        self.parents(&mut graph).await?;
        self.artifacts_in(&mut graph).await?;
        Ok(Provenance { graph, consents: self.consents().await? })
    }

    /// The sessions that others work for.
    async fn parents(&self, graph: &mut Derivation) -> Result<()> {
        let filter = JournalFilter { kind: Some(JournalKind::SessionControl), ..JournalFilter::default() };
        let mut works_for: BTreeMap<SessionId, Option<SessionId>> = BTreeMap::new();
        for state in self.0.ledger.journals(filter).await? {
            for created in
                self.said_in::<SessionCreated>(&state, EntryKind::SESSION_CREATED).await?.into_iter().flatten()
            {
                works_for.insert(state.family, created.parent.map(|parent| parent.session));
            }
        }
        for state in self.branches_of_tenant().await? {
            let facts = graph.node(Node::Journal(state.id));
            match works_for.get(&state.family) {
                Some(Some(parent)) => {
                    facts.from.insert(Node::Session(*parent));
                }
                Some(None) => {}
                // Whom it worked for cannot be said.
                None => facts.unknown = true,
            }
        }
        Ok(())
    }

    /// Artifacts, of the branch that they were made on and of artifacts that were their inputs.
    async fn artifacts_in(&self, graph: &mut Derivation) -> Result<()> {
        let filter = JournalFilter { kind: Some(JournalKind::Artifacts), ..JournalFilter::default() };
        let mut records: Vec<ArtifactRecord> = Vec::new();
        for state in self.0.ledger.journals(filter).await? {
            records.extend(self.said_in(&state, EntryKind::ARTIFACT_PUBLISHED).await?.into_iter().flatten());
        }
        let mut by_content: BTreeMap<BlockId, Vec<ArtifactId>> = BTreeMap::new();
        for record in &records {
            by_content.entry(record.content).or_default().push(record.artifact);
        }
        for record in &records {
            let facts = graph.node(Node::Artifact(record.artifact));
            facts.from.insert(Node::Journal(record.lineage.branch));
            let inputs = record.lineage.inputs.iter().filter_map(|input| by_content.get(&input.content)).flatten();
            facts.from.extend(inputs.map(|input| Node::Artifact(*input)));
        }
        Ok(())
    }
}
