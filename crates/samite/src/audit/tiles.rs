//! Files that are derived from a log: its tiles, and the heads of it that witnesses cosigned.

use super::Audit;
use super::archived::{Cold, StoreTiles};
use super::heads::Handed;
use super::read::PAGE;
use futures_lite::future::block_on;
use samite_audit::export::{FolderTiles, export_after, read_head};
use samite_audit::merkle::root;
use samite_audit::tile::TileReader;
use samite_audit::{Leaf, Note, TreeHead};
use samite_host::files::{self, PRIVATE_FILE};
use samite_ledger::LogState;
use samite_model::{EntryKind, Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// How many cosigned heads of a log are kept: a later one does for every leaf of an earlier one.
const COSIGNED: usize = 16;
/// How often others may move leaves while tiles are made of them.
const TRIES: usize = 50;

impl Audit {
    /// Where the tiles of a log are kept.
    pub(super) fn tiles(&self, log: u64) -> Result<PathBuf> {
        let folder = self.derived().map(|folder| folder.join(format!("log-{log}")));
        folder
            .ok_or_else(|| Error::unavailable("no_tiles", "this store has no directory for the tiles of its audit log"))
    }

    /// Brings the tiles up to a head, and reads from them. They are made of the leaves: where they are damaged, or of another
    /// history, as after a backup was put back, or one is missing, they are made again. Of leaves that were moved they are read in
    /// the archive, where that is there.
    pub(super) fn with_tiles<T>(
        &self,
        handed: &Handed,
        read: &mut dyn FnMut(&mut TileReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let (log, mut cold) = (handed.state.log, handed.cold.clone());
        let folder = self.tiles(log)?;
        let _lock = self.lock()?;
        let mut tries = 0..TRIES;
        let mut made_again = false;
        loop {
            let mut moved = false;
            let done = match self.update(&folder, handed, &cold) {
                Ok(size) => read(&mut TileReader::new(size, &mut StoreTiles::new(&folder, &cold))),
                Err(error) => {
                    moved = error.code() == "leaf_archived";
                    Err(error)
                }
            };
            let Err(error) = done else { return done };
            let again = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Conflict | ErrorKind::NotFound);
            if moved && tries.next().is_some() {
                // By others, meanwhile: what is left of them does.
            } else if again && !made_again && error.code() != "leaf_archived" {
                made_again = true;
                if files::exists(&folder)? {
                    files::remove_tree(&folder)?;
                }
            } else {
                return Err(error);
            }
            cold = block_on(self.cold(log))?;
        }
    }

    /// Writes what the tiles lack. Returns their size, which is larger where another process came first and had more.
    fn update(&self, folder: &Path, handed: &Handed, cold: &Cold) -> Result<u64> {
        let leaves = |from| self.leaves_from(&handed.state, from);
        let key = self.key_of(handed.state.log)?;
        match export_after(folder, &handed.note, &key, &cold.roots(), leaves, &mut |_| {}) {
            Err(error) if error.code() == "export_ahead" => {}
            other => drop(other?),
        }
        let other = || Error::corrupt("other_root", format!("{} has another history of the log", folder.display()));
        let signed = read_head(folder)?.ok_or_else(other)?;
        let size = TreeHead::parse(Note::parse(&signed)?.text())?.size;
        let mut tiles = FolderTiles::new(folder);
        if size < handed.head.size
            || root(&mut TileReader::new(size, &mut tiles), handed.head.size)? != handed.head.root
        {
            return Err(other());
        }
        Ok(size)
    }

    pub(super) fn leaves_from(&self, state: &LogState, from: u64) -> Leaves {
        Leaves { audit: self.clone(), log: state.log, next: from, end: state.size, page: Vec::new().into_iter() }
    }

    /// Where the heads of a log are that witnesses cosigned: a file for each, named by its size.
    fn cosigned_folder(&self, log: u64) -> Option<PathBuf> {
        self.derived().map(|folder| folder.join(format!("cosigned-{log}")))
    }

    /// Keeps what a witness cosigned, beside what others did with the same head. When this returns, it is durable.
    pub(super) fn keep_cosigned(&self, log: u64, head: &TreeHead, note: &Note) -> Result<()> {
        let Some(folder) = self.cosigned_folder(log) else { return Ok(()) };
        let _lock = self.lock()?;
        files::create_private_dir(&folder)?;
        let path = folder.join(head.size.to_string());
        let mut kept = note.clone();
        if let Some(bytes) = files::read_if_exists(&path)?
            && let Ok(before) = Note::parse(&bytes)
            && before.text() == note.text()
        {
            // A witness that cosigned it again did so at a later time: that one counts.
            for signature in before.signatures() {
                let again =
                    kept.signatures().iter().any(|one| (&one.name, one.key_id) == (&signature.name, signature.key_id));
                if !again {
                    kept.add(signature.clone());
                }
            }
        }
        files::write_atomic(&path, kept.to_string().as_bytes(), PRIVATE_FILE)?;
        let mut sizes = sizes(&folder)?;
        sizes.sort_unstable();
        for old in sizes.iter().rev().skip(COSIGNED) {
            files::remove(&folder.join(old.to_string()))?;
        }
        Ok(())
    }

    /// The heads of a log that witnesses cosigned, the smallest first: those that are of its history up to this head, as far as
    /// that can still be seen.
    pub(super) fn cosigned(&self, handed: &Handed) -> Result<Vec<(TreeHead, Note)>> {
        let (Some(folder), Some(derived)) = (self.cosigned_folder(handed.state.log), self.derived()) else {
            return Ok(Vec::new());
        };
        // Versions before kept one alone.
        let mut paths = vec![derived.join(format!("log-{}.cosigned", handed.state.log))];
        if files::exists(&folder)? {
            paths.extend(sizes(&folder)?.iter().map(|size| folder.join(size.to_string())));
        }
        let key = self.key_of(handed.state.log)?;
        let mut found: Vec<(TreeHead, Note)> = Vec::new();
        for path in paths {
            let Some(bytes) = files::read_if_exists(&path)? else { continue };
            // Whoever changed it only took a signature away.
            let Ok(opened) = TreeHead::open(&bytes, &key, &[]) else { continue };
            if opened.head.size <= handed.head.size && handed.has(opened.head.size) {
                found.push((opened.head, opened.note));
            }
        }
        if found.is_empty() {
            return Ok(found);
        }
        let mut same = |tiles: &mut TileReader<'_>| {
            let right = |head: &TreeHead, tiles: &mut TileReader<'_>| match root(tiles, head.size) {
                // Since then.
                Err(error) if error.code() == "leaf_archived" => Ok(false),
                found => Ok::<_, Error>(found? == head.root),
            };
            found.iter().map(|(head, _)| right(head, tiles)).collect::<Result<Vec<bool>>>()
        };
        let same = self.with_tiles(handed, &mut same)?;
        let mut found: Vec<_> = found.into_iter().zip(same).filter(|(_, same)| *same).map(|(found, _)| found).collect();
        found.sort_by_key(|(head, _)| head.size);
        Ok(found)
    }

    /// The head to publish: the newest, or the last that a witness cosigned where nothing came after it but what the log says of
    /// publishing itself. So a head that one witness cosigned is what the next one is asked about, and what is exported.
    pub(super) async fn current(&self, handed: &Handed) -> Result<(TreeHead, Note)> {
        let newest = || (handed.head.clone(), handed.note.clone());
        let Some((head, note)) = self.cosigned(handed)?.pop() else { return Ok(newest()) };
        if handed.head.size - head.size > PAGE as u64 || head.size < handed.minimum() {
            return Ok(newest());
        }
        if head.size < handed.head.size {
            let page = match self.page(handed.state.log, head.size, handed.head.size).await {
                // Since then: it is given to nobody any more.
                Err(error) if error.code() == "leaf_archived" => return Ok(newest()),
                page => page?,
            };
            for bytes in page {
                if Leaf::parse(&bytes)?.act.as_str() != EntryKind::HEAD_PUBLISHED.name() {
                    return Ok(newest());
                }
            }
        }
        Ok((head, note))
    }
}

fn sizes(folder: &Path) -> Result<Vec<u64>> {
    Ok(files::list(folder)?.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
}

/// Leaves of a log in their order, read in pages while they are asked for.
pub(super) struct Leaves {
    audit: Audit,
    log: u64,
    next: u64,
    end: u64,
    page: std::vec::IntoIter<Vec<u8>>,
}

impl Iterator for Leaves {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(leaf) = self.page.next() {
            return Some(Ok(leaf));
        }
        if self.next >= self.end {
            return None;
        }
        // The tiles are written by the calling thread, which waits for the disk in any case.
        match block_on(self.audit.page(self.log, self.next, self.end)) {
            Ok(page) => {
                self.next = self.next.saturating_add(page.len() as u64).max(self.next + 1);
                debug_assert!(page.len() <= PAGE, "a page has no more than was asked for");
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => {
                self.next = self.end;
                Some(Err(error))
            }
        }
    }
}
