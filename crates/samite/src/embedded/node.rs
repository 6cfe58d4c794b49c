//! `node.toml`: what a store's directory says of itself.

use samite_host::{Random, files};
use samite_model::{Error, FamilyId, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;

/// The store's format and id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Node {
    /// The version of the directory's layout.
    pub(super) format: u32,
    /// A random id of this store.
    pub(super) node: FamilyId,
}

/// The format alone.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

fn path(directory: &Path) -> PathBuf {
    directory.join("node.toml")
}

impl Node {
    /// Reads it, if it is there.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>> {
        let path = path(directory);
        let Some(bytes) = files::read_if_exists(&path)? else { return Ok(None) };
        let damaged = |what: String| {
            Error::corrupt("bad_node", format!("{}: {what}", path.display()))
                .hint("restore the file from a backup; it holds only the format's number and the store's id")
        };
        let text = String::from_utf8(bytes).map_err(|_| damaged("not text".to_owned()))?;
        let invalid = |error: toml::de::Error| damaged(error.message().to_owned());
        // The number alone first: what else a newer format holds is not known here.
        let Format { format } = toml::from_str(&text).map_err(invalid)?;
        if format > FORMAT {
            return Err(Error::invalid(
                "newer_store",
                format!("{} has format {format}; this samite knows {FORMAT}", path.display()),
            )
            .hint("use a newer samite"));
        }
        if format == 0 {
            return Err(damaged("there is no format 0".to_owned()));
        }
        toml::from_str(&text).map(Some).map_err(invalid)
    }

    /// Writes a new one. When this returns, it is durable.
    pub(super) fn create(directory: &Path, random: &dyn Random) -> Result<Self> {
        let mut id = [0; 16];
        random.fill(&mut id)?;
        let node = Self { format: FORMAT, node: FamilyId(id) };
        let text = toml::to_string(&node)
            .map_err(|error| Error::internal("unserialisable", "node.toml cannot be written").because(error))?;
        files::write_atomic(&path(directory), text.as_bytes(), files::PRIVATE_FILE)?;
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_what_is_written() {
        let document = include_str!("../../../../docs/formats.md");
        let page = document.split("```node.toml\n").nth(1).unwrap().split("```").next().unwrap();
        let node = Node { format: FORMAT, node: FamilyId([0xab; 16]) };
        assert_eq!(toml::to_string(&node).unwrap(), page);
        let directory = tempfile::tempdir().unwrap();
        files::write_atomic(&path(directory.path()), page.as_bytes(), files::PRIVATE_FILE).unwrap();
        assert_eq!(Node::read(directory.path()).unwrap(), Some(node));
    }
}
