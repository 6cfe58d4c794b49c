//! Verifying a store: its chains, its payloads against their commitments, its views against its entries.

mod erased;
mod trees;

use crate::core::{Core, Store};
use crate::payload::BranchDeleted;
use crate::rebuild::Seen;
use erased::Erasures;
use samite_blocks::read_index;
use samite_keys::{Body, check_commitment};
use samite_ledger::verify::{Finding, Options, Progress, What, list, verify};
use samite_ledger::{JournalFilter, JournalKind, JournalState, JournalStatus, PackState, StoredEntry};
use samite_model::hash::CommitmentHasher;
use samite_model::{Error, ErrorKind, Header, JournalId, KeyId, Observer, Position, Result, SessionId};
use samite_workspace::read_payload;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write;

/// What a verification saw.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Journals that were verified.
    pub journals: usize,
    /// Entries that were verified.
    pub entries: u64,
    /// Each changed, missing, reordered or cut entry.
    pub findings: Vec<Finding>,
    /// Packs that are not whole, in words that name them: gone, cut, or damaged in what they say of themselves.
    pub packs: Vec<String>,
    /// Journals whose views are not those that their entries make.
    pub stale_views: Vec<JournalId>,
    /// What else cannot be read, in words that name it: what it says was not looked at.
    pub unreadable: Vec<String>,
    /// Journals whose views were made again.
    pub rebuilt: Vec<JournalId>,
}

impl Store {
    /// Verifies every journal of the tenant, and the blocks of the trees and artifacts that it names. With `rebuild`, views
    /// that disagree with their entries are made again. The observer is told how many entries are verified, and then how
    /// many trees.
    ///
    /// # Errors
    /// Those of the ledger other than `corrupt`, which is a finding.
    pub async fn verify(&self, rebuild: bool, observer: Option<&Observer>) -> Result<Verified> {
        let silent = Observer::default();
        let observer = observer.unwrap_or(&silent);
        let core = &self.core;
        // Payloads that are not there: by which erasure they went is looked up when all were seen.
        let mut gone: Vec<(Position, KeyId)> = Vec::new();
        let mut check = |state: &JournalState, header: &Header, entry: &StoredEntry| {
            if entry.payload.is_none() {
                gone.push((Position { journal: state.id, seq: entry.seq }, header.key));
            }
            core.check_payload(state, header, entry)
        };
        let mut tell = |now: Progress| observer.tell("verifying entries", now.entries, Some(now.of_entries));
        let options = Options { payloads: Some(&mut check), progress: Some(&mut tell), ..Options::default() };
        let report = verify(core.0.ledger.as_ref(), options).await?;
        let mut verified = Verified {
            journals: report.journals,
            entries: report.entries,
            findings: report.findings,
            unreadable: report.unreadable,
            ..Verified::default()
        };
        let erasures = Erasures::load(core, &mut verified.unreadable).await?;
        let missing = gone.into_iter().filter(|(at, key)| !erasures.took(*at, *key));
        verified.findings.extend(missing.map(|(at, _)| erased::finding(at)));
        for state in core.listed().await? {
            if verified.findings.iter().any(|finding| finding.journal == state.id) {
                // Its entries cannot be trusted to make views of.
                continue;
            }
            let older = match core.views_seen(state.id).await {
                Ok(Seen::Same) => continue,
                Ok(Seen::Older) if !rebuild => continue,
                Ok(seen) => seen == Seen::Older,
                // What it inherits is damaged, which is a finding of its own, or the views themselves cannot be read.
                Err(error) if is_damage(&error) => false,
                Err(error) => return Err(error),
            };
            if !older {
                verified.stale_views.push(state.id);
            }
            if rebuild {
                let again = core.replace_views(state.id).await;
                let what = format!("the views of journal {}", state.id);
                if unless_damaged(&mut verified.unreadable, &what, again)?.is_some() {
                    verified.rebuilt.push(state.id);
                }
            }
        }
        let unreadable = &mut verified.unreadable;
        let cuts = core.check_cuts(&verified.findings, &erasures, unreadable).await?;
        verified.findings.extend(cuts);
        let trees = core.check_trees(&verified.findings, unreadable, observer).await?;
        verified.findings.extend(trees);
        let packs = core.check_packs().await;
        verified.packs = unless_damaged(unreadable, "the list of packs", packs)?.unwrap_or_default();
        Ok(verified)
    }
}

/// Whether an error tells of damage. Journals are never removed: one that another names and that is not found is damaged.
fn is_damage(error: &Error) -> bool {
    error.kind() == ErrorKind::Corrupt || error.code() == "no_journal"
}

/// What was read; what is too damaged for that is noted, and the rest is gone on with.
fn unless_damaged<T>(unreadable: &mut Vec<String>, what: &str, read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if is_damage(&error) => {
            unreadable.push(format!("{what} cannot be read: {}", error.message()));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Core {
    /// Compares where the journals of deleted branches end with what their sessions say of it: a cut that no deletion
    /// recorded is somebody else's.
    async fn check_cuts(
        &self,
        damaged: &[Finding],
        erasures: &Erasures,
        unreadable: &mut Vec<String>,
    ) -> Result<Vec<Finding>> {
        // A deletion is recorded before it cuts: so the states are read first.
        let states = self.listed().await?;
        let mut said: HashMap<SessionId, Vec<Option<BranchDeleted>>> = HashMap::new();
        let mut findings = Vec::new();
        let is_cut = |state: &&JournalState| {
            state.kind == JournalKind::Branch && state.status == JournalStatus::Deleted && !erasures.closed(state.id)
        };
        let cut = states.iter().filter(is_cut);
        for state in cut {
            let Some(control) = states
                .iter()
                .find(|control| control.kind == JournalKind::SessionControl && control.family == state.family)
            else {
                continue;
            };
            // What a damaged journal says proves nothing, and its damage is a finding already.
            if damaged.iter().any(|finding| finding.journal == control.id) {
                continue;
            }
            let said = match said.entry(state.family) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let what = format!("what journal {} says of deletions", control.id);
                    let said = unless_damaged(unreadable, &what, self.deletions(control).await)?;
                    // What cannot be read may say anything.
                    new.insert(said.unwrap_or_else(|| vec![None]))
                }
            };
            // Words that were erased with their owner may have been about this one.
            let is_said = said
                .iter()
                .any(|said| said.as_ref().is_none_or(|said| said.branch == state.id && said.kept_to == state.head));
            if !is_said {
                let first = state.head.saturating_add(1);
                let message = format!(
                    "journal {} is marked as deleted and ends at seq {}, which no deletion that its session recorded says: \
                     entries from {first} on were cut off by somebody else",
                    state.id, state.head
                );
                findings.push(Finding { journal: state.id, first, last: first, what: What::Cut, message });
            }
        }
        Ok(findings)
    }

    /// The journals that can be read; the others are told of once, by whoever verifies the entries.
    async fn listed(&self) -> Result<Vec<JournalState>> {
        list(self.0.ledger.as_ref(), &JournalFilter::default()).await.map(|listed| listed.journals)
    }

    /// Reads what each pack says of itself. Its blocks are checked by whoever reads them.
    async fn check_packs(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for pack in self.0.blocks.packs().await?.into_iter().filter(|pack| pack.state == PackState::Live) {
            match read_index(self.0.packs.as_ref(), pack.id).await {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    // A collection may have taken it meanwhile.
                    if self.0.blocks.packs().await?.iter().any(|now| now.id == pack.id && now.state == pack.state) {
                        found.push(error.message().to_owned());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Opens a payload and compares it with its commitment.
    fn check_payload(&self, state: &JournalState, header: &Header, entry: &StoredEntry) -> Result<()> {
        let Some(sealed) = &entry.payload else { return Ok(()) };
        let opened = match self.0.keys.open_payload(header, state.id, sealed) {
            Ok(opened) => opened,
            // An erased owner's payload is as it should be.
            Err(error) if error.code() == "key_destroyed" => return Ok(()),
            Err(error) => return Err(error),
        };
        match &opened.body {
            Body::Inline(payload) => check_commitment(&opened.salt, payload, header.commitment),
            Body::Blocks(blocks) => {
                let mut hasher = Hashing(CommitmentHasher::new(&opened.salt));
                read_payload(&self.blocks(), header.owner, blocks, &mut hasher)?;
                if hasher.0.finish() == header.commitment {
                    return Ok(());
                }
                Err(Error::corrupt("commitment_mismatch", "the payload in blocks is not the one that was committed to"))
            }
        }
    }
}

/// Hashes what is written to it.
struct Hashing(CommitmentHasher);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
