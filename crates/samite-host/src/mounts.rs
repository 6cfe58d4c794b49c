//! Which file system a path is on: a store on a network file system is refused, and so is a workspace of what the kernel
//! makes up.

use crate::files::{self, io_error};
use samite_model::{Error, Result};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Types of file systems whose bytes are on another machine. FUSE is recognised by its subtype, since every FUSE has
/// the same number in `statfs`.
const NETWORK: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "smb2",
    "9p",
    "ceph",
    "glusterfs",
    "lustre",
    "afs",
    "coda",
    "ncpfs",
    "gpfs",
    "beegfs",
    "orangefs",
    "pvfs2",
    "ocfs2",
    "gfs2",
    "panfs",
    "davfs",
    "acfs",
    "fhgfs",
];
const NETWORK_FUSE: &[&str] = &[
    "sshfs",
    "s3fs",
    "rclone",
    "glusterfs",
    "ceph",
    "ceph-fuse",
    "gcsfuse",
    "goofys",
    "juicefs",
    "mfs",
    "moosefs",
    "lizardfs",
    "davfs",
    "davfs2",
    "curlftpfs",
    "smbnetfs",
    "s3ql",
    "blobfuse",
    "blobfuse2",
    "seaweedfs",
    "weed",
    "mount-s3",
    "mountpoint-s3",
    "fuse_dfs",
    "gvfsd-fuse",
    "google-drive-ocamlfuse",
    "nfs",
    "cifs",
    "sshfs-fuse",
];

/// Types of file systems that hold no files of anybody's: the kernel makes up what is read there, sometimes without end.
const PSEUDO: &[&str] = &[
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "devpts",
    "devtmpfs",
    "debugfs",
    "tracefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "apparmorfs",
    "configfs",
    "pstore",
    "efivarfs",
    "bpf",
    "mqueue",
    "nsfs",
    "fusectl",
    "binfmt_misc",
    "rpc_pipefs",
    "nfsd",
    "resctrl",
    "autofs",
];

/// A line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// The type, with a subtype after a dot, such as `ext4` or `fuse.sshfs`.
    pub file_system: String,
    /// What is mounted, such as a device or `host:/path`.
    pub source: String,
}

impl Mount {
    /// Whether the bytes are on another machine.
    pub fn is_network(&self) -> bool {
        match self.file_system.split_once('.') {
            Some((_, subtype)) => NETWORK_FUSE.contains(&subtype) || NETWORK.contains(&subtype),
            None => NETWORK.contains(&self.file_system.as_str()),
        }
    }

    /// Whether it holds what the kernel makes up, and nobody's files.
    pub fn is_pseudo(&self) -> bool {
        PSEUDO.contains(&self.file_system.as_str())
    }
}

/// Reads the text of a `mountinfo`. Lines that cannot be read are left out.
pub fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty()).collect();
    // id parent major:minor root point options [optional fields…] - type source options
    let point = fields.get(4)?;
    let separator = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let text = |at: usize| Some(String::from_utf8_lossy(&unescape(fields.get(at)?)).into_owned());
    Some(Mount {
        point: PathBuf::from(OsString::from_vec(unescape(point))),
        file_system: text(separator + 1)?,
        source: text(separator + 2).unwrap_or_default(),
    })
}

/// Space, tab, newline and backslash stand in a mountinfo as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.first_chunk::<3>().filter(|_| *first == b'\\').and_then(|digits| {
            digits.iter().try_fold(0_u32, |value, digit| {
                (b'0'..=b'7').contains(digit).then(|| value * 8 + u32::from(digit - b'0'))
            })
        });
        if let Some(byte) = octal.and_then(|value| u8::try_from(value).ok()) {
            bytes.push(byte);
            rest = after.get(3..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}

/// The mount that an absolute path without symbolic links is on: the longest mount point above it, and of several
/// mounts on one point the last, which hides the others.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.as_os_str().as_bytes().len())
}

/// The mount that a path is on; of a path that does not exist yet, the one that it would be made on.
///
/// # Errors
/// `unavailable` when the operating system does not say.
pub fn of_path(path: &Path) -> Result<Mount> {
    let existing = resolve(path)?;
    let mounts = parse(&files::read(Path::new("/proc/self/mountinfo"))?);
    mount_of(&mounts, &existing)
        .cloned()
        .ok_or_else(|| Error::unavailable("no_mount", format!("no mount is known for {}", path.display())))
}

/// Refuses a path whose bytes are on another machine.
///
/// # Errors
/// `invalid` (`network_file_system`) naming path, type and source.
pub fn refuse_network(path: &Path) -> Result<()> {
    let mount = of_path(path)?;
    if mount.is_network() {
        return Err(Error::invalid(
            "network_file_system",
            format!("{} is on a network file system ({}, {})", path.display(), mount.file_system, mount.source),
        )
        .hint("locks and syncs cannot be trusted there: use a directory on a local disk"));
    }
    Ok(())
}

/// Refuses a path on a file system that the kernel makes up.
///
/// # Errors
/// `invalid` (`pseudo_file_system`) naming path and type.
pub fn refuse_pseudo(path: &Path) -> Result<()> {
    let mount = of_path(path)?;
    if mount.is_pseudo() {
        return Err(Error::invalid(
            "pseudo_file_system",
            format!("{} is on a file system that holds no files ({})", path.display(), mount.file_system),
        )
        .hint("the kernel makes up what is read there: name a directory of files"));
    }
    Ok(())
}

/// The types of the file systems below an absolute path without symbolic links that the kernel makes up, by where they
/// are mounted. None are known where the operating system does not say.
pub fn pseudo_below(path: &Path) -> Vec<Mount> {
    let text = files::read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    let mounts = parse(&text);
    mounts
        .iter()
        .filter(|mount| mount.point != path && mount.point.starts_with(path))
        // Another mount on the same point may hide it.
        .filter(|mount| mount_of(&mounts, &mount.point).is_some_and(Mount::is_pseudo))
        .filter(|mount| mount.is_pseudo())
        .cloned()
        .collect()
}

fn resolve(path: &Path) -> Result<PathBuf> {
    let mut at = std::path::absolute(path).map_err(|source| io_error("resolve", path, source))?;
    loop {
        match at.canonicalize() {
            Ok(found) => return Ok(found),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound && at.pop() => {}
            Err(source) => return Err(io_error("resolve", &at, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &[u8] = br"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /home rw shared:2 master:1 - nfs4 server:/export/home rw,vers=4.2
24 22 0:22 / /mnt/with\040space rw - fuse.sshfs user@host:/dir rw,user_id=0
25 22 0:23 / /mnt/test rw - fuse.powercut powercut rw
26 22 0:24 / /mnt/plain rw - fuse /dev/fuse rw
27 22 0:25 / /home/local rw - xfs /dev/sdb1 rw
28 22 0:26 / /srv rw - ext4 /dev/sdc1 rw
29 28 0:27 / /srv rw - cifs //server/share rw
30 22 0:28 / /nosource rw - tmpfs
torn line
";

    #[test]
    fn what_the_kernel_makes_up_is_told() {
        assert_eq!(refuse_pseudo(Path::new("/proc/self")).unwrap_err().code(), "pseudo_file_system");
        let scratch = tempfile::tempdir().unwrap();
        refuse_pseudo(scratch.path()).unwrap();
        assert_eq!(pseudo_below(scratch.path()), []);
        assert!(pseudo_below(Path::new("/")).iter().any(|mount| mount.point == Path::new("/proc")));
        let mounts = parse(b"22 1 0:5 / /a rw - sysfs sysfs rw\n23 1 8:1 / /b rw - tmpfs tmpfs rw\n");
        assert_eq!(mounts.iter().map(Mount::is_pseudo).collect::<Vec<_>>(), [true, false]);
    }

    fn file_system(path: &str) -> (String, bool) {
        let mounts = parse(SAMPLE);
        let mount = mount_of(&mounts, Path::new(path)).unwrap();
        (mount.file_system.clone(), mount.is_network())
    }

    #[test]
    fn the_longest_and_last_mount_counts() {
        assert_eq!(parse(SAMPLE).len(), 9);
        assert_eq!(file_system("/etc"), ("ext4".into(), false));
        assert_eq!(file_system("/home/ada"), ("nfs4".into(), true));
        assert_eq!(file_system("/home/local/x"), ("xfs".into(), false));
        assert_eq!(file_system("/homestead"), ("ext4".into(), false));
        assert_eq!(file_system("/srv/x"), ("cifs".into(), true));
        assert_eq!(file_system("/nosource"), ("tmpfs".into(), false));
    }

    #[test]
    fn fuse_is_told_by_its_subtype() {
        assert_eq!(file_system("/mnt/with space/x"), ("fuse.sshfs".into(), true));
        assert_eq!(file_system("/mnt/test/x"), ("fuse.powercut".into(), false));
        assert_eq!(file_system("/mnt/plain/x"), ("fuse".into(), false));
    }

    #[test]
    fn this_machine_can_be_asked_of_a_path_that_does_not_exist() {
        let scratch = tempfile::tempdir().unwrap();
        let here = of_path(scratch.path()).unwrap();
        assert_eq!(of_path(&scratch.path().join("not/yet")).unwrap(), here);
        assert!(of_path(Path::new("/proc/self")).is_ok_and(|mount| mount.file_system == "proc"));
    }
}
