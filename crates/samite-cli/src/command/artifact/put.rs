//! `samite artifact put`.

use crate::input::spooled_input;
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{ArtifactShape, FileFoundShape};
use crate::surface::{Access, Surface, here, refuse_master};
use clap::Args;
use samite::artifact::{ArtifactSource, PutArtifact};
use samite_model::{Error, Result};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Publish a file for the user
///
/// When this returns, its bytes, its record and its inputs are durable. It is called by its path in the workspace, or by
/// its own name where it is not in it; the same name again is a new version, unless bytes, inputs and step are those of
/// the last one. Calling again after an answer was lost makes no second version.
///
/// The inputs are kept with it. Where the step that made it recorded the workspace when it began, they are taken as they
/// were then. Without --step, the trees around the last contained steps tell which one made the file, if they do.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact put 3f2a report.pdf --description 'the quarter'
  samite artifact put 3f2a plot.png --type chart --input data.csv \\
      --step plot-1
  samite artifact put 3f2a plot.png --input data.csv -- python3 plot.py
  make-report | samite artifact put 3f2a - --name report.html")]
pub(crate) struct Put {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// The file; - is standard input, which needs --name
    file: PathBuf,
    /// What it is: image, file, table, chart, document, or any other word [default: by its media type]
    #[arg(long = "type", value_name = "TYPE")]
    of_type: Option<String>,
    /// Its media type [default: by its first bytes, else by its name]
    #[arg(long, value_name = "TYPE/SUBTYPE")]
    mime: Option<String>,
    /// What is said of it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// What it is called [default: its path in the workspace]
    #[arg(long)]
    name: Option<String>,
    /// A file or directory that it was made of; may be repeated
    #[arg(long, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// The key of the step that made it
    #[arg(long, value_name = "KEY")]
    step: Option<String>,
    /// The caller's id for it: the same id with the same bytes is published once
    #[arg(long, value_name = "ID")]
    dedupe: Option<String>,
    /// The command that made it, when no step recorded it; it is not run
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What came of it.
#[derive(Serialize)]
struct Published {
    #[serde(flatten)]
    artifact: ArtifactShape,
    duplicate: bool,
    found: Vec<FileFoundShape>,
}

impl Answer for Published {
    fn show(&self, page: &mut Page) {
        let note = if self.duplicate { " (it was there already)" } else { "" };
        let words =
            format!(" {} version {}, {}{note}", self.artifact.name, self.artifact.version, self.artifact.size());
        page.spans(&[(Style::Strong, &self.artifact.short()), (Style::Plain, &words)]);
        if !self.found.is_empty() {
            page.styled(Style::Care, "redaction found in what was stored:");
        }
        for one in &self.found {
            one.show(page);
        }
    }
}

impl Put {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let here = here()?;
        let source = if self.file == Path::new("-") {
            if self.name.is_none() {
                return Err(Error::invalid("no_name", "standard input has no name of its own")
                    .hint("say what it is called: --name report.pdf"));
            }
            ArtifactSource::Open(Arc::new(spooled_input("the artifact")?))
        } else {
            let file = here.join(&self.file);
            refuse_master(&file)?;
            ArtifactSource::File(file)
        };
        let inputs: Vec<PathBuf> = self.input.iter().map(|input| here.join(input)).collect();
        inputs.iter().try_for_each(|path| refuse_master(path))?;
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let put = PutArtifact {
            source,
            name: self.name,
            of_type: self.of_type,
            mime: self.mime,
            description: self.description,
            inputs,
            step: self.step,
            command: (!self.command.is_empty()).then_some((self.command, here)),
            dedupe: self.dedupe,
        };
        let progress = surface.printer.progress("storing");
        let put = surface.write_to(&client, found, async |writer| writer.put_artifact(&put).await).await?;
        drop(progress);
        let found = put.found.iter().map(FileFoundShape::new).collect();
        let artifact = ArtifactShape::new(&put.record);
        surface.printer.answer(&Published { artifact, duplicate: put.duplicate, found })?;
        Ok(ExitCode::SUCCESS)
    }
}
