//! Small trees of chosen things: files from anywhere, directories, and entries of trees that are there already. One root
//! then keeps, names and hands out all of it.

mod file;
mod find;

pub use file::{FileSource, FileStamp};
pub use find::{Found, check_patterns, find_files};

use crate::assemble::assemble;
use crate::cache::StatCache;
use crate::content::{Chunker, Claimed, SMALL_FILE, read_all};
use crate::output::{LivePin, Output};
use crate::scan::{ScanOptions, ScanReport, group_links, walk};
use crate::screen::{CONTEXT, Chunk, FoundChunk};
use crate::snapshot::{CommitParts, ROUNDS, read_again, settle};
use crate::store::Store;
use crate::system::open_top;
use crate::tree::Tree;
use futures_lite::future::block_on;
use samite_keys::Domain;
use samite_ledger::BlockPlace;
use samite_model::hash::Sha256;
use samite_model::tree::{
    Body, Built, ChunkList, Content, Entry, Metadata, Root, Segment, TreePath, block_type, build_content,
    build_directory,
};
use samite_model::{BlockId, Error, Pseudonym, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::PoisonError;

/// Bytes of a source that are cut at once.
const STRETCH: usize = 2 * crate::content::LARGEST;

/// Something that is stored and not yet in a tree.
#[derive(Clone, Debug)]
pub struct Stored {
    /// What it is.
    pub content: Content,
    /// What the file system knows of it.
    pub metadata: Metadata,
    /// How many bytes it holds; those of all files in it, for a directory.
    pub size: u64,
    /// Its content id: equal for equal bytes of one owner, and without meaning to anybody who has not the key.
    pub id: BlockId,
    /// The plain SHA-256 of a file whose bytes were read.
    pub sha256: Option<String>,
    /// The first bytes of a file that was read.
    pub begins: Vec<u8>,
    /// What was found in content that was stored anew, under the paths in a directory, and of a file under none.
    pub found: Vec<FoundChunk>,
}

/// Stores things and makes trees of them. What it stored exists once its parts are committed together with an entry that
/// names each tree's root; one that is dropped instead leaves only what the next collection takes.
pub struct Bundler<'a> {
    store: &'a Store,
    owner: Pseudonym,
    output: Output<'a>,
    claimed: Claimed,
    known: HashSet<BlockId>,
    chunker: Chunker,
    /// What was found in chunks of files that were stored anew.
    found: HashMap<BlockId, FoundChunk>,
}

/// The content id that a file in an owner's tree would have as another owner's: by it, equal bytes of both are told. None where
/// there is no file at that path.
///
/// # Errors
/// `denied` (`key_destroyed`) when one of them was erased; `corrupt` naming the block: `block_missing` also when the tree was
/// collected.
pub fn content_as(
    store: &Store,
    tree: (Pseudonym, BlockId),
    path: &TreePath,
    owner: Pseudonym,
) -> Result<Option<BlockId>> {
    let tree = Tree::new(store, tree.0, tree.1);
    let body = match tree.entry(path) {
        Ok(Entry { content: Content::File { body, .. }, .. }) => body,
        Ok(_) => return Ok(None),
        Err(error) if error.code() == "no_path" => return Ok(None),
        Err(error) => return Err(error),
    };
    content_id(store, owner, &tree.segments(&body)?).map(Some)
}

fn content_id(store: &Store, owner: Pseudonym, segments: &[Segment]) -> Result<BlockId> {
    let list = ChunkList::Leaf(segments.to_vec()).encode();
    store.sealing.block_id(Domain::Owner(owner), block_type::CHUNK_LIST, &list)
}

impl<'a> Bundler<'a> {
    /// Begins, and pins what is to be found.
    ///
    /// # Errors
    /// `unavailable` when the store cannot be written; `denied` (`key_destroyed`) when the owner was erased.
    pub fn new(store: &'a Store, owner: Pseudonym) -> Result<Self> {
        let output = Output::new(store, LivePin::new(store, owner, None)?);
        let chunker = Chunker::new(store.sealing.chunk_seed()?);
        let (claimed, known, found) = (Claimed::default(), HashSet::new(), HashMap::new());
        Ok(Self { store, owner, output, claimed, known, chunker, found })
    }

    /// Stores the bytes of a stream.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read or the store cannot be written.
    pub fn stream(&mut self, source: &mut dyn Read, metadata: Metadata) -> Result<Stored> {
        let mut file = Taking::default();
        let failed = |error| Error::unavailable("unreadable", "the bytes cannot be read").because(error);
        self.stretch(source, &mut file, failed)?;
        self.stored(file, metadata)
    }

    /// Stores a file; one that changes while it is read is read again.
    ///
    /// # Errors
    /// `conflict` (`file_changing`) when it does not stay the same for as long as it takes to read it; as
    /// [`Bundler::stream`].
    pub fn file(&mut self, source: &FileSource) -> Result<(Stored, FileStamp)> {
        let (taken, stamp) = source.read_quietly(|reading| {
            let mut file = Taking::default();
            for piece in reading.pieces()? {
                match piece {
                    file::Stretch::Hole(length) => file.hole(length),
                    file::Stretch::Data(range) => {
                        self.stretch(&mut reading.range(range), &mut file, |error| reading.failed(error))?;
                    }
                }
            }
            Ok(file)
        })?;
        Ok((self.stored(taken, source.metadata()?)?, stamp))
    }

    /// Cuts and stores a stretch of a file; what reading it answers is told as `failed` says.
    fn stretch(
        &mut self,
        source: &mut dyn Read,
        file: &mut Taking,
        failed: impl Fn(std::io::Error) -> Error,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        // Where what is not cut yet begins: what stands before it is there to be looked at with it.
        let mut begun = 0;
        loop {
            let wanted = (begun + STRETCH - bytes.len()) as u64;
            let read = source.take(wanted).read_to_end(&mut bytes).map_err(&failed)?;
            let last = (read as u64) < wanted;
            let rest = bytes.get(begun..).unwrap_or_default();
            let whole = last && file.segments.is_empty() && rest.len() as u64 <= SMALL_FILE;
            // As a snapshot cuts it: what is in the workspace as well is stored once.
            let cuts = match rest.len() {
                0 => Vec::new(),
                length if whole => vec![length],
                _ => self.chunker.cut(rest, last),
            };
            for length in cuts {
                let range = begun..begun + length;
                // What comes after a chunk is looked at with it.
                if !last && bytes.len() - range.end < CONTEXT {
                    break;
                }
                let id = self.chunk(&bytes, &range)?;
                file.take(bytes.get(range.clone()).unwrap_or_default(), id);
                begun = range.end;
            }
            if last {
                return Ok(());
            }
            let kept = begun.min(CONTEXT);
            bytes.drain(..begun - kept);
            begun = kept;
        }
    }

    /// Stores a chunk, which stands among other bytes of its file.
    fn chunk(&mut self, around: &[u8], range: &Range<usize>) -> Result<BlockId> {
        let from = range.start.saturating_sub(CONTEXT);
        let context = around.get(from..around.len().min(range.end + CONTEXT)).unwrap_or_default();
        let mut chunks = [Chunk::new(context, range.start - from..range.end - from)];
        self.store.name_chunks(self.owner, &mut chunks)?;
        let [mut chunk] = chunks;
        let id = chunk.id;
        if !self.is_new(id)? {
            return Ok(id);
        }
        self.store.look_at_new(&mut chunk);
        self.seal(id, chunk.domain, block_type::CHUNK, chunk.bytes())?;
        self.found.extend(chunk.taken(&TreePath::top()).map(|found| (id, found)));
        Ok(id)
    }

    /// Stores a block, unless it is there.
    fn add(&mut self, id: BlockId, domain: Domain, of: u8, bytes: &[u8]) -> Result<()> {
        if self.is_new(id)? { self.seal(id, domain, of, bytes) } else { Ok(()) }
    }

    /// Whether a block is not there yet; it is to be stored then.
    fn is_new(&mut self, id: BlockId) -> Result<bool> {
        if self.known.contains(&id) || !self.claim(id) {
            return Ok(false);
        }
        if let Some(place) = self.store.find(&[id])?.pop().flatten() {
            self.found(id, &place);
            return Ok(false);
        }
        Ok(true)
    }

    fn seal(&mut self, id: BlockId, domain: Domain, of: u8, bytes: &[u8]) -> Result<()> {
        let sealed = self.store.sealing.seal_block(domain, id, of, bytes)?;
        self.output.add(id, self.store.owner_of(domain), &sealed)
    }

    fn claim(&self, id: BlockId) -> bool {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).insert(id)
    }

    fn found(&mut self, id: BlockId, place: &BlockPlace) {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let BlockPlace::Pack { pack, .. } = place {
            self.output.pin.note(*pack);
        }
        self.known.insert(id);
    }

    fn stored(&mut self, file: Taking, metadata: Metadata) -> Result<Stored> {
        let Taking { segments, size, sha256, begins } = file;
        let id = self.content_id(&segments)?;
        let chunks = segments.iter().filter_map(|segment| match segment {
            Segment::Chunk { id, .. } => self.found.get(id).cloned(),
            Segment::Hole { .. } => None,
        });
        let found = chunks.collect();
        let body = self.body(segments)?;
        let content = Content::File { size, body };
        Ok(Stored { content, metadata, size, id, sha256: Some(sha256.finish()), begins, found })
    }

    fn content_id(&self, segments: &[Segment]) -> Result<BlockId> {
        content_id(self.store, self.owner, segments)
    }

    fn body(&mut self, segments: Vec<Segment>) -> Result<Body> {
        let domain = Domain::Owner(self.owner);
        let (body, built) = build_content(segments, &mut |of, bytes| self.store.sealing.block_id(domain, of, bytes))?;
        self.add_built(&built)?;
        Ok(body)
    }

    fn add_built(&mut self, built: &[Built]) -> Result<()> {
        built.iter().try_for_each(|block| self.add(block.id, Domain::Owner(self.owner), block.block_type, &block.bytes))
    }

    /// Stores a directory with all that is in it, as a snapshot of it would be: exclusion rules count.
    ///
    /// # Errors
    /// `not_found`, `denied` or `unavailable` when it cannot be read; `conflict` (`blocks_dying`) when collections take
    /// away what it finds again and again.
    pub fn directory(&mut self, path: &Path, options: &ScanOptions) -> Result<(Stored, ScanReport)> {
        let top = open_top(path)?;
        let mut scanned = walk(path, &top, options, &StatCache::default())?;
        for _ in 0..ROUNDS {
            read_all(self.store, self.owner, &top, &mut scanned, &self.claimed, &mut self.output, &options.observer)?;
            group_links(&mut scanned);
            let assembled = assemble(self.store, self.owner, &mut scanned)?;
            let mut settled = match settle(self.store, &self.claimed, &assembled)? {
                Ok(settled) => settled,
                Err(missing) => {
                    read_again(&mut scanned, &missing);
                    continue;
                }
            };
            let mut node = None;
            for block in &assembled.blocks {
                if block.id == assembled.root {
                    // It goes into another tree, whose root is another.
                    if let Content::Directory(top) = Root::decode(&block.bytes)?.top.content {
                        node = Some(top);
                    }
                } else if settled.new.remove(&block.id) {
                    self.add(block.id, Domain::Owner(self.owner), block.block_type, &block.bytes)?;
                }
            }
            self.known.extend(settled.known.into_iter().filter(|id| *id != assembled.root));
            for pack in settled.packs {
                self.output.pin.note(pack);
            }
            let node = node.ok_or_else(|| Error::internal("lost_node", "a directory came out without a node"))?;
            let report = scanned.report().clone();
            let (content, metadata) = (Content::Directory(node), scanned.top.clone());
            let (size, found) = (report.bytes, report.found.clone());
            let stored = Stored { content, metadata, size, id: node, sha256: None, begins: Vec::new(), found };
            return Ok((stored, report));
        }
        Err(Error::conflict("blocks_dying", format!("blocks of {} vanish while they are used", path.display()))
            .hint("try again when the collection is done"))
    }

    /// Takes what a tree of the same owner has at a path: nothing is read or stored again.
    ///
    /// # Errors
    /// `not_found` (`no_path`) when the tree has no such path; `invalid` (`not_a_file`) when it is neither file nor
    /// directory there; `conflict` (`blocks_dying`) when it is being collected.
    pub fn of_tree(&mut self, root: BlockId, path: &TreePath) -> Result<Stored> {
        let tree = Tree::new(self.store, self.owner, root);
        let entry = tree.entry(path)?;
        let mut needed = Vec::new();
        let (size, id) = match &entry.content {
            Content::Directory(node) => {
                needed.push(*node);
                let below = |found: &TreePath| found.is_within(path);
                let listing = tree.listing()?;
                let sizes = listing.iter().filter(|(found, _)| below(found)).map(|(_, entry)| match entry.content {
                    Content::File { size, .. } => size,
                    _ => 0,
                });
                (sizes.sum(), *node)
            }
            Content::File { size, body } => {
                let segments = tree.segments(body)?;
                match body {
                    Body::List(list) => needed.push(*list),
                    Body::Segments(segments) => needed.extend(segments.iter().filter_map(|segment| match segment {
                        Segment::Chunk { id, .. } => Some(*id),
                        Segment::Hole { .. } => None,
                    })),
                }
                (*size, self.content_id(&segments)?)
            }
            other => {
                let what = other.entry_type().name();
                return Err(Error::invalid("not_a_file", format!("{path} is a {what}, not a file or a directory")));
            }
        };
        for (id, place) in needed.iter().zip(self.store.find(&needed)?) {
            let place = place.ok_or_else(|| {
                Error::conflict("blocks_dying", format!("what {path} held is being collected")).hint("try again")
            })?;
            self.found(*id, &place);
        }
        // In this tree it stands alone: links to what is not in it mean nothing.
        let metadata = Metadata { link: None, ..entry.metadata };
        let (content, begins, found) = (entry.content, Vec::new(), Vec::new());
        Ok(Stored { content, metadata, size, id, sha256: None, begins, found })
    }

    /// The content id of a file in a tree of the same owner; none when there is no file at that path.
    ///
    /// # Errors
    /// `corrupt` naming the block: `block_missing` also when the tree was collected.
    pub fn content_at(&self, root: BlockId, path: &TreePath) -> Result<Option<BlockId>> {
        let tree = Tree::new(self.store, self.owner, root);
        match tree.entry(path) {
            Ok(Entry { content: Content::File { body, .. }, .. }) => self.content_id(&tree.segments(&body)?).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.code() == "no_path" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes a tree of stored things; each stands at a path of its own, none in another. Directories on the way are made,
    /// with the mode 0755.
    ///
    /// # Errors
    /// `invalid` (`paths_collide`) when one would stand in another's place.
    pub fn tree(&mut self, items: &[(TreePath, Stored)]) -> Result<BlockId> {
        let mut levels: BTreeMap<TreePath, BTreeMap<Box<[u8]>, Entry>> = BTreeMap::new();
        levels.entry(TreePath::top()).or_default();
        for (path, item) in items {
            let collide = || Error::invalid("paths_collide", format!("{path} stands in another's place"));
            let name: Box<[u8]> = path.name().into();
            let parent = path.parent().ok_or_else(collide)?;
            let entry = Entry { name: name.clone(), metadata: item.metadata.clone(), content: item.content.clone() };
            if levels.entry(parent.clone()).or_default().insert(name, entry).is_some() {
                return Err(collide());
            }
            let mut above = parent.parent();
            while let Some(path) = above {
                above = path.parent();
                levels.entry(path).or_default();
            }
        }
        let domain = Domain::Owner(self.owner);
        let mut built: Vec<Built> = Vec::new();
        let mut top = BlockId([0; 32]);
        // The deepest first: what is in a directory is complete before it.
        while let Some((path, entries)) = levels.pop_last() {
            let mut identify = |of: u8, bytes: &[u8]| self.store.sealing.block_id(domain, of, bytes);
            let node = build_directory(entries.values(), &mut identify, &mut built)?;
            let Some(parent) = path.parent() else {
                top = node;
                break;
            };
            let name: Box<[u8]> = path.name().into();
            let entry = Entry { name: name.clone(), metadata: plain_directory(), content: Content::Directory(node) };
            if levels.entry(parent).or_default().insert(name, entry).is_some() {
                return Err(Error::invalid("paths_collide", format!("{path} is a file and has something in it")));
            }
        }
        let top = Entry { name: Box::default(), metadata: plain_directory(), content: Content::Directory(top) };
        let bytes = Root { top, rules: Vec::new() }.encode();
        let root = self.store.sealing.block_id(domain, block_type::ROOT, &bytes)?;
        built.push(Built { id: root, block_type: block_type::ROOT, bytes });
        self.add_built(&built)?;
        Ok(root)
    }

    /// Ends it. When this returns, every pack that the parts name is durable.
    ///
    /// # Errors
    /// `unavailable` when the store cannot be written; `conflict` (`pin_lapsed`) when the process was stopped for longer
    /// than its pin lasts.
    pub fn finish(mut self) -> Result<CommitParts> {
        self.output.pin.record()?;
        let (rows, packs, pin) = self.output.finish()?;
        Ok(CommitParts::new(rows, packs, self.known.into_iter().collect(), Some(pin)))
    }

    /// Gives up what it stored: nothing is committed, and the pin is taken back.
    ///
    /// # Errors
    /// `unavailable` when that cannot be recorded; the pin lapses by itself then.
    pub fn discard(self) -> Result<()> {
        block_on(self.store.index.unpin(self.output.pin.pin.id))
    }
}

/// A directory that nobody made.
fn plain_directory() -> Metadata {
    Metadata { mode: 0o755, ..Metadata::default() }
}

/// What was taken of a file so far.
#[derive(Default)]
struct Taking {
    segments: Vec<Segment>,
    size: u64,
    sha256: Sha256,
    begins: Vec<u8>,
}

/// So many first bytes of a file are handed out.
const BEGINS: usize = 512;

impl Taking {
    fn take(&mut self, chunk: &[u8], id: BlockId) {
        let length = chunk.len() as u64;
        self.segments.push(Segment::Chunk { id, length });
        self.size += length;
        self.sha256.update(chunk);
        let room = BEGINS.saturating_sub(self.begins.len());
        self.begins.extend(chunk.iter().take(room));
    }

    fn hole(&mut self, length: u64) {
        self.segments.push(Segment::Hole { length });
        self.size += length;
        let zeros = [0; 8 << 10];
        let mut left = length;
        while left > 0 {
            let step = left.min(zeros.len() as u64);
            self.sha256.update(zeros.get(..usize::try_from(step).unwrap_or(0)).unwrap_or_default());
            left -= step;
        }
    }
}
