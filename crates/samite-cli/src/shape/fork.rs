//! What a fork or rewind did, as an answer.

use super::before::BeforeShape;
use super::left::LeftInDoubtShape;
use super::plan::stay_words;
use super::workspace::SHOWN;
use super::{PositionShape, RestoredShape, StepShape, TranscriptShape};
use crate::printer::words::{count, day, rfc3339, short_id};
use crate::printer::{Answer, Page, Style};
use samite::recover::LeftInDoubt;
use samite::workspace::{FilesStay, Restored};
use samite::{ForkReport, LeftBehind};
use samite_model::SessionId;
use serde::Serialize;

/// What a fork or rewind did.
#[derive(Debug, Serialize)]
pub(crate) struct ForkShape {
    /// The new branch.
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) at: PositionShape,
    pub(crate) previous: String,
    pub(crate) rewound: bool,
    pub(crate) left_behind: Vec<LeftBehindShape>,
    pub(crate) in_doubt: Vec<StepShape>,
    pub(crate) trees_until: Option<String>,
    pub(crate) workspace: Option<RestoredShape>,
    /// The workspace's directory, when it is gone, so that nothing could be put back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workspace_gone: Option<String>,
    /// The call that was named by where it began, when this goes on before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<BeforeShape>,
    /// Why no file was put back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files_stay: Option<&'static str>,
    /// The steps in doubt on the lines that were left by rewinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_in_doubt: Vec<LeftInDoubtShape>,
    /// How the agent goes on from the new branch, where its hooks recorded the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transcript: Option<TranscriptShape>,
    #[serde(skip)]
    until: Option<i64>,
    #[serde(skip)]
    why: Option<String>,
}

/// An external effect that a fork or rewind leaves in the world.
#[derive(Debug, Serialize)]
pub(crate) struct LeftBehindShape {
    touches: Vec<String>,
    step: StepShape,
}

impl ForkShape {
    /// The shape of a report.
    pub(crate) fn new(session: SessionId, report: &ForkReport, rewound: bool) -> Self {
        let left =
            |left: &LeftBehind| LeftBehindShape { touches: left.touches.clone(), step: StepShape::new(&left.step) };
        Self {
            id: report.branch.to_string(),
            session: session.to_string(),
            at: report.at.into(),
            previous: report.previous.to_string(),
            rewound,
            left_behind: report.left_behind.iter().map(left).collect(),
            in_doubt: report.in_doubt.iter().map(StepShape::new).collect(),
            trees_until: report.trees_until.map(rfc3339),
            workspace: None,
            workspace_gone: None,
            before: None,
            files_stay: None,
            left_in_doubt: Vec::new(),
            why: None,
            transcript: None,
            until: report.trees_until,
        }
    }

    /// The shape of a report with what was done to a workspace.
    pub(crate) fn with_workspace(mut self, restored: Option<&Restored>) -> Self {
        self.workspace = restored.map(RestoredShape::new);
        self
    }

    /// The shape of a report with how an agent goes on from the new branch.
    pub(crate) fn with_transcript(mut self, transcript: Option<TranscriptShape>) -> Self {
        self.transcript = transcript;
        self
    }

    /// Says nothing of how long trees are kept where the session has no workspace to have trees of.
    pub(crate) fn with_trees(mut self, any: bool) -> Self {
        self.until = self.until.filter(|_| any);
        self
    }

    /// The shape of a report about the position before a call that was named.
    pub(crate) fn with_before(mut self, before: Option<BeforeShape>) -> Self {
        self.before = before;
        self
    }

    /// The shape of a report where files stay as they are.
    pub(crate) fn with_files_stay(mut self, stay: Option<&FilesStay>) -> Self {
        if let Some(FilesStay::DirectoryGone { directory }) = stay {
            self.workspace_gone = Some(directory.display().to_string());
        }
        self.why = stay
            .filter(|stay| **stay != FilesStay::NoWorkspace)
            .map(|stay| stay_words(stay, self.at.seq, "was put back"));
        self.files_stay = stay.map(FilesStay::name);
        self
    }

    /// The shape of a report with the doubts that stay on the lines that were left.
    pub(crate) fn with_left_in_doubt(mut self, left: &[LeftInDoubt]) -> Self {
        self.left_in_doubt = left.iter().map(LeftInDoubtShape::new).collect();
        self
    }
}

impl Answer for ForkShape {
    fn show(&self, page: &mut Page) {
        let does = if self.rewound { "is current now, and goes on after" } else { "goes on after" };
        let at = format!(" {does} seq {} of branch {}", self.at.seq, self.at.short());
        page.spans(&[(Style::Plain, "branch "), (Style::Strong, &self.id), (Style::Plain, &at)]);
        if let Some(before) = &self.before {
            before.show(self.at.seq, page);
        }
        if let Some(workspace) = &self.workspace {
            workspace.show(page, self.at.seq);
        }
        if let Some(why) = &self.why {
            page.styled(Style::Care, why);
        }
        if self.workspace_gone.is_some() {
            page.line("make the directory again, then: samite workspace restore SESSION --force");
        }
        if let Some(until) = self.until {
            let whose = if self.rewound { &self.previous } else { &self.id };
            page.line(format!(
                "branch {} keeps its workspace trees until {}, or 30 days after its last entry, and its log for good; \
                 `samite branch keep` keeps both",
                short_id(whose),
                day(until)
            ));
        }
        if let Some(transcript) = &self.transcript {
            transcript.show(page);
        }
        if !self.left_behind.is_empty() {
            let many = count(self.left_behind.len() as u64, "effect");
            let stay = if self.left_behind.len() == 1 { "stays" } else { "stay" };
            page.styled(Style::Care, format!("{many} after this point {stay} in the world:"));
            for left in self.left_behind.iter().take(SHOWN) {
                let StepShape { key, tool, start, .. } = &left.step;
                let what = format!("{tool} ({key}, {}, seq {})", left.step.state(), start.seq);
                let touches = if left.touches.is_empty() {
                    "may have touched anything outside".to_owned()
                } else {
                    left.touches.join(" ")
                };
                page.line(format!("  {touches}  by {what} at {}", left.step.when()));
            }
            if self.left_behind.len() > SHOWN {
                let more = self.left_behind.len() - SHOWN;
                page.styled(Style::Dim, format!("  … {more} more (--json has all)"));
            }
        }
        LeftInDoubtShape::show_all(&self.left_in_doubt, &self.session, page);
        if !self.in_doubt.is_empty() {
            page.styled(Style::Care, "steps that were open at this point are in doubt on the new branch:");
            for step in &self.in_doubt {
                page.line(format!("  {}  {} ({}, seq {})", short_id(&step.id), step.tool, step.key, step.start.seq));
            }
        }
    }
}
