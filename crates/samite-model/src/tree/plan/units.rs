//! What is put back whole or not at all: git repositories.
//!
//! The files of a repository refer to each other: a ref names a commit, a commit names trees, a tree names blobs, and the
//! index names blobs. Each of them may be fine where it is and the repository broken.

use super::{Action, Kept, KeptReason, is_directory};
use crate::tree::listing::Listing;
use crate::tree::path::TreePath;
use std::collections::{BTreeMap, BTreeSet};

/// The directories that are put back whole or not at all, of those inside of each other the outermost, in order.
pub(in crate::tree) struct Units(Vec<TreePath>);

impl Units {
    /// The repositories in some listings: each directory `.git`, and each that holds `HEAD`, `objects` and `refs`.
    pub(in crate::tree) fn find(listings: &[&Listing]) -> Self {
        let mut found: BTreeSet<&TreePath> = BTreeSet::new();
        let mut bare: BTreeSet<TreePath> = BTreeSet::new();
        for listing in listings {
            for (path, entry) in *listing {
                match path.name() {
                    b".git" if is_directory(Some(entry)) => {
                        found.insert(path);
                    }
                    b"HEAD" if !is_directory(Some(entry)) => {
                        let Some(directory) = path.parent() else { continue };
                        // In whichever: what a restore that died left is the same repository as before.
                        let holds = |name: &[u8]| {
                            let path = directory.join(name);
                            listings.iter().any(|listing| is_directory(listing.get(&path)))
                        };
                        if holds(b"objects") && holds(b"refs") {
                            bare.insert(directory);
                        }
                    }
                    _ => {}
                }
            }
        }
        let mut units: Vec<TreePath> = Vec::new();
        for path in found.into_iter().chain(&bare).collect::<BTreeSet<&TreePath>>() {
            // A directory comes right before what is in it.
            if units.last().is_none_or(|last| !path.is_within(last)) {
                units.push(path.clone());
            }
        }
        Self(units)
    }

    /// All of them, in order.
    pub(in crate::tree) fn iter(&self) -> std::slice::Iter<'_, TreePath> {
        self.0.iter()
    }

    /// The unit that a path is in.
    pub(in crate::tree) fn of(&self, path: &TreePath) -> Option<&TreePath> {
        let after = self.0.partition_point(|unit| unit <= path);
        self.0.get(after.checked_sub(1)?).filter(|unit| path.is_within(unit))
    }

    /// Keeps every unit whole in which a path is kept, or of which something that is out of scope would have to change
    /// as well (`parted`), and lists each once.
    pub(super) fn keep_whole(
        &self,
        actions: &mut Vec<Action>,
        kept: &mut Vec<Kept>,
        parted: &BTreeSet<TreePath>,
        in_scope: impl Fn(&TreePath) -> bool,
    ) {
        if self.0.is_empty() {
            return;
        }
        let mut whole: BTreeMap<TreePath, KeptReason> = BTreeMap::new();
        for one in kept.iter().filter(|one| in_scope(&one.path)) {
            if let Some(unit) = self.of(&one.path) {
                whole.entry(unit.clone()).or_insert(one.reason);
            }
        }
        for unit in actions.iter().filter_map(|action| self.of(action.path())) {
            if parted.contains(unit) && !whole.contains_key(unit) {
                whole.insert(unit.clone(), KeptReason::Parted);
            }
        }
        if whole.is_empty() {
            return;
        }
        let is_whole = |path: &TreePath| self.of(path).is_some_and(|unit| whole.contains_key(unit));
        actions.retain(|action| !is_whole(action.path()));
        kept.retain(|one| !is_whole(&one.path));
        kept.extend(whole.into_iter().map(|(path, reason)| Kept { path, reason, repository: true }));
    }
}
