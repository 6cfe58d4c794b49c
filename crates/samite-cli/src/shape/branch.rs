//! A branch as an answer.

use super::PositionShape;
use crate::printer::words::{day, rfc3339, short_id};
use samite::payload::ForkReason;
use samite::{Branch, Client, Lifetime};
use samite_model::{Result, SessionId};
use serde::Serialize;

/// A branch.
#[derive(Debug, Serialize)]
pub(crate) struct BranchShape {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) current: bool,
    pub(crate) forked_at: Option<PositionShape>,
    pub(crate) reason: Option<ForkReason>,
    pub(crate) forked: Option<String>,
    pub(crate) head: u64,
    /// `current`, `kept`, or `until`.
    pub(crate) trees: &'static str,
    pub(crate) trees_until: Option<String>,
    /// Steps without an outcome.
    pub(crate) open_steps: u64,
    pub(crate) deleted: bool,
    /// What was merged into it: the second parents of its merges.
    pub(crate) merged: Vec<MergedShape>,
    /// The branch whose merge into it is open.
    pub(crate) merging: Option<String>,
    #[serde(skip)]
    pub(crate) until: Option<i64>,
}

/// A merge into a branch.
#[derive(Debug, Serialize)]
pub(crate) struct MergedShape {
    pub(crate) seq: u64,
    pub(crate) from: PositionShape,
}

impl BranchShape {
    /// The shape of a branch with so many steps that have no outcome.
    pub(crate) fn new(branch: &Branch) -> Self {
        let (trees, until) = match branch.lifetime {
            Lifetime::Current => ("current", None),
            Lifetime::Kept => ("kept", None),
            Lifetime::TreesUntil(until) => ("until", Some(until)),
        };
        Self {
            id: branch.id.to_string(),
            name: branch.name.clone(),
            current: branch.lifetime == Lifetime::Current,
            forked_at: branch.forked_at.map(PositionShape::from),
            reason: branch.reason,
            forked: branch.forked_at_time.map(rfc3339),
            head: branch.head,
            trees,
            trees_until: until.map(rfc3339),
            open_steps: branch.open_steps as u64,
            deleted: branch.deleted,
            merged: branch
                .merged
                .iter()
                .map(|merged| MergedShape { seq: merged.seq, from: merged.from.into() })
                .collect(),
            merging: branch.merging.map(|merging| merging.to_string()),
            until,
        }
    }

    /// The first digits of the id.
    pub(crate) fn short(&self) -> String {
        short_id(&self.id)
    }

    /// Why it was made, in a word.
    pub(crate) fn reason(&self) -> &'static str {
        match self.reason {
            None => "first",
            Some(ForkReason::Fork) => "fork",
            Some(ForkReason::Rewind) => "rewind",
            Some(ForkReason::Import) => "import",
        }
    }

    /// How long its workspace trees are kept, for a column of its own.
    pub(crate) fn trees_kept(&self) -> String {
        match (self.deleted, self.until) {
            (true, _) => "deleted".to_owned(),
            (false, Some(until)) => day(until),
            (false, None) if self.current => "current".to_owned(),
            (false, None) => "for good".to_owned(),
        }
    }

    /// How long its workspace trees are kept, in words.
    pub(crate) fn lifetime(&self) -> String {
        match (self.deleted, self.until) {
            (true, _) => "deleted".to_owned(),
            (false, Some(until)) => format!("trees until {}", day(until)),
            (false, None) if self.current => "current".to_owned(),
            (false, None) => "kept".to_owned(),
        }
    }
}

/// The branches of a session.
///
/// # Errors
/// As [`Client::branches`].
pub(crate) async fn branches(client: &Client, session: SessionId) -> Result<Vec<BranchShape>> {
    Ok(client.branches(session).await?.iter().map(BranchShape::new).collect())
}
