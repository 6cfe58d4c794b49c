//! The stat cache: what was in a file the last time it was read, so that it need not be read again.
//!
//! It holds a hash of each path, what the file system said of the file, and the ids of its chunks; nothing that only
//! one owner may know. A cache that is damaged counts as absent. It trusts an entry by git's rule: only when the file's
//! times are older than the moment at which the cache's scan began, by the clock that the file system itself uses.

use crate::system::Stamp;
use rustix::fs::{CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, fstat, futimens, openat};
use samite_host::files;
use samite_model::tree::{Segment, TreePath};
use samite_model::{BlockId, Result};
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"samite/stat/v1\0\0";
const CHECKSUM: usize = 32;
/// A file system that counts whole seconds may count every second one.
const COARSE: i64 = 2_000_000_000;

type Key = [u8; 16];

/// Keys are hashes already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*first);
        }
    }
}

/// What the cache knows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cached {
    pub(crate) stamp: Stamp,
    /// Whether it has extended attributes, which the cache does not hold.
    pub(crate) xattrs: bool,
    pub(crate) segments: Vec<Segment>,
}

/// How a cache was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// There was none, or none was asked for.
    #[default]
    Absent,
    /// There was one that could not be trusted; it is made anew.
    Damaged,
    /// It was used.
    Used,
}

/// A stat cache as loaded: the bytes of the file, and where each entry is in them.
#[derive(Default)]
pub(crate) struct StatCache {
    bytes: Vec<u8>,
    /// Where entries begin, in the order in which a scan meets them.
    places: Vec<u32>,
    /// The entry that the next question is probably about.
    next: Cell<usize>,
    /// Made when a question is about another one.
    by_key: OnceCell<HashMap<Key, u32, BuildHasherDefault<KeyHasher>>>,
    /// When its scan began.
    began: i64,
    pub(crate) state: CacheState,
}

/// The key of a path.
pub(crate) fn key(path: &[u8]) -> Key {
    let mut key = Key::default();
    let hash = blake3::hash(path);
    if let Some(first) = hash.as_bytes().first_chunk::<16>() {
        key = *first;
    }
    key
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }
}

/// So many entries are looked at before a map of all of them is made: some files are gone each time.
const AHEAD: usize = 8;
/// A chunk takes 40 bytes, a hole too.
const SEGMENT: usize = 40;
const HOLE: u64 = 1 << 63;

impl StatCache {
    /// Loads a cache.
    ///
    /// # Errors
    /// `denied` or `unavailable` when a file that exists cannot be read.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self> {
        let Some(bytes) = path.map(files::read_if_exists).transpose()?.flatten() else {
            return Ok(Self::default());
        };
        Ok(Self::parse(bytes).unwrap_or_else(|| Self { state: CacheState::Damaged, ..Self::default() }))
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
        if blake3::hash(content).as_bytes() != checksum {
            return None;
        }
        let mut reader = Bytes(content);
        if &reader.array::<16>()? != MAGIC {
            return None;
        }
        let began = i64::from_le_bytes(reader.array()?);
        let count = usize::try_from(reader.u64()?).ok()?;
        let mut places = Vec::with_capacity(count.min(content.len() / 60));
        for _ in 0..count {
            places.push(u32::try_from(content.len() - reader.0.len()).ok()?);
            reader.skip(16 + 33)?;
            let segments = usize::try_from(u32::from_le_bytes(reader.array()?)).ok()?;
            reader.skip(segments.checked_mul(SEGMENT)?)?;
        }
        reader.0.is_empty().then_some(())?;
        Some(Self { bytes, places, began, state: CacheState::Used, ..Self::default() })
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    fn at(&self, place: u32) -> Option<(Key, Bytes<'_>)> {
        let mut reader = Bytes(self.bytes.get(usize::try_from(place).ok()?..)?);
        Some((reader.array()?, reader))
    }

    /// The rest of an entry. A directory is met in the same order each time, so it is nearly always the next one.
    fn entry(&self, key: &Key) -> Option<Bytes<'_>> {
        let next = self.next.get();
        for at in next..next + AHEAD {
            let Some((found, rest)) = self.places.get(at).and_then(|place| self.at(*place)) else { break };
            if found == *key {
                self.next.set(at + 1);
                return Some(rest);
            }
        }
        let by_key = self
            .by_key
            .get_or_init(|| self.places.iter().filter_map(|place| Some((self.at(*place)?.0, *place))).collect());
        self.at(*by_key.get(key)?).map(|(_, rest)| rest)
    }

    /// What is known of a file that looks like this, if it can be trusted.
    pub(crate) fn find(&self, key: &Key, stamp: &Stamp) -> Option<Cached> {
        let mut reader = self.entry(key)?;
        let found = Stamp {
            inode: reader.u64()?,
            size: reader.u64()?,
            mtime: i64::from_le_bytes(reader.array()?),
            ctime: i64::from_le_bytes(reader.array()?),
        };
        if found != *stamp || is_racy(stamp, self.began) {
            return None;
        }
        let xattrs = reader.array::<1>()? == [1];
        let count = u32::from_le_bytes(reader.array()?);
        let mut segments = Vec::with_capacity(usize::try_from(count).ok()?);
        for _ in 0..count {
            let (length, id) = (reader.u64()?, BlockId(reader.array()?));
            segments.push(match length & HOLE {
                0 => Segment::Chunk { id, length },
                _ => Segment::Hole { length: length & !HOLE },
            });
        }
        Some(Cached { stamp: found, xattrs, segments })
    }
}

/// Whether a file may have changed after it was read without looking different: its times are not older than the
/// moment at which reading began.
pub(crate) fn is_racy(stamp: &Stamp, began: i64) -> bool {
    let latest = stamp.mtime.max(stamp.ctime);
    let whole_seconds = stamp.mtime % 1_000_000_000 == 0 && stamp.ctime % 1_000_000_000 == 0;
    latest >= if whole_seconds { began.saturating_sub(COARSE) } else { began }
}

/// A cache that is being made. It is begun before anything is looked at.
pub(crate) struct CacheWriter {
    path: PathBuf,
    pub(crate) began: i64,
    count: u64,
    bytes: Vec<u8>,
}

impl CacheWriter {
    /// Begins a cache: takes the time from the clock that stamps files, by touching one.
    ///
    /// # Errors
    /// `denied` or `unavailable`, naming the path.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        let probe = path.with_extension("clock");
        let failed = |errno: rustix::io::Errno| files::io_error("touch", &probe, errno.into());
        if let Some(parent) = path.parent() {
            files::create_private_dir(parent)?;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(CWD, &probe, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        futimens(&file, &Timestamps { last_access: now, last_modification: now }).map_err(failed)?;
        let began = Stamp::of(&fstat(&file).map_err(failed)?).mtime;
        Ok(Self { path: path.to_owned(), began, count: 0, bytes: Vec::new() })
    }

    pub(crate) fn add(&mut self, path: &TreePath, stamp: &Stamp, xattrs: bool, segments: &[Segment]) {
        self.count += 1;
        self.bytes.extend_from_slice(&key(path.as_bytes()));
        for number in [stamp.inode, stamp.size] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        for time in [stamp.mtime, stamp.ctime] {
            self.bytes.extend_from_slice(&time.to_le_bytes());
        }
        self.bytes.push(u8::from(xattrs));
        self.bytes.extend_from_slice(&u32::try_from(segments.len()).unwrap_or(u32::MAX).to_le_bytes());
        for segment in segments {
            let (length, id) = match segment {
                Segment::Chunk { id, length } => (*length, *id),
                Segment::Hole { length } => (length | HOLE, BlockId([0; 32])),
            };
            self.bytes.extend_from_slice(&length.to_le_bytes());
            self.bytes.extend_from_slice(id.as_bytes());
        }
    }

    /// Replaces the cache's file.
    ///
    /// # Errors
    /// `denied` or `unavailable`, naming the path.
    pub(crate) fn finish(self) -> Result<()> {
        let mut whole = Vec::with_capacity(self.bytes.len() + 64);
        whole.extend_from_slice(MAGIC);
        whole.extend_from_slice(&self.began.to_le_bytes());
        whole.extend_from_slice(&self.count.to_le_bytes());
        whole.extend_from_slice(&self.bytes);
        let checksum = blake3::hash(&whole);
        whole.extend_from_slice(checksum.as_bytes());
        // One that a power cut damages is told by its checksum, and one that is older is as right.
        files::replace_unsynced(&self.path, &whole, files::PRIVATE_FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(mtime: i64) -> Stamp {
        Stamp { inode: 1, size: 2, mtime, ctime: mtime }
    }

    fn written(path: &Path, stamps: &[(&str, Stamp)]) -> i64 {
        let mut writer = CacheWriter::begin(path).unwrap();
        let began = writer.began;
        for (name, stamp) in stamps {
            let chunk = Segment::Chunk { id: BlockId([3; 32]), length: 2 };
            writer.add(&TreePath::new(*name).unwrap(), stamp, true, &[chunk, Segment::Hole { length: 7 }]);
        }
        writer.finish().unwrap();
        began
    }

    #[test]
    fn an_entry_is_found_as_long_as_the_file_looks_the_same() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("cache");
        written(&path, &[("a", stamp(1_001)), ("d/b", stamp(1_002))]);
        let cache = StatCache::load(Some(&path)).unwrap();
        assert_eq!((cache.state, cache.len()), (CacheState::Used, 2));
        let found = cache.find(&key(b"d/b"), &stamp(1_002)).unwrap();
        assert!(found.xattrs);
        assert_eq!(found.segments[0], Segment::Chunk { id: BlockId([3; 32]), length: 2 });
        assert_eq!(found.segments[1], Segment::Hole { length: 7 });
        assert_eq!(cache.find(&key(b"d/b"), &stamp(1_003)), None);
        assert_eq!(cache.find(&key(b"c"), &stamp(1_001)), None);
    }

    #[test]
    fn an_entry_that_is_not_older_than_the_scan_is_not_trusted() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("cache");
        let mut writer = CacheWriter::begin(&path).unwrap();
        let began = writer.began;
        for (name, time) in [("older", began - 1), ("same", began), ("later", began + 1)] {
            writer.add(&TreePath::new(name).unwrap(), &stamp(time), false, &[]);
        }
        writer.finish().unwrap();
        let cache = StatCache::load(Some(&path)).unwrap();
        assert!(cache.find(&key(b"older"), &stamp(began - 1)).is_some());
        assert!(cache.find(&key(b"same"), &stamp(began)).is_none());
        assert!(cache.find(&key(b"later"), &stamp(began + 1)).is_none());
    }

    #[test]
    fn whole_seconds_are_taken_for_a_coarse_clock() {
        assert!(is_racy(&stamp(10_000_000_000), 11_500_000_000));
        assert!(!is_racy(&stamp(10_000_000_001), 11_500_000_000));
        assert!(!is_racy(&stamp(10_000_000_000), 12_500_000_000));
    }

    #[test]
    fn every_cut_and_every_flip_counts_as_absent() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("cache");
        written(&path, &[("a", stamp(1_001))]);
        let whole = files::read(&path).unwrap();
        for cut in 0..whole.len() {
            files::write_atomic(&path, &whole[..cut], 0o600).unwrap();
            assert_eq!(StatCache::load(Some(&path)).unwrap().state, CacheState::Damaged, "cut at {cut}");
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(StatCache::parse(flipped).is_none(), "bit {bit}");
        }
        assert_eq!(StatCache::load(Some(&scratch.path().join("none"))).unwrap().state, CacheState::Absent);
    }
}
