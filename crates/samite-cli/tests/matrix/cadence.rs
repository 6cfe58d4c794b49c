//! Checkpoints that nobody asks for, and the thinning of old ones, cut off.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Place, noise, number, text};
use crate::tree::listing;
use serde_json::Value;
use std::collections::BTreeMap;

/// What is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnCadence {
    /// `checkpoint thin`.
    Thin,
    /// The collection after it.
    CollectThinned,
    /// `turn end`.
    Turn,
    /// `step run` of a command after which, by the cadence, a checkpoint is taken.
    StepEnd,
    /// `step run` of a command in whose middle one is.
    Amid,
}

impl OnCadence {
    pub(crate) const ALL: [Self; 5] = [Self::Thin, Self::CollectThinned, Self::Turn, Self::StepEnd, Self::Amid];
}

impl Scenario for OnCadence {
    fn name(&self) -> String {
        match self {
            Self::Thin => "thin",
            Self::CollectThinned => "gc of what was thinned",
            Self::Turn => "turn end",
            Self::StepEnd => "step, checkpoint at its end",
            Self::Amid => "step, checkpoint amid",
        }
        .to_owned()
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        match self {
            Self::Thin | Self::CollectThinned => thin(place, cut, *self == Self::CollectThinned),
            Self::Turn => turn(place, cut),
            Self::StepEnd => step(place, cut, &["--cadence", "step"]),
            // The first checkpoint is due at once, and then there are no bytes left for others.
            Self::Amid => step(place, cut, &["--max-bytes", "1"]),
        }
    }
}

/// A session that works in `work`.
fn session(place: &Place) -> String {
    let session = place.session();
    place.write("work/kept.txt", b"kept\n");
    place.json(&["workspace", "attach", &session, "work"]);
    session
}

/// The files of a checkpoint, in a directory of a fork.
fn files_at(place: &Place, session: &str, seq: u64, name: &str) -> BTreeMap<String, Vec<u8>> {
    place.json(&["fork", &format!("{session}@{seq}"), "--into", name]);
    listing(&place.path().join(name))
}

fn checkpoints(place: &Place, session: &str) -> Vec<Value> {
    place.json(&["checkpoint", "list", session])["checkpoints"].as_array().unwrap().clone()
}

fn thin(place: &Place, cut: &Cut, at_collection: bool) -> Counts {
    let session = session(place);
    let acknowledged = vec![place.say(&session, "first")];
    let mut taken = Vec::new();
    for (seed, label) in [(1, None), (2, Some("mine")), (3, None), (4, None)] {
        place.write("work/large.bin", &noise(seed, 300_000));
        place.write("work/small.bin", &noise(seed, 3_000));
        let mut arguments = vec!["checkpoint", &session, "--no-environment"];
        arguments.extend(label.into_iter().flat_map(|label| ["--label", label]));
        let seq = number(&place.json(&arguments), "/seq");
        taken.push((seq, listing(&place.path().join("work"))));
    }
    let thin = ["checkpoint", "thin", &session, "--all-for", "0s", "--hourly-for", "0s", "--yes"];
    let thinned = || checkpoints(place, &session).iter().map(|one| one["thinned"] == true).collect::<Vec<bool>>();
    if at_collection {
        place.json(&thin);
        cut.run(place, &["gc", "--yes"]);
    } else {
        cut.run(place, &thin);
        // All of it, or nothing.
        let now = thinned();
        assert!(now == [false; 4] || now == [true, false, true, false], "half of it: {now:?}");
        place.verify();
        place.json(&thin);
    }
    assert_eq!(thinned(), [true, false, true, false]);
    place.verify();
    place.json(&["gc", "--yes"]);
    assert_eq!(number(&place.json(&["gc", "--dry-run"]), "/plan/bytes"), 0);
    for (number, (seq, files)) in taken.iter().enumerate() {
        let at = format!("{session}@{seq}");
        if number % 2 == 0 {
            let did = place.run(&["workspace", "cat", &at, "small.bin"]);
            assert_eq!((did.status, did.code().as_str()), (3, "tree_collected"), "{did:?}");
        } else {
            assert!(files_at(place, &session, *seq, &format!("fork{number}")) == *files, "what is kept is not whole");
        }
    }
    // What went is not taken for stored any more.
    place.write("work/large.bin", &noise(1, 300_000));
    let again = number(&place.json(&["checkpoint", &session, "--no-environment"]), "/seq");
    assert!(files_at(place, &session, again, "again") == listing(&place.path().join("work")), "a later tree");
    Counts { kills: cut.kills.get(), lost: place.lost(&session, &acknowledged), ..Counts::default() }
}

fn turn(place: &Place, cut: &Cut) -> Counts {
    let session = session(place);
    let acknowledged = vec![place.say(&session, "do it")];
    place.write("work/large.bin", &noise(1, 300_000));
    let files = listing(&place.path().join("work"));
    let end = ["turn", "end", &session, "--dedupe", "turn-1"];
    cut.run(place, &end);
    let ended = place.json(&end);
    let kinds: Vec<String> = place.entries(&session).iter().map(|entry| text(entry, "/kind")).collect();
    // A turn and its tree are there together, once.
    assert_eq!(kinds, ["message", "tree", "turn_ended"]);
    assert_eq!((number(&ended, "/seq"), &place.json(&end)["duplicate"]), (3, &Value::Bool(true)));
    assert!(files_at(place, &session, 3, "other") == files, "the files of the turn");
    Counts { kills: cut.kills.get(), lost: place.lost(&session, &acknowledged), ..Counts::default() }
}

fn step(place: &Place, cut: &Cut, cadence: &[&str]) -> Counts {
    let session = session(place);
    place.json(&[&["session", "set", &session], cadence].concat());
    let acknowledged = vec![place.say(&session, "do it")];
    let run = ["step", "run", &session, "--key", "k", "--effect", "idempotent", "--cwd", "work", "--"];
    let run = [&run[..], &["sh", "-c", "echo done > done"]].concat();
    cut.run(place, &run);
    for _ in 0..600 {
        let did = place.run(&run);
        if did.code() != "lease_held" && did.code() != "step_busy" {
            assert_eq!(did.status, 0, "{did:?}");
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let steps = place.json(&["step", "list", &session]);
    // The attempt that was cut off may stand before it.
    let last = steps["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(text(last, "/state"), "completed");
    assert_eq!(place.read("work/done"), "done\n");
    place.verify();
    // Whatever was recorded of the files is whole, and there is something.
    let taken = checkpoints(place, &session);
    assert!(!taken.is_empty(), "no checkpoint");
    for (index, one) in taken.iter().enumerate() {
        let files = files_at(place, &session, number(one, "/seq"), &format!("fork{index}"));
        assert_eq!(files["kept.txt"], b"kept\n");
    }
    let is_at_the_end = taken.last().unwrap()["cause"] == "step_end";
    assert_eq!(is_at_the_end, cadence[0] == "--cadence");
    if is_at_the_end {
        let outcome = number(last, "/outcome/seq");
        assert_eq!(number(taken.last().unwrap(), "/seq") + 1, outcome, "in the commit of the outcome");
    }
    Counts {
        kills: cut.kills.get(),
        missing: usize::from(place.read("work/done").is_empty()),
        lost: place.lost(&session, &acknowledged),
        ..Counts::default()
    }
}
