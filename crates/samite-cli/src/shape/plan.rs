//! What a restore would do, as an answer.

use super::workspace::{REPOSITORIES, kept, show_paths};
use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use samite_model::tree::{Action, Plan};
use serde::Serialize;

/// What a restore would do.
#[derive(Debug, Serialize)]
pub(crate) struct PlanShape {
    actions: Vec<ActionShape>,
    kept: Vec<samite_model::tree::Kept>,
}

#[derive(Debug, Serialize)]
struct ActionShape {
    action: &'static str,
    path: String,
}

impl PlanShape {
    /// The shape of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let action = |action: &Action| ActionShape {
            action: match action {
                Action::Create { .. } => "create",
                Action::Replace { .. } => "replace",
                Action::SetMetadata { .. } => "set_metadata",
                Action::Remove { .. } => "remove",
            },
            path: action.path().to_string(),
        };
        Self { actions: plan.actions.iter().map(action).collect(), kept: plan.kept.clone() }
    }
}

impl Answer for PlanShape {
    fn show(&self, page: &mut Page) {
        for action in &self.actions {
            let style = if action.action == "remove" { Style::Bad } else { Style::Plain };
            page.spans(&[(style, &format!("{:13}", action.action)), (Style::Plain, &action.path)]);
        }
        let kept: Vec<String> = self.kept.iter().map(kept).collect();
        show_paths(page, "would be kept as they are:", &kept);
        if self.kept.iter().any(|kept| kept.repository) {
            page.styled(Style::Dim, REPOSITORIES);
        }
        page.styled(Style::Dim, format!("{}; nothing was touched", count(self.actions.len() as u64, "change")));
    }
}
