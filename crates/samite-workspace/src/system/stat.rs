//! What the operating system says of a file without opening it.

use rustix::fs::{FileType, Stat, Timespec, Timestamps, UTIME_OMIT};
use samite_model::tree::{EntryType, Metadata};

const NANOSECONDS: i64 = 1_000_000_000;

/// What changes whenever a file's content does. The device's number is no part of it: it changes when a machine is
/// started again, and no file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
}

fn nanoseconds(seconds: i64, rest: impl TryInto<i64>) -> i64 {
    seconds.saturating_mul(NANOSECONDS).saturating_add(rest.try_into().unwrap_or(0))
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            ctime: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// The metadata, but for extended attributes and hard links.
pub(crate) fn metadata_of(stat: &Stat) -> Metadata {
    Metadata {
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ..Metadata::default()
    }
}

/// The operating system's type.
pub(crate) fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The type in a tree; `None` for a socket or something unknown.
pub(crate) fn entry_type(kind: FileType) -> Option<EntryType> {
    Some(match kind {
        FileType::Directory => EntryType::Directory,
        FileType::RegularFile => EntryType::File,
        FileType::Symlink => EntryType::Symlink,
        FileType::Fifo => EntryType::Fifo,
        FileType::CharacterDevice => EntryType::Character,
        FileType::BlockDevice => EntryType::Block,
        _ => return None,
    })
}

/// For setting the time of the last change alone.
pub(crate) fn timestamps(mtime: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: mtime.div_euclid(NANOSECONDS), tv_nsec: mtime.rem_euclid(NANOSECONDS) },
    }
}
