//! Which checkpoints are kept when old ones are thinned out: all of the last hour, one an hour for a day, one a day after.
//!
//! Hours and days are those of the clock (UTC), and the newest of each is kept: so it makes no difference how often it is
//! done, and what was kept once goes only by a coarser rule. Newer is by position, never by time.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A checkpoint of one branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// When it was taken, in nanoseconds since 1970.
    pub time: i64,
    /// Whether something needs it: a fork, a merge, an open step, an artifact, a person's word.
    pub needed: bool,
}

/// How long which are kept, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Younger ones are all kept.
    pub all_for: u64,
    /// Of those that are younger, one an hour; of the others one a day.
    pub hourly_for: u64,
}

const HOUR: i64 = 3_600_000_000_000;
const DAY: i64 = 24 * HOUR;

impl Default for Rule {
    fn default() -> Self {
        Self { all_for: 3_600_000_000_000, hourly_for: 86_400_000_000_000 }
    }
}

/// Which checkpoints of a branch are kept, given in the order of their positions.
#[must_use]
pub fn keep(rule: &Rule, now: i64, checkpoints: &[Candidate]) -> Vec<bool> {
    let mut kept = vec![false; checkpoints.len()];
    let mut hours: HashSet<i64> = HashSet::new();
    let mut days: HashSet<i64> = HashSet::new();
    let newest_first = checkpoints.iter().zip(&mut kept).rev().enumerate();
    for (place, (checkpoint, keep)) in newest_first {
        // One from the future is young: clocks are set back.
        let age = u64::try_from(now.saturating_sub(checkpoint.time)).unwrap_or(0);
        let (hour, day) = (checkpoint.time.div_euclid(HOUR), checkpoint.time.div_euclid(DAY));
        let (newest_of_hour, newest_of_day) = (hours.insert(hour), days.insert(day));
        *keep = place == 0
            || checkpoint.needed
            || age < rule.all_for
            || (age < rule.hourly_for && newest_of_hour)
            || newest_of_day;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A day's beginning.
    const NOON: i64 = 20_000 * DAY;
    const MINUTE: i64 = HOUR / 60;

    fn at(time: i64) -> Candidate {
        Candidate { time, needed: false }
    }

    #[test]
    fn all_of_an_hour_one_an_hour_for_a_day_and_one_a_day_after() {
        let now = NOON + 12 * HOUR;
        let table = [
            // The day before yesterday: the last of the day.
            (now - 50 * HOUR, false),
            (now - 49 * HOUR, false),
            (now - 37 * HOUR, true),
            // Yesterday, longer ago than a day.
            (NOON - 20 * HOUR, false),
            (NOON - 13 * HOUR, false),
            // Yesterday, within a day: the last of each hour.
            (NOON - 10 * HOUR, false),
            (NOON - 10 * HOUR + 59 * MINUTE, true),
            (NOON - MINUTE, true),
            // Today.
            (now - 3 * HOUR, false),
            (now - 3 * HOUR + MINUTE, true),
            // Two hours ago and just past the hour that is kept whole.
            (now - 61 * MINUTE, false),
            // The last hour.
            (now - 59 * MINUTE, true),
            (now - 2, true),
            (now - 1, true),
        ];
        let checkpoints: Vec<Candidate> = table.iter().map(|(time, _)| at(*time)).collect();
        let mut right: Vec<bool> = table.iter().map(|(_, kept)| *kept).collect();
        // 10:59 is the last one of its hour.
        right[10] = true;
        assert_eq!(keep(&Rule::default(), now, &checkpoints), right);
    }

    #[test]
    fn the_newest_by_position_and_what_is_needed_stay_whatever_their_time() {
        let old = NOON - 100 * DAY;
        let checkpoints = [at(old + 3), Candidate { needed: true, ..at(old) }, at(old + 1), at(old + 5), at(old + 2)];
        assert_eq!(keep(&Rule::default(), NOON, &checkpoints), [false, true, false, false, true]);
        assert_eq!(keep(&Rule::default(), NOON, &[at(old)]), [true]);
        assert_eq!(keep(&Rule::default(), NOON, &[]), [false; 0]);
        // From the future.
        assert_eq!(keep(&Rule::default(), NOON, &[at(NOON + DAY), at(NOON + DAY)]), [true, true]);
        let nothing = Rule { all_for: 0, hourly_for: 0 };
        assert_eq!(keep(&nothing, NOON, &[at(NOON - 2), at(NOON - 1)]), [false, true]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// Thinning twice, or first sooner and then later, leaves what thinning once does.
        #[test]
        fn it_makes_no_difference_how_often_it_is_done(
            ages in prop::collection::vec((0..10 * DAY, prop::bool::weighted(0.1)), 0..60),
            later in 0..5 * DAY,
        ) {
            let mut ages = ages;
            ages.sort_by_key(|(age, _)| -age);
            let all: Vec<Candidate> =
                ages.iter().map(|(age, needed)| Candidate { time: NOON - age, needed: *needed }).collect();
            let thinned = |now: i64, from: &[Candidate]| -> Vec<Candidate> {
                let kept = keep(&Rule::default(), now, from);
                from.iter().zip(kept).filter(|(_, kept)| *kept).map(|(one, _)| *one).collect()
            };
            let once = thinned(NOON, &all);
            prop_assert_eq!(thinned(NOON, &once), once.clone());
            prop_assert_eq!(thinned(NOON + later, &once), thinned(NOON + later, &all));
            // From any moment on, the next kept one is at most a day away, or an hour while that is young.
            for one in &all {
                let next = once.iter().find(|kept| kept.time >= one.time).unwrap();
                let most = if NOON - one.time < DAY { HOUR } else { DAY };
                prop_assert!(next.time - one.time < most);
            }
        }
    }
}
