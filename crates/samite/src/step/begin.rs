//! Beginning a step: run it, replay it, or say why not.

use super::refused::{Refused, is_known};
use super::standing::Standing;
use super::{Begin, Completion, InDoubt, NewStep, Outcome, StepHandle, StepRecord, outcome_of};
use crate::core::Draft;
use crate::payload::{StepEnded, StepSettled, StepStarted};
use crate::recover::own_process_value;
use crate::views::{self, OpenStep, StepHashes, StepRow, Steps, register, row};
use crate::workspace::RESTORE;
use crate::writer::Writer;
use samite_ledger::{Commit, Guard, Row};
use samite_model::step::State;
use samite_model::{EntryId, EntryKind, Error, ErrorKind, Position, Result};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// How often a begin looks again because the branch's steps changed under it.
const ROUNDS: usize = 16;

/// What is known when a step is about to start.
struct Plan<'a> {
    new: &'a NewStep,
    id: EntryId,
    hashes: StepHashes,
    keys: Vec<[u8; 16]>,
    /// Whether it runs again although it failed for good, or was not run.
    again: bool,
    /// Whether it is another act than those that were settled in the absence of their callers.
    anyway: bool,
    /// Whether somebody else runs it, whatever is said here: doubt about other steps stands in nothing's way.
    observed: bool,
}

/// How a step begins.
#[derive(Clone, Copy, Default)]
struct How {
    again: bool,
    anyway: bool,
    observed: bool,
}

/// What stands in the way of a step that is about to start.
enum Blocked {
    /// This is the answer.
    Answer(Begin),
    /// A step that was settled as happened in the absence of its caller: it may be that one in other words.
    MayBe(Box<OpenStep>),
}

/// What a key's own row says when something else stands in its way.
enum Own {
    /// The key is new: it was never asked for, or was not run and now may.
    New,
    /// It is open, or may run again.
    Known,
    /// It ended.
    Ended(Row),
    /// It was not run because of the step with this key.
    NotRun(Vec<[u8; 16]>),
}

impl Writer {
    /// Begins a step. When this returns [`Begin::Run`], its start is durable. A key that has an outcome is replayed, whatever
    /// else is in doubt.
    ///
    /// A step that was settled as happened while nobody made its call ([`Client::recover`](crate::Client::recover),
    /// [`Writer::resolve_unseen`]) may be this one in other words. The first new key that comes after it, on the same tool or
    /// resource, is therefore not run: that is recorded, and the replay says so ([`Outcome::not_run`]), until
    /// [`Writer::begin_again`] says that it is another act.
    ///
    /// # Errors
    /// `conflict` (`step_mismatch`) when the key was used for another tool or input; `fenced` when another writer took
    /// over; `invalid` for bad names or an observable step without a probe.
    pub async fn begin(&self, new: &NewStep) -> Result<Begin> {
        self.begin_after(None, new, How::default()).await
    }

    /// As [`Writer::begin`], but a step that failed for good is run again, as its next attempt and with the idempotency key
    /// that it had; so is one that was not run because of another. One that completed, or that a person gave up, is replayed.
    ///
    /// # Errors
    /// As [`Writer::begin`].
    pub async fn begin_again(&self, new: &NewStep) -> Result<Begin> {
        self.begin_after(None, new, How { again: true, ..How::default() }).await
    }

    /// As [`Writer::begin`], or as [`Writer::begin_again`] with `again`; `anyway` says that it is another act than what was
    /// settled in the absence of its caller.
    pub(crate) async fn begin_as(&self, new: &NewStep, again: bool, anyway: bool) -> Result<Begin> {
        self.begin_after(None, new, How { again, anyway, observed: false }).await
    }

    /// Records that a step starts which somebody else runs, whatever is answered here: doubt about other steps does not
    /// stand in its way. Otherwise as [`Writer::begin`].
    ///
    /// # Errors
    /// As [`Writer::begin`].
    pub(crate) async fn begin_observed(&self, new: &NewStep) -> Result<Begin> {
        self.begin_after(None, new, How { observed: true, ..How::default() }).await
    }

    /// Records a step's outcome and begins the next in one commit: one sync for both.
    ///
    /// # Errors
    /// As [`Writer::finish`] and [`Writer::begin`]; when the second cannot run, the first is recorded all the same.
    pub async fn complete_and_begin(&self, done: &StepHandle, completion: &Completion, new: &NewStep) -> Result<Begin> {
        self.begin_after(Some((done, completion)), new, How::default()).await
    }

    async fn begin_after(&self, before: Option<(&StepHandle, &Completion)>, new: &NewStep, how: How) -> Result<Begin> {
        if let Err(error) = new.check() {
            return Err(self.after_recording(before, error).await);
        }
        let started = started(new, 1, self.idempotency_key(&new.key)?);
        let hashes = views::step_hashes(&self.own_hash(), &started)?;
        let keys = if self.is_sole_owner() { vec![hashes.key] } else { self.hashes("step-key", new.key.as_bytes())? };
        // A begin whose acknowledgement was lost, and that is asked for again, is the same begin.
        let id = match self.take_uncertain(&hashes.key) {
            Some(id) => id,
            None => self.core().entry_id()?,
        };
        let How { again, anyway, observed } = how;
        let plan = Plan { new, id, hashes, keys, again, anyway, observed };
        let begun = self.begin_planned(&plan, &started, before).await;
        match &begun {
            Ok(Begin::Run(_)) if anyway => {
                // Its start counts; what could not be recorded besides is only told once more.
                self.see(|step| step.blocks(&plan.hashes)).await.ok();
            }
            Ok(Begin::Run(_)) => {}
            Err(error) if error.kind() == ErrorKind::Unavailable => self.remember_uncertain(plan.hashes.key, id),
            // It was not started.
            _ => self.forget_started(id),
        }
        begun
    }

    async fn begin_planned(
        &self,
        plan: &Plan<'_>,
        started: &StepStarted<&Value>,
        mut before: Option<(&StepHandle, &Completion)>,
    ) -> Result<Begin> {
        let new = plan.new;
        for round in 0..ROUNDS {
            let steps = self.known_steps(round > 0).await?;
            let blocked = match self.blocked(plan, &steps, before.map(|(done, _)| done.id)).await {
                Ok(blocked) => blocked,
                Err(error) => return Err(self.after_recording(before, error).await),
            };
            if let Some(blocked) = blocked {
                if round == 0 {
                    // What was remembered may have passed: a no is only said of what was just read.
                    continue;
                }
                if let Some((done, completion)) = before.take() {
                    self.finish(done, completion).await?;
                }
                match self.answer(plan, blocked).await? {
                    Some(answer) => return Ok(answer),
                    None => continue,
                }
            }
            let Steps { version, open, .. } = steps;
            if let Some((done, completion)) = before.filter(|(done, _)| open.iter().all(|step| step.id != done.id)) {
                // Its end is there, and only the word of it was lost; or another ended it, which is then said.
                self.finish(done, completion).await?;
                before = None;
                continue;
            }
            let guards = vec![
                Guard::Registers { journal: self.branch, version },
                Guard::RowAbsent { journal: self.branch, kind: row::STEP, hashes: plan.keys.clone() },
            ];
            match self.start(plan, started, version, open, guards, before).await {
                Ok(handle) => return Ok(Begin::Run(handle)),
                Err(error) => match error.code() {
                    "registers_moved" | "outcome_unknown" => {}
                    "row_exists" => {
                        // The key was used before, so the short way is closed: record the outcome by itself.
                        if let Some((done, completion)) = before.take() {
                            self.finish(done, completion).await?;
                        }
                        if let Some(answer) = self.known(plan).await? {
                            return Ok(answer);
                        }
                    }
                    _ => match before {
                        // Whoever took over is told what came of the step before.
                        Some((done, completion)) if error.kind() == ErrorKind::Fenced => {
                            return Err(self.keep_evidence(done, completion, error).await);
                        }
                        _ => return Err(self.after_recording(before, error).await),
                    },
                },
            }
        }
        Err(Error::conflict(
            "steps_contended",
            format!("the steps of branch {} changed {ROUNDS} times while {:?} began", self.branch.short(), new.key),
        )
        .hint("try again"))
    }

    /// Records what came of the step before although the next cannot begin, and returns why it cannot.
    async fn after_recording(&self, before: Option<(&StepHandle, &Completion)>, why: Error) -> Error {
        match before {
            Some((done, completion)) => self.finish(done, completion).await.err().unwrap_or(why),
            None => why,
        }
    }

    /// What the outside dedupes on: it derives from the branch that starts the step, so that a fork's own effect is
    /// not swallowed.
    pub(crate) fn idempotency_key(&self, key: &str) -> Result<String> {
        use crate::views::IndexHash;
        let hash = self.own_hash().hash("idempotency", &[self.branch.as_bytes(), key.as_bytes()])?;
        Ok(data_encoding::HEXLOWER.encode(&hash))
    }

    /// Whether an open step answers this begin: the same key, or doubt on the same tool or resource. What is in doubt
    /// elsewhere hides no outcome of the key itself, so the key's row is looked up where something stands in its way.
    async fn blocked(&self, plan: &Plan<'_>, steps: &Steps, finishing: Option<EntryId>) -> Result<Option<Blocked>> {
        let open = &steps.open;
        let mut own: Option<Own> = None;
        // The step that was asked for comes first, then the oldest that blocks it.
        let asked = |step: &&OpenStep| plan.keys.contains(&step.key);
        let others = open.iter().filter(|step| !asked(step));
        for step in open.iter().filter(asked).chain(others).filter(|step| finishing != Some(step.id)) {
            let same_key = plan.keys.contains(&step.key);
            if step.id == plan.id {
                // An acknowledgement was lost, but the start is there.
                let handle = self.handle(plan, step.start, step.attempt).await?;
                return Ok(Some(Blocked::Answer(Begin::Run(handle))));
            }
            if !same_key && (plan.observed || !step.blocks(&plan.hashes)) {
                continue;
            }
            let standing = self.standing(step).await?;
            if same_key && step.fingerprint != plan.hashes.fingerprint {
                if standing != Standing::InDoubt {
                    return Err(mismatch(plan.new, step.start));
                }
                // Another owner's fingerprint is made with another secret, and says nothing here.
                if self.owners.len() == 1 {
                    return Err(mismatch_in_doubt(plan.new, step.start));
                }
            }
            let busy = match standing {
                Standing::InDoubt => self.parent_is_at_it(step).await?,
                // Parallel calls of one writer are no doubt, but one that nobody can see is not taken for alive.
                Standing::UnderWay if !same_key => continue,
                Standing::UnderWay | Standing::Unseen => true,
            };
            if !same_key {
                let known = match own.take() {
                    Some(known) => known,
                    None => self.own(plan).await?,
                };
                match own.insert(known) {
                    Own::Ended(row) => return self.replay(plan, row).await.map(Blocked::Answer).map(Some),
                    // It waits for that one only.
                    Own::NotRun(other) if !other.contains(&step.key) => continue,
                    Own::New | Own::Known | Own::NotRun(_) => {}
                }
            }
            return Ok(Some(Blocked::Answer(if busy {
                Begin::Busy(Box::new(self.record(step.start, State::Started).await?))
            } else {
                Begin::InDoubt(Box::new(self.describe_doubt(step, same_key, true).await?))
            })));
        }
        let may_be = |step: &&OpenStep| !plan.keys.contains(&step.key) && step.blocks(&plan.hashes);
        let Some(step) = steps.unseen.iter().filter(|_| !plan.anyway && !plan.observed).find(may_be) else {
            return Ok(None);
        };
        let own = match own {
            Some(own) => own,
            None => self.own(plan).await?,
        };
        Ok(match own {
            Own::New => Some(Blocked::MayBe(Box::new(step.clone()))),
            Own::Ended(row) => Some(Blocked::Answer(self.replay(plan, &row).await?)),
            // It was asked for before that one was settled.
            Own::Known | Own::NotRun(_) => None,
        })
    }

    /// What the key's own row says.
    async fn own(&self, plan: &Plan<'_>) -> Result<Own> {
        let Some(found) = self.latest_row(row::STEP, plan.keys.clone()).await? else { return Ok(Own::New) };
        let row = StepRow::decode(&found.value)?;
        self.check_fingerprint(plan, &row, found.position)?;
        self.refuse_erased_step(&plan.new.key, found.position).await?;
        Ok(match row.state {
            State::Completed | State::Abandoned => Own::Ended(found),
            State::Failed => {
                let outcome = outcome_of(&self.core().entry_at(found.position).await?)?;
                match outcome.and_then(|outcome| outcome.not_run) {
                    Some(_) if plan.again => Own::New,
                    Some(other) => Own::NotRun(self.hashes("step-key", other.key.as_bytes())?),
                    None if plan.again => Own::Known,
                    None => Own::Ended(found),
                }
            }
            State::FailedRetryable | State::Started | State::InDoubt | State::Absent => Own::Known,
        })
    }

    fn check_fingerprint(&self, plan: &Plan<'_>, row: &StepRow, at: Position) -> Result<()> {
        if row.fingerprint != plan.hashes.fingerprint && self.owners.len() == 1 {
            return Err(mismatch(plan.new, at));
        }
        Ok(())
    }

    /// The answer to a begin that something stands in the way of. None when the key itself was begun meanwhile.
    async fn answer(&self, plan: &Plan<'_>, blocked: Blocked) -> Result<Option<Begin>> {
        let step = match blocked {
            Blocked::Answer(answer) => return Ok(Some(answer)),
            Blocked::MayBe(step) => step,
        };
        let other = self.record(step.start, State::Completed).await?;
        match self.refuse(&Refused::new(plan.new.clone(), &other)).await {
            Ok(()) => Ok(self.outcome_of_key(&plan.new.key).await?.map(Begin::Replay)),
            Err(error) if is_known(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a step that a fork inherited is still under way on the branch that started it.
    pub(crate) async fn parent_is_at_it(&self, step: &OpenStep) -> Result<bool> {
        let parent = step.start.journal;
        if parent == self.branch || self.core().live_holder(parent).await?.is_none_or(|lease| lease.epoch != step.epoch)
        {
            return Ok(false);
        }
        let (_, registers) = self.core().0.ledger.registers(parent).await?;
        Ok(registers.iter().any(|entry| entry.kind == register::OPEN_STEP && entry.hash == step.id.0))
    }

    async fn handle(&self, plan: &Plan<'_>, position: Position, attempt: u32) -> Result<StepHandle> {
        let started: StepStarted = self.core().entry_at(position).await?.json()?;
        Ok(StepHandle {
            id: plan.id,
            position,
            attempt,
            idempotency_key: started.idempotency_key,
            key: plan.new.key.clone(),
        })
    }

    /// Commits the start, after the outcome of the step before when there is one.
    async fn start(
        &self,
        plan: &Plan<'_>,
        started: &StepStarted<&Value>,
        version: u64,
        open: Arc<Vec<OpenStep>>,
        guards: Vec<Guard>,
        before: Option<(&StepHandle, &Completion)>,
    ) -> Result<StepHandle> {
        let mut drafts = Vec::with_capacity(2);
        if let Some((done, completion)) = before {
            let Some(step) = open.iter().find(|step| step.id == done.id) else {
                return Err(Error::conflict("registers_moved", "the step before is not open any more"));
            };
            drafts.push(self.ended_draft(step, completion)?);
        }
        drop(open);
        drafts.push(self.start_draft(plan.id, started, &plan.hashes)?);
        self.remember_started(plan.id);
        // Each of them changes one register.
        let changes = drafts.len() as u64;
        let seq = self.commit(guards, drafts).await? + changes - 1;
        let position = Position { journal: self.branch, seq };
        let begun = OpenStep::new(plan.id, position, self.epoch, started.attempt, &plan.hashes);
        self.remember_changed(version, changes, before.map(|(done, _)| done.id), Some(begun));
        Ok(StepHandle {
            id: plan.id,
            position,
            attempt: started.attempt,
            idempotency_key: started.idempotency_key.clone(),
            key: plan.new.key.clone(),
        })
    }

    pub(crate) fn start_draft<I: Serialize>(
        &self,
        id: EntryId,
        started: &StepStarted<I>,
        hashes: &StepHashes,
    ) -> Result<Draft> {
        let views = views::step_started(id, self.epoch, started.attempt, hashes);
        Ok(Draft { id, kind: EntryKind::STEP_STARTED, payload: crate::core::to_json(started)?, views })
    }

    /// The outcome that a key ended with, if its last attempt did.
    pub(crate) async fn outcome_of_key(&self, key: &str) -> Result<Option<Outcome>> {
        let keys = self.hashes("step-key", key.as_bytes())?;
        let Some(found) = self.latest_row(row::STEP, keys).await? else { return Ok(None) };
        self.refuse_erased_step(key, found.position).await?;
        outcome_of(&self.core().entry_at(found.position).await?)
    }

    /// Refuses what would do again, or tell, what was erased.
    async fn refuse_erased_step(&self, key: &str, at: Position) -> Result<()> {
        match self.core().entry_at(at).await?.payload {
            Some(_) => Ok(()),
            None => Err(crate::erasure::step_erased(key, at)),
        }
    }

    /// The key has a row: replay, run again, or look again.
    async fn known(&self, plan: &Plan<'_>) -> Result<Option<Begin>> {
        let Some(found) = self.latest_row(row::STEP, plan.keys.clone()).await? else { return Ok(None) };
        let row = StepRow::decode(&found.value)?;
        self.check_fingerprint(plan, &row, found.position)?;
        self.refuse_erased_step(&plan.new.key, found.position).await?;
        match row.state {
            State::FailedRetryable => self.start_again(plan, &found, row.attempt).await.map(Some),
            State::Failed if plan.again => self.start_again(plan, &found, row.attempt).await.map(Some),
            State::Completed | State::Failed | State::Abandoned => self.replay(plan, &found).await.map(Some),
            // It is open: the registers, read again, say whose it is.
            State::Started | State::InDoubt | State::Absent => Ok(None),
        }
    }

    /// Replays the outcome of a key, whose caller thereby is told of it.
    async fn replay(&self, plan: &Plan<'_>, found: &Row) -> Result<Begin> {
        let entry = self.core().entry_at(found.position).await?;
        self.see(|step| plan.keys.contains(&step.key)).await?;
        outcome_of(&entry)?.map(Begin::Replay).ok_or_else(|| {
            Error::corrupt(
                "bad_view",
                format!("a step row points at journal {}, seq {}", found.position.journal, found.position.seq),
            )
            .hint("run `samite verify --rebuild`")
        })
    }

    /// The start of the attempt after one that failed. On the branch that failed it has the same idempotency key, and the
    /// outside remembers that key since its first attempt.
    pub(super) async fn next_attempt<'a>(
        &self,
        new: &'a NewStep,
        failed: &Row,
        attempt: u32,
    ) -> Result<StepStarted<&'a Value>> {
        let mut started = started(new, attempt + 1, self.idempotency_key(&new.key)?);
        if failed.position.journal == self.branch {
            let before = self.core().entry_at(self.start_of(failed.position).await?).await?;
            let earlier: StepStarted = before.json()?;
            started.first_started = Some(earlier.first_started.unwrap_or(before.header.time));
            started.idempotency_key = earlier.idempotency_key;
        }
        Ok(started)
    }

    async fn start_again(&self, plan: &Plan<'_>, failed: &Row, attempt: u32) -> Result<Begin> {
        let started = self.next_attempt(plan.new, failed, attempt).await?;
        for _ in 0..ROUNDS {
            let steps = self.known_steps(true).await?;
            if let Some(blocked) = self.blocked(plan, &steps, None).await? {
                match self.answer(plan, blocked).await? {
                    Some(answer) => return Ok(answer),
                    None => continue,
                }
            }
            let Steps { version, open, .. } = steps;
            let guards = vec![Guard::Registers { journal: self.branch, version }];
            match self.start(plan, &started, version, open, guards, None).await {
                Ok(handle) => return Ok(Begin::Run(handle)),
                Err(error) if matches!(error.code(), "registers_moved" | "outcome_unknown") => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict("steps_contended", format!("too many writers begin {:?} at once", plan.new.key))
            .hint("try again"))
    }

    /// Where the step started that an entry ended.
    async fn start_of(&self, end: Position) -> Result<Position> {
        let entry = self.core().entry_at(end).await?;
        Ok(match entry.header.kind {
            EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED => entry.json::<StepEnded>()?.start,
            _ => entry.json::<StepSettled>()?.start,
        })
    }

    /// A step in doubt with what others recorded of it.
    pub(crate) async fn describe_doubt(&self, step: &OpenStep, same_key: bool, by_call: bool) -> Result<InDoubt> {
        let record = self.record(step.start, State::InDoubt).await?;
        let recorded = self.recorded_elsewhere(step).await?;
        Ok(InDoubt { step: record, recorded, same_key, by_call })
    }

    /// What a fenced writer left on this branch, and what the branches between it and the one that started the step
    /// recorded of it after a fork left them: its outcome there, or how a doubt about it was settled. The branch that
    /// started it comes first: it knows best.
    async fn recorded_elsewhere(&self, step: &OpenStep) -> Result<Vec<Outcome>> {
        let mut lines = vec![self.core().journal(self.branch).await?];
        while let Some(last) = lines.last().filter(|last| last.id != step.start.journal) {
            let Some(parent) = last.parent else { break };
            lines.push(self.core().journal(parent.journal).await?);
        }
        let mut recorded: Vec<Outcome> = Vec::new();
        for line in lines.iter().rev() {
            let at = Position { journal: line.id, seq: line.head };
            let mut kinds = vec![(row::EVIDENCE, *step.id.as_bytes(), 1)];
            if line.id != self.branch {
                kinds.push((row::STEP, step.key, 8));
            }
            for (kind, hash, limit) in kinds {
                let query = samite_ledger::RowQuery { at, kind, hashes: vec![hash], limit };
                for row in self.core().0.ledger.rows(query).await? {
                    // A line sees what the one that it left had recorded before.
                    if recorded.iter().any(|known| known.position == row.position) {
                        continue;
                    }
                    let entry = self.core().entry_at(row.position).await?;
                    if entry.payload.is_some() {
                        recorded.extend(outcome_about(&entry, step.id)?);
                    }
                }
            }
        }
        Ok(recorded)
    }

    pub(crate) async fn record(&self, start: Position, state: State) -> Result<StepRecord> {
        StepRecord::of_start(&self.core().entry_at(start).await?, state)
    }

    /// Runs a step in doubt again: the doubt is settled to "did not happen" and the next attempt starts, in one
    /// commit. It keeps the idempotency key of the attempt in doubt, whose effect may have happened.
    ///
    /// # Errors
    /// `not_found` (`not_in_doubt`) when it is not in doubt on this branch; otherwise as [`Writer::begin`].
    pub async fn run_again(
        &self,
        step: EntryId,
        settled: &super::Resolution,
        tree: Option<samite_model::BlockId>,
        process: Option<serde_json::Value>,
    ) -> Result<StepHandle> {
        self.run_again_beside(step, settled, tree, process, None).await
    }

    /// The same, with a call that is refused because of it, in the same commit.
    pub(crate) async fn run_again_beside(
        &self,
        step: EntryId,
        settled: &super::Resolution,
        tree: Option<samite_model::BlockId>,
        process: Option<serde_json::Value>,
        refused: Option<&Refused>,
    ) -> Result<StepHandle> {
        let id = self.core().entry_id()?;
        self.remember_started(id);
        let again = self.run_again_as(id, step, settled, tree, process, refused).await;
        if again.as_ref().is_err_and(|error| error.kind() != ErrorKind::Unavailable) {
            self.forget_started(id);
        }
        again
    }

    async fn run_again_as(
        &self,
        id: EntryId,
        step: EntryId,
        settled: &super::Resolution,
        tree: Option<samite_model::BlockId>,
        process: Option<Value>,
        refused: Option<&Refused>,
    ) -> Result<StepHandle> {
        for _ in 0..ROUNDS {
            let (version, open) = self.open_steps(true).await?;
            let Some(old) = self.doubtful(&open, step).await? else {
                if let Some(mine) = open.iter().find(|known| known.id == id) {
                    let record = self.record(mine.start, State::Started).await?;
                    return Ok(again_handle(id, mine.start, &record.started));
                }
                return Err(not_in_doubt(step));
            };
            let record = self.record(old.start, State::InDoubt).await?;
            let mut started = record.started;
            started.first_started.get_or_insert(record.started_at);
            started.attempt += 1;
            started.tree = tree.or(started.tree);
            started.process.clone_from(&process);
            let hashes = views::step_hashes(&self.own_hash(), &started)?;
            let mut drafts = vec![self.settled_draft(old, settled, false)?, self.start_draft(id, &started, &hashes)?];
            let guards = vec![Guard::Registers { journal: self.branch, version }];
            let mut commit = Commit { guards, ..Commit::default() };
            if let Some(refused) = refused {
                self.refuse_beside(refused, &mut commit, &mut drafts).await?;
            }
            // Each of them changes one register.
            let changes = drafts.len() as u64;
            drop(open);
            match self.commit_with(commit, drafts).await {
                Ok(seq) => {
                    let position = Position { journal: self.branch, seq: seq + 1 };
                    let begun = OpenStep::new(id, position, self.epoch, started.attempt, &hashes);
                    self.remember_changed(version, changes, Some(step), Some(begun));
                    return Ok(again_handle(id, position, &started));
                }
                Err(error) if matches!(error.code(), "registers_moved" | "head_moved" | "outcome_unknown") => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict("steps_contended", format!("step {step} changed while it was run again")).hint("try again"))
    }
}

/// The outcome that an entry records of this very step, if it does. A fenced writer's evidence is one.
fn outcome_about(entry: &crate::log::Entry, step: EntryId) -> Result<Option<Outcome>> {
    if entry.payload.is_none() {
        return Ok(None);
    }
    let about = match entry.header.kind {
        EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED | EntryKind::STEP_EVIDENCE => {
            entry.json::<StepEnded>()?.step
        }
        EntryKind::STEP_RESOLVED | EntryKind::STEP_ABANDONED => entry.json::<StepSettled>()?.step,
        _ => return Ok(None),
    };
    if about != step {
        return Ok(None);
    }
    if entry.header.kind == EntryKind::STEP_EVIDENCE { super::ended(entry).map(Some) } else { outcome_of(entry) }
}

/// What a step's start records. A restore is carried out by this very process: once that is gone, it is in doubt.
pub(crate) fn started(new: &NewStep, attempt: u32, idempotency_key: String) -> StepStarted<&Value> {
    StepStarted {
        key: new.key.clone(),
        tool: new.tool.clone(),
        input: &new.input,
        effect: new.effect.clone(),
        touches: new.touches.clone(),
        probe: new.probe.clone(),
        attempt,
        idempotency_key,
        first_started: None,
        tree: new.tree,
        process: new.process.clone().or_else(|| (new.tool == RESTORE).then(own_process_value)?.ok()),
        source: new.source,
        redaction: None,
    }
}

fn again_handle(id: EntryId, position: Position, started: &StepStarted) -> StepHandle {
    StepHandle {
        id,
        position,
        attempt: started.attempt,
        idempotency_key: started.idempotency_key.clone(),
        key: started.key.clone(),
    }
}

pub(super) fn not_in_doubt(step: EntryId) -> Error {
    Error::not_found("not_in_doubt", format!("step {step} is not in doubt on this branch"))
        .hint("`samite step list SESSION` shows the steps and where they stand")
}

fn mismatch(new: &NewStep, at: Position) -> Error {
    Error::conflict(
        "step_mismatch",
        format!("step key {:?} was used at seq {} for another tool or input", new.key, at.seq),
    )
    .hint("use another key for another call")
}

/// The same where the step has no outcome: nothing is run in its stead, and nothing of what it was is run unasked.
fn mismatch_in_doubt(new: &NewStep, at: Position) -> Error {
    let key = &new.key;
    Error::conflict(
        "step_mismatch",
        format!("step key {key:?} was used at seq {} for another tool or input, and that step is in doubt", at.seq),
    )
    .hint("`samite recover SESSION` settles that step, or shows its command: the same call under this key then runs it again")
    .hint("use another key for another call")
}
