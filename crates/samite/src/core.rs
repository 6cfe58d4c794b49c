//! What every part of the fabric works with: the backends of one tenant, and the small acts that all of them share.

use crate::access::{Policies, Registry};
use crate::client::Client;
use crate::in_force::{Flagged, InForce};
use crate::log::Entry;
use crate::views::{self, IndexHash, Projection};
use samite_audit::leaf::{Actor, Anchor};
use samite_audit::log::LeafDraft;
use samite_blocks::PackStore;
use samite_host::{Clock, Random};
use samite_keys::{Body, Keyring, SealedPayload, Subject};
use samite_ledger::{BlockIndex, Commit, JournalState, Ledger, NewEntry, StoredEntry};
use samite_model::audit::{Coverage, WrittenBy, coverage};
use samite_model::hash::CommitmentHasher;
use samite_model::{
    EntryId, EntryKind, Error, FamilyId, Header, JournalId, Position, Principal, Pseudonym, Result, limits,
};
use samite_workspace::{read_payload, store_payload};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The backends that a store stands on; an embedded store makes them from a directory.
#[derive(Clone)]
pub struct Backends {
    /// The tenant's journals.
    pub ledger: Arc<dyn Ledger>,
    /// The tenant's blocks.
    pub blocks: Arc<dyn BlockIndex>,
    /// Where the tenant's packs are.
    pub packs: Arc<dyn PackStore>,
    /// The tenant's keys.
    pub keys: Keyring,
    /// The store's directory, which no snapshot takes in; none when the store is not in one.
    pub directory: Option<PathBuf>,
    /// Whether the ledger was opened with a finisher: acts then have their leaves in the audit log.
    pub logged: bool,
    /// Where the tiles of the audit log may lie; none means that no receipt can be made.
    pub tiles: Option<PathBuf>,
    /// Where stat caches may lie; none means that every file is read each time.
    pub caches: Option<PathBuf>,
    /// Where the vectors of records of long-term memory may lie, sealed; none means that they are made again each time.
    pub memory: Option<PathBuf>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
}

/// One tenant's durable state.
#[derive(Clone)]
pub struct Store {
    pub(crate) core: Arc<Core>,
    pub(crate) policies: Option<Arc<dyn Policies>>,
    /// What was read of others and is not recorded yet.
    pub(crate) reads: Arc<Registry>,
}

impl Store {
    /// A store over these backends.
    pub fn new(backends: Backends) -> Self {
        Self { core: Core::of(backends), policies: None, reads: Arc::default() }
    }

    /// The store under an organisation's policies, which are asked at each act of every client that is made of it from now on.
    #[must_use]
    pub fn under(mut self, policies: Arc<dyn Policies>) -> Self {
        self.policies = Some(policies);
        self
    }

    /// The store where time passes otherwise than by the system's clock: what clients that are made of it from now on read of
    /// others is recorded once `pause`, called on a thread of its own, returns.
    #[must_use]
    pub fn gathering(mut self, pause: Arc<dyn Fn(Duration) + Send + Sync>) -> Self {
        self.reads = Arc::new(Registry::with_pause(pause));
        self
    }

    /// Records what clients of this store read of others. When this returns, it is durable.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written.
    pub async fn record_reads(&self) -> Result<()> {
        self.reads.record().await
    }

    /// The store as one principal sees it. A principal seen for the first time is recorded.
    ///
    /// # Errors
    /// `denied` when the principal is incomplete or of another tenant.
    pub async fn client(&self, principal: Principal) -> Result<Client> {
        self.core.refresh().await?;
        let client = Client::new(self, principal, true)?;
        client.record_principal().await?;
        Ok(client)
    }

    /// The store as one principal sees it, without recording a new principal: for a store that is only read. What is another's
    /// cannot be read with it, since that is recorded.
    ///
    /// # Errors
    /// As [`Store::client`].
    pub fn reader(&self, principal: Principal) -> Result<Client> {
        Client::new(self, principal, false)
    }
}

/// A payload in blocks of up to so many bytes is read with its entry: 64 MiB.
const LOADED: u64 = 64 << 20;

/// The backends, with what the fabric does to them everywhere, and what is kept ready of them.
pub(crate) struct Core(pub(crate) Backends, pub(crate) InForce, pub(crate) Arc<crate::memory::Cache>);

/// An entry about to be written.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) id: EntryId,
    pub(crate) kind: EntryKind,
    pub(crate) payload: Vec<u8>,
    pub(crate) views: Projection,
}

impl Draft {
    /// Whether the payload goes to blocks.
    pub(crate) fn is_large(&self) -> bool {
        self.payload.len() as u64 > limits::INLINE_PAYLOAD
    }
}

/// Who writes an entry, in which epoch, about whom.
#[derive(Clone, Copy)]
pub(crate) struct Author {
    pub(crate) subject: Subject,
    pub(crate) actor: Pseudonym,
    /// Who writes, as the audit log names them.
    pub(crate) named: Actor,
    /// Whether the subject is their user.
    pub(crate) by: WrittenBy,
    pub(crate) epoch: u64,
}

/// A part of an ancestry: one journal's own entries from `from` to `to`.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) journal: JournalId,
    pub(crate) owner: Pseudonym,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Core {
    /// The whole tenant over these backends, whose acts carry what is in force.
    fn of(backends: Backends) -> Arc<Self> {
        let in_force = InForce::new(backends.clone());
        let kept = Arc::<crate::memory::Cache>::default();
        let flagged = Flagged::new(Self(backends.clone(), in_force.clone(), kept.clone()));
        Arc::new(Self(Backends { ledger: Arc::new(flagged), ..backends }, in_force, kept))
    }

    pub(crate) fn now(&self) -> i64 {
        self.0.clock.now()
    }

    pub(crate) fn random_id(&self) -> Result<[u8; 16]> {
        let mut id = [0; 16];
        self.0.random.fill(&mut id)?;
        Ok(id)
    }

    pub(crate) fn entry_id(&self) -> Result<EntryId> {
        self.random_id().map(EntryId)
    }

    /// A draft of one of samite's own entries.
    pub(crate) fn draft(&self, kind: EntryKind, payload: &impl Serialize, views: Projection) -> Result<Draft> {
        Ok(Draft { id: self.entry_id()?, kind, payload: to_json(payload)?, views })
    }

    /// Seals a draft for a journal, redacted as the tenant's policy says: nothing is sealed but here and in
    /// [`Core::seal_into`].
    pub(crate) fn seal(&self, journal: JournalId, author: &Author, draft: Draft) -> Result<NewEntry> {
        self.seal_redacted(journal, author, self.redacted(journal, author, draft)?)
    }

    /// A draft as the tenant's policy lets it be stored.
    fn redacted(&self, journal: JournalId, author: &Author, draft: Draft) -> Result<Draft> {
        let mut draft = self.redacted_draft(author.subject.pseudonym, journal, draft)?;
        if crate::redaction::is_marked(draft.kind, &draft.payload)? {
            draft.views.rows.push(views::found());
        }
        Ok(draft)
    }

    fn seal_redacted(&self, journal: JournalId, author: &Author, draft: Draft) -> Result<NewEntry> {
        limits::check_payload(draft.payload.len() as u64)?;
        let sealed = self.0.keys.seal_payload(author.subject.pseudonym, journal, draft.id, &draft.payload)?;
        self.new_entry(author, draft, sealed)
    }

    /// Seals a draft for a journal; a payload that is too large for it goes to blocks, which become part of the commit.
    pub(crate) fn seal_into(
        &self,
        journal: JournalId,
        author: &Author,
        draft: Draft,
        commit: &mut Commit,
    ) -> Result<NewEntry> {
        let mut draft = self.redacted(journal, author, draft)?;
        if !draft.is_large() {
            return self.seal_redacted(journal, author, draft);
        }
        limits::check_payload(draft.payload.len() as u64)?;
        let owner = author.subject.pseudonym;
        let mut salt = [0; 32];
        self.0.random.fill(&mut salt)?;
        let mut hasher = CommitmentHasher::new(&salt);
        let stored =
            store_payload(&self.blocks(), owner, &mut draft.payload.as_slice(), &mut |bytes| hasher.update(bytes))?;
        let sealed = self.0.keys.seal_block_list(
            owner,
            journal,
            draft.id,
            &salt,
            hasher.finish(),
            stored.length,
            &stored.blocks,
        )?;
        stored.parts.add_to(commit);
        draft.views.rows.push(views::large_payload());
        self.new_entry(author, draft, sealed)
    }

    fn new_entry(&self, author: &Author, draft: Draft, sealed: SealedPayload) -> Result<NewEntry> {
        let is_act = self.0.logged && coverage(draft.kind, author.by) == Coverage::Leaf;
        let leaf = if is_act { Some(self.leaf(author, Vec::new())?) } else { None };
        Ok(NewEntry {
            id: draft.id,
            kind: draft.kind,
            epoch: author.epoch,
            time: self.now(),
            actor: author.actor,
            owner: author.subject.pseudonym,
            key: sealed.key,
            length: sealed.length,
            commitment: sealed.commitment,
            payload: sealed.bytes,
            rows: draft.views.rows,
            registers: draft.views.registers,
            leaf,
        })
    }

    /// What the audit log is to say of an entry besides where it is; what is in force comes to it with the commit.
    pub(crate) fn leaf(&self, author: &Author, anchors: Vec<Anchor>) -> Result<Vec<u8>> {
        let owner = self.0.keys.audit_person(author.subject.pseudonym)?;
        let (policy, consent) = (BTreeSet::new(), BTreeSet::new());
        Ok(LeafDraft { actor: author.named, owner, policy, consent, anchors }.encode())
    }

    /// Opens a stored entry.
    pub(crate) fn open(&self, journal: JournalId, stored: &StoredEntry) -> Result<Entry> {
        let header = Header::decode(&stored.header)
            .map_err(|error| error.context(format!("journal {journal}, seq {}", stored.seq)))?;
        let name = |error: Error| error.context(format!("journal {journal}, seq {}", stored.seq));
        let mut blocks = Vec::new();
        let payload = match &stored.payload {
            Some(sealed) => match self.0.keys.open_payload(&header, journal, sealed).map(|opened| opened.body) {
                // An erased owner's payload is as good as gone.
                Err(error) if error.code() == "key_destroyed" => None,
                Err(error) => return Err(name(error)),
                Ok(Body::Inline(payload)) => Some(payload),
                Ok(Body::Blocks(list)) => {
                    blocks = list;
                    if header.length <= LOADED {
                        let mut bytes = Vec::new();
                        read_payload(&self.blocks(), header.owner, &blocks, &mut bytes).map_err(name)?;
                        Some(bytes)
                    } else {
                        None
                    }
                }
            },
            None => None,
        };
        Ok(Entry { position: Position { journal, seq: stored.seq }, header, link: stored.link, payload, blocks })
    }

    /// An entry with its payload, however large that is; without one only when it was erased.
    pub(crate) fn whole(&self, mut entry: Entry) -> Result<Entry> {
        if entry.payload.is_none() && !entry.blocks.is_empty() {
            let mut bytes = Vec::new();
            read_payload(&self.blocks(), entry.header.owner, &entry.blocks, &mut bytes)?;
            entry.payload = Some(bytes);
        }
        Ok(entry)
    }

    /// The payload of an entry with the salt of its commitment, to be shown to whoever is to check it.
    pub(crate) async fn revealed(&self, journal: JournalId, seq: u64) -> Result<([u8; 32], Vec<u8>)> {
        let entry = self.whole(self.entry_at(Position { journal, seq }).await?)?;
        let stored = self.0.ledger.read(samite_ledger::Read::range(journal, seq, seq)).await?;
        let sealed = stored.into_iter().next().and_then(|stored| stored.payload);
        match (sealed, entry.payload) {
            (Some(sealed), Some(payload)) => {
                Ok((self.0.keys.open_payload(&entry.header, journal, &sealed)?.salt, payload))
            }
            _ => Err(Error::not_found("erased", format!("the payload of journal {journal}, seq {seq} was erased"))),
        }
    }

    /// Hashes strings for one subject within one family.
    pub(crate) fn hasher(&self, subject: Pseudonym, family: FamilyId) -> FamilyHash<'_> {
        FamilyHash { keys: &self.0.keys, subject, family }
    }

    /// The state of a journal that must exist.
    pub(crate) async fn journal(&self, journal: JournalId) -> Result<JournalState> {
        self.0.ledger.journal(journal).await?.ok_or_else(|| no_journal(journal))
    }

    /// The segments of a position's ancestry, oldest first.
    pub(crate) async fn ancestry(&self, position: Position) -> Result<Vec<Segment>> {
        let mut segments = Vec::new();
        let mut next = Some(position);
        while let Some(at) = next {
            let state = self.journal(at.journal).await?;
            let first = state.parent.map_or(1, |parent| parent.seq + 1);
            if at.seq > state.head {
                return Err(Error::not_found(
                    "no_position",
                    format!("journal {} ends at seq {}, before {}", at.journal, state.head, at.seq),
                ));
            }
            if at.seq >= first {
                segments.push(Segment { journal: at.journal, owner: state.owner, from: first, to: at.seq });
            }
            next = state.parent.map(|parent| Position { seq: parent.seq.min(at.seq), ..parent });
        }
        segments.reverse();
        Ok(segments)
    }

    /// The entry at a position, which may be inherited.
    pub(crate) async fn entry_at(&self, position: Position) -> Result<Entry> {
        let stored = self
            .0
            .ledger
            .read(samite_ledger::Read::range(position.journal, position.seq, position.seq))
            .await?
            .into_iter()
            .next()
            .ok_or_else(|| {
                Error::corrupt("missing_entry", format!("journal {} has no entry {}", position.journal, position.seq))
                    .hint("run `samite verify`")
            })?;
        self.open(position.journal, &stored)
    }
}

/// What is said of a journal that is not there, or not this principal's to see.
pub(crate) fn no_journal(journal: JournalId) -> Error {
    Error::not_found("no_journal", format!("there is no journal {journal}"))
        .hint("`samite session list` and `samite branch list SESSION` show what there is")
}

/// Hashes callers' strings under a subject's index key, apart for each family.
pub(crate) struct FamilyHash<'a> {
    keys: &'a Keyring,
    subject: Pseudonym,
    family: FamilyId,
}

impl IndexHash for FamilyHash<'_> {
    fn hash(&self, domain: &'static str, bytes: &[&[u8]]) -> Result<[u8; 16]> {
        let mut input = Vec::with_capacity(16 + bytes.iter().map(|part| part.len()).sum::<usize>());
        input.extend_from_slice(self.family.as_bytes());
        for part in bytes {
            input.extend_from_slice(part);
        }
        self.keys.index_hash(self.subject, domain, &input)
    }
}

pub(crate) fn to_json(payload: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(payload)
        .map_err(|error| Error::internal("unserialisable", "an entry's payload is not JSON").because(error))
}

pub(crate) fn to_value(payload: &impl Serialize) -> Result<serde_json::Value> {
    serde_json::to_value(payload)
        .map_err(|error| Error::internal("unserialisable", "an entry's payload is not JSON").because(error))
}

pub(crate) fn from_json<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::corrupt("bad_payload", format!("{what} does not hold what its kind says")).because(error)
    })
}
