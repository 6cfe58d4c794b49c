//! What each tool of the graph does and answers. Pure.

use super::{Deletion, EXTRACTOR, Entity, GraphCall, KnowledgeGraph, Observations, Relation};
use crate::memory::tool::{Acted, ToolRecord, ToolWriter};
use samite_memory::{Standing, Standings};
use samite_model::RecordId;
use samite_model::memory::{Edge, RecordKind};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// A question has at most so many characters.
const QUESTION: usize = 2048;

/// An entity, with the records that say so.
struct Node<'a> {
    name: &'a str,
    kind: &'a str,
    records: Vec<RecordId>,
    observations: Vec<(&'a str, Vec<RecordId>)>,
}

/// A relation, with the edges that say so.
struct Link<'a> {
    edge: &'a Edge,
    records: Vec<RecordId>,
}

/// The graph that the records of a namespace are.
pub(super) struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    links: Vec<Link<'a>>,
}

/// What a call comes to, or what is wrong with it.
type Answer = Result<Acted<Value>, String>;

impl<'a> Graph<'a> {
    /// What is found at a time: entities and observations that were written through these tools, and every edge.
    pub(super) fn of(standings: &'a Standings, time: i64) -> Self {
        let mut graph = Self { nodes: Vec::new(), links: Vec::new() };
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut links: HashMap<(&str, &str, &str), usize> = HashMap::new();
        for standing in standings.all().iter().filter(|one| one.is_found(standings.settings(), time)) {
            let record = &standing.record;
            if let Some(edge) = &record.edge {
                let of = (edge.from.as_str(), edge.relation.as_str(), edge.to.as_str());
                let place = *links.entry(of).or_insert(graph.links.len());
                match graph.links.get_mut(place) {
                    Some(link) => link.records.push(record.record),
                    None => graph.links.push(Link { edge, records: vec![record.record] }),
                }
            } else if let Some((name, kind)) = entity_of(standing) {
                let place = *places.entry(name).or_insert(graph.nodes.len());
                match graph.nodes.get_mut(place) {
                    Some(node) => node.records.push(record.record),
                    None => {
                        graph.nodes.push(Node { name, kind, records: vec![record.record], observations: Vec::new() });
                    }
                }
            }
        }
        for standing in standings.all().iter().filter(|one| one.is_found(standings.settings(), time)) {
            let node = text_of(standing, "observation_of").and_then(|name| places.get(name));
            let Some(node) = node.and_then(|place| graph.nodes.get_mut(*place)) else { continue };
            let (text, record) = (standing.record.text.as_str(), standing.record.record);
            match node.observations.iter_mut().find(|(known, _)| *known == text) {
                Some((_, records)) => records.push(record),
                None => node.observations.push((text, vec![record])),
            }
        }
        graph
    }

    fn node(&self, name: &str) -> Option<&Node<'a>> {
        self.nodes.iter().find(|node| node.name == name)
    }

    fn link(&self, relation: &Relation) -> Option<&Link<'a>> {
        self.links.iter().find(|link| {
            (&link.edge.from, &link.edge.relation, &link.edge.to)
                == (&relation.from, &relation.relation_type, &relation.to)
        })
    }

    /// Carries out a call.
    ///
    /// # Errors
    /// What the tool says of it.
    pub(super) fn act(&self, call: &GraphCall, by: &ToolWriter) -> Answer {
        match call {
            GraphCall::CreateEntities { entities } => Ok(self.create_entities(entities, by)),
            GraphCall::CreateRelations { relations } => Ok(self.create_relations(relations, by)),
            GraphCall::AddObservations { observations } => self.add_observations(observations, by),
            GraphCall::DeleteEntities { entity_names } => Ok(self.delete_entities(entity_names)),
            GraphCall::DeleteObservations { deletions } => Ok(self.delete_observations(deletions)),
            GraphCall::DeleteRelations { relations } => Ok(self.delete_relations(relations)),
            GraphCall::ReadGraph {} => Ok(self.shown(|_| true, true)),
            GraphCall::SearchNodes { query } => self.search(query),
            GraphCall::OpenNodes { names } => Ok(self.shown(|node| names.iter().any(|name| name == node.name), false)),
        }
    }

    fn create_entities(&self, entities: &[Entity], by: &ToolWriter) -> Acted<Value> {
        let mut known: HashSet<&str> = self.nodes.iter().map(|node| node.name).collect();
        let new: Vec<&Entity> = entities.iter().filter(|entity| known.insert(&entity.name)).collect();
        let mut acted = Acted::only(json!({ "entities": new }));
        for entity in new {
            let mut record = by.record(EXTRACTOR, format!("{} ({})", entity.name, entity.entity_type));
            record.metadata.insert("entity".into(), json!(entity.name));
            record.metadata.insert("entity_type".into(), json!(entity.entity_type));
            record.metadata.insert("entities".into(), json!([entity.name]));
            acted.writes.push(ToolRecord { new: record, replaces: None });
            let mut said: HashSet<&str> = HashSet::new();
            let observations = entity.observations.iter().filter(|text| said.insert(text));
            acted.writes.extend(observations.map(|text| observation(&entity.name, text, by)));
        }
        acted
    }

    /// Between whatever is named: an entity need not be there, as little as for an edge that is written otherwise.
    fn create_relations(&self, relations: &[Relation], by: &ToolWriter) -> Acted<Value> {
        let mut known: HashSet<&Relation> = HashSet::new();
        let not_there = relations.iter().filter(|relation| self.link(relation).is_none());
        let new: Vec<&Relation> = not_there.filter(|relation| known.insert(*relation)).collect();
        let mut acted = Acted::only(json!({ "relations": new }));
        for Relation { from, to, relation_type } in new {
            let mut record = by.record(EXTRACTOR, format!("{from} {relation_type} {to}"));
            record.kind = RecordKind::Edge;
            record.edge = Some(Edge { from: from.clone(), relation: relation_type.clone(), to: to.clone() });
            acted.writes.push(ToolRecord { new: record, replaces: None });
        }
        acted
    }

    fn add_observations(&self, observations: &[Observations], by: &ToolWriter) -> Answer {
        let (mut results, mut writes) = (Vec::new(), Vec::new());
        let mut added: HashSet<(&str, &str)> = HashSet::new();
        for Observations { entity_name, contents } in observations {
            let node = self.node(entity_name).ok_or_else(|| not_found(entity_name))?;
            let is_known = |text: &str| node.observations.iter().any(|(known, _)| *known == text);
            let new = contents.iter().filter(|text| !is_known(text) && added.insert((entity_name, text)));
            let new: Vec<&String> = new.collect();
            results.push(json!({ "entityName": entity_name, "addedObservations": new }));
            writes.extend(new.into_iter().map(|text| observation(entity_name, text, by)));
        }
        Ok(Acted { writes, ..Acted::only(json!({ "results": results })) })
    }

    fn delete_entities(&self, names: &[String]) -> Acted<Value> {
        let is_named = |name: &str| names.iter().any(|one| one == name);
        let mut ends = Vec::new();
        for node in self.nodes.iter().filter(|node| is_named(node.name)) {
            ends.extend(&node.records);
            ends.extend(node.observations.iter().flat_map(|(_, records)| records));
        }
        let links = self.links.iter().filter(|link| is_named(&link.edge.from) || is_named(&link.edge.to));
        ends.extend(links.flat_map(|link| &link.records));
        ended("Entities deleted successfully", ends)
    }

    fn delete_observations(&self, deletions: &[Deletion]) -> Acted<Value> {
        let mut ends: Vec<RecordId> = Vec::new();
        for node in &self.nodes {
            let of_it = || deletions.iter().filter(|deletion| deletion.entity_name == node.name);
            let is_named = |text: &str| of_it().any(|deletion| deletion.observations.iter().any(|one| one == text));
            let gone = node.observations.iter().filter(|(text, _)| is_named(text));
            ends.extend(gone.flat_map(|(_, records)| records));
        }
        ended("Observations deleted successfully", ends)
    }

    fn delete_relations(&self, relations: &[Relation]) -> Acted<Value> {
        let wanted: HashSet<&Relation> = relations.iter().collect();
        let found = wanted.iter().filter_map(|relation| self.link(relation));
        ended("Relations deleted successfully", found.flat_map(|link| link.records.iter().copied()).collect())
    }

    fn search(&self, query: &str) -> Answer {
        if query.chars().count() > QUESTION {
            return Err(format!("The query has more than {QUESTION} characters"));
        }
        let query = query.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&query);
        Ok(self.shown(
            |node| has(node.name) || has(node.kind) || node.observations.iter().any(|(text, _)| has(text)),
            false,
        ))
    }

    /// The entities that are wanted, and the relations at one of them, or all.
    fn shown(&self, is_wanted: impl Fn(&Node<'_>) -> bool, all_relations: bool) -> Acted<Value> {
        let nodes: Vec<&Node<'_>> = self.nodes.iter().filter(|node| is_wanted(node)).collect();
        let names: HashSet<&str> = nodes.iter().map(|node| node.name).collect();
        let is_at = |link: &&Link<'_>| {
            all_relations || names.contains(link.edge.from.as_str()) || names.contains(link.edge.to.as_str())
        };
        let links: Vec<&Link<'_>> = self.links.iter().filter(is_at).collect();
        let mut shown: Vec<RecordId> = Vec::new();
        for node in &nodes {
            shown.extend(&node.records);
            shown.extend(node.observations.iter().flat_map(|(_, records)| records));
        }
        shown.extend(links.iter().flat_map(|link| &link.records));
        let graph = KnowledgeGraph {
            entities: nodes.iter().map(|node| entity(node)).collect(),
            relations: links.iter().map(|link| relation(link.edge)).collect(),
        };
        Acted { shown, ..Acted::only(json!(graph)) }
    }
}

fn entity(node: &Node<'_>) -> Entity {
    let observations = node.observations.iter().map(|(text, _)| (*text).to_owned()).collect();
    Entity { name: node.name.to_owned(), entity_type: node.kind.to_owned(), observations }
}

fn relation(edge: &Edge) -> Relation {
    Relation { from: edge.from.clone(), to: edge.to.clone(), relation_type: edge.relation.clone() }
}

fn observation(entity: &str, text: &str, by: &ToolWriter) -> ToolRecord {
    let mut record = by.record(EXTRACTOR, text);
    record.metadata.insert("observation_of".into(), json!(entity));
    record.metadata.insert("entities".into(), json!([entity]));
    ToolRecord { new: record, replaces: None }
}

fn ended(message: &str, ends: Vec<RecordId>) -> Acted<Value> {
    Acted { ends, ..Acted::only(json!({ "success": true, "message": message })) }
}

fn not_found(name: &str) -> String {
    format!("Entity with name {name} not found")
}

/// What these tools wrote in a record's metadata.
fn text_of<'a>(standing: &'a Standing, name: &str) -> Option<&'a str> {
    let record = &standing.record;
    let made_by = record.provenance.extractor.as_ref().map(|made_by| made_by.name.as_str());
    let is_ours = record.kind == RecordKind::Semantic && made_by == Some(EXTRACTOR);
    record.metadata.get(name).filter(|_| is_ours).and_then(Value::as_str)
}

/// The name and the type of an entity, where the record is one.
fn entity_of(standing: &Standing) -> Option<(&str, &str)> {
    Some((text_of(standing, "entity")?, text_of(standing, "entity_type")?))
}
