//! The bytes of a pack: header ‖ sealed blocks ‖ index ‖ trailer.

use samite_model::{BlockId, Error, PackId, Pseudonym, Result};

const MAGIC: &[u8; 16] = b"samite/pack/v1\0\0";
/// magic ‖ pack id.
pub(crate) const HEADER_SIZE: usize = 32;
/// offset of the index (8) ‖ length of the index (8) ‖ BLAKE3 of header ‖ index ‖ both (32) ‖ magic (16).
pub(crate) const TRAILER_SIZE: usize = 64;

/// A block as a pack's own index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedBlock {
    /// The block.
    pub id: BlockId,
    /// Whose domain it is in.
    pub owner: Pseudonym,
    /// Where its sealed bytes begin.
    pub offset: u64,
    /// How many there are.
    pub length: u32,
}

/// The index at the end of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackIndex {
    /// The pack.
    pub pack: PackId,
    /// Its blocks, in the order of their bytes.
    pub blocks: Vec<IndexedBlock>,
}

/// How many bytes a pack's file has that holds so many sealed bytes in so many blocks of so many owners, and nothing else.
pub const fn pack_size(bytes: u64, blocks: usize, owners: usize) -> u64 {
    let index = 6 + 16 * owners as u64 + 38 * blocks as u64;
    (HEADER_SIZE + TRAILER_SIZE) as u64 + bytes + index
}

pub(crate) fn header(pack: PackId) -> [u8; HEADER_SIZE] {
    let mut bytes = [0; HEADER_SIZE];
    let (magic, id) = bytes.split_at_mut(16);
    magic.copy_from_slice(MAGIC);
    id.copy_from_slice(pack.as_bytes());
    bytes
}

fn checksum(header: &[u8], index: &[u8], place: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(header).update(index).update(place);
    *hasher.finalize().as_bytes()
}

/// The index and the trailer of a pack whose blocks end where the index begins.
///
/// Index: owner count u16 ‖ owners (16 each) ‖ block count u32 ‖ blocks (id 32 ‖ length u32 ‖ number of owner u16).
pub(crate) fn footer(index: &PackIndex) -> Result<Vec<u8>> {
    let mut owners: Vec<Pseudonym> = Vec::new();
    let mut blocks = Vec::with_capacity(index.blocks.len() * 38);
    let mut end = HEADER_SIZE as u64;
    for block in &index.blocks {
        let known = owners.iter().rposition(|owner| *owner == block.owner);
        let number = known.unwrap_or_else(|| {
            owners.push(block.owner);
            owners.len() - 1
        });
        let number = u16::try_from(number)
            .map_err(|_| Error::internal("too_many_owners", "a pack holds the blocks of more than 65,536 owners"))?;
        blocks.extend_from_slice(block.id.as_bytes());
        blocks.extend_from_slice(&block.length.to_be_bytes());
        blocks.extend_from_slice(&number.to_be_bytes());
        end += u64::from(block.length);
    }
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    let mut bytes = Vec::with_capacity(blocks.len() + owners.len() * 16 + 6 + TRAILER_SIZE);
    let [_, _, high, low] = count(owners.len());
    bytes.extend_from_slice(&[high, low]);
    for owner in &owners {
        bytes.extend_from_slice(owner.as_bytes());
    }
    bytes.extend_from_slice(&count(index.blocks.len()));
    bytes.extend_from_slice(&blocks);
    let mut place = end.to_be_bytes().to_vec();
    place.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    let sum = checksum(&header(index.pack), &bytes, &place);
    bytes.extend_from_slice(&place);
    bytes.extend_from_slice(&sum);
    bytes.extend_from_slice(MAGIC);
    Ok(bytes)
}

pub(crate) fn damaged(pack: PackId, what: &str) -> Error {
    Error::corrupt("pack_damaged", format!("the index of pack {pack} is damaged: {what}"))
        .hint("its blocks can still be read by the places that the ledger knows; restore the pack from a backup")
}

/// Where the index is, from the trailer of a pack of `size` bytes.
pub(crate) fn index_place(pack: PackId, size: u64, trailer: &[u8]) -> Result<(u64, usize)> {
    let parts = trailer
        .split_first_chunk::<8>()
        .and_then(|(offset, rest)| rest.split_first_chunk::<8>().map(|(length, rest)| (offset, length, rest)))
        .filter(|(_, _, rest)| rest.len() == 48 && rest.ends_with(MAGIC));
    let Some((offset, length, _)) = parts else {
        return Err(damaged(pack, "it has no trailer"));
    };
    let (offset, length) = (u64::from_be_bytes(*offset), u64::from_be_bytes(*length));
    let end = offset.checked_add(length).and_then(|end| end.checked_add(TRAILER_SIZE as u64));
    match usize::try_from(length) {
        Ok(length) if end == Some(size) => Ok((offset, length)),
        _ => Err(damaged(pack, "its trailer does not fit its size")),
    }
}

/// Reads an index.
pub(crate) fn parse_index(pack: PackId, start: &[u8], index: &[u8], trailer: &[u8]) -> Result<PackIndex> {
    let (place, rest) = trailer.split_at_checked(16).ok_or_else(|| damaged(pack, "it has no trailer"))?;
    if start != header(pack) {
        return Err(damaged(pack, "its header is another one"));
    }
    if !rest.starts_with(&checksum(start, index, place)) {
        return Err(damaged(pack, "its checksum is wrong"));
    }
    parse(pack, index).ok_or_else(|| damaged(pack, "it is malformed"))
}

fn parse(pack: PackId, index: &[u8]) -> Option<PackIndex> {
    let (owner_count, rest) = index.split_first_chunk::<2>()?;
    let (owners, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*owner_count)) * 16)?;
    let owners: Vec<Pseudonym> = owners.as_chunks::<16>().0.iter().map(|owner| Pseudonym(*owner)).collect();
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let (entries, []) = rest.as_chunks::<38>() else { return None };
    if entries.len() != usize::try_from(u32::from_be_bytes(*count)).ok()? {
        return None;
    }
    let mut offset = HEADER_SIZE as u64;
    let mut blocks = Vec::with_capacity(entries.len());
    for entry in entries {
        let (id, rest) = entry.split_first_chunk::<32>()?;
        let (length, number) = rest.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length);
        let owner = *owners.get(usize::from(u16::from_be_bytes(number.try_into().ok()?)))?;
        blocks.push(IndexedBlock { id: BlockId(*id), owner, offset, length });
        offset = offset.checked_add(u64::from(length))?;
    }
    Some(PackIndex { pack, blocks })
}
