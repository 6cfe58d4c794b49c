//! `samite recover`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{AssessmentShape, ChangeShape, ErrorShape, PositionShape, SettlementShape, TreeShape, show_paths};
use crate::surface::{Access, Surface, here, site};
use clap::Args;
use samite::fingerprint::{Difference, StateFile};
use samite::recover::{Drift, RecoverOptions, RecoveredStep, Recovery};
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Find out where a session stands after a crash, settle what can be settled, and say what is needed to resume
///
/// Steps in doubt are looked at, each by the effect that it declared: what still runs is ended first. Those that only
/// a person can decide are listed with what was seen. Then follow how the workspace differs from its last tree after that
/// (with --plan: now) and by which step, or one of which steps, how the environment differs from that at the last checkpoint, and the state files that agents keep
/// (progress.md, plan.md, journal.md). It works when the workspace is gone.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite recover 3f2a
  samite recover 3f2a --plan
  samite recover 3f2a --json | jq '{seq, clear}'")]
pub(crate) struct Recover {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// Only look and decide; settle nothing
    #[arg(long)]
    plan: bool,
}

#[derive(Serialize)]
struct Recovered {
    session: String,
    /// The last durable position.
    #[serde(flatten)]
    position: PositionShape,
    epoch: u64,
    /// Whether nothing is left for a person to decide, or to wait for.
    clear: bool,
    steps: Vec<StepSettled>,
    workspace: Option<Workspace>,
    #[serde(skip)]
    plan: bool,
}

#[derive(Serialize)]
struct StepSettled {
    #[serde(flatten)]
    assessment: AssessmentShape,
    settlement: Option<SettlementShape>,
    /// Why it could not be looked at or settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorShape>,
}

#[derive(Serialize)]
struct Workspace {
    id: String,
    directory: String,
    exists: bool,
    last: Option<TreeShape>,
    drift: Vec<DriftShape>,
    environment: Vec<Difference>,
    state_files: Vec<StateFileShape>,
}

/// A file in which an agent keeps where it stands.
#[derive(Serialize)]
struct StateFileShape {
    name: String,
    text: String,
    bytes: u64,
    cut: bool,
}

impl StateFileShape {
    fn new(file: StateFile) -> Self {
        Self { name: file.name, text: file.text, bytes: file.size, cut: file.cut }
    }
}

#[derive(Serialize)]
struct DriftShape {
    #[serde(flatten)]
    change: ChangeShape,
    step: Option<String>,
    /// The steps of which one may have changed it, when it cannot be told.
    one_of: Vec<String>,
    #[serde(skip)]
    words: String,
}

/// So many steps a person is named of which one may have changed a path.
const NAMED: usize = 4;

impl DriftShape {
    fn new(drift: &Drift) -> Self {
        let by = match (&drift.step, drift.one_of.as_slice()) {
            (Some(step), _) => format!("  (step {step})"),
            (None, []) => String::new(),
            (None, [only]) => format!("  (perhaps step {only})"),
            (None, several) => {
                let named = several.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = if several.len() > NAMED { ", …" } else { "" };
                format!("  (one of: {named}{more})")
            }
        };
        Self {
            words: format!("{}  {}{by}", ChangeShape::letter(drift.kind), drift.path),
            change: ChangeShape::new(drift.path.clone(), drift.kind),
            step: drift.step.clone(),
            one_of: drift.one_of.clone(),
        }
    }
}

impl Recovered {
    fn new(recovery: Recovery, plan: bool) -> Self {
        let clear = recovery.is_clear();
        let step = |step: &RecoveredStep| StepSettled {
            assessment: AssessmentShape::new(&step.assessment),
            settlement: step.settlement.as_ref().map(SettlementShape::new),
            error: step.error.as_ref().map(ErrorShape::new),
        };
        Self {
            session: recovery.session.to_string(),
            position: recovery.position.into(),
            epoch: recovery.epoch,
            clear,
            steps: recovery.steps.iter().map(step).collect(),
            workspace: recovery.workspace.map(|report| Workspace {
                id: report.workspace.id.to_string(),
                directory: report.workspace.directory.display().to_string(),
                exists: report.exists,
                last: report.last.as_ref().map(TreeShape::new),
                drift: report.drift.iter().map(DriftShape::new).collect(),
                environment: report.environment,
                state_files: report.state_files.into_iter().map(StateFileShape::new).collect(),
            }),
            plan,
        }
    }
}

impl Recovered {
    /// After how many seconds to look again, when that is all there is to do.
    fn wait(&self) -> Option<u64> {
        let open = self.steps.iter().filter(|step| !step.is_settled());
        let waits: Option<Vec<u64>> = open.map(|step| step.assessment.wait()).collect();
        waits?.into_iter().max()
    }
}

impl StepSettled {
    fn is_settled(&self) -> bool {
        self.settlement.as_ref().is_some_and(SettlementShape::is_decided)
    }
}

impl Answer for Recovered {
    fn show(&self, page: &mut Page) {
        page.facts(&[
            ("session", self.session.clone()),
            ("durable up to", format!("seq {} of branch {}", self.position.seq, self.position.branch)),
        ]);
        if self.steps.is_empty() {
            page.line("no step is in doubt");
        } else {
            page.gap();
            page.line(format!("{} in doubt:", count(self.steps.len() as u64, "step")));
            for step in &self.steps {
                step.assessment.show(page);
                if let Some(settlement) = &step.settlement {
                    settlement.show(page);
                }
                if let Some(error) = &step.error {
                    page.styled(Style::Care, format!("    it could not be recovered: {}", error.message));
                }
            }
        }
        if let Some(workspace) = &self.workspace {
            workspace.show(page);
        }
        page.gap();
        if self.plan {
            page.styled(Style::Dim, "this is what would be done; nothing was settled");
        } else if self.clear {
            page.styled(Style::Good, "ready to resume");
        } else if let Some(seconds) = self.wait() {
            let again = format!("not ready: wait, and run `samite recover` again in {seconds} s");
            page.styled(Style::Care, again);
        } else {
            page.styled(Style::Care, "not ready: settle what is listed with `samite step resolve`, then recover again");
        }
    }
}

impl Workspace {
    fn show(&self, page: &mut Page) {
        page.gap();
        let gone = if self.exists { "" } else { " (gone)" };
        let last = self.last.as_ref().map_or_else(|| "none".to_owned(), TreeShape::words);
        page.facts(&[("workspace", format!("{}{gone}", self.directory)), ("last checkpoint", last)]);
        let drift: Vec<String> = self.drift.iter().map(|drift| drift.words.clone()).collect();
        show_paths(page, "differs from it:", &drift);
        let environment: Vec<String> = self.environment.iter().map(Difference::words).collect();
        show_paths(page, "the environment differs from then:", &environment);
        for file in &self.state_files {
            let cut = if file.cut { " (a part of it)" } else { "" };
            page.gap();
            page.styled(Style::Strong, format!("{}{cut}", file.name));
            page.block(2, &file.text, Some(40));
        }
    }
}

impl Recover {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let here = here()?;
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let found = self.session.find_branch(&client).await?;
        let options = RecoverOptions { branch: found.branch, plan: self.plan, writer: surface.writer_options()? };
        let recovery = client.recover(found.session, options, &site(&store, &here)?).await?;
        surface.printer.answer(&Recovered::new(recovery, self.plan))?;
        Ok(ExitCode::SUCCESS)
    }
}
