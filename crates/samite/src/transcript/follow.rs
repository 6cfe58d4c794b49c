//! How far a transcript has what a branch has.

use super::Happened;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a record of a transcript means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    /// A turn begins: its first record, where that stands before the prompt.
    Begin,
    /// A prompt, with the harness's id of its turn.
    Prompt { turn: Option<String>, text: String },
    /// The model called a tool.
    Call { id: String, tool: String, input: Value },
    /// The result of a call.
    Result { id: String },
    /// The model said something.
    Said { text: String },
}

/// A mark, with the index of its record.
pub(super) type Marked = (usize, Mark);

/// Whether a call in the transcript is the one that hooks recorded.
pub(super) type Same = fn(&Mark, &Happened) -> bool;

/// How far a transcript has what a branch has.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Followed {
    /// How many records to keep from the start.
    pub(super) upto: usize,
    /// The calls before that which the branch does not have, with their results.
    pub(super) without: BTreeSet<String>,
    /// The calls whose result the branch does not have.
    pub(super) unanswered: BTreeSet<String>,
    /// Of the calls that are kept without a result, those of the last turn, and the index of what the branch has of their end.
    pub(super) open: Vec<(String, Option<usize>)>,
    /// The indices of what the branch has and the transcript lacks, after the last that it has.
    pub(super) rest: Vec<usize>,
    /// The index after the last that the transcript has, and how many it has: the higher, the better it fits.
    pub(super) fit: (usize, usize),
}

/// Follows a branch along a transcript of so many records.
pub(super) fn follow(marks: &[Marked], records: usize, happened: &[Happened], same: Same) -> Followed {
    let mut trail =
        Trail { marks, records, ids: BTreeMap::new(), claimed: BTreeSet::new(), next_prompt: 0, at: 0, upto: 0 };
    let mut followed = Followed::default();
    for (index, event) in happened.iter().enumerate() {
        if trail.find(event, same) {
            followed.fit = (index + 1, followed.fit.1 + 1);
        }
    }
    followed.upto = trail.upto;
    let ended: BTreeMap<&str, usize> = happened
        .iter()
        .enumerate()
        .filter_map(|(index, event)| match event {
            Happened::Returned { call, .. } => Some((trail.ids.get(call)?.as_str(), index)),
            _ => None,
        })
        .collect();
    // A call whose end the hooks missed ended all the same when its turn did.
    let last_end = happened.iter().rposition(|event| matches!(event, Happened::Ended { .. }));
    let over: BTreeSet<&str> = happened
        .iter()
        .enumerate()
        .filter_map(|(index, event)| match event {
            Happened::Called { call, .. } if Some(index) < last_end => Some(trail.ids.get(call)?.as_str()),
            _ => None,
        })
        .collect();
    let known: BTreeSet<&str> = trail.ids.values().map(String::as_str).collect();
    let within = |mark: &&Marked| mark.0 < followed.upto;
    let results = results_before(marks, followed.upto);
    // The last record that is kept may hold more than the branch has, unless it ends a turn.
    let whole = followed.fit.0.checked_sub(1).and_then(|last| happened.get(last));
    let before = followed.upto - usize::from(followed.upto > 0 && !matches!(whole, Some(Happened::Ended { .. })));
    let earlier = results_before(marks, before);
    let last_prompt = marks
        .iter()
        .filter(within)
        .rev()
        .find(|(_, mark)| matches!(mark, Mark::Prompt { .. }))
        .map_or(0, |mark| mark.0);
    for (record, mark) in marks.iter().filter(within) {
        let Mark::Call { id, .. } = mark else { continue };
        let has_result = results.contains(id.as_str());
        let ended_at = ended.get(id.as_str()).copied();
        if !known.contains(id.as_str()) {
            // Not every tool has hooks: what had its result before the last thing that the branch has is history.
            if !earlier.contains(id.as_str()) {
                followed.without.insert(id.clone());
            }
            continue;
        }
        if has_result && ended_at.is_none() && !over.contains(id.as_str()) {
            followed.unanswered.insert(id.clone());
        }
        let kept = has_result && !followed.unanswered.contains(id);
        if !kept && *record >= last_prompt && !followed.open.iter().any(|(open, _)| open == id) {
            followed.open.push((id.clone(), ended_at));
        }
    }
    let reached = followed.fit.0;
    followed.rest = (reached..happened.len())
        .filter(|index| match happened.get(*index) {
            // The end of a call that is kept is told with the call.
            Some(Happened::Returned { call, .. }) => !trail.ids.contains_key(call),
            _ => true,
        })
        .collect();
    followed
}

/// The calls that have a result before a record.
fn results_before(marks: &[Marked], before: usize) -> BTreeSet<&str> {
    marks
        .iter()
        .filter(|(record, _)| *record < before)
        .filter_map(|(_, mark)| match mark {
            Mark::Result { id } => Some(id.as_str()),
            _ => None,
        })
        .collect()
}

struct Trail<'a> {
    marks: &'a [Marked],
    records: usize,
    /// The transcript's id of each call that the branch has.
    ids: BTreeMap<String, String>,
    /// The marks that were found.
    claimed: BTreeSet<usize>,
    /// Prompts are found in their order: two may have the same words.
    next_prompt: usize,
    /// The record that was reached last.
    at: usize,
    upto: usize,
}

impl Trail<'_> {
    fn reach(&mut self, record: usize) {
        self.at = self.at.max(record);
        self.upto = self.upto.max(record + 1);
    }

    fn find(&mut self, event: &Happened, same: Same) -> bool {
        let found = match event {
            Happened::Prompt { .. } | Happened::Called { .. } => {
                let start = if matches!(event, Happened::Prompt { .. }) { self.next_prompt } else { 0 };
                self.marks
                    .iter()
                    .enumerate()
                    .skip(start)
                    .find(|(index, (_, mark))| !self.claimed.contains(index) && same(mark, event))
                    .map(|(index, (record, mark))| (index, *record, mark))
            }
            Happened::Returned { call, .. } => {
                let Some(id) = self.ids.get(call) else { return false };
                let is = |mark: &Mark| matches!(mark, Mark::Result { id: of } if of == id);
                self.marks
                    .iter()
                    .enumerate()
                    .rev()
                    .find(|(_, (_, mark))| is(mark))
                    .map(|(index, (record, mark))| (index, *record, mark))
            }
            Happened::Ended { said } => return self.end(said.as_deref()),
        };
        let Some((index, record, mark)) = found else { return false };
        if let (Happened::Called { call, .. }, Mark::Call { id, .. }) = (event, mark) {
            self.ids.insert(call.clone(), id.clone());
        }
        if matches!(event, Happened::Prompt { .. }) {
            self.next_prompt = index + 1;
        }
        self.claimed.insert(index);
        self.reach(record);
        true
    }

    /// The end of the turn that was reached: everything before the next one begins. Without the model's last words the transcript
    /// does not have it.
    fn end(&mut self, said: Option<&str>) -> bool {
        if self.upto == 0 {
            return false;
        }
        let after = |mark: &&Marked| mark.0 > self.at;
        let next = self
            .marks
            .iter()
            .filter(after)
            .find(|(_, mark)| matches!(mark, Mark::Begin | Mark::Prompt { .. }))
            .map_or(self.records, |(record, _)| *record);
        let said = said.map(str::trim).filter(|said| !said.is_empty());
        let has = said.is_none_or(|said| {
            self.marks
                .iter()
                .filter(after)
                .filter(|(record, _)| *record < next)
                .any(|(_, mark)| matches!(mark, Mark::Said { text } if text.trim() == said))
        });
        if has && next > self.at {
            self.reach(next - 1);
        }
        has
    }
}
