//! Which namespace a command is about.

use crate::reference::Reference;
use crate::shape::RecordShape;
use clap::Args;
use samite::Client;
use samite::memory::{Memory, MemorySettings, Namespace, Standing};
use samite_model::Result;

/// The namespace.
#[derive(Debug, Args)]
pub(super) struct Within {
    /// The namespace, a segment each time: --namespace team --namespace notes
    #[arg(long = "namespace", short = 'n', value_name = "NAME", required = true)]
    segments: Vec<String>,
}

impl Within {
    pub(super) fn of(&self, client: &Client) -> Result<Memory> {
        Ok(client.memory(Namespace::new(self.segments.iter().map(String::as_str))?))
    }
}

/// The namespace as it is seen somewhere.
#[derive(Debug, Args)]
pub(super) struct Seen {
    #[command(flatten)]
    within: Within,
    /// As it is seen on SESSION or SESSION:BRANCH, with what that wrote for itself; at SESSION@SEQ as the last checkpoint had it
    #[arg(long, short = 's', value_name = "SESSION")]
    session: Option<Reference>,
}

impl Seen {
    pub(super) async fn of(&self, client: &Client) -> Result<Memory> {
        let memory = self.within.of(client)?;
        match &self.session {
            Some(session) => seen_at(client, &memory, session).await,
            None => Ok(memory),
        }
    }
}

/// The namespace as it is seen on a branch, or as a position of it had it.
pub(super) async fn seen_at(client: &Client, memory: &Memory, at: &Reference) -> Result<Memory> {
    let found = at.find(client).await?;
    if found.seq.is_some() {
        return memory.at_checkpoint(at.find_position(client).await?.position).await;
    }
    let branch = found.branch_or_current(client).await?;
    Ok(memory.on(client.head(found.session, branch).await?))
}

/// The namespace as it is written to: by a branch for itself, or at once for all.
#[derive(Debug, Args)]
pub(super) struct Target {
    #[command(flatten)]
    pub(super) within: Within,
    /// Write it on SESSION or SESSION:BRANCH, which alone sees it until `memory promote`
    #[arg(long, short = 's', value_name = "SESSION")]
    pub(super) session: Option<Reference>,
}

impl Target {
    /// What is seen where it is written.
    pub(super) async fn seen(&self, client: &Client) -> Result<Memory> {
        let memory = self.within.of(client)?;
        match &self.session {
            Some(session) => {
                let found = session.find_branch(client).await?;
                let branch = found.branch_or_current(client).await?;
                Ok(memory.on(client.head(found.session, branch).await?))
            }
            None => Ok(memory),
        }
    }
}

/// A record as an answer.
pub(super) fn shape(standing: &Standing, settings: &MemorySettings) -> RecordShape {
    RecordShape::new(standing, standing.is_quarantined(settings))
}
