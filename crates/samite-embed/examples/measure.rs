//! How long the built-in encoder takes: `cargo run --release -p samite-embed --example measure [THREADS]`.

use samite_embed::{Builtin, Embedder, Side};
use samite_host::{Clock, SystemClock};
use samite_model::Result;
use std::num::NonZeroUsize;

/// The middle and the best of so many runs, in milliseconds.
fn times(runs: usize, mut work: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
    let mut taken = Vec::with_capacity(runs);
    for _ in 0..runs {
        let begin = SystemClock.now();
        work()?;
        taken.push(SystemClock.now() - begin);
    }
    taken.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "it is far from 2^53 nanoseconds")]
    let milliseconds = |nanoseconds: Option<&i64>| nanoseconds.map_or(0.0, |time| *time as f64 / 1e6);
    Ok((milliseconds(taken.get(runs / 2)), milliseconds(taken.first())))
}

#[expect(clippy::print_stdout, reason = "it is run by hand")]
fn main() -> Result<()> {
    let threads = std::env::args().nth(1).and_then(|threads| threads.parse().ok()).unwrap_or(NonZeroUsize::MIN);
    let encoder = Builtin::new(threads)?;
    println!("{threads} threads");
    let short = "Which café did Ana want to meet at?";
    let (first, _) = times(1, || encoder.embed(&[short], Side::Query).map(drop))?;
    println!("load and first text  {first:8.2} ms");
    let row = |what: &str, texts: usize, (middle, best): (f64, f64)| {
        let texts = f64::from(u32::try_from(texts).unwrap_or(u32::MAX));
        println!("{what}  {:8.2} ms a text (best {:.2})", middle / texts, best / texts);
    };
    row("a short text alone ", 1, times(100, || encoder.embed(&[short], Side::Query).map(drop))?);
    let turn = "I went to the new café near the station with Ana last Friday, and we talked about her trip to Lisbon. ";
    row("a turn alone       ", 1, times(50, || encoder.embed(&[turn], Side::Query).map(drop))?);
    row("64 turns together  ", 64, times(5, || encoder.embed(&[turn; 64], Side::Passage).map(drop))?);
    let long = turn.repeat(12);
    row("a long text alone  ", 1, times(10, || encoder.embed(&[&long], Side::Passage).map(drop))?);
    Ok(())
}
