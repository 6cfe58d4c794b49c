//! Verifying a log in a folder with its public key alone: every tile is held against what is above it, up to the signed tree head,
//! and every entry against its tile.

use super::descent::Descent;
use super::folder::{FolderTiles, HEAD_FILE, read_head};
use super::leftovers::leftovers;
use crate::merkle::Frontier;
use crate::note::VerifierKey;
use crate::tile::TileReader;
use crate::tree_head::{OpenedTreeHead, TreeHead};
use samite_model::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// The most findings that are kept; how many there are is counted all the same.
pub const MOST_FINDINGS: usize = 100;

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, relative to the folder.
    pub file: String,
    /// The index of the first entry that it is about, where it is about some.
    pub index: Option<u64>,
    /// What is wrong with it.
    pub what: String,
}

/// What came of verifying a log in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The tree head and its witnesses; none when it is not the log's.
    pub opened: Option<OpenedTreeHead>,
    /// How many entries were hashed.
    pub entries: u64,
    /// How many files were read.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// What is wrong, at most [`MOST_FINDINGS`] of it.
    pub findings: Vec<Finding>,
    /// How much is wrong.
    pub wrong: u64,
    /// Files below `tile` that are none of this tree head: later ones of an export that was cut off, or not of a log.
    pub others: u64,
}

impl Verification {
    /// Whether the whole log is as its key signed it.
    pub const fn is_right(&self) -> bool {
        self.opened.is_some() && self.wrong == 0
    }

    pub(super) fn find(&mut self, file: &impl ToString, index: Option<u64>, what: impl Into<String>) {
        self.wrong += 1;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(Finding { file: file.to_string(), index, what: what.into() });
        }
    }
}

/// Verifies a log in a folder: from its signed tree head down, so that of two files that disagree it is known which one was
/// changed. `entry` is given each entry that a tile under the tree head vouches for, with its index, in order.
///
/// # Errors
/// What reading the folder answers, such as `denied`, and what `entry` answers. What is wrong with the log is in the answer.
pub fn verify(
    folder: &Path,
    log: &VerifierKey,
    witnesses: &[VerifierKey],
    entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Verification> {
    verify_segment(folder, log, witnesses, 0..u64::MAX, entry)
}

/// The same for a folder that has some of a log's entries only: files that are about others may be missing, and are verified where
/// they are there. So of a log that was [pruned](super::prune) up to a minimum index, or of an [archive](super::archive).
///
/// # Errors
/// As [`verify`].
pub fn verify_segment(
    folder: &Path,
    log: &VerifierKey,
    witnesses: &[VerifierKey],
    entries: Range<u64>,
    entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Verification> {
    run(folder, log, witnesses, entries, false, entry)
}

/// Verifies some entries in a folder, with the nodes that lead to them, and reads nothing else there: what an [archive](super::archive)
/// took once is not read again with each part of a log that goes there.
///
/// # Errors
/// As [`verify`].
pub fn verify_part(
    folder: &Path,
    log: &VerifierKey,
    entries: Range<u64>,
    entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Verification> {
    run(folder, log, &[], entries, true, entry)
}

fn run(
    folder: &Path,
    log: &VerifierKey,
    witnesses: &[VerifierKey],
    entries: Range<u64>,
    only: bool,
    entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Verification> {
    let mut found = Verification::default();
    let Some(signed) = read_head(folder)? else {
        found.find(&HEAD_FILE, None, "is missing");
        return Ok(found);
    };
    found.files += 1;
    found.bytes += signed.len() as u64;
    let opened = match TreeHead::open(&signed, log, witnesses) {
        Ok(opened) => opened,
        Err(error) => {
            found.find(&HEAD_FILE, None, error.message());
            return Ok(found);
        }
    };
    let head = opened.head.clone();
    found.opened = Some(opened);
    let mut descent = Descent::new(folder, &head, entries, only, found);
    descent.run(entry)?;
    let (mut found, expected) = descent.end();
    if !only {
        leftovers(folder, &expected, &mut found)?;
    }
    Ok(found)
}

/// Verifies that the log in a folder continues the tree of an older tree head of it. The folder must have been [verified](verify).
///
/// # Errors
/// `corrupt` (`not_consistent`) when it does not, (`other_log`) when it is another one's; what reading the folder answers.
pub fn continues(folder: &Path, head: &TreeHead, old: &TreeHead) -> Result<()> {
    let refused = |what: String| {
        Error::corrupt("not_consistent", what).hint("keep both tree heads: together they show that history was changed")
    };
    if old.origin != head.origin {
        let what = format!("the older tree head is that of {:?}, and the log is {:?}", old.origin, head.origin);
        return Err(Error::corrupt("other_log", what).hint("give an older tree head of the same log"));
    }
    if old.size > head.size {
        return Err(refused(format!("the log has {} entries, and had {} before", head.size, old.size)));
    }
    let mut tiles = FolderTiles::new(folder);
    let frontier = Frontier::read(&mut TileReader::new(head.size, &mut tiles), old.size)?;
    if frontier.root() == old.root {
        return Ok(());
    }
    Err(refused(format!("the first {} entries of {} are not those that it had before", old.size, head.origin)))
}
