//! The right answer for every combination, as a table: each combination must match one row, and only one.

use super::{Ask, Decision, Known, Look, SETTLE_SECONDS, Workspace, decide};
use crate::step::{Effect, Verdict};

const EFFECTS: [&str; 8] = [
    "idempotent",
    "keyed for ever",
    "keyed 100",
    "contained",
    "observable",
    "observable settle 0",
    "observable settle 60",
    "opaque",
];
const WORKSPACES: [Workspace; 5] =
    [Workspace::Unknown, Workspace::Gone, Workspace::Unchanged, Workspace::ChangedByStep, Workspace::ChangedByOthers];
const LOOKS: [Look; 5] = [
    Look::NoProbe,
    Look::NotYet,
    Look::Saw(Verdict::Happened),
    Look::Saw(Verdict::DidNot),
    Look::Saw(Verdict::CannotTell),
];
const AGES: [u64; 4] = [0, 99, 100, u64::MAX];
const LOST: [u64; 6] = [0, 29, 30, 59, 60, u64::MAX];

fn effect(name: &str) -> Effect {
    match name {
        "idempotent" => Effect::Idempotent,
        "keyed for ever" => Effect::Keyed { window_seconds: None },
        "keyed 100" => Effect::Keyed { window_seconds: Some(100) },
        "contained" => Effect::Contained { within: vec!["src".to_owned()] },
        "observable" => Effect::Observable { settle_seconds: None },
        "observable settle 0" => Effect::Observable { settle_seconds: Some(0) },
        "observable settle 60" => Effect::Observable { settle_seconds: Some(60) },
        "opaque" => Effect::Opaque,
        other => panic!("no effect {other}"),
    }
}

/// A row of the table: a list that is empty means "whatever it is".
struct Row {
    effects: &'static [&'static str],
    alive: bool,
    workspaces: &'static [Workspace],
    looks: &'static [Look],
    remote: &'static [bool],
    ages: &'static [u64],
    lost: &'static [u64],
    right: Decision,
}

const fn ask(reason: Ask) -> Decision {
    Decision::Ask { reason }
}

const fn wait(seconds: u64) -> Decision {
    Decision::Wait { seconds }
}

const ANY: Row = Row {
    effects: &[],
    alive: false,
    workspaces: &[],
    looks: &[],
    remote: &[],
    ages: &[],
    lost: &[],
    right: Decision::Busy,
};

const OBSERVABLE: &[&str] = &["observable", "observable settle 0", "observable settle 60"];
const DID_NOT: &[Look] = &[Look::Saw(Verdict::DidNot)];

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Somebody is at it: whatever else is known.
    Row { alive: true, right: Decision::Busy, ..ANY },

    Row { effects: &["idempotent"], right: Decision::RunAgain, ..ANY },

    Row { effects: &["keyed for ever"], right: Decision::RunAgain, ..ANY },
    Row { effects: &["keyed 100"], ages: &[0, 99], right: Decision::RunAgain, ..ANY },
    Row { effects: &["keyed 100"], ages: &[100, u64::MAX], right: ask(Ask::PastWindow), ..ANY },

    Row { effects: &["contained"], workspaces: &[Workspace::Unchanged], right: Decision::RunAgain, ..ANY },
    Row { effects: &["contained"], workspaces: &[Workspace::Gone], right: Decision::PutBackAndRunAgain, ..ANY },
    Row { effects: &["contained"], workspaces: &[Workspace::ChangedByStep], right: Decision::PutBackAndRunAgain, ..ANY },
    Row { effects: &["contained"], workspaces: &[Workspace::ChangedByOthers], right: ask(Ask::ChangedByOthers), ..ANY },
    Row { effects: &["contained"], workspaces: &[Workspace::Unknown], right: ask(Ask::NoTree), ..ANY },

    Row { effects: OBSERVABLE, looks: &[Look::NotYet], right: Decision::Probe, ..ANY },
    Row { effects: OBSERVABLE, looks: &[Look::NoProbe], right: ask(Ask::CannotTell), ..ANY },
    Row { effects: OBSERVABLE, looks: &[Look::Saw(Verdict::CannotTell)], right: ask(Ask::CannotTell), ..ANY },
    Row { effects: OBSERVABLE, looks: &[Look::Saw(Verdict::Happened)], right: Decision::Completed, ..ANY },
    // "Did not" from here: at once, from afar: 30 seconds after the writer was lost.
    Row { effects: &["observable"], looks: DID_NOT, remote: &[false], right: Decision::RunAgain, ..ANY },
    Row { effects: &["observable"], looks: DID_NOT, remote: &[true], lost: &[0], right: wait(30), ..ANY },
    Row { effects: &["observable"], looks: DID_NOT, remote: &[true], lost: &[29], right: wait(1), ..ANY },
    Row { effects: &["observable"], looks: DID_NOT, remote: &[true], lost: &[30, 59, 60, u64::MAX], right: Decision::RunAgain, ..ANY },
    // A declared settle time holds for either.
    Row { effects: &["observable settle 0"], looks: DID_NOT, right: Decision::RunAgain, ..ANY },
    Row { effects: &["observable settle 60"], looks: DID_NOT, lost: &[0], right: wait(60), ..ANY },
    Row { effects: &["observable settle 60"], looks: DID_NOT, lost: &[29], right: wait(31), ..ANY },
    Row { effects: &["observable settle 60"], looks: DID_NOT, lost: &[30], right: wait(30), ..ANY },
    Row { effects: &["observable settle 60"], looks: DID_NOT, lost: &[59], right: wait(1), ..ANY },
    Row { effects: &["observable settle 60"], looks: DID_NOT, lost: &[60, u64::MAX], right: Decision::RunAgain, ..ANY },

    Row { effects: &["opaque"], right: ask(Ask::Opaque), ..ANY },
];

fn admits<T: PartialEq>(list: &[T], value: &T) -> bool {
    list.is_empty() || list.contains(value)
}

#[test]
fn every_combination_has_one_right_answer() {
    let mut combinations = 0;
    for name in EFFECTS {
        for alive in [false, true] {
            for workspace in WORKSPACES {
                for look in LOOKS {
                    for remote in [false, true] {
                        for age_seconds in AGES {
                            for lost_seconds in LOST {
                                let known = Known {
                                    effect: effect(name),
                                    alive,
                                    age_seconds,
                                    workspace,
                                    look,
                                    remote,
                                    lost_seconds,
                                };
                                let rows: Vec<&Row> = TABLE
                                    .iter()
                                    .filter(|row| {
                                        row.alive == alive
                                            && admits(row.effects, &name)
                                            && admits(row.workspaces, &workspace)
                                            && admits(row.looks, &look)
                                            && admits(row.remote, &remote)
                                            && admits(row.ages, &age_seconds)
                                            && admits(row.lost, &lost_seconds)
                                    })
                                    .collect();
                                assert_eq!(rows.len(), 1, "rows for {known:?}");
                                assert_eq!(decide(&known), rows[0].right, "{known:?}");
                                combinations += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert_eq!(combinations, 8 * 2 * 5 * 5 * 2 * 4 * 6);
}

#[test]
fn opaque_and_cannot_tell_are_never_run_again() {
    for workspace in WORKSPACES {
        for look in LOOKS {
            for lost_seconds in LOST {
                let mut known = Known {
                    effect: Effect::Opaque,
                    alive: false,
                    age_seconds: 0,
                    workspace,
                    look,
                    remote: false,
                    lost_seconds,
                };
                assert_eq!(decide(&known), ask(Ask::Opaque));
                known.effect = Effect::Observable { settle_seconds: None };
                known.look = Look::Saw(Verdict::CannotTell);
                assert_eq!(decide(&known), ask(Ask::CannotTell));
            }
        }
    }
}

#[test]
fn the_settle_time_without_a_declaration_is_thirty_seconds() {
    assert_eq!(SETTLE_SECONDS, 30);
}

#[test]
fn decisions_are_told_in_json_by_name() {
    let wait = serde_json::to_value(wait(5)).unwrap();
    assert_eq!(wait, serde_json::json!({"decision": "wait", "seconds": 5}));
    let ask = serde_json::to_value(ask(Ask::PastWindow)).unwrap();
    assert_eq!(ask, serde_json::json!({"decision": "ask", "reason": "past_window"}));
    assert_eq!(
        serde_json::to_string(&Effect::Observable { settle_seconds: None }).unwrap(),
        r#"{"class":"observable"}"#
    );
    let old: Effect = serde_json::from_str(r#"{"class":"observable"}"#).unwrap();
    assert_eq!(old, Effect::Observable { settle_seconds: None });
}
