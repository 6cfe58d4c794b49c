//! `samite memory files`.

use super::tool::{Calling, call};
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::FileCommand;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Carry out a command of Claude's memory tool, given as JSON on standard input
///
/// The namespace is a directory of files, /memories: each is a record, an edit puts another in its place, and what is deleted stays in
/// the history. The commands are those of the tool (`memory_20250818`): view, create, `str_replace`, insert, delete and rename. What is
/// wrong with a command is an answer for the model too, and says `is_error`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory files -n agent <<< \\
    '{\"command\": \"view\", \"path\": \"/memories\"}'
  samite memory files -n agent --session 3f2a --json < call.json")]
pub(crate) struct Files {
    #[command(flatten)]
    calling: Calling,
}

#[derive(Serialize)]
struct Answered {
    content: String,
    is_error: bool,
}

impl Answer for Answered {
    fn show(&self, page: &mut Page) {
        if self.is_error {
            return page.styled(Style::Bad, &self.content);
        }
        // A page has no tabs.
        page.block(0, &self.content.replace('\t', "    "), None);
    }
}

impl Files {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let command = FileCommand::parse(call()?)?;
        let client = surface.open(Access::Create)?.client().await?;
        let (memory, by) = self.calling.of(&client).await?;
        let answer = memory.file_command(&command, &by).await?;
        surface.printer.answer(&Answered { content: answer.text, is_error: answer.is_error })?;
        Ok(ExitCode::SUCCESS)
    }
}
