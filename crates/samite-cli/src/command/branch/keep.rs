//! `samite branch keep`.

use crate::printer::words::{day, rfc3339};
use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Client;
use samite_host::{Clock, SystemClock};
use samite_model::{BranchId, Error, Result, SessionId};
use serde::Serialize;
use std::process::ExitCode;

/// Keep the workspace trees of a branch that is not current, for good or for some days
///
/// The log of a branch is kept until the branch is deleted; its workspace trees are large, and go 30 days after it was
/// left or its last entry, whichever is later, unless this says otherwise. The current branch keeps its trees in any case.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite branch keep 3f2a:9c41
  samite branch keep 3f2a:9c41 --days 90")]
pub(crate) struct Keep {
    /// The branch: SESSION:BRANCH
    branch: Reference,
    /// For so many days from now, and not for good
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16))]
    days: Option<u16>,
}

const DAY: i64 = 24 * 3600 * 1_000_000_000;

/// A branch that was changed.
#[derive(Debug, Serialize)]
pub(super) struct Changed {
    session: String,
    branch: String,
    current: bool,
    /// When its workspace trees may go; none keeps them for good.
    trees_until: Option<String>,
    #[serde(skip)]
    how: String,
}

/// What is said of the current branch.
const CURRENT: &str = "is current, and keeps its workspace trees in any case; once it is left, say it again (or leave it \
                       with `samite rewind --keep`)";

impl Changed {
    /// What became of a branch that is current.
    pub(super) fn current(session: SessionId, branch: BranchId, how: impl Into<String>) -> Self {
        Self {
            session: session.to_string(),
            branch: branch.to_string(),
            current: true,
            trees_until: None,
            how: how.into(),
        }
    }
}

impl Answer for Changed {
    fn show(&self, page: &mut Page) {
        page.line(format!("branch {} {}", self.branch, self.how));
    }
}

/// Looks up a branch that must be named.
pub(super) async fn named_branch(client: &Client, reference: &Reference) -> Result<(SessionId, BranchId)> {
    let found = reference.find_branch(client).await?;
    match found.branch {
        Some(branch) => Ok((found.session, branch)),
        None => Err(Error::invalid("no_branch_named", format!("{reference} names no branch"))
            .hint(format!("write {reference}:BRANCH; `samite branch list {reference}` shows them"))),
    }
}

impl Keep {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let (session, branch) = named_branch(&client, &self.branch).await?;
        let until = self.days.map(|days| SystemClock.now().saturating_add(i64::from(days) * DAY));
        let changed = if client.current_branch(session).await? == branch {
            // What is said of it now would be forgotten as soon as another becomes current.
            Changed::current(session, branch, CURRENT)
        } else {
            client.set_lifetime(session, branch, until).await?;
            let how = until.map_or_else(
                || "keeps its workspace trees for good".to_owned(),
                |until| format!("keeps its workspace trees until {}", day(until)),
            );
            Changed { current: false, trees_until: until.map(rfc3339), ..Changed::current(session, branch, how) }
        };
        surface.printer.answer(&changed)?;
        Ok(ExitCode::SUCCESS)
    }
}
