//! Snapshots: a directory becomes a tree.

use crate::assemble::{Assembled, assemble};
use crate::cache::{CacheWriter, StatCache};
use crate::content::{Claimed, NameOnly, read_all};
use crate::output::{LivePin, Output};
use crate::scan::{FileRef, ScanOptions, Scanned, State, group_links, walk};
use crate::store::Store;
use crate::system::open_top;
use crate::tree::references;
use rustix::fd::OwnedFd;
use samite_host::kill_point;
use samite_keys::Domain;
use samite_ledger::{BlockPlace, Commit, Guard, NewBlock, NewPack, Pin};
use samite_model::tree::{Built, Segment};
use samite_model::{BlockId, Error, Pseudonym, Result, stopped};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::PoisonError;

/// So many times a snapshot starts over what a collection took from under it.
pub(crate) const ROUNDS: u32 = 5;

/// What a snapshot is made for.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// Whose tree it is.
    pub owner: Pseudonym,
    /// The last tree, if any: what it reaches is kept while the snapshot is made.
    pub base: Option<BlockId>,
    /// What to leave out and where the stat cache is.
    pub scan: ScanOptions,
}

/// What must be committed together with the entry that names the tree.
#[derive(Clone, Debug)]
pub struct CommitParts {
    /// Blocks that become known.
    pub blocks: Vec<NewBlock>,
    /// Packs that become known; they are durable.
    pub packs: Vec<NewPack>,
    /// What must hold: the pin lives, and so do the blocks that were found and not stored again.
    pub guards: Vec<Guard>,
    /// The pin that the commit makes unnecessary; none where nothing new was stored or referred to.
    pub pin: Option<Pin>,
}

impl CommitParts {
    /// `known` are the blocks that were found.
    pub(crate) fn new(blocks: Vec<NewBlock>, packs: Vec<NewPack>, known: Vec<BlockId>, pin: Option<Pin>) -> Self {
        let mut guards: Vec<Guard> = pin.iter().map(|pin| Guard::PinLive { pin: pin.id }).collect();
        if !known.is_empty() {
            guards.push(Guard::BlocksLive { blocks: known });
        }
        Self { blocks, packs, guards, pin }
    }

    /// Adds the parts to a commit.
    pub fn add_to(self, commit: &mut Commit) {
        commit.blocks.extend(self.blocks);
        commit.packs.extend(self.packs);
        commit.guards.extend(self.guards);
        commit.unpin.extend(self.pin.map(|pin| pin.id));
    }
}

/// A snapshot that is ready to be committed.
#[derive(Debug)]
pub struct Snapshot {
    /// The tree.
    pub root: BlockId,
    /// What was found, with a report for people.
    pub scanned: Scanned,
    /// How many blocks are new.
    pub new_blocks: u64,
    /// How many bytes they have, sealed.
    pub new_bytes: u64,
    /// What to commit.
    pub parts: CommitParts,
}

fn load_cache(options: &ScanOptions) -> Result<(StatCache, Option<CacheWriter>)> {
    // Begun before anything is looked at: what changes from now on is read again next time.
    let writer = options.cache.as_deref().map(CacheWriter::begin).transpose()?;
    Ok((StatCache::load(options.cache.as_deref())?, writer))
}

fn save_cache(writer: Option<CacheWriter>, scanned: &Scanned) -> Result<()> {
    let Some(mut writer) = writer.filter(|_| scanned.cache_changed) else { return Ok(()) };
    for directory in &scanned.directories {
        for item in &directory.items {
            if item.state != State::Known || item.entry.metadata.torn {
                continue;
            }
            if let Some(segments) = item.segments() {
                let xattrs = !item.entry.metadata.xattrs.is_empty();
                writer.add(&directory.path.join(&item.entry.name), &item.stamp, xattrs, segments);
            }
        }
    }
    writer.finish()
}

/// Walks through all of a directory.
fn walk_all(path: &Path, top: &OwnedFd, options: &ScanOptions, cache: &StatCache) -> Result<Scanned> {
    let scanned = walk(path, top, options, cache)?;
    if scanned.stopped { Err(stopped()) } else { Ok(scanned) }
}

/// Finds out what a directory holds now and names all of it, without storing anything: for a diff, or to plan a
/// restore. The names are those that a snapshot for `owner` would give.
///
/// # Errors
/// `not_found`, `denied` or `unavailable` when the directory cannot be read; `invalid` (`bad_rule`); `unavailable` (`stopped`)
/// when the observer asks for it.
pub fn scan(store: &Store, path: &Path, owner: Pseudonym, options: &ScanOptions) -> Result<Scanned> {
    let top = open_top(path)?;
    let (cache, writer) = load_cache(options)?;
    let mut scanned = walk_all(path, &top, options, &cache)?;
    drop(cache);
    scanned.began = writer.as_ref().map(|writer| writer.began);
    read_all(store, owner, &top, &mut scanned, &Claimed::default(), &mut NameOnly, &options.observer)?;
    group_links(&mut scanned);
    assemble(store, owner, &mut scanned)?;
    save_cache(writer, &scanned)?;
    Ok(scanned)
}

/// Makes a tree of a directory. The caller commits its parts together with the entry that names it; until then the
/// tree does not exist.
///
/// When this returns, every pack that the parts name is durable. Of a directory that is as in `base` nothing was written at
/// all: the commit stands on the tree that is there.
///
/// # Errors
/// `not_found`, `denied` or `unavailable` when the directory cannot be read or the store cannot be written; `invalid`
/// (`bad_rule`); `conflict` (`blocks_dying`) when collections take away what the snapshot found again and again, or
/// (`pin_lapsed`) when the process was stopped for longer than its pin lasts; `unavailable` (`stopped`) when the observer asks
/// for it before everything was read.
pub fn snapshot(store: &Store, path: &Path, options: &SnapshotOptions) -> Result<Snapshot> {
    let top = open_top(path)?;
    let pin = LivePin::unrecorded(store, options.owner, options.base)?;
    let (cache, writer) = load_cache(&options.scan)?;
    let mut scanned = walk_all(path, &top, &options.scan, &cache)?;
    drop(cache);
    scanned.began = writer.as_ref().map(|writer| writer.began);
    kill_point("snapshot.scanned");
    let claimed = Claimed::default();
    let mut output = Output::new(store, pin);
    let mut found = None;
    for _ in 0..ROUNDS {
        read_all(store, options.owner, &top, &mut scanned, &claimed, &mut output, &options.scan.observer)?;
        group_links(&mut scanned);
        let assembled = assemble(store, options.owner, &mut scanned)?;
        kill_point("snapshot.assembled");
        if !output.pin.is_recorded() && Some(assembled.root) == options.base && is_known(store, assembled.root)? {
            save_cache(writer, &scanned)?;
            // No pin: the tree is kept by whatever names it as the base, and if that goes meanwhile the commit is refused.
            let parts = CommitParts::new(Vec::new(), Vec::new(), vec![assembled.root], None);
            return Ok(Snapshot { root: assembled.root, scanned, new_blocks: 0, new_bytes: 0, parts });
        }
        // From here on nothing is taken for known that was found before the pin was there.
        output.pin.renew()?;
        kill_point("snapshot.pinned");
        match settle(store, &claimed, &assembled)? {
            Ok(settled) => {
                found = Some((assembled, settled));
                break;
            }
            Err(missing) => read_again(&mut scanned, &missing),
        }
    }
    let Some((assembled, mut settled)) = found else {
        return Err(Error::conflict(
            "blocks_dying",
            format!("blocks of {} vanish while they are used", path.display()),
        )
        .hint("try again when the collection is done"));
    };
    for block in &assembled.blocks {
        // Directories that hold the same have one node.
        if settled.new.remove(&block.id) {
            let sealed =
                store.sealing.seal_block(Domain::Owner(options.owner), block.id, block.block_type, &block.bytes)?;
            output.add(block.id, options.owner, &sealed)?;
        }
    }
    kill_point("snapshot.nodes_added");
    // What the base reaches is kept by the pin already.
    if Some(assembled.root) != options.base {
        for pack in &settled.packs {
            output.pin.note(*pack);
        }
    }
    let (new_blocks, new_bytes) = (output.count, output.bytes);
    let (blocks, packs, pin) = output.finish()?;
    save_cache(writer, &scanned)?;
    kill_point("snapshot.ready");
    let parts = CommitParts::new(blocks, packs, settled.known, Some(pin));
    Ok(Snapshot { root: assembled.root, scanned, new_blocks, new_bytes, parts })
}

fn is_known(store: &Store, block: BlockId) -> Result<bool> {
    Ok(store.find(&[block])?.into_iter().any(|place| place.is_some()))
}

/// What of a tree has to be stored.
#[derive(Default)]
pub(crate) struct Settled {
    /// Blocks of the tree itself that the index does not know.
    pub(crate) new: HashSet<BlockId>,
    /// Known blocks that the new ones refer to, and so must stay.
    pub(crate) known: Vec<BlockId>,
    /// The packs that they are in.
    pub(crate) packs: HashSet<samite_model::PackId>,
}

impl Settled {
    fn note(&mut self, id: BlockId, place: &BlockPlace) {
        self.known.push(id);
        if let BlockPlace::Pack { pack, .. } = place {
            self.packs.insert(*pack);
        }
    }
}

/// Goes down from the root to what is known: a known block was committed with all that it reaches, and a collection
/// takes a block only with all that reach it. Returns the chunks that are neither known nor written, if any.
pub(crate) fn settle(
    store: &Store,
    claimed: &Claimed,
    assembled: &Assembled,
) -> Result<std::result::Result<Settled, HashSet<BlockId>>> {
    let by_id: HashMap<BlockId, &Built> = assembled.blocks.iter().map(|block| (block.id, block)).collect();
    let mut settled = Settled::default();
    let mut chunks: HashSet<BlockId> = HashSet::new();
    let mut level = vec![assembled.root];
    let mut seen: HashSet<BlockId> = HashSet::from([assembled.root]);
    while !level.is_empty() {
        let mut below = Vec::new();
        for (id, place) in level.iter().zip(store.find(&level)?) {
            if let Some(place) = place {
                settled.note(*id, &place);
                continue;
            }
            settled.new.insert(*id);
            let Some(block) = by_id.get(id) else {
                return Err(Error::internal("lost_node", format!("node {id} was named and not built")));
            };
            let found = references(block.block_type, &block.bytes)?;
            below.extend(found.blocks.into_iter().filter(|id| seen.insert(*id)));
            chunks.extend(found.chunks);
        }
        level = below;
    }
    let to_check: Vec<BlockId> = {
        let claimed = claimed.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.into_iter().filter(|id| !claimed.contains(id)).collect()
    };
    let mut missing = HashSet::new();
    for (id, place) in to_check.iter().zip(store.find(&to_check)?) {
        match place {
            Some(place) => settled.note(*id, &place),
            None => {
                missing.insert(*id);
            }
        }
    }
    Ok(if missing.is_empty() { Ok(settled) } else { Err(missing) })
}

/// Wants those files read again whose chunks the cache knows and the store no longer has.
pub(crate) fn read_again(scanned: &mut Scanned, missing: &HashSet<BlockId>) {
    let lost = |segments: &[Segment]| {
        segments.iter().any(|segment| matches!(segment, Segment::Chunk { id, .. } if missing.contains(id)))
    };
    let mut files = Vec::new();
    for (directory, found) in scanned.directories.iter().enumerate() {
        for (item, entry) in found.items.iter().enumerate() {
            let Some(segments) = entry.segments() else { continue };
            if lost(segments) {
                files.push(FileRef { directory, item });
            }
        }
    }
    for file in files {
        if let Some(item) = scanned.item_mut(file) {
            item.state = State::ToRead;
            item.listed = None;
        }
    }
    scanned.cache_changed = true;
}
