//! Following edges from the records that were found to those that they lead to.

use super::search::{FoundRecord, Recalled, Search, treatment_of};
use samite_memory::search::{Scored, fair};
use samite_memory::{Standing, Standings};
use samite_model::RecordId;
use samite_model::memory::{RecordKind, Treatment};
use std::collections::{BTreeSet, HashMap, HashSet};

/// So many of the best records are where edges are followed from.
const FROM: usize = 10;

/// So many steps are followed at most.
const FARTHEST: u32 = 8;

/// Adds what edges lead to from the best records, after those: so many steps far, and as many records as places are asked for, no source
/// with more than its share of them. Only what may be found by itself is followed or found, and only among what is open.
pub(super) fn follow(standings: &Standings, time: i64, search: &Search, recalled: &mut Recalled) {
    let settings = standings.settings();
    let is_open = |one: &&Standing| one.is_found(settings, time) && treatment_of(one, settings) == Treatment::Open;
    let open: Vec<&Standing> = standings.all().iter().filter(is_open).collect();
    let graph = Graph::of(&open);
    let open: HashSet<RecordId> = open.iter().map(|one| one.record.record).collect();
    let mut known: HashSet<RecordId> = recalled.records.iter().map(|one| one.standing.record.record).collect();
    let mut passed: HashSet<&str> = HashSet::new();
    let begin = recalled.records.iter().take(FROM).map(|one| Reached {
        record: one.standing.record.record,
        over: Vec::new(),
        score: one.scored.score,
    });
    let mut reached: Vec<Reached> = begin.collect();
    let mut found: Vec<Reached> = Vec::new();
    for _ in 0..search.hops.min(FARTHEST) {
        let mut next = Vec::new();
        for from in &reached {
            // What is beyond an entity was reached when it was passed first.
            let entities = graph.entities.get(&from.record).into_iter().flatten();
            for entity in entities.filter(|entity| passed.insert(entity)) {
                for (edge, record) in graph.beyond(entity) {
                    // What ended, or is not open, is neither found nor gone through; each is reached once.
                    if open.contains(&record) && known.insert(record) {
                        let over = [from.over.as_slice(), &[edge]].concat();
                        // Each step away counts half.
                        next.push(Reached { record, over, score: from.score / 2.0 });
                    }
                }
            }
        }
        found.extend(next.iter().cloned());
        reached = next;
    }
    let places: HashMap<RecordId, u32> =
        (0..).zip(standings.all()).map(|(document, one)| (one.record.record, document)).collect();
    let found: Vec<(Reached, &Standing)> =
        found.into_iter().filter_map(|one| Some((one.clone(), standings.get(one.record)?))).collect();
    let wanted: Vec<&(Reached, &Standing)> = found.iter().filter(|(_, standing)| search.wants(standing)).collect();
    let from = wanted.iter().map(|(_, standing)| &standing.record.provenance);
    for place in fair(from, settings, search.limit) {
        let Some((one, standing)) = wanted.get(place) else { continue };
        let document = places.get(&one.record).copied().unwrap_or_default();
        let scored =
            Scored { document, score: one.score, coverage: 0.0, dot: None, speaker: false, date: 0.0, asks: false };
        let (standing, over) = ((*standing).clone(), one.over.clone());
        recalled.records.push(FoundRecord { standing, scored, over });
    }
}

/// A record that edges led to.
#[derive(Clone)]
struct Reached {
    record: RecordId,
    /// Those edges.
    over: Vec<RecordId>,
    score: f32,
}

/// Which records speak of which entities, and which edges join those.
struct Graph {
    /// The entities of each record, as they are compared.
    entities: HashMap<RecordId, Vec<String>>,
    /// The records of each entity, in the order in which they came.
    records: HashMap<String, Vec<RecordId>>,
    /// The edges at each entity, with the entity at their other end.
    edges: HashMap<String, Vec<(RecordId, String)>>,
}

impl Graph {
    /// An entity's records are the edges that name it, what those were made of, and whatever names it among its `entities` or in its
    /// words.
    fn of(open: &[&Standing]) -> Self {
        let mut graph = Self { entities: HashMap::new(), records: HashMap::new(), edges: HashMap::new() };
        let mut names = Names::default();
        for standing in open {
            let record = &standing.record;
            let Some(edge) = &record.edge else { continue };
            let ends = [folded(&edge.from), folded(&edge.to)];
            for (one, other) in [(0, 1), (1, 0)] {
                if let (Some(one), Some(other)) = (ends.get(one), ends.get(other)) {
                    graph.edges.entry(one.clone()).or_default().push((record.record, other.clone()));
                    graph.join(record.record, one);
                    for input in &record.provenance.inputs {
                        graph.join(*input, one);
                    }
                }
            }
            for name in &ends {
                names.add(name);
            }
        }
        for standing in open {
            let record = &standing.record;
            if let Some(entities) = record.metadata.get("entities").and_then(|value| value.as_array()) {
                for entity in entities.iter().filter_map(|entity| entity.as_str()) {
                    graph.join(record.record, &folded(entity));
                }
            }
            if record.kind == RecordKind::Edge {
                continue;
            }
            for name in names.within(&folded(&record.text)) {
                graph.join(record.record, name);
            }
        }
        graph
    }

    fn join(&mut self, record: RecordId, entity: &str) {
        let entities = self.entities.entry(record).or_default();
        if !entities.iter().any(|known| known == entity) {
            entities.push(entity.to_owned());
            self.records.entry(entity.to_owned()).or_default().push(record);
        }
    }

    /// The edges at an entity, and the records of the entities at their other ends, each with the edge: the edges themselves among
    /// them.
    fn beyond(&self, entity: &str) -> impl Iterator<Item = (RecordId, RecordId)> {
        let mut others: HashSet<&str> = HashSet::new();
        self.edges.get(entity).into_iter().flatten().flat_map(move |(edge, other)| {
            let records = others.insert(other).then(|| self.records.get(other)).flatten();
            let records = records.into_iter().flatten().copied();
            std::iter::once(*edge).chain(records).map(|record| (*edge, record))
        })
    }
}

/// The names of entities, found in a text by their first words.
#[derive(Default)]
struct Names {
    by_first: HashMap<String, BTreeSet<String>>,
}

impl Names {
    fn add(&mut self, name: &str) {
        if let Some(first) = name.split(' ').next().filter(|first| !first.is_empty()) {
            self.by_first.entry(first.to_owned()).or_default().insert(name.to_owned());
        }
    }

    /// Those that stand in a text as whole words, both folded.
    fn within<'a>(&'a self, text: &str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
            for name in self.by_first.get(first).into_iter().flatten() {
                if rest.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
                    found.insert(name.as_str());
                }
            }
            rest = after;
        }
        found
    }
}

/// A name as it is compared: its folded words, one space apart.
fn folded(name: &str) -> String {
    let words = samite_memory::text::tokens(name);
    let words = words.iter().filter(|token| token.kind == samite_memory::text::Kind::Word);
    words.map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
}
