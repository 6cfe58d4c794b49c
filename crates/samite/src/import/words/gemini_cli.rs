//! Gemini CLI's messages.

use super::{Role, Says, text_of};
use crate::import::frame::raw::Raw;

pub(super) fn says(raw: Raw<'_>) -> Option<Says> {
    let text = || raw.get("content").map(text_of).unwrap_or_default();
    match raw.text_at(&["type"])?.as_str() {
        "user" => {
            let text = text();
            // What stands before a chat: directory, date, and the like.
            let role = if text.trim_start().starts_with("<session_context>") { Role::Harness } else { Role::User };
            Some(Says::words(role, text))
        }
        "gemini" => Some(Says::words(Role::Assistant, text())),
        _ => None,
    }
}
