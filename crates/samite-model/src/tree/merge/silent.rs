//! What a tree does not say: paths that its rules leave out, and what could not be read when it was made. They are taken as
//! they were in the ancestor, so that silence removes nothing.

use crate::tree::entry::{Content, Entry};
use crate::tree::listing::Listing;
use crate::tree::path::TreePath;
use crate::tree::plan::IsExcluded;
use std::borrow::Cow;
use std::collections::BTreeSet;

fn is_unread(entry: &Entry) -> bool {
    matches!(entry.content, Content::Unread(_))
}

/// A side with what it does not say put in from the ancestor, and the paths of that.
pub(super) fn as_unchanged<'a>(
    base: &Listing,
    side: &'a Listing,
    is_excluded: Option<&IsExcluded<'_>>,
) -> (Cow<'a, Listing>, BTreeSet<TreePath>) {
    let unread: Vec<&TreePath> = side.iter().filter(|(_, entry)| is_unread(entry)).map(|(path, _)| path).collect();
    if unread.is_empty() && is_excluded.is_none() {
        return (Cow::Borrowed(side), BTreeSet::new());
    }
    let mut said: Vec<(TreePath, Entry)> = Vec::new();
    let mut silent = BTreeSet::new();
    for (path, before) in base {
        let unsaid = if let Some(now) = side.get(path) {
            is_unread(now)
        } else {
            let directory = matches!(before.content, Content::Directory(_));
            unread.iter().any(|unread| path.is_within(unread))
                || is_excluded.is_some_and(|is_excluded| is_excluded(path, directory))
        };
        if unsaid {
            silent.insert(path.clone());
            said.push((path.clone(), before.clone()));
        }
    }
    said.extend(side.iter().filter(|(path, _)| !silent.contains(path)).cloned());
    (Cow::Owned(Listing::new(said)), silent)
}
