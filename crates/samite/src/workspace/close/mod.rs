//! Closing a workspace: everything that is in its directory becomes durable, and a receipt says so, or it is said what is
//! not.

mod findings;
mod neighbours;
mod receipt;

pub use receipt::Receipt;

use super::WorkspaceInfo;
use super::checkpoint::{Checkpoint, CheckpointOptions, RecordedTree};
use super::look::no_workspace;
use crate::client::Client;
use crate::recover::Site;
use crate::writer::{Writer, WriterOptions, is_collected};
use findings::{of_changes, of_look, of_scan};
use neighbours::Neighbour;
use receipt::Saved;
use samite_host::{Sleep, SystemSleep, files, kill_point};
use samite_model::closing::{Finding, Next, What, after_look, is_safe};
use samite_model::memory::Adoption;
use samite_model::tree::diff;
use samite_model::{BranchId, Error, ErrorKind, Observer, Result, SessionId};
use samite_workspace::{ScanReport, Tree, look};
use std::path::PathBuf;

/// How a workspace is closed.
#[derive(Clone, Debug, Default)]
pub struct CloseOptions {
    /// How long it may take, in nanoseconds; none means until the directory comes to rest or is seen not to.
    pub deadline: Option<u64>,
    /// The file of the master key, when it is in one: it must not go with the directory.
    pub master: Option<PathBuf>,
    /// Is told how many files were found and read.
    pub observer: Observer,
}

/// What came of closing a workspace.
#[derive(Clone, Debug)]
pub struct Closed {
    /// The session.
    pub session: SessionId,
    /// The workspace.
    pub workspace: WorkspaceInfo,
    /// The receipt, which says that everything is durable; none when something is not, or may not be.
    pub receipt: Option<Receipt>,
    /// Whether the receipt was there already, and nothing has been written since.
    pub already: bool,
    /// The last tree of the branch.
    pub tree: Option<RecordedTree>,
    /// How many bytes this close stored, sealed.
    pub new_bytes: u64,
    /// What was found: what [`What::refuses`], and what a person should know.
    pub findings: Vec<Finding>,
    /// Whether the deadline came before everything was durable.
    pub deadline_passed: bool,
    /// What the last look at the directory saw; none where there was no time for one, or only the stat of files.
    pub report: Option<ScanReport>,
}

impl Closed {
    /// Whether the directory is safe to delete: there is a receipt.
    pub fn is_safe(&self) -> bool {
        self.receipt.is_some()
    }
}

/// A look at names and sizes may take so long whatever the deadline, in nanoseconds: without it nothing could be said.
const LEAST_LOOK: i64 = 1_000_000_000;

/// So often everything is looked at again because something was written beside it.
const ROUNDS: usize = 8;

impl Client {
    /// Closes the workspace of a branch (none: the current one): what the session delivers is published, the last tree is
    /// taken, and the directory is looked at again until it is as in that tree. When this returns with a receipt, everything in
    /// the directory is durable but what is listed with it, and the receipt is; without one, the answer names each thing that
    /// is not durable. What was saved on the way stays saved. Closing again goes on from there.
    ///
    /// # Errors
    /// `not_found` (`no_workspace`) when none is attached, or its directory is gone; `corrupt` when the log cannot be read.
    pub async fn close(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        writer: WriterOptions,
        options: &CloseOptions,
        site: &Site,
    ) -> Result<Closed> {
        let branch = self.or_current(session, branch).await?;
        let workspace = self.workspace_of_branch(session, branch).await?.ok_or_else(|| no_workspace(branch))?;
        if !files::exists(&workspace.directory)? {
            return Err(Error::not_found(
                "workspace_gone",
                format!("the workspace {} is gone: there is nothing to close", workspace.directory.display()),
            )
            .hint("`samite recover SESSION` says what its last tree has"));
        }
        let begun = self.core.now();
        let until = options.deadline.map(|limit| begun.saturating_add_unsigned(limit));
        let closing = Closing { client: self, session, workspace, options, site, begun, until };
        let short = writer.id.is_none();
        match self.writer(session, Some(branch), writer).await {
            Ok(writer) => {
                let closed = closing.drain(&writer).await;
                writer.let_go(short, closed).await
            }
            Err(error) if error.code() == "lease_held" => closing.only_look(&error).await,
            Err(error) => Err(error),
        }
    }
}

/// A close that is under way.
struct Closing<'a> {
    client: &'a Client,
    session: SessionId,
    workspace: WorkspaceInfo,
    options: &'a CloseOptions,
    site: &'a Site,
    begun: i64,
    until: Option<i64>,
}

/// What draining the directory came to.
struct Drained {
    /// What is ready to be committed with the receipt, where the directory was at rest.
    quiet: Option<super::Taken>,
    new_bytes: u64,
    /// What the last look saw.
    report: Option<ScanReport>,
    /// What is not in the last tree.
    unsaved: Vec<Finding>,
    deadline_passed: bool,
}

impl Drained {
    /// Without a last look that found everything as it is in the tree, something must stand for that.
    fn say_that_time_ran_out(&mut self) {
        let is_torn = self.report.as_ref().is_some_and(|report| !report.torn.is_empty());
        if !is_torn && is_safe(&self.unsaved) {
            let words = "there was no time to look whether the directory is as in the last tree";
            self.unsaved.push(Finding::new(What::NotLookedAt, words));
        }
    }
}

impl Closing<'_> {
    fn left(&self) -> Option<u64> {
        let now = self.client.core.now();
        self.until.map(|until| u64::try_from(until.saturating_sub(now)).unwrap_or(0))
    }

    /// The caller's observer, which asks for an end at this time.
    fn observer(&self, until: Option<i64>) -> Observer {
        let observer = self.options.observer.clone();
        match until {
            Some(until) => {
                let clock = self.client.core.0.clock.clone();
                observer.stopping_when(move || clock.now() >= until)
            }
            None => observer,
        }
    }

    /// Saves everything, and commits the receipt where nothing stands in its way.
    async fn drain(&self, writer: &Writer) -> Result<Closed> {
        // What is there, by names and sizes, before anything is read: should time run out, that is what can be said.
        let seen = match self.until {
            Some(_) => Some(self.look(writer).await?),
            None => None,
        };
        let (mut new_bytes, mut artifacts) = (0, Vec::new());
        for _ in 0..ROUNDS {
            let mut undelivered = self.publish(writer, &mut artifacts).await?;
            kill_point("close.published");
            let drained = self.save_until_quiet(writer, seen.as_deref()).await?;
            new_bytes += drained.new_bytes;
            if drained.quiet.is_some() {
                // What changed while the tree was taken may be for the user, too.
                undelivered = self.publish(writer, &mut artifacts).await?;
            }
            // Read before what is decided from it: the receipt's guards then see whatever changes in between.
            let neighbours = self.neighbours().await?;
            let own = self.client.core.journal(self.workspace.branch).await?;
            let mut findings = self.findings(&neighbours)?;
            findings.extend(undelivered);
            findings.extend(drained.unsaved);
            if let Some(report) = &drained.report {
                findings.extend(of_scan(
                    report,
                    &self.client.core.scan_options(self.workspace.id, &self.workspace.directory)?.excludes,
                ));
            }
            let mut closed = Closed {
                session: self.session,
                workspace: self.workspace.clone(),
                receipt: None,
                already: false,
                tree: writer.last_tree().await?,
                new_bytes,
                findings,
                deadline_passed: drained.deadline_passed,
                report: drained.report,
            };
            let Some(taken) = drained.quiet.filter(|_| is_safe(&closed.findings)) else { return Ok(closed) };
            if let Some(receipt) = self.client.receipt_on(&own, self.workspace.id).await? {
                closed.already = true;
                closed.receipt = Some(receipt);
                return Ok(closed);
            }
            let Some(tree) = closed.tree.clone() else { return Ok(closed) };
            let saved = Saved { taken, tree: tree.position, head: own.head, artifacts: artifacts.clone() };
            kill_point("close.before_receipt");
            match self.commit_receipt(writer, saved, &neighbours).await {
                Ok(receipt) => {
                    kill_point("close.after_receipt");
                    closed.receipt = Some(receipt);
                    return Ok(closed);
                }
                // Something was written beside it, or the tree went: look again.
                Err(error) if matches!(error.code(), "head_moved" | "registers_moved") || is_collected(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict("session_contended", "the session keeps changing while it is closed").hint("try again"))
    }

    /// Takes trees until one finds the directory as the tree before has it.
    async fn save_until_quiet(&self, writer: &Writer, seen: Option<&[Finding]>) -> Result<Drained> {
        let mut drained =
            Drained { quiet: None, new_bytes: 0, report: None, unsaved: Vec::new(), deadline_passed: false };
        let mut looks = 0;
        loop {
            looks += 1;
            let before = writer.last_tree().await?.map(|tree| tree.tree.root);
            let saved = match self.save(writer, looks == 1).await {
                Ok(saved) => saved,
                Err(error) if error.code() == "stopped" => {
                    drained.deadline_passed = true;
                    // What the look at names and sizes saw is still not durable, unless a tree was taken since.
                    if looks == 1 {
                        drained.unsaved = seen.unwrap_or_default().to_vec();
                    }
                    drained.say_that_time_ran_out();
                    return Ok(drained);
                }
                Err(error) => return Err(error),
            };
            let taken = match saved {
                Look::Quiet(taken) if taken.report.torn.is_empty() => {
                    drained.report = Some(taken.report.clone());
                    drained.quiet = Some(*taken);
                    drained.unsaved.clear();
                    return Ok(drained);
                }
                // A file that is being written to may be as torn as before.
                Look::Quiet(taken) => {
                    drained.report = Some(taken.report);
                    drained.unsaved.clear();
                    None
                }
                Look::Saved(checkpoint) => {
                    drained.new_bytes += checkpoint.new_bytes;
                    let root = checkpoint.root;
                    drained.report = Some(checkpoint.report);
                    Some(root)
                }
            };
            // What changed between two trees of this close is what does not come to rest.
            if let Some((before, after)) = before.filter(|_| looks > 1).zip(taken) {
                let store = self.client.core.blocks();
                let owner = self.client.subject.pseudonym;
                let (before, after) = Tree::new(&store, owner, before).differing(&Tree::new(&store, owner, after))?;
                drained.unsaved = of_changes(&diff(&before, &after));
            }
            match after_look(looks, true, self.left()) {
                Next::Quiet => {}
                Next::Again(wait) => SystemSleep.sleep(wait).await,
                Next::Restless => {
                    drained.deadline_passed = self.until.is_some();
                    drained.say_that_time_ran_out();
                    return Ok(drained);
                }
            }
        }
    }

    /// Takes a tree, and commits it unless it is the last one.
    async fn save(&self, writer: &Writer, is_first: bool) -> Result<Look> {
        let options = CheckpointOptions {
            label: Some("at the close".to_owned()),
            // Asking toolchains for their versions takes a moment, which may be all there is.
            no_environment: !is_first || self.until.is_some(),
            observer: self.observer(self.until),
            ..CheckpointOptions::default()
        };
        let taking = writer.taking(options, None).await?;
        let mut rounds = 0;
        loop {
            let (taken, _) = writer.take(&taking).await?;
            if taken.unchanged {
                return Ok(Look::Quiet(Box::new(taken)));
            }
            kill_point("close.before_tree");
            match writer.commit_with(taken.commit.clone(), vec![taken.draft.clone()]).await {
                Ok(seq) => {
                    kill_point("close.after_tree");
                    let position = samite_model::Position { journal: writer.branch(), seq };
                    return Ok(Look::Saved(Box::new(taken.at(position))));
                }
                Err(error) if is_collected(&error) && rounds < super::checkpoint::ROUNDS => rounds += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// What of the directory is not in the last tree of the branch, by names and sizes.
    async fn look(&self, writer: &Writer) -> Result<Vec<Finding>> {
        let base = writer.last_tree().await?.map(|tree| tree.tree.root);
        self.look_against(base)
    }

    fn look_against(&self, base: Option<samite_model::BlockId>) -> Result<Vec<Finding>> {
        let least = self.begun.saturating_add(LEAST_LOOK);
        let mut options = self.client.core.scan_options(self.workspace.id, &self.workspace.directory)?;
        options.observer = self.observer(self.until.map(|until| until.max(least)));
        let owner = self.client.subject.pseudonym;
        let seen = look(&self.client.core.blocks(), &self.workspace.directory, owner, base, &options)?;
        let mut findings = of_look(&seen);
        findings.extend(of_scan(&seen.report, &options.excludes));
        Ok(findings)
    }

    /// Says what can be said where another writer holds the branch: nothing can be saved beside it.
    async fn only_look(&self, refused: &Error) -> Result<Closed> {
        let head = self.client.head(self.session, self.workspace.branch).await?;
        let tree = self.client.tree_at(head).await?;
        let neighbours = self.neighbours().await?;
        let mut findings = vec![Finding {
            session: Some(self.session),
            branch: Some(self.workspace.branch),
            ..Finding::new(What::WriterAlive, refused.message())
        }];
        findings.extend(self.findings(&neighbours)?);
        findings.extend(self.look_against(tree.as_ref().map(|tree| tree.tree.root))?);
        Ok(Closed {
            session: self.session,
            workspace: self.workspace.clone(),
            receipt: None,
            already: false,
            tree,
            new_bytes: 0,
            findings,
            deadline_passed: false,
            report: None,
        })
    }

    /// Publishes what the session delivers and changed, notes the new artifacts, and says what could not be published.
    async fn publish(&self, writer: &Writer, artifacts: &mut Vec<String>) -> Result<Vec<Finding>> {
        let left = writer.adopt(Adoption::AtClose).await.into_iter();
        let left = left.map(|one| Finding::new(What::NotAdopted, one.to_string()));
        let mut findings: Vec<Finding> = left.collect();
        findings.extend(self.publish_deliverables(writer, artifacts).await?);
        Ok(findings)
    }

    async fn publish_deliverables(&self, writer: &Writer, artifacts: &mut Vec<String>) -> Result<Vec<Finding>> {
        match writer.publish_deliverables(&self.observer(self.until)).await {
            Ok(delivered) => {
                artifacts.extend(delivered.published.iter().map(|record| record.artifact.to_string()));
                let failed = delivered.failed.into_iter();
                Ok(failed.map(|one| Finding::new(What::Unpublished, one.error.message()).at(one.path)).collect())
            }
            // Patterns that name too much, or nothing that can be looked for: the rest is closed all the same.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                Ok(vec![Finding::new(What::Unpublished, error.message())])
            }
            Err(error) => Err(error),
        }
    }

    /// The findings about what else works here, and about the directory itself.
    fn findings(&self, neighbours: &[Neighbour]) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for neighbour in neighbours {
            findings.extend(neighbour.findings(self.session, &self.workspace, self.site)?);
        }
        let inside = |path: &std::path::Path| -> Result<bool> {
            Ok(files::exists(path)? && files::canonical(path)?.starts_with(&self.workspace.directory))
        };
        if let Some(store) = self.client.core.0.directory.as_deref().filter(|store| inside(store).unwrap_or(true)) {
            let words = format!("the store itself is in it: {}", store.display());
            findings.push(Finding::new(What::HoldsStore, words).at(store.display().to_string()));
        }
        if let Some(master) = self.options.master.as_deref()
            && inside(master)?
        {
            let words = format!("the master key is in it: {}", master.display());
            findings.push(Finding::new(What::HoldsMaster, words).at(master.display().to_string()));
        }
        Ok(findings)
    }
}

/// What a tree that was taken showed.
enum Look {
    /// The directory is as in the last tree.
    Quiet(Box<super::Taken>),
    /// It was not, and the new tree is durable.
    Saved(Box<Checkpoint>),
}
