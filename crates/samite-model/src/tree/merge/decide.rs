//! One path, three entries.

use super::ConflictKind;
use crate::tree::entry::{Content, Entry, EntryType, Metadata, Xattr};
use std::collections::BTreeSet;

/// What becomes of a path.
pub(super) enum Decided {
    /// This, or nothing.
    Taken(Option<Entry>),
    /// Somebody decides.
    Conflict {
        kind: ConflictKind,
        /// The metadata that both sides agree on.
        metadata: Option<Metadata>,
    },
}

/// Whether two entries are the same thing: times, hard links and what is in a directory do not count.
pub(super) fn is_alike(a: &Entry, b: &Entry) -> bool {
    let (one, other) = (&a.metadata, &b.metadata);
    a.content.is_same(&b.content)
        && (one.mode, one.uid, one.gid) == (other.mode, other.uid, other.gid)
        && one.xattrs == other.xattrs
}

/// What both sides make of a value; none when both changed it and not alike.
fn three_way<T: PartialEq + Clone>(base: Option<&T>, ours: &T, theirs: &T) -> Option<T> {
    if ours == theirs || base == Some(theirs) {
        Some(ours.clone())
    } else if base == Some(ours) {
        Some(theirs.clone())
    } else {
        None
    }
}

/// Of times both are right, and the later one says when it became what it is.
fn time(base: Option<i64>, ours: i64, theirs: i64) -> i64 {
    three_way(base.as_ref(), &ours, &theirs).unwrap_or_else(|| ours.max(theirs))
}

fn xattrs(base: Option<&Metadata>, ours: &Metadata, theirs: &Metadata) -> Option<Vec<Xattr>> {
    let of = |metadata: &Metadata, name: &[u8]| -> Option<Box<[u8]>> {
        metadata.xattrs.iter().find(|(found, _)| &**found == name).map(|(_, value)| value.clone())
    };
    let names: BTreeSet<&Box<[u8]>> = ours.xattrs.iter().chain(&theirs.xattrs).map(|(name, _)| name).collect();
    let mut merged = Vec::new();
    for name in names {
        // Where there is no base, nothing was there before.
        let before = base.and_then(|base| of(base, name));
        if let Some(value) = three_way(Some(&before), &of(ours, name), &of(theirs, name))? {
            merged.push((name.clone(), value));
        }
    }
    Some(merged)
}

/// Permissions, owner and extended attributes of both sides together. Links and times are the caller's.
pub(super) fn metadata(base: Option<&Entry>, ours: &Entry, theirs: &Entry) -> Option<Metadata> {
    let base = base.map(|base| &base.metadata);
    let (ours, theirs) = (&ours.metadata, &theirs.metadata);
    let owner = |metadata: &Metadata| (metadata.uid, metadata.gid);
    let (uid, gid) = three_way(base.map(owner).as_ref(), &owner(ours), &owner(theirs))?;
    Some(Metadata {
        mode: three_way(base.map(|base| base.mode).as_ref(), &ours.mode, &theirs.mode)?,
        uid,
        gid,
        mtime: time(base.map(|base| base.mtime), ours.mtime, theirs.mtime),
        xattrs: xattrs(base, ours, theirs)?,
        link: None,
        torn: false,
    })
}

/// Decides about a path.
pub(super) fn decide(base: Option<&Entry>, ours: Option<&Entry>, theirs: Option<&Entry>) -> Decided {
    match (ours, theirs) {
        (None, None) => Decided::Taken(None),
        (Some(ours), Some(theirs)) => both(base, ours, theirs),
        (Some(one), None) | (None, Some(one)) => match base {
            None => Decided::Taken(Some(one.clone())),
            Some(base) if is_alike(base, one) => Decided::Taken(None),
            Some(_) => Decided::Conflict { kind: ConflictKind::DeleteEdit, metadata: Some(one.metadata.clone()) },
        },
    }
}

fn both(base: Option<&Entry>, ours: &Entry, theirs: &Entry) -> Decided {
    let unchanged = |side: &Entry| base.is_some_and(|base| is_alike(base, side));
    if !is_alike(ours, theirs) {
        // What one side alone changed is its own, whatever changed: a type brings its permissions with it.
        match (unchanged(ours), unchanged(theirs)) {
            (false, true) => return Decided::Taken(Some(ours.clone())),
            (true, false) => return Decided::Taken(Some(theirs.clone())),
            _ => {}
        }
    }
    let metadata = metadata(base, ours, theirs);
    let kept = |side: &Entry| base.is_some_and(|base| base.content.is_same(&side.content));
    let content = if ours.content.is_same(&theirs.content) {
        Some((ours, None))
    } else if kept(theirs) {
        Some((ours, Some(ours.metadata.mtime)))
    } else if kept(ours) {
        Some((theirs, Some(theirs.metadata.mtime)))
    } else {
        None
    };
    let is_directory = |entry: &Entry| matches!(entry.content, Content::Directory(_));
    if is_directory(ours) != is_directory(theirs) {
        return Decided::Conflict { kind: ConflictKind::Directory, metadata: None };
    }
    match (content, metadata) {
        (Some((from, mtime)), Some(metadata)) => {
            let Metadata { link, torn, .. } = from.metadata;
            let mtime = mtime.unwrap_or(metadata.mtime);
            Decided::Taken(Some(Entry { metadata: Metadata { mtime, link, torn, ..metadata }, ..from.clone() }))
        }
        (Some(_), None) => Decided::Conflict { kind: ConflictKind::Metadata, metadata: None },
        (None, metadata) => {
            let kind = match (ours.content.entry_type(), theirs.content.entry_type()) {
                (EntryType::File, EntryType::File) if base.is_none() => ConflictKind::Added,
                (EntryType::File, EntryType::File) => ConflictKind::Edited,
                (EntryType::Symlink, EntryType::Symlink) => ConflictKind::Symlink,
                _ => ConflictKind::Type,
            };
            Decided::Conflict { kind, metadata }
        }
    }
}
