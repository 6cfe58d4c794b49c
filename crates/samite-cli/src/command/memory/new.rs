//! What a record is to be.

use crate::arguments::parse_time;
use crate::input::standard_input;
use clap::Args;
use samite::memory::{Edge, Extractor, Memory, NewRecord, RecordKind, Span, TEXT, Trust, Validity};
use samite_model::{Error, Position, Result};
use serde_json::{Map, Value};

/// What a record is to be.
#[derive(Debug, Args)]
pub(super) struct New {
    /// What it says; `-` reads standard input
    text: String,
    /// What it is: episodic, semantic, procedural, pinned, chunk or edge
    #[arg(long, default_value = "semantic", value_parser = parse_kind)]
    kind: RecordKind,
    /// Who stands behind it: user, operator, model, tool or web
    #[arg(long, default_value = "model", value_parser = parse_trust)]
    trust: Trust,
    /// Where it comes from: an address, a path, a tool
    #[arg(long)]
    source: Option<String>,
    /// Something else that is to be known of it; a value that is JSON is kept as that
    #[arg(long = "metadata", value_name = "NAME=VALUE", value_parser = parse_pair)]
    metadata: Vec<(String, Value)>,
    /// A record that it was made of; it is trusted no more than that
    #[arg(long = "made-of", value_name = "RECORD")]
    inputs: Vec<String>,
    /// An entry that it was made of, as JOURNAL@SEQ
    #[arg(long = "entry", value_name = "JOURNAL@SEQ", value_parser = parse_span)]
    entries: Vec<Span>,
    /// What made it, as NAME@VERSION
    #[arg(long, value_name = "NAME@VERSION", value_parser = parse_extractor)]
    extractor: Option<Extractor>,
    /// The record before it, such as the turn before
    #[arg(long, value_name = "RECORD")]
    previous: Option<String>,
    /// From when it is so: a day or a time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    valid_from: Option<i64>,
    /// When it is not so any more
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    valid_to: Option<i64>,
    /// The entity that an edge goes out from
    #[arg(long, requires_all = ["relation", "to"])]
    from: Option<String>,
    /// The relation of an edge
    #[arg(long, requires_all = ["from", "to"])]
    relation: Option<String>,
    /// The entity that an edge leads to
    #[arg(long, requires_all = ["from", "relation"])]
    to: Option<String>,
}

impl New {
    pub(super) async fn record(&self, memory: &Memory) -> Result<NewRecord> {
        let text = match self.text.as_str() {
            "-" => String::from_utf8(standard_input("the record's text", TEXT as u64)?)
                .map_err(|error| Error::invalid("not_text", "the record's text is not UTF-8").because(error))?,
            text => text.to_owned(),
        };
        let mut inputs = Vec::new();
        for input in &self.inputs {
            inputs.push(memory.find_record(input).await?);
        }
        let previous = match &self.previous {
            Some(previous) => Some(memory.find_record(previous).await?),
            None => None,
        };
        let edge = match (&self.from, &self.relation, &self.to) {
            (Some(from), Some(relation), Some(to)) => {
                Some(Edge { from: from.clone(), relation: relation.clone(), to: to.clone() })
            }
            _ => None,
        };
        Ok(NewRecord {
            metadata: self.metadata.iter().cloned().collect::<Map<String, Value>>(),
            edge,
            valid: Validity { from: self.valid_from, to: self.valid_to },
            previous,
            entries: self.entries.clone(),
            inputs,
            source: self.source.clone(),
            extractor: self.extractor.clone(),
            ..NewRecord::new(self.kind, text, self.trust)
        })
    }
}

pub(super) fn parse_kind(text: &str) -> std::result::Result<RecordKind, String> {
    RecordKind::from_name(text).ok_or_else(|| "write episodic, semantic, procedural, pinned, chunk or edge".to_owned())
}

pub(super) fn parse_trust(text: &str) -> std::result::Result<Trust, String> {
    Trust::from_name(text).ok_or_else(|| "write user, operator, model, tool or web".to_owned())
}

pub(super) fn parse_pair(text: &str) -> std::result::Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "write NAME=VALUE".to_owned())?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

fn parse_span(text: &str) -> std::result::Result<Span, String> {
    let position = text
        .split_once('@')
        .and_then(|(journal, seq)| Some(Position { journal: journal.parse().ok()?, seq: seq.parse().ok()? }));
    position
        .map(|position| Span { position, bytes: None })
        .ok_or_else(|| "write a journal's whole id, @ and a seq".to_owned())
}

fn parse_extractor(text: &str) -> std::result::Result<Extractor, String> {
    let (name, version) = text.rsplit_once('@').ok_or_else(|| "write NAME@VERSION".to_owned())?;
    Ok(Extractor { name: name.to_owned(), version: version.to_owned() })
}
