use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
/// Where the tests' time begins, in nanoseconds since 1970.
const START: i64 = 1_700_000_000_000_000_000;

fn adaptive(loss: u64, permille: u32) -> Cadence {
    Cadence::Adaptive(Bounds { max_loss: loss * SECOND, max_overhead: permille, max_bytes: 1000 })
}

fn moment(boundary: Boundary, after: u64, costs: Option<Costs>) -> Moment {
    Moment { boundary, now: START + signed(after), costs, held: 0, changed: true }
}

fn costs(expected: u64, credit: i64) -> Costs {
    Costs { begun: START, duration: expected, expected, credit }
}

fn wait(nanoseconds: u64, why: Why) -> Decision {
    Decision::Wait { nanoseconds, why }
}

#[test]
fn fixed_cadences_take_one_at_their_boundaries_and_nowhere_else() {
    use Boundary::{StepEnd, Tick, TurnEnd};
    let never = wait(u64::MAX, Why::Cadence);
    for (cadence, boundary, right) in [
        (Cadence::Turn, TurnEnd, Decision::Take),
        (Cadence::Turn, StepEnd, never),
        (Cadence::Turn, Tick, never),
        (Cadence::Step, TurnEnd, Decision::Take),
        (Cadence::Step, StepEnd, Decision::Take),
        (Cadence::Step, Tick, never),
    ] {
        // Whatever it costs: who says each step means each.
        let dear = Some(costs(1000 * SECOND, -1_000_000_000_000));
        assert_eq!(decide(&cadence, &moment(boundary, 0, dear)), right, "{cadence:?} {boundary:?}");
    }
    let unchanged = Moment { changed: false, ..moment(TurnEnd, 0, None) };
    assert_eq!(decide(&Cadence::Turn, &unchanged), wait(60 * SECOND, Why::Unchanged));
}

#[test]
fn an_adaptive_cadence_decides_as_written_down() {
    use Boundary::{StepEnd, Tick, TurnEnd};
    let bounds = adaptive(60, 50);
    let second = i64::try_from(SECOND).unwrap();
    let table = [
        // Nothing is known: look.
        (moment(Tick, 0, None), Decision::Take),
        // One second costs twenty of waiting at 5 %.
        (moment(StepEnd, 10 * SECOND, Some(costs(SECOND, 0))), wait(10 * SECOND, Why::Overhead)),
        (moment(StepEnd, 20 * SECOND, Some(costs(SECOND, 0))), Decision::Take),
        (moment(StepEnd, 0, Some(costs(SECOND, second))), Decision::Take),
        (moment(StepEnd, 20 * SECOND, Some(costs(SECOND, -second))), wait(20 * SECOND, Why::Overhead)),
        // In the middle of a step only the bound counts: it is to be durable by then.
        (moment(Tick, 20 * SECOND, Some(costs(SECOND, 0))), wait(38 * SECOND + SECOND / 2, Why::Fresh)),
        (moment(Tick, 59 * SECOND, Some(costs(SECOND, 0))), Decision::Take),
        // Five seconds cannot be spent each minute: the overhead wins.
        (moment(Tick, 59 * SECOND, Some(costs(5 * SECOND, 0))), wait(41 * SECOND, Why::Overhead)),
        (moment(Tick, 100 * SECOND, Some(costs(5 * SECOND, 0))), Decision::Take),
        // A turn's end is owed for, but not without end.
        (moment(TurnEnd, 0, Some(costs(5 * SECOND, 0))), Decision::Take),
        (moment(TurnEnd, 0, Some(costs(5 * SECOND, -25 * second))), Decision::Take),
        (moment(TurnEnd, 0, Some(costs(5 * SECOND, -26 * second))), wait(20 * SECOND, Why::Overhead)),
        // Bytes are used up: turns alone.
        (Moment { held: 1000, ..moment(StepEnd, 0, None) }, wait(60 * SECOND, Why::Bytes)),
        (Moment { held: 1000, ..moment(Tick, 0, None) }, wait(60 * SECOND, Why::Bytes)),
        (Moment { held: 1000, ..moment(TurnEnd, 0, None) }, Decision::Take),
        (Moment { held: 999, ..moment(StepEnd, 0, None) }, Decision::Take),
        // A clock that was set back earns nothing and breaks nothing.
        (
            Moment { now: START - 5 * second, ..moment(StepEnd, 0, Some(costs(SECOND, 0))) },
            wait(20 * SECOND, Why::Overhead),
        ),
    ];
    for (moment, right) in table {
        assert_eq!(decide(&bounds, &moment), right, "{moment:?}");
    }
}

#[test]
fn costs_rise_at_once_and_are_forgotten_by_and_by() {
    // The first reads everything: it is owed to nobody, and says little of the next.
    let all = Costs::after(None, START, 40 * SECOND, 50);
    assert_eq!(all, Costs { begun: START, duration: 40 * SECOND, expected: 5 * SECOND, credit: 0 });
    let first = Costs { duration: 4 * SECOND, expected: 4 * SECOND, credit: -4_000_000_000, ..all };
    // A hundred seconds earn five, the next takes one of them.
    let second = Costs::after(Some(&first), START + 100_000_000_000, SECOND, 50);
    assert_eq!((second.expected, second.credit), (13 * SECOND / 4, 0));
    let third = Costs::after(Some(&second), START + 100_000_000_000, 9 * SECOND, 50);
    assert_eq!((third.expected, third.credit), (9 * SECOND, -9_000_000_000));
    // A night earns what ten minutes do.
    let morning = Costs::after(Some(&third), START + 40_000_000_000_000, SECOND, 50);
    assert_eq!(morning.credit, 29_000_000_000);
    // And no debt is larger.
    let dear = Costs::after(Some(&morning), morning.begun, 90 * SECOND, 50);
    assert_eq!(dear.credit, -30_000_000_000);
}

#[test]
fn bounds_that_contradict_each_other_say_what_is_kept() {
    let bounds = Bounds::default();
    assert_eq!(bounds.loss_kept(2 * SECOND), 60 * SECOND);
    assert_eq!(bounds.loss_kept(5 * SECOND), 105 * SECOND);
    assert_eq!(Bounds { max_overhead: 1, ..bounds }.loss_kept(u64::MAX), u64::MAX);
}

#[test]
fn names_are_those_that_are_stored() {
    for cause in Cause::ALL {
        assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
    }
    let stored = r#"{"begun":7,"duration":1,"expected":2,"credit":-3}"#;
    let costs = Costs { begun: 7, duration: 1, expected: 2, credit: -3 };
    assert_eq!(serde_json::to_string(&costs).unwrap(), stored);
    assert_eq!(serde_json::from_str::<Costs>(r#"{"newer":1}"#).unwrap(), Costs::default());
}

/// What a simulated branch came to.
#[derive(Debug, Default)]
struct Run {
    elapsed: u64,
    spent: u64,
    /// The longest time between the beginning of a snapshot and the end of the next, while steps ran.
    loss: u64,
    /// The longest time that one took.
    dearest: u64,
}

/// Steps one after the other: how long each takes, how long nothing is done after it, whether its turn ends, how long a
/// snapshot takes then.
fn simulate(cadence: &Cadence, steps: &[(u64, u64, bool, u64)]) -> Run {
    let mut run = Run::default();
    let mut now = START;
    let mut costs: Option<Costs> = None;
    let permille = match cadence {
        Cadence::Adaptive(bounds) => bounds.max_overhead,
        _ => 50,
    };
    for (work, idle, turn, snapshot) in steps {
        let end = now + signed(*work);
        let mut take = |at: &mut i64, costs: &mut Option<Costs>, worked: bool| {
            if let Some(before) = costs.as_ref().filter(|_| worked) {
                run.loss = run.loss.max(between(before.begun, *at) + snapshot);
            }
            *costs = Some(Costs::after(costs.as_ref(), *at, *snapshot, permille));
            run.spent += snapshot;
            run.dearest = run.dearest.max(*snapshot);
        };
        // What runs goes on while a snapshot is taken.
        let mut first = true;
        while now < end {
            match decide(cadence, &Moment { boundary: Boundary::Tick, now, costs, held: 0, changed: true }) {
                Decision::Take => {
                    take(&mut now, &mut costs, !first);
                    now += signed((*snapshot).max(1));
                }
                Decision::Wait { nanoseconds, .. } => now = end.min(now.saturating_add(signed(nanoseconds.max(1)))),
            }
            first = false;
        }
        let boundary = if *turn { Boundary::TurnEnd } else { Boundary::StepEnd };
        if decide(cadence, &Moment { boundary, now, costs, held: 0, changed: true }) == Decision::Take {
            take(&mut now, &mut costs, true);
            now += signed(*snapshot);
        }
        now += signed(*idle);
    }
    run.elapsed = between(START, now);
    run
}

fn steps(longest: u64) -> impl Strategy<Value = Vec<(u64, u64, bool, u64)>> {
    let step = (1..300 * SECOND, 0..30 * SECOND, prop::bool::weighted(0.1), 1..longest);
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The overhead is kept whatever a snapshot costs, but for the first, the dearest, and what turns may owe.
    #[test]
    fn the_overhead_is_kept(permille in 1_u32..500, loss in 1_u64..600, steps in steps(20 * SECOND)) {
        let run = simulate(&adaptive(loss, permille), &steps);
        let allowed = share(run.elapsed, permille) + share(HORIZON, permille) + 2 * signed(run.dearest);
        prop_assert!(signed(run.spent) <= allowed, "{run:?}");
    }

    /// So is the loss within a step that goes on, where the two do not contradict each other.
    #[test]
    fn the_loss_is_kept_while_a_step_runs(cost in 1_u64..2_700_000_000, work in 60 * SECOND..7200 * SECOND) {
        let cadence = adaptive(60, 50);
        let run = simulate(&cadence, &[(work, 0, false, cost)]);
        prop_assert!(run.loss <= 60 * SECOND, "{run:?}");
        prop_assert!(signed(run.spent) <= share(run.elapsed, 50) + signed(cost), "{run:?}");
    }

    /// And where they do, it is what the overhead allows.
    #[test]
    fn a_contradiction_costs_no_more_loss_than_it_must(cost in SECOND..60 * SECOND, permille in 1_u32..200) {
        let Cadence::Adaptive(bounds) = adaptive(10, permille) else { unreachable!() };
        let run = simulate(&Cadence::Adaptive(bounds), &[(40_000 * SECOND, 0, false, cost)]);
        // The first is owed for, and a thousandth of a nanosecond is rounded up each time.
        prop_assert!(run.loss <= 2 * bounds.loss_kept(cost) + 1000, "{run:?}");
    }
}

#[test]
fn what_was_spent_is_told_of_the_time_that_went_by() {
    let spent = |snapshots: &[(i64, u64)]| Spent::by(snapshots.iter().copied());
    assert_eq!(spent(&[]).permille(), None);
    // The first alone is no part of anything.
    assert_eq!((spent(&[(0, 500)]), spent(&[(0, 500)]).permille()), (Spent::default(), None));
    let table = [
        (vec![(0, 500), (1400, 100)], 100, 1000, 100),
        (vec![(0, 500), (1400, 100), (2400, 100), (4000, 500)], 700, 4000, 175),
        // Nothing else was done.
        (vec![(0, 500), (500, 100), (600, 100)], 200, 200, 1000),
        // A clock that was set back takes no time away.
        (vec![(0, 500), (1400, 100), (900, 100)], 200, 1000, 200),
    ];
    for (snapshots, taken, of, permille) in table {
        let spent = spent(&snapshots);
        assert_eq!((spent, spent.permille()), (Spent { taken, of }, Some(permille)), "{snapshots:?}");
    }
    let both = spent(&[(0, 0), (900, 100)]).and(spent(&[(0, 0), (0, 1000)]));
    assert_eq!(both.permille(), Some(550));
    let most = Spent { taken: u64::MAX, of: 1 }.and(Spent { taken: 1, of: 0 });
    assert_eq!(most.permille(), Some(u64::MAX));
}
