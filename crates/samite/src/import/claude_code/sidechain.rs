//! The records of sub-agents inside a transcript: which session they belong to, and which call started it.

use super::index::{Key, key};
use std::collections::{HashMap, HashSet, VecDeque};

/// The sessions of sub-agents, and the calls that may have started them.
#[derive(Debug, Default)]
pub(super) struct Sidechains {
    by_agent: HashMap<Key, usize>,
    latest: Option<usize>,
    /// Calls that started an agent, by their prompts, until a sidechain takes them.
    prompts: HashMap<Key, VecDeque<String>>,
    calls_of_agents: HashMap<Key, String>,
    linked: HashSet<Key>,
}

impl Sidechains {
    /// The session of an agent that was seen.
    pub(super) fn of_agent(&self, agent: &str) -> Option<usize> {
        self.by_agent.get(&key(agent.as_bytes())).copied()
    }

    /// The session of the sidechain that had the last record.
    pub(super) const fn latest(&self) -> Option<usize> {
        self.latest
    }

    /// Notes a session.
    pub(super) fn note(&mut self, agent: Option<&str>, session: usize) {
        if let Some(agent) = agent {
            self.by_agent.insert(key(agent.as_bytes()), session);
        }
        self.latest = Some(session);
    }

    /// Notes a call that starts an agent.
    pub(super) fn note_prompt(&mut self, prompt: &str, tool_use: &str) {
        self.prompts.entry(key(prompt.as_bytes())).or_default().push_back(tool_use.to_owned());
    }

    /// The first call with this prompt that no sidechain has taken yet.
    pub(super) fn take_prompt(&mut self, prompt: &str) -> Option<String> {
        self.prompts.get_mut(&key(prompt.as_bytes()))?.pop_front()
    }

    /// The call that is known to have started an agent.
    pub(super) fn call_of(&self, agent: &str) -> Option<String> {
        self.calls_of_agents.get(&key(agent.as_bytes())).cloned()
    }

    /// Notes which call started an agent; `true` when that is news.
    pub(super) fn link(&mut self, agent: &str, tool_use: &str) -> bool {
        let agent = key(agent.as_bytes());
        let news = self.linked.insert(agent);
        if news {
            self.calls_of_agents.insert(agent, tool_use.to_owned());
        }
        news
    }
}
