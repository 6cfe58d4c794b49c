//! Checkpoints: positions that have a workspace's tree.

use super::WorkspaceInfo;
use super::cost::{Before, TreeCost};
use crate::client::Client;
use crate::core::Draft;
use crate::fingerprint::{self, Fingerprint};
use crate::payload::{TreeRecorded, WorkspaceInterval};
use crate::views::{self, Projection, row};
use crate::writer::{Writer, WriterOptions, is_collected};
use samite_ledger::{Append, Commit, Guard, RowQuery};
use samite_model::cadence::{Cause, Costs};
use samite_model::{BlockId, BranchId, EntryKind, Error, FamilyId, JournalId, Observer, Position, Result, SessionId};
use samite_workspace::{ScanReport, Scanned, SnapshotOptions, snapshot};
use serde_json::{Value, json};

/// How a checkpoint is taken.
#[derive(Clone, Debug, Default)]
pub struct CheckpointOptions {
    /// A person's word for it.
    pub label: Option<String>,
    /// Leave the environment's fingerprint out.
    pub no_environment: bool,
    /// Is told how many files were found and read, and may ask for an end: then nothing was committed.
    pub observer: Observer,
    /// Why it is taken. What nobody asked for may be thinned out later although it has a label.
    pub cause: Cause,
}

/// A checkpoint.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Where it is.
    pub position: Position,
    /// The workspace's tree.
    pub root: BlockId,
    /// What was found, for people.
    pub report: ScanReport,
    /// How many bytes were new, sealed.
    pub new_bytes: u64,
    /// Whether the tree is the one before.
    pub unchanged: bool,
}

/// A tree as a branch recorded it.
#[derive(Clone, Debug)]
pub struct RecordedTree {
    /// Where.
    pub position: Position,
    /// When, in nanoseconds since 1970.
    pub time: i64,
    /// What was recorded.
    pub tree: TreeRecorded,
}

impl RecordedTree {
    /// Where to go back to for it, which the log shows: with a step's outcome or a turn's end, which comes right after it, if it is
    /// theirs.
    pub fn place(&self) -> u64 {
        let cause = self.tree.cost().map(|cost| cost.cause);
        let is_with_next = matches!(cause, Some(Cause::StepEnd | Cause::TurnEnd));
        if is_with_next { self.position.seq + 1 } else { self.position.seq }
    }

    /// The fingerprint of the environment that was taken with it, if one was.
    pub(crate) fn environment(&self) -> Option<Fingerprint> {
        self.tree.environment.clone().and_then(|value| serde_json::from_value(value).ok())
    }
}

/// How often a snapshot is made again because a collection took what it found.
pub(super) const ROUNDS: usize = 4;

impl Client {
    /// Takes a checkpoint of a branch's workspace. When this returns, tree and entry are durable.
    ///
    /// # Errors
    /// `not_found` (`no_workspace`) when none is attached, or its directory is gone; `conflict` (`lease_held`) while
    /// another writer holds the branch.
    pub async fn checkpoint(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        writer: WriterOptions,
        options: CheckpointOptions,
    ) -> Result<Checkpoint> {
        let short = writer.id.is_none();
        let writer = self.writer(session, branch, writer).await?;
        let taken = writer.checkpoint(options).await;
        writer.let_go(short, taken).await
    }

    /// The last tree of a branch at a position, if it has one.
    ///
    /// # Errors
    /// `corrupt` when it cannot be read.
    pub async fn tree_at(&self, at: Position) -> Result<Option<RecordedTree>> {
        let query = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit: 1 };
        match self.core.0.ledger.rows(query).await?.first() {
            Some(found) => {
                let entry = self.core.entry_at(found.position).await?;
                let tree = entry.json()?;
                Ok(Some(RecordedTree { position: found.position, time: entry.header.time, tree }))
            }
            None => Ok(None),
        }
    }
}

impl Writer {
    /// The workspace of this branch.
    pub(crate) async fn workspace(&self) -> Result<Option<WorkspaceInfo>> {
        self.client.workspace_of_branch(self.session, self.branch).await
    }

    pub(crate) async fn last_tree(&self) -> Result<Option<RecordedTree>> {
        let head = self.core().journal(self.branch).await?.head;
        self.client.tree_at(Position { journal: self.branch, seq: head }).await
    }

    /// Takes a checkpoint.
    ///
    /// # Errors
    /// As [`Client::checkpoint`].
    pub async fn checkpoint(&self, options: CheckpointOptions) -> Result<Checkpoint> {
        self.checkpoint_knowing(options, None).await.map(|(checkpoint, _)| checkpoint)
    }

    /// Takes a checkpoint beside a restore, after which the directory is known to hold another tree than the recorded.
    /// Also says what it found.
    pub(crate) async fn checkpoint_knowing(
        &self,
        options: CheckpointOptions,
        known: Option<BlockId>,
    ) -> Result<(Checkpoint, Scanned)> {
        let taking = self.taking(options, known).await?;
        for _ in 1..ROUNDS {
            match self.take_and_commit(&taking).await {
                Err(error) if is_collected(&error) => {}
                other => return other,
            }
        }
        self.take_and_commit(&taking).await
    }

    /// What a checkpoint is to be taken of.
    pub(super) async fn taking(&self, options: CheckpointOptions, known: Option<BlockId>) -> Result<Taking> {
        let workspace = self.workspace().await?.ok_or_else(|| {
            Error::not_found("no_workspace", format!("branch {} has no workspace", self.branch.short()))
                .hint("attach one: `samite workspace attach SESSION DIR`")
        })?;
        let last = self.last_tree().await?;
        let environment = if options.no_environment {
            last.as_ref().and_then(|last| last.tree.environment.clone())
        } else {
            let before = last.as_ref().and_then(RecordedTree::environment);
            let now = fingerprint::take(Some(&workspace.directory), before.as_ref());
            serde_json::to_value(now).ok()
        };
        let before = self.before(last.as_ref(), options.cause).await?;
        let base = last.map(|last| last.tree.root);
        let CheckpointOptions { label, observer, cause, .. } = options;
        Ok(Taking { workspace, base, known, others: false, label, environment, observer, cause, before })
    }

    /// Takes a checkpoint, unless the directory is as in the branch's last tree: then it answers with that.
    ///
    /// # Errors
    /// As [`Client::checkpoint`].
    pub(crate) async fn checkpoint_of_change(&self, options: CheckpointOptions) -> Result<Checkpoint> {
        let taking = self.taking(options, None).await?;
        let mut round = 0;
        loop {
            round += 1;
            let (taken, _) = self.take(&taking).await?;
            if taken.unchanged
                && let Some(last) = self.last_tree().await?.filter(|last| last.tree.root == taken.root)
            {
                return Ok(taken.at(last.position));
            }
            samite_host::kill_point("checkpoint.before_commit");
            match self.commit_with(taken.commit.clone(), vec![taken.draft.clone()]).await {
                Err(error) if is_collected(&error) && round < ROUNDS => {}
                committed => {
                    let seq = committed?;
                    samite_host::kill_point("checkpoint.after_commit");
                    return Ok(taken.at(Position { journal: self.branch, seq }));
                }
            }
        }
    }

    /// The workspace's tree as it is now, recorded where it is not the last one; none without a workspace. `others` says that
    /// what changed since the last tree is somebody else's work: going back keeps it.
    ///
    /// # Errors
    /// As [`Writer::checkpoint`].
    pub(crate) async fn tree_now(&self, label: &str, others: bool) -> Result<Option<BlockId>> {
        let options = CheckpointOptions {
            label: Some(label.to_owned()),
            no_environment: true,
            cause: Cause::StepStart,
            ..CheckpointOptions::default()
        };
        if others {
            self.take_up_own().await?;
        }
        let taking = match self.taking(options, None).await {
            Ok(taking) => Taking { others, ..taking },
            Err(error) if error.code() == "no_workspace" => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut round = 0;
        loop {
            round += 1;
            let (taken, _) = self.take(&taking).await?;
            if taken.unchanged {
                return Ok(Some(taken.root));
            }
            let root = taken.root;
            match self.commit_with(taken.commit, vec![taken.draft]).await {
                Err(error) if is_collected(&error) && round < ROUNDS => {}
                other => return other.map(|_| Some(root)),
            }
        }
    }

    /// Where another branch of the session, or a session that works for it, left the directory, the tree that it recorded last
    /// becomes this branch's: what lies between the two is nobody else's doing. After a branch was made current again, say.
    async fn take_up_own(&self) -> Result<()> {
        let Some(workspace) = self.workspace().await? else { return Ok(()) };
        let intervals = self.client.intervals(JournalId(workspace.id.0)).await?;
        let own = self.client.whom(self.session, &intervals).await.own;
        let Some(last) = intervals.iter().rfind(|one| own.contains(&one.interval.session)) else { return Ok(()) };
        let WorkspaceInterval { session, branch, root, known } = last.interval;
        let head = self.core().journal(branch).await?.head;
        let Some(before) = self.last_tree().await? else { return Ok(()) };
        if branch == self.branch || before.tree.root == root {
            return Ok(());
        }
        // Of a line that was deleted, or whose tree is gone, there is nothing to take up.
        let Some(left) = self.client.tree_at(Position { journal: branch, seq: head }).await? else { return Ok(()) };
        if left.tree.root != root {
            return Ok(());
        }
        let label = if session == self.session { "as branch" } else { "as the branch of a sub-agent" };
        let label = format!("{label} {} left it", branch.short());
        match self.record_stored(label, root, known, left.tree.report).await {
            Err(error) if is_collected(&error) => Ok(()),
            other => other,
        }
    }

    /// Makes a snapshot and commits it. What it found may be collected in between, and then nothing was committed.
    async fn take_and_commit(&self, taking: &Taking) -> Result<(Checkpoint, Scanned)> {
        let (taken, scanned) = self.take(taking).await?;
        samite_host::kill_point("checkpoint.before_commit");
        let seq = self.commit_with(taken.commit.clone(), vec![taken.draft.clone()]).await?;
        samite_host::kill_point("checkpoint.after_commit");
        Ok((taken.at(Position { journal: self.branch, seq }), scanned))
    }

    /// Records that a workspace's directory holds a tree that is stored already, without looking at it.
    pub(crate) async fn record_tree(
        &self,
        label: String,
        root: BlockId,
        known: Option<BlockId>,
        report: &ScanReport,
    ) -> Result<()> {
        self.record_stored(label, root, known, report_value(report)).await
    }

    /// The same, with the report as it is recorded.
    async fn record_stored(&self, label: String, root: BlockId, known: Option<BlockId>, report: Value) -> Result<()> {
        let cause = Cause::Restored;
        let options =
            CheckpointOptions { label: Some(label), no_environment: true, cause, ..CheckpointOptions::default() };
        let taking = self.taking(options, known).await?;
        let cost = taking.before.unseen(cause, self.core().now());
        let (mut commit, draft) = self.entries_of(&taking, root, report, (0, cost)).await?;
        commit.guards.push(Guard::BlocksLive { blocks: vec![root] });
        self.commit_with(commit, vec![draft]).await.map(|_| ())
    }

    /// Does something that records the workspace's tree in the same commit: `commit` gets the tree, and none when there is
    /// no workspace or it cannot be read, since what is to be recorded beside it is recorded all the same. It is called
    /// anew when a collection took what the tree needs.
    pub(crate) async fn with_tree<T>(
        &self,
        label: String,
        known: Option<BlockId>,
        commit: impl AsyncFn(Option<&Taken>) -> Result<T>,
    ) -> Result<(T, Option<Taken>)> {
        let cause = if known.is_some() { Cause::Restored } else { Cause::StepEnd };
        let (done, taken) = self.with_tree_because(cause, Some(label), known, commit).await?;
        Ok((done, taken.ok()))
    }

    /// As [`Writer::with_tree`], for another cause, and with the reason where there is no tree.
    pub(crate) async fn with_tree_because<T>(
        &self,
        cause: Cause,
        label: Option<String>,
        known: Option<BlockId>,
        commit: impl AsyncFn(Option<&Taken>) -> Result<T>,
    ) -> Result<(T, Result<Taken>)> {
        let options = CheckpointOptions { label, no_environment: true, cause, ..CheckpointOptions::default() };
        let taking = match self.taking(options, known).await {
            Ok(taking) => taking,
            Err(error) => return commit(None).await.map(|done| (done, Err(error))),
        };
        let mut refused = None;
        for _ in 0..ROUNDS {
            let taken = self.take(&taking).await.map(|(taken, _)| taken);
            match commit(taken.as_ref().ok()).await {
                Err(error) if taken.is_ok() && is_collected(&error) => refused = Some(error),
                other => return other.map(|done| (done, taken)),
            }
        }
        let gone = || Error::conflict("pin_lapsed", "what the snapshot found keeps being collected").hint("try again");
        let refused = refused.unwrap_or_else(gone);
        commit(None).await.map(|done| (done, Err(refused)))
    }

    /// Takes a checkpoint in the middle of a step where something changed; `since` is when a look found nothing. Whether
    /// something had changed or not, what the look cost is told.
    pub(crate) async fn checkpoint_amid(
        &self,
        label: String,
        since: Option<i64>,
    ) -> Result<(Costs, Option<Checkpoint>)> {
        let options = CheckpointOptions {
            label: Some(label),
            no_environment: true,
            cause: Cause::Tick,
            ..CheckpointOptions::default()
        };
        let mut taking = self.taking(options, None).await?;
        taking.before.since = since.or(taking.before.since);
        for _ in 1..ROUNDS {
            match self.take_amid(&taking).await {
                Err(error) if is_collected(&error) => {}
                other => return other,
            }
        }
        self.take_amid(&taking).await
    }

    async fn take_amid(&self, taking: &Taking) -> Result<(Costs, Option<Checkpoint>)> {
        let (taken, _) = self.take(taking).await?;
        let costs = taken.costs;
        if taken.unchanged {
            return Ok((costs, None));
        }
        samite_host::kill_point("checkpoint.before_amid");
        let seq = self.commit_with(taken.commit.clone(), vec![taken.draft.clone()]).await?;
        samite_host::kill_point("checkpoint.after_amid");
        Ok((costs, Some(taken.at(Position { journal: self.branch, seq }))))
    }

    /// Makes a snapshot, and what is to be committed of it. Until that is, the tree does not exist.
    pub(super) async fn take(&self, taking: &Taking) -> Result<(Taken, Scanned)> {
        let Taking { workspace, base, .. } = taking;
        self.core().refresh_redactor().await?;
        let store = self.core().blocks();
        let mut scan = self.core().scan_options(workspace.id, &workspace.directory)?;
        scan.observer = taking.observer.clone();
        let owner = self.client.subject.pseudonym;
        let begun = self.core().now();
        let snapshot = snapshot(&store, &workspace.directory, &SnapshotOptions { owner, base: *base, scan })?;
        let report = snapshot.scanned.report().clone();
        let (root, new_bytes, unchanged) = (snapshot.root, snapshot.new_bytes, *base == Some(snapshot.root));
        let cost = taking.before.cost(taking.cause, (begun, self.core().now()), new_bytes, unchanged);
        let (mut commit, draft) = self.entries_of(taking, root, report_value(&report), (new_bytes, cost)).await?;
        snapshot.parts.add_to(&mut commit);
        let taken = Taken { commit, draft, root, report, new_bytes, unchanged, costs: cost.costs };
        Ok((taken, snapshot.scanned))
    }

    /// The entries that name a tree: the branch's, and in the commit that of the workspace's own journal.
    async fn entries_of(
        &self,
        taking: &Taking,
        root: BlockId,
        mut report: Value,
        (new_bytes, cost): (u64, TreeCost),
    ) -> Result<(Commit, Draft)> {
        let journal = JournalId(taking.workspace.id.0);
        if let Some(fields) = report.as_object_mut() {
            fields.insert("new_bytes".to_owned(), new_bytes.into());
            fields.insert("cost".to_owned(), crate::core::to_value(&cost)?);
        }
        let recorded = TreeRecorded {
            root,
            workspace: taking.workspace.id,
            label: taking.label.clone(),
            report,
            environment: taking.environment.clone(),
            workspace_head: Some(self.core().journal(journal).await?.head),
            memory: self.client.memory_positions().await?,
        };
        let known = taking.known;
        let mut intervals = vec![WorkspaceInterval { session: self.session, branch: self.branch, root, known }];
        if let (true, Some(base)) = (taking.others, taking.base) {
            // A session that has one tree only changed what lies between the tree before and that one. What this session's
            // own doing left there is the tree before.
            let (session, branch) = (FamilyId(self.core().random_id()?), JournalId(self.core().random_id()?));
            intervals.insert(0, WorkspaceInterval { session, branch, root, known: None });
            intervals.iter_mut().skip(1).for_each(|own| own.known = Some(known.unwrap_or(base)));
        }
        let author = self.client.author(self.epoch);
        let seal = |interval| {
            let draft = self.core().draft(EntryKind::WORKSPACE_INTERVAL, &interval, Projection::default())?;
            self.core().seal(journal, &author, draft)
        };
        let entries = intervals.into_iter().map(seal).collect::<Result<_>>()?;
        let commit = Commit { appends: vec![Append { journal, entries }], ..Commit::default() };
        Ok((commit, self.core().draft(EntryKind::TREE, &recorded, views::tree(&recorded))?))
    }
}

/// A snapshot that is about to be committed.
pub(crate) struct Taken {
    /// What goes into the commit beside the branch's own entries.
    pub(crate) commit: Commit,
    /// The branch's entry.
    pub(crate) draft: Draft,
    pub(super) root: BlockId,
    pub(super) report: ScanReport,
    pub(super) new_bytes: u64,
    pub(super) unchanged: bool,
    costs: Costs,
}

impl Taken {
    /// The tree.
    pub(crate) fn root(&self) -> BlockId {
        self.root
    }

    /// The checkpoint, once it is committed.
    pub(crate) fn at(self, position: Position) -> Checkpoint {
        let Self { root, report, new_bytes, unchanged, .. } = self;
        Checkpoint { position, root, report, new_bytes, unchanged }
    }
}

/// A checkpoint that is about to be taken.
pub(super) struct Taking {
    workspace: WorkspaceInfo,
    pub(super) base: Option<BlockId>,
    known: Option<BlockId>,
    /// Whether what changed since the last tree is somebody else's work, and none of this session's.
    others: bool,
    label: Option<String>,
    environment: Option<Value>,
    observer: Observer,
    cause: Cause,
    before: Before,
}

fn report_value(report: &ScanReport) -> Value {
    let paths = |paths: &[samite_model::tree::TreePath]| -> Vec<String> {
        paths.iter().take(100).map(ToString::to_string).collect()
    };
    let mut value = json!({
        "files": report.files,
        "directories": report.directories,
        "bytes": report.bytes,
        "sockets": paths(&report.sockets),
        "torn": paths(&report.torn),
        "secrets": paths(&report.secrets),
        "unreadable": report.unreadable.len(),
    });
    if let (Some(fields), false) = (value.as_object_mut(), report.found.is_empty()) {
        let (found, more) = crate::redaction::found_files(&report.found);
        fields.insert("found".to_owned(), json!(found));
        fields.insert("found_more".to_owned(), json!(more));
    }
    value
}
