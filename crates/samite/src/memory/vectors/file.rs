//! The vectors of a namespace's records in one space, in a sealed file beside the ledger. It grows at its end; what is torn or damaged is
//! left out, and made again.

use crate::core::Core;
use crate::memory::file::LOCK;
use samite_host::files::{self, AppendFile, FileLock, RangeFile};
use samite_host::kill_point;
use samite_keys::{Domain, MAXIMUM_BLOCK};
use samite_memory::search::{Index, Taken};
use samite_memory::vectors::Rows;
use samite_model::{BlockId, Error, JournalId, Pseudonym, RecordId, Result, SpaceId};
use std::path::{Path, PathBuf};

/// The file, and its version.
const MAGIC: &[u8; 8] = b"samite\x01v";

/// What a sealed piece of the file is, among the kinds of sealed blocks.
const PIECE: u8 = 9;

/// Magic, and a number that is another one whenever the file is made anew.
const HEAD: u64 = 16;

/// The id of a sealed block, and its length.
const PIECE_HEAD: u64 = 36;

const ID: usize = 16;

const BLOCK: usize = 32;

/// Once there are so many pieces they become one, so that a file is read in few steps.
const PIECES: usize = 64;

/// What a file's vectors end in.
pub(super) const ENDING: &str = ".vectors";

/// The file of a namespace's vectors in one space.
pub(super) struct VectorFile<'a> {
    core: &'a Core,
    owner: Pseudonym,
    journal: JournalId,
    space: SpaceId,
    path: PathBuf,
}

/// Where the pieces of a file are.
struct Layout {
    generation: u64,
    /// Where each begins, and how long its sealed bytes are.
    pieces: Vec<(u64, u32)>,
    /// Where the last whole one ends.
    end: u64,
    /// Whether something is behind that, or there is no beginning.
    is_torn: bool,
}

/// Vectors, and whose they are.
type Piece = (Vec<RecordId>, Rows);

impl<'a> VectorFile<'a> {
    /// The file, where there is a place for it.
    pub(super) fn of(core: &'a Core, owner: Pseudonym, journal: JournalId, space: SpaceId) -> Option<Self> {
        let directory = core.0.memory.as_ref()?.join(journal.to_string());
        Some(Self { core, owner, journal, space, path: directory.join(format!("{space}{ENDING}")) })
    }

    /// Gives an index what the file has and it does not have yet. Whether all of the file could be read.
    pub(super) fn read_into(&self, index: &mut Index) -> Result<bool> {
        if !files::exists(&self.path)? {
            return Ok(true);
        }
        let file = RangeFile::open(&self.path)?;
        let layout = Layout::of(&file)?;
        let known = index.taken(self.space).filter(|taken| taken.generation == layout.generation);
        let from = known.map_or(HEAD, |taken| taken.length);
        let mut is_whole = !layout.is_torn;
        for (at, length) in &layout.pieces {
            if *at < from {
                continue;
            }
            match self.piece(&file, *at, *length) {
                Ok((ids, rows)) => {
                    for (place, id) in (0..rows.len()).zip(&ids) {
                        index.take_vector(self.space, *id, &rows, place)?;
                    }
                }
                Err(_) => is_whole = false,
            }
        }
        if is_whole {
            index.set_taken(self.space, Taken { generation: layout.generation, length: layout.end });
        }
        Ok(is_whole)
    }

    /// Adds the vectors that an index has of these records. Nothing is written where something was erased since `erasures` was asked, so
    /// that no erasure misses it. Where `waits` is false it is not written either while somebody else writes. Whether it was; then it is
    /// durable.
    pub(super) async fn add(&self, index: &Index, records: &[u32], erasures: u64, waits: bool) -> Result<bool> {
        let (Some(all), Some(directory)) = (&self.core.0.memory, self.path.parent()) else { return Ok(false) };
        let lock = all.with_file_name(LOCK);
        let _lock = match (waits, FileLock::try_acquire(&lock)?) {
            (_, Some(lock)) => lock,
            (true, None) => FileLock::acquire(&lock)?,
            (false, None) => return Ok(false),
        };
        if self.core.settled_erasures().await? != Some(erasures) {
            return Ok(false);
        }
        let Some(rows) = index.rows(self.space) else { return Ok(false) };
        let mut ids = Vec::new();
        let mut new = Rows::new(rows.dimensions())?;
        for document in records {
            let place = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            if let Some(record) = index.record(*document)
                && new.copy(place, rows, *document)?
            {
                ids.push(record);
            }
        }
        files::create_private_dir(directory)?;
        kill_point("memory.before_vectors");
        self.write(ids, new)?;
        kill_point("memory.vectors_kept");
        Ok(true)
    }

    fn write(&self, ids: Vec<RecordId>, new: Rows) -> Result<()> {
        if files::exists(&self.path)? {
            let file = RangeFile::open(&self.path)?;
            let layout = Layout::of(&file)?;
            if !layout.is_torn && layout.pieces.len() < PIECES {
                let mut end = AppendFile::open(&self.path)?;
                end.append(&self.sealed(&[(ids, new)])?)?;
                return end.sync();
            }
            let mut pieces: Vec<Piece> = Vec::new();
            for (at, length) in &layout.pieces {
                // What cannot be read is made again.
                pieces.extend(
                    self.piece(&file, *at, *length).ok().filter(|(_, rows)| rows.dimensions() == new.dimensions()),
                );
            }
            pieces.push((ids, new));
            return self.write_anew(&merged(pieces)?);
        }
        self.write_anew(&[(ids, new)])
    }

    fn write_anew(&self, pieces: &[Piece]) -> Result<()> {
        let mut bytes = MAGIC.to_vec();
        let generation: [u8; ID] = self.core.random_id()?;
        bytes.extend(generation.iter().take(8));
        bytes.extend(self.sealed(pieces)?);
        files::write_atomic(&self.path, &bytes, files::PRIVATE_FILE)
    }

    /// Each sealed for its owner: block id ‖ length (u32) ‖ sealed bytes of whose it is [32] ‖ count (u32) ‖ ids ‖ rows.
    fn sealed(&self, pieces: &[Piece]) -> Result<Vec<u8>> {
        let (domain, keys) = (Domain::Owner(self.owner), &self.core.0.keys);
        let mut bytes = Vec::new();
        for (ids, rows) in pieces {
            let mut plain = self.name().to_vec();
            plain.extend(rows.len().to_be_bytes());
            plain.extend(ids.iter().flat_map(|id| *id.as_bytes()));
            plain.extend(rows.encode());
            let id = keys.block_id(domain, PIECE, &plain)?;
            let sealed = keys.seal_block(domain, id, PIECE, &plain)?;
            bytes.extend(id.as_bytes());
            bytes.extend(u32::try_from(sealed.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend(sealed);
        }
        Ok(bytes)
    }

    /// What a piece begins with: whose it is, and in which space.
    fn name(&self) -> [u8; 32] {
        let mut name = [0; 32];
        name.iter_mut().zip(self.journal.0.iter().chain(&self.space.0)).for_each(|(place, byte)| *place = *byte);
        name
    }

    fn piece(&self, file: &RangeFile, at: u64, length: u32) -> Result<Piece> {
        let mut bytes = vec![0; usize::try_from(PIECE_HEAD + u64::from(length)).unwrap_or(usize::MAX)];
        let filled = file.fill_at(at, &mut bytes)?;
        let (id, rest) =
            bytes.get(..filled).and_then(|bytes| bytes.split_first_chunk::<BLOCK>()).ok_or_else(damaged)?;
        let sealed = rest.get(4..).ok_or_else(damaged)?;
        let plain = self.core.0.keys.open_block(Domain::Owner(self.owner), BlockId(*id), sealed)?;
        // One of another namespace, or another space, is none.
        let rest = plain.strip_prefix(&self.name()).ok_or_else(damaged)?;
        let (count, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let count = u32::from_be_bytes(*count);
        let (ids, rows) = rest.split_at_checked((count as usize).saturating_mul(ID)).ok_or_else(damaged)?;
        let ids = ids.chunks(ID).map(RecordId::from_slice).collect::<Result<Vec<_>>>()?;
        Ok((ids, Rows::decode(rows, count)?))
    }

    /// Removes those of other spaces than these, under the lock.
    pub(super) fn remove_others(core: &Core, journal: JournalId, keep: &[SpaceId]) -> Result<u64> {
        let Some(all) = &core.0.memory else { return Ok(0) };
        let directory = all.join(journal.to_string());
        if !files::exists(&directory)? {
            return Ok(0);
        }
        let keep: Vec<String> = keep.iter().map(|space| format!("{space}{ENDING}")).collect();
        let is_other = |name: &str| name.ends_with(ENDING) && !keep.iter().any(|kept| kept == name);
        let others = |directory: &Path| -> Result<Vec<PathBuf>> {
            let names = files::list(directory)?.into_iter().filter_map(|name| name.into_string().ok());
            Ok(names.filter(|name| is_other(name)).map(|name| directory.join(name)).collect())
        };
        if others(&directory)?.is_empty() {
            return Ok(0);
        }
        let _lock = FileLock::acquire(&all.with_file_name(LOCK))?;
        let mut removed = 0;
        for path in others(&directory)? {
            files::erase(&path)?;
            removed += 1;
        }
        Ok(removed)
    }
}

impl Layout {
    fn of(file: &RangeFile) -> Result<Self> {
        let length = file.length()?;
        let mut head = [0; 16];
        let none = Self { generation: 0, pieces: Vec::new(), end: 0, is_torn: true };
        if file.fill_at(0, &mut head)? < head.len() {
            return Ok(none);
        }
        let Some(generation) = head.strip_prefix(MAGIC).and_then(|rest| rest.first_chunk::<8>()) else {
            return Ok(none);
        };
        let (generation, mut pieces, mut end) = (u64::from_be_bytes(*generation), Vec::new(), HEAD);
        while end < length {
            let mut head = [0; 36];
            let filled = file.fill_at(end, &mut head)?;
            let size = head.last_chunk::<4>().map_or(0, |size| u32::from_be_bytes(*size));
            let next = end + PIECE_HEAD + u64::from(size);
            if filled < head.len() || next > length || size as usize > 2 * MAXIMUM_BLOCK {
                return Ok(Self { generation, pieces, end, is_torn: true });
            }
            pieces.push((end, size));
            end = next;
        }
        Ok(Self { generation, pieces, end, is_torn: false })
    }
}

/// As few pieces as there may be, each record once.
fn merged(pieces: Vec<Piece>) -> Result<Vec<Piece>> {
    let mut known = std::collections::HashSet::new();
    let mut all: Vec<Piece> = Vec::new();
    for (ids, rows) in pieces {
        // Two bytes a number, and a few of each row: no piece may be longer than a block.
        let most = MAXIMUM_BLOCK / (2 * (2 * rows.dimensions() + ID + 64));
        for (place, id) in (0..rows.len()).zip(ids) {
            if !known.insert(id) {
                continue;
            }
            if all.last().is_none_or(|(ids, _)| ids.len() >= most) {
                all.push((Vec::new(), Rows::new(rows.dimensions())?));
            }
            if let Some((ids, merged)) = all.last_mut()
                && merged.copy(u32::try_from(ids.len()).unwrap_or(u32::MAX), &rows, place)?
            {
                ids.push(id);
            }
        }
    }
    Ok(all)
}

fn damaged() -> Error {
    Error::corrupt("vectors_damaged", "kept vectors are damaged").hint("they are made again: `samite memory reindex`")
}
