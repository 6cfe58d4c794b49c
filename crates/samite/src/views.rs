//! The views of journals: which rows and registers an entry makes. Pure: the same function serves the append and the
//! rebuild.

use crate::payload::{
    Anchored, AnchoredJournal, AuditArchived, BranchCurrent, BranchDeleted, BranchForked, BranchLifetime, Erased,
    ErasureExtended, ErasureStarted, GrantRevoked, Granted, HoldLifted, HoldSet, MergeStarted, Merged,
    SecretRegistered, SessionCreated, SessionKeyed, StepEnded, StepSeen, StepSettled, StepStarted, StepsInherited,
    TreeRecorded, TurnEnded, WorkspaceAttached, WorkspaceClosed,
};
use samite_ledger::{NewRow, Register, RegisterChange};
use samite_model::erasure::Scope;
use samite_model::json::canonical;
use samite_model::step::{Effect, OutcomeKind, State};
use samite_model::{BlockId, EntryId, EntryKind, Error, JournalId, Link, Position, Pseudonym, Result};
use serde_json::Value;
use std::borrow::Borrow;
use std::sync::Arc;

/// Row kinds. Codes are permanent.
pub(crate) mod row {
    /// A dedupe id; the value is the fingerprint of what was submitted.
    pub(crate) const DEDUPE: u16 = 1;
    /// An event of a step key; the value is a [`super::StepRow`].
    pub(crate) const STEP: u16 = 2;
    /// A workspace's tree; hash of the workspace, value = root.
    pub(crate) const TREE: u16 = 3;
    /// An outcome of a fenced writer; hash = id of the started entry.
    pub(crate) const EVIDENCE: u16 = 4;
    /// A principal that was seen; hash = its pseudonym (tenant's control journal).
    pub(crate) const PRINCIPAL: u16 = 5;
    /// A caller's key of a session; value = session id (tenant's control journal).
    pub(crate) const SESSION_KEY: u16 = 6;
    /// A caller's key of a branch; value = branch id (control journal).
    pub(crate) const BRANCH_KEY: u16 = 7;
    /// A payload in blocks: collection keeps what it names.
    pub(crate) const LARGE: u16 = 8;
    /// Something published: on a branch, hash of its name, value = its id; among an owner's artifacts, hash = its id.
    pub(crate) const ARTIFACT: u16 = 10;
    /// A workspace was closed; hash of the workspace.
    pub(crate) const CLOSED: u16 = 12;
    /// A merge: this position has a second parent; hash = its journal, value = journal, seq and root.
    pub(crate) const MERGED: u16 = 9;
    /// A record of long-term memory; hash = its id (a namespace's journal).
    pub(crate) const MEMORY_RECORD: u16 = 60;
    /// One of a record's lives has ended; hash of its id and of how many it had before.
    pub(crate) const MEMORY_ENDED: u16 = 61;
    /// What a record says; keyed hash of it, value = the record's id.
    pub(crate) const MEMORY_CONTENT: u16 = 62;
    /// Something was done to a namespace on a branch; hash of the namespace.
    pub(crate) const MEMORY_ON_BRANCH: u16 = 63;
    /// Every kind.
    pub(crate) const ALL: [u16; 25] = [
        DEDUPE,
        STEP,
        TREE,
        EVIDENCE,
        PRINCIPAL,
        SESSION_KEY,
        BRANCH_KEY,
        LARGE,
        ARTIFACT,
        CLOSED,
        MERGED,
        ERASURE,
        ERASED,
        ERASED_KEY,
        ERASED_ARTIFACT,
        KEPT,
        ERASED_RECORD,
        REFUSED,
        CAPTURED,
        FOUND,
        TRANSCRIPT,
        MEMORY_RECORD,
        MEMORY_ENDED,
        MEMORY_CONTENT,
        MEMORY_ON_BRANCH,
    ];
    /// A part of a harness's transcript; hash of its path, value = from where to where, and a check of what is before that.
    pub(crate) const TRANSCRIPT: u16 = 51;
    /// Redaction found something in the entry, or in the files that it speaks of.
    pub(crate) const FOUND: u16 = 50;
    /// Something of an event was dropped before it was written; value = how many pieces and bytes.
    pub(crate) const CAPTURED: u16 = 41;
    /// A refusal that was noted beside the store; hash = its id (tenant's control journal).
    pub(crate) const REFUSED: u16 = 40;
    /// An erasure that has begun; hash = its id (tenant's control journal).
    pub(crate) const ERASURE: u16 = 30;
    /// An erasure that is done; hash = its id (tenant's control journal).
    pub(crate) const ERASED: u16 = 31;
    /// What a caller knew an erased session by: no session is made by it again (tenant's control journal).
    pub(crate) const ERASED_KEY: u16 = 32;
    /// A name and bytes of an erased artifact: none is published by both again (tenant's control journal).
    pub(crate) const ERASED_ARTIFACT: u16 = 36;
    /// Rows stay with tombstones of a journal; hash = its id, value = the erasure's. The entry has them (tenant's control
    /// journal).
    pub(crate) const KEPT: u16 = 37;
    /// A record that was forgotten, or what one said: the first is named by nothing that is written, the second is said again by
    /// nobody but the user (tenant's control journal).
    pub(crate) const ERASED_RECORD: u16 = 38;
}

/// Register kinds. Codes are permanent.
pub(crate) mod register {
    /// A step without an outcome; hash = id of its started entry.
    pub(crate) const OPEN_STEP: u16 = 1;
    /// The current branch; value = branch id.
    pub(crate) const CURRENT: u16 = 2;
    /// A branch's lifetime; hash = branch id.
    pub(crate) const LIFETIME: u16 = 3;
    /// A branch that was deleted; hash = branch id.
    pub(crate) const DELETED: u16 = 5;
    /// A step that was settled as happened in the absence of its caller; hash = id of its started entry.
    pub(crate) const UNSEEN_STEP: u16 = 6;
    /// What was last decided for a session: the register's entry has it.
    pub(crate) const SETTINGS: u16 = 7;
    /// How long an artifact, or those of a type, are kept; hash = its id or the hash of the type (owner's artifacts).
    pub(crate) const ARTIFACT_RETENTION: u16 = 9;
    /// A merge that waits for decisions, or for its end; value = the branch that is merged. The register's entry has it.
    pub(crate) const OPEN_MERGE: u16 = 8;
    /// A grant; hash = its id, value = the artifact that it is about, or nothing. The register's entry has it.
    pub(crate) const GRANT: u16 = 20;
    /// A workspace in use; hash = workspace, value = branch id.
    pub(crate) const WORKSPACE: u16 = 4;
    /// How far a journal was when it was last anchored; hash = its id, value = seq and link (the audit log's own journal).
    pub(crate) const ANCHORED: u16 = 13;
    /// Leaves of the audit log that were moved to an archive; hash = log and first index (u64 each), value = the first index that
    /// stayed (the audit log's own journal).
    pub(crate) const ARCHIVED: u16 = 14;
    /// An erasure that is not done; hash = its id. The register's entry has the rest (tenant's control journal).
    pub(crate) const ERASING: u16 = 30;
    /// A person who was erased; hash = their pseudonym, value = the erasure (tenant's control journal).
    pub(crate) const ERASED_SUBJECT: u16 = 31;
    /// A legal hold; hash = the person's pseudonym or the session. The register's entry has the rest (tenant's control
    /// journal).
    pub(crate) const HOLD: u16 = 32;
    /// An erasure that is not done takes more than was planned; hash = its id, value = 1 once no more is looked for, else 0
    /// (tenant's control journal).
    pub(crate) const EXTENDED: u16 = 33;
    /// What is looked for in what is written: the entry that set the register has it.
    pub(crate) const REDACTION: u16 = 43;
    /// A registered secret, which the entry that set the register has; hash = keyed hash of its name.
    pub(crate) const REGISTERED_SECRET: u16 = 44;
    /// Consent to training; hash = the person's pseudonym or the session, value = 1 for yes. The register's entry has the
    /// rest, as those of all that follow have (tenant's control journal).
    pub(crate) const CONSENT: u16 = 40;
    /// A processor; hash of its name.
    pub(crate) const PROCESSOR: u16 = 41;
    /// The tenant's region; value = its hash.
    pub(crate) const REGION: u16 = 42;
    /// A transfer that was decided; hash of the region.
    pub(crate) const TRANSFER: u16 = 46;
    /// How much of a kind of events is kept; hash = the kind's code (u16), 0 for all others, value = the level.
    pub(crate) const CAPTURE: u16 = 47;
    /// How long a kind of things is kept; hash = its code.
    pub(crate) const RETENTION: u16 = 45;
    /// The organisation's own policies, which the entry that set the register has (tenant's control journal).
    pub(crate) const ORGANISATION: u16 = 48;
}

/// Hashes callers' strings for one subject.
pub(crate) trait IndexHash {
    /// The keyed hash of bytes in a domain.
    fn hash(&self, domain: &'static str, bytes: &[&[u8]]) -> Result<[u8; 16]>;
}

/// What a step row says: the last one along an ancestry is where the step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepRow {
    /// Where the step stands with this entry.
    pub(crate) state: State,
    /// The attempt.
    pub(crate) attempt: u32,
    /// The fingerprint of tool and input.
    pub(crate) fingerprint: [u8; 16],
}

impl StepRow {
    const SIZE: usize = 21;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let state = match self.state {
            State::Absent => 0,
            State::Started => 1,
            State::InDoubt => 2,
            State::Completed => 3,
            State::Failed => 4,
            State::FailedRetryable => 5,
            State::Abandoned => 6,
        };
        let mut bytes = Vec::with_capacity(Self::SIZE);
        bytes.push(state);
        bytes.extend_from_slice(&self.attempt.to_be_bytes());
        bytes.extend_from_slice(&self.fingerprint);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let parts = bytes
            .split_first()
            .and_then(|(state, rest)| rest.split_first_chunk::<4>().map(|(attempt, rest)| (*state, *attempt, rest)))
            .and_then(|(state, attempt, rest)| <[u8; 16]>::try_from(rest).ok().map(|print| (state, attempt, print)));
        let (state, attempt, fingerprint) =
            parts.ok_or_else(|| Error::corrupt("bad_view", "a step row has another length").hint(REBUILD))?;
        let state = match state {
            1 => State::Started,
            2 => State::InDoubt,
            3 => State::Completed,
            4 => State::Failed,
            5 => State::FailedRetryable,
            6 => State::Abandoned,
            other => {
                return Err(Error::corrupt("bad_view", format!("a step row has state {other}")).hint(REBUILD));
            }
        };
        Ok(Self { state, attempt: u32::from_be_bytes(attempt), fingerprint })
    }
}

pub(crate) const REBUILD: &str = "run `samite verify --rebuild`";

/// A step without an outcome, as a register holds it: keyed hashes and integers only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenStep {
    /// The entry that started it.
    pub(crate) id: EntryId,
    /// Where that entry is.
    pub(crate) start: Position,
    /// The epoch that it was started in, of the branch that started it.
    pub(crate) epoch: u64,
    /// Whether a fork inherited it.
    pub(crate) inherited: bool,
    /// Whether doubt about it blocks others: not for idempotent ones.
    pub(crate) blocks: bool,
    /// The hash of its key.
    pub(crate) key: [u8; 16],
    /// The hash of its tool.
    pub(crate) tool: [u8; 16],
    /// The attempt.
    pub(crate) attempt: u32,
    /// The fingerprint of tool and input.
    pub(crate) fingerprint: [u8; 16],
    /// The hashes of what it touches.
    pub(crate) touches: Vec<[u8; 16]>,
}

impl OpenStep {
    /// A step that its own writer started.
    pub(crate) fn new(id: EntryId, start: Position, epoch: u64, attempt: u32, hashes: &StepHashes) -> Self {
        Self {
            id,
            start,
            epoch,
            inherited: false,
            blocks: hashes.blocks,
            key: hashes.key,
            tool: hashes.tool,
            attempt,
            fingerprint: hashes.fingerprint,
            touches: hashes.touches.clone(),
        }
    }

    /// The register's value. The start is written only when it is not the register's own entry.
    fn encode(&self, inherited: bool) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.blocks) | (u8::from(inherited) << 1)];
        if inherited {
            bytes.extend_from_slice(self.start.journal.as_bytes());
            bytes.extend_from_slice(&self.start.seq.to_be_bytes());
        }
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.extend_from_slice(&self.attempt.to_be_bytes());
        for hash in [&self.key, &self.tool, &self.fingerprint].into_iter().chain(&self.touches) {
            bytes.extend_from_slice(hash);
        }
        bytes
    }

    /// Reads a register of a journal.
    pub(crate) fn decode(journal: JournalId, register: &Register) -> Result<Self> {
        let damaged =
            || Error::corrupt("bad_view", format!("an open step of journal {journal} is unreadable")).hint(REBUILD);
        let (flags, rest) = register.value.split_first().ok_or_else(damaged)?;
        let (start, rest) = if flags & 2 == 0 {
            (Position { journal, seq: register.seq }, rest)
        } else {
            let (id, rest) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
            let (seq, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
            (Position { journal: JournalId(*id), seq: u64::from_be_bytes(*seq) }, rest)
        };
        let (epoch, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (attempt, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (hashes, remainder) = rest.as_chunks::<16>();
        let [key, tool, fingerprint, touches @ ..] = hashes else { return Err(damaged()) };
        if !remainder.is_empty() {
            return Err(damaged());
        }
        Ok(Self {
            id: EntryId(register.hash),
            start,
            epoch: u64::from_be_bytes(*epoch),
            inherited: flags & 2 != 0,
            blocks: flags & 1 == 1,
            key: *key,
            tool: *tool,
            attempt: u32::from_be_bytes(*attempt),
            fingerprint: *fingerprint,
            touches: touches.to_vec(),
        })
    }

    /// Whether doubt about this step blocks another with this tool and these touches: by what they touch when both
    /// say so, else by tool.
    pub(crate) fn blocks(&self, other: &StepHashes) -> bool {
        if !self.blocks || !other.blocks {
            false
        } else if self.touches.is_empty() || other.touches.is_empty() {
            self.tool == other.tool
        } else {
            self.touches.iter().any(|touch| other.touches.contains(touch))
        }
    }
}

/// What the registers of a branch say of steps, as they were read.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// The version of the registers, which a guard compares.
    pub(crate) version: u64,
    /// Those without an outcome, in the order of their start.
    pub(crate) open: Arc<Vec<OpenStep>>,
    /// Those that were settled as happened in the absence of their callers, in the order of their start.
    pub(crate) unseen: Arc<Vec<OpenStep>>,
}

impl Steps {
    /// Reads them from the registers of a branch.
    pub(crate) fn decode(branch: JournalId, version: u64, registers: &[Register]) -> Result<Self> {
        let of = |kind: u16| -> Result<Arc<Vec<OpenStep>>> {
            let mut steps: Vec<OpenStep> = registers
                .iter()
                .filter(|register| register.kind == kind)
                .map(|register| OpenStep::decode(branch, register))
                .collect::<Result<_>>()?;
            steps.sort_by_key(|step| step.start.seq);
            Ok(Arc::new(steps))
        };
        Ok(Self { version, open: of(register::OPEN_STEP)?, unseen: of(register::UNSEEN_STEP)? })
    }
}

/// The hashes of a step about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepHashes {
    pub(crate) key: [u8; 16],
    pub(crate) tool: [u8; 16],
    pub(crate) fingerprint: [u8; 16],
    pub(crate) touches: Vec<[u8; 16]>,
    pub(crate) blocks: bool,
}

/// The key's hash in a session.
pub(crate) fn step_key(hash: &dyn IndexHash, key: &str) -> Result<[u8; 16]> {
    hash.hash("step-key", &[key.as_bytes()])
}

/// The hashes of a step.
pub(crate) fn step_hashes<I: Borrow<Value>>(hash: &dyn IndexHash, step: &StepStarted<I>) -> Result<StepHashes> {
    let input = canonical(step.input.borrow());
    Ok(StepHashes {
        key: step_key(hash, &step.key)?,
        tool: hash.hash("tool", &[step.tool.as_bytes()])?,
        // Of what was submitted, where what is stored is not that any more.
        fingerprint: match step.redaction.as_ref().and_then(|marks| marks.submitted) {
            Some(submitted) => submitted.0,
            None => hash.hash("step-input", &[step.tool.as_bytes(), b"\0", &input])?,
        },
        touches: step.touches.iter().map(|touch| hash.hash("touch", &[touch.as_bytes()])).collect::<Result<_>>()?,
        blocks: step.effect != Effect::Idempotent,
    })
}

/// What an entry adds to the views.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Projection {
    pub(crate) rows: Vec<NewRow>,
    pub(crate) registers: Vec<RegisterChange>,
}

impl Projection {
    pub(crate) fn row(mut self, kind: u16, hash: [u8; 16], value: Vec<u8>) -> Self {
        self.rows.push(NewRow { kind, hash, value });
        self
    }

    pub(crate) fn set(mut self, kind: u16, hash: [u8; 16], value: Vec<u8>) -> Self {
        self.registers.push(RegisterChange::Set { kind, hash, value });
        self
    }

    pub(crate) fn clear(mut self, kind: u16, hash: [u8; 16]) -> Self {
        self.registers.push(RegisterChange::Clear { kind, hash });
        self
    }
}

/// A dedupe row.
pub(crate) fn dedupe(hash: [u8; 16], fingerprint: [u8; 16]) -> NewRow {
    NewRow { kind: row::DEDUPE, hash, value: fingerprint.to_vec() }
}

/// A started step.
pub(crate) fn step_started(id: EntryId, epoch: u64, attempt: u32, hashes: &StepHashes) -> Projection {
    // Its start is the register's own entry, so that its position is not part of the value.
    let open = OpenStep::new(id, Position { journal: JournalId([0; 16]), seq: 0 }, epoch, attempt, hashes);
    let row = StepRow { state: State::Started, attempt, fingerprint: hashes.fingerprint };
    Projection::default().row(row::STEP, hashes.key, row.encode()).set(
        register::OPEN_STEP,
        *id.as_bytes(),
        open.encode(false),
    )
}

/// An ended step.
pub(crate) fn step_ended<O>(open: &OpenStep, ended: &StepEnded<O>) -> Projection {
    let state = match ended.kind {
        OutcomeKind::Completed => State::Completed,
        OutcomeKind::Failed => State::Failed,
        OutcomeKind::FailedRetryable => State::FailedRetryable,
    };
    let closed = step_closed(open, state);
    match &ended.not_run {
        // Who made this call is told of the other step.
        Some(other) => closed.clear(register::UNSEEN_STEP, *other.step.as_bytes()),
        None => closed,
    }
}

/// A settled doubt; `abandoned` when a person gave the step up.
pub(crate) fn step_settled(open: &OpenStep, settled: &StepSettled, abandoned: bool) -> Projection {
    let state = match (abandoned, settled.happened) {
        (true, _) => State::Abandoned,
        (false, true) => State::Completed,
        (false, false) => State::FailedRetryable,
    };
    let closed = step_closed(open, state);
    if settled.unseen && state == State::Completed && open.blocks {
        return closed.set(register::UNSEEN_STEP, *open.id.as_bytes(), open.encode(true));
    }
    closed
}

/// The caller of a settled step has been told.
pub(crate) fn step_seen(seen: &StepSeen) -> Projection {
    Projection::default().clear(register::UNSEEN_STEP, *seen.step.as_bytes())
}

fn step_closed(open: &OpenStep, state: State) -> Projection {
    let row = StepRow { state, attempt: open.attempt, fingerprint: open.fingerprint };
    Projection::default().row(row::STEP, open.key, row.encode()).clear(register::OPEN_STEP, *open.id.as_bytes())
}

/// Steps that a fork inherits open, which are in doubt in the child, and those that were settled in the absence of their
/// callers.
pub(crate) fn steps_inherited(open: &[OpenStep], unseen: &[OpenStep]) -> Projection {
    let open = open.iter().map(|step| (register::OPEN_STEP, step));
    open.chain(unseen.iter().map(|step| (register::UNSEEN_STEP, step)))
        .fold(Projection::default(), |projection, (kind, step)| {
            projection.set(kind, *step.id.as_bytes(), step.encode(true))
        })
}

/// What the inherited entry lists.
pub(crate) fn inherited_payload(open: &[OpenStep], unseen: &[OpenStep]) -> StepsInherited {
    let listed = |steps: &[OpenStep]| steps.iter().map(|step| (step.id, step.start)).collect();
    StepsInherited { steps: listed(open), unseen: listed(unseen) }
}

/// An outcome of a fenced writer.
pub(crate) fn step_evidence<O>(ended: &StepEnded<O>) -> Projection {
    Projection::default().row(row::EVIDENCE, *ended.step.as_bytes(), Vec::new())
}

/// A tree.
pub(crate) fn tree(recorded: &TreeRecorded) -> Projection {
    Projection::default().row(row::TREE, *recorded.workspace.as_bytes(), recorded.root.as_bytes().to_vec())
}

/// Redaction found something in an entry: what, only the entry says.
pub(crate) fn found() -> NewRow {
    NewRow { kind: row::FOUND, hash: [0; 16], value: Vec::new() }
}

/// A closed workspace (on the branch that closed it).
pub(crate) fn workspace_closed(closed: &WorkspaceClosed) -> Projection {
    Projection::default().row(row::CLOSED, *closed.workspace.as_bytes(), Vec::new())
}

/// A turn that ended is found by its dedupe id, as events are.
pub(crate) fn turn_ended(hash: &dyn IndexHash, ended: &TurnEnded) -> Result<Projection> {
    let Some(id) = &ended.dedupe else { return Ok(Projection::default()) };
    let code = EntryKind::TURN_ENDED.code().to_be_bytes();
    let row = dedupe(hash.hash("dedupe", &[id.as_bytes()])?, hash.hash("submitted", &[&code])?);
    Ok(Projection { rows: vec![row], registers: Vec::new() })
}

/// A workspace in use by a branch (control journal).
pub(crate) fn workspace_attached(attached: &WorkspaceAttached) -> Projection {
    let projection = Projection::default().set(
        register::WORKSPACE,
        *attached.workspace.as_bytes(),
        attached.branch.as_bytes().to_vec(),
    );
    match attached.replaces {
        Some(gone) => projection.clear(register::WORKSPACE, *gone.as_bytes()),
        None => projection,
    }
}

/// A merge waits for decisions, or for its end.
pub(crate) fn merge_started(started: &MergeStarted) -> Projection {
    Projection::default().set(register::OPEN_MERGE, [0; 16], started.from.as_bytes().to_vec())
}

/// A merge is done: the position has a second parent.
pub(crate) fn merged(merged: &Merged) -> Projection {
    let value = MergedRow { theirs: merged.theirs, root: merged.theirs_root }.encode();
    Projection::default()
        .row(row::MERGED, *merged.theirs.journal.as_bytes(), value)
        .clear(register::OPEN_MERGE, [0; 16])
}

/// A merge was given up.
pub(crate) fn merge_aborted() -> Projection {
    Projection::default().clear(register::OPEN_MERGE, [0; 16])
}

/// A second parent and its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MergedRow {
    /// Where the tree that was merged was recorded.
    pub(crate) theirs: Position,
    /// The tree.
    pub(crate) root: BlockId,
}

impl MergedRow {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.theirs.journal.as_bytes().to_vec();
        bytes.extend_from_slice(&self.theirs.seq.to_be_bytes());
        bytes.extend_from_slice(self.root.as_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let parts = bytes
            .split_first_chunk::<16>()
            .and_then(|(journal, rest)| rest.split_first_chunk::<8>().map(|(seq, root)| (*journal, *seq, root)))
            .and_then(|(journal, seq, root)| <[u8; 32]>::try_from(root).ok().map(|root| (journal, seq, root)));
        let (journal, seq, root) =
            parts.ok_or_else(|| Error::corrupt("bad_view", "a merge's row has another length").hint(REBUILD))?;
        let theirs = Position { journal: JournalId(journal), seq: u64::from_be_bytes(seq) };
        Ok(Self { theirs, root: BlockId(root) })
    }
}

/// An erasure has begun.
pub(crate) fn erasure_started(started: &ErasureStarted) -> Projection {
    let id = *started.erasure.as_bytes();
    let projection = Projection::default().row(row::ERASURE, id, started.subject.as_bytes().to_vec()).set(
        register::ERASING,
        id,
        Vec::new(),
    );
    let row = |kind| move |projection: Projection, hash: [u8; 16]| projection.row(kind, hash, id.to_vec());
    let projection = started.session_keys.iter().map(|key| key.0).fold(projection, row(row::ERASED_KEY));
    let projection = started.artifact_hashes.iter().map(|hash| hash.0).fold(projection, row(row::ERASED_ARTIFACT));
    let projection = started.records.iter().map(|record| record.0).fold(projection, row(row::ERASED_RECORD));
    let projection = started.record_hashes.iter().map(|hash| hash.0).fold(projection, row(row::ERASED_RECORD));
    let kept = started.kept.iter().flatten().map(|kept| kept.journal.0);
    kept.fold(projection, row(row::KEPT))
}

/// An erasure takes more entries.
pub(crate) fn erasure_extended(extended: &ErasureExtended) -> Projection {
    let id = extended.erasure.as_bytes().to_vec();
    let kept = extended.kept.iter().map(|kept| kept.journal.0);
    let projection =
        Projection::default().set(register::EXTENDED, *extended.erasure.as_bytes(), vec![u8::from(extended.reached)]);
    kept.fold(projection, |projection, journal| projection.row(row::KEPT, journal, id.clone()))
}

/// An erasure is done.
pub(crate) fn erased(erased: &Erased) -> Projection {
    let id = *erased.erasure.as_bytes();
    let projection = Projection::default()
        .row(row::ERASED, id, Vec::new())
        .clear(register::ERASING, id)
        .clear(register::EXTENDED, id);
    match erased.scope {
        Scope::User => projection.set(register::ERASED_SUBJECT, *erased.subject.as_bytes(), id.to_vec()),
        _ => projection,
    }
}

/// A hold was set.
pub(crate) fn hold_set(hold: &HoldSet) -> Projection {
    Projection::default().set(register::HOLD, hold.on.hash(), Vec::new())
}

/// A hold was lifted.
pub(crate) fn hold_lifted(hold: &HoldLifted) -> Projection {
    Projection::default().clear(register::HOLD, hold.on.hash())
}

/// Something of an event was dropped.
pub(crate) fn captured(pieces: u64, bytes: u64) -> NewRow {
    let value = [pieces.to_be_bytes(), bytes.to_be_bytes()].concat();
    NewRow { kind: row::CAPTURED, hash: [0; 16], value }
}

/// How many pieces and bytes a row says were dropped.
pub(crate) fn captured_of(value: &[u8]) -> Result<(u64, u64)> {
    let parts =
        value.split_first_chunk::<8>().and_then(|(pieces, rest)| Some((*pieces, <[u8; 8]>::try_from(rest).ok()?)));
    let (pieces, bytes) = parts
        .ok_or_else(|| Error::corrupt("bad_view", "a row of what was dropped has another length").hint(REBUILD))?;
    Ok((u64::from_be_bytes(pieces), u64::from_be_bytes(bytes)))
}

/// A payload in blocks.
pub(crate) fn large_payload() -> NewRow {
    NewRow { kind: row::LARGE, hash: [0; 16], value: Vec::new() }
}

/// A principal is known.
pub(crate) fn principal_seen(actor: Pseudonym) -> Projection {
    Projection::default().row(row::PRINCIPAL, *actor.as_bytes(), Vec::new())
}

/// The first branch is current.
pub(crate) fn session_created(created: &SessionCreated) -> Projection {
    Projection::default().set(register::CURRENT, [0; 16], created.branch.as_bytes().to_vec())
}

/// What is decided for a session is in the last such entry.
pub(crate) fn session_settings() -> Projection {
    Projection::default().set(register::SETTINGS, [0; 16], Vec::new())
}

/// Leaves that are not in the store any more.
pub(crate) fn audit_archived(part: &AuditArchived) -> Projection {
    let mut hash = [0; 16];
    let places = part.log.to_be_bytes().into_iter().chain(part.from.to_be_bytes());
    hash.iter_mut().zip(places).for_each(|(to, from)| *to = from);
    Projection::default().set(register::ARCHIVED, hash, part.to.to_be_bytes().to_vec())
}

/// What is looked for in what is written is in the last such entry.
pub(crate) fn redaction_set() -> Projection {
    Projection::default().set(register::REDACTION, [0; 16], Vec::new())
}

/// A registered secret, by the keyed hash of its name; one that is forgotten has no register.
pub(crate) fn secret_registered(hash: [u8; 16], registered: &SecretRegistered) -> Projection {
    if registered.secret.is_some() {
        Projection::default().set(register::REGISTERED_SECRET, hash, Vec::new())
    } else {
        Projection::default().clear(register::REGISTERED_SECRET, hash)
    }
}

/// How far journals were when they were anchored.
pub(crate) fn anchored(anchored: &Anchored) -> Projection {
    let set = |projection: Projection, journal: &AnchoredJournal| {
        let value = anchored_at(journal.seq, journal.link, anchored.log);
        projection.set(register::ANCHORED, journal.journal.0, value)
    };
    anchored.journals.iter().fold(Projection::default(), set)
}

/// The value of a register of an anchored journal; without the log where that is the first.
pub(crate) fn anchored_at(seq: u64, link: Link, log: u64) -> Vec<u8> {
    let later = log.to_be_bytes();
    [&seq.to_be_bytes()[..], link.as_bytes(), if log > 1 { &later } else { &[] }].concat()
}

/// A grant, and the end of those that it takes the place of.
pub(crate) fn granted(id: EntryId, granted: &Granted) -> Projection {
    let value = granted.artifact.map(|artifact| artifact.as_bytes().to_vec()).unwrap_or_default();
    let ended = granted.replaces.iter();
    ended.fold(Projection::default(), |projection, grant| projection.clear(register::GRANT, *grant.as_bytes())).set(
        register::GRANT,
        *id.as_bytes(),
        value,
    )
}

/// The end of grants.
pub(crate) fn grant_revoked(revoked: &GrantRevoked) -> Projection {
    let ended = revoked.grants.iter();
    ended.fold(Projection::default(), |projection, grant| projection.clear(register::GRANT, *grant.as_bytes()))
}

/// A caller's key of a session.
pub(crate) fn session_keyed(hash: &dyn IndexHash, keyed: &SessionKeyed) -> Result<Projection> {
    let key = hash.hash("session-key", &[keyed.key.as_bytes()])?;
    Ok(Projection::default().row(row::SESSION_KEY, key, keyed.session.as_bytes().to_vec()))
}

/// A fork is found by its key. Its first lifetime stays in its entry: a register for each would make every fork read those
/// of all before it.
pub(crate) fn branch_forked(hash: &dyn IndexHash, forked: &BranchForked) -> Result<Projection> {
    Ok(match &forked.key {
        Some(key) => {
            let key = hash.hash("branch-key", &[key.as_bytes()])?;
            Projection::default().row(row::BRANCH_KEY, key, forked.branch.as_bytes().to_vec())
        }
        None => Projection::default(),
    })
}

/// Another branch is current, and the previous one's trees begin to age, unless it was decided how long they last.
pub(crate) fn branch_current(current: &BranchCurrent) -> Projection {
    let mut projection = Projection::default().set(register::CURRENT, [0; 16], current.branch.as_bytes().to_vec());
    if !current.decided.contains(&current.branch) {
        projection = projection.clear(register::LIFETIME, *current.branch.as_bytes());
    }
    if !current.decided.contains(&current.previous) {
        let until = lifetime_value(current.previous_trees_until);
        projection = projection.set(register::LIFETIME, *current.previous.as_bytes(), until);
    }
    projection
}

/// A branch's lifetime.
pub(crate) fn branch_lifetime(lifetime: &BranchLifetime) -> Projection {
    Projection::default().set(register::LIFETIME, *lifetime.branch.as_bytes(), lifetime_value(lifetime.trees_until))
}

/// A branch is deleted: nothing makes it current or forks it any more.
pub(crate) fn branch_deleted(deleted: &BranchDeleted) -> Projection {
    Projection::default().set(register::DELETED, *deleted.branch.as_bytes(), Vec::new())
}

/// Kept for ever is an empty value.
fn lifetime_value(until: Option<i64>) -> Vec<u8> {
    until.map(|until| until.to_be_bytes().to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(tool: u8, touches: &[u8], blocks: bool) -> OpenStep {
        OpenStep {
            id: EntryId([1; 16]),
            start: Position { journal: JournalId([2; 16]), seq: 9 },
            epoch: 3,
            inherited: false,
            blocks,
            key: [4; 16],
            tool: [tool; 16],
            attempt: 2,
            fingerprint: [6; 16],
            touches: touches.iter().map(|touch| [*touch; 16]).collect(),
        }
    }

    fn other(tool: u8, touches: &[u8], blocks: bool) -> StepHashes {
        let open = open(tool, touches, blocks);
        StepHashes { key: [9; 16], tool: open.tool, fingerprint: [8; 16], touches: open.touches, blocks }
    }

    #[test]
    fn doubt_blocks_by_touches_when_both_declare_them_else_by_tool() {
        let table = [
            (open(1, &[], true), other(1, &[], true), true),
            (open(1, &[], true), other(2, &[], true), false),
            (open(1, &[7], true), other(1, &[], true), true),
            (open(1, &[7], true), other(1, &[8], true), false),
            (open(1, &[7], true), other(2, &[8, 7], true), true),
            (open(1, &[7], false), other(1, &[7], true), false),
            (open(1, &[7], true), other(1, &[7], false), false),
        ];
        for (open, other, expected) in table {
            assert_eq!(open.blocks(&other), expected, "{open:?} {other:?}");
        }
    }

    #[test]
    fn an_open_step_is_read_as_it_was_written() {
        let own = open(1, &[7, 8], true);
        let register =
            |inherited| Register { kind: register::OPEN_STEP, hash: [1; 16], seq: 9, value: own.encode(inherited) };
        assert_eq!(OpenStep::decode(JournalId([2; 16]), &register(false)).unwrap(), own);
        let inherited = OpenStep { inherited: true, ..own.clone() };
        assert_eq!(OpenStep::decode(JournalId([5; 16]), &register(true)).unwrap(), inherited);
        for cut in 0..register(true).value.len() {
            let mut short = register(true);
            short.value.truncate(cut);
            // Cutting whole hashes off the end only loses touches; anything else is damage.
            let whole_hashes = cut >= 37 + 48 && (cut - 37) % 16 == 0;
            assert_eq!(OpenStep::decode(JournalId([5; 16]), &short).is_ok(), whole_hashes, "{cut}");
        }
    }

    #[test]
    fn a_merge_row_is_read_as_it_was_written() {
        let row = MergedRow { theirs: Position { journal: JournalId([1; 16]), seq: 2 }, root: BlockId([3; 32]) };
        assert_eq!(MergedRow::decode(&row.encode()).unwrap(), row);
        for cut in 0..row.encode().len() {
            assert!(MergedRow::decode(&row.encode()[..cut]).is_err());
        }
    }

    #[test]
    fn a_step_row_is_read_as_it_was_written() {
        let row = StepRow { state: State::FailedRetryable, attempt: 3, fingerprint: [7; 16] };
        assert_eq!(StepRow::decode(&row.encode()).unwrap(), row);
        assert!(StepRow::decode(&row.encode()[..20]).is_err());
    }
}
