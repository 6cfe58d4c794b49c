//! The importer against made transcripts, against made damage, and against real sessions.

mod cases;
mod properties;
mod real;
mod store;
mod tree;

use super::*;
use samite_model::EntryKind;
use std::borrow::Cow;

/// An item without its borrow.
pub(super) type Owned = Item<'static>;

/// A whole plan.
pub(super) struct Plan {
    pub(super) items: Vec<Owned>,
    pub(super) finished: Finished,
    /// The appended payloads, by line.
    pub(super) payloads: Vec<(u64, Vec<u8>)>,
    /// The attributes of the entries that have any, by line.
    pub(super) attributes: Vec<(u64, serde_json::Value)>,
}

fn own(item: Item<'_>) -> Owned {
    match item {
        Item::Append(append) => Item::Append(Append { payload: Cow::Borrowed(&[]), ..append }),
        Item::Begin(begin) => Item::Begin(begin),
        Item::Fork(fork) => Item::Fork(fork),
        Item::CallStarted(call) => Item::CallStarted(call),
        Item::CallEnded { session, branch, line, tool_use, failed } => {
            Item::CallEnded { session, branch, line, tool_use, failed }
        }
        Item::AgentLinked { session, line, agent, tool_use } => Item::AgentLinked { session, line, agent, tool_use },
        Item::Duplicate { line, first } => Item::Duplicate { line, first },
        Item::Blank { line } => Item::Blank { line },
    }
}

pub(super) fn plan_with(mut planner: Planner, bytes: &[u8]) -> Plan {
    let mut lines = Lines::new(bytes);
    let (mut items, mut payloads, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(line) = lines.next_line().unwrap() {
        for item in planner.accept(&line) {
            if let Item::Append(append) = &item {
                payloads.push((append.line, append.payload.to_vec()));
                attributes.extend(append.attributes().map(|value| (append.line, value)));
                assert_eq!(ContextRole::of_entry(append.kind, append.attributes().as_ref()), append.context);
            }
            items.push(own(item));
        }
    }
    Plan { items, finished: planner.finish(), payloads, attributes }
}

pub(super) fn plan(bytes: impl AsRef<[u8]>) -> Plan {
    let identity = Identity { session_id: "s1".into(), ..Identity::default() };
    plan_with(Planner::new(identity), bytes.as_ref())
}

impl Plan {
    pub(super) fn appends(&self) -> Vec<&Append<'static>> {
        self.items
            .iter()
            .filter_map(|item| match item {
                Item::Append(append) => Some(append),
                _ => None,
            })
            .collect()
    }

    pub(super) fn forks(&self) -> Vec<(usize, usize, u64, u64)> {
        self.items
            .iter()
            .filter_map(|item| match item {
                Item::Fork(fork) => Some((fork.from.0, fork.branch.0, fork.at_line, fork.line)),
                _ => None,
            })
            .collect()
    }

    /// Line and branch of each entry.
    pub(super) fn branches(&self) -> Vec<(u64, usize)> {
        self.appends().iter().map(|append| (append.line, append.branch.0)).collect()
    }

    pub(super) fn count(&self, kind: EntryKind) -> usize {
        self.appends().iter().filter(|append| append.kind == kind).count()
    }

    pub(super) fn codes(&self) -> Vec<(u64, &'static str)> {
        self.finished.report.findings.iter().map(|finding| (finding.line, finding.kind.code())).collect()
    }

    pub(super) fn calls(&self) -> usize {
        self.items.iter().filter(|item| matches!(item, Item::CallStarted(_))).count()
    }

    /// How many calls ended, and how many of them failed.
    pub(super) fn ended(&self) -> (usize, usize) {
        let ends = self.items.iter().filter_map(|item| match item {
            Item::CallEnded { failed, .. } => Some(*failed),
            _ => None,
        });
        ends.fold((0, 0), |(all, failures), failed| (all + 1, failures + usize::from(failed)))
    }

    /// The numbers of the lines in context at the end of a branch of session 0.
    pub(super) fn context(&self, branch: usize) -> Vec<u64> {
        let mut ancestry = Vec::new();
        let (mut branch, mut until) = (branch, u64::MAX);
        loop {
            let own = self.appends().into_iter().filter(|one| one.session.0 == 0 && one.branch.0 == branch);
            let mut own: Vec<_> = own.filter(|one| one.line <= until).map(|one| (one.line, one.context)).collect();
            own.append(&mut ancestry);
            ancestry = own;
            let Some((from, _, at, _)) = self.forks().into_iter().find(|fork| fork.1 == branch) else { break };
            (branch, until) = (from, until.min(at));
        }
        context(ancestry.iter().map(|(_, role)| *role)).into_iter().map(|at| ancestry[at].0).collect()
    }

    /// Asserts that each line of the transcript is in one class and, but for duplicates and blank ones, an entry.
    pub(super) fn assert_accounted(&self, bytes: &[u8]) {
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if lines.last() == Some(&&b""[..]) {
            lines.pop();
        }
        let mut seen = vec![0; lines.len()];
        for item in &self.items {
            if let Item::Append(Append { line, .. }) | Item::Duplicate { line, .. } | Item::Blank { line } = item {
                seen[usize::try_from(*line).unwrap() - 1] += 1;
            }
        }
        assert!(seen.iter().all(|times| *times == 1), "{seen:?}");
        for (line, payload) in &self.payloads {
            assert_eq!(payload, lines[usize::try_from(*line).unwrap() - 1], "line {line}");
        }
        let report = &self.finished.report;
        let lines = u64::try_from(lines.len()).unwrap();
        assert_eq!(report.accounting.lines(), lines, "{report:?}");
        assert_eq!(u64::try_from(report.reported_lines().len()).unwrap(), report.accounting.reported, "{report:?}");
        let mut ids: Vec<_> = self.appends().iter().map(|one| (one.session, one.dedupe.clone())).collect();
        ids.sort();
        let before = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), before, "two entries share an id");
    }
}

/// A record of the conversation. `parent` is "-" for none.
pub(super) fn record(kind: &str, uuid: &str, parent: &str, rest: &str) -> String {
    let parent = if parent == "-" { "null".to_owned() } else { format!("\"{parent}\"") };
    format!("{{\"type\":\"{kind}\",\"uuid\":\"{uuid}\",\"parentUuid\":{parent},\"sessionId\":\"s1\"{rest}}}\n")
}

pub(super) fn user(uuid: &str, parent: &str) -> String {
    record("user", uuid, parent, ",\"message\":{\"role\":\"user\",\"content\":\"go on\"}")
}

pub(super) fn assistant(uuid: &str, parent: &str, message: &str) -> String {
    let text = "[{\"type\":\"text\",\"text\":\"yes\"}]";
    record("assistant", uuid, parent, &format!(",\"message\":{{\"id\":\"{message}\",\"content\":{text}}}"))
}

pub(super) fn call(uuid: &str, parent: &str, message: &str, tool_use: &str) -> String {
    let block =
        format!("{{\"type\":\"tool_use\",\"id\":\"{tool_use}\",\"name\":\"Bash\",\"input\":{{\"command\":\"ls\"}}}}");
    record("assistant", uuid, parent, &format!(",\"message\":{{\"id\":\"{message}\",\"content\":[{block}]}}"))
}

pub(super) fn result(uuid: &str, parent: &str, tool_use: &str, is_error: bool) -> String {
    let block = format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"{tool_use}\",\"is_error\":{is_error}}}");
    record("user", uuid, parent, &format!(",\"message\":{{\"role\":\"user\",\"content\":[{block}]}}"))
}

pub(super) fn progress(uuid: &str, parent: &str) -> String {
    record("progress", uuid, parent, ",\"data\":{\"type\":\"hook_progress\"}")
}
