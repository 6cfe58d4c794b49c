//! Catching up with a namespace: from what is kept of it, and from what came since.

use super::cache::{Kept, Slot, View, locked};
use super::erased::Left;
use super::query::{RecordedIn, operation};
use super::{Memory, Standings};
use crate::log::Entry;
use samite_ledger::{JournalState, Read};
use samite_model::memory::Operation;
use samite_model::{Link, Position, Result};
use std::sync::Arc;

/// So many entries are read at a time.
const PAGE: usize = 512;

/// Entries that came since.
struct Tail {
    /// With what each does; none for one that was erased.
    entries: Vec<(Entry, Option<Operation>)>,
    left: Option<Left>,
    /// Up to which seq that is, and the link there.
    end: (u64, Option<Link>),
}

impl Memory {
    /// The namespace as this view of it has it, with an index where one is asked for. What is kept ready is shared; a view of what was
    /// is folded apart.
    pub(super) async fn view(&self, recorded: Option<RecordedIn>, indexed: bool) -> Result<View> {
        if recorded.is_none() && self.until.is_none() {
            let shared = self.shared(indexed).await?;
            return match self.on {
                // What was taken over is the namespace's, and may have been changed there since.
                Some(at) => shared.with(self.on_branch(at).await?.its_own(), indexed),
                None => Ok(shared),
            };
        }
        if let (Some(RecordedIn::Seq(seq)), None, None) = (recorded, self.on, self.until) {
            let shared = self.shared(indexed).await?;
            if shared.seq == seq {
                return Ok(shared);
            }
        }
        let (seq, standings) = self.folded(recorded).await?;
        View::apart(seq, standings, indexed)
    }

    /// What all sessions see now.
    pub(super) async fn shared(&self, indexed: bool) -> Result<View> {
        let core = &self.client.core;
        let erasures = core.settled_erasures().await?;
        let Some(mut state) = self.state().await? else { return Ok(View::default()) };
        // While an erasure is under way nothing of what is read is kept.
        let slot = erasures.map_or_else(Slot::default, |erasures| core.2.slot(state.id, erasures));
        let target = state.head;
        loop {
            if locked(&slot).filed.is_none() {
                let found = erasures.map_or_else(Kept::anew, |erasures| core.read_kept(&state, erasures));
                let mut kept = locked(&slot);
                if kept.filed.is_none() {
                    *kept = found;
                }
            }
            let (seq, link) = {
                let kept = locked(&slot);
                (kept.seq, kept.link)
            };
            if seq > state.head {
                // Somebody else has read further, unless the ledger is another one.
                let Some(now) = self.state().await?.filter(|now| now.id == state.id) else {
                    return Ok(View::default());
                };
                state = now;
            }
            if locked(&slot).is_of_another(&state) || !self.is_linked(&state, seq, link).await? {
                let mut kept = locked(&slot);
                if kept.seq == seq {
                    *kept = Kept::anew();
                }
                continue;
            }
            if seq >= target {
                break;
            }
            let tail = self.tail(&state, seq).await?;
            let mut kept = locked(&slot);
            if (kept.seq, kept.link) == (seq, link) {
                self.take_in(&state, tail, &mut kept)?;
            }
        }
        if indexed {
            let mut kept = locked(&slot);
            let standings = kept.standings.clone();
            Arc::make_mut(&mut kept.index).catch_up(&standings)?;
        }
        if let Some(erasures) = erasures.filter(|_| indexed) {
            // Whoever comes next does without it.
            core.file_kept(&state, &slot, erasures).await.ok();
        }
        core.2.weigh(state.id, &slot);
        Ok(View::of(&slot))
    }

    /// Whether an entry of the namespace has this link.
    async fn is_linked(&self, state: &JournalState, seq: u64, link: Option<Link>) -> Result<bool> {
        if seq == 0 || seq == state.head {
            return Ok(true);
        }
        let read = Read { payloads: false, ..Read::range(state.id, seq, seq) };
        let stored = self.client.core.0.ledger.read(read).await?;
        Ok(stored.first().map(|stored| stored.link) == link)
    }

    /// The next entries after a seq.
    async fn tail(&self, state: &JournalState, after: u64) -> Result<Tail> {
        let core = &self.client.core;
        let kinds = Operation::KINDS.to_vec();
        let read = Read { kinds, limit: PAGE, ..Read::range(state.id, after + 1, state.head) };
        let page = core.0.ledger.read(read).await?;
        let end = match page.last() {
            Some(last) if page.len() >= PAGE => (last.seq, Some(last.link)),
            _ => (state.head, Some(state.head_link)),
        };
        let (mut entries, mut left) = (Vec::with_capacity(page.len()), None);
        for stored in &page {
            let entry = core.whole(core.open(state.id, stored)?)?;
            let done = operation(&entry)?;
            if entry.payload.is_none() && left.is_none() {
                left = Some(self.left_of_erased(state).await?);
            }
            entries.push((entry, done));
        }
        Ok(Tail { entries, left, end })
    }

    fn take_in(&self, state: &JournalState, tail: Tail, kept: &mut Kept) -> Result<()> {
        kept.found = Arc::default();
        let standings = Arc::make_mut(&mut kept.standings);
        for (entry, done) in tail.entries {
            self.apply(state, &entry, done, tail.left.as_ref(), standings)?;
        }
        (kept.seq, kept.link) = tail.end;
        Ok(())
    }

    fn apply(
        &self,
        state: &JournalState,
        entry: &Entry,
        done: Option<Operation>,
        left: Option<&Left>,
        standings: &mut Standings,
    ) -> Result<()> {
        match done {
            Some(operation) => standings.apply(entry.position, entry.header.time, operation),
            None if entry.payload.is_none() => self.stays_ended(state, entry, left, standings)?,
            None => {}
        }
        Ok(())
    }

    /// Folds what was there at some time, with what was on a branch.
    async fn folded(&self, recorded: Option<RecordedIn>) -> Result<(u64, Standings)> {
        let (seq, mut standings) = self.folded_shared(recorded).await?;
        let Some(at) = self.on else { return Ok((seq, standings)) };
        let found = self.on_branch(at).await?;
        let is_there = |at: &Position| found.promoted.contains(at) && self.until.is_none() && recorded.is_none();
        for (at, time, operation) in found.operations {
            let is_later = matches!(recorded, Some(RecordedIn::Time(end)) if time > end);
            if !is_there(&at) && !is_later {
                standings.apply(at, time, operation);
            }
        }
        Ok((seq, standings))
    }

    /// Folds what all sessions saw at some time.
    async fn folded_shared(&self, recorded: Option<RecordedIn>) -> Result<(u64, Standings)> {
        let mut standings = Standings::default();
        let Some(state) = self.state().await? else {
            return match recorded {
                Some(RecordedIn::Seq(seq)) if seq > 0 => Err(super::query::no_position(seq, 0)),
                _ => Ok((0, standings)),
            };
        };
        let head = self.until.map_or(state.head, |until| until.min(state.head));
        let last = match recorded {
            Some(RecordedIn::Seq(seq)) if seq > state.head => {
                return Err(super::query::no_position(seq, state.head));
            }
            Some(RecordedIn::Seq(seq)) => seq.min(head),
            _ => head,
        };
        let mut seq = 0;
        while seq < last {
            let tail = self.tail(&JournalState { head: last, ..state.clone() }, seq).await?;
            for (entry, done) in tail.entries {
                if matches!(recorded, Some(RecordedIn::Time(time)) if entry.header.time > time) {
                    // Up to there it stood so, and a next page may name that.
                    return Ok((entry.position.seq.saturating_sub(1), standings));
                }
                self.apply(&state, &entry, done, tail.left.as_ref(), &mut standings)?;
            }
            seq = tail.end.0;
        }
        Ok((last, standings))
    }
}
