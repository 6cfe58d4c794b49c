//! What two branches have in common.

use crate::client::Client;
use crate::core::Core;
use crate::payload::MergeStarted;
use crate::session::branches_of;
use crate::views::{MergedRow, register, row};
use samite_ledger::{JournalState, RowQuery};
use samite_model::history::{History, Line};
use samite_model::tree::{Listing, MergeOptions, Taken, TreePath, merge};
use samite_model::{BlockId, Position, Result, SessionId};
use samite_workspace::Tree;

/// Ancestors of ancestors are looked at so deep: what lies deeper counts as not there, which costs conflicts only.
const DEPTH: usize = 8;

impl Core {
    /// The second parents along a branch's ancestry, each with the position of its merge.
    pub(crate) async fn second_parents(&self, state: &JournalState) -> Result<Vec<(Position, MergedRow)>> {
        let at = Position { journal: state.id, seq: state.head };
        let query = RowQuery { at, kind: row::MERGED, hashes: Vec::new(), limit: usize::MAX };
        let rows = self.0.ledger.rows(query).await?;
        rows.into_iter().map(|row| Ok((row.position, MergedRow::decode(&row.value)?))).collect()
    }

    /// The merge into a branch that waits for decisions or for its end, if there is one.
    pub(crate) async fn open_merge(&self, state: &JournalState) -> Result<Option<(Position, MergeStarted)>> {
        // Registers count their changes: where there was none, nothing is open.
        if state.registers == 0 {
            return Ok(None);
        }
        let (_, registers) = self.0.ledger.registers(state.id).await?;
        let Some(open) = registers.iter().find(|entry| entry.kind == register::OPEN_MERGE) else { return Ok(None) };
        let at = Position { journal: state.id, seq: open.seq };
        let entry = self.entry_at(at).await?;
        // The words of an erased person's merge are gone, and so are its trees.
        if entry.payload.is_none() {
            return Ok(None);
        }
        Ok(Some((at, entry.json()?)))
    }
}

impl Client {
    /// How the branches of a session left each other and came back together.
    pub(super) async fn merge_history(&self, session: SessionId) -> Result<History> {
        let mut lines = Vec::new();
        for state in self.core.0.ledger.journals(branches_of(session)).await? {
            let mut line = Line { parent: state.parent, merges: Vec::new() };
            // A merge sets a register.
            if state.registers > 0 {
                let parents = self.core.second_parents(&state).await?;
                let own = parents.into_iter().filter(|(at, _)| at.journal == state.id);
                line.merges = own.map(|(at, second)| (at.seq, second.theirs)).collect();
            }
            lines.push((state.id, line));
        }
        Ok(lines.into_iter().collect())
    }

    /// The tree of the common ancestors of a merge, and the roots that it is made of. Where there is no tree, nothing but the
    /// top of `like` is in common.
    pub(super) async fn base(
        &self,
        history: &History,
        bases: &[Position],
        like: &Listing,
    ) -> Result<(Listing, Vec<BlockId>)> {
        let mut roots = Vec::new();
        let listing = self.base_of(history, bases, like, DEPTH, &mut roots).await?;
        Ok((listing, roots))
    }

    /// Several ancestors are merged for their part; where they are in conflict, nothing is in common.
    async fn base_of(
        &self,
        history: &History,
        bases: &[Position],
        like: &Listing,
        depth: usize,
        roots: &mut Vec<BlockId>,
    ) -> Result<Listing> {
        let nothing = || {
            let top = TreePath::top();
            Listing::new(like.get(&top).map(|entry| (top, entry.clone())).into_iter().collect())
        };
        let Some((first, rest)) = bases.split_first().filter(|_| depth > 0) else { return Ok(nothing()) };
        let Some(mut listing) = self.listing_at(*first, roots).await? else { return Ok(nothing()) };
        for next in rest {
            let Some(other) = self.listing_at(*next, roots).await? else { return Ok(nothing()) };
            let below = history.common(*first, *next);
            let below = Box::pin(self.base_of(history, &below, like, depth - 1, roots)).await?;
            let merged = merge(&below, &listing, &other, &MergeOptions::default());
            listing = merged.complete([&below, &listing, &other], |_| Taken::Removed)?;
        }
        Ok(listing)
    }

    /// The last tree at a position; none when there is none.
    async fn listing_at(&self, at: Position, roots: &mut Vec<BlockId>) -> Result<Option<Listing>> {
        let Some(found) = self.tree_at(at).await? else { return Ok(None) };
        self.check_collected(&found).await?;
        let store = self.core.blocks();
        roots.push(found.tree.root);
        Tree::new(&store, self.subject.pseudonym, found.tree.root).listing().map(Some)
    }
}
