//! The audit log's leaves and state.

use super::state::State;
use crate::audit::{Finisher, Finishing, LogState, Placed};
use samite_model::{Header, JournalId, Link, Result};
use std::collections::BTreeMap;

/// All logs of a ledger.
#[derive(Clone, Default)]
pub(super) struct Logs {
    states: BTreeMap<u64, LogState>,
    leaves: BTreeMap<(u64, u64), Vec<u8>>,
}

impl Logs {
    pub(super) fn state(&self, log: Option<u64>) -> Option<LogState> {
        let found = match log {
            Some(log) => self.states.get(&log),
            None => self.states.values().next_back(),
        };
        found.cloned()
    }

    pub(super) fn prune(&mut self, log: u64, before: u64) {
        self.leaves.retain(|(of, index), _| *of != log || *index >= before);
    }

    pub(super) fn leaves(&self, log: u64, from: u64, limit: usize) -> Vec<Vec<u8>> {
        let following = (from..).zip(self.leaves.range((log, from)..=(log, u64::MAX)));
        let found = following.take_while(|(index, ((_, stored), _))| index == stored);
        found.take(limit).map(|(_, (_, bytes))| bytes.clone()).collect()
    }
}

/// The leaves of one commit, which are put into the logs once all of it has worked.
pub(super) struct Group<'finisher> {
    finisher: Option<&'finisher dyn Finisher>,
    finishing: Option<Box<dyn Finishing>>,
    leaves: Vec<Vec<u8>>,
}

impl<'finisher> Group<'finisher> {
    pub(super) fn new(finisher: Option<&'finisher dyn Finisher>) -> Self {
        Self { finisher, finishing: None, leaves: Vec::new() }
    }

    pub(super) fn add(
        &mut self,
        logs: &Logs,
        draft: &[u8],
        journal: JournalId,
        header: &Header,
        link: Link,
    ) -> Result<()> {
        let Some(finisher) = self.finisher else { return Ok(()) };
        let finishing = match &mut self.finishing {
            Some(finishing) => finishing,
            none => {
                let mut read = |log, index| Ok(logs.leaves(log, index, 1).into_iter().next());
                none.insert(finisher.begin(logs.state(None), &mut read)?)
            }
        };
        self.leaves.push(finishing.leaf(draft, &Placed { journal, header, link })?);
        Ok(())
    }
}

impl State {
    /// Puts the leaves of a commit that has worked into the log.
    pub(super) fn finish(&mut self, group: Group<'_>) -> Result<()> {
        let Some(finishing) = group.finishing else { return Ok(()) };
        let state = finishing.finish()?;
        let first = state.size.saturating_sub(group.leaves.len() as u64);
        self.logs.leaves.extend((first..).zip(group.leaves).map(|(index, leaf)| ((state.log, index), leaf)));
        self.logs.states.insert(state.log, state);
        Ok(())
    }
}
