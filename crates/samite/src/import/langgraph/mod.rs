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
//! A row with the key of another, which a database without the saver's keys may have, is an event as well. A thread with
//! the name of another, from another database, is a session of its own (`identity`).
//!
//! A value that is not `msgpack` or JSON (`pickle`, encrypted) is kept as it is and reported as such.

mod address;
mod copy_text;
mod database;
mod identity;
mod index;
pub(super) mod message;
mod msgpack;
mod planner;
mod postgresql;
mod value;

pub use address::is_address;
pub use database::Checkpoints;

use super::carry_out::{Imported, Importer, OnBytes, Run};
use planner::Planner;
use samite_model::{Error, Result};
use std::collections::HashSet;

impl Importer<'_> {
    /// Imports one thread of a checkpoint database. When this returns, all of it is durable; importing it again adds
    /// nothing. `progress` is told how many of its rows were read.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while a writer holds the session; `unavailable` or `corrupt` when the database cannot be
    /// read; `internal` (`bad_plan`) when the thread has no row.
    pub async fn thread(&mut self, checkpoints: &Checkpoints, thread: &str, progress: OnBytes<'_>) -> Result<Imported> {
        let client = self.client;
        let mut planner = Planner::new(thread, identity::number_of(client, checkpoints, thread).await?);
        let mut run = Run::new(client, &mut self.agents);
        for namespace in checkpoints.namespaces(thread)? {
            run.all(planner.begin(&namespace)).await?;
            let skeleton = checkpoints.skeleton(thread, &namespace)?;
            let followed: HashSet<&str> = skeleton.iter().filter_map(|row| row.parent.as_deref()).collect();
            for at in &skeleton {
                let row = checkpoints.checkpoint(at)?;
                let decoded = value::decode(&row.encoding, &row.bytes);
                if at.again > 0 {
                    run.all(planner.checkpoint(at, &row, decoded.as_ref())).await?;
                    continue;
                }
                for blob in planner.missing_blobs(decoded.as_ref()) {
                    if let Some(blob) = checkpoints.blob_of(thread, &namespace, &blob)? {
                        let value = checkpoints.blob(&blob)?;
                        planner.take_blob(blob, value);
                    }
                }
                run.all(planner.checkpoint(at, &row, decoded.as_ref())).await?;
                let is_leaf = !followed.contains(at.id.as_str());
                for write in checkpoints.writes(thread, &namespace, &at.id)? {
                    run.all(planner.write(&at.id, &write, is_leaf)).await?;
                }
                progress(planner.rows());
            }
            for blob in checkpoints.blobs(thread, &namespace)? {
                if blob.again == 0 && planner.has_blob(&blob.channel, &blob.version) {
                    continue;
                }
                run.all(planner.other_blob(&blob, &checkpoints.blob(&blob)?)).await?;
            }
            for id in checkpoints.strays(thread, &namespace)? {
                for write in checkpoints.writes(thread, &namespace, &id)? {
                    run.all(planner.write(&id, &write, true)).await?;
                }
            }
            progress(planner.rows());
        }
        let (told, rows) = (planner.rows(), checkpoints.rows_of(thread)?);
        let (report, current) = planner.finish();
        let imported = run.finish(report, &current).await?;
        self.total.add(&imported.report.accounting);
        if told != rows {
            return Err(Error::internal("bad_plan", format!("{told} of the {rows} rows of a thread were imported")));
        }
        Ok(imported)
    }
}
