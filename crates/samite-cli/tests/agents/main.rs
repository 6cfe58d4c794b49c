//! The real Codex CLI and Gemini CLI, driven by a scripted model: they edit files, run shell commands, commit and push, with
//! samite's hooks set up by `samite init`; they, a hook or samite itself is killed in between; then recovery, rewind and
//! fork, and the agent itself goes on from the new branch. `./test` installs the agents; without them these tests say that they are
//! skipped.

mod codex;
#[path = "../common/did.rs"]
mod did;
mod gemini;
mod killed;
mod model;
mod place;
mod tree;
