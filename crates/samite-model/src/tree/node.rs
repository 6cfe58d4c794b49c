//! Nodes of a directory.

use super::code::{Reader, put_bytes, put_varint, version};
use super::entry::Entry;
use super::split::{LEAF_CAP, SMALL_DIRECTORY, name_hash, split};
use super::{Built, Identify, block_type, path};
use crate::error::{Error, Result};
use crate::id::BlockId;

const VERSION: u8 = 1;
/// More levels than a directory of any size has.
const LEVELS: u8 = 32;

/// A node of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Entries, sorted by name.
    Leaf(Vec<Entry>),
    /// The nodes below: the first name in each, and its id.
    Inner {
        /// How far above the leaves.
        level: u8,
        /// The nodes, in order.
        below: Vec<(Box<[u8]>, BlockId)>,
    },
}

impl Node {
    /// The stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Leaf(entries) => {
                let mut bytes = vec![VERSION, 0];
                put_varint(&mut bytes, entries.len() as u64);
                for entry in entries {
                    entry.encode(&mut bytes);
                }
                bytes
            }
            Self::Inner { level, below } => {
                let mut bytes = vec![VERSION, *level];
                put_varint(&mut bytes, below.len() as u64);
                for (name, id) in below {
                    put_bytes(&mut bytes, name);
                    bytes.extend_from_slice(id.as_bytes());
                }
                bytes
            }
        }
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// `corrupt` when they are not a node, when its names are not sorted, or when one of them could lead out of the
    /// directory.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        version(&mut reader, VERSION)?;
        let level = reader.byte()?;
        if level > LEVELS {
            return Err(Error::corrupt("bad_tree_block", format!("a node claims to be on level {level}")));
        }
        let count = reader.count()?;
        if level == 0 {
            let entries = (0..count).map(|_| Entry::decode(&mut reader, false)).collect::<Result<Vec<_>>>()?;
            reader.end()?;
            sorted(entries.iter().map(|entry| &*entry.name))?;
            return Ok(Self::Leaf(entries));
        }
        let mut below: Vec<(Box<[u8]>, BlockId)> = Vec::with_capacity(count);
        for _ in 0..count {
            let name = reader.bytes()?;
            if !path::is_name(name) {
                return Err(Error::corrupt("bad_tree_block", "a node names something outside its directory"));
            }
            below.push((name.into(), BlockId(reader.array()?)));
        }
        reader.end()?;
        sorted(below.iter().map(|(name, _)| &**name))?;
        Ok(Self::Inner { level, below })
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a [u8]>) -> Result<()> {
    if names.is_sorted_by(|a, b| a < b) {
        Ok(())
    } else {
        Err(Error::corrupt("bad_tree_block", "the names of a node are not sorted"))
    }
}

fn leaf(count: usize, entries: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() + 5);
    bytes.extend_from_slice(&[VERSION, 0]);
    put_varint(&mut bytes, count as u64);
    bytes.extend_from_slice(entries);
    bytes
}

/// Builds the nodes of a directory from its entries, sorted by name; the last block built is the directory's node.
///
/// # Errors
/// Those of `identify`.
pub fn build_directory<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    identify: &mut Identify<'_>,
    built: &mut Vec<Built>,
) -> Result<BlockId> {
    // All entries are encoded once, into one buffer, and leaves are cut from it.
    let mut bytes = Vec::new();
    let mut items: Vec<(&[u8], usize)> = Vec::new();
    for entry in entries {
        let before = bytes.len();
        entry.encode(&mut bytes);
        items.push((&entry.name, bytes.len() - before));
    }
    let mut add = |bytes: Vec<u8>| -> Result<BlockId> {
        let id = identify(block_type::NODE, &bytes)?;
        built.push(Built { id, block_type: block_type::NODE, bytes });
        Ok(id)
    };
    if bytes.len() <= SMALL_DIRECTORY || items.len() <= 1 {
        return add(leaf(items.len(), &bytes));
    }
    let mut level = 0;
    let mut nodes: Vec<(Box<[u8]>, BlockId)> = Vec::new();
    let (mut rest, mut names) = (bytes.as_slice(), items.as_slice());
    for count in split(items.iter().map(|(name, size)| (name_hash(level, name), *size)), LEAF_CAP) {
        let (part, names_after) = names.split_at_checked(count).unwrap_or((names, &[]));
        let size = part.iter().map(|(_, size)| size).sum();
        let (encoded, after) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        (rest, names) = (after, names_after);
        let first = part.first().map_or(&[][..], |(name, _)| name);
        nodes.push((first.into(), add(leaf(count, encoded))?));
    }
    while nodes.len() > 1 {
        level += 1;
        let cuts = split(nodes.iter().map(|(name, _)| (name_hash(level, name), name.len() + 34)), LEAF_CAP);
        // Boundaries everywhere would never end; chance does not bring that twice, names made for it might.
        let cuts = if cuts.len() * 2 > nodes.len() { pairs(nodes.len()) } else { cuts };
        let mut above = Vec::with_capacity(cuts.len());
        let mut rest = nodes.into_iter();
        for count in cuts {
            let below: Vec<_> = rest.by_ref().take(count).collect();
            let first = below.first().map(|(name, _)| name.clone()).unwrap_or_default();
            above.push((first, add(Node::Inner { level, below }.encode())?));
        }
        nodes = above;
    }
    nodes.first().map(|(_, id)| *id).ok_or_else(|| Error::internal("empty_node", "a directory came out without a node"))
}

fn pairs(count: usize) -> Vec<usize> {
    let mut cuts = vec![2; count / 2];
    if count % 2 == 1 {
        cuts.push(1);
    }
    cuts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::tree::{Body, Content, LinkGroup, Metadata, Segment};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, HashSet};

    #[expect(clippy::unnecessary_wraps, reason = "it stands for a function that can fail")]
    pub(in crate::tree) fn identify(block_type: u8, bytes: &[u8]) -> Result<BlockId> {
        let mut hasher = blake3::Hasher::new_keyed(&[7; 32]);
        hasher.update(&[block_type]).update(bytes);
        Ok(BlockId(*hasher.finalize().as_bytes()))
    }

    pub(in crate::tree) fn file(name: &str, byte: u8) -> Entry {
        let body = Body::Segments(vec![Segment::Chunk { id: BlockId([byte; 32]), length: 5 }]);
        Entry {
            name: name.as_bytes().into(),
            metadata: Metadata { mode: 0o644, mtime: 1_000, ..Metadata::default() },
            content: Content::File { size: 5, body },
        }
    }

    fn build(entries: &BTreeMap<String, u8>) -> (BlockId, Vec<Built>) {
        let entries: Vec<Entry> = entries.iter().map(|(name, byte)| file(name, *byte)).collect();
        let mut built = Vec::new();
        let id = build_directory(entries.iter(), &mut identify, &mut built).unwrap();
        (id, built)
    }

    fn read(id: BlockId, built: &[Built], entries: &mut Vec<Entry>) {
        let block = built.iter().find(|block| block.id == id).unwrap();
        match Node::decode(&block.bytes).unwrap() {
            Node::Leaf(mut found) => entries.append(&mut found),
            Node::Inner { below, .. } => below.iter().for_each(|(_, id)| read(*id, built, entries)),
        }
    }

    #[test]
    fn golden_vector() {
        let mut entry = file("a", 0xaa);
        entry.metadata.uid = 300;
        entry.metadata.xattrs = vec![((*b"user.k").into(), (*b"v").into())];
        entry.metadata.link = Some(LinkGroup([0xbb; 16]));
        let bytes = Node::Leaf(vec![entry.clone()]).encode();
        let expected = concat!(
            "01",
            "00",
            "01", // version, level, count
            "0161",
            "02",
            "02", // name, type, flags
            "a403",
            "ac02",
            "00",
            "00000000000003e8", // mode, uid, gid, mtime
            "01",
            "06757365722e6b",
            "0176",                             // xattrs
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", // link group
            "05",
            "01",
            "01",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "05",
        );
        assert_eq!(data_encoding::HEXLOWER.encode(&bytes), expected);
        assert_eq!(Node::decode(&bytes).unwrap(), Node::Leaf(vec![entry]));
    }

    #[test]
    fn a_name_that_leads_out_is_corrupt() {
        for name in ["..", ".", "", "a/b", "a\0"] {
            let bytes = Node::Leaf(vec![file(name, 1)]).encode();
            assert_eq!(Node::decode(&bytes).unwrap_err().code(), "bad_tree_block", "{name:?}");
        }
        let bytes = Node::Leaf(vec![file("b", 1), file("a", 1)]).encode();
        assert!(Node::decode(&bytes).is_err());
    }

    #[test]
    fn every_cut_and_every_flip_is_an_error_or_another_node() {
        let node = Node::Leaf(vec![file("a", 1), file("b", 2)]);
        let bytes = node.encode();
        for cut in 0..bytes.len() {
            assert!(Node::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Node::decode(&flipped).ok().as_ref(), Some(&node));
        }
    }

    #[test]
    fn one_change_in_a_huge_directory_rewrites_a_few_capped_nodes() {
        let mut entries: BTreeMap<String, u8> = (0..50_000).map(|n| (format!("file-{n:06}"), 1)).collect();
        let (_, before) = build(&entries);
        let known: HashSet<BlockId> = before.iter().map(|block| block.id).collect();
        assert!(before.iter().all(|block| block.bytes.len() <= LEAF_CAP + 8));
        entries.insert("file-020000".into(), 2);
        let (_, after) = build(&entries);
        assert_eq!(after.iter().filter(|block| !known.contains(&block.id)).count(), 3);
        entries.insert("file-020000-inserted".into(), 2);
        let (_, after) = build(&entries);
        let new: Vec<&Built> = after.iter().filter(|block| !known.contains(&block.id)).collect();
        assert!(new.len() <= 6, "{} nodes", new.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nodes_are_the_entries_and_depend_on_them_alone(
            names in prop::collection::btree_map("[a-z]{1,8}", any::<u8>(), 0..1500), extra in "[a-z]{1,8}", byte: u8,
        ) {
            let (id, built) = build(&names);
            let mut found = Vec::new();
            read(id, &built, &mut found);
            let expected: Vec<Entry> = names.iter().map(|(name, byte)| file(name, *byte)).collect();
            prop_assert_eq!(found, expected);
            // By way of another state, the same entries give the same nodes.
            let mut other = names.clone();
            other.insert(extra.clone(), byte);
            build(&other);
            match names.get(&extra) { Some(old) => other.insert(extra, *old), None => other.remove(&extra) };
            prop_assert_eq!(build(&other), (id, built));
        }
    }
}
