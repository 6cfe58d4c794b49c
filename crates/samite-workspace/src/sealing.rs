//! What this crate needs of keys: naming, sealing and opening blocks.

use samite_keys::{Domain, Keyring};
use samite_model::{BlockId, Result};

/// Names, seals and opens blocks.
pub trait Sealing: Send + Sync + 'static {
    /// The keyed id of a block.
    ///
    /// # Errors
    /// `denied` (`key_destroyed`) when the domain's owner was erased.
    fn block_id(&self, domain: Domain, block_type: u8, plaintext: &[u8]) -> Result<BlockId>;

    /// Compresses and seals a block.
    ///
    /// # Errors
    /// As [`Sealing::block_id`].
    fn seal_block(&self, domain: Domain, id: BlockId, block_type: u8, plaintext: &[u8]) -> Result<Vec<u8>>;

    /// The plaintext of a block.
    ///
    /// # Errors
    /// `corrupt` naming the block when it was changed; `denied` (`key_destroyed`) when its owner was erased.
    fn open_block(&self, domain: Domain, id: BlockId, sealed: &[u8]) -> Result<Vec<u8>>;

    /// The type and plaintext of a block.
    ///
    /// # Errors
    /// As [`Sealing::open_block`].
    fn open_typed_block(&self, domain: Domain, id: BlockId, sealed: &[u8]) -> Result<(u8, Vec<u8>)>;

    /// Replaces what is in `plaintext` by the plaintext of a block.
    ///
    /// # Errors
    /// As [`Sealing::open_block`]; then the buffer holds anything.
    fn open_block_into(&self, domain: Domain, id: BlockId, sealed: &[u8], plaintext: &mut Vec<u8>) -> Result<()>;

    /// What the cuts of large files depend on beside their content: secret, so that the sizes of chunks tell nothing.
    ///
    /// # Errors
    /// `unavailable` or `corrupt` when the keys cannot be read.
    fn chunk_seed(&self) -> Result<u64>;
}

impl Sealing for Keyring {
    fn block_id(&self, domain: Domain, block_type: u8, plaintext: &[u8]) -> Result<BlockId> {
        Self::block_id(self, domain, block_type, plaintext)
    }

    fn seal_block(&self, domain: Domain, id: BlockId, block_type: u8, plaintext: &[u8]) -> Result<Vec<u8>> {
        Self::seal_block(self, domain, id, block_type, plaintext)
    }

    fn open_block(&self, domain: Domain, id: BlockId, sealed: &[u8]) -> Result<Vec<u8>> {
        Self::open_block(self, domain, id, sealed)
    }

    fn open_typed_block(&self, domain: Domain, id: BlockId, sealed: &[u8]) -> Result<(u8, Vec<u8>)> {
        Self::open_typed_block(self, domain, id, sealed)
    }

    fn open_block_into(&self, domain: Domain, id: BlockId, sealed: &[u8], plaintext: &mut Vec<u8>) -> Result<()> {
        Self::open_block_into(self, domain, id, sealed, plaintext).map(drop)
    }

    fn chunk_seed(&self) -> Result<u64> {
        Ok(Self::chunk_seed(self))
    }
}
