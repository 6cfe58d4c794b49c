//! Measuring in turns, and medians.

use samite_host::{Clock, SystemClock};
use samite_model::Result;

/// Seconds that something takes.
pub(crate) fn seconds(act: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = SystemClock.now();
    act()?;
    Ok(since(began))
}

/// Seconds since a time of the clock.
pub(crate) fn since(began: i64) -> f64 {
    count(SystemClock.now().saturating_sub(began)) / 1e9
}

/// Medians of the seconds that two acts take in turns.
pub(crate) fn in_turns(
    rounds: usize,
    mut ours: impl FnMut(usize) -> Result<()>,
    mut other: impl FnMut(usize) -> Result<()>,
) -> Result<(f64, f64)> {
    let (mut first, mut second) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for round in 0..rounds {
        // Who goes first changes too: what one leaves for the disk to do, the next would pay.
        if round % 2 == 0 {
            first.push(seconds(|| ours(round))?);
            second.push(seconds(|| other(round))?);
        } else {
            second.push(seconds(|| other(round))?);
            first.push(seconds(|| ours(round))?);
        }
    }
    Ok((median(&mut first), median(&mut second)))
}

/// The median.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A count as a number to divide.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]
pub(crate) fn count(value: impl TryInto<i64>) -> f64 {
    value.try_into().unwrap_or(i64::MAX) as f64
}
