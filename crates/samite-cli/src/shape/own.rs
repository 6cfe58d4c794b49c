//! Samite's own entries in a line each, for a person.

use crate::printer::words::{bytes, count, duration, short_id};
use samite::Entry;
use samite::payload::{
    ArtifactPublished, MergeAborted, MergeStarted, Merged, StepEnded, StepSeen, StepSettled, StepStarted,
    StepsInherited, TreeRecorded, TurnEnded, WorkspaceAttached, WorkspaceClosed,
};
use samite_model::step::OutcomeKind;
use samite_model::{EntryId, EntryKind, Position};
use serde_json::Value;
use std::collections::HashMap;

/// The keys of the steps whose starts were read, so that what follows can be told by them.
#[derive(Debug, Default)]
pub(crate) struct Keys(HashMap<EntryId, String>);

/// How many characters of a text that others chose are shown.
const SHOWN: usize = 60;

impl Keys {
    /// One of samite's own entries in a line; none for other kinds, and for what this version cannot read.
    pub(crate) fn words(&mut self, entry: &Entry) -> Option<String> {
        let words = match entry.header.kind {
            EntryKind::STEP_STARTED => self.started(entry.header.id, &entry.json().ok()?),
            EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED | EntryKind::STEP_EVIDENCE => {
                let ended: StepEnded = entry.json().ok()?;
                let took = ended.duration.map(duration).unwrap_or_default();
                let key = self.key(ended.step, ended.start);
                match &ended.not_run {
                    Some(other) => join(&[key, format!("not run, it may be {}", short(&other.key))]),
                    None => join(&[key, outcome(ended.kind), output(&ended.output), took]),
                }
            }
            EntryKind::STEP_SEEN => {
                let seen: StepSeen = entry.json().ok()?;
                join(&[self.key(seen.step, seen.start), "its caller has been told".to_owned()])
            }
            EntryKind::STEP_RESOLVED | EntryKind::STEP_ABANDONED => {
                let settled: StepSettled = entry.json().ok()?;
                let what = match (entry.header.kind == EntryKind::STEP_ABANDONED, settled.happened) {
                    (true, _) => "given up",
                    (false, true) => "it happened",
                    (false, false) => "it did not happen",
                };
                let by = format!("by {}", format!("{:?}", settled.by).to_lowercase());
                let seen = settled.evidence.map(|evidence| format!("seen: {}", short(&evidence.seen)));
                let note = settled.note.as_deref().map(short);
                let key = self.key(settled.step, settled.start);
                join(&[key, what.to_owned(), by, seen.unwrap_or_default(), note.unwrap_or_default()])
            }
            EntryKind::STEPS_INHERITED => {
                let inherited: StepsInherited = entry.json().ok()?;
                let told = |steps: &[(EntryId, Position)], what: &str| {
                    let keys: Vec<String> = steps.iter().map(|(step, at)| self.key(*step, *at)).collect();
                    let steps = count(steps.len() as u64, "step");
                    if keys.is_empty() { String::new() } else { format!("{steps} {what}: {}", keys.join(", ")) }
                };
                join(&[
                    told(&inherited.steps, "in doubt here"),
                    told(&inherited.unseen, "settled, of which no caller has been told"),
                ])
            }
            EntryKind::ARTIFACT_PUBLISHED => {
                let published: ArtifactPublished = entry.json().ok()?;
                let id = short_id(&published.artifact.to_string());
                join(&[
                    format!("artifact {id}"),
                    short(&published.name),
                    short(&published.of_type),
                    bytes(published.size),
                ])
            }
            EntryKind::TREE => tree(&entry.json().ok()?),
            EntryKind::WORKSPACE_CLOSED => {
                let closed: WorkspaceClosed = entry.json().ok()?;
                let what = format!("{}, {}, all durable", count(closed.files, "file"), bytes(closed.bytes));
                join(&[format!("closed with the tree at seq {}", closed.tree.seq), what])
            }
            EntryKind::MERGE_STARTED => {
                let started: MergeStarted = entry.json().ok()?;
                let what = if started.target.is_some() { "decided" } else { "waits for decisions" };
                join(&[parent(started.theirs), what.to_owned()])
            }
            EntryKind::MERGED => {
                let merged: Merged = entry.json().ok()?;
                let decided = merged.decisions.len() as u64;
                let kept = merged.kept.as_array().map_or(0, Vec::len) as u64;
                let some = |many: u64, words: &str| {
                    if many == 0 { String::new() } else { format!("{} {words}", count(many, "path")) }
                };
                join(&[parent(merged.theirs), some(decided, "decided"), some(kept, "kept as found")])
            }
            EntryKind::MERGE_ABORTED => parent(entry.json::<MergeAborted>().ok()?.theirs),
            EntryKind::TURN_ENDED => {
                let ended: TurnEnded = entry.json().ok()?;
                let why = ended.no_tree.map(|why| format!("no checkpoint: {}", short(&why)));
                let id = ended.dedupe.as_deref().map(short).unwrap_or_default();
                join(&["the turn has ended".to_owned(), id, why.unwrap_or_default()])
            }
            EntryKind::WORKSPACE_ATTACHED => {
                let attached: WorkspaceAttached = entry.json().ok()?;
                format!("works in {}", attached.path)
            }
            _ => return None,
        };
        Some(words)
    }

    fn started(&mut self, id: EntryId, step: &StepStarted) -> String {
        self.0.insert(id, step.key.clone());
        let attempt = if step.attempt > 1 { format!("try {}", step.attempt) } else { String::new() };
        let touches =
            if step.touches.is_empty() { String::new() } else { format!("touches {}", short(&step.touches.join(" "))) };
        join(&[short(&step.key), short(&step.tool), step.effect.name().to_owned(), attempt, touches])
    }

    /// A step by its key, or by where it started when that was not read.
    fn key(&self, step: EntryId, start: Position) -> String {
        self.0.get(&step).map_or_else(|| format!("the step of seq {}", start.seq), |key| short(key))
    }
}

fn join(parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

/// The second parent of a merge.
fn parent(theirs: Position) -> String {
    format!("branch {} at {}", theirs.journal.short(), theirs.seq)
}

/// The beginning of a text.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn outcome(kind: OutcomeKind) -> String {
    match kind {
        OutcomeKind::Completed => "completed".to_owned(),
        OutcomeKind::Failed => "failed".to_owned(),
        OutcomeKind::FailedRetryable => "failed, may run again".to_owned(),
    }
}

/// What a command left, or what another tool answered.
fn output(output: &Value) -> String {
    let number = |name: &str| output.get(name).and_then(Value::as_i64);
    if let Some(why) = output.get("not_started").and_then(Value::as_str) {
        return format!("not started: {}", short(why));
    }
    match (number("status"), number("signal")) {
        (Some(status), _) => format!("exit {status}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) if output.is_null() => String::new(),
        (None, None) => short(&output.to_string()),
    }
}

fn tree(recorded: &TreeRecorded) -> String {
    let number = |name: &str| recorded.report.get(name).and_then(Value::as_u64);
    let files = number("files").map(|files| count(files, "file")).unwrap_or_default();
    let size = number("bytes").map(bytes).unwrap_or_default();
    let label = recorded.label.as_deref().map(short).unwrap_or_default();
    let root = short_id(&recorded.root.to_string());
    join(&[format!("tree {root}"), label, files, size, super::found::in_log(&recorded.report)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn outputs_are_told_in_a_few_words() {
        let cases = [
            (json!({"status": 3, "stdout": {"bytes": 0, "text": ""}}), "exit 3"),
            (json!({"status": null, "signal": 9}), "signal 9"),
            (json!({"not_started": "no such program"}), "not started: no such program"),
            (Value::Null, ""),
            (json!({"ticket": 12}), "{\"ticket\":12}"),
        ];
        for (value, words) in cases {
            assert_eq!(output(&value), words);
        }
        assert_eq!(short(&"x".repeat(100)).chars().count(), SHOWN + 1);
        assert_eq!(join(&["a".into(), String::new(), "b".into()]), "a · b");
    }
}
