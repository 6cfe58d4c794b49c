//! What the views of other tools have in common: who writes through them, and what they answer.

use super::batch::{Change, TRIES, is_overtaken};
use super::search::Recalled;
use super::write::busy;
use super::{Memory, NewRecord};
use samite_ledger::Guard;
use samite_memory::Standings;
use samite_model::memory::{Extractor, RecordKind, Trust};
use samite_model::{BranchId, EntryId, Error, ErrorKind, RecordId, Result, SessionId};

/// Who writes through a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolWriter {
    /// How far what is written is trusted: what a model concluded, unless it is said otherwise.
    pub trust: Trust,
    /// The session, branch and step that it comes from.
    pub from: Option<(SessionId, BranchId, Option<EntryId>)>,
}

impl Default for ToolWriter {
    fn default() -> Self {
        Self { trust: Trust::Model, from: None }
    }
}

/// A record that a tool writes.
pub(super) struct ToolRecord {
    pub(super) new: NewRecord,
    /// The one whose place it takes, and how far that is trusted: what is made of it is trusted no more.
    pub(super) replaces: Option<(RecordId, Trust)>,
}

/// What a call of a tool comes to.
pub(super) struct Acted<T> {
    /// What it answers.
    pub(super) answer: T,
    /// What it writes, in this order.
    pub(super) writes: Vec<ToolRecord>,
    /// What it ends.
    pub(super) ends: Vec<RecordId>,
    /// The records whose words are in the answer.
    pub(super) shown: Vec<RecordId>,
}

impl<T> Acted<T> {
    /// One that changes nothing and shows nothing.
    pub(super) const fn only(answer: T) -> Self {
        Self { answer, writes: Vec::new(), ends: Vec::new(), shown: Vec::new() }
    }
}

impl ToolWriter {
    /// A record of a tool of this name.
    pub(super) fn record(self, tool: &str, text: impl Into<String>) -> NewRecord {
        NewRecord {
            from: self.from,
            extractor: Some(Extractor { name: tool.to_owned(), version: "1".to_owned() }),
            ..NewRecord::new(RecordKind::Semantic, text, self.trust)
        }
    }
}

impl Memory {
    /// Carries out a call that is decided on what stands: all that it changes or nothing. What it shows is recorded as a search for
    /// `question` before it is answered.
    /// It ends nothing that is trusted more than `trust`.
    pub(super) async fn carry_out<T>(
        &self,
        question: &str,
        trust: Trust,
        act: impl Fn(&Standings, i64) -> Acted<T>,
    ) -> Result<T> {
        for _ in 0..TRIES {
            let mut basis = self.basis().await?;
            let Acted { answer, writes, ends, shown } = act(&basis.standings, self.client.core.now());
            let mut guards: Vec<Guard> = Vec::new();
            let mut changes = Vec::new();
            for record in ends {
                if let Some(standing) = basis.standings.get(record) {
                    self.check_may_end(standing, Some(trust))?;
                }
                changes.push(Change::Retract(record, None));
            }
            for ToolRecord { new, replaces } in writes {
                let record = self.record(&new, replaces.map(|(_, trust)| trust).into_iter().collect())?;
                guards.extend(self.not_said_again(basis.journal, &record, replaces.map(|(old, _)| old)).await?);
                changes.push(match replaces {
                    Some((old, _)) => Change::Replace(old, Box::new(record)),
                    None => Change::Assert(Box::new(record)),
                });
            }
            match self.commit_batch(&mut basis, changes, guards).await {
                Err(error) if is_overtaken(&error) => continue,
                other => other?,
            }
            if !shown.is_empty() {
                let found = Recalled { seq: basis.seq(), ..Recalled::default() };
                self.record_search(question, &found, shown, Vec::new()).await?;
            }
            return Ok(answer);
        }
        Err(busy())
    }
}

/// Whether an error is what a model is told of, and not a failure of the store.
pub(super) fn is_told(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Denied | ErrorKind::Conflict | ErrorKind::NotFound)
}
