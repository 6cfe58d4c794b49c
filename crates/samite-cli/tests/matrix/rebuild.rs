//! Views that are gone are made again, and that is cut off.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::outside::{Declared, On, World};
use crate::place::{Did, Place, number, text};
use samite::embedded::{Embedded, EmbeddedOptions, FileMaster};
use samite_host::SystemRandomness;
use samite_ledger::{Generation, JournalFilter, Ledger as _};
use samite_model::Tenant;
use serde_json::Value;
use std::sync::Arc;

/// `verify --rebuild`.
pub(crate) struct Rebuild;

/// The status of a command that found something damaged.
const CORRUPT: i32 = 8;

impl Scenario for Rebuild {
    fn name(&self) -> String {
        "verify rebuild".to_owned()
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        let world = World { on: On::Line, effect: Declared::Contained };
        let session = place.session();
        let acknowledged = vec![place.say(&session, "first")];
        world.prepare(place, &session);
        let message = ["append", &session, "--text", "once", "--dedupe", "message-1"];
        let seq = number(&place.json(&message), "/seq");
        let mut step: Vec<String> = ["step", "run", &session, "--key", "k"].map(str::to_owned).to_vec();
        step.extend(world.arguments(place, "do the thing"));
        let step: Vec<&str> = step.iter().map(String::as_str).collect();
        place.json(&step);
        let branch = format!("{session}:{}", text(&place.json(&["fork", &session]), "/id"));
        place.json(&["append", &branch, "--text", "elsewhere"]);
        let seen = || -> Vec<Value> {
            let questions = [vec!["step", "list", &session], vec!["branch", "list", &session]];
            questions.iter().map(|question| place.json(question)).collect()
        };
        let right = seen();
        let emptied = empty_views(place);
        let before = stale(&place.run(&["verify"]));
        assert!(before >= 3, "{before} of {emptied} views are found to be empty");
        cut.run(place, &["verify", "--rebuild"]);
        if cut.at.is_some() {
            // A journal has its old views or its new ones: what was done is not done again, and the rest is found.
            let after = stale(&place.run(&["verify"]));
            assert!(after <= before, "{after} after {before}");
            assert_eq!(place.json(&["verify", "--rebuild"])["rebuilt"].as_array().unwrap().len(), after);
        }
        assert_eq!(stale(&place.run(&["verify"])), 0);
        assert_eq!(seen(), right, "what the views say");
        // Nothing is taken for new that is known.
        let again = place.json(&message);
        assert_eq!((number(&again, "/seq"), &again["duplicate"]), (seq, &Value::Bool(true)));
        assert_eq!(place.json(&step)["answer"], "replayed");
        let done = world.done(place);
        Counts {
            kills: cut.kills.get(),
            doubled: done.saturating_sub(1),
            missing: usize::from(done == 0),
            lost: place.lost(&session, &acknowledged),
            ..Counts::default()
        }
    }
}

/// How many journals have views that disagree with their entries; nothing else is wrong.
#[track_caller]
fn stale(did: &Did) -> usize {
    let verified: Value = serde_json::from_str(&did.out).unwrap_or_else(|error| panic!("{error}: {did:?}"));
    assert_eq!(verified["findings"].as_array().unwrap().len(), 0, "{verified}");
    let stale = verified["stale_views"].as_array().unwrap().len();
    assert_eq!(did.status, if stale == 0 { 0 } else { CORRUPT }, "{did:?}");
    stale
}

/// Takes every journal's views away, as if they had been lost; how many journals there are.
fn empty_views(place: &Place) -> usize {
    let random = Arc::new(SystemRandomness::new());
    let store = Embedded::open(EmbeddedOptions {
        directory: place.path().join("store"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(place.path().join("master.key"), random)),
        create: false,
        read_only: false,
        accept_behind: false,
    })
    .unwrap();
    futures_lite::future::block_on(async {
        let journals = store.ledger().journals(JournalFilter::default()).await.unwrap();
        let empty = |journal: &samite_ledger::JournalState| Generation {
            journal: journal.id,
            rows: Vec::new(),
            registers: Vec::new(),
            head: journal.head,
        };
        store.ledger().replace_views(journals.iter().map(empty).collect()).await.unwrap();
        journals.len()
    })
}
