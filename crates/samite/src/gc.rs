//! Collection: what no retained branch reaches goes. Explicit, previewed, and recorded.

use crate::artifact::{Retained, unmoved};
use crate::branch::Lifetime;
use crate::client::Client;
use crate::core::Core;
use crate::payload::StepStarted;
use crate::views::{OpenStep, Projection, register, row};
use crate::workspace::{BytesByTree, gone_on_from};
use samite_keys::Body;
use samite_ledger::{Guard, JournalFilter, JournalKind, JournalState, JournalStatus, Read, RowQuery};
use samite_model::erasure::Hold;
use samite_model::{
    ArtifactId, BlockId, BranchId, EntryKind, Error, ErrorKind, Header, JournalId, Link, Observer, Position, Result,
    SessionId,
};
use samite_workspace::{CollectOptions, Collected, Root, begin_collection, collect, preview};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeSet, HashMap, HashSet};

/// What a collection would take from a branch.
#[derive(Clone, Debug)]
pub struct Reclaimable {
    /// The session.
    pub session: SessionId,
    /// The branch.
    pub branch: BranchId,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Whether it is retained, and its checkpoints were thinned out; otherwise its time is over.
    pub thinned: bool,
    /// How many of its trees would go.
    pub trees: usize,
    /// How many bytes would go with them, and with large payloads of a branch that was deleted.
    pub bytes: u64,
}

/// An artifact that a collection would take. Its record stays.
#[derive(Clone, Debug)]
pub struct ReclaimableArtifact {
    /// The artifact.
    pub artifact: ArtifactId,
    /// How many bytes would go with it: those that nothing else needs.
    pub bytes: u64,
}

/// What a collection would do.
#[derive(Clone, Debug, Default)]
pub struct CollectionPlan {
    /// By branch, in the order in which they were made; only those of the asking principal's sessions.
    pub branches: Vec<Reclaimable>,
    /// Artifacts whose time is over, in the order in which they were published; only those of the asking principal.
    pub artifacts: Vec<ReclaimableArtifact>,
    /// Bytes that belong to no branch: of snapshots and payloads that were stored and never recorded, once it is certain
    /// that they will not be (10 minutes after their writer's last sign of life).
    pub unrecorded: u64,
    /// Bytes in all, of everybody: what a collection takes when nobody writes in between.
    pub bytes: u64,
}

/// The trees and payloads of a tenant, by whether they are kept.
#[derive(Default)]
struct Roots {
    keep: Vec<Root>,
    drop: Vec<(SessionId, BranchId, Root)>,
    /// Artifacts whose time is over.
    expired: Vec<Retained>,
    /// Where the journals of artifacts ended when their decisions were read.
    decided: Vec<(JournalId, u64)>,
    /// The holds as they were, which keep artifacts.
    holds: Option<Guard>,
    /// The branches that were deleted.
    deleted: HashSet<BranchId>,
    /// The branches whose trees are kept, but for those that were thinned out.
    retained: HashSet<BranchId>,
    heads: Vec<(JournalId, Link)>,
}

/// How often a collection looks again because somebody wrote meanwhile.
const ROUNDS: usize = 12;

/// An entry names at most so many trees.
const NAMED: usize = 2048;

impl Core {
    /// Whether anything was written to any journal since these were the heads of all.
    async fn moved_since(&self, heads: &[(JournalId, Link)]) -> Result<bool> {
        let now = self.0.ledger.journals(JournalFilter::default()).await?;
        let now: HashSet<(JournalId, Link)> = now.iter().map(|state| (state.id, state.head_link)).collect();
        Ok(heads.len() != now.len() || heads.iter().any(|head| !now.contains(head)))
    }
}

impl Client {
    /// What a collection would reclaim, by branch. Changes nothing.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not look after the tenant;
    /// `corrupt` naming the block when something that is kept is missing or damaged.
    pub async fn plan_collection(&self) -> Result<CollectionPlan> {
        self.operator().await?.plan_of_all().await
    }

    async fn plan_of_all(&self) -> Result<CollectionPlan> {
        let roots = self.roots(&HashSet::new()).await?;
        let mut drop: Vec<Root> = roots.drop.iter().map(|(_, _, root)| root.clone()).collect();
        drop.extend(roots.expired.iter().map(|expired| expired.root.clone()));
        let mut preview = preview(&self.core.blocks(), &roots.keep, &drop)?;
        let of_expired = preview.by_root.split_off(roots.drop.len());
        let mut plan = CollectionPlan { unrecorded: preview.rest, bytes: preview.rest, ..CollectionPlan::default() };
        let mut places: HashMap<BranchId, usize> = HashMap::new();
        for ((session, branch, root), bytes) in roots.drop.iter().zip(preview.by_root) {
            plan.bytes += bytes;
            // Of others' sessions only the sum is told.
            if root.owner != self.subject.pseudonym {
                continue;
            }
            let place = *places.entry(*branch).or_insert_with(|| {
                let (deleted, thinned) = (roots.deleted.contains(branch), roots.retained.contains(branch));
                let (session, branch) = (*session, *branch);
                plan.branches.push(Reclaimable { session, branch, deleted, thinned, trees: 0, bytes: 0 });
                plan.branches.len() - 1
            });
            if let Some(reclaimable) = plan.branches.get_mut(place) {
                reclaimable.trees += usize::from(root.tree);
                reclaimable.bytes += bytes;
            }
        }
        for (expired, bytes) in roots.expired.iter().zip(of_expired) {
            plan.bytes += bytes;
            if expired.owner == self.subject.pseudonym {
                plan.artifacts.push(ReclaimableArtifact { artifact: expired.artifact, bytes });
            }
        }
        Ok(plan)
    }

    /// Takes away what no retained branch reaches, and records that. When this returns, it is durable.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not look after the tenant; `unavailable` (`store_busy`) when somebody kept writing; `corrupt` as [`Client::plan_collection`], and then
    /// nothing was taken.
    pub async fn collect(&self) -> Result<Collected> {
        self.collect_with(&CollectOptions::default()).await
    }

    /// As [`Client::collect`], with options.
    ///
    /// # Errors
    /// As [`Client::collect`].
    pub async fn collect_with(&self, options: &CollectOptions) -> Result<Collected> {
        self.operator().await?.collect_for_all(options).await
    }

    async fn collect_for_all(&self, options: &CollectOptions) -> Result<Collected> {
        for _ in 0..ROUNDS {
            let store = self.core.blocks();
            let beginning = match begin_collection(&store) {
                Err(error) if error.code() == "pin_live" => continue,
                other => other?,
            };
            let roots = self.roots(&HashSet::new()).await?;
            match self.note_collected(&roots).await {
                Ok(false) => {}
                // That moved a head, or somebody decided about an artifact: what is retained is looked at once more.
                Ok(true) => continue,
                Err(error) if matches!(error.code(), "head_moved" | "registers_moved") => continue,
                Err(error) => return Err(error),
            }
            let heads = roots.heads.clone();
            match collect(&store, &beginning, &roots.keep, roots.heads, options) {
                Ok(collected) => {
                    let what = json!({ "blocks": collected.blocks, "bytes": collected.bytes });
                    let draft = self.core.draft(EntryKind::COLLECTED, &what, Projection::default())?;
                    // That it could not be recorded does not hide that it was done.
                    self.core.append_as_tenant(self.by(), vec![draft], Vec::new()).await.map_err(|error| {
                        let done = format!("{} blocks ({} bytes)", collected.blocks, collected.bytes);
                        error.context(format!("{done} were collected, and that could not be recorded"))
                    })?;
                    // A collection comes now and then: the time to say of idle branches how far they came.
                    match self.audit().anchor(&Observer::default()).await {
                        // What was collected is gone all the same, and the next anchor covers what this one did not.
                        Err(error) if error.kind() == ErrorKind::Unavailable => {}
                        other => drop(other?),
                    }
                    return Ok(collected);
                }
                Err(error) if matches!(error.code(), "head_moved" | "pin_live") => {}
                // Another collection, or an erasure, has taken what was to be kept when this one looked.
                Err(error) if error.kind() == ErrorKind::Corrupt && self.core.moved_since(&heads).await? => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::unavailable("store_busy", "the store is written to all the time, so nothing was collected")
            .hint("try again when there is less going on"))
    }

    /// Records which trees and artifacts are about to go, so that it is known of each that is gone that it was collected;
    /// whether there were any to record.
    async fn note_collected(&self, roots: &Roots) -> Result<bool> {
        let keep: HashSet<BlockId> = roots.keep.iter().map(|root| root.block).collect();
        let noted = self.core.collected().await?;
        let going: BTreeSet<BlockId> = roots
            .drop
            .iter()
            .filter(|(_, _, root)| root.tree)
            .map(|(_, _, root)| root.block)
            .filter(|root| !keep.contains(root) && !noted.trees.contains(root))
            .collect();
        let going: Vec<BlockId> = going.into_iter().collect();
        for trees in going.chunks(NAMED) {
            let what = Collecting { trees: trees.to_vec(), artifacts: Vec::new() };
            let draft = self.core.draft(EntryKind::COLLECTED, &what, Projection::default())?;
            self.core.append_as_tenant(self.by(), vec![draft], Vec::new()).await?;
        }
        let expired = roots.expired.iter().map(|expired| expired.artifact);
        let expired: Vec<ArtifactId> = expired.filter(|artifact| !noted.artifacts.contains(artifact)).collect();
        for artifacts in expired.chunks(NAMED) {
            let what = Collecting { trees: Vec::new(), artifacts: artifacts.to_vec() };
            let draft = self.core.draft(EntryKind::COLLECTED, &what, Projection::default())?;
            let mut guards = unmoved(roots.decided.iter().copied());
            guards.extend(roots.holds.clone());
            self.core.append_as_tenant(self.by(), vec![draft], guards).await?;
        }
        Ok(!going.is_empty() || !expired.is_empty())
    }

    /// How many bytes a collection would take with each tree if these checkpoints were thinned out as well.
    pub(crate) async fn bytes_without(&self, thinned: &HashSet<Position>) -> Result<BytesByTree> {
        let roots = self.tenant_wide().roots(thinned).await?;
        let drop: Vec<Root> = roots.drop.iter().map(|(_, _, root)| root.clone()).collect();
        let preview = preview(&self.core.blocks(), &roots.keep, &drop)?;
        let mut bytes = BytesByTree::new();
        for ((_, branch, root), size) in roots.drop.iter().zip(preview.by_root) {
            *bytes.entry((*branch, root.block)).or_default() += size;
        }
        Ok(bytes)
    }

    /// What keeps blocks: the trees along the ancestry of each branch that is retained, but for those that were thinned out
    /// and these, and all large payloads.
    async fn roots(&self, thinned: &HashSet<Position>) -> Result<Roots> {
        let core = &self.core;
        let now = core.now();
        let states = core.0.ledger.journals(JournalFilter::default()).await?;
        let deleted =
            states.iter().filter(|state| state.status == JournalStatus::Deleted).map(|state| state.id).collect();
        let mut roots = Roots { deleted, ..Roots::default() };
        let mut thinned = thinned.clone();
        let mut lifetimes: HashMap<BranchId, Lifetime> = HashMap::new();
        for control in states.iter().filter(|state| state.kind == JournalKind::SessionControl) {
            lifetimes.extend(core.lifetimes(control).await?);
            thinned.extend(core.thinned(control).await?.positions);
        }
        let Gone { trees: collected, artifacts: gone } = core.collected().await?;
        self.artifact_roots(&states, &gone, &mut roots).await?;
        // Of every journal, whatever it is for: what an entry says stays as long as the entry.
        for state in &states {
            self.payloads(state, 0, &mut roots.keep).await?;
        }
        let holds = core.holds().await?;
        let held = |owner, session| crate::erasure::keeps(&holds, owner, session);
        let mut kept: HashSet<Position> = HashSet::new();
        let branches = || states.iter().filter(|state| state.kind == JournalKind::Branch);
        for state in branches() {
            let is_held = held(state.owner, state.family);
            let is_over = lifetimes.get(&state.id).is_some_and(|lifetime| lifetime.is_over(now));
            let retained = state.status == JournalStatus::Open && !is_over || is_held;
            if retained {
                roots.retained.insert(state.id);
                let trees = self.trees(state).await?;
                // What was thinned out may have come to be needed since: somebody forked there.
                let needed = gone_on_from(&trees);
                for (position, root) in trees {
                    let stays = is_held || !thinned.contains(&position) || needed.contains(&position);
                    if stays && kept.insert(position) {
                        roots.keep.push(tree_root(state, root));
                    }
                }
                // The next merge of the same branch takes what was merged as its base.
                for (_, merged) in core.second_parents(state).await? {
                    roots.keep.push(tree_root(state, merged.root));
                }
            }
        }
        // What a step without an outcome would be put back to, or compared with, stays whatever becomes of its branch.
        let mut needed: HashSet<BlockId> = HashSet::new();
        for state in branches().filter(|state| state.status == JournalStatus::Open) {
            let mut trees = self.trees_of_open_steps(state).await?;
            trees.extend(core.open_merge(state).await?.into_iter().flat_map(|(_, open)| open.trees()));
            let places = core.0.blocks.find_blocks(trees.clone()).await?;
            // A caller may name any tree as that of its step's start.
            for (root, _) in trees.into_iter().zip(places).filter(|(_, place)| place.is_some()) {
                if needed.insert(root) {
                    roots.keep.push(tree_root(state, root));
                }
            }
        }
        for state in branches() {
            for (position, root) in self.trees(state).await? {
                if position.journal == state.id && !kept.contains(&position) && !needed.contains(&root) {
                    roots.drop.push((state.family, state.id, tree_root(state, root)));
                }
            }
        }
        self.deleted_roots(&states, &holds, &mut roots).await?;
        // A branch that came to be retained after its trees were collected has none of them, and none go twice.
        let places = core.0.blocks.find_blocks(roots.keep.iter().map(|root| root.block).collect()).await?;
        let mut places = places.into_iter();
        let mut missing = false;
        roots.keep.retain(|root| {
            let is_there = places.next().is_some_and(|place| place.is_some());
            let stays = is_there || !collected.contains(&root.block);
            missing |= stays && !is_there;
            stays
        });
        if missing {
            // Where several persons' erasures are done again in a copy of the store, the first takes what none of them left a key of.
            let of_erased = self.missing_of_erased().await?;
            roots.keep.retain(|root| !of_erased.contains(&root.block));
        }
        let places = core.0.blocks.find_blocks(roots.drop.iter().map(|(_, _, root)| root.block).collect()).await?;
        let mut places = places.into_iter();
        let keep: HashSet<BlockId> = roots.keep.iter().map(|root| root.block).collect();
        // Another entry that is retained may name the very same tree.
        roots
            .drop
            .retain(|(_, _, root)| places.next().is_some_and(|place| place.is_some()) && !keep.contains(&root.block));
        // One whose bytes went, or are those of another that is kept, takes nothing with it; the latter is over all the same.
        let places =
            core.0.blocks.find_blocks(roots.expired.iter().map(|expired| expired.root.block).collect()).await?;
        let mut places = places.into_iter();
        roots.expired.retain(|expired| {
            let is_there = places.next().is_some_and(|place| place.is_some());
            !expired.collected || is_there && !keep.contains(&expired.root.block)
        });
        roots.heads = states.iter().map(|state| (state.id, state.head_link)).collect();
        Ok(roots)
    }

    /// What went with branches that were deleted: it goes, unless it is held.
    async fn deleted_roots(&self, states: &[JournalState], holds: &[Hold], roots: &mut Roots) -> Result<()> {
        let is_branch = |state: &&JournalState| state.kind == JournalKind::Branch;
        let deleted = states.iter().filter(is_branch).filter(|state| state.status == JournalStatus::Deleted);
        let deleting: HashSet<SessionId> = deleted.map(|state| state.family).collect();
        let is_control = |state: &&JournalState| state.kind == JournalKind::SessionControl;
        for control in states.iter().filter(is_control).filter(|control| deleting.contains(&control.family)) {
            let is_held = crate::erasure::keeps(holds, control.owner, control.family);
            // One that was cut off before it cut anything takes nothing.
            let deletions = self.core.deletions(control).await?.into_iter().flatten();
            for deletion in deletions.filter(|deletion| is_held || roots.deleted.contains(&deletion.branch)) {
                let root = |block: &BlockId, tree| Root {
                    label: deletion.branch.short(),
                    owner: control.owner,
                    block: *block,
                    tree,
                };
                let named = deletion.trees.iter().map(|block| root(block, true));
                let named = named.chain(deletion.payloads.iter().map(|block| root(block, false)));
                if is_held {
                    roots.keep.extend(named);
                } else {
                    roots.drop.extend(named.map(|root| (control.family, deletion.branch, root)));
                }
            }
        }
        Ok(())
    }

    /// What artifacts keep: all that somebody still has time for. What a collection once recorded to take is over for good.
    async fn artifact_roots(
        &self,
        states: &[JournalState],
        gone: &HashSet<ArtifactId>,
        roots: &mut Roots,
    ) -> Result<()> {
        let (version, holds) = self.core.holds_at().await?;
        roots.holds = Some(Guard::Registers { journal: self.core.tenant_control(), version });
        for state in states.iter().filter(|state| state.kind == JournalKind::Artifacts) {
            roots.decided.push((state.id, state.head));
            for artifact in self.core.retained(state, self.core.now(), gone).await? {
                let is_held = crate::erasure::keeps_owner(&holds, artifact.owner);
                if (artifact.is_over && !is_held) || artifact.collected {
                    roots.expired.push(artifact);
                } else {
                    roots.keep.push(artifact.root);
                }
            }
        }
        Ok(())
    }

    /// The trees that steps without an outcome recorded at their start, those that a fork inherited too.
    pub(crate) async fn trees_of_open_steps(&self, state: &JournalState) -> Result<Vec<BlockId>> {
        // Registers count their changes: where there was none, nothing is open.
        if state.registers == 0 {
            return Ok(Vec::new());
        }
        let (_, registers) = self.core.0.ledger.registers(state.id).await?;
        let mut trees = Vec::new();
        for register in registers.iter().filter(|entry| entry.kind == register::OPEN_STEP) {
            let start = OpenStep::decode(state.id, register)?.start;
            let entry = self.core.entry_at(start).await?;
            // The words of an erased person's step are gone, and so are their trees.
            if entry.payload.is_some() {
                let started: StepStarted = entry.json()?;
                trees.extend(started.tree);
                trees.extend(crate::workspace::trees_of_restore(&started));
            }
        }
        Ok(trees)
    }

    /// The trees along a branch's ancestry.
    pub(crate) async fn trees(&self, state: &JournalState) -> Result<Vec<(Position, BlockId)>> {
        let at = Position { journal: state.id, seq: state.head };
        let query = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit: usize::MAX };
        let rows = self.core.0.ledger.rows(query).await?;
        rows.into_iter().map(|row| Ok((row.position, BlockId::from_slice(&row.value)?))).collect()
    }

    /// The blocks of a journal's own large payloads after a seq.
    pub(crate) async fn payloads(&self, state: &JournalState, after: u64, roots: &mut Vec<Root>) -> Result<()> {
        let at = Position { journal: state.id, seq: state.head };
        let query = RowQuery { at, kind: row::LARGE, hashes: Vec::new(), limit: usize::MAX };
        for found in self.core.0.ledger.rows(query).await? {
            if found.position.journal != state.id || found.position.seq <= after {
                continue;
            }
            let seq = found.position.seq;
            for stored in self.core.0.ledger.read(Read::range(state.id, seq, seq)).await? {
                let Some(sealed) = &stored.payload else { continue };
                let header = Header::decode(&stored.header)?;
                let body = match self.core.0.keys.open_payload(&header, state.id, sealed) {
                    Ok(opened) => opened.body,
                    // What nobody can open any more keeps nothing.
                    Err(error) if error.code() == "key_destroyed" => continue,
                    Err(error) => return Err(error),
                };
                let Body::Blocks(blocks) = body else { continue };
                roots.extend(blocks.into_iter().map(|block| Root {
                    label: state.id.short(),
                    owner: header.owner,
                    block,
                    tree: false,
                }));
            }
        }
        Ok(())
    }
}

/// A tree root that a collection recorded before it took it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Collecting {
    #[serde(default)]
    pub(crate) trees: Vec<BlockId>,
    /// Artifacts whose bytes went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) artifacts: Vec<ArtifactId>,
}

/// What collections took, or were about to take: what of it is not there is not missing.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    /// Roots of trees.
    pub(crate) trees: HashSet<BlockId>,
    /// Artifacts.
    pub(crate) artifacts: HashSet<ArtifactId>,
}

impl Core {
    /// Trees that collections took, or were about to take: one of them that is not there is not missing.
    pub(crate) async fn collected_trees(&self) -> Result<HashSet<BlockId>> {
        self.collected().await.map(|gone| gone.trees)
    }

    /// What collections took, or were about to take.
    pub(crate) async fn collected(&self) -> Result<Gone> {
        self.collected_by(false).await
    }

    /// What of that is said in the tenant's own name, and so stays.
    pub(crate) async fn collected_as_tenant(&self) -> Result<Gone> {
        self.collected_by(true).await
    }

    async fn collected_by(&self, tenant_alone: bool) -> Result<Gone> {
        let tenant = self.0.keys.tenant_pseudonym();
        let mut gone = Gone::default();
        let filter = JournalFilter { kind: Some(JournalKind::TenantControl), ..JournalFilter::default() };
        for control in self.0.ledger.journals(filter).await? {
            let mut from = 1;
            while from <= control.head {
                let read = Read {
                    kinds: vec![EntryKind::COLLECTED],
                    limit: PAGE,
                    ..Read::range(control.id, from, control.head)
                };
                let page = self.0.ledger.read(read).await?;
                let Some(last) = page.last() else { break };
                from = last.seq + 1;
                for stored in &page {
                    let entry = self.open(control.id, stored)?;
                    if entry.payload.is_some() && (!tenant_alone || entry.header.owner == tenant) {
                        let collecting: Collecting = entry.json()?;
                        gone.trees.extend(collecting.trees);
                        gone.artifacts.extend(collecting.artifacts);
                    }
                }
            }
        }
        Ok(gone)
    }
}

const PAGE: usize = 512;

fn tree_root(state: &JournalState, block: BlockId) -> Root {
    Root { label: state.id.short(), owner: state.owner, block, tree: true }
}
