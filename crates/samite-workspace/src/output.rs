//! Where new blocks go: few and small ones into the commit itself, more into packs.

use crate::content::Take;
use crate::store::Store;
use futures_lite::future::block_on;
use samite_blocks::{PackWriter, TARGET_SIZE, WrittenPack};
use samite_host::kill_point;
use samite_keys::Domain;
use samite_ledger::{BlockPlace, NewBlock, NewPack, Pin};
use samite_model::{BlockId, Error, PackId, PinId, Pseudonym, Result};

/// New blocks of less than this in total are kept in the ledger, in the transaction that refers to them.
pub const INLINE_LIMIT: usize = 256 << 10;
/// A pin is renewed when half of this has passed, in nanoseconds.
const PIN_TIME: i64 = 600 * 1_000_000_000;
/// How long it can be seen that a writer was at it, in nanoseconds: no collection takes longer.
pub(crate) const MARK_TIME: i64 = 3600 * 1_000_000_000;

/// Whether a pin only says that somebody wrote, and keeps nothing.
pub(crate) fn is_mark(store: &Store, pin: &Pin) -> bool {
    pin.base.is_none() && pin.packs.is_empty() && pin.owner == store.tenant
}

/// A pin that is kept alive while a writer is at it.
pub(crate) struct LivePin<'a> {
    store: &'a Store,
    pub(crate) pin: Pin,
    /// How many of its packs are recorded.
    recorded: usize,
}

impl<'a> LivePin<'a> {
    /// Pins what `base` reaches. Nothing may be deduplicated before this returns.
    pub(crate) fn new(store: &'a Store, owner: Pseudonym, base: Option<BlockId>) -> Result<Self> {
        let mut live = Self::unrecorded(store, owner, base)?;
        live.record()?;
        Ok(live)
    }

    /// A pin that keeps nothing yet. It is recorded when it is renewed, as before each new block. What is found before that
    /// has to be looked up again afterwards.
    pub(crate) fn unrecorded(store: &'a Store, owner: Pseudonym, base: Option<BlockId>) -> Result<Self> {
        let pin = Pin { id: PinId(store.random_id()?), owner, base, expires: 0, packs: Vec::new() };
        Ok(Self { store, pin, recorded: 0 })
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.pin.expires > 0
    }

    /// Records the pin with a new expiry.
    ///
    /// # Errors
    /// `conflict` (`pin_lapsed`) when it had lapsed by then: what it kept may be gone.
    pub(crate) fn record(&mut self) -> Result<()> {
        let lapses = self.pin.expires;
        self.pin.expires = self.store.clock.now().saturating_add(PIN_TIME);
        block_on(self.store.index.pin(self.pin.clone()))?;
        self.recorded = self.pin.packs.len();
        // Looked at after it is recorded: then it was so before its time was over, and no collection had dropped it.
        if lapses > 0 && self.store.clock.now() >= lapses {
            let id = self.pin.id;
            block_on(self.store.index.unpin(id))?;
            return Err(
                Error::conflict("pin_lapsed", format!("pin {id} lapsed before it was renewed")).hint("try again")
            );
        }
        Ok(())
    }

    /// Records the packs that were noted, and then leaves a mark that outlives the pin.
    ///
    /// A collection that read the pins before the mark was there fails when it sees it, even if the writer has committed
    /// and ended its pin by then. One that read them later saw the pin with all of its packs, or reads roots that have
    /// the commit.
    fn seal(&mut self) -> Result<()> {
        if self.recorded < self.pin.packs.len() {
            self.record()?;
        } else {
            self.renew()?;
        }
        let id = PinId(self.store.random_id()?);
        let expires = self.store.clock.now().saturating_add(MARK_TIME);
        block_on(self.store.index.pin(Pin { id, owner: self.store.tenant, base: None, expires, packs: Vec::new() }))
    }

    /// Records it when half of its time has passed, or when it never was.
    pub(crate) fn renew(&mut self) -> Result<()> {
        if self.store.clock.now() > self.pin.expires - PIN_TIME / 2 { self.record() } else { Ok(()) }
    }

    /// Notes a pack for the next time that the pin is recorded.
    pub(crate) fn note(&mut self, pack: PackId) -> bool {
        let new = !self.pin.packs.contains(&pack);
        if new {
            self.pin.packs.push(pack);
        }
        new
    }
}

/// Takes new blocks and makes the rows of a commit of them.
pub(crate) struct Output<'a> {
    store: &'a Store,
    pub(crate) pin: LivePin<'a>,
    inline: Vec<(BlockId, Pseudonym, Vec<u8>)>,
    inline_bytes: usize,
    /// Whether there is too much for the ledger.
    packing: bool,
    writer: Option<PackWriter>,
    written: Vec<WrittenPack>,
    /// Bytes of new blocks, sealed.
    pub(crate) bytes: u64,
    /// How many new blocks there are.
    pub(crate) count: u64,
}

impl<'a> Output<'a> {
    pub(crate) fn new(store: &'a Store, pin: LivePin<'a>) -> Self {
        Self {
            store,
            pin,
            inline: Vec::new(),
            inline_bytes: 0,
            packing: false,
            writer: None,
            written: Vec::new(),
            bytes: 0,
            count: 0,
        }
    }

    /// Adds a sealed block.
    pub(crate) fn add(&mut self, id: BlockId, owner: Pseudonym, sealed: &[u8]) -> Result<()> {
        self.bytes += sealed.len() as u64;
        self.count += 1;
        self.pin.renew()?;
        if self.packing {
            return self.pack(id, owner, sealed);
        }
        self.inline_bytes += sealed.len();
        self.inline.push((id, owner, sealed.to_vec()));
        if self.inline_bytes >= INLINE_LIMIT {
            self.packing = true;
            for (id, owner, sealed) in std::mem::take(&mut self.inline) {
                self.pack(id, owner, &sealed)?;
            }
        }
        Ok(())
    }

    fn pack(&mut self, id: BlockId, owner: Pseudonym, sealed: &[u8]) -> Result<()> {
        if self.writer.is_none() {
            let pack = PackId(self.store.random_id()?);
            // The pin names the pack before there is anything that a collection could take for litter.
            self.pin.note(pack);
            self.pin.record()?;
            self.writer = Some(block_on(PackWriter::create(&*self.store.packs, pack))?);
            kill_point("snapshot.pack_begun");
        }
        if let Some(writer) = &mut self.writer {
            block_on(writer.append(id, owner, sealed))?;
            if writer.length() >= TARGET_SIZE {
                self.end_pack()?;
            }
        }
        Ok(())
    }

    fn end_pack(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            kill_point("snapshot.pack_full");
            self.written.push(block_on(writer.finish())?);
        }
        Ok(())
    }

    /// Ends what is being written and returns the rows. When this returns, all packs are durable.
    pub(crate) fn finish(mut self) -> Result<(Vec<NewBlock>, Vec<NewPack>, Pin)> {
        self.end_pack()?;
        self.pin.seal()?;
        let mut blocks: Vec<NewBlock> = Vec::with_capacity(self.inline.len());
        let mut packs = Vec::new();
        for pack in self.written {
            packs.push(NewPack { id: pack.index.pack, owner: self.store.tenant, size: pack.size });
            blocks.extend(new_blocks(&pack));
        }
        for (id, owner, sealed) in self.inline {
            blocks.push(NewBlock { id, owner, place: BlockPlace::Inline(sealed) });
        }
        Ok((blocks, packs, self.pin.pin))
    }
}

/// The rows of a pack's blocks.
pub(crate) fn new_blocks(written: &WrittenPack) -> impl Iterator<Item = NewBlock> {
    let pack = written.index.pack;
    written.index.blocks.iter().map(move |block| NewBlock {
        id: block.id,
        owner: block.owner,
        place: BlockPlace::Pack { pack, offset: block.offset, length: block.length },
    })
}

impl Take for Output<'_> {
    fn stores(&self) -> bool {
        true
    }

    fn block(&mut self, id: BlockId, domain: Domain, sealed: &[u8]) -> Result<()> {
        let owner = self.store.owner_of(domain);
        self.add(id, owner, sealed)?;
        if domain != Domain::Tenant {
            kill_point("snapshot.separate");
        }
        Ok(())
    }

    fn found_in(&mut self, pack: PackId) {
        self.pin.note(pack);
    }

    fn go_on(&mut self) -> Result<()> {
        // Reading what is known already may take longer than a pin lasts.
        if self.pin.is_recorded() { self.pin.renew() } else { Ok(()) }
    }
}
