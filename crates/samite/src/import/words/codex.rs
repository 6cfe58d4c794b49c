//! Codex CLI's records.

use super::{Role, Says, text_of};
use crate::import::codex::{is_of_harness, kind_of};
use crate::import::frame::raw::Raw;

pub(super) fn says(raw: Raw<'_>) -> Option<Says> {
    let (kind, item) = kind_of(raw)?;
    if kind != "response_item" || item.text_at(&["type"]).as_deref() != Some("message") {
        return Some(Says::Nothing);
    }
    let text = item.get("content").map(text_of).unwrap_or_default();
    let role = Role::of(&item.text_at(&["role"]).unwrap_or_default()).unwrap_or(Role::Harness);
    let role = if role == Role::User && is_of_harness(&text) { Role::Harness } else { role };
    Some(Says::words(role, text))
}
