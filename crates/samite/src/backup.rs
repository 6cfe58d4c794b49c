//! Backups: a consistent copy of a store while it is used, verified before it counts.

use crate::embedded::Embedded;
use samite_blocks::{FilePackStore, PackStore, read_index};
use samite_host::files;
use samite_ledger::{BlockIndex, BlockPlace, Pin};
use samite_model::{Error, PinId, Result};
use std::path::{Path, PathBuf};

/// How long collection waits for a backup whose process died: a day, in nanoseconds.
const PIN_TIME: i64 = 24 * 3600 * 1_000_000_000;

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
    /// `conflict` (`not_empty`) when the directory holds something; `corrupt` when the copy does not pass its check.
    pub async fn backup(&self, to: &Path) -> Result<Backup> {
        if files::exists(to)? && !files::list(to)?.is_empty() {
            return Err(Error::conflict("not_empty", format!("{} holds something already", to.display()))
                .hint("give a directory that does not exist"));
        }
        let relative = self.home().strip_prefix(self.directory()).map(Path::to_path_buf).unwrap_or_default();
        let home = to.join(relative);
        files::create_private_dir(&home)?;
        files::create_private_dir(&home.join("packs"))?;
        // The ledger is copied first, so that every pack it names was there before the packs are copied. A pin keeps
        // collection from taking one away in between.
        let pin = self.pin_packs().await?;
        let copied = self.copy(&home).await;
        self.ledger().unpin(pin).await?;
        let (packs, bytes) = copied?;
        // Last, so that a copy that was cut off is no store.
        let node = files::read(&self.directory().join("node.toml"))?;
        files::write_atomic(&to.join("node.toml"), &node, files::PRIVATE_FILE)?;
        Ok(Backup { directory: to.to_path_buf(), packs, bytes: bytes + node.len() as u64 })
    }

    async fn pin_packs(&self) -> Result<PinId> {
        let core = &self.store().core;
        let packs = self.ledger().packs().await?.into_iter().map(|pack| pack.id).collect();
        let pin = Pin {
            id: PinId(core.random_id()?),
            owner: core.0.keys.tenant_pseudonym(),
            base: None,
            expires: core.now().saturating_add(PIN_TIME),
            packs,
        };
        let id = pin.id;
        self.ledger().pin(pin).await?;
        Ok(id)
    }

    async fn copy(&self, home: &Path) -> Result<(usize, u64)> {
        self.ledger().backup_to(home.join("ledger.db")).await?;
        self.keys().back_up(&home.join("keys"))?;
        let mut bytes = 0;
        let target = FilePackStore::open(&home.join("packs"))?;
        let packs = &self.store().core.0.packs;
        let mut count = 0;
        for pack in packs.list().await?.into_iter().filter(|pack| pack.finished) {
            let mut upload = target.put(pack.id).await?;
            let mut offset = 0;
            while offset < pack.size {
                let length = usize::try_from((pack.size - offset).min(4 << 20)).unwrap_or(4 << 20);
                let part = packs.read(pack.id, offset, length).await?;
                offset += part.len() as u64;
                upload.write(&part).await?;
            }
            upload.finish().await?;
            // The pack's own index is checked in the copy.
            read_index(&target, pack.id).await?;
            count += 1;
            bytes += pack.size;
        }
        self.check_places(&target).await?;
        Ok((count, bytes))
    }

    /// Every block that the ledger knows lies in a pack of the copy.
    async fn check_places(&self, target: &FilePackStore) -> Result<()> {
        let mut after = None;
        loop {
            let blocks = self.ledger().blocks(after, 4096).await?;
            let Some(last) = blocks.last() else { return Ok(()) };
            after = Some(last.id);
            for block in &blocks {
                let BlockPlace::Pack { pack, offset, length } = &block.place else { continue };
                let size = target.size(*pack).await?.unwrap_or(0);
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
}
