//! The sessions of a transcript: its own, and those of the sub-agents inside it.

use super::Reading;
use crate::import::claude_code::identity::{agent_key, session_key, sidechain_key};
use crate::import::claude_code::index::NodeId;
use crate::import::claude_code::record::{Record, prompt};
use crate::import::claude_code::tree::Tree;
use crate::import::frame::plan::{Begin, Item, SessionRef};

/// What the sessions' sources name.
const HARNESS: &str = "claude-code";

impl super::Planner {
    /// The session that the record belongs to; a sidechain's starts with its first record.
    pub(super) fn session(
        &mut self,
        record: &Record<'_>,
        parent: Option<NodeId>,
        reading: &Reading<'_>,
        line: u64,
        items: &mut Vec<Item<'_>>,
    ) -> usize {
        if self.identity.agent.is_some() || !record.is_sidechain.0 {
            return 0;
        }
        let agent = record.agent.get();
        let of_parent = parent.and_then(|id| self.index.node(id)).map(|node| node.session).filter(|id| *id != 0);
        let starts = record.parent.get().is_none() && record.kind.is("user");
        let found = match agent {
            Some(agent) => self.sidechains.of_agent(agent),
            None => of_parent.or_else(|| self.sidechains.latest().filter(|_| !starts)),
        };
        let session = found.unwrap_or(self.trees.len());
        self.sidechains.note(agent, session);
        if found.is_none() {
            self.trees.push(Tree::new(session));
            let by_prompt = if starts { prompt(reading.text) } else { None };
            let by_prompt = by_prompt.and_then(|prompt| self.sidechains.take_prompt(&prompt));
            let tool_use = agent.and_then(|agent| self.sidechains.call_of(agent)).or(by_prompt);
            let first = record.uuid.get().map_or_else(|| format!("line-{line}"), str::to_owned);
            let own = &self.identity.session_id;
            items.push(Item::Begin(Begin {
                session: SessionRef(session),
                harness: HARNESS,
                key: agent.map_or_else(|| sidechain_key(own, &first), |agent| agent_key(own, agent)),
                session_id: own.clone(),
                agent: Some(agent.map_or(first, str::to_owned)),
                parent: Some(session_key(own)),
                tool_use,
                cwd: record.cwd.get().map(str::to_owned),
                version: record.version.get().map(str::to_owned),
                git_branch: record.git_branch.get().map(str::to_owned),
                line,
                ..Begin::default()
            }));
        }
        session
    }

    pub(super) fn begin_own(&self) -> Begin {
        let identity = &self.identity;
        let agent = identity.agent.as_ref();
        Begin {
            session: SessionRef(0),
            harness: HARNESS,
            key: identity.key(),
            session_id: identity.session_id.clone(),
            agent: agent.map(|agent| agent.id.clone()),
            parent: agent.map(|_| session_key(&identity.session_id)),
            tool_use: agent.and_then(|agent| agent.tool_use.clone()),
            cwd: identity.cwd.clone(),
            version: identity.version.clone(),
            git_branch: identity.git_branch.clone(),
            line: 1,
            ..Begin::default()
        }
    }
}
