//! What contained steps left in a workspace that were cut off: recovery would put it back, and so does a rewind.

use super::WorkspaceInfo;
use super::restore::TOOL;
use crate::client::Client;
use crate::payload::StepStarted;
use crate::recover::{Runner, Site, runner, running, signed_at};
use crate::views::{OpenStep, register, row};
use samite_host::files;
use samite_ledger::RowQuery;
use samite_model::step::Effect;
use samite_model::tree::Torn;
use samite_model::{BranchId, Position, Result};
use std::collections::BTreeMap;

impl Client {
    /// The paths of a workspace that stand as contained steps of its branch left them that were cut off. Looks, and ends nothing:
    /// what a process is still at is left alone, and so is what somebody may have changed since.
    ///
    /// # Errors
    /// `corrupt` when an entry cannot be read; `unavailable` when the process table or the directory cannot be.
    pub(super) async fn torn(&self, branch: BranchId, workspace: &WorkspaceInfo, site: &Site) -> Result<Vec<Torn>> {
        let mut torn = BTreeMap::new();
        if !files::exists(&workspace.directory)? {
            return Ok(Vec::new());
        }
        let (_, registers) = self.core.0.ledger.registers(branch).await?;
        let writing = self.core.live_holder(branch).await?.map(|lease| lease.epoch);
        for entry in registers.iter().filter(|entry| entry.kind == register::OPEN_STEP) {
            let open = OpenStep::decode(branch, entry)?;
            let start = self.core.entry_at(open.start).await?;
            let started: StepStarted = start.json()?;
            let (Effect::Contained { within }, Some(tree)) = (&started.effect, started.tree) else { continue };
            let is_lost = open.inherited || writing != Some(open.epoch) || runner(&started) == Runner::Gone;
            if started.tool == TOOL || !is_lost || !running(&started, site)?.is_empty() {
                continue;
            }
            // A writer that was fenced has said how it ended.
            let at = Position { journal: branch, seq: self.core.journal(branch).await?.head };
            let hashes = vec![*open.id.as_bytes()];
            if !self.core.0.ledger.rows(RowQuery { at, kind: row::EVIDENCE, hashes, limit: 1 }).await?.is_empty() {
                continue;
            }
            let signed = if open.start.journal == branch { signed_at(&started, site) } else { None };
            let found = self.since_start(workspace, tree, within, signed.unwrap_or(start.header.time))?;
            if found.is_the_steps() {
                torn.extend(found.changes.into_iter().map(|change| {
                    let left = Torn::new(change.path.clone(), found.current.get(&change.path));
                    (change.path, left)
                }));
            }
        }
        Ok(torn.into_values().collect())
    }
}
