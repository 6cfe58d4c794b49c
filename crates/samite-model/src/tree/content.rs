//! The bytes of a file: chunks and holes, listed in its entry or, when they are many, in blocks of their own.

use super::code::{Reader, put_varint, version};
use super::split::split;
use super::{Built, Identify, block_type};
use crate::error::{Error, Result};
use crate::id::BlockId;

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Bytes in a block.
    Chunk {
        /// The block.
        id: BlockId,
        /// How many bytes.
        length: u64,
    },
    /// Nothing but zeros that take no room.
    Hole {
        /// How many bytes.
        length: u64,
    },
}

impl Segment {
    /// How many bytes of the file it covers.
    pub const fn length(&self) -> u64 {
        match self {
            Self::Chunk { length, .. } | Self::Hole { length } => *length,
        }
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Chunk { id, length } => {
                bytes.push(1);
                bytes.extend_from_slice(id.as_bytes());
                put_varint(bytes, *length);
            }
            Self::Hole { length } => {
                bytes.push(2);
                put_varint(bytes, *length);
            }
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.byte()? {
            1 => Ok(Self::Chunk { id: BlockId(reader.array()?), length: reader.varint()? }),
            2 => Ok(Self::Hole { length: reader.varint()? }),
            tag => Err(Error::corrupt("bad_tree_block", format!("a file's segment has the unknown tag {tag}"))),
        }
    }

    pub(super) fn decode_all(reader: &mut Reader<'_>, size: u64) -> Result<Vec<Self>> {
        let segments = (0..reader.count()?).map(|_| Self::decode(reader)).collect::<Result<Vec<_>>>()?;
        let sum = segments.iter().try_fold(0_u64, |sum, segment| sum.checked_add(segment.length()));
        if sum == Some(size) {
            Ok(segments)
        } else {
            Err(Error::corrupt("bad_tree_block", format!("the segments of a file do not add up to its {size} bytes")))
        }
    }
}

/// Where the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// In these, one after the other.
    Segments(Vec<Segment>),
    /// As a chunk list says.
    List(BlockId),
}

const VERSION: u8 = 1;
/// A file with more segments than this lists them in blocks of their own.
const INLINE_SEGMENTS: usize = 32;
const LIST_ITEMS: usize = 256;

/// A block of a chunk list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkList {
    /// Segments, one after the other.
    Leaf(Vec<Segment>),
    /// Lists, one after the other.
    Inner(Vec<BlockId>),
}

impl ChunkList {
    /// The stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        match self {
            Self::Leaf(segments) => {
                bytes.push(0);
                put_varint(&mut bytes, segments.len() as u64);
                for segment in segments {
                    segment.encode(&mut bytes);
                }
            }
            Self::Inner(lists) => {
                bytes.push(1);
                put_varint(&mut bytes, lists.len() as u64);
                for list in lists {
                    bytes.extend_from_slice(list.as_bytes());
                }
            }
        }
        bytes
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// `corrupt` when they are not a chunk list.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        version(&mut reader, VERSION)?;
        let level = reader.byte()?;
        let count = reader.count()?;
        let list = match level {
            0 => Self::Leaf((0..count).map(|_| Segment::decode(&mut reader)).collect::<Result<_>>()?),
            1 => Self::Inner((0..count).map(|_| reader.array().map(BlockId)).collect::<Result<_>>()?),
            _ => return Err(Error::corrupt("bad_tree_block", format!("a chunk list has the unknown level {level}"))),
        };
        reader.end()?;
        Ok(list)
    }
}

fn boundary(id: &BlockId) -> u64 {
    // Ids are hashes already.
    id.as_bytes().first_chunk::<8>().map_or(0, |first| u64::from_le_bytes(*first))
}

/// The body of a file with these segments, and the blocks that it needs: none while they fit the entry.
///
/// # Errors
/// Those of `identify`.
pub fn build_content(segments: Vec<Segment>, identify: &mut Identify<'_>) -> Result<(Body, Vec<Built>)> {
    if segments.len() <= INLINE_SEGMENTS {
        return Ok((Body::Segments(segments), Vec::new()));
    }
    let mut built = Vec::new();
    let mut add = |list: ChunkList| -> Result<BlockId> {
        let bytes = list.encode();
        let id = identify(block_type::CHUNK_LIST, &bytes)?;
        built.push(Built { id, block_type: block_type::CHUNK_LIST, bytes });
        Ok(id)
    };
    let cuts = split(
        segments.iter().map(|segment| match segment {
            Segment::Chunk { id, .. } => (boundary(id), 1),
            // A hole is no boundary: files of holes alone must not be cut at each of them.
            Segment::Hole { .. } => (1, 1),
        }),
        LIST_ITEMS,
    );
    let mut rest = segments.as_slice();
    let mut lists = Vec::with_capacity(cuts.len());
    for count in cuts {
        let (leaf, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        rest = after;
        lists.push(add(ChunkList::Leaf(leaf.to_vec()))?);
    }
    while lists.len() > 1 {
        let cuts = split(lists.iter().map(|id| (boundary(id), 1)), LIST_ITEMS);
        let mut rest = lists.as_slice();
        let mut above = Vec::with_capacity(cuts.len());
        for count in cuts {
            let (part, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            rest = after;
            above.push(add(ChunkList::Inner(part.to_vec()))?);
        }
        if above.len() == lists.len() {
            // Boundaries everywhere, which chance does not bring: one list ends it.
            above = vec![add(ChunkList::Inner(lists))?];
        }
        lists = above;
    }
    let list = lists.first().copied().ok_or_else(|| Error::internal("empty_list", "a chunk list came out empty"))?;
    Ok((Body::List(list), built))
}
