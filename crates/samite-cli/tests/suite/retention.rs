//! Retention: what is due goes with a proof, what is held stays, and nothing goes that nobody decided about.

use crate::support::{Place, text};
use serde_json::{Value, json};

fn due(answer: &Value) -> Vec<(String, bool)> {
    let due = answer["due"].as_array().unwrap();
    due.iter().map(|one| (text(one, "/session"), one["held"].as_bool().unwrap())).collect()
}

#[test]
fn what_is_due_is_erased_with_a_proof_and_what_is_held_stays() {
    let place = Place::new();
    let (gone, held) = (place.session(), place.session());
    place.say(&gone, "said-gone");
    place.say(&held, "said-held");
    // Nothing decided keeps all.
    assert_eq!(due(&place.json(&["retain", "preview"]).json()), []);
    assert_eq!(place.json(&["retain", "apply"]).json()["due"], json!([]));
    place.json(&["retain", "set", "session", "400d"]).json();
    assert_eq!(due(&place.json(&["retain", "preview"]).json()), []);
    let set = place.json(&["retain", "set", "session", "0d"]).json();
    assert_eq!(set["retentions"][0], json!({"kind": "session", "days": 0, "archive": null}));
    assert_eq!(set["retentions"][1], json!({"kind": "artifact", "days": null, "archive": null}));
    place.json(&["hold", "set", "--session", &held, "--reason", "case 12"]).json();
    let mut expected = [(gone.clone(), false), (held.clone(), true)];
    expected.sort();
    let preview = || {
        let mut all = due(&place.json(&["retain", "preview"]).json());
        all.sort();
        all
    };
    assert_eq!(preview(), expected);
    assert_eq!(place.json(&["retain", "apply"]).error(2)["code"], "not_confirmed");
    assert_eq!(preview(), expected);
    let applied = place.json(&["retain", "apply", "--yes"]).json();
    let one = applied["due"].as_array().unwrap().iter().find(|one| one["session"] == gone).unwrap().clone();
    let proof = place.json(&["erase", "show", &text(&one, "/erasure")]).json();
    assert_eq!((&proof["state"], &proof["reason"]), (&json!("done"), &json!("retention of kind session")));
    assert_eq!(place.json(&["read", &gone]).error(3)["code"], "no_session");
    assert!(place.json(&["read", &held]).ok().contains("said-held"));
    assert_eq!(due(&place.json(&["retain", "preview"]).json()), [(held.clone(), true)]);
    place.json(&["retain", "set", "session", "keep"]).json();
    assert_eq!(due(&place.json(&["retain", "preview"]).json()), []);
    assert_eq!(place.json(&["audit", "log"]).ok().matches("\"retention_set\"").count(), 3);
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
    for (bad, code) in [(["audit", "182d"], "below_floor"), (["session", "7"], "bad_retention")] {
        assert_eq!(place.json(&["retain", "set", bad[0], bad[1]]).error(2)["code"], code);
    }
    place.json(&["retain", "set", "audit", "183d"]).json();
}

#[test]
fn an_artifact_goes_by_retention_only_where_nothing_else_was_decided() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    for name in ["gone", "kept"] {
        std::fs::write(place.path().join("work").join(name), name).unwrap();
    }
    let put = |file: &str| text(&place.json(&["artifact", "put", &id, file]).json(), "/id");
    let (gone, kept) = (put("work/gone"), put("work/kept"));
    place.json(&["artifact", "keep", &kept, "--forever"]).json();
    place.json(&["retain", "set", "artifact", "0d"]).json();
    let applied = place.json(&["retain", "apply", "--yes"]).json();
    assert_eq!((applied["due"].as_array().unwrap().len(), text(&applied, "/due/0/artifact")), (1, gone.clone()));
    assert_eq!(place.json(&["artifact", "show", &gone]).status, 3);
    assert_eq!(place.run(&["artifact", "get", &kept, "back"]).status, 0);
}

#[test]
fn the_audit_log_is_kept_for_its_floor_and_then_moves_to_the_archive_that_is_named() {
    let place = Place::new();
    place.session();
    let error = place.json(&["retain", "set", "audit", "182d", "--archive", "cold"]).error(2);
    assert_eq!(error["code"], "below_floor");
    assert_eq!(place.json(&["retain", "set", "session", "200d", "--archive", "cold"]).error(2)["code"], "usage");
    assert_eq!(place.json(&["retain", "set", "audit", "keep", "--archive", "cold"]).error(2)["code"], "usage");
    let set = place.json(&["retain", "set", "audit", "183d", "--archive", "cold"]).json();
    let cold = place.path().canonicalize().unwrap().join("cold");
    assert_eq!(set["retentions"][2], json!({"kind": "audit", "days": 183, "archive": cold}));
    assert_eq!(set["moved"], json!([]));
    let mark = std::fs::read_to_string(cold.join("samite-archive")).unwrap();
    assert!(mark.starts_with("audit logs of samite.local/"), "{mark}");
    // A folder that samite cannot keep apart, or that another store goes to, changes nothing.
    for (archive, code, status) in [("store/cold", "inside_store", 2), ("mnt/cold", "archive_missing", 3)] {
        let error = place.json(&["retain", "set", "audit", "200d", "--archive", archive]).error(status);
        assert_eq!(error["code"], code);
    }
    assert!(!place.path().join("store/cold").exists() && !place.path().join("mnt").exists());
    let other = Place::new();
    other.session();
    let error = other.json(&["retain", "set", "audit", "200d", "--archive", cold.to_str().unwrap()]).error(4);
    assert_eq!(error["code"], "other_archive");
    assert_eq!(place.json(&["retain", "show"]).json()["retentions"], set["retentions"]);
    assert_eq!(place.json(&["audit", "verify", "--archive", "nowhere"]).error(3)["code"], "archive_missing");
    // Nothing is that old.
    let applied = place.json(&["retain", "apply", "--yes"]).json();
    assert_eq!((applied["due"].clone(), applied["leaves"].clone()), (json!([]), json!([])));
    let verified = place.json(&["audit", "verify", "--archive", "cold"]).json();
    assert_eq!((verified["archived"].clone(), verified["unread"].clone()), (json!(0), json!(0)));
    let set = place.json(&["retain", "set", "audit", "keep"]).json();
    assert_eq!(set["retentions"][2], json!({"kind": "audit", "days": null, "archive": null}));
}

#[test]
fn records_of_long_term_memory_go_by_their_age_and_what_is_held_stays() {
    let place = Place::new();
    let session = place.session();
    let seq = place.say(&session, "said there");
    let id = |answer: Value| text(&answer, "/id");
    let add = |said: &str, more: &[&str]| {
        id(place.json(&[&["memory", "add", "-n", "team", "-n", "notes", said], more].concat()).json())
    };
    let gone = add("gone by its age", &[]);
    let of =
        place.json(&["memory", "add", "-n", "team", "-n", "notes", "kept by the hold", "--session", &session]).json();
    place.json(&["memory", "promote", "-n", "team", "-n", "notes", &session]).json();
    assert!(seq > 0 && !id(of).is_empty());
    let kept = place.json(&["memory", "list", "-n", "team", "-n", "notes"]).json();
    let kept = text(&kept, "/records/1/id");
    place.json(&["hold", "set", "--session", &session, "--reason", "case 12"]).json();
    assert_eq!(place.json(&["retain", "preview"]).json()["due"], json!([]));
    let set = place.json(&["retain", "set", "memory", "0d"]).json();
    assert_eq!(set["retentions"][3], json!({"kind": "memory", "days": 0, "archive": null}));
    let preview = place.json(&["retain", "preview"]).json();
    let of =
        |one: &Value| (one["namespace"].clone(), one["records"].clone(), one["held"].clone(), one["session"].clone());
    let due: Vec<_> = preview["due"].as_array().unwrap().iter().map(of).collect();
    let namespace = json!(["team", "notes"]);
    assert_eq!(due[0], (namespace.clone(), json!([gone]), json!(false), json!(null)));
    assert_eq!((due.len(), &due[1]), (2, &(namespace, json!([kept]), json!(true), json!(null))));
    assert!(place.run(&["retain", "preview"]).ok().contains("1 record of team / notes"));
    assert_eq!(place.json(&["retain", "apply"]).error(2)["code"], "not_confirmed");
    let applied = place.json(&["retain", "apply", "--yes"]).json();
    let proof = place.json(&["erase", "show", &text(&applied, "/due/0/erasure")]).json();
    assert_eq!((&proof["state"], &proof["reason"]), (&json!("done"), &json!("retention of kind memory")));
    let left = place.json(&["memory", "list", "-n", "team", "-n", "notes", "--all"]).json();
    assert_eq!((left["records"].as_array().unwrap().len(), text(&left, "/records/0/id")), (1, kept));
    assert!(place.run(&["records"]).ok().contains("memory"));
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
}
