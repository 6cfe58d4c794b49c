//! How small real transcripts become.

use crate::common::{JOURNAL, Scratch, owner};
use samite_host::files;
use samite_model::EntryId;
use std::path::{Path, PathBuf};

fn shared() -> PathBuf {
    std::env::var_os("SAMITE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from)
}

fn transcripts(directory: &Path, found: &mut Vec<PathBuf>) {
    for name in files::list(directory).unwrap_or_default() {
        let path = directory.join(name);
        if path.is_dir() {
            transcripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
}

#[test]
fn real_transcripts_shrink() {
    let mut found = Vec::new();
    transcripts(&shared().join("data/claude-code"), &mut found);
    if found.is_empty() {
        eprintln!("SKIPPED: no transcripts in {}/data/claude-code", shared().display());
        return;
    }
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let (mut lines, mut plain, mut sealed) = (0_u64, 0_u64, 0_u64);
    for path in found {
        let text = files::read(&path).unwrap();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line.len() <= 1 << 20) {
            lines += 1;
            plain += line.len() as u64;
            sealed += keyring.seal_payload(ada, JOURNAL, EntryId([0; 16]), line).unwrap().bytes.len() as u64;
        }
    }
    let tenths = |bytes: u64| bytes * 1000 / plain;
    eprintln!(
        "{lines} lines of {} bytes on average: sealed {}‰ of their bytes; with 200 bytes more each, {}‰",
        plain / lines,
        tenths(sealed),
        tenths(sealed + 200 * lines)
    );
    // Measured: 425, of which 320 are sealed.
    assert!(tenths(sealed + 200 * lines) <= 480);
}
