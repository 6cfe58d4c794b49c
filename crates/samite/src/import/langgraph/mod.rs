//! LangGraph's checkpoint databases as sessions.
//!
//! A thread is a session, and each namespace of a graph inside it a child session. The records are the rows of the
//! saver's tables, each kept as an event with the bytes that its writer stored; nothing that they hold is ever run. What
//! becomes what:
//!
//! - a **checkpoint** is an event. One whose parent another checkpoint followed before starts a branch after its parent;
//! - the **messages** that a checkpoint's channels hold, and none before it on its branch, come before it as messages and
//!   responses of the model, as JSON. Calls in them are steps, which tool messages end; a call without one is in doubt;
//! - a pending **write** follows its checkpoint; where no checkpoint does, the messages in it are told as well, so that a
//!   call that was made just before the end is known;
//! - a **blob** (PostgreSQL) comes before the first checkpoint that names its version.
//!
//! A value that is not `msgpack` or JSON (`pickle`, encrypted) is kept as it is and reported as such.

mod copy_text;
mod database;
mod message;
mod msgpack;
mod planner;
mod postgresql;

pub use database::Checkpoints;
pub use postgresql::is_address;

use super::carry_out::{Imported, Importer, OnBytes, Run};
use planner::Planner;
use samite_model::Result;
use std::collections::HashSet;

impl Importer<'_> {
    /// Imports one thread of a checkpoint database. When this returns, all of it is durable; importing it again adds
    /// nothing. `progress` is told how many of its rows were read.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while a writer holds the session; `unavailable` or `corrupt` when the database cannot be
    /// read; `internal` (`bad_plan`) when the thread has no row.
    pub async fn thread(&mut self, checkpoints: &Checkpoints, thread: &str, progress: OnBytes<'_>) -> Result<Imported> {
        let mut planner = Planner::new(thread);
        let client = self.client;
        let mut run = Run::new(client, &mut self.agents);
        for namespace in checkpoints.namespaces(thread)? {
            run.all(planner.begin(&namespace)).await?;
            let skeleton = checkpoints.skeleton(thread, &namespace)?;
            let followed: HashSet<&str> = skeleton.iter().filter_map(|(_, parent)| parent.as_deref()).collect();
            for (id, parent) in &skeleton {
                let row = checkpoints.checkpoint(thread, &namespace, id)?;
                let decoded = Planner::decode(&row);
                for (channel, version) in planner.missing_blobs(&decoded) {
                    if let Some(blob) = checkpoints.blob(thread, &namespace, &channel, &version)? {
                        planner.take_blob(&channel, &version, &blob);
                    }
                }
                run.all(planner.checkpoint(id, parent.as_deref(), &row, &decoded)).await?;
                let is_leaf = !followed.contains(id.as_str());
                for write in checkpoints.writes(thread, &namespace, id)? {
                    run.all(planner.write(id, &write, is_leaf)).await?;
                }
                progress(planner.rows());
            }
            for (channel, version) in checkpoints.blobs(thread, &namespace)? {
                if planner.has_blob(&channel, &version) {
                    continue;
                }
                if let Some(blob) = checkpoints.blob(thread, &namespace, &channel, &version)? {
                    run.all(planner.other_blob(&channel, &version, &blob)).await?;
                }
            }
            for id in checkpoints.strays(thread, &namespace)? {
                for write in checkpoints.writes(thread, &namespace, &id)? {
                    run.all(planner.write(&id, &write, true)).await?;
                }
            }
            progress(planner.rows());
        }
        let (report, current) = planner.finish();
        let imported = run.finish(report, &current).await?;
        self.total.add(&imported.report.accounting);
        Ok(imported)
    }
}
