//! `samite export`.

use crate::printer::words::{bytes, count, short_id};
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::policy::{LeftOut, Region, TrainingExport, TrainingOptions};
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Export for training what may be used for it, and record what left
///
/// A branch is in it when each session that it came from may be used (`samite consent`): its own, those of branches that
/// it was forked from or merged, and the one that it works for; an artifact's entry also those of the artifacts that it
/// was made of. What is left out is told. `data.jsonl` has a line for each entry: what was said, called, answered and
/// published, without the bytes of files. The data set's id, basis and the entries in it are recorded before the file has
/// its name; proofs of deletion name it. Another region needs a transfer that was decided.
#[derive(Debug, Args)]
#[command(
    override_usage = "samite export --for-training [OPTIONS] <WHAT> <DIRECTORY>",
    after_long_help = "\
Examples:
  samite export --for-training --to-region eu --basis 'contract 7' --all data
  samite export --for-training --to-region eu --basis 'contract 7' \\
      --session 3f2a --session 9c41 data"
)]
pub(crate) struct Export {
    /// The directory: one that is empty or does not exist, or what an export left that was cut off
    directory: PathBuf,
    /// What it is for: nothing else is exported so
    #[arg(long, required = true)]
    for_training: bool,
    /// The region that it goes to
    #[arg(long, value_name = "REGION")]
    to_region: Region,
    /// On which basis
    #[arg(long)]
    basis: String,
    #[command(flatten)]
    what: What,
}

/// What of the tenant's.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// A session, with all of its branches; may be given several times
    #[arg(long, value_name = "SESSION")]
    session: Vec<Reference>,
    /// All sessions
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct Left {
    session: String,
    branch: String,
    artifact: Option<String>,
    without_consent: Vec<String>,
    unknown: bool,
    forbidden: bool,
}

impl Left {
    fn new(left: &LeftOut) -> Self {
        Self {
            session: left.session.to_string(),
            branch: left.branch.to_string(),
            artifact: left.artifact.map(|artifact| artifact.to_string()),
            without_consent: left.without_consent.iter().map(ToString::to_string).collect(),
            unknown: left.unknown,
            forbidden: left.forbidden,
        }
    }

    fn words(&self) -> String {
        let what = match &self.artifact {
            Some(artifact) => format!("artifact {}", short_id(artifact)),
            None => format!("branch {} of session {}", short_id(&self.branch), short_id(&self.session)),
        };
        if self.forbidden {
            return format!("left out: {what}, since the organisation's policies forbid to read it");
        }
        if self.without_consent.is_empty() {
            return format!("left out: {what}, since a part of what it was made of is not there any more");
        }
        let without: Vec<String> = self.without_consent.iter().map(|id| short_id(id)).collect();
        format!("left out: {what}, since there is no consent for session {}", without.join(", "))
    }
}

#[derive(Serialize)]
struct Exported {
    directory: String,
    dataset: String,
    region: String,
    basis: String,
    entries: u64,
    branches: u64,
    bytes: u64,
    sha256: String,
    root: String,
    sessions: Vec<String>,
    left_out: Vec<Left>,
}

impl Exported {
    fn new(directory: String, done: &TrainingExport) -> Self {
        let dataset = &done.dataset;
        Self {
            directory,
            dataset: dataset.dataset.to_string(),
            region: dataset.region.to_string(),
            basis: dataset.basis.clone(),
            entries: dataset.entries,
            branches: done.branches,
            bytes: dataset.bytes,
            sha256: dataset.sha256.clone(),
            root: dataset.root.clone(),
            sessions: dataset.sources.iter().map(|source| source.session.to_string()).collect(),
            left_out: done.left_out.iter().map(Left::new).collect(),
        }
    }
}

impl Answer for Exported {
    fn show(&self, page: &mut Page) {
        let (entries, branches) = (count(self.entries, "entry"), count(self.branches, "branch"));
        page.line(format!("{entries} of {branches} in {}, {}", self.directory, bytes(self.bytes)));
        page.line(format!("data set {}, for region {}", self.dataset, self.region));
        for left in &self.left_out {
            page.styled(Style::Care, left.words());
        }
        page.line("it is not sealed, and what is erased here later stays in it: proofs of deletion name it");
    }
}

impl Export {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let mut sessions = Vec::new();
        for session in &self.what.session {
            sessions.push(session.find_session(&client).await?);
        }
        let progress = surface.printer.progress("writing");
        let options = TrainingOptions {
            to: self.directory,
            region: self.to_region,
            basis: self.basis,
            sessions: (!self.what.all).then_some(sessions),
            observer: progress.observer(),
        };
        let done = store.export_for_training(&client, &options).await?;
        drop(progress);
        surface.printer.answer(&Exported::new(options.to.display().to_string(), &done))?;
        Ok(ExitCode::SUCCESS)
    }
}
