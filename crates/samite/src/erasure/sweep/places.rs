//! The places that a sweep looks through.

use super::search::Search;
use super::{SweepOptions, SweptPlace};
use crate::embedded::Embedded;
use crate::hook::Spool;
use samite_host::files::{self, RangeFile};
use samite_ledger::{JournalFilter, JournalKind, Ledger as _, Read};
use samite_model::{ErrorKind, Observer, Result};
use std::path::{Path, PathBuf};

/// Files are read in pieces of so many bytes.
const PIECE: usize = 1 << 20;
/// Entries are read in pages of so many.
const PAGE: usize = 512;

/// What kind of place a file of the store is, and what is known to stand in it.
fn kind_of(relative: &Path) -> (&'static str, Option<&'static [u8]>) {
    let name = relative.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let within = |folder: &str| relative.components().any(|part| part.as_os_str() == folder);
    match name {
        "ledger.db" => ("ledger", Some(b"SQLite format 3")),
        "ledger.db-wal" => ("log", None),
        "ledger.high" => ("high_water", None),
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
        for path in files::files_below(&store)?.files.into_iter().filter(|path| !is_index_of_log(path)) {
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
            for path in below.into_iter().filter(|path| !is_index_of_log(path)) {
                let (bytes, _) = sweep_file(search, "also", &path, None)?;
                done += bytes;
                options.observer.tell("looking through files (bytes)", done, None);
                tally.add("also", bytes, None);
            }
        }
        Ok(tally.0)
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
                    let at = || match state.kind {
                        // As commands name it.
                        JournalKind::Branch => format!("{}:{}@{}", state.family.short(), state.id.short(), stored.seq),
                        _ => format!("journal {}, seq {}", state.id, stored.seq),
                    };
                    place.units += 1;
                    place.bytes += stored.header.len() as u64;
                    search.look("payloads", &at, &stored.header);
                    let entry = match core.open(state.id, stored).and_then(|entry| core.whole(entry)) {
                        Ok(entry) => entry,
                        Err(error) => {
                            let is_damaged = error.kind() == ErrorKind::Corrupt;
                            *if is_damaged { &mut place.unread } else { &mut place.sealed } += 1;
                            continue;
                        }
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

/// Whether a file is a database's: who closes a descriptor of one gives up the locks of all of the process's connections to it.
pub(super) fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "db")
}

/// Whether a file is what processes share to find their way in a database's log: it holds numbers of pages and locks, and
/// nothing that was written. It is not opened, for the locks' sake.
fn is_index_of_log(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "db-shm")
}

/// Looks through a file, and says how many bytes it has and whether what is known to stand in it was found.
fn sweep_file(
    search: &mut Search,
    name: &'static str,
    path: &Path,
    control: Option<&'static [u8]>,
) -> Result<(u64, Option<bool>)> {
    let opened;
    let file = if is_database(path) {
        files::open_for_good(path)?
    } else {
        opened = RangeFile::open(path)?;
        &opened
    };
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
