//! A log as files that never change once they are full (C2SP tlog-tiles): tiles of 256 hashes for every eighth level of the tree,
//! and bundles of 256 entries.

mod bundle;
mod changes;
mod path;
mod reader;
mod stream;

pub(crate) use bundle::too_long;
pub use bundle::{LONGEST_ENTRY, bundle_entries, bundle_push};
pub use changes::{changed, files};
pub use path::{TileKind, TilePath};
pub(crate) use reader::tile_hashes;
pub use reader::{TileReader, TileSource, Tiles};
pub use stream::{Edge, TileFile, TileStream};

/// The hashes of a full tile, and the entries of a full bundle.
pub const FULL: u16 = 256;
/// How many levels of the tree one tile spans.
pub(crate) const SPAN: u32 = 8;

#[cfg(test)]
mod tests;
