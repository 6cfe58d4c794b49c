//! `samite share`, `samite unshare` and `samite grants`.

use crate::arguments::parse_time;
use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::shape::{GrantShape, ReadShape, grant_table, read_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Client;
use samite_host::{Clock, SystemClock};
use samite_model::access::{Grantee, Right, Rights};
use samite_model::{ArtifactId, Result, SessionId};
use serde::Serialize;
use std::process::ExitCode;

/// What is shared.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The session
    session: Option<Reference>,
    /// An artifact instead
    #[arg(long, value_name = "ARTIFACT")]
    artifact: Option<String>,
}

/// What was looked up.
enum Target {
    Session(SessionId),
    Artifact(ArtifactId),
}

impl What {
    async fn find(&self, client: &Client) -> Result<Target> {
        match (&self.session, &self.artifact) {
            (_, Some(artifact)) => client.find_artifact(artifact).await.map(Target::Artifact),
            (Some(session), None) => session.find_session(client).await.map(Target::Session),
            // The group asks for one of them.
            (None, None) => Ok(Target::Session(client.session_here(&crate::surface::here()?).await?.0)),
        }
    }
}

impl Target {
    fn kind(&self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::Artifact(_) => "artifact",
        }
    }

    fn id(&self) -> String {
        match self {
            Self::Session(session) => session.to_string(),
            Self::Artifact(artifact) => artifact.to_string(),
        }
    }
}

/// Share a session or an artifact with a user or an agent of the same tenant
///
/// What is granted to the same user or agent takes the place of what was. Whoever may add, fork, publish or manage may read.
/// Erasing stays with the owner. Reads by others are recorded: `samite grants` shows them.
#[derive(Debug, Args)]
#[command(override_usage = "samite share [OPTIONS] --with <WHOM> <RIGHTS> <SESSION|--artifact ...>")]
#[command(after_long_help = "\
Examples:
  samite share 3f2a --with user:ada --read
  samite share 3f2a --with user:ada --with agent:coder --fork --days 7
  samite share --artifact 9c41 --with user:ada --read --until 2027-01-31")]
pub(crate) struct Share {
    #[command(flatten)]
    what: What,
    /// With whom: user:NAME or agent:NAME; one of each means that agent of that user
    #[arg(long, value_name = "WHOM", required = true)]
    with: Vec<String>,
    #[command(flatten)]
    rights: Chosen,
    /// Until then, in UTC: 2027-01-31, or 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<i64>,
    /// For so many days from now
    #[arg(long, value_name = "DAYS", conflicts_with = "until", value_parser = clap::value_parser!(u16).range(1..))]
    days: Option<u16>,
}

/// What they may do.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[group(required = true, multiple = true)]
struct Chosen {
    /// They may read it
    #[arg(long)]
    read: bool,
    /// They may add to it: messages, steps, checkpoints
    #[arg(long)]
    append: bool,
    /// They may fork and rewind it
    #[arg(long)]
    fork: bool,
    /// They may publish artifacts from it
    #[arg(long)]
    publish: bool,
    /// They may change its settings, how long it is kept, and who else may what
    #[arg(long)]
    manage: bool,
}

impl Chosen {
    fn rights(&self) -> Rights {
        let chosen = [
            (self.read, Right::Read),
            (self.append, Right::Append),
            (self.fork, Right::Fork),
            (self.publish, Right::Publish),
            (self.manage, Right::Manage),
        ];
        Rights::of(chosen.into_iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, right)| right))
    }
}

const DAY: i64 = 24 * 3600 * 1_000_000_000;

/// A grant that was given, or grants that ended.
#[derive(Serialize)]
struct Granted {
    /// `session` or `artifact`.
    kind: &'static str,
    id: String,
    grants: Vec<GrantShape>,
    #[serde(skip)]
    ended: bool,
}

impl Answer for Granted {
    fn show(&self, page: &mut Page) {
        let (kind, id) = (self.kind, &self.id);
        for grant in &self.grants {
            let (whom, rights) = (grant.whom(), grant.rights());
            page.line(if self.ended {
                format!("{kind} {id} is no longer shared with {whom} ({rights})")
            } else {
                format!("{kind} {id} is shared with {whom} until {}: {rights}", grant.until())
            });
        }
    }
}

impl Share {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let whom = Grantee::parse(&self.with)?;
        let now = SystemClock.now();
        let until = self.until.or_else(|| self.days.map(|days| now.saturating_add(i64::from(days) * DAY)));
        let client = surface.open(Access::Write)?.client().await?;
        let target = self.what.find(&client).await?;
        let rights = self.rights.rights();
        let shared = match target {
            Target::Session(session) => client.share(session, whom, rights, until).await?,
            Target::Artifact(artifact) => client.share_artifact(artifact, whom, rights, until).await?,
        };
        let grants = vec![GrantShape::new(&shared, now)];
        surface.printer.answer(&Granted { kind: target.kind(), id: target.id(), grants, ended: false })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Take back what was granted on a session or an artifact
///
/// From then on nothing more is read or added that rested on it, and what they had granted in turn ends too. What was read
/// stays read, and what was added stays.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite unshare 3f2a --with user:ada
  samite unshare 3f2a --all")]
pub(crate) struct Unshare {
    #[command(flatten)]
    what: What,
    /// From whom, as it was granted: user:NAME, agent:NAME, or both
    #[arg(long, value_name = "WHOM", required_unless_present = "all")]
    with: Vec<String>,
    /// From everybody
    #[arg(long, conflicts_with = "with")]
    all: bool,
}

impl Unshare {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let whom = if self.all { None } else { Some(Grantee::parse(&self.with)?) };
        let client = surface.open(Access::Write)?.client().await?;
        let target = self.what.find(&client).await?;
        let ended = match target {
            Target::Session(session) => client.unshare(session, whom.as_ref()).await?,
            Target::Artifact(artifact) => client.unshare_artifact(artifact, whom.as_ref()).await?,
        };
        let now = SystemClock.now();
        if let Some(whom) = &whom {
            let stands = match target {
                Target::Session(session) => client.grants(session).await?,
                Target::Artifact(artifact) => client.artifact_grants(artifact).await?,
            };
            // Grants end as they were given: one to an agent of the same user is another.
            let shares = |to: &Grantee| {
                (whom.user.is_some() && to.user == whom.user) || (whom.agent.is_some() && to.agent == whom.agent)
            };
            for one in stands.iter().filter(|one| shares(&one.grant.to)) {
                surface.printer.note(&format!("it is still shared with {}", one.grant.to));
            }
        }
        let grants = ended.iter().map(|shared| GrantShape::new(shared, now)).collect();
        surface.printer.answer(&Granted { kind: target.kind(), id: target.id(), grants, ended: true })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Show with whom a session or an artifact is shared, and what others read of a session
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite grants 3f2a
  samite grants 3f2a --json | jq '.reads'")]
pub(crate) struct Grants {
    #[command(flatten)]
    what: What,
}

#[derive(Serialize)]
struct Listed {
    /// `session` or `artifact`.
    kind: &'static str,
    id: String,
    grants: Vec<GrantShape>,
    reads: Vec<ReadShape>,
}

impl Answer for Listed {
    fn show(&self, page: &mut Page) {
        if self.grants.is_empty() {
            page.line(format!("{} {} is shared with nobody", self.kind, self.id));
        } else {
            page.table(&grant_table(&self.grants));
        }
        if !self.reads.is_empty() {
            page.gap();
            page.table(&read_table(&self.reads));
        }
    }
}

impl Grants {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let target = self.what.find(&client).await?;
        let standing = match target {
            Target::Session(session) => client.grants(session).await?,
            Target::Artifact(artifact) => client.artifact_grants(artifact).await?,
        };
        let mut reads = Vec::new();
        if let Target::Session(session) = target {
            for read in client.reads_by_others().await? {
                let looked = read.recorded.read.iter().filter(|looked| looked.session == Some(session));
                reads.extend(looked.map(|looked| ReadShape::new(&read, looked)));
            }
        }
        let now = SystemClock.now();
        let grants = standing.iter().map(|shared| GrantShape::new(shared, now)).collect();
        surface.printer.answer(&Listed { kind: target.kind(), id: target.id(), grants, reads })?;
        Ok(ExitCode::SUCCESS)
    }
}
