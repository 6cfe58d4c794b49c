//! Retention: how long sessions, artifacts and records of long-term memory are kept, what is due, and erasing that.

use super::{ROUNDS, contended, views};
use crate::artifact::ArtifactFilter;
use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::erasure::{EraseOptions, EraseWhat, Why, keeps, keeps_owner};
use crate::memory::{Namespace, Standing};
use crate::payload::RetentionSet;
use crate::views::register;
use samite_ledger::{JournalFilter, Read};
use samite_model::artifact::Kept;
use samite_model::erasure::Hold;
use samite_model::policy::retention::{Retained, is_due};
use samite_model::{
    ArtifactId, EntryKind, Error, FamilyId, Header, Observer, Pseudonym, RecordId, Result, SessionId, limits,
};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Something whose time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// What it is.
    pub kind: Retained,
    /// Whose it is.
    pub owner: Pseudonym,
    /// The session, or the one in which the artifact was made; none for records.
    pub session: Option<SessionId>,
    /// The artifact.
    pub artifact: Option<ArtifactId>,
    /// The namespace of records.
    pub namespace: Option<Namespace>,
    /// Those of its records that are due, in the order in which they came.
    pub records: Vec<RecordId>,
    /// Since when it was not touched, in nanoseconds since 1970; of records, the oldest of them.
    pub since: i64,
    /// Whether a legal hold keeps it.
    pub held: bool,
    /// The erasure that took it.
    pub erasure: Option<FamilyId>,
}

/// How long the audit log is kept in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRetention {
    /// For how many days.
    pub days: u32,
    /// Where older leaves go; none leaves them in the store.
    pub archive: Option<PathBuf>,
}

impl Due {
    /// One that is a whole namespace's, or nothing's yet.
    fn new(kind: Retained, owner: Pseudonym, since: i64, held: bool) -> Self {
        let (session, artifact, namespace) = (None, None, None);
        Self { kind, owner, session, artifact, namespace, records: Vec::new(), since, held, erasure: None }
    }

    /// What an erasure of it is of.
    fn what(&self) -> Option<EraseWhat> {
        match (&self.namespace, self.artifact, self.session) {
            (Some(namespace), ..) => {
                Some(EraseWhat::Records { namespace: namespace.clone(), records: self.records.clone() })
            }
            (None, Some(artifact), _) => Some(EraseWhat::Artifact(artifact)),
            (None, None, session) => session.map(EraseWhat::Session),
        }
    }
}

impl Core {
    async fn retentions(&self) -> Result<BTreeMap<Retained, u32>> {
        let (_, registers) = self.decided_registers().await?;
        let mut found = BTreeMap::new();
        for entry in self.standing(&registers, register::RETENTION).await? {
            let set: RetentionSet = entry.json()?;
            if let (Some(kind), Some(days)) = (Retained::from_name(&set.kind), set.days) {
                found.insert(kind, days);
            }
        }
        Ok(found)
    }
}

impl Client {
    /// How many days kinds of things are kept; what is not in it is kept for ever.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when an entry cannot be read.
    pub async fn retentions(&self) -> Result<BTreeMap<Retained, u32>> {
        let this = &self.operator().await?;
        this.core.retentions().await
    }

    /// How long the audit log is kept in the store, if that was decided.
    ///
    /// # Errors
    /// As [`Client::retentions`].
    pub async fn audit_retention(&self) -> Result<Option<AuditRetention>> {
        let this = &self.operator().await?;
        let (_, registers) = this.core.decided_registers().await?;
        for entry in this.core.standing(&registers, register::RETENTION).await? {
            let set: RetentionSet = entry.json()?;
            if let (Some(Retained::Audit), Some(days)) = (Retained::from_name(&set.kind), set.days) {
                return Ok(Some(AuditRetention { days, archive: set.archive.map(PathBuf::from) }));
            }
        }
        Ok(None)
    }

    /// Decides how many days a kind of things is kept; none is for ever. Nothing goes by that alone. When this returns, it is
    /// durable.
    ///
    /// # Errors
    /// `invalid` (`below_floor`) for an audit log that is kept for less than 183 days.
    pub async fn set_retention(&self, kind: Retained, days: Option<u32>) -> Result<()> {
        self.decide_retention(RetentionSet { kind: kind.name().to_owned(), days, archive: None }).await
    }

    /// Decides how many days the audit log is kept in the store, and where older leaves are moved to when that is
    /// [applied](crate::audit::Audit::apply_retention). The folder is made where the directory above it is there, and gets a mark, by
    /// which it is known later. When this returns, it is durable.
    ///
    /// # Errors
    /// `invalid`: `below_floor` for less than 183 days, `bad_archive` for a folder that is relative or no text, `inside_store` for one
    /// in the store; `not_found` (`archive_missing`) where there is no directory above it; `conflict` (`other_archive`) for the archive
    /// of another store.
    pub async fn set_audit_retention(&self, days: u32, archive: &Path) -> Result<()> {
        let folder = archive.to_str().filter(|_| archive.is_absolute()).ok_or_else(|| {
            Error::invalid("bad_archive", format!("{} is no absolute path in UTF-8", archive.display()))
                .hint("name the archive's folder from the root on")
        })?;
        limits::check_name("an archive's folder", folder)?;
        Retained::Audit.check(days)?;
        self.operator().await?.audit().mark_archive(archive)?;
        let set = RetentionSet {
            kind: Retained::Audit.name().to_owned(),
            days: Some(days),
            archive: Some(folder.to_owned()),
        };
        self.decide_retention(set).await
    }

    async fn decide_retention(&self, set: RetentionSet) -> Result<()> {
        let this = &self.operator().await?;
        let kind = Retained::from_name(&set.kind);
        set.days.zip(kind).map_or(Ok(()), |(days, kind)| kind.check(days))?;
        for _ in 0..ROUNDS {
            let (version, _) = this.core.decided_registers().await?;
            let draft = this.core.draft(EntryKind::RETENTION_SET, &set, views::retention_set(&set))?;
            if this.decide_as_tenant(draft, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// What is due by a time (ns since 1970; none is now), of all persons of the tenant: sessions of which no branch was written
    /// to for so long, artifacts that were published so long ago and for which, and for whose type, nothing was decided, and
    /// records that were last said so long ago, as was everything that was made of them: those of a namespace together, and those
    /// that a hold keeps apart from the others.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when something cannot be read.
    pub async fn retention_due(&self, by: Option<i64>) -> Result<Vec<Due>> {
        let by = by.unwrap_or_else(|| self.core.now());
        let operator = self.operator().await?.core;
        let retentions = operator.retentions().await?;
        let holds = operator.holds().await?;
        let mut due = Vec::new();
        for person in self.for_each_person().await? {
            person.due_of(by, &retentions, &holds, &mut due).await?;
        }
        // Artifacts first: those of a session that is due as well have proofs of their own.
        due.sort_by_key(|one| one.kind != Retained::Artifact);
        Ok(due)
    }

    /// What is due of the person that this client acts for.
    async fn due_of(
        &self,
        by: i64,
        retentions: &BTreeMap<Retained, u32>,
        holds: &[Hold],
        due: &mut Vec<Due>,
    ) -> Result<()> {
        let owner = self.subject.pseudonym;
        let held = |session| keeps(holds, owner, session);
        if let Some(days) = retentions.get(&Retained::Artifact) {
            let all = ArtifactFilter { all_versions: true, ..ArtifactFilter::default() };
            for artifact in self.artifacts(&all).await? {
                let (record, session) = (&artifact.record, artifact.record.lineage.session);
                if !artifact.collected && artifact.kept == Kept::NoPolicy && is_due(record.published, *days, by) {
                    let (session, artifact) = (Some(session), Some(record.artifact));
                    let one = Due::new(Retained::Artifact, owner, record.published, held(record.lineage.session));
                    due.push(Due { session, artifact, ..one });
                }
            }
        }
        if let Some(days) = retentions.get(&Retained::Session) {
            for session in self.sessions().await? {
                // One that cannot be read is named by a verification, and not taken.
                let Ok(session) = session else { continue };
                let since = self.last_touched(session.id, session.created_at).await?;
                if is_due(since, *days, by) {
                    let one = Due::new(Retained::Session, owner, since, held(session.id));
                    due.push(Due { session: Some(session.id), ..one });
                }
            }
        }
        if let Some(days) = retentions.get(&Retained::Memory) {
            for (namespace, _) in self.memory_namespaces().await? {
                let standings = self.memory(namespace.clone()).standings(None).await?;
                let kept = |session: Option<SessionId>| session.map_or_else(|| keeps_owner(holds, owner), held);
                let ages = ages(standings.all(), kept);
                for held in [false, true] {
                    let mut one = Due::new(Retained::Memory, owner, i64::MAX, held);
                    for age in ages.iter().filter(|age| age.held == held && is_due(age.since, *days, by)) {
                        one.since = one.since.min(age.since);
                        one.records.push(age.record);
                    }
                    if !one.records.is_empty() {
                        due.push(Due { namespace: Some(namespace.clone()), ..one });
                    }
                }
            }
        }
        Ok(())
    }

    /// When something was last written to a session.
    async fn last_touched(&self, session: SessionId, created: i64) -> Result<i64> {
        let ledger = &self.core.0.ledger;
        let mut last = created;
        for state in ledger.journals(JournalFilter { family: Some(session), ..JournalFilter::default() }).await? {
            let read = Read { payloads: false, ..Read::range(state.id, state.head, state.head) };
            for stored in ledger.read(read).await? {
                last = last.max(Header::decode(&stored.header)?.time);
            }
        }
        Ok(last)
    }
}

/// How old a record is, and whether a hold keeps it.
struct Age {
    record: RecordId,
    since: i64,
    held: bool,
}

/// How old records are: as young as the last time that each was said, and as what was made of it, which would go with it. A hold on
/// that keeps it too.
fn ages(all: &[Standing], is_held: impl Fn(Option<SessionId>) -> bool) -> Vec<Age> {
    let mut places = HashMap::new();
    let mut ages = Vec::with_capacity(all.len());
    for (place, standing) in all.iter().enumerate() {
        let mut age = Age { record: standing.record.record, since: i64::MIN, held: false };
        places.insert(age.record, place);
        for (id, from, time) in standing.sayings() {
            places.insert(id, place);
            age.since = age.since.max(time);
            age.held |= is_held(from.session);
        }
        ages.push(age);
    }
    // What is made of something is written after it, but for what is said again later.
    let mut moved = true;
    while moved {
        moved = false;
        for (place, standing) in all.iter().enumerate().rev() {
            let Some((since, held)) = ages.get(place).map(|age| (age.since, age.held)) else { continue };
            for input in standing.sayings().flat_map(|(_, from, _)| &from.inputs) {
                let Some(age) = places.get(input).and_then(|place| ages.get_mut(*place)) else { continue };
                if age.since < since || (held && !age.held) {
                    (age.since, age.held) = (age.since.max(since), age.held | held);
                    moved = true;
                }
            }
        }
    }
    ages
}

impl Embedded {
    /// Erases what is due now, of all persons of the tenant, each with a proof of its own, and answers with all of it; what is
    /// under a legal hold stays. One that is cut off is finished as any erasure is, and the rest is due the next time.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not both erase and operate the tenant; as [`Embedded::erase`].
    pub async fn apply_retention(&self, client: &Client, observer: &Observer) -> Result<Vec<Due>> {
        let client = client.to_retain().await?;
        let mut due = client.retention_due(None).await?;
        let persons = client.for_each_person().await?;
        for one in &mut due {
            let Some(person) = persons.iter().find(|person| person.subject.pseudonym == one.owner) else { continue };
            let Some(what) = one.what().filter(|_| !one.held) else { continue };
            client.permit_letting_go(&what, one.owner)?;
            let reason = format!("retention of kind {}", one.kind.name());
            let options = EraseOptions { what, reason, also: Vec::new(), observer: observer.clone() };
            match self.erase_for(person, &options, Why::Retention).await {
                Ok(record) => one.erasure = Some(record.started.erasure),
                // It was set since.
                Err(error) if error.code() == "legal_hold" => one.held = true,
                Err(error) => return Err(error),
            }
        }
        Ok(due)
    }
}
