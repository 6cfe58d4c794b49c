//! Paths of files below `/memories`. Pure.
//!
//! A path is taken as it is written or not at all: nothing is decoded, folded or resolved, so that two paths are one file only if they are
//! the same bytes, and none leads anywhere else.

use std::fmt;

/// What all paths begin with.
const ROOT: &str = "/memories";

/// A path has at most so many bytes.
const PATH: usize = 1024;

/// A part of it has at most so many.
const PART: usize = 255;

/// A path below `/memories`: its parts; without any it is that directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FilePath(Vec<String>);

/// Why a path is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadPath {
    /// It does not begin with `/memories`.
    Elsewhere,
    /// It would leave `/memories`, or looks to somebody as if it did.
    Leaves,
    /// It is too long, has an empty part, or characters that nobody sees.
    Unusable,
}

impl FilePath {
    /// The path that a text is. A directory may end with a slash where that is said.
    pub(super) fn parse(text: &str, may_end_with_slash: bool) -> Result<Self, BadPath> {
        let rest = text.strip_prefix(ROOT).ok_or(BadPath::Elsewhere)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return Err(BadPath::Elsewhere);
        }
        if text.len() > PATH {
            return Err(BadPath::Unusable);
        }
        let rest = if may_end_with_slash { rest.strip_suffix('/').unwrap_or(rest) } else { rest };
        let Some(rest) = rest.strip_prefix('/') else { return Ok(Self::default()) };
        let parts: Vec<String> = rest.split('/').map(str::to_owned).collect();
        for part in &parts {
            check(part)?;
        }
        Ok(Self(parts))
    }

    /// Whether it is `/memories` itself.
    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts of this path after those of a directory that it is below; none where it is not.
    pub(super) fn below(&self, directory: &Self) -> Option<&[String]> {
        self.0.strip_prefix(directory.0.as_slice()).filter(|rest| !rest.is_empty())
    }

    /// The same place below another directory.
    pub(super) fn moved(&self, from: &Self, to: &Self) -> Option<Self> {
        Some(Self([to.0.as_slice(), self.0.strip_prefix(from.0.as_slice())?].concat()))
    }

    /// The directories above it, the nearest last; without `/memories`.
    pub(super) fn above(&self) -> impl Iterator<Item = Self> + '_ {
        (1..self.0.len()).filter_map(|count| Some(Self(self.0.get(..count)?.to_vec())))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROOT)?;
        self.0.iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

fn check(part: &str) -> Result<(), BadPath> {
    let lower = part.to_lowercase();
    // Somebody decodes them later, or takes them for what they look like.
    let is_coded = ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|code| lower.contains(code));
    let is_dots = !part.is_empty() && part.chars().all(is_like_a_dot);
    if is_coded || is_dots || part.chars().any(is_like_a_slash) {
        return Err(BadPath::Leaves);
    }
    if part.is_empty() || part.len() > PART || part.trim() != part || part.chars().any(is_unseen) {
        return Err(BadPath::Unusable);
    }
    Ok(())
}

/// Whether a name of these alone may be read as this directory, or as the one above.
const fn is_like_a_dot(one: char) -> bool {
    matches!(
        one,
        '.' | '\u{b7}' | '\u{2024}'
            ..='\u{2027}' | '\u{22c5}' | '\u{3002}' | '\u{30fb}' | '\u{fe52}' | '\u{ff0e}' | '\u{ff61}'
    )
}

const fn is_like_a_slash(one: char) -> bool {
    matches!(
        one,
        '\\' | '\u{2044}'
            | '\u{2215}'
            | '\u{2216}'
            | '\u{29f5}'
            | '\u{29f8}'
            | '\u{29f9}'
            | '\u{fe68}'
            | '\u{ff0f}'
            | '\u{ff3c}'
    )
}

/// Control characters, those of no width, and those that turn the direction.
fn is_unseen(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(one, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_leads_out_of_memories() {
        let good =
            ["/memories", "/memories/a", "/memories/a/b.md", "/memories/.hidden", "/memories/a..b", "/memories/%20"];
        for text in good {
            assert_eq!(FilePath::parse(text, false).unwrap().to_string(), text);
        }
        assert_eq!(FilePath::parse("/memories/a/", true).unwrap().to_string(), "/memories/a");
        assert!(FilePath::parse("/memories/", true).unwrap().is_root());
        for text in [
            "",
            "/",
            "memories/a",
            "/Memories/a",
            "/memoriesx",
            "/memories2/a",
            "/etc/passwd",
            "//memories/a",
            "./memories",
        ] {
            assert_eq!(FilePath::parse(text, true), Err(BadPath::Elsewhere), "{text}");
        }
        let leaving = [
            "/memories/..",
            "/memories/../x",
            "/memories/a/../../x",
            "/memories/.",
            "/memories/a/./b",
            "/memories/...",
            "/memories/%2e%2e/x",
            "/memories/%2E./x",
            "/memories/a%2fb",
            "/memories/%252e%252e/x",
            "/memories/..\\x",
            "/memories/a\\b",
            "/memories/%5c",
            "/memories/\u{2025}/x",
            "/memories/\u{ff0e}\u{ff0e}/x",
            "/memories/\u{2024}\u{2024}",
            "/memories/a\u{2215}b",
            "/memories/a\u{ff0f}b",
            "/memories/x%00",
        ];
        for text in leaving {
            assert_eq!(FilePath::parse(text, true), Err(BadPath::Leaves), "{text}");
        }
        let long = format!("/memories/{}", "n".repeat(256));
        let deep = format!("/memories{}", "/n".repeat(600));
        let odd = [
            "/memories//a",
            "/memories/a//",
            "/memories/a\0",
            "/memories/a\n",
            "/memories/ a",
            "/memories/a ",
            &long,
            &deep,
        ];
        for text in odd.into_iter().chain(["/memories/a\u{200b}", "/memories/\u{202e}a", "/memories/\u{feff}"]) {
            assert_eq!(FilePath::parse(text, true), Err(BadPath::Unusable), "{text:?}");
        }
        assert_eq!(FilePath::parse("/memories/a/", false), Err(BadPath::Unusable));
        assert_eq!(FilePath::parse("/memories/", false), Err(BadPath::Unusable));
    }

    proptest! {
        #[test]
        fn a_path_is_what_was_written_and_never_leaves(text in "(/memories)?(/|\\.|%2e|[a-c]|\\\\|\u{ff0e}|\u{2215}|\0| ){0,12}") {
            if let Ok(path) = FilePath::parse(&text, false) {
                prop_assert_eq!(path.to_string(), &text[..]);
                // What an operating system would make of it is below the root, and the same.
                let mut walked: Vec<&str> = Vec::new();
                for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
                    if part == ".." { walked.pop(); } else { walked.push(part); }
                }
                prop_assert_eq!(walked.first(), Some(&"memories"));
                prop_assert_eq!(format!("/{}", walked.join("/")), text);
            }
        }
    }
}
