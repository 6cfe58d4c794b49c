//! Backups: a consistent copy of a store while it is used, verified before it counts.

use crate::client::Client;
use crate::embedded::Embedded;
use crate::payload::BackedUp;
use crate::tenant::By;
use crate::views::Projection;
use samite_blocks::{FilePackStore, PackStore, read_index};
use samite_host::files;
use samite_ledger::{BlockIndex, BlockPlace, OpenOptions, PackRow, PackState, Pin, SqliteLedger};
use samite_model::{EntryKind, Error, Observer, PackId, PinId, Result};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// How long collection waits for a backup whose process died: a day, in nanoseconds.
const PIN_TIME: i64 = 24 * 3600 * 1_000_000_000;

/// How often the ledger is copied again because a collection took away what the copy needs.
const ROUNDS: usize = 10;

/// How to back up.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    /// Is told how many bytes of packs are copied, and how many blocks of the copy are checked.
    pub observer: Observer,
}

/// What a backup holds.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Where it is.
    pub directory: PathBuf,
    /// How many packs it holds.
    pub packs: usize,
    /// How many bytes it holds.
    pub bytes: u64,
}

impl Embedded {
    /// Copies the store to a directory that does not exist yet. It holds no master key: keep that apart
    /// (`samite key export`). When this returns, the copy is durable and was checked.
    ///
    /// # Errors
    /// `invalid` (`inside_store`) when the directory is the store's own or lies in it; `conflict` (`not_empty`) when it
    /// holds something; `unavailable` (`store_busy`) when collections keep
    /// taking away what it needs; `corrupt` when the copy does not pass its check.
    pub async fn backup(&self, to: &Path) -> Result<Backup> {
        self.backup_with(to, &BackupOptions::default()).await
    }

    /// As [`Embedded::backup`], with options.
    ///
    /// # Errors
    /// As [`Embedded::backup`].
    pub async fn backup_with(&self, to: &Path, options: &BackupOptions) -> Result<Backup> {
        self.backup_as(self.store().core.by_tenant()?, to, options).await
    }

    /// As [`Embedded::backup_with`], in the name of who has it made.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; as [`Embedded::backup`].
    pub async fn backup_by(&self, client: &Client, to: &Path, options: &BackupOptions) -> Result<Backup> {
        self.backup_as(client.operator().await?.by(), to, options).await
    }

    async fn backup_as(&self, by: By, to: &Path, options: &BackupOptions) -> Result<Backup> {
        if files::canonical_to_be(to)?.starts_with(files::canonical(self.directory())?) {
            return Err(Error::invalid("inside_store", format!("{} is in the store itself", to.display()))
                .hint("give a directory on another disk: a backup that is lost with its store is none"));
        }
        if files::exists(to)? && !files::list(to)?.is_empty() {
            return Err(Error::conflict("not_empty", format!("{} holds something already", to.display()))
                .hint("give a directory that does not exist"));
        }
        // Before it is there: what is erased later must name it.
        if !self.is_read_only() {
            let core = &self.store().core;
            let noted = BackedUp { to: files::canonical_to_be(to)?.to_string_lossy().into_owned() };
            let draft = core.draft(EntryKind::BACKED_UP, &noted, Projection::default())?;
            core.append_as_tenant(by, vec![draft], Vec::new()).await?;
        }
        let relative = self.home().strip_prefix(self.directory()).map(Path::to_path_buf).unwrap_or_default();
        let home = to.join(relative);
        files::create_private_dir(&home)?;
        files::create_private_dir(&home.join("packs"))?;
        // A pin keeps collection from taking a pack away while the ledger is copied, and then until its packs are.
        let mut pin = self.pin_of(self.ledger().packs().await?)?;
        self.ledger().pin(pin.clone()).await?;
        let copied = self.copy(&home, &mut pin, &options.observer).await;
        self.ledger().unpin(pin.id).await?;
        let packs = copied?;
        // Last, so that a copy that was cut off is no store.
        let node = files::read(&self.directory().join("node.toml"))?;
        files::write_atomic(&to.join("node.toml"), &node, files::PRIVATE_FILE)?;
        let mut bytes = 0;
        for file in files::files_below(to)?.files {
            bytes += files::size(&file)?;
        }
        Ok(Backup { directory: to.to_path_buf(), packs, bytes })
    }

    fn pin_of(&self, packs: Vec<PackRow>) -> Result<Pin> {
        let core = &self.store().core;
        Ok(Pin {
            id: PinId(core.random_id()?),
            owner: core.0.keys.tenant_pseudonym(),
            base: None,
            expires: core.now().saturating_add(PIN_TIME),
            packs: packs.into_iter().map(|pack| pack.id).collect(),
        })
    }

    async fn copy(&self, home: &Path, pin: &mut Pin, observer: &Observer) -> Result<usize> {
        observer.tell("copying the ledger", 0, None);
        let ledger = self.copy_ledger(&home.join("ledger.db"), pin).await?;
        let copied = self.copy_packs(home, &ledger, observer).await;
        ledger.close().await;
        copied
    }

    /// Copies the ledger, so that every pack that the copy needs is there and stays.
    async fn copy_ledger(&self, to: &Path, pin: &mut Pin) -> Result<SqliteLedger> {
        for _ in 0..ROUNDS {
            self.ledger().backup_to(to).await?;
            let copy = SqliteLedger::open(OpenOptions::new(to).read_only())?;
            // One that was written and taken away since the first pin is not there any more: a newer copy does not need it.
            let needed = live(copy.packs().await?);
            pin.packs.extend(&needed);
            pin.packs.sort_unstable();
            pin.packs.dedup();
            pin.expires = self.store().core.now().saturating_add(PIN_TIME);
            self.ledger().pin(pin.clone()).await?;
            if needed.is_subset(&live(self.ledger().packs().await?)) {
                return Ok(copy);
            }
            copy.close().await;
            files::remove(to)?;
        }
        Err(Error::unavailable("store_busy", "collections keep taking away what a copy of the ledger needs")
            .hint("back up again when there is less going on"))
    }

    async fn copy_packs(&self, home: &Path, ledger: &SqliteLedger, observer: &Observer) -> Result<usize> {
        self.keys().back_up(&home.join("keys"))?;
        let target = FilePackStore::open(&home.join("packs"))?;
        let packs = &self.store().core.0.packs;
        let needed = live(ledger.packs().await?);
        let mut sizes = Vec::with_capacity(needed.len());
        for pack in &needed {
            sizes.push(packs.size(*pack).await?.unwrap_or(0));
        }
        let (whole, mut done) = (sizes.iter().sum(), 0);
        for (pack, size) in needed.iter().zip(sizes) {
            observer.tell("copying packs (bytes)", done, Some(whole));
            let mut upload = target.put(*pack).await?;
            let mut offset = 0;
            while offset < size {
                let length = usize::try_from((size - offset).min(4 << 20)).unwrap_or(4 << 20);
                let part = packs.read(*pack, offset, length).await?;
                offset += part.len() as u64;
                observer.tell("copying packs (bytes)", done + offset, Some(whole));
                upload.write(&part).await?;
            }
            upload.finish().await?;
            done += size;
            // The pack's own index is checked in the copy.
            read_index(&target, *pack).await?;
        }
        check_places(ledger, &needed, &target, observer).await?;
        Ok(needed.len())
    }
}

fn live(packs: Vec<PackRow>) -> BTreeSet<PackId> {
    packs.into_iter().filter(|pack| pack.state == PackState::Live).map(|pack| pack.id).collect()
}

/// Every block that the copied ledger finds lies in a pack of the copy.
async fn check_places(
    ledger: &SqliteLedger,
    live: &BTreeSet<PackId>,
    target: &FilePackStore,
    observer: &Observer,
) -> Result<()> {
    let mut after = None;
    let mut checked = 0;
    let mut sizes: HashMap<PackId, u64> = HashMap::new();
    loop {
        let blocks = ledger.blocks(after, 4096).await?;
        let Some(last) = blocks.last() else { return Ok(()) };
        after = Some(last.id);
        checked += blocks.len() as u64;
        observer.tell("checking the copy (blocks)", checked, None);
        for block in &blocks {
            let BlockPlace::Pack { pack, offset, length } = &block.place else { continue };
            if !live.contains(pack) {
                continue;
            }
            let size = match sizes.get(pack) {
                Some(size) => *size,
                None => *sizes.entry(*pack).or_insert(target.size(*pack).await?.unwrap_or(0)),
            };
            if offset + u64::from(*length) > size {
                return Err(Error::corrupt(
                    "backup_incomplete",
                    format!("pack {pack} of the copy has {size} bytes and does not hold block {}", block.id),
                )
                .hint("run `samite verify`, then back up again"));
            }
        }
    }
}
