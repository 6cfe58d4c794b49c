//! The blocks of an erasure: how many there are, what of them others need, and taking them.

use crate::client::Client;
use crate::payload::Counted;
use crate::views::row;
use samite_ledger::{BlockPlace, BlockRow, JournalFilter, JournalKind, RowQuery};
use samite_model::envelope::{Envelope, PREFIX_SIZE, TAG_SIZE};
use samite_model::erasure::{Plan, RunSet, Scope};
use samite_model::{BlockId, Error, ErrorKind, KeyId, Observer, Position, Pseudonym, Result};
use samite_workspace::{CollectOptions, Collected, Root, count_reachable};
use std::collections::HashSet;
use std::time::Duration;

/// How often it is waited for writers whose snapshots keep blocks, and how long each time.
const ROUNDS: usize = 60;
const PAUSE: Duration = Duration::from_millis(100);
/// So much of a sealed block says which key it is under.
const HEAD: usize = PREFIX_SIZE + TAG_SIZE;

impl Client {
    /// How many blocks an erasure takes, and how many stay because others need them.
    pub(super) async fn count_blocks(&self, scope: &Scope, subject: Pseudonym, plan: &Plan) -> Result<Vec<Counted>> {
        let (mut going, mut staying): (Vec<Root>, Vec<Root>) = (Vec::new(), Vec::new());
        let runs = if scope.destroys_keys() { &plan.foreign } else { &plan.runs };
        let runs = RunSet::new(runs.iter().copied());
        for (root, from) in self.roots_with_places().await? {
            let goes = runs.has(from) || (scope.destroys_keys() && root.owner == subject);
            if goes { going.push(root) } else { staying.push(root) }
        }
        // What nobody else's key opens goes with the key, whoever names it.
        let counted = count_reachable(&self.core.blocks(), &staying, &going, subject)?;
        let why = (counted.shared > 0).then(|| "needed by what stays: by others, or by other sessions".to_owned());
        let mut all = vec![Counted {
            store: "blocks".to_owned(),
            found: counted.only + counted.shared,
            deleted: counted.only,
            retained: counted.shared,
            bytes: Some(counted.bytes),
            why,
        }];
        if counted.separate > 0 {
            let why = if scope.destroys_keys() {
                "of these: chunks of files in which redaction found something, under the person's own keys: they open for nobody \
                 any more, in no backup either"
            } else {
                "of these: chunks of files in which redaction found something, under the person's own keys, which live: a backup \
                 keeps them"
            };
            all.push(Counted {
                store: "separate_blocks".to_owned(),
                found: counted.separate,
                deleted: counted.separate,
                retained: 0,
                bytes: None,
                why: Some(why.to_owned()),
            });
        }
        Ok(all)
    }

    /// Everything that entries keep, with where that is said: trees, artifacts and large payloads that are there.
    async fn roots_with_places(&self) -> Result<Vec<(Root, Position)>> {
        let mut found = self.all_roots_with_places().await?;
        let blocks: Vec<BlockId> = found.iter().map(|(root, _)| root.block).collect();
        let mut places = self.core.0.blocks.find_blocks(blocks).await?.into_iter();
        found.retain(|_| places.next().is_some_and(|place| place.is_some()));
        Ok(found)
    }

    /// The same, whether they are there or not.
    async fn all_roots_with_places(&self) -> Result<Vec<(Root, Position)>> {
        let core = &self.core;
        let mut found: Vec<(Root, Position)> = Vec::new();
        for state in core.0.ledger.journals(JournalFilter::default()).await? {
            let root = |block, tree| Root { label: state.id.short(), owner: state.owner, block, tree };
            let at = Position { journal: state.id, seq: state.head };
            if state.kind == JournalKind::Branch {
                for (position, tree) in self.trees(&state).await? {
                    if position.journal == state.id {
                        found.push((root(tree, true), position));
                    }
                }
                for (position, merged) in core.second_parents(&state).await? {
                    if position.journal == state.id {
                        found.push((root(merged.root, true), position));
                    }
                }
            }
            if state.kind == JournalKind::Artifacts {
                for (position, artifact) in core.artifact_rows(&state).await? {
                    found.push((root(artifact.root, true), position));
                }
            }
            let query = RowQuery { at, kind: row::LARGE, hashes: Vec::new(), limit: usize::MAX };
            for large in core.0.ledger.rows(query).await?.into_iter().filter(|row| row.position.journal == state.id) {
                let entry = core.entry_at(large.position).await?;
                found.extend(entry.blocks.iter().map(|block| (root(*block, false), large.position)));
            }
        }
        Ok(found)
    }

    /// What is not there of what entries keep whose keys were destroyed: nobody can open it, and nothing is missing.
    pub(crate) async fn missing_of_erased(&self) -> Result<HashSet<BlockId>> {
        let core = &self.core;
        let destroyed = core.0.keys.destroyed_keys()?;
        let mut of_erased = HashSet::new();
        for (root, at) in self.all_roots_with_places().await? {
            let is_missing = core.0.blocks.find_blocks(vec![root.block]).await?.iter().all(Option::is_none);
            if is_missing && destroyed.contains(&core.entry_at(at).await?.header.key) {
                of_erased.insert(root.block);
            }
        }
        Ok(of_erased)
    }

    /// Takes every block that nothing needs, also out of packs that stay, and waits for writers that may need them.
    pub(super) async fn collect_all(&self, erasing: Pseudonym, observer: &Observer) -> Result<Collected> {
        let options = CollectOptions {
            rewrite_percent: 0,
            fold_bytes: u64::MAX,
            unlink_now: true,
            erasing: Some(erasing),
            observer: observer.clone(),
        };
        let mut all = Collected::default();
        for _ in 0..ROUNDS {
            let collected = self.collect_with(&options).await?;
            all.blocks += collected.blocks;
            all.bytes += collected.bytes;
            all.packs_dropped += collected.packs_dropped;
            all.packs_rewritten += collected.packs_rewritten;
            all.litter += collected.litter;
            all.disk_bytes = all.disk_bytes.saturating_add(collected.disk_bytes);
            if !collected.beside_writers {
                return Ok(all);
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::unavailable("store_busy", "a snapshot, backup or collection keeps blocks that are to go")
            .hint("`samite erase resume` goes on when it is done"))
    }

    /// Ends the pins of an owner, or all of them: what is being written under them is not committed.
    pub(super) async fn end_pins(&self, owner: Option<Pseudonym>) -> Result<()> {
        let blocks = &self.core.0.blocks;
        for pin in blocks.pins(self.core.now()).await? {
            if owner.is_none_or(|owner| owner == pin.owner) {
                blocks.unpin(pin.id).await?;
            }
        }
        Ok(())
    }

    /// How many blocks of an owner are left that are sealed under these keys: whoever came back has others.
    pub(super) async fn blocks_left(&self, owner: Pseudonym, keys: &[KeyId]) -> Result<u64> {
        let mut after = None;
        let mut left = 0;
        loop {
            let page = self.core.0.blocks.blocks(after, 4096).await?;
            let Some(last) = page.last() else { return Ok(left) };
            after = Some(last.id);
            for block in page.iter().filter(|block| block.owner == owner) {
                left += u64::from(self.is_sealed_under(block, keys).await?);
            }
        }
    }

    /// Whether a block says that one of these keys sealed it. One that is not where it should be says nothing.
    async fn is_sealed_under(&self, block: &BlockRow, keys: &[KeyId]) -> Result<bool> {
        let head = match &block.place {
            BlockPlace::Inline(_) => self.core.0.blocks.inline_blocks(vec![block.id]).await?.pop().flatten(),
            BlockPlace::Pack { pack, offset, length } => {
                let length = HEAD.min(usize::try_from(*length).unwrap_or(HEAD));
                match self.core.0.packs.read(*pack, *offset, length).await {
                    Err(error) if error.kind() == ErrorKind::Corrupt => None,
                    head => Some(head?),
                }
            }
        };
        Ok(head.is_some_and(|head| Envelope::parse(&head).is_ok_and(|parts| keys.contains(&parts.key))))
    }
}
