//! A writer: a lease on one branch. Everything is appended through one.
//!
//! The lease is for liveness; only the epoch, checked inside each append's transaction, is for safety.

use crate::client::Client;
use crate::core::{Author, Core, Draft};
use crate::log::{ReadOptions, Reader};
use crate::policy::{Capture, frame};
use crate::step::Starts;
use crate::views::{self, IndexHash, OpenStep, Projection, Steps, row};
use samite_host::process::{Identity, Liveness};
use samite_ledger::{Append, Commit, Guard, JournalState, Lease, LeaseOutcome, LeaseRequest, Row, RowQuery};
use samite_model::policy::capture::Level;
use samite_model::tree::Change;
use samite_model::{BranchId, EntryId, EntryKind, Error, JournalId, Position, Pseudonym, Result, SessionId, limits};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How to become a branch's writer.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// The writer's id, which a harness carries across its processes; none makes one for this process alone.
    pub id: Option<String>,
    /// The process that stands for the writer: when it is gone, so is the writer. None means that only time tells.
    pub process: Option<Identity>,
    /// How long the lease lasts without a sign of life, in nanoseconds.
    pub time_to_live: i64,
    /// Take the branch over although its holder may live. The holder is fenced.
    pub take_over: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { id: None, process: None, time_to_live: 60_000_000_000, take_over: false }
    }
}

/// A hundred years, in nanoseconds.
const FOR_EVER: i64 = 100 * 365 * 24 * 3600 * 1_000_000_000;

/// How often a large payload is stored again because a collection took what it found.
pub(crate) const STORED: usize = 4;

/// Whether a commit was refused because blocks that it needs were, or might be, collected: it is to find them anew.
pub(crate) fn is_collected(error: &Error) -> bool {
    matches!(error.code(), "pin_lapsed" | "blocks_dying")
}

/// An event to append.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// What it is: a message, a model response, an event, a compaction.
    pub kind: EntryKind,
    /// Its bytes, kept as they are.
    pub body: Vec<u8>,
    /// What samite should know of it beside its bytes, such as the range that a compaction summarises.
    pub attributes: Option<serde_json::Value>,
    /// The caller's id for it: appending it again with the same bytes returns the first seq.
    pub dedupe: Option<String>,
    /// Append only if the branch's head is this.
    pub expected_head: Option<u64>,
}

/// What came of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Where the entry is.
    pub position: Position,
    /// Whether it was there already.
    pub duplicate: bool,
}

/// A lease on one branch.
pub struct Writer {
    pub(crate) client: Client,
    pub(crate) session: SessionId,
    pub(crate) branch: BranchId,
    pub(crate) epoch: u64,
    /// The owners along the ancestry: a lookup hashes once for each.
    pub(crate) owners: Vec<Pseudonym>,
    pseudonym: Pseudonym,
    process: Vec<u8>,
    time_to_live: i64,
    /// The lease that this writer's ended, when it ended one.
    pub(crate) previous: Option<Lease>,
    /// Whether it took the lease, and did not have it already.
    pub(crate) is_new: bool,
    state: Mutex<State>,
}

struct State {
    expires: i64,
    /// Whether anything was committed through this object.
    has_written: bool,
    /// A copy of the branch's registers; a guard on its version makes it safe to use.
    steps: Option<Steps>,
    /// Starts whose commit was not acknowledged, by the hash of their key.
    uncertain: HashMap<[u8; 16], EntryId>,
    /// The starts that this very object asked for.
    started: Starts,
    /// What contained steps in doubt had changed when they were assessed, by step.
    assessed: HashMap<EntryId, Vec<Change>>,
    /// How much of events is kept, and when that was read.
    capture: Option<(i64, Arc<Capture>)>,
}

impl Client {
    /// Becomes the writer of a branch (none: the current one). When this returns, the epoch is durable.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while another writer holds it and lives; `not_found` when there is no such branch.
    pub async fn writer(&self, session: SessionId, branch: Option<BranchId>, options: WriterOptions) -> Result<Writer> {
        let control = self.control(session).await?;
        let branch = match branch {
            Some(branch) => branch,
            None => self.current_of(&control).await?,
        };
        let state = self.branch_state(session, branch).await?;
        let process = options.process.as_ref().map(|identity| identity.encode().to_vec()).unwrap_or_default();
        // The life of a process that can be seen is better evidence than any timer.
        let time_to_live = if process.is_empty() { options.time_to_live } else { FOR_EVER };
        let id = match &options.id {
            Some(id) => {
                limits::check_name("a writer's id", id)?;
                id.clone()
            }
            None => JournalId(self.core.random_id()?).to_string(),
        };
        let writer = self.core.0.keys.writer(&writer_name(&id, &process));
        let mut owners: Vec<Pseudonym> = Vec::new();
        for segment in self.core.ancestry(Position { journal: branch, seq: state.head }).await? {
            if !owners.contains(&segment.owner) {
                owners.push(segment.owner);
            }
        }
        if !owners.contains(&state.owner) {
            owners.push(state.owner);
        }
        let Taken { epoch, expires, previous, is_new } =
            match take_lease(&self.core, &state, writer, &process, time_to_live, options.take_over).await {
                Ok(taken) => taken,
                Err(error) => return Err(self.held_by_turn(session, branch, error).await),
            };
        Ok(Writer {
            client: self.clone(),
            session,
            branch,
            epoch,
            owners,
            pseudonym: writer,
            process,
            time_to_live,
            previous,
            is_new,
            state: Mutex::new(State {
                expires,
                has_written: false,
                steps: None,
                uncertain: HashMap::new(),
                assessed: HashMap::new(),
                capture: None,
                started: Starts::default(),
            }),
        })
    }
}

/// A writer that comes back as another process is another writer: the steps that the first left open are in doubt.
fn writer_name(id: &str, process: &[u8]) -> String {
    let mut name = id.to_owned();
    name.push('\0');
    name.push_str(&data_encoding::HEXLOWER.encode(process));
    name
}

/// A lease that was taken.
struct Taken {
    epoch: u64,
    expires: i64,
    /// The one that this ended.
    previous: Option<Lease>,
    /// Whether it was not held already.
    is_new: bool,
}

async fn take_lease(
    core: &Core,
    branch: &JournalState,
    writer: Pseudonym,
    process: &[u8],
    time_to_live: i64,
    force: bool,
) -> Result<Taken> {
    if let Some(lease) = core.0.ledger.holder(branch.id).await? {
        // A writer that has it already has its epoch: nothing is written before half of the lease is over. The epoch's
        // guard tells whether another took it meanwhile.
        let left = lease.expires.saturating_sub(core.now());
        if lease.writer == writer && lease.process == process && left > time_to_live / 2 {
            let (epoch, expires) = (lease.epoch, lease.expires);
            return Ok(Taken { epoch, expires, previous: None, is_new: false });
        }
    }
    let mut take_over = None;
    // Each round sees another holder, and a holder that lives ends the loop.
    for _ in 0..8 {
        let now = core.now();
        let expires = now.saturating_add(time_to_live);
        let request = LeaseRequest { journal: branch.id, writer, now, expires, process: process.to_vec(), take_over };
        match core.0.ledger.lease(request).await? {
            LeaseOutcome::Held { epoch, previous } => {
                return Ok(Taken { epoch, expires, previous, is_new: true });
            }
            LeaseOutcome::Busy(lease) if force || holder_is_gone(&lease) => take_over = Some(lease.epoch),
            LeaseOutcome::Busy(lease) => {
                return Err(lease_held(branch.id, &lease, now));
            }
            LeaseOutcome::Released => {
                return Err(Error::internal("lease_released", "a lease that was asked for was given up"));
            }
        }
    }
    Err(Error::conflict("lease_contended", format!("many writers want branch {} at once", branch.id.short()))
        .hint("try again"))
}

impl Core {
    /// The writer that holds a branch and, as far as can be told, lives.
    pub(crate) async fn live_holder(&self, branch: BranchId) -> Result<Option<Lease>> {
        let held = self.0.ledger.holder(branch).await?;
        Ok(held.filter(|lease| lease.expires > self.now() && !holder_is_gone(lease)))
    }
}

impl Client {
    /// Whether a branch (none: the current one) is held by a writer of this id, whichever process it is.
    pub(crate) async fn is_held_by(&self, session: SessionId, branch: Option<BranchId>, id: &str) -> Result<bool> {
        let branch = self.or_current(session, branch).await?;
        let held = self.core.0.ledger.holder(branch).await?;
        Ok(held.is_some_and(|lease| self.core.0.keys.writer(&writer_name(id, &lease.process)) == lease.writer))
    }

    /// Refuses to take a branch from under a living writer, unless that is the caller itself or it insists.
    pub(crate) async fn refuse_if_held(&self, branch: BranchId, options: &WriterOptions) -> Result<()> {
        let Some(lease) = self.core.live_holder(branch).await? else { return Ok(()) };
        let process = options.process.as_ref().map(|identity| identity.encode().to_vec()).unwrap_or_default();
        let own =
            options.id.as_ref().is_some_and(|id| self.core.0.keys.writer(&writer_name(id, &process)) == lease.writer);
        if own || options.take_over {
            return Ok(());
        }
        let session = self.core.journal(branch).await?.family;
        Err(self.held_by_turn(session, branch, lease_held(branch, &lease, self.core.now())).await)
    }
}

fn lease_held(branch: BranchId, lease: &Lease, now: i64) -> Error {
    let error = Error::conflict(
        "lease_held",
        format!("another writer holds branch {} (epoch {})", branch.short(), lease.epoch),
    );
    let error = if let Ok(identity) = Identity::decode(&lease.process) {
        error.hint(format!("wait for process {} to end, or end it", identity.pid))
    } else {
        let seconds = lease.expires.saturating_sub(now) / 1_000_000_000 + 1;
        error.hint(format!("wait for it to end; without a sign of life its lease expires in {seconds} s"))
    };
    error.hint("fork the session to work beside it, or take over, which fences it")
}

fn holder_is_gone(lease: &Lease) -> bool {
    Identity::decode(&lease.process)
        .is_ok_and(|identity| matches!(identity.liveness(), Liveness::Gone | Liveness::OtherBoot))
}

impl Writer {
    /// The branch.
    pub fn branch(&self) -> BranchId {
        self.branch
    }

    /// The session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The epoch that this writer writes in.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn core(&self) -> &Core {
        &self.client.core
    }

    pub(crate) fn author(&self) -> Author {
        self.client.author(self.epoch)
    }

    /// What the branch's registers say of steps; `fresh` reads them again.
    pub(crate) async fn known_steps(&self, fresh: bool) -> Result<Steps> {
        let known = if fresh { None } else { self.locked().steps.clone() };
        if let Some(steps) = known {
            return Ok(steps);
        }
        let (version, registers) = self.core().0.ledger.registers(self.branch).await?;
        let known = Steps::decode(self.branch, version, &registers)?;
        self.locked().steps = Some(known.clone());
        Ok(known)
    }

    /// The branch's open steps with the version that guards them; `fresh` reads them again.
    pub(crate) async fn open_steps(&self, fresh: bool) -> Result<(u64, Arc<Vec<OpenStep>>)> {
        let steps = self.known_steps(fresh).await?;
        Ok((steps.version, steps.open))
    }

    /// The copy of the branch's registers is not what they are any more.
    pub(crate) fn forget_steps(&self) {
        self.locked().steps = None;
    }

    pub(crate) fn take_uncertain(&self, key: &[u8; 16]) -> Option<EntryId> {
        self.locked().uncertain.remove(key)
    }

    pub(crate) fn remember_assessed(&self, step: EntryId, changes: Vec<Change>) {
        self.locked().assessed.insert(step, changes);
    }

    pub(crate) fn take_assessed(&self, step: EntryId) -> Option<Vec<Change>> {
        self.locked().assessed.remove(&step)
    }

    pub(crate) fn remember_uncertain(&self, key: [u8; 16], id: EntryId) {
        self.locked().uncertain.insert(key, id);
    }

    pub(crate) fn known_capture(&self) -> Option<(i64, Arc<Capture>)> {
        self.locked().capture.clone()
    }

    pub(crate) fn remember_capture(&self, now: i64, capture: &Arc<Capture>) {
        self.locked().capture = Some((now, Arc::clone(capture)));
    }

    /// Notes a start that this object asks for.
    pub(crate) fn remember_started(&self, step: EntryId) {
        self.locked().started.add(step);
    }

    /// A start that this object asked for ended, or never was.
    pub(crate) fn forget_started(&self, step: EntryId) {
        self.locked().started.end(step);
    }

    /// How a start that this object asked for ended cannot be said, and nothing of it runs any more: it is in doubt.
    pub(crate) fn remember_lost(&self, step: EntryId) {
        self.locked().started.lose(step);
    }

    /// Whether a step is in doubt although its process is this very one.
    pub(crate) fn has_lost(&self, step: EntryId) -> bool {
        self.locked().started.has_lost(step)
    }

    /// Whether this very object asked for a start.
    pub(crate) fn has_started(&self, step: EntryId) -> bool {
        self.locked().started.has(step)
    }

    /// How often a lease that only time ends must be renewed; none when it ends with a process.
    pub(crate) fn renewal(&self) -> Option<std::time::Duration> {
        let third = u64::try_from(self.time_to_live / 3).unwrap_or(0).max(1);
        self.process.is_empty().then(|| std::time::Duration::from_nanos(third))
    }

    /// Renews the lease by itself, while nothing is appended.
    ///
    /// # Errors
    /// `fenced` when another writer took over.
    pub(crate) async fn renew(&self) -> Result<()> {
        let expires = self.core().now().saturating_add(self.time_to_live);
        let renew = Some((self.branch, self.epoch, expires));
        self.core().0.ledger.commit(Commit { renew, ..Commit::default() }).await?;
        self.locked().expires = expires;
        Ok(())
    }

    /// Remembers what a commit under a guard on `version` that changed so many registers made of the open steps: one that
    /// ended, one that started. What was read since then is newer and stays. A caller that holds no copy of them any more
    /// spares one.
    pub(crate) fn remember_changed(
        &self,
        version: u64,
        changes: u64,
        ended: Option<EntryId>,
        started: Option<OpenStep>,
    ) {
        let mut state = self.locked();
        if let Some(step) = ended {
            state.started.end(step);
        }
        let Some(known) = state.steps.as_mut().filter(|known| known.version == version) else { return };
        // A wrong version would do no harm, but cost a refused commit and a read.
        known.version += changes;
        let open = Arc::make_mut(&mut known.open);
        open.retain(|step| ended != Some(step.id));
        open.extend(started);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits entries to the branch in this writer's epoch, renewing the lease in passing when a third of it is over.
    pub(crate) async fn commit(&self, guards: Vec<Guard>, drafts: Vec<Draft>) -> Result<u64> {
        self.commit_with(Commit { guards, ..Commit::default() }, drafts).await
    }

    /// The same, with more in the commit.
    pub(crate) async fn commit_with(&self, commit: Commit, drafts: Vec<Draft>) -> Result<u64> {
        if drafts.iter().any(Draft::is_large) {
            // What a large payload shares with others may be collected before it is committed.
            for _ in 1..STORED {
                match self.commit_once(commit.clone(), drafts.clone()).await {
                    Err(error) if is_collected(&error) => {}
                    other => return other,
                }
            }
        }
        self.commit_once(commit, drafts).await
    }

    async fn commit_once(&self, mut commit: Commit, drafts: Vec<Draft>) -> Result<u64> {
        self.core().refresh_redactor().await?;
        let author = self.author();
        let entries = drafts
            .into_iter()
            .map(|draft| self.core().seal_into(self.branch, &author, draft, &mut commit))
            .collect::<Result<Vec<_>>>()?;
        commit.guards.insert(0, Guard::Epoch { journal: self.branch, epoch: self.epoch });
        commit.appends.insert(0, Append { journal: self.branch, entries });
        let now = self.core().now();
        let expires = now.saturating_add(self.time_to_live);
        let due = expires.saturating_sub(self.locked().expires) > self.time_to_live / 3;
        commit.renew = due.then_some((self.branch, self.epoch, expires));
        // A commit whose acknowledgement gets lost may have been made.
        self.locked().has_written = true;
        let receipt = self.core().0.ledger.commit(commit).await?;
        if due {
            self.locked().expires = expires;
        }
        receipt
            .first_seqs
            .first()
            .copied()
            .ok_or_else(|| Error::internal("no_receipt", "a commit with an append gave no seq"))
    }

    /// Appends an event. When this returns, it is durable.
    ///
    /// # Errors
    /// `fenced` when another writer took over; `conflict` when the head is not the expected one (`head_moved`) or the
    /// dedupe id was used for other bytes (`dedupe_mismatch`); `invalid` past the limits.
    pub async fn append(&self, event: NewEvent) -> Result<Appended> {
        let capture = self.capture().await?;
        let code = event.kind.code().to_be_bytes();
        let own = self.own_hash();
        let submitted = match &event.dedupe {
            Some(_) => Some(own.hash("submitted", &[&code, &event.body])?),
            None if capture.level(event.kind) == Level::Full => None,
            None => {
                let owner = self.client.subject.pseudonym;
                Some(self.core().submitted_body(owner, self.branch, event.kind, &event.body)?)
            }
        };
        let (id, attributes) = (event.dedupe.as_deref(), event.attributes.as_ref());
        let framed = frame(&capture, event.kind, id, attributes, &event.body, submitted)?;
        let mut draft = Draft {
            id: self.core().entry_id()?,
            kind: event.kind,
            payload: framed.payload,
            views: Projection { rows: framed.row.into_iter().collect(), registers: Vec::new() },
        };
        draft.views.rows.extend(crate::transcript::row_of(attributes));
        let mut guards = Vec::new();
        if let Some(seq) = event.expected_head {
            guards.push(Guard::Head { journal: self.branch, seq });
        }
        let Some(dedupe) = &event.dedupe else {
            let seq = self.commit(guards, vec![draft]).await?;
            return Ok(Appended { position: Position { journal: self.branch, seq }, duplicate: false });
        };
        limits::check_name("a dedupe id", dedupe)?;
        let hashes = self.hashes("dedupe", dedupe.as_bytes())?;
        let fingerprints = self.hashes_of("submitted", &[&code, &event.body])?;
        if let Some(submitted) = submitted {
            draft.views.rows.push(views::dedupe(own.hash("dedupe", &[dedupe.as_bytes()])?, submitted));
        }
        // The dedupe row is looked for first: a repeated append is answered even when its expected head has passed.
        guards.insert(0, Guard::RowAbsent { journal: self.branch, kind: row::DEDUPE, hashes: hashes.clone() });
        match self.commit(guards, vec![draft]).await {
            Ok(seq) => Ok(Appended { position: Position { journal: self.branch, seq }, duplicate: false }),
            Err(error) if matches!(error.code(), "row_exists" | "outcome_unknown") => {
                let Some(found) = self.latest_row(row::DEDUPE, hashes).await? else { return Err(error) };
                if fingerprints.iter().any(|fingerprint| found.value == fingerprint) {
                    return Ok(Appended { position: found.position, duplicate: true });
                }
                Err(Error::conflict(
                    "dedupe_mismatch",
                    format!("dedupe id {dedupe:?} was used at seq {} for other bytes", found.position.seq),
                )
                .hint("use another id for another event"))
            }
            Err(error) => Err(error),
        }
    }

    /// The newest row along the branch's ancestry with any of these hashes.
    pub(crate) async fn latest_row(&self, kind: u16, hashes: Vec<[u8; 16]>) -> Result<Option<Row>> {
        let head = self.core().journal(self.branch).await?.head;
        let at = Position { journal: self.branch, seq: head };
        Ok(self.core().0.ledger.rows(RowQuery { at, kind, hashes, limit: 1 }).await?.into_iter().next())
    }

    pub(crate) fn own_hash(&self) -> crate::core::FamilyHash<'_> {
        self.core().hasher(self.client.subject.pseudonym, self.session)
    }

    /// The hash of a string, once for each owner along the ancestry.
    pub(crate) fn hashes(&self, domain: &'static str, bytes: &[u8]) -> Result<Vec<[u8; 16]>> {
        self.hashes_of(domain, &[bytes])
    }

    fn hashes_of(&self, domain: &'static str, parts: &[&[u8]]) -> Result<Vec<[u8; 16]>> {
        self.owners.iter().map(|owner| self.core().hasher(*owner, self.session).hash(domain, parts)).collect()
    }

    /// Reads this writer's branch.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub async fn read(&self, options: ReadOptions) -> Result<Reader> {
        self.client.read(self.session, Some(self.branch), options).await
    }

    /// Gives the lease up. Steps left open are then in doubt for the next writer. How far the branch has come is put into the audit log.
    ///
    /// # Errors
    /// `unavailable` when it could not be recorded; the lease then expires by itself.
    pub async fn release(self) -> Result<()> {
        self.give_up(false).await
    }

    /// As [`Writer::release`], by who took the lease for one act: how far the branch has come is put into the audit log with that of
    /// all other branches that nobody holds, once a minute at most.
    ///
    /// # Errors
    /// As [`Writer::release`].
    pub async fn release_after_act(self) -> Result<()> {
        self.give_up(true).await
    }

    async fn give_up(self, briefly: bool) -> Result<()> {
        let now = self.core().now();
        let request = LeaseRequest {
            journal: self.branch,
            writer: self.pseudonym,
            now,
            expires: now,
            process: self.process.clone(),
            take_over: None,
        };
        self.core().0.ledger.lease(request).await?;
        let has_written = self.locked().has_written;
        if has_written {
            // What is not anchored now is by who gives a branch up later.
            self.client.audit_as_tenant().anchor_left(self.branch, briefly).await.ok();
        }
        Ok(())
    }

    /// Gives the lease up after an act that took it for itself, and answers what came of the act. That is never hidden
    /// by a lease that cannot be given up, which expires by itself or ends with its process.
    pub(crate) async fn let_go<T>(self, short: bool, outcome: Result<T>) -> Result<T> {
        if short {
            self.release_after_act().await.ok();
        }
        outcome
    }

    /// Whether a step key has one hash only: nobody else owns a part of this branch's ancestry.
    pub(crate) fn is_sole_owner(&self) -> bool {
        self.owners == [self.client.subject.pseudonym]
    }
}

impl Client {
    /// Reads a branch (none: the current one).
    ///
    /// # Errors
    /// `not_found` when there is no such branch or position.
    pub async fn read(&self, session: SessionId, branch: Option<BranchId>, options: ReadOptions) -> Result<Reader> {
        let branch = self.or_current(session, branch).await?;
        let head = self.head(session, branch).await?;
        Reader::new(self.core.clone(), head, options).await
    }

    /// Waits until a branch's head is beyond `after` or about `milliseconds` have passed, and returns the head.
    ///
    /// # Errors
    /// `not_found` when there is no such branch.
    pub async fn wait(&self, session: SessionId, branch: BranchId, after: u64, milliseconds: u64) -> Result<u64> {
        self.branch_state(session, branch).await?;
        self.core.0.ledger.wait(branch, after, milliseconds).await
    }
}
