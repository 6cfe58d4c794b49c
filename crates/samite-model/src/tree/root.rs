//! The root of a tree: its top directory and the rules by which it was made.

use super::code::{Reader, put_bytes, put_varint, version};
use super::entry::{Content, Entry};
use super::path::TreePath;
use crate::error::{Error, Result};

const VERSION: u8 = 1;

/// Exclusion rules as they were when the tree was made: the text of one rule file, and the directory it stood in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    /// The directory.
    pub directory: TreePath,
    /// The text, in gitignore syntax.
    pub text: Box<[u8]>,
}

/// The root of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The top directory; its name is empty.
    pub top: Entry,
    /// The rules, in the order of their directories.
    pub rules: Vec<RuleFile>,
}

impl Root {
    /// The stored bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        self.top.encode(&mut bytes);
        put_varint(&mut bytes, self.rules.len() as u64);
        for rule in &self.rules {
            put_bytes(&mut bytes, rule.directory.as_bytes());
            put_bytes(&mut bytes, &rule.text);
        }
        bytes
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// `corrupt` when they are not a root.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        version(&mut reader, VERSION)?;
        let top = Entry::decode(&mut reader, true)?;
        if !matches!(top.content, Content::Directory(_)) {
            return Err(Error::corrupt("bad_tree_block", "the top of a tree is not a directory"));
        }
        let mut rules = Vec::new();
        for _ in 0..reader.count()? {
            let directory = TreePath::new(reader.bytes()?)
                .map_err(|_| Error::corrupt("bad_tree_block", "a rule of a tree stands outside of it"))?;
            rules.push(RuleFile { directory, text: reader.bytes()?.into() });
        }
        reader.end()?;
        Ok(Self { top, rules })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::BlockId;
    use crate::tree::Metadata;

    #[test]
    fn golden_vector() {
        let root = Root {
            top: Entry {
                name: Box::default(),
                metadata: Metadata { mode: 0o755, mtime: -1, ..Metadata::default() },
                content: Content::Directory(BlockId([0xcc; 32])),
            },
            rules: vec![RuleFile { directory: TreePath::new("d").unwrap(), text: (*b"*.o\n").into() }],
        };
        let expected = concat!(
            "01",
            "00",
            "01",
            "00",
            "ed03",
            "00",
            "00",
            "ffffffffffffffff",
            "00",
            "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
            "01",
            "0164",
            "042a2e6f0a",
        );
        assert_eq!(data_encoding::HEXLOWER.encode(&root.encode()), expected);
        assert_eq!(Root::decode(&root.encode()).unwrap(), root);
        assert!(Root::decode(&root.encode()[..40]).is_err());
    }
}
