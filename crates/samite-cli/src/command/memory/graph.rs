//! `samite memory graph`.

use super::tool::{Calling, call};
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::GraphCall;
use samite_model::Result;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

/// Call a tool of the MCP memory server, given as JSON on standard input
///
/// The namespace is a graph of entities, what is known of them, and relations between them: each is a record, a relation is an edge,
/// and what is deleted stays in the history. The call has the name of the tool and its arguments, as the protocol's `tools/call`:
/// `create_entities`, `create_relations`, `add_observations`, `delete_entities`, `delete_observations`, `delete_relations`, `read_graph`,
/// `search_nodes` and `open_nodes`. What is wrong with a call is an answer for the model too, and says `is_error`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  echo '{\"name\": \"read_graph\"}' | samite memory graph -n people
  samite memory graph -n people --session 3f2a --json < call.json")]
pub(crate) struct Graph {
    #[command(flatten)]
    calling: Calling,
}

#[derive(Serialize)]
struct Answered {
    content: String,
    structured: Option<Value>,
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

impl Graph {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let wanted = GraphCall::parse(call()?)?;
        let client = surface.open(Access::Create)?.client().await?;
        let (memory, by) = self.calling.of(&client).await?;
        let answer = memory.graph_call(&wanted, &by).await?;
        let is_error = answer.structured.is_none();
        surface.printer.answer(&Answered { content: answer.text, structured: answer.structured, is_error })?;
        Ok(ExitCode::SUCCESS)
    }
}
