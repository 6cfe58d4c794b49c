//! The contract for places that hold packs.

use async_trait::async_trait;
use samite_model::{PackId, Result};

/// A place that holds packs. A pack is written once, never changed, and seen by nobody before it is finished.
#[async_trait]
pub trait PackStore: Send + Sync + 'static {
    /// Begins a pack. Until it is finished, no other method but `delete` and `list` knows it.
    ///
    /// # Errors
    /// `conflict` (`pack_exists`) when there is a pack with this id; `denied` or `unavailable`.
    async fn put(&self, pack: PackId) -> Result<Box<dyn PackUpload>>;

    /// Replaces what is in `bytes` by the bytes of a range: whoever reads many ranges needs one buffer for all of them.
    /// After an error it holds anything.
    ///
    /// # Errors
    /// `corrupt` naming the pack: `pack_missing` when there is none, `pack_cut` when it ends before the range does.
    async fn read_into(&self, pack: PackId, offset: u64, length: usize, bytes: &mut Vec<u8>) -> Result<()>;

    /// The bytes of a range.
    ///
    /// # Errors
    /// As [`PackStore::read_into`].
    async fn read(&self, pack: PackId, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(pack, offset, length, &mut bytes).await?;
        Ok(bytes)
    }

    /// The size of a finished pack; `None` when there is none.
    async fn size(&self, pack: PackId) -> Result<Option<u64>>;

    /// Removes a pack, finished or not; one that does not exist is no error. Its absence is durable when this returns.
    async fn delete(&self, pack: PackId) -> Result<()>;

    /// All packs, ordered by id.
    async fn list(&self) -> Result<Vec<PackInfo>>;
}

/// A pack as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackInfo {
    /// The pack.
    pub id: PackId,
    /// Its size in bytes, or what there is of it.
    pub size: u64,
    /// Whether it was finished; one that was not is being written, or its writer died.
    pub finished: bool,
}

/// A pack that is being written. Dropping it gives it up.
#[async_trait]
pub trait PackUpload: Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// `unavailable`, after which the pack must be given up.
    async fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Finishes the pack. When this returns, its bytes and its name are durable.
    ///
    /// # Errors
    /// `unavailable`, after which it is unknown whether there is such a pack.
    async fn finish(self: Box<Self>) -> Result<()>;
}
