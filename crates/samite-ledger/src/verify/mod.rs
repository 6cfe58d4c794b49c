//! Verification of any ledger, from what it returns alone.
//!
//! Each journal's chain is computed again from its genesis or fork point and compared with what is stored. Damage is
//! named entry by entry: what came before and after tells a changed header from a changed link. Two limits are in the
//! nature of the chain: the link of an entry right after one that is missing or unreadable cannot be checked, and when
//! neighbours are damaged at once, each is named, but header and link cannot always be told apart.

mod chain;
mod finding;
mod journal;
mod listing;

pub use finding::{Finding, What};
pub use listing::{Listed, list};

use crate::{JournalFilter, JournalState, Ledger, StoredEntry};
use journal::Walk;
use samite_model::{ErrorKind, Header, JournalId, Link, Position, Result, hash};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Opens a payload and compares it with its commitment; an error is a finding. The payload is `None` when erased.
pub type PayloadCheck<'a> = &'a mut (dyn FnMut(&JournalState, &Header, &StoredEntry) -> Result<()> + Send);

/// Takes note of how far a verification is.
pub type ProgressCallback<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// What to verify, and who looks on.
#[derive(Default)]
pub struct Options<'a> {
    /// Which journals; all by default.
    pub journals: JournalFilter,
    /// Checks each payload that can be read; without it, payloads are not even fetched.
    pub payloads: Option<PayloadCheck<'a>>,
    /// Is told about every page of entries.
    pub progress: Option<ProgressCallback<'a>>,
    /// Entries to hold at a time; 0 for the default of 256.
    pub page: usize,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("journals", &self.journals).field("page", &self.page).finish_non_exhaustive()
    }
}

/// How far a verification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Progress {
    /// Journals that are done.
    pub journals: usize,
    /// Journals in all.
    pub of_journals: usize,
    /// Entries that were read.
    pub entries: u64,
    /// Entries in all, as the heads had it at the start.
    pub of_entries: u64,
}

/// What a verification saw.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Journals that were verified.
    pub journals: usize,
    /// Entries that were read.
    pub entries: u64,
    /// All damage, journal by journal, by seq. Nothing is intact when it is empty but the tail: entries that were cut
    /// off together with the head leave no trace here, but in the high-water mark and in witnessed heads.
    pub findings: Vec<Finding>,
    /// What of the list of journals cannot be read, in words: journals that are there and not among those verified.
    pub unreadable: Vec<String>,
}

/// Verifies journals. Holds one page of entries, and one link a fork, in memory. Appending may go on meanwhile.
///
/// # Errors
/// Those of the ledger other than `corrupt`, which is a finding.
pub async fn verify(ledger: &dyn Ledger, mut options: Options<'_>) -> Result<Report> {
    let Listed { journals, unreadable } = list(ledger, &options.journals).await?;
    let mut forks: HashMap<_, BTreeSet<u64>> = HashMap::new();
    for parent in journals.iter().filter_map(|state| state.parent) {
        forks.entry(parent.journal).or_default().insert(parent.seq);
    }
    let own = |state: &JournalState| state.head.saturating_sub(state.parent.map_or(0, |parent| parent.seq));
    let mut progress = Progress {
        of_journals: journals.len(),
        of_entries: journals.iter().map(own).fold(0, u64::saturating_add),
        ..Progress::default()
    };
    let mut report = Report { unreadable, ..Report::default() };
    // The links at fork points as they should be, which a parent's damage does not change.
    let mut fork_links: ForkLinks = BTreeMap::new();
    for listed in journals {
        let mut state = listed;
        // A journal that is deleted meanwhile is verified again, as what is left of it.
        loop {
            let before = before_first(ledger, &state, &fork_links).await?;
            let points = forks.get(&state.id).cloned().unwrap_or_default();
            let entries_before = progress.entries;
            let walk = Walk::new(ledger, &state, points, &mut options, &mut progress);
            let walked = walk.run(before).await?;
            let now = match ledger.journal(state.id).await {
                // What it was listed as is what was verified.
                Err(error) if error.kind() == ErrorKind::Corrupt => None,
                now => now?,
            };
            match now {
                Some(now) if now.status != state.status || now.head < state.head => {
                    progress.entries = entries_before;
                    state = now;
                }
                _ => {
                    report.findings.extend(walked.findings);
                    fork_links.extend(walked.points.into_iter().map(|(seq, link)| ((state.id, seq), link)));
                    break;
                }
            }
        }
        progress.journals += 1;
        if let Some(callback) = &mut options.progress {
            callback(progress);
        }
    }
    report.journals = progress.journals;
    report.entries = progress.entries;
    Ok(report)
}

/// The links at fork points that may be the true ones.
type ForkLinks = BTreeMap<(JournalId, u64), Vec<Link>>;

/// What is known of the link before a journal's first own entry.
enum Before {
    /// It must be one of these: mostly one, but damaged neighbours in the parent may leave several.
    Links(Vec<Link>),
    /// The parent's entry is damaged, which is a finding of the parent's.
    Unknown,
    /// The parent has no such entry to fork.
    NoForkPoint,
}

async fn before_first(ledger: &dyn Ledger, state: &JournalState, fork_links: &ForkLinks) -> Result<Before> {
    let identity =
        hash::JournalIdentity { id: state.id, family: state.family, owner: state.owner, kind: state.kind.code() };
    let Some(Position { journal: parent, seq }) = state.parent else {
        return Ok(Before::Links(vec![hash::genesis(&identity)]));
    };
    let links = match fork_links.get(&(parent, seq)) {
        Some(links) => links.clone(),
        // The parent was not verified, or ends before.
        None => match ledger
            .read(crate::Read { payloads: false, unchecked: true, ..crate::Read::range(parent, seq, seq) })
            .await
        {
            Ok(entries) => match entries.first() {
                Some(entry) => vec![entry.link],
                None => return Ok(Before::NoForkPoint),
            },
            Err(error) if error.kind() == ErrorKind::Corrupt => Vec::new(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Before::NoForkPoint),
            Err(error) => return Err(error),
        },
    };
    if links.is_empty() {
        return Ok(Before::Unknown);
    }
    Ok(Before::Links(links.into_iter().map(|link| hash::fork(&identity, parent, seq, link)).collect()))
}
