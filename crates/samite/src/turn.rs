//! The end of a turn: what the agent did since a person asked it is durable, its files too.

use crate::artifact::Delivered;
use crate::client::Client;
use crate::memory::NotAdopted;
use crate::payload::TurnEnded;
use crate::views::{self, row};
use crate::workspace::{Checkpoint, Taken};
use crate::writer::{Writer, WriterOptions};
use samite_ledger::{Commit, Guard};
use samite_model::cadence::{Boundary, Cause, Decision, Why};
use samite_model::memory::Adoption;
use samite_model::{BranchId, EntryKind, Error, Observer, Position, Result, SessionId, limits};
use std::sync::Arc;

/// A turn that ended.
#[derive(Clone, Debug)]
pub struct EndedTurn {
    /// Where that is recorded.
    pub position: Position,
    /// Whether it was there already, under this dedupe id.
    pub duplicate: bool,
    /// The checkpoint, in the entry before it; none when there is no workspace, none was due, it failed, or for a duplicate.
    pub checkpoint: Option<Checkpoint>,
    /// Why the session's cadence has none.
    pub not_due: Option<Why>,
    /// Why there is none although one was to be taken: that never keeps the turn from being recorded.
    pub failed: Option<Arc<Error>>,
    /// What became of the session's deliverables, which are published now; none where they could not be looked at.
    pub delivered: Option<Arc<Delivered>>,
    /// What was to be taken over into long-term memory and could not be: the branch keeps it, and the next turn's end tries again.
    pub not_adopted: Vec<NotAdopted>,
}

impl Client {
    /// Records that a turn of a branch (none: the current one) has ended. When this returns, it is durable, with the
    /// workspace's tree in the same commit.
    ///
    /// # Errors
    /// As [`Writer::end_turn`]; `conflict` (`lease_held`) while another writer holds the branch.
    pub async fn end_turn(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        writer: WriterOptions,
        dedupe: Option<&str>,
    ) -> Result<EndedTurn> {
        let short = writer.id.is_none();
        let writer = self.writer(session, branch, writer).await?;
        let ended = writer.end_turn(dedupe).await;
        writer.let_go(short, ended).await
    }
}

impl Writer {
    /// Records that a turn has ended. When this returns, it is durable, with the workspace's tree in the same commit: the
    /// checkpoint that every cadence takes, unless it would cost more than its bounds allow. A dedupe id that was used for
    /// the end of a turn answers with that one, and takes nothing.
    ///
    /// # Errors
    /// `fenced` when another writer took over; `conflict` (`dedupe_mismatch`) when the dedupe id was used for something else.
    /// That no checkpoint could be taken is none: [`EndedTurn::failed`].
    pub async fn end_turn(&self, dedupe: Option<&str>) -> Result<EndedTurn> {
        if let Some(dedupe) = dedupe {
            limits::check_name("a dedupe id", dedupe)?;
            if let Some(position) = self.turn_of(dedupe).await? {
                // Whoever was cut off between the two says it again.
                let delivered = self.publish_deliverables(&Observer::default()).await.ok().map(Arc::new);
                let not_adopted = self.adopt(Adoption::AtTurnEnd).await;
                return Ok(EndedTurn { delivered, not_adopted, ..duplicate(position) });
            }
        }
        let due = self.due(Boundary::TurnEnd, None).await;
        let ended = match due {
            Ok(Decision::Take) => {
                let commit = async |tree: Option<&Taken>| {
                    self.record_turn(dedupe, tree, tree.is_none().then_some("failed")).await
                };
                self.with_tree_because(Cause::TurnEnd, None, None, commit).await.map(|(position, tree)| {
                    let at = Position { seq: position.seq.saturating_sub(1), ..position };
                    let (checkpoint, failed) = match tree {
                        Ok(tree) => (Some(tree.at(at)), None),
                        Err(error) => (None, Some(Arc::new(error))),
                    };
                    EndedTurn { checkpoint, failed, ..duplicate(position).fresh() }
                })
            }
            Ok(Decision::Wait { why, .. }) => {
                let not_due = Some(why).filter(|why| *why != Why::Cadence);
                let position = self.record_turn(dedupe, None, not_due.map(Why::name)).await;
                position.map(|position| EndedTurn { not_due, ..duplicate(position).fresh() })
            }
            Err(error) => {
                let position = self.record_turn(dedupe, None, Some(error.code())).await;
                position.map(|position| EndedTurn { failed: Some(Arc::new(error)), ..duplicate(position).fresh() })
            }
        };
        match (ended, dedupe) {
            (Err(error), Some(dedupe)) if matches!(error.code(), "row_exists" | "outcome_unknown") => {
                self.turn_of(dedupe).await?.map(duplicate).ok_or(error)
            }
            (Ok(ended), _) => {
                // The turn has ended whatever becomes of them: the next one's end looks at them again.
                let delivered = self.publish_deliverables(&Observer::default()).await.ok().map(Arc::new);
                let not_adopted = self.adopt(Adoption::AtTurnEnd).await;
                Ok(EndedTurn { delivered, not_adopted, ..ended })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Where the end of a turn with this dedupe id is recorded.
    async fn turn_of(&self, dedupe: &str) -> Result<Option<Position>> {
        let hashes = self.hashes("dedupe", dedupe.as_bytes())?;
        let Some(found) = self.latest_row(row::DEDUPE, hashes).await? else { return Ok(None) };
        if self.core().entry_at(found.position).await?.header.kind == EntryKind::TURN_ENDED {
            return Ok(Some(found.position));
        }
        Err(Error::conflict(
            "dedupe_mismatch",
            format!("dedupe id {dedupe:?} was used at seq {} for something else", found.position.seq),
        )
        .hint("use another id for another event"))
    }

    async fn record_turn(&self, dedupe: Option<&str>, tree: Option<&Taken>, no_tree: Option<&str>) -> Result<Position> {
        let ended = TurnEnded {
            dedupe: dedupe.map(str::to_owned),
            tree: tree.map(Taken::root),
            no_tree: no_tree.map(str::to_owned),
        };
        let views = views::turn_ended(&self.own_hash(), &ended)?;
        let draft = self.core().draft(EntryKind::TURN_ENDED, &ended, views)?;
        let (mut commit, mut drafts) = tree
            .map_or_else(|| (Commit::default(), Vec::new()), |tree| (tree.commit.clone(), vec![tree.draft.clone()]));
        drafts.push(draft);
        if let Some(dedupe) = dedupe {
            let hashes = self.hashes("dedupe", dedupe.as_bytes())?;
            commit.guards.push(Guard::RowAbsent { journal: self.branch, kind: row::DEDUPE, hashes });
        }
        let last = drafts.len() as u64 - 1;
        samite_host::kill_point("turn.before_commit");
        let seq = self.commit_with(commit, drafts).await?;
        samite_host::kill_point("turn.after_commit");
        Ok(Position { journal: self.branch, seq: seq + last })
    }
}

impl EndedTurn {
    fn fresh(self) -> Self {
        Self { duplicate: false, ..self }
    }
}

fn duplicate(position: Position) -> EndedTurn {
    EndedTurn {
        position,
        duplicate: true,
        checkpoint: None,
        not_due: None,
        failed: None,
        delivered: None,
        not_adopted: Vec::new(),
    }
}
