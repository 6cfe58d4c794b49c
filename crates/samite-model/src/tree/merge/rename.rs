//! Files that a side moved without changing them.

use super::decide::{Decided, decide, is_alike, metadata};
use super::{ConflictKind, Merging, Scope};
use crate::tree::content::{Body, Segment};
use crate::tree::entry::{Content, Entry};
use crate::tree::listing::Listing;
use crate::tree::path::TreePath;
use crate::tree::plan::units::Units;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The content of a file as a key; none for what is no file, or empty: empty files are not one and the same.
fn content(entry: &Entry) -> Option<Vec<u8>> {
    let Content::File { size, body } = &entry.content else { return None };
    if *size == 0 {
        return None;
    }
    let mut key = size.to_be_bytes().to_vec();
    match body {
        Body::List(list) => key.extend_from_slice(list.as_bytes()),
        Body::Segments(segments) => {
            for segment in segments {
                key.extend_from_slice(&segment.length().to_be_bytes());
                if let Segment::Chunk { id, .. } = segment {
                    key.extend_from_slice(id.as_bytes());
                }
            }
        }
    }
    Some(key)
}

/// Old names and new ones, where it is plain which became which: one file went and one of the same content came, or one of
/// the same content and the same last name.
fn moved(base: &Listing, side: &Listing, skip: &dyn Fn(&TreePath) -> bool) -> BTreeMap<TreePath, TreePath> {
    let only_in = |one: &Listing, other: &Listing| -> HashMap<Vec<u8>, Vec<TreePath>> {
        let mut found: HashMap<Vec<u8>, Vec<TreePath>> = HashMap::new();
        for (path, entry) in one {
            if other.get(path).is_none()
                && !skip(path)
                && let Some(key) = content(entry)
            {
                found.entry(key).or_default().push(path.clone());
            }
        }
        found
    };
    let mut moved = BTreeMap::new();
    let gone = only_in(base, side);
    if gone.is_empty() {
        return moved;
    }
    let mut come = only_in(side, base);
    for (key, from) in gone {
        let Some(to) = come.remove(&key) else { continue };
        if let ([from], [to]) = (from.as_slice(), to.as_slice()) {
            moved.insert(from.clone(), to.clone());
            continue;
        }
        let (from, to) = (alone(&from), alone(&to));
        for (name, old) in from {
            if let (Some(old), Some(Some(new))) = (old, to.get(name)) {
                moved.insert(old.clone(), (*new).clone());
            }
        }
    }
    moved
}

/// Paths by their last names; none where several have it.
fn alone(paths: &[TreePath]) -> HashMap<&[u8], Option<&TreePath>> {
    let mut by_name = HashMap::new();
    for path in paths {
        by_name.entry(path.name()).and_modify(|one| *one = None).or_insert(Some(path));
    }
    by_name
}

/// Makes conflicts, with a proposal where there is one, of files that one side moved and the other did not leave alone.
pub(super) fn renames(merging: &mut Merging<'_>, units: &Units) {
    let [base, ours, theirs] = merging.sides;
    let whole: Vec<TreePath> = merging
        .conflicts
        .values()
        .filter_map(|conflict| match &conflict.scope {
            Scope::Within(path) => Some(path.clone()),
            Scope::Paths(_) => None,
        })
        .collect();
    let skip = |path: &TreePath| units.of(path).is_some() || whole.iter().any(|whole| path.is_within(whole));
    let (by_us, by_them) = (moved(base, ours, &skip), moved(base, theirs, &skip));
    let mut claimed: BTreeSet<TreePath> = BTreeSet::new();
    let olds: BTreeSet<&TreePath> = by_us.keys().chain(by_them.keys()).collect();
    for from in olds {
        let Some(before) = base.get(from) else { continue };
        let (path, paths, other) = match (by_us.get(from), by_them.get(from)) {
            (Some(one), Some(other)) if one == other => continue,
            (Some(one), Some(other)) => (from, vec![from.clone(), one.clone(), other.clone()], None),
            (Some(to), None) => (to, vec![from.clone(), to.clone()], theirs.get(from)),
            (None, Some(to)) => (to, vec![from.clone(), to.clone()], ours.get(from)),
            (None, None) => continue,
        };
        // What was only moved, and left alone by the other side, is one side's change.
        if other.is_some_and(|other| is_alike(before, other)) || paths.iter().any(|path| claimed.contains(path)) {
            continue;
        }
        let at = |listing: &Listing, to: Option<&TreePath>| listing.get(to.unwrap_or(from)).cloned();
        let entries = [Some(before.clone()), at(ours, by_us.get(from)), at(theirs, by_them.get(from))];
        let [_, one, two] = &entries;
        let both = one.as_ref().zip(two.as_ref());
        let agreed = both.and_then(|(ours, theirs)| metadata(Some(before), ours, theirs));
        // The new name must be free on the side that did not move it.
        let is_free = ours.get(path).is_none() || theirs.get(path).is_none();
        let is_file = |entry: &Entry| matches!(entry.content, Content::File { .. });
        let proposed = match decide(Some(before), one.as_ref(), two.as_ref()) {
            // What became a directory or a link is another thing, and stays where it is: moving it would lose the file.
            Decided::Taken(Some(entry)) if other.is_some_and(is_file) && is_free => Some(vec![(path.clone(), entry)]),
            _ => None,
        };
        for path in &paths {
            merging.taken.remove(path);
            merging.conflicts.remove(path);
        }
        claimed.extend(paths.iter().cloned());
        let path = path.clone();
        merging.conflict(path, ConflictKind::Rename, Some(from.clone()), paths, entries, agreed, proposed);
    }
}
