//! What happens in a harness, in words that all of them share.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// A CLI agent whose hooks are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Harness {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    GeminiCli,
}

impl Harness {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::GeminiCli];

    /// The name in commands, keys and attributes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
        }
    }

    /// The harness of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|harness| harness.name() == name)
    }
}

/// A sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// What the harness knows it by.
    pub id: String,
    /// What kind of agent it is, in the harness's words.
    pub kind: Option<String>,
}

/// A tool that is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name in the harness.
    pub name: String,
    /// What it is called with.
    pub input: Value,
    /// What the harness knows the call by; none when it gives none.
    pub id: Option<String>,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It did what it should.
    Completed,
    /// It failed, or was interrupted.
    Failed,
}

/// Where a compaction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compacting {
    /// It is about to begin.
    Before,
    /// It is done; with the summary, where the harness tells it.
    After(Option<String>),
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A session begins, or is resumed.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A person says something, and a turn begins.
    Prompt(String),
    /// The model answered.
    ModelResponse(Value),
    /// A tool is about to run.
    ToolStart(Tool),
    /// A tool has run.
    ToolEnd {
        /// Which.
        tool: Tool,
        /// What came of it.
        output: Value,
        /// How it ended.
        ending: Ending,
    },
    /// A turn has ended, with the agent's last words where the harness tells them.
    TurnEnd(Option<String>),
    /// The conversation is compacted.
    Compaction(Compacting),
    /// A sub-agent begins.
    AgentStart,
    /// A sub-agent has ended, with its last words where the harness tells them.
    AgentEnd(Option<String>),
    /// It repeats what other events tell, and is not recorded.
    Repetition,
    /// Anything else, known or not.
    Other,
}

impl What {
    /// Whether the agent is at work from then on, until it says that it is done.
    pub(super) const fn begins_work(&self) -> bool {
        matches!(self, Self::Prompt(_) | Self::ModelResponse(_) | Self::ToolStart(_) | Self::AgentStart)
    }

    /// Whether the agent is not at work any more.
    pub(super) const fn ends_work(&self) -> bool {
        matches!(self, Self::TurnEnd(_) | Self::AgentEnd(_) | Self::SessionEnd)
    }
}

/// What an event does with a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// A turn begins.
    Begins,
    /// A turn ends.
    Ends,
}

/// What an event of a name does with a turn; none when it does neither.
pub(super) fn side_of(name: &str) -> Option<Side> {
    match name {
        "UserPromptSubmit" | "BeforeAgent" => Some(Side::Begins),
        "Stop" | "StopFailure" | "AfterAgent" | "SubagentStop" => Some(Side::Ends),
        _ => None,
    }
}

/// What a harness tells at a hook.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEvent {
    /// Which harness.
    pub harness: Harness,
    /// The event's name there.
    pub name: String,
    /// The harness's own id of the session.
    pub session: String,
    /// The sub-agent that it is about.
    pub agent: Option<Agent>,
    /// The directory that the harness works in.
    pub directory: Option<PathBuf>,
    /// The harness's own transcript.
    pub transcript: Option<PathBuf>,
    /// What tells this event from another with the same words: two that are alike are one that came twice. None where the
    /// harness says nothing of the kind.
    pub identity: Option<String>,
    /// What happens.
    pub what: What,
    /// What else was told.
    pub more: Map<String, Value>,
    /// All of it, as it came.
    pub raw: Vec<u8>,
}
