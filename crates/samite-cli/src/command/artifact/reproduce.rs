//! `samite artifact reproduce`.

use crate::printer::words::bytes;
use crate::printer::{Answer, Page, Style};
use crate::shape::command_words;
use crate::surface::{Access, Surface, here};
use clap::Args;
use samite::artifact::{Compared, Reproduction};
use samite::syntax::parse_seconds;
use samite_model::{ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Put an artifact's inputs into a new directory and print the command that made it
///
/// `DIR/work` stands for the workspace, `DIR/outside` holds inputs from elsewhere by their absolute paths, `DIR/artifact`
/// has the artifact's bytes. Nothing is run without --run. With it the recorded command runs in `DIR/work`, as you and
/// with all that you may do, and the file that comes of it is compared with the artifact. The exit status is 0 when the
/// bytes are the same and 4 when they are not, or nothing came of it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact reproduce 8c1e again
  samite artifact reproduce 8c1e again --run
  samite artifact reproduce 8c1e again --run --timeout 30s --json \\
      | jq .ran.same")]
pub(crate) struct Reproduce {
    /// The artifact
    artifact: String,
    /// The directory to make
    directory: PathBuf,
    /// Run the recorded command there, and compare
    #[arg(long)]
    run: bool,
    /// End the command after this time
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_seconds, requires = "run")]
    timeout: u64,
}

#[derive(Serialize)]
struct Reproduced {
    id: String,
    directory: String,
    runs_in: String,
    argv: Option<Value>,
    output: Option<String>,
    ran: Option<Ran>,
    #[serde(skip)]
    words: Option<String>,
}

#[derive(Serialize)]
struct Ran {
    status: Option<i32>,
    timed_out: bool,
    stdout: String,
    stderr: String,
    bytes: Option<u64>,
    sha256: Option<String>,
    same: bool,
}

impl Answer for Reproduced {
    fn show(&self, page: &mut Page) {
        page.facts(&[
            ("directory", self.directory.clone()),
            ("run in", self.runs_in.clone()),
            ("command", self.words.clone().unwrap_or_else(|| "none was recorded".to_owned())),
            ("output", self.output.clone().unwrap_or_default()),
        ]);
        let Some(ran) = &self.ran else { return };
        page.block(0, &ran.stdout, Some(40));
        page.block(0, &ran.stderr, Some(40));
        let how = match (ran.status, ran.timed_out) {
            (Some(status), _) => format!("exit {status}"),
            (None, true) => "its time was over".to_owned(),
            (None, false) => "a signal ended it".to_owned(),
        };
        match (ran.same, ran.bytes) {
            (true, _) => page.styled(Style::Good, format!("the same bytes ({how})")),
            (false, Some(size)) => page.styled(Style::Bad, format!("other bytes: {} ({how})", bytes(size))),
            (false, None) => page.styled(Style::Bad, format!("nothing came of it ({how})")),
        }
    }
}

impl Reproduced {
    fn new(made: &Reproduction, ran: Option<Compared>) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let command = made.record.lineage.command.as_ref();
        Self {
            id: made.record.artifact.to_string(),
            directory: made.directory.to_string_lossy().into_owned(),
            runs_in: made.runs_in.to_string_lossy().into_owned(),
            argv: command.map(|command| command.argv.clone()),
            output: made.output.as_ref().map(|output| output.to_string_lossy().into_owned()),
            words: command.map(command_words),
            ran: ran.map(|ran| Ran {
                status: ran.status,
                timed_out: ran.timed_out,
                stdout: text(ran.stdout),
                stderr: text(ran.stderr),
                bytes: ran.size,
                sha256: ran.sha256,
                same: ran.same,
            }),
        }
    }
}

impl Reproduce {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let directory = here()?.join(&self.directory);
        let client = surface.open(Access::Read)?.client().await?;
        let artifact = client.find_artifact(&self.artifact).await?;
        let made = client.reproduce(artifact, &directory).await?;
        let mut ran = None;
        if self.run {
            if let (Some(made), false) = (&made.record.lineage.command, surface.printer.is_json()) {
                surface.printer.note(&format!("running {}", command_words(made)));
            }
            let progress = surface.printer.progress("running the recorded command");
            ran = Some(client.run_again(&made, Duration::from_secs(self.timeout))?);
            drop(progress);
        }
        let same = ran.as_ref().is_none_or(|ran| ran.same);
        surface.printer.answer(&Reproduced::new(&made, ran))?;
        Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(ErrorKind::Conflict.exit_status()) })
    }
}
