//! The command as people and harnesses use it: the built binary, on stores of its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::format_push_string,
    reason = "a test fails where it stands, and looks at what the command left behind"
)]

mod bad_input;
mod errors;
mod help;
mod journals;
mod readme;
mod steps;
mod support;
mod tour;
mod workspaces;
