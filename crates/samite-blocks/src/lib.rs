//! Packs of sealed blocks: where big bytes live. A pack is one file (or one object) of many blocks.
//!
//! A [`PackStore`] holds packs and knows nothing of what is in them; [`PackWriter`] writes one, [`PackReader`] reads
//! blocks out of it by the places that the ledger's index knows, and [`read_index`] reads the index that each pack
//! carries at its end, from which the ledger's can be made again. The bytes are in docs/formats.md.

mod file_store;
mod format;
mod reader;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod writer;

pub use file_store::FilePackStore;
pub use format::{IndexedBlock, PackIndex, pack_size};
pub use reader::{EachBlock, PackReader, Place, read_index};
pub use store::{PackInfo, PackStore, PackUpload};
pub use writer::{PackWriter, TARGET_SIZE, WrittenPack};
