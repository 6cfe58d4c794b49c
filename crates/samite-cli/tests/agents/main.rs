//! The real Codex CLI and Gemini CLI, driven by a scripted model: they edit files, run shell commands, commit and push, with
//! samite's hooks set up by `samite init`; they, a hook or samite itself is killed in between; then recovery, rewind and
//! fork, and the agent itself goes on from the new branch. `./test` installs the agents; without them these tests say that they are
//! skipped.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test fails where it stands, looks at what the command left behind, and says what it skips"
)]

mod codex;
#[path = "../common/did.rs"]
#[expect(dead_code, reason = "other tests look at what a command says beside its answer")]
mod did;
mod gemini;
mod killed;
mod model;
mod place;
mod tree;
