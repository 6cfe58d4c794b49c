//! Reading the log.

use super::Audit;
use super::names::{Named, Names};
use crate::log::Entry;
use samite_audit::merkle::leaf_hash;
use samite_audit::{Hash, Leaf, VerifierKey};
use samite_ledger::{JournalFilter, JournalKind, Read};
use samite_model::{EntryKind, Error, ErrorKind, JournalId, Position, Result, SessionId, user_name};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// How many leaves are read at a time.
pub(super) const PAGE: usize = 1024;

/// Kinds of acts that say one thing or take it back: which field says so, with which value (what is missing is false, what is there
/// and no boolean is true), and the word for it.
const UNDONE: [(EntryKind, &str, bool, &str); 4] = [
    (EntryKind::PROCESSOR_SET, "removed", true, "removed"),
    (EntryKind::TRANSFER_DECIDED, "withdrawn", true, "withdrawn"),
    (EntryKind::SECRET_REGISTERED, "secret", false, "forgotten"),
    (EntryKind::CONSENT_SET, "given", false, "refused"),
];

/// One of the tenant's logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInfo {
    /// Its number.
    pub log: u64,
    /// Its origin, which is the name of its key.
    pub origin: String,
    /// How many leaves it has.
    pub size: u64,
    /// The root of its tree.
    pub root: Hash,
    /// The index of the first leaf that is in the store: those before it were moved to an archive.
    pub minimum: u64,
    /// What to verify it with.
    pub key: VerifierKey,
}

/// Which leaves to read.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// The log's number; none means the newest.
    pub log: Option<u64>,
    /// The first index.
    pub from: u64,
    /// The index after the last; none means the size of the log.
    pub to: Option<u64>,
    /// Only these acts.
    pub acts: Vec<String>,
    /// Only acts on this session, and what was decided of it: holds, consents, erasures.
    pub session: Option<SessionId>,
    /// Only acts by this person, written as NAME or `user:NAME`.
    pub user: Option<String>,
    /// The newest so many of those that match; none means all.
    pub last: Option<usize>,
}

/// A leaf, with what the keys and journals of the store know of it.
#[derive(Clone, Debug)]
pub struct AuditedAct {
    /// The log's number.
    pub log: u64,
    /// The leaf's index there.
    pub index: u64,
    /// Its hash.
    pub hash: Hash,
    /// What it says.
    pub leaf: Leaf,
    /// The session that it is about, if it is about one.
    pub session: Option<SessionId>,
    /// What its journal is for; none when it is not there.
    pub kind: Option<JournalKind>,
    /// That it took something back: a word, where its entry says so and is still there.
    pub undone: Option<&'static str>,
    /// Who did it.
    pub actor: Named,
    /// Whose data it is about (`tenant` for the tenant's own); none when they were erased.
    pub owner: Option<String>,
}

/// What is known of a journal that leaves name.
type Journals = HashMap<JournalId, (JournalKind, SessionId)>;

impl Audit {
    /// All logs of the tenant, oldest first. Mostly there is one.
    ///
    /// # Errors
    /// `corrupt` when a log's state is damaged, or its head is not signed by the tenant's key.
    pub async fn logs(&self) -> Result<Vec<LogInfo>> {
        let ledger = &self.client.core.0.ledger;
        let newest = ledger.audit_log(None).await?.map_or(0, |state| state.log);
        let mut logs = Vec::new();
        for log in 1..=newest {
            let Some(state) = ledger.audit_log(Some(log)).await? else { continue };
            let (head, _) = self.head(&state)?;
            let (key, minimum) = (self.key_of(log)?, self.minimum(log).await?);
            logs.push(LogInfo { log, origin: head.origin, size: head.size, root: head.root, minimum, key });
        }
        Ok(logs)
    }

    /// The leaves that match, oldest first.
    ///
    /// # Errors
    /// `not_found` (`no_audit_log`); `corrupt` naming a leaf that cannot be read.
    pub async fn read(&self, query: &AuditQuery) -> Result<Vec<AuditedAct>> {
        let state = self.state(query.log).await?;
        let (names, journals) = (self.names().await?, self.journals().await?);
        let user = query.user.as_deref().map(user_name).transpose()?.map(|name| format!("user:{name}"));
        let to = query.to.unwrap_or(u64::MAX).min(state.size);
        let mut found: Vec<AuditedAct> = Vec::new();
        let mut about: Vec<String> = query.session.iter().map(ToString::to_string).collect();
        let mut from = query.from.max(self.minimum(state.log).await?);
        while from < to {
            let (first, page) = self.page_on(state.log, from, to).await?;
            from = first;
            for (index, bytes) in (from..).zip(&page) {
                let act = known(state.log, index, bytes, &names, &journals)?;
                let fits = (query.acts.is_empty() || query.acts.iter().any(|act_| act_ == act.leaf.act.as_str()))
                    && user.as_ref().is_none_or(|user| act.actor.user.as_ref() == Some(user));
                let of_session = query.session.is_none_or(|session| act.session == Some(session));
                if fits && (of_session || self.is_about(&act, &mut about).await?) {
                    found.push(act);
                }
            }
            from += page.len() as u64;
            if let Some(last) = query.last
                && found.len() > last.saturating_add(PAGE)
            {
                found.drain(..found.len() - last);
            }
        }
        if let Some(last) = query.last {
            found.drain(..found.len().saturating_sub(last));
        }
        for act in &mut found {
            act.undone = self.undone(act).await?;
        }
        Ok(found)
    }

    /// Whether an act of a kind that says both takes something back.
    async fn undone(&self, act: &AuditedAct) -> Result<Option<&'static str>> {
        let Some((_, field, undoes, word)) = UNDONE.iter().find(|(kind, ..)| kind.name() == act.leaf.act.as_str())
        else {
            return Ok(None);
        };
        let said = self.said(act).await?.and_then(|payload| serde_json::from_slice::<Value>(&payload).ok());
        Ok(said
            .filter(|said| said.get(field).and_then(Value::as_bool).unwrap_or(said.get(field).is_some()) == *undoes)
            .map(|_| *word))
    }

    /// What an act's entry says, while it is there.
    async fn said(&self, act: &AuditedAct) -> Result<Option<Vec<u8>>> {
        let core = &self.client.core;
        match core.entry_at(Position { journal: act.leaf.journal, seq: act.leaf.seq }).await {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => Ok(None),
            entry => Ok(core.whole(entry?)?.payload),
        }
    }

    /// Whether an act of the tenant says something of a session: a hold, a consent, an erasure. `about` has the session's id, and
    /// gets those of its erasures.
    async fn is_about(&self, act: &AuditedAct, about: &mut Vec<String>) -> Result<bool> {
        if act.kind != Some(JournalKind::TenantControl) {
            return Ok(false);
        }
        let Some(payload) = self.said(act).await? else { return Ok(false) };
        let text = String::from_utf8_lossy(&payload);
        if !about.iter().any(|id| text.contains(id.as_str())) {
            return Ok(false);
        }
        let said: Value = serde_json::from_slice(&payload).unwrap_or_default();
        about.extend(said.get("erasure").and_then(Value::as_str).map(str::to_owned));
        Ok(true)
    }

    /// One act, with its entry where that is still there. That an entry of another person is shown is recorded before.
    ///
    /// # Errors
    /// `not_found` (`no_leaf`) beyond the log's end; `unavailable` (`reads_unrecorded`) for another person's entry where that cannot
    /// be recorded; as [`Audit::read`].
    pub async fn show(&self, log: Option<u64>, index: u64) -> Result<(AuditedAct, Option<Entry>)> {
        let state = self.state(log).await?;
        let bytes = self.leaf(&state, index).await?;
        let mut act = known(state.log, index, &bytes, &self.names().await?, &self.journals().await?)?;
        act.undone = self.undone(&act).await?;
        let (journal, seq) = (act.leaf.journal, act.leaf.seq);
        let core = &self.client.core;
        let stored = match core.0.ledger.read(Read::range(journal, seq, seq)).await {
            Ok(entries) => entries.into_iter().next(),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => None,
            Err(error) => return Err(error),
        };
        if let Some(stored) = &stored {
            self.client.record_look(journal, stored).await?;
        }
        let entry = stored.map(|stored| core.open(journal, &stored)).transpose()?;
        let link = act.leaf.link;
        Ok((act, entry.filter(|entry| entry.link == link)))
    }

    /// The bytes of a leaf that must be there: in the store, or where it was moved to.
    pub(super) async fn leaf(&self, state: &samite_ledger::LogState, index: u64) -> Result<Vec<u8>> {
        let (log, size) = (state.log, state.size);
        if index >= size {
            let what = format!("log {log} has {size} leaves, and none with the index {index}");
            return Err(Error::not_found("no_leaf", what).hint("`samite audit log` shows them with their indices"));
        }
        if let Some(found) = self.client.core.0.ledger.leaves(log, index, 1).await?.pop() {
            return Ok(found);
        }
        // What was moved is looked up after that: others may have moved it just now.
        let cold = self.cold(log).await?;
        if index < cold.minimum() { cold.leaf(index) } else { Err(missing(log, index)) }
    }

    /// A page of leaves that must be in the store: at least one. Those that were moved, perhaps just now, are `leaf_archived`.
    pub(super) async fn page(&self, log: u64, from: u64, to: u64) -> Result<Vec<Vec<u8>>> {
        let most = usize::try_from(to.saturating_sub(from)).unwrap_or(PAGE).min(PAGE);
        let page = self.client.core.0.ledger.leaves(log, from, most).await?;
        if page.len() >= most {
            return Ok(page);
        }
        if page.is_empty() && from < self.minimum(log).await? {
            return Err(self.cold(log).await?.gone(from));
        }
        Err(missing(log, from + page.len() as u64))
    }

    /// A page of leaves from an index on, or from the first one in the store where others moved it meanwhile; and the index of the
    /// first one of it. It is empty when none before `to` is left.
    pub(super) async fn page_on(&self, log: u64, from: u64, to: u64) -> Result<(u64, Vec<Vec<u8>>)> {
        let mut from = from;
        while from < to {
            match self.page(log, from, to).await {
                Err(error) if error.code() == "leaf_archived" => from = self.minimum(log).await?.max(from + 1),
                page => return Ok((from, page?)),
            }
        }
        Ok((from, Vec::new()))
    }

    async fn journals(&self) -> Result<Journals> {
        let all = self.client.core.0.ledger.journals(JournalFilter::default()).await?;
        Ok(all.into_iter().map(|state| (state.id, (state.kind, state.family))).collect())
    }

    /// The journals of a kind that belongs to a session.
    pub(super) fn of_sessions() -> HashSet<u16> {
        [JournalKind::Branch, JournalKind::SessionControl].into_iter().map(JournalKind::code).collect()
    }
}

fn missing(log: u64, index: u64) -> Error {
    Error::corrupt("missing_leaf", format!("leaf {index} of log {log} is not there"))
        .hint("run `samite audit verify`, and restore a backup")
}

fn known(log: u64, index: u64, bytes: &[u8], names: &Names, journals: &Journals) -> Result<AuditedAct> {
    let leaf = Leaf::parse(bytes).map_err(|error| error.context(format!("log {log}, leaf {index}")))?;
    let journal = journals.get(&leaf.journal);
    let session = journal.filter(|(kind, _)| Audit::of_sessions().contains(&kind.code())).map(|(_, family)| *family);
    Ok(AuditedAct {
        log,
        index,
        hash: leaf_hash(bytes),
        session,
        kind: journal.map(|(kind, _)| *kind),
        undone: None,
        actor: names.of(&leaf.actor),
        owner: names.name(leaf.owner),
        leaf,
    })
}
