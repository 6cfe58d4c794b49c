//! The contract for the index of blocks, packs and pins: what makes collecting safe beside writing.

use async_trait::async_trait;
use samite_model::{BlockId, Link, PackId, PinId, Pseudonym, Result};

/// Where blocks are, and what keeps them.
///
/// A writer pins before it dedupes; collection treats live pins as roots, marks packs dying in one transaction and
/// forgets them in a later one, after which their files may go.
///
/// A writer records a pin that names the pack it will write, looks for its blocks, names the packs that it found them
/// in (and looks again), writes its pack, and commits with the guards that the pin is recorded and the found blocks are
/// live. A collector reads pins, then heads and journals, marks, and collects with all of them as seen. To tell files
/// that nobody will reference, it lists the files first, drops lapsed pins by a collection, and only then reads pins and
/// after them packs: a pin that has lapsed still lets its writer commit until a collection drops it.
#[async_trait]
pub trait BlockIndex: Send + Sync + 'static {
    /// Where these blocks are; `None` for one that is unknown or whose pack is dying.
    async fn find_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<BlockPlace>>>;

    /// The sealed bytes of inline blocks; `None` for a block that is not inline.
    async fn inline_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<Vec<u8>>>>;

    /// Records a pin, or replaces what is recorded of it. Durable when it returns.
    async fn pin(&self, pin: Pin) -> Result<()>;

    /// Ends a pin; nothing happens when there is none.
    async fn unpin(&self, pin: PinId) -> Result<()>;

    /// Pins that have not lapsed at `now` (ns since 1970): they expire after it.
    async fn pins(&self, now: i64) -> Result<Vec<Pin>>;

    /// All packs, ordered by id.
    async fn packs(&self) -> Result<Vec<PackRow>>;

    /// All blocks, ordered by id, after `after`, at most `limit`.
    async fn blocks(&self, after: Option<BlockId>, limit: usize) -> Result<Vec<BlockRow>>;

    /// One step of a collection, all or nothing.
    ///
    /// # Errors
    /// `conflict` (`pin_live`) when a pin was recorded after `seen_pins` was read, or names a pack that is to be marked
    /// dying: look again. `conflict` (`head_moved`) when a head moved, `invalid` (`pack_live`) for a pack to forget
    /// that is not dying. A pack or block that is gone already is no error, so that a step can be repeated.
    async fn collect(&self, collection: Collection) -> Result<()>;
}

/// Where a block's sealed bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockPlace {
    /// In the ledger. A find returns it without its bytes.
    Inline(Vec<u8>),
    /// In a pack.
    Pack {
        /// The pack.
        pack: PackId,
        /// The first byte.
        offset: u64,
        /// How many bytes.
        length: u32,
    },
}

/// A writer's claim on what it is about to reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The pin.
    pub id: PinId,
    /// The tenant's pseudonym or an owner's.
    pub owner: Pseudonym,
    /// The root that the writer started from, if any: all that it reaches is kept.
    pub base: Option<BlockId>,
    /// When it lapses, in nanoseconds since 1970.
    pub expires: i64,
    /// Packs that the writer is writing or has found blocks in.
    pub packs: Vec<PackId>,
}

/// A pack as known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackRow {
    /// The pack.
    pub id: PackId,
    /// The tenant's pseudonym.
    pub owner: Pseudonym,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is dying.
    pub state: PackState,
}

/// Whether a pack may be referenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackState {
    /// It may.
    Live,
    /// Its blocks are no longer found; its file goes next.
    Dying,
}

/// A block as known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// The block.
    pub id: BlockId,
    /// Whose domain it is in.
    pub owner: Pseudonym,
    /// Where it is; an inline one without its bytes.
    pub place: BlockPlace,
    /// How many bytes it takes.
    pub size: u64,
}

/// One step of a collection.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// The pins that the caller took for roots; another live one is `conflict`.
    pub seen_pins: Vec<PinId>,
    /// The caller's clock, in nanoseconds since 1970: pins that lapsed before are dropped.
    pub now: i64,
    /// Journals' head links that the caller marked from; a moved one is `conflict` (`head_moved`).
    pub seen_heads: Vec<(samite_model::JournalId, Link)>,
    /// How many journals there were when the caller marked, deleted ones included; another number is `conflict`
    /// (`head_moved`), since a new journal may reference what was found before it was marked from.
    pub seen_journals: Option<u64>,
    /// Live packs to mark dying.
    pub dying: Vec<PackId>,
    /// Dying packs to forget, with all rows of their blocks.
    pub forget: Vec<PackId>,
    /// Blocks to forget (inline ones, and those whose bytes are nobody's).
    pub forget_blocks: Vec<BlockId>,
    /// Blocks that moved: copied by the caller into a new pack that is durable. They take the new place.
    pub moved: Vec<crate::NewBlock>,
    /// The packs that they moved to.
    pub packs: Vec<crate::NewPack>,
}

impl Collection {
    /// Whether it would change nothing but drop lapsed pins.
    pub fn is_empty(&self) -> bool {
        self.dying.is_empty()
            && self.forget.is_empty()
            && self.forget_blocks.is_empty()
            && self.moved.is_empty()
            && self.packs.is_empty()
    }
}
