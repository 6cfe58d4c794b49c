//! Moving the beginning of a log that is long past to a colder place: it verifies there, and the rest of the log does without it.

use super::folder::{FolderTiles, HEAD_FILE, read_head};
use super::verify::verify_part;
use crate::leaf::Leaf;
use crate::merkle::Frontier;
use crate::note::VerifierKey;
use crate::tile::{FULL, TileKind, TilePath, TileReader, bundle_entries, files};
use crate::tree_head::{OpenedTreeHead, TreeHead};
use samite_host::files as host;
use samite_host::kill_point;
use samite_model::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// What an archive took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// The entries that verify there now, of those that were asked for.
    pub entries: u64,
    /// How many files were written, without the tree head.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// What pruning took away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The index of the first entry that is surely there: publish it with the log.
    pub minimum: u64,
    /// How many files were removed.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// Copies some entries of a log in a folder into another folder, with all that is needed to verify them there with
/// [`verify_segment`](super::verify_segment), and verifies them. Several segments of one log may go into one archive, from the first on. When this
/// returns, they are durable there.
///
/// # Errors
/// `invalid` (`bad_leaf_range`) when the log has no such entries, (`archive_in_log`) when one folder is in the other; `conflict`
/// (`other_export`, `not_empty`) when the archive has another log or other files;
/// `corrupt` (`archive_damaged`) when what was copied does not verify; as [`TreeHead::open`]; what reading and writing answers.
/// Then the archive's tree head is as it was, unless all was copied.
pub fn archive(folder: &Path, archive: &Path, log: &VerifierKey, entries: Range<u64>) -> Result<Archived> {
    let opened = open(folder, log)?;
    let size = opened.head.size;
    if entries.is_empty() || entries.end > size {
        let what = format!(
            "{} has {size} entries, and not those from {} up to {}",
            folder.display(),
            entries.start,
            entries.end
        );
        return Err(Error::invalid("bad_leaf_range", what).hint("name entries that the log has"));
    }
    let places = (host::canonical_to_be(folder)?, host::canonical_to_be(archive)?);
    if places.0.starts_with(&places.1) || places.1.starts_with(&places.0) {
        let what = format!("{} and {} are in each other", folder.display(), archive.display());
        return Err(Error::invalid("archive_in_log", what)
            .hint("name another directory: what is pruned from the one must stay in the other"));
    }
    if let Some(there) = super::there(archive, log)? {
        match super::continues(folder, &opened.head, &there.head) {
            Err(error) if error.code() == "no_tile" => agree(folder, size, archive, &there.head)?,
            other => other?,
        }
    }
    host::create_private_dir(archive)?;
    let (from, to) = (FolderTiles::new(folder), FolderTiles::new(archive));
    let mut archived = Archived::default();
    for path in files(size) {
        // Nodes are few, and with all of them every segment stays under the root of any later tree head.
        let is_node = path.level() > 0 || (!path.is_full() && path.kind != TileKind::Entries);
        if !is_node && !overlap(&path.leaves(), &entries) {
            continue;
        }
        let (new, old) = (from.exact(path)?, to.exact(path)?);
        match new {
            // Once it was pruned, the archive has it.
            None if old.is_some() => {}
            None => return Err(Error::not_found("no_tile", format!("{path} of {} is missing", folder.display()))),
            Some(new) if old.as_ref() == Some(&new) => {}
            Some(new) => {
                let file = archive.join(path.to_string());
                host::create_private_dir(file.parent().unwrap_or(archive))?;
                host::replace_unsynced(&file, &new, host::PRIVATE_FILE)?;
                archived.files += 1;
                archived.bytes += new.len() as u64;
            }
        }
    }
    host::sync_file_system(archive)?;
    kill_point("audit.archive.synced");
    host::write_atomic(&archive.join(HEAD_FILE), opened.note.to_string().as_bytes(), host::PRIVATE_FILE)?;
    let mut seen = 0;
    let verified = verify_part(archive, log, entries.clone(), &mut |index, _| {
        seen += u64::from(entries.contains(&index));
        Ok(())
    })?;
    if let Some(found) = verified.findings.first().filter(|_| !verified.is_right()) {
        let what = format!("{}: {} {}", archive.display(), found.file, found.what);
        return Err(Error::corrupt("archive_damaged", what)
            .hint("verify the folder that it was copied from; nothing was taken away there"));
    }
    archived.entries = seen;
    Ok(archived)
}

/// Refuses an archive of another history whose size the log shows no more, because it was pruned since: they must agree in the last
/// full bundle before that, and what the archive has of the one that was not full must be what its own tree head says.
fn agree(folder: &Path, size: u64, archive: &Path, there: &TreeHead) -> Result<()> {
    let whole = there.size - there.size % u64::from(FULL);
    let (mut log, mut cold) = (FolderTiles::new(folder), FolderTiles::new(archive));
    let mut cold = TileReader::new(there.size, &mut cold);
    let same = Frontier::read(&mut TileReader::new(size, &mut log), whole)? == Frontier::read(&mut cold, whole)?;
    if same && Frontier::read(&mut cold, there.size)?.root() == there.root {
        return Ok(());
    }
    let what =
        format!("the first {whole} entries of {} are not those that {} has", folder.display(), archive.display());
    Err(Error::corrupt("not_consistent", what)
        .hint("keep both tree heads: together they show that history was changed"))
}

/// Removes the bundles and tiles of entries before a minimum index from a folder, and nodes that are not full; full nodes are few,
/// and stay. So any entry from there on, and any size from there on or of whole bundles, can still be proved, and the log still grows.
/// (C2SP's tlog-tiles lets more go.) What was removed is gone, so [`archive`] it first. A kill leaves some of them, and the next call
/// takes these.
///
/// # Errors
/// `invalid` (`bad_leaf_range`) when the log is shorter; as [`TreeHead::open`]; what reading and removing answers.
pub fn prune(folder: &Path, log: &VerifierKey, minimum: u64) -> Result<Pruned> {
    let size = open(folder, log)?.head.size;
    if minimum > size {
        let what = format!("{} has {size} entries, and cannot begin at {minimum}", folder.display());
        return Err(Error::invalid("bad_leaf_range", what).hint("name an entry that the log has"));
    }
    let mut pruned = Pruned { minimum, ..Pruned::default() };
    let below = match host::files_below(&folder.join("tile")) {
        Ok(below) => below.files,
        Err(error) if error.code() == "no_file" => Vec::new(),
        Err(error) => return Err(error),
    };
    for file in below {
        let name = file.strip_prefix(folder).ok().and_then(|name| name.to_str()).unwrap_or_default();
        let Ok(path) = name.parse::<TilePath>() else { continue };
        // Of one that is not full, the full one tells: it may still grow.
        let full = TilePath { width: FULL, ..path };
        if full.leaves().end > minimum || (path.is_full() && path.level() > 0) {
            continue;
        }
        pruned.bytes += host::size(&file)?;
        host::remove(&file)?;
        pruned.files += 1;
        kill_point("audit.prune.removed");
        if !path.is_full()
            && let Some(parent) = file.parent()
        {
            host::remove_empty_dir(parent)?;
        }
    }
    Ok(pruned)
}

/// How many entries from the beginning of a log in a folder on are all older than a time, in nanoseconds since 1970: no entry before
/// that index would be needed for a retention that begins then. Entries that are pruned count as older.
///
/// # Errors
/// As [`TreeHead::open`] and [`Leaf::parse`]; `corrupt` (`bad_bundle`) for a bundle that is none; what reading answers.
pub fn older_than(folder: &Path, log: &VerifierKey, time: i64) -> Result<u64> {
    let size = open(folder, log)?.head.size;
    let tiles = FolderTiles::new(folder);
    for path in files(size).take_while(|path| path.kind == TileKind::Entries) {
        let Some(bundle) = tiles.exact(path)? else { continue };
        for (index, entry) in (path.first()..).zip(bundle_entries(&bundle)?) {
            if Leaf::parse(entry)?.at >= time {
                return Ok(index);
            }
        }
    }
    Ok(size)
}

fn open(folder: &Path, log: &VerifierKey) -> Result<OpenedTreeHead> {
    let missing = || Error::not_found("no_file", format!("{} has no log", folder.display()));
    TreeHead::open(&read_head(folder)?.ok_or_else(missing)?, log, &[])
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
