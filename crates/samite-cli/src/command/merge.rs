//! `samite merge`.

use crate::reference::Reference;
use crate::shape::MergeShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::merge::{Choice, MergeRequest, MergeState};
use samite_model::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Merge a branch's files into another branch
///
/// What only one side changed is taken, and so is what both changed alike. Where something is left to decide, no file of
/// the workspace is touched: both sides, their ancestor and what is proposed are laid out in a directory with a
/// manifest.json, in which each conflict gets a decision, and the command ends with exit status 4. --continue then ends
/// the merge, and --abort gives it up. What is merged is the branch's last checkpoint. Conversations and effects outside
/// are never merged.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite merge 3f2a:9c --plan
  samite merge 3f2a:9c --auto
  samite merge 3f2a:9c --into 7d --take notes.md=theirs
  samite merge --continue 3f2a --take src/main.rs=1.proposed
  samite merge --abort 3f2a")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Merge {
    /// The branch to merge: SESSION:BRANCH; with --continue or --abort, where it is merged into
    branch: Reference,
    /// The branch to merge into; without it, the session's current one
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Take what is proposed, where edits of a text do not overlap or a moved file was edited
    #[arg(long)]
    auto: bool,
    /// Decide a conflict: ours, theirs, base, proposed, removed, or a file of the layout; may be repeated
    #[arg(long, value_name = "PATH=CHOICE")]
    take: Vec<String>,
    /// Lay conflicts out in this directory, which is empty or not there yet, and not in the store
    #[arg(long, value_name = "DIR", conflicts_with_all = ["continue", "abort"])]
    layout: Option<PathBuf>,
    /// Go on with the merge that is open
    #[arg(long, conflicts_with = "into")]
    r#continue: bool,
    /// Give the merge that is open up
    #[arg(long, conflicts_with_all = ["into", "continue", "auto", "take"])]
    abort: bool,
    /// Only show what would be merged, and what is in conflict
    #[arg(long, conflicts_with_all = ["continue", "abort", "layout"])]
    plan: bool,
}

impl Merge {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let take = self.take.iter().map(|words| decision(words)).collect::<Result<Vec<_>>>()?;
        let client = surface.open(if self.plan { Access::Read } else { Access::Write })?.client().await?;
        let found = self.branch.find_branch(&client).await?;
        let session = found.session;
        let progress = surface.printer.progress("merging");
        let request = MergeRequest { auto: self.auto, take, layout: self.layout, observer: progress.observer() };
        let report = if self.abort {
            client.abort_merge(session, found.branch, surface.writer_options()?).await
        } else if self.r#continue {
            client.continue_merge(session, found.branch, surface.writer_options()?, &request).await
        } else {
            let Some(from) = found.branch else {
                return Err(Error::invalid("no_branch_named", format!("{} names no branch to merge", self.branch))
                    .hint(format!("write {}:BRANCH; `samite branch list {}` shows them", self.branch, self.branch)));
            };
            let into = match &self.into {
                Some(into) => Some(client.find_branch(session, into).await?),
                None => None,
            };
            if self.plan {
                client.plan_merge(session, from, into, &request).await
            } else {
                client.merge(session, from, into, surface.writer_options()?, &request).await
            }
        };
        drop(progress);
        let report = report?;
        surface.printer.answer(&MergeShape::new(session, &report))?;
        // Somebody has to decide: read what it says, then go on.
        Ok(if report.state == MergeState::Open {
            ExitCode::from(ErrorKind::Conflict.exit_status())
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// A path and what to take for it. A path may hold `=` itself.
fn decision(words: &str) -> Result<(String, Choice)> {
    let (path, choice) = words.rsplit_once('=').filter(|(path, _)| !path.is_empty()).ok_or_else(|| {
        Error::invalid("bad_decision", format!("{words:?} is no decision"))
            .hint("write PATH=CHOICE: ours, theirs, base, proposed, removed, or a file of the layout")
    })?;
    Ok((path.to_owned(), choice.parse()?))
}
