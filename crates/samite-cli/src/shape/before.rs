//! A position that is where a call began, as an answer: going back to it is going to before the call.

use super::StepShape;
use crate::printer::{Page, Style};
use samite::StepRecord;
use serde::Serialize;

/// The call that was named by the position where it began.
#[derive(Debug, Serialize)]
pub(crate) struct BeforeShape {
    /// The position that was named.
    named: u64,
    step: StepShape,
}

impl BeforeShape {
    /// The shape of a call that began at a position.
    pub(crate) fn new(named: u64, step: &StepRecord) -> Self {
        Self { named, step: StepShape::new(step) }
    }

    /// Puts it on a page.
    pub(crate) fn show(&self, at: u64, page: &mut Page) {
        let StepShape { key, tool, outcome, .. } = &self.step;
        let ended = outcome.as_ref().map_or_else(String::new, |outcome| format!("; with it: {}", outcome.position.seq));
        let named = self.named;
        page.styled(
            Style::Dim,
            format!("seq {named} is where {tool} ({key}) began, so this is seq {at}, before it{ended}"),
        );
    }
}
