//! Publishing: bytes first, then one commit.

use super::journal::new_journal;
use super::lineage::{Maker, named_command};
use super::list::Known;
use super::place::{BYTES, Located, check_apart, locate};
use super::views;
use crate::core::to_json;
use crate::payload::{ArtifactPublished, ArtifactRecord, FileFound, Input, Lineage, MadeWith, PublishedBy};
use crate::views::row;
use crate::workspace::WorkspaceInfo;
use crate::writer::{STORED, Writer, is_collected};
use samite_ledger::{Append, Commit, Guard};
use samite_model::artifact::{guess_mime, guess_type};
use samite_model::tree::{Metadata, TreePath};
use samite_model::{ArtifactId, BlockId, EntryKind, Error, Position, Result, limits};
use samite_workspace::{Bundler, CommitParts, FileSource, FileStamp, Stored};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes of an artifact.
#[derive(Clone, Debug)]
pub enum ArtifactSource {
    /// A regular file.
    File(PathBuf),
    /// These.
    Bytes(Vec<u8>),
    /// A file that is open, from its first byte to its last. It may have no name, and no path of it is looked at; nobody
    /// else may use its position meanwhile.
    Open(Arc<File>),
}

/// Something to publish.
#[derive(Clone, Debug)]
pub struct PutArtifact {
    /// Its bytes.
    pub source: ArtifactSource,
    /// What it is called; none means its path in the workspace, or the name of its file. The same name again on a branch is
    /// a new version.
    pub name: Option<String>,
    /// Its type; none means what its media type goes with.
    pub of_type: Option<String>,
    /// Its media type; none means what its first bytes and its name say.
    pub mime: Option<String>,
    /// What is said of it.
    pub description: Option<String>,
    /// The files and directories that it was made of. Where its step recorded a tree when it started, they are taken as they
    /// were then.
    pub inputs: Vec<PathBuf>,
    /// The key of the step that made it; none means what the workspace's last trees tell.
    pub step: Option<String>,
    /// The command that made it, and where it ran; none means the step's.
    pub command: Option<(Vec<OsString>, PathBuf)>,
    /// The caller's id for it: publishing again with the same bytes and name answers with the first.
    pub dedupe: Option<String>,
}

impl PutArtifact {
    /// A file, of which nothing else is said.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            source: ArtifactSource::File(path.into()),
            name: None,
            of_type: None,
            mime: None,
            description: None,
            inputs: Vec::new(),
            step: None,
            command: None,
            dedupe: None,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Put {
    /// The artifact's record.
    pub record: ArtifactRecord,
    /// Whether it was there already: no new version was made.
    pub duplicate: bool,
    /// Where redaction found something in what was stored anew: its bytes, under its name, and its inputs, under their paths.
    pub found: Vec<FileFound>,
}

/// A description has at most so many bytes.
const DESCRIPTION: usize = 4096;
/// At most so many chunks in which something was found are named.
const NAMED: usize = 1000;
/// At most so many inputs.
const INPUTS: usize = 10_000;

/// Something to publish, checked and looked up.
pub(super) struct Item {
    put: PutArtifact,
    /// The name.
    pub(super) name: String,
    /// Where its file stands.
    located: Option<Located>,
    inputs: Vec<Located>,
    /// Nothing of the path is a symbolic link: it was found by a pattern.
    beneath: bool,
}

/// An artifact that is about to be committed.
struct Pending {
    record: ArtifactRecord,
    dedupe: Option<String>,
    found: Vec<FileFound>,
}

/// The last version of a name along a branch.
pub(super) struct LastVersion {
    pub(super) record: ArtifactRecord,
    /// Where it is recorded.
    at: Position,
    /// Whether its bytes are there and stay: only then they need not be stored again.
    pub(super) stays: bool,
}

/// What became of an item before the commit.
enum Stage {
    /// The last version is the same, and the caller's id for it, if there is one, is to be known.
    Known(Box<Pending>),
    New(Box<Pending>),
}

impl Stage {
    const fn pending(&self) -> &Pending {
        match self {
            Self::Known(pending) | Self::New(pending) => pending,
        }
    }

    /// Whether something is to be committed for it.
    const fn commits(&self) -> bool {
        match self {
            Self::Known(pending) => pending.dedupe.is_some(),
            Self::New(_) => true,
        }
    }
}

impl Item {
    pub(super) fn new(put: PutArtifact, workspace: Option<&WorkspaceInfo>) -> Result<Self> {
        let top = workspace.map(|workspace| workspace.directory.as_path());
        let located = match &put.source {
            ArtifactSource::File(path) => Some(locate(top, path)?),
            ArtifactSource::Bytes(_) | ArtifactSource::Open(_) => None,
        };
        let name = match (&put.name, &located) {
            (Some(name), _) => name.clone(),
            (None, Some(located)) => own_name(located)?,
            (None, None) => {
                return Err(Error::invalid("no_name", "bytes that are no file have no name of their own")
                    .hint("say what it is called: --name report.pdf"));
            }
        };
        limits::check_name("an artifact's name", &name)?;
        for (what, text) in [("a type", &put.of_type), ("a media type", &put.mime), ("a dedupe id", &put.dedupe)] {
            text.iter().try_for_each(|text| limits::check_name(what, text))?;
        }
        if let Some(length) = put.description.as_ref().map(String::len).filter(|length| *length > DESCRIPTION) {
            return Err(Error::invalid(
                "description_too_long",
                format!("the description has {length} bytes; at most {DESCRIPTION}"),
            )
            .hint("publish long words as an artifact of their own"));
        }
        if put.inputs.len() > INPUTS {
            return Err(Error::invalid("too_many_files", format!("{} inputs; at most {INPUTS}", put.inputs.len()))
                .hint("name the directory that they are in"));
        }
        let mut inputs = put.inputs.iter().map(|path| locate(top, path)).collect::<Result<Vec<_>>>()?;
        inputs.sort_by(|a, b| a.path.cmp(&b.path));
        inputs.dedup();
        check_apart(&inputs.iter().map(Located::place).collect::<Result<Vec<_>>>()?)?;
        Ok(Self { put, name, located, inputs, beneath: false })
    }

    /// A file that a pattern found in the workspace.
    pub(super) fn found(workspace: &WorkspaceInfo, path: &TreePath) -> Result<Self> {
        let located = Located { path: on_disk(&workspace.directory, path), inside: Some(path.clone()) };
        let name = own_name(&located)?;
        limits::check_name("an artifact's name", &name)?;
        let put = PutArtifact::file(located.path.clone());
        Ok(Self { put, name, located: Some(located), inputs: Vec::new(), beneath: true })
    }
}

fn on_disk(top: &Path, path: &TreePath) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    top.join(std::ffi::OsStr::from_bytes(path.as_bytes()))
}

/// What a file is called where nobody says: two files never share one such name.
fn own_name(located: &Located) -> Result<String> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = match &located.inside {
        Some(inside) => inside.as_bytes(),
        None => located.path.file_name().map(OsStrExt::as_bytes).unwrap_or_default(),
    };
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        Error::invalid("bad_name", format!("the name of {} is not text", located.shown()))
            .hint("say what it is called: --name NAME")
    })
}

impl Writer {
    /// Publishes something. When this returns, its bytes, its record and its inputs are durable.
    ///
    /// What has the bytes, the name and the lineage of the last version on this branch is no new version.
    ///
    /// # Errors
    /// `invalid` for names past the limits (`bad_name`, `name_too_long`), a source that is no file (`not_a_file`), or inputs
    /// in each other (`paths_collide`); `not_found` when a file or the step (`no_step`) is not there; `conflict` when the
    /// file keeps changing (`file_changing`) or the dedupe id was used for something else (`dedupe_mismatch`); `fenced` when
    /// another writer took over.
    pub async fn put_artifact(&self, put: &PutArtifact) -> Result<Put> {
        let workspace = self.workspace().await?;
        let item = Item::new(put.clone(), workspace.as_ref())?;
        let mut puts = self.publish(&[item], workspace.as_ref()).await?;
        puts.pop().ok_or_else(|| Error::internal("no_receipt", "nothing came of publishing"))
    }

    /// Publishes several things in one commit.
    pub(super) async fn publish(&self, items: &[Item], workspace: Option<&WorkspaceInfo>) -> Result<Vec<Put>> {
        for _ in 1..STORED {
            match self.publish_once(items, workspace).await {
                // Somebody else made the journal, or a collection took what was found.
                Err(error) if is_collected(&error) || error.code() == "journal_exists" => {}
                other => return other,
            }
        }
        self.publish_once(items, workspace).await
    }

    async fn publish_once(&self, items: &[Item], workspace: Option<&WorkspaceInfo>) -> Result<Vec<Put>> {
        self.core().refresh_redactor().await?;
        let store = self.core().blocks();
        let mut bundler = Bundler::new(&store, self.client.subject.pseudonym)?;
        let checkpoint = self.last_tree().await?.map(|tree| tree.position);
        let known = self.client.known_artifacts().await?;
        let mut stages = Vec::new();
        for item in items {
            match self.stage(&mut bundler, item, workspace, checkpoint, known.as_ref()).await {
                Ok(stage) => stages.push(stage),
                Err(error) => {
                    // The pin lapses by itself in the worst case; why it failed is what matters.
                    bundler.discard().ok();
                    return Err(error);
                }
            }
        }
        let parts = if stages.iter().any(|stage| matches!(stage, Stage::New(_))) {
            Some(bundler.finish()?)
        } else {
            bundler.discard()?;
            None
        };
        if stages.iter().any(Stage::commits) {
            samite_host::kill_point("artifact.stored");
            if let Some(known) = self.commit_published(&stages, parts).await? {
                return Ok(vec![known]);
            }
            samite_host::kill_point("artifact.committed");
        }
        let put = |stage: Stage| {
            let duplicate = matches!(stage, Stage::Known(_));
            let (Stage::Known(pending) | Stage::New(pending)) = stage;
            Put { record: pending.record, duplicate, found: pending.found }
        };
        Ok(stages.into_iter().map(put).collect())
    }

    /// Stores the bytes and the inputs of something, unless the last version is the same.
    async fn stage(
        &self,
        bundler: &mut Bundler<'_>,
        item: &Item,
        workspace: Option<&WorkspaceInfo>,
        checkpoint: Option<Position>,
        known: Option<&Known>,
    ) -> Result<Stage> {
        let top = workspace.map(|workspace| workspace.directory.as_path());
        let (stored, stamp) = read_source(bundler, item, top)?;
        let inside = item.located.as_ref().and_then(|located| located.inside.as_ref());
        let maker = match (&item.put.step, inside, top) {
            (Some(key), ..) => Some(self.maker_of_key(key, top).await?),
            (None, Some(path), Some(top)) => self.maker_by_trees(bundler, path, stored.id, top).await?,
            _ => None,
        };
        let command = match &item.put.command {
            Some((argv, directory)) => Some(named_command(argv, directory, top)?),
            None => maker.as_ref().and_then(|maker| maker.command.clone()),
        };
        let mut places = Vec::new();
        let inputs = self.inputs(bundler, item, maker.as_ref(), &mut places)?;
        let sha256 = stored.sha256.clone().unwrap_or_default();
        let mime = item.put.mime.clone();
        let mime = mime.unwrap_or_else(|| guess_mime(&item.name, &stored.begins).to_owned());
        let (size, content) = (stored.size, stored.id);
        let found = found_in(&item.name, &stored, &inputs, &places);
        let record = ArtifactRecord {
            artifact: ArtifactId(self.core().random_id()?),
            name: item.name.clone(),
            of_type: item.put.of_type.clone().unwrap_or_else(|| guess_type(&mime).to_owned()),
            mime,
            description: item.put.description.clone(),
            size,
            sha256,
            content,
            root: BlockId([0; 32]),
            version: 1,
            published: self.core().now(),
            by: self.published_by(),
            lineage: self.lineage(checkpoint, maker, inputs, command)?,
            stamp,
        };
        let dedupe = item.put.dedupe.clone();
        let last = self.last_version(&item.name, known).await?;
        let version = last.as_ref().map_or(1, |last| last.record.version + 1);
        if let Some(last) = last.filter(|last| last.stays && is_same(&last.record, &record))
            && self.core().repeats(&self.core().entry_at(last.at).await?, &to_json(&record)?).await?
        {
            return Ok(Stage::Known(Box::new(Pending { record: last.record, dedupe, found: Vec::new() })));
        }
        self.core().refuse_erased(self.client.subject.pseudonym, &record).await?;
        places.push((TreePath::new(BYTES)?, stored));
        let record = ArtifactRecord { root: bundler.tree(&places)?, version, ..record };
        Ok(Stage::New(Box::new(Pending { record, dedupe, found })))
    }

    fn published_by(&self) -> PublishedBy {
        let principal = self.client.principal();
        PublishedBy {
            user: principal.user.clone(),
            agent: principal.agent.clone(),
            workload: principal.workload.clone(),
        }
    }

    fn lineage(
        &self,
        checkpoint: Option<Position>,
        maker: Option<Maker>,
        inputs: Vec<Input>,
        command: Option<MadeWith>,
    ) -> Result<Lineage> {
        Ok(Lineage {
            session: self.session(),
            branch: self.branch(),
            entry: self.core().entry_id()?,
            checkpoint,
            step: maker.map(|maker| maker.made_by),
            inputs,
            command,
        })
    }

    /// Stores what something was made of: as its step found it, where that is known, else as it is now.
    fn inputs(
        &self,
        bundler: &mut Bundler<'_>,
        item: &Item,
        maker: Option<&Maker>,
        places: &mut Vec<(TreePath, Stored)>,
    ) -> Result<Vec<Input>> {
        let before = maker.and_then(|maker| maker.before);
        let mut inputs = Vec::new();
        for located in &item.inputs {
            let place = located.place()?;
            let then = match (before, located.inside.as_ref().filter(|inside| !inside.is_top())) {
                (Some(root), Some(inside)) => match bundler.of_tree(root, inside) {
                    // Not in the tree: excluded by rules, or made later; or the tree went.
                    Err(error) if matches!(error.code(), "no_path" | "block_missing" | "not_a_file") => None,
                    other => Some(other?),
                },
                _ => None,
            };
            let before_step = then.is_some();
            let stored = match then {
                Some(stored) => stored,
                None => self.read_input(bundler, located)?,
            };
            inputs.push(Input {
                path: located.shown(),
                place: place.to_string(),
                content: stored.id,
                size: stored.size,
                before_step,
            });
            places.push((place, stored));
        }
        Ok(inputs)
    }

    fn read_input(&self, bundler: &mut Bundler<'_>, located: &Located) -> Result<Stored> {
        match FileSource::open(&located.path) {
            Ok(source) => Ok(bundler.file(&source)?.0),
            Err(error) if error.code() == "not_a_file" => {
                let scan = self.core().scan_options_of(&located.path)?;
                let (stored, report) = bundler.directory(&located.path, &scan)?;
                match report.unreadable.first() {
                    None => Ok(stored),
                    Some(unread) => Err(Error::denied(
                        "unreadable_input",
                        format!("{} in the input {} cannot be read: {}", unread.path, located.shown(), unread.what),
                    )
                    .hint("make it readable, exclude it in .samiteignore, or name what is needed alone")),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The last version of a name along this branch.
    pub(super) async fn last_version(&self, name: &str, known: Option<&Known>) -> Result<Option<LastVersion>> {
        let Some(known) = known else { return Ok(None) };
        let hashes = self.hashes("artifact-name", name.as_bytes())?;
        let Some(found) = self.latest_row(row::ARTIFACT, hashes).await? else { return Ok(None) };
        let artifact = ArtifactId::from_slice(&found.value)?;
        let Some((at, record)) = self.client.record_of(artifact).await? else { return Ok(None) };
        let stays = self.client.stays(&record, known).await?;
        Ok(Some(LastVersion { record, at, stays }))
    }

    /// Commits what is new, and the callers' ids for what is not. With a dedupe id that is known, nothing is, and what it
    /// stands for comes back.
    async fn commit_published(&self, stages: &[Stage], parts: Option<CommitParts>) -> Result<Option<Put>> {
        let journal = self.client.own_artifacts();
        let owner = self.client.subject.pseudonym;
        let mut commit = Commit::default();
        if let Some(parts) = parts {
            parts.add_to(&mut commit);
        }
        let (mut drafts, mut records) = (Vec::new(), Vec::new());
        let mut deduped = None;
        for stage in stages.iter().filter(|stage| stage.commits()) {
            let Pending { record, dedupe, found } = stage.pending();
            let published = ArtifactPublished {
                artifact: record.artifact,
                name: record.name.clone(),
                of_type: record.of_type.clone(),
                size: record.size,
                sha256: record.sha256.clone(),
                dedupe: dedupe.clone(),
                found: found.clone(),
            };
            if let Some(key) = dedupe {
                let hashes = self.hashes("dedupe", key.as_bytes())?;
                commit.guards.push(Guard::RowAbsent {
                    journal: self.branch(),
                    kind: row::DEDUPE,
                    hashes: hashes.clone(),
                });
                deduped = Some((key.clone(), hashes, published.clone()));
            }
            let on_branch = views::published(&self.own_hash(), &published)?;
            let mut draft = self.core().draft(EntryKind::ARTIFACT_PUBLISHED, &published, on_branch)?;
            if matches!(stage, Stage::Known(_)) {
                drafts.push(draft);
                continue;
            }
            // One that is erased meanwhile does not come back by this.
            let hashes = self.core().erased_hashes(owner, record)?;
            let control = self.core().tenant_control();
            commit.guards.push(Guard::RowAbsent { journal: control, kind: row::ERASED_ARTIFACT, hashes });
            draft.id = record.lineage.entry;
            drafts.push(draft);
            let family = samite_model::FamilyId(journal.0);
            let projection = views::recorded(&self.core().hasher(owner, family), record)?;
            let draft = self.core().draft(EntryKind::ARTIFACT_PUBLISHED, record, projection)?;
            records.push(self.core().seal_into(journal, &self.client.author(0), draft, &mut commit)?);
        }
        if self.client.artifacts_state().await?.is_none() {
            commit.journals.push(new_journal(journal, owner));
        }
        if !records.is_empty() {
            commit.appends.push(Append { journal, entries: records });
        }
        let outcome = self.commit_with(commit, drafts).await;
        let Err(error) = outcome else { return Ok(None) };
        match error.code() {
            "row_exists" => {
                for stage in stages.iter().filter(|stage| matches!(stage, Stage::New(_))) {
                    self.core().refuse_erased(owner, &stage.pending().record).await?;
                }
                self.known_by(deduped, error).await.map(Some)
            }
            "outcome_unknown" if self.is_committed(stages).await? => Ok(None),
            _ => Err(error),
        }
    }

    /// Whether what was to be committed is there: the acknowledgement alone was lost.
    async fn is_committed(&self, stages: &[Stage]) -> Result<bool> {
        for stage in stages {
            // Whether an id became known cannot be told so; who asks again finds out.
            if matches!(stage, Stage::Known(pending) if pending.dedupe.is_some()) {
                return Ok(false);
            }
            if let Stage::New(pending) = stage
                && self.client.record_of(pending.record.artifact).await?.is_none()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a dedupe id stands for.
    async fn known_by(&self, deduped: Option<(String, Vec<[u8; 16]>, ArtifactPublished)>, error: Error) -> Result<Put> {
        let Some((key, hashes, published)) = deduped else { return Err(error) };
        let Some(found) = self.latest_row(row::DEDUPE, hashes).await? else { return Err(error) };
        let submitted = views::submitted(&self.own_hash(), &published)?;
        if found.value == submitted {
            let entry = self.core().entry_at(found.position).await?;
            if entry.payload.is_none() {
                return Err(crate::erasure::artifact_erased(&published.name));
            }
            let known: ArtifactPublished = entry.json()?;
            if let Some((_, record)) = self.client.record_of(known.artifact).await? {
                return Ok(Put { record, duplicate: true, found: Vec::new() });
            }
        }
        Err(Error::conflict(
            "dedupe_mismatch",
            format!("dedupe id {key:?} was used at seq {} for something else", found.position.seq),
        )
        .hint("use another id for another artifact"))
    }
}

/// What was found in what an artifact is made of, as its entry says it.
fn found_in(name: &str, stored: &Stored, inputs: &[Input], places: &[(TreePath, Stored)]) -> Vec<FileFound> {
    let shown = inputs.iter().map(|input| input.path.as_str()).zip(places.iter().map(|(_, stored)| stored));
    let mut found = Vec::new();
    for (path, stored) in std::iter::once((name, stored)).chain(shown) {
        let (files, _) = crate::redaction::found_files(&stored.found);
        found.extend(files.into_iter().zip(&stored.found).map(|(file, chunk)| FileFound {
            path: if chunk.path.is_top() { path.to_owned() } else { format!("{path}/{}", file.path) },
            ..file
        }));
    }
    found.truncate(NAMED);
    found
}

/// Stores the bytes of an artifact.
fn read_source(bundler: &mut Bundler<'_>, item: &Item, top: Option<&Path>) -> Result<(Stored, Option<FileStamp>)> {
    match &item.put.source {
        ArtifactSource::Bytes(bytes) => {
            let metadata = Metadata { mode: 0o644, ..Metadata::default() };
            Ok((bundler.stream(&mut bytes.as_slice(), metadata)?, None))
        }
        ArtifactSource::Open(file) => {
            let mut file = file.as_ref();
            // From the start, also when it is stored once more because a collection came in between.
            file.seek(SeekFrom::Start(0)).map_err(|error| {
                Error::unavailable("input_failed", format!("cannot read {}: {error}", item.name)).because(error)
            })?;
            let metadata = Metadata { mode: 0o644, ..Metadata::default() };
            Ok((bundler.stream(&mut file, metadata)?, None))
        }
        ArtifactSource::File(path) => {
            let inside = item.located.as_ref().and_then(|located| located.inside.as_ref());
            let source = match (top, inside) {
                (Some(top), Some(inside)) if item.beneath => FileSource::open_beneath(top, inside)?,
                _ => FileSource::open(path)?,
            };
            let (stored, stamp) = bundler.file(&source)?;
            Ok((stored, Some(stamp)))
        }
    }
}

/// Whether publishing a record would say again what the last version says, as far as nothing in it may have been replaced.
fn is_same(last: &ArtifactRecord, next: &ArtifactRecord) -> bool {
    let step = |record: &ArtifactRecord| record.lineage.step.as_ref().map(|step| step.step);
    let inputs = |record: &ArtifactRecord| -> Vec<(String, BlockId)> {
        record.lineage.inputs.iter().map(|input| (input.path.clone(), input.content)).collect()
    };
    (last.size, &last.sha256, &last.of_type, &last.mime) == (next.size, &next.sha256, &next.of_type, &next.mime)
        && step(last) == step(next)
        && inputs(last) == inputs(next)
}
