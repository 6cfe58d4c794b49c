//! Items of the Responses API, and whole responses.

use super::{Role, Says, text_of};
use crate::import::frame::raw::Raw;

pub(super) fn says(raw: Raw<'_>) -> Option<Says> {
    // The input of a document may be words alone.
    if let Some(text) = raw.text() {
        return Some(Says::words(Role::User, text));
    }
    if raw.text_at(&["object"]).as_deref() == Some("response") {
        let output = raw.get("output").map(Raw::items).unwrap_or_default();
        let texts: Vec<String> = output.into_iter().filter_map(message).map(|(_, text)| text).collect();
        return Some(Says::words(Role::Assistant, texts.join("\n")));
    }
    if let Some((role, text)) = message(raw) {
        return Some(Says::words(role, text));
    }
    raw.text_at(&["type"]).map(|_| Says::Nothing)
}

/// An item that is a message.
fn message(item: Raw<'_>) -> Option<(Role, String)> {
    if item.text_at(&["type"]).is_some_and(|kind| kind != "message") {
        return None;
    }
    let role = Role::of(&item.text_at(&["role"])?)?;
    let content = item.get("content")?;
    let mut text = text_of(content);
    if text.is_empty() {
        text = content.items().into_iter().filter_map(|part| part.text_at(&["refusal"])).collect();
    }
    Some((role, text))
}
