//! What somebody decides about a conflict.

use samite_model::tree::{Conflict, Side, TreePath};
use samite_model::{Error, Result};
use std::str::FromStr;

/// What to take for a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// What a side has, as it is.
    Side(Side),
    /// What is proposed.
    Proposed,
    /// Nothing.
    Removed,
    /// What a file of the layout holds; its path there.
    File(TreePath),
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "ours" => Self::Side(Side::Ours),
            "theirs" => Self::Side(Side::Theirs),
            "base" => Self::Side(Side::Base),
            "proposed" => Self::Proposed,
            "removed" => Self::Removed,
            file => {
                let path = TreePath::new(file.strip_prefix("./").unwrap_or(file));
                let path = path.ok().filter(|path| !path.is_top()).ok_or_else(|| {
                    Error::invalid("bad_decision", format!("{file:?} is no decision"))
                        .hint("write ours, theirs, base, proposed, removed, or a file of the layout")
                })?;
                Self::File(path)
            }
        })
    }
}

impl Choice {
    /// Its word in entries.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Side(Side::Ours) => "ours",
            Self::Side(Side::Theirs) => "theirs",
            Self::Side(Side::Base) => "base",
            Self::Proposed => "proposed",
            Self::Removed => "removed",
            Self::File(_) => "file",
        }
    }
}

/// Whether a person's words for a path mean this conflict.
pub(super) fn means(words: &str, conflict: &Conflict) -> bool {
    let words = words.trim_end_matches('/');
    words.as_bytes() == conflict.path.as_bytes() || words == conflict.path.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_word_or_a_file_of_the_layout() {
        for (text, name) in [
            ("ours", "ours"),
            ("theirs", "theirs"),
            ("base", "base"),
            ("proposed", "proposed"),
            ("removed", "removed"),
            ("1.mine", "file"),
            ("./ours", "file"),
            ("deep/er", "file"),
        ] {
            assert_eq!(text.parse::<Choice>().unwrap().name(), name, "{text}");
        }
        for text in ["", ".", "..", "../x", "/etc/passwd", "a/../../b", "a/", "a\0b"] {
            assert_eq!(text.parse::<Choice>().unwrap_err().code(), "bad_decision", "{text:?}");
        }
    }
}
