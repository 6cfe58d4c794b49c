//! What leaves the store: exports, receipts, and heads that a witness cosigns.

use super::Audit;
use super::read::PAGE;
use crate::payload::HeadPublished;
use crate::subject_export::outside;
use crate::views::Projection;
use futures_lite::future::block_on;
use samite_audit::export::{Exported, FolderTiles, export};
use samite_audit::log::{LogHead, Published};
use samite_audit::merkle::{leaf_hash, prove_consistency};
use samite_audit::note::Cosigner;
use samite_audit::proof::PROOF_EXTENSION;
use samite_audit::tile::TileReader;
use samite_audit::witness::{Submission, submit};
use samite_audit::{Hash, Leaf, Note, Proof, TreeHead, VerifierKey};
use samite_host::files::{self, PRIVATE_FILE};
use samite_ledger::LogState;
use samite_model::{EntryKind, Error, JournalId, Observer, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a witness may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What goes with a receipt: the leaf, and what its commitment is to where that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of this, 1.
    pub v: u32,
    /// The leaf, as it stands in the log.
    pub leaf: String,
    /// The salt of the commitment, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// The payload that the commitment is to, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

/// A proof that a leaf is in the log.
#[derive(Clone, Debug)]
pub struct Proven {
    /// The log.
    pub log: u64,
    /// The leaf's index.
    pub index: u64,
    /// What the leaf says.
    pub leaf: Leaf,
    /// The file to give away.
    pub proof: Proof,
}

/// That a log continues another size of it.
#[derive(Clone, Debug)]
pub struct Continued {
    /// The log.
    pub log: u64,
    /// The root at the older size.
    pub old: (u64, Hash),
    /// The root at the newer size.
    pub new: (u64, Hash),
    /// The hashes between them (RFC 6962).
    pub hashes: Vec<Hash>,
}

impl Audit {
    /// A receipt: the proof that a leaf is in the log, with the leaf; with `reveal` also what its entry says, for whoever is to
    /// read it. It names the last cosigned head where that has the leaf, else the newest head.
    ///
    /// # Errors
    /// `not_found` (`no_audit_log`, `no_leaf`); `not_found` (`erased`) when what is to be shown is no longer there.
    pub async fn prove(&self, log: Option<u64>, index: u64, reveal: bool) -> Result<Proven> {
        let state = self.state(log).await?;
        let bytes = self.leaf(&state, index).await?;
        let leaf = Leaf::parse(&bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::corrupt("bad_leaf", "a leaf is no text"))?;
        let mut receipt = Receipt { v: 1, leaf: text, salt: None, payload: None };
        if reveal {
            let (salt, payload) = self.client.core.revealed(leaf.journal, leaf.seq).await?;
            receipt.salt = Some(data_encoding::HEXLOWER.encode(&salt));
            receipt.payload = Some(data_encoding::BASE64.encode(&payload));
        }
        let newest = LogHead::decode(&state.state)?.note;
        let cosigned = self.cosigned(state.log)?;
        let has = |note: &Note| TreeHead::parse(note.text()).is_ok_and(|head| head.size > index);
        let signed = cosigned.filter(has).unwrap_or(newest);
        let proof =
            self.with_tiles(&state, &mut |tiles| Proof::make(&mut TileReader::new(state.size, tiles), index, &signed))?;
        let extra = serde_json::to_vec(&receipt)
            .map_err(|error| Error::internal("unserialisable", "a receipt is not JSON").because(error))?;
        Ok(Proven { log: state.log, index, leaf, proof: proof.with_extra(extra)? })
    }

    /// The newest leaf that covers an entry: its own, or that of a later entry of its journal or anchor of it.
    ///
    /// # Errors
    /// `not_found` (`not_covered`) when no leaf covers it yet.
    pub async fn covering(&self, journal: JournalId, seq: u64) -> Result<(u64, u64)> {
        let state = self.state(None).await?;
        let (mut from, mut best) = (0, None::<(u64, u64)>);
        while from < state.size {
            let page = self.page(state.log, from, state.size).await?;
            for (index, bytes) in (from..).zip(&page) {
                let leaf = Leaf::parse(bytes)?;
                let own = (leaf.journal, leaf.seq);
                let anchors = leaf.anchors.iter().map(|anchor| (anchor.journal, anchor.seq));
                let covers = std::iter::once(own).chain(anchors).filter(|(of, at)| *of == journal && *at >= seq);
                if let Some((_, at)) = covers.min_by_key(|(_, at)| *at)
                    && best.is_none_or(|(_, seen)| at < seen)
                {
                    best = Some((index, at));
                }
            }
            from += page.len() as u64;
        }
        best.map(|(index, _)| (state.log, index)).ok_or_else(|| {
            Error::not_found("not_covered", format!("no leaf covers seq {seq} of journal {journal} yet"))
                .hint("`samite audit anchor` puts every journal into the log as it is now")
        })
    }

    /// Writes a receipt for each of these places into a folder, `JOURNAL.tlog-proof`, and returns how many there are: for the first
    /// leaf that covers the place. A place that no leaf covers has none.
    ///
    /// # Errors
    /// As [`Audit::prove`]; what writing answers.
    pub async fn receipts(&self, places: &[(JournalId, u64)], folder: &Path) -> Result<u64> {
        let state = self.state(None).await?;
        let mut covering: HashMap<JournalId, (u64, u64)> = HashMap::new();
        let wanted: HashMap<JournalId, u64> = places.iter().copied().collect();
        let mut from = 0;
        while from < state.size {
            let page = self.page(state.log, from, state.size).await?;
            for (index, bytes) in (from..).zip(&page) {
                let leaf = Leaf::parse(bytes)?;
                let own = (leaf.journal, leaf.seq);
                let anchors = leaf.anchors.iter().map(|anchor| (anchor.journal, anchor.seq));
                for (journal, seq) in std::iter::once(own).chain(anchors) {
                    let covers = wanted.get(&journal).is_some_and(|wanted| seq >= *wanted);
                    if covers && covering.get(&journal).is_none_or(|(seen, _)| seq < *seen) {
                        covering.insert(journal, (seq, index));
                    }
                }
            }
            from += page.len() as u64;
        }
        files::create_private_dir(folder)?;
        let mut written = 0;
        for (journal, _) in places {
            let Some((_, index)) = covering.get(journal) else { continue };
            let proven = self.prove(Some(state.log), *index, false).await?;
            let path = folder.join(format!("{journal}.{PROOF_EXTENSION}"));
            files::write_atomic(&path, proven.proof.to_string().as_bytes(), PRIVATE_FILE)?;
            written += 1;
        }
        Ok(written)
    }

    /// The proof that the log at a newer size (none: the newest) continues it as it was at an older one.
    ///
    /// # Errors
    /// `invalid` (`bad_leaf_range`) when there are not so many leaves.
    pub async fn consistency(&self, log: Option<u64>, old: u64, new: Option<u64>) -> Result<Continued> {
        let state = self.state(log).await?;
        let new = new.unwrap_or(state.size);
        if old > new || new > state.size {
            let what = format!("log {} has {} leaves; {old} to {new} is no part of its history", state.log, state.size);
            return Err(Error::invalid("bad_leaf_range", what).hint("give an older and a newer size up to that"));
        }
        let (hashes, old_root, new_root) = self.with_tiles(&state, &mut |tiles| {
            let mut reader = TileReader::new(state.size, tiles);
            let hashes = if old == 0 || old == new { Vec::new() } else { prove_consistency(&mut reader, old, new)? };
            let old_root = samite_audit::merkle::root(&mut reader, old)?;
            Ok((hashes, old_root, samite_audit::merkle::root(&mut reader, new)?))
        })?;
        Ok(Continued { log: state.log, old: (old, old_root), new: (new, new_root), hashes })
    }

    /// Writes a log as a plain folder that anybody can verify with its key alone, or what it has more than the folder. Before
    /// that every journal is anchored. What was exported is noted beside the master key, so that no older copy of the store
    /// ever contradicts it. When this returns, all of it is durable.
    ///
    /// # Errors
    /// `invalid` (`inside_store`) for a folder in the store; `conflict` when the folder has other files or another log's; `corrupt`
    /// (`other_root`) when the leaves are not those of the head.
    pub async fn export(&self, log: Option<u64>, folder: &Path, observer: &Observer) -> Result<(TreeHead, Exported)> {
        if let Some(store) = &self.client.core.0.directory {
            outside(store, folder)?;
        }
        // A folder that it cannot go into changes nothing.
        samite_audit::export::check(folder, &self.key_of(self.state(log).await?.log)?)?;
        if log.is_none() {
            self.anchor(observer).await?;
        }
        let state = self.state(log).await?;
        let (head, stored) = self.head(&state)?;
        self.check_published(&state).await?;
        self.publish(&state, &head).await?;
        let signed = match self.cosigned(state.log)? {
            Some(cosigned) if cosigned.text() == stored.note.text() => cosigned,
            _ => stored.note,
        };
        let leaves = |from| self.leaves_from(&state, from);
        let mut tell = |done| observer.tell("exporting leaves", done, Some(head.size));
        let exported = export(folder, &signed, &self.key_of(state.log)?, leaves, &mut tell)?;
        let name = folder.display().to_string();
        self.record_published(&state, &head, "export", name).await?;
        Ok((head, exported))
    }

    /// Has a witness cosign the newest head: whoever trusts the witness knows then that no other history is shown to anybody else.
    ///
    /// # Errors
    /// `invalid` (`bad_witness_address`) for what is no address; `conflict` (`witness_ahead`, `witness_differs`) when the witness saw
    /// another history; `unavailable` when it cannot be reached.
    pub async fn witness(&self, url: &str, key: &VerifierKey, observer: &Observer) -> Result<(TreeHead, Cosigner)> {
        check_address(url)?;
        self.anchor(observer).await?;
        let state = self.state(None).await?;
        let (head, stored) = self.head(&state)?;
        self.check_published(&state).await?;
        self.publish(&state, &head).await?;
        let seen = match self.cosigned(state.log)? {
            Some(cosigned) if cosigned.signatures().iter().any(|signature| signature.name == key.name()) => {
                TreeHead::parse(cosigned.text())?.size
            }
            _ => 0,
        };
        let submission = Submission { url, key, seen, time_limit: PATIENCE };
        let mut prove = |old: u64| -> Result<Vec<Hash>> {
            if old == 0 || old >= head.size {
                return Ok(Vec::new());
            }
            self.with_tiles(&state, &mut |tiles| {
                prove_consistency(&mut TileReader::new(head.size, tiles), old, head.size)
            })
        };
        let (note, cosigner) = submit(&submission, &stored.note, &mut prove)?;
        if let Some(path) = self.tiles(state.log) {
            let path = path.with_extension("cosigned");
            if let Some(parent) = path.parent() {
                files::create_private_dir(parent)?;
            }
            files::write_atomic(&path, note.to_string().as_bytes(), PRIVATE_FILE)?;
        }
        self.record_published(&state, &head, "witness", key.name().to_owned()).await?;
        Ok((head, cosigner))
    }

    /// The last head of a log that a witness cosigned.
    fn cosigned(&self, log: u64) -> Result<Option<Note>> {
        let Some(path) = self.tiles(log) else { return Ok(None) };
        let bytes = files::read_if_exists(&path.with_extension("cosigned"))?;
        bytes.as_deref().map(Note::parse).transpose()
    }

    /// Where the tiles of a log are kept.
    fn tiles(&self, log: u64) -> Option<PathBuf> {
        self.client.core.0.tiles.as_ref().map(|folder| folder.join(format!("log-{log}")))
    }

    /// Brings the tiles up to the newest leaf, and reads from them.
    fn with_tiles<T>(&self, state: &LogState, read: &mut dyn FnMut(&mut FolderTiles) -> Result<T>) -> Result<T> {
        let folder = self.tiles(state.log).ok_or_else(|| {
            Error::unavailable("no_tiles", "this store has no directory for the tiles of its audit log")
        })?;
        let stored = LogHead::decode(&state.state)?;
        let leaves = |from| self.leaves_from(state, from);
        let update = || export(&folder, &stored.note, &self.key_of(state.log)?, leaves, &mut |_| {});
        match update() {
            // Another process came first and has more.
            Err(error) if error.code() == "export_ahead" => {}
            // They are made of the leaves, and can be made again.
            Err(error) if matches!(error.code(), "export_damaged" | "other_export") => {
                files::remove_tree(&folder)?;
                update()?;
            }
            other => {
                other?;
            }
        }
        read(&mut FolderTiles::new(&folder))
    }

    fn leaves_from(&self, state: &LogState, from: u64) -> Leaves {
        Leaves { audit: self.clone(), log: state.log, next: from, end: state.size, page: Vec::new().into_iter() }
    }

    /// Refuses to publish a log that does not have what was published of it: this store is an older copy of itself.
    async fn check_published(&self, state: &LogState) -> Result<()> {
        let Some(published) = self.published()? else { return Ok(()) };
        let same = published.log == state.log;
        let last = published.head.size.saturating_sub(1);
        let has = !same
            || published.head.size == 0
            || (last < state.size && leaf_hash(&self.leaf(state, last).await?) == published.last_leaf);
        if has && published.log <= state.log {
            return Ok(());
        }
        Err(Error::conflict(
            "published_ahead",
            format!("a head of log {} with {} leaves was published, which this store does not have", published.log, published.head.size),
        )
        .hint("it is an older copy of itself: do any act, which begins another log that names that head, then publish again"))
    }

    /// Notes beside the master key that a head is about to leave the store.
    async fn publish(&self, state: &LogState, head: &TreeHead) -> Result<()> {
        let before = self.published()?;
        if before.is_some_and(|before| (before.log, before.head.size) >= (state.log, head.size)) {
            return Ok(());
        }
        let Some(last) = head.size.checked_sub(1) else { return Ok(()) };
        let last_leaf = leaf_hash(&self.leaf(state, last).await?);
        let published = Published { log: state.log, head: head.clone(), last_leaf };
        let keys = &self.client.core.0.keys;
        keys.master().store_note(&keys.name(), Published::NOTE, &published.encode()?)?;
        Ok(())
    }

    async fn record_published(&self, state: &LogState, head: &TreeHead, to: &str, name: String) -> Result<()> {
        let published = HeadPublished {
            log: state.log,
            origin: head.origin.clone(),
            size: head.size,
            root: head.root.to_string(),
            to: to.to_owned(),
            name,
        };
        let scribe = self.scribe()?;
        let draft = scribe.core.draft(EntryKind::HEAD_PUBLISHED, &published, Projection::default())?;
        let entry = scribe.core.seal(self.journal(), &scribe.author(0), draft)?;
        self.append(&scribe, entry).await
    }
}

/// Refuses what is no address of a witness, before anything is done.
fn check_address(url: &str) -> Result<()> {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_host = |host: &str| !host.is_empty() && !host.starts_with(['/', ':', '?', '#']);
    if host.is_some_and(is_host) && !url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Ok(());
    }
    let shown: String = url.chars().take(80).collect();
    Err(Error::invalid("bad_witness_address", format!("{shown:?} is no address of a witness"))
        .hint("write its submission prefix, such as https://witness.example"))
}

/// Leaves of a log in their order, read in pages while they are asked for.
struct Leaves {
    audit: Audit,
    log: u64,
    next: u64,
    end: u64,
    page: std::vec::IntoIter<Vec<u8>>,
}

impl Iterator for Leaves {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(leaf) = self.page.next() {
            return Some(Ok(leaf));
        }
        if self.next >= self.end {
            return None;
        }
        // The tiles are written by the calling thread, which waits for the disk in any case.
        match block_on(self.audit.page(self.log, self.next, self.end)) {
            Ok(page) => {
                self.next = self.next.saturating_add(page.len() as u64).max(self.next + 1);
                debug_assert!(page.len() <= PAGE, "a page has no more than was asked for");
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => {
                self.next = self.end;
                Some(Err(error))
            }
        }
    }
}
