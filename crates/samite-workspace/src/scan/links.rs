//! Hard links: names of one file within the workspace.

use super::{FileRef, Scanned, State};
use samite_model::tree::{LinkGroup, TreePath};
use std::collections::HashMap;

/// Finds names of the same file, gives each group its id, and returns the groups, each in the order of paths. A file
/// whose other names are all elsewhere is in no group.
pub(crate) fn group_links(scanned: &mut Scanned) -> Vec<Vec<FileRef>> {
    let mut groups: HashMap<(u64, u64), Vec<(TreePath, FileRef)>> = HashMap::new();
    for (directory, found) in scanned.directories.iter().enumerate() {
        for (item, entry) in found.items.iter().enumerate() {
            if entry.linked && entry.state != State::Gone && entry.directory.is_none() {
                let path = found.path.join(&entry.entry.name);
                groups.entry((entry.device, entry.stamp.inode)).or_default().push((path, FileRef { directory, item }));
            }
        }
    }
    let mut sorted: Vec<Vec<(TreePath, FileRef)>> = groups.into_values().collect();
    let mut result = Vec::new();
    for group in &mut sorted {
        group.sort_by(|a, b| a.0.cmp(&b.0));
        let id = group.first().filter(|_| group.len() > 1).map(|(first, _)| LinkGroup::of(first));
        for (_, file) in group.iter() {
            if let Some(item) = scanned.item_mut(*file) {
                item.entry.metadata.link = id;
            }
        }
        if id.is_some() {
            result.push(group.iter().map(|(_, file)| *file).collect());
        }
    }
    result.sort();
    result
}
