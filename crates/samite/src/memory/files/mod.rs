//! A namespace as a directory of files: the commands of Claude's memory tool (`memory_20250818`), over records.
//!
//! A file is a record whose metadata has its path. An edit puts another record in its place, so its history stays and can be read as of
//! then; what is deleted is retracted; a directory is renamed in one commit.

mod act;
mod path;

use super::Memory;
use super::tool::{Acted, ToolRecord, ToolWriter, is_told};
use act::{EXTRACTOR, Edit, Files, Outcome};
use samite_model::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// A command of the file tool, as a model gives it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum FileCommand {
    /// Shows a file with its lines' numbers, or what is in a directory.
    View {
        /// The file or directory.
        path: String,
        /// The first and the last line; -1 is the last of the file.
        #[serde(default)]
        view_range: Option<Vec<i64>>,
    },
    /// Makes a file that is not there.
    Create {
        /// The file.
        path: String,
        /// What it holds.
        file_text: String,
    },
    /// Replaces what is in a file once.
    StrReplace {
        /// The file.
        path: String,
        /// What is there.
        old_str: String,
        /// What is to be there.
        #[serde(default)]
        new_str: String,
    },
    /// Inserts lines.
    Insert {
        /// The file.
        path: String,
        /// After this line; 0 is before the first.
        insert_line: i64,
        /// The lines.
        insert_text: String,
    },
    /// Deletes a file, or a directory with all that is in it.
    Delete {
        /// The file or directory.
        path: String,
    },
    /// Renames a file or directory. What is there already is not overwritten.
    Rename {
        /// What is there.
        old_path: String,
        /// What it is to be.
        new_path: String,
    },
}

/// What the file tool answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAnswer {
    /// The text for the model.
    pub text: String,
    /// Whether that says what is wrong, and nothing was changed.
    pub is_error: bool,
}

impl FileCommand {
    /// A command from the input of a model's call.
    ///
    /// # Errors
    /// `invalid` (`bad_call`) saying what is missing or unknown.
    pub fn parse(input: Value) -> Result<Self> {
        serde_json::from_value(input).map_err(|error| super::bad_call(&error))
    }

    /// The path that it is about.
    fn path(&self) -> &str {
        match self {
            Self::View { path, .. }
            | Self::Create { path, .. }
            | Self::StrReplace { path, .. }
            | Self::Insert { path, .. }
            | Self::Delete { path } => path,
            Self::Rename { old_path, .. } => old_path,
        }
    }
}

impl Memory {
    /// Carries out a command of the file tool, and answers as that does. When this returns, what it changed is durable; a file that it
    /// showed is recorded as found by a search for its path.
    ///
    /// What is wrong with the command, or is not allowed to who writes, is an answer too. A file that waits for approval is not seen.
    ///
    /// # Errors
    /// `unavailable`: `store_busy` when others kept writing, or what is not recorded is not shown; `corrupt` naming the entry that cannot
    /// be read.
    pub async fn file_command(&self, command: &FileCommand, by: &ToolWriter) -> Result<FileAnswer> {
        let answer = |text: String, is_error| FileAnswer { text, is_error };
        if let Some(path) = self.path_not_kept(command).await? {
            return Ok(answer(format!("Error: Path {path} holds what is not kept here: choose another name"), true));
        }
        let act = |standings: &_, time| match Files::of(standings, time).act(command) {
            Err(text) => Acted::only(answer(text, true)),
            Ok(Outcome { edits, shown, text }) => {
                let mut acted = Acted { shown: shown.into_iter().collect(), ..Acted::only(answer(text, false)) };
                for edit in edits {
                    match edit {
                        Edit::Remove(record) => acted.ends.push(record),
                        Edit::Write { path, content, replaces } => {
                            acted.writes.push(written(by, &path.to_string(), content, replaces));
                        }
                    }
                }
                acted
            }
        };
        match self.carry_out(command.path(), by.trust, act).await {
            Err(error) if is_told(&error) => Ok(answer(format!("Error: {}", error.message()), true)),
            other => other,
        }
    }

    /// A path to be that could not be kept as it is: what it names would not be found by it.
    async fn path_not_kept<'a>(&self, command: &'a FileCommand) -> Result<Option<&'a str>> {
        let (FileCommand::Create { path, .. } | FileCommand::Rename { new_path: path, .. }) = command else {
            return Ok(None);
        };
        Ok((self.client.core.kept_words(path).await? != *path).then_some(path))
    }
}

/// The record of a file. One that says nothing has its path as its text, and its content beside.
fn written(
    by: &ToolWriter,
    path: &str,
    content: String,
    replaces: Option<(samite_model::RecordId, samite_model::memory::Trust)>,
) -> ToolRecord {
    let mut metadata = serde_json::Map::new();
    metadata.insert("path".into(), json!(path));
    metadata.insert("title".into(), json!(path));
    let is_blank =
        content.chars().all(|one| one.is_whitespace() || one.is_control() || matches!(one, '\u{200b}' | '\u{feff}'));
    let text = if is_blank {
        metadata.insert("content".into(), json!(content));
        path.to_owned()
    } else {
        content
    };
    let mut new = by.record(EXTRACTOR, text);
    new.metadata = metadata;
    // Another version is made of the one before it, and goes with that when it is forgotten or revoked.
    new.inputs = replaces.iter().map(|(record, _)| *record).collect();
    ToolRecord { new, replaces }
}

/// What is said of a call that is none.
pub(super) fn bad_call(why: &serde_json::Error) -> Error {
    Error::invalid("bad_call", format!("this is no call of the tool: {why}"))
        .hint("`samite memory files --help` and `samite memory graph --help` show what a call looks like")
}
