//! Doubts on the lines that were left by rewinds, as an answer.

use super::StepShape;
use crate::printer::words::{count, short_id};
use crate::printer::{Page, Style};
use samite::recover::LeftInDoubt;
use serde::Serialize;

/// A step in doubt on a line that was left by a rewind.
#[derive(Debug, Serialize)]
pub(crate) struct LeftInDoubtShape {
    /// The branch that it is in doubt on.
    branch: String,
    step: StepShape,
}

impl LeftInDoubtShape {
    /// The shape of one.
    pub(crate) fn new(left: &LeftInDoubt) -> Self {
        Self { branch: left.branch.to_string(), step: StepShape::new(&left.step) }
    }

    /// Puts them on a page, by line, each with what settles it.
    pub(crate) fn show_all(left: &[Self], session: &str, page: &mut Page) {
        for line in left.chunk_by(|one, other| one.branch == other.branch) {
            let Some(first) = line.first() else { continue };
            let many = count(line.len() as u64, "step");
            let are = if line.len() == 1 { "is" } else { "are" };
            let branch = short_id(&first.branch);
            page.styled(Style::Care, format!("{many} of the line that was left, branch {branch}, {are} in doubt:"));
            for left in line {
                let StepShape { key, tool, start, effect, .. } = &left.step;
                page.line(format!("  {tool} ({key}, {}, seq {}) of {}", effect.name(), start.seq, left.step.when()));
            }
            let recover = format!("  what settles them: samite recover {}:{branch}", short_id(session));
            page.styled(Style::Dim, recover);
        }
    }
}
