//! What a disk may hold after a power cut.

use crate::MARKS;
use crate::choice::Choice;
use crate::file::DiskFile;
use crate::operation::{FileNumber, Operation};
use crate::volume::ROOT;
use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What a file system promises of what was not synced.
///
/// Both keep what was synced, write 512 bytes whole or not at all, and may lose or tear (at 512 bytes) each unsynced
/// block of 4 KiB by itself, at any of the states it had since the last sync. Permission bits are those at the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// As ext4 with ordered data: changes of names become durable in their order, all of them with the sync of any file
    /// or directory; the blocks that a file grows by are written before its length is.
    Ordered,
    /// As little as POSIX promises: each change of a name in a directory that was not synced since may be durable or
    /// not, whatever came before or after it; an fsync of a file does not persist its name, nor that of a directory;
    /// a rename within a directory happens or not, one across directories may be there by half; a file may have its new
    /// length without the blocks, which are then zeros.
    Harsh,
}

/// A change of names that no sync has made durable.
#[derive(Clone, Debug)]
enum NameChange {
    Set { directory: FileNumber, name: Vec<u8>, file: FileNumber },
    Remove { directory: FileNumber, name: Vec<u8>, file: FileNumber },
    Move { directory: FileNumber, name: Vec<u8>, new_name: Vec<u8>, file: FileNumber },
}

type Names = HashMap<FileNumber, BTreeMap<Vec<u8>, FileNumber>>;

impl NameChange {
    fn directory(&self) -> FileNumber {
        match self {
            Self::Set { directory, .. } | Self::Remove { directory, .. } | Self::Move { directory, .. } => *directory,
        }
    }

    /// Does it, as far as it fits to what is there: what came before it may not have survived.
    fn apply(&self, names: &mut Names) {
        let names = names.entry(self.directory()).or_default();
        match self {
            Self::Set { name, file, .. } => {
                names.insert(name.clone(), *file);
            }
            Self::Remove { name, file, .. } => {
                if names.get(name) == Some(file) {
                    names.remove(name);
                }
            }
            Self::Move { name, new_name, file, .. } => {
                if names.get(name) == Some(file) {
                    names.remove(name);
                }
                names.insert(new_name.clone(), *file);
            }
        }
    }
}

/// A disk that follows a log of operations.
#[derive(Clone, Debug)]
pub struct Disk {
    model: Model,
    files: HashMap<FileNumber, DiskFile>,
    directories: HashMap<FileNumber, u32>,
    /// As programs see them.
    now: Names,
    durable: Names,
    pending: Vec<NameChange>,
}

/// Something that is on the disk after a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remain {
    /// A directory with its permission bits.
    Directory(u32),
    /// A file with its permission bits and bytes.
    File(u32, Vec<u8>),
}

/// What is on the disk after a cut, by path, parents before what is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains(pub BTreeMap<PathBuf, Remain>);

fn is_volatile(name: &[u8]) -> bool {
    name.ends_with(b"-shm") || name == MARKS.as_bytes()
}

impl Disk {
    /// An empty disk.
    pub fn new(model: Model) -> Self {
        Self {
            model,
            files: HashMap::new(),
            directories: HashMap::from([(ROOT, 0o700)]),
            now: Names::new(),
            durable: Names::new(),
            pending: Vec::new(),
        }
    }

    /// Follows one operation.
    pub fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { directory, name, file, mode } => {
                let new = DiskFile::new(*mode, is_volatile(name));
                self.files.insert(*file, new);
                self.set(*directory, name, *file);
            }
            Operation::MakeDirectory { directory, name, file, mode } => {
                self.directories.insert(*file, *mode);
                self.set(*directory, name, *file);
            }
            Operation::Write { file, offset, bytes } => {
                if let Some(file) = self.files.get_mut(file) {
                    file.write(*offset, bytes);
                }
            }
            Operation::Truncate { file, length } => {
                if let Some(file) = self.files.get_mut(file) {
                    file.truncate(*length);
                }
            }
            Operation::ChangeMode { file, mode } => {
                if let Some(file) = self.files.get_mut(file) {
                    file.mode = *mode;
                } else if let Some(directory) = self.directories.get_mut(file) {
                    *directory = *mode;
                }
            }
            Operation::Rename { from, name, to, new_name } => self.rename(*from, name, *to, new_name),
            Operation::Remove { directory, name } => {
                if let Some(file) = self.now.entry(*directory).or_default().remove(name) {
                    self.pending.push(NameChange::Remove { directory: *directory, name: name.clone(), file });
                }
            }
            Operation::Sync { file } => {
                if let Some(file) = self.files.get_mut(file) {
                    file.sync();
                }
                if self.model == Model::Ordered {
                    self.settle(|_| true);
                }
            }
            Operation::SyncDirectory { directory } => {
                let all = self.model == Model::Ordered;
                self.settle(|change| all || change.directory() == *directory);
            }
            Operation::Acknowledge { .. } => {}
        }
    }

    fn set(&mut self, directory: FileNumber, name: &[u8], file: FileNumber) {
        self.now.entry(directory).or_default().insert(name.to_vec(), file);
        self.pending.push(NameChange::Set { directory, name: name.to_vec(), file });
    }

    fn rename(&mut self, from: FileNumber, name: &[u8], to: FileNumber, new_name: &[u8]) {
        let Some(file) = self.now.entry(from).or_default().remove(name) else { return };
        if from == to {
            self.now.entry(to).or_default().insert(new_name.to_vec(), file);
            let (name, new_name) = (name.to_vec(), new_name.to_vec());
            self.pending.push(NameChange::Move { directory: from, name, new_name, file });
        } else {
            self.set(to, new_name, file);
            self.pending.push(NameChange::Remove { directory: from, name: name.to_vec(), file });
        }
    }

    /// Makes those changes of names durable.
    fn settle(&mut self, which: impl Fn(&NameChange) -> bool) {
        for change in self.pending.extract_if(.., |change| which(change)) {
            change.apply(&mut self.durable);
        }
    }

    /// What may be on the disk if the power fails now; which of all that may be, the seed says.
    pub fn cut(&self, seed: u64) -> Remains {
        let mut choice = Choice::new(seed);
        // At the ends lies what is told wrong most often: nothing that was not synced is there, or all of it.
        let rate = *[0, 15, 50, 85, 100].get(choice.below(5)).unwrap_or(&50);
        let mut names = self.durable.clone();
        match self.model {
            Model::Ordered => {
                let count = match rate {
                    0 => 0,
                    100 => self.pending.len(),
                    _ => choice.below(self.pending.len() + 1),
                };
                self.pending.iter().take(count).for_each(|change| change.apply(&mut names));
            }
            Model::Harsh => {
                for change in &self.pending {
                    if choice.happens(rate) {
                        change.apply(&mut names);
                    }
                }
            }
        }
        let mut remains = Remains::default();
        let mut known = HashMap::new();
        let mut waiting = vec![(ROOT, PathBuf::new())];
        while let Some((directory, path)) = waiting.pop() {
            for (name, file) in names.get(&directory).into_iter().flatten() {
                let path = path.join(std::ffi::OsStr::from_bytes(name));
                if let Some(mode) = self.directories.get(file) {
                    remains.0.insert(path.clone(), Remain::Directory(*mode));
                    waiting.push((*file, path));
                } else if let Some(found) = self.files.get(file).filter(|found| !found.volatile) {
                    let bytes = known.entry(*file).or_insert_with(|| found.after_cut(self.model, rate, &mut choice));
                    remains.0.insert(path, Remain::File(found.mode, bytes.clone()));
                }
            }
        }
        remains
    }
}

impl Remains {
    /// Writes everything below a directory, which must be there and empty.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        for (path, remain) in &self.0 {
            let path = directory.join(path);
            match remain {
                Remain::Directory(mode) => DirBuilder::new().mode(*mode).create(path)?,
                Remain::File(mode, bytes) => {
                    OpenOptions::new().write(true).create_new(true).mode(*mode).open(path)?.write_all(bytes)?;
                }
            }
        }
        Ok(())
    }
}
