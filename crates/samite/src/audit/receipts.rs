//! Receipts: files that prove offline that an act, or any entry, is in the log.

use super::Audit;
use super::archived::Cold;
use super::heads::Handed;
use super::receipt::{Covered, Receipt};
use samite_audit::proof::{LONGEST_EXTRA, PROOF_EXTENSION};
use samite_audit::{Leaf, Note, Proof, TreeHead};
use samite_host::files::{self, PRIVATE_FILE};
use samite_ledger::Read;
use samite_model::hash::{self, JournalIdentity};
use samite_model::{Error, Header, JournalId, Link, Position, Result};
use std::collections::HashMap;
use std::path::Path;

/// More headers than this do not go with a receipt: each takes about this many bytes there.
const A_HEADER: u64 = 240;
const MOST_HEADERS: u64 = LONGEST_EXTRA as u64 / A_HEADER;

/// A proof that a leaf is in the log.
#[derive(Clone, Debug)]
pub struct Proven {
    /// The log.
    pub log: u64,
    /// The leaf's index.
    pub index: u64,
    /// What the leaf says.
    pub leaf: Leaf,
    /// The entry that is proven: that of the leaf, or one before it that the leaf covers.
    pub at: Position,
    /// What the entry is: a word.
    pub what: String,
    /// Whether the file shows the entry itself. It does not when more entries than go into a file are between it and the leaf:
    /// then it proves the leaf alone.
    pub has_entry: bool,
    /// The file to give away.
    pub proof: Proof,
}

/// The leaf that covers an entry: its own, or that of a later entry of its journal, or an anchor of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covering {
    /// The log.
    pub log: u64,
    /// The leaf's index.
    pub index: u64,
    /// How far the journal had come there.
    pub seq: u64,
}

impl Audit {
    /// A receipt: the proof that a leaf is in the log, with the leaf; with `reveal` also what its entry says, for whoever is to
    /// read it. It names a head that witnesses cosigned where one has the leaf, else the newest head, which is noted as published.
    ///
    /// # Errors
    /// `not_found` (`no_audit_log`, `no_leaf`, `leaf_archived`); `not_found` (`erased`) when what is to be shown is no longer there; `conflict`
    /// (`published_ahead`) when another history of the log was published.
    pub async fn prove(&self, log: Option<u64>, index: u64, reveal: bool) -> Result<Proven> {
        let handed = self.hand_out(log).await?;
        let leaf = Leaf::parse(&self.leaf(&handed.state, index).await?)?;
        let at = Position { journal: leaf.journal, seq: leaf.seq };
        self.receipt(&handed, index, at, at.seq, reveal).await
    }

    /// A receipt for an entry, which the file has: for its own leaf if it has one, in any of the tenant's logs; else for the first
    /// leaf that covers it in the newest log that does, with the headers between them. Only this log when one is given.
    ///
    /// # Errors
    /// As [`Audit::prove`]; `not_found` (`not_covered`) when no leaf covers it yet; `invalid` (`receipt_too_long`) when what is to
    /// be revealed lies too far before the leaf.
    pub async fn prove_entry(&self, log: Option<u64>, at: Position, reveal: bool) -> Result<Proven> {
        let mut refused = None;
        for found in self.coverings(log, at).await? {
            let handed = match self.hand_out(Some(found.log)).await {
                Err(error) if error.code() == "published_ahead" => {
                    refused.get_or_insert(error);
                    continue;
                }
                other => other?,
            };
            return self.receipt(&handed, found.index, at, found.seq, reveal).await;
        }
        Err(refused.unwrap_or_else(|| not_covered(at)))
    }

    /// The leaf that [`Audit::prove_entry`] looks for first.
    ///
    /// # Errors
    /// `not_found` (`not_covered`) when no leaf covers it yet.
    pub async fn covering(&self, journal: JournalId, seq: u64) -> Result<Covering> {
        let at = Position { journal, seq };
        self.coverings(None, at).await?.into_iter().next().ok_or_else(|| not_covered(at))
    }

    /// Writes a receipt for each of these places into a folder, `JOURNAL.tlog-proof`, and returns how many there are: for the first
    /// leaf that covers the place in the newest log that does. A place that no leaf covers has none.
    ///
    /// # Errors
    /// As [`Audit::prove`]; what writing answers.
    pub async fn receipts(&self, places: &[(JournalId, u64)], folder: &Path) -> Result<u64> {
        let mut wanted: HashMap<JournalId, u64> = places.iter().copied().collect();
        files::create_private_dir(folder)?;
        let mut written = 0;
        for log in (1..=self.state(None).await?.log).rev() {
            let found = self.find(log, &wanted).await?;
            if found.is_empty() {
                continue;
            }
            let handed = match self.hand_out(Some(log)).await {
                Err(error) if error.code() == "published_ahead" => continue,
                other => other?,
            };
            for (journal, found) in found {
                let Some(seq) = wanted.remove(&journal) else { continue };
                let at = Position { journal, seq };
                let proven = self.receipt(&handed, found.index, at, found.seq, false).await?;
                let path = folder.join(format!("{journal}.{PROOF_EXTENSION}"));
                files::write_atomic(&path, proven.proof.to_string().as_bytes(), PRIVATE_FILE)?;
                written += 1;
            }
        }
        Ok(written)
    }

    /// The leaves that cover an entry, the best first: its own, then that of the newest log.
    async fn coverings(&self, log: Option<u64>, at: Position) -> Result<Vec<Covering>> {
        let newest = self.state(log).await?.log;
        let oldest = log.unwrap_or(1);
        let wanted = HashMap::from([(at.journal, at.seq)]);
        let mut found = Vec::new();
        for log in (oldest..=newest).rev() {
            found.extend(self.find(log, &wanted).await?.into_values());
        }
        // A nearer one may be among those that were moved.
        if found.iter().all(|found| found.seq - at.seq >= MOST_HEADERS) {
            for log in (oldest..=newest).rev() {
                let mut moved = HashMap::new();
                for (index, bytes) in self.cold(log).await?.leaves() {
                    covers(&Leaf::parse(&bytes)?, log, index, &wanted, &mut moved);
                }
                found.extend(moved.into_values());
            }
        }
        // Stable: the newest log stays first among equals, and what is in the store.
        found.sort_by_key(|covering| (covering.seq != at.seq || !covering.own, covering.seq - at.seq >= MOST_HEADERS));
        Ok(found.into_iter().map(|found| Covering { log: found.log, index: found.index, seq: found.seq }).collect())
    }

    /// The first leaf of a log that covers each of these places.
    async fn find(&self, log: u64, wanted: &HashMap<JournalId, u64>) -> Result<HashMap<JournalId, Found>> {
        let mut found: HashMap<JournalId, Found> = HashMap::new();
        let Some(state) = self.client.core.0.ledger.audit_log(Some(log)).await? else { return Ok(found) };
        let mut from = self.minimum(log).await?;
        while from < state.size {
            let (first, page) = self.page_on(log, from, state.size).await?;
            for (index, bytes) in (first..).zip(&page) {
                covers(&Leaf::parse(bytes)?, log, index, wanted, &mut found);
            }
            from = first + page.len() as u64;
        }
        Ok(found)
    }

    async fn receipt(&self, handed: &Handed, index: u64, at: Position, to: u64, reveal: bool) -> Result<Proven> {
        let bytes = self.leaf(&handed.state, index).await?;
        let leaf = Leaf::parse(&bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::corrupt("bad_leaf", "a leaf is no text"))?;
        let mut receipt = Receipt { v: 1, leaf: text, covered: None, salt: None, payload: None };
        let own = (leaf.journal, leaf.seq) == (at.journal, at.seq);
        let mut what = leaf.act.to_string();
        let mut has_entry = true;
        if !own {
            match self.covered(at, to).await? {
                Some((covered, header)) => {
                    header.kind.name().clone_into(&mut what);
                    receipt.covered = Some(covered);
                }
                None => has_entry = false,
            }
        }
        if reveal && !has_entry {
            return Err(Error::invalid(
                "receipt_too_long",
                format!("seq {} of journal {} lies too far before seq {to}, which the log has", at.seq, at.journal),
            )
            .hint(too_far(&handed.cold)));
        }
        if reveal {
            let (salt, payload) = self.client.core.revealed(at.journal, at.seq).await?;
            self.client.record_revealed(at).await?;
            receipt.salt = Some(data_encoding::HEXLOWER.encode(&salt));
            receipt.payload = Some(data_encoding::BASE64.encode(&payload));
        }
        // What the store says by now may not be what it was: nothing is given away that would not be believed.
        receipt.check(&leaf)?;
        let signed = self.signed_with(handed, index)?;
        let proof = self.with_tiles(handed, &mut |tiles| Proof::make(tiles, index, &signed))?;
        let extra = serde_json::to_vec(&receipt)
            .map_err(|error| Error::internal("unserialisable", "a receipt is not JSON").because(error))?;
        Ok(Proven { log: handed.state.log, index, leaf, at, what, has_entry, proof: proof.with_extra(extra)? })
    }

    /// The head that most witnesses cosigned and that has the leaf, else the newest.
    fn signed_with(&self, handed: &Handed, index: u64) -> Result<Note> {
        let cosigned = self.cosigned(handed)?.into_iter();
        let has = |(head, _): &(TreeHead, Note)| head.size > index;
        let best = cosigned.filter(has).max_by_key(|(head, note)| (note.signatures().len(), head.size));
        Ok(best.map_or_else(|| handed.note.clone(), |(_, note)| note))
    }

    /// The headers from an entry to a later one of its journal, and the entry's; none when they are too many.
    async fn covered(&self, at: Position, to: u64) -> Result<Option<(Covered, Header)>> {
        if to.saturating_sub(at.seq) >= MOST_HEADERS {
            return Ok(None);
        }
        let ledger = &self.client.core.0.ledger;
        let entries = ledger.read(Read { payloads: false, ..Read::range(at.journal, at.seq, to) }).await?;
        let gone = || {
            Error::not_found("no_entry", format!("seq {} to {to} of journal {} is no longer there", at.seq, at.journal))
                .hint("what was deleted is proven by the receipts that were made before")
        };
        if entries.len() as u64 != to - at.seq + 1 {
            return Err(gone());
        }
        let headers: Vec<String> = entries.iter().map(|entry| data_encoding::BASE64.encode(&entry.header)).collect();
        let header = Header::decode(&entries.first().ok_or_else(gone)?.header)?;
        let before = self.link_before(at).await?;
        Ok(Some((Covered { journal: at.journal, seq: at.seq, before, headers }, header)))
    }

    /// The link that an entry's own continues.
    async fn link_before(&self, at: Position) -> Result<Link> {
        let core = &self.client.core;
        let state = core.journal(at.journal).await?;
        let identity =
            JournalIdentity { id: state.id, family: state.family, owner: state.owner, kind: state.kind.code() };
        let link = async |journal: JournalId, seq: u64| -> Result<Link> {
            let read = Read { payloads: false, ..Read::range(journal, seq, seq) };
            let found = core.0.ledger.read(read).await?.into_iter().next();
            found.map(|entry| entry.link).ok_or_else(|| {
                Error::not_found("no_entry", format!("seq {seq} of journal {journal} is no longer there"))
            })
        };
        match state.parent {
            None if at.seq == 1 => Ok(hash::genesis(&identity)),
            Some(parent) if at.seq == parent.seq + 1 => {
                Ok(hash::fork(&identity, parent.journal, parent.seq, link(parent.journal, parent.seq).await?))
            }
            _ => link(at.journal, at.seq - 1).await,
        }
    }
}

/// A leaf that covers a place.
struct Found {
    log: u64,
    index: u64,
    seq: u64,
    own: bool,
}

/// Takes note of what a leaf covers of these places, where nothing better was seen.
fn covers(leaf: &Leaf, log: u64, index: u64, wanted: &HashMap<JournalId, u64>, found: &mut HashMap<JournalId, Found>) {
    let own = (leaf.journal, leaf.seq, true);
    let anchors = leaf.anchors.iter().map(|anchor| (anchor.journal, anchor.seq, false));
    for (journal, seq, own) in std::iter::once(own).chain(anchors) {
        let covers = wanted.get(&journal).is_some_and(|wanted| seq >= *wanted);
        let better = |seen: &Found| (seq, !own) < (seen.seq, !seen.own);
        if covers && found.get(&journal).is_none_or(better) {
            found.insert(journal, Found { log, index, seq, own });
        }
    }
}

/// What to do where no leaf that is near enough is at hand.
fn too_far(cold: &Cold) -> String {
    let places = cold.places();
    if places.is_empty() {
        return "without --reveal the receipt proves the leaf; checkpoints and `samite audit anchor` put more places into the log".to_owned();
    }
    format!(
        "a nearer leaf may be among those that were moved: have {} there; without --reveal the receipt proves the leaf",
        places.join(" and ")
    )
}

fn not_covered(at: Position) -> Error {
    Error::not_found("not_covered", format!("no leaf covers seq {} of journal {} yet", at.seq, at.journal))
        .hint("`samite audit anchor` puts every journal into the log as it is now")
}
