//! A quick look at a directory: what of it a tree does not hold, told from names, sizes and times alone.

use crate::cache::StatCache;
use crate::scan::{Item, ScanOptions, ScanReport, Scanned, State, walk};
use crate::store::Store;
use crate::system::open_top;
use crate::tree::Tree;
use samite_model::tree::{Body, ChangeKind, Content, Entry, Listing, TreePath};
use samite_model::{BlockId, Pseudonym, Result};
use std::collections::HashSet;
use std::path::Path;

/// A path that a tree does not hold as it is in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    /// The path.
    pub path: TreePath,
    /// How it differs.
    pub kind: ChangeKind,
    /// How many bytes of content are in no tree; 0 where only something beside the content differs, or it is gone.
    pub bytes: u64,
}

/// What a quick look saw.
#[derive(Clone, Debug)]
pub struct Look {
    /// What differs from the tree, in the order of paths.
    pub unsaved: Vec<Unsaved>,
    /// What a person should know of the directory.
    pub report: ScanReport,
    /// Whether all of it was seen: if not, the observer asked for an end before, and what was not seen is in none of the
    /// others.
    pub complete: bool,
}

/// Looks at a directory without reading any file: what differs from `base` (none: from nothing) by type, size, time of the
/// last change, permissions, owner or target. A file that was given other bytes of the same length and its old time is not
/// told, unless the stat cache knows its content.
///
/// # Errors
/// `not_found`, `denied` or `unavailable` when the directory cannot be read; `invalid` (`bad_rule`); `corrupt` when the tree
/// cannot be read.
pub fn look(
    store: &Store,
    path: &Path,
    owner: Pseudonym,
    base: Option<BlockId>,
    options: &ScanOptions,
) -> Result<Look> {
    let top = open_top(path)?;
    let cache = StatCache::load(options.cache.as_deref())?;
    let scanned = walk(path, &top, options, &cache)?;
    let base = match base {
        Some(root) => Tree::new(store, owner, root).listing()?,
        None => Listing::new(Vec::new()),
    };
    let complete = !scanned.stopped;
    let unsaved = compare(&base, &scanned, complete);
    Ok(Look { unsaved, report: scanned.report, complete })
}

fn compare(base: &Listing, scanned: &Scanned, complete: bool) -> Vec<Unsaved> {
    let mut unsaved = Vec::new();
    let mut seen: HashSet<TreePath> = HashSet::from([TreePath::top()]);
    for directory in &scanned.directories {
        for item in directory.items.iter().filter(|item| item.state != State::Gone) {
            let path = directory.path.join(&item.entry.name);
            let kind = match base.get(&path) {
                None => Some(ChangeKind::Added),
                Some(before) => differs(before, item),
            };
            if let Some(kind) = kind {
                let has_content = !matches!(kind, ChangeKind::Metadata | ChangeKind::Time);
                let is_file = matches!(item.entry.content, Content::File { .. });
                let bytes = if has_content && is_file { item.stamp.size } else { 0 };
                unsaved.push(Unsaved { path: path.clone(), kind, bytes });
            }
            seen.insert(path);
        }
    }
    if complete {
        let gone = base.iter().filter(|(path, _)| !seen.contains(path));
        unsaved.extend(gone.map(|(path, _)| Unsaved { path: path.clone(), kind: ChangeKind::Removed, bytes: 0 }));
    }
    unsaved.sort_by(|a, b| a.path.cmp(&b.path));
    unsaved
}

fn differs(before: &Entry, item: &Item) -> Option<ChangeKind> {
    let (old, new) = (&before.metadata, &item.entry.metadata);
    let beside = || ((old.mode, old.uid, old.gid) != (new.mode, new.uid, new.gid)).then_some(ChangeKind::Metadata);
    if before.content.entry_type() != item.entry.content.entry_type() {
        return Some(ChangeKind::Type);
    }
    match (&before.content, &item.entry.content) {
        (Content::File { size, body }, Content::File { .. }) => {
            let known = match (body, item.segments()) {
                (Body::Segments(before), Some(now)) if item.state == State::Known => Some(before == now),
                _ => None,
            };
            let is_same = known.unwrap_or(*size == item.stamp.size && old.mtime == new.mtime && !old.torn);
            if is_same { beside() } else { Some(ChangeKind::Content) }
        }
        (Content::Directory(_), Content::Directory(_)) => beside(),
        (before, now) if before == now => beside(),
        _ => Some(ChangeKind::Content),
    }
}
