//! Recoveries, answers of a person and other acts that are cut off and done again.

use crate::cell::{Call, Counts, Point, Scenario, Victim};
use crate::hold::{Cut, cut_off};
use crate::outside::{Declared, On, World};
use crate::place::{Place, programs, text};
use crate::recovery::recover;
use std::fs;

/// What is cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Once {
    /// `recover` of a step in doubt.
    Recover(World),
    /// `step run` of the same key, which runs a step in doubt again.
    RunAgain(World),
    /// `step resolve`.
    Resolve,
    /// A chain of steps in one process.
    Chain,
    /// `workspace attach`.
    Attach,
    /// `branch delete`.
    Delete,
    /// `backup`.
    Backup,
}

impl Scenario for Once {
    fn name(&self) -> String {
        match self {
            Self::Recover(world) => format!("recover {}", world.name().trim_start_matches("step ")),
            Self::RunAgain(world) => format!("again {}", world.name().trim_start_matches("step ")),
            Self::Resolve => "step resolve".to_owned(),
            Self::Chain => "chain of steps".to_owned(),
            Self::Attach => "workspace attach".to_owned(),
            Self::Delete => "branch delete".to_owned(),
            Self::Backup => "backup".to_owned(),
        }
    }

    fn may_ask(&self) -> bool {
        match self {
            Self::Recover(world) | Self::RunAgain(world) => world.may_ask(),
            _ => false,
        }
    }

    fn is_supervised(&self) -> bool {
        matches!(self, Self::RunAgain(_))
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        match self {
            Self::Recover(world) => in_doubt(place, cut, *world, true),
            Self::RunAgain(world) => in_doubt(place, cut, *world, false),
            Self::Resolve => resolve(place, cut),
            Self::Chain => chain(place, cut),
            Self::Attach | Self::Delete | Self::Backup => self.upkeep(place, cut),
        }
    }
}

/// A step is cut off; then what settles it is cut off; then it is settled.
fn in_doubt(place: &Place, cut: &Cut, world: World, by_recover: bool) -> Counts {
    let session = place.session();
    let acknowledged = vec![place.say(&session, "please")];
    world.prepare(place, &session);
    let mut arguments: Vec<String> = ["step", "run", &session, "--key", "k"].map(str::to_owned).to_vec();
    arguments.extend(world.arguments(place, "do the thing"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Half-way where there is such a moment, else before the effect: then it must be run again.
    let moment = world.gates().into_iter().find(|gate| *gate == "effect.half").unwrap_or("effect.before");
    let moment = if world.effect == Declared::Keyed { "effect.after" } else { moment };
    cut_off(place, place.command(&arguments), &Point::Gate(moment), Victim::Samite);
    let mut asks = 0;
    if by_recover {
        cut.run(place, &["recover", &session]);
    } else {
        cut.run(place, &arguments);
    }
    recover(place, &session, &mut asks, || world.done(place) > 0);
    let mut outcome = place.run(&arguments);
    // A lease of a process that just died, or a probe that waits for what was sent to arrive.
    for _ in 0..600 {
        if outcome.status == 0 {
            break;
        }
        assert_eq!(outcome.status, 4, "{outcome:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
        recover(place, &session, &mut asks, || world.done(place) > 0);
        outcome = place.run(&arguments);
    }
    assert_eq!(outcome.json()["outcome"]["kind"], "completed");
    assert!(world.is_right(place), "the world is not as it should be");
    let done = world.done(place);
    Counts {
        kills: cut.kills.get(),
        asks,
        doubled: if world.may_repeat() { 0 } else { done.saturating_sub(1) },
        missing: usize::from(done == 0),
        lost: place.lost(&session, &acknowledged),
    }
}

fn resolve(place: &Place, cut: &Cut) -> Counts {
    let world = World { on: On::Line, effect: Declared::Opaque };
    let session = place.session();
    let acknowledged = vec![place.say(&session, "please")];
    world.prepare(place, &session);
    let mut arguments: Vec<String> = ["step", "run", &session, "--key", "k"].map(str::to_owned).to_vec();
    arguments.extend(world.arguments(place, "do the thing"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    cut_off(place, place.command(&arguments), &Point::Gate("effect.after"), Victim::Samite);
    // Ends what still runs.
    place.json(&["recover", &session, "--plan"]);
    let resolve = ["step", "resolve", &session, "k", "--happened", "--note", "seen"];
    cut.run(place, &resolve);
    // The person says it again, unless the log has it already.
    if place.json(&["step", "list", &session])["steps"][0]["state"] != "completed" {
        place.json(&resolve);
    }
    assert_eq!(place.json(&arguments)["answer"], "replayed");
    let done = world.done(place);
    Counts {
        kills: cut.kills.get(),
        doubled: done.saturating_sub(1),
        missing: usize::from(done == 0),
        lost: place.lost(&session, &acknowledged),
        ..Counts::default()
    }
}

fn chain(place: &Place, cut: &Cut) -> Counts {
    let session = place.session();
    let acknowledged = vec![place.say(&session, "please")];
    place.write("effects", b"");
    let harness = || {
        let mut harness = place.program(&programs().world, &place.path());
        harness.args(["__agent", "chain", &session]);
        harness
    };
    cut.run_command(place, harness());
    let output = harness().output().unwrap();
    assert!(output.status.success(), "the harness that starts again: {}", String::from_utf8_lossy(&output.stderr));
    let effects = place.read("effects");
    let times = |number: usize| effects.lines().filter(|line| *line == crate::agent::words(number)).count();
    let steps = place.json(&["step", "list", &session]);
    let steps = steps["steps"].as_array().unwrap();
    let completed = |key: &String| steps.iter().any(|step| step["key"] == **key && step["state"] == "completed");
    let keys: Vec<String> = crate::agent::acknowledged(place).into_iter().map(|(_, key)| key).collect();
    assert!((0..crate::agent::STEPS).all(|number| completed(&format!("step-{number}"))), "{steps:?}");
    Counts {
        kills: cut.kills.get(),
        doubled: (0..crate::agent::STEPS).map(|number| times(number).saturating_sub(1)).sum(),
        missing: (0..crate::agent::STEPS).filter(|number| times(*number) == 0).count(),
        lost: place.lost(&session, &acknowledged) + keys.iter().filter(|key| !completed(key)).count(),
        ..Counts::default()
    }
}

impl Once {
    fn upkeep(self, place: &Place, cut: &Cut) -> Counts {
        let session = place.session();
        let mut acknowledged = vec![place.say(&session, "first"), place.say(&session, "second")];
        let branch = format!("{session}:{}", text(&place.json(&["fork", &session]), "/id"));
        place.json(&["append", &branch, "--text", "elsewhere"]);
        place.write("work/a.txt", b"one");
        let arguments: Vec<&str> = match self {
            Self::Attach => vec!["workspace", "attach", &session, "work"],
            Self::Delete => vec!["branch", "delete", &branch, "--yes"],
            _ => vec!["backup", "copy"],
        };
        cut.run(place, &arguments);
        match self {
            Self::Attach => {
                place.json(&arguments);
                place.json(&["checkpoint", &session, "--no-environment"]);
            }
            Self::Delete => {
                let did = place.run(&arguments);
                assert!(matches!(did.status, 0 | 3 | 4), "{did:?}");
                let list = place.json(&["branch", "list", &session]);
                let open = list["branches"].as_array().unwrap().iter().filter(|branch| branch["deleted"] != true);
                assert!(open.count() <= 2, "{list}");
            }
            _ => {
                let mut whole = "copy";
                if fs::exists(place.path().join("copy")).unwrap() {
                    let did = place.run(&["--store", "copy", "verify"]);
                    // Half of a backup does not pass for one.
                    if did.status != 0 {
                        place.json(&["backup", "second"]);
                        whole = "second";
                    }
                } else {
                    place.json(&arguments);
                }
                let copied = place.run(&["--store", whole, "read", &session]);
                assert!(copied.out.contains("first") && copied.out.contains("second"), "{copied:?}");
            }
        }
        acknowledged.push(place.say(&session, "third"));
        Counts { kills: cut.kills.get(), lost: place.lost(&session, &acknowledged), ..Counts::default() }
    }
}
