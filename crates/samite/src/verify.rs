//! Verifying a store: its chains, its payloads against their commitments, its views against its entries.

use crate::core::Core;
use crate::core::Store;
use samite_keys::{Body, check_commitment};
use samite_ledger::verify::{Finding, Options, Progress, verify};
use samite_ledger::{Generation, JournalFilter, JournalState, StoredEntry};
use samite_model::hash::CommitmentHasher;
use samite_model::{Error, ErrorKind, Header, JournalId, Result};
use samite_workspace::read_payload;
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
    /// Journals whose views are not those that their entries make.
    pub stale_views: Vec<JournalId>,
    /// Journals whose views were made again.
    pub rebuilt: Vec<JournalId>,
}

/// Is told how far a verification is.
pub type OnProgress<'a> = &'a mut (dyn FnMut(Progress) + Send);

impl Store {
    /// Verifies every journal of the tenant. With `rebuild`, views that disagree with their entries are made again.
    ///
    /// # Errors
    /// Those of the ledger other than `corrupt`, which is a finding.
    pub async fn verify(&self, rebuild: bool, mut progress: Option<OnProgress<'_>>) -> Result<Verified> {
        let core = &self.core;
        let mut check =
            |state: &JournalState, header: &Header, entry: &StoredEntry| core.check_payload(state, header, entry);
        let mut tell = |now: Progress| {
            if let Some(progress) = &mut progress {
                progress(now);
            }
        };
        let options = Options { payloads: Some(&mut check), progress: Some(&mut tell), ..Options::default() };
        let report = verify(core.0.ledger.as_ref(), options).await?;
        let mut verified = Verified {
            journals: report.journals,
            entries: report.entries,
            findings: report.findings,
            ..Verified::default()
        };
        let mut generations: Vec<Generation> = Vec::new();
        for state in core.0.ledger.journals(JournalFilter::default()).await? {
            if verified.findings.iter().any(|finding| finding.journal == state.id) {
                // Its entries cannot be trusted to make views of.
                continue;
            }
            match core.views_agree(&state).await {
                Ok(true) => {}
                Ok(false) => {
                    verified.stale_views.push(state.id);
                    if rebuild {
                        generations.push(core.rebuild(&state).await?);
                    }
                }
                // What it inherits is damaged, which is a finding of its own.
                Err(error) if error.kind() == ErrorKind::Corrupt => verified.stale_views.push(state.id),
                Err(error) => return Err(error),
            }
        }
        if !generations.is_empty() {
            verified.rebuilt = generations.iter().map(|generation| generation.journal).collect();
            core.0.ledger.replace_views(generations).await?;
        }
        Ok(verified)
    }
}

impl Core {
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
