//! What each command of the file tool does and answers. Pure.
//!
//! The answers are those that the tool's documentation prescribes (Claude's memory tool, `memory_20250818`); where that says nothing they
//! are those of its reference implementation, or like them.

use super::FileCommand;
use super::path::{BadPath, FilePath};
use samite_memory::Standings;
use samite_model::RecordId;
use samite_model::memory::{RecordKind, Trust, Verdict};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What makes records of files, as it is named in their provenance.
pub(super) const EXTRACTOR: &str = "samite-files";

/// A file of more lines is not shown.
const LINES: usize = 999_999;

/// So many lines are shown before and after what was edited.
const AROUND: usize = 2;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) record: RecordId,
    pub(super) trust: Trust,
    pub(super) content: String,
    /// Whether it is seen: nobody has to approve it first.
    pub(super) is_found: bool,
}

/// All files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files(BTreeMap<FilePath, File>);

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// A file has this content now: a new one, or one that was there, perhaps under another path.
    Write { path: FilePath, content: String, replaces: Option<(RecordId, Trust)> },
    /// A file goes.
    Remove(RecordId),
}

/// What a command answers and does; an error does nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) edits: Vec<Edit>,
    /// The file whose content is shown.
    pub(super) shown: Option<RecordId>,
    pub(super) text: String,
}

impl Files {
    /// The files of a namespace at a time.
    pub(super) fn of(standings: &Standings, time: i64) -> Self {
        let mut files = BTreeMap::new();
        for standing in standings.all() {
            let record = &standing.record;
            let made_by = record.provenance.extractor.as_ref().map(|made_by| made_by.name.as_str());
            let is_file = record.kind == RecordKind::Semantic && made_by == Some(EXTRACTOR);
            if !is_file || standing.ended.is_some() || standing.verdict == Some(Verdict::Rejected) {
                continue;
            }
            let path = record.metadata.get("path").and_then(Value::as_str).map(|path| FilePath::parse(path, false));
            let Some(Ok(path)) = path else { continue };
            // A file that says nothing has its path as the record's text.
            let content = record.metadata.get("content").and_then(Value::as_str).unwrap_or(&record.text).to_owned();
            let is_found = standing.is_found(standings.settings(), time);
            files.insert(path, File { record: record.record, trust: record.provenance.trust, content, is_found });
        }
        Self(files)
    }

    fn file(&self, path: &FilePath) -> Option<&File> {
        self.0.get(path).filter(|file| file.is_found)
    }

    /// What is seen below a directory.
    fn below<'a>(&'a self, path: &'a FilePath) -> impl Iterator<Item = (&'a FilePath, &'a File)> {
        self.0.iter().filter(move |(inside, file)| file.is_found && inside.below(path).is_some())
    }

    /// Whether there is a file or a directory, seen or not.
    fn is_taken(&self, path: &FilePath) -> bool {
        path.is_root() || self.0.contains_key(path) || self.0.keys().any(|inside| inside.below(path).is_some())
    }

    /// Carries out a command.
    ///
    /// # Errors
    /// What the tool says of it.
    pub(super) fn act(&self, command: &FileCommand) -> Result<Outcome, String> {
        match command {
            FileCommand::View { path, view_range } => self.view(path, view_range.as_deref()),
            FileCommand::Create { path, file_text } => self.create(path, file_text),
            FileCommand::StrReplace { path, old_str, new_str } => self.replace(path, old_str, new_str),
            FileCommand::Insert { path, insert_line, insert_text } => self.insert(path, *insert_line, insert_text),
            FileCommand::Delete { path } => self.delete(path),
            FileCommand::Rename { old_path, new_path } => self.rename(old_path, new_path),
        }
    }

    fn view(&self, text: &str, range: Option<&[i64]>) -> Result<Outcome, String> {
        let path = parse(text, true)?;
        let missing = || format!("The path {text} does not exist. Please provide a valid path.");
        let Some(file) = self.file(&path).filter(|_| !text.ends_with('/')) else {
            if !path.is_root() && self.below(&path).next().is_none() {
                return Err(missing());
            }
            return Ok(Outcome { text: self.listing(&path), ..Outcome::default() });
        };
        let lines: Vec<&str> = file.content.split('\n').collect();
        if lines.len() > LINES {
            return Err(format!("File {text} exceeds maximum line limit of 999,999 lines."));
        }
        let (first, last) = match range {
            None => (1, lines.len()),
            Some(range) => part(range, lines.len()).ok_or_else(|| {
                format!(
                    "Error: Invalid `view_range` parameter: {range:?}. It should be within the range of lines of the file: [1, {}]",
                    lines.len()
                )
            })?,
        };
        let text = format!("Here's the content of {text} with line numbers:\n{}", numbered(&lines, first, last));
        Ok(Outcome { text, shown: Some(file.record), edits: Vec::new() })
    }

    /// Up to two levels below a directory, without what is hidden, each with its size.
    fn listing(&self, directory: &FilePath) -> String {
        let mut whole = 0;
        let mut listed: BTreeMap<Vec<&str>, (usize, bool)> = BTreeMap::new();
        for (path, file) in self.below(directory) {
            whole += file.content.len();
            let parts: Vec<&str> = path.below(directory).unwrap_or_default().iter().map(String::as_str).collect();
            for depth in 1..=parts.len().min(2) {
                let inside = parts.get(..depth).unwrap_or_default().to_vec();
                if inside.iter().any(|part| part.starts_with('.') || *part == "node_modules") {
                    break;
                }
                let one = listed.entry(inside).or_insert((0, depth < parts.len()));
                one.0 += file.content.len();
            }
        }
        let mut text = format!(
            "Here're the files and directories up to 2 levels deep in {directory}, excluding hidden items and node_modules:\n{}\t{directory}",
            size(whole)
        );
        for (parts, (bytes, is_directory)) in listed {
            let slash = if is_directory { "/" } else { "" };
            let _ = write!(text, "\n{}\t{directory}/{}{slash}", size(bytes), parts.join("/"));
        }
        text
    }

    fn create(&self, text: &str, content: &str) -> Result<Outcome, String> {
        let path = parse(text, false)?;
        if self.is_taken(&path) {
            return Err(format!("Error: File {text} already exists"));
        }
        self.check_above(&path)?;
        let write = Edit::Write { path, content: content.to_owned(), replaces: None };
        Ok(done(format!("File created successfully at: {text}"), vec![write]))
    }

    /// Refuses what would be below a file.
    fn check_above(&self, path: &FilePath) -> Result<(), String> {
        match path.above().find(|above| self.0.contains_key(above)) {
            Some(file) => Err(format!("Error: The path {file} is a file and not a directory")),
            None => Ok(()),
        }
    }

    fn replace(&self, text: &str, old: &str, new: &str) -> Result<Outcome, String> {
        let path = parse(text, false)?;
        let missing = || format!("Error: The path {text} does not exist. Please provide a valid path.");
        let file = self.file(&path).ok_or_else(missing)?;
        let none = || format!("No replacement was performed, old_str `{old}` did not appear verbatim in {text}.");
        if old.is_empty() {
            return Err(none());
        }
        let line_of = |place: usize| 1 + file.content.get(..place).unwrap_or_default().matches('\n').count();
        let places: Vec<usize> = file.content.match_indices(old).map(|(place, _)| place).collect();
        let place = match places.as_slice() {
            [] => return Err(none()),
            [place] => *place,
            several => {
                let mut lines: Vec<usize> = several.iter().map(|place| line_of(*place)).collect();
                lines.dedup();
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                return Err(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                    lines.join(", ")
                ));
            }
        };
        let edited = file.content.replacen(old, new, 1);
        let lines: Vec<&str> = edited.split('\n').collect();
        let first = line_of(place);
        let last = (first + new.matches('\n').count() + AROUND).min(lines.len());
        let snippet = numbered(&lines, first.saturating_sub(AROUND).max(1), last);
        let said = "The memory file has been edited. Here is the snippet showing the change (with line numbers):";
        let edits = self.rewritten(&path, &edited);
        Ok(Outcome { text: format!("{said}\n{snippet}"), edits, shown: Some(file.record) })
    }

    fn insert(&self, text: &str, at: i64, inserted: &str) -> Result<Outcome, String> {
        let path = parse(text, false)?;
        let file = self.file(&path).ok_or_else(|| gone(text))?;
        let mut lines: Vec<&str> = file.content.split('\n').collect();
        let place = usize::try_from(at).ok().filter(|place| *place <= lines.len()).ok_or_else(|| {
            format!(
                "Error: Invalid `insert_line` parameter: {at}. It should be within the range of lines of the file: [0, {}]",
                lines.len()
            )
        })?;
        lines.insert(place, inserted.strip_suffix('\n').unwrap_or(inserted));
        let edits = self.rewritten(&path, &lines.join("\n"));
        Ok(done(format!("The file {text} has been edited."), edits))
    }

    /// A file with other content; nothing where it has that already.
    fn rewritten(&self, path: &FilePath, content: &str) -> Vec<Edit> {
        let file = self.file(path).filter(|file| file.content != content);
        let write = |file: &File| Edit::Write {
            path: path.clone(),
            content: content.to_owned(),
            replaces: Some((file.record, file.trust)),
        };
        file.map(write).into_iter().collect()
    }

    fn delete(&self, text: &str) -> Result<Outcome, String> {
        let path = parse(text, false)?;
        if path.is_root() {
            return Err("Error: Cannot delete the /memories directory itself".to_owned());
        }
        let inside = self.below(&path).map(|(_, file)| file);
        let edits: Vec<Edit> =
            self.file(&path).into_iter().chain(inside).map(|file| Edit::Remove(file.record)).collect();
        if edits.is_empty() { Err(gone(text)) } else { Ok(done(format!("Successfully deleted {text}"), edits)) }
    }

    fn rename(&self, old: &str, new: &str) -> Result<Outcome, String> {
        let (from, to) = (parse(old, false)?, parse(new, false)?);
        if from.is_root() {
            return Err("Error: Cannot rename the /memories directory itself".to_owned());
        }
        let itself = self.file(&from).map(|file| (&from, file));
        let moving: Vec<(&FilePath, &File)> = itself.into_iter().chain(self.below(&from)).collect();
        if moving.is_empty() {
            return Err(gone(old));
        }
        if self.is_taken(&to) {
            return Err(format!("Error: The destination {new} already exists"));
        }
        if to.below(&from).is_some() {
            return Err(format!("Error: The destination {new} is inside {old}"));
        }
        self.check_above(&to)?;
        let edits = moving.into_iter().filter_map(|(path, file)| {
            let path = path.moved(&from, &to)?;
            let replaces = Some((file.record, file.trust));
            Some(Edit::Write { path, content: file.content.clone(), replaces })
        });
        Ok(done(format!("Successfully renamed {old} to {new}"), edits.collect()))
    }
}

const fn done(text: String, edits: Vec<Edit>) -> Outcome {
    Outcome { edits, shown: None, text }
}

fn gone(text: &str) -> String {
    format!("Error: The path {text} does not exist")
}

/// A path, or what is said of one that is none: it is told in characters that can be seen.
fn parse(text: &str, may_end_with_slash: bool) -> Result<FilePath, String> {
    FilePath::parse(text, may_end_with_slash).map_err(|bad| {
        let shown: String = text.chars().take(200).flat_map(char::escape_debug).collect();
        match bad {
            BadPath::Elsewhere => format!("Error: Path must start with /memories, got: {shown}"),
            BadPath::Leaves => format!("Error: Path {shown} would escape /memories directory"),
            BadPath::Unusable => format!("Error: Path {shown} is not valid"),
        }
    })
}

/// Which lines a range is, the first and the last; none where it is none of the file's.
fn part(range: &[i64], lines: usize) -> Option<(usize, usize)> {
    let [first, last] = range else { return None };
    let first = usize::try_from((*first).max(1)).ok()?;
    let last = if *last == -1 { lines } else { usize::try_from(*last).ok()?.min(lines) };
    (first <= last).then_some((first, last))
}

/// Lines with their numbers, six wide.
fn numbered(lines: &[&str], first: usize, last: usize) -> String {
    let shown = lines.iter().zip(1..).skip(first - 1).take(last + 1 - first);
    shown.map(|(line, number)| format!("{number:>6}\t{line}")).collect::<Vec<_>>().join("\n")
}

/// A size as a person reads it: `0B`, `512B`, `1.5K`, `2.0M`.
fn size(bytes: usize) -> String {
    const UNITS: [&str; 3] = ["K", "M", "G"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut tenths, mut unit) = ((bytes * 10).div_ceil(1024), 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        (tenths, unit) = (tenths.div_ceil(1024), unit + 1);
    }
    format!("{}.{}{}", tenths / 10, tenths % 10, UNITS.get(unit).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests;
