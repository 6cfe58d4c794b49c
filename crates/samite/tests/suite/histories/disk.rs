//! Real directories: what stands in them, and people and agents who change that.

use super::model::{Node, RULE, RULES, Tree, above, is_within, recorded};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

/// What was found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) node: Node,
    /// When it was last changed, in nanoseconds since 1970.
    pub(super) mtime: i128,
    pub(super) inode: u64,
    /// The first name of the same file in the directory, where it has several.
    pub(super) first_name: Option<String>,
}

/// All that was found in a directory.
pub(super) type Listing = BTreeMap<String, Found>;

/// Looks at all that is in a directory.
pub(super) fn look(directory: &Path) -> Listing {
    let mut found = Listing::new();
    collect(directory, "", &mut found);
    with_first_names(found)
}

/// What a snapshot takes of it.
pub(super) fn taken(listing: &Listing) -> Listing {
    let recorded = recorded(&tree(listing));
    with_first_names(
        listing
            .iter()
            .filter(|(path, _)| recorded.contains_key(*path))
            .map(|(path, found)| (path.clone(), found.clone()))
            .collect(),
    )
}

fn with_first_names(mut found: Listing) -> Listing {
    let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (path, one) in found.iter().filter(|(_, one)| !one.node.is_directory()) {
        names.entry(one.inode).or_default().push(path.clone());
    }
    for group in names.into_values() {
        // The order of paths is by their parts.
        let first = group.iter().min_by_key(|path| path.split('/').map(str::as_bytes).collect::<Vec<_>>());
        let first = first.filter(|_| group.len() > 1).cloned();
        for path in group {
            found.get_mut(&path).unwrap().first_name.clone_from(&first);
        }
    }
    found
}

fn collect(directory: &Path, at: &str, found: &mut Listing) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let node = if metadata.is_dir() {
            collect(&path, &name, found);
            Node::Directory { mode }
        } else if metadata.is_symlink() {
            Node::Link(fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
        } else {
            Node::File { bytes: fs::read(&path).unwrap(), mode }
        };
        let mtime = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        found.insert(name, Found { node, mtime, inode: metadata.ino(), first_name: None });
    }
}

/// The same without times, inodes and links.
pub(super) fn tree(listing: &Listing) -> Tree {
    listing.iter().map(|(path, found)| (path.clone(), found.node.clone())).collect()
}

/// The same without inodes, which a second directory cannot have.
pub(super) fn without_inodes(listing: &Listing) -> Listing {
    listing.iter().map(|(path, found)| (path.clone(), Found { inode: 0, ..found.clone() })).collect()
}

/// A path to change: one of those that are there, counted round, or a name.
#[derive(Clone, Debug)]
pub(super) enum Place {
    There(usize),
    Named(String),
}

/// What somebody does in a directory.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// A file is saved, in place or by renaming another over it.
    Write { at: Place, bytes: Vec<u8>, by_rename: bool },
    /// A line of a text gets another word. What is no such text becomes one.
    Line { at: Place, line: usize, word: String },
    /// Something is added at the end of a file.
    Append { at: Place, bytes: Vec<u8> },
    /// Permissions are changed.
    Mode { at: Place, executable: bool },
    /// Something is renamed, over whatever is there.
    Rename { at: Place, to: Place },
    /// Something is removed, with all that is in it.
    Delete { at: Place },
    /// A symbolic link is made.
    Link { at: Place, to: String },
    /// A file gets a second name.
    Name { at: Place, to: Place },
    /// A directory is made.
    Directory { at: Place },
    /// A git repository gets a commit, and is made where there is none.
    Commit { at: Place, commit: usize },
    /// The rules leave logs out from now on, or no more.
    Rules(bool),
}

/// How the name of a directory begins in which a restore builds what is new.
const TEMPORARY: &str = ".samite-restore-";

/// How many lines a text has.
pub(super) const LINES: usize = 12;

/// A text as [`Edit::Line`] makes it, before anybody changed a line of it.
pub(super) fn text() -> Vec<u8> {
    (0..LINES).flat_map(|line| format!("line {line}\n").into_bytes()).collect()
}

fn set_line(bytes: &[u8], line: usize, word: &str) -> Vec<u8> {
    let is_text = bytes.ends_with(b"\n") && bytes.split(|byte| *byte == b'\n').count() == LINES + 1;
    let bytes = if is_text { bytes.to_vec() } else { text() };
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let new = format!("{word}\n");
    lines[line % LINES] = new.as_bytes();
    lines.concat()
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(error) => {
            // Links that lead to each other lead nowhere.
            let nowhere = error.raw_os_error() == Some(40);
            let nothing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            assert!(nowhere || nothing, "{error}");
        }
    }
}

/// Makes a place free, and the directories that it is in.
fn make_way(top: &Path, at: &str) {
    let mut directories: Vec<&str> = above(at).collect();
    directories.reverse();
    for directory in directories {
        let directory = top.join(directory);
        if !fs::symlink_metadata(&directory).is_ok_and(|metadata| metadata.is_dir()) {
            remove(&directory);
            fs::create_dir(&directory).unwrap();
        }
    }
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

impl Place {
    /// The path that is meant, if there is one.
    fn path(&self, top: &Path) -> Option<String> {
        match self {
            Self::Named(name) => Some(name.clone()),
            Self::There(number) => {
                let paths: Vec<String> =
                    look(top).into_keys().filter(|path| path != RULES && !path.starts_with(TEMPORARY)).collect();
                (!paths.is_empty()).then(|| paths[number % paths.len()].clone())
            }
        }
    }
}

/// Saves a file.
fn write(top: &Path, at: &str, bytes: &[u8], by_rename: bool) {
    make_way(top, at);
    let path = top.join(at);
    if by_rename || !is_file(&path) {
        // As editors do: written beside, and renamed over it.
        let beside = top.with_extension("saving");
        fs::write(&beside, bytes).unwrap();
        if !is_file(&path) {
            remove(&path);
        }
        fs::rename(beside, path).unwrap();
    } else {
        fs::write(path, bytes).unwrap();
    }
}

/// Does something in a directory, and says to which paths.
pub(super) fn edit(top: &Path, edit: &Edit) -> Vec<String> {
    let done = |path: Option<String>, act: &dyn Fn(&str)| -> Vec<String> {
        if let Some(path) = &path {
            act(path);
        }
        path.into_iter().collect()
    };
    match edit {
        Edit::Write { at, bytes, by_rename } => done(at.path(top), &|at| write(top, at, bytes, *by_rename)),
        Edit::Line { at, line, word } => done(at.path(top), &|at| {
            let path = top.join(at);
            let bytes = if is_file(&path) { fs::read(&path).unwrap() } else { Vec::new() };
            write(top, at, &set_line(&bytes, *line, word), line % 2 == 0);
        }),
        Edit::Append { at, bytes } => done(at.path(top).filter(|at| is_file(&top.join(at))), &|at| {
            fs::File::options().append(true).open(top.join(at)).unwrap().write_all(bytes).unwrap();
        }),
        Edit::Mode { at, executable } => done(at.path(top), &|at| {
            let path = top.join(at);
            let Ok(metadata) = fs::symlink_metadata(&path) else { return };
            let mode = match (metadata.is_dir(), executable) {
                (true, true) => 0o700,
                (true, false) | (false, true) => 0o755,
                (false, false) => 0o600,
            };
            if !metadata.is_symlink() {
                fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            }
        }),
        Edit::Rename { at, to } => {
            let (Some(from), Some(to)) = (at.path(top), to.path(top)) else { return Vec::new() };
            let apart = !is_within(&from, &to) && !is_within(&to, &from);
            if !apart || fs::symlink_metadata(top.join(&from)).is_err() {
                return Vec::new();
            }
            make_way(top, &to);
            remove(&top.join(&to));
            fs::rename(top.join(&from), top.join(&to)).unwrap();
            vec![from, to]
        }
        Edit::Delete { at } => done(at.path(top), &|at| remove(&top.join(at))),
        Edit::Link { at, to } => done(at.path(top), &|at| {
            make_way(top, at);
            remove(&top.join(at));
            symlink(to, top.join(at)).unwrap();
        }),
        Edit::Name { at, to } => {
            let (Some(from), Some(to)) = (at.path(top), to.path(top)) else { return Vec::new() };
            if from == to || !is_file(&top.join(&from)) || is_within(&to, &from) {
                return Vec::new();
            }
            if is_within(&from, &to) {
                return Vec::new();
            }
            make_way(top, &to);
            remove(&top.join(&to));
            fs::hard_link(top.join(&from), top.join(&to)).unwrap();
            vec![from, to]
        }
        Edit::Directory { at } => done(at.path(top), &|at| {
            make_way(top, at);
            let path = top.join(at);
            if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                remove(&path);
                fs::create_dir(path).unwrap();
            }
        }),
        Edit::Commit { at, commit } => {
            let at = at.path(top).map(|at| at.split("/.git").next().unwrap_or_default().to_owned());
            let Some(at) = at.filter(|at| !at.is_empty() && at != ".git") else { return Vec::new() };
            let object = format!("objects/{commit}");
            let mut named = vec![at.clone()];
            for (name, words) in [("HEAD", "ref: refs/main\n"), (&object, "blob\n"), ("refs/main", &object)] {
                named.push(format!("{at}/.git/{name}"));
                write(top, &format!("{at}/.git/{name}"), words.as_bytes(), true);
            }
            if commit.is_multiple_of(5) {
                named.push(format!("{at}/.git/gc.log"));
                write(top, &format!("{at}/.git/gc.log"), b"gc\n", false);
            }
            named
        }
        Edit::Rules(on) => {
            let path = top.join(RULES);
            if *on {
                fs::write(path, RULE).unwrap();
            } else {
                remove(&path);
            }
            vec![RULES.to_owned()]
        }
    }
}

/// Puts something of a tree in its place by hand, as a restore that was cut off may have.
pub(super) fn put(top: &Path, at: &str, node: Option<&Node>) {
    let path = top.join(at);
    let mode = match node {
        Some(Node::Directory { mode }) => {
            if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                remove(&path);
                fs::create_dir(&path).unwrap();
            }
            *mode
        }
        Some(Node::File { bytes, mode }) => {
            remove(&path);
            fs::write(&path, bytes).unwrap();
            *mode
        }
        Some(Node::Link(to)) => {
            remove(&path);
            symlink(std::ffi::OsStr::from_bytes(to), &path).unwrap();
            return;
        }
        None => return remove(&path),
    };
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
