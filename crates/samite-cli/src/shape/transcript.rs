//! How an agent goes on from a branch, as an answer.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use samite::transcript::Resumption;
use serde::Serialize;

/// How an agent goes on from a branch.
#[derive(Debug, Serialize)]
pub(crate) struct TranscriptShape {
    harness: &'static str,
    /// The session's id for the harness.
    session: String,
    directory: String,
    path: String,
    /// Whether it was written just now.
    written: bool,
    /// Whether one was there already.
    exists: bool,
    command: Vec<String>,
    kept: usize,
    left_out: usize,
    made: usize,
    unknown_calls: Vec<String>,
    /// The transcript itself, where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl TranscriptShape {
    /// The shape of a resumption whose transcript was written just now, or not.
    pub(crate) fn new(resumption: &Resumption, written: bool) -> Self {
        let transcript = &resumption.transcript;
        Self {
            harness: resumption.harness.name(),
            session: resumption.session.clone(),
            directory: resumption.directory.display().to_string(),
            path: resumption.path.display().to_string(),
            written,
            exists: resumption.exists,
            command: resumption.command.clone(),
            kept: transcript.kept,
            left_out: transcript.left_out,
            made: transcript.made,
            unknown_calls: transcript.unknown.clone(),
            content: None,
        }
    }

    /// The shape with the transcript itself.
    pub(crate) fn with_content(mut self, content: &[u8]) -> Self {
        self.content = Some(String::from_utf8_lossy(content).into_owned());
        self
    }
}

impl Answer for TranscriptShape {
    fn show(&self, page: &mut Page) {
        let command = self.command.join(" ");
        page.spans(&[(Style::Plain, "to go on from here: "), (Style::Strong, &command)]);
        page.line(format!("  in {}", self.directory));
        if self.written {
            let kept = count(self.kept as u64, "record");
            page.line(format!(
                "  its transcript {} has {kept} of the agent's own, and {} made anew",
                self.path, self.made
            ));
        } else if self.exists {
            page.line(format!("  its transcript {} was there, and was left as it is", self.path));
        }
        if !self.unknown_calls.is_empty() {
            let many = count(self.unknown_calls.len() as u64, "call");
            page.styled(Style::Care, format!("  {many} in it ended nobody knows how; the agent is told so"));
        }
    }
}
