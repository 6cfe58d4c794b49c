//! What differs between two trees.

use super::entry::{Content, Entry};
use super::listing::{Listing, merge};
use super::path::TreePath;

/// How an entry differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is only in the later tree.
    Added,
    /// It is only in the earlier tree.
    Removed,
    /// It became another type of thing.
    Type,
    /// It holds something else.
    Content,
    /// Permissions, owner, extended attributes or hard links differ.
    Metadata,
    /// Only the time of its last change differs.
    Time,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: TreePath,
    /// How.
    pub kind: ChangeKind,
    /// The entry before.
    pub before: Option<Entry>,
    /// The entry after.
    pub after: Option<Entry>,
}

fn kind(before: &Entry, after: &Entry) -> Option<ChangeKind> {
    let (a, b) = (&before.metadata, &after.metadata);
    if before.content.entry_type() != after.content.entry_type() {
        Some(ChangeKind::Type)
    } else if !before.content.is_same(&after.content) {
        Some(ChangeKind::Content)
    } else if (a.mode, a.uid, a.gid, &a.xattrs, a.link) != (b.mode, b.uid, b.gid, &b.xattrs, b.link) {
        Some(ChangeKind::Metadata)
    } else if a.mtime != b.mtime && !matches!(before.content, Content::Directory(_)) {
        // A directory's time follows from what changed in it.
        Some(ChangeKind::Time)
    } else {
        None
    }
}

/// What differs, in the order of paths.
pub fn diff(before: &Listing, after: &Listing) -> Vec<Change> {
    merge([before, after])
        .filter_map(|(path, [before, after])| {
            let kind = match (before, after) {
                (Some(before), Some(after)) => kind(before, after)?,
                (None, Some(_)) => ChangeKind::Added,
                (_, None) => ChangeKind::Removed,
            };
            Some(Change { path: path.clone(), kind, before: before.cloned(), after: after.cloned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::node::tests::file;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn listing(files: &BTreeMap<String, u8>) -> Listing {
        Listing::new(
            files.iter().map(|(name, byte)| (TreePath::new(name.as_str()).unwrap(), file(name, *byte))).collect(),
        )
    }

    proptest! {
        #[test]
        fn a_diff_says_what_a_map_would(
            a in prop::collection::btree_map("[a-d]{1,2}", 0_u8..3, 0..12),
            b in prop::collection::btree_map("[a-d]{1,2}", 0_u8..3, 0..12),
        ) {
            let found: Vec<(String, ChangeKind)> =
                diff(&listing(&a), &listing(&b)).into_iter().map(|change| (change.path.to_string(), change.kind)).collect();
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let expected: Vec<(String, ChangeKind)> = names.into_iter().filter_map(|name| {
                let kind = match (a.get(name), b.get(name)) {
                    (None, _) => ChangeKind::Added,
                    (_, None) => ChangeKind::Removed,
                    (x, y) if x != y => ChangeKind::Content,
                    _ => return None,
                };
                Some((name.clone(), kind))
            }).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        let before = file("a", 1);
        let mut after = before.clone();
        assert_eq!(kind(&before, &after), None);
        after.metadata.mtime += 1;
        assert_eq!(kind(&before, &after), Some(ChangeKind::Time));
        after.metadata.mode = 0o600;
        assert_eq!(kind(&before, &after), Some(ChangeKind::Metadata));
        after.content = Content::Fifo;
        assert_eq!(kind(&before, &after), Some(ChangeKind::Type));
    }
}
