//! Filling the stat cache after a restore, so that the next snapshot reads nothing that was just written.

use super::{RestoreOptions, makes};
use crate::cache::{CacheWriter, is_racy};
use crate::scan::{Scanned, State};
use crate::system::Stamp;
use samite_model::Result;
use samite_model::tree::{Action, Body, Content, Segment, TreePath};
use std::collections::{HashMap, HashSet};

/// What is known of files that were put in place.
#[derive(Default)]
pub(crate) struct Restored {
    /// What the file system says of each since it is in its place, by the number of the action that made it.
    pub(crate) stamps: Vec<Option<Stamp>>,
    /// The segments of files that list them in blocks.
    pub(crate) listed: HashMap<TreePath, Vec<Segment>>,
}

/// Writes the cache: what the scan knew and the restore left alone, and what it wrote.
pub(crate) fn refill(
    options: &RestoreOptions,
    scanned: &Scanned,
    actions: &[Action],
    restored: &Restored,
) -> Result<()> {
    let Some(path) = &options.scan.cache else { return Ok(()) };
    if actions.is_empty() {
        return Ok(());
    }
    // Begun after the files were written: their stamps were taken when they were in place.
    let mut writer = CacheWriter::begin(path)?;
    let has_items = scanned.directories.iter().any(|directory| !directory.items.is_empty());
    // Where nothing stood, nothing was touched.
    let touched: HashSet<&TreePath> = actions.iter().filter(|_| has_items).map(Action::path).collect();
    let began = scanned.began.unwrap_or(i64::MIN);
    for directory in &scanned.directories {
        for item in &directory.items {
            let Some(segments) = item.segments() else { continue };
            // A file with several names may have lost or gained one, which changes what is said of it.
            let alone = !item.linked;
            if item.state != State::Known || item.entry.metadata.torn || is_racy(&item.stamp, began) || !alone {
                continue;
            }
            let path = directory.path.join(&item.entry.name);
            if touched.contains(&path) {
                continue;
            }
            writer.add(&path, &item.stamp, !item.entry.metadata.xattrs.is_empty(), segments);
        }
    }
    for (action, stamp) in actions.iter().zip(&restored.stamps) {
        let (Some((path, entry)), Some(stamp)) = (makes(action), stamp) else { continue };
        let Content::File { body, .. } = &entry.content else { continue };
        let segments: &[Segment] = match body {
            Body::Segments(segments) => segments,
            Body::List(_) => match restored.listed.get(path) {
                Some(segments) => segments,
                None => continue,
            },
        };
        if !entry.metadata.torn {
            writer.add(path, stamp, !entry.metadata.xattrs.is_empty(), segments);
        }
    }
    writer.finish()
}
