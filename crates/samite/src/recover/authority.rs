//! Where the log and the state files of a workspace disagree, and which of them decides.

use super::report::WorkspaceReport;
use crate::client::Client;
use crate::fingerprint::{STATE_FILE_LIMIT, STATE_FILES, StateFile};
use crate::workspace::{Change, ChangeKind, CheckpointOptions};
use crate::writer::Writer;
use samite_model::settings::Authority;
use samite_model::tree::{Content, Entry, TreePath};
use samite_model::{Position, Result};
use samite_workspace::Tree;

/// A state file that the last tree has otherwise than the directory.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// Its name.
    pub name: String,
    /// What the last tree has; none when it has no such file.
    pub log: Option<Side>,
    /// What the directory has; none when it has no such file.
    pub files: Option<Side>,
    /// Which of them was changed later, as their times have it; none where that cannot be told.
    pub newer: Option<Authority>,
    /// Which of them decides.
    pub decides: Authority,
}

/// A state file as one of the two has it.
#[derive(Clone, Debug)]
pub struct Side {
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// Its text, or a part of it; none where it is no regular file or too large to be looked into.
    pub text: Option<StateFile>,
    /// How many bytes it has.
    pub bytes: u64,
}

/// A state file of a tree is looked into up to so many bytes: 4 MiB.
const LARGEST: u64 = 4 << 20;

/// Which of two times is later.
fn newer(log: Option<i64>, files: Option<i64>) -> Option<Authority> {
    let (log, files) = (log?, files?);
    match log.cmp(&files) {
        std::cmp::Ordering::Less => Some(Authority::Files),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(Authority::Log),
    }
}

fn size(entry: &Entry) -> u64 {
    match entry.content {
        Content::File { size, .. } => size,
        _ => 0,
    }
}

impl Client {
    /// The state files among what differs between the last tree and the directory. What differs in times or permissions alone
    /// is no disagreement.
    pub(super) fn disagreements(
        &self,
        report: &WorkspaceReport,
        changes: &[Change],
        decides: Authority,
    ) -> Result<Vec<Disagreement>> {
        let mut found = Vec::new();
        let Some(last) = &report.last else { return Ok(found) };
        let store = self.core.blocks();
        let tree = Tree::new(&store, self.subject.pseudonym, last.tree.root);
        for (name, from_end) in STATE_FILES {
            let path = TreePath::new(name.as_bytes())?;
            let Some(change) = changes.iter().find(|change| change.path == path) else { continue };
            if matches!(change.kind, ChangeKind::Metadata | ChangeKind::Time) {
                continue;
            }
            let side = |entry: &Entry, text| Side { modified: entry.metadata.mtime, text, bytes: size(entry) };
            let log = match &change.before {
                Some(entry) => Some(side(entry, text_of(&tree, &path, entry, name, from_end)?)),
                None => None,
            };
            let now = report.state_files.iter().find(|file| file.name == name).cloned();
            let files = change.after.as_ref().map(|entry| side(entry, now));
            let newer = newer(log.as_ref().map(|side| side.modified), files.as_ref().map(|side| side.modified));
            found.push(Disagreement { name: name.to_owned(), log, files, newer, decides });
        }
        Ok(found)
    }
}

/// What a tree has of a state file: the whole, or the part that matters.
fn text_of(tree: &Tree<'_>, path: &TreePath, entry: &Entry, name: &str, from_end: bool) -> Result<Option<StateFile>> {
    if !matches!(entry.content, Content::File { .. }) || size(entry) > LARGEST {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    tree.cat(path, &mut bytes)?;
    let limit = usize::try_from(STATE_FILE_LIMIT).unwrap_or(usize::MAX);
    let part = match bytes.len().checked_sub(limit) {
        None => &bytes[..],
        Some(over) if from_end => bytes.get(over..).unwrap_or_default(),
        Some(_) => bytes.get(..limit).unwrap_or_default(),
    };
    Ok(Some(StateFile::new(name, part, bytes.len() as u64, from_end)))
}

impl Writer {
    /// Takes the directory's version of the state files up where they decide, by a checkpoint, and says where that is.
    ///
    /// # Errors
    /// As [`Writer::checkpoint`].
    pub(super) async fn take_up(&self, disagreements: &[Disagreement]) -> Result<Option<Position>> {
        if !disagreements.iter().any(|one| one.decides == Authority::Files) {
            return Ok(None);
        }
        let label = Some("the state files decide".to_owned());
        let options = CheckpointOptions { label, no_environment: true, ..CheckpointOptions::default() };
        Ok(Some(self.checkpoint(options).await?.position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_side_is_told_where_both_are_there() {
        let table = [
            (Some(1), Some(2), Some(Authority::Files)),
            (Some(2), Some(1), Some(Authority::Log)),
            (Some(1), Some(1), None),
            (None, Some(1), None),
            (Some(1), None, None),
        ];
        for (log, files, expected) in table {
            assert_eq!(newer(log, files), expected, "{log:?} {files:?}");
        }
    }
}
