//! What tells an erasure's entries from others at the same places: a copy of the store that went on by itself has others there.

use crate::core::Core;
use crate::payload::ErasureStarted;
use data_encoding::BASE64;
use samite_ledger::Read;
use samite_model::erasure::Run;
use samite_model::{EntryKind, Error, Header, JournalId, Result};

/// So much of each commitment is noted, in bytes: they are salted, and those that are compared are few.
const NOTED: usize = 8;

const PAGE: u64 = 512;

impl Core {
    /// What is noted of the entries of each run; nothing of journals that are closed, which go by themselves.
    pub(super) async fn commitments(&self, runs: &[Run], closed: &[JournalId]) -> Result<Vec<String>> {
        let mut noted = Vec::with_capacity(runs.len());
        for run in runs {
            let mut bytes = Vec::new();
            if !closed.contains(&run.journal) {
                for (_, header) in self.headers_in(run).await? {
                    bytes.extend(header.commitment.as_bytes().iter().take(NOTED));
                }
            }
            noted.push(BASE64.encode(&bytes));
        }
        Ok(noted)
    }

    async fn headers_in(&self, run: &Run) -> Result<Vec<(u64, Header)>> {
        let mut headers = Vec::new();
        let mut from = run.first;
        while from <= run.last {
            let to = run.last.min(from.saturating_add(PAGE - 1));
            let read = Read { payloads: false, unchecked: true, ..Read::range(run.journal, from, to) };
            for stored in self.0.ledger.read(read).await? {
                headers.push((stored.seq, Header::decode(&stored.header)?));
            }
            from = to.saturating_add(1);
        }
        Ok(headers)
    }

    /// Of the entries that an erasure of another copy of this store took, those that are here. What is here at the place of one,
    /// and is another, stays.
    pub(super) async fn runs_here(&self, noted: &ErasureStarted) -> Result<Vec<Run>> {
        let mut here: Vec<Run> = Vec::new();
        let mut add = |journal, seq| match here.last_mut() {
            Some(last) if last.journal == journal && last.last.saturating_add(1) == seq => last.last = seq,
            _ => here.push(Run { journal, first: seq, last: seq }),
        };
        for (place, run) in noted.runs.iter().enumerate() {
            let Some(state) = self.0.ledger.journal(run.journal).await? else { continue };
            let text = noted.commitments.get(place).map(String::as_str).unwrap_or_default();
            let commitments = BASE64.decode(text.as_bytes()).map_err(|error| {
                Error::corrupt("bad_payload", "what the note of an erasure says of entries is damaged").because(error)
            })?;
            let known: Vec<&[u8]> = commitments.chunks(NOTED).collect();
            let last = run.last.min(state.head);
            if run.first > last {
                continue;
            }
            for (seq, header) in self.headers_in(&Run { last, ..*run }).await? {
                let there = usize::try_from(seq.saturating_sub(run.first)).ok().and_then(|place| known.get(place));
                let is_it = match there {
                    Some(commitment) => header.commitment.as_bytes().starts_with(commitment),
                    None if known.is_empty() => self.may_be(run.journal, header.kind),
                    None => false,
                };
                if is_it {
                    add(run.journal, seq);
                }
            }
        }
        Ok(here)
    }

    /// Of what was noted without commitments: in the tenant's journal, which every copy goes on with by itself, only what
    /// erasures take of it counts.
    fn may_be(&self, journal: JournalId, kind: EntryKind) -> bool {
        use EntryKind as K;
        journal != self.tenant_control() || matches!(kind, K::SESSION_KEYED | K::READ_RECORDED | K::SECRET_REGISTERED)
    }
}
