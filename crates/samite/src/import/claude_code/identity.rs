//! Whose transcript it is.

use super::damage::{decode, glued, is_blank};
use super::ids::printable;
use super::lines::Lines;
use super::record::{Parsed, Record, parse};
use samite_model::Result;
use std::io::BufRead;
use std::path::Path;

/// What a transcript says about its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The session's id in Claude Code; of a sub-agent that of its parent.
    pub session_id: String,
    /// The sub-agent, when the transcript is one's.
    pub agent: Option<AgentIdentity>,
    /// The working directory of the first record that names one.
    pub cwd: Option<String>,
    /// The harness's version in the first record that names one.
    pub version: Option<String>,
    /// The git branch of the first record that names one.
    pub git_branch: Option<String>,
    /// Whether any line is a record of Claude Code; the file is no transcript otherwise.
    pub recognised: bool,
}

/// A sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentIdentity {
    /// Its id.
    pub id: String,
    /// The call that started it, where the parent's transcript told it ([`super::Item::AgentLinked`]).
    pub tool_use: Option<String>,
}

impl Identity {
    /// What the transcript's session is known by.
    pub fn key(&self) -> String {
        match &self.agent {
            Some(agent) => agent_key(&self.session_id, &agent.id),
            None => session_key(&self.session_id),
        }
    }
}

pub(super) fn session_key(session: &str) -> String {
    format!("claude-code:{}", printable(session, 200))
}

pub(super) fn agent_key(session: &str, agent: &str) -> String {
    format!("{}/agent-{}", session_key(session), printable(agent, 200))
}

pub(super) fn sidechain_key(session: &str, first: &str) -> String {
    format!("{}/sidechain-{}", session_key(session), printable(first, 200))
}

/// How Claude Code names a session's file.
fn is_session_name(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// How many lines are looked at for the working directory and the like, once the session's id is known.
const LOOKED_AT: u64 = 200;

/// Finds out whose transcript it is, from its path and its first records.
///
/// The session's id is the file's name if that is a UUID, as Claude Code names its files; else that of the first
/// record which has one; else the file's name. So a transcript keeps its session however it grows. Of
/// `SESSION/subagents/agent-ID.jsonl` and of `agent-ID.jsonl` the agent's id is in the name. The reader is read up to
/// the first record that answers, as a rule a few lines; where no line is a record, to its end.
///
/// # Errors
/// As [`Lines::next_line`].
pub fn identify(path: &Path, reader: impl BufRead) -> Result<Identity> {
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let agent = name.strip_prefix("agent-").filter(|agent| !agent.is_empty()).map(str::to_owned);
    let named = match agent {
        None => Some(name.clone()),
        Some(_) => path
            .parent()
            .filter(|folder| folder.file_name().is_some_and(|name| name == "subagents"))
            .and_then(Path::parent)
            .and_then(Path::file_name)
            .map(|folder| folder.to_string_lossy().into_owned()),
    };
    let mut found = Identity {
        session_id: named.clone().filter(|name| is_session_name(name)).unwrap_or_default(),
        agent: agent.map(|id| AgentIdentity { id, tool_use: None }),
        ..Identity::default()
    };
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        let settled = found.cwd.is_some() && found.version.is_some() && found.git_branch.is_some();
        if found.recognised && !found.session_id.is_empty() && (settled || line.number > LOOKED_AT) {
            break;
        }
        if is_blank(line.bytes) {
            continue;
        }
        let decoded = decode(line.bytes);
        let record = match parse(&decoded.text) {
            Parsed::Record(record) => record,
            Parsed::Other => continue,
            Parsed::Broken => {
                found.recognised = found.recognised || glued(&decoded.text).is_some();
                continue;
            }
        };
        found.recognised = found.recognised || is_claude_codes(&record);
        if found.session_id.is_empty() || line.number <= LOOKED_AT {
            found.take(&record);
        }
    }
    if found.session_id.is_empty() {
        found.session_id = named.unwrap_or(name);
    }
    Ok(found)
}

/// Whether a record is one of Claude Code: it says what it is, and names itself, its session or what it is about.
fn is_claude_codes(record: &Record<'_>) -> bool {
    let ids = [&record.uuid, &record.session, &record.leaf];
    record.kind.get().is_some() && (ids.iter().any(|id| id.get().is_some()) || record.kind.is("file-history-snapshot"))
}

impl Identity {
    /// Takes what a record tells that is not known yet.
    fn take(&mut self, record: &Record<'_>) {
        let first = |place: &mut Option<String>, value: Option<&str>| {
            if place.is_none() {
                *place = value.map(str::to_owned);
            }
        };
        first(&mut self.cwd, record.cwd.get());
        first(&mut self.version, record.version.get());
        first(&mut self.git_branch, record.git_branch.get());
        if self.session_id.is_empty()
            && let Some(session) = record.session.get()
        {
            session.clone_into(&mut self.session_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "4d5611e5-241a-462a-8d15-5122611a9569";

    fn identity(path: &str, text: &str) -> Identity {
        identify(Path::new(path), text.as_bytes()).unwrap()
    }

    #[test]
    fn the_session_is_named_by_its_file_or_its_records() {
        let records =
            "\n{\"type\":\"x\"}\ntorn\n{\"type\":\"user\",\"sessionId\":\"s1\",\"cwd\":\"/w\",\"version\":\"2\"}\n";
        assert_eq!(identity(&format!("p/{UUID}.jsonl"), records).key(), format!("claude-code:{UUID}"));
        let other = identity("p/copy.jsonl", records);
        assert_eq!((other.key().as_str(), other.cwd.as_deref()), ("claude-code:s1", Some("/w")));
        assert_eq!(identity("p/copy.jsonl", "").key(), "claude-code:copy");
    }

    #[test]
    fn a_transcript_is_known_by_one_record() {
        let is_one = |text: &str| identity("p/x.jsonl", text).recognised;
        for text in [
            "torn\n{\"type\":\"summary\",\"leafUuid\":\"u\",\"summary\":\"s\"}\n",
            "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}",
            "{\"to{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"message\":{}}\n",
        ] {
            assert!(is_one(text), "{text}");
        }
        for text in ["", "\n\n", "# Notes\n\nplain text\n", "{\n  \"name\": \"x\"\n}\n", "{\"type\":\"x\"}\n[1]\n"] {
            assert!(!is_one(text), "{text}");
        }
        let late = format!("{}{{\"type\":\"user\",\"uuid\":\"u\",\"cwd\":\"/late\"}}\n", "torn\n".repeat(300));
        let found = identity(&format!("p/{UUID}.jsonl"), &late);
        assert_eq!((found.recognised, found.cwd), (true, None));
    }

    #[test]
    fn a_sub_agent_is_named_by_its_file_and_its_parent_by_the_folder_or_its_records() {
        let inside = identity(&format!("p/{UUID}/subagents/agent-a1.jsonl"), "");
        assert_eq!(inside.key(), format!("claude-code:{UUID}/agent-a1"));
        let beside = identity("p/agent-a1.jsonl", "{\"sessionId\":\"s1\"}");
        assert_eq!(beside.key(), "claude-code:s1/agent-a1");
    }
}
