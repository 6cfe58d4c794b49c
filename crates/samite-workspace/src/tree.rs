//! Reading trees: whole, one directory, one file, or all that is reachable.

use crate::store::Store;
use samite_keys::Domain;
use samite_model::tree::{
    Body, ChunkList, Content, Entry, EntryType, Listing, Node, Root, Segment, TreePath, block_type,
};
use samite_model::{BlockId, Error, Pseudonym, Result};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::ops::Range;

/// So many nodes are read at once.
const BATCH: usize = 256;

/// What a block of a tree refers to.
#[derive(Default)]
pub(crate) struct References {
    /// Blocks in the same domain.
    pub(crate) blocks: Vec<BlockId>,
    /// Chunks of files.
    pub(crate) chunks: Vec<BlockId>,
}

impl References {
    fn segments(&mut self, segments: &[Segment]) {
        for segment in segments {
            if let Segment::Chunk { id, .. } = segment {
                self.chunks.push(*id);
            }
        }
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.content {
            Content::Directory(node) => self.blocks.push(*node),
            Content::File { body: Body::Segments(segments), .. } => self.segments(segments),
            Content::File { body: Body::List(list), .. } => self.blocks.push(*list),
            _ => {}
        }
    }
}

/// What a block refers to. A block of another type than a tree's refers to nothing.
pub(crate) fn references(of: u8, bytes: &[u8]) -> Result<References> {
    let mut found = References::default();
    match of {
        block_type::NODE => match Node::decode(bytes)? {
            Node::Leaf(entries) => entries.iter().for_each(|entry| found.entry(entry)),
            Node::Inner { below, .. } => found.blocks.extend(below.into_iter().map(|(_, id)| id)),
        },
        block_type::CHUNK_LIST => match ChunkList::decode(bytes)? {
            ChunkList::Leaf(segments) => found.segments(&segments),
            ChunkList::Inner(lists) => found.blocks.extend(lists),
        },
        block_type::ROOT => found.entry(&Root::decode(bytes)?.top),
        _ => {}
    }
    Ok(found)
}

/// A tree of one owner.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    store: &'a Store,
    owner: Pseudonym,
    domain: Domain,
    root: BlockId,
}

impl<'a> Tree<'a> {
    /// A tree by its root.
    pub const fn new(store: &'a Store, owner: Pseudonym, root: BlockId) -> Self {
        Self { store, owner, domain: Domain::Owner(owner), root }
    }

    /// The root's block: the top directory, and the rules by which the tree was made.
    ///
    /// # Errors
    /// `corrupt` naming the block; `denied` (`key_destroyed`) when the owner was erased.
    pub fn root(&self) -> Result<Root> {
        Root::decode(&self.store.read_block(self.domain, self.root)?)
            .map_err(|error| error.context(format!("tree {}", self.root)))
    }

    fn node(&self, id: BlockId) -> Result<Node> {
        Node::decode(&self.store.read_block(self.domain, id)?).map_err(|error| error.context(format!("node {id}")))
    }

    /// Everything in the tree.
    ///
    /// # Errors
    /// As [`Tree::root`].
    pub fn listing(&self) -> Result<Listing> {
        let root = self.root()?;
        let mut entries = vec![(TreePath::top(), root.top.clone())];
        self.list_into(vec![(TreePath::top(), node_of(&root.top)?)], &mut entries)?;
        Ok(Listing::new(entries))
    }

    /// Goes down from nodes, many at once.
    fn list_into(&self, start: Vec<(TreePath, BlockId)>, entries: &mut Vec<(TreePath, Entry)>) -> Result<()> {
        let mut pending = start;
        while !pending.is_empty() {
            let at = pending.len().saturating_sub(BATCH);
            let batch = pending.split_off(at);
            let ids: Vec<BlockId> = batch.iter().map(|(_, id)| *id).collect();
            let blocks = self.store.read_blocks(self.domain, &ids)?;
            for ((path, id), bytes) in batch.into_iter().zip(blocks) {
                match Node::decode(&bytes).map_err(|error| error.context(format!("node {id}")))? {
                    Node::Inner { below, .. } => {
                        pending.extend(below.into_iter().map(|(_, id)| (path.clone(), id)));
                    }
                    Node::Leaf(found) => {
                        for entry in found {
                            let path = path.join(&entry.name);
                            if let Content::Directory(node) = entry.content {
                                pending.push((path.clone(), node));
                            }
                            entries.push((path, entry));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The parts of two trees that may differ: nodes that both have are not read, and what is in them is in neither
    /// listing. Enough for a diff, and as cheap as the difference is small.
    ///
    /// # Errors
    /// As [`Tree::root`].
    pub fn differing(&self, other: &Self) -> Result<(Listing, Listing)> {
        let (mine, theirs) = (self.root()?, other.root()?);
        let mut pending = vec![(TreePath::top(), node_of(&mine.top)?, node_of(&theirs.top)?)];
        let mut found = [vec![(TreePath::top(), mine.top)], vec![(TreePath::top(), theirs.top)]];
        while let Some((path, mine, theirs)) = pending.pop() {
            if mine == theirs {
                continue;
            }
            let (mine, theirs) = (self.leaves(mine)?, other.leaves(theirs)?);
            let only = |tree: &Self, leaves: Leaves, others: &HashSet<BlockId>| -> Result<Vec<Entry>> {
                let fresh: Vec<BlockId> = leaves.unread.into_iter().filter(|id| !others.contains(id)).collect();
                let mut entries = leaves.entries;
                for bytes in tree.store.read_blocks(tree.domain, &fresh)? {
                    if let Node::Leaf(mut found) = Node::decode(&bytes)? {
                        entries.append(&mut found);
                    }
                }
                Ok(entries)
            };
            let (my_ids, their_ids): (HashSet<_>, HashSet<_>) =
                (mine.unread.iter().copied().collect(), theirs.unread.iter().copied().collect());
            let mine = only(self, mine, &their_ids)?;
            let theirs = only(other, theirs, &my_ids)?;
            let directories = |entries: &[Entry]| -> HashMap<Box<[u8]>, BlockId> {
                let node = |entry: &Entry| match entry.content {
                    Content::Directory(node) => Some((entry.name.clone(), node)),
                    _ => None,
                };
                entries.iter().filter_map(node).collect()
            };
            let (my_directories, their_directories) = (directories(&mine), directories(&theirs));
            for (tree, own, across, side, first) in [
                (self, &my_directories, &their_directories, 0, true),
                (other, &their_directories, &my_directories, 1, false),
            ] {
                for (name, node) in own {
                    let path = path.join(name);
                    match (across.get(name), found.get_mut(side)) {
                        (Some(theirs), _) if first => pending.push((path, *node, *theirs)),
                        (None, Some(entries)) => tree.list_into(vec![(path, *node)], entries)?,
                        _ => {}
                    }
                }
            }
            for (entries, side) in [(mine, 0), (theirs, 1)] {
                if let Some(found) = found.get_mut(side) {
                    found.extend(entries.into_iter().map(|entry| (path.join(&entry.name), entry)));
                }
            }
        }
        let [mine, theirs] = found;
        Ok((Listing::new(mine), Listing::new(theirs)))
    }

    /// The leaves of a directory: entries when it is a single one, ids when there are more.
    fn leaves(&self, node: BlockId) -> Result<Leaves> {
        let mut leaves = Leaves::default();
        let mut pending = vec![node];
        while let Some(id) = pending.pop() {
            match self.node(id)? {
                Node::Leaf(entries) => leaves.entries = entries,
                Node::Inner { level: 1, below } => leaves.unread.extend(below.into_iter().map(|(_, id)| id)),
                Node::Inner { below, .. } => pending.extend(below.into_iter().map(|(_, id)| id)),
            }
        }
        Ok(leaves)
    }

    /// The entry of a path.
    ///
    /// # Errors
    /// `not_found` (`no_path`) naming the path; as [`Tree::root`].
    pub fn entry(&self, path: &TreePath) -> Result<Entry> {
        let mut entry = self.root()?.top;
        for name in path.names() {
            let found = match entry.content {
                Content::Directory(node) => self.lookup(node, name)?,
                _ => None,
            };
            entry = found.ok_or_else(|| {
                Error::not_found("no_path", format!("the tree has no {path}")).hint("list the tree's directory")
            })?;
        }
        Ok(entry)
    }

    fn lookup(&self, node: BlockId, name: &[u8]) -> Result<Option<Entry>> {
        match self.node(node)? {
            Node::Leaf(entries) => Ok(entries.into_iter().find(|entry| &*entry.name == name)),
            Node::Inner { below, .. } => {
                let at = below.partition_point(|(first, _)| &**first <= name);
                match at.checked_sub(1).and_then(|at| below.get(at)) {
                    Some((_, id)) => self.lookup(*id, name),
                    None => Ok(None),
                }
            }
        }
    }

    /// The entries of a directory, sorted by name.
    ///
    /// # Errors
    /// `invalid` (`not_a_directory`); as [`Tree::entry`].
    pub fn list(&self, path: &TreePath) -> Result<Vec<Entry>> {
        let Content::Directory(node) = self.entry(path)?.content else {
            return Err(Error::invalid("not_a_directory", format!("{path} is not a directory in the tree")));
        };
        let (mut entries, mut pending) = (Vec::new(), vec![node]);
        while let Some(id) = pending.pop() {
            match self.node(id)? {
                Node::Leaf(mut found) => entries.append(&mut found),
                Node::Inner { below, .. } => pending.extend(below.into_iter().rev().map(|(_, id)| id)),
            }
        }
        Ok(entries)
    }

    /// A value that is the same in two trees when the path holds the same there, in all that it reaches; `None` when
    /// the tree has no such path. For the log of a path.
    ///
    /// # Errors
    /// As [`Tree::root`].
    pub fn identity(&self, path: &TreePath) -> Result<Option<[u8; 32]>> {
        match self.entry(path) {
            Ok(entry) => {
                let mut bytes = Vec::new();
                entry.encode(&mut bytes);
                Ok(Some(*blake3::hash(&bytes).as_bytes()))
            }
            Err(error) if error.code() == "no_path" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The segments of a file.
    ///
    /// # Errors
    /// As [`Tree::root`].
    pub fn segments(&self, body: &Body) -> Result<Vec<Segment>> {
        let mut segments = Vec::new();
        let mut pending = match body {
            Body::Segments(segments) => return Ok(segments.clone()),
            Body::List(list) => vec![*list],
        };
        while let Some(id) = pending.pop() {
            match ChunkList::decode(&self.store.read_block(self.domain, id)?)? {
                ChunkList::Leaf(mut found) => segments.append(&mut found),
                ChunkList::Inner(lists) => pending.extend(lists.into_iter().rev()),
            }
        }
        Ok(segments)
    }

    /// The bytes of a file's content, holes as zeros.
    ///
    /// # Errors
    /// As [`Tree::root`].
    pub fn bytes(&self, body: &Body) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for segment in self.segments(body)? {
            match segment {
                Segment::Chunk { id, .. } => bytes.extend(self.store.read_chunk(self.owner, id)?),
                Segment::Hole { length } => {
                    bytes.resize(bytes.len().saturating_add(usize::try_from(length).unwrap_or(usize::MAX)), 0);
                }
            }
        }
        Ok(bytes)
    }

    /// Writes the bytes of a file.
    ///
    /// # Errors
    /// `invalid` (`not_a_file`, `unread`); `unavailable` when they cannot be written; as [`Tree::entry`].
    pub fn cat(&self, path: &TreePath, to: &mut dyn Write) -> Result<u64> {
        self.cat_range(path, 0..u64::MAX, to)
    }

    /// Writes a range of the bytes of a file, as much of it as there is: only the chunks that it touches are read.
    ///
    /// # Errors
    /// As [`Tree::cat`].
    pub fn cat_range(&self, path: &TreePath, range: Range<u64>, to: &mut dyn Write) -> Result<u64> {
        let entry = self.entry(path)?;
        let body = match &entry.content {
            Content::File { body, .. } => body,
            Content::Unread(EntryType::File) => {
                return Err(Error::invalid("unread", format!("{path} could not be read when the tree was made")));
            }
            other => {
                let what = other.entry_type().name();
                return Err(Error::invalid("not_a_file", format!("{path} is a {what} in the tree, not a file")));
            }
        };
        let mut written = 0;
        let failed = |source: std::io::Error| {
            Error::unavailable("output_failed", "cannot write the file's bytes").because(source)
        };
        let mut at = 0_u64;
        for segment in self.segments(body)? {
            let (begins, ends) = (at, at.saturating_add(segment.length()));
            at = ends;
            let (from, until) = (range.start.max(begins), range.end.min(ends));
            if from >= until {
                continue;
            }
            match segment {
                Segment::Chunk { id, .. } => {
                    let bytes = self.store.read_chunk(self.owner, id)?;
                    let place = |at: u64| usize::try_from(at - begins).unwrap_or(usize::MAX);
                    let short = || Error::corrupt("bad_block", format!("block {id} is shorter than its file says"));
                    let part = bytes.get(place(from)..place(until)).ok_or_else(short)?;
                    to.write_all(part).map_err(failed)?;
                }
                Segment::Hole { .. } => {
                    let zeros = std::io::Read::take(std::io::repeat(0), until - from);
                    std::io::copy(&mut { zeros }, to).map_err(failed)?;
                }
            }
            written += until - from;
        }
        Ok(written)
    }
}

#[derive(Default)]
struct Leaves {
    entries: Vec<Entry>,
    unread: Vec<BlockId>,
}

fn node_of(entry: &Entry) -> Result<BlockId> {
    match entry.content {
        Content::Directory(node) => Ok(node),
        _ => Err(Error::corrupt("bad_tree_block", "the top of a tree is not a directory")),
    }
}
