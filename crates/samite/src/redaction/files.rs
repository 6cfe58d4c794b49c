//! Files of workspaces: new content is looked at as the policy says, and what was found is told.

use super::apply::found_files_in;
use crate::artifact::ArtifactFilter;
use crate::client::Client;
use crate::core::Core;
use crate::payload::FileFound;
use crate::status::SessionStatus;
use crate::views::row;
use samite_ledger::RowQuery;
use samite_model::tree::{Content, Segment};
use samite_model::{ArtifactId, BlockId, EntryKind, Position, Result, SessionId};
use samite_redact::{Class, Files, Mode, Redactor};
use samite_workspace::{Match, Screen, Screening, Tree};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

struct Looking(Arc<Redactor>);

impl Screen for Looking {
    fn screen(&self, bytes: &[u8]) -> Vec<Match> {
        let found = self.0.screen(bytes).into_iter();
        found
            .filter_map(|one| {
                let (class, kind) = (one.class.name(), one.kind.into_owned());
                Some(Match { class, kind, fingerprint: one.fingerprint, place: one.place? })
            })
            .collect()
    }
}

/// What is done with new content of files under a policy.
pub(super) fn screening(redactor: &Arc<Redactor>) -> Screening {
    let policy = redactor.policy();
    let looks = policy.files != Files::Off && Class::ALL.iter().any(|class| policy.mode(*class) != Mode::Off);
    let screen = looks.then(|| Arc::new(Looking(redactor.clone())) as Arc<dyn Screen>);
    let separates = looks && policy.files == Files::Separate;
    Screening { screen, separates, separated: policy.files_separated || separates }
}

impl Core {
    /// What is done with new content of files, as this process looked at the policy last. Who is about to store or compare files
    /// looks before ([`Core::refresh_redactor`]).
    pub(crate) fn screening(&self) -> Screening {
        self.last_redactor().map(|redactor| screening(&redactor)).unwrap_or_default()
    }
}

/// What redaction found of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundOf {
    /// What it is.
    pub class: Class,
    /// Of which kind.
    pub kind: String,
    /// How often in entries.
    pub count: u64,
    /// How many of these were replaced by placeholders.
    pub redacted: u64,
    /// How often in new content of files when checkpoints and merges stored it.
    pub in_files: u64,
    /// How often in new content of artifacts and their inputs when these were published.
    pub in_artifacts: u64,
    /// How many of these lie in blocks under their owner's keys.
    pub separate: u64,
}

/// Counts by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundCounts(BTreeMap<(Class, String), [u64; 5]>);

impl FoundCounts {
    /// The counts, in order of class and kind.
    pub fn all(&self) -> Vec<FoundOf> {
        let of = |(known, counts): (&(Class, String), &[u64; 5])| {
            let ((class, kind), [count, redacted, in_files, in_artifacts, separate]) = (known.clone(), *counts);
            FoundOf { class, kind, count, redacted, in_files, in_artifacts, separate }
        };
        self.0.iter().map(of).collect()
    }

    fn add(&mut self, class: Class, kind: &str, counts: [u64; 5]) {
        let known = self.0.entry((class, kind.to_owned())).or_default();
        for (known, more) in known.iter_mut().zip(counts) {
            *known = known.saturating_add(more);
        }
    }

    fn add_all(&mut self, other: &Self) {
        for ((class, kind), counts) in &other.0 {
            self.add(*class, kind, *counts);
        }
    }
}

/// What redaction found in sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundStatus {
    /// In all of them together.
    pub all: FoundCounts,
    /// In each, where anything was found.
    pub sessions: Vec<(SessionId, FoundCounts)>,
}

/// A file of a checkpoint that holds something, as it was found when its content was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingFile {
    /// Its path in that checkpoint's tree.
    pub path: String,
    /// Where the entry is that says what was found.
    pub from: Position,
    /// What of it the file still holds.
    pub found: FileFound,
}

/// An artifact that holds something, as it was found when its content was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingArtifact {
    /// The artifact.
    pub artifact: ArtifactId,
    /// What it is called.
    pub name: String,
    /// Which version of its name it is.
    pub version: u64,
    /// The path of the input that holds it; none where its own bytes do.
    pub input: Option<String>,
    /// Where the entry is that says what was found.
    pub from: Position,
    /// What of it is still there.
    pub found: FileFound,
}

/// What was found, and where the entry is that says so, by the chunk that holds it.
type Finds = HashMap<BlockId, (Position, FileFound)>;

impl Client {
    /// What redaction found in what these sessions wrote, by kind, files included. Reads only the entries in which there is
    /// something.
    pub(crate) async fn found_status(&self, sessions: &[SessionStatus]) -> Result<FoundStatus> {
        let mut status = FoundStatus::default();
        for session in sessions {
            let mut counts = FoundCounts::default();
            for branch in &session.branches {
                let state = self.core.journal(branch.branch.id).await?;
                for at in self.marked(Position { journal: state.id, seq: state.head }, true).await? {
                    let entry = self.core.whole(self.core.entry_at(at).await?)?;
                    if entry.payload.is_none() {
                        continue;
                    }
                    for found in super::apply::marks_of(&entry).map(|marks| marks.found).unwrap_or_default() {
                        let redacted = if found.redacted { found.count } else { 0 };
                        counts.add(found.class, &found.kind, [found.count, redacted, 0, 0, 0]);
                    }
                    let published = entry.header.kind == EntryKind::ARTIFACT_PUBLISHED;
                    for file in found_files_in(&entry) {
                        for one in &file.found {
                            let separate = if file.separate { one.count } else { 0 };
                            let (files, artifacts) = if published { (0, one.count) } else { (one.count, 0) };
                            counts.add(one.class, &one.kind, [0, 0, files, artifacts, separate]);
                        }
                    }
                }
            }
            if counts != FoundCounts::default() {
                status.all.add_all(&counts);
                status.sessions.push((session.session.id, counts));
            }
        }
        Ok(status)
    }

    /// The entries up to a position in which something was found; `own` leaves out what a fork inherits.
    async fn marked(&self, at: Position, own: bool) -> Result<Vec<Position>> {
        let query = RowQuery { at, kind: row::FOUND, hashes: Vec::new(), limit: usize::MAX };
        let rows = self.core.0.ledger.rows(query).await?.into_iter().map(|row| row.position);
        Ok(rows.filter(|position| !own || position.journal == at.journal).collect())
    }

    /// The files of the last checkpoint up to a position that hold something which was found when their content was stored, by
    /// any session that this principal may see. Files whose content was stored while files were not looked at are not among them.
    ///
    /// # Errors
    /// `not_found` (`no_tree`) when there is no checkpoint; `corrupt` when its tree cannot be read.
    pub async fn holding_files(&self, at: Position) -> Result<Vec<HoldingFile>> {
        let root = self.root_at(at).await?;
        let known = self.known_finds(Some(at)).await?;
        self.holding_in(root, &known)
    }

    /// The artifacts whose bytes or inputs hold something which was found when they were stored, by a checkpoint, a merge or an
    /// artifact of any session that this principal may see. What was collected, and what was stored while files were not looked at,
    /// is not among them.
    ///
    /// # Errors
    /// As [`Client::artifacts`]; `corrupt` when a tree cannot be read.
    pub async fn holding_artifacts(&self, filter: &ArtifactFilter) -> Result<Vec<HoldingArtifact>> {
        let known = self.known_finds(None).await?;
        let mut holding = Vec::new();
        for artifact in self.artifacts(filter).await?.into_iter().filter(|artifact| !artifact.collected) {
            let record = artifact.record;
            for file in self.holding_in(record.root, &known)? {
                let input = record.lineage.inputs.iter().find_map(|input| input.shown(&file.path));
                holding.push(HoldingArtifact {
                    artifact: record.artifact,
                    name: record.name.clone(),
                    version: record.version,
                    input,
                    from: file.from,
                    found: file.found,
                });
            }
        }
        Ok(holding)
    }

    /// The files of a tree with chunks in which something was found.
    fn holding_in(&self, root: BlockId, known: &Finds) -> Result<Vec<HoldingFile>> {
        if known.is_empty() {
            return Ok(Vec::new());
        }
        let store = self.core.blocks();
        let tree = Tree::new(&store, self.subject.pseudonym, root);
        let mut holding = Vec::new();
        for (path, entry) in &tree.listing()? {
            let Content::File { body, .. } = &entry.content else { continue };
            for segment in tree.segments(body)? {
                let Segment::Chunk { id, .. } = segment else { continue };
                if let Some((from, found)) = known.get(&id) {
                    holding.push(HoldingFile { path: path.to_string(), from: *from, found: found.clone() });
                }
            }
        }
        Ok(holding)
    }

    /// What was found up to a position and on all branches, by the chunk that holds it.
    async fn known_finds(&self, at: Option<Position>) -> Result<Finds> {
        let mut heads: Vec<(Position, bool)> = at.map(|at| (at, false)).into_iter().collect();
        for session in self.sessions().await?.into_iter().flatten() {
            for branch in self.branches(session.id).await? {
                if let Ok(state) = self.core.journal(branch.id).await {
                    heads.push((Position { journal: state.id, seq: state.head }, true));
                }
            }
        }
        let mut known = HashMap::new();
        for (head, own) in heads {
            for position in self.marked(head, own).await? {
                let entry = self.core.whole(self.core.entry_at(position).await?)?;
                for found in found_files_in(&entry) {
                    known.entry(found.block).or_insert((position, found));
                }
            }
        }
        Ok(known)
    }
}
