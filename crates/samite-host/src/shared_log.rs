//! A small file in which several processes leave records. Appends are never synced.
//!
//! It has two halves of a fixed size. Records fill one half; whoever finds it full begins the other with what is worth
//! keeping. So the file neither grows nor gets a new name, and an append changes nothing of its inode: a file that
//! grows makes the sync of a file beside it, whose inode lies in the same block, write that block too.
//!
//! In the place of a half's first record stand the byte 255, seven zeroes and how often the file was turned, as eight
//! bytes: the half that was begun last is the one that is being filled.

use crate::files::{PATIENCE, PRIVATE_FILE, io_error, lock_within};
use samite_model::Result;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

/// How many bytes half of the file has, at most: 32 KiB.
const HALF: usize = 32 << 10;
const HALVES: usize = 2;
/// How many bytes are read at once.
const PIECE: usize = 4 << 10;
static EMPTY: [u8; PIECE] = [0; PIECE];
/// How many bytes stand before the records of a half, of those in the place of its first.
const HEADER: usize = 16;

/// A file of records of one size, 16 bytes or more, none of which begins with 0 or 255. What is appended survives the
/// process, not necessarily the machine.
#[derive(Debug)]
pub struct SharedLog {
    path: PathBuf,
    file: File,
    /// How many bytes a record has.
    record: usize,
    /// How many bytes half of the file has: whole records.
    size: usize,
    /// Where the half begins that is being filled.
    half: usize,
    /// How often the file was turned when that half was begun.
    turns: u64,
    /// How many bytes of it hold records, unless another process was faster.
    used: usize,
}

/// A [`SharedLog`] that no other process changes meanwhile.
#[derive(Debug)]
pub struct LockedLog<'log> {
    log: &'log mut SharedLog,
}

impl SharedLog {
    /// Opens a file of records of so many bytes, or makes it, readable by its user alone.
    ///
    /// # Errors
    /// As [`crate::files`]: `unavailable` (`read_only`, `disk_full`) or `denied` where it cannot be written.
    pub fn open(path: impl Into<PathBuf>, record: usize) -> Result<Self> {
        let path = path.into();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE_FILE);
        let file = options.open(&path).map_err(|error| io_error("open", &path, error))?;
        let record = record.max(HEADER);
        let mut log = Self { path, file, record, size: HALF / record * record, half: 0, turns: 0, used: 0 };
        let locked = log.lock()?;
        locked.log.make_whole()?;
        let halves = locked.halves()?;
        locked.log.find(&halves);
        drop(locked);
        Ok(log)
    }

    /// Appends whole records; whether there was room. When this returns, other processes see them; a machine that loses
    /// power may not.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be written.
    pub fn append(&mut self, records: &[u8]) -> Result<bool> {
        self.hold()?;
        let written = self.append_locked(records);
        self.release();
        written.map_err(|error| io_error("append to", &self.path, error))
    }

    /// Locks the file against other processes until the value is dropped; waits for those that hold it.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be locked.
    pub fn lock(&mut self) -> Result<LockedLog<'_>> {
        self.hold()?;
        Ok(LockedLog { log: self })
    }

    fn append_locked(&mut self, records: &[u8]) -> std::io::Result<bool> {
        if self.used + records.len() > self.size {
            return Ok(false);
        }
        let mut there = vec![0; records.len()];
        self.file.read_exact_at(&mut there, self.next())?;
        if there.iter().any(|byte| *byte != 0) {
            // Another process was faster.
            let mut rest = vec![0; self.size - self.used];
            self.file.read_exact_at(&mut rest, self.next())?;
            self.used += self.used(&rest);
            if self.used + records.len() > self.size {
                return Ok(false);
            }
        }
        self.file.write_all_at(records, self.next())?;
        self.used += records.len();
        Ok(true)
    }

    /// Where the next record goes.
    fn next(&self) -> u64 {
        (self.half + self.used) as u64
    }

    /// Finds the half that is being filled.
    fn find(&mut self, [first, second]: &[Vec<u8>; HALVES]) {
        let (begin, half) = if turns(first) >= turns(second) { (0, first) } else { (self.size, second) };
        self.half = begin;
        self.turns = turns(half);
        self.used = half.len().max(self.record);
    }

    /// How many bytes of half the file are in use: up to the last record that is not all zeroes.
    fn used(&self, bytes: &[u8]) -> usize {
        let last = bytes.iter().rposition(|byte| *byte != 0);
        last.map_or(0, |last| (last / self.record + 1) * self.record)
    }

    /// Writes what is missing of a file that is new or was cut.
    fn make_whole(&self) -> Result<()> {
        let make = || -> std::io::Result<()> {
            let length = self.file.metadata()?.len();
            let missing = ((HALVES * self.size) as u64).saturating_sub(length);
            self.file.write_all_at(&vec![0; usize::try_from(missing).unwrap_or_default()], length)?;
            if length == 0 { self.file.write_all_at(&header(1), 0) } else { Ok(()) }
        };
        make().map_err(|error| io_error("make", &self.path, error))
    }

    fn hold(&self) -> Result<()> {
        lock_within(&self.file, &self.path, PATIENCE)
    }

    fn release(&self) {
        // An unlock of a lock that is held does not fail; closing the file would end it too.
        let _ = self.file.unlock();
    }
}

impl LockedLog<'_> {
    /// All records of the file, those that were begun last at the end, and others of the same size between them.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read.
    pub fn read(&mut self) -> Result<Vec<u8>> {
        let halves = self.halves()?;
        self.log.find(&halves);
        let [first, second] = &halves;
        Ok(if self.log.half == 0 { [second.as_slice(), first].concat() } else { [first.as_slice(), second].concat() })
    }

    /// The part of each half that is in use.
    fn halves(&self) -> Result<[Vec<u8>; HALVES]> {
        let read = || Ok([self.half(0)?, self.half(self.log.size)?]);
        read().map_err(|error| io_error("read", &self.log.path, error))
    }

    /// Reads a half piece by piece: most of it is empty, and a command that lives for a few milliseconds has no memory yet
    /// that is as large as all of it.
    fn half(&self, begin: usize) -> std::io::Result<Vec<u8>> {
        let (size, mut half, mut piece) = (self.log.size, Vec::new(), [0; PIECE]);
        for at in (0..size).step_by(PIECE) {
            let piece = piece.split_at_mut(PIECE.min(size - at)).0;
            self.log.file.read_exact_at(piece, (begin + at) as u64)?;
            if EMPTY.get(..piece.len()) != Some(&*piece) {
                half.resize(at, 0);
                half.extend_from_slice(piece);
            }
        }
        half.resize(self.log.used(&half), 0);
        Ok(half)
    }

    /// Begins the other half with these records; at most 30 KiB of them. What the half before holds can still be read,
    /// so that nothing is lost if this is interrupted. Call it after [`LockedLog::read`].
    ///
    /// # Errors
    /// `unavailable` when it cannot be written.
    pub fn turn(mut self, records: &[u8]) -> Result<()> {
        let (size, half) = (self.log.size, self.log.half);
        self.write(size - half, size, records)
    }

    /// Leaves these records and no others. When this returns, that is durable.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written.
    pub fn replace(mut self, records: &[u8]) -> Result<()> {
        let size = self.log.size;
        self.write(0, HALVES * size, records)?;
        self.log.file.sync_data().map_err(|error| io_error("sync", &self.log.path, error))
    }

    fn write(&mut self, begin: usize, length: usize, records: &[u8]) -> Result<()> {
        let turns = self.log.turns.saturating_add(1);
        let mut bytes = header(turns).to_vec();
        bytes.resize(self.log.record, 0);
        bytes.extend_from_slice(records);
        let used = bytes.len();
        bytes.resize(length, 0);
        crate::kill_point("shared_log.before_write");
        let written = self.log.file.write_all_at(&bytes, begin as u64);
        written.map_err(|error| io_error("write", &self.log.path, error))?;
        (self.log.half, self.log.turns, self.log.used) = (begin, turns, used);
        Ok(())
    }
}

/// What stands before the records of a half.
fn header(turns: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[0] = 0xff;
    if let Some(last) = header.last_chunk_mut::<8>() {
        *last = turns.to_be_bytes();
    }
    header
}

/// How often the file was turned when a half was begun; 0 for one that never was.
fn turns(half: &[u8]) -> u64 {
    match half.first_chunk::<HEADER>() {
        Some([0xff, 0, 0, 0, 0, 0, 0, 0, turns @ ..]) => u64::from_be_bytes(*turns),
        _ => 0,
    }
}

impl Drop for LockedLog<'_> {
    fn drop(&mut self) {
        self.log.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{read, write_atomic};
    use std::path::Path;

    const RECORD: usize = 16;

    fn open(path: &Path) -> SharedLog {
        SharedLog::open(path, RECORD).unwrap()
    }

    /// A record for each letter.
    fn all(letters: &str) -> Vec<u8> {
        letters.bytes().flat_map(|letter| [letter; RECORD]).collect()
    }

    /// The letters of the records in these bytes, in the order of their places.
    fn letters(bytes: &[u8]) -> String {
        bytes.chunks(RECORD).map(|record| char::from(record[0])).filter(char::is_ascii_lowercase).collect()
    }

    #[test]
    fn a_new_file_has_the_documented_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = open(&path);
        assert!(log.append(&all("a")).unwrap());
        let bytes = read(&path).unwrap();
        assert_eq!(bytes[..16], [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes[16..32], [b'a'; 16]);
        assert!(bytes[32..].iter().all(|byte| *byte == 0));
        log.lock().unwrap().turn(&all("b")).unwrap();
        let bytes = read(&path).unwrap();
        assert_eq!(bytes[HALF..HALF + 16], [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(letters(&bytes), "ab");
    }

    #[test]
    fn two_processes_append_and_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (mut one, mut other) = (open(&path), open(&path));
        assert!(one.append(&all("a")).unwrap());
        assert!(other.append(&all("bb")).unwrap());
        assert!(one.append(&all("c")).unwrap());
        let mut locked = one.lock().unwrap();
        assert_eq!(letters(&locked.read().unwrap()), "abbc");
        locked.turn(&all("d")).unwrap();
        assert!(one.append(&all("e")).unwrap());
        // The other has not seen the turn: what it appends counts all the same.
        assert!(other.append(&all("f")).unwrap());
        let mut locked = one.lock().unwrap();
        assert_eq!(letters(&locked.read().unwrap()), "abbcfde");
        locked.turn(&all("g")).unwrap();
        assert!(other.append(&all("h")).unwrap());
        let mut locked = other.lock().unwrap();
        assert_eq!(letters(&locked.read().unwrap()), "degh");
        locked.replace(&all("i")).unwrap();
        assert!(one.append(&all("j")).unwrap());
        assert_eq!(letters(&read(&path).unwrap()), "ij");
    }

    #[test]
    fn a_half_that_is_full_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (mut one, mut other) = (open(&path), open(&path));
        assert!(one.append(&vec![b'.'; HALF - 2 * RECORD]).unwrap());
        assert!(!one.append(&all("aa")).unwrap());
        assert!(!other.append(&all("aa")).unwrap());
        assert!(other.append(&all("a")).unwrap());
        assert!(!one.append(&all("b")).unwrap());
        let mut locked = other.lock().unwrap();
        locked.read().unwrap();
        locked.turn(&all("c")).unwrap();
        assert!(other.append(&all("d")).unwrap());
        // Who comes later goes on where the others are.
        assert!(open(&path).append(&all("e")).unwrap());
        assert_eq!(letters(&read(&path).unwrap()), "acde");
    }

    #[test]
    fn a_file_that_was_cut_is_made_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert!(open(&path).append(&all("ab")).unwrap());
        let bytes = read(&path).unwrap();
        for cut in [0, 1, 15, 16, 31, 32, 40, HALF, HALF + 1] {
            write_atomic(&path, &bytes[..cut], PRIVATE_FILE).unwrap();
            let mut log = open(&path);
            assert!(log.append(&all("c")).unwrap());
            let left = letters(&read(&path).unwrap());
            assert!(left.ends_with('c') && (cut < 32 || left.starts_with('a')), "{cut}: {left}");
        }
    }

    #[test]
    fn nothing_is_lost_between_those_who_append_and_those_who_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::thread::scope(|scope| {
            for writer in 1..3_u8 {
                let path = &path;
                scope.spawn(move || {
                    let mut log = open(path);
                    for count in 0..=255_u8 {
                        let mut record = [writer; RECORD];
                        record[1] = count;
                        assert!(log.append(&record).unwrap());
                        if count % 16 == 7 {
                            let mut locked = log.lock().unwrap();
                            let all = locked.read().unwrap();
                            let known = |record: &&[u8]| record[0] == 1 || record[0] == 2;
                            let mut all: Vec<&[u8]> = all.chunks(RECORD).filter(known).collect();
                            all.sort_unstable();
                            all.dedup();
                            locked.turn(&all.concat()).unwrap();
                        }
                    }
                });
            }
        });
        let all = read(&path).unwrap();
        for writer in 1..3_u8 {
            for count in 0..=255_u8 {
                assert!(all.chunks(RECORD).any(|record| record[..2] == [writer, count]), "{writer} {count}");
            }
        }
    }
}
