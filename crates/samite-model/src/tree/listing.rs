//! A whole tree as one sorted list.

use super::entry::Entry;
use super::path::TreePath;

/// Paths and their entries, sorted by path, the top (the empty path) included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing(Vec<(TreePath, Entry)>);

impl Listing {
    /// A listing of these; sorts them unless they are sorted already. Of two with one path the first stays.
    pub fn new(mut entries: Vec<(TreePath, Entry)>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|a, b| a.0 == b.0);
        }
        Self(entries)
    }

    /// The entry of a path.
    pub fn get(&self, path: &TreePath) -> Option<&Entry> {
        let at = self.0.binary_search_by(|(found, _)| found.cmp(path)).ok()?;
        self.0.get(at).map(|(_, entry)| entry)
    }

    /// All, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (TreePath, Entry)> {
        self.0.iter()
    }

    /// A path and what is in it, in order.
    pub fn inside(&self, path: &TreePath) -> &[(TreePath, Entry)] {
        let start = self.0.partition_point(|(found, _)| found < path);
        let rest = self.0.get(start..).unwrap_or_default();
        let end = rest.partition_point(|(found, _)| found.is_within(path));
        rest.get(..end).unwrap_or_default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Only what is, or is inside of, one of these paths, with the directories that lead there.
    #[must_use]
    pub fn within(&self, paths: &[TreePath]) -> Self {
        let near = |path: &TreePath| paths.iter().any(|within| path.is_within(within) || within.is_within(path));
        Self(self.0.iter().filter(|(path, _)| near(path)).cloned().collect())
    }
}

impl<'a> IntoIterator for &'a Listing {
    type Item = &'a (TreePath, Entry);
    type IntoIter = std::slice::Iter<'a, (TreePath, Entry)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// The union of several listings, path by path, with each one's entry.
pub(super) fn merge<const N: usize>(listings: [&Listing; N]) -> impl Iterator<Item = (&TreePath, [Option<&Entry>; N])> {
    let mut heads = listings.map(|listing| listing.iter().peekable());
    std::iter::from_fn(move || {
        let path = heads.iter_mut().filter_map(|head| head.peek().map(|(path, _)| path)).min()?;
        let found = std::array::from_fn(|at| {
            let head = heads.get_mut(at)?;
            head.next_if(|(found, _)| found == path).map(|(_, entry)| entry)
        });
        Some((path, found))
    })
}
