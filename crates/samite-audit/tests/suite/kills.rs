//! SIGKILL at any point of an export leaves the old tree head with all its files, and the next export goes on.

use crate::log::{export_to, key};
use samite_audit::export::{archive, prune, verify, verify_segment};
use std::ops::Range;
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

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn child_archives_and_prunes() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (log, cold) = (folder.join("log"), folder.join("cold"));
    archive(&log, &cold, &key().verifier(), 0..600).unwrap();
    prune(&log, &key().verifier(), 600).unwrap();
}

/// Runs one of these until it is killed at this point.
fn killed(child: &str, folder: &Path, point: &str) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", child, "--include-ignored", "--quiet"])
        .env(FOLDER, folder)
        .env("SAMITE_KILL_POINT", point)
        .output()
        .unwrap()
        .status;
    assert_eq!(status.signal(), Some(9), "{point}");
}

fn is_right(folder: &Path, entries: Range<u64>) -> bool {
    let verified = verify_segment(folder, &key().verifier(), &[], entries, &mut |_, _| Ok(())).unwrap();
    verified.is_right()
}

#[test]
fn an_archive_that_is_killed_anywhere_loses_no_entry() {
    for point in [
        "audit.archive.synced",
        "files.atomic.written",
        "files.atomic.renamed",
        "audit.prune.removed",
        "audit.prune.removed:3",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (log, cold) = (folder.path().join("log"), folder.path().join("cold"));
        export_to(&log, 300).unwrap();
        export_to(&log, 900).unwrap();
        killed("kills::child_archives_and_prunes", folder.path(), point);
        // Every entry is in the one, or verified in the other.
        let is_whole = is_right(&log, 0..u64::MAX);
        assert!(is_whole || (is_right(&log, 600..u64::MAX) && is_right(&cold, 0..600)), "{point}");
        assert_eq!(is_whole, !point.starts_with("audit.prune"), "{point}");
        archive(&log, &cold, &key().verifier(), 0..600).unwrap();
        prune(&log, &key().verifier(), 600).unwrap();
        assert!(is_right(&log, 600..u64::MAX) && is_right(&cold, 0..600), "{point}");
        // With those of the older tree head, which are of no use without the rest.
        assert!(!log.join("tile/entries/000").exists() && !log.join("tile/entries/001.p").exists(), "{point}");
    }
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
        killed("kills::child_exports", folder, point);
        assert_eq!(size(folder), after, "{point}");
        export_to(folder, 700).unwrap();
        assert_eq!(size(folder), 700, "{point}");
    }
}
