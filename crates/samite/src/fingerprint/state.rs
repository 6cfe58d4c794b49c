//! The files in which agents, by convention, keep where they are.

use samite_host::look::part;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How much of a state file is shown: 64 KiB.
pub const STATE_FILE_LIMIT: u64 = 64 << 10;

/// The names, and whether it is the end of a long one that matters.
pub(crate) const NAMES: [(&str, bool); 3] = [("progress.md", true), ("plan.md", false), ("journal.md", true)];

/// A state file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFile {
    /// Its name.
    pub name: String,
    /// Its text: the whole, or the beginning of a plan, or the end of what grows.
    pub text: String,
    /// How many bytes it has.
    pub size: u64,
    /// Whether `text` is not the whole.
    pub cut: bool,
}

impl StateFile {
    /// A state file of `size` bytes, of which these are a part, or all.
    pub(crate) fn new(name: &str, bytes: &[u8], size: u64, from_end: bool) -> Self {
        let cut = size > bytes.len() as u64;
        let bytes = if cut { whole_characters(bytes, from_end) } else { bytes };
        Self { name: name.to_owned(), text: String::from_utf8_lossy(bytes).into_owned(), size, cut }
    }
}

/// The state files in a directory, in the order progress, plan, journal. What is no regular file, or cannot be read, is
/// left out; bytes that are no text are shown as replacement characters.
pub fn state_files(directory: &Path) -> Vec<StateFile> {
    let read = |(name, from_end): (&str, bool)| {
        let (bytes, size) = part(&directory.join(name), STATE_FILE_LIMIT, from_end).ok().flatten()?;
        Some(StateFile::new(name, &bytes, size, from_end))
    };
    NAMES.into_iter().filter_map(read).collect()
}

/// Without the half of a character that a cut left at its side.
fn whole_characters(bytes: &[u8], from_end: bool) -> &[u8] {
    if from_end {
        let halves = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
        bytes.get(halves..).unwrap_or_default()
    } else {
        match std::str::from_utf8(bytes) {
            // No length: the bytes end within a character.
            Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or_default(),
            _ => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the files that are looked at are made directly")]
    use super::*;
    use std::fs;

    #[test]
    fn state_files_are_shown_whole_or_by_the_end_that_matters() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(state_files(dir.path()), []);
        assert_eq!(state_files(Path::new("/nonexistent")), []);
        let limit = usize::try_from(STATE_FILE_LIMIT).unwrap();
        fs::write(dir.path().join("progress.md"), "half done").unwrap();
        fs::write(dir.path().join("plan.md"), format!("x{}", "ü".repeat(limit))).unwrap();
        fs::write(dir.path().join("journal.md"), format!("{}x", "ü".repeat(limit))).unwrap();
        let files = state_files(dir.path());
        assert_eq!((files[0].text.as_str(), files[0].size, files[0].cut), ("half done", 9, false));
        for (file, name, begin) in [(&files[1], "plan.md", "xü"), (&files[2], "journal.md", "ü")] {
            assert_eq!((file.name.as_str(), file.size, file.cut), (name, 2 * STATE_FILE_LIMIT + 1, true));
            assert!(file.text.starts_with(begin) && !file.text.contains('\u{fffd}'));
            assert_eq!(file.text.len(), limit - 1);
        }
        assert!(files[2].text.ends_with("üx"));
    }

    #[test]
    fn what_is_no_file_is_left_out_and_what_is_no_text_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("plan.md")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("journal.md")).unwrap();
        fs::write(dir.path().join("progress.md"), [b'a', 0xff]).unwrap();
        let files = state_files(dir.path());
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].text, "a\u{fffd}");
    }
}
