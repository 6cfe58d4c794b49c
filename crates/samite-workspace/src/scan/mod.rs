//! What is in a directory: names and what the file system says of them, before any file is read.

mod links;
mod walk;

use crate::system::Stamp;
use samite_model::Observer;
use samite_model::tree::{Body, Content, Entry, Listing, Metadata, RuleFile, Segment, TreePath};
use std::collections::BTreeSet;

pub(crate) use links::group_links;
pub(crate) use walk::walk;

/// What to leave out and where the stat cache is.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// The file of the workspace's stat cache, outside of the workspace; none means that every file is read.
    pub cache: Option<std::path::PathBuf>,
    /// Paths to leave out whatever the rules say, such as a store inside of the workspace.
    pub excludes: Vec<TreePath>,
    /// Is told how many files were found, read and written, and may ask a scan or snapshot to stop.
    pub observer: Observer,
}

/// Whether an item's content is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is, from the cache or because it was read.
    Known,
    /// The file must be read.
    ToRead,
    /// It was there and is gone; it is left out.
    Gone,
}

/// An entry of a directory as found.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) entry: Entry,
    pub(crate) stamp: Stamp,
    pub(crate) device: u64,
    /// Whether it has more names than this one.
    pub(crate) linked: bool,
    /// Whether it takes less room than its size.
    pub(crate) sparse: bool,
    pub(crate) state: State,
    /// The index of the directory, if it is one that was entered.
    pub(crate) directory: Option<usize>,
    /// The segments of a file that lists them in blocks.
    pub(crate) listed: Option<Vec<Segment>>,
}

impl Item {
    /// The segments of a file, wherever its entry has them.
    pub(crate) fn segments(&self) -> Option<&[Segment]> {
        match &self.entry.content {
            Content::File { body: Body::Segments(segments), .. } => Some(segments),
            _ => self.listed.as_deref(),
        }
    }
}

/// A directory as found.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) path: TreePath,
    pub(crate) items: Vec<Item>,
}

/// A file among all that was found: the indices of its directory and its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileRef {
    pub(crate) directory: usize,
    pub(crate) item: usize,
}

/// A path that is in the workspace and not (or not wholly) in the tree.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Special {
    /// The path.
    pub path: TreePath,
    /// What it is, or why it could not be read.
    pub what: String,
}

/// What a person should know about a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ScanReport {
    /// Files, links, pipes and devices.
    pub files: u64,
    /// Directories, the top included.
    pub directories: u64,
    /// Bytes in files, holes included.
    pub bytes: u64,
    /// Files that were read, because the cache did not know them.
    pub read_files: u64,
    /// How many bytes they have.
    pub read_bytes: u64,
    /// Sockets and things of unknown types: named here, and in no tree.
    pub sockets: Vec<TreePath>,
    /// What could not be read: in the tree by name and metadata only, and left alone by restores.
    pub unreadable: Vec<Special>,
    /// Files that changed while they were read, again and again: stored as they came, and marked.
    pub torn: Vec<TreePath>,
    /// Files whose names look as if a secret were inside. They are stored unless rules exclude them.
    pub secrets: Vec<TreePath>,
    /// Where something was found in new content of files.
    pub found: Vec<crate::screen::FoundChunk>,
    /// What rules left out; of a directory, only itself.
    pub excluded: Vec<TreePath>,
    /// How the stat cache was found.
    pub cache: crate::cache::CacheState,
}

/// A directory as found.
#[derive(Debug)]
pub struct Scanned {
    /// The top, without its node.
    pub(crate) top: Metadata,
    /// Directories, each before those in it; the first is the top.
    pub(crate) directories: Vec<Directory>,
    pub(crate) rules: Vec<RuleFile>,
    pub(crate) report: ScanReport,
    /// Whether the cache has to be written again.
    pub(crate) cache_changed: bool,
    /// When the scan began, by the clock that stamps files; `None` without a cache.
    pub(crate) began: Option<i64>,
    /// Whether it was asked to stop, and ended before it had seen everything.
    pub(crate) stopped: bool,
}

impl Scanned {
    pub(crate) fn item(&self, file: FileRef) -> Option<&Item> {
        self.directories.get(file.directory)?.items.get(file.item)
    }

    pub(crate) fn item_mut(&mut self, file: FileRef) -> Option<&mut Item> {
        self.directories.get_mut(file.directory)?.items.get_mut(file.item)
    }

    pub(crate) fn path(&self, file: FileRef) -> TreePath {
        let directory = self.directories.get(file.directory);
        let name = self.item(file).map_or(&[][..], |item| &item.entry.name);
        directory.map_or_else(TreePath::top, |directory| directory.path.join(name))
    }

    /// The files that must be read, in order.
    pub(crate) fn to_read(&self) -> Vec<FileRef> {
        let mut files = Vec::new();
        for (directory, found) in self.directories.iter().enumerate() {
            for (item, _) in found.items.iter().enumerate().filter(|(_, item)| item.state == State::ToRead) {
                files.push(FileRef { directory, item });
            }
        }
        files
    }

    /// What a person should know.
    pub fn report(&self) -> &ScanReport {
        &self.report
    }

    /// The exclusion rules that were found.
    pub fn rules(&self) -> &[RuleFile] {
        &self.rules
    }

    /// Paths that were touched in any way after a time (ns since 1970), by the clock that stamps files: also those that
    /// were moved or linked to where they are, or given an older time of their last change.
    pub fn touched_after(&self, time: i64) -> BTreeSet<TreePath> {
        self.directories
            .iter()
            .flat_map(|directory| directory.items.iter().map(move |item| (directory, item)))
            .filter(|(_, item)| item.state != State::Gone && item.stamp.ctime > time)
            .map(|(directory, item)| directory.path.join(&item.entry.name))
            .collect()
    }

    /// Whether all of it is this process's own.
    pub(crate) fn is_own(&self) -> bool {
        let mut items = self.directories.iter().flat_map(|directory| &directory.items);
        is_own(&self.top) && items.all(|item| is_own(&item.entry.metadata))
    }

    /// All of it as a listing. Directories have no node in it.
    pub fn listing(&self) -> Listing {
        let count = self.directories.iter().map(|directory| directory.items.len()).sum::<usize>();
        let mut entries = Vec::with_capacity(count + 1);
        let top = Entry {
            name: Box::default(),
            metadata: self.top.clone(),
            content: Content::Directory(samite_model::BlockId([0; 32])),
        };
        entries.push((TreePath::top(), top));
        for directory in &self.directories {
            for item in directory.items.iter().filter(|item| item.state != State::Gone) {
                entries.push((directory.path.join(&item.entry.name), item.entry.clone()));
            }
        }
        Listing::new(entries)
    }
}

/// Whether something has the owner and the group that this process gives.
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    (metadata.uid, metadata.gid) == (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}
