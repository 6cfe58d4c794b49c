//! The journal of an owner's artifacts: one, made at the first of them.

use super::views::RecordRow;
use crate::client::Client;
use crate::core::{Core, Draft};
use crate::log::Entry;
use crate::payload::ArtifactRecord;
use crate::views::row;
use samite_ledger::{Append, Commit, Guard, JournalKind, JournalState, NewJournal, Read, RowQuery};
use samite_model::{ArtifactId, EntryKind, Error, FamilyId, JournalId, Position, Pseudonym, Result};

const PAGE: usize = 512;

impl Core {
    /// The journal of an owner's artifacts, whose id every process derives alike.
    pub(crate) fn artifacts_journal(&self, owner: Pseudonym) -> JournalId {
        JournalId(self.0.keys.writer(&format!("samite artifacts of {owner}")).0)
    }

    /// The rows of an owner's artifacts, in the order in which they were published.
    pub(crate) async fn artifact_rows(&self, state: &JournalState) -> Result<Vec<(Position, RecordRow)>> {
        let at = Position { journal: state.id, seq: state.head };
        let query = RowQuery { at, kind: row::ARTIFACT, hashes: Vec::new(), limit: usize::MAX };
        let mut rows = self.0.ledger.rows(query).await?;
        rows.reverse();
        rows.iter().map(|row| Ok((row.position, RecordRow::decode(row)?))).collect()
    }
}

/// What is said of an artifact that is not there, or not this principal's to see.
pub(crate) fn no_artifact(text: &str) -> Error {
    Error::not_found("no_artifact", format!("there is no artifact {text}"))
        .hint("`samite artifact list` shows those that you may see")
}

/// The journal, as a commit may have to make it.
pub(super) fn new_journal(id: JournalId, owner: Pseudonym) -> NewJournal {
    NewJournal { id, family: FamilyId(id.0), kind: JournalKind::Artifacts, owner, parent: None }
}

impl Client {
    /// The journal of this principal's artifacts.
    pub(super) fn own_artifacts(&self) -> JournalId {
        self.core.artifacts_journal(self.subject.pseudonym)
    }

    /// Its state; none before the first of them.
    pub(super) async fn artifacts_state(&self) -> Result<Option<JournalState>> {
        self.core.0.ledger.journal(self.own_artifacts()).await
    }

    /// Appends to it, making it first where it is new.
    pub(super) async fn append_to_artifacts(&self, draft: Draft, guards: Vec<Guard>) -> Result<()> {
        let journal = self.own_artifacts();
        let entry = self.core.seal(journal, &self.author(0), draft)?;
        let mut commit =
            Commit { guards, appends: vec![Append { journal, entries: vec![entry] }], ..Commit::default() };
        if self.core.0.ledger.journal(journal).await?.is_none() {
            commit.journals.push(new_journal(journal, self.subject.pseudonym));
        }
        match self.core.0.ledger.commit(commit.clone()).await {
            Err(error) if error.code() == "journal_exists" => {
                commit.journals.clear();
                self.core.0.ledger.commit(commit).await.map(|_| ())
            }
            other => other.map(|_| ()),
        }
    }

    /// The entries of a kind in it, oldest first.
    pub(super) async fn artifact_entries(&self, kind: EntryKind) -> Result<Vec<Entry>> {
        let Some(state) = self.artifacts_state().await? else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        let mut from = 1;
        while from <= state.head {
            let read = Read { kinds: vec![kind], limit: PAGE, ..Read::range(state.id, from, state.head) };
            let page = self.core.0.ledger.read(read).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for stored in &page {
                entries.push(self.core.whole(self.core.open(state.id, stored)?)?);
            }
        }
        Ok(entries)
    }

    /// The record of one of this principal's artifacts, if there is one.
    pub(super) async fn record_of(&self, artifact: ArtifactId) -> Result<Option<(Position, ArtifactRecord)>> {
        let Some(state) = self.artifacts_state().await? else { return Ok(None) };
        let at = Position { journal: state.id, seq: state.head };
        let query = RowQuery { at, kind: row::ARTIFACT, hashes: vec![*artifact.as_bytes()], limit: 1 };
        let Some(found) = self.core.0.ledger.rows(query).await?.into_iter().next() else { return Ok(None) };
        let entry = self.core.whole(self.core.entry_at(found.position).await?)?;
        Ok(Some((found.position, entry.json()?)))
    }

    /// The artifact whose id begins with these digits.
    ///
    /// # Errors
    /// `not_found` (`no_artifact`) when there is none; `invalid` (`ambiguous_prefix`) when there are several.
    pub async fn find_artifact(&self, prefix: &str) -> Result<ArtifactId> {
        let none = || no_artifact(prefix);
        let Some(state) = self.artifacts_state().await? else { return Err(none()) };
        let rows = self.core.artifact_rows(&state).await?;
        let ids = rows.into_iter().map(|(_, row)| row.artifact);
        let found: Vec<ArtifactId> = match prefix {
            "" => Vec::new(),
            digits => ids.filter(|id| id.to_string().starts_with(digits)).take(6).collect(),
        };
        match found.as_slice() {
            [] => Err(none()),
            [one] => Ok(*one),
            several => {
                let ids: Vec<String> = several.iter().take(5).map(ToString::to_string).collect();
                Err(Error::invalid("ambiguous_prefix", format!("{prefix} is the beginning of several artifact ids"))
                    .hint(format!("give more digits: {}", ids.join(", "))))
            }
        }
    }

    /// The ids of what was published along a position's ancestry, oldest first.
    pub(super) async fn published_along(&self, at: Position) -> Result<Vec<ArtifactId>> {
        let query = RowQuery { at, kind: row::ARTIFACT, hashes: Vec::new(), limit: usize::MAX };
        let mut rows = self.core.0.ledger.rows(query).await?;
        rows.reverse();
        rows.iter().map(|row| ArtifactId::from_slice(&row.value)).collect()
    }
}
