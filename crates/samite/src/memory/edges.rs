//! Following edges from the records that were found to those that they lead to.

use super::search::{FoundRecord, Recalled, Search, treatment_of};
use samite_memory::search::Scored;
use samite_memory::{Standing, Standings};
use samite_model::RecordId;
use samite_model::memory::{RecordKind, Treatment};
use std::collections::{HashMap, HashSet};

/// So many of the best records are where edges are followed from.
const FROM: usize = 10;

/// Adds what edges lead to from the best records, after those: so many steps far, and as many records as places are asked for. Only what
/// may be found by itself is followed or found, and only among what is open.
pub(super) fn follow(standings: &Standings, time: i64, search: &Search, recalled: &mut Recalled) {
    let settings = standings.settings();
    let is_open = |one: &&Standing| one.is_found(settings, time) && treatment_of(one, settings) == Treatment::Open;
    let open: Vec<&Standing> = standings.all().iter().filter(is_open).collect();
    let graph = Graph::of(&open);
    let open: HashSet<RecordId> = open.iter().map(|one| one.record.record).collect();
    let mut known: HashSet<RecordId> = recalled.records.iter().map(|one| one.standing.record.record).collect();
    let mut reached: Vec<(RecordId, Vec<RecordId>, f32)> = recalled
        .records
        .iter()
        .take(FROM)
        .map(|one| (one.standing.record.record, Vec::new(), one.scored.score))
        .collect();
    let places: HashMap<RecordId, u32> =
        (0..).zip(standings.all()).map(|(document, one)| (one.record.record, document)).collect();
    let mut added = 0;
    for _ in 0..search.hops.min(8) {
        let mut next = Vec::new();
        for (record, over, score) in &reached {
            for (edge, other) in graph.beyond(*record) {
                // What ended, or is not open, is neither found nor gone through; each is reached once.
                if open.contains(&other) && known.insert(other) {
                    let over = [over.as_slice(), &[edge]].concat();
                    // Each step away counts half.
                    next.push((other, over, score / 2.0));
                }
            }
        }
        for (record, over, score) in &next {
            let Some(standing) = standings.get(*record) else { continue };
            if added < search.limit && search.wants(standing) {
                let document = places.get(record).copied().unwrap_or_default();
                let scored = Scored {
                    document,
                    score: *score,
                    coverage: 0.0,
                    dot: None,
                    speaker: false,
                    date: 0.0,
                    asks: false,
                };
                recalled.records.push(FoundRecord { standing: standing.clone(), scored, over: over.clone() });
                added += 1;
            }
        }
        reached = next;
    }
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
        let mut names: HashSet<String> = HashSet::new();
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
            names.extend(ends);
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
            let words = format!(" {} ", folded(&record.text));
            for name in names.iter().filter(|name| !name.is_empty()) {
                if words.contains(&format!(" {name} ")) {
                    graph.join(record.record, name);
                }
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

    /// The edges at a record's entities, and the records of the entities at their other ends: the edges themselves among them.
    fn beyond(&self, record: RecordId) -> Vec<(RecordId, RecordId)> {
        let mut beyond = Vec::new();
        for entity in self.entities.get(&record).into_iter().flatten() {
            for (edge, other) in self.edges.get(entity).into_iter().flatten() {
                beyond.push((*edge, *edge));
                let records = self.records.get(other).into_iter().flatten();
                beyond.extend(records.filter(|one| **one != record).map(|one| (*edge, *one)));
            }
        }
        beyond
    }
}

/// A name as it is compared: its folded words, one space apart.
fn folded(name: &str) -> String {
    let words = samite_memory::text::tokens(name);
    let words = words.iter().filter(|token| token.kind == samite_memory::text::Kind::Word);
    words.map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
}
