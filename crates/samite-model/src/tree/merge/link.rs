//! Hard links of a merged tree: two paths are one file where the sides, each against the ancestor, say so.

use crate::tree::entry::{Content, Entry, LinkGroup};
use crate::tree::listing::Listing;
use crate::tree::path::TreePath;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What a side says of a path's links.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Says {
    /// It has no such path.
    Nothing,
    /// The path is a file of its own.
    Alone,
    /// It is one of these.
    OneOf(LinkGroup),
}

impl Says {
    const fn group(self) -> Option<LinkGroup> {
        match self {
            Self::OneOf(group) => Some(group),
            Self::Nothing | Self::Alone => None,
        }
    }
}

/// What each side says.
type Links = [Says; 3];

/// Whether two paths are one file on a side that has both.
fn are_one(a: Says, b: Says) -> Option<bool> {
    (a != Says::Nothing && b != Says::Nothing).then(|| a.group().is_some() && a == b)
}

/// Three-way, by what each side says of both.
fn linked([a_base, a_ours, a_theirs]: Links, [b_base, b_ours, b_theirs]: Links) -> bool {
    let base = are_one(a_base, b_base).unwrap_or(false);
    match (are_one(a_ours, b_ours), are_one(a_theirs, b_theirs)) {
        (Some(ours), Some(theirs)) if ours == base => theirs,
        (Some(ours), _) => ours,
        (None, Some(theirs)) => theirs,
        (None, None) => false,
    }
}

/// What two paths must share to be one file.
fn is_one_file(a: &Entry, b: &Entry) -> bool {
    let (one, other) = (&a.metadata, &b.metadata);
    a.content.is_same(&b.content)
        && (one.mode, one.uid, one.gid) == (other.mode, other.uid, other.gid)
        && one.xattrs == other.xattrs
}

/// Sets the links of a merged tree.
pub(super) fn relink(merged: &mut BTreeMap<TreePath, Entry>, sides: [&Listing; 3]) {
    let links = |path: &TreePath| {
        sides.map(|side| match side.get(path).map(|entry| entry.metadata.link) {
            None => Says::Nothing,
            Some(None) => Says::Alone,
            Some(Some(group)) => Says::OneOf(group),
        })
    };
    // Paths that say the same on every side are one file or none is; so they are looked at once.
    let mut alike: HashMap<Links, Vec<TreePath>> = HashMap::new();
    for path in merged.keys() {
        let links = links(path);
        if links.iter().any(|says| says.group().is_some()) {
            alike.entry(links).or_default().push(path.clone());
        }
    }
    let mut sets: Vec<(Links, Vec<TreePath>)> = alike.into_iter().collect();
    sets.sort_by(|a, b| a.1.cmp(&b.1));
    // Only sets that share a file on one of the two sides can be one.
    let mut sharing: HashMap<(bool, LinkGroup), Vec<usize>> = HashMap::new();
    let files = |[_, ours, theirs]: Links| [(false, ours.group()), (true, theirs.group())];
    for (at, (links, _)) in sets.iter().enumerate() {
        for (side, group) in files(*links) {
            if let Some(group) = group {
                sharing.entry((side, group)).or_default().push(at);
            }
        }
    }
    let mut groups: Vec<Vec<TreePath>> = Vec::new();
    let mut grouped: HashSet<usize> = HashSet::new();
    for (at, (links, paths)) in sets.iter().enumerate() {
        if !grouped.insert(at) {
            continue;
        }
        // Paths of a set that are not one file with each other may each be one with those of another.
        let mut members: Vec<TreePath> = if linked(*links, *links) { paths.clone() } else { Vec::new() };
        let near = files(*links).into_iter().filter_map(|(side, group)| sharing.get(&(side, group?))).flatten();
        for other_at in near.copied().collect::<BTreeSet<usize>>() {
            let Some((other, others)) = sets.get(other_at) else { continue };
            if linked(*links, *other) && grouped.insert(other_at) {
                if members.is_empty() {
                    members.clone_from(paths);
                }
                members.extend(others.iter().cloned());
            }
        }
        members.sort();
        groups.push(members);
    }
    for entry in merged.values_mut() {
        entry.metadata.link = None;
    }
    for group in groups {
        let is_file =
            |path: &TreePath| merged.get(path).is_some_and(|entry| !matches!(entry.content, Content::Directory(_)));
        let mut rest: Vec<TreePath> = group.into_iter().filter(is_file).collect();
        while let Some(first) = rest.first().cloned() {
            let Some(model) = merged.get(&first).cloned() else { break };
            let (same, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|path| merged.get(path).is_some_and(|entry| is_one_file(&model, entry)));
            rest = others;
            if same.len() > 1 {
                for path in same {
                    if let Some(entry) = merged.get_mut(&path) {
                        entry.metadata.link = Some(LinkGroup::of(&first));
                        // One file has one time.
                        entry.metadata.mtime = model.metadata.mtime;
                    }
                }
            }
        }
    }
}
