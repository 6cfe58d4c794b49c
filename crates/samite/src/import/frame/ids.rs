//! What records, sessions and branches are known by.

use super::plan::DedupeId;
use std::path::Path;

/// Sixteen bytes of a BLAKE3 hash.
pub(in crate::import) type Key = [u8; 16];

/// The key of some bytes.
pub(in crate::import) fn key(bytes: &[u8]) -> Key {
    let mut key = [0; 16];
    let hash = blake3::hash(bytes);
    for (to, from) in key.iter_mut().zip(hash.as_bytes()) {
        *to = *from;
    }
    key
}

fn hexadecimal(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// An id of the source as a key: itself when it is short and printable, else its hash.
pub(in crate::import) fn printable(id: &str, longest: usize) -> String {
    if !id.is_empty() && id.len() <= longest && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        id.to_owned()
    } else {
        format!("hash:{}", hexadecimal(&key(id.as_bytes())))
    }
}

/// What a source without an id of its own is known by: the last three parts of its path, which say more than its name,
/// as each of many folders may hold a `trajectory.json`. Its ending stays, since a name may have a dot in it.
pub(in crate::import) fn path_id(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.get(parts.len().saturating_sub(3)..).unwrap_or_default().join("/")
}

impl DedupeId {
    /// The id of a record with a `uuid`.
    pub(in crate::import) fn of_uuid(uuid: &str) -> Self {
        Self(format!("uuid:{}", printable(uuid, 80)))
    }

    /// The id of a record whose `uuid` is another's.
    pub(in crate::import) fn of_other(uuid: &str, content: &Key) -> Self {
        Self(format!("uuid:{}", hexadecimal(&key(uuid.as_bytes()))) + ":" + &hexadecimal(content))
    }

    /// The id of a line without a `uuid`.
    pub(in crate::import) fn of_line(content: &Key, before: u64) -> Self {
        Self(format!("line:{}:{before}", hexadecimal(content)))
    }

    /// The id of something that is known by a kind and parts, such as a row by its table and primary key.
    pub(in crate::import) fn of_parts(kind: &str, parts: &[&str]) -> Self {
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        Self(format!("{kind}:{}", hexadecimal(&key(&bytes))))
    }

    /// The id of something derived from a record, such as an attachment in it.
    pub(in crate::import) fn derived(&self, what: &str, at: usize) -> Self {
        Self(format!("{what}:{}:{at}", hexadecimal(&key(self.0.as_bytes()))))
    }

    /// The id of another version of the same thing.
    pub(in crate::import) fn changed(&self, content: &Key) -> Self {
        Self(format!("changed:{}:{}", hexadecimal(&key(self.0.as_bytes())), hexadecimal(content)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_make_no_key_are_hashed() {
        assert_eq!(printable("toolu_1", 80), "toolu_1");
        for id in ["", "a b", "\u{e9}", &"x".repeat(81)] {
            assert_eq!(printable(id, 80).len(), 37, "{id:?}");
        }
        assert_eq!(DedupeId::of_line(&[1; 16], 2).as_str(), "line:01010101010101010101010101010101:2");
    }

    #[test]
    fn a_source_is_known_by_the_end_of_its_path() {
        let id = |path: &str| path_id(Path::new(path));
        assert_eq!(id("/x/a/b/eval.v1"), "a/b/eval.v1");
        assert_eq!((id("c.json").as_str(), id("")), ("c.json", String::new()));
    }

    #[test]
    fn parts_are_told_apart() {
        let id = |parts: &[&str]| DedupeId::of_parts("row", parts);
        assert_ne!(id(&["ab", "c"]), id(&["a", "bc"]));
        assert_eq!(id(&["ab", "c"]), id(&["ab", "c"]));
        assert_ne!(id(&["a"]).derived("part", 0), id(&["a"]).derived("part", 1));
    }
}
