//! Consent, processors, regions, and what is shown of them.

use crate::support::{Did, Place, text};
use serde_json::{Value, json};

/// Runs a command on a node that states a region.
fn on(place: &Place, region: &str, arguments: &[&str]) -> Did {
    let output = place.command(&[&["--json"], arguments].concat()).env("SAMITE_REGION", region).output();
    Did::new(&output.unwrap())
}

fn given(consents: &Value) -> Vec<bool> {
    consents["consents"].as_array().unwrap().iter().map(|one| one["given"].as_bool().unwrap()).collect()
}

#[test]
fn consent_is_no_until_said_and_every_saying_is_kept() {
    let place = Place::new();
    let id = place.session();
    assert_eq!(place.json(&["consent", "list"]).json()["consents"], json!([]));
    let mistyped = ["consent", "set", "yes", "--user", "ada", "--basis", "form 12"];
    assert_eq!(place.json(&mistyped).error(3)["code"], "no_subject");
    let said =
        ["consent", "set", "yes", "--ahead", "--user", "ada", "--basis", "form 12", "--reason", "asked in person"];
    let stands = place.json(&said).json();
    assert_eq!(given(&stands), [true]);
    assert_eq!(stands["consents"][0]["basis"], "form 12");
    assert_eq!(stands["consents"][0]["reason"], "asked in person");
    place.json(&["consent", "set", "no", "--session", &id, "--basis", "letter"]).json();
    place.json(&["consent", "set", "no", "--ahead", "--user", "user:ada", "--basis", "letter 2"]).json();
    assert_eq!(given(&place.json(&["consent", "list"]).json()), [false, false]);
    let history = place.json(&["consent", "show", "--user", "ada", "--ahead"]).json();
    assert_eq!(given(&history), [true, false]);
    let actor = text(&history, "/consents/0/actor");
    assert_eq!((actor.len(), text(&history, "/consents/1/actor")), (32, actor));
    // The name of the person stands nowhere; ids have such digits by chance.
    let shown = history.to_string();
    assert!(!shown.contains("\"ada\"") && !shown.contains("user:ada"), "{shown}");
    let acts = place.json(&["audit", "log"]).ok();
    assert_eq!(acts.matches("\"consent_set\"").count(), 3, "{acts}");
    assert_eq!(
        place.json(&["consent", "set", "yes", "--ahead", "--user", "ada", "--basis", ""]).error(2)["code"],
        "empty_name"
    );
    assert_eq!(
        place.json(&["consent", "set", "yes", "--session", "0000", "--basis", "x"]).error(3)["code"],
        "no_session"
    );
    let verified = place.json(&["verify"]).json();
    assert_eq!(verified["findings"], json!([]));
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
    assert_eq!(given(&place.json(&["consent", "list"]).json()), [false, false]);
}

#[test]
fn a_user_is_the_same_in_every_command_and_one_that_is_not_there_is_refused() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "said");
    for (on, user) in [("user:local", "local"), ("local", "user:local")] {
        place.json(&["hold", "set", "--user", on, "--reason", "case 12"]).json();
        let held = ["erase", "--user", user, "--reason", "x", "--yes"];
        assert_eq!(place.json(&held).error(6)["code"], "legal_hold", "{on} {user}");
        let holds = place.json(&["hold", "list"]).json();
        assert_eq!((holds["holds"].as_array().unwrap().len(), &holds["holds"][0]["user"]), (1, &json!("user:local")));
        place.json(&["hold", "lift", "--user", user, "--reason", "over"]).json();
    }
    place.json(&["consent", "set", "yes", "--user", "user:local", "--basis", "form"]).json();
    let shown = place.json(&["consent", "show", "--user", "local"]).json();
    assert_eq!((given(&shown), &shown["may"]), (vec![true], &json!(true)));
    // What was said of the person is said of each session, which is told with what was said of that.
    let of_session = place.json(&["consent", "show", "--session", &id]).json();
    assert_eq!((given(&of_session), &of_session["may"]), (vec![true], &json!(true)));
    place.json(&["consent", "set", "no", "--session", &id, "--basis", "letter"]).json();
    let of_session = place.json(&["consent", "show", "--session", &id]).json();
    assert_eq!((given(&of_session), &of_session["may"]), (vec![true, false], &json!(false)));
    for user in ["local", "user:local"] {
        let log = place.json(&["audit", "log", "--user", user]).ok();
        assert!(log.contains("session_created"), "{user}: {log}");
        let to = format!("export-{}", user.len());
        place.json(&["subject", "export", "--user", user, "--to", &to]).json();
        let with = ["share", &id, "--with", user, "--read"];
        assert_eq!(place.json(&with).error(2)["code"], "shared_with_owner");
    }
    for unknown in ["Local", "user:user:local", "eve"] {
        for command in [
            &["hold", "set", "--user", unknown, "--reason", "x"][..],
            &["consent", "set", "no", "--user", unknown, "--basis", "x"],
            &["erase", "--user", unknown, "--reason", "x", "--yes"],
            &["subject", "export", "--user", unknown, "--to", "none"],
        ] {
            assert_eq!(place.json(command).error(3)["code"], "no_subject", "{command:?}");
        }
    }
    for nobody in ["", "user:"] {
        assert_eq!(
            place.json(&["hold", "set", "--ahead", "--user", nobody, "--reason", "x"]).error(2)["code"],
            "empty_name"
        );
    }
    assert!(!place.path().join("none").exists());
}

fn register(place: &Place, region: &str, name: &str, of: &str) -> Did {
    let words = ["processor", "register", name, "--region", of, "--purpose", "embeddings", "--agreement", "DPA 14"];
    on(place, region, &[&words[..], &["--receives", "memory,sessions"]].concat())
}

#[test]
fn processors_elsewhere_are_refused_and_those_that_there_were_stand_in_proofs() {
    let place = Place::new();
    let id = place.session();
    assert_eq!(
        register(&place, "eu", "vectors", "eu").json()["processors"][0]["receives"],
        json!(["memory", "sessions"])
    );
    on(&place, "eu", &["region", "set", "eu"]).json();
    let refused = register(&place, "eu", "far", "us").error(6);
    assert_eq!(refused["code"], "other_region");
    assert_eq!(refused["message"], "the tenant is pinned to region eu, and processor \"far\" is in region us");
    let shown = on(&place, "eu", &["region", "show"]).json();
    assert_eq!((&shown["refusals"][0]["what"], &shown["refusals"][0]["region"]), (&json!("processor"), &json!("us")));
    on(&place, "eu", &["region", "transfer", "us", "--basis", "clauses"]).json();
    assert_eq!(register(&place, "eu", "far", "us").json()["processors"].as_array().unwrap().len(), 2);
    // What a processor rests on is not taken back under it.
    let taken = ["region", "transfer", "us", "--withdraw", "--basis", "over"];
    assert_eq!(on(&place, "eu", &taken).error(4)["code"], "processors_elsewhere");
    assert_eq!(on(&place, "eu", &["region", "show"]).json()["transfers"][0]["to"], "us");
    let removed = on(&place, "eu", &["processor", "remove", "vectors", "--reason", "over"]).json();
    assert_eq!(removed["processors"].as_array().unwrap().len(), 1);
    assert_eq!(on(&place, "eu", &["processor", "remove", "vectors"]).error(3)["code"], "no_processor");
    assert_eq!(register(&place, "eu", "x", "US").status, 2);
    let records = on(&place, "eu", &["records"]).json();
    assert_eq!((&records["region"], &records["recipients"][0]["name"]), (&json!("eu"), &json!("far")));
    assert_eq!(records["transfers"][0]["basis"], "clauses");
    let erased = on(&place, "eu", &["erase", "--session", &id, "--reason", "test", "--yes"]).json();
    let unreached = erased["erased"]["proof"]["unreached"].as_array().unwrap().clone();
    let named: Vec<_> = unreached.iter().filter(|one| one["what"] == "processor").map(|one| &one["which"]).collect();
    assert_eq!(named, [&json!("far"), &json!("vectors")]);
    on(&place, "eu", &["processor", "remove", "far", "--reason", "over"]).json();
    assert_eq!(on(&place, "eu", &taken).json()["transfers"], json!([]));
    assert_eq!(on(&place, "eu", &["verify", "--rebuild"]).status, 0);
}

#[test]
fn a_node_of_another_region_opens_nothing_and_that_comes_into_the_log() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "kept in eu");
    // A node that states no region, or another, would lock itself out.
    assert_eq!(place.json(&["region", "set", "eu"]).error(6)["code"], "other_region");
    assert_eq!(on(&place, "us", &["region", "set", "eu"]).error(6)["code"], "other_region");
    assert_eq!(on(&place, "eu", &["region", "set", "eu"]).json()["region"], "eu");
    for arguments in
        [&["read", &id][..], &["status"], &["verify"], &["append", &id, "--text", "x"], &["key", "export", "k"]]
    {
        let refused = on(&place, "us", arguments).error(6);
        assert_eq!(refused["code"], "other_region", "{arguments:?}");
        assert_eq!(refused["message"], "the tenant is pinned to region eu, and this node is in region us");
    }
    let refused = place.json(&["read", &id]).error(6);
    assert_eq!(refused["message"], "the tenant is pinned to region eu, and this node states no region");
    assert_eq!(place.json(&["read", &id]).out, "");
    assert_eq!(on(&place, "EU!", &["read", &id]).error(2)["code"], "bad_region");
    let entries = on(&place, "eu", &["read", &id]).ok();
    assert!(entries.contains("kept in eu"));
    // Reading takes nothing into the log; writing does, each refusal once.
    on(&place, "eu", &["append", &id, "--text", "y"]).ok();
    on(&place, "eu", &["append", &id, "--text", "z"]).ok();
    let refusals = on(&place, "eu", &["region", "show"]).json()["refusals"].as_array().unwrap().clone();
    let of = |region: &Value| refusals.iter().filter(|one| one["region"] == *region && one["what"] == "open").count();
    assert_eq!((of(&json!("us")), of(&Value::Null), refusals.len()), (5, 2, 7));
    assert_eq!(on(&place, "eu", &["audit", "log"]).ok().matches("\"refused\"").count(), 7);
    // Elsewhere only after a decision, and then there alone.
    assert_eq!(on(&place, "eu", &["region", "set", "us"]).error(6)["code"], "no_transfer_decision");
    on(&place, "eu", &["region", "transfer", "us", "--basis", "clauses"]).json();
    let moved = on(&place, "eu", &["region", "set", "us"]).json();
    assert_eq!((&moved["region"], &moved["previous"]), (&json!("us"), &json!("eu")));
    assert_eq!(on(&place, "eu", &["read", &id]).error(6)["code"], "other_region");
    assert_eq!(on(&place, "us", &["verify", "--rebuild"]).status, 0);
    let taken = ["region", "transfer", "us", "--withdraw", "--basis", "over"];
    assert_eq!(on(&place, "us", &taken).json()["transfers"], json!([]));
    assert_eq!(on(&place, "us", &taken).error(3)["code"], "no_transfer");
}

#[test]
#[cfg(feature = "kill-points")]
fn refusals_that_are_taken_twice_are_recorded_once() {
    let place = Place::new();
    let id = place.session();
    on(&place, "eu", &["region", "set", "eu"]).json();
    for _ in 0..2 {
        on(&place, "us", &["read", &id]).error(6);
    }
    let mut command = place.command(&["append", &id, "--text", "x"]);
    command.env("SAMITE_REGION", "eu").env("SAMITE_KILL_POINT", "refusal.taken");
    assert_eq!(command.output().unwrap().status.code(), None);
    on(&place, "eu", &["append", &id, "--text", "x"]).ok();
    assert_eq!(on(&place, "eu", &["region", "show"]).json()["refusals"].as_array().unwrap().len(), 2);
    assert!(!place.store().join("tenants/local/refusals.jsonl").exists());
}

#[test]
fn records_count_what_is_there_and_say_what_is_decided() {
    let place = Place::new();
    let (one, other) = (place.session(), place.session());
    place.say(&one, "said");
    place.say(&other, "said");
    std::fs::write(place.path().join("out"), "bytes").unwrap();
    place.json(&["artifact", "put", &one, "out"]).json();
    let count = |of: &str| -> u64 {
        let records = place.json(&["records"]).json();
        let all = records["categories"].as_array().unwrap().clone();
        all.iter().find(|one| one["category"] == of).unwrap()["count"].as_u64().unwrap()
    };
    assert_eq!((count("sessions"), count("artifacts"), count("trees")), (2, 1, 0));
    // Trees are those that are there: not those of a session that was erased.
    let going = place.session();
    place.attach_work(&going);
    for (file, trees) in [("a", 1), ("b", 2)] {
        std::fs::write(place.path().join("work").join(file), file).unwrap();
        place.json(&["checkpoint", &going, "--no-environment"]).json();
        assert_eq!(count("trees"), trees);
    }
    place.json(&["erase", "--session", &going, "--reason", "x", "--yes"]).json();
    assert_eq!((count("sessions"), count("trees")), (2, 0));
    let leaves = place.json(&["audit", "log"]).json()["acts"].as_array().unwrap().len() as u64;
    assert_eq!(count("acts"), leaves);
    let entries = count("entries");
    place.json(&["erase", "--entries", &format!("{other}@1..1"), "--reason", "x", "--yes"]).json();
    assert_eq!(count("entries"), entries - 1);
    place.json(&["retain", "set", "audit", "400d"]).json();
    place.json(&["policy", "redaction", "--secrets", "off"]).ok();
    register(&place, "eu", "vectors", "eu").json();
    place.json(&["processor", "remove", "vectors", "--reason", "over"]).json();
    let records = place.json(&["records"]).json();
    assert_eq!(
        records["former_recipients"],
        json!([{"name": "vectors", "region": "eu", "receives": ["memory", "sessions"], "reason": "over"}])
    );
    let kept = records["retention"].as_array().unwrap().iter().find(|one| one["category"] == "acts").unwrap().clone();
    assert!(text(&kept, "/kept").starts_with("400 days"), "{kept}");
    assert!(!records["measures"].to_string().contains("secrets"), "{records}");
    place.json(&["erase", "--user", "local", "--reason", "x", "--yes"]).json();
    assert_eq!((count("sessions"), count("artifacts"), count("trees"), count("entries")), (0, 0, 0, 0));
}

#[test]
fn what_is_decided_of_data_can_be_decided_before_there_is_any() {
    for command in [
        &["capture", "set", "metadata"][..],
        &["retain", "set", "session", "400d"],
        &["region", "set", "eu"],
        &["processor", "register", "v", "--region", "eu", "--purpose", "x", "--agreement", "y", "--receives", "memory"],
    ] {
        let place = Place::new();
        on(&place, "eu", command).json();
        assert_eq!(on(&place, "eu", &["verify"]).json()["findings"], json!([]), "{command:?}");
    }
}
