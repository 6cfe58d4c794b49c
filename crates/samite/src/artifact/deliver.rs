//! Deliverables: the files that a session declared to be for the user, published when they changed.

use super::list::Known;
use super::put::Item;
use crate::client::Client;
use crate::payload::ArtifactRecord;
use crate::workspace::WorkspaceInfo;
use crate::writer::{Writer, WriterOptions};
use samite_model::tree::TreePath;
use samite_model::{BranchId, Error, Observer, Result, SessionId};
use samite_workspace::{FileSource, FileStamp, find_files};

/// So many are published in one commit.
const BATCH: usize = 64;

/// A file whose times are not older than this at its publication may have been written again within a tick of the clock, in
/// nanoseconds.
const TICK: i64 = 2_000_000_000;

/// What became of a session's deliverables.
#[derive(Debug, Default)]
pub struct Delivered {
    /// New versions.
    pub published: Vec<ArtifactRecord>,
    /// How many files are as their last versions.
    pub unchanged: u64,
    /// The files that are as an artifact that was erased: they do not come back by themselves.
    pub passed_over: Vec<String>,
    /// What could not be published, and why. It is tried again the next time.
    pub failed: Vec<NotDelivered>,
}

impl Delivered {
    /// Whether everything that was declared is durable.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

/// A deliverable that could not be published.
#[derive(Debug)]
pub struct NotDelivered {
    /// Its path in the workspace; `.` where that is about all of them.
    pub path: String,
    /// Why.
    pub error: Error,
}

impl Client {
    /// Publishes the deliverables of a session that changed, as [`Writer::publish_deliverables`] does.
    ///
    /// # Errors
    /// As [`Writer::publish_deliverables`]; `conflict` (`lease_held`) while another writer holds the branch.
    pub async fn publish_deliverables(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        writer: WriterOptions,
        observer: &Observer,
    ) -> Result<Delivered> {
        if self.settings(session).await?.deliver.is_empty() {
            return Ok(Delivered::default());
        }
        let short = writer.id.is_none();
        let writer = self.writer(session, branch, writer).await?;
        let delivered = writer.publish_deliverables(observer).await;
        writer.let_go(short, delivered).await
    }
}

impl Writer {
    /// Publishes the files that the session declared as deliverables and that are not as their last versions on this branch.
    /// Doing it again publishes nothing. When this returns, what it says was published is durable; a file that cannot be
    /// published does not keep the others from it. Once the observer asks for an end, no other is begun: each that may have
    /// changed is one that could not be published. Without declarations it does nothing.
    ///
    /// # Errors
    /// `invalid` for patterns that name more than 10,000 files (`too_many_files`) or that are none (`bad_pattern`);
    /// `unavailable` when the store cannot be written; `fenced` when another writer took over.
    pub async fn publish_deliverables(&self, observer: &Observer) -> Result<Delivered> {
        let patterns = self.client.settings(self.session()).await?.deliver;
        let mut delivered = Delivered::default();
        if patterns.is_empty() {
            return Ok(delivered);
        }
        let Some(workspace) = self.workspace().await? else {
            let error = crate::workspace::no_workspace(self.branch());
            delivered.failed.push(NotDelivered { path: ".".to_owned(), error });
            return Ok(delivered);
        };
        let excludes = self.core().scan_options(workspace.id, &workspace.directory)?.excludes;
        let found = match find_files(&workspace.directory, &patterns, &excludes) {
            Ok(found) => found,
            Err(error) if error.kind() == samite_model::ErrorKind::Invalid => return Err(error),
            // The directory is gone, or cannot be read.
            Err(error) => {
                delivered.failed.push(NotDelivered { path: ".".to_owned(), error });
                return Ok(delivered);
            }
        };
        for (path, why) in found.unreadable {
            let error = Error::denied("unreadable_deliverable", format!("{path} cannot be read: {why}"));
            delivered.failed.push(NotDelivered { path: path.to_string(), error });
        }
        let count = found.files.len() as u64;
        let known = self.client.known_artifacts().await?;
        let mut batch = Vec::new();
        for ((path, stamp), done) in found.files.into_iter().zip(0..) {
            observer.tell("looking at deliverables", done, Some(count));
            match self.changed(&workspace, &path, stamp, known.as_ref(), observer).await {
                Ok(Some(item)) => batch.push((path, item)),
                Ok(None) => delivered.unchanged += 1,
                // It went between the look and the read.
                Err(error) if error.code() == "no_file" => {}
                Err(error) if is_of_file(&error, &workspace, &path) => delivered.fail(&path, error),
                Err(error) => return Err(error),
            }
            if batch.len() >= BATCH {
                self.deliver(std::mem::take(&mut batch), &workspace, &mut delivered).await?;
            }
        }
        self.deliver(batch, &workspace, &mut delivered).await?;
        Ok(delivered)
    }

    /// The file as something to publish, unless its bytes are those of the last version.
    async fn changed(
        &self,
        workspace: &WorkspaceInfo,
        path: &TreePath,
        stamp: FileStamp,
        known: Option<&Known>,
        observer: &Observer,
    ) -> Result<Option<Item>> {
        let item = Item::found(workspace, path)?;
        let Some(last) = self.last_version(&item.name, known).await?.filter(|last| last.stays) else {
            observer.go_on()?;
            return Ok(Some(item));
        };
        let last = last.record;
        if looks_the_same(&last, stamp) {
            return Ok(None);
        }
        observer.go_on()?;
        let (sha256, _) = FileSource::open_beneath(&workspace.directory, path)?.sha256()?;
        Ok((sha256 != last.sha256).then_some(item))
    }

    /// Publishes a batch; where something in it is in the way, each alone.
    async fn deliver(
        &self,
        batch: Vec<(TreePath, Item)>,
        workspace: &WorkspaceInfo,
        delivered: &mut Delivered,
    ) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let (paths, items): (Vec<TreePath>, Vec<Item>) = batch.into_iter().unzip();
        match self.publish(&items, Some(workspace)).await {
            Ok(puts) => delivered.take(puts),
            Err(error)
                if matches!(error.code(), "no_file" | "artifact_erased")
                    || paths.iter().any(|path| is_of_file(&error, workspace, path)) =>
            {
                for (path, item) in paths.iter().zip(items) {
                    match self.publish(&[item], Some(workspace)).await {
                        Ok(puts) => delivered.take(puts),
                        Err(error) if error.code() == "no_file" => {}
                        // It does not come back by itself.
                        Err(error) if error.code() == "artifact_erased" => {
                            delivered.passed_over.push(path.to_string());
                        }
                        Err(error) if is_of_file(&error, workspace, path) => delivered.fail(path, error),
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Delivered {
    fn take(&mut self, puts: Vec<super::Put>) {
        for put in puts {
            if put.duplicate {
                self.unchanged += 1;
            } else {
                self.published.push(put.record);
            }
        }
    }

    fn fail(&mut self, path: &TreePath, error: Error) {
        self.failed.push(NotDelivered { path: path.to_string(), error });
    }
}

/// Whether an error is about one file, and not about the store.
fn is_of_file(error: &Error, workspace: &WorkspaceInfo, path: &TreePath) -> bool {
    match error.code() {
        "file_changing" | "not_a_file" | "bad_name" | "name_too_long" | "stopped" => true,
        // The store's own files may have these too: the message names the one that has it.
        "no_permission" | "wrong_file_type" | "io_error" => {
            let file = workspace.directory.join(path.to_string());
            error.message().contains(&format!(" {}:", file.display()))
        }
        _ => false,
    }
}

/// Whether a file is as it was when its last version was published, for all that the file system tells.
fn looks_the_same(last: &ArtifactRecord, stamp: FileStamp) -> bool {
    let settled = last.published.saturating_sub(TICK);
    last.stamp == Some(stamp) && stamp.mtime < settled && stamp.ctime < settled
}
