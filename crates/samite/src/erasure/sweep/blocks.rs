//! Looking through blocks.

use super::SweptPlace;
use super::search::Search;
use crate::embedded::Embedded;
use samite_blocks::{PackReader, Place, read_index};
use samite_keys::Domain;
use samite_ledger::{BlockIndex as _, BlockPlace};
use samite_model::{BlockId, ErrorKind, Observer, PackId, Pseudonym, Result};
use std::collections::HashSet;

/// Blocks are listed so many at once.
const BLOCKS: usize = 4096;

/// What was looked through so far.
struct Blocks<'a> {
    store: &'a Embedded,
    search: &'a mut Search,
    place: SweptPlace,
    seen: HashSet<(BlockId, PackId)>,
}

impl Blocks<'_> {
    /// Looks through a block as it is stored; one that was read for nothing is one that nobody looked through.
    fn look(&mut self, id: BlockId, owner: Pseudonym, sealed: Option<&[u8]>) {
        let keys = &self.store.store().core.0.keys;
        let domain = if owner == keys.tenant_pseudonym() { Domain::Tenant } else { Domain::Owner(owner) };
        self.place.units += 1;
        let Some(sealed) = sealed else {
            self.place.unread += 1;
            return;
        };
        // Whatever it is sealed with: what an open index does not say is found out here.
        match keys.open_block(domain, id, sealed) {
            Ok(bytes) => {
                // The first that is long enough must be found by looking for its middle.
                let is_control = self.place.control.is_none() && bytes.len() >= 32;
                if is_control {
                    let middle = bytes.len() / 2;
                    self.search.expect(bytes.get(middle - 8..middle + 8).map(<[u8]>::to_vec));
                }
                self.place.bytes += bytes.len() as u64;
                self.search.look("blocks", &|| format!("block {id}"), &bytes);
                if is_control {
                    self.place.control = self.search.control();
                }
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => self.place.unread += 1,
            Err(_) => self.place.sealed += 1,
        }
    }
}

impl Embedded {
    /// All blocks that can be opened: those that stand in packs, whether or not the ledger knows them, and those that the ledger
    /// knows, wherever they are. What should open and does not is counted as unread.
    pub(super) async fn sweep_blocks(&self, search: &mut Search, observer: &Observer) -> Result<SweptPlace> {
        let core = &self.store().core;
        let place = SweptPlace { name: "blocks", ..SweptPlace::default() };
        let mut blocks = Blocks { store: self, search, place, seen: HashSet::new() };
        let reader = PackReader::new(&*core.0.packs);
        let known: HashSet<PackId> = self.ledger().packs().await?.into_iter().map(|pack| pack.id).collect();
        for pack in core.0.packs.list().await? {
            let Ok(index) = read_index(&*core.0.packs, pack.id).await else {
                // One that is being written has no index yet, and the ledger does not know it.
                blocks.place.unread += u64::from(known.contains(&pack.id));
                continue;
            };
            for block in &index.blocks {
                let at = Place { id: block.id, pack: pack.id, offset: block.offset, length: block.length };
                let sealed = reader.read(at).await.ok();
                blocks.look(block.id, block.owner, sealed.as_deref());
                blocks.seen.insert((block.id, pack.id));
            }
            observer.tell("looking through blocks", blocks.place.units, None);
        }
        let mut after = None;
        loop {
            let page = self.ledger().blocks(after, BLOCKS).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            for block in &page {
                let sealed = match &block.place {
                    BlockPlace::Inline(_) => self.ledger().inline_blocks(vec![block.id]).await?.pop().flatten(),
                    BlockPlace::Pack { pack, .. } if blocks.seen.contains(&(block.id, *pack)) => continue,
                    // The pack's own index does not tell of it.
                    BlockPlace::Pack { pack, offset, length } => {
                        let at = Place { id: block.id, pack: *pack, offset: *offset, length: *length };
                        reader.read(at).await.ok()
                    }
                };
                blocks.look(block.id, block.owner, sealed.as_deref());
            }
            observer.tell("looking through blocks", blocks.place.units, None);
        }
        Ok(blocks.place)
    }
}
