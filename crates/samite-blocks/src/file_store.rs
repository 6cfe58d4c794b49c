//! Packs as files: `xx/<id>.pack`, where `xx` is the id's first byte.

use crate::store::{PackInfo, PackStore, PackUpload};
use async_trait::async_trait;
use samite_host::files::{self, AppendFile, RangeFile};
use samite_host::kill_point;
use samite_model::{Error, PackId, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Packs that are kept open for reading.
const OPEN_FILES: usize = 16;

/// Packs in the files of one directory. Its methods wait for the disk in the calling thread.
#[derive(Debug)]
pub struct FilePackStore {
    directory: PathBuf,
    open: Mutex<Vec<(PackId, Arc<RangeFile>)>>,
}

impl FilePackStore {
    /// Packs in this directory, which is made (0700) when it does not exist.
    ///
    /// # Errors
    /// `denied` or `unavailable`, naming the path.
    pub fn open(directory: &Path) -> Result<Self> {
        if !files::exists(directory)? {
            files::create_private_dir(directory)?;
        }
        Ok(Self { directory: directory.to_owned(), open: Mutex::new(Vec::new()) })
    }

    /// The file of a pack.
    pub fn path(&self, pack: PackId) -> PathBuf {
        let name = pack.to_string();
        self.directory.join(name.get(..2).unwrap_or_default()).join(format!("{name}.pack"))
    }

    fn unfinished(&self, pack: PackId) -> PathBuf {
        self.path(pack).with_extension("part")
    }

    fn file(&self, pack: PackId) -> Result<Arc<RangeFile>> {
        let mut open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, file)) = open.iter().find(|(id, _)| *id == pack) {
            return Ok(Arc::clone(file));
        }
        let path = self.path(pack);
        let file = RangeFile::open(&path).map_err(|error| match error.code() {
            "no_file" => Error::corrupt("pack_missing", format!("pack {pack} is gone: there is no {}", path.display()))
                .hint("restore it from a backup; what is in other packs can be read"),
            _ => error,
        })?;
        let file = Arc::new(file);
        if open.len() >= OPEN_FILES {
            open.remove(0);
        }
        open.push((pack, Arc::clone(&file)));
        Ok(file)
    }
}

struct FileUpload {
    file: AppendFile,
    unfinished: PathBuf,
    finished: PathBuf,
    done: bool,
}

#[async_trait]
impl PackUpload for FileUpload {
    async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes).map(drop)
    }

    async fn finish(mut self: Box<Self>) -> Result<()> {
        self.file.sync()?;
        kill_point("pack.synced");
        files::rename(&self.unfinished, &self.finished)?;
        self.done = true;
        kill_point("pack.finished");
        Ok(())
    }
}

impl Drop for FileUpload {
    fn drop(&mut self) {
        if !self.done {
            // Collection removes it if this does not.
            let _ = files::remove(&self.unfinished);
        }
    }
}

#[async_trait]
impl PackStore for FilePackStore {
    async fn put(&self, pack: PackId) -> Result<Box<dyn PackUpload>> {
        let (finished, unfinished) = (self.path(pack), self.unfinished(pack));
        if files::exists(&finished)? {
            return Err(Error::conflict("pack_exists", format!("pack {pack} exists already")));
        }
        files::create_private_dir(finished.parent().unwrap_or(&self.directory))?;
        let file = AppendFile::create(&unfinished).map_err(|error| match error.code() {
            "file_exists" => Error::conflict("pack_exists", format!("pack {pack} is being written")),
            _ => error,
        })?;
        Ok(Box::new(FileUpload { file, unfinished, finished, done: false }))
    }

    async fn read_into(&self, pack: PackId, offset: u64, length: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let file = self.file(pack)?;
        // What was in it is overwritten, so that only what is new has to be zeroed first.
        bytes.resize(length, 0);
        let got = file.fill_at(offset, bytes)?;
        if got < length {
            let end = offset.saturating_add(got as u64);
            return Err(Error::corrupt(
                "pack_cut",
                format!("pack {pack} ends at byte {end}, {} bytes before it should", length - got),
            )
            .hint("restore it from a backup; what is before its end can be read"));
        }
        Ok(())
    }

    async fn size(&self, pack: PackId) -> Result<Option<u64>> {
        let path = self.path(pack);
        if files::exists(&path)? { RangeFile::open(&path)?.length().map(Some) } else { Ok(None) }
    }

    async fn delete(&self, pack: PackId) -> Result<()> {
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner).retain(|(id, _)| *id != pack);
        for path in [self.path(pack), self.unfinished(pack)] {
            if files::exists(&path)? {
                files::remove(&path)?;
            }
        }
        Ok(())
    }

    async fn list(&self) -> Result<Vec<PackInfo>> {
        let mut packs = Vec::new();
        for folder in files::list(&self.directory)? {
            let folder = self.directory.join(folder);
            if !folder.is_dir() {
                continue;
            }
            for name in files::list(&folder)? {
                let path = folder.join(&name);
                let finished = path.extension().is_some_and(|extension| extension == "pack");
                let known = finished || path.extension().is_some_and(|extension| extension == "part");
                let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
                if let Some(id) = id.filter(|_| known) {
                    // It may have been removed since it was listed.
                    let size = RangeFile::open(&path).and_then(|file| file.length());
                    match size {
                        Ok(size) => packs.push(PackInfo { id, size, finished }),
                        Err(error) if error.code() == "no_file" => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        packs.sort_by_key(|pack| pack.id);
        Ok(packs)
    }
}
