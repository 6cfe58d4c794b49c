//! The transcripts of a directory, in the order in which they are imported.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A transcript in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptFile {
    /// Its path, as given.
    pub path: PathBuf,
    /// Whether its name is a sub-agent's.
    pub is_agent: bool,
    /// Of a sub-agent in a session's folder, the session's transcript, when it is among the files.
    pub parent: Option<PathBuf>,
}

fn is_agent(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("agent-"))
}

/// `DIR/SESSION.jsonl` of `DIR/SESSION/subagents/agent-ID.jsonl`.
fn parent_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| folder.file_name() == Some(OsStr::new("subagents")))?.parent()?;
    let mut name = folder.file_name()?.to_owned();
    name.push(".jsonl");
    Some(folder.with_file_name(name))
}

/// Where the sub-agents of `DIR/SESSION.jsonl` are, if it has any: `DIR/SESSION/subagents`.
pub fn agents_folder(transcript: &Path) -> PathBuf {
    transcript.with_extension("").join("subagents")
}

/// Picks the transcripts (`*.jsonl`) of a list of files and orders them: each session by its path, its sub-agents right
/// after it, then the sub-agents whose session is not in a file of its name. The order does not depend on the list's.
///
/// The list holds regular files: whoever makes it follows no symbolic links.
pub fn arrange(files: impl IntoIterator<Item = PathBuf>) -> Vec<TranscriptFile> {
    let mut paths: Vec<PathBuf> =
        files.into_iter().filter(|path| path.extension() == Some(OsStr::new("jsonl"))).collect();
    paths.sort();
    paths.dedup();
    let mut arranged: Vec<TranscriptFile> = paths
        .iter()
        .map(|path| {
            let is_agent = is_agent(path);
            let parent = Some(path)
                .filter(|_| is_agent)
                .and_then(|path| parent_of(path))
                .filter(|parent| paths.binary_search(parent).is_ok());
            TranscriptFile { path: path.clone(), is_agent, parent }
        })
        .collect();
    arranged.sort_by_cached_key(|file| match &file.parent {
        Some(parent) => (false, parent.clone(), true, file.path.clone()),
        None => (file.is_agent, file.path.clone(), file.is_agent, PathBuf::new()),
    });
    arranged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_and_its_sub_agents_find_each_other() {
        let folder = agents_folder(Path::new("p/b.jsonl"));
        assert_eq!(folder, Path::new("p/b/subagents"));
        assert_eq!(parent_of(&folder.join("agent-1.jsonl")).as_deref(), Some(Path::new("p/b.jsonl")));
        assert_eq!(parent_of(Path::new("p/agent-1.jsonl")), None);
    }

    #[test]
    fn sessions_come_in_order_with_their_sub_agents_after_them() {
        let files = [
            "p/b/subagents/agent-2.jsonl",
            "p/agent-9.jsonl",
            "p/b.jsonl",
            "p/b/subagents/agent-1.jsonl",
            "p/notes.txt",
            "p/gone/subagents/agent-3.jsonl",
            "p/a.jsonl",
            "p/b/tool-results/x.json",
            "p/a.jsonl",
        ];
        let order = |files: Vec<&str>| {
            arrange(files.into_iter().map(PathBuf::from))
                .into_iter()
                .map(|file| (file.path.display().to_string(), file.parent.map(|parent| parent.display().to_string())))
                .collect::<Vec<_>>()
        };
        let expected = [
            ("p/a.jsonl", None),
            ("p/b.jsonl", None),
            ("p/b/subagents/agent-1.jsonl", Some("p/b.jsonl")),
            ("p/b/subagents/agent-2.jsonl", Some("p/b.jsonl")),
            ("p/agent-9.jsonl", None),
            ("p/gone/subagents/agent-3.jsonl", None),
        ]
        .map(|(path, parent)| (path.to_owned(), parent.map(str::to_owned)));
        assert_eq!(order(files.to_vec()), expected);
        assert_eq!(order(files.iter().rev().copied().collect()), expected);
    }
}
