//! Guarded steps of one session, against a bare SQLite commit of the same rows.

use crate::Bench;
use crate::bare::{self, Bare};
use crate::store::Scratch;
use crate::table::{Row, Table, Target};
use crate::turns::{in_turns, median, since};
use futures_lite::future::block_on;
use samite::{Begin, Completion, NewStep, StepHandle, Writer};
use samite_host::{Clock as _, SystemClock};
use samite_model::{Error, Result};
use serde_json::json;

/// What a step puts out: as many bytes as the peers' steps do.
const OUTPUT: usize = 100;
const ROUNDS: usize = 120;
const STEPS: usize = 16;
/// Enough for SQLite's log to have been folded and begun again, so that both write over a log that has its size.
const WARM: usize = 600;

/// A chain of guarded steps on one branch.
pub(crate) struct Chain {
    writer: Writer,
    open: Option<StepHandle>,
    next: usize,
    output: String,
    /// How many seconds each step took.
    pub(crate) took: Vec<f64>,
}

impl Chain {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, open: None, next: 0, output: "x".repeat(OUTPUT), took: Vec::new() }
    }

    /// Ends the open step and begins the next, so many times.
    pub(crate) async fn steps(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            let new = NewStep::new(
                format!("s{}", self.next),
                "Bash",
                json!({ "command": format!("make part-{}", self.next), "timeout": 120_000 }),
            );
            self.next += 1;
            let completion = Completion::completed(json!({ "stdout": self.output, "status": 0 }));
            // As the bare loop has its rows, the caller has its words.
            let start = SystemClock.now();
            let begun = match &self.open {
                Some(open) => self.writer.complete_and_begin(open, &completion, &new).await?,
                None => self.writer.begin(&new).await?,
            };
            let Begin::Run(handle) = begun else {
                return Err(Error::internal("not_run", format!("step {} was not to be run", new.key)));
            };
            self.open = Some(handle);
            self.took.push(since(start));
        }
        Ok(())
    }
}

/// What a profiler watches: steps, and the bare loop over what they left.
pub(crate) fn only_bare(bench: &Bench, count: usize) -> Result<()> {
    let ours = Scratch::new(bench)?;
    block_on(Chain::new(ours.session()?.1).steps(count + 2))?;
    let chains = bare::chains(&ours.database())?;
    let directory = bench.directory()?;
    let mut limit = Bare::new(&directory.path().join("bare.db"), &ours.database(), chains)?;
    ours.close();
    limit.steps(count)
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let ours = Scratch::new(bench)?;
    let mut first = Chain::new(ours.session()?.1);
    // What these leave is what the bare loop inserts.
    block_on(first.steps(WARM + ROUNDS * STEPS + 2))?;
    let chains = bare::chains(&ours.database())?;
    let directory = bench.directory()?;
    let mut limit = Bare::new(&directory.path().join("bare.db"), &ours.database(), chains)?;
    let mut chain = Chain::new(ours.session()?.1);
    block_on(chain.steps(1))?;
    limit.steps(WARM)?;
    let rounds = ROUNDS.min(limit.left() / STEPS);
    (chain.took, limit.took) = (Vec::new(), Vec::new());
    in_turns(rounds, |_| block_on(chain.steps(STEPS)), |_| limit.steps(STEPS))?;
    // The median step, since some of the syncs wait for what others write.
    let (ours, other) = (median(&mut chain.took), median(&mut limit.took));
    table.row(&Row {
        name: &format!("steps, one session / bare SQLite ({:.0} B a step)", limit.bytes_a_step()),
        ours: 1.0 / ours,
        other: 1.0 / other,
        unit: "steps/s",
        ratio: other / ours,
        target: Target::AtLeast(0.85),
    });
    Ok(())
}
