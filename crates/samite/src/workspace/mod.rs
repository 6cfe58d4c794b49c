//! The workspace of a branch: its trees, and a step's place in it.

use crate::recover::Site;
use crate::step::StepRecord;
use crate::writer::Writer;
use samite_model::recovery::Workspace;
use samite_model::step::{Evidence, Verdict};
use samite_model::{BlockId, Result};

impl Writer {
    /// The workspace's tree before a contained step starts; none without a workspace.
    pub(crate) async fn tree_before(&self, _: &Site) -> Result<Option<BlockId>> {
        Ok(None)
    }

    /// Where the workspace stands against the tree that a contained step recorded at its start.
    pub(crate) async fn workspace_of(
        &self,
        _: &StepRecord,
        _: &[String],
        _: Option<i64>,
        _: &Site,
    ) -> Result<(Workspace, Evidence)> {
        let seen = "no workspace was attached when the step started".to_owned();
        Ok((Workspace::Unknown, Evidence { verdict: Verdict::CannotTell, seen, paths: Vec::new() }))
    }

    /// Puts a contained step's paths back to the tree at its start.
    pub(crate) async fn put_back(&self, _: &StepRecord, _: &Site) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}
