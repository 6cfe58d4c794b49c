//! What a restore would do, as an answer.

use super::BeforeShape;
use super::workspace::{REPOSITORIES, kept, show_paths};
use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use samite::workspace::FilesStay;
use samite_model::tree::{Action, Plan};
use serde::Serialize;

/// What a restore would do.
#[derive(Debug, Serialize)]
pub(crate) struct PlanShape {
    actions: Vec<ActionShape>,
    kept: Vec<samite_model::tree::Kept>,
    /// The call that was named by where it began, when this is to go on before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<BeforeShape>,
    #[serde(skip)]
    at: u64,
    /// Why no file would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    files_stay: Option<&'static str>,
    #[serde(skip)]
    why: Option<String>,
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
        Self {
            actions: plan.actions.iter().map(action).collect(),
            kept: plan.kept.clone(),
            before: None,
            at: 0,
            files_stay: None,
            why: None,
        }
    }

    /// The shape of a rewind's plan to the position before a call that was named.
    pub(crate) fn with_before(mut self, before: Option<BeforeShape>, at: u64) -> Self {
        (self.before, self.at) = (before, at);
        self
    }

    /// The shape of a rewind's plan that leaves all files as they are.
    pub(crate) fn staying(stay: &FilesStay, at: u64) -> Self {
        let why = Some(stay_words(stay, at, "would be put back"));
        Self { actions: Vec::new(), kept: Vec::new(), before: None, at, files_stay: Some(stay.name()), why }
    }
}

/// Why a rewind to a position leaves files as they are.
pub(super) fn stay_words(stay: &FilesStay, at: u64, put_back: &str) -> String {
    match stay {
        FilesStay::NoWorkspace => format!("the branch has no workspace, so no file {put_back}"),
        FilesStay::NoCheckpoint { directory } => {
            format!("there is no checkpoint up to seq {at}, so the files in {} stay as they are", directory.display())
        }
        FilesStay::DirectoryGone { directory } => {
            format!("its workspace {} is gone, so no file {put_back}", directory.display())
        }
    }
}

impl Answer for PlanShape {
    fn show(&self, page: &mut Page) {
        if let Some(before) = &self.before {
            before.show(self.at, page);
        }
        for action in &self.actions {
            let style = if action.action == "remove" { Style::Bad } else { Style::Plain };
            page.spans(&[(style, &format!("{:13}", action.action)), (Style::Plain, &action.path)]);
        }
        if let Some(why) = &self.why {
            page.styled(Style::Care, why);
        }
        let kept: Vec<String> = self.kept.iter().map(kept).collect();
        show_paths(page, "would be kept as they are:", &kept);
        if self.kept.iter().any(|kept| kept.repository) {
            page.styled(Style::Dim, REPOSITORIES);
        }
        page.styled(Style::Dim, format!("{}; nothing was touched", count(self.actions.len() as u64, "change")));
    }
}
