//! A writer: a process that works through its operations, and is started again when it dies.

use super::operation::{COUNTER, DEDUPE, Operation, What};
use super::{FAMILY, FaultyStore, LEASE, Mischief, OWNER, World};
use crate::testing::{FaultyLedger, Process};
use crate::{
    Append, Commit, Guard, JournalKind, LeaseOutcome, LeaseRequest, Ledger, NewJournal, RegisterChange, RowQuery,
};
use samite_host::{Clock, Sleep};
use samite_model::{Error, ErrorKind, JournalId, Position};
use std::rc::Rc;

/// What to do after an attempt.
enum Next {
    /// It is done, at this position (none for a fork).
    Done(Option<Position>),
    /// It will never be done: its journal is gone.
    Abandon,
    Retry,
    /// The process has crashed.
    Die,
}

/// Starts a new process of a writer.
pub(super) fn start(world: &Rc<World>, number: usize) {
    let Some(state) = world.writers.get(number) else { return };
    let process: Process = world.spawner.process();
    let ledger = FaultyStore::open(&world.store);
    state.running.set(Some(process));
    state.handle.replace(Some(ledger.clone()));
    world.spawner.spawn(process, Writer { world: Rc::clone(world), number, ledger }.run());
}

struct Writer {
    world: Rc<World>,
    number: usize,
    ledger: FaultyLedger,
}

impl Writer {
    async fn run(self) {
        let Some(state) = self.world.writers.get(self.number) else { return };
        // Noted as attempted before anything is sent, so that a crash does not forget it.
        while let Some(operation) = self.next_operation() {
            let next = match operation.what {
                What::Fork => self.fork(&operation).await,
                _ => self.append(&operation).await,
            };
            match next {
                Next::Done(position) => {
                    let mut record = self.world.record.borrow_mut();
                    if let Some(position) = position {
                        record.acknowledge(&operation, position);
                    } else {
                        record.counts.forks += 1;
                        record.forked.push(JournalId(operation.id));
                        record.journals.push(JournalId(operation.id));
                    }
                    state.operations.borrow_mut().pop();
                }
                Next::Abandon => drop(state.operations.borrow_mut().pop()),
                Next::Retry => self.nap(2_000_000).await,
                Next::Die => return,
            }
        }
        state.running.set(None);
        self.world.unfinished.set(self.world.unfinished.get().saturating_sub(1));
    }

    fn next_operation(&self) -> Option<Operation> {
        let state = self.world.writers.get(self.number)?;
        let mut operations = state.operations.borrow_mut();
        let operation = operations.last_mut()?;
        let mut record = self.world.record.borrow_mut();
        if operation.journal.is_none() {
            operation.journal = state.random.pick(&record.journals).copied();
        }
        record.attempted.insert(operation.id, operation.clone());
        Some(operation.clone())
    }

    fn chance(&self, in_thousand: u32) -> bool {
        self.world.writers.get(self.number).is_some_and(|state| state.random.chance(in_thousand))
    }

    async fn nap(&self, longest: u64) {
        let Some(state) = self.world.writers.get(self.number) else { return };
        self.world.time.sleep(state.random.below(longest)).await;
    }

    fn is(&self, mischief: Mischief) -> bool {
        self.world.options.mischief == Some(mischief)
    }

    /// The epoch to write in; `Err` when there is none to be had now.
    async fn epoch(&self, journal: JournalId) -> Result<u64, Next> {
        let Some(state) = self.world.writers.get(self.number) else { return Err(Next::Die) };
        let mut take_over = None;
        loop {
            let now = self.world.time.now();
            let request = LeaseRequest {
                journal,
                writer: state.id,
                now,
                expires: now.saturating_add(LEASE),
                process: Vec::new(),
                take_over,
            };
            match self.ledger.lease(request).await {
                Ok(LeaseOutcome::Held { epoch, previous }) => {
                    let mut record = self.world.record.borrow_mut();
                    record.counts.takeovers += u64::from(previous.is_some());
                    record.grant(journal, epoch, state.id);
                    return Ok(epoch);
                }
                // Sometimes a holder is believed to be gone who is only slow.
                Ok(LeaseOutcome::Busy(lease)) if take_over.is_none() && self.chance(250) => {
                    take_over = Some(lease.epoch);
                }
                Ok(LeaseOutcome::Busy(_)) => {
                    self.nap(LEASE.unsigned_abs()).await;
                    return Err(Next::Retry);
                }
                Ok(LeaseOutcome::Released) => {
                    self.violation("a lease that was asked for was given up".to_owned());
                    return Err(Next::Abandon);
                }
                Err(error) => return Err(self.after(&error)),
            }
        }
    }

    async fn append(&self, operation: &Operation) -> Next {
        let Some(state) = self.world.writers.get(self.number) else { return Next::Die };
        let Some(journal) = operation.journal else { return Next::Abandon };
        // Who counts takes no lease: the version of the registers is what keeps counters apart.
        let leased = operation.what != What::Count;
        let epoch = match if leased { self.epoch(journal).await } else { Ok(0) } {
            Ok(epoch) => epoch,
            Err(next) => return next,
        };
        let mut guards = Vec::new();
        if leased && !self.is(Mischief::NoEpochGuard) {
            guards.push(Guard::Epoch { journal, epoch });
        }
        if !self.is(Mischief::NoDedupeGuard) {
            guards.push(Guard::RowAbsent { journal, kind: DEDUPE, hashes: vec![operation.id] });
        }
        let now = self.world.time.now();
        let mut entries: Vec<_> =
            (0..operation.entries()).map(|number| operation.entry(number, epoch, now, state.id)).collect();
        if operation.what == What::AppendAtHead {
            match self.ledger.journal(journal).await {
                Ok(Some(state)) => guards.push(Guard::Head { journal, seq: state.head }),
                Ok(None) => return Next::Abandon,
                Err(error) => return self.after(&error),
            }
        }
        if operation.what == What::Count {
            let (version, registers) = match self.ledger.registers(journal).await {
                Ok(registers) => registers,
                Err(error) => return self.after(&error),
            };
            if !self.is(Mischief::NoRegistersGuard) {
                guards.push(Guard::Registers { journal, version });
            }
            let (kind, hash) = COUNTER;
            let count = registers.first().and_then(|register| register.value.first()).copied().unwrap_or(0);
            for entry in &mut entries {
                entry.registers.push(RegisterChange::Set { kind, hash, value: vec![count.wrapping_add(1)] });
            }
        }
        if self.chance(250) {
            // A zombie: it stops here, maybe for longer than its lease lasts.
            self.nap(LEASE.unsigned_abs().saturating_mul(3)).await;
        }
        let renew = (leased && self.chance(200)).then(|| (journal, epoch, self.world.time.now().saturating_add(LEASE)));
        let renew = renew.filter(|_| !self.is(Mischief::NoEpochGuard));
        let commit = Commit { guards, appends: vec![Append { journal, entries }], renew, ..Commit::default() };
        match self.ledger.commit(commit).await {
            Ok(receipt) => {
                Next::Done(Some(Position { journal, seq: receipt.first_seqs.first().copied().unwrap_or(0) }))
            }
            Err(error) if error.code() == "row_exists" => self.look(journal, operation).await,
            Err(error) => self.after(&error),
        }
    }

    /// Finds out where an operation was done before.
    async fn look(&self, journal: JournalId, operation: &Operation) -> Next {
        let at = Position { journal, seq: u64::MAX };
        let query = RowQuery { at, kind: DEDUPE, hashes: vec![operation.id], limit: 2 };
        match self.ledger.rows(query).await {
            Ok(rows) => match rows.as_slice() {
                [row] => {
                    self.world.record.borrow_mut().counts.found_done += 1;
                    Next::Done(Some(row.position))
                }
                // Its journal may have been deleted since.
                [] => Next::Retry,
                _ => {
                    self.violation(format!("{operation:?} was done twice"));
                    Next::Abandon
                }
            },
            Err(error) => self.after(&error),
        }
    }

    async fn fork(&self, operation: &Operation) -> Next {
        let Some(parent) = operation.journal else { return Next::Abandon };
        let state = match self.ledger.journal(parent).await {
            Ok(Some(state)) => state,
            Ok(None) => return Next::Abandon,
            Err(error) => return self.after(&error),
        };
        let inherited = state.parent.map_or(0, |parent| parent.seq);
        let own = state.head.saturating_sub(inherited);
        let Some(writer) = self.world.writers.get(self.number) else { return Next::Die };
        if own == 0 {
            return Next::Abandon;
        }
        let point = Position { journal: parent, seq: inherited + 1 + writer.random.below(own) };
        let id = JournalId(operation.id);
        let new = NewJournal { id, family: FAMILY, kind: JournalKind::Branch, owner: OWNER, parent: Some(point) };
        match self.ledger.commit(Commit { journals: vec![new], ..Commit::default() }).await {
            Ok(_) => Next::Done(None),
            // An attempt whose outcome was unknown.
            Err(error) if error.code() == "journal_exists" => {
                self.world.record.borrow_mut().counts.found_done += 1;
                Next::Done(None)
            }
            // What it was to be forked at was deleted meanwhile.
            Err(error) if error.code() == "fork_point" => Next::Retry,
            Err(error) => self.after(&error),
        }
    }

    /// What to do after an error.
    fn after(&self, error: &Error) -> Next {
        match (error.kind(), error.code()) {
            (_, "ledger_crashed") => Next::Die,
            (ErrorKind::Unavailable, _) | (ErrorKind::Conflict, "head_moved" | "registers_moved") => Next::Retry,
            (ErrorKind::Fenced, _) => {
                self.world.record.borrow_mut().counts.fenced += 1;
                Next::Retry
            }
            (ErrorKind::Conflict, "journal_closed") => Next::Abandon,
            _ => {
                self.violation(format!("an unexpected error: {} ({}): {error}", error.kind(), error.code()));
                Next::Abandon
            }
        }
    }

    fn violation(&self, text: String) {
        self.world.record.borrow_mut().violations.push(text);
    }
}
