//! OpenHands' events, of newer and older versions.

use super::{Role, Says, text_of};
use crate::import::frame::raw::Raw;

pub(super) fn says(raw: Raw<'_>) -> Option<Says> {
    let source = raw.text_at(&["source"])?;
    let by = if source == "user" { Role::User } else { Role::Assistant };
    let Some(kind) = raw.text_at(&["kind"]) else { return older(raw, by) };
    let text = |path: &[&str]| raw.at(path).map(text_of).unwrap_or_default();
    Some(match kind.as_str() {
        "MessageEvent" => Says::words(by, text(&["llm_message", "content"])),
        "SystemPromptEvent" => Says::words(Role::System, text(&["system_prompt", "text"])),
        "ActionEvent" => Says::words(Role::Assistant, text(&["thought"])),
        _ => Says::Nothing,
    })
}

/// An event of an older version.
fn older(raw: Raw<'_>, by: Role) -> Option<Says> {
    let text = |name: &str| raw.text_at(&["args", name]).unwrap_or_default();
    let Some(action) = raw.text_at(&["action"]) else {
        return raw.text_at(&["observation"]).map(|_| Says::Nothing);
    };
    Some(match action.as_str() {
        "message" => Says::words(by, text("content")),
        "system" => Says::words(Role::System, text("content")),
        "finish" => {
            let last = [text("final_thought"), text("thought")].into_iter().find(|text| !text.trim().is_empty());
            let last = last.or_else(|| raw.text_at(&["message"]));
            Says::words(by, last.unwrap_or_default())
        }
        _ => Says::words(Role::Assistant, text("thought")),
    })
}
