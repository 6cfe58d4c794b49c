//! Three trees become one: what only one side changed is taken, and so is what both changed alike; the rest are
//! conflicts, which somebody decides.
//!
//! Everything is by path. A file that was moved without a change is followed to its new name. A git repository is taken
//! whole from one side ([`super::plan`] puts it back whole, too), and so is a place where one side has a directory and the
//! other something else. Times alone are neither a change nor a conflict. What a side does not say (its rules exclude a
//! path, or it could not be read) is taken as unchanged, and never as removed.

mod complete;
mod decide;
mod link;
mod rename;
mod silent;
mod whole;

use super::entry::{Content, Entry, Metadata};
use super::listing::{Listing, merge as side_by_side};
use super::path::TreePath;
use super::plan::IsExcluded;
use super::plan::units::Units;
use decide::{Decided, decide};
use std::collections::{BTreeMap, BTreeSet};

pub use complete::Taken;

/// Why a path is somebody's to decide. Names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both sides changed a file.
    Edited,
    /// Both sides made something of this name.
    Added,
    /// One side removed what the other changed.
    DeleteEdit,
    /// Both sides changed permissions, owner or an extended attribute.
    Metadata,
    /// Both sides changed where a symbolic link points.
    Symlink,
    /// Both sides made another type of thing of it.
    Type,
    /// One side has a directory and the other something else: decided with all that is in it.
    Directory,
    /// One side moved a file that the other changed, removed or moved elsewhere.
    Rename,
    /// Both sides changed a git repository: decided whole.
    Repository,
}

/// One of the three trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The common ancestor.
    Base,
    /// What is merged into.
    Ours,
    /// What is merged.
    Theirs,
}

impl Side {
    /// All three, in the order in which trees are passed.
    pub const ALL: [Self; 3] = [Self::Base, Self::Ours, Self::Theirs];
}

/// What a conflict is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// These paths, each by itself.
    Paths(Vec<TreePath>),
    /// A path and all that is in it.
    Within(TreePath),
}

/// Something to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Where; of a file that one side moved, its new name, and of one that both moved, its old name.
    pub path: TreePath,
    /// Why.
    pub kind: ConflictKind,
    /// The old name of a file that was moved.
    pub from: Option<TreePath>,
    /// What is decided with it.
    pub scope: Scope,
    /// What each side has there, wherever it moved it: the ancestor, ours, theirs.
    pub entries: [Option<Entry>; 3],
    /// What each side has of the whole scope.
    pub sides: [Vec<(TreePath, Entry)>; 3],
    /// The metadata that both sides agree on, for content that somebody makes.
    pub metadata: Option<Metadata>,
    /// What is proposed for the scope, where that needs no new content.
    pub proposed: Option<Vec<(TreePath, Entry)>>,
}

impl Conflict {
    /// What a side has there.
    pub const fn entry(&self, side: Side) -> Option<&Entry> {
        let [base, ours, theirs] = &self.entries;
        match side {
            Side::Base => base.as_ref(),
            Side::Ours => ours.as_ref(),
            Side::Theirs => theirs.as_ref(),
        }
    }

    /// Where content that somebody makes goes; none where only a side as it is can be taken.
    pub fn target(&self) -> Option<&TreePath> {
        let moved_twice = self.kind == ConflictKind::Rename && self.from.as_ref() == Some(&self.path);
        (matches!(self.scope, Scope::Paths(_)) && !moved_twice).then_some(&self.path)
    }

    /// A value that is the same as long as the three sides are: a decision is about these and no others. Times and hard
    /// links do not count.
    pub fn identity(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("samite merge conflict v1");
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_be_bytes()).update(bytes);
        };
        add(self.path.as_bytes());
        for side in &self.sides {
            add(&(side.len() as u64).to_be_bytes());
            for (path, entry) in side {
                let mut timeless = entry.clone();
                timeless.metadata.mtime = 0;
                timeless.metadata.link = None;
                if let Content::Directory(node) = &mut timeless.content {
                    *node = crate::BlockId([0; 32]);
                }
                let mut bytes = Vec::new();
                timeless.encode(&mut bytes);
                add(path.as_bytes());
                add(&bytes);
            }
        }
        *hasher.finalize().as_bytes()
    }
}

/// What a merge needs to know beside the trees.
#[derive(Clone, Copy, Default)]
pub struct MergeOptions<'a> {
    /// Whether ours leaves a path out by its rules (`true` for a directory).
    pub excluded_from_ours: Option<&'a IsExcluded<'a>>,
    /// Whether theirs does.
    pub excluded_from_theirs: Option<&'a IsExcluded<'a>>,
}

/// A merge that was worked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// What needs no decision.
    pub taken: BTreeMap<TreePath, Entry>,
    /// What does, in the order of paths.
    pub conflicts: Vec<Conflict>,
    /// Paths that ours says nothing of.
    silent: BTreeSet<TreePath>,
}

/// Merges two trees that come from one.
pub fn merge(base: &Listing, ours: &Listing, theirs: &Listing, options: &MergeOptions<'_>) -> Merge {
    let (ours, silent) = silent::as_unchanged(base, ours, options.excluded_from_ours);
    let (theirs, _) = silent::as_unchanged(base, theirs, options.excluded_from_theirs);
    let sides = [base, &ours, &theirs];
    let mut merging = Merging { sides, taken: BTreeMap::new(), conflicts: BTreeMap::new() };
    let units = Units::find(&sides);
    let wholes = whole::units(&sides, &units);
    let mut decided_whole: Option<TreePath> = None;
    for (path, [base, ours, theirs]) in side_by_side(sides) {
        if units.of(path).is_some_and(|unit| wholes.contains_key(unit))
            || decided_whole.as_ref().is_some_and(|whole| path.is_within(whole))
        {
            continue;
        }
        if merging.decide(path, base, ours, theirs) {
            decided_whole = Some(path.clone());
        }
    }
    for (unit, side) in wholes {
        if merging
            .conflicts
            .values()
            .any(|conflict| matches!(&conflict.scope, Scope::Within(whole) if unit.is_within(whole)))
        {
            continue;
        }
        match side {
            Some(side) => merging.taken.extend(inside(&sides, side, &unit).iter().cloned()),
            None => merging.conflict_within(unit, ConflictKind::Repository),
        }
    }
    whole::directories(&mut merging);
    rename::renames(&mut merging, &units);
    Merge { taken: merging.taken, conflicts: merging.conflicts.into_values().collect(), silent }
}

/// A merge that is being worked out.
struct Merging<'a> {
    sides: [&'a Listing; 3],
    taken: BTreeMap<TreePath, Entry>,
    conflicts: BTreeMap<TreePath, Conflict>,
}

/// What a side has at a path and in it.
fn inside<'a>(sides: &[&'a Listing; 3], side: Side, path: &TreePath) -> &'a [(TreePath, Entry)] {
    let [base, ours, theirs] = sides;
    match side {
        Side::Base => base.inside(path),
        Side::Ours => ours.inside(path),
        Side::Theirs => theirs.inside(path),
    }
}

impl Merging<'_> {
    /// Decides about a path; whether with all that is in it.
    fn decide(&mut self, path: &TreePath, base: Option<&Entry>, ours: Option<&Entry>, theirs: Option<&Entry>) -> bool {
        match decide(base, ours, theirs) {
            Decided::Taken(entry) => {
                self.taken.extend(entry.map(|entry| (path.clone(), entry)));
            }
            // A workspace has its own top.
            Decided::Conflict { .. } if path.is_top() => {
                self.taken.extend(ours.map(|entry| (path.clone(), entry.clone())));
            }
            Decided::Conflict { kind: ConflictKind::Directory, .. } => {
                self.conflict_within(path.clone(), ConflictKind::Directory);
                return true;
            }
            Decided::Conflict { kind, metadata } => {
                let entries = [base, ours, theirs].map(Option::<&Entry>::cloned);
                let paths = vec![path.clone()];
                self.conflict(path.clone(), kind, None, paths, entries, metadata, None);
            }
        }
        false
    }

    #[expect(clippy::too_many_arguments, reason = "they are the parts of a conflict")]
    fn conflict(
        &mut self,
        path: TreePath,
        kind: ConflictKind,
        from: Option<TreePath>,
        paths: Vec<TreePath>,
        entries: [Option<Entry>; 3],
        metadata: Option<Metadata>,
        proposed: Option<Vec<(TreePath, Entry)>>,
    ) {
        let of = |listing: &Listing| -> Vec<(TreePath, Entry)> {
            paths.iter().filter_map(|path| Some((path.clone(), listing.get(path)?.clone()))).collect()
        };
        let sides = self.sides.map(of);
        let scope = Scope::Paths(paths);
        self.conflicts.insert(path.clone(), Conflict { path, kind, from, scope, entries, sides, metadata, proposed });
    }

    /// One conflict for a path and all that is in it.
    fn conflict_within(&mut self, path: TreePath, kind: ConflictKind) {
        self.taken.retain(|taken, _| !taken.is_within(&path));
        self.conflicts.retain(|other, _| !other.is_within(&path));
        let conflict = Conflict {
            kind,
            from: None,
            scope: Scope::Within(path.clone()),
            entries: self.sides.map(|listing| listing.get(&path).cloned()),
            sides: Side::ALL.map(|side| inside(&self.sides, side, &path).to_vec()),
            metadata: None,
            proposed: None,
            path: path.clone(),
        };
        self.conflicts.insert(path, conflict);
    }
}

#[cfg(test)]
mod tests;
