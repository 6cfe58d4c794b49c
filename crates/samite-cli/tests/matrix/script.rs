//! A script of steps of one tool that is cut off in one of them and starts again from the top.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::outside::{Declared, On, World};
use crate::place::{Place, text};
use crate::recovery::{recover, settle};
use serde_json::Value;
use std::time::Duration;

/// How many steps a script has.
const STEPS: usize = 3;

/// A script of `step run`s on an outside world, cut off in its second.
pub(crate) struct Script(World);

impl Script {
    pub(crate) const ALL: [Self; 8] = {
        const fn script(on: On, effect: Declared) -> Script {
            Script(World { on, effect })
        }
        [
            script(On::Commit, Declared::Observable),
            script(On::Commit, Declared::Opaque),
            script(On::Line, Declared::Idempotent),
            script(On::Line, Declared::Contained),
            script(On::Line, Declared::Observable),
            script(On::Mcp, Declared::Keyed),
            script(On::Mcp, Declared::Opaque),
            script(On::Http, Declared::Keyed),
        ]
    };

    fn call(&self, place: &Place, session: &str, number: usize) -> Vec<String> {
        let key = format!("call-{number}");
        let mut arguments: Vec<String> = ["step", "run", session, "--key", &key].map(str::to_owned).to_vec();
        arguments.extend(self.0.arguments(place, &format!("thing number {number}.")));
        arguments
    }

    /// Calls until there is an answer.
    fn finish(&self, place: &Place, session: &str, number: usize, asks: &mut usize) -> Value {
        let arguments = self.call(place, session, number);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for _ in 0..600 {
            let did = place.run(&arguments);
            match (did.status, did.code().as_str()) {
                (0, _) => return did.json(),
                (4, "step_in_doubt") => settle(place, session, asks, || self.0.done(place) > 1),
                (4, "lease_held" | "step_busy") => std::thread::sleep(Duration::from_millis(20)),
                _ => panic!("step {number} of the script fails: {did:?}"),
            }
        }
        panic!("step {number} does not come to an end: {}", place.json(&["recover", session, "--plan"]));
    }
}

impl Scenario for Script {
    fn name(&self) -> String {
        format!("script {}", self.0.name().trim_start_matches("step "))
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
        vec![Call::Same, Call::RecoverSame]
    }

    fn run(&self, place: &Place, cut: &Cut, call: Call) -> Counts {
        let session = place.session();
        let acknowledged = vec![place.say(&session, "please do these things")];
        self.0.prepare(place, &session);
        let mut asks = 0;
        let first = self.finish(place, &session, 0, &mut asks);
        let second = self.call(place, &session, 1);
        let second: Vec<&str> = second.iter().map(String::as_str).collect();
        let told = cut.run(place, &second).filter(|did| did.status == 0).map(|did| did.json());
        place.write("crashed", b"");
        if call.recovers_first() {
            recover(place, &session, &mut asks, || self.0.done(place) > 1);
        }
        let mut answers: Vec<Value> = Vec::new();
        for number in 0..STEPS {
            answers.push(self.finish(place, &session, number, &mut asks));
            let answer = &answers[number];
            assert_eq!(text(answer, "/key"), format!("call-{number}"));
            assert_eq!(text(answer, "/outcome/kind"), "completed", "{answer}");
        }
        // What was acknowledged is what is answered, whatever else was in doubt meanwhile.
        assert_eq!((&answers[0]["answer"], &answers[0]["outcome"]), (&Value::from("replayed"), &first["outcome"]));
        if let Some(told) = told {
            assert_eq!((&answers[1]["answer"], &answers[1]["outcome"]), (&Value::from("replayed"), &told["outcome"]));
        }
        let done = self.0.done(place);
        for (number, answer) in answers.iter().enumerate() {
            let again = self.finish(place, &session, number, &mut asks);
            assert_eq!((&again["answer"], &again["outcome"]), (&Value::from("replayed"), &answer["outcome"]));
        }
        assert_eq!(self.0.done(place), done, "a replay has an effect");
        Counts {
            kills: cut.kills.get(),
            asks,
            doubled: if self.0.may_repeat() { 0 } else { done.saturating_sub(STEPS) },
            missing: STEPS.saturating_sub(done),
            lost: place.lost(&session, &acknowledged),
        }
    }
}
