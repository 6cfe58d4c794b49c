//! Making the views of a journal again from its entries, and comparing them with what is stored.

use crate::artifact::views as artifact;
use crate::core::Core;
use crate::log::Entry;
use crate::memory::views as memory;
use crate::payload::{SecretRegistered, StepEnded, StepSeen, StepSettled, StepStarted, StepsInherited};
use crate::policy::Dropped;
use crate::views::{self, IndexHash, OpenStep, Projection, StepRow, register};
use samite_ledger::{Generation, JournalKind, JournalState, NewRow, Read, Register, RegisterChange};
use samite_model::step::State;
use samite_model::{EntryId, EntryKind, Error, ErrorKind, JournalId, Position, Result};
use std::collections::{BTreeMap, HashMap, HashSet};

const PAGE: usize = 512;

/// How often it is looked again because a writer came in between.
const ROUNDS: usize = 64;

/// So often views must disagree with their entries.
const LOOKS: usize = 3;

/// Stored views, beside those that entries make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// They are the same.
    Same,
    /// As an older version of samite made them, which had no rows for what redaction found: `verify --rebuild` adds them.
    Older,
    /// They are not what entries make.
    Other,
}

/// What of a journal was erased.
#[derive(Default)]
struct Erased {
    /// The seqs of erased entries, which make nothing any more: of their rows, those stay that the erasure says.
    tombstones: HashSet<u64>,
    /// The seqs of entries whose views cannot be told.
    unreadable: HashSet<u64>,
    /// Why it cannot be told what stays of them.
    unknown: Option<Error>,
}

impl Erased {
    fn has(&self, seq: u64) -> bool {
        self.tombstones.contains(&seq) || self.unreadable.contains(&seq)
    }
}

/// The key of the step that a row says is not open any more.
fn end_of(row: &NewRow) -> Result<Option<[u8; 16]>> {
    if row.kind != views::row::STEP {
        return Ok(None);
    }
    let state = StepRow::decode(&row.value)?.state;
    Ok((!matches!(state, State::Started | State::InDoubt | State::Absent)).then_some(row.hash))
}

impl Core {
    /// All rows and registers that a journal's entries make.
    ///
    /// # Errors
    /// `corrupt` naming the entry that cannot be read.
    pub(crate) async fn rebuild(&self, journal: &JournalState) -> Result<Generation> {
        let mut erased = Erased::default();
        let generation = self.rebuild_noting(journal, &mut erased).await?;
        match erased.unknown {
            Some(error) => Err(error),
            None => Ok(generation),
        }
    }

    /// The same, with the seqs of erased entries, which make nothing any more.
    async fn rebuild_noting(&self, journal: &JournalState, erased: &mut Erased) -> Result<Generation> {
        let mut steps: HashMap<EntryId, OpenStep> = HashMap::new();
        let mut rows: Vec<(u64, NewRow)> = Vec::new();
        let mut registers: BTreeMap<(u16, [u8; 16]), Register> = BTreeMap::new();
        let mut kept: Option<BTreeMap<u64, Vec<NewRow>>> = None;
        let mut from = journal.parent.map_or(1, |parent| parent.seq + 1);
        while from <= journal.head {
            let read = Read { limit: PAGE, ..Read::range(journal.id, from, journal.head) };
            let page = self.0.ledger.read(read).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for stored in &page {
                let entry = self.whole(self.open(journal.id, stored)?)?;
                if entry.payload.is_none() && stored.payload.is_some() {
                    // Its key is gone, and it waits for its erasure.
                    erased.unreadable.insert(stored.seq);
                    continue;
                }
                if entry.payload.is_none() {
                    erased.tombstones.insert(stored.seq);
                    let kept = match &mut kept {
                        Some(kept) => kept,
                        none => none.insert(self.kept_noting(journal.id, erased).await?),
                    };
                    for row in kept.remove(&stored.seq).unwrap_or_default() {
                        let ended = end_of(&row)?;
                        // It is not open any more, though nobody can say what came of it.
                        registers.retain(|(kind, _), register| {
                            let open = OpenStep::decode(journal.id, register).ok();
                            *kind != register::OPEN_STEP || ended.is_none() || open.map(|open| open.key) != ended
                        });
                        rows.push((stored.seq, row));
                    }
                    continue;
                }
                let mut projection = match self.project(journal, &entry, &mut steps).await {
                    Ok(projection) => projection,
                    // It cannot be read without an entry that was erased.
                    Err(error) if error.code() == "erased" => {
                        erased.unreadable.insert(stored.seq);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                if crate::redaction::is_marked_entry(&entry)? {
                    projection.rows.push(views::found());
                }
                if !entry.blocks.is_empty() {
                    projection.rows.push(views::large_payload());
                }
                rows.extend(projection.rows.into_iter().map(|row| (stored.seq, row)));
                for change in projection.registers {
                    match change {
                        RegisterChange::Set { kind, hash, value } => {
                            registers.insert((kind, hash), Register { kind, hash, seq: stored.seq, value });
                        }
                        RegisterChange::Clear { kind, hash } => {
                            registers.remove(&(kind, hash));
                        }
                    }
                }
            }
        }
        if erased.unknown.is_some() {
            erased.unreadable.extend(&erased.tombstones);
        }
        Ok(Generation { journal: journal.id, rows, registers: registers.into_values().collect(), head: journal.head })
    }

    /// The rows that stay with a journal's tombstones; what they are stands in the tenant's journal, of which something may be
    /// damaged.
    async fn kept_noting(&self, journal: JournalId, erased: &mut Erased) -> Result<BTreeMap<u64, Vec<NewRow>>> {
        match self.kept_rows(journal).await {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                erased.unknown = Some(error);
                Ok(BTreeMap::new())
            }
            kept => kept,
        }
    }

    /// What one entry adds to the views.
    async fn project(
        &self,
        journal: &JournalState,
        entry: &Entry,
        steps: &mut HashMap<EntryId, OpenStep>,
    ) -> Result<Projection> {
        use EntryKind as K;
        let family = self.hasher(entry.header.owner, journal.family);
        if entry.is_event() {
            let event = entry.event()?;
            let mut rows: Vec<NewRow> = Dropped::of(&event).iter().map(Dropped::row).collect();
            rows.extend(crate::transcript::row_of(event.attributes.as_ref()));
            if let Some(dedupe) = event.dedupe {
                let code = entry.header.kind.code().to_be_bytes();
                let submitted = match event.marks.as_ref().and_then(|marks| marks.submitted) {
                    Some(submitted) => submitted.0,
                    None => family.hash("submitted", &[&code, event.body])?,
                };
                rows.push(views::dedupe(family.hash("dedupe", &[dedupe.as_bytes()])?, submitted));
            }
            return Ok(Projection { rows, registers: Vec::new() });
        }
        Ok(match entry.header.kind {
            K::STEP_STARTED => {
                let step = self.open_step(journal, entry)?;
                let payload: StepStarted = entry.json()?;
                let hashes = views::step_hashes(&family, &payload)?;
                steps.insert(step.id, step);
                views::step_started(entry.header.id, entry.header.epoch, payload.attempt, &hashes)
            }
            K::STEPS_INHERITED => {
                let inherited: StepsInherited = entry.json()?;
                let (mut open, mut unseen) = (Vec::new(), Vec::new());
                for (_, start) in inherited.steps {
                    let step = self.open_step(journal, &self.entry_at(start).await?)?;
                    steps.insert(step.id, step.clone());
                    open.push(step);
                }
                for (_, start) in inherited.unseen {
                    unseen.push(self.open_step(journal, &self.entry_at(start).await?)?);
                }
                views::steps_inherited(&open, &unseen)
            }
            K::STEP_SEEN => views::step_seen(&entry.json::<StepSeen>()?),
            K::STEP_COMPLETED | K::STEP_FAILED => {
                let ended: StepEnded = entry.json()?;
                views::step_ended(&self.step_of(journal, steps, ended.step, ended.start).await?, &ended)
            }
            K::STEP_RESOLVED | K::STEP_ABANDONED => {
                let settled: StepSettled = entry.json()?;
                let step = self.step_of(journal, steps, settled.step, settled.start).await?;
                views::step_settled(&step, &settled, entry.header.kind == K::STEP_ABANDONED)
            }
            K::STEP_EVIDENCE => views::step_evidence(&entry.json::<StepEnded>()?),
            K::ARTIFACT_PUBLISHED if journal.kind == JournalKind::Artifacts => {
                artifact::recorded(&family, &entry.json()?)?
            }
            K::ARTIFACT_PUBLISHED => artifact::published(&family, &entry.json()?)?,
            K::ARTIFACT_RETAINED => artifact::retained(&family, &entry.json()?)?,
            K::TREE => views::tree(&entry.json()?),
            K::MERGE_STARTED => views::merge_started(&entry.json()?),
            K::MERGED => views::merged(&entry.json()?),
            K::MERGE_ABORTED => views::merge_aborted(),
            K::TURN_ENDED => views::turn_ended(&family, &entry.json()?)?,
            // On a branch it says which directory; the register is the session's.
            K::WORKSPACE_ATTACHED if journal.kind == JournalKind::SessionControl => {
                views::workspace_attached(&entry.json()?)
            }
            // In the workspace's own journal it only stands in the order of its trees.
            K::WORKSPACE_CLOSED if journal.kind == JournalKind::Branch => views::workspace_closed(&entry.json()?),
            K::REDACTION_SET => views::redaction_set(),
            K::SECRET_REGISTERED => {
                let registered: SecretRegistered = entry.json()?;
                views::secret_registered(self.secret_hash(&registered.name), &registered)
            }
            K::ORGANISATION_SET => crate::organisation::views_of(&entry.json()?),
            K::ANCHORED => views::anchored(&entry.json()?),
            K::AUDIT_ARCHIVED => views::audit_archived(&entry.json()?),
            K::PRINCIPAL_SEEN => views::principal_seen(entry.header.actor),
            K::SESSION_CREATED => views::session_created(&entry.json()?),
            K::SESSION_SETTINGS => views::session_settings(),
            K::GRANTED => views::granted(entry.header.id, &entry.json()?),
            K::GRANT_REVOKED => views::grant_revoked(&entry.json()?),
            K::SESSION_KEYED => views::session_keyed(&family, &entry.json()?)?,
            K::BRANCH_FORKED => views::branch_forked(&family, &entry.json()?)?,
            K::BRANCH_CURRENT => views::branch_current(&entry.json()?),
            K::BRANCH_DELETED => views::branch_deleted(&entry.json()?),
            K::BRANCH_LIFETIME => views::branch_lifetime(&entry.json()?),
            K::ERASURE_STARTED => views::erasure_started(&entry.json()?),
            K::ERASURE_EXTENDED => views::erasure_extended(&entry.json()?),
            K::ERASED => views::erased(&entry.json()?),
            K::HOLD_SET => views::hold_set(&entry.json()?),
            K::CONSENT_SET
            | K::PROCESSOR_SET
            | K::REGION_SET
            | K::TRANSFER_DECIDED
            | K::REFUSED
            | K::CAPTURE_SET
            | K::RETENTION_SET => crate::policy::views::of(&family, entry)?,
            K::HOLD_LIFTED => views::hold_lifted(&entry.json()?),
            K::MEMORY_ASSERTED | K::MEMORY_RETRACTED | K::MEMORY_PINNED | K::MEMORY_PROMOTED => {
                memory::of(&family, entry)?
            }
            _ => Projection::default(),
        })
    }

    /// A started step as its register has it.
    pub(crate) fn open_step(&self, journal: &JournalState, entry: &Entry) -> Result<OpenStep> {
        let started: StepStarted = entry.json()?;
        let hashes = views::step_hashes(&self.hasher(entry.header.owner, journal.family), &started)?;
        Ok(OpenStep::new(entry.header.id, entry.position, entry.header.epoch, started.attempt, &hashes))
    }

    async fn step_of(
        &self,
        journal: &JournalState,
        steps: &mut HashMap<EntryId, OpenStep>,
        id: EntryId,
        start: Position,
    ) -> Result<OpenStep> {
        if let Some(step) = steps.remove(&id) {
            return Ok(step);
        }
        self.open_step(journal, &self.entry_at(start).await?)
    }

    /// Whether the stored views of a journal are those that its entries make, whoever writes meanwhile.
    pub(crate) async fn views_agree(&self, journal: JournalId) -> Result<bool> {
        self.views_seen(journal).await.map(|seen| seen != Seen::Other)
    }

    /// How the stored views of a journal are, beside those that its entries make.
    pub(crate) async fn views_seen(&self, journal: JournalId) -> Result<Seen> {
        for _ in 0..LOOKS {
            let (state, registers) = self.registers_at_head(journal).await?;
            let seen = self.agree(&state, registers).await?;
            if seen != Seen::Other {
                return Ok(seen);
            }
            // An erasure or deletion may have come in between: only what is seen again is so.
        }
        Ok(Seen::Other)
    }

    /// A journal's state, and its registers as they were at its head.
    async fn registers_at_head(&self, journal: JournalId) -> Result<(JournalState, Vec<Register>)> {
        for _ in 0..ROUNDS {
            let state = self.journal(journal).await?;
            let (version, registers) = self.0.ledger.registers(journal).await?;
            if version == state.registers {
                return Ok((state, registers));
            }
        }
        Err(Error::unavailable("store_busy", format!("journal {journal} is written to all the time"))
            .hint("verify again when there is less going on"))
    }

    /// Makes the views of a journal again and puts them in the place of the stored ones, in one transaction: whoever is
    /// killed leaves the old ones or the new. When this returns, they are durable.
    pub(crate) async fn replace_views(&self, journal: JournalId) -> Result<()> {
        for _ in 0..ROUNDS {
            let generation = self.rebuild(&self.journal(journal).await?).await?;
            samite_host::kill_point("rebuild.made");
            match self.0.ledger.replace_views(vec![generation]).await {
                Err(error) if error.code() == "head_moved" => {}
                other => {
                    samite_host::kill_point("rebuild.replaced");
                    return other;
                }
            }
        }
        Err(Error::unavailable("store_busy", format!("journal {journal} is written to all the time"))
            .hint("rebuild its views when there is less going on"))
    }

    async fn agree(&self, journal: &JournalState, mut registers: Vec<Register>) -> Result<Seen> {
        let mut erased = Erased::default();
        let mut expected = self.rebuild_noting(journal, &mut erased).await?;
        registers.retain(|register| !erased.has(register.seq));
        registers.sort_by_key(|register| (register.kind, register.hash));
        if registers != expected.registers {
            return Ok(Seen::Other);
        }
        let mut stored = Vec::new();
        for kind in views::row::ALL {
            let at = Position { journal: journal.id, seq: journal.head };
            let query = samite_ledger::RowQuery { at, kind, hashes: Vec::new(), limit: usize::MAX };
            for row in self.0.ledger.rows(query).await? {
                if row.position.journal == journal.id && !erased.unreadable.contains(&row.position.seq) {
                    stored.push((row.position.seq, NewRow { kind, hash: row.hash, value: row.value }));
                }
            }
        }
        let order = |row: &(u64, NewRow)| (row.0, row.1.kind, row.1.hash);
        stored.sort_by_key(order);
        expected.rows.sort_by_key(order);
        if stored == expected.rows {
            return Ok(Seen::Same);
        }
        let is_found = |row: &(u64, NewRow)| row.1.kind == views::row::FOUND;
        let has: HashSet<u64> = stored.iter().filter(|row| is_found(row)).map(|row| row.0).collect();
        expected.rows.retain(|row| !is_found(row) || has.contains(&row.0));
        Ok(if stored == expected.rows { Seen::Older } else { Seen::Other })
    }
}
