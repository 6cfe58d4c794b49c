//! The surfaces of long-term memory.

use super::garden::Garden;
use super::surfaces::{Surface, in_form, surface};
use futures_lite::future::block_on;
use samite::memory::{
    Document, Edge, Extractor, FileCommand, GraphCall, Memory, Namespace, NewRecord, RecordKind, ToolWriter, Trust,
};
use serde_json::json;

pub(crate) const ALL: &[Surface] = &[
    surface("memory: names of namespaces", 4, namespaces),
    surface("memory: texts of each kind", 12, kinds),
    surface("memory: texts in other forms", 18, forms),
    surface("memory: metadata, sources, extractors, relations", 24, around),
    surface("memory: what ended, and why", 16, ended),
    surface("memory: documents, their names and headings", 12, documents),
    surface("memory: other tools' views", 12, views),
    surface("memory: records that are too large for a journal", 2, large),
];

/// A namespace of the garden's own.
pub(crate) fn namespace(garden: &Garden, segments: &[&str]) -> Memory {
    let label = garden.label();
    let segments = [&[label][..], segments].concat();
    garden.client.memory(Namespace::new(segments).unwrap())
}

fn fact(text: impl Into<String>) -> NewRecord {
    NewRecord::new(RecordKind::Semantic, text, Trust::User)
}

fn namespaces(garden: &Garden, texts: &[String]) {
    for two in texts.chunks(2) {
        let [first, second] = two else { panic!("two each") };
        block_on(namespace(garden, &[first, second]).assert(&fact("in a namespace of its own"))).unwrap();
    }
}

fn kinds(garden: &Garden, texts: &[String]) {
    let memory = namespace(garden, &["kinds"]);
    let mut made = Vec::new();
    for (text, kind) in texts.iter().zip(RecordKind::ALL.into_iter().cycle()) {
        let edge = (kind == RecordKind::Edge).then(|| Edge {
            from: "one".to_owned(),
            relation: "knows".to_owned(),
            to: "another".to_owned(),
        });
        let new = NewRecord { edge, inputs: made.clone(), ..NewRecord::new(kind, format!("say {text}."), Trust::User) };
        made.push(block_on(memory.assert(&new)).unwrap().record);
    }
}

fn forms(garden: &Garden, texts: &[String]) {
    let memory = namespace(garden, &["forms"]);
    for (number, text) in texts.iter().enumerate() {
        let bytes = in_form(text, number);
        // What is no UTF-8 is no text.
        let said = String::from_utf8(bytes).unwrap_or_else(|_| text.clone());
        block_on(memory.assert(&NewRecord { source: Some("forms".to_owned()), ..fact(said) })).unwrap();
    }
}

fn around(garden: &Garden, texts: &[String]) {
    let memory = namespace(garden, &["around"]);
    for (number, eight) in texts.chunks(8).enumerate() {
        let [text, key, value, source, extractor, from, relation, to] = eight else { panic!("eight each") };
        let new = NewRecord {
            metadata: json!({ key: [value] }).as_object().unwrap().clone(),
            source: Some(format!("https://example.org/{source}")),
            extractor: Some(Extractor { name: extractor.clone(), version: number.to_string() }),
            edge: Some(Edge { from: from.clone(), relation: relation.clone(), to: to.clone() }),
            ..NewRecord::new(RecordKind::Edge, text.clone(), Trust::Model)
        };
        block_on(memory.assert(&new)).unwrap();
    }
}

fn documents(garden: &Garden, texts: &[String]) {
    let memory = namespace(garden, &["documents"]);
    for (number, of) in texts.chunks(4).enumerate() {
        let [name, heading, old, new] = of else { panic!("four each") };
        for says in [old, new] {
            let text = format!("# {heading}\n\nIt says {says}.\n");
            let name = format!("{number} {name}.md");
            let document = Document { name: &name, bytes: text.as_bytes(), format: None, trust: Trust::User };
            block_on(memory.ingester().ingest(&document)).unwrap();
        }
    }
}

fn views(garden: &Garden, texts: &[String]) {
    let memory = namespace(garden, &["views"]);
    let by = ToolWriter { trust: Trust::User, ..ToolWriter::default() };
    for (number, of) in texts.chunks(6).enumerate() {
        let [name, old, new, entity, observation, relation] = of else { panic!("six each") };
        let path = format!("/memories/{number} {name}.md");
        for input in [
            json!({ "command": "create", "path": path, "file_text": old }),
            json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": new }),
        ] {
            let said = block_on(memory.file_command(&FileCommand::parse(input).unwrap(), &by)).unwrap();
            assert!(!said.is_error, "{said:?}");
        }
        let entities = json!([{ "name": entity, "entityType": "thing", "observations": [observation] }]);
        let relations = json!([{ "from": entity, "to": "another", "relationType": relation }]);
        for call in [
            json!({ "name": "create_entities", "arguments": { "entities": entities } }),
            json!({ "name": "create_relations", "arguments": { "relations": relations } }),
        ] {
            let said = block_on(memory.graph_call(&GraphCall::parse(call).unwrap(), &by)).unwrap();
            assert!(said.structured.is_some(), "{said:?}");
        }
    }
}

fn ended(garden: &Garden, texts: &[String]) {
    let memory = namespace(garden, &["ended"]);
    for four in texts.chunks(4) {
        let [first, second, third, reason] = four else { panic!("four each") };
        block_on(async {
            let one = memory.assert(&fact(first.clone())).await.unwrap();
            let two = memory.supersede(one.record, &fact(second.clone())).await.unwrap();
            let three = memory.correct(two.record, &fact(third.clone())).await.unwrap();
            memory.pin(three.record, true).await.unwrap();
            memory.retract(three.record, Some(reason)).await.unwrap();
        });
    }
}

fn large(garden: &Garden, texts: &[String]) {
    let memory = namespace(garden, &["large"]);
    for (number, text) in texts.iter().enumerate() {
        // As JSON it is longer than a journal's entry may be.
        let filler = |from: usize| {
            (from..from + 44_000).map(|word| format!("\"w{number}x{word}\"\n")).collect::<Vec<_>>().concat()
        };
        let said = format!("{}{text} {}", filler(0), filler(100_000));
        block_on(memory.assert(&fact(said))).unwrap();
    }
}
