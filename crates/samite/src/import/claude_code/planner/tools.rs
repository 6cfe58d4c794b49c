//! The tools of a record: the steps that it starts and ends, and the sub-agents that it names.

use super::Reading;
use crate::import::claude_code::record::{Block, Record, tool_inputs};
use crate::import::frame::flat::tool_name;
use crate::import::frame::ids::printable;
use crate::import::frame::plan::{BranchRef, CallStarted, Item, SessionRef};
use crate::import::frame::report::{FindingKind, shown};
use crate::import::frame::steps::{OpenCall, ResultIs};
use serde_json::Value;

/// Tools that start a sub-agent with a prompt.
const AGENT_TOOLS: [&str; 2] = ["Task", "Agent"];

impl super::Planner {
    /// The steps that the record starts and ends, and the sub-agents that it names.
    pub(super) fn steps<'a>(
        &mut self,
        record: &Record<'_>,
        reading: &Reading<'_>,
        session: SessionRef,
        branch: BranchRef,
        line: u64,
    ) -> Vec<Item<'a>> {
        let mut items = Vec::new();
        if record.kind.is("assistant") {
            self.calls_of(record, reading, session, branch, line, &mut items);
        } else if record.kind.is("user") {
            self.results_of(record, session, branch, line, &mut items);
        }
        let by_progress = record.data.0.as_ref().and_then(|data| data.id.get()).zip(record.parent_tool_use.get());
        let result = record.blocks().iter().filter_map(|block| block.0.as_ref()).find_map(|block| block.tool_use.get());
        let by_result = record.tool_use_result.0.as_ref().and_then(|answer| answer.id.get()).zip(result);
        if let Some((agent, tool_use)) = by_progress.or(by_result) {
            let tool_use = printable(tool_use, 256);
            if self.sidechains.link(agent, &tool_use) {
                items.push(Item::AgentLinked { session, line, agent: agent.to_owned(), tool_use });
            }
        }
        items
    }

    fn calls_of(
        &mut self,
        record: &Record<'_>,
        reading: &Reading<'_>,
        session: SessionRef,
        branch: BranchRef,
        line: u64,
        items: &mut Vec<Item<'_>>,
    ) {
        let is_call = |block: &Block<'_>| block.kind.is("tool_use");
        if !record.blocks().iter().filter_map(|block| block.0.as_ref()).any(is_call) {
            return;
        }
        let inputs = tool_inputs(reading.text);
        if inputs.is_none() {
            self.find(line, FindingKind::InputUnreadable);
        }
        let mut inputs = inputs.unwrap_or_default().into_iter();
        for block in record.blocks() {
            let input: Option<Value> = inputs.next().flatten();
            let Some(block) = block.0.as_ref().filter(|block| is_call(block)) else { continue };
            let Some(id) = block.id.get().filter(|id| !id.is_empty()) else {
                self.find(line, FindingKind::CallWithoutId);
                continue;
            };
            let tool_use = printable(id, 256);
            let tool = tool_name(block.name.get().unwrap_or_default());
            let open = OpenCall { session, branch, line, tool_use: tool_use.clone(), tool: tool.clone() };
            if let Err(first) = self.calls.start(open) {
                self.find(line, FindingKind::CallRepeated { tool_use: shown(id), first });
                continue;
            }
            let starts_agent = AGENT_TOOLS.contains(&tool.as_str());
            let prompt = input.as_ref().and_then(|input| input.get("prompt")).and_then(Value::as_str);
            if let Some(prompt) = prompt.filter(|_| starts_agent) {
                self.sidechains.note_prompt(prompt, &tool_use);
            }
            items.push(Item::CallStarted(CallStarted { session, branch, line, tool_use, tool, input }));
        }
    }

    fn results_of(
        &mut self,
        record: &Record<'_>,
        session: SessionRef,
        branch: BranchRef,
        line: u64,
        items: &mut Vec<Item<'_>>,
    ) {
        let blocks = record.blocks().iter().filter_map(|block| block.0.as_ref());
        for block in blocks.filter(|block| block.kind.is("tool_result")) {
            let id = block.tool_use.get().unwrap_or_default();
            let tool_use = printable(id, 256);
            match self.calls.end(&tool_use, line) {
                ResultIs::First => {
                    items.push(Item::CallEnded { session, branch, line, tool_use, failed: block.is_error.0 });
                }
                ResultIs::Repeated(first) => {
                    self.find(line, FindingKind::ResultRepeated { tool_use: shown(id), first });
                }
                ResultIs::WithoutCall => self.find(line, FindingKind::ResultWithoutCall { tool_use: shown(id) }),
            }
        }
    }
}
