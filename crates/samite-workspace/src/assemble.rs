//! From what was found to the nodes of a tree.

use crate::scan::{Scanned, State};
use crate::store::Store;
use samite_keys::Domain;
use samite_model::tree::{Body, Built, Content, Entry, Root, Segment, block_type, build_content, build_directory};
use samite_model::{BlockId, Pseudonym, Result};

/// A tree's blocks: all of them, whether stored already or not.
pub(crate) struct Assembled {
    pub(crate) root: BlockId,
    pub(crate) blocks: Vec<Built>,
}

/// Builds the blocks of a tree and puts the ids of nodes and lists into the scan.
///
/// # Errors
/// `denied` (`key_destroyed`) when the owner was erased.
pub(crate) fn assemble(store: &Store, owner: Pseudonym, scanned: &mut Scanned) -> Result<Assembled> {
    let domain = Domain::Owner(owner);
    let mut identify = |block_type: u8, bytes: &[u8]| store.sealing.block_id(domain, block_type, bytes);
    let mut blocks: Vec<Built> = Vec::new();
    let mut nodes: Vec<Option<BlockId>> = vec![None; scanned.directories.len()];
    // Directories stand before those in them, so the last is complete first.
    for (index, directory) in scanned.directories.iter_mut().enumerate().rev() {
        for item in &mut directory.items {
            if let Some(node) = item.directory.and_then(|inner| nodes.get(inner).copied().flatten()) {
                item.entry.content = Content::Directory(node);
            }
            if let Some(segments) = many_segments(&mut item.entry, item.listed.take()) {
                let (body, mut lists) = build_content(segments.clone(), &mut identify)?;
                if matches!(body, Body::List(_)) {
                    item.listed = Some(segments);
                }
                if let Content::File { body: place, .. } = &mut item.entry.content {
                    *place = body;
                }
                blocks.append(&mut lists);
            }
        }
        let entries = directory.items.iter().filter(|item| item.state != State::Gone).map(|item| &item.entry);
        let node = build_directory(entries, &mut identify, &mut blocks)?;
        if let Some(place) = nodes.get_mut(index) {
            *place = Some(node);
        }
    }
    let top = nodes.first().copied().flatten().unwrap_or(BlockId([0; 32]));
    let root = Root {
        top: Entry { name: Box::default(), metadata: scanned.top.clone(), content: Content::Directory(top) },
        rules: scanned.rules.clone(),
    };
    let bytes = root.encode();
    let root = identify(block_type::ROOT, &bytes)?;
    blocks.push(Built { id: root, block_type: block_type::ROOT, bytes });
    Ok(Assembled { root, blocks })
}

/// The segments of a file that has so many that they may have to be listed: all but the plainest files.
fn many_segments(entry: &mut Entry, listed: Option<Vec<Segment>>) -> Option<Vec<Segment>> {
    match &mut entry.content {
        Content::File { body: Body::Segments(segments), .. } if segments.len() > 1 => Some(std::mem::take(segments)),
        Content::File { body: Body::List(_), .. } => listed,
        _ => None,
    }
}
