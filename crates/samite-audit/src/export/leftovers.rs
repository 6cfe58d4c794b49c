//! Files of a folder that are none of the log's as of its tree head.

use super::folder::FolderTiles;
use super::verify::Verification;
use crate::merkle::Hash;
use crate::tile::{TileKind, TilePath, bundle_entries};
use samite_host::files;
use samite_model::Result;
use std::collections::BTreeMap;
use std::path::Path;

/// The width that each file of the log has, to tell what else is there.
pub(super) type Expected = BTreeMap<(TileKind, u64), u16>;

/// Holds files of earlier tree heads against the ones that took their place, and counts what else is there.
pub(super) fn leftovers(folder: &Path, expected: &Expected, found: &mut Verification) -> Result<()> {
    let tiles = FolderTiles::new(folder);
    let below = match files::files_below(&folder.join("tile")) {
        Ok(below) => below,
        Err(error) if error.code() == "no_file" => return Ok(()),
        Err(error) => return Err(error),
    };
    for file in below.files {
        let name = file.strip_prefix(folder).ok().and_then(|name| name.to_str()).unwrap_or_default();
        let path = name.parse::<TilePath>().ok();
        let width = path.and_then(|path| expected.get(&(path.kind, path.index)).copied());
        match path.zip(width) {
            Some((path, width)) if path.width == width => {}
            Some((path, width)) if path.width < width => {
                let (narrow, wide) = (tiles.exact(path)?, tiles.exact(TilePath { width, ..path })?);
                let begins = match (&narrow, &wide) {
                    (Some(narrow), Some(wide)) => wide.starts_with(narrow),
                    // What took its place is missing, and that was found.
                    _ => true,
                };
                let entries = narrow.as_deref().map(|narrow| count(path, narrow));
                if !begins || entries.is_some_and(|entries| entries != Some(usize::from(path.width))) {
                    let what = format!("is not how {} begins", TilePath { width, ..path });
                    found.find(&path, Some(path.first_leaf()), what);
                }
            }
            _ => found.others += 1,
        }
    }
    Ok(())
}

/// How many hashes or entries a file has.
pub(super) fn count(path: TilePath, bytes: &[u8]) -> Option<usize> {
    match path.kind {
        TileKind::Entries => bundle_entries(bytes).ok().map(|entries| entries.len()),
        TileKind::Hashes(_) => bytes.len().is_multiple_of(Hash::SIZE).then_some(bytes.len() / Hash::SIZE),
    }
}
