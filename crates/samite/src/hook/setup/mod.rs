//! The hook settings of CLI agents: what is to stand in a settings file, and putting it there or taking it away without
//! touching anything else. Pure: text in, text out.

mod diff;
mod edit;
mod json;

pub use diff::diff;
pub use edit::{BEGUN, install, uninstall};

use super::event::Harness;

/// What is to stand in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The harness.
    pub harness: Harness,
    /// The command that it calls at each event, as a shell reads it.
    pub command: String,
    /// After so many seconds the harness gives the command up; it gives up itself before.
    pub timeout_seconds: u64,
}

/// The events that the hooks are called at, and whether there is a choice of tools at them.
pub(super) fn events(harness: Harness) -> &'static [(&'static str, bool)] {
    match harness {
        Harness::ClaudeCode => &[
            ("SessionStart", false),
            ("UserPromptSubmit", false),
            ("PreToolUse", true),
            ("PostToolUse", true),
            ("PostToolUseFailure", true),
            ("SubagentStart", false),
            ("SubagentStop", false),
            ("PreCompact", false),
            ("PostCompact", false),
            ("Stop", false),
            ("StopFailure", false),
            ("SessionEnd", false),
        ],
        Harness::Codex => &[
            ("SessionStart", false),
            ("UserPromptSubmit", false),
            ("PreToolUse", true),
            ("PostToolUse", true),
            ("SubagentStart", false),
            ("SubagentStop", false),
            ("PreCompact", false),
            ("PostCompact", false),
            ("Stop", false),
            ("SessionEnd", false),
        ],
        Harness::GeminiCli => &[
            ("SessionStart", false),
            ("BeforeAgent", false),
            ("BeforeTool", true),
            ("AfterTool", true),
            ("PreCompress", false),
            ("AfterAgent", false),
            ("SessionEnd", false),
        ],
    }
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a command of a settings file is one that [`install`] wrote for a harness.
fn is_ours(command: &str, harness: Harness) -> bool {
    let Ok(words) = crate::syntax::split_words(command) else { return false };
    let program = words.first().map(std::path::Path::new).and_then(std::path::Path::file_name);
    let rest: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let asks = match rest.as_slice() {
        ["hook", name] | ["--store", _, "hook", name] => *name == harness.name(),
        _ => false,
    };
    asks && program.is_some_and(|program| program == "samite")
}

#[cfg(test)]
mod tests;
