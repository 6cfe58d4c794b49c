//! What can be written after `samite`.

use crate::command::Command;
use clap::{Args, Parser, Subcommand};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::path::PathBuf;

/// The durable state of AI agents: record, recover, fork and rewind their sessions and workspaces.
///
/// A session is a tree of branches; a branch is an append-only journal of messages, steps and workspace trees. What
/// was acknowledged survives a crash; a step that was cut off between its effect and its record is found, and settled
/// without doing it twice.
#[derive(Debug, Parser)]
#[command(
    name = "samite",
    version,
    max_term_width = 80,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    infer_long_args = false,
    after_help = "`samite tour` shows the main job in a scratch directory; `--help` tells more than `-h`.",
    after_long_help = "\
IDs may be shortened to any unique beginning. SESSION@SEQ is a position of the session's current branch, \
SESSION:BRANCH another branch, SESSION:BRANCH@SEQ a position there. For SESSION, . is the one whose workspace is \
this directory, or that worked here last.

Exit status: 0 done, 1 internal, 2 invalid, 3 not found, 4 conflict, 5 fenced, 6 denied, 7 unavailable, 8 corrupt, \
9 not run, because another step may have done it (`step run --help`).

Examples:
  samite tour
  samite session new --name 'fix the build'
  samite workspace attach 3f2a ~/src/project
  samite step run 3f2a --key test-1 --effect contained -- cargo test
  samite checkpoint 3f2a --label 'tests pass'
  samite recover 3f2a"
)]
pub(crate) struct ArgumentsFor<C: Subcommand> {
    /// What every command understands.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: C,
}

/// The arguments of any command.
pub(crate) type Arguments = ArgumentsFor<Command>;

/// What every command understands.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Where everything is kept [default: samite in the user's data directory]
    #[arg(long, global = true, env = "SAMITE_STORE", value_name = "DIR", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
    /// Answer with JSON: data on standard output, errors on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The id of the writer that this command acts for
    ///
    /// A harness carries it across its many short processes. Without it, a command is a writer of its own and holds the
    /// branch only while it runs.
    #[arg(long, global = true, env = "SAMITE_WRITER", value_name = "ID", hide_env_values = true)]
    pub(crate) writer: Option<String>,
    /// The process that stands for the writer: when it is gone, so is the writer
    #[arg(long, global = true, env = "SAMITE_WRITER_PID", value_name = "PID", hide_env_values = true)]
    pub(crate) writer_pid: Option<u32>,
    /// Become the branch's writer although another one holds it and may live; that one can write no more
    #[arg(long, global = true)]
    pub(crate) take_over: bool,
}

/// A day or a time, in nanoseconds since 1970.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    let time = text.parse::<Timestamp>().or_else(|_| {
        let day: Date = text.parse()?;
        day.to_zoned_datetime(TimeZone::UTC).map(|midnight| midnight.timestamp())
    });
    time.ok()
        .and_then(|time| i64::try_from(time.as_nanosecond()).ok())
        .ok_or_else(|| "write a day, such as 2027-01-31, or a time, such as 2027-01-31T12:00:00Z".to_owned())
}
