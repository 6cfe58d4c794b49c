//! Which step made an artifact, and with which command.

use super::place::locate;
use crate::payload::{KnownBy, MadeBy, MadeWith, StepEnded, StepStarted};
use crate::run::argv_value;
use crate::step::StepRecord;
use crate::views::{StepRow, row};
use crate::writer::Writer;
use samite_ledger::RowQuery;
use samite_model::step::State;
use samite_model::tree::TreePath;
use samite_model::{BlockId, EntryId, EntryKind, Error, Position, Result};
use samite_workspace::Bundler;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// So many of the last trees are looked at for the step that made a file.
const TREES: usize = 32;

/// A step that made an artifact, with what it found when it started.
#[derive(Clone, Debug)]
pub(super) struct Maker {
    pub(super) made_by: MadeBy,
    /// The workspace's tree at its start, when one was recorded.
    pub(super) before: Option<BlockId>,
    /// Its command, when `step run` recorded one.
    pub(super) command: Option<MadeWith>,
}

impl Maker {
    fn new(step: EntryId, start: Position, started: StepStarted, known_by: KnownBy, workspace: Option<&Path>) -> Self {
        let before = started.tree;
        let command = recorded_command(&started.input, workspace);
        Self { made_by: MadeBy { key: started.key, tool: started.tool, step, start, known_by }, before, command }
    }
}

/// The command of a step's input, with its directory relative to the workspace where it ran in it.
fn recorded_command(input: &Value, workspace: Option<&Path>) -> Option<MadeWith> {
    let argv = input.get("argv").filter(|argv| argv.is_array())?.clone();
    let directory = input.get("directory")?.as_str()?;
    Some(MadeWith { argv, directory: relative(Path::new(directory), workspace) })
}

/// A command that the caller names.
pub(super) fn named_command(argv: &[OsString], directory: &Path, workspace: Option<&Path>) -> Result<MadeWith> {
    if argv.is_empty() {
        return Err(Error::invalid("no_command", "the command has no words"));
    }
    Ok(MadeWith { argv: argv_value(argv), directory: relative(directory, workspace) })
}

fn relative(directory: &Path, workspace: Option<&Path>) -> String {
    // One that is gone is recorded as it was.
    match locate(workspace, directory) {
        Ok(located) => match located.inside {
            Some(inside) => String::from_utf8_lossy(inside.as_bytes()).into_owned(),
            None => located.path.to_string_lossy().into_owned(),
        },
        Err(_) => directory.to_string_lossy().into_owned(),
    }
}

impl Writer {
    /// The step with a key, as the caller says that it made something.
    pub(super) async fn maker_of_key(&self, key: &str, workspace: Option<&Path>) -> Result<Maker> {
        let hashes = self.hashes("step-key", key.as_bytes())?;
        let head = self.core().journal(self.branch()).await?.head;
        let at = Position { journal: self.branch(), seq: head };
        let rows = RowQuery { at, kind: row::STEP, hashes, limit: usize::MAX };
        for found in self.core().0.ledger.rows(rows).await? {
            if StepRow::decode(&found.value)?.state == State::Started {
                let entry = self.core().entry_at(found.position).await?;
                if entry.payload.is_none() {
                    continue;
                }
                let step = StepRecord::of_start(&entry, State::Started)?;
                return Ok(Maker::new(step.id, step.start, step.started, KnownBy::Caller, workspace));
            }
        }
        Err(Error::not_found("no_step", format!("branch {} has no step {key:?}", self.branch().short()))
            .hint("`samite step list SESSION` shows its steps"))
    }

    /// The step between whose trees a file of the workspace came to hold what it holds, if the last trees tell.
    pub(super) async fn maker_by_trees(
        &self,
        bundler: &Bundler<'_>,
        path: &TreePath,
        content: BlockId,
        workspace: &Path,
    ) -> Result<Option<Maker>> {
        let head = self.core().journal(self.branch()).await?.head;
        let at = Position { journal: self.branch(), seq: head };
        let query = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit: TREES };
        let mut first = None;
        for found in self.core().0.ledger.rows(query).await? {
            // What went with a collection tells nothing.
            match bundler.content_at(BlockId::from_slice(&found.value)?, path) {
                Ok(then) if then == Some(content) => first = Some(found.position),
                Ok(_) => break,
                Err(error) if error.code() == "block_missing" => break,
                Err(error) => return Err(error),
            }
        }
        let Some(tree) = first else { return Ok(None) };
        // The tree of a step's end stands right before its outcome.
        let after = Position { seq: tree.seq + 1, ..tree };
        if after.seq > self.core().journal(tree.journal).await?.head {
            return Ok(None);
        }
        let entry = self.core().entry_at(after).await?;
        if !matches!(entry.header.kind, EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED) || entry.payload.is_none() {
            return Ok(None);
        }
        let ended: StepEnded = entry.json()?;
        let start = self.core().entry_at(ended.start).await?;
        if start.payload.is_none() {
            return Ok(None);
        }
        let started: StepStarted = start.json()?;
        let Some(before) = started.tree else { return Ok(None) };
        match bundler.content_at(before, path) {
            Ok(then) if then != Some(content) => {}
            Ok(_) => return Ok(None),
            Err(error) if error.code() == "block_missing" => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(Some(Maker::new(ended.step, ended.start, started, KnownBy::Trees, Some(workspace))))
    }
}
