//! Writing one pack.

use crate::format::{self, IndexedBlock, PackIndex};
use crate::store::{PackStore, PackUpload};
use samite_model::{BlockId, Error, PackId, Pseudonym, Result};

/// A writer goes on to the next pack once one has this many bytes.
pub const TARGET_SIZE: u64 = 64 << 20;
const BUFFER: usize = 1 << 20;

/// Writes one pack; dropping it gives the pack up.
pub struct PackWriter {
    upload: Box<dyn PackUpload>,
    buffer: Vec<u8>,
    index: PackIndex,
    length: u64,
}

/// A pack that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPack {
    /// Its index.
    pub index: PackIndex,
    /// Its size in bytes.
    pub size: u64,
}

impl PackWriter {
    /// Begins a pack. A pin should name it already, so that collection does not take it for one whose writer died.
    ///
    /// # Errors
    /// Those of [`PackStore::put`].
    pub async fn create(store: &dyn PackStore, pack: PackId) -> Result<Self> {
        let upload = store.put(pack).await?;
        let buffer = format::header(pack).to_vec();
        Ok(Self { upload, length: buffer.len() as u64, buffer, index: PackIndex { pack, blocks: Vec::new() } })
    }

    /// The pack.
    pub const fn pack(&self) -> PackId {
        self.index.pack
    }

    /// How many bytes there are so far.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Appends a sealed block and returns where it begins.
    ///
    /// # Errors
    /// `invalid` for a block of 4 GiB or more; `unavailable`, after which the pack must be given up.
    pub async fn append(&mut self, id: BlockId, owner: Pseudonym, sealed: &[u8]) -> Result<u64> {
        let length = u32::try_from(sealed.len())
            .map_err(|_| Error::invalid("block_too_large", format!("block {id} has {} bytes", sealed.len())))?;
        let offset = self.length;
        self.index.blocks.push(IndexedBlock { id, owner, offset, length });
        self.length += u64::from(length);
        self.buffer.extend_from_slice(sealed);
        if self.buffer.len() >= BUFFER {
            self.flush().await?;
        }
        Ok(offset)
    }

    async fn flush(&mut self) -> Result<()> {
        self.upload.write(&self.buffer).await?;
        self.buffer.clear();
        Ok(())
    }

    /// Finishes the pack. When this returns, the pack is durable and may be announced to the ledger.
    ///
    /// # Errors
    /// `unavailable`, after which the pack must not be announced.
    pub async fn finish(mut self) -> Result<WrittenPack> {
        let footer = format::footer(&self.index)?;
        self.buffer.extend_from_slice(&footer);
        self.length += footer.len() as u64;
        self.flush().await?;
        self.upload.finish().await?;
        Ok(WrittenPack { index: self.index, size: self.length })
    }
}
