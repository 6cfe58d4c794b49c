//! `LangChain`'s messages in decoded values.

use crate::import::frame::flat::Call;
use crate::import::frame::ids::{Key, key};
use samite_model::EntryKind;
use samite_model::json::canonical;
use serde_json::{Value, json};

/// A message.
#[derive(Clone, Debug)]
pub(in crate::import) struct Message {
    /// Its id, or a hash of it.
    pub(super) id: String,
    /// Whether the id is its own.
    pub(super) has_id: bool,
    /// A hash of it without its id: a saver gives an id to one that came without.
    pub(super) bare: Key,
    pub(super) kind: EntryKind,
    pub(in crate::import) calls: Vec<Call>,
    /// The call that it answers, and whether as a failure.
    pub(super) result: Option<(String, bool)>,
    /// It as JSON.
    pub(super) json: Vec<u8>,
    /// A hash of that.
    pub(super) content: Key,
}

/// The messages that a value is or holds in a list.
pub(in crate::import) fn messages(value: &Value) -> Vec<Message> {
    match value {
        Value::Array(all) => all.iter().filter_map(message).collect(),
        one => message(one).into_iter().collect(),
    }
}

/// The class and the fields of an object.
fn object(value: &Value) -> Option<(&str, &Value)> {
    if let Some(class) = value.get("$type").and_then(Value::as_str) {
        let is_message = class.contains(".messages.") || class.starts_with("langchain");
        return is_message.then(|| class.rsplit('.').next().unwrap_or_default()).zip(value.get("value"));
    }
    // As older savers wrote it.
    value.get("lc")?;
    Some((value.get("id")?.as_array()?.last()?.as_str()?, value.get("kwargs")?))
}

fn message(value: &Value) -> Option<Message> {
    let (class, fields) = object(value)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let class = class.strip_suffix("Chunk").unwrap_or(class);
    let kind = match class {
        "AIMessage" => EntryKind::MODEL_RESPONSE,
        "HumanMessage" | "SystemMessage" | "ToolMessage" | "FunctionMessage" | "ChatMessage" => EntryKind::MESSAGE,
        _ => return None,
    };
    let call = |call: &Value| {
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Call { id: text("id"), tool: text("name"), input: call.get("args").cloned() }
    };
    let calls = fields.get("tool_calls").and_then(Value::as_array).filter(|_| class == "AIMessage");
    let json = canonical(value);
    let content = key(&json);
    let own = text("id");
    let has_id = own.is_some();
    let mut but_id = fields.as_object()?.clone();
    but_id.retain(|name, value| name != "id" && !value.is_null());
    let bare = key(&canonical(&json!([class, but_id])));
    let id = own.unwrap_or_else(|| format!("hash:{}", data_encoding::HEXLOWER.encode(&content)));
    let failed = text("status").is_some_and(|status| status == "error");
    Some(Message {
        id,
        has_id,
        bare,
        kind,
        calls: calls.map(|calls| calls.iter().map(call).collect()).unwrap_or_default(),
        result: text("tool_call_id").filter(|_| class == "ToolMessage").map(|id| (id, failed)),
        json,
        content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_known_by_their_class() {
        let typed = |class: &str, fields: Value| json!({ "$type": format!("langchain_core.messages.x.{class}"), "value": fields });
        let call = json!({ "name": "add", "args": { "a": 1 }, "id": "c1" });
        let older = json!({ "lc": 1, "type": "constructor", "id": ["langchain", "schema", "AIMessage"], "kwargs": { "id": "a2" } });
        let all = json!([
            typed("HumanMessage", json!({ "id": "h1" })),
            typed("AIMessageChunk", json!({ "id": "a1", "tool_calls": [call] })),
            typed("ToolMessage", json!({ "tool_call_id": "c1", "status": "error" })),
            typed("RemoveMessage", json!({ "id": "h1" })),
            older,
            "words",
            json!({ "$type": "uuid.UUID", "value": "x" }),
        ]);
        let found = messages(&all);
        let kinds: Vec<_> = found.iter().map(|one| one.kind.code()).collect();
        let (message, response) = (EntryKind::MESSAGE.code(), EntryKind::MODEL_RESPONSE.code());
        assert_eq!(kinds, [message, response, message, response]);
        assert_eq!((found[0].id.as_str(), found[1].calls[0].tool.as_str(), found[3].id.as_str()), ("h1", "add", "a2"));
        assert_eq!(found[2].result, Some(("c1".to_owned(), true)));
        assert!(found[2].id.starts_with("hash:") && !found[2].has_id && found[1].has_id);
        assert_eq!(messages(&json!({ "a": 1 })).len(), 0);
        let bare = |fields: Value| messages(&typed("ToolMessage", fields))[0].bare;
        let without = bare(json!({ "id": null, "content": "x" }));
        assert_eq!(without, bare(json!({ "id": "given", "content": "x" })));
        assert_ne!(without, bare(json!({ "content": "y" })));
    }
}
