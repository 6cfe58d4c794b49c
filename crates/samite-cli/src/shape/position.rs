//! A position on a branch as an answer.

use crate::printer::words::short_id;
use samite_model::Position;
use serde::Serialize;

/// A position on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PositionShape {
    pub(crate) branch: String,
    pub(crate) seq: u64,
}

impl PositionShape {
    /// The first digits of the branch's id.
    pub(crate) fn short(&self) -> String {
        short_id(&self.branch)
    }
}

impl From<Position> for PositionShape {
    fn from(position: Position) -> Self {
        Self { branch: position.journal.to_string(), seq: position.seq }
    }
}
