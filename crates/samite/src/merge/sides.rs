//! The three trees of a merge, and what comes of them.

use super::repository::{TwoSides, two_sides};
use crate::client::Client;
use samite_host::files;
use samite_model::history::History;
use samite_model::text::{LIMIT, merge_text};
use samite_model::tree::{Conflict, ConflictKind, Content, Listing, Merge, MergeOptions, RuleFile, Side, merge};
use samite_model::{BlockId, Position, Result};
use samite_workspace::{Tree, exclusion};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A merge that was worked out.
pub(super) struct Sides {
    pub(super) base: Listing,
    pub(super) ours: Listing,
    pub(super) theirs: Listing,
    pub(super) bases: Vec<Position>,
    /// The trees that the base is made of.
    pub(super) base_roots: Vec<BlockId>,
    pub(super) merge: Merge,
    /// Text that is proposed, by the place of the conflict.
    pub(super) texts: BTreeMap<usize, Vec<u8>>,
    /// The commits of repositories, by the place of the conflict.
    pub(super) repositories: BTreeMap<usize, TwoSides>,
}

/// Ours, with the rules by which it was made.
pub(super) struct Ours {
    pub(super) at: Position,
    pub(super) listing: Listing,
    pub(super) rules: Vec<RuleFile>,
    /// Where its files are, when they were only looked at and are in no tree yet.
    pub(super) directory: Option<PathBuf>,
}

impl Sides {
    pub(super) fn listings(&self) -> [&Listing; 3] {
        [&self.base, &self.ours, &self.theirs]
    }

    /// Whether something is proposed for a conflict.
    pub(super) fn has_proposal(&self, place: usize) -> bool {
        self.texts.contains_key(&place)
            || self.merge.conflicts.get(place).is_some_and(|conflict| conflict.proposed.is_some())
    }
}

impl Client {
    /// Merges a recorded tree of one branch with what another branch has.
    pub(super) async fn work_out(&self, history: &History, ours: Ours, theirs: (Position, BlockId)) -> Result<Sides> {
        let bases = history.common(ours.at, theirs.0);
        let (base, base_roots) = self.base(history, &bases, &ours.listing).await?;
        let store = self.core.blocks();
        let tree = Tree::new(&store, self.subject.pseudonym, theirs.1);
        let their_rules = exclusion(&tree.root()?.rules);
        let our_rules = exclusion(&ours.rules);
        let theirs = tree.listing()?;
        let options = MergeOptions {
            excluded_from_ours: our_rules.as_ref().map(|rules| rules as _),
            excluded_from_theirs: their_rules.as_ref().map(|rules| rules as _),
        };
        let merge = merge(&base, &ours.listing, &theirs, &options);
        let mut texts = BTreeMap::new();
        let mut repositories = BTreeMap::new();
        for (place, conflict) in merge.conflicts.iter().enumerate() {
            repositories.extend(two_sides(conflict, &tree, ours.directory.as_deref()).map(|sides| (place, sides)));
            if let Some(text) = proposed_text(&tree, conflict, ours.directory.as_deref())? {
                texts.insert(place, text);
            }
        }
        Ok(Sides { base, ours: ours.listing, theirs, bases, base_roots, merge, texts, repositories })
    }
}

/// The edits of both sides together, of a text where they do not overlap.
fn proposed_text(tree: &Tree<'_>, conflict: &Conflict, directory: Option<&Path>) -> Result<Option<Vec<u8>>> {
    if conflict.kind != ConflictKind::Edited || conflict.metadata.is_none() {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for side in Side::ALL {
        let Some(Content::File { size, body }) = conflict.entry(side).map(|entry| &entry.content) else {
            return Ok(None);
        };
        if *size > LIMIT {
            return Ok(None);
        }
        match directory.filter(|_| side == Side::Ours) {
            Some(directory) => {
                let path = directory.join(OsStr::from_bytes(conflict.path.as_bytes()));
                // What changed since it was looked at is in no plan.
                let Ok(reader) = files::open_reader(&path) else { return Ok(None) };
                let mut text = Vec::new();
                let read = reader.take(LIMIT + 1).read_to_end(&mut text);
                texts.push(read.map(|_| text).map_err(|error| files::io_error("read", &path, error))?);
            }
            None => texts.push(tree.bytes(body)?),
        }
    }
    let [base, ours, theirs] = texts.as_slice() else { return Ok(None) };
    Ok(merge_text(base, ours, theirs))
}
