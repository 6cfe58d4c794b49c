//! Doubts as answers: what is known of a step in doubt, what to do, and what was done.

use super::workspace::SHOWN;
use super::{OutcomeShape, PositionShape, StepShape};
use crate::printer::words::{rfc3339, short_id, time};
use crate::printer::{Page, Style};
use crate::reference::Reference;
use samite::recover::{Assessment, Fate, LostProcess, Part, Replaced, Settlement};
use samite_model::Error;
use samite_model::recovery::{Ask, Decision};
use samite_model::step::Evidence;
use serde::Serialize;

/// A step in doubt with what to do about it.
#[derive(Debug, Serialize)]
pub(crate) struct AssessmentShape {
    step: StepShape,
    #[serde(flatten)]
    decision: Decision,
    evidence: Option<Evidence>,
    processes: Vec<ProcessShape>,
}

/// A process of a step in doubt.
#[derive(Debug, Serialize)]
struct ProcessShape {
    part: &'static str,
    pid: Option<u32>,
    command: Vec<String>,
    fate: &'static str,
    #[serde(skip)]
    words: String,
}

impl ProcessShape {
    fn new(process: &LostProcess) -> Self {
        let part = match process.part {
            Part::Runner => "what carried it out",
            Part::Supervisor => "its supervisor",
            Part::Command => "its command",
            Part::Descendant => "what it started",
        };
        let fate = match process.fate {
            Fate::Ended => "has ended",
            Fate::Killed => "was still running, and was ended by this recovery",
            Fate::Running => "still runs",
            Fate::Unseen => "cannot be seen from here",
        };
        let pid = process.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
        let command = match one_line(&process.command.join(" ")) {
            line if line.is_empty() => String::new(),
            line => format!(" ({line})"),
        };
        Self {
            part: process.part.name(),
            pid: process.pid,
            command: process.command.clone(),
            fate: process.fate.name(),
            words: format!("{part}{pid}{command}, {fate}"),
        }
    }
}

/// So many characters of a command a person is shown.
const COMMAND: usize = 60;

fn one_line(command: &str) -> String {
    let mut line: String = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(COMMAND) {
        line.truncate(end);
        line.push('…');
    }
    line
}

impl AssessmentShape {
    /// The shape of an assessment.
    pub(crate) fn new(assessment: &Assessment) -> Self {
        Self {
            step: StepShape::new(&assessment.doubt.step),
            decision: assessment.decision,
            evidence: assessment.evidence.clone(),
            processes: assessment.processes.iter().map(ProcessShape::new).collect(),
        }
    }

    /// The error of a call that this doubt stands in the way of.
    pub(crate) fn error(&self, session: &Reference) -> Error {
        let step = &self.step;
        let what = format!("step {} ({}, seq {}) is in doubt: {}", step.key, step.tool, step.start.seq, self.advice());
        let mut error = Error::conflict("step_in_doubt", what);
        if let Some(evidence) = &self.evidence {
            error = error.hint(format!("seen: {}", evidence.seen));
        }
        match self.decision {
            Decision::Wait { seconds } => error.hint(format!("call again in {seconds} s")),
            Decision::Busy => error.hint("wait for it to end, then call again"),
            _ => {
                let id = short_id(&step.id);
                error.hint(format!("samite step resolve {session} {id} --happened | --did-not | --abandon"))
            }
        }
    }

    /// After how many seconds to look again, when that is what to do.
    pub(crate) fn wait(&self) -> Option<u64> {
        match self.decision {
            Decision::Wait { seconds } => Some(seconds),
            _ => None,
        }
    }

    /// What to do, in words.
    fn advice(&self) -> String {
        match self.decision {
            Decision::RunAgain => "it may run again under its own key".to_owned(),
            Decision::PutBackAndRunAgain => {
                "its paths go back to what they were at its start, and it may run again".to_owned()
            }
            Decision::Completed => "it happened".to_owned(),
            Decision::Probe => "look with its probe".to_owned(),
            Decision::Wait { seconds } => format!("it is too early to tell; look again in {seconds} s"),
            Decision::Busy => "somebody is still at it".to_owned(),
            Decision::Ask { reason } => format!("a person must decide, because {}", because(reason)),
        }
    }

    /// Puts it on a page.
    pub(crate) fn show(&self, page: &mut Page) {
        let step = &self.step;
        let id = short_id(&step.id);
        let facts =
            format!("  {} · {} · try {} · seq {} · {id}", step.tool, step.effect.name(), step.attempt, step.start.seq);
        page.spans(&[(Style::Strong, &step.key), (Style::Dim, &facts)]);
        let style = if matches!(self.decision, Decision::Ask { .. }) { Style::Care } else { Style::Plain };
        page.styled(style, format!("    {}", self.advice()));
        for process in &self.processes {
            page.line(format!("    {}", process.words));
        }
        if let Some(evidence) = &self.evidence {
            page.line(format!("    seen: {}", evidence.seen));
            for path in &evidence.paths {
                page.line(format!("      {path}"));
            }
        }
    }
}

fn because(reason: Ask) -> &'static str {
    match reason {
        Ask::Opaque => "it is opaque: nothing can be looked at",
        Ask::PastWindow => "the outside has forgotten its idempotency key",
        Ask::CannotTell => "its probe cannot tell",
        Ask::ChangedByOthers => "the workspace was changed by others since",
        Ask::NoTree => "there is no tree to put the workspace back to",
    }
}

/// A path that was put back and held what no other checkpoint has.
#[derive(Debug, Serialize)]
struct ReplacedShape {
    path: String,
    modified: String,
    #[serde(skip)]
    when: String,
}

impl ReplacedShape {
    fn new(replaced: &Replaced) -> Self {
        Self { path: replaced.path.clone(), modified: rfc3339(replaced.modified), when: time(replaced.modified) }
    }
}

/// A path as a word for a shell.
fn in_shell(path: &str) -> String {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/+@%=:,".contains(&byte));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// What was done about a step in doubt.
#[derive(Debug, Serialize)]
pub(crate) struct SettlementShape {
    key: String,
    #[serde(flatten)]
    decision: Decision,
    run_again: bool,
    put_back: Vec<String>,
    /// Those of them that held what no checkpoint has but the one that was taken before.
    replaced: Vec<ReplacedShape>,
    safety: Option<PositionShape>,
    decided: bool,
    outcome: Option<OutcomeShape>,
}

impl SettlementShape {
    /// The shape of a settlement.
    pub(crate) fn new(settlement: &Settlement) -> Self {
        Self {
            key: settlement.key.clone(),
            decision: settlement.decision,
            run_again: settlement.run_again,
            put_back: settlement.put_back.clone(),
            replaced: settlement.replaced.iter().map(ReplacedShape::new).collect(),
            safety: settlement.safety.map(PositionShape::from),
            outcome: settlement.outcome.as_ref().map(OutcomeShape::new),
            decided: settlement.decided,
        }
    }

    /// Whether something was decided.
    pub(crate) fn is_decided(&self) -> bool {
        self.decided
    }

    /// What was done, for the caller of a step, which is another than the one that was cut off unless their keys are the same;
    /// none where nothing was.
    pub(crate) fn note(&self, key: &str) -> Option<String> {
        if !self.decided {
            return None;
        }
        let did = match self.decision {
            Decision::Completed if self.key == key => "it was looked at, and it had happened; it was not run again",
            Decision::Completed => "it was looked at, and it had happened",
            _ if self.put_back.is_empty() && self.key == key => "it was run again",
            _ if self.put_back.is_empty() => "it may run again under its own key",
            _ if self.key == key => "its paths were put back, and it was run again",
            _ => "its paths were put back, and it may run again under its own key",
        };
        Some(format!("step {} had been cut off: {did}", self.key))
    }

    /// Puts what was done on a page.
    pub(crate) fn show(&self, page: &mut Page, session: &str) {
        let did = match self.decision {
            _ if !self.decided => return,
            Decision::Completed => "recorded: it happened",
            _ if self.run_again => "it stays open until its own key runs it again",
            _ if self.put_back.is_empty() => "recorded: it may run again",
            _ => "put back, and recorded: it may run again",
        };
        page.styled(Style::Good, format!("    {did}"));
        for path in &self.put_back {
            page.line(format!("      {path}"));
        }
        if let Some(safety) = &self.safety {
            page.styled(Style::Dim, format!("    what was there before is the checkpoint at seq {}", safety.seq));
            if !self.replaced.is_empty() {
                page.styled(Style::Care, "    no other checkpoint has what these held; look whether it is yours:");
            }
            let at = format!("{}:{}@{}", short_id(session), short_id(&safety.branch), safety.seq);
            for replaced in self.replaced.iter().take(SHOWN) {
                page.line(format!("      {}, last changed {}", replaced.path, replaced.when));
                page.line(format!("        samite workspace cat {at} {}", in_shell(&replaced.path)));
            }
        }
    }
}
