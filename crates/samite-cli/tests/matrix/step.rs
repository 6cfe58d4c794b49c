//! A step that is cut off: the same call or a re-worded one after the crash, and the effect happens once.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::outside::World;
use crate::place::{Place, WriterIs, number, text};
use crate::recovery::{recover, settle};
use serde_json::Value;
use std::time::Duration;

/// The status of a call that was not run because another step was the same act.
const OTHER: i32 = 9;

/// `step run` on an outside world, by a writer.
pub(crate) struct Step(pub(crate) World, pub(crate) WriterIs);

/// What a model says first, and what it says when it is asked again: other words, another id.
const WORDS: [(&str, &str); 2] = [("call-1", "do the thing"), ("call-2", "please do that thing now")];

impl Step {
    fn call(&self, place: &Place, session: &str, (key, words): (&str, &str)) -> Vec<String> {
        let mut arguments: Vec<String> = ["step", "run", session, "--key", key].map(str::to_owned).to_vec();
        arguments.extend(self.0.arguments(place, words));
        arguments
    }

    /// Brings the step to its end as a harness does. A model is asked again where the log has no answer for it: a result that
    /// the step's own call recorded is one, and what a recovery or a person found out afterwards is not.
    fn finish(&self, place: &Place, session: &str, call: Call, asks: &mut usize) -> Value {
        let arguments = self.call(place, session, WORDS[usize::from(call.is_reworded())]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for _ in 0..600 {
            if call.is_reworded()
                && let Some(done) = completed(place, session).filter(|done| done["settled_by"].is_null())
            {
                return done;
            }
            let did = place.run(&arguments);
            match (did.status, did.code().as_str()) {
                (0, _) => return did.json()["outcome"].clone(),
                // Other words for what happened: it is not run, and the answer is the outcome of what happened. Calling again
                // does not do it either.
                (OTHER, _) if call.is_reworded() => {
                    let answer: Value = serde_json::from_str(&did.out).unwrap();
                    let again = place.run(&arguments);
                    assert_eq!((again.status, answer["answer"].as_str()), (OTHER, Some("other")), "{again:?}");
                    return answer["outcome"].clone();
                }
                (4, "step_in_doubt") => settle(place, session, asks, || self.0.done(place) > 0),
                (4, "lease_held" | "step_busy") => std::thread::sleep(Duration::from_millis(20)),
                _ => panic!("the call after the crash fails: {did:?}"),
            }
        }
        panic!("the step does not come to an end: {}", place.json(&["recover", session, "--plan"]));
    }
}

/// The outcome of the step that has one.
fn completed(place: &Place, session: &str) -> Option<Value> {
    let list = place.json(&["step", "list", session]);
    let steps = list["steps"].as_array().unwrap();
    steps.iter().find(|step| step["state"] == "completed").map(|step| step["outcome"].clone())
}

impl Scenario for Step {
    fn name(&self) -> String {
        match self.1 {
            WriterIs::Command => self.0.name(),
            WriterIs::Named => format!("{}, writer", self.0.name()),
            WriterIs::Living => format!("{}, living writer", self.0.name()),
        }
    }

    fn subject(&self) -> String {
        self.0.name()
    }

    fn parts(&self) -> Vec<String> {
        if self.1 != WriterIs::Command {
            return vec![format!("{:?}", self.1)];
        }
        vec![format!("{:?}", self.0.on), format!("{:?}", self.0.effect)]
    }

    fn may_ask(&self) -> bool {
        self.0.may_ask()
    }

    fn gates(&self) -> Vec<&'static str> {
        self.0.gates()
    }

    fn is_supervised(&self) -> bool {
        true
    }

    fn calls(&self) -> Vec<Call> {
        Call::ALL.to_vec()
    }

    fn run(&self, place: &Place, cut: &Cut, call: Call) -> Counts {
        place.write_as(self.1);
        let session = place.session();
        let mut acknowledged = vec![place.say(&session, "please do the thing")];
        self.0.prepare(place, &session);
        acknowledged.push(place.say(&session, "I shall call a tool"));
        let first = self.call(place, &session, WORDS[0]);
        let first: Vec<&str> = first.iter().map(String::as_str).collect();
        let did = cut.run(place, &first);
        place.write("crashed", b"");
        let mut asks = 0;
        if call.recovers_first() {
            recover(place, &session, &mut asks, || self.0.done(place) > 0);
        }
        let outcome = self.finish(place, &session, call, &mut asks);
        assert_eq!(outcome["kind"], "completed", "{outcome}");
        let done = self.0.done(place);
        assert!(self.0.is_right(place), "the world is not as it should be");
        // The effect that is known to have happened is answered from the log.
        let known = completed(place, &session).unwrap();
        assert_eq!(known, outcome, "a replay answers otherwise");
        let steps = place.json(&["step", "list", &session]);
        let key = steps["steps"].as_array().unwrap().iter().find(|step| step["state"] == "completed").unwrap();
        if text(key, "/key") == WORDS[0].0 {
            let again = place.json(&first.clone());
            assert_eq!((&again["answer"], &again["outcome"]), (&Value::from("replayed"), &outcome));
        }
        assert_eq!(self.0.done(place), done, "a replay has an effect");
        recover(place, &session, &mut asks, || done > 0);
        let mut lost = place.lost(&session, &acknowledged);
        if let Some(did) = did.filter(|did| did.status == 0) {
            // Samite lived on and answered: that answer is in the log.
            let position = number(&did.json(), "/outcome/seq");
            let entries = place.entries(&session);
            lost += usize::from(!entries.iter().any(|entry| {
                number(entry, "/seq") == position && entry["kind"].as_str().is_some_and(|kind| kind.starts_with("step"))
            }));
        }
        Counts {
            kills: cut.kills.get(),
            asks,
            doubled: if self.0.may_repeat() { 0 } else { done.saturating_sub(1) },
            missing: usize::from(done == 0),
            lost,
        }
    }
}
