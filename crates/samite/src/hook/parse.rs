//! Reading what a harness tells on standard input. Pure. Fields that are not known stay, and so do events.

use super::event::{Agent, Compacting, Ending, Harness, HookEvent, Tool, What};
use samite_model::{Error, Result};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// What tells an event from another with the same words.
const IDENTITIES: [&str; 4] = ["timestamp", "turn_id", "prompt_id", "uuid"];

/// What every event repeats, and needs no keeping with each.
const REPEATED: [&str; 1] = ["stop_hook_active"];

impl HookEvent {
    /// Reads an event.
    ///
    /// # Errors
    /// `invalid` (`bad_hook_input`) when it is no JSON object, or says neither what happens nor in which session.
    pub fn parse(harness: Harness, raw: Vec<u8>) -> Result<Self> {
        let bad = |what: &str| {
            Error::invalid("bad_hook_input", format!("what {} told its hook {what}", harness.name()))
                .hint("`samite hook` is called by the agent itself, which writes an event as JSON")
        };
        let value: Value = serde_json::from_slice(&raw).map_err(|error| bad("is no JSON").because(error))?;
        let Value::Object(mut fields) = value else { return Err(bad("is no JSON object")) };
        let name = text(&mut fields, "hook_event_name").ok_or_else(|| bad("has no hook_event_name"))?;
        let session = text(&mut fields, "session_id").ok_or_else(|| bad("has no session_id"))?;
        let is_told_apart = IDENTITIES.iter().any(|name| fields.get(*name).is_some_and(Value::is_string));
        let agent = text(&mut fields, "agent_id").filter(|id| !id.is_empty());
        let agent = agent.map(|id| Agent { id, kind: text(&mut fields, "agent_type") });
        let directory = text(&mut fields, "cwd").map(PathBuf::from);
        let transcript = text(&mut fields, "transcript_path").map(PathBuf::from);
        let what = match harness {
            Harness::GeminiCli => gemini(&name, &mut fields),
            Harness::ClaudeCode | Harness::Codex => claude(&name, agent.is_some(), &mut fields),
        };
        for name in REPEATED {
            fields.remove(name);
        }
        let identity = is_told_apart.then(|| {
            let hash = blake3::hash(&raw);
            hash.to_hex().get(..32).unwrap_or_default().to_owned()
        });
        Ok(Self { harness, name, session, agent, directory, transcript, identity, what, more: fields, raw })
    }
}

/// Takes a field that is text; one that is something else stays.
fn text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.remove(name)? {
        Value::String(text) => Some(text),
        other => {
            fields.insert(name.to_owned(), other);
            None
        }
    }
}

fn tool(fields: &mut Map<String, Value>) -> Option<Tool> {
    let name = text(fields, "tool_name").filter(|name| !name.is_empty())?;
    let id = text(fields, "tool_use_id").filter(|id| !id.is_empty());
    Some(Tool { name, input: fields.remove("tool_input").unwrap_or_default(), id })
}

fn tool_start(fields: &mut Map<String, Value>) -> What {
    tool(fields).map_or(What::Other, What::ToolStart)
}

fn tool_end(fields: &mut Map<String, Value>, failed: bool) -> What {
    let Some(tool) = tool(fields) else { return What::Other };
    let output = fields.remove("tool_response").unwrap_or_default();
    let ending = if failed || has_failed(&output) { Ending::Failed } else { Ending::Completed };
    What::ToolEnd { tool, output, ending }
}

/// Whether an output says itself that it is that of a failure.
fn has_failed(output: &Value) -> bool {
    let is_true = |name: &str| output.get(name).and_then(Value::as_bool) == Some(true);
    if is_true("interrupted") || output.get("error").is_some_and(|error| !error.is_null()) {
        return true;
    }
    // A shell's status is a line near the end of what the model gets.
    let told = output.get("llmContent").and_then(Value::as_str).unwrap_or_default();
    let status = told.lines().rev().take(6).find_map(|line| line.strip_prefix("Exit Code: "));
    status.is_some_and(|status| status.trim() != "0")
}

/// Claude Code's events, which Codex shares.
fn claude(name: &str, of_agent: bool, fields: &mut Map<String, Value>) -> What {
    match name {
        "SessionStart" => What::SessionStart,
        "SessionEnd" => What::SessionEnd,
        "UserPromptSubmit" => text(fields, "prompt").map_or(What::Other, What::Prompt),
        "PreToolUse" => tool_start(fields),
        "PostToolUse" => tool_end(fields, false),
        "PostToolUseFailure" => tool_end(fields, true),
        "Stop" | "StopFailure" if !of_agent => What::TurnEnd(text(fields, "last_assistant_message")),
        "Stop" | "StopFailure" | "SubagentStop" if of_agent => What::AgentEnd(text(fields, "last_assistant_message")),
        "PreCompact" => What::Compaction(Compacting::Before),
        "PostCompact" => What::Compaction(Compacting::After(text(fields, "compact_summary"))),
        "SubagentStart" if of_agent => What::AgentStart,
        _ => What::Other,
    }
}

fn gemini(name: &str, fields: &mut Map<String, Value>) -> What {
    match name {
        "SessionStart" => What::SessionStart,
        "SessionEnd" => What::SessionEnd,
        "BeforeAgent" => text(fields, "prompt").map_or(What::Other, What::Prompt),
        "AfterAgent" => {
            fields.remove("prompt");
            What::TurnEnd(text(fields, "prompt_response"))
        }
        // Each request holds the conversation up to it.
        "BeforeModel" | "BeforeToolSelection" => What::Repetition,
        "AfterModel" => {
            fields.remove("llm_request");
            fields.remove("llm_response").map_or(What::Other, What::ModelResponse)
        }
        "BeforeTool" => tool_start(fields),
        "AfterTool" => tool_end(fields, false),
        // Told before each request, whether or not anything is compressed then; the steps before it have their trees.
        "PreCompress" if fields.get("trigger").and_then(Value::as_str) == Some("auto") => What::Repetition,
        "PreCompress" => What::Compaction(Compacting::Before),
        _ => What::Other,
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
