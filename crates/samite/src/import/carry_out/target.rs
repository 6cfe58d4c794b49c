//! One session of a plan: its branches, each with a writer.

use super::Before;
use super::batch::BranchImport;
use super::known::Known;
use crate::branch::ForkOptions;
use crate::client::Client;
use crate::import::frame::plan::{Append, BranchRef, CallStarted, Fork};
use crate::payload::ForkReason;
use samite_model::{BranchId, Error, Position, Result, SessionId};
use std::collections::HashMap;

pub(super) struct Target {
    pub(super) session: SessionId,
    /// The harness's own name of it.
    pub(super) name: String,
    branches: HashMap<BranchRef, BranchImport>,
    known: Known,
    /// Where each line's entry is.
    positions: HashMap<u64, Position>,
}

impl Target {
    pub(super) async fn open(client: &Client, session: SessionId, name: String) -> Result<Self> {
        let first = client.session(session).await?.created.branch;
        let mut target =
            Self { session, name, branches: HashMap::new(), known: Known::default(), positions: HashMap::new() };
        target.add(client, BranchRef(0), first).await?;
        Ok(target)
    }

    async fn add(&mut self, client: &Client, name: BranchRef, branch: BranchId) -> Result<()> {
        let import = BranchImport::open(client, self.session, branch).await?;
        // Nobody but its writer adds to it from here on.
        self.known.read(client, branch).await?;
        self.branches.insert(name, import);
        Ok(())
    }

    fn branch(&mut self, name: BranchRef) -> Result<(&mut BranchImport, &mut Known)> {
        let branch = self.branches.get_mut(&name);
        let branch = branch.ok_or_else(|| Error::internal("bad_plan", "a plan names a branch before it is forked"))?;
        Ok((branch, &mut self.known))
    }

    pub(super) async fn fork(&mut self, client: &Client, fork: &Fork) -> Result<()> {
        let known = client.branch_by_key(self.session, fork.key.as_str()).await?;
        let branch = if let Some(branch) = known {
            branch
        } else {
            // The fork point must be durable, and the steps open there known.
            self.branch(fork.from)?.0.flush().await?;
            let at = self.positions.get(&fork.at_line).copied().ok_or_else(|| {
                Error::internal("bad_plan", format!("a plan forks at line {}, which has no entry", fork.at_line))
            })?;
            let options = ForkOptions {
                branch: Some(at.journal),
                seq: Some(at.seq),
                reason: ForkReason::Import,
                key: Some(fork.key.as_str().to_owned()),
                // How long something is kept is for who may manage to say.
                keep: client.may_manage(self.session).await?,
                ..ForkOptions::default()
            };
            client.fork(self.session, options).await?.branch
        };
        self.add(client, fork.branch, branch).await
    }

    pub(super) async fn append(&mut self, append: &Append<'_>) -> Result<Option<Before>> {
        let range = append.summarises.and_then(|range| {
            let seq = |line| self.positions.get(&line).map(|position| position.seq);
            Some((seq(range.first)?, seq(range.last)?))
        });
        let (branch, known) = self.branch(append.branch)?;
        let (position, before) = branch.append(known, append, range).await?;
        self.positions.insert(append.line, position);
        Ok(before)
    }

    pub(super) fn call_started(&mut self, call: &CallStarted) -> Result<()> {
        let (branch, known) = self.branch(call.branch)?;
        branch.call_started(known, call)
    }

    pub(super) fn call_ended(&mut self, branch: BranchRef, line: u64, tool_use: &str, failed: bool) -> Result<()> {
        self.branch(branch)?.0.call_ended(line, tool_use, failed)
    }

    /// Makes everything durable, gives the branches up, and makes the right one current.
    pub(super) async fn finish(self, client: &Client, current: Option<BranchRef>) -> Result<()> {
        let mut last = None;
        // Where nothing is new, the person may have gone another way since: that stays.
        let mut added = Vec::new();
        for (name, import) in self.branches {
            let (branch, new) = import.finish().await?;
            added.extend(new.then_some(branch));
            if current == Some(name) {
                last = Some(branch);
            }
        }
        if let (Some(branch), false) = (last, added.is_empty()) {
            client.make_current(self.session, branch).await?;
        }
        client.audit_as_tenant().anchor_idle(&added).await
    }
}
