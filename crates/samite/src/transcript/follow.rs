//! How far a transcript has what a branch has.

use super::Happened;
use samite_redact::may_become;
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

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

/// Whether a prompt or a call in the transcript says what hooks recorded of one. Ids of calls are compared before.
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
pub(super) fn follow<M: Borrow<Mark>>(
    marks: &[(usize, M)],
    records: usize,
    happened: &[Happened],
    same: Same,
) -> Followed {
    let marks: Vec<(usize, &Mark)> = marks.iter().map(|(record, mark)| (*record, mark.borrow())).collect();
    let marks = marks.as_slice();
    let mut trail = Trail::new(marks, records, find_prompts(marks, happened, same));
    let mut followed = Followed::default();
    for (index, event) in happened.iter().enumerate() {
        if trail.find(index, event, same) {
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
    let within = |mark: &&(usize, &Mark)| mark.0 < followed.upto;
    let results = results_before(marks, followed.upto);
    // The last record that is kept may hold more than the branch has, unless it ends a turn.
    let whole = followed.fit.0.checked_sub(1).and_then(|last| happened.get(last));
    let before = followed.upto - usize::from(followed.upto > 0 && !matches!(whole, Some(Happened::Ended { .. })));
    let earlier = results_before(marks, before);
    let last_call = trail.claimed.iter().rev().filter_map(|index| marks.get(*index));
    let last_call = last_call.filter(|(_, mark)| matches!(mark, Mark::Call { .. })).map(|(record, _)| *record);
    let seen = results_before(marks, last_call.max().unwrap_or_default());
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
        // One that the model went on from to another call ended as well.
        let is_history = over.contains(id.as_str()) || seen.contains(id.as_str());
        if has_result && ended_at.is_none() && !is_history {
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
fn results_before<'a>(marks: &[(usize, &'a Mark)], before: usize) -> BTreeSet<&'a str> {
    marks
        .iter()
        .filter(|(record, _)| *record < before)
        .filter_map(|(_, mark)| match mark {
            Mark::Result { id } => Some(id.as_str()),
            _ => None,
        })
        .collect()
}

/// The mark of each prompt that the branch has: by the harness's id of its turn, or else by its words, in their order.
///
/// The same words may be said twice, and of a prompt before a crash there may be no record. So one that is known by its words
/// alone is none behind an answered prompt that the branch does not have, unless its turn ended with the same words too.
fn find_prompts(marks: &[(usize, &Mark)], happened: &[Happened], same: Same) -> BTreeMap<usize, usize> {
    let prompts: Vec<usize> =
        (0..marks.len()).filter(|index| matches!(marks.get(*index), Some((_, Mark::Prompt { .. })))).collect();
    let mut found = BTreeMap::new();
    let mut next = 0;
    for (at, event) in happened.iter().enumerate() {
        let Happened::Prompt { turn: told, .. } = event else { continue };
        let mut passed = false;
        for (place, index) in prompts.iter().enumerate().skip(next) {
            let end = prompts.get(place + 1).copied().unwrap_or(marks.len());
            let turn = marks.get(*index..end).unwrap_or_default();
            let Some((_, mark)) = turn.first() else { continue };
            let is_turn = matches!(mark, Mark::Prompt { turn: Some(turn), .. } if told.as_ref() == Some(turn));
            if same(mark, event) && (!passed || is_turn || has_words(turn, last_words(happened, at))) {
                found.insert(at, *index);
                next = place + 1;
                break;
            }
            // Where nothing is found before it, the hooks may have been set up later, or the conversation compressed.
            let is_answered = turn.iter().any(|(_, mark)| matches!(mark, Mark::Said { .. } | Mark::Call { .. }));
            passed |= is_answered && !found.is_empty();
        }
    }
    found
}

/// The model's last words in the turn that a prompt began; none where it did not end, or nothing tells them.
fn last_words(happened: &[Happened], prompt: usize) -> Option<&str> {
    let turn = happened.iter().skip(prompt + 1).take_while(|event| !matches!(event, Happened::Prompt { .. }));
    turn.filter_map(|event| match event {
        Happened::Ended { said } => said.as_deref().map(str::trim).filter(|said| !said.is_empty()),
        _ => None,
    })
    .last()
}

fn has_words(marks: &[(usize, &Mark)], words: Option<&str>) -> bool {
    words.is_some_and(|words| marks.iter().any(|(_, mark)| matches!(mark, Mark::Said { text } if says(text, words))))
}

/// Whether a text of the transcript is what was recorded of it, in which placeholders may stand.
pub(super) fn says(text: &str, recorded: &str) -> bool {
    let (text, recorded) = (text.trim(), recorded.trim());
    text == recorded || may_become(text.as_bytes(), recorded.as_bytes())
}

/// The same for what a tool was called with.
pub(super) fn says_value(value: &Value, recorded: &Value) -> bool {
    match (value, recorded) {
        (Value::String(text), Value::String(recorded)) => text == recorded || says(text, recorded),
        (Value::Array(all), Value::Array(recorded)) => {
            all.len() == recorded.len() && all.iter().zip(recorded).all(|(one, other)| says_value(one, other))
        }
        (Value::Object(all), Value::Object(recorded)) => {
            let same = |(name, one): (&String, &Value)| recorded.get(name).is_some_and(|other| says_value(one, other));
            all.len() == recorded.len() && all.iter().all(same)
        }
        _ => value == recorded,
    }
}

struct Trail<'a> {
    marks: &'a [(usize, &'a Mark)],
    records: usize,
    /// The mark of each prompt that the branch has, by its index there.
    prompts: BTreeMap<usize, usize>,
    /// The first mark of each call, and the last of each result, by the transcript's ids.
    calls: HashMap<&'a str, usize>,
    results: HashMap<&'a str, usize>,
    /// The transcript's id of each call that the branch has.
    ids: BTreeMap<String, String>,
    /// The marks that were found.
    claimed: BTreeSet<usize>,
    /// The marks of the turn, among which a call is looked for that has no id.
    turn: Range<usize>,
    /// Whether anything of the turn was found.
    reached: bool,
    /// The record that was reached last.
    at: usize,
    upto: usize,
}

impl<'a> Trail<'a> {
    fn new(marks: &'a [(usize, &'a Mark)], records: usize, prompts: BTreeMap<usize, usize>) -> Self {
        let (mut calls, mut results) = (HashMap::new(), HashMap::new());
        for (index, (_, mark)) in marks.iter().enumerate() {
            match mark {
                Mark::Call { id, .. } => drop(calls.entry(id.as_str()).or_insert(index)),
                Mark::Result { id } => drop(results.insert(id.as_str(), index)),
                _ => {}
            }
        }
        let turn = 0..prompts.values().next().copied().unwrap_or_default();
        Self {
            marks,
            records,
            prompts,
            calls,
            results,
            ids: BTreeMap::new(),
            claimed: BTreeSet::new(),
            turn,
            reached: false,
            at: 0,
            upto: 0,
        }
    }

    fn reach(&mut self, record: usize) {
        self.reached = true;
        self.at = self.at.max(record);
        self.upto = self.upto.max(record + 1);
    }

    fn find(&mut self, at: usize, event: &Happened, same: Same) -> bool {
        let found = match event {
            Happened::Prompt { .. } => {
                self.reached = false;
                self.turn = self.turn_of(at);
                self.prompts.get(&at).copied()
            }
            Happened::Called { call, .. } => {
                let known = self.calls.get(call.as_str()).copied().filter(|index| !self.claimed.contains(index));
                known.or_else(|| self.find_alike(event, same))
            }
            Happened::Returned { call, .. } => self.ids.get(call).and_then(|id| self.results.get(id.as_str()).copied()),
            Happened::Ended { said } => return self.end(said.as_deref()),
        };
        let Some((index, (record, mark))) = found.and_then(|index| Some((index, *self.marks.get(index)?))) else {
            return false;
        };
        if let (Happened::Called { call, .. }, Mark::Call { id, .. }) = (event, mark) {
            self.ids.insert(call.clone(), id.clone());
        }
        self.claimed.insert(index);
        self.reach(record);
        true
    }

    /// The marks of the turn of a prompt. Beyond the last prompt that the branch has stands what it does not have.
    fn turn_of(&self, prompt: usize) -> Range<usize> {
        let own = self.prompts.get(&prompt).copied();
        let before = self.prompts.range(..prompt).next_back().map_or(0, |(_, index)| index + 1);
        let start = own.map_or(before, |own| own + 1);
        let is_end = |mark: &(usize, &Mark)| matches!(mark.1, Mark::Begin | Mark::Prompt { .. });
        let end = match (self.prompts.range(prompt + 1..).next(), own) {
            (Some((_, next)), _) => *next,
            (None, Some(_)) => {
                let after = self.marks.get(start..).unwrap_or_default();
                start + after.iter().position(is_end).unwrap_or(after.len())
            }
            (None, None) => start,
        };
        start..end
    }

    /// A call of the turn that says the same, and that was not found yet.
    fn find_alike(&mut self, event: &Happened, same: Same) -> Option<usize> {
        let is_open = |index: usize| {
            !self.claimed.contains(&index) && matches!(self.marks.get(index), Some((_, Mark::Call { .. })))
        };
        while !self.turn.is_empty() && !is_open(self.turn.start) {
            self.turn.start += 1;
        }
        self.turn
            .clone()
            .find(|index| is_open(*index) && self.marks.get(*index).is_some_and(|(_, mark)| same(mark, event)))
    }

    /// The end of the turn that was reached: everything before the next one begins. Without the model's last words the transcript
    /// does not have it.
    fn end(&mut self, said: Option<&str>) -> bool {
        if !self.reached {
            return false;
        }
        let after = self.marks.partition_point(|(record, _)| *record <= self.at);
        let after = self.marks.get(after..).unwrap_or_default();
        let next = after.iter().position(|(_, mark)| matches!(mark, Mark::Begin | Mark::Prompt { .. }));
        let (turn, _) = after.split_at_checked(next.unwrap_or(after.len())).unwrap_or_default();
        let next = next.and_then(|next| after.get(next)).map_or(self.records, |(record, _)| *record);
        let said = said.map(str::trim).filter(|said| !said.is_empty());
        let has = said.is_none() || has_words(turn, said);
        if has && next > self.at {
            self.reach(next - 1);
        }
        has
    }
}
