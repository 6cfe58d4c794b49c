//! Verifying trees and artifacts: every block that an entry stands on is there, and is what its name says.

use super::unless_damaged;
use crate::branch::Lifetime;
use crate::core::Core;
use crate::views::row;
use samite_ledger::verify::{Finding, What};
use samite_ledger::{JournalKind, JournalState, JournalStatus, RowQuery};
use samite_model::{BlockId, BranchId, JournalId, Observer, Position, Pseudonym, Result};
use samite_workspace::{Root, check_blocks};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The roots that are to be whole, by the entries that name them.
type Roots = BTreeMap<(JournalId, u64), Root>;

impl Core {
    /// Reads every block of the trees that entries name, each once, and says at which entry one is missing or damaged.
    pub(super) async fn check_trees(
        &self,
        damaged: &[Finding],
        unreadable: &mut Vec<String>,
        observer: &Observer,
    ) -> Result<Vec<Finding>> {
        let before = self.roots_to_check(damaged, unreadable).await?;
        let found = self.damaged_blocks(&before, unreadable, observer)?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        // A branch may have been given up while its trees were read, and a collection have taken them. Damage is what is
        // not whole by what is known now either, and was not before.
        let missed: HashSet<BlockId> = found.into_iter().map(|(block, _)| block).collect();
        let mut now = self.roots_to_check(damaged, &mut Vec::new()).await?;
        now.retain(|at, _| before.contains_key(at));
        let found = self.damaged_blocks(&now, &mut Vec::new(), observer)?;
        Ok(found.into_iter().filter(|(block, _)| missed.contains(block)).map(|(_, finding)| finding).collect())
    }

    /// What a retained branch has or inherits, and what an artifact that is kept has, must be there; of others, what is
    /// there must be whole.
    async fn roots_to_check(&self, damaged: &[Finding], unreadable: &mut Vec<String>) -> Result<Roots> {
        let now = self.now();
        let states = self.listed().await?;
        let mut lifetimes: HashMap<BranchId, Lifetime> = HashMap::new();
        for control in states.iter().filter(|state| state.kind == JournalKind::SessionControl) {
            let what = format!("what journal {} says of lifetimes", control.id);
            lifetimes.extend(unless_damaged(unreadable, &what, self.lifetimes(control).await)?.unwrap_or_default());
        }
        // What an erased owner left goes with the next collection, and nobody can say what it was.
        let living: HashSet<Pseudonym> = self.0.keys.live_keys()?.into_iter().map(|key| key.subject).collect();
        let is_damaged = |journal: JournalId| damaged.iter().any(|finding| finding.journal == journal);
        let mut roots: BTreeMap<(JournalId, u64), (Root, bool)> = BTreeMap::new();
        let readable = |state: &&JournalState| !is_damaged(state.id) && living.contains(&state.owner);
        for state in states.iter().filter(|state| state.kind == JournalKind::Branch).filter(readable) {
            let retained = state.status == JournalStatus::Open
                && !lifetimes.get(&state.id).is_some_and(|lifetime| lifetime.is_over(now));
            let at = Position { journal: state.id, seq: state.head };
            let query = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit: usize::MAX };
            let what = format!("which trees journal {} has", state.id);
            let rows = unless_damaged(unreadable, &what, self.0.ledger.rows(query).await)?;
            for row in rows.unwrap_or_default() {
                if is_damaged(row.position.journal) || !(retained || row.position.journal == state.id) {
                    continue;
                }
                let Some(block) = unless_damaged(unreadable, &what, BlockId::from_slice(&row.value))? else { continue };
                let root = Root { label: String::new(), owner: state.owner, block, tree: true };
                roots.entry((row.position.journal, row.position.seq)).or_insert((root, false)).1 |= retained;
            }
        }
        let what = "which trees and artifacts were collected";
        let gone = unless_damaged(unreadable, what, self.collected().await)?.unwrap_or_default();
        for state in states.iter().filter(|state| state.kind == JournalKind::Artifacts).filter(readable) {
            let what = format!("which artifacts journal {} has", state.id);
            let artifacts = unless_damaged(unreadable, &what, self.retained(state, now, &gone.artifacts).await)?;
            for artifact in artifacts.unwrap_or_default() {
                let Position { journal, seq } = artifact.position;
                roots.insert((journal, seq), (artifact.root, !artifact.collected));
            }
        }
        let places = self.0.blocks.find_blocks(roots.values().map(|(root, _)| root.block).collect()).await;
        let Some(places) = unless_damaged(unreadable, "the index of blocks", places)? else { return Ok(Roots::new()) };
        // A branch may have come to be retained after its trees were collected.
        let to_check = roots
            .into_iter()
            .zip(places)
            .filter(|((_, (root, retained)), place)| place.is_some() || *retained && !gone.trees.contains(&root.block));
        Ok(to_check.map(|((at, (root, _)), _)| (at, root)).collect())
    }

    /// Reads every block of some trees, each once: those that are missing or damaged, with the first entry that needs each.
    fn damaged_blocks(
        &self,
        roots: &Roots,
        unreadable: &mut Vec<String>,
        observer: &Observer,
    ) -> Result<Vec<(BlockId, Finding)>> {
        let numbered = roots.iter().zip(0_usize..);
        let (positions, roots): (Vec<_>, Vec<Root>) =
            numbered.map(|((at, root), number)| (*at, Root { label: number.to_string(), ..root.clone() })).unzip();
        let mut found = Vec::new();
        let checked = check_blocks(&self.blocks(), &roots, observer, &mut |root, block, error| {
            let at = root.label.parse().ok().and_then(|number: usize| positions.get(number));
            if let Some((journal, seq)) = at {
                found.push((block, Finding::of_entry(*journal, *seq, What::Tree, error.message().to_owned())));
            }
        });
        unless_damaged(unreadable, "a block of the trees", checked)?;
        Ok(found)
    }
}
