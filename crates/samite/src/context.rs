//! What the model had before it at the end of a branch.

use crate::client::Client;
use crate::import::claude_code::ContextRole;
use crate::log::{Entry, ReadOptions};
use samite_model::{BranchId, EntryKind, Result, SessionId};

impl Client {
    /// The entries that the model saw last: those after the last compaction, with its summary. `to` is the last seq to
    /// consider; none means the head.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub async fn context(&self, session: SessionId, branch: Option<BranchId>, to: Option<u64>) -> Result<Vec<Entry>> {
        let kinds = vec![EntryKind::MESSAGE, EntryKind::MODEL_RESPONSE, EntryKind::EVENT, EntryKind::COMPACTION];
        // Newest first, so that nothing before the last compaction is read.
        let options = ReadOptions { to, kinds, backward: true, ..ReadOptions::default() };
        let mut reader = self.read(session, branch, options).await?;
        let mut seen = Vec::new();
        'all: loop {
            let page = reader.next().await?;
            if page.is_empty() {
                break;
            }
            for entry in page {
                if entry.payload.is_none() {
                    continue;
                }
                match ContextRole::of_entry(entry.header.kind, entry.event()?.attributes.as_ref()) {
                    ContextRole::Outside => {}
                    ContextRole::Inside => seen.push(entry),
                    ContextRole::Boundary => break 'all,
                    ContextRole::Summary => {
                        seen.push(entry);
                        break 'all;
                    }
                }
            }
        }
        seen.reverse();
        Ok(seen)
    }
}
