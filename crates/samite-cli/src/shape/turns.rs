//! The turns of a branch, as an answer.

use super::gist::{first_line, gist};
use super::{ChangeShape, PositionShape};
use crate::printer::words::{count, rfc3339, short_id, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use samite::payload::ForkReason;
use samite::{OtherLine, Said, SessionInfo, StepRecord, Turn, TurnLog, TurnMerge, TurnTree};
use samite_model::cadence::Cause;
use samite_model::step::State;
use samite_model::tree::{Change, ChangeKind, EntryType};
use serde::Serialize;
use std::path::Path;

/// How many of the files that changed a person is shown.
const FILES: usize = 4;

/// The turns of a branch.
#[derive(Debug, Serialize)]
pub(crate) struct TurnLogShape {
    session: String,
    name: Option<String>,
    branch: String,
    current: bool,
    directory: Option<String>,
    seq: u64,
    imported_from: Option<String>,
    earlier: usize,
    turns: Vec<TurnShape>,
    other_lines: Vec<OtherLineShape>,
}

#[derive(Debug, Serialize)]
struct TurnShape {
    number: usize,
    first: u64,
    last: u64,
    time: Option<String>,
    ended: bool,
    said: Vec<SaidShape>,
    steps: Vec<TurnStepShape>,
    checkpoints: Vec<TurnTreeShape>,
    artifacts: Vec<TurnArtifactShape>,
    merges: Vec<TurnMergeShape>,
    #[serde(skip)]
    when: Option<i64>,
    /// Whether a person is told that it has not ended.
    #[serde(skip)]
    goes_on: bool,
}

#[derive(Debug, Serialize)]
struct SaidShape {
    seq: u64,
    role: Option<String>,
    time: Option<String>,
    /// The first line.
    line: String,
}

#[derive(Debug, Serialize)]
struct TurnStepShape {
    seq: u64,
    key: String,
    tool: String,
    /// What it was called with, in short.
    what: String,
    effect: &'static str,
    state: State,
    /// Where its outcome is.
    outcome: Option<u64>,
    #[serde(skip)]
    not_run: bool,
}

#[derive(Debug, Serialize)]
struct TurnTreeShape {
    seq: u64,
    rewind_to: u64,
    label: Option<String>,
    cause: Option<&'static str>,
    /// None where a tree is gone, and for the first.
    changes: Option<Vec<ChangeShape>>,
    thinned: bool,
    there: bool,
    /// In how many files redaction found something.
    found: u64,
    #[serde(skip)]
    files: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct TurnArtifactShape {
    seq: u64,
    name: String,
}

/// A branch that was merged.
#[derive(Debug, Serialize)]
struct TurnMergeShape {
    seq: u64,
    from: String,
    name: Option<String>,
    theirs: PositionShape,
}

#[derive(Debug, Serialize)]
struct OtherLineShape {
    branch: String,
    name: Option<String>,
    at: u64,
    head: u64,
    reason: Option<ForkReason>,
    current: bool,
}

impl TurnLogShape {
    /// The shape of a log of a session that works in a directory.
    pub(crate) fn new(info: &SessionInfo, directory: Option<&Path>, log: &TurnLog) -> Self {
        Self {
            session: info.id.to_string(),
            name: info.created.name.clone(),
            branch: log.branch.to_string(),
            current: info.current == log.branch,
            directory: directory.map(|directory| directory.display().to_string()),
            seq: log.head,
            imported_from: log.imported_from.clone(),
            earlier: log.earlier,
            turns: log.turns.iter().map(|turn| TurnShape::new(turn, log.imported_from.is_some())).collect(),
            other_lines: log.others.iter().map(OtherLineShape::new).collect(),
        }
    }

    /// Where other lines go on from within a turn.
    fn others_at(&self, from: u64, to: u64) -> impl Iterator<Item = &OtherLineShape> {
        self.other_lines.iter().filter(move |other| (from..=to).contains(&other.at))
    }
}

impl TurnShape {
    fn new(turn: &Turn, is_imported: bool) -> Self {
        let said = turn.said.iter().find_map(|said| said.time);
        // A step that was imported has the time of the import, which says nothing of when it ran.
        let when = said.or_else(|| turn.steps.first().filter(|_| !is_imported).map(|step| step.started_at));
        let when = when.or_else(|| turn.trees.first().map(|tree| tree.time));
        let published = turn.artifacts.first().filter(|_| !is_imported).map(|artifact| artifact.time);
        let when = when.or(published);
        // Transcripts do not say where a turn ends, and where nothing but a checkpoint was taken, none was begun.
        let goes_on = !turn.ended && !is_imported && (!turn.said.is_empty() || !turn.steps.is_empty());
        let artifact =
            |artifact: &samite::TurnArtifact| TurnArtifactShape { seq: artifact.seq, name: artifact.name.clone() };
        Self {
            number: turn.number,
            first: turn.first,
            last: turn.last,
            time: when.map(rfc3339),
            ended: turn.ended,
            said: turn.said.iter().map(SaidShape::new).collect(),
            steps: turn.steps.iter().map(TurnStepShape::new).collect(),
            checkpoints: turn.trees.iter().map(TurnTreeShape::new).collect(),
            artifacts: turn.artifacts.iter().map(artifact).collect(),
            merges: turn.merges.iter().map(TurnMergeShape::new).collect(),
            when,
            goes_on,
        }
    }

    /// Its rows, by their seqs.
    fn rows(&self) -> Vec<(u64, Style, [String; 4])> {
        let said = self.said.iter().map(|said| (said.seq, Style::Plain, said.cells()));
        let steps = self.steps.iter().map(|step| {
            // The step that put the files is the merge, for a person.
            let merge = self.merges.iter().find(|merge| step.outcome == Some(merge.seq + 1));
            (step.seq, step.style(), merge.map_or_else(|| step.cells(), |merge| merge.cells(step)))
        });
        let trees = self.checkpoints.iter().map(|tree| (tree.rewind_to, tree.style(), tree.cells()));
        let published = self.artifacts.iter().map(|artifact| {
            let cells =
                [artifact.seq.to_string(), String::new(), format!("published {}", artifact.name), String::new()];
            (artifact.seq, Style::Plain, cells)
        });
        let mut rows: Vec<_> = said.chain(steps).chain(trees).chain(published).collect();
        rows.sort_by_key(|(seq, _, _)| *seq);
        rows
    }
}

impl SaidShape {
    fn new(said: &Said) -> Self {
        Self { seq: said.seq, role: said.role.clone(), time: said.time.map(rfc3339), line: first_line(&said.text) }
    }

    fn cells(&self) -> [String; 4] {
        let who = match self.role.as_deref() {
            Some("user") => "you",
            Some("assistant") => "agent",
            Some(role) => role,
            None => "message",
        };
        [self.seq.to_string(), who.to_owned(), self.line.clone(), String::new()]
    }
}

impl TurnStepShape {
    fn new(step: &StepRecord) -> Self {
        // Its own words are for samite.
        let is_restore = step.started.tool == samite::workspace::RESTORE;
        Self {
            seq: step.start.seq,
            key: step.started.key.clone(),
            tool: step.started.tool.clone(),
            what: if is_restore { "files put back".to_owned() } else { gist(&step.started.input) },
            effect: step.started.effect.name(),
            state: step.state,
            outcome: step.outcome.as_ref().map(|outcome| outcome.position.seq),
            not_run: step.outcome.as_ref().is_some_and(|outcome| outcome.not_run.is_some()),
        }
    }

    fn style(&self) -> Style {
        match self.state {
            State::InDoubt | State::Started => Style::Care,
            State::Failed | State::FailedRetryable => Style::Bad,
            _ => Style::Plain,
        }
    }

    fn cells(&self) -> [String; 4] {
        let state = super::step::state_words(self.state, self.not_run);
        [self.seq.to_string(), self.tool.clone(), self.what.clone(), format!("{} {state}", self.effect)]
    }
}

impl TurnMergeShape {
    fn new(merge: &TurnMerge) -> Self {
        let TurnMerge { seq, from, name, theirs } = merge;
        Self { seq: *seq, from: from.to_string(), name: name.clone(), theirs: (*theirs).into() }
    }

    fn cells(&self, step: &TurnStepShape) -> [String; 4] {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" {name:?}"));
        let what = format!("{}{name} merged, as at {}", short_id(&self.from), self.theirs.seq);
        let [seq, _, _, state] = step.cells();
        [seq, "merge".to_owned(), what, state]
    }
}

impl TurnTreeShape {
    fn new(tree: &TurnTree) -> Self {
        Self {
            seq: tree.seq,
            rewind_to: tree.at,
            label: tree.label.clone(),
            cause: tree.cause.map(Cause::name),
            changes: tree.changes.as_deref().map(ChangeShape::all),
            thinned: tree.thinned,
            there: tree.there,
            found: tree.found,
            files: tree.changes.as_deref().map(files),
        }
    }

    /// Why nothing is put back to it, if so.
    const fn gone(&self) -> Option<&'static str> {
        match (self.thinned, self.there) {
            (true, _) => Some("thinned out"),
            (false, false) => Some("gone"),
            (false, true) => None,
        }
    }

    const fn style(&self) -> Style {
        if self.gone().is_some() { Style::Dim } else { Style::Good }
    }

    fn cells(&self) -> [String; 4] {
        let who = if self.label.as_deref() == Some("before a prompt") { "you" } else { "" };
        let own = self.label.as_ref().filter(|label| who.is_empty() && !label.starts_with("after step "));
        let files = match &self.files {
            Some(files) if files.is_empty() => "checkpoint".to_owned(),
            Some(files) => {
                let mut named: Vec<String> = files.iter().take(FILES).cloned().collect();
                if files.len() > FILES {
                    named.push(format!("{} more", files.len() - FILES));
                }
                format!("changed {}", named.join(", "))
            }
            None => "checkpoint".to_owned(),
        };
        let mut what = own.map_or_else(|| files.clone(), |label| format!("{files} ({label})"));
        if self.found > 0 {
            what.push_str(", redaction found something in ");
            what.push_str(&count(self.found, "file"));
        }
        let mark = if self.gone().is_some() { '○' } else { '●' };
        [format!("{mark} {}", self.rewind_to), who.to_owned(), what, self.gone().unwrap_or_default().to_owned()]
    }
}

/// The files that changed, as a person knows them: a git repository's own are one, and directories follow from what is in them.
fn files(changes: &[Change]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for change in changes {
        let is_directory = change
            .after
            .as_ref()
            .or(change.before.as_ref())
            .is_some_and(|entry| entry.content.entry_type() == EntryType::Directory);
        if change.kind == ChangeKind::Time || is_directory {
            continue;
        }
        let path = change.path.to_string();
        let is_git = |part: &str| part == ".git";
        let name = match path.split('/').position(is_git) {
            Some(depth) => path.split('/').take(depth + 1).collect::<Vec<_>>().join("/"),
            None => path,
        };
        if files.last() != Some(&name) && !files.contains(&name) {
            files.push(name);
        }
    }
    files
}

impl OtherLineShape {
    fn new(other: &OtherLine) -> Self {
        Self {
            branch: other.branch.to_string(),
            name: other.name.clone(),
            at: other.at,
            head: other.head,
            reason: other.reason,
            current: other.current,
        }
    }

    fn cells(&self) -> [String; 4] {
        let what = match self.reason {
            None => "left behind",
            Some(ForkReason::Rewind) => "rewound to here",
            Some(_) => "forked here",
        };
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" {name:?}"));
        let current = if self.current { ", current" } else { "" };
        let range = if self.head > self.at { format!(", {}–{}", self.at + 1, self.head) } else { String::new() };
        let branch = short_id(&self.branch);
        [String::new(), "branch".to_owned(), format!("{branch}{name}: {what}{range}{current}"), String::new()]
    }
}

impl Answer for TurnLogShape {
    fn show(&self, page: &mut Page) {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!("  {name}"));
        page.spans(&[(Style::Dim, "session "), (Style::Plain, &self.session), (Style::Strong, &name)]);
        let branch = if self.current { "branch (current)" } else { "branch" };
        page.facts(&[
            (branch, short_id(&self.branch)),
            ("directory", self.directory.clone().unwrap_or_default()),
            ("imported from", self.imported_from.clone().unwrap_or_default()),
        ]);
        if self.earlier > 0 {
            let earlier = count(self.earlier as u64, "earlier turn");
            page.styled(Style::Dim, format!("{earlier} left out; --turns COUNT shows more"));
        }
        if self.turns.is_empty() {
            return page.styled(Style::Dim, "nothing was said or done yet");
        }
        let mut table = Table::new(&[
            ("SEQ", Column::Right),
            ("WHO", Column::Left),
            ("WHAT", Column::Flexible),
            ("EFFECT", Column::Left),
        ]);
        let mut from = 0;
        for turn in &self.turns {
            let when = turn.when.map(time).unwrap_or_default();
            let state = if turn.goes_on { "not ended" } else { "" };
            let what: Vec<&str> = [when.as_str(), state].into_iter().filter(|part| !part.is_empty()).collect();
            let head = [String::new(), format!("turn {}", turn.number), what.join(" · "), String::new()];
            table.styled(Style::Strong, head);
            for (_, style, cells) in turn.rows() {
                table.styled(style, cells);
            }
            for other in self.others_at(from, turn.last) {
                table.styled(Style::Dim, other.cells());
            }
            from = turn.last + 1;
        }
        page.gap();
        page.table(&table);
    }
}
