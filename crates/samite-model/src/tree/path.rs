//! Paths inside a tree: bytes, relative, never leaving it.

use crate::error::{Error, Result};
use std::cmp::Ordering;
use std::fmt;

/// A path relative to the top of a tree: names joined by `/`, as bytes, the empty path being the top itself.
///
/// Paths are ordered by their names one after the other, so that a directory comes right before what is in it.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct TreePath(Vec<u8>);

/// Whether a directory may have an entry of this name. Anything else could lead out of the tree.
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/') && !name.contains(&0)
}

impl TreePath {
    /// A path from bytes.
    ///
    /// # Errors
    /// `invalid` when it is absolute, ends in `/`, or has an empty name, `.`, `..` or a NUL in it.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let bytes = bytes.into();
        if bytes.is_empty() || bytes.split(|byte| *byte == b'/').all(is_name) {
            Ok(Self(bytes))
        } else {
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            Err(Error::invalid("path_outside", format!("{shown:?} is not a path inside the workspace"))
                .hint("give a path relative to the workspace, without .. or a trailing /"))
        }
    }

    /// The top.
    pub fn top() -> Self {
        Self::default()
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is the top.
    pub fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of an entry in this directory. The name is one that a tree's node held, or a directory listed.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        if !self.0.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self(bytes)
    }

    /// The names from the top down.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
    }

    /// The last name; empty for the top.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// The directory that it is in; `None` for the top.
    pub fn parent(&self) -> Option<Self> {
        if self.0.is_empty() {
            return None;
        }
        let cut = self.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Some(Self(self.0.get(..cut).unwrap_or_default().to_vec()))
    }

    /// Whether it is `other` or inside of it.
    pub fn is_within(&self, other: &Self) -> bool {
        other.0.is_empty()
            || self.0.strip_prefix(other.0.as_slice()).is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
    }
}

impl Ord for TreePath {
    fn cmp(&self, other: &Self) -> Ordering {
        let at = self.0.iter().zip(&other.0).position(|(a, b)| a != b);
        match at {
            None => self.0.len().cmp(&other.0.len()),
            Some(at) => {
                // The separator sorts before every byte of a name.
                let rank =
                    |byte: Option<&u8>| byte.map_or(0, |byte| if *byte == b'/' { 1 } else { 2 + u16::from(*byte) });
                rank(self.0.get(at)).cmp(&rank(other.0.get(at)))
            }
        }
    }
}

impl PartialOrd for TreePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Shown for people: the top as `.`, and what is not UTF-8, and control characters, as `\xNN`.
impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_top() {
            return f.write_str(".");
        }
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                if character.is_control() {
                    write!(f, "{}", character.escape_default())?;
                } else {
                    write!(f, "{character}")?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl serde::Serialize for TreePath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::new(text).unwrap()
    }

    #[test]
    fn paths_that_lead_out_are_invalid() {
        for bad in ["/", "/a", "a/", "a//b", ".", "..", "a/../b", "a\0b", "./a"] {
            assert_eq!(TreePath::new(bad).unwrap_err().code(), "path_outside", "{bad:?}");
        }
        assert!(TreePath::new("..a/...").is_ok());
    }

    #[test]
    fn a_directory_comes_right_before_what_is_in_it() {
        let mut paths = ["b", "a-b", "a", "a/b", "", "a.b", "a/b/c"].map(path);
        paths.sort();
        assert_eq!(paths, ["", "a", "a/b", "a/b/c", "a-b", "a.b", "b"].map(path));
    }

    #[test]
    fn within_is_by_names() {
        assert!(path("a/b").is_within(&path("a")));
        assert!(path("a").is_within(&path("a")));
        assert!(path("a").is_within(&TreePath::top()));
        assert!(!path("ab").is_within(&path("a")));
        assert_eq!(path("a/b").parent(), Some(path("a")));
        assert_eq!(path("a").parent(), Some(TreePath::top()));
        assert_eq!(path("a/b").name(), b"b");
    }

    #[test]
    fn odd_bytes_are_shown_apart() {
        assert_eq!(TreePath::new(b"bad\xff\xfename".to_vec()).unwrap().to_string(), "bad\\xff\\xfename");
        assert_eq!(path("new\nline").to_string(), "new\\nline");
        assert_eq!(TreePath::top().to_string(), ".");
    }
}
