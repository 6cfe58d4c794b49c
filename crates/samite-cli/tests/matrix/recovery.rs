//! What a harness does after a crash, and what a person does who is asked.

use crate::place::{Place, text};
use serde_json::Value;
use std::time::Duration;

/// How often to look again while something ends or is too early to tell.
const LOOKS: usize = 600;

/// Recovers until nothing is left to decide or to wait for. A person who is asked says what is true.
pub(crate) fn recover(place: &Place, session: &str, asks: &mut usize, truth: impl Fn() -> bool) -> Value {
    for _ in 0..LOOKS {
        let did = place.run(&["recover", session]);
        if did.status == 4 && did.code() == "lease_held" {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let recovered = did.json();
        if recovered["clear"] == true {
            return recovered;
        }
        answer(place, session, &recovered, asks, &truth);
    }
    panic!("recovery does not come to an end: {}", place.json(&["recover", session, "--plan"]));
}

/// Does what stands in the way of a call: waits, or has a person decide.
pub(crate) fn settle(place: &Place, session: &str, asks: &mut usize, truth: impl Fn() -> bool) {
    let did = place.run(&["recover", session, "--plan"]);
    if did.status == 0 {
        answer(place, session, &did.json(), asks, &truth);
    }
}

fn answer(place: &Place, session: &str, recovered: &Value, asks: &mut usize, truth: &impl Fn() -> bool) {
    for step in recovered["steps"].as_array().unwrap() {
        match text(step, "/decision").as_str() {
            "wait" => std::thread::sleep(Duration::from_millis(250)),
            "busy" => std::thread::sleep(Duration::from_millis(20)),
            "ask" => {
                *asks += 1;
                // What is on its way arrives before a person has looked.
                std::thread::sleep(Duration::from_millis(100));
                let what = if truth() { "--happened" } else { "--did-not" };
                let id = text(step, "/step/id");
                let did = place.run(&["step", "resolve", session, &id, what, "--note", "looked"]);
                assert_eq!(did.status, 0, "{did:?}");
            }
            _ => {}
        }
    }
}
