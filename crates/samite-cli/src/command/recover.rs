//! `samite recover`.

use crate::printer::words::{bytes, count, rfc3339, short_id, time};
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{
    AssessmentShape, ChangeShape, ErrorShape, LeftInDoubtShape, PositionShape, SettlementShape, TreeShape, show_paths,
};
use crate::surface::{Access, Surface, here, site};
use clap::Args;
use samite::fingerprint::{Difference, StateFile};
use samite::recover::{Disagreement, Drift, RecoverOptions, RecoveredStep, Recovery, Side};
use samite_model::Result;
use samite_model::settings::Authority;
use serde::Serialize;
use std::process::ExitCode;

/// Find out where a session stands after a crash, settle what can be settled, and say what is needed to resume
///
/// Steps in doubt are looked at, each by the effect that it declared: what still runs is ended first. Those that only
/// a person can decide are listed with what was seen. Then follow how the workspace differs from its last tree after that
/// (with --plan: now) and by which step, or one of which steps, how the environment differs from that at the last checkpoint, and the state files that agents keep
/// (progress.md, plan.md, journal.md). Where the log has those otherwise, both sides are listed, and which decides
/// (`session set --authority`): the log's stand, or the directory's are taken up by a checkpoint. It works when the
/// workspace is gone.
///
/// Exit status: 0 when it was looked at and what can be settled is settled, also where that leaves something to decide or to
/// wait for. Whether the session is ready to resume is the field `clear` of `--json`. Otherwise as for every command: 3 where
/// there is no such session, 4 while another writer is at work, 7 where trying again may help.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite recover 3f2a
  samite recover 3f2a --plan
  samite recover 3f2a --json | jq '{seq, clear}'
  samite recover . --json | jq -e .clear && go-on")]
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
    /// The steps in doubt on the lines that were left by rewinds.
    left_in_doubt: Vec<LeftInDoubtShape>,
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
    authority: &'static str,
    disagreements: Vec<DisagreementShape>,
    /// The checkpoint by which the directory's state files were taken up.
    taken_up: Option<PositionShape>,
}

/// A state file that the log and the directory have otherwise.
#[derive(Serialize)]
struct DisagreementShape {
    name: String,
    log: Option<SideShape>,
    files: Option<SideShape>,
    newer: Option<&'static str>,
    decides: &'static str,
}

/// A state file as one of the two has it.
#[derive(Serialize)]
struct SideShape {
    modified: String,
    bytes: u64,
    text: Option<String>,
    cut: bool,
    #[serde(skip)]
    when: i64,
}

impl SideShape {
    fn new(side: &Side) -> Self {
        Self {
            modified: rfc3339(side.modified),
            bytes: side.bytes,
            text: side.text.as_ref().map(|file| file.text.clone()),
            cut: side.text.as_ref().is_none_or(|file| file.cut),
            when: side.modified,
        }
    }

    fn words(side: Option<&Self>, is_newer: bool) -> String {
        let newer = if is_newer { ", the later" } else { "" };
        side.map_or_else(|| "none".to_owned(), |side| format!("{}, {}{newer}", bytes(side.bytes), time(side.when)))
    }
}

impl DisagreementShape {
    fn new(disagreement: &Disagreement) -> Self {
        Self {
            name: disagreement.name.clone(),
            log: disagreement.log.as_ref().map(SideShape::new),
            files: disagreement.files.as_ref().map(SideShape::new),
            newer: disagreement.newer.map(Authority::name),
            decides: disagreement.decides.name(),
        }
    }
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
            left_in_doubt: recovery.left.iter().map(LeftInDoubtShape::new).collect(),
            workspace: recovery.workspace.map(|report| Workspace {
                id: report.workspace.id.to_string(),
                directory: report.workspace.directory.display().to_string(),
                exists: report.exists,
                last: report.last.as_ref().map(TreeShape::new),
                drift: report.drift.iter().map(DriftShape::new).collect(),
                environment: report.environment,
                state_files: report.state_files.into_iter().map(StateFileShape::new).collect(),
                authority: report.authority.name(),
                disagreements: report.disagreements.iter().map(DisagreementShape::new).collect(),
                taken_up: report.taken_up.map(PositionShape::from),
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
                    settlement.show(page, &self.session);
                }
                if let Some(error) = &step.error {
                    page.styled(Style::Care, format!("    it could not be recovered: {}", error.message));
                }
            }
        }
        if !self.left_in_doubt.is_empty() {
            page.gap();
            LeftInDoubtShape::show_all(&self.left_in_doubt, &self.session, page);
        }
        if let Some(workspace) = &self.workspace {
            workspace.show(page, &self.session, self.plan);
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
    fn show(&self, page: &mut Page, session: &str, plan: bool) {
        page.gap();
        let gone = if self.exists { "" } else { " (gone)" };
        let last = self.last.as_ref().map_or_else(|| "none".to_owned(), TreeShape::words);
        page.facts(&[("workspace", format!("{}{gone}", self.directory)), ("last checkpoint", last)]);
        let drift: Vec<String> = self.drift.iter().map(|drift| drift.words.clone()).collect();
        show_paths(page, "differs from it:", &drift);
        let environment: Vec<String> = self.environment.iter().map(Difference::words).collect();
        show_paths(page, "the environment differs from then:", &environment);
        self.show_disagreements(page, session, plan);
        for file in &self.state_files {
            let cut = if file.cut { " (a part of it)" } else { "" };
            page.gap();
            page.styled(Style::Strong, format!("{}{cut}", file.name));
            page.block(2, &file.text, Some(40));
        }
    }
}

impl Workspace {
    /// Where log and state files disagree, and how what does not decide is put right.
    fn show_disagreements(&self, page: &mut Page, session: &str, plan: bool) {
        if self.disagreements.is_empty() {
            return;
        }
        let decides = if self.authority == Authority::Files.name() { "files decide" } else { "log decides" };
        page.styled(Style::Care, format!("state files are not as the log has them, and the {decides}:"));
        for one in &self.disagreements {
            page.line(format!("  {}", one.name));
            let side = |side, name: Authority| SideShape::words(side, one.newer == Some(name.name()));
            page.line(format!("    log:       {}", side(one.log.as_ref(), Authority::Log)));
            page.line(format!("    directory: {}", side(one.files.as_ref(), Authority::Files)));
        }
        match (&self.taken_up, &self.last) {
            (Some(at), _) => page.styled(Style::Good, format!("  taken up by the checkpoint at seq {}", at.seq)),
            (None, _) if self.authority == Authority::Files.name() && plan => {
                page.styled(Style::Dim, "  `samite recover` takes the directory's up by a checkpoint");
            }
            (None, Some(last)) => {
                let (there, not_there): (Vec<&DisagreementShape>, Vec<&DisagreementShape>) =
                    self.disagreements.iter().partition(|one| one.log.is_some());
                let names: Vec<String> = there.iter().map(|one| format!("--within {}", one.name)).collect();
                if !names.is_empty() {
                    let to = format!("{}@{}", short_id(session), last.seq);
                    page.styled(Style::Dim, "  put the log's back with:");
                    page.line(format!("    samite workspace restore {to} {} --force", names.join(" ")));
                }
                for one in not_there {
                    // A restore never takes away what was in no tree.
                    page.styled(Style::Dim, format!("  the log has no {}: move it away yourself", one.name));
                }
            }
            (None, None) => {}
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
