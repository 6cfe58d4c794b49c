//! The command as people and harnesses use it: the built binary, on stores of its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::print_stderr,
    reason = "a test fails where it stands, looks at what the command left behind, and says what it skips"
)]

mod audit;
mod authority;
mod bad_decisions;
mod bad_input;
mod cadence;
#[cfg(feature = "kill-points")]
mod canaries;
#[cfg(feature = "kill-points")]
mod changing_model;
mod closing;
mod deaths;
mod decision_words;
mod documents;
mod erasures;
mod errors;
mod file_findings;
mod going_back;
mod guarantees;
mod help;
mod hooks;
mod hostile_records;
mod imports;
mod ingesting;
mod interrupts;
mod journals;
mod merges;
#[cfg(feature = "kill-points")]
mod merging;
#[path = "../../../samite/tests/suite/mount.rs"]
mod mount;
mod organisation;
mod other_steps;
mod outsiders;
mod places;
mod policies;
mod published;
mod readme;
mod redaction;
mod refusals;
mod remembering;
mod retention;
mod settings_files;
mod shapes;
mod sharing;
mod steps;
mod support;
mod told;
mod tool_calls;
mod tour;
mod training;
mod transcripts;
mod undoing;
mod workspaces;
