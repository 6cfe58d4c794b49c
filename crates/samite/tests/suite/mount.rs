//! A mount for a test. Not everybody may mount: what needs one is skipped loudly then.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mount that ends with the test.
pub(crate) struct Mount(pub(crate) PathBuf);

impl Mount {
    pub(crate) fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(arguments).arg(at).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_path_buf()));
        }
        eprintln!("SKIPPED: mount {arguments:?} is not allowed here");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
