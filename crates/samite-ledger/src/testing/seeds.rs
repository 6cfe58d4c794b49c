//! Many seeds in a test, and one again.

use std::ops::Range;

/// The environment variable that names the seeds to run: one, or a range `FIRST..END`.
pub const SEED_VARIABLE: &str = "SAMITE_SEED";

/// The seeds that a text names.
fn parse(text: &str) -> Option<Range<u64>> {
    if let Some((first, end)) = text.split_once("..") {
        return Some(first.parse().ok()?..end.parse().ok()?);
    }
    let seed: u64 = text.parse().ok()?;
    Some(seed..seed.checked_add(1)?)
}

/// Runs a simulation for each seed of a range, or for those that the environment variable `SAMITE_SEED` names.
/// Panics at the first that fails, with the seed and how to run it again.
///
/// # Panics
/// When a seed fails, or the variable holds no seeds.
pub fn for_seeds(seeds: Range<u64>, mut run: impl FnMut(u64) -> Result<(), String>) {
    let named = std::env::var(SEED_VARIABLE).ok().map(|text| match parse(&text) {
        Some(seeds) => seeds,
        None => panic!("{SEED_VARIABLE}={text} is neither a seed nor a range of seeds FIRST..END"),
    });
    for seed in named.unwrap_or(seeds) {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(seed)));
        let again = format!("run it again with {SEED_VARIABLE}={seed}");
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => panic!("seed {seed} failed: {error}\n{again}"),
            Err(cause) => {
                let text = cause.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("as told above");
                panic!("seed {seed} panicked: {text}\n{again}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_or_a_range() {
        assert_eq!(parse("7"), Some(7..8));
        assert_eq!(parse("7..9"), Some(7..9));
        for text in ["", "x", "7..", "18446744073709551615"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    #[should_panic(expected = "seed 3 failed: it is three\nrun it again with SAMITE_SEED=3")]
    fn a_failing_seed_is_named() {
        for_seeds(0..9, |seed| if seed == 3 { Err("it is three".to_owned()) } else { Ok(()) });
    }
}
