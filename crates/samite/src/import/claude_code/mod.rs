//! Claude Code's transcripts as sessions.
//!
//! A transcript is a file of JSON lines that a harness appended to, often without a sync, sometimes from two processes
//! at once, and across crashes, resumptions and versions. [`Planner::accept`] takes it line by line and answers with
//! [`Item`]s; a line's items depend on the lines before it and on nothing after it, so that the plan of a grown
//! transcript starts with the plan that it had before.
//!
//! # Lines
//!
//! A line is the bytes between two line feeds; a carriage return before the line feed belongs to the line. Every line
//! falls into exactly one class of the [`Accounting`], and `lines = imported + duplicates + reported`:
//!
//! - **imported**: nothing is wrong with it; it becomes an entry, with its bytes as the payload, byte for byte;
//! - **duplicate**: an entry with the same bytes is there already. In a transcript that is a record with the `uuid`
//!   and the bytes of an earlier one ([`Item::Duplicate`]); against a store it is a line whose [`Append::dedupe`] id
//!   is known there ([`Accounting::stored_before`]);
//! - **reported**: it has a [`Finding`] that names it and is at fault. It is kept as an entry all the same, and stays
//!   in this class however often it is imported. The one exception is a blank line: it holds no record, is reported
//!   and not kept.
//!
//! A line that is no JSON value, or one torn by a crash, is kept as an event with its [`Flaw`]. Where one whole record
//! can still be read (after a byte order mark, between NUL bytes of a lost block, with bytes that are no UTF-8, behind
//! the torn head of another), the line has that record's meaning, and [`Append::record`] says where in the payload it
//! is.
//!
//! # Identity
//!
//! A record with a `uuid` is known by it; any other line by a hash of its bytes and how many equal lines came before.
//! So importing twice adds nothing, a grown transcript adds its new lines, and an interrupted import goes on. Another
//! record under a known `uuid` is kept under `uuid` and hash together.
//!
//! # Order and branches
//!
//! Order is the order of lines; times are never looked at. `parentUuid` decides one thing only: whether a person went
//! back. That is so when a **turn** (a prompt, or the first record of a model's response) follows a record that another
//! turn followed before. The turn then starts a new branch at its parent's line ([`Item::Fork`]), and what follows
//! belongs to that branch. These never start one:
//!
//! - side records (progress, hooks, system, snapshots, queue operations, summaries, unknown types): they hand on the
//!   conversation's record above them and are never followed themselves, and a prompt that hangs off a side record
//!   written after the conversation had already gone on is the continuation of the current branch;
//! - results of tools, several of which may follow one response; records of one response, which share a `message.id`;
//!   injected (`isMeta`) and compaction records; errors of the provider shown as responses;
//! - a record with no parent, or whose parent is missing, later in the file or closes a cycle: it takes its place in
//!   the line order, on the current branch.
//!
//! When two processes go on with one session, each goes on with its own branch. The current branch is that of the last
//! turn.
//!
//! # Steps
//!
//! A `tool_use` is a step that started, a `tool_result` its outcome; a result with `is_error` is a failure. A
//! `tool_use` without a result is in doubt: a log of intents cannot tell more. The first result wins, a second one and
//! one without a use are reported; all are kept.
//!
//! # Compactions and the model's context
//!
//! A compaction is its summary (`isCompactSummary`): an entry of that kind, which names the range of lines on its branch
//! that it stands for, and the first thing that the model saw afterwards. The `compact_boundary` before it is an event
//! that takes the range out of context, should the summary have been lost. [`context`] tells which entries the model
//! had before it, from [`Append::context`]; that is what the entry's kind says ([`ContextRole::of_kind`]) but for
//! boundaries, attachments and the provider's errors. A `summary` record is a title: it names its range and changes no
//! context.
//!
//! # Sub-agents
//!
//! `SESSION/subagents/agent-ID.jsonl`, `agent-ID.jsonl` beside a session, and `isSidechain` records inside a
//! transcript are child sessions. The tool call that started one is known from the progress or the result of that
//! call, or from an equal prompt.

mod damage;
mod directory;
mod identity;
mod index;
mod planner;
mod record;
mod sidechain;
#[cfg(test)]
mod tests;
mod tree;

use super::frame::{context, ids, lines, loose, plan, report, steps};

pub use super::frame::context::{ContextRole, context};
pub use super::frame::damage::Flaw;
pub use super::frame::lines::{Line, Lines};
pub use super::frame::plan::{
    Append, Begin, BranchRef, CallStarted, DedupeId, Fork, Item, LineClass, LineRange, SessionRef,
};
pub use super::frame::report::{Accounting, Finding, FindingKind, Report};
pub use super::frame::steps::OpenCall;
pub use directory::{TranscriptFile, agents_folder, arrange};
pub use identity::{AgentIdentity, Identity, identify};
pub use index::KnownRecords;
pub use planner::{Finished, Planner};
