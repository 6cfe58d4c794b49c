//! An entry of a directory: everything that a restore must put back.

use super::code::{Reader, put_bytes, put_varint};
use super::content::{Body, Segment};
use super::path::is_name;
use crate::error::{Error, Result};
use crate::id::BlockId;

/// An extended attribute: name and value.
pub type Xattr = (Box<[u8]>, Box<[u8]>);

/// Entries of one tree that are the same file: the hash of the first path of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkGroup(pub [u8; 16]);

impl LinkGroup {
    /// The group whose first path (in the order of paths) is this.
    pub fn of(first: &super::TreePath) -> Self {
        let mut bytes = [0; 16];
        blake3::Hasher::new_derive_key("samite hard link group v1")
            .update(first.as_bytes())
            .finalize_xof()
            .fill(&mut bytes);
        Self(bytes)
    }
}

/// What a file system knows of an entry beside its content.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Metadata {
    /// The lowest twelve bits: permissions, setuid, setgid, sticky.
    pub mode: u32,
    /// The owning user.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
    /// The time of the last change of the content, in nanoseconds since 1970.
    pub mtime: i64,
    /// Extended attributes, sorted by name.
    pub xattrs: Vec<Xattr>,
    /// The other entries that are the same file, if any are in the tree.
    pub link: Option<LinkGroup>,
    /// The file changed while it was read, again and again: its bytes may never have been there at one moment.
    pub torn: bool,
}

/// What kind of thing an entry is. Codes are permanent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryType {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A character device.
    Character,
    /// A block device.
    Block,
}

impl EntryType {
    const fn code(self) -> u8 {
        match self {
            Self::Directory => 1,
            Self::File => 2,
            Self::Symlink => 3,
            Self::Fifo => 4,
            Self::Character => 5,
            Self::Block => 6,
        }
    }

    fn from_code(code: u8) -> Result<Self> {
        Ok(match code {
            1 => Self::Directory,
            2 => Self::File,
            3 => Self::Symlink,
            4 => Self::Fifo,
            5 => Self::Character,
            6 => Self::Block,
            _ => return Err(Error::corrupt("bad_tree_block", format!("a tree entry has the unknown type {code}"))),
        })
    }

    /// The name in listings and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Directory => "directory",
            Self::File => "file",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Character => "character_device",
            Self::Block => "block_device",
        }
    }
}

/// What an entry holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The node of a directory.
    Directory(BlockId),
    /// The bytes of a file, and how many there are.
    File {
        /// The size in bytes, holes included.
        size: u64,
        /// Where they are.
        body: Body,
    },
    /// The target of a symbolic link, as it is.
    Symlink(Box<[u8]>),
    /// A named pipe.
    Fifo,
    /// A character device.
    Character {
        /// The major number.
        major: u32,
        /// The minor number.
        minor: u32,
    },
    /// A block device.
    Block {
        /// The major number.
        major: u32,
        /// The minor number.
        minor: u32,
    },
    /// Something of this type that could be seen but not read: a restore leaves it alone.
    Unread(EntryType),
}

impl Content {
    /// The type.
    pub const fn entry_type(&self) -> EntryType {
        match self {
            Self::Directory(_) => EntryType::Directory,
            Self::File { .. } => EntryType::File,
            Self::Symlink(_) => EntryType::Symlink,
            Self::Fifo => EntryType::Fifo,
            Self::Character { .. } => EntryType::Character,
            Self::Block { .. } => EntryType::Block,
            Self::Unread(of) => *of,
        }
    }

    /// The bytes of a file; 0 for anything else.
    pub const fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } => *size,
            _ => 0,
        }
    }

    /// Whether it is the same thing, whatever the nodes of a directory are.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory(_), Self::Directory(_)) => true,
            _ => self == other,
        }
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as bytes; empty for the top of a tree.
    pub name: Box<[u8]>,
    /// What the file system knows of it.
    pub metadata: Metadata,
    /// What it holds.
    pub content: Content,
}

const TORN: u8 = 1;
const LINKED: u8 = 2;
const UNREAD: u8 = 4;
const LISTED: u8 = 8;

impl Entry {
    /// Appends the stored bytes.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let metadata = &self.metadata;
        put_bytes(bytes, &self.name);
        bytes.push(self.content.entry_type().code());
        let mut flags = if metadata.torn { TORN } else { 0 };
        flags |= if metadata.link.is_some() { LINKED } else { 0 };
        flags |= match &self.content {
            Content::Unread(_) => UNREAD,
            Content::File { body: Body::List(_), .. } => LISTED,
            _ => 0,
        };
        bytes.push(flags);
        put_varint(bytes, u64::from(metadata.mode));
        put_varint(bytes, u64::from(metadata.uid));
        put_varint(bytes, u64::from(metadata.gid));
        bytes.extend_from_slice(&metadata.mtime.to_be_bytes());
        put_varint(bytes, metadata.xattrs.len() as u64);
        for (name, value) in &metadata.xattrs {
            put_bytes(bytes, name);
            put_bytes(bytes, value);
        }
        if let Some(group) = metadata.link {
            bytes.extend_from_slice(&group.0);
        }
        match &self.content {
            Content::Directory(node) => bytes.extend_from_slice(node.as_bytes()),
            Content::File { size, body } => {
                put_varint(bytes, *size);
                match body {
                    Body::Segments(segments) => {
                        put_varint(bytes, segments.len() as u64);
                        for segment in segments {
                            segment.encode(bytes);
                        }
                    }
                    Body::List(list) => bytes.extend_from_slice(list.as_bytes()),
                }
            }
            Content::Symlink(target) => put_bytes(bytes, target),
            Content::Character { major, minor } | Content::Block { major, minor } => {
                put_varint(bytes, u64::from(*major));
                put_varint(bytes, u64::from(*minor));
            }
            Content::Fifo | Content::Unread(_) => {}
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>, top: bool) -> Result<Self> {
        let name: Box<[u8]> = reader.bytes()?.into();
        if if top { !name.is_empty() } else { !is_name(&name) } {
            return Err(Error::corrupt(
                "bad_tree_block",
                "a tree entry has a name that could lead out of its directory",
            ));
        }
        let of = EntryType::from_code(reader.byte()?)?;
        let flags = reader.byte()?;
        if flags & !(TORN | LINKED | UNREAD | LISTED) != 0 {
            return Err(Error::corrupt("bad_tree_block", format!("a tree entry has the unknown flags {flags:#04x}")));
        }
        let mut metadata = Metadata {
            mode: reader.u32()?,
            uid: reader.u32()?,
            gid: reader.u32()?,
            mtime: i64::from_be_bytes(reader.array()?),
            torn: flags & TORN != 0,
            ..Metadata::default()
        };
        for _ in 0..reader.count()? {
            metadata.xattrs.push((reader.bytes()?.into(), reader.bytes()?.into()));
        }
        if flags & LINKED != 0 {
            metadata.link = Some(LinkGroup(reader.array()?));
        }
        let content = match of {
            _ if flags & UNREAD != 0 => Content::Unread(of),
            EntryType::Directory => Content::Directory(BlockId(reader.array()?)),
            EntryType::File => {
                let size = reader.varint()?;
                let body = if flags & LISTED != 0 {
                    Body::List(BlockId(reader.array()?))
                } else {
                    Body::Segments(Segment::decode_all(reader, size)?)
                };
                Content::File { size, body }
            }
            EntryType::Symlink => Content::Symlink(reader.bytes()?.into()),
            EntryType::Fifo => Content::Fifo,
            EntryType::Character => Content::Character { major: reader.u32()?, minor: reader.u32()? },
            EntryType::Block => Content::Block { major: reader.u32()?, minor: reader.u32()? },
        };
        Ok(Self { name, metadata, content })
    }
}
