//! A disk that is full, and one that cannot be written: real ones, where this user may mount them.

use samite_host::files::{self, AppendFile, write_atomic};
use samite_model::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// A small file system in memory, unmounted when dropped.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(test: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        if mount(&["-t", "tmpfs", "-o", "size=64k", "samite-test"], directory.path()) {
            return Some(Self(directory));
        }
        eprintln!("SKIPPED {test}: this user may not mount a tmpfs");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn mount(arguments: &[&str], place: &Path) -> bool {
    let mut command = Command::new("mount");
    command.args(arguments).arg(place).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk_keeps_the_old_bytes() {
    let Some(disk) = Mounted::new("a_full_disk_keeps_the_old_bytes") else { return };
    let path = disk.path().join("file");
    write_atomic(&path, b"old", 0o600).unwrap();
    let error = write_atomic(&path, &vec![7; 1 << 20], 0o600).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "disk_full"));
    assert!(error.message().contains(&path.display().to_string()), "{error}");
    assert_eq!(files::read(&path).unwrap(), b"old");
    assert_eq!(files::list(disk.path()).unwrap(), ["file"]);

    let mut file = AppendFile::create(&disk.path().join("log")).unwrap();
    let error = (0..100).find_map(|_| file.append(&[7; 4096]).err()).unwrap();
    assert_eq!(error.code(), "disk_full");
}

#[test]
fn a_read_only_disk_is_read() {
    let Some(disk) = Mounted::new("a_read_only_disk_is_read") else { return };
    let path = disk.path().join("file");
    write_atomic(&path, b"old", 0o600).unwrap();
    assert!(mount(&["-o", "remount,ro"], disk.path()));
    assert_eq!(files::read(&path).unwrap(), b"old");
    for error in [
        write_atomic(&path, b"new", 0o600).unwrap_err(),
        files::remove(&path).unwrap_err(),
        files::create_private_dir(&disk.path().join("directory")).unwrap_err(),
        files::FileLock::acquire(&disk.path().join("lock")).map(drop).unwrap_err(),
        AppendFile::create(&disk.path().join("log")).map(drop).unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "read_only"), "{error}");
    }
}
