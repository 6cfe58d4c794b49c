//! One journal, page by page.

use super::chain::Chain;
use super::finding::{Finding, Findings, What};
use super::{Before, Options, Progress};
use crate::{Direction, JournalKind, JournalState, JournalStatus, Ledger, Read, StoredEntry};
use samite_model::{ErrorKind, Header, Link, Result, hash};
use std::collections::{BTreeMap, BTreeSet};

/// Misplaced entries to follow when looking for the one that belongs to a place.
const STEPS: usize = 64;

/// What came of a walk.
pub(super) struct Walked {
    pub(super) findings: Vec<Finding>,
    /// The true links at the fork points.
    pub(super) points: BTreeMap<u64, Vec<Link>>,
}

pub(super) struct Walk<'a, 'b> {
    ledger: &'a dyn Ledger,
    state: &'a JournalState,
    points: BTreeSet<u64>,
    options: &'a mut Options<'b>,
    progress: &'a mut Progress,
    findings: Findings,
    /// The seq that should come next.
    expected: u64,
    /// The last entry as stored, true or not.
    previous: Option<Link>,
}

impl<'a, 'b> Walk<'a, 'b> {
    pub(super) fn new(
        ledger: &'a dyn Ledger,
        state: &'a JournalState,
        mut points: BTreeSet<u64>,
        options: &'a mut Options<'b>,
        progress: &'a mut Progress,
    ) -> Self {
        points.insert(state.head);
        let expected = state.parent.map_or(0, |parent| parent.seq).saturating_add(1);
        Self { ledger, state, points, options, progress, findings: Findings::default(), expected, previous: None }
    }

    pub(super) async fn run(mut self, before: Before) -> Result<Walked> {
        let first = self.expected;
        let own_head = self.state.head >= first;
        let known = match before {
            Before::Links(links) => links,
            Before::Unknown => Vec::new(),
            Before::NoForkPoint => {
                // What is left of a deleted fork without entries needs no parent.
                if own_head || self.state.status == JournalStatus::Open {
                    self.findings.add(first.saturating_sub(1), first.saturating_sub(1), What::ForkPoint);
                }
                Vec::new()
            }
        };
        let mut chain = Chain::new(&known);
        let last = self.last_stored().await?;
        let end = last.unwrap_or(0).max(self.state.head);
        let page = u64::try_from(self.options.page).ok().filter(|page| *page > 0).unwrap_or(256);
        while self.expected <= end {
            let to = self.expected.saturating_add(page - 1).min(end);
            self.page(&mut chain, to).await?;
            if let Some(callback) = &mut self.options.progress {
                callback(*self.progress);
            }
            // Nothing is stored here; what follows, or the end, tells what that means.
            if self.expected <= to {
                match self.next_stored(to, end).await? {
                    Some(next) => self.skip(&mut chain, next, What::Missing),
                    None => break,
                }
            }
        }
        if self.expected <= end {
            self.skip(&mut chain, end.saturating_add(1), What::Cut);
        }
        self.check_head(&mut chain, own_head, &known, last, end);
        let mut points = std::mem::take(&mut chain.points);
        points.retain(|seq, _| *seq >= first);
        Ok(Walked { findings: self.findings.joined(self.state.id), points })
    }

    fn check_head(&mut self, chain: &mut Chain, own: bool, before: &[Link], last: Option<u64>, end: u64) {
        let head = self.state.head;
        let said = (head == end).then_some(self.state.head_link);
        let truth = chain.end(said, &mut self.findings);
        let at_head = match (own, head == end) {
            (false, _) => before.to_vec(),
            (true, true) => truth.into_iter().collect(),
            (true, false) => chain.points.get(&head).cloned().unwrap_or_default(),
        };
        let beyond = last.filter(|last| *last > head);
        if let Some(last) = beyond {
            self.findings.add(head.saturating_add(1), last, What::HeadMismatch);
        } else if !at_head.is_empty() && !at_head.contains(&self.state.head_link) {
            self.findings.add(head, head, What::HeadMismatch);
        }
    }

    /// The last entry that is stored, when that is beyond the head although nobody appends.
    async fn last_stored(&self) -> Result<Option<u64>> {
        let head = self.state.head;
        let beyond = Read {
            limit: 1,
            direction: Direction::Backward,
            payloads: false,
            unchecked: true,
            ..Read::range(self.state.id, head.saturating_add(1), u64::MAX)
        };
        let last = match self.ledger.read(beyond).await {
            Ok(entries) => entries.first().map(|entry| entry.seq),
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            Err(error) => return Err(error),
        };
        let Some(last) = last else { return Ok(None) };
        let now = match self.ledger.journal(self.state.id).await {
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            now => now?,
        };
        Ok((now.is_some_and(|now| now.head < last)).then_some(last))
    }

    /// The next entry after `after` that is stored, readable or not.
    async fn next_stored(&self, after: u64, end: u64) -> Result<Option<u64>> {
        let mut from = after.saturating_add(1);
        let mut to = end;
        while from <= end {
            let next = Read { limit: 1, payloads: false, unchecked: true, ..Read::range(self.state.id, from, to) };
            match self.ledger.read(next).await {
                Ok(entries) => {
                    if let Some(entry) = entries.first() {
                        return Ok(Some(entry.seq));
                    }
                    (from, to) = (to.saturating_add(1), end);
                }
                // Something is there: where, halves tell, since a damaged head may be any number away.
                Err(error) if error.kind() == ErrorKind::Corrupt && from == to => return Ok(Some(from)),
                Err(error) if error.kind() == ErrorKind::Corrupt => to = from + (to - from) / 2,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Walks over what is stored up to a seq.
    async fn page(&mut self, chain: &mut Chain, to: u64) -> Result<()> {
        let payloads = self.options.payloads.is_some();
        let read = |from, to| Read { payloads, unchecked: true, ..Read::range(self.state.id, from, to) };
        match self.ledger.read(read(self.expected, to)).await {
            Ok(entries) => {
                for entry in entries {
                    self.entry(chain, entry).await?;
                }
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                // One by one, to name what cannot be read and use the rest.
                let ones: Vec<Read> = (self.expected..=to).map(|seq| read(seq, seq)).collect();
                for one in ones {
                    let seq = one.from;
                    match self.ledger.read(one).await {
                        Ok(entries) => {
                            for entry in entries {
                                self.entry(chain, entry).await?;
                            }
                        }
                        Err(error) if error.kind() == ErrorKind::Corrupt => self.unreadable(chain, seq),
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn unreadable(&mut self, chain: &mut Chain, seq: u64) {
        self.skip(chain, seq, What::Missing);
        self.skip(chain, seq.saturating_add(1), What::Unreadable);
    }

    /// Goes on at `next`; all from the expected seq up to it is lost in this way.
    fn skip(&mut self, chain: &mut Chain, next: u64, what: What) {
        if next <= self.expected {
            return;
        }
        let last = next.saturating_sub(1);
        self.findings.add(self.expected, last, what);
        let seqs: Vec<u64> = self.points.range(self.expected..=last).copied().collect();
        for seq in seqs {
            chain.lose(seq, true, &mut self.findings);
        }
        chain.lose(last, false, &mut self.findings);
        self.previous = None;
        self.expected = next;
    }

    async fn entry(&mut self, chain: &mut Chain, entry: StoredEntry) -> Result<()> {
        self.progress.entries = self.progress.entries.saturating_add(1);
        let seq = entry.seq;
        self.skip(chain, seq, What::Missing);
        let header = Header::decode(&entry.header).ok();
        let of_interest = self.points.contains(&seq);
        let says = header.as_ref().map_or(seq, |header| header.seq);
        let previous = self.previous.replace(entry.link);
        self.expected = seq.saturating_add(1);
        if says != seq && self.is_displaced(&entry, says, previous).await? {
            self.findings.add(seq, seq, What::Reordered);
            match self.find_displaced(seq, says).await? {
                Some(own) => drop(chain.push(seq, &own.header, own.link, of_interest, &mut self.findings)),
                None => chain.lose(seq, of_interest, &mut self.findings),
            }
            return Ok(());
        }
        let proven = chain.push(seq, &entry.header, entry.link, of_interest, &mut self.findings);
        if says != seq && proven {
            self.findings.add(seq, seq, What::WrongSeq);
        }
        if let Some(header) = header {
            if header.owner != self.state.owner && has_one_owner(self.state.kind) {
                self.findings.add(seq, seq, What::WrongOwner);
            }
            if let Some(check) = &mut self.options.payloads
                && let Err(error) = check(self.state, &header, &entry)
            {
                self.findings.because(seq, What::Payload, error.message().to_owned());
            }
        }
        Ok(())
    }

    /// The stored entry at a seq, if there is one that can be read.
    async fn stored(&self, seq: u64) -> Result<Option<StoredEntry>> {
        match self.ledger.read(Read { payloads: false, unchecked: true, ..Read::range(self.state.id, seq, seq) }).await
        {
            Ok(entries) => Ok(entries.into_iter().next()),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether an entry that says another seq is that entry, and not one with a changed header.
    async fn is_displaced(&self, entry: &StoredEntry, says: u64, previous: Option<Link>) -> Result<bool> {
        if let Some(there) = self.stored(says).await? {
            // In its place is one that is misplaced as well.
            return Ok(Header::decode(&there.header).is_ok_and(|header| header.seq != says));
        }
        let follows = |before: Link| hash::link(before, &entry.header) == entry.link;
        if previous.is_some_and(follows) {
            return Ok(true);
        }
        let before = self.stored(says.saturating_sub(1)).await?;
        Ok(before.is_some_and(|before| follows(before.link)))
    }

    /// The entry that belongs to a place, found by following who sits in whose.
    async fn find_displaced(&self, seq: u64, mut says: u64) -> Result<Option<StoredEntry>> {
        for _ in 0..STEPS {
            let Some(there) = self.stored(says).await? else { return Ok(None) };
            let Ok(header) = Header::decode(&there.header) else { return Ok(None) };
            if header.seq == seq {
                return Ok(Some(there));
            }
            if header.seq == says {
                return Ok(None);
            }
            says = header.seq;
        }
        Ok(None)
    }
}

/// Whether all entries of such a journal are of its owner; a tenant's journals hold many owners' entries.
const fn has_one_owner(kind: JournalKind) -> bool {
    match kind {
        JournalKind::Branch | JournalKind::SessionControl | JournalKind::Memory | JournalKind::Artifacts => true,
        JournalKind::TenantControl | JournalKind::Workspace | JournalKind::Audit => false,
    }
}
