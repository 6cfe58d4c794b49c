//! An organisation's own policies: what they take away from whom, and who is served where they cannot be evaluated.

use crate::support::{Place, text};
use serde_json::Value;
use std::fs;

fn answer(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.json(arguments).ok()).unwrap()
}

/// The tests of what is decided need the engine.
#[cfg(feature = "cedar")]
mod with_an_engine {
    use super::*;

    fn decide(place: &Place, policies: &str) -> Value {
        fs::write(place.path().join("rules.cedar"), policies).unwrap();
        answer(place, &["policy", "organisation", "set", "rules.cedar"])
    }

    #[test]
    fn what_policies_forbid_the_local_user_may_not_either() {
        let place = Place::new();
        let id = place.session();
        place.say(&id, "one");
        let set = decide(
            &place,
            "permit(principal, action, resource);\nforbid(principal, action == Samite::Action::\"fork\", resource) unless { principal in Samite::Agent::\"lead\" };\n",
        );
        assert_eq!((set["changed"].clone(), set["policies"].clone()), (true.into(), 2.into()));
        let error = place.json(&["fork", &id]).error(6);
        assert_eq!(error["code"], "policy_forbids");
        place.say(&id, "two");
        place.run(&["policy", "organisation", "clear"]).ok();
        place.run(&["fork", &id]).ok();
    }

    #[test]
    fn what_no_policy_permits_is_denied_and_is_not_there() {
        let place = Place::new();
        let id = place.session();
        place.say(&id, "one");
        decide(
            &place,
            "permit(principal, action == Samite::Action::\"operate\", resource);\npermit(principal, action == Samite::Action::\"read\", resource) when { resource has owner && resource.owner == Samite::User::\"ada\" };",
        );
        // The local user can be recorded no more, and sees nothing.
        let error = place.json(&["read", &id]).error(3);
        assert_eq!(error["code"], "no_session");
        // Who may operate the tenant takes it back.
        place.run(&["policy", "organisation", "clear"]).ok();
        assert_eq!(place.json(&["read", &id]).lines().len(), 1);
    }

    #[test]
    fn policies_that_lock_out_whoever_sets_them_are_refused_and_bad_ones_change_nothing() {
        let place = Place::new();
        place.session();
        let error = |policies: &str, exit: i32| {
            fs::write(place.path().join("rules.cedar"), policies).unwrap();
            let error = place.json(&["policy", "organisation", "set", "rules.cedar"]).error(exit);
            (text(&error, "/code"), text(&error, "/message"))
        };
        let (code, _) = error("permit(principal, action == Samite::Action::\"read\", resource);", 4);
        assert_eq!(code, "policy_locks_out");
        let (code, message) = error("permit(principal, action, resource);\nforbid(principal, action, thing);", 2);
        assert_eq!(code, "bad_policy");
        assert!(message.starts_with("rules.cedar: line 2: "), "{message}");
        let (_, message) = error("permit(principal, action == Samite::Action::\"rewrite\", resource);", 2);
        assert!(message.contains("rewrite"), "{message}");
        let shown = answer(&place, &["policy", "organisation", "show"]);
        assert_eq!((shown["standing"].clone(), shown["available"].clone()), (Value::Null, true.into()));
    }

    #[test]
    fn what_was_in_force_when_is_known_and_stands_in_leaves() {
        let place = Place::new();
        place.session();
        decide(&place, "permit(principal, action, resource);");
        let again = answer(&place, &["policy", "organisation", "set", "rules.cedar"]);
        assert_eq!(again["changed"], false);
        let id = text(&answer(&place, &["session", "new"]), "/id");
        place.run(&["policy", "organisation", "clear"]).ok();
        let history = answer(&place, &["policy", "organisation", "history"]);
        let said: Vec<_> = history["decided"].as_array().unwrap().iter().map(|one| one["policies"].clone()).collect();
        assert_eq!(said, ["permit(principal, action, resource);\n".into(), Value::Null]);
        let seq = history["decided"][0]["seq"].to_string();
        let shown = place.run(&["policy", "organisation", "show", "--seq", &seq]).ok();
        assert_eq!(shown.trim(), "permit(principal, action, resource);");
        let log = answer(&place, &["audit", "log", "--session", &id]);
        let flags = &log["acts"][0]["policy"];
        assert_eq!(*flags, serde_json::json!(["organisation", "pii_report", "secret_redact"]));
        place.run(&["audit", "verify"]).ok();
        place.run(&["verify", "--rebuild"]).ok();
        assert_eq!(answer(&place, &["policy", "organisation", "show"])["standing"], Value::Null);
    }

    #[test]
    fn several_files_are_one_set_of_policies() {
        let place = Place::new();
        place.session();
        fs::write(place.path().join("a.cedar"), "permit(principal, action, resource);").unwrap();
        fs::write(place.path().join("b.cedar"), "forbid(principal in Samite::User::\"eve\", action, resource);")
            .unwrap();
        let checked = answer(&place, &["policy", "organisation", "check", "a.cedar", "b.cedar"]);
        assert_eq!(checked["policies"], 2);
        place.run(&["policy", "organisation", "set", "a.cedar", "b.cedar"]).ok();
        let shown = text(&answer(&place, &["policy", "organisation", "show"]), "/standing/policies");
        assert_eq!(shown.lines().count(), 2);
    }
}

/// A build without the engine decides nothing, and says how to get one that does.
#[cfg(not(feature = "cedar"))]
#[test]
fn without_an_engine_no_policies_are_decided() {
    let place = Place::new();
    place.session();
    fs::write(place.path().join("rules.cedar"), "permit(principal, action, resource);").unwrap();
    for command in ["check", "set"] {
        let error = place.json(&["policy", "organisation", command, "rules.cedar"]).error(6);
        assert_eq!(text(&error, "/code"), "policy_engine_missing");
    }
    let shown = answer(&place, &["policy", "organisation", "show"]);
    assert_eq!(shown["available"], false);
}

#[test]
fn the_schema_is_printed_in_any_build() {
    let place = Place::new();
    let schema = place.run(&["policy", "organisation", "schema"]).ok();
    assert!(schema.contains("action operate appliesTo"), "{schema}");
}
