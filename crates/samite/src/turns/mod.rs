//! A branch as a person wants to see it: turn by turn, with what was said and done, what changed in the workspace, and the
//! positions to go back to.

mod group;
mod here;
mod imported;

use crate::client::Client;
use crate::import::Teller;
use crate::log::{Entry, ReadOptions};
use crate::payload::{ArtifactPublished, ForkReason, Merged, TreeRecorded};
use crate::step::StepRecord;
use group::{Mark, Marked, Span, spans};
use samite_model::cadence::Cause;
use samite_model::tree::{Change, diff};
use samite_model::{BlockId, BranchId, EntryKind, Position, Result, SessionId};
use samite_workspace::Tree;

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Where.
    pub seq: u64,
    /// When, in nanoseconds since 1970. Of what was imported, the time that its record has, if it has one.
    pub time: Option<i64>,
    /// Who said it, such as `user` or `assistant`, where that is known. In an imported session, what the harness put in the
    /// person's place is `harness`.
    pub role: Option<String>,
    /// The words, without what else an imported record holds; what is no text is empty.
    pub text: String,
}

/// A tree that was recorded in a turn.
#[derive(Clone, Debug)]
pub struct TurnTree {
    /// Where it is.
    pub seq: u64,
    /// Where to go back to for it: with a step's outcome or a turn's end, which comes right after it, if it is theirs.
    pub at: u64,
    /// What it is called, if somebody named it.
    pub label: Option<String>,
    /// Why it was recorded, where that is known.
    pub cause: Option<Cause>,
    /// When, in nanoseconds since 1970.
    pub time: i64,
    /// How it differs from the tree before; none where one of the two is not there any more.
    pub changes: Option<Vec<Change>>,
    /// Whether it was thinned out: it is gone, or goes with the next collection.
    pub thinned: bool,
    /// Whether it is there: only then can anything be put back to it.
    pub there: bool,
    /// In how many files redaction found something when it stored them.
    pub found: u64,
}

/// An artifact that was published in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnArtifact {
    /// Where.
    pub seq: u64,
    /// Its name.
    pub name: String,
    /// When, in nanoseconds since 1970.
    pub time: i64,
}

/// A branch that was merged in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnMerge {
    /// Where that is recorded; the outcome of the step that put the files comes right after it.
    pub seq: u64,
    /// The branch that was merged.
    pub from: BranchId,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where the tree that was merged was recorded.
    pub theirs: Position,
}

/// A turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Which of its branch, from 1.
    pub number: usize,
    /// Its first seq.
    pub first: u64,
    /// Its last seq.
    pub last: u64,
    /// Whether its end is recorded.
    pub ended: bool,
    /// What was said.
    pub said: Vec<Said>,
    /// What was done, in the order of the starts. Where an imported call's input stands in another entry, it is looked up
    /// there.
    pub steps: Vec<StepRecord>,
    /// What the workspace was like.
    pub trees: Vec<TurnTree>,
    /// What was published.
    pub artifacts: Vec<TurnArtifact>,
    /// What was merged.
    pub merges: Vec<TurnMerge>,
}

/// A line that goes on elsewhere from a position of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherLine {
    /// Its branch.
    pub branch: BranchId,
    /// The branch's name, if it has one.
    pub name: Option<String>,
    /// The last seq that both have.
    pub at: u64,
    /// The last seq of that line.
    pub head: u64,
    /// Why it is there: it is a fork or a rewind of this one; none where this one left it behind.
    pub reason: Option<ForkReason>,
    /// Whether it is the session's current branch.
    pub current: bool,
}

/// The turns of a branch.
#[derive(Clone, Debug)]
pub struct TurnLog {
    /// The branch.
    pub branch: BranchId,
    /// The last seq that was looked at.
    pub head: u64,
    /// The harness whose transcript the session was imported from, if it was.
    pub imported_from: Option<String>,
    /// The turns, oldest first.
    pub turns: Vec<Turn>,
    /// How many turns before those were left out.
    pub earlier: usize,
    /// The lines that go on elsewhere, in the order of where they do; those before the first turn are left out.
    pub others: Vec<OtherLine>,
}

impl Client {
    /// The last `count` turns of a branch (none: the current one) up to a seq (none: its head).
    ///
    /// # Errors
    /// `not_found` when there is no such branch or position; `corrupt` when an entry cannot be read.
    pub async fn turns(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        seq: Option<u64>,
        count: usize,
    ) -> Result<TurnLog> {
        let branch = self.or_current(session, branch).await?;
        let head = match seq {
            Some(seq) => self.position(session, branch, seq).await?.seq,
            None => self.head(session, branch).await?.seq,
        };
        let info = self.session(session).await?;
        let source = info.created.source.as_ref().and_then(|source| source.get("harness")?.as_str());
        let marks = self.marks(session, branch, head, source).await?;
        let mut spans = spans(marks, head);
        let earlier = spans.len().saturating_sub(count);
        let shown = spans.split_off(earlier);
        let first = shown.first().map_or(head + 1, |span| span.first);
        let mut steps = self.steps_from(branch, first, head).await?;
        let mut answers = match source {
            Some(source) => self.imported(session, branch, (first, head), source, &mut steps).await?,
            None => Vec::new(),
        };
        let mut trees = self.turn_trees(session, branch, (first, head)).await?;
        let mut merges = self.turn_merges(session, branch, (first, head)).await?;
        let mut turns = Vec::new();
        for (number, span) in shown.into_iter().enumerate() {
            let Span { first, last, ended, mut said, artifacts } = span;
            let within = |seq: u64| seq <= last;
            let rest = answers.split_off(answers.partition_point(|answer: &Said| within(answer.seq)));
            said.extend(std::mem::replace(&mut answers, rest));
            said.sort_by_key(|said| said.seq);
            let rest = steps.split_off(steps.partition_point(|step| within(step.start.seq)));
            let steps = std::mem::replace(&mut steps, rest);
            let rest = trees.split_off(trees.partition_point(|tree| within(tree.seq)));
            let trees = std::mem::replace(&mut trees, rest);
            let rest = merges.split_off(merges.partition_point(|merge| within(merge.seq)));
            let merges = std::mem::replace(&mut merges, rest);
            // What only told that nothing goes on is no turn.
            if !said.is_empty() || !steps.is_empty() || !trees.is_empty() || !artifacts.is_empty() || ended {
                let number = earlier + number + 1;
                turns.push(Turn { number, first, last, ended, said, steps, trees, artifacts, merges });
            }
        }
        let others = self.other_lines(session, branch, (first, head)).await?;
        let imported_from = source.map(str::to_owned);
        Ok(TurnLog { branch, head, imported_from, turns, earlier, others })
    }

    /// What tells turns apart.
    async fn marks(
        &self,
        session: SessionId,
        branch: BranchId,
        head: u64,
        source: Option<&str>,
    ) -> Result<Vec<Marked>> {
        let mut teller = source.and_then(Teller::of);
        let kinds = vec![EntryKind::MESSAGE, EntryKind::TURN_ENDED, EntryKind::ARTIFACT_PUBLISHED];
        let options = ReadOptions { to: Some(head), kinds, ..ReadOptions::default() };
        let mut reader = self.read(session, Some(branch), options).await?;
        let mut marks = Vec::new();
        loop {
            let page = reader.next().await?;
            if page.is_empty() {
                return Ok(marks);
            }
            for entry in page {
                let entry = self.core.whole(entry)?;
                let (seq, time) = (entry.position.seq, entry.header.time);
                // What was erased says nothing any more; a turn that ended has.
                let mark = match entry.header.kind {
                    EntryKind::TURN_ENDED => Mark::Ended,
                    _ if entry.payload.is_none() => continue,
                    EntryKind::ARTIFACT_PUBLISHED => Mark::Published(entry.json::<ArtifactPublished>()?.name, time),
                    _ => match imported::said(teller.as_mut(), seq, time, &entry.event()?) {
                        Some(said) => Mark::Said(said),
                        None => continue,
                    },
                };
                marks.push(Marked { seq, mark });
            }
        }
    }

    /// The trees that were recorded between two seqs of a branch and say something: that files changed, or that they are a
    /// place to go back to which somebody meant to make.
    async fn turn_trees(
        &self,
        session: SessionId,
        branch: BranchId,
        (first, head): (u64, u64),
    ) -> Result<Vec<TurnTree>> {
        let entries = self.entries_between(session, branch, (first, head), EntryKind::TREE).await?;
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let before = match first.checked_sub(1) {
            Some(seq) if seq > 0 => self.tree_at(self.position(session, branch, seq).await?).await?,
            _ => None,
        };
        let mut before: Option<BlockId> = before.map(|tree| tree.tree.root);
        let thinned = self.thinned(session).await?.positions;
        let (mut trees, mut roots) = (Vec::new(), Vec::new());
        for entry in entries {
            let tree: TreeRecorded = entry.json()?;
            let last = before.replace(tree.root);
            let cause = tree.cost().map(|cost| cost.cause);
            let changes = match last {
                Some(last) if last != tree.root => self.changes_between(last, tree.root),
                Some(_) => Some(Vec::new()),
                // The first one has everything.
                None => None,
            };
            let is_with_next = matches!(cause, Some(Cause::StepEnd | Cause::TurnEnd));
            let is_place = !matches!(cause, Some(Cause::StepStart | Cause::StepEnd | Cause::Tick));
            if is_place || changes.as_ref().is_none_or(|changes| !changes.is_empty()) {
                let seq = entry.position.seq;
                let at = if is_with_next { (seq + 1).min(head) } else { seq };
                let (label, time, thinned) = (tree.label, entry.header.time, thinned.contains(&entry.position));
                roots.push(tree.root);
                let found = crate::redaction::files_with_findings(&entry);
                trees.push(TurnTree { seq, at, label, cause, time, changes, thinned, there: true, found });
            }
        }
        let places = self.core.0.blocks.find_blocks(roots).await?;
        for (tree, place) in trees.iter_mut().zip(places) {
            tree.there = place.is_some();
        }
        Ok(trees)
    }

    /// The entries of a kind between two seqs of a branch, those that were erased left out.
    async fn entries_between(
        &self,
        session: SessionId,
        branch: BranchId,
        (first, head): (u64, u64),
        kind: EntryKind,
    ) -> Result<Vec<Entry>> {
        if first > head {
            return Ok(Vec::new());
        }
        let options = ReadOptions { from: first, to: Some(head), kinds: vec![kind], ..ReadOptions::default() };
        let mut entries = self.read(session, Some(branch), options).await?.all().await?;
        entries.retain(|entry| entry.payload.is_some());
        Ok(entries)
    }

    /// What was merged into a branch between two seqs.
    async fn turn_merges(&self, session: SessionId, branch: BranchId, span: (u64, u64)) -> Result<Vec<TurnMerge>> {
        let mut merges = Vec::new();
        for entry in self.entries_between(session, branch, span, EntryKind::MERGED).await? {
            let Merged { from, theirs, .. } = entry.json()?;
            merges.push(TurnMerge { seq: entry.position.seq, from, name: None, theirs });
        }
        if !merges.is_empty() {
            let branches = self.branches(session).await?;
            for merge in &mut merges {
                merge.name = branches.iter().find(|other| other.id == merge.from).and_then(|other| other.name.clone());
            }
        }
        Ok(merges)
    }

    /// How two trees differ; none where one of them is gone.
    fn changes_between(&self, before: BlockId, after: BlockId) -> Option<Vec<Change>> {
        let (store, owner) = (self.core.blocks(), self.subject.pseudonym);
        let (before, after) = Tree::new(&store, owner, before).differing(&Tree::new(&store, owner, after)).ok()?;
        Some(diff(&before, &after))
    }

    /// The lines that leave a branch, or that it left, at one of these seqs.
    async fn other_lines(
        &self,
        session: SessionId,
        branch: BranchId,
        (first, head): (u64, u64),
    ) -> Result<Vec<OtherLine>> {
        let segments = self.core.ancestry(Position { journal: branch, seq: head }).await?;
        let current = self.current_branch(session).await?;
        let own = |id: BranchId| segments.iter().find(|segment| segment.journal == id);
        let mut others = Vec::new();
        for other in self.branches(session).await?.into_iter().filter(|other| !other.deleted && other.id != branch) {
            // One that this one comes from goes on after where it was left; any other leaves this one where it was made.
            let (at, reason) = match (own(other.id), other.forked_at) {
                (Some(segment), _) => (segment.to, None),
                (None, Some(at)) if own(at.journal).is_some_and(|segment| at.seq <= segment.to) => {
                    (at.seq, other.reason)
                }
                _ => continue,
            };
            if at + 1 >= first && (reason.is_some() || other.head > at) {
                let current = other.id == current;
                let (branch, name, head) = (other.id, other.name, other.head);
                others.push(OtherLine { branch, name, at, head, reason, current });
            }
        }
        others.sort_by_key(|other| other.at);
        Ok(others)
    }
}
