//! What is kept of a namespace between processes: where its records stand up to a seq, and their words' index, in a sealed file beside
//! the ledger. Whoever reads it goes on from the ledger; what is damaged, or of another history, is made again.

use super::cache::{Kept, Slot, locked};
use crate::core::Core;
use samite_host::files::{self, FileLock};
use samite_host::kill_point;
use samite_keys::{Domain, MAXIMUM_BLOCK};
use samite_ledger::JournalState;
use samite_memory::Standings;
use samite_memory::lexical::Part;
use samite_memory::search::Index;
use samite_model::{BlockId, Error, JournalId, Link, Pseudonym, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// The file in the directory of a namespace's journal.
const NAME: &str = "records.index";

/// Who has it writes there or removes what is there; beside the directory of all namespaces.
pub(crate) const LOCK: &str = "memory.lock";

/// The file, and its version.
const MAGIC: &[u8; 8] = b"samite\0\x01";

/// What a sealed piece of the file is, among the kinds of sealed blocks.
const PIECE: u8 = 10;

/// It is written anew once there are so many entries more, and more than an eighth of those that it has: not for each of many writes.
const GROWN: u64 = 256;
const SHARE: u64 = 8;

const HASH: usize = 32;

impl Core {
    fn kept_path(&self, journal: JournalId) -> Option<PathBuf> {
        Some(self.0.memory.as_ref()?.join(journal.to_string()).join(NAME))
    }

    /// What a file has of a namespace; nothing where there is none, or none that can be used.
    pub(super) fn read_kept(&self, state: &JournalState, erasures: u64) -> Kept {
        let read = || -> Result<Option<Kept>> {
            let Some(path) = self.kept_path(state.id) else { return Ok(None) };
            let Some(bytes) = files::read_if_exists(&path)? else { return Ok(None) };
            decode(&self.open_kept(state.owner, &bytes)?, state.id, erasures).map(Some)
        };
        // Whatever is wrong with it, it is made again.
        read().ok().flatten().unwrap_or_else(Kept::anew)
    }

    /// Writes the file where it lags far enough. Nothing of that fails who reads.
    pub(super) async fn file_kept(&self, state: &JournalState, slot: &Slot, erasures: u64) -> Result<()> {
        let Some(path) = self.kept_path(state.id) else { return Ok(()) };
        let (kept, filed) = {
            let kept = locked(slot);
            (Kept::copy(&kept), kept.filed.unwrap_or(0))
        };
        let grown = kept.seq.saturating_sub(filed);
        if grown < GROWN || grown <= filed / SHARE {
            return Ok(());
        }
        let sealed = self.seal_kept(state.owner, &encode(&kept, state.id, erasures)?)?;
        if !self.write_unless_erased(&path, &sealed, erasures).await? {
            return Ok(());
        }
        locked(slot).filed = Some(kept.seq);
        Ok(())
    }

    /// Writes a file that is kept beside the ledger, unless an erasure came in between since `erasures` was asked: none that comes later
    /// misses it, even where this process is killed at any moment. Whether it was written.
    pub(super) async fn write_unless_erased(
        &self,
        path: &std::path::Path,
        bytes: &[u8],
        erasures: u64,
    ) -> Result<bool> {
        let (Some(all), Some(directory)) = (&self.0.memory, path.parent()) else { return Ok(false) };
        // Whoever removes files has no time for this.
        let Some(_lock) = FileLock::try_acquire(&all.with_file_name(LOCK))? else { return Ok(false) };
        if self.settled_erasures().await? != Some(erasures) {
            return Ok(false);
        }
        files::create_private_dir(directory)?;
        kill_point("memory.before_index");
        // One that a power cut damaged is told by its hash.
        files::replace_unsynced(path, bytes, files::PRIVATE_FILE)?;
        kill_point("memory.index_kept");
        Ok(true)
    }

    /// Pieces of at most 16 MiB, each sealed for its owner: block id ‖ length (u32) ‖ sealed bytes.
    fn seal_kept(&self, owner: Pseudonym, plain: &[u8]) -> Result<Vec<u8>> {
        let domain = Domain::Owner(owner);
        let mut bytes = MAGIC.to_vec();
        for piece in plain.chunks(MAXIMUM_BLOCK) {
            let id = self.0.keys.block_id(domain, PIECE, piece)?;
            let sealed = self.0.keys.seal_block(domain, id, PIECE, piece)?;
            bytes.extend(id.as_bytes());
            bytes.extend(u32::try_from(sealed.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend(sealed);
        }
        Ok(bytes)
    }

    fn open_kept(&self, owner: Pseudonym, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let mut plain = Vec::new();
        while !rest.is_empty() {
            let (id, after) = rest.split_first_chunk().ok_or_else(damaged)?;
            let (length, after) = after.split_first_chunk::<4>().ok_or_else(damaged)?;
            let (sealed, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or_else(damaged)?;
            plain.extend(self.0.keys.open_block(Domain::Owner(owner), BlockId(*id), sealed)?);
            rest = after;
        }
        Ok(plain)
    }
}

fn damaged() -> Error {
    Error::corrupt("bad_memory_index", "the kept index of a namespace is damaged, or of another one")
        .hint("it is made again from the namespace's journal")
}

/// The hash of what follows ‖ journal ‖ seq ‖ link there ‖ erasures so far ‖ standings and parts, each with its length before it.
fn encode(kept: &Kept, journal: JournalId, erasures: u64) -> Result<Vec<u8>> {
    let mut bytes = journal.0.to_vec();
    bytes.extend(kept.seq.to_be_bytes());
    bytes.extend(kept.link.ok_or_else(damaged)?.0);
    bytes.extend(erasures.to_be_bytes());
    let parts = kept.index.parts().map(Part::encode);
    for piece in std::iter::once(kept.standings.encode()?).chain(parts) {
        bytes.extend((piece.len() as u64).to_be_bytes());
        bytes.extend(piece);
    }
    Ok([&blake3::hash(&bytes).as_bytes()[..], &bytes].concat())
}

fn decode(bytes: &[u8], journal: JournalId, erasures: u64) -> Result<Kept> {
    let (hash, mut rest) = bytes.split_first_chunk::<HASH>().ok_or_else(damaged)?;
    if blake3::hash(rest).as_bytes() != hash {
        return Err(damaged());
    }
    let mut take = |length: u64| {
        let (piece, after) =
            rest.split_at_checked(usize::try_from(length).unwrap_or(usize::MAX)).ok_or_else(damaged)?;
        rest = after;
        Ok::<_, Error>((piece, after.is_empty()))
    };
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).map_err(|_| damaged());
    let of = JournalId::from_slice(take(16)?.0)?;
    let seq = number(take(8)?.0)?;
    let link = Link::from_slice(take(32)?.0)?;
    if of != journal || seq == 0 || number(take(8)?.0)? != erasures {
        return Err(damaged());
    }
    let length = number(take(8)?.0)?;
    let (standings, mut is_end) = take(length)?;
    let standings = Standings::decode(standings)?;
    let mut parts = Vec::new();
    while !is_end {
        let length = number(take(8)?.0)?;
        let (part, end) = take(length)?;
        parts.push(Part::decode(part)?);
        is_end = end;
    }
    let index = Index::from_parts(&standings, parts)?;
    Ok(Kept::filed(seq, link, Arc::new(standings), Arc::new(index)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_model::memory::{Asserted, Operation, Provenance, Record, RecordKind, Trust, Validity, WriterName};
    use samite_model::{Fingerprint, Position, RecordId};

    fn kept() -> Kept {
        let mut standings = Standings::default();
        for number in 1..6 {
            let writer = WriterName { user: "ada".into(), agent: "test".into(), workload: "suite".into() };
            let provenance = Provenance {
                session: None,
                branch: None,
                entries: Vec::new(),
                step: None,
                inputs: Vec::new(),
                source: None,
                extractor: None,
                writer,
                trust: Trust::User,
            };
            let record = Record {
                record: RecordId([number; 16]),
                kind: RecordKind::Semantic,
                text: format!("the lamp {number}"),
                metadata: serde_json::Map::new(),
                edge: None,
                valid: Validity::default(),
                previous: None,
                provenance,
            };
            let content = Fingerprint([number; 16]);
            let asserted = Asserted { namespace: None, record, replaces: None, content, origin: None };
            let at = Position { journal: JournalId([9; 16]), seq: u64::from(number) };
            standings.apply(at, 7, Operation::Asserted(Box::new(asserted)));
        }
        let mut index = Index::default();
        index.catch_up(&standings).unwrap();
        Kept::filed(6, Link([4; 32]), Arc::new(standings), Arc::new(index))
    }

    #[test]
    fn what_is_read_is_what_was_written_and_no_change_of_it_is_taken() {
        let (kept, journal) = (kept(), JournalId([9; 16]));
        let bytes = encode(&kept, journal, 3).unwrap();
        let read = decode(&bytes, journal, 3).unwrap();
        assert_eq!((read.seq, read.link, read.filed), (6, Some(Link([4; 32])), Some(6)));
        assert_eq!(read.standings, kept.standings);
        assert_eq!(encode(&read, journal, 3).unwrap(), bytes);
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length], journal, 3).is_err());
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            assert!(decode(&changed, journal, 3).is_err(), "{place}");
        }
        assert!(decode(&[&bytes[..], &[0]].concat(), journal, 3).is_err());
        // Of another namespace, or from before an erasure.
        assert!(decode(&bytes, JournalId([8; 16]), 3).is_err());
        assert!(decode(&bytes, journal, 4).is_err());
    }
}
