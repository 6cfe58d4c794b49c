//! Counts the syncs of a step, as strace sees them.

use crate::Bench;
use crate::steps::Chain;
use crate::store::Scratch;
use crate::table::{Row, Table, Target};
use crate::turns::count;
use futures_lite::future::block_on;
use samite_host::files;
use samite_model::{Error, Result};
use std::process::{Command, Stdio};

const STEPS: usize = 400;
const CALLS: [&str; 4] = ["fsync(", "fdatasync(", "sync_file_range(", "msync("];

/// What the child does: steps, and nothing else.
pub(crate) fn only_steps(bench: &Bench, steps: usize) -> Result<()> {
    let ours = Scratch::new(bench)?;
    let mut chain = Chain::new(ours.session()?.1);
    block_on(chain.steps(steps))?;
    ours.close();
    Ok(())
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        table.skip("syncs a step: there is no strace");
        return Ok(());
    }
    // What opening and closing need is in both.
    let (few, many) = (syncs(bench, 1)?, syncs(bench, STEPS + 1)?);
    let ratio = count(many.saturating_sub(few)) / count(STEPS);
    table.row(&Row {
        name: "syncs a step, one session",
        ours: ratio,
        other: 1.0,
        unit: "syncs",
        ratio,
        target: Target::AtMost(1.1),
    });
    Ok(())
}

fn syncs(bench: &Bench, steps: usize) -> Result<usize> {
    let failed = |error: std::io::Error| Error::unavailable("no_strace", "strace cannot be run").because(error);
    let directory = bench.directory()?;
    let log = directory.path().join("strace.log");
    let program = std::env::current_exe().map_err(failed)?;
    let status = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o"])
        .arg(&log)
        .arg(program)
        .args(["--only-steps", &steps.to_string(), "--scratch"])
        .arg(directory.path())
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(Error::unavailable("no_strace", format!("strace ended with {status}")));
    }
    let text = files::read(&log)?;
    let text = String::from_utf8_lossy(&text);
    // A call that another thread interrupts has a second line without its name and bracket.
    Ok(text.lines().filter(|line| CALLS.iter().any(|call| line.contains(call))).count())
}
