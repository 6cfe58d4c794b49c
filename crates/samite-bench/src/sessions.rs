//! Guarded steps of 64 sessions at once, against a bare SQLite loop that commits a step of each at a time.

use crate::bare::{self, Bare};
use crate::steps::Chain;
use crate::store::Scratch;
use crate::table::{Row, Table, Target};
use crate::turns::{count, in_turns};
use crate::{Bench, together};
use samite_model::Result;

pub(crate) const SESSIONS: usize = 64;
/// The sessions' own work shares the cores with the ledger's.
const THREADS: usize = 2;
const ROUNDS: usize = 40;
const STEPS: usize = 4;
/// As for one session, where each step is a commit.
const WARM: usize = 20;

/// As many chains as there are sessions.
pub(crate) fn chains(ours: &Scratch) -> Result<Vec<Chain>> {
    (0..SESSIONS).map(|_| Ok(Chain::new(ours.session()?.1))).collect()
}

/// So many steps of each chain, all at once.
pub(crate) fn steps(chains: &mut [Chain], steps: usize) -> Result<()> {
    together::run(THREADS, chains.iter_mut().map(|chain| Box::pin(chain.steps(steps)) as _).collect())
}

/// What a profiler watches: steps, and nothing else.
pub(crate) fn only_steps(bench: &Bench, count: usize) -> Result<()> {
    let ours = Scratch::new(bench)?;
    steps(&mut chains(&ours)?, count)?;
    ours.close();
    Ok(())
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let ours = Scratch::new(bench)?;
    steps(&mut chains(&ours)?, WARM + ROUNDS * STEPS + 2)?;
    let captured = bare::chains(&ours.database())?;
    let directory = bench.directory()?;
    let mut limit = Bare::new(&directory.path().join("bare.db"), &ours.database(), captured)?;
    let mut chains = chains(&ours)?;
    steps(&mut chains, 1)?;
    limit.steps(WARM)?;
    let rounds = ROUNDS.min(limit.left() / STEPS);
    let (ours, other) = in_turns(rounds, |_| steps(&mut chains, STEPS), |_| limit.steps(STEPS))?;
    let rate = |seconds: f64| count(STEPS * SESSIONS) / seconds;
    table.row(&Row {
        name: "steps, 64 sessions / bare SQLite, 64 a commit",
        ours: rate(ours),
        other: rate(other),
        unit: "steps/s",
        ratio: other / ours,
        target: Target::AtLeast(0.6),
    });
    Ok(())
}
