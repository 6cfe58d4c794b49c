//! Where other harnesses keep what they leave behind, and which importer reads it.

use super::carry_out::{Imported, Importer, OnBytes};
use super::frame::elements::Elements;
use super::frame::flat::Flat;
use super::frame::lines::Lines;
use super::{codex, gemini_cli, openhands, responses, swe_agent};
use samite_host::files::open_reader;
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};

/// A harness or format whose files are imported one session each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Harness {
    /// Codex CLI: rollouts.
    Codex,
    /// Gemini CLI: chats.
    GeminiCli,
    /// SWE-agent: trajectories.
    SweAgent,
    /// OpenHands: conversations.
    OpenHands,
    /// The OpenAI Responses API: items.
    Responses,
}

impl Harness {
    /// Its name, as the command has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::SweAgent => "swe-agent",
            Self::OpenHands => "openhands",
            Self::Responses => "responses",
        }
    }

    /// Where it keeps them, to follow "look in".
    pub const fn place(self) -> &'static str {
        match self {
            Self::Codex => "Codex CLI keeps rollouts (rollout-*.jsonl) in ~/.codex/sessions",
            Self::GeminiCli => "Gemini CLI keeps chats (session-*.jsonl) in ~/.gemini/tmp/PROJECT/chats",
            Self::SweAgent => "SWE-agent writes trajectories (*.traj) to its folder trajectories",
            Self::OpenHands => "OpenHands keeps a folder with events/event-*.json for each conversation",
            Self::Responses => "name a file of Responses items: JSON lines, a list of items, or a response",
        }
    }

    /// Picks the sources of a list of regular files and orders them: a session comes before those that it started.
    pub fn arrange(self, files: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
        let is_one = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let ends = |end: &str| name.len() > end.len() && name.ends_with(end);
            match self {
                Self::Codex => ends(".jsonl"),
                Self::GeminiCli => ends(".jsonl") || (name.starts_with("session-") && ends(".json")),
                Self::SweAgent => ends(".traj"),
                Self::OpenHands => true,
                Self::Responses => ends(".jsonl") || ends(".json"),
            }
        };
        let mut paths: Vec<PathBuf> = files.into_iter().filter(is_one).collect();
        if self == Self::OpenHands {
            paths = paths.iter().filter_map(|path| openhands::folder_of(path)).collect();
        }
        match self {
            // The name holds the time at which it was started.
            Self::Codex => paths.sort_by_cached_key(|path| (path.file_name().map(ToOwned::to_owned), path.clone())),
            // A sub-agent's lie deeper than those of its parent.
            Self::GeminiCli => paths.sort_by_cached_key(|path| (path.components().count(), path.clone())),
            Self::SweAgent | Self::OpenHands | Self::Responses => paths.sort(),
        }
        paths.dedup();
        paths
    }
}

impl Importer<'_> {
    /// Imports one source of a harness. When this returns, all of it is durable; importing it again adds nothing.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while a writer holds the session; `invalid` (`not_a_transcript`) when nothing in it is
    /// a record of that harness, and then nothing was written; `invalid` (`line_too_long`) when a record is larger than
    /// a payload may be; as opening and reading the file.
    pub async fn source(&mut self, harness: Harness, path: &Path, progress: OnBytes<'_>) -> Result<Imported> {
        if harness == Harness::OpenHands && path.is_dir() {
            let format = recognised(harness, openhands::identify(path, &mut openhands::EventFiles::open(path)?)?)?;
            return self.carry(Flat::new(format), &mut openhands::EventFiles::open(path)?, progress).await;
        }
        let (head, body) = (open_reader(path)?, open_reader(path)?);
        match harness {
            Harness::Codex => {
                let format = recognised(harness, codex::identify(path, head)?)?;
                self.carry(Flat::new(format), &mut Lines::new(body), progress).await
            }
            Harness::GeminiCli => {
                let format = recognised(harness, gemini_cli::identify(path, head)?)?;
                if gemini_cli::is_document(path) {
                    self.carry(Flat::new(format), &mut Elements::new(body), progress).await
                } else {
                    self.carry(Flat::new(format), &mut Lines::new(body), progress).await
                }
            }
            Harness::SweAgent => {
                let format = recognised(harness, swe_agent::identify(path, head)?)?;
                self.carry(Flat::new(format), &mut Elements::new(body), progress).await
            }
            Harness::OpenHands => {
                let format = recognised(harness, openhands::identify(path, &mut Elements::new(head))?)?;
                self.carry(Flat::new(format), &mut Elements::new(body), progress).await
            }
            Harness::Responses if responses::is_lines(path, open_reader(path)?)? => {
                let format = recognised(harness, responses::identify(path, &mut Lines::new(head))?)?;
                self.carry(Flat::new(format), &mut Lines::new(body), progress).await
            }
            Harness::Responses => {
                let format = recognised(harness, responses::identify(path, &mut Elements::new(head))?)?;
                self.carry(Flat::new(format), &mut Elements::new(body), progress).await
            }
        }
    }
}

fn recognised<F>(harness: Harness, format: Option<F>) -> Result<F> {
    format.ok_or_else(|| {
        Error::invalid("not_a_transcript", format!("nothing in it is a record of {}", harness.name()))
            .hint(harness.place())
    })
}
