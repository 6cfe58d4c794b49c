//! `samite import`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::shape::show_paths;
use crate::surface::{Access, Surface};
use clap::{Args, Subcommand};
use samite::import::claude_code::arrange;
use samite::import::{Importer, NOT_A_TRANSCRIPT};
use samite_host::files::io_error;
use samite_model::{Error, Result};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Import what another harness left behind
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    ClaudeCode(ClaudeCode),
}

/// Import Claude Code's transcripts: sessions with branches, tool calls as steps, sub-agents as child sessions
///
/// Every line is kept, byte for byte, in the order of the file. Torn lines, missing parents, duplicate ids and cycles
/// are reported with their line numbers and lose nothing. Importing again adds only what is new. A call without a
/// result is in doubt: a log of intents cannot tell more. A file of which no line is a record is no transcript: it is
/// refused, or, in a directory, named and left out.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite import claude-code ~/.claude/projects/-home-me-project
  samite import claude-code session.jsonl --json \\
      | jq '{lines, imported, duplicates, reported}'")]
pub(crate) struct ClaudeCode {
    /// A transcript, or a directory with transcripts in it at any depth
    path: PathBuf,
}

#[derive(Serialize)]
struct Imported {
    /// The session, when there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    lines: u64,
    #[serde(rename = "imported")]
    new: u64,
    duplicates: u64,
    reported: u64,
    transcripts: Vec<Transcript>,
    /// Files of a directory that are no transcripts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
}

#[derive(Serialize)]
struct Transcript {
    path: String,
    session: String,
    sidechains: Vec<String>,
    lines: u64,
    imported: u64,
    duplicates: u64,
    reported: u64,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    line: u64,
    code: &'static str,
    message: String,
}

/// How many findings of one transcript a person is shown.
const SHOWN: usize = 20;

impl Answer for Imported {
    fn show(&self, page: &mut Page) {
        for transcript in &self.transcripts {
            let counts = format!("  {}", count(transcript.lines, "line"));
            page.spans(&[
                (Style::Plain, &transcript.session),
                (Style::Dim, "  "),
                (Style::Plain, &transcript.path),
                (Style::Dim, &counts),
            ]);
            for finding in transcript.findings.iter().take(SHOWN) {
                page.styled(Style::Care, format!("    {}", finding.message));
            }
            if transcript.findings.len() > SHOWN {
                page.styled(Style::Dim, format!("    … {} more (--json has all)", transcript.findings.len() - SHOWN));
            }
        }
        show_paths(page, "no transcripts, and left out:", &self.skipped);
        page.line(format!(
            "{}: {} imported, {} there already, {} with something to report",
            count(self.lines, "line"),
            self.new,
            self.duplicates,
            self.reported
        ));
    }
}

/// The regular files at or below a path. Symbolic links are not followed.
fn find(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let looked = |error| io_error("look at", path, error);
    let metadata = path.symlink_metadata().map_err(looked)?;
    if metadata.is_dir() {
        for name in samite_host::files::list(path)? {
            find(&path.join(name), found)?;
        }
    } else if metadata.is_file() {
        found.push(path.to_owned());
    }
    Ok(())
}

fn open(path: &Path) -> Result<BufReader<File>> {
    let file = OpenOptions::new().read(true).open(path).map_err(|error| io_error("read", path, error))?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

impl Import {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let Self::ClaudeCode(command) = self;
        command.run(surface).await
    }
}

impl ClaudeCode {
    async fn run(self, surface: &Surface) -> Result<ExitCode> {
        // A link that a person names is followed; those below it are not.
        let path = self.path.canonicalize().map_err(|error| io_error("look at", &self.path, error))?;
        let mut paths = Vec::new();
        find(&path, &mut paths)?;
        let one = path.is_file();
        let transcripts = if one { paths } else { arrange(paths).into_iter().map(|file| file.path).collect() };
        let none = || {
            Error::not_found("no_transcripts", format!("there are no transcripts (*.jsonl) in {}", path.display()))
                .hint("Claude Code keeps them in ~/.claude/projects")
        };
        if transcripts.is_empty() {
            return Err(none());
        }
        let whole = transcripts.iter().map(|path| path.metadata().map_or(0, |metadata| metadata.len())).sum::<u64>();
        let client = surface.open(Access::Create)?.client().await?;
        let mut importer = Importer::new(&client);
        let progress = surface.printer.progress("importing (bytes)");
        let mut done = 0;
        let mut answers = Vec::new();
        let mut skipped = Vec::new();
        for path in &transcripts {
            let mut read = 0;
            let mut tell = |bytes| {
                read = bytes;
                progress.set(done + bytes, Some(whole));
            };
            let transcript = match importer.transcript(path, open(path)?, open(path)?, &mut tell).await {
                Err(error) if error.code() == NOT_A_TRANSCRIPT && !one => {
                    skipped.push(path.display().to_string());
                    continue;
                }
                other => other.map_err(|error| error.context(path.display()))?,
            };
            done += read;
            let accounting = transcript.report.accounting;
            answers.push(Transcript {
                path: path.display().to_string(),
                session: transcript.session.to_string(),
                sidechains: transcript.sidechains.iter().map(ToString::to_string).collect(),
                lines: accounting.lines(),
                imported: accounting.imported,
                duplicates: accounting.duplicates,
                reported: accounting.reported,
                findings: transcript
                    .report
                    .findings
                    .iter()
                    .map(|finding| Finding {
                        line: finding.line,
                        code: finding.kind.code(),
                        message: finding.to_string(),
                    })
                    .collect(),
            });
        }
        drop(progress);
        if answers.is_empty() {
            return Err(none());
        }
        let total = importer.accounting();
        let id = match answers.as_slice() {
            [only] => Some(only.session.clone()),
            _ => None,
        };
        surface.printer.answer(&Imported {
            id,
            lines: total.lines(),
            new: total.imported,
            duplicates: total.duplicates,
            reported: total.reported,
            transcripts: answers,
            skipped,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
