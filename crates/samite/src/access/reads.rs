//! Reads by others than the owner, recorded in batches: 50 ms after the first of a batch, and before the last client or reader of
//! theirs is gone. Nothing more of others' is answered while what was answered 100 ms ago is not durable, so that a process which
//! is killed has left out no more than that, however slow the disk is.

use super::authority::Facts;
use crate::core::{Author, Core};
use crate::erasure::nameless;
use crate::payload::{Looked, ReadRecorded};
use crate::views::Projection;
use futures_lite::future::block_on;
use samite_audit::leaf::Actor;
use samite_keys::Subject;
use samite_ledger::{Append, Commit, Guard, JournalKind, Row, StoredEntry};
use samite_model::audit::WrittenBy;
use samite_model::{EntryKind, Error, Header, JournalId, Principal, Pseudonym, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How long reads are gathered.
const GATHERED: Duration = Duration::from_millis(50);

/// Once the first read that is not durable is so old (ns), it is made durable before anything else is read.
const BOUND: i64 = 100_000_000;

/// How long one waits at a time for somebody else's commit, in milliseconds.
const LOOK: u64 = 2;

/// Lets so much time pass; by the system's clock where there is none.
pub(crate) type Pause = Arc<dyn Fn(Duration) + Send + Sync>;

/// Why nothing is recorded in a store that is only looked at.
const READ_ONLY: &str = "read_only";

/// So many journals are named in one entry.
const NAMED: usize = 256;

/// What is noted, with a clean end: dropped, it records what it holds.
pub(crate) struct Reads(Arc<Noted>, Arc<Registry>);

/// What was read and is not recorded yet.
pub(crate) struct Noted {
    whole: Arc<Core>,
    control: JournalId,
    who: Reader,
    state: Mutex<State>,
    changed: Condvar,
    pause: Option<Pause>,
}

/// Who reads.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) principal: Principal,
    pub(super) actor: Pseudonym,
    /// As the audit log names it.
    pub(super) named: Actor,
    /// Its user, with the key that lived when it was let in.
    pub(super) subject: Subject,
}

#[derive(Default)]
struct State {
    pending: BTreeMap<(Pseudonym, JournalId), Pending>,
    /// Since when what is being recorded was read, batch by batch.
    recording: Vec<i64>,
    /// Whether a thread waits to record it.
    waiting: bool,
    /// Why the last could not be recorded, by its code: until it can, nothing more of others' is read.
    failed: Option<&'static str>,
}

struct Pending {
    looked: Looked,
    from: i64,
    until: i64,
}

impl State {
    /// When the first read was answered that is not durable.
    fn since(&self) -> Option<i64> {
        self.pending.values().map(|one| one.from).chain(self.recording.iter().copied()).min()
    }
}

/// The notes of all clients of a store, so that closing it leaves none behind.
#[derive(Default)]
pub(crate) struct Registry(Mutex<Vec<Weak<Noted>>>, Option<Pause>);

impl Registry {
    /// Where time passes otherwise.
    pub(crate) fn with_pause(pause: Pause) -> Self {
        Self(Mutex::default(), Some(pause))
    }

    fn add(&self, noted: &Arc<Noted>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(noted));
    }

    /// Records everything that was noted. When this returns, it is durable.
    pub(crate) async fn record(&self) -> Result<()> {
        let all: Vec<Arc<Noted>> = {
            let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        for one in all {
            one.record_all().await?;
        }
        Ok(())
    }
}

impl Reads {
    /// Notes for one principal. Without a store that can be written to, nothing of others' is read.
    pub(super) fn new(
        whole: Arc<Core>,
        control: JournalId,
        who: Reader,
        writable: bool,
        registry: Arc<Registry>,
    ) -> Self {
        let state = State { failed: (!writable).then_some(READ_ONLY), ..State::default() };
        let (state, changed, pause) = (Mutex::new(state), Condvar::new(), registry.1.clone());
        let noted = Arc::new(Noted { whole, control, who, state, changed, pause });
        registry.add(&noted);
        Self(noted, registry)
    }

    /// Notes for another principal over the same store.
    pub(super) fn of_another(&self, who: Reader) -> Self {
        let Noted { whole, control, pause, .. } = self.0.as_ref();
        let failed = self.0.locked().failed;
        let (state, changed) = (Mutex::new(State { failed, ..State::default() }), Condvar::new());
        let noted = Noted { whole: whole.clone(), control: *control, who, state, changed, pause: pause.clone() };
        let noted = Arc::new(noted);
        self.1.add(&noted);
        Self(noted, self.1.clone())
    }

    /// Refuses to read of others' what could not be recorded, and waits until what was read too long ago is.
    pub(super) async fn check(&self) -> Result<()> {
        loop {
            self.check_failed().await?;
            let (since, is_pending) = {
                let state = self.0.locked();
                (state.since(), !state.pending.is_empty())
            };
            let now = self.0.whole.now();
            if since.is_none_or(|since| now.saturating_sub(since) < BOUND) {
                return Ok(());
            }
            if is_pending {
                // Where that fails, it is the next refusal.
                self.0.record().await.ok();
            } else {
                self.0.whole.0.ledger.wait(self.0.control, u64::MAX, LOOK).await?;
            }
        }
    }

    async fn check_failed(&self) -> Result<()> {
        if self.0.locked().failed.is_some_and(|code| code != READ_ONLY) {
            // The disk may have room again.
            self.0.record().await.ok();
        }
        let failed = self.0.locked().failed;
        match failed {
            // Who was erased reads nothing more of others: what was granted was the erased person's.
            None => {
                let Noted { whole, who, .. } = self.0.as_ref();
                if whole.0.keys.subject_of(who.subject.pseudonym)?.key == who.subject.key {
                    return Ok(());
                }
                Err(Error::denied("key_destroyed", "the data of this principal's user was erased")
                    .hint("open the store again: whoever comes back begins anew"))
            }
            Some(code) => Err(Error::unavailable(
                "reads_unrecorded",
                format!("what is another's is read only where that can be recorded ({code})"),
            )
            .hint("open the store for writing, see that its disk has room, and try again")),
        }
    }

    /// Notes entries that were read.
    pub(super) fn note(&self, journal: JournalId, facts: Facts, entries: &[StoredEntry]) {
        let lengths = entries.iter().map(|entry| Header::decode(&entry.header).map_or(0, |header| header.length));
        let bytes = lengths.fold(0, u64::saturating_add);
        self.add(journal, facts, entries.iter().map(|entry| entry.seq), bytes);
    }

    /// Notes trees or artifacts that were looked up.
    pub(super) fn note_rows(&self, journal: JournalId, facts: Facts, rows: &[Row]) {
        let seqs = rows.iter().filter(|row| row.position.journal == journal).map(|row| row.position.seq);
        self.add(journal, facts, seqs, 0);
    }

    fn add(&self, journal: JournalId, facts: Facts, seqs: impl Iterator<Item = u64>, bytes: u64) {
        let (mut first, mut last, mut entries) = (u64::MAX, 0, 0_u64);
        for seq in seqs {
            (first, last, entries) = (first.min(seq), last.max(seq), entries + 1);
        }
        if entries == 0 {
            return;
        }
        let now = self.0.whole.now();
        let of_session = matches!(facts.kind, JournalKind::Branch | JournalKind::SessionControl);
        let mut state = self.0.locked();
        let pending = state.pending.entry((facts.owner, journal)).or_insert_with(|| Pending {
            looked: Looked { session: of_session.then_some(facts.family), journal, first, last, entries: 0, bytes: 0 },
            from: now,
            until: now,
        });
        let looked = &mut pending.looked;
        (looked.first, looked.last) = (looked.first.min(first), looked.last.max(last));
        looked.entries = looked.entries.saturating_add(entries);
        looked.bytes = looked.bytes.saturating_add(bytes);
        pending.until = now;
        if !state.waiting {
            state.waiting = true;
            drop(state);
            self.0.record_later();
        }
    }

    /// Records what was noted, by whoever is at it. When this returns, it is durable.
    pub(crate) async fn record(&self) -> Result<()> {
        self.0.record_all().await
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        // Whoever let go of it has no way to be told; nothing more is read with it either.
        block_on(self.0.record()).ok();
        self.0.changed.notify_all();
    }
}

impl Noted {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread record it in a while. Where there can be none, it is recorded at once.
    fn record_later(self: &Arc<Self>) {
        let noted = Arc::clone(self);
        let thread = std::thread::Builder::new().name("samite-reads".to_owned());
        let begun = thread.spawn(move || {
            if let Some(pause) = &noted.pause {
                pause(GATHERED);
            } else {
                // Woken early when there is nothing left to wait for.
                let waited =
                    noted.changed.wait_timeout_while(noted.locked(), GATHERED, |state| !state.pending.is_empty());
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
            noted.locked().waiting = false;
            block_on(noted.record()).ok();
        });
        if begun.is_err() {
            self.locked().waiting = false;
            block_on(self.record()).ok();
        }
    }

    /// Records what is noted. When this returns, that is durable.
    async fn record(self: &Arc<Self>) -> Result<()> {
        let Some(batch) = self.take() else { return Ok(()) };
        let recorded = self.commit(&batch.pending).await;
        batch.end(recorded.as_ref().err().map(Error::code));
        recorded
    }

    /// The same, and waits for what others are recording.
    async fn record_all(self: &Arc<Self>) -> Result<()> {
        loop {
            self.record().await?;
            if self.locked().since().is_none() {
                return Ok(());
            }
            self.whole.0.ledger.wait(self.control, u64::MAX, LOOK).await?;
        }
    }

    /// What is noted, to be recorded by whoever asked.
    fn take(self: &Arc<Self>) -> Option<Batch> {
        let mut state = self.locked();
        let pending = std::mem::take(&mut state.pending);
        let since = pending.values().map(|one| one.from).min()?;
        state.recording.push(since);
        Some(Batch { noted: Arc::clone(self), pending, since, ended: false })
    }

    async fn commit(&self, pending: &BTreeMap<(Pseudonym, JournalId), Pending>) -> Result<()> {
        match self.commit_as(pending, &self.who.principal, vec![Guard::KeyLive { key: self.who.subject.key }]).await {
            // Who read was erased meanwhile: that it was read is the owner's to know, by whom stands under a pseudonym.
            Err(error) if error.code() == "key_destroyed" => {
                let reader = nameless(&self.who.principal.tenant, self.who.subject.pseudonym);
                self.commit_as(pending, &reader, Vec::new()).await
            }
            other => other,
        }
    }

    async fn commit_as(
        &self,
        pending: &BTreeMap<(Pseudonym, JournalId), Pending>,
        reader: &Principal,
        guards: Vec<Guard>,
    ) -> Result<()> {
        let mut by_owner: BTreeMap<Pseudonym, Vec<&Pending>> = BTreeMap::new();
        for ((owner, _), one) in pending {
            by_owner.entry(*owner).or_default().push(one);
        }
        let mut entries = Vec::new();
        for (owner, pending) in by_owner {
            let subject = match self.whole.0.keys.subject_of(owner) {
                // Whose it was has been erased, and what was read with it.
                Err(error) if matches!(error.code(), "key_destroyed" | "unknown_subject") => continue,
                other => other?,
            };
            let author =
                Author { subject, actor: self.who.actor, named: self.who.named, by: WrittenBy::Owner, epoch: 0 };
            for some in pending.chunks(NAMED) {
                let recorded = ReadRecorded {
                    reader: reader.clone(),
                    from: some.iter().map(|one| one.from).min().unwrap_or_default(),
                    until: some.iter().map(|one| one.until).max().unwrap_or_default(),
                    read: some.iter().map(|one| one.looked.clone()).collect(),
                };
                let draft = self.whole.draft(EntryKind::READ_RECORDED, &recorded, Projection::default())?;
                entries.push(self.whole.seal(self.control, &author, draft)?);
            }
        }
        if entries.is_empty() {
            return Ok(());
        }
        let appends = vec![Append { journal: self.control, entries }];
        self.whole.0.ledger.commit(Commit { appends, guards, ..Commit::default() }).await.map(|_| ())
    }
}

/// What somebody is recording. Given up, as by a caller with a time limit, it is noted again.
struct Batch {
    noted: Arc<Noted>,
    pending: BTreeMap<(Pseudonym, JournalId), Pending>,
    since: i64,
    ended: bool,
}

impl Batch {
    /// It was recorded, or could not be for a reason that has this code.
    fn end(mut self, failed: Option<&'static str>) {
        self.ended = true;
        if failed.is_none() {
            self.pending.clear();
        }
        self.noted.locked().failed = failed;
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let mut state = self.noted.locked();
        if let Some(place) = state.recording.iter().position(|one| *one == self.since) {
            state.recording.swap_remove(place);
        }
        // What came meanwhile is the same kind of thing.
        for (key, one) in std::mem::take(&mut self.pending) {
            match state.pending.get_mut(&key) {
                None => drop(state.pending.insert(key, one)),
                Some(newer) => newer.join(&one),
            }
        }
        if !self.ended && !state.waiting {
            state.waiting = true;
            drop(state);
            self.noted.record_later();
        }
    }
}

impl Pending {
    fn join(&mut self, older: &Self) {
        let (looked, before) = (&mut self.looked, &older.looked);
        (looked.first, looked.last) = (looked.first.min(before.first), looked.last.max(before.last));
        looked.entries = looked.entries.saturating_add(before.entries);
        looked.bytes = looked.bytes.saturating_add(before.bytes);
        self.from = self.from.min(older.from);
    }
}
