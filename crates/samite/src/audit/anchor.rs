//! Anchors: how far journals had come, put into the log, so that a journal that is changed or cut is found by the log.

use super::Audit;
use crate::client::Client;
use crate::core::Core;
use crate::payload::{Anchored, AnchoredJournal};
use crate::views::{self, register};
use samite_audit::leaf::Anchor;
use samite_ledger::{Append, Commit, JournalFilter, JournalKind, JournalState, NewEntry, NewJournal, Read};
use samite_model::audit::{Coverage, WrittenBy, coverage};
use samite_model::{EntryKind, FamilyId, Header, JournalId, Observer, Result};
use std::collections::HashMap;

/// How many journals one leaf anchors.
const A_LEAF: usize = 256;

/// Branches that were held briefly, and what was left without being given up, are looked for once in so many nanoseconds: a
/// minute.
const EVERY: i64 = 60_000_000_000;

fn anchored(state: &JournalState) -> AnchoredJournal {
    AnchoredJournal { journal: state.id, seq: state.head, link: state.head_link }
}

/// How far a journal has come, unless its last entry is an act, or it is empty.
async fn uncovered(core: &Core, journal: JournalId) -> Result<Option<AnchoredJournal>> {
    let state = core.journal(journal).await?;
    let last = Read { payloads: false, ..Read::range(journal, state.head, state.head) };
    let Some(last) = core.0.ledger.read(last).await?.into_iter().next() else { return Ok(None) };
    // What others than the owner wrote has a leaf as well; that it is anchored too does no harm.
    let is_act = coverage(Header::decode(&last.header)?.kind, WrittenBy::Owner) == Coverage::Leaf;
    Ok((!is_act).then(|| anchored(&state)))
}

async fn newest(core: &Core) -> Result<u64> {
    Ok(core.0.ledger.audit_log(None).await?.map_or(1, |state| state.log))
}

impl Audit {
    /// The journal of what is done with the log itself: one, with an id that every process derives alike.
    pub(super) fn journal(&self) -> JournalId {
        JournalId(self.client.core.0.keys.writer("samite audit journal").0)
    }

    /// Puts into the log how far every journal has come that was not seen there at its head: those that nobody writes to any
    /// more as well as those that somebody does. In a store that was put back from an older copy that is every journal, and begins
    /// its new log. Returns how many there were. When this returns, it is durable.
    ///
    /// # Errors
    /// `unavailable` when the store cannot be written.
    pub async fn anchor(&self, observer: &Observer) -> Result<usize> {
        self.anchor_after(0, observer).await
    }

    /// The same, where anchors up to a seq of the log's own journal do not count, because their leaves are about to go.
    pub(super) async fn anchor_after(&self, seq: u64, observer: &Observer) -> Result<usize> {
        let log = self.log_to_be().await?;
        let scribe = self.scribe()?;
        let moved = self.moved(&scribe.core, log, seq).await?;
        for (done, some) in moved.chunks(A_LEAF).enumerate() {
            observer.tell("anchoring journals", (done * A_LEAF) as u64, Some(moved.len() as u64));
            self.anchor_these(some, log).await?;
        }
        Ok(moved.len())
    }

    /// The journals that were not seen in this log at their heads, by anchors after a seq of the log's own journal.
    async fn moved(&self, whole: &Core, log: u64, seq: u64) -> Result<Vec<AnchoredJournal>> {
        let own = self.journal();
        let known: HashMap<JournalId, Vec<u8>> = match whole.0.ledger.journal(own).await? {
            Some(_) => {
                let (_, registers) = whole.0.ledger.registers(own).await?;
                let anchored =
                    registers.into_iter().filter(|register| register.kind == register::ANCHORED && register.seq > seq);
                anchored.map(|register| (JournalId(register.hash), register.value)).collect()
            }
            None => HashMap::new(),
        };
        let moved = |state: &JournalState| {
            let is_empty = state.head == state.parent.map_or(0, |parent| parent.seq);
            !is_empty
                && state.id != own
                && known.get(&state.id) != Some(&views::anchored_at(state.head, state.head_link, log))
        };
        let all = whole.0.ledger.journals(JournalFilter::default()).await?;
        Ok(all.iter().filter(|state| moved(state)).map(anchored).collect())
    }

    /// Puts into the log how far journals have come that nobody writes to any more for now, but for those whose last entry is an
    /// act: its leaf did that. When this returns, it is durable.
    pub(crate) async fn anchor_idle(&self, journals: &[JournalId]) -> Result<()> {
        // Whoever stops writing has it anchored, and needs no right on the log for it.
        let scribe = self.scribe()?;
        if !scribe.core.0.logged {
            return Ok(());
        }
        let mut idle = Vec::new();
        for journal in journals {
            idle.extend(uncovered(&scribe.core, *journal).await?);
        }
        let log = newest(&scribe.core).await?;
        for some in idle.chunks(A_LEAF) {
            self.anchor_these(some, log).await?;
        }
        Ok(())
    }

    /// After a branch was given up: puts into the log how far it had come, unless its last entry is an act, and with it what others
    /// left and nobody writes to any more, in one leaf. For a branch that was held for one act alone (`briefly`), that is done where
    /// the last anchor is a minute old: a shell's loop of commands is no reason for a leaf each. When this returns, it is durable.
    pub(crate) async fn anchor_left(&self, branch: JournalId, briefly: bool) -> Result<()> {
        let scribe = self.scribe()?;
        let core = &scribe.core;
        if !core.0.logged {
            return Ok(());
        }
        let Some(left) = uncovered(core, branch).await? else { return Ok(()) };
        let is_due = self.is_due(core).await?;
        if briefly && !is_due {
            return Ok(());
        }
        let log = newest(core).await?;
        let mut all = vec![left];
        if is_due {
            for journal in self.moved(core, log, 0).await? {
                if all.len() == A_LEAF {
                    break;
                }
                if journal.journal != branch && core.live_holder(journal.journal).await?.is_none() {
                    all.push(journal);
                }
            }
        }
        self.anchor_these(&all, log).await
    }

    /// Whether so much time has passed since something was written of the log that it is time to look at all journals.
    async fn is_due(&self, core: &Core) -> Result<bool> {
        let own = self.journal();
        let Some(state) = core.0.ledger.journal(own).await? else { return Ok(true) };
        let last = Read { payloads: false, ..Read::range(own, state.head, state.head) };
        let Some(last) = core.0.ledger.read(last).await?.into_iter().next() else { return Ok(true) };
        let passed = core.now().saturating_sub(Header::decode(&last.header)?.time);
        // By a clock that was put back, too.
        Ok(!(0..EVERY).contains(&passed))
    }

    async fn anchor_these(&self, journals: &[AnchoredJournal], log: u64) -> Result<()> {
        let anchored = Anchored { journals: journals.to_vec(), log };
        let anchor =
            |journal: &AnchoredJournal| Anchor { journal: journal.journal, seq: journal.seq, link: journal.link };
        let anchors = journals.iter().map(anchor).collect();
        let scribe = self.scribe()?;
        let (core, own) = (&scribe.core, self.journal());
        let draft = core.draft(EntryKind::ANCHORED, &anchored, views::anchored(&anchored))?;
        let mut entry = core.seal(own, &scribe.author(0), draft)?;
        if entry.leaf.is_some() {
            entry.leaf = Some(core.leaf(&scribe.author(0), anchors)?);
        }
        self.append(&scribe, entry).await
    }

    /// Appends to the journal of what is done with the log, making it first where it is new.
    pub(super) async fn append(&self, scribe: &Client, entry: NewEntry) -> Result<()> {
        let (own, core) = (self.journal(), &scribe.core);
        let appends = vec![Append { journal: own, entries: vec![entry] }];
        if core.0.ledger.journal(own).await?.is_none() {
            let owner = core.0.keys.tenant_pseudonym();
            let journal =
                NewJournal { id: own, family: FamilyId(own.0), kind: JournalKind::Audit, owner, parent: None };
            let first = Commit { journals: vec![journal], appends: appends.clone(), ..Commit::default() };
            match core.0.ledger.commit(first).await {
                Err(error) if error.code() == "journal_exists" => {}
                other => return other.map(|_| ()),
            }
        }
        core.0.ledger.commit(Commit { appends, ..Commit::default() }).await.map(|_| ())
    }
}
