//! The file system as programs see it while the power is on.

use crate::operation::{FileNumber, Operation};
use std::collections::{BTreeMap, HashMap};

/// The number of the root directory.
pub const ROOT: FileNumber = 1;

/// A file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A file.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Its permission bits.
        mode: u32,
    },
    /// A directory.
    Directory {
        /// What is in it.
        names: BTreeMap<Vec<u8>, FileNumber>,
        /// Its permission bits.
        mode: u32,
    },
}

/// A tree of files in memory. Files without a name stay, since whoever has them open may use them.
#[derive(Clone, Debug)]
pub struct Volume {
    nodes: HashMap<FileNumber, Node>,
}

impl Default for Volume {
    fn default() -> Self {
        let root = Node::Directory { names: BTreeMap::new(), mode: 0o700 };
        Self { nodes: HashMap::from([(ROOT, root)]) }
    }
}

/// Writes bytes at an offset, with zeros in between.
pub(crate) fn write_at(to: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let Ok(start) = usize::try_from(offset) else { return };
    let end = start + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    if let Some(place) = to.get_mut(start..end) {
        place.copy_from_slice(bytes);
    }
}

impl Volume {
    /// The node of a number.
    pub fn node(&self, file: FileNumber) -> Option<&Node> {
        self.nodes.get(&file)
    }

    /// What is in a directory, or `None` when it is none.
    pub fn names(&self, directory: FileNumber) -> Option<&BTreeMap<Vec<u8>, FileNumber>> {
        match self.nodes.get(&directory)? {
            Node::Directory { names, .. } => Some(names),
            Node::File { .. } => None,
        }
    }

    /// What has a name.
    pub fn find(&self, directory: FileNumber, name: &[u8]) -> Option<FileNumber> {
        self.names(directory)?.get(name).copied()
    }

    fn names_mut(&mut self, directory: FileNumber) -> Option<&mut BTreeMap<Vec<u8>, FileNumber>> {
        match self.nodes.get_mut(&directory)? {
            Node::Directory { names, .. } => Some(names),
            Node::File { .. } => None,
        }
    }

    fn name(&mut self, directory: FileNumber, name: &[u8], file: FileNumber) {
        if let Some(names) = self.names_mut(directory) {
            names.insert(name.to_vec(), file);
        }
    }

    /// Does what an operation says. One that makes no sense does nothing.
    pub fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { directory, name, file, mode } => {
                self.nodes.insert(*file, Node::File { bytes: Vec::new(), mode: *mode });
                self.name(*directory, name, *file);
            }
            Operation::MakeDirectory { directory, name, file, mode } => {
                self.nodes.insert(*file, Node::Directory { names: BTreeMap::new(), mode: *mode });
                self.name(*directory, name, *file);
            }
            Operation::Write { file, offset, bytes: new } => {
                if let Some(Node::File { bytes, .. }) = self.nodes.get_mut(file) {
                    write_at(bytes, *offset, new);
                }
            }
            Operation::Truncate { file, length } => {
                if let (Some(Node::File { bytes, .. }), Ok(length)) =
                    (self.nodes.get_mut(file), usize::try_from(*length))
                {
                    bytes.resize(length, 0);
                }
            }
            Operation::ChangeMode { file, mode: new } => {
                if let Some(Node::File { mode, .. } | Node::Directory { mode, .. }) = self.nodes.get_mut(file) {
                    *mode = *new;
                }
            }
            Operation::Rename { from, name, to, new_name } => {
                let moved = self.names_mut(*from).and_then(|names| names.remove(name));
                if let Some(file) = moved {
                    self.name(*to, new_name, file);
                }
            }
            Operation::Remove { directory, name } => {
                if let Some(names) = self.names_mut(*directory) {
                    names.remove(name);
                }
            }
            Operation::Sync { .. } | Operation::SyncDirectory { .. } | Operation::Acknowledge { .. } => {}
        }
    }
}
