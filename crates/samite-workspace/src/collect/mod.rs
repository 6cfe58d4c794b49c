//! Collection: what no root reaches goes, beside writers that are never stopped.
//!
//! Everything that roots, live pins and pinned packs reach is live. All that is not is taken from the index in one
//! transaction, whole, so that a block that is known always has all that it reaches; files go in a later one. A writer
//! that had found a block which went meanwhile sees it in the guards of its commit.

mod check;
mod inventory;
mod mark;
mod sweep;

use crate::output::{MARK_TIME, is_mark};
use crate::store::Store;
use futures_lite::future::block_on;
use inventory::Inventory;
use mark::Marker;
use samite_blocks::PackInfo;
use samite_host::kill_point;
use samite_ledger::{Collection, PackState, Pin};
use samite_model::{BlockId, Error, JournalId, Link, Observer, PackId, PinId, Pseudonym, Result};
use std::collections::HashSet;

pub use check::{OnDamage, check_blocks};
pub use mark::reachable;

/// Something that keeps blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// What a person calls it, such as a branch.
    pub label: String,
    /// Whose it is.
    pub owner: Pseudonym,
    /// The block.
    pub block: BlockId,
    /// Whether the block is a tree's root, or else keeps only itself.
    pub tree: bool,
}

/// How to collect.
#[derive(Clone, Debug)]
pub struct CollectOptions {
    /// A pack with a larger part of dead bytes than this, in percent, is rewritten; with 0, each that has any.
    pub rewrite_percent: u64,
    /// Blocks in the ledger are moved into a pack once they have this many bytes.
    pub fold_bytes: u64,
    /// Whether to remove the files of packs that died in this very collection. Otherwise the next one does, and a
    /// reader that has looked up a place meanwhile still finds its pack.
    pub unlink_now: bool,
    /// Whose data is erased, if it is done for that: then damage to blocks that others need keeps nothing from being taken, and all
    /// that is of those others stays. Otherwise nothing is taken while something is damaged.
    pub erasing: Option<Pseudonym>,
    /// Is told how many roots were followed.
    pub observer: Observer,
}

impl Default for CollectOptions {
    fn default() -> Self {
        Self {
            rewrite_percent: 50,
            fold_bytes: 8 << 20,
            unlink_now: true,
            erasing: None,
            observer: Observer::default(),
        }
    }
}

/// What a collection did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Collected {
    /// Blocks that are gone.
    pub blocks: u64,
    /// How many bytes they had, and the files whose writers died before they committed.
    pub bytes: u64,
    /// Packs of which nothing was live.
    pub packs_dropped: u64,
    /// Packs whose live blocks were copied into new ones.
    pub packs_rewritten: u64,
    /// Blocks that were moved from the ledger into packs.
    pub blocks_folded: u64,
    /// Files whose writers died before they committed.
    pub litter: u64,
    /// Bytes of files that were removed, less those of new ones.
    pub disk_bytes: i64,
    /// Whether somebody was writing, so that what nothing reaches may be there still.
    #[serde(skip)]
    pub beside_writers: bool,
}

/// The beginning of a collection: who was writing then. It comes before the roots are read.
#[derive(Clone, Debug)]
pub struct Beginning {
    pins: Vec<Pin>,
    files: Vec<PackInfo>,
    at: i64,
}

/// How often the pins are read again because another was recorded meanwhile.
const ROUNDS: usize = 10;

/// Begins a collection, and drops pins that have lapsed: their writers can no longer commit. Roots and heads are to be
/// read after this returns: then a writer that committed too late for the roots is one that the collection sees by its
/// mark.
///
/// # Errors
/// `conflict` (`pin_live`) when writers kept beginning; those of the index and of the pack store.
pub fn begin_collection(store: &Store) -> Result<Beginning> {
    // In this order: a file that is listed had its pin before it was there.
    let files = block_on(store.packs.list())?;
    let mut round = 0;
    loop {
        let at = store.clock.now();
        let pins = block_on(store.index.pins(at))?;
        // As long as a pin is recorded, its writer commits, even if it has lapsed: the files of those that are not among
        // the pins could not be told from litter.
        let seen_pins = pins.iter().map(|pin| pin.id).collect();
        match block_on(store.index.collect(Collection { seen_pins, now: at, ..Collection::default() })) {
            Ok(()) => return Ok(Beginning { pins, files, at }),
            Err(error) if error.code() == "pin_live" && round < ROUNDS => round += 1,
            Err(error) => return Err(error),
        }
    }
}

/// How many bytes a collection would take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// With each of the roots that go, in the order of the question: what no other root, no writer, and no root named before
    /// it reaches.
    pub by_root: Vec<u64>,
    /// What nothing reaches at all: files of writers that stored and did not commit, once their pins have lapsed, and what
    /// is owned by who was erased.
    pub rest: u64,
}

/// How many bytes would go with each of some roots when only the others stay, and beside them: together what [`collect`]
/// takes when nobody writes in between.
///
/// # Errors
/// `corrupt` naming the block when a reachable one is missing or damaged.
pub fn preview(store: &Store, keep: &[Root], drop: &[Root]) -> Result<Preview> {
    // In this order: a file that is listed had its pin before it was there, and has its row when that is gone.
    let files = block_on(store.packs.list())?;
    let pins = block_on(store.index.pins(store.clock.now()))?;
    let inventory = Inventory::load(store)?;
    let mut marker = Marker::new(store, &inventory, None);
    marker.pins(&pins)?;
    marker.roots(keep)?;
    let mut by_root = Vec::with_capacity(drop.len());
    for root in drop {
        let before = marker.bytes;
        marker.root(root)?;
        by_root.push(marker.bytes - before);
    }
    let known = inventory.blocks.iter();
    let rest = known.filter(|(id, known)| inventory.is_found(known) && !marker.live.contains(id));
    let rest = rest.map(|(_, known)| known.size).sum::<u64>();
    let litter = litter(&files, &inventory, &pins).iter().map(|file| file.size).sum::<u64>();
    Ok(Preview { by_root, rest: rest + litter })
}

/// How many blocks some roots reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Those that no other root reaches.
    pub only: u64,
    /// Those that others reach as well.
    pub shared: u64,
    /// How many bytes the former have, sealed.
    pub bytes: u64,
    /// How many of the former are chunks of files under their owner's keys.
    pub separate: u64,
}

/// How many blocks the roots that go reach, apart from those that stay, where something of an owner's is erased. What is damaged is
/// passed over; all that is of others of whom something is damaged stays.
///
/// # Errors
/// As [`preview`].
pub fn count_reachable(store: &Store, staying: &[Root], going: &[Root], erasing: Pseudonym) -> Result<Reach> {
    let inventory = Inventory::load(store)?;
    let mut stay = Marker::new(store, &inventory, Some(erasing));
    stay.roots(staying)?;
    stay.keep_damaged()?;
    let mut go = Marker::new(store, &inventory, Some(erasing));
    go.roots(going)?;
    let mut reach = Reach::default();
    for block in &go.live {
        if stay.live.contains(block) {
            reach.shared += 1;
        } else {
            reach.only += 1;
            reach.bytes += inventory.blocks.get(block).map_or(0, |known| known.size);
            reach.separate += u64::from(go.separate.contains(block));
        }
    }
    Ok(reach)
}

/// The files that no row and no pin names: their writers died before they committed.
fn litter<'a>(files: &'a [PackInfo], inventory: &Inventory, pins: &[Pin]) -> Vec<&'a PackInfo> {
    let known: HashSet<PackId> =
        inventory.packs().chain(pins.iter().flat_map(|pin| pin.packs.iter().copied())).collect();
    files.iter().filter(|file| !known.contains(&file.id)).collect()
}

/// Takes away what no root reaches. `seen_heads` are the heads of the journals that the roots were read from; both were
/// read after the beginning.
///
/// # Errors
/// `conflict` (`head_moved`, `pin_live`) when somebody wrote meanwhile: begin again. `corrupt` naming the block when a
/// reachable one is missing or damaged, or cannot be opened although its key was not destroyed: nothing is taken away
/// then.
pub fn collect(
    store: &Store,
    beginning: &Beginning,
    roots: &[Root],
    seen_heads: Vec<(JournalId, Link)>,
    options: &CollectOptions,
) -> Result<Collected> {
    let pins = &beginning.pins;
    let writing = pins.iter().any(|pin| !is_mark(store, pin));
    let mut collected = Collected { beside_writers: writing, ..Collected::default() };
    let mut seen_pins: Vec<PinId> = pins.iter().map(|pin| pin.id).collect();
    let inventory = Inventory::load(store)?;
    let mut marker = Marker::new(store, &inventory, options.erasing);
    marker.pins(pins)?;
    for (root, done) in roots.iter().zip(0..) {
        options.observer.tell("following what is kept (trees)", done, Some(roots.len() as u64));
        marker.root(root)?;
    }
    marker.keep_damaged()?;
    options.observer.tell("taking away what is not", 0, None);
    let live = marker.live;
    kill_point("gc.marked");

    let pinned: HashSet<PackId> = pins.iter().flat_map(|pin| pin.packs.iter().copied()).collect();
    let (swept, own_pin) = sweep::sweep(store, &inventory, &live, &pinned, options, &mut collected)?;
    kill_point("gc.rewritten");
    let mut dying: Vec<PackId> = inventory.packs_in(PackState::Dying).collect();
    let litter = litter(&beginning.files, &inventory, pins);
    // Also before litter goes: nobody may have taken up meanwhile what was about to.
    if !(swept.dying.is_empty() && swept.forget_blocks.is_empty() && swept.moved.is_empty() && litter.is_empty()) {
        if options.unlink_now {
            dying.extend(&swept.dying);
        }
        seen_pins.extend(own_pin);
        let now = store.clock.now();
        let carried_out = if now.saturating_sub(beginning.at) > MARK_TIME / 2 {
            // The marks of writers may have lapsed, and then they would not be seen.
            Err(Error::conflict("pin_live", "the collection took too long to know who wrote meanwhile"))
        } else {
            block_on(store.index.collect(Collection { seen_pins, now, seen_heads, ..swept }))
        };
        if let Some(pin) = own_pin {
            block_on(store.index.unpin(pin))?;
        }
        carried_out?;
        kill_point("gc.dying");
    }
    forget(store, &dying, &inventory, &mut collected)?;
    for file in litter {
        block_on(store.packs.delete(file.id))?;
        collected.litter += 1;
        collected.bytes += file.size;
        collected.disk_bytes = collected.disk_bytes.saturating_add_unsigned(file.size);
    }
    kill_point("gc.done");
    Ok(collected)
}

/// Forgets packs that are dying, and then removes their files.
fn forget(store: &Store, dying: &[PackId], inventory: &Inventory, collected: &mut Collected) -> Result<()> {
    if dying.is_empty() {
        return Ok(());
    }
    let now = store.clock.now();
    let seen_pins = block_on(store.index.pins(now))?.iter().map(|pin| pin.id).collect();
    block_on(store.index.collect(Collection { seen_pins, now, forget: dying.to_vec(), ..Collection::default() }))?;
    kill_point("gc.forgotten");
    for pack in dying {
        block_on(store.packs.delete(*pack))?;
        collected.disk_bytes = collected.disk_bytes.saturating_add_unsigned(inventory.pack_size(*pack));
        kill_point("gc.unlinked");
    }
    Ok(())
}
