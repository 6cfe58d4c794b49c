//! `samite fork`.

use super::session::write_for;
use crate::input::file_or_input;
use crate::reference::Reference;
use crate::shape::{BeforeShape, ForkShape};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::payload::ForkReason;
use samite::workspace::{RestoreReport, Restored};
use samite::{Client, ForkOptions, ForkReport};
use samite_host::files;
use samite_model::{BranchId, Error, Position, Result, SessionId, limits};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Fork a session: a second branch that goes on after a position
///
/// The new branch inherits everything up to the position; nothing is copied but, with --into, the workspace's files as
/// they were there. What happened outside after that position cannot be forked, and is listed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite fork 3f2a
  samite fork 3f2a@40 --into ../second-try --name 'another way'
  samite fork @40 --into ../second-try
  samite fork 3f2a:9c@55 --keep
  samite fork 3f2a@12 --edit prompt.txt")]
pub(crate) struct Fork {
    /// Where to fork: SESSION, SESSION@SEQ or SESSION:BRANCH@SEQ; . and @SEQ are of the session that worked here last, which
    /// `log` shows
    at: Reference,
    /// Put the workspace as it was there into this directory, which is empty or not there yet, and in no other workspace
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// A name for the new branch: SESSION:NAME means it, as its id does
    #[arg(long)]
    name: Option<String>,
    /// The caller's id for the new branch: forking again with it answers with the first fork
    #[arg(long)]
    key: Option<String>,
    /// Keep its workspace trees for good, and not for 30 days
    #[arg(long)]
    keep: bool,
    /// Fork right before the position, and put this file in the place of the entry there (- is standard input)
    ///
    /// For replaying with changed words: what was recorded before the entry is replayed, and what comes after it is new.
    #[arg(long, value_name = "FILE")]
    edit: Option<PathBuf>,
}

impl Fork {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let named = self.at.find(&client).await?;
        let mut found = self.at.find_position(&client).await?;
        let mut before = None;
        if let (Some(named), None, None) = (named.seq, &self.edit, &self.key) {
            let (seq, call) = before_call(&client, found.session, found.branch, named).await?;
            found.position = client.position(found.session, found.branch, seq).await?;
            before = call;
        }
        let edited = match &self.edit {
            None => None,
            Some(_) if named.seq.is_none() => {
                return Err(Error::invalid("no_position", format!("{} names no entry to edit", self.at))
                    .hint(format!("write {}@SEQ; `samite read {}` shows the entries", self.at, self.at)));
            }
            Some(file) => {
                let body = file_or_input("the edited entry", file, limits::PAYLOAD)?;
                let edited = client.edited(found.position, body).await?;
                let before = found.position.seq.saturating_sub(1);
                found.position = client.position(found.session, found.branch, before).await?;
                Some(edited)
            }
        };
        let known = match &self.key {
            Some(key) => client.branch_by_key(found.session, key).await?,
            None => None,
        };
        if let (Some(directory), None) = (&self.into, known) {
            check_target(&client, found.session, found.position, directory).await?;
        }
        let options = ForkOptions {
            // A fork that is asked for again is where it was, although the branch went on.
            branch: if known.is_some() { named.branch } else { Some(found.branch) },
            seq: if known.is_some() && edited.is_none() { named.seq } else { Some(found.position.seq) },
            reason: ForkReason::Fork,
            name: self.name,
            key: self.key,
            keep: self.keep,
        };
        let report = match edited {
            Some(edited) => client.fork_edited(found.session, options, edited).await?,
            None => client.fork(found.session, options).await?,
        };
        let restored = match &self.into {
            Some(directory) => {
                let reference = format!("{}:{}", found.session.short(), report.branch.short());
                if let Some(restored) = made_before(&client, found.session, &report, directory, &reference).await? {
                    Some(restored)
                } else {
                    let progress = surface.printer.progress("copying the workspace");
                    let restored = client.materialise(found.session, report.branch, directory).await;
                    drop(progress);
                    Some(restored.map_err(|error| {
                        error.hint(format!("the branch was made: {reference}; attach another directory to it"))
                    })?)
                }
            }
            None => None,
        };
        let any = !client.workspaces(found.session).await?.is_empty();
        let shape = ForkShape::new(found.session, &report, false)
            .with_before(before)
            .with_workspace(restored.as_ref())
            .with_trees(any);
        let shape = shape.with_transcript(write_for(surface, &client, found.session, report.branch).await);
        surface.printer.answer(&shape)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The position that somebody means who names one, and the call whose start they named: then they mean the one before it.
pub(super) async fn before_call(
    client: &Client,
    session: SessionId,
    branch: BranchId,
    named: u64,
) -> Result<(u64, Option<BeforeShape>)> {
    Ok(match client.before_step(session, branch, named).await? {
        Some((step, before)) => (before, Some(BeforeShape::new(named, &step))),
        None => (named, None),
    })
}

/// The directory of a fork that was made before: it is not touched, since there may be work in it. None when the fork has
/// no directory yet.
async fn made_before(
    client: &Client,
    session: SessionId,
    report: &ForkReport,
    directory: &Path,
    reference: &str,
) -> Result<Option<Restored>> {
    let Some(workspace) = client.workspace_of_branch(session, report.branch).await? else { return Ok(None) };
    if files::exists(directory)? && files::canonical(directory)? == workspace.directory {
        let from = client.checkpoint_at(report.at).await?;
        return Ok(Some(Restored {
            directory: workspace.directory,
            target: from.tree.root,
            from: from.position,
            safety: None,
            torn: Vec::new(),
            report: RestoreReport::default(),
        }));
    }
    let at = workspace.directory.display();
    Err(Error::conflict("workspace_in_use", format!("branch {reference} works in {at} already"))
        .hint("name that directory, or fork with another key"))
}

/// Refuses what cannot work before a branch is made for it.
async fn check_target(client: &Client, session: SessionId, at: Position, directory: &Path) -> Result<()> {
    client.checkpoint_at(at).await?;
    client.refuse_place(session, None, directory, true).await?;
    if files::exists(directory)? && !files::list(directory)?.is_empty() {
        return Err(Error::conflict("not_empty", format!("{} holds something already", directory.display()))
            .hint("name a directory that is empty or not there yet"));
    }
    Ok(())
}
