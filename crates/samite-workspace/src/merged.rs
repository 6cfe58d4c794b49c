//! Trees that no directory holds yet: made of entries of other trees of the same owner, and of new bytes.

use crate::assemble::Assembled;
use crate::content::{Chunker, Claimed, SMALL_FILE};
use crate::output::{LivePin, Output};
use crate::rules::RULE_FILE;
use crate::screen::{CONTEXT, Chunk, FoundChunk};
use crate::snapshot::{CommitParts, settle};
use crate::store::Store;
use crate::tree::Tree;
use samite_host::kill_point;
use samite_keys::Domain;
use samite_ledger::BlockPlace;
use samite_model::tree::{
    Body, Built, Content, Entry, Listing, Root, RuleFile, Segment, TreePath, block_type, build_content, build_directory,
};
use samite_model::{BlockId, Error, Pseudonym, Result};
use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;

/// A tree that is ready to be committed.
#[derive(Debug)]
pub struct StoredTree {
    /// The tree.
    pub root: BlockId,
    /// What to commit together with the entry that names it.
    pub parts: CommitParts,
    /// Where something was found in the new bytes.
    pub found: Vec<FoundChunk>,
}

/// Stores a tree of these entries; where `contents` has bytes for a file, they are what it holds. The trees that the entries
/// come from stay where they are: `base` is one of them, which is pinned meanwhile. When this returns, every pack that the
/// parts name is durable.
///
/// # Errors
/// `conflict` (`blocks_dying`) when a collection took what an entry refers to; `corrupt` naming the block when a rule file
/// cannot be read; `unavailable` when the store cannot be written; `denied` (`key_destroyed`) when the owner was erased.
pub fn store_tree(
    store: &Store,
    owner: Pseudonym,
    base: BlockId,
    listing: &Listing,
    contents: &BTreeMap<TreePath, Vec<u8>>,
) -> Result<StoredTree> {
    let pin = LivePin::new(store, owner, Some(base))?;
    let mut output = Output::new(store, pin);
    let claimed = Claimed::default();
    let mut building = Building { store, owner, base, blocks: Vec::new(), bodies: BTreeMap::new() };
    let mut found = Vec::new();
    for (path, bytes) in contents {
        found.extend(building.store_content(path, bytes, &claimed, &mut output)?);
    }
    let assembled = building.assemble(listing, contents)?;
    kill_point("merged_tree.assembled");
    let mut settled = settle(store, &claimed, &assembled)?.map_err(|_| {
        Error::conflict("blocks_dying", "blocks of the trees that are merged vanish while they are used")
            .hint("try again when the collection is done")
    })?;
    for block in &assembled.blocks {
        // Directories that hold the same have one node.
        if settled.new.remove(&block.id) {
            let sealed = store.sealing.seal_block(Domain::Owner(owner), block.id, block.block_type, &block.bytes)?;
            output.add(block.id, owner, &sealed)?;
        }
    }
    for pack in &settled.packs {
        output.pin.note(*pack);
    }
    let (blocks, packs, pin) = output.finish()?;
    kill_point("merged_tree.ready");
    Ok(StoredTree { root: assembled.root, parts: CommitParts::new(blocks, packs, settled.known, Some(pin)), found })
}

/// A tree that is being built.
struct Building<'a> {
    store: &'a Store,
    owner: Pseudonym,
    base: BlockId,
    blocks: Vec<Built>,
    /// Where new bytes are.
    bodies: BTreeMap<TreePath, Body>,
}

impl Building<'_> {
    /// Stores the bytes of a file, cut as a snapshot would cut them, and says what was found in what is new.
    fn store_content(
        &mut self,
        path: &TreePath,
        bytes: &[u8],
        claimed: &Claimed,
        output: &mut Output<'_>,
    ) -> Result<Vec<FoundChunk>> {
        let mut sizes = Vec::new();
        if bytes.len() as u64 > SMALL_FILE {
            sizes.extend(Chunker::new(self.store.sealing.chunk_seed()?).cut(bytes, true));
        } else if !bytes.is_empty() {
            sizes.push(bytes.len());
        }
        let mut chunks = Vec::new();
        let mut start = 0_usize;
        for size in sizes {
            let (from, until) = (start.saturating_sub(CONTEXT), bytes.len().min(start + size + CONTEXT));
            let around = bytes.get(from..until).unwrap_or_default();
            chunks.push(Chunk::new(around, start - from..start - from + size));
            start += size;
        }
        self.store.name_chunks(self.owner, &mut chunks)?;
        let (mut segments, mut found) = (Vec::new(), Vec::new());
        for mut chunk in chunks {
            let (id, domain) = (chunk.id, chunk.domain);
            segments.push(Segment::Chunk { id, length: chunk.length() });
            match self.store.find(&[id])?.pop().flatten() {
                Some(BlockPlace::Pack { pack, .. }) => {
                    output.pin.note(pack);
                }
                Some(BlockPlace::Inline(_)) => {}
                None => {
                    if claimed.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
                        self.store.look_at_new(&mut chunk);
                        let sealed = self.store.sealing.seal_block(domain, id, block_type::CHUNK, chunk.bytes())?;
                        output.add(id, self.store.owner_of(domain), &sealed)?;
                        found.extend(chunk.taken(path));
                    }
                }
            }
        }
        let domain = Domain::Owner(self.owner);
        let mut identify = |block_type: u8, bytes: &[u8]| self.store.sealing.block_id(domain, block_type, bytes);
        let (body, mut lists) = build_content(segments, &mut identify)?;
        self.blocks.append(&mut lists);
        self.bodies.insert(path.clone(), body);
        Ok(found)
    }

    fn assemble(mut self, listing: &Listing, contents: &BTreeMap<TreePath, Vec<u8>>) -> Result<Assembled> {
        let rules = self.rules(listing, contents)?;
        let domain = Domain::Owner(self.owner);
        let store = self.store;
        let mut identify = |block_type: u8, bytes: &[u8]| store.sealing.block_id(domain, block_type, bytes);
        let mut nodes: HashMap<TreePath, BlockId> = HashMap::new();
        let mut below: HashMap<TreePath, Vec<Entry>> = HashMap::new();
        // A directory comes right before what is in it, so that from the end each is complete when it is met.
        let entries: Vec<&(TreePath, Entry)> = listing.iter().collect();
        for (path, entry) in entries.into_iter().rev() {
            let mut entry = entry.clone();
            if matches!(entry.content, Content::Directory(_)) {
                let mut inside = below.remove(path).unwrap_or_default();
                inside.sort_by(|a, b| a.name.cmp(&b.name));
                let node = build_directory(inside.iter(), &mut identify, &mut self.blocks)?;
                nodes.insert(path.clone(), node);
                entry.content = Content::Directory(node);
            } else if let (Some(body), Some(bytes)) = (self.bodies.get(path), contents.get(path)) {
                entry.content = Content::File { size: bytes.len() as u64, body: body.clone() };
            }
            if let Some(above) = path.parent() {
                below.entry(above).or_default().push(entry);
            }
        }
        let top = TreePath::top();
        let (Some(entry), Some(node)) = (listing.get(&top), nodes.get(&top)) else {
            return Err(Error::internal("no_top", "a tree without a top was to be stored"));
        };
        let top = Entry { content: Content::Directory(*node), name: Box::default(), ..entry.clone() };
        let bytes = Root { top, rules }.encode();
        let root = identify(block_type::ROOT, &bytes)?;
        self.blocks.push(Built { id: root, block_type: block_type::ROOT, bytes });
        Ok(Assembled { root, blocks: self.blocks })
    }

    /// The rules that the tree's own files of rules give.
    fn rules(&self, listing: &Listing, contents: &BTreeMap<TreePath, Vec<u8>>) -> Result<Vec<RuleFile>> {
        let mut rules = Vec::new();
        for (path, entry) in listing {
            let (true, Content::File { body, .. }) = (path.name() == RULE_FILE, &entry.content) else { continue };
            let text = match contents.get(path) {
                Some(bytes) => bytes.clone(),
                None => Tree::new(self.store, self.owner, self.base).bytes(body)?,
            };
            rules.push(RuleFile { directory: path.parent().unwrap_or_default(), text: text.into() });
        }
        Ok(rules)
    }
}
