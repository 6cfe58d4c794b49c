//! The words that are given with decisions: they stay for good, so they hold no secrets.

use crate::support::Place;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

#[test]
fn what_is_given_with_decisions_is_redacted_before_it_is_kept() {
    let place = Place::new();
    let held = place.session();
    let erased = place.session();
    place.run_with_input(&["secrets", "register", "mine"], "abcXYZ12&34é99".as_bytes()).ok();
    let words = format!("ticket {TOKEN} {{\"k\":\"abcXYZ12\\u002634\\u00e99\"}} abcXYZ12\\u002634é99");
    for decision in [
        &["hold", "set", "--session", &held, "--reason", &words][..],
        &["hold", "lift", "--session", &held, "--reason", &words],
        &["consent", "set", "no", "--session", &held, "--basis", &words, "--reason", &words],
        &["region", "transfer", "us", "--basis", &words, "--reason", &words],
        &["region", "transfer", "us", "--withdraw", "--basis", &words, "--reason", &words],
        &[
            "processor",
            "register",
            "acme",
            "--region",
            "eu",
            "--purpose",
            &words,
            "--agreement",
            &words,
            "--receives",
            "memory",
        ],
        &["processor", "remove", "acme", "--reason", &words],
        &["erase", "--session", &erased, "--reason", &words, "--yes"],
    ] {
        let told = place.run(decision);
        assert_eq!(told.status, 0, "{decision:?}: {}{}", told.out, told.err);
    }
    let listed = place.run(&["erase", "list", "--json"]).ok();
    assert!(listed.contains("ticket [secret:github-token:") && listed.contains("[secret:mine:"), "{listed}");
    let told = place.run(&["consent", "list", "--json"]).ok();
    assert!(told.contains("ticket [secret:github-token:"), "{told}");
    let swept = place.run_with_input(&["erase", "sweep", "--canaries", "-"], format!("{TOKEN}\n").as_bytes());
    assert_eq!(swept.status, 0, "{}{}", swept.out, swept.err);
    place.run(&["verify"]).ok();
    place.run(&["verify", "--rebuild"]).ok();
}

/// A hunt finds what is stored with some of its characters escaped, as a redaction would have found it.
#[test]
fn a_sweep_finds_texts_of_which_some_characters_are_escaped() {
    let place = Place::new();
    let session = place.session();
    let line = r#"body {"k":"abcXYZ12\u002634é99"} and {"k":"{\"a\":\"defXYZ12&34\\u00e99\"}"}"#;
    place.run_with_input(&["append", &session], line.as_bytes()).ok();
    let canaries = "abcXYZ12&34é99\ndefXYZ12&34é9\n";
    let swept = place.run_with_input(&["--json", "erase", "sweep", "--canaries", "-"], canaries.as_bytes()).out;
    assert!(swept.contains("\"found\":2") && swept.contains("\"escaped\""), "{swept}");
}
