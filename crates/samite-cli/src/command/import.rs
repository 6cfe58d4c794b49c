//! `samite import`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::shape::show_paths;
use crate::surface::{Access, Surface};
use clap::{Args, Subcommand};
use samite::import::claude_code::arrange;
use samite::import::{self, Checkpoints, Harness, Importer, NOT_A_TRANSCRIPT, Unit};
use samite_host::files::io_error;
use samite_model::{Error, Result};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Import what another harness left behind
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    ClaudeCode(ClaudeCode),
    /// Import Codex CLI's rollouts: sessions, calls as steps, rollbacks as branches, sub-agents as child sessions
    ///
    /// Every line is kept, byte for byte, in the order of the file. Turns that were rolled back stay on the branch that
    /// was left. Torn lines, repeated results and results without a call are reported with their line numbers and lose
    /// nothing. Importing again adds only what is new. A call without an output is in doubt. A file of which no line is
    /// a record is no rollout: it is refused, or, in a directory, named and left out.
    #[command(after_long_help = "\
Examples:
  samite import codex ~/.codex/sessions
  samite import codex rollout-2026-02-01T00-00-00-ID.jsonl")]
    Codex {
        /// A rollout, or a directory with rollouts in it at any depth
        path: PathBuf,
    },
    /// Import Gemini CLI's chats: sessions, calls as steps, rewinds as branches, sub-agents as child sessions
    ///
    /// Every record is kept, byte for byte, in the order of the file, also of older chats that are one JSON document.
    /// Messages that were rewound stay on the branch that was left. What is torn is reported and loses nothing.
    /// Importing again adds only what is new. A call without a result is in doubt. A file without a record is no chat:
    /// it is refused, or, in a directory, named and left out.
    #[command(after_long_help = "\
Examples:
  samite import gemini-cli ~/.gemini/tmp
  samite import gemini-cli session-2026-02-01T00-00-6843839b.jsonl")]
    GeminiCli {
        /// A chat, or a directory with chats in it at any depth
        path: PathBuf,
    },
    /// Import SWE-agent's trajectories: histories as conversations, actions as steps
    ///
    /// A trajectory is one JSON document; each element of its lists and each other field is a record, kept byte for
    /// byte. A document that was cut keeps what is whole, and says what is not. An action that neither the trajectory
    /// nor an observation tells the end of is in doubt. A trajectory has no id of its own and is known by the last
    /// three parts of its path: importing it again from there adds only what is new.
    #[command(after_long_help = "\
Examples:
  samite import swe-agent trajectories/me/run-1
  samite import swe-agent marshmallow-1867.traj --json | jq .transcripts")]
    SweAgent {
        /// A trajectory, or a directory with trajectories (*.traj) in it at any depth
        path: PathBuf,
    },
    /// Import OpenHands' conversations: events in order, actions as steps, forks as branches
    ///
    /// A conversation is a folder with a file for each event and its state; each file is a record, kept byte for byte.
    /// Missing numbers, torn files and results told twice are reported and lose nothing. Importing again adds only what
    /// is new. An action without an observation is in doubt. A trajectory that was exported as one JSON list of events
    /// is imported when it is named itself.
    #[command(after_long_help = "\
Examples:
  samite import openhands ~/.openhands/conversations
  samite import openhands trajectory.json")]
    Openhands {
        /// A conversation's folder, a directory with such in it at any depth, or an exported trajectory
        path: PathBuf,
    },
    /// Import items of the OpenAI Responses API: messages, calls as steps, attachments
    ///
    /// A file holds an item or a whole response a line, or is one JSON document: a response, or a list of items. Each is
    /// a record, kept byte for byte. An image or file that stands in an item as base64 is published as an
    /// artifact (`samite artifact list SESSION`). Two responses to the same one are branches. Importing again adds only
    /// what is new. A call without an output is in doubt.
    #[command(after_long_help = "\
Examples:
  samite import responses chat.jsonl
  samite import responses response.json --json | jq .transcripts")]
    Responses {
        /// A file of items, or a directory with such (*.jsonl, *.json) in it at any depth
        path: PathBuf,
    },
    /// Import LangGraph's checkpoints: threads as sessions, forks as branches, calls as steps
    ///
    /// Every row is kept with the bytes that its writer stored: checkpoints, pending writes, blobs. The messages in them
    /// become entries once, in order, and calls without a tool message are in doubt. Nothing that a row holds is run:
    /// what is neither msgpack nor JSON is kept as it is and reported. A SQLite file is read as it lies; a PostgreSQL
    /// server through psql, in one read-only transaction, or from a plain dump of its tables. A password is best left to
    /// PGPASSWORD or ~/.pgpass. Importing again adds only what is new.
    #[command(after_long_help = "\
Examples:
  samite import langgraph checkpoints.sqlite
  samite import langgraph postgresql://me@localhost/agents
  samite import langgraph checkpoints.sql")]
    Langgraph {
        /// The database of a SQLite saver, a plain dump of a PostgreSQL saver's, or its address (postgresql://…)
        source: PathBuf,
    },
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
    /// Files or threads of sessions that were erased.
    erased: Vec<String>,
}

#[derive(Serialize)]
struct Transcript {
    path: String,
    /// The thread, of a database with several.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    session: String,
    sidechains: Vec<String>,
    lines: u64,
    imported: u64,
    duplicates: u64,
    reported: u64,
    findings: Vec<Finding>,
    #[serde(skip)]
    unit: Unit,
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
            let counts = format!("  {}", count(transcript.lines, transcript.unit.name()));
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
        show_paths(page, "of sessions that were erased, which do not come back, and left out:", &self.erased);
        page.line(format!(
            "{}: {} imported, {} there already, {} with something to report",
            count(self.lines, self.transcripts.first().map_or(Unit::Line, |first| first.unit).name()),
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

impl Transcript {
    fn of(path: &Path, imported: &import::Imported) -> Self {
        let report = &imported.report;
        let finding = |finding: &import::claude_code::Finding| Finding {
            line: finding.line,
            code: finding.kind.code(),
            message: finding.told(report.unit),
        };
        Self {
            path: path.display().to_string(),
            thread: None,
            session: imported.session.to_string(),
            sidechains: imported.sidechains.iter().map(ToString::to_string).collect(),
            lines: report.accounting.lines(),
            imported: report.accounting.imported,
            duplicates: report.accounting.duplicates,
            reported: report.accounting.reported,
            findings: report.findings.iter().map(finding).collect(),
            unit: report.unit,
        }
    }
}

/// What is imported, and how its files are told from others.
#[derive(Clone, Copy)]
enum From {
    ClaudeCode,
    Harness(Harness),
}

impl From {
    fn arrange(self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        match self {
            Self::ClaudeCode => arrange(paths).into_iter().map(|file| file.path).collect(),
            Self::Harness(harness) => harness.arrange(paths),
        }
    }

    fn none(self, path: &Path) -> Error {
        let path = path.display();
        match self {
            Self::ClaudeCode => {
                Error::not_found("no_transcripts", format!("there are no transcripts (*.jsonl) in {path}"))
                    .hint("Claude Code keeps them in ~/.claude/projects")
            }
            Self::Harness(harness) => {
                Error::not_found("no_transcripts", format!("there is nothing of {} in {path}", harness.name()))
                    .hint(harness.place())
            }
        }
    }
}

impl Import {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let (from, path) = match self {
            Self::ClaudeCode(command) => (From::ClaudeCode, command.path),
            Self::Codex { path } => (From::Harness(Harness::Codex), path),
            Self::GeminiCli { path } => (From::Harness(Harness::GeminiCli), path),
            Self::SweAgent { path } => (From::Harness(Harness::SweAgent), path),
            Self::Openhands { path } => (From::Harness(Harness::OpenHands), path),
            Self::Responses { path } => (From::Harness(Harness::Responses), path),
            Self::Langgraph { source } => return threads(surface, &source).await,
        };
        run(surface, from, &path).await
    }
}

/// How many bytes a source has; of a folder those of its files.
fn size(path: &Path) -> u64 {
    let of = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    if !path.is_dir() {
        return of(path);
    }
    let files = samite_host::files::files_below(path).map(|below| below.files).unwrap_or_default();
    files.iter().map(|path| of(path)).sum()
}

/// How a SQLite file starts.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The checkpoints of a SQLite file, a server, or else a plain dump.
fn checkpoints(surface: &Surface, source: &Path) -> Result<Checkpoints> {
    let progress = surface.printer.progress("reading (bytes)");
    if let Some(address) = source.to_str().filter(|source| import::is_address(source)) {
        return Checkpoints::from_server(address, &mut |bytes| progress.set(bytes, None));
    }
    let mut start = Vec::new();
    let reader = samite_host::files::open_reader(source)?;
    reader.take(SQLITE.len() as u64).read_to_end(&mut start).map_err(|error| io_error("read", source, error))?;
    if start == SQLITE {
        return Checkpoints::open(source);
    }
    let whole = samite_host::files::size(source)?;
    Checkpoints::from_dump(source, &mut |bytes| progress.set(bytes, Some(whole)))
}

async fn threads(surface: &Surface, source: &Path) -> Result<ExitCode> {
    let is_address = source.to_str().is_some_and(import::is_address);
    // What is shown and recorded is no address with a password in it.
    let shown = if is_address { PathBuf::from("postgresql") } else { source.to_owned() };
    let checkpoints = checkpoints(surface, source).map_err(|error| error.context(shown.display()))?;
    let (threads, whole) = (checkpoints.threads()?, checkpoints.rows()?);
    if threads.is_empty() {
        let none = format!("there are no checkpoints in {}", shown.display());
        return Err(
            Error::not_found("no_transcripts", none).hint("a graph that was run with a checkpointer leaves some")
        );
    }
    let client = surface.open(Access::Create)?.client().await?;
    let mut importer = Importer::new(&client);
    let progress = surface.printer.progress("importing (rows)");
    let mut done = 0;
    let (mut answers, mut erased) = (Vec::new(), Vec::new());
    for thread in threads {
        let mut tell = |rows| progress.set(done + rows, Some(whole));
        let became = importer.thread(&checkpoints, &thread, &mut tell).await;
        if became.as_ref().is_err_and(|error| error.code() == "session_erased") {
            erased.push(thread);
            continue;
        }
        let became = became.map_err(|error| error.context(shown.display()))?;
        done += became.report.accounting.lines();
        answers.push(Transcript { thread: Some(thread), ..Transcript::of(&shown, &became) });
    }
    drop(progress);
    answer(surface, &importer, answers, Vec::new(), erased)
}

async fn run(surface: &Surface, from: From, path: &Path) -> Result<ExitCode> {
    // A link that a person names is followed; those below it are not.
    let path = path.canonicalize().map_err(|error| io_error("look at", path, error))?;
    let mut paths = Vec::new();
    find(&path, &mut paths)?;
    let one = path.is_file();
    let sources = if one { paths } else { from.arrange(paths) };
    if sources.is_empty() {
        return Err(from.none(&path));
    }
    let whole = sources.iter().map(|path| size(path)).sum::<u64>();
    let client = surface.open(Access::Create)?.client().await?;
    let mut importer = Importer::new(&client);
    let progress = surface.printer.progress("importing (bytes)");
    let mut done = 0;
    let mut answers = Vec::new();
    let (mut skipped, mut erased) = (Vec::new(), Vec::new());
    for path in &sources {
        let mut read = 0;
        let mut tell = |bytes| {
            read = bytes;
            progress.set(done + bytes, Some(whole));
        };
        let became = match from {
            From::ClaudeCode => importer.transcript(path, open(path)?, open(path)?, &mut tell).await,
            From::Harness(harness) => importer.source(harness, path, &mut tell).await,
        };
        let became = match became {
            // It does not come back, and the others are not kept from coming.
            Err(error) if error.code() == "session_erased" && !one => {
                erased.push(path.display().to_string());
                continue;
            }
            Err(error) if error.code() == NOT_A_TRANSCRIPT && !one => {
                skipped.push(path.display().to_string());
                continue;
            }
            other => other.map_err(|error| error.context(path.display()))?,
        };
        done += read;
        answers.push(Transcript::of(path, &became));
    }
    drop(progress);
    if answers.is_empty() && erased.is_empty() {
        return Err(from.none(&path));
    }
    answer(surface, &importer, answers, skipped, erased)
}

fn answer(
    surface: &Surface,
    importer: &Importer<'_>,
    transcripts: Vec<Transcript>,
    skipped: Vec<String>,
    erased: Vec<String>,
) -> Result<ExitCode> {
    let total = importer.accounting();
    let id = match transcripts.as_slice() {
        [only] => Some(only.session.clone()),
        _ => None,
    };
    surface.printer.answer(&Imported {
        id,
        lines: total.lines(),
        new: total.imported,
        duplicates: total.duplicates,
        reported: total.reported,
        transcripts,
        skipped,
        erased,
    })?;
    Ok(ExitCode::SUCCESS)
}
