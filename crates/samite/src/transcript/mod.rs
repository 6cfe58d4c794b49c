//! Transcripts in the formats of harnesses, written so that a harness resumes from a branch as from a session of its own.
//!
//! Two things say what the conversation of a branch was: the branch, with what the hooks recorded ([`Happened`]), and the
//! transcript that the harness wrote itself, which has everything that its model saw. Neither is enough: a branch has
//! no reasoning and no system context, and a transcript knows nothing of the fork point, may lack its last lines after a crash,
//! or be gone. So a transcript's records are reused as they are, byte for byte, up to the last one that the branch has;
//! what the branch has beyond them is made anew from its entries; and a call whose end is known to neither gets a result that
//! says so, since a model that sees no result, or one that only says "aborted", tends to run the call again.
//!
//! Everything here but the client's methods is a pure function of bytes and entries.

mod claude_code;
mod codex;
mod follow;
mod gemini;
mod history;
mod lines;
mod parts;
mod place;
mod resume;

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "the tables read better")]
mod tests;

use crate::hook::Harness;
pub(crate) use parts::row_of;
pub(crate) use place::uuid;
pub use resume::Resumption;
use serde_json::Value;

/// What the result of a call says whose end nobody recorded.
pub const UNKNOWN_END: &str = "This call was cut off before its end was recorded: what it did is not known. Look before you \
     run it again.";

/// What a branch has of a conversation. Texts are as the harness's hooks gave them.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// A person asked for something.
    Prompt {
        /// The harness's id of the turn that it began, where it has one.
        turn: Option<String>,
        /// The words.
        text: String,
    },
    /// The model called a tool.
    Called {
        /// The id of the call; the harness's own where its hooks tell it.
        call: String,
        /// The tool, by the name that the hooks use.
        tool: String,
        /// What it was called with.
        input: Value,
    },
    /// A call ended, or it is known how it ended.
    Returned {
        /// The id of the call.
        call: String,
        /// What came of it.
        output: Value,
        /// Whether it failed.
        failed: bool,
    },
    /// A turn ended.
    Ended {
        /// The model's last words in it, where the hooks tell them.
        said: Option<String>,
    },
}

/// What a new transcript is for.
#[derive(Clone, Debug)]
pub struct Target {
    /// The session's id for the harness: a UUID.
    pub session: String,
    /// The directory that the harness works in.
    pub directory: String,
    /// The workspace that it worked in before and the one that it works in now, where they are not one: what lay in the former
    /// is now in the latter.
    pub moved: Option<(String, String)>,
    /// When it is written, in nanoseconds since 1970.
    pub now: i64,
}

impl Target {
    /// Where a directory of a record is now; none where it is where it was.
    fn place_of(&self, directory: &str) -> Option<String> {
        let (from, to) = self.moved.as_ref()?;
        let within = directory.strip_prefix(from.as_str())?;
        (within.is_empty() || within.starts_with('/')).then(|| format!("{to}{within}"))
    }
}

/// A transcript, written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// How many of the harness's own records it has.
    pub kept: usize,
    /// How many of the harness's own records it leaves out: what came after the fork point, and what nobody can read.
    pub left_out: usize,
    /// How many records were made from the branch's entries.
    pub made: usize,
    /// The calls whose result says that their end is not known.
    pub unknown: Vec<String>,
}

/// Writes the transcript of a branch: of the harness's own transcript, where there is one, what the branch has of it, and from
/// the branch's entries what that lacks.
pub fn write(harness: Harness, original: Option<&[u8]>, happened: &[Happened], target: &Target) -> Written {
    match harness {
        Harness::ClaudeCode => claude_code::write(original.unwrap_or_default(), happened, target),
        Harness::Codex => codex::write(original.unwrap_or_default(), happened, target),
        Harness::GeminiCli => gemini::write(original.unwrap_or_default(), happened, target),
    }
}

/// The text of a call's outcome, as the model would have seen it.
fn outcome_text(output: &Value) -> String {
    match output {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => match fields.get("llmContent") {
            Some(Value::String(text)) => text.clone(),
            _ => output.to_string(),
        },
        _ => output.to_string(),
    }
}

/// A time as harnesses write it: UTC, with milliseconds.
fn timestamp(nanoseconds: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(nanoseconds))
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
        .unwrap_or_default()
}
