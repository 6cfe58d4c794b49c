//! What the importer reads of a record. Everything else stays in its bytes.

use super::loose::{Fields, Flag, List, Object, Text, skip};
use serde::de::MapAccess;
use serde_json::Value;

/// A line's record.
#[derive(Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) kind: Text<'a>,
    pub(super) subtype: Text<'a>,
    pub(super) uuid: Text<'a>,
    pub(super) parent: Text<'a>,
    pub(super) logical_parent: Text<'a>,
    pub(super) leaf: Text<'a>,
    pub(super) session: Text<'a>,
    pub(super) agent: Text<'a>,
    pub(super) cwd: Text<'a>,
    pub(super) version: Text<'a>,
    pub(super) git_branch: Text<'a>,
    pub(super) parent_tool_use: Text<'a>,
    pub(super) is_meta: Flag,
    pub(super) is_sidechain: Flag,
    pub(super) is_compact_summary: Flag,
    pub(super) is_api_error: Flag,
    pub(super) message: Object<Message<'a>>,
    pub(super) data: Object<Agent<'a>>,
    pub(super) tool_use_result: Object<Agent<'a>>,
}

impl<'de> Fields<'de> for Record<'de> {
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "type" => self.kind = map.next_value()?,
            "subtype" => self.subtype = map.next_value()?,
            "uuid" => self.uuid = map.next_value()?,
            "parentUuid" => self.parent = map.next_value()?,
            "logicalParentUuid" => self.logical_parent = map.next_value()?,
            "leafUuid" => self.leaf = map.next_value()?,
            "sessionId" => self.session = map.next_value()?,
            "agentId" => self.agent = map.next_value()?,
            "cwd" => self.cwd = map.next_value()?,
            "version" => self.version = map.next_value()?,
            "gitBranch" => self.git_branch = map.next_value()?,
            "parentToolUseID" => self.parent_tool_use = map.next_value()?,
            "isMeta" => self.is_meta = map.next_value()?,
            "isSidechain" => self.is_sidechain = map.next_value()?,
            "isCompactSummary" => self.is_compact_summary = map.next_value()?,
            "isApiErrorMessage" => self.is_api_error = map.next_value()?,
            "message" => self.message = map.next_value()?,
            "data" => self.data = map.next_value()?,
            "toolUseResult" => self.tool_use_result = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

impl Record<'_> {
    /// The message's blocks.
    pub(super) fn blocks(&self) -> &[Object<Block<'_>>] {
        self.message.0.as_ref().and_then(|message| message.content.0.as_deref()).unwrap_or_default()
    }

    /// Whether the message brings results of tools.
    pub(super) fn brings_results(&self) -> bool {
        self.blocks().iter().any(|block| block.0.as_ref().is_some_and(|block| block.kind.is("tool_result")))
    }
}

/// A record's message.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) id: Text<'a>,
    pub(super) content: List<Object<Block<'a>>>,
}

impl<'de> Fields<'de> for Message<'de> {
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "id" => self.id = map.next_value()?,
            "content" => self.content = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// A block of a message's content.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) tool_use: Text<'a>,
    pub(super) is_error: Flag,
}

impl<'de> Fields<'de> for Block<'de> {
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "type" => self.kind = map.next_value()?,
            "id" => self.id = map.next_value()?,
            "name" => self.name = map.next_value()?,
            "tool_use_id" => self.tool_use = map.next_value()?,
            "is_error" => self.is_error = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// An object that may name a sub-agent.
#[derive(Debug, Default)]
pub(super) struct Agent<'a> {
    pub(super) id: Text<'a>,
}

impl<'de> Fields<'de> for Agent<'de> {
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "agentId" => self.id = map.next_value()?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// What a value of JSON text is.
#[derive(Debug)]
pub(super) enum Parsed<'a> {
    /// An object.
    Record(Box<Record<'a>>),
    /// A whole value, but no object, or one whose own keys or ids are no text.
    Other,
    /// No whole value.
    Broken,
}

/// Reads one value that must fill the text.
pub(super) fn parse(text: &str) -> Parsed<'_> {
    match serde_json::from_str::<Object<Record<'_>>>(text) {
        Ok(Object(Some(record))) => Parsed::Record(Box::new(record)),
        Ok(Object(None)) => Parsed::Other,
        Err(_) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => Parsed::Other,
        Err(_) => Parsed::Broken,
    }
}

/// The inputs of a record's tool calls, by position of the block; nothing when one cannot be read as a value (too deep,
/// or with half of a surrogate pair).
pub(super) fn tool_inputs(text: &str) -> Option<Vec<Option<Value>>> {
    let Object(record) = serde_json::from_str::<Object<Inputs>>(text).ok()?;
    let blocks = record?.0.0?.0.0?;
    Some(blocks.into_iter().map(|block| block.0.and_then(|input| input.0)).collect())
}

/// The prompt of a message: its content as a string, or its first text.
pub(super) fn prompt(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let content = value.get("message")?.get("content")?;
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            blocks.iter().find_map(|block| block.get("text").and_then(Value::as_str)).map(str::to_owned)
        }
        _ => None,
    }
}

/// Declares an object of which one field is read.
macro_rules! only {
    ($name:ident, $key:literal, $value:ty) => {
        #[derive(Default)]
        struct $name($value);

        impl<'de> Fields<'de> for $name {
            fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                if key == $key {
                    self.0 = map.next_value()?;
                } else {
                    skip(map)?;
                }
                Ok(())
            }
        }
    };
}

only!(Inputs, "message", Object<Contents>);
only!(Contents, "content", List<Object<Input>>);
only!(Input, "input", Option<Value>);
