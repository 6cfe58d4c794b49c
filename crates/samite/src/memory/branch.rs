//! What a branch writes for itself: seen on it, and on what is forked off it, until it is taken over into the namespace.

use super::query::{check_stands, no_record, operation};
use super::write::{busy, said_already, unchanged};
use super::{Memory, NewRecord, Written, views};
use crate::core::Draft;
use crate::log::Entry;
use crate::views::{Projection, row};
use crate::writer::Writer;
use samite_ledger::{Append, Commit, Guard, JournalKind, NewJournal, RowQuery};
use samite_memory::Standings;
use samite_model::memory::{
    Adoption, Asserted, Changed, Namespace, Opened, Operation, Pinned, Promoted, Record, Replaces, Retracted, Trust,
    not_pinnable,
};
use samite_model::{EntryKind, Error, FamilyId, Fingerprint, Position, RecordId, Result};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// How often a write looks again because somebody else wrote.
const TRIES: usize = 8;

/// A namespace as a branch writes to it.
pub struct BranchMemory<'a> {
    writer: &'a Writer,
    memory: Memory,
}

/// What was written to a namespace along an ancestry.
#[derive(Default)]
pub(super) struct OnBranch {
    /// What was done, oldest first, with where and when.
    pub(super) operations: Vec<(Position, i64, Operation)>,
    /// The entries of it that were taken over.
    pub(super) promoted: HashSet<Position>,
}

impl OnBranch {
    /// What was done and not taken over.
    pub(super) fn its_own(self) -> Vec<(Position, i64, Operation)> {
        let Self { operations, promoted } = self;
        operations.into_iter().filter(|(at, ..)| !promoted.contains(at)).collect()
    }
}

/// What was taken over from a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promotion {
    /// The records that all sessions see from now on.
    pub records: Vec<RecordId>,
    /// The records of the namespace that the branch retracted: nobody finds them from now on.
    pub ended: Vec<RecordId>,
    /// Entries whose effect was there already, such as a record that another session wrote as well.
    pub there: u64,
    /// Records that took nobody's place, because that was taken or gone meanwhile.
    pub beside: Vec<RecordId>,
    /// Records that say what was forgotten in the namespace, or were made of that or of what was revoked: the branch alone keeps them.
    pub forgotten: Vec<RecordId>,
}

/// What a branch wrote that was to be taken over, and could not be.
#[derive(Clone, Debug)]
pub struct NotAdopted {
    /// The namespace; none where it is not known which there are.
    pub namespace: Option<Namespace>,
    /// Why.
    pub error: Arc<Error>,
}

impl fmt::Display for NotAdopted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{namespace}: {}", self.error.message()),
            None => formatter.write_str(self.error.message()),
        }
    }
}

impl Writer {
    /// A namespace of the session's owner, as this branch writes to it.
    pub fn memory(&self, namespace: Namespace) -> BranchMemory<'_> {
        BranchMemory { writer: self, memory: self.client.memory(namespace) }
    }
}

impl Writer {
    /// Takes over what the branch wrote to namespaces that are to have it at this moment, or at an earlier one of the same kind. What
    /// cannot be taken over now is still the branch's own, and taken over the next time or by hand.
    pub(crate) async fn adopt(&self, now: Adoption) -> Vec<NotAdopted> {
        let namespaces = match self.namespaces().await {
            Ok(namespaces) => namespaces,
            Err(error) => return vec![NotAdopted { namespace: None, error: Arc::new(error) }],
        };
        let mut failed = Vec::new();
        for namespace in namespaces {
            if let Err(error) = self.adopt_into(&namespace, now).await {
                failed.push(NotAdopted { namespace: Some(namespace), error: Arc::new(error) });
            }
        }
        failed
    }

    async fn adopt_into(&self, namespace: &Namespace, now: Adoption) -> Result<()> {
        let memory = self.client.memory(namespace.clone());
        let adoption = memory.shared_standings().await?.settings().adoption;
        // A close ends the last turn too.
        if adoption == now || (now, adoption) == (Adoption::AtClose, Adoption::AtTurnEnd) {
            self.memory(namespace.clone()).promote().await?;
        }
        Ok(())
    }

    /// The namespaces that were written to along the branch's ancestry.
    async fn namespaces(&self) -> Result<Vec<Namespace>> {
        let core = self.core();
        let head = core.journal(self.branch()).await?.head;
        let at = Position { journal: self.branch(), seq: head };
        let query = RowQuery { at, kind: row::MEMORY_ON_BRANCH, hashes: Vec::new(), limit: usize::MAX };
        let mut known: HashSet<[u8; 16]> = HashSet::new();
        let mut namespaces = Vec::new();
        for found in core.0.ledger.rows(query).await? {
            if known.contains(&found.hash) {
                continue;
            }
            let entry = core.whole(core.entry_at(found.position).await?)?;
            // One that was erased says nothing; another of the same namespace may.
            if let Some(name) = namespace_of(&entry)? {
                known.insert(found.hash);
                namespaces.push(name);
            }
        }
        Ok(namespaces)
    }
}

/// The namespace that an entry of a branch does something to.
fn namespace_of(entry: &Entry) -> Result<Option<Namespace>> {
    if entry.payload.is_some() && entry.header.kind == EntryKind::MEMORY_PROMOTED {
        return Ok(Some(entry.json::<Promoted>()?.namespace));
    }
    Ok(match operation(entry)? {
        Some(Operation::Asserted(said)) => said.namespace,
        Some(Operation::Retracted(said)) => said.namespace,
        Some(Operation::Pinned(said)) => said.namespace,
        _ => None,
    })
}

impl Memory {
    /// What was written to the namespace along the ancestry of a position.
    pub(super) async fn on_branch(&self, at: Position) -> Result<OnBranch> {
        let core = &self.client.core;
        let owner = self.client.subject.pseudonym;
        let family = core.journal(at.journal).await?.family;
        let row = views::on_branch(&core.hasher(owner, family), &self.namespace)?;
        let query = RowQuery { at, kind: row.kind, hashes: vec![row.hash], limit: usize::MAX };
        let mut found = OnBranch::default();
        for row in core.0.ledger.rows(query).await?.into_iter().rev() {
            let entry = core.whole(core.entry_at(row.position).await?)?;
            if entry.header.kind == EntryKind::MEMORY_PROMOTED && entry.payload.is_some() {
                found.promoted.extend(entry.json::<Promoted>()?.entries);
            } else if let Some(operation) = operation(&entry)? {
                found.operations.push((entry.position, entry.header.time, operation));
            }
        }
        Ok(found)
    }

    /// The keyed hash of what a record says, after those that said the same and have ended.
    async fn content_after(&self, standings: &Standings, record: &Record) -> Result<Content> {
        let core = &self.client.core;
        let owner = self.client.subject.pseudonym;
        let (journal, _) = core.memory_state(owner, &self.namespace).await?;
        let hash = core.hasher(owner, FamilyId(journal.0));
        let mut after = None;
        // Each goes to one that came later: it ends.
        loop {
            let content = views::content(&hash, record, after)?;
            match standings.of_content(content) {
                Some(standing) if standing.ended.is_none() => {
                    let there = Written { record: standing.record.record, at: standing.at, duplicate: true };
                    return Ok(Content::There(there, content));
                }
                Some(standing) => after = Some(standing.record.record),
                None => return Ok(Content::New(content)),
            }
        }
    }
}

enum Content {
    /// It is said already, by this record.
    There(Written, Fingerprint),
    /// It is not.
    New(Fingerprint),
}

impl BranchMemory<'_> {
    /// The namespace as it is seen on the branch now.
    ///
    /// # Errors
    /// Those of the ledger.
    pub async fn seen(&self) -> Result<Memory> {
        let head = self.writer.core().journal(self.writer.branch()).await?.head;
        Ok(self.memory.on(Position { journal: self.writer.branch(), seq: head }))
    }

    /// Writes a record that this branch alone sees, and what is forked off it later. When this returns, it is durable.
    ///
    /// # Errors
    /// As [`Memory::assert`]; `fenced` when another writer took over.
    pub async fn assert(&self, new: &NewRecord) -> Result<Written> {
        self.put(new, None).await
    }

    /// As [`Memory::supersede`], for this branch.
    ///
    /// # Errors
    /// As [`Memory::supersede`]; `fenced` when another writer took over.
    pub async fn supersede(&self, replaced: RecordId, new: &NewRecord) -> Result<Written> {
        self.put(new, Some((replaced, Changed::Superseded))).await
    }

    /// As [`Memory::correct`], for this branch.
    ///
    /// # Errors
    /// As [`Memory::supersede`]; `fenced` when another writer took over.
    pub async fn correct(&self, replaced: RecordId, new: &NewRecord) -> Result<Written> {
        self.put(new, Some((replaced, Changed::Corrected))).await
    }

    /// As [`Memory::retract`], for this branch.
    ///
    /// # Errors
    /// As [`Memory::retract`]; `fenced` when another writer took over.
    pub async fn retract(&self, record: RecordId, reason: Option<&str>) -> Result<Position> {
        let standings = self.seen().await?.standings(None).await?;
        let standing = standings.get(record).ok_or_else(|| no_record(record))?;
        check_stands(standing)?;
        self.memory.check_may_end(standing, None)?;
        let (namespace, life) = (Some(self.memory.namespace.clone()), standing.lives);
        let retracted = Retracted { namespace, record, life, reason: reason.map(str::to_owned) };
        let views = views::retracted(&self.writer.own_hash(), &retracted)?;
        let guard = self.memory.not_forgotten(self.memory.own_journal().await?, &[record]).await?;
        self.append(self.writer.core().draft(EntryKind::MEMORY_RETRACTED, &retracted, views)?, guard).await
    }

    /// As [`Memory::pin`], for this branch.
    ///
    /// # Errors
    /// As [`Memory::pin`]; `fenced` when another writer took over.
    pub async fn pin(&self, record: RecordId, pinned: bool) -> Result<Position> {
        let standings = self.seen().await?.standings(None).await?;
        let standing = standings.get(record).ok_or_else(|| no_record(record))?;
        check_stands(standing)?;
        let trust = standing.record.provenance.trust;
        if pinned && !trust.may_be_pinned() {
            return Err(not_pinnable(trust));
        }
        self.memory.check_may_end(standing, None)?;
        let said = Pinned { namespace: Some(self.memory.namespace.clone()), record, pinned };
        let views = views::operated(&self.writer.own_hash(), said.namespace.as_ref())?;
        let guard = self.memory.not_forgotten(self.memory.own_journal().await?, &[record]).await?;
        self.append(self.writer.core().draft(EntryKind::MEMORY_PINNED, &said, views)?, guard).await
    }

    async fn append(&self, draft: Draft, guard: Option<Guard>) -> Result<Position> {
        let seq = self.writer.commit(guard.into_iter().collect(), vec![draft]).await.map_err(forgotten)?;
        Ok(Position { journal: self.writer.branch(), seq })
    }

    async fn put(&self, new: &NewRecord, replaced: Option<(RecordId, Changed)>) -> Result<Written> {
        let (session, branch) = (self.writer.session(), self.writer.branch());
        let step = new.from.and_then(|(_, _, step)| step);
        let new = NewRecord { from: Some((session, branch, step)), ..new.clone() };
        let standings = self.seen().await?.standings(None).await?;
        let mut trusts: Vec<Trust> = Vec::new();
        for input in &new.inputs {
            trusts.push(standings.get(*input).ok_or_else(|| no_record(*input))?.record.provenance.trust);
        }
        let record = self.memory.record(&new, trusts)?;
        let mut said = None;
        let content = match self.memory.content_after(&standings, &record).await? {
            Content::New(content) => content,
            Content::There(there, content) => {
                match replaced {
                    Some((replaced, _)) if replaced == there.record => return Err(unchanged(there.record)),
                    Some(_) => return Err(said_already(there.record)),
                    None => {}
                }
                let known = standings.get(there.record);
                if known.is_none_or(|known| known.was_said(&record.provenance)) {
                    return Ok(there);
                }
                said = Some(there);
                content
            }
        };
        let mut place = None;
        if let Some((old, changed)) = replaced {
            let standing = standings.get(old).ok_or_else(|| no_record(old))?;
            check_stands(standing)?;
            self.memory.check_may_end(standing, Some(record.provenance.trust))?;
            place = Some(Replaces { record: old, changed, life: standing.lives });
        }
        let journal = self.memory.own_journal().await?;
        let guard = self.memory.not_said_again(journal, &record, replaced.map(|(replaced, _)| replaced)).await?;
        let (namespace, id) = (Some(self.memory.namespace.clone()), record.record);
        let asserted = Asserted { namespace, record, replaces: place, content, origin: None };
        let views = views::asserted(&self.writer.own_hash(), &asserted)?;
        let at = self.append(self.writer.core().draft(EntryKind::MEMORY_ASSERTED, &asserted, views)?, guard).await?;
        // What others said before it was said here too, which is kept.
        Ok(said.unwrap_or(Written { record: id, at, duplicate: false }))
    }

    /// Takes what was written on the branch over into the namespace, so that all sessions see it. When this returns, it is durable.
    ///
    /// A record that was to take the place of one that ended meanwhile stands beside what took that place.
    ///
    /// # Errors
    /// `fenced` when another writer took over; `unavailable` (`store_busy`) when others kept writing to the namespace.
    pub async fn promote(&self) -> Result<Promotion> {
        for _ in 0..TRIES {
            match self.promote_once().await {
                // Somebody wrote to the namespace meanwhile, or made it.
                Err(error) if matches!(error.code(), "head_moved" | "journal_exists" | "row_exists") => {}
                other => return other,
            }
        }
        Err(busy())
    }

    async fn promote_once(&self) -> Result<Promotion> {
        let core = self.writer.core();
        let owner = self.writer.client.subject.pseudonym;
        let head = core.journal(self.writer.branch()).await?.head;
        let found = self.memory.on_branch(Position { journal: self.writer.branch(), seq: head }).await?;
        let (journal, state) = core.memory_state(owner, &self.memory.namespace).await?;
        let family = FamilyId(journal.0);
        let hash = core.hasher(owner, family);
        let mut commit = Commit::default();
        let mut drafts: Vec<Draft> = Vec::new();
        if let Some(state) = &state {
            commit.guards.push(Guard::Head { journal, seq: state.head });
        } else {
            commit.journals.push(NewJournal { id: journal, family, kind: JournalKind::Memory, owner, parent: None });
            commit.journals.push(self.memory.searches_to_be(journal));
            let opened = Opened { namespace: self.memory.namespace.clone() };
            drafts.push(core.draft(EntryKind::MEMORY_OPENED, &opened, Projection::default())?);
        }
        let begins = drafts.len();
        let mut standings = Standings::clone(&*self.memory.shared_standings().await?);
        let mut promotion = Promotion::default();
        let mut entries = Vec::new();
        for (at, time, operation) in found.operations {
            if found.promoted.contains(&at) {
                continue;
            }
            entries.push(at);
            if let Operation::Asserted(asserted) = &operation {
                match self.memory.not_taken_over(journal, &asserted.record).await {
                    Ok(guard) => commit.guards.extend(guard),
                    Err(error) if matches!(error.code(), "record_forgotten" | "no_record") => {
                        promotion.forgotten.push(asserted.record.record);
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            // What a source said that was revoked since stays on the branch, and what was made of it.
            if let Operation::Asserted(asserted) = &operation
                && standings.is_held_back(&asserted.record, time)
            {
                promotion.forgotten.push(asserted.record.record);
                continue;
            }
            let original = operation.clone();
            let Some(operation) = taken_over(&standings, at, operation, &mut promotion) else {
                // What is said already is known by the branch's id from here on.
                standings.apply(at, time, original);
                promotion.there += 1;
                continue;
            };
            drafts.push(match &operation {
                Operation::Asserted(asserted) => {
                    core.draft(EntryKind::MEMORY_ASSERTED, asserted, views::asserted(&hash, asserted)?)?
                }
                Operation::Retracted(said) => {
                    core.draft(EntryKind::MEMORY_RETRACTED, said, views::retracted(&hash, said)?)?
                }
                Operation::Pinned(said) => core.draft(EntryKind::MEMORY_PINNED, said, Projection::default())?,
                _ => continue,
            });
            standings.apply(at, time, operation);
            standings.apply(at, time, original);
        }
        if entries.is_empty() {
            return Ok(promotion);
        }
        if drafts.len() > begins {
            let author = self.writer.client.author(0);
            let mut sealed = Vec::new();
            for draft in drafts {
                sealed.push(core.seal_into(journal, &author, draft, &mut commit)?);
            }
            commit.appends.push(Append { journal, entries: sealed });
        } else {
            commit = Commit::default();
        }
        let promoted = Promoted { namespace: self.memory.namespace.clone(), entries };
        let views = views::operated(&self.writer.own_hash(), Some(&promoted.namespace))?;
        let draft = core.draft(EntryKind::MEMORY_PROMOTED, &promoted, views)?;
        self.writer.commit_with(commit, vec![draft]).await?;
        Ok(promotion)
    }
}

/// What was named was forgotten between the look and the commit.
fn forgotten(error: Error) -> Error {
    if error.code() != "row_exists" {
        return error;
    }
    Error::not_found("no_record", "a record that this names was forgotten meanwhile")
        .hint("`samite memory list --namespace NAME` shows those that there are")
}

/// What an entry of a branch does to the namespace when it is taken over; nothing when its effect is there.
fn taken_over(
    standings: &Standings,
    at: Position,
    operation: Operation,
    promotion: &mut Promotion,
) -> Option<Operation> {
    let stands = |record: RecordId| standings.get(record).filter(|standing| standing.ended.is_none());
    // Under the id that the namespace knows it by: another session may have said the same.
    let known = |record: RecordId| standings.get(record).map_or(record, |standing| standing.record.record);
    match operation {
        Operation::Asserted(mut asserted) => {
            let record = asserted.record.record;
            if standings.get(record).is_some() {
                return None;
            }
            for input in &mut asserted.record.provenance.inputs {
                *input = known(*input);
            }
            let said = standings.of_content(asserted.content).filter(|standing| standing.ended.is_none());
            let by = said.map(|said| said.record.record);
            let replaces = asserted.replaces.and_then(|replaces| {
                let standing = stands(replaces.record).filter(|standing| Some(standing.record.record) != by)?;
                Some(Replaces { record: standing.record.record, life: standing.lives, ..replaces })
            });
            match said {
                Some(said) if replaces.is_none() && said.was_said(&asserted.record.provenance) => return None,
                // It was said here too: that is kept, and no second record.
                Some(_) => promotion.there += 1,
                None => {
                    promotion.records.push(record);
                    promotion.beside.extend((asserted.replaces.is_some() && replaces.is_none()).then_some(record));
                }
            }
            let taken = Asserted { namespace: None, replaces, origin: Some(at), ..*asserted };
            Some(Operation::Asserted(Box::new(taken)))
        }
        Operation::Retracted(said) => {
            let standing = stands(said.record)?;
            let (record, life) = (standing.record.record, standing.lives);
            promotion.ended.push(record);
            Some(Operation::Retracted(Retracted { namespace: None, record, life, ..said }))
        }
        Operation::Pinned(said) => {
            let standing = stands(said.record)?;
            let record = standing.record.record;
            (standing.pinned != said.pinned).then_some(Operation::Pinned(Pinned { namespace: None, record, ..said }))
        }
        _ => None,
    }
}
