//! SIGKILL at any point of an export leaves the old tree head with all its files, and the next export goes on.

use crate::log::{export_to, key};
use samite_audit::export::verify;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "SAMITE_TEST_EXPORT";

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn child_exports() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    export_to(&PathBuf::from(folder), 600).unwrap();
}

fn size(folder: &Path) -> u64 {
    let verified = verify(folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
    assert!(verified.is_right(), "{:?}", verified.findings);
    verified.opened.unwrap().head.size
}

#[test]
fn an_export_that_is_killed_anywhere_is_gone_on_with() {
    for (point, after) in [
        ("audit.export.file", 300),
        ("audit.export.file:2", 300),
        ("audit.export.file:5", 300),
        ("audit.export.synced", 300),
        ("files.atomic.written", 300),
        ("files.atomic.renamed", 600),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        export_to(folder, 300).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kills::child_exports", "--include-ignored", "--quiet"])
            .env(FOLDER, folder)
            .env("SAMITE_KILL_POINT", point)
            .output()
            .unwrap()
            .status;
        assert_eq!(status.signal(), Some(9), "{point}");
        assert_eq!(size(folder), after, "{point}");
        export_to(folder, 700).unwrap();
        assert_eq!(size(folder), 700, "{point}");
    }
}
