//! Measures samite against its limits and its peers: ours and the other in turns, in one run, since disks are noisy.
//!
//! It prints a table of ratios and ends with 0 whatever they are: it is no test. Where samite does not do what it should, it ends
//! with 1.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a table on the terminal is what this program is for")]

mod acts;
mod bare;
mod exports;
mod forks;
mod hooks;
mod locomo;
mod memory;
mod reading;
mod redact;
mod restate;
mod rewind;
mod sessions;
mod steps;
mod store;
mod syncs;
mod table;
mod together;
mod transcripts;
mod turns;
mod vectors;
mod workspace;

use clap::{Parser, ValueEnum};
use samite_model::{ErrorKind, Result};
use std::path::PathBuf;
use std::process::ExitCode;
use table::Table;

/// As in the binary `samite`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures samite against its limits and its peers.
#[derive(Parser)]
struct Arguments {
    /// Measure only these; all without.
    rows: Vec<Part>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Where to make the scratch directory: a disk like the one that a store would be on.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"))]
    scratch: PathBuf,
    /// The data and peers to measure with.
    #[arg(long, env = "SAMITE_SHARED", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"))]
    shared: PathBuf,
    /// The workspace to measure. It is only read; snapshots and copies of it in the scratch directory take ten times its
    /// size.
    #[arg(long, env = "SAMITE_BENCH_WORKSPACE")]
    workspace: Option<PathBuf>,
    /// Make the workspace with the generator among the data: takes npm, pip and some minutes.
    #[arg(long)]
    make_workspace: bool,
    /// A Python that has faiss, to measure searches by vectors against.
    #[arg(long, env = "SAMITE_BENCH_FAISS")]
    faiss: Option<PathBuf>,
    /// Make such a Python in the scratch directory: takes pip.
    #[arg(long)]
    make_faiss: bool,
    /// Answers the questions of such a file of conversations, and writes what a scorer reads to `--run`.
    #[arg(long, requires = "run")]
    locomo: Option<PathBuf>,
    /// Where that is written.
    #[arg(long)]
    run: Option<PathBuf>,
    /// By what they are found.
    #[arg(long, value_enum, default_value = "all")]
    by: By,
    /// Runs so many steps in the scratch directory and ends: what the counter of syncs watches.
    #[arg(long, hide = true)]
    only_steps: Option<usize>,
    /// The same in a bare loop over the rows of so many steps, for profilers.
    #[arg(long, hide = true)]
    only_bare: Option<usize>,
    /// The same with 64 sessions, for profilers.
    #[arg(long, hide = true)]
    only_sessions: Option<usize>,
    /// Takes in so many vectors and ends, to be watched for its memory.
    #[arg(long, hide = true)]
    only_vectors: Option<usize>,
}

/// What records are found by.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Words and vectors.
    All,
    /// Words alone.
    Words,
}

/// A part of what can be measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Guarded steps of one session, and syncs a step.
    Steps,
    /// Guarded steps of 64 sessions.
    Sessions,
    /// Both against Restate.
    Restate,
    /// What real transcripts take on the disk.
    Transcripts,
    /// Reading a session of 10,000 entries.
    Reading,
    /// 500 forks of a session of 64 MB.
    Forks,
    /// Snapshots and restores of a workspace of 59,261 files; takes some minutes, and restic for two of its rows.
    /// On ext4, remove no large directory in the five minutes before: new files take far longer then.
    Workspace,
    /// A rewind of ten changed files in that workspace.
    Rewind,
    /// How fast texts are looked through for secrets.
    Redact,
    /// What a hook of a CLI agent takes at each event; needs the command, built beside this program.
    Hooks,
    /// Exporting an audit log of 500,000 entries, and verifying the export.
    Exports,
    /// Leaves of the audit log in the commits of their acts, and what the log costs where there are none.
    Acts,
    /// Exact search by vectors against faiss, taking vectors in, and the memory they need; takes 1.6 GB in the scratch directory.
    Vectors,
    /// Searching 10,000 records of long-term memory, against embedding the question alone.
    Memory,
}

/// What every part works with.
struct Bench {
    scratch: PathBuf,
    shared: PathBuf,
    workspace: Option<PathBuf>,
    make_workspace: bool,
    faiss: Option<PathBuf>,
    make_faiss: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("samite-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures, and answers with whether all that could be measured did what it should.
fn run(arguments: &Arguments) -> Result<bool> {
    let bench = Bench {
        scratch: arguments.scratch.clone(),
        shared: arguments.shared.clone(),
        workspace: arguments.workspace.clone(),
        make_workspace: arguments.make_workspace,
        faiss: arguments.faiss.clone(),
        make_faiss: arguments.make_faiss,
    };
    if let (Some(data), Some(to)) = (&arguments.locomo, &arguments.run) {
        return locomo::run(&bench, data, to, arguments.by).map(|()| true);
    }
    if let Some(count) = arguments.only_steps {
        return syncs::only_steps(&bench, count).map(|()| true);
    }
    if let Some(count) = arguments.only_bare {
        return steps::only_bare(&bench, count).map(|()| true);
    }
    if let Some(count) = arguments.only_sessions {
        return sessions::only_steps(&bench, count).map(|()| true);
    }
    if let Some(count) = arguments.only_vectors {
        let [ingest, peak, bytes] = vectors::only_vectors(count)?;
        println!("{ingest} {peak} {bytes}");
        return Ok(true);
    }
    let mut table = Table::new(arguments.json);
    let mut right = true;
    for part in Part::value_variants() {
        if !arguments.rows.is_empty() && !arguments.rows.contains(part) {
            continue;
        }
        let measured = match part {
            Part::Steps => steps::measure(&bench, &mut table).and_then(|()| syncs::measure(&bench, &mut table)),
            Part::Sessions => sessions::measure(&bench, &mut table),
            Part::Restate => restate::measure(&bench, &mut table),
            Part::Transcripts => transcripts::measure(&bench, &mut table),
            Part::Reading => reading::measure(&bench, &mut table),
            Part::Forks => forks::measure(&bench, &mut table),
            Part::Workspace => workspace::measure(&bench, &mut table),
            Part::Rewind => rewind::measure(&bench, &mut table),
            Part::Redact => redact::measure(&bench, &mut table),
            Part::Hooks => hooks::measure(&bench, &mut table),
            Part::Exports => exports::measure(&bench, &mut table),
            Part::Acts => acts::measure(&bench, &mut table),
            Part::Vectors => vectors::measure(&bench, &mut table),
            Part::Memory => memory::measure(&bench, &mut table),
        };
        match measured {
            Ok(()) => {}
            // What is not installed, or not there, cannot be measured. Anything else is a fault of samite or of the bench.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unavailable) => {
                table.skip(&format!("{error}"));
            }
            Err(error) => {
                eprintln!("samite-bench: {error}");
                right = false;
            }
        }
    }
    table.end();
    Ok(right)
}
