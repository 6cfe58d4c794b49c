//! The places that a sweep looks through.

use super::search::Search;
use super::{SweepOptions, SweptPlace};
use crate::embedded::Embedded;
use crate::hook::Spool;
use rusqlite::{Connection, OpenFlags};
use samite_blocks::{PackReader, Place, read_index};
use samite_host::files::{self, RangeFile};
use samite_keys::Domain;
use samite_ledger::{BlockIndex as _, BlockPlace, JournalFilter, Ledger as _, Read};
use samite_model::{BlockId, Error, Observer, Pseudonym, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Files are read in pieces of so many bytes.
const PIECE: usize = 1 << 20;
/// Entries are read in pages of so many.
const PAGE: usize = 512;
/// Blocks are listed so many at once.
const BLOCKS: usize = 4096;

/// What kind of place a file of the store is, and what is known to stand in it.
fn kind_of(relative: &Path) -> (&'static str, Option<&'static [u8]>) {
    let name = relative.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let within = |folder: &str| relative.components().any(|part| part.as_os_str() == folder);
    match name {
        "ledger.db" => ("ledger", Some(b"SQLite format 3")),
        "ledger.db-wal" => ("log", None),
        "ledger.db-shm" | "ledger.high" => ("high_water", None),
        "keystore" => ("keys", Some(b"samite-keystore")),
        "node.toml" => ("store", Some(b"format = ")),
        _ if relative.extension().is_some_and(|ending| ending == "pack") => ("packs", Some(b"samite/pack/v1")),
        _ if within("packs") => ("packs", None),
        _ if within("keys") => ("keys", None),
        _ if within("tlog") => ("tiles", None),
        _ if within("caches") => ("caches", None),
        _ if within("lives") => ("lives", None),
        _ if within("merges") => ("merges", None),
        _ => ("store", None),
    }
}

/// Counts places by their kinds.
#[derive(Default)]
struct Tally(Vec<SweptPlace>);

impl Tally {
    fn add(&mut self, name: &'static str, bytes: u64, control: Option<bool>) {
        let known = self.0.iter().position(|place| place.name == name).unwrap_or_else(|| {
            self.0.push(SweptPlace { name, ..SweptPlace::default() });
            self.0.len() - 1
        });
        let Some(place) = self.0.get_mut(known) else { return };
        place.units += 1;
        place.bytes += bytes;
        place.control = match (place.control, control) {
            (Some(before), Some(now)) => Some(before && now),
            (before, now) => before.or(now),
        };
    }
}

impl Embedded {
    /// The raw bytes of all files: of the store, of the notes of hooks beside it, and of what is named.
    pub(super) fn sweep_files(&self, search: &mut Search, options: &SweepOptions) -> Result<Vec<SweptPlace>> {
        let mut tally = Tally::default();
        let mut done = 0;
        let store = files::canonical(self.directory())?;
        for path in files::files_below(&store)?.files {
            let (name, control) = kind_of(path.strip_prefix(&store).unwrap_or(&path));
            // A pack that is being written has no index yet, and another process may take a file away.
            let (bytes, control) = match sweep_file(search, name, &path, control) {
                Err(error) if error.code() == "not_there" || !files::exists(&path)? => continue,
                other => other?,
            };
            done += bytes;
            options.observer.tell("looking through files (bytes)", done, None);
            tally.add(name, bytes, control);
        }
        let spool = Spool::beside(self.directory());
        if files::exists(spool.path())? {
            let (bytes, _) = sweep_file(search, "notes", spool.path(), None)?;
            tally.add("notes", bytes, None);
        }
        for also in &options.also {
            let below: Vec<PathBuf> = if also.is_dir() { files::files_below(also)?.files } else { vec![also.clone()] };
            for path in below {
                let (bytes, _) = sweep_file(search, "also", &path, None)?;
                done += bytes;
                options.observer.tell("looking through files (bytes)", done, None);
                tally.add("also", bytes, None);
            }
        }
        Ok(tally.0)
    }

    /// What SQLite says of the data by itself: statistics, and its own words for the tables.
    pub(super) fn sweep_database(&self, search: &mut Search) -> Result<SweptPlace> {
        let path = self.home().join("ledger.db");
        let failed = |error: rusqlite::Error| {
            Error::unavailable("sweep_failed", "the ledger's tables cannot be looked through").because(error)
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(&path, flags).map_err(failed)?;
        let mut place = SweptPlace { name: "statistics", ..SweptPlace::default() };
        search.expect(Some(b"CREATE TABLE entry".to_vec()));
        let mut names: Vec<String> = Vec::new();
        {
            let mut tables = database.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema").map_err(failed)?;
            let mut rows = tables.query([]).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                let (name, sql): (String, String) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
                place.units += 1;
                place.bytes += sql.len() as u64;
                search.look("statistics", &|| name.clone(), sql.as_bytes());
                if name.starts_with("sqlite_stat") {
                    names.push(name);
                }
            }
        }
        place.control = search.control();
        for name in names {
            let mut rows = database.prepare(&format!("SELECT * FROM {name}")).map_err(failed)?;
            let columns = rows.column_count();
            let mut rows = rows.query([]).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                for column in 0..columns {
                    let value = row.get_ref(column).map_err(failed)?;
                    let bytes = value.as_bytes().unwrap_or_default();
                    place.units += 1;
                    place.bytes += bytes.len() as u64;
                    search.look("statistics", &|| name.clone(), bytes);
                }
            }
        }
        Ok(place)
    }

    /// All payloads that can be opened, and the headers.
    pub(super) async fn sweep_payloads(&self, search: &mut Search, observer: &Observer) -> Result<SweptPlace> {
        let core = &self.store().core;
        let mut place = SweptPlace { name: "payloads", ..SweptPlace::default() };
        let mut sample = true;
        for state in self.ledger().journals(JournalFilter::default()).await? {
            let mut from = state.parent.map_or(1, |parent| parent.seq + 1);
            while from <= state.head {
                let read = Read { limit: PAGE, unchecked: true, ..Read::range(state.id, from, state.head) };
                let page = self.ledger().read(read).await?;
                let Some(last) = page.last() else { break };
                from = last.seq + 1;
                for stored in &page {
                    let at = || format!("journal {}, seq {}", state.id, stored.seq);
                    place.units += 1;
                    place.bytes += stored.header.len() as u64;
                    search.look("payloads", &at, &stored.header);
                    let Ok(entry) = core.open(state.id, stored).and_then(|entry| core.whole(entry)) else {
                        place.sealed += 1;
                        continue;
                    };
                    let Some(payload) = &entry.payload else {
                        place.sealed += 1;
                        continue;
                    };
                    // The first that is read as anybody reads it must be found by looking for a part of it.
                    if std::mem::take(&mut sample) {
                        let middle = payload.len() / 2;
                        search.expect(
                            payload
                                .get(middle.saturating_sub(12)..)
                                .map(|part| part.iter().copied().take(24).collect()),
                        );
                        search.look("payloads", &at, payload);
                        place.control = search.control();
                    } else {
                        search.look("payloads", &at, payload);
                    }
                    place.bytes += payload.len() as u64;
                }
                observer.tell("looking through payloads", place.units, None);
            }
        }
        Ok(place)
    }

    /// All blocks that can be opened: those that the index knows, and those that only stand in a pack.
    pub(super) async fn sweep_blocks(&self, search: &mut Search, observer: &Observer) -> Result<SweptPlace> {
        let core = &self.store().core;
        let mut place = SweptPlace { name: "blocks", ..SweptPlace::default() };
        let tenant = core.0.keys.tenant_pseudonym();
        let mut open = |id: BlockId, owner: Pseudonym, sealed: &[u8], place: &mut SweptPlace| {
            let domain = if owner == tenant { Domain::Tenant } else { Domain::Owner(owner) };
            place.units += 1;
            // Whatever it is sealed with: what an open index does not say is found out here.
            match core.0.keys.open_block(domain, id, sealed) {
                Ok(bytes) => {
                    place.bytes += bytes.len() as u64;
                    search.look("blocks", &|| format!("block {id}"), &bytes);
                }
                Err(_) => place.sealed += 1,
            }
        };
        let mut seen: HashSet<BlockId> = HashSet::new();
        let reader = PackReader::new(&*core.0.packs);
        for pack in core.0.packs.list().await? {
            let Ok(index) = read_index(&*core.0.packs, pack.id).await else { continue };
            for block in &index.blocks {
                let at = Place { id: block.id, pack: pack.id, offset: block.offset, length: block.length };
                let Ok(sealed) = reader.read(at).await else { continue };
                open(block.id, block.owner, &sealed, &mut place);
                seen.insert(block.id);
            }
            observer.tell("looking through blocks", place.units, None);
        }
        let mut after = None;
        loop {
            let page = self.ledger().blocks(after, BLOCKS).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            for block in page.iter().filter(|block| matches!(block.place, BlockPlace::Inline(_))) {
                if let Some(sealed) = self.ledger().inline_blocks(vec![block.id]).await?.pop().flatten() {
                    open(block.id, block.owner, &sealed, &mut place);
                }
            }
            observer.tell("looking through blocks", place.units, None);
        }
        Ok(place)
    }

    /// The names behind pseudonyms, and what the master keeps of the store.
    pub(super) fn sweep_names(&self, search: &mut Search) -> Result<SweptPlace> {
        let core = &self.store().core;
        let mut place = SweptPlace { name: "names", ..SweptPlace::default() };
        for subject in core.0.keys.subjects()? {
            if let Some(name) = core.0.keys.owner_name(subject.pseudonym)? {
                place.units += 1;
                place.bytes += name.as_str().len() as u64;
                search.look("names", &|| format!("subject {}", subject.pseudonym), name.as_str().as_bytes());
            }
        }
        if let Some(note) = core.0.keys.note("erasures")? {
            place.units += 1;
            place.bytes += note.len() as u64;
            search.look("names", &|| "the note of erasures".to_owned(), &note);
        }
        Ok(place)
    }
}

/// Looks through a file, and says how many bytes it has and whether what is known to stand in it was found.
fn sweep_file(
    search: &mut Search,
    name: &'static str,
    path: &Path,
    control: Option<&'static [u8]>,
) -> Result<(u64, Option<bool>)> {
    let file = RangeFile::open(path)?;
    search.expect(control.map(<[u8]>::to_vec));
    let mut offset = 0;
    let bytes = search.stream(name, &|| path.display().to_string(), || {
        let mut piece = vec![0; PIECE];
        let count = file.fill_at(offset, &mut piece)?;
        piece.truncate(count);
        offset += count as u64;
        Ok((count > 0).then_some(piece))
    })?;
    Ok((bytes, search.control()))
}
