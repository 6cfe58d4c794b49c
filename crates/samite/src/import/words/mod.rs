//! What a record that was imported says to a person: who said it, in which words, when, and with what a tool was called.
//! Pure.
//!
//! An imported entry is the source's record, byte for byte. Everything in it is somebody else's: what is no text, too deep
//! or of another shape says nothing, and is never an error.

mod claude_code;
mod codex;
mod gemini_cli;
mod langgraph;
mod openhands;
mod responses;
mod swe_agent;
#[cfg(test)]
mod tests;

use super::frame::damage::decode;
use super::frame::flat::{Call, Format};
use super::frame::ids::{Key, key, printable};
use super::frame::lines::Line;
use super::frame::raw::Raw;
use serde_json::Value;
use std::collections::HashSet;

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The person.
    User,
    /// The agent.
    Assistant,
    /// The system's prompt.
    System,
    /// What stands above the person's words, as some models have it.
    Developer,
    /// The harness, in the person's place: context, notices, what a command of its own printed.
    Harness,
}

impl Role {
    /// The name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Developer => "developer",
            Self::Harness => "harness",
        }
    }

    /// The role of a name that a record gives.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "user" | "human" => Self::User,
            "assistant" | "ai" => Self::Assistant,
            "system" => Self::System,
            "developer" => Self::Developer,
            _ => return None,
        })
    }
}

/// What a record of a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Says {
    /// Nothing to a person: the result of a call, or a call without words.
    Nothing,
    /// Words.
    Words(Role, String),
}

impl Says {
    /// Words, unless there are none.
    fn words(role: Role, text: String) -> Self {
        if text.trim().is_empty() { Self::Nothing } else { Self::Words(role, text) }
    }
}

/// A record of a message, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Who said what; none where it says nothing that was not said before.
    pub(crate) words: Option<(Role, String)>,
    /// When, in nanoseconds since 1970; none where the record does not say.
    pub(crate) time: Option<i64>,
}

/// Where a session was imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    ClaudeCode,
    Codex,
    GeminiCli,
    SweAgent,
    OpenHands,
    Responses,
    LangGraph,
}

/// Reads the records of one session, in their order.
#[derive(Debug)]
pub(crate) struct Teller {
    source: Source,
    /// Whether the person's task was told: where later records in the person's place are none of theirs.
    has_task: bool,
    /// What was said under an id: a later version of a message says it again.
    said: HashSet<Key>,
}

impl Teller {
    /// For a session that came from a harness; none where that is not known.
    pub(crate) fn of(harness: &str) -> Option<Self> {
        let source = match harness {
            "claude-code" => Source::ClaudeCode,
            "codex" => Source::Codex,
            "gemini-cli" => Source::GeminiCli,
            "swe-agent" => Source::SweAgent,
            "openhands" => Source::OpenHands,
            "responses" => Source::Responses,
            "langgraph" => Source::LangGraph,
            _ => return None,
        };
        Some(Self { source, has_task: false, said: HashSet::new() })
    }

    /// What a message or a response says; none where it is no record of the harness.
    ///
    /// `record` says where in the body the record is, when it does not fill it.
    pub(crate) fn tell(&mut self, body: &[u8], record: Option<(usize, usize)>) -> Option<Told> {
        let decoded = decode(part(body, record));
        let raw = Raw::parse(&decoded.text)?;
        let says = match self.source {
            Source::ClaudeCode => claude_code::says(raw),
            Source::Codex => codex::says(raw),
            Source::GeminiCli => gemini_cli::says(raw),
            Source::SweAgent => swe_agent::says(raw, &mut self.has_task),
            Source::OpenHands => openhands::says(raw),
            Source::Responses => responses::says(raw),
            Source::LangGraph => langgraph::says(raw),
        }?;
        let words = match says {
            Says::Words(role, text) => self.is_news(raw, role, &text).then_some((role, text)),
            Says::Nothing => None,
        };
        Some(Told { words, time: time_of(raw) })
    }

    /// Whether a message says what an earlier version of it did not.
    fn is_news(&mut self, raw: Raw<'_>, role: Role, text: &str) -> bool {
        let Some(id) = raw.text_at(&["id"]).filter(|id| !id.is_empty()) else { return true };
        self.said.insert(key(format!("{}\0{id}\0{text}", role.name()).as_bytes()))
    }

    /// What a tool was called with, from the record that holds the call; none where that cannot be told.
    ///
    /// `step` is the key of the call's step.
    pub(crate) fn input(&self, body: &[u8], record: Option<(usize, usize)>, step: &str) -> Option<Value> {
        let decoded = decode(part(body, record));
        let raw = Raw::parse(&decoded.text)?;
        let calls = match self.source {
            Source::ClaudeCode => claude_code::calls(raw),
            Source::Codex => read(super::codex::Codex::default(), raw),
            Source::GeminiCli => read(super::gemini_cli::GeminiCli::default(), raw),
            Source::SweAgent => swe_agent::calls(raw),
            Source::OpenHands => read(super::openhands::OpenHands::default(), raw),
            Source::Responses => read(super::responses::Responses::default(), raw),
            Source::LangGraph => langgraph::calls(raw),
        };
        let only = calls.len() == 1;
        calls.into_iter().find(|call| only || printable(&call.id, 256) == step)?.input
    }
}

/// The record in an entry's bytes.
fn part(body: &[u8], record: Option<(usize, usize)>) -> &[u8] {
    record.and_then(|(from, to)| body.get(from..to)).unwrap_or(body)
}

/// The calls of a record, as the importer reads it.
fn read<F: Format>(mut format: F, raw: Raw<'_>) -> Vec<Call> {
    let line = Line { number: 1, offset: 0, bytes: &[], terminated: true, is_readable: true, field: "" };
    format.read(&line, raw).map(|meaning| meaning.calls).unwrap_or_default()
}

/// The text of a content: a string, or the texts among its parts. What is no text is named where there is none beside it.
fn text_of(content: Raw<'_>) -> String {
    if let Some(text) = content.text() {
        return text;
    }
    let parts = content.items();
    let text = |part: &Raw<'_>| part.text().or_else(|| part.text_at(&["text"]));
    let texts: Vec<String> = parts.iter().filter_map(text).filter(|text| !text.trim().is_empty()).collect();
    if texts.is_empty() {
        let kinds = parts.iter().filter_map(|part| part.text_at(&["type"]));
        let shown = kinds.filter(|kind| kind.contains("image") || kind.contains("file") || kind.contains("document"));
        return shown.map(|kind| format!("[{}]", kind.trim_start_matches("input_"))).collect::<Vec<_>>().join(" ");
    }
    texts.join("\n")
}

/// When a record was made, where it says so: as a text, or as seconds.
fn time_of(raw: Raw<'_>) -> Option<i64> {
    if let Some(text) = raw.text_at(&["timestamp"]) {
        return time(&text);
    }
    let seconds = raw.get("created_at")?.value()?.as_f64()?;
    // Beyond that, no time of ours can be told.
    let is_sane = (0.0..9e9).contains(&seconds);
    #[expect(clippy::cast_possible_truncation, reason = "it is within the bounds above")]
    is_sane.then(|| (seconds * 1e3) as i64 * 1_000_000)
}

/// A time in nanoseconds since 1970; one without a zone is taken as UTC.
fn time(text: &str) -> Option<i64> {
    let with_zone = text.parse::<jiff::Timestamp>().ok();
    let without = || format!("{text}Z").parse::<jiff::Timestamp>().ok();
    i64::try_from(with_zone.or_else(without)?.as_nanosecond()).ok()
}
