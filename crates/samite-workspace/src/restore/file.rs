//! Making one entry in a temporary directory, with all of its metadata.

use crate::system::{Stamp, read_xattrs, set_xattrs, set_xattrs_at, timestamps};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, chmodat, chownat, fchmod, fchown, fstat, futimens, makedev, mkdirat,
    mknodat, openat, statat, symlinkat, utimensat,
};
use rustix::io::Errno;
use samite_model::tree::{Content, Entry, Metadata};

/// Metadata that could not be set, because the process or the file system may not.
pub(crate) type Refused = Option<Errno>;

/// Makes an empty file to be written.
pub(crate) fn create(directory: BorrowedFd<'_>, name: &[u8], mode: u32) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::from_raw_mode(mode))
}

fn refuse(refused: &mut Refused, result: Result<(), Errno>) -> Result<(), Errno> {
    match result {
        Err(errno @ (Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::INVAL)) => {
            *refused = Some(errno);
            Ok(())
        }
        other => other,
    }
}

/// Sets what is not as wanted of an open file or directory and returns its stamp. Owner before mode and attributes,
/// because changing the owner takes setuid bits and capabilities away.
pub(crate) fn set_open(file: &OwnedFd, wanted: &Metadata, fresh: bool) -> Result<(Stamp, Refused), Errno> {
    let mut refused = None;
    futimens(file, &timestamps(wanted.mtime))?;
    let mut stat = fstat(file)?;
    let other_owner = (stat.st_uid, stat.st_gid) != (wanted.uid, wanted.gid);
    let other_mode = stat.st_mode & 0o7777 != wanted.mode;
    if !fresh || other_owner || other_mode || !wanted.xattrs.is_empty() {
        // Nobody but root may give files away; that a user's own file stays the user's is no failure.
        if other_owner && (rustix::process::geteuid().is_root() || stat.st_uid == wanted.uid) {
            let owner = (Some(Uid::from_raw(wanted.uid)), Some(Gid::from_raw(wanted.gid)));
            refuse(&mut refused, fchown(file, owner.0, owner.1))?;
        }
        if other_owner || other_mode {
            refuse(&mut refused, fchmod(file, Mode::from_raw_mode(wanted.mode)))?;
        }
        if !fresh || !wanted.xattrs.is_empty() {
            let found = if fresh { Vec::new() } else { read_xattrs(file.as_fd())? };
            refuse(&mut refused, set_xattrs(file.as_fd(), &wanted.xattrs, &found))?;
        }
        stat = fstat(file)?;
    }
    Ok((Stamp::of(&stat), refused))
}

/// Sets the metadata of something that cannot be opened: a link, a pipe, a device that was just made.
fn set_at(directory: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> Result<Refused, Errno> {
    let (wanted, mut refused) = (&entry.metadata, None);
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (stat.st_uid, stat.st_gid) != (wanted.uid, wanted.gid) && rustix::process::geteuid().is_root() {
        let owner = (Some(Uid::from_raw(wanted.uid)), Some(Gid::from_raw(wanted.gid)));
        refuse(&mut refused, chownat(directory, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW))?;
    }
    if !matches!(entry.content, Content::Symlink(_)) {
        refuse(&mut refused, chmodat(directory, name, Mode::from_raw_mode(wanted.mode), AtFlags::empty()))?;
    }
    if !wanted.xattrs.is_empty() {
        refuse(&mut refused, set_xattrs_at(directory, name, &wanted.xattrs, &[]))?;
    }
    utimensat(directory, name, &timestamps(wanted.mtime), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(refused)
}

/// Makes a link, a pipe or a device.
pub(crate) fn make_special(directory: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> Result<Refused, Errno> {
    match &entry.content {
        Content::Symlink(target) => symlinkat(&**target, directory, name)?,
        Content::Fifo => mknodat(directory, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?,
        Content::Character { major, minor } => {
            mknodat(directory, name, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, makedev(*major, *minor))?;
        }
        Content::Block { major, minor } => {
            mknodat(directory, name, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, makedev(*major, *minor))?;
        }
        _ => return Ok(None),
    }
    set_at(directory, name, entry)
}

/// Makes a directory to be filled: with the mode that it shall have, so that few need another, but open to its owner.
pub(crate) fn make_directory(parent: BorrowedFd<'_>, name: &[u8], mode: u32) -> Result<(), Errno> {
    mkdirat(parent, name, Mode::from_raw_mode(mode & 0o777) | Mode::RWXU)
}

/// Sets the metadata of something that is in its place already, by a handle that is no way to its bytes.
pub(crate) fn set_in_place(directory: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> Result<Refused, Errno> {
    if matches!(entry.content, Content::Symlink(_)) {
        let found = crate::system::read_xattrs_at(directory, name)?;
        let mut refused = None;
        refuse(&mut refused, set_xattrs_at(directory, name, &entry.metadata.xattrs, &found))?;
        return set_at(directory, name, entry).map(|other| other.or(refused));
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(directory, name, flags, Mode::empty())?;
    let is_link = FileType::from_raw_mode(fstat(&handle)?.st_mode) == FileType::Symlink;
    if is_link {
        return Err(Errno::LOOP);
    }
    // The handle's own name in /proc leads to what was opened, whatever stands at the path by now.
    let number = rustix::fd::AsRawFd::as_raw_fd(&handle).to_string();
    let processes = openat(rustix::fs::CWD, "/proc/self/fd", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let (wanted, mut refused) = (&entry.metadata, None);
    let stat = fstat(&handle)?;
    if (stat.st_uid, stat.st_gid) != (wanted.uid, wanted.gid) && rustix::process::geteuid().is_root() {
        let owner = (Some(Uid::from_raw(wanted.uid)), Some(Gid::from_raw(wanted.gid)));
        refuse(&mut refused, chownat(&processes, number.as_str(), owner.0, owner.1, AtFlags::empty()))?;
    }
    chmodat(&processes, number.as_str(), Mode::from_raw_mode(wanted.mode), AtFlags::empty())?;
    let mut path = b"/proc/self/fd/".to_vec();
    path.extend_from_slice(number.as_bytes());
    refuse(&mut refused, crate::system::set_xattrs_by_path(&path, &wanted.xattrs))?;
    utimensat(&processes, number.as_str(), &timestamps(wanted.mtime), AtFlags::empty())?;
    Ok(refused)
}
