//! Calls of tools and their results, as they come.

use super::ids::{Key, key};
use super::plan::{BranchRef, SessionRef};
use std::collections::{BTreeMap, HashMap};

/// A call without a result at the end of the transcript: its step is in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The session of the call.
    pub session: SessionRef,
    /// The branch of the call.
    pub branch: BranchRef,
    /// The line of the call.
    pub line: u64,
    /// The call's id, as in [`super::plan::CallStarted::tool_use`].
    pub tool_use: String,
    /// The tool.
    pub tool: String,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    line: u64,
    ordinal: u64,
    result: Option<u64>,
}

/// What a result is to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) enum ResultIs {
    First,
    Repeated(u64),
    WithoutCall,
}

/// The calls so far; open ones with their names.
#[derive(Debug, Default)]
pub(in crate::import) struct Calls {
    calls: HashMap<Key, Call>,
    open: BTreeMap<(u64, u64), OpenCall>,
}

impl Calls {
    /// Notes a call; the answer is the line of an earlier one with its id.
    pub(in crate::import) fn start(&mut self, call: OpenCall) -> Result<(), u64> {
        let id = key(call.tool_use.as_bytes());
        if let Some(earlier) = self.calls.get(&id) {
            return Err(earlier.line);
        }
        let ordinal = u64::try_from(self.calls.len()).unwrap_or(u64::MAX);
        self.calls.insert(id, Call { line: call.line, ordinal, result: None });
        self.open.insert((call.line, ordinal), call);
        Ok(())
    }

    /// Notes a result.
    pub(in crate::import) fn end(&mut self, tool_use: &str, line: u64) -> ResultIs {
        match self.calls.get_mut(&key(tool_use.as_bytes())) {
            None => ResultIs::WithoutCall,
            Some(Call { result: Some(first), .. }) => ResultIs::Repeated(*first),
            Some(call) => {
                call.result = Some(line);
                self.open.remove(&(call.line, call.ordinal));
                ResultIs::First
            }
        }
    }

    /// The calls without a result, in order.
    pub(in crate::import) fn into_open(self) -> Vec<OpenCall> {
        self.open.into_values().collect()
    }
}
