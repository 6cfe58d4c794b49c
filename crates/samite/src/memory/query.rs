//! Reading a namespace: as it stands, or as it stood.

use super::Memory;
use crate::log::Entry;
use samite_memory::{Ended, Standing, Standings};
use samite_model::memory::{Operation, RecordKind, Trust};
use samite_model::{Error, Position, RecordId, Result};
use std::collections::HashSet;
use std::sync::Arc;

/// Which entries of a namespace count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedIn {
    /// Those up to this seq of its journal.
    Seq(u64),
    /// Those that were written up to this time, in nanoseconds since 1970: all before the first that was written later.
    Time(i64),
}

/// Which records are listed.
#[derive(Clone, Debug, Default)]
pub struct MemoryFilter {
    /// Of these kinds; none means of all.
    pub kinds: Vec<RecordKind>,
    /// Of these classes of trust; none means of all.
    pub trusts: Vec<Trust>,
    /// Also those that ended, do not hold now, or wait to be approved.
    pub all: bool,
    /// As it stood then.
    pub recorded: Option<RecordedIn>,
    /// What holds at this time, in nanoseconds since 1970; none means now.
    pub valid_at: Option<i64>,
}

impl Memory {
    /// Where every record stands, or stood. Where they stand now is kept ready, and shared with whoever else looks.
    ///
    /// # Errors
    /// `not_found` (`no_position`) for a seq behind the end; `corrupt` naming the entry that cannot be read.
    pub async fn standings(&self, recorded: Option<RecordedIn>) -> Result<Arc<Standings>> {
        Ok(self.view(recorded, false).await?.standings)
    }

    /// What all sessions see.
    pub(super) async fn shared_standings(&self) -> Result<Arc<Standings>> {
        Ok(self.shared(false).await?.standings)
    }

    /// A record, as it stands or stood.
    ///
    /// # Errors
    /// `not_found` (`no_record`) when there is none in this namespace.
    pub async fn record_of(&self, record: RecordId, recorded: Option<RecordedIn>) -> Result<Standing> {
        self.standings(recorded).await?.get(record).cloned().ok_or_else(|| no_record(record))
    }

    /// Records in the order in which they came.
    ///
    /// # Errors
    /// As [`Memory::standings`].
    pub async fn records(&self, filter: &MemoryFilter) -> Result<Vec<Standing>> {
        let standings = self.standings(filter.recorded).await?;
        let time = self.time(filter);
        let is_listed = |standing: &&Standing| {
            (filter.kinds.is_empty() || filter.kinds.contains(&standing.record.kind))
                && (filter.trusts.is_empty() || filter.trusts.contains(&standing.record.provenance.trust))
                && (filter.all || standing.is_found(standings.settings(), time))
        };
        Ok(standings.all().iter().filter(is_listed).cloned().collect())
    }

    /// What is found here and was not in another view of the namespace, and what was found there and is not here.
    ///
    /// # Errors
    /// As [`Memory::standings`].
    pub async fn changed_since(&self, before: &Self) -> Result<(Vec<Standing>, Vec<Standing>)> {
        let filter = MemoryFilter::default();
        let (now, then) = (self.records(&filter).await?, before.records(&filter).await?);
        let without = |all: &[Standing], others: &[Standing]| {
            let others: HashSet<RecordId> = others.iter().map(|one| one.record.record).collect();
            all.iter().filter(|one| !others.contains(&one.record.record)).cloned().collect()
        };
        Ok((without(&now, &then), without(&then, &now)))
    }

    fn time(&self, filter: &MemoryFilter) -> i64 {
        filter.valid_at.unwrap_or_else(|| match filter.recorded {
            Some(RecordedIn::Time(time)) => time,
            _ => self.client.core.now(),
        })
    }

    /// The records that took each other's place, of which this is one, oldest first.
    ///
    /// # Errors
    /// `not_found` (`no_record`) when there is none in this namespace.
    pub async fn history(&self, record: RecordId) -> Result<Vec<Standing>> {
        let standings = self.standings(None).await?;
        let history: Vec<Standing> = standings.history(record).into_iter().cloned().collect();
        if history.is_empty() { Err(no_record(record)) } else { Ok(history) }
    }

    /// The record whose id begins with these digits, in this namespace.
    ///
    /// # Errors
    /// `not_found` (`no_record`) when there is none; `invalid` (`ambiguous_prefix`) when there are several.
    pub async fn find_record(&self, prefix: &str) -> Result<RecordId> {
        let standings = self.standings(None).await?;
        let ids = standings.all().iter().map(|standing| standing.record.record);
        let found: Vec<RecordId> = match prefix {
            "" => Vec::new(),
            digits => ids.filter(|id| id.to_string().starts_with(digits)).take(6).collect(),
        };
        match found.as_slice() {
            [] => Err(no_record_named(prefix)),
            [one] => Ok(*one),
            several => {
                let ids: Vec<String> = several.iter().take(5).map(ToString::to_string).collect();
                Err(Error::invalid("ambiguous_prefix", format!("{prefix} is the beginning of several record ids"))
                    .hint(format!("give more digits: {}", ids.join(", "))))
            }
        }
    }

    /// How far the journal has come: what a checkpoint notes of it.
    ///
    /// # Errors
    /// Those of the ledger.
    pub async fn position(&self) -> Result<Option<Position>> {
        Ok(self.state().await?.map(|state| Position { journal: state.id, seq: state.head }))
    }
}

/// What an entry does to a namespace; nothing when it was erased.
pub(super) fn operation(entry: &Entry) -> Result<Option<Operation>> {
    let Some(payload) = &entry.payload else { return Ok(None) };
    Operation::parse(entry.header.kind, payload).map_err(|error| {
        let place = format!("journal {}, seq {}", entry.position.journal, entry.position.seq);
        Error::corrupt("bad_payload", format!("{place} does not hold what its kind says")).because(error)
    })
}

/// What is said of a record that is not in the namespace.
pub(crate) fn no_record(record: RecordId) -> Error {
    no_record_named(&record.to_string())
}

fn no_record_named(text: &str) -> Error {
    Error::not_found("no_record", format!("there is no record {text} in this namespace"))
        .hint("`samite memory list --namespace NAME` shows those that there are")
}

pub(super) fn no_position(seq: u64, head: u64) -> Error {
    Error::not_found("no_position", format!("the namespace ends at seq {head}, before {seq}"))
        .hint("`samite memory stats` says how far it has come")
}

/// Refuses what has ended.
pub(super) fn check_stands(standing: &Standing) -> Result<()> {
    let Some((ended, _)) = &standing.ended else { return Ok(()) };
    let short = standing.record.record.short();
    let error = match ended {
        Ended::Replaced { by, .. } => {
            Error::conflict("record_ended", format!("record {} has taken the place of {short}", by.short()))
                .hint(format!("look at {}, and write in its place", by.short()))
        }
        Ended::Retracted { .. } => Error::conflict("record_ended", format!("record {short} was retracted"))
            .hint("write it anew, if it holds again"),
        Ended::Revoked { .. } => Error::conflict("record_ended", format!("record {short} was retired with its source"))
            .hint("write it anew, if somebody else vouches for it"),
    };
    Err(error)
}
