//! What other sessions changed in a directory that several share.

use crate::client::Client;
use crate::log::{ReadOptions, Reader};
use crate::payload::{StepEnded, StepSettled, StepStarted, WorkspaceInterval};
use crate::views::{OpenStep, register, row};
use samite_ledger::{JournalStatus, RowQuery};
use samite_model::tree::{Other, TreePath, Whose, diff};
use samite_model::{BlockId, BranchId, EntryId, EntryKind, JournalId, Position, Result, SessionId};
use samite_workspace::Tree;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A tree that a workspace's journal has.
pub(super) struct Recorded {
    /// When it was recorded, in nanoseconds since 1970.
    time: i64,
    /// Of what session and branch it is.
    pub(super) interval: WorkspaceInterval,
}

/// Where in the workspace's journal a step began, and until when it ran.
type Span = (usize, i64);

/// Whose the trees of a workspace are.
pub(super) struct Whom {
    /// The session, and those that work for it: what a sub-agent does is its parent's doing.
    pub(super) own: HashSet<SessionId>,
    /// What is no session: a person, whose trees are recorded as those of a session that has no other.
    people: HashSet<SessionId>,
}

impl Client {
    /// The trees that were recorded of a workspace, in their order, of this principal's sessions.
    pub(super) async fn intervals(&self, journal: JournalId) -> Result<Vec<Recorded>> {
        let Some(state) = self.core.0.ledger.journal(journal).await? else { return Ok(Vec::new()) };
        let at = Position { journal, seq: state.head };
        let options = ReadOptions { kinds: vec![EntryKind::WORKSPACE_INTERVAL], ..ReadOptions::default() };
        Reader::new(self.core.clone(), at, options)
            .await?
            .all()
            .await?
            .iter()
            // Trees of another person's sessions cannot be opened by this one, and what was erased says nothing.
            .filter(|entry| entry.header.owner == self.subject.pseudonym && entry.payload.is_some())
            .map(|entry| Ok(Recorded { time: entry.header.time, interval: entry.json()? }))
            .collect()
    }

    /// Whose the trees are, for a session.
    pub(super) async fn whom(&self, session: SessionId, recorded: &[Recorded]) -> Whom {
        let mut people: HashSet<SessionId> = HashSet::new();
        let mut own = HashSet::from([session]);
        let mut strangers: HashSet<SessionId> = HashSet::new();
        for one in recorded {
            let mut line = vec![one.interval.session];
            while let Some(child) = line.last().copied().filter(|id| !own.contains(id) && !strangers.contains(id)) {
                let parent = match self.session(child).await {
                    Ok(info) => info.created.parent.map(|parent| parent.session),
                    Err(error) => {
                        if error.code() == "no_session" {
                            people.insert(child);
                        }
                        None
                    }
                };
                match parent.filter(|parent| !line.contains(parent)) {
                    Some(parent) => line.push(parent),
                    None => drop(strangers.insert(child)),
                }
            }
            let is_own = line.last().is_some_and(|id| own.contains(id));
            if is_own { own.extend(line) } else { strangers.extend(line) }
        }
        Whom { own, people }
    }

    /// Paths that somebody else changed since a tree was recorded, or that changed while another session was at work in the same
    /// directory, in the order of paths.
    pub(super) async fn others(&self, session: SessionId, journal: JournalId, since: BlockId) -> Result<Vec<Other>> {
        let recorded = self.intervals(journal).await?;
        let start = recorded
            .iter()
            .rposition(|one| one.interval.root == since && one.interval.session == session)
            .unwrap_or_default();
        let whom = self.whom(session, &recorded).await;
        let contested = self.contested(&whom, &recorded, start).await?;
        let places = self.core.0.blocks.find_blocks(recorded.iter().map(|one| one.interval.root).collect()).await?;
        // Who changed a path last, and the tree that had it then.
        let mut others: BTreeMap<TreePath, (Whose, BlockId)> = BTreeMap::new();
        let mut before: Option<BlockId> = None;
        let mut whose: Option<Whose> = None;
        let mut is_first = true;
        for (at, (one, place)) in recorded.iter().zip(&places).enumerate().skip(start) {
            if at > start {
                let window = contested.get(at - 1).copied().flatten();
                whose = match (is_first, whose, window) {
                    (true, _, window) => window,
                    (false, None, None) => None,
                    // What is one's own and what is another's lie together in what is seen of it.
                    (false, Some(whose), Some(window)) => Some(whose.or(window)),
                    (false, ..) => Some(Whose::Unsure),
                };
                is_first = false;
            }
            // What changed around a tree that was collected is seen from those beside it.
            if place.is_none() {
                continue;
            }
            let after = one.interval.root;
            let before = before.replace(after).filter(|before| *before != after);
            if let (Some(before), Some(whose)) = (before, whose) {
                others.extend(self.changed(before, after)?.map(|path| (path, (whose, after))));
            }
            (whose, is_first) = (None, true);
        }
        let last = before;
        let mut later: HashMap<BlockId, HashSet<TreePath>> = HashMap::new();
        for (_, after) in others.values() {
            if let (Some(last), false) = (last, later.contains_key(after)) {
                let changed = if *after == last { HashSet::new() } else { self.changed(*after, last)?.collect() };
                later.insert(*after, changed);
            }
        }
        let is_later = |after: &BlockId, path: &TreePath| later.get(after).is_some_and(|later| later.contains(path));
        let other = |(path, (whose, after)): (TreePath, (Whose, BlockId))| Other {
            then_steps: is_later(&after, &path),
            path,
            whose,
        };
        Ok(others.into_iter().map(other).collect())
    }

    /// The paths that differ between two trees, in the order of paths.
    fn changed(&self, before: BlockId, after: BlockId) -> Result<impl Iterator<Item = TreePath>> {
        let (store, owner) = (self.core.blocks(), self.subject.pseudonym);
        let (before, after) = Tree::new(&store, owner, before).differing(&Tree::new(&store, owner, after))?;
        Ok(diff(&before, &after).into_iter().map(|change| change.path))
    }

    /// Between which trees and those after them somebody else was at work, and who.
    async fn contested(&self, whom: &Whom, recorded: &[Recorded], start: usize) -> Result<Vec<Option<Whose>>> {
        let whose = |one: &Recorded| match one.interval.session {
            session if whom.own.contains(&session) => None,
            session if whom.people.contains(&session) => Some(Whose::Person),
            _ => Some(Whose::Session),
        };
        let mut contested: Vec<Option<Whose>> = recorded.iter().skip(1).map(whose).collect();
        // While another session was at work, only its own trees tell what is its doing.
        let unsure = |window: &mut Option<Whose>| {
            if *window != Some(Whose::Session) {
                *window = Some(Whose::Unsure);
            }
        };
        let is_sessions = |one: &Recorded| whose(one) == Some(Whose::Session);
        let mut last: HashMap<SessionId, usize> = HashMap::new();
        for (at, one) in recorded.iter().enumerate().filter(|(_, one)| is_sessions(one)) {
            if let Some(before) = last.insert(one.interval.session, at) {
                contested.iter_mut().take(at).skip(before).for_each(unsure);
            }
        }
        let others: HashSet<BranchId> =
            recorded.iter().filter(|one| is_sessions(one)).map(|one| one.interval.branch).collect();
        for branch in others {
            for (from, until) in self.step_spans(branch, recorded, start).await? {
                for (window, before) in contested.iter_mut().zip(recorded).skip(from) {
                    if before.time <= until {
                        unsure(window);
                    }
                }
            }
        }
        Ok(contested)
    }

    /// When steps of a branch that recorded a tree at their start ran; those that ended long before may be left out.
    async fn step_spans(&self, branch: BranchId, recorded: &[Recorded], start: usize) -> Result<Vec<Span>> {
        let core = &self.core;
        let Some(state) = core.0.ledger.journal(branch).await? else { return Ok(Vec::new()) };
        if state.status != JournalStatus::Open {
            return Ok(Vec::new());
        }
        let began = |started: &StepStarted, time: i64| {
            let tree = started.tree?;
            recorded
                .iter()
                .rposition(|one| one.interval.branch == branch && one.interval.root == tree && one.time <= time)
        };
        let mut spans: HashMap<EntryId, Span> = HashMap::new();
        let (_, registers) = core.0.ledger.registers(branch).await?;
        for register in registers.iter().filter(|entry| entry.kind == register::OPEN_STEP) {
            let open = OpenStep::decode(branch, register)?;
            if open.inherited {
                continue;
            }
            let entry = core.entry_at(open.start).await?;
            if let Some(from) = began(&entry.json()?, entry.header.time) {
                spans.insert(open.id, (from, i64::MAX));
            }
        }
        // From the last tree of the branch before the question on.
        let own = |at: &usize| recorded.get(*at).is_some_and(|one| one.interval.branch == branch);
        let first = (0..start).rev().find(own).or_else(|| (start..recorded.len()).find(own)).unwrap_or_default();
        let roots: HashSet<BlockId> = recorded.iter().skip(first).map(|one| one.interval.root).collect();
        let at = Position { journal: branch, seq: state.head };
        let trees = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit: usize::MAX };
        let trees = core.0.ledger.rows(trees).await?;
        let is_recent = |value: &[u8]| BlockId::from_slice(value).is_ok_and(|root| roots.contains(&root));
        let Some(from) = trees.iter().filter(|row| is_recent(&row.value)).map(|row| row.position.seq).min() else {
            return Ok(spans.into_values().collect());
        };
        let kinds = vec![
            EntryKind::STEP_STARTED,
            EntryKind::STEP_COMPLETED,
            EntryKind::STEP_FAILED,
            EntryKind::STEP_RESOLVED,
            EntryKind::STEP_ABANDONED,
        ];
        let options = ReadOptions { from, kinds, ..ReadOptions::default() };
        let steps = Reader::new(core.clone(), at, options).await?.all().await?;
        for entry in steps.into_iter().filter(|entry| entry.payload.is_some()) {
            let ended = match entry.header.kind {
                EntryKind::STEP_STARTED => {
                    if let Some(from) = began(&entry.json()?, entry.header.time) {
                        spans.entry(entry.header.id).or_insert((from, i64::MAX));
                    }
                    continue;
                }
                EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED => entry.json::<StepEnded>()?.step,
                _ => entry.json::<StepSettled>()?.step,
            };
            if let Some(span) = spans.get_mut(&ended) {
                span.1 = entry.header.time;
            }
        }
        Ok(spans.into_values().collect())
    }
}
