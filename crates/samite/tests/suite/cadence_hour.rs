//! Adaptive checkpoints over the timing of real transcripts: what steps took, what turns took, simulated.

use crate::support::shared;
use samite_model::cadence::{Boundary, Costs, Decision, Moment, Spent, decide};
use samite_model::settings::{Bounds, Cadence};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3600 * SECOND;

/// What an agent did, in the order of time: steps, and turns that ended.
#[derive(Default)]
struct Timing {
    /// How long it is about: an hour, or what there is of the last one.
    length: i64,
    /// When each step started and ended.
    steps: Vec<(i64, i64)>,
    turns: Vec<i64>,
}

impl Timing {
    /// That of a transcript: a step lasts from its call to its result, and a turn ends with the last record before a prompt.
    fn of(transcript: &Path) -> Self {
        let mut timing = Self::default();
        let mut calls: HashMap<String, i64> = HashMap::new();
        let mut last = None;
        for line in fs::read_to_string(transcript).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let Some(time) = record["timestamp"].as_str().map(|time| time.parse::<jiff::Timestamp>().unwrap()) else {
                continue;
            };
            let time = i64::try_from(time.as_nanosecond()).unwrap();
            let content = &record["message"]["content"];
            let parts = content.as_array().map_or(&[][..], Vec::as_slice);
            for part in parts.iter().filter(|part| part["type"] == "tool_use") {
                calls.insert(part["id"].as_str().unwrap().to_owned(), time);
            }
            let results = parts.iter().filter(|part| part["type"] == "tool_result");
            for call in results.filter_map(|part| calls.remove(part["tool_use_id"].as_str().unwrap())) {
                timing.steps.push((call, time.max(call)));
            }
            if record["type"] == "user" && (content.is_string() || parts.iter().any(|part| part["type"] == "text")) {
                timing.turns.extend(last);
            }
            if matches!(record["type"].as_str(), Some("user" | "assistant")) {
                last = Some(last.unwrap_or(time).max(time));
            }
        }
        timing.turns.extend(last);
        timing.steps.sort_unstable();
        timing.turns.sort_unstable();
        timing
    }

    /// How long steps ran between two times.
    fn work(&self, from: i64, to: i64) -> i64 {
        let (mut work, mut until) = (0, from);
        for (start, end) in &self.steps {
            let (start, end) = ((*start).max(until), (*end).min(to));
            work += (end - start).max(0);
            until = until.max(end);
        }
        work
    }
}

/// A snapshot: when it began, and what it took.
type Taken = (i64, i64);

/// How long a snapshot takes: about so long, half as long again at most, and the first eight times.
struct Price {
    nanoseconds: i64,
    state: u64,
}

impl Price {
    fn next(&mut self, first: bool) -> i64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let jitter = i64::try_from(self.state >> 33).unwrap() % (self.nanoseconds / 3).max(1);
        (self.nanoseconds + jitter) * if first { 8 } else { 1 }
    }
}

/// The snapshots that are taken.
fn simulate(timing: &Timing, bounds: Bounds, price: Price) -> Vec<Taken> {
    simulate_as(timing, Cadence::Adaptive(bounds), bounds, price)
}

/// The same, for any cadence.
fn simulate_as(timing: &Timing, cadence: Cadence, bounds: Bounds, mut price: Price) -> Vec<Taken> {
    let mut events: Vec<(i64, Boundary, i64)> = Vec::new();
    for (start, end) in &timing.steps {
        events.push((*start, Boundary::Tick, 1));
        events.push((*end, Boundary::StepEnd, -1));
    }
    events.extend(timing.turns.iter().map(|end| (*end, Boundary::TurnEnd, 0)));
    events.sort_by_key(|(time, ..)| *time);
    let (mut taken, mut costs, mut running): (Vec<Taken>, Option<Costs>, i64) = (Vec::new(), None, 0);
    let ask = |boundary, now: i64, taken: &mut Vec<Taken>, costs: &mut Option<Costs>, price: &mut Price| {
        let decision = decide(&cadence, &Moment { boundary, now, costs: *costs, held: 0, changed: true });
        if decision == Decision::Take {
            let took = price.next(costs.is_none());
            *costs = Some(Costs::after(costs.as_ref(), now, u64::try_from(took).unwrap(), bounds.max_overhead));
            taken.push((now, took));
        }
        decision
    };
    // One is taken after the other.
    let free = |taken: &[Taken], now: i64| taken.last().map_or(now, |(begun, took)| now.max(begun + took));
    for (place, (time, boundary, change)) in events.iter().enumerate() {
        running += change;
        if *boundary != Boundary::Tick {
            ask(*boundary, free(&taken, *time), &mut taken, &mut costs, &mut price);
        }
        let next = events.get(place + 1).map_or(*time, |(time, ..)| *time);
        let mut now = free(&taken, *time);
        while running > 0 && now < next {
            now = match ask(Boundary::Tick, now, &mut taken, &mut costs, &mut price) {
                Decision::Take => free(&taken, now),
                Decision::Wait { nanoseconds, .. } => {
                    now.saturating_add(i64::try_from(nanoseconds).unwrap_or(i64::MAX).max(1))
                }
            };
        }
    }
    taken
}

/// The work that would have been lost at worst by the end of each snapshot, and at the end: the work since the beginning of
/// the one before.
fn worst_loss(timing: &Timing, taken: &[Taken], end: i64) -> i64 {
    let losses = taken.windows(2).map(|pair| timing.work(pair[0].0, pair[1].0 + pair[1].1));
    let last = taken.last().map_or(0, |(begun, _)| timing.work(*begun, end));
    losses.chain([last]).max().unwrap_or(0)
}

/// The hours of all transcripts in which something was done, each begun anew.
fn hours() -> Option<Vec<(String, Timing)>> {
    let directory = shared("data/claude-code")?;
    let mut hours = Vec::new();
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    for file in files {
        let whole = Timing::of(&file);
        let begin = whole.steps[0].0;
        let last = whole.steps.iter().map(|(_, end)| *end).max().unwrap();
        for hour in 0..=(last - begin) / HOUR {
            let (from, to) = (begin + hour * HOUR, begin + (hour + 1) * HOUR);
            let steps: Vec<_> = whole
                .steps
                .iter()
                .filter(|(start, end)| *end > from && *start < to)
                .map(|(start, end)| ((*start).max(from), (*end).min(to)))
                .collect();
            let turns = whole.turns.iter().copied().filter(|turn| (from..to).contains(turn)).collect();
            let length = HOUR.min(last - from);
            let timing = Timing { length, steps, turns };
            // Of some minutes no part can be told.
            if !timing.steps.is_empty() && length > HOUR / 4 {
                let name = file.file_stem().unwrap().to_string_lossy()[..8].to_owned();
                hours.push((format!("{name}, hour {}", hour + 1), timing));
            }
        }
    }
    Some(hours)
}

#[test]
fn loss_and_overhead_are_within_the_bounds_over_the_hours_of_real_transcripts() {
    let Some(hours) = hours() else { return };
    let bounds = Bounds::default();
    let mut steps = 0;
    let mut longest = 0;
    for (name, timing) in &hours {
        steps += timing.steps.len();
        longest = timing.steps.iter().map(|(start, end)| end - start).max().unwrap().max(longest);
        let end = timing.steps.iter().map(|(_, end)| *end).max().unwrap();
        // From a small workspace to one whose snapshots are as dear as the bounds together allow.
        for milliseconds in [5, 50, 500, 1000, 2000] {
            let price = Price { nanoseconds: milliseconds * 1_000_000, state: 7 };
            let taken = simulate(timing, bounds, price);
            let loss = worst_loss(timing, &taken, end);
            // The first reads everything, and there is nothing to go back to without it.
            let spent: i64 = taken.iter().skip(1).map(|(_, took)| took).sum();
            // Work is what a loss is of; an hour is what checkpoints take a part of.
            let permille = spent * 1000 / timing.length;
            eprintln!(
                "{name}: {} steps, {} s of work, a snapshot takes {milliseconds} ms: {} taken, loss {} s, overhead {}.{} %",
                timing.steps.len(),
                timing.work(0, i64::MAX) / SECOND,
                taken.len(),
                loss / SECOND,
                permille / 10,
                permille % 10,
            );
            assert!(loss <= i64::try_from(bounds.max_loss).unwrap(), "{name}, {milliseconds} ms: {loss}");
            assert!(permille <= i64::from(bounds.max_overhead), "{name}, {milliseconds} ms: {permille}");
        }
    }
    // What makes it worth anything: there is long work in it, which no step's end interrupts.
    assert!(steps > 400 && longest > 1000 * SECOND, "{steps} steps, the longest of {longest}");
}

#[test]
fn where_the_bounds_contradict_each_other_the_overhead_is_kept_and_the_loss_is_what_it_allows() {
    let Some(hours) = hours() else { return };
    let bounds = Bounds::default();
    for (name, timing) in &hours {
        let end = timing.steps.iter().map(|(_, end)| *end).max().unwrap();
        for seconds in [5, 20] {
            let taken = simulate(timing, bounds, Price { nanoseconds: seconds * SECOND, state: 7 });
            let (loss, spent) = (worst_loss(timing, &taken, end), taken.iter().map(|(_, took)| took).sum::<i64>());
            // But for the first, which nobody owes, and what the ends of turns are owed: ten minutes' worth.
            let owed = taken.first().map_or(0, |(_, took)| *took) + 30 * SECOND;
            assert!(spent <= timing.length / 20 + owed, "{name}, {seconds} s: {spent}");
            let dearest = u64::try_from(seconds * SECOND * 4 / 3).unwrap();
            // A turn that is owed for delays the next by as much as it was owed.
            let allowed = i64::try_from(bounds.loss_kept(dearest)).unwrap() + 600 * SECOND;
            assert!(loss <= allowed, "{name}, {seconds} s: {loss} of {allowed}");
        }
    }
}

#[test]
fn a_checkpoint_at_each_step_loses_a_step_at_most_and_what_that_costs_is_measured() {
    let Some(hours) = hours() else { return };
    let mut dearest = 0;
    for (name, timing) in &hours {
        let end = timing.steps.iter().map(|(_, end)| *end).max().unwrap();
        for milliseconds in [5, 50, 500, 2000] {
            let price = Price { nanoseconds: milliseconds * 1_000_000, state: 7 };
            let taken = simulate_as(timing, Cadence::Step, Bounds::default(), price);
            // Each step's end has one, and each turn's.
            assert_eq!(taken.len(), timing.steps.len() + timing.turns.len(), "{name}");
            let spent = Spent::by(taken.iter().map(|(begun, took)| (*begun, u64::try_from(*took).unwrap())));
            let permille = spent.permille().unwrap();
            let (loss, longest) = (worst_loss(timing, &taken, end), longest_step(timing));
            eprintln!(
                "{name}: a checkpoint at each step, {milliseconds} ms: {} taken, loss {} s, overhead {}.{} %",
                taken.len(),
                loss / SECOND,
                permille / 10,
                permille % 10,
            );
            // Nothing bounds either: the loss is the longest step, but for snapshots that wait for each other.
            let difference = (loss - longest).abs();
            assert!(difference <= waiting(&taken), "{name}, {milliseconds} ms: {loss} {longest}");
            if milliseconds == 2000 {
                dearest = permille.max(dearest);
            }
        }
    }
    // What an adaptive cadence is for.
    assert!(dearest > u64::from(Bounds::default().max_overhead), "{dearest}");
}

/// The longest that steps ran without one of them ending.
fn longest_step(timing: &Timing) -> i64 {
    let mut ends: Vec<i64> = timing.steps.iter().map(|(_, end)| *end).collect();
    ends.sort_unstable();
    let begin = timing.steps.first().map_or(0, |(start, _)| *start);
    let froms = [begin].into_iter().chain(ends.iter().copied());
    froms.zip(&ends).map(|(from, to)| timing.work(from, *to)).max().unwrap_or(0)
}

/// How long snapshots that followed each other without a pause took at most.
fn waiting(taken: &[Taken]) -> i64 {
    let (mut most, mut row) = (0, 0);
    let mut free = 0;
    for (begun, took) in taken {
        row = if *begun > free { *took } else { row + took };
        free = begun + took;
        most = most.max(row);
    }
    2 * most
}
