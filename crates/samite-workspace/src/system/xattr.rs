//! Extended attributes.

use rustix::fd::{AsRawFd as _, BorrowedFd};
use rustix::fs::{
    XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr, getxattr, lgetxattr, listxattr, llistxattr,
    lremovexattr, lsetxattr, removexattr, setxattr,
};
use rustix::io::Errno;
use samite_model::tree::Xattr;

/// Most files have no attributes: one call with this much room says so.
const LIST: usize = 1 << 10;
const LARGEST: usize = 64 << 10;

fn with_room(mut call: impl FnMut(&mut Vec<u8>) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; LIST];
    let length = match call(&mut bytes) {
        Err(Errno::RANGE) => {
            bytes.resize(LARGEST, 0);
            call(&mut bytes)?
        }
        other => other?,
    };
    bytes.truncate(length);
    Ok(bytes)
}

fn collect(
    list: impl Fn(&mut Vec<u8>) -> Result<usize, Errno>,
    get: impl Fn(&[u8], &mut Vec<u8>) -> Result<usize, Errno>,
) -> Result<Vec<Xattr>, Errno> {
    let names = match with_room(list) {
        // A file system without attributes.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        other => other?,
    };
    let mut xattrs = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        match with_room(|bytes| get(name, bytes)) {
            Ok(value) => xattrs.push((name.into(), value.into())),
            // Gone since it was listed, or listed for others' eyes only.
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    xattrs.sort();
    Ok(xattrs)
}

/// The attributes of an open file, sorted by name.
pub(crate) fn read_xattrs(file: BorrowedFd<'_>) -> Result<Vec<Xattr>, Errno> {
    collect(|bytes| flistxattr(file, bytes.as_mut_slice()), |name, bytes| fgetxattr(file, name, bytes.as_mut_slice()))
}

/// The way to a name in an open directory for calls that take paths only; it follows no link at the end.
fn path_of(directory: BorrowedFd<'_>, name: &[u8]) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    path
}

/// The attributes of a name in a directory, which is not opened.
pub(crate) fn read_xattrs_at(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<Xattr>, Errno> {
    let path = path_of(directory, name);
    collect(
        |bytes| llistxattr(path.as_slice(), bytes.as_mut_slice()),
        |name, bytes| lgetxattr(path.as_slice(), name, bytes.as_mut_slice()),
    )
}

fn set(
    wanted: &[Xattr],
    found: &[Xattr],
    set: impl Fn(&[u8], &[u8]) -> Result<(), Errno>,
    remove: impl Fn(&[u8]) -> Result<(), Errno>,
) -> Result<(), Errno> {
    for (name, _) in found.iter().filter(|(name, _)| !wanted.iter().any(|(wanted, _)| wanted == name)) {
        match remove(name) {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    for xattr in wanted.iter().filter(|xattr| !found.contains(xattr)) {
        set(&xattr.0, &xattr.1)?;
    }
    Ok(())
}

/// Gives an open file these attributes and no others.
pub(crate) fn set_xattrs(file: BorrowedFd<'_>, wanted: &[Xattr], found: &[Xattr]) -> Result<(), Errno> {
    set(wanted, found, |name, value| fsetxattr(file, name, value, XattrFlags::empty()), |name| fremovexattr(file, name))
}

/// Gives a name in a directory these attributes and no others.
pub(crate) fn set_xattrs_at(
    directory: BorrowedFd<'_>,
    name: &[u8],
    wanted: &[Xattr],
    found: &[Xattr],
) -> Result<(), Errno> {
    let path = path_of(directory, name);
    set(
        wanted,
        found,
        |name, value| lsetxattr(path.as_slice(), name, value, XattrFlags::empty()),
        |name| lremovexattr(path.as_slice(), name),
    )
}

/// Gives what a path leads to these attributes and no others.
pub(crate) fn set_xattrs_by_path(path: &[u8], wanted: &[Xattr]) -> Result<(), Errno> {
    let found = collect(
        |bytes| listxattr(path, bytes.as_mut_slice()),
        |name, bytes| getxattr(path, name, bytes.as_mut_slice()),
    )?;
    set(wanted, &found, |name, value| setxattr(path, name, value, XattrFlags::empty()), |name| removexattr(path, name))
}
