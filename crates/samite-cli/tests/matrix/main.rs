//! The kill matrix: SIGKILL at every named point of what samite does, of samite alone, of its process group, of its
//! supervisor, and of both, over real outside worlds; then recovery, and the count of what really happened.
//!
//! `SAMITE_MATRIX=full` runs every cell instead of a sample, `SAMITE_MATRIX=N` so many of all that a seed draws;
//! `SAMITE_MATRIX_SEED=N` draws another sample;
//! `SAMITE_MATRIX_ONLY=TEXT` runs only the cells whose name contains the text, `SAMITE_MATRIX_TIMES=N` each of them so
//! often. The table is also written to `target/kill-matrix.txt`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::format_push_string,
    reason = "a test fails where it stands, and looks at what the command left behind"
)]

mod agent;
mod append;
mod artifact;
mod cadence;
mod cell;
mod close;
mod decided;
mod gc;
mod half;
mod hold;
mod hooks;
mod http;
mod leaving;
mod mcp;
mod merge;
mod once;
mod outside;
mod place;
mod rebuild;
mod recovery;
mod report;
mod restore;
mod run;
mod sample;
mod script;
mod shells;
mod step;
mod tree;
#[path = "../common/witness.rs"]
mod witness;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        // The programs of the outside worlds are this same program.
        ["__mcp-server", rest @ ..] => return mcp::serve(rest),
        ["__mcp-call", rest @ ..] => return mcp::call(rest),
        ["__http", rest @ ..] => return http::request(rest),
        ["__agent", rest @ ..] => return agent::main(rest),
        _ => {}
    }
    // What test runners ask of a test program without the usual harness.
    if words.contains(&"--list") {
        if !words.contains(&"--ignored") {
            println!("kill_matrix: test");
        }
        return ExitCode::SUCCESS;
    }
    let asked = words.iter().filter(|word| !word.starts_with('-')).all(|filter| "kill_matrix".contains(filter));
    if !asked || words.contains(&"--ignored") {
        return ExitCode::SUCCESS;
    }
    run::all()
}
