//! The name of a namespace: a tuple of segments that is compared whole.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A namespace has at most so many segments.
const SEGMENTS: usize = 8;

/// A segment has at most so many bytes.
const SEGMENT: usize = 256;

/// The name of a namespace: one to eight segments of one to 256 bytes each. Two names are the same when their segments are, byte
/// for byte: there is no separator, no wildcard, no case and no normal form that makes one of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// The namespace of these segments.
    ///
    /// # Errors
    /// `invalid` (`bad_namespace`) when there is none or there are more than eight, and when one of them is blank, too long, begins or
    /// ends with white space, or holds a control character or one that is not seen.
    pub fn new<Text: Into<String>>(segments: impl IntoIterator<Item = Text>) -> Result<Self> {
        let segments: Vec<String> = segments.into_iter().map(Into::into).collect();
        let bad = |what: String| {
            Error::invalid("bad_namespace", what)
                .hint("give each segment by itself: --namespace team --namespace notes")
        };
        if segments.is_empty() {
            return Err(bad("a namespace has at least one segment: none never means all".to_owned()));
        }
        if segments.len() > SEGMENTS {
            return Err(bad(format!("a namespace of {} segments; at most {SEGMENTS}", segments.len())));
        }
        for (place, segment) in segments.iter().enumerate() {
            let place = place + 1;
            if segment.trim().is_empty() {
                return Err(bad(format!("segment {place} of the namespace is empty: nothing never means all")));
            }
            if segment.len() > SEGMENT {
                return Err(bad(format!(
                    "segment {place} of the namespace has {} bytes; at most {SEGMENT}",
                    segment.len()
                )));
            }
            if segment.trim() != segment {
                return Err(bad(format!("segment {place} of the namespace begins or ends with white space")));
            }
            if segment.chars().any(|one| one.is_control() || is_unseen(one)) {
                return Err(bad(format!("segment {place} of the namespace holds a character that is not seen")));
            }
        }
        Ok(Self(segments))
    }

    /// The segments.
    pub fn segments(&self) -> &[String] {
        &self.0
    }

    /// The bytes that a keyed hash of the name is made of: the count of segments, then each with its length before it (u32, big
    /// endian). No two names have the same.
    pub fn encode(&self) -> Vec<u8> {
        let length = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes();
        let mut bytes = length(self.0.len()).to_vec();
        for segment in &self.0 {
            bytes.extend(length(segment.len()));
            bytes.extend(segment.as_bytes());
        }
        bytes
    }
}

/// Zero-width and direction characters, which make two names look like one.
const fn is_unseen(one: char) -> bool {
    matches!(one, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

impl fmt::Display for Namespace {
    /// As a person reads it. Two names can read alike: nothing is looked up by it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" / "))
    }
}

impl TryFrom<Vec<String>> for Namespace {
    type Error = Error;

    fn try_from(segments: Vec<String>) -> Result<Self> {
        Self::new(segments)
    }
}

impl From<Namespace> for Vec<String> {
    fn from(namespace: Namespace) -> Self {
        namespace.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_never_means_all() {
        let none: [&str; 0] = [];
        for bad in [&none[..], &[""], &["a", ""], &[" "], &["a", "\t"], &["\u{3000}"]] {
            assert_eq!(Namespace::new(bad.iter().copied()).unwrap_err().code(), "bad_namespace", "{bad:?}");
        }
        for bad in [" a", "a ", "a\nb", "a\0b", "a\u{200b}b", "\u{202e}a", "a\u{feff}"] {
            assert_eq!(Namespace::new([bad]).unwrap_err().code(), "bad_namespace", "{bad:?}");
        }
        assert!(Namespace::new(["s".repeat(256)]).is_ok());
        assert!(Namespace::new(["s".repeat(257)]).is_err());
        assert!(Namespace::new(vec!["s"; 8]).is_ok());
        assert!(Namespace::new(vec!["s"; 9]).is_err());
    }

    #[test]
    fn what_reads_alike_is_not_the_same() {
        let names = [
            vec!["a/b"],
            vec!["a", "b"],
            vec!["a / b"],
            vec!["ab"],
            vec!["a:b"],
            vec!["A", "b"],
            vec!["a%"],
            vec!["%"],
            vec!["_"],
            vec!["*"],
            vec!["\u{e9}"],
            vec!["e\u{301}"],
            vec!["\u{212a}"],
            vec!["K"],
            vec!["k"],
        ];
        let encoded: std::collections::HashSet<Vec<u8>> =
            names.iter().map(|name| Namespace::new(name.iter().copied()).unwrap().encode()).collect();
        assert_eq!(encoded.len(), names.len());
        assert_eq!(Namespace::new(["a", "bc"]).unwrap().encode(), b"\0\0\0\x02\0\0\0\x01a\0\0\0\x02bc");
    }

    proptest! {
        #[test]
        fn different_names_have_different_bytes(a: Vec<String>, b: Vec<String>) {
            if let (Ok(one), Ok(other)) = (Namespace::new(a.clone()), Namespace::new(b.clone())) {
                prop_assert_eq!(one.encode() == other.encode(), a == b);
            }
        }
    }
}
