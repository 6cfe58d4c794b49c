//! `LangChain`'s messages, as their JSON.

use super::{Role, Says, text_of};
use crate::import::frame::flat::Call;
use crate::import::frame::raw::Raw;
use crate::import::langgraph::message::messages;

/// The class and the fields of a message.
fn fields(raw: Raw<'_>) -> Option<(String, Raw<'_>)> {
    if let Some(class) = raw.text_at(&["$type"]) {
        return Some((class.rsplit('.').next().unwrap_or_default().to_owned(), raw.get("value")?));
    }
    raw.get("lc")?;
    Some((raw.get("id")?.items().last()?.text()?, raw.get("kwargs")?))
}

pub(super) fn says(raw: Raw<'_>) -> Option<Says> {
    let (class, fields) = fields(raw)?;
    let text = || fields.get("content").map(text_of).unwrap_or_default();
    Some(match class.strip_suffix("Chunk").unwrap_or(&class) {
        "HumanMessage" => Says::words(Role::User, text()),
        "AIMessage" => Says::words(Role::Assistant, text()),
        "SystemMessage" => Says::words(Role::System, text()),
        "ChatMessage" => {
            let role = fields.text_at(&["role"]).and_then(|role| Role::of(&role)).unwrap_or(Role::Harness);
            Says::words(role, text())
        }
        "ToolMessage" | "FunctionMessage" => Says::Nothing,
        _ => return None,
    })
}

pub(super) fn calls(raw: Raw<'_>) -> Vec<Call> {
    raw.value()
        .map(|value| messages(&value))
        .unwrap_or_default()
        .into_iter()
        .flat_map(|message| message.calls)
        .collect()
}
