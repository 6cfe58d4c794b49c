//! What is taken whole from one side: git repositories, and places where one side has a directory and the other not.

use super::decide::is_alike;
use super::{ConflictKind, Merging, Side, inside};
use crate::tree::entry::{Content, Entry};
use crate::tree::listing::Listing;
use crate::tree::path::TreePath;
use crate::tree::plan::units::Units;
use std::collections::BTreeMap;

fn is_same(a: &[(TreePath, Entry)], b: &[(TreePath, Entry)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && is_alike(&a.1, &b.1))
}

/// Whose each repository is that the two sides have not alike: the one that changed it; none where both did.
pub(super) fn units(sides: &[&Listing; 3], units: &Units) -> BTreeMap<TreePath, Option<Side>> {
    let mut whose = BTreeMap::new();
    for unit in units.iter() {
        let [base, ours, theirs] = Side::ALL.map(|side| inside(sides, side, unit));
        if is_same(ours, theirs) {
            continue;
        }
        let side = match (is_same(base, ours), is_same(base, theirs)) {
            (true, _) => Some(Side::Theirs),
            (_, true) => Some(Side::Ours),
            _ => None,
        };
        whose.insert(unit.clone(), side);
    }
    whose
}

/// Where something that is no directory would hold something.
pub(super) fn directories(merging: &mut Merging<'_>) {
    let mut found: Vec<TreePath> = Vec::new();
    let mut file: Option<&TreePath> = None;
    let conflicts = merging.conflicts.keys().map(|path| (path, None));
    let taken = merging.taken.iter().map(|(path, entry)| (path, Some(entry)));
    let mut all: Vec<(&TreePath, Option<&Entry>)> = taken.chain(conflicts).collect();
    all.sort_by_key(|(path, _)| *path);
    for (path, entry) in all {
        match file {
            Some(above) if path.is_within(above) => {
                if found.last() != Some(above) {
                    found.push(above.clone());
                }
            }
            _ => file = entry.filter(|entry| !matches!(entry.content, Content::Directory(_))).map(|_| path),
        }
    }
    for path in found {
        merging.conflict_within(path, ConflictKind::Directory);
    }
}
