//! Fork and rewind: one pointer each.

use super::lifetime::{current_in, is_deleted};
use super::{DEFAULT_TREES_KEPT, ForkReport};
use crate::client::Client;
use crate::core::Draft;
use crate::log::{ReadOptions, Reader};
use crate::payload::{
    BranchForked, EVENTS, Event, ForkReason, SettledBy, StepEnded, StepSeen, StepSettled, WorkspaceAttached,
};
use crate::policy::{Capture, Dropped, frame};
use crate::settings::check_branching;
use crate::step::{NewStep, StepRecord, started};
use crate::views::{self, IndexHash, OpenStep, Projection, register, row};
use crate::workspace::RESTORE;
use crate::writer::{NewEvent, STORED, is_collected};
use data_encoding::HEXLOWER;
use samite_ledger::{Append, Commit, Guard, JournalKind, JournalState, NewJournal, Register, RowQuery};
use samite_model::step::State;
use samite_model::{BranchId, EntryKind, Error, JournalId, Position, Result, SessionId, limits};

/// How to fork.
#[derive(Clone, Debug)]
pub struct ForkOptions {
    /// The branch to fork; none means the current one.
    pub branch: Option<BranchId>,
    /// The last seq that the new branch inherits; none means the head.
    pub seq: Option<u64>,
    /// Why.
    pub reason: ForkReason,
    /// A name for the new branch.
    pub name: Option<String>,
    /// What the caller knows the new branch by: forking again under it answers with the first fork, also where the branch
    /// went on since and no position is named.
    pub key: Option<String>,
    /// Keep the workspace trees of the branch that is not current for ever, which needs the right to manage.
    pub keep: bool,
}

impl Default for ForkOptions {
    fn default() -> Self {
        Self { branch: None, seq: None, reason: ForkReason::Fork, name: None, key: None, keep: false }
    }
}

/// How often a rewind looks again because the branches of its session changed under it.
const ROUNDS: usize = 256;

impl Client {
    /// Forks a session: a new branch that inherits everything up to a position. A rewind also makes it current; the
    /// discarded tail stays and is listed. When this returns, it is durable.
    ///
    /// # Errors
    /// `not_found` for an unknown session, branch or position; `conflict` (`journal_closed`) when the branch was
    /// deleted, or (`branch_key_exists`) when another fork has the key; `denied` (`branching_denied`) when the session's
    /// settings do not allow it.
    pub async fn fork(&self, session: SessionId, options: ForkOptions) -> Result<ForkReport> {
        self.fork_and_begin(session, options, First::default()).await
    }

    /// An event as it stands at a position, with another body: of its kind, with its attributes and its dedupe id, so that who
    /// appends the same words again finds them there.
    ///
    /// # Errors
    /// `invalid` (`not_editable`) when the entry is none of a caller's; `not_found` (`erased`).
    pub async fn edited(&self, at: Position, body: Vec<u8>) -> Result<NewEvent> {
        let entry = self.core.whole(self.core.entry_at(at).await?)?;
        if !entry.is_event() {
            let message =
                format!("the entry at seq {} is samite's own ({}), and not to be edited", at.seq, entry.header.kind);
            return Err(Error::invalid("not_editable", message)
                .hint("name a message, a model's response or an event; `samite read SESSION` shows them"));
        }
        let event = entry.event()?;
        // What was dropped of the old body says nothing of the new one.
        let (dedupe, attributes) = (event.dedupe.map(str::to_owned), Dropped::without(event.attributes.clone()));
        Ok(NewEvent { kind: entry.header.kind, body, attributes, dedupe, expected_head: None })
    }

    /// Forks, and appends an event to the new branch in the same commit.
    ///
    /// # Errors
    /// As [`Client::fork`]; `invalid` past the limits.
    pub async fn fork_edited(&self, session: SessionId, options: ForkOptions, event: NewEvent) -> Result<ForkReport> {
        self.fork_and_begin(session, options, First { step: None, event: Some(&event) }).await
    }

    /// Refuses names that are none, and keeping for ever by who may not manage.
    async fn check_options(&self, session: SessionId, options: &ForkOptions) -> Result<()> {
        if let Some(name) = &options.name {
            limits::check_name("a branch's name", name)?;
        }
        if let Some(key) = &options.key {
            limits::check_name("a branch's key", key)?;
        }
        if options.keep {
            self.permit_managing(session).await?;
        }
        Ok(())
    }

    /// Forks; a step that is given has started on the new branch in the same commit, by no writer: whoever becomes the
    /// branch's writer finds it in doubt. A rewind hands the workspace over in that commit as well.
    pub(crate) async fn fork_and_begin(
        &self,
        session: SessionId,
        options: ForkOptions,
        made_with: First<'_>,
    ) -> Result<ForkReport> {
        self.check_options(session, &options).await?;
        let control = self.control(session).await?;
        let current = self.current_to_fork(&control, options.reason).await?;
        let (from, seq) = self.place_to_fork(&control, current, &options).await?;
        let state = self.branch_state(session, from).await?;
        let head = state.head;
        let at = self.position_on(&state, seq.unwrap_or(head)).await?;
        let mut steps = self.steps_at(at, (at.journal == from).then_some(&state)).await?;
        let left_behind = self.left_behind(Position { journal: from, seq: head }, at.seq).await?;
        let branch = JournalId(self.core.random_id()?);
        let rewind = options.reason == ForkReason::Rewind;
        let until = (!options.keep).then(|| self.core.now().saturating_add(DEFAULT_TREES_KEPT));
        let mut trees_until = until;
        let forked = BranchForked {
            branch,
            at,
            reason: options.reason,
            name: options.name,
            key: options.key,
            trees_until: if rewind { None } else { trees_until },
        };
        let author = self.author(0);
        let family = self.core.hasher(self.subject.pseudonym, session);
        // Read before anything is done: what cannot be read then does not hide that the fork is there.
        let in_doubt = self.step_records(&mut steps).await?;
        let mut stored = 0;
        for round in 0..ROUNDS {
            let mut required = vec![Guard::Open { journal: at.journal }];
            if let Some(key) = &forked.key {
                let hashes = vec![family.hash("branch-key", &[key.as_bytes()])?];
                required.push(Guard::RowAbsent { journal: control.id, kind: row::BRANCH_KEY, hashes });
            }
            let mut drafts =
                vec![self.core.draft(EntryKind::BRANCH_FORKED, &forked, views::branch_forked(&family, &forked)?)?];
            let mut previous = current;
            if rewind {
                let (version, registers) = self.core.0.ledger.registers(control.id).await?;
                refuse_deleted(&registers, from)?;
                previous = current_in(&registers)?.unwrap_or(current);
                if made_with.step.is_some() && previous != current {
                    // Its restore was planned for the workspace of the branch that was current then.
                    return Err(Error::conflict("session_moved", "another rewind came first")
                        .hint("look at the session again, then decide again"));
                }
                required.push(Guard::Registers { journal: control.id, version });
                let becomes = self.becomes_current(&control, &registers, branch, previous, until).await?;
                trees_until = becomes.previous_trees_until;
                drafts.push(self.core.draft(EntryKind::BRANCH_CURRENT, &becomes, views::branch_current(&becomes))?);
                drafts.extend(self.workspace_for(session, previous, branch).await?);
            }
            let control_entries = drafts
                .into_iter()
                .map(|draft| self.core.seal(control.id, &author, draft))
                .collect::<Result<Vec<_>>>()?;
            let capture = self.core.capture().await?;
            let first = self.first_entries(session, branch, &steps, made_with, &capture)?;
            let journal = NewJournal {
                id: branch,
                family: session,
                kind: JournalKind::Branch,
                owner: self.subject.pseudonym,
                // Before any entry there is nothing to inherit.
                parent: (at.seq > 0).then_some(at),
            };
            let mut commit = Commit { guards: required, journals: vec![journal], ..Commit::default() };
            commit.appends.push(Append { journal: control.id, entries: control_entries });
            if !first.is_empty() {
                let entries = first
                    .into_iter()
                    .map(|draft| self.core.seal_into(branch, &author, draft, &mut commit))
                    .collect::<Result<Vec<_>>>()?;
                commit.appends.push(Append { journal: branch, entries });
            }
            match self.core.0.ledger.commit(commit).await {
                Ok(_) => return Ok(ForkReport { branch, at, previous, left_behind, in_doubt, trees_until }),
                Err(error) if error.code() == "registers_moved" && round + 1 < ROUNDS => {}
                Err(error) if is_collected(&error) && stored + 1 < STORED => stored += 1,
                Err(error) if error.code() == "row_exists" => {
                    let Some(key) = &forked.key else { return Err(error) };
                    let Some(first) = self.branch_by_key(session, key).await? else { return Err(error) };
                    if self.branch_state(session, first).await?.parent != (at.seq > 0).then_some(at) {
                        return Err(other_fork(first));
                    }
                    if let Some(event) = made_with.event {
                        self.check_begins_with(session, first, at, event).await?;
                    }
                    return Ok(ForkReport { branch: first, at, previous, left_behind, in_doubt, trees_until });
                }
                // The acknowledgement was lost, but the branch is there.
                Err(error) if error.code() == "outcome_unknown" => {
                    if self.core.0.ledger.journal(branch).await?.is_none() {
                        return Err(error);
                    }
                    return Ok(ForkReport { branch, at, previous, left_behind, in_doubt, trees_until });
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict("session_contended", "the current branch keeps changing").hint("try again"))
    }

    /// Refuses a branch that does not begin with an event: whoever edits again with the same key and other words means another.
    async fn check_begins_with(
        &self,
        session: SessionId,
        branch: BranchId,
        at: Position,
        event: &NewEvent,
    ) -> Result<()> {
        let options = ReadOptions { from: at.seq + 1, kinds: EVENTS.to_vec(), ..ReadOptions::default() };
        let page = self.read(session, Some(branch), options).await?.next().await?;
        let Some(first) = page.into_iter().next().filter(|first| first.header.kind == event.kind) else {
            return Err(other_fork(branch));
        };
        let again = Event::encode(None, None, &event.body)?;
        if self.core.repeats(&first, &again).await? { Ok(()) } else { Err(other_fork(branch)) }
    }

    /// The current branch, of a session that allows what is to be done.
    async fn current_to_fork(&self, control: &JournalState, reason: ForkReason) -> Result<BranchId> {
        self.core.refresh_redactor().await?;
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        // What an imported log has of forks was done already.
        if reason != ForkReason::Import {
            let settings = self.settings_in(control, &registers).await?;
            check_branching(control.family, &settings, reason == ForkReason::Rewind)?;
        }
        crate::session::current_in(control, &registers)
    }

    /// The branch to fork, and the seq, when it is not the head. For who forks again under a key without naming a position,
    /// "here" means where it was when the fork was made.
    async fn place_to_fork(
        &self,
        control: &JournalState,
        current: BranchId,
        options: &ForkOptions,
    ) -> Result<(BranchId, Option<u64>)> {
        if let (Some(key), None) = (&options.key, options.seq)
            && let Some(first) = self.branch_by_key(control.family, key).await?
            && let Some(left) = self.core.forked_at(control, first).await?
            && options.branch.is_none_or(|branch| branch == left.journal)
        {
            return Ok((left.journal, Some(left.seq)));
        }
        Ok((options.branch.unwrap_or(current), options.seq))
    }

    /// What hands a branch's workspace over to another, when it has one.
    async fn workspace_for(&self, session: SessionId, from: BranchId, to: BranchId) -> Result<Option<Draft>> {
        let Some(workspace) = self.workspace_of_branch(session, from).await? else { return Ok(None) };
        let attached = WorkspaceAttached {
            workspace: workspace.id,
            path: workspace.directory.to_string_lossy().into_owned(),
            branch: to,
            replaces: None,
        };
        let views = views::workspace_attached(&attached);
        self.core.draft(EntryKind::WORKSPACE_ATTACHED, &attached, views).map(Some)
    }

    /// What a new branch begins with: the steps that it inherits in doubt, and the one that it is made with.
    fn first_entries(
        &self,
        session: SessionId,
        branch: BranchId,
        StepsAt { open, unseen, restores }: &StepsAt,
        made_with: First<'_>,
        capture: &Capture,
    ) -> Result<Vec<Draft>> {
        let mut first = Vec::new();
        if !open.is_empty() || !unseen.is_empty() {
            let views = views::steps_inherited(open, unseen);
            first.push(self.core.draft(EntryKind::STEPS_INHERITED, &views::inherited_payload(open, unseen), views)?);
        }
        for restore in restores {
            let settled = StepSettled {
                step: restore.id,
                start: restore.start,
                happened: false,
                output: serde_json::Value::Null,
                by: SettledBy::Effect,
                evidence: None,
                note: Some("a restore for the branch that this one left".to_owned()),
                unseen: false,
            };
            let views = views::step_settled(restore, &settled, true);
            first.push(self.core.draft(EntryKind::STEP_ABANDONED, &settled, views)?);
        }
        if let Some(event) = made_with.event {
            let mut views = Projection::default();
            let owner = self.subject.pseudonym;
            let submitted = if let Some(dedupe) = &event.dedupe {
                let family = self.core.hasher(owner, session);
                let code = event.kind.code().to_be_bytes();
                let fingerprint = family.hash("submitted", &[&code, &event.body])?;
                views.rows.push(views::dedupe(family.hash("dedupe", &[dedupe.as_bytes()])?, fingerprint));
                fingerprint
            } else {
                self.core.submitted_body(owner, branch, event.kind, &event.body)?
            };
            let (dedupe, attributes) = (event.dedupe.as_deref(), event.attributes.as_ref());
            let framed = frame(capture, event.kind, dedupe, attributes, &event.body, Some(submitted))?;
            views.rows.extend(framed.row);
            first.push(Draft { id: self.core.entry_id()?, kind: event.kind, payload: framed.payload, views });
        }
        if let Some(step) = made_with.step {
            let family = self.core.hasher(self.subject.pseudonym, session);
            let key = family.hash("idempotency", &[branch.as_bytes(), step.key.as_bytes()])?;
            let started = started(step, 1, HEXLOWER.encode(&key));
            let mut draft = self.core.draft(EntryKind::STEP_STARTED, &started, Projection::default())?;
            draft.views = views::step_started(draft.id, 0, 1, &views::step_hashes(&family, &started)?);
            first.push(draft);
        }
        Ok(first)
    }

    /// The branch that a caller knows by a key, if there is one.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn branch_by_key(&self, session: SessionId, key: &str) -> Result<Option<BranchId>> {
        let control = self.control(session).await?;
        let hash = self.core.hasher(self.subject.pseudonym, session).hash("branch-key", &[key.as_bytes()])?;
        let at = Position { journal: control.id, seq: control.head };
        let query = RowQuery { at, kind: row::BRANCH_KEY, hashes: vec![hash], limit: 1 };
        let found = self.core.0.ledger.rows(query).await?;
        found.first().map(|row| JournalId::from_slice(&row.value)).transpose()
    }

    /// Makes a branch current again. A workspace that it has none of its own goes over to it; `workspace restore` then
    /// brings its files.
    ///
    /// # Errors
    /// `not_found` for an unknown branch; `conflict` when it was deleted (`journal_closed`), a restore of the workspace
    /// that would go over was cut off (`step_in_doubt`), or the current branch changes at the same time.
    pub async fn make_current(&self, session: SessionId, branch: BranchId) -> Result<()> {
        let control = self.control(session).await?;
        self.branch_state(session, branch).await?;
        let (version, registers) = self.core.0.ledger.registers(control.id).await?;
        refuse_deleted(&registers, branch)?;
        let previous = match current_in(&registers)? {
            Some(previous) if previous == branch => return Ok(()),
            Some(previous) => previous,
            None => self.current_of(&control).await?,
        };
        let until = self.core.now().saturating_add(DEFAULT_TREES_KEPT);
        let becomes = self.becomes_current(&control, &registers, branch, previous, Some(until)).await?;
        let mut drafts = vec![self.core.draft(EntryKind::BRANCH_CURRENT, &becomes, views::branch_current(&becomes))?];
        if self.workspace_of_branch(session, branch).await?.is_none()
            && let Some(handed_over) = self.workspace_for(session, previous, branch).await?
        {
            self.refuse_half_restored(previous).await?;
            drafts.push(handed_over);
        }
        let entries = drafts
            .into_iter()
            .map(|draft| self.core.seal(control.id, &self.author(0), draft))
            .collect::<Result<Vec<_>>>()?;
        let commit = Commit {
            guards: vec![Guard::Registers { journal: control.id, version }, Guard::Open { journal: branch }],
            appends: vec![Append { journal: control.id, entries }],
            ..Commit::default()
        };
        self.core.0.ledger.commit(commit).await.map(|_| ())
    }

    /// The steps that were open at a position: those open now that started by then, and those that ended later. And the
    /// settled ones whose callers had not been told by then. `known` is what was read of the journal before.
    async fn steps_at(&self, at: Position, known: Option<&JournalState>) -> Result<StepsAt> {
        let (version, registers) = self.core.0.ledger.registers(at.journal).await?;
        // The head is read after the registers, unless none of them changed since it was: a step that ends in between
        // is then in both, and not in neither.
        let state = match known {
            Some(known) if known.registers == version => known.clone(),
            _ => self.core.journal(at.journal).await?,
        };
        let (mut open, mut unseen): (Vec<OpenStep>, Vec<OpenStep>) = (Vec::new(), Vec::new());
        for entry in registers.iter().filter(|entry| entry.seq <= at.seq) {
            match entry.kind {
                register::OPEN_STEP => open.push(OpenStep::decode(at.journal, entry)?),
                register::UNSEEN_STEP => unseen.push(OpenStep::decode(at.journal, entry)?),
                _ => {}
            }
        }
        if state.head > at.seq {
            let options = ReadOptions {
                from: at.seq + 1,
                kinds: vec![
                    EntryKind::STEP_COMPLETED,
                    EntryKind::STEP_FAILED,
                    EntryKind::STEP_RESOLVED,
                    EntryKind::STEP_ABANDONED,
                    EntryKind::STEP_SEEN,
                ],
                ..ReadOptions::default()
            };
            let later = Position { journal: at.journal, seq: state.head };
            let mut reader = Reader::new(self.core.clone(), later, options).await?;
            loop {
                let page = reader.next().await?;
                if page.is_empty() {
                    break;
                }
                // The ends of steps go with their starts.
                for entry in page.into_iter().filter(|entry| entry.payload.is_some()) {
                    let (ended, told) = match entry.header.kind {
                        EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED => {
                            let ended: StepEnded = entry.json()?;
                            (Some(ended.start), ended.not_run.map(|other| other.start))
                        }
                        EntryKind::STEP_SEEN => (None, Some(entry.json::<StepSeen>()?.start)),
                        _ => (Some(entry.json::<StepSettled>()?.start), None),
                    };
                    let by_then = |start: &Position| start.journal != at.journal || start.seq <= at.seq;
                    if let Some(start) = ended.filter(by_then) {
                        let step = self.core.open_step(&state, &self.core.entry_at(start).await?)?;
                        if open.iter().all(|known| known.id != step.id) {
                            open.push(step);
                        }
                    }
                    if let Some(start) = told.filter(by_then) {
                        let step = self.core.open_step(&state, &self.core.entry_at(start).await?)?;
                        if self.was_unseen(&step, at).await? && unseen.iter().all(|known| known.id != step.id) {
                            unseen.push(step);
                        }
                    }
                }
            }
        }
        Ok(StepsAt { open, unseen, restores: Vec::new() })
    }

    /// Whether a step had been settled by a position in the absence of its caller, who was told later.
    async fn was_unseen(&self, step: &OpenStep, at: Position) -> Result<bool> {
        let query = RowQuery { at, kind: row::STEP, hashes: vec![step.key], limit: 1 };
        let found = self.core.0.ledger.rows(query).await?;
        let Some(last) = found.first() else { return Ok(false) };
        let entry = self.core.entry_at(last.position).await?;
        if entry.header.kind != EntryKind::STEP_RESOLVED || entry.payload.is_none() {
            return Ok(false);
        }
        let settled: StepSettled = entry.json()?;
        Ok(settled.step == step.id && settled.unseen)
    }

    /// Open steps as the fork has them: in doubt, but for restores. One of those is about the directory of the branch that
    /// began it, so that the fork has nothing to doubt, and nothing to go on with.
    async fn step_records(&self, steps: &mut StepsAt) -> Result<Vec<StepRecord>> {
        let mut records = Vec::with_capacity(steps.open.len());
        for step in std::mem::take(&mut steps.open) {
            let record = StepRecord::of_start(&self.core.entry_at(step.start).await?, State::InDoubt)?;
            if record.started.tool == RESTORE {
                steps.restores.push(step);
            } else {
                steps.open.push(step);
                records.push(record);
            }
        }
        Ok(records)
    }
}

/// What a new branch begins with beside what it inherits.
#[derive(Clone, Copy, Default)]
pub(crate) struct First<'a> {
    /// A step that has started, by no writer.
    pub(crate) step: Option<&'a NewStep>,
    /// A caller's event.
    pub(crate) event: Option<&'a NewEvent>,
}

/// What a fork inherits of steps.
struct StepsAt {
    open: Vec<OpenStep>,
    unseen: Vec<OpenStep>,
    /// What would be open, but is the doing of the branch that is left.
    restores: Vec<OpenStep>,
}

fn other_fork(first: BranchId) -> Error {
    let message = format!("branch {} has this key, and left elsewhere or begins otherwise", first.short());
    Error::conflict("branch_key_exists", message).hint("use another key for another fork")
}

fn refuse_deleted(registers: &[Register], branch: BranchId) -> Result<()> {
    if is_deleted(registers, branch) {
        return Err(Error::conflict("journal_closed", format!("branch {} was deleted", branch.short()))
            .hint("`samite branch list SESSION` shows what there is"));
    }
    Ok(())
}
