//! A namespace as a graph of entities: the tools of the memory server of the Model Context Protocol
//! (`@modelcontextprotocol/server-memory`), over records.
//!
//! An entity, each of its observations and each relation is a record; a relation is an edge, so a search that follows edges goes along it,
//! and an edge that was written otherwise is a relation here. What is deleted is retracted, and each call is one commit. Unlike in that
//! server, what a call says twice is said once, and names and observations that say nothing are refused.

mod act;

use super::Memory;
use super::tool::{Acted, ToolWriter, is_told};
use act::Graph;
use samite_model::{Error, Result, limits};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What makes records of entities, observations and relations, as it is named in their provenance.
const EXTRACTOR: &str = "samite-graph";

/// An entity, as the tools have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    /// Its name, which is its own.
    pub name: String,
    /// What it is.
    pub entity_type: String,
    /// What is known of it.
    pub observations: Vec<String>,
}

/// A relation, as the tools have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// The entity that it goes out from.
    pub from: String,
    /// The entity that it leads to.
    pub to: String,
    /// What it is.
    pub relation_type: String,
}

/// What is to be known of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observations {
    /// The entity.
    pub entity_name: String,
    /// What is known of it.
    pub contents: Vec<String>,
}

/// What is not to be known of an entity any more.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// The entity.
    pub entity_name: String,
    /// What was known of it.
    pub observations: Vec<String>,
}

/// Entities, and relations at them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeGraph {
    /// The entities, in the order in which they came.
    pub entities: Vec<Entity>,
    /// The relations, in the order in which they came.
    pub relations: Vec<Relation>,
}

/// A call of one of the tools.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum GraphCall {
    /// Makes entities that are not there.
    CreateEntities {
        /// The entities.
        entities: Vec<Entity>,
    },
    /// Makes relations that are not there, whether their entities are or not.
    CreateRelations {
        /// The relations.
        relations: Vec<Relation>,
    },
    /// Adds what is not known of entities.
    AddObservations {
        /// By entity.
        observations: Vec<Observations>,
    },
    /// Deletes entities, with their relations.
    DeleteEntities {
        /// Their names.
        entity_names: Vec<String>,
    },
    /// Deletes what is known of entities.
    DeleteObservations {
        /// By entity.
        deletions: Vec<Deletion>,
    },
    /// Deletes relations.
    DeleteRelations {
        /// The relations.
        relations: Vec<Relation>,
    },
    /// Shows everything.
    ReadGraph {},
    /// Shows the entities whose name, type or observations have a text in them, and the relations at those.
    SearchNodes {
        /// The text, whatever its case.
        query: String,
    },
    /// Shows entities, and the relations at those.
    OpenNodes {
        /// Their names.
        names: Vec<String>,
    },
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphAnswer {
    /// The text for the model.
    pub text: String,
    /// The same as JSON; none where it says what is wrong.
    pub structured: Option<Value>,
}

impl GraphCall {
    /// A call from `name` and `arguments`, as the protocol's `tools/call` has them.
    ///
    /// # Errors
    /// `invalid` (`bad_call`) saying what is missing or unknown.
    pub fn parse(mut call: Value) -> Result<Self> {
        if let Some(call) = call.as_object_mut() {
            call.entry("arguments").or_insert_with(|| json!({}));
        }
        serde_json::from_value(call).map_err(|error| super::bad_call(&error))
    }

    /// What it asks, as a search is recorded.
    fn question(&self) -> String {
        match self {
            Self::SearchNodes { query } => query.clone(),
            Self::OpenNodes { names } => names.join("\n"),
            _ => String::new(),
        }
    }
}

impl Memory {
    /// Carries out a call of one of the graph's tools, and answers as the server does. When this returns, what it changed is durable; what
    /// it showed is recorded as found by a search.
    ///
    /// What is wrong with the call, or is not allowed to who writes, is an answer too. What waits for approval is not seen.
    ///
    /// # Errors
    /// `unavailable`: `store_busy` when others kept writing, or what is not recorded is not shown; `corrupt` naming the entry that cannot
    /// be read.
    pub async fn graph_call(&self, call: &GraphCall, by: &ToolWriter) -> Result<GraphAnswer> {
        let wrong = |text: String| GraphAnswer { text, structured: None };
        let call = match self.kept(call).await {
            Err(error) if is_told(&error) => return Ok(wrong(error.message().to_owned())),
            other => other?,
        };
        let act = |standings: &_, time| match Graph::of(standings, time).act(&call, by) {
            Err(text) => Acted::only(wrong(text)),
            Ok(Acted { answer, writes, ends, shown }) => {
                Acted { answer: GraphAnswer { text: told(&answer), structured: Some(answer) }, writes, ends, shown }
            }
        };
        match self.carry_out(&call.question(), by.trust, act).await {
            Err(error) if is_told(&error) => Ok(wrong(error.message().to_owned())),
            other => other,
        }
    }

    /// The call with observations as the tenant's policy lets them be kept, so that they are known when they come again. Names that could
    /// not be kept as they are would not be known.
    async fn kept(&self, call: &GraphCall) -> Result<GraphCall> {
        let mut call = call.clone();
        let (mut names, mut texts): (Vec<&str>, Vec<&mut String>) = (Vec::new(), Vec::new());
        match &mut call {
            GraphCall::CreateEntities { entities } => {
                for Entity { name, entity_type, observations } in entities {
                    names.extend([name.as_str(), entity_type.as_str()]);
                    texts.extend(observations);
                }
            }
            GraphCall::CreateRelations { relations } => {
                for Relation { from, to, relation_type } in relations {
                    names.extend([from.as_str(), to.as_str(), relation_type.as_str()]);
                }
            }
            GraphCall::AddObservations { observations } => {
                texts.extend(observations.iter_mut().flat_map(|of| &mut of.contents));
            }
            GraphCall::DeleteObservations { deletions } => {
                texts.extend(deletions.iter_mut().flat_map(|of| &mut of.observations));
            }
            _ => {}
        }
        let core = &self.client.core;
        for name in names {
            limits::check_name("a name in a graph", name)?;
            if core.kept_words(name).await? != *name {
                return Err(Error::invalid("bad_name", "a name in a graph holds what is not kept here")
                    .hint("give it another name"));
            }
        }
        for text in texts {
            *text = core.kept_words(text).await?;
        }
        Ok(call)
    }
}

/// What a model reads: the message, or the one list that there is, or all of it.
fn told(answer: &Value) -> String {
    if let Some(message) = answer.get("message").and_then(Value::as_str) {
        return message.to_owned();
    }
    let only = answer.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
    serde_json::to_string_pretty(only.unwrap_or(answer)).unwrap_or_default()
}
