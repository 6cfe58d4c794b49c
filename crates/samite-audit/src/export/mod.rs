//! A log in a plain folder that anybody can copy, serve and verify: `checkpoint` (the signed tree head), `tile/…` and
//! `tile/entries/…`.

mod descent;
mod folder;
mod leftovers;
mod segment;
mod verify;

pub use folder::{FolderTiles, HEAD_FILE, read_head};
pub use segment::{Archived, Pruned, archive, older_than, prune};
pub use verify::{Finding, MOST_FINDINGS, Verification, continues, verify, verify_part, verify_segment};

use crate::merkle::Hash;
use crate::note::{Note, VerifierKey};
use crate::tile::{Edge, FULL, TileKind, TileStream};
use crate::tree_head::{OpenedTreeHead, TreeHead};
use samite_host::files::{self, PRIVATE_FILE};
use samite_host::kill_point;
use samite_model::{Error, Result};
use std::ffi::OsStr;
use std::path::Path;

/// What an export did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many entries the folder had.
    pub before: u64,
    /// How many it has.
    pub after: u64,
    /// The index of the first entry that was written, if any was: later than `before` in a new folder of a log whose beginning was
    /// pruned.
    pub from: u64,
    /// How many files were written, without the tree head.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// Writes a log up to a signed tree head into a folder, or what it has more than the folder; what is there is not written again.
/// `entries` gives the entries from an index on, and `progress` is told how many are written. When this returns, all of it is durable; a folder whose export was cut off has its
/// old tree head, and the next export goes on. Files are the user's alone (0600); the log is read-only for others once they are
/// given it.
///
/// # Errors
/// `corrupt` when the tree head is not signed with the key (as [`TreeHead::open`]), when what the folder has is damaged
/// (`export_damaged`), or the entries end too early or do not lead to the tree head's root (`other_root`); `conflict` when the
/// folder has other files (`not_empty`), another log's or no continuation (`other_export`) or a larger tree (`export_ahead`); what
/// reading and writing answers. Then the folder's tree head is as it was.
pub fn export<I>(
    folder: &Path,
    signed: &Note,
    log: &VerifierKey,
    entries: impl FnOnce(u64) -> I,
    progress: &mut dyn FnMut(u64),
) -> Result<Exported>
where
    I: Iterator<Item = Result<Vec<u8>>>,
{
    export_after(folder, signed, log, &[], entries, progress)
}

/// The same of a log whose beginning was pruned: of that only the roots of its full bundles are left. A new folder then has all
/// nodes above, and the bundles and tiles of leaves from the minimum index on, 256 times the number of roots.
///
/// # Errors
/// As [`export`]; `conflict` (`export_behind`) when the folder has a log that ends before the minimum index.
pub fn export_after<I>(
    folder: &Path,
    signed: &Note,
    log: &VerifierKey,
    bundles: &[Hash],
    entries: impl FnOnce(u64) -> I,
    progress: &mut dyn FnMut(u64),
) -> Result<Exported>
where
    I: Iterator<Item = Result<Vec<u8>>>,
{
    let opened = TreeHead::open(signed.to_string().as_bytes(), log, &[])?;
    let (head, mut signed) = (opened.head, opened.note);
    files::create_private_dir(folder)?;
    let edge = begin(folder, &head, log, &mut signed)?;
    let before = edge.size();
    let minimum = u64::from(FULL).saturating_mul(bundles.len() as u64);
    if before > 0 && before < minimum {
        let what = format!("{} has {before} entries, and the log begins at {minimum} now", folder.display());
        return Err(Error::conflict("export_behind", what).hint("export into a new directory"));
    }
    let mut exported = Exported { before, after: head.size, from: before.max(minimum), ..Exported::default() };
    let wanted = |from: u64| usize::try_from(head.size.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut stream = if before == 0 {
        TileStream::after(bundles, entries(minimum).take(wanted(minimum)))
    } else {
        TileStream::new(edge, entries(before).take(wanted(before)))
    };
    for file in stream.by_ref() {
        let file = file?;
        let path = folder.join(file.path.to_string());
        // An export that was cut off has written some of them, whole or not.
        if files::read_if_exists(&path)?.as_ref() != Some(&file.bytes) {
            files::create_private_dir(path.parent().unwrap_or(folder))?;
            files::replace_unsynced(&path, &file.bytes, PRIVATE_FILE)?;
            exported.files += 1;
            exported.bytes += file.bytes.len() as u64;
            kill_point("audit.export.file");
        }
        if file.path.kind == TileKind::Entries {
            progress(file.path.first().saturating_add(file.path.width.into()));
        }
    }
    let frontier = stream.frontier();
    if frontier.size() != head.size || frontier.root() != head.root {
        let (has, wants) = (frontier.size(), head.size);
        let what = format!("the {has} entries of {} do not lead to the root of its tree head of {wants}", head.origin);
        return Err(Error::corrupt("other_root", what)
            .hint("run `samite audit verify`, which names what is wrong; the tree head in the folder is as it was"));
    }
    // One wait for all files, before the head that speaks of them.
    files::sync_file_system(folder)?;
    kill_point("audit.export.synced");
    files::write_atomic(&folder.join(HEAD_FILE), signed.to_string().as_bytes(), PRIVATE_FILE)?;
    Ok(exported)
}

/// Refuses a folder that no export or archive of a log goes into: what is in it is neither this log's nor what was cut off.
///
/// # Errors
/// `conflict` (`not_empty`) for other files, (`other_export`) for another log; what reading answers.
pub fn check(folder: &Path, log: &VerifierKey) -> Result<()> {
    there(folder, log).map(|_| ())
}

/// The tree head that a folder has of a log, if it has one; without one it has nothing else either.
fn there(folder: &Path, log: &VerifierKey) -> Result<Option<OpenedTreeHead>> {
    let names = if files::exists(folder)? { files::list(folder)? } else { Vec::new() };
    let Some(head) = read_head(folder)? else {
        for name in names {
            if name != OsStr::new("tile") && !files::is_temporary(&name) {
                let what = format!("{} has {} in it, and no log", folder.display(), name.display());
                return Err(Error::conflict("not_empty", what).hint("name a new directory"));
            }
        }
        return Ok(None);
    };
    let opened = TreeHead::open(&head, log, &[]).map_err(|error| {
        let what = format!("{} has a log that the key of {} did not sign", folder.display(), log.name());
        Error::conflict("other_export", what).hint("name a new directory").because(error)
    })?;
    Ok(Some(opened))
}

/// The edge of what the folder has, once it is sure that the log continues it. Signatures that the folder's tree head has beside
/// the log's are kept when it is the same.
fn begin(folder: &Path, head: &TreeHead, log: &VerifierKey, signed: &mut Note) -> Result<Edge> {
    let Some(before) = there(folder, log)? else { return Ok(Edge::default()) };
    let (old, known) = (before.head, before.note);
    if old.size > head.size {
        let what = format!(
            "{} has {} entries of {}, and the log has only {}",
            folder.display(),
            old.size,
            head.origin,
            head.size
        );
        return Err(Error::conflict("export_ahead", what)
            .hint("export the newest head, or into a new directory; a log that is smaller may be an older copy of itself: then keep the export, and look whether a backup was restored"));
    }
    let damaged = |error: Error| {
        let what = format!("{}: {}", folder.display(), error.message());
        Error::corrupt("export_damaged", what).hint("export into a new directory").because(error)
    };
    let (edge, frontier) = Edge::read(&mut FolderTiles::new(folder), old.size).map_err(damaged)?;
    if frontier.root() != old.root {
        return Err(damaged(Error::corrupt("other_root", "its files do not lead to the root of its tree head")));
    }
    if old.size == head.size {
        if old.root != head.root {
            let what = format!("{} has another history of {} entries of {}", folder.display(), old.size, head.origin);
            return Err(Error::conflict("other_export", what).hint(
                "keep it: two signed tree heads of one size and different roots prove that history was changed",
            ));
        }
        known.signatures().iter().for_each(|signature| signed.add(signature.clone()));
    }
    Ok(edge)
}
