//! SWE-agent's history and trajectory.

use super::{Role, Says, text_of};
use crate::import::frame::flat::Call;
use crate::import::frame::raw::Raw;

/// The first message in the person's place is the task; later ones are what actions showed.
pub(super) fn says(raw: Raw<'_>, has_task: &mut bool) -> Option<Says> {
    let role = raw.text_at(&["role"])?;
    let is_demonstration = raw.get("is_demo").is_some_and(Raw::is_true)
        || raw.text_at(&["message_type"]).is_some_and(|kind| kind == "demonstration");
    let text = || raw.get("content").map(text_of).unwrap_or_default();
    Some(match role.as_str() {
        _ if is_demonstration => Says::words(Role::Harness, text()),
        "user" if std::mem::replace(has_task, true) => Says::Nothing,
        "user" => Says::words(Role::User, text()),
        "assistant" => {
            // The content has the action in it, which is a step.
            let thought = raw.text_at(&["thought"]);
            Says::words(Role::Assistant, thought.unwrap_or_else(text))
        }
        "system" => Says::words(Role::System, text()),
        _ => Says::Nothing,
    })
}

pub(super) fn calls(raw: Raw<'_>) -> Vec<Call> {
    let action = raw.text_at(&["action"]);
    let call =
        |action| Call { id: String::new(), tool: String::new(), input: Some(serde_json::json!({ "action": action })) };
    action.map(call).into_iter().collect()
}
