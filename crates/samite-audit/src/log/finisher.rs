//! What makes leaves and signed heads inside the ledger's transaction.

use super::{LeafDraft, LogHead, Published, origin};
use crate::leaf::Word;
use crate::merkle::leaf_hash;
use crate::{Frontier, Leaf, Signer, TreeHead};
use samite_keys::{AuditKey, Keyring, KeystoreName};
use samite_ledger::{Finisher, Finishing, LeafReader, LogState, Placed};
use samite_model::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The tenant's key under a log's name.
pub struct SigningKey {
    key: Arc<AuditKey>,
    name: String,
}

impl SigningKey {
    /// The key under this origin.
    pub fn new(key: Arc<AuditKey>, origin: String) -> Self {
        Self { key, name: origin }
    }
}

impl Signer for SigningKey {
    fn name(&self) -> &str {
        &self.name
    }

    fn public_key(&self) -> [u8; 32] {
        self.key.public()
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64]> {
        Ok(self.key.sign(message))
    }
}

/// The audit log of one tenant, as its ledger's [`Finisher`].
///
/// A log that lacks what was published, because the store is an older copy of itself, is not gone on with: another begins,
/// whose first leaf names the published head.
pub struct LogFinisher {
    keys: Keyring,
    keystore: KeystoreName,
    key: OnceLock<Arc<AuditKey>>,
    published: Option<Published>,
    /// Whether the newest log was seen to have what was published: it stays so.
    has_published: AtomicBool,
}

impl LogFinisher {
    /// A finisher that signs with the tenant's key, and what was published last of the tenant's logs.
    pub fn new(keys: Keyring, published: Option<Published>) -> Self {
        let keystore = keys.name();
        Self { keys, keystore, key: OnceLock::new(), published, has_published: AtomicBool::new(false) }
    }

    fn key(&self) -> Result<Arc<AuditKey>> {
        if let Some(key) = self.key.get() {
            return Ok(key.clone());
        }
        let key = Arc::new(self.keys.audit_key()?);
        Ok(self.key.get_or_init(|| key).clone())
    }

    /// The log to go on with: its number and frontier, and the head that it takes the place of when it is new for that reason.
    fn choose(&self, current: Option<LogState>, leaf: LeafReader<'_>) -> Result<(u64, Frontier, Option<TreeHead>)> {
        if let Some(published) = &self.published
            && !self.has_published.load(Ordering::Relaxed)
        {
            if !has(published, current.as_ref(), leaf)? {
                let newest = current.map_or(0, |current| current.log).max(published.log);
                return Ok((newest.saturating_add(1), Frontier::new(), Some(published.head.clone())));
            }
            self.has_published.store(true, Ordering::Relaxed);
        }
        match current {
            Some(current) => {
                let state = LogHead::decode(&current.state)?;
                let (head, name) = (state.head()?, origin(&self.keystore, current.log));
                if (head.origin.as_str(), head.size) != (name.as_str(), current.size) {
                    return Err(Error::corrupt(
                        "bad_log_state",
                        format!("the state of the audit log {name} is another's"),
                    ));
                }
                Ok((current.log, state.frontier, None))
            }
            None => Ok((1, Frontier::new(), None)),
        }
    }
}

/// Whether the newest log has what was published, or is younger than the log that was.
fn has(published: &Published, current: Option<&LogState>, leaf: LeafReader<'_>) -> Result<bool> {
    let Some(current) = current else { return Ok(false) };
    if current.log != published.log {
        return Ok(current.log > published.log);
    }
    let Some(last) = published.head.size.checked_sub(1) else { return Ok(true) };
    // Leaves hold random ids: two copies that went on apart have no leaf in common.
    Ok(match leaf(current.log, last)? {
        Some(leaf) => leaf_hash(&leaf) == published.last_leaf,
        // What was archived was published by that: the note is older than the log, and not the log an older copy.
        None => last.saturating_add(1) < current.size && leaf(current.log, 0)?.is_none(),
    })
}

impl Finisher for LogFinisher {
    fn begin(&self, current: Option<LogState>, leaf: LeafReader<'_>) -> Result<Box<dyn Finishing>> {
        let (log, frontier, previous) = self.choose(current, leaf)?;
        let signer = SigningKey::new(self.key()?, origin(&self.keystore, log));
        Ok(Box::new(Group { log, frontier, previous, signer }))
    }
}

struct Group {
    log: u64,
    frontier: Frontier,
    /// For the first leaf of a log that another was lost for.
    previous: Option<TreeHead>,
    signer: SigningKey,
}

impl Finishing for Group {
    fn log(&self) -> u64 {
        self.log
    }

    fn leaf(&mut self, draft: &[u8], entry: &Placed<'_>) -> Result<Vec<u8>> {
        let draft = LeafDraft::decode(draft)?;
        let leaf = Leaf {
            act: Word::new(&entry.header.kind.name().replace('-', "_"))?,
            at: entry.header.time,
            journal: entry.journal,
            seq: entry.header.seq,
            entry: entry.header.id,
            link: entry.link,
            commitment: entry.header.commitment,
            actor: draft.actor,
            owner: draft.owner,
            policy: draft.policy,
            consent: draft.consent,
            anchors: draft.anchors,
            previous: self.previous.take(),
            extra: Vec::new(),
        };
        let bytes = leaf.encode()?;
        self.frontier.push(leaf_hash(&bytes));
        Ok(bytes)
    }

    fn finish(self: Box<Self>) -> Result<LogState> {
        let head = TreeHead::of(self.signer.name(), &self.frontier)?;
        let note = head.sign(&self.signer)?;
        let state = LogHead { frontier: self.frontier, note };
        if state.frontier.size() == 0 {
            return Err(Error::internal("empty_group", "a group of leaves has none"));
        }
        Ok(LogState { log: self.log, size: state.frontier.size(), state: state.encode() })
    }
}
