//! What this crate needs of keys: naming, sealing and opening blocks.

use samite_keys::{Domain, Keyring};
use samite_model::{BlockId, Pseudonym, Result};

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

    /// Whose a sealed chunk is, in a tree of this owner: the tenant's, or the owner's.
    fn chunk_domain(&self, owner: Pseudonym, sealed: &[u8]) -> Domain;

    /// Calls `then` with the plaintext of a block, unless it cannot be opened.
    ///
    /// # Errors
    /// As [`Sealing::open_block`].
    fn with_block(&self, domain: Domain, id: BlockId, sealed: &[u8], then: &mut dyn FnMut(&[u8])) -> Result<()>;

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

    fn chunk_domain(&self, owner: Pseudonym, sealed: &[u8]) -> Domain {
        Self::chunk_domain(self, owner, sealed)
    }

    fn with_block(&self, domain: Domain, id: BlockId, sealed: &[u8], then: &mut dyn FnMut(&[u8])) -> Result<()> {
        Self::with_block(self, domain, id, sealed, |_, plaintext| then(plaintext))
    }

    fn chunk_seed(&self) -> Result<u64> {
        Ok(Self::chunk_seed(self))
    }
}
