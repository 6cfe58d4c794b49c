//! Carrying out a merge that is decided: the workspace is put to the merged tree as a step, and what came of it is one commit.

use super::decision::Choice;
use super::sides::Sides;
use crate::payload::{MergeStarted, Merged};
use crate::step::{Begin, Completion, NewStep};
use crate::views;
use crate::workspace::{RestoreInput, Restored, Taken as TakenTree, WorkspaceInfo, in_doubt};
use crate::writer::{Writer, is_collected};
use samite_ledger::Commit;
use samite_model::tree::{Body, Conflict, Content, Entry, Listing, Metadata, Taken, TreePath};
use samite_model::{BlockId, EntryKind, Error, Observer, Position, Result};
use samite_workspace::{RestoreReport, store_tree};
use std::collections::BTreeMap;
use std::path::Path;

/// The label of the tree after a merge.
pub(crate) const AFTER_MERGE: &str = "after a merge";

/// How often a tree is stored again because a collection took what it needs.
const ROUNDS: usize = 4;

/// A tree that no directory holds yet, with the bytes that no tree has.
pub(super) struct MergedTree {
    pub(super) listing: Listing,
    pub(super) contents: BTreeMap<TreePath, Vec<u8>>,
}

impl Sides {
    /// The merged tree, with ours where nothing is decided. `now` is the time of files that are made.
    ///
    /// # Errors
    /// `invalid`: `merge_shape`, `bad_decision`, or as [`super::layout::read_file`].
    pub(super) fn merged(
        &self,
        decided: &BTreeMap<usize, Choice>,
        layout: Option<&Path>,
        now: i64,
    ) -> Result<MergedTree> {
        let mut contents = BTreeMap::new();
        let mut taken: BTreeMap<&TreePath, Taken> = BTreeMap::new();
        for (place, conflict) in self.merge.conflicts.iter().enumerate() {
            let of = match decided.get(&place) {
                None => Taken::Side(samite_model::tree::Side::Ours),
                Some(Choice::Side(side)) => Taken::Side(*side),
                Some(Choice::Removed) => Taken::Removed,
                Some(Choice::Proposed) => match (self.texts.get(&place), &conflict.proposed) {
                    (Some(text), _) => made(conflict, text.clone(), now, &mut contents)?,
                    (None, Some(entries)) => Taken::Entries(entries.clone()),
                    (None, None) => return Err(bad_decision(conflict, "nothing is proposed there")),
                },
                Some(Choice::File(file)) => {
                    let layout = layout.ok_or_else(|| bad_decision(conflict, "nothing is laid out yet"))?;
                    made(conflict, super::layout::read_file(layout, file)?, now, &mut contents)?
                }
            };
            taken.insert(&conflict.path, of);
        }
        let listing = self.merge.complete(self.listings(), |conflict| {
            taken.get(&conflict.path).cloned().unwrap_or(Taken::Side(samite_model::tree::Side::Ours))
        })?;
        Ok(MergedTree { listing, contents })
    }
}

pub(super) fn bad_decision(conflict: &Conflict, why: &str) -> Error {
    Error::invalid("bad_decision", format!("{} cannot be decided so: {why}", conflict.path))
        .hint("write ours, theirs, base, proposed, removed, or a file of the layout")
}

/// A file with new bytes in the place of a conflict.
fn made(conflict: &Conflict, bytes: Vec<u8>, now: i64, contents: &mut BTreeMap<TreePath, Vec<u8>>) -> Result<Taken> {
    let path = conflict
        .target()
        .ok_or_else(|| bad_decision(conflict, "it is decided whole, or moved to two names: take a side"))?;
    let [_, ours, theirs] = &conflict.entries;
    let of_a_side = || {
        let is_file = |entry: &&Entry| matches!(entry.content, Content::File { .. });
        [ours, theirs].into_iter().flatten().find(is_file).map(|entry| entry.metadata.clone())
    };
    let metadata = conflict.metadata.clone().or_else(of_a_side);
    let metadata = metadata.unwrap_or(Metadata { mode: 0o644, ..Metadata::default() });
    // Where the bytes are is known when they are stored; until then the same bytes have the same name.
    let placeholder = BlockId(*blake3::hash(&bytes).as_bytes());
    let entry = Entry {
        name: path.name().into(),
        metadata: Metadata { mtime: now, torn: false, ..metadata },
        content: Content::File { size: bytes.len() as u64, body: Body::List(placeholder) },
    };
    contents.insert(path.clone(), bytes);
    Ok(Taken::Entries(vec![(path.clone(), entry)]))
}

impl Writer {
    /// Records that a merge is decided, with its tree, and carries it out. Returns where the merge is recorded.
    pub(super) async fn carry_out_merge(
        &self,
        workspace: &WorkspaceInfo,
        started: MergeStarted,
        ours: BlockId,
        merged: &MergedTree,
        observer: &Observer,
    ) -> Result<(Position, Restored)> {
        let from = started.theirs;
        let (at, target) = self.record_decided(started, ours, merged).await?;
        samite_host::kill_point("merge.decided");
        self.put_to_merged(workspace, from, at, ours, target, observer).await
    }

    /// Puts the workspace, which is as in `ours`, to the tree of a merge that is recorded as decided.
    pub(super) async fn put_to_merged(
        &self,
        workspace: &WorkspaceInfo,
        from: Position,
        at: Position,
        ours: BlockId,
        target: BlockId,
        observer: &Observer,
    ) -> Result<(Position, Restored)> {
        let input = RestoreInput::of_merge(self.core(), ours, target, at, observer.clone())?;
        let step = NewStep { tree: Some(ours), ..input.step()? };
        let handle = match self.begin(&step).await? {
            Begin::Run(handle) => handle,
            Begin::InDoubt(doubt) => return Err(in_doubt(&doubt.step.started.key, doubt.step.start)),
            Begin::Replay(_) | Begin::Busy(_) => {
                return Err(Error::conflict("restore_busy", "another restore of this workspace is under way"));
            }
        };
        samite_host::kill_point("merge.begun");
        let (report, _) = self.apply(workspace, &input, None)?;
        samite_host::kill_point("merge.before_outcome");
        let draft = self.merged_draft(at, &report).await?;
        let completion = Completion::completed(crate::core::to_value(&report)?);
        let finish =
            async |tree: Option<&TakenTree>| self.finish_beside(&handle, &completion, tree, Some(&draft)).await;
        let (outcome, _) = self.with_tree(AFTER_MERGE.to_owned(), Some(target), finish).await?;
        samite_host::kill_point("merge.recorded");
        self.clear_layout(at).await;
        let directory = workspace.directory.clone();
        // The outcome comes right after the merge.
        let position = Position { seq: outcome.seq.saturating_sub(1), ..outcome };
        Ok((position, Restored { directory, target, from, safety: None, torn: Vec::new(), report }))
    }

    /// Stores the merged tree together with the entry that names it.
    async fn record_decided(
        &self,
        mut started: MergeStarted,
        ours: BlockId,
        merged: &MergedTree,
    ) -> Result<(Position, BlockId)> {
        self.core().refresh_redactor().await?;
        let store = self.core().blocks();
        let owner = self.client.subject.pseudonym;
        let mut round = 1;
        loop {
            let once = async {
                let stored = store_tree(&store, owner, ours, &merged.listing, &merged.contents)?;
                started.target = Some(stored.root);
                (started.found, _) = crate::redaction::found_files(&stored.found);
                let draft = self.core().draft(EntryKind::MERGE_STARTED, &started, views::merge_started(&started))?;
                let mut commit = Commit::default();
                stored.parts.add_to(&mut commit);
                samite_host::kill_point("merge.built");
                let seq = self.commit_with(commit, vec![draft]).await?;
                Ok((Position { journal: self.branch, seq }, stored.root))
            };
            match once.await {
                Err(error) if is_collected(&error) && round < ROUNDS => round += 1,
                other => {
                    self.forget_steps();
                    return other;
                }
            }
        }
    }

    /// The entry of a merge whose tree the workspace was put to.
    pub(crate) async fn merged_draft(&self, merge: Position, report: &RestoreReport) -> Result<crate::core::Draft> {
        let started: MergeStarted = self.core().entry_at(merge).await?.json()?;
        let target = started
            .target
            .ok_or_else(|| Error::corrupt("bad_payload", "a merge that is carried out does not say to what tree"))?;
        let merged = Merged::new(started, target, &report.kept);
        self.core().draft(EntryKind::MERGED, &merged, views::merged(&merged))
    }

    /// Removes what a merge laid out. The merge is done by then; what cannot be removed goes when the next one begins.
    pub(crate) async fn clear_layout(&self, merge: Position) {
        let Ok(entry) = self.core().entry_at(merge).await else { return };
        let Ok(MergeStarted { layout: Some(layout), .. }) = entry.json() else { return };
        self.client.remove_layout(self.branch, Path::new(&layout)).ok();
    }
}
