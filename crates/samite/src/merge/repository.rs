//! Git repositories that both sides changed: what each of them has alone, where that stays, and how to keep both.
//!
//! A repository is taken whole from one side, so the commits of the other leave it. Git itself can bring them together, in the
//! workspace, before it is decided; samite runs no git for that, since its hooks and filters are whoever's.

use super::commits::{Files, RepositorySide, only_in};
use super::sides::Sides;
use crate::hook::setup::quoted;
use samite_host::files;
use samite_model::tree::{Conflict, ConflictKind, Content, Entry, Side, TreePath};
use samite_workspace::Tree;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A longer file of a repository is not read: 16 MiB.
const FILE_LIMIT: u64 = 16 << 20;

/// A git repository that both branches changed, so that it is decided whole.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RepositoryMerge {
    /// Where it is: its directory `.git`, or that of a bare one.
    pub path: String,
    /// What the branch that it is merged into has alone: it leaves where theirs is taken.
    pub ours: RepositorySide,
    /// What the merged branch has alone: it leaves where ours is taken.
    pub theirs: RepositorySide,
    /// What is taken, once that is decided.
    pub choice: Option<String>,
    /// Where what leaves stays, and how to get it; empty when nothing does.
    pub stays: Vec<Stays>,
    /// Commands that bring theirs into ours before ours is taken, the last of which decides so. Empty where theirs has no commit
    /// of its own, or what is taken is decided.
    pub keep_both: Vec<String>,
}

/// Commits that are no more in the workspace's repository.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Stays {
    /// Whose: `ours` or `theirs`.
    pub side: &'static str,
    /// The position whose tree has them.
    pub at: String,
    /// The command that makes a directory of that.
    pub command: String,
}

/// What a repository's commits are known by, without a decision.
#[derive(Clone, Debug)]
pub(super) struct TwoSides {
    pub(super) ours: RepositorySide,
    pub(super) theirs: RepositorySide,
}

/// What the commands of a merge name.
pub(super) struct Names<'a> {
    /// The branches, as they are written: `SESSION:BRANCH`.
    pub(super) from: &'a str,
    pub(super) into: &'a str,
    /// The seqs of the trees that are merged; none where ours is in no tree yet.
    pub(super) theirs_at: u64,
    pub(super) ours_at: Option<u64>,
    /// Where the branches work.
    pub(super) workspace: &'a Path,
    pub(super) their_directory: Option<&'a Path>,
    /// Whether the merge is open.
    pub(super) is_open: bool,
}

/// One side's files of a repository.
struct Found<'a> {
    files: BTreeMap<String, (&'a TreePath, &'a Entry)>,
    tree: &'a Tree<'a>,
    /// Where they are, when they are in no tree yet.
    directory: Option<&'a Path>,
}

impl<'a> Found<'a> {
    fn new(conflict: &'a Conflict, side: Side, tree: &'a Tree<'a>, directory: Option<&'a Path>) -> Self {
        let [base, ours, theirs] = &conflict.sides;
        let all = match side {
            Side::Base => base,
            Side::Ours => ours,
            Side::Theirs => theirs,
        };
        let above = conflict.path.as_bytes().len();
        let mut found = BTreeMap::new();
        for (path, entry) in all.iter().filter(|(_, entry)| matches!(entry.content, Content::File { .. })) {
            let name = path.as_bytes().get(above..).and_then(|rest| std::str::from_utf8(rest).ok());
            if let Some(name) = name {
                found.insert(name.trim_start_matches('/').to_owned(), (path, entry));
            }
        }
        Self { files: found, tree, directory: directory.filter(|_| side == Side::Ours) }
    }
}

impl Files for Found<'_> {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let (path, entry) = self.files.get(path)?;
        let Content::File { size, body } = &entry.content else { return None };
        if *size > FILE_LIMIT {
            return None;
        }
        let Some(directory) = self.directory else { return self.tree.bytes(body).ok() };
        let mut bytes = Vec::new();
        let reader = files::open_reader(&directory.join(OsStr::from_bytes(path.as_bytes()))).ok()?;
        reader.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    fn within(&self, directory: &str) -> Vec<String> {
        let above = format!("{directory}/");
        let from = self.files.range(above.clone()..).map(|(path, _)| path);
        from.take_while(|path| path.starts_with(&above)).cloned().collect()
    }
}

/// What each side of a conflict about a repository has alone; none for any other conflict. What cannot be read is not counted.
pub(super) fn two_sides(conflict: &Conflict, tree: &Tree<'_>, directory: Option<&Path>) -> Option<TwoSides> {
    if conflict.kind != ConflictKind::Repository {
        return None;
    }
    let [base, ours, theirs] = Side::ALL.map(|side| Found::new(conflict, side, tree, directory));
    Some(TwoSides { ours: only_in(&ours, &theirs, &base), theirs: only_in(&theirs, &ours, &base) })
}

impl Sides {
    /// The repositories that both sides changed, each with what is taken for it.
    pub(super) fn repositories<'a>(
        &self,
        choices: impl Fn(usize) -> Option<&'a str>,
        names: &Names<'_>,
    ) -> Vec<RepositoryMerge> {
        let conflicts = self.merge.conflicts.iter().enumerate();
        conflicts
            .filter_map(|(place, conflict)| {
                let sides = self.repositories.get(&place)?;
                Some(told(&conflict.path, sides, choices(place), names))
            })
            .collect()
    }
}

fn told(path: &TreePath, sides: &TwoSides, choice: Option<&str>, names: &Names<'_>) -> RepositoryMerge {
    let TwoSides { ours, theirs } = sides.clone();
    let mut stays = Vec::new();
    for (side, known, reference, seq) in
        [("ours", &ours, names.into, names.ours_at), ("theirs", &theirs, names.from, Some(names.theirs_at))]
    {
        if choice.is_some_and(|choice| choice != side)
            && known.leaves()
            && let Some(seq) = seq
        {
            let at = format!("{reference}@{seq}");
            stays.push(Stays { side, command: format!("samite fork {at} --into DIR"), at });
        }
    }
    let is_decided = choice.is_some();
    let keep_both = if is_decided || !theirs.leaves() { Vec::new() } else { keep_both(path, &theirs, names) };
    RepositoryMerge { path: path.to_string(), ours, theirs, choice: choice.map(str::to_owned), stays, keep_both }
}

impl RepositorySide {
    /// Whether something of it would go with it.
    pub const fn leaves(&self) -> bool {
        self.commits > 0 || !self.exact
    }
}

/// The commands that bring their commits into our repository, and then take ours.
fn keep_both(path: &TreePath, theirs: &RepositorySide, names: &Names<'_>) -> Vec<String> {
    let (session, from) = names.from.split_once(':').unwrap_or(("", names.from));
    let relative = Path::new(OsStr::from_bytes(path.as_bytes()));
    let is_bare = path.name() != b".git";
    // Git works in the directory that a `.git` is in.
    let place = if is_bare { relative } else { relative.parent().unwrap_or(Path::new("")) };
    let mut commands = Vec::new();
    let word = |path: &Path| quoted(&path.display().to_string());
    let at = |directory: &Path| if place.as_os_str().is_empty() { directory.to_owned() } else { directory.join(place) };
    let here = |directory: &&Path| files::exists(&directory.join(relative)).unwrap_or(false);
    let their_directory: PathBuf = if let Some(directory) = names.their_directory.filter(here) {
        directory.to_owned()
    } else {
        // Their directory is gone, or there never was one.
        let mut beside = names.workspace.as_os_str().to_owned();
        beside.push(format!("-{from}"));
        let beside = PathBuf::from(beside);
        commands.push(format!("samite fork {}@{} --into {}", names.from, names.theirs_at, word(&beside)));
        beside
    };
    let git = format!("git -C {}", word(&at(names.workspace)));
    let source = word(&at(&their_directory));
    // All of their branches, under names that nothing else has.
    commands.push(format!("{git} fetch {source} '+refs/heads/*:refs/remotes/fork-{from}/*'"));
    match &theirs.branch {
        Some(branch) if !is_bare => {
            commands.push(format!("{git} merge {}", quoted(&format!("refs/remotes/fork-{from}/{branch}"))));
        }
        None if !is_bare => {
            commands.push(format!("{git} fetch {source} HEAD"));
            commands.push(format!("{git} merge FETCH_HEAD"));
        }
        _ => {}
    }
    let take = quoted(&format!("{path}=ours"));
    commands.push(if names.is_open {
        format!("samite merge --continue {} --auto --take {take}", names.into)
    } else {
        let into = names.into.split_once(':').map_or(names.into, |(_, into)| into);
        format!("samite merge {session}:{from} --into {into} --auto --take {take}")
    });
    commands
}
