//! What goes wrong says what, to whom, and what to do next; and ends with the documented status.

use crate::support::{Place, Redactor};

#[test]
fn golden_errors_as_json() {
    let place = Place::new();
    let session = place.session();
    place.say(&session, "one");
    let cases: &[(&[&str], i32)] = &[
        (&["read", "0000"], 3),
        (&["read", "nonsense"], 3),
        (&["read", "../nonsense"], 2),
        (&["read", &session, "--kind", "nonsense"], 2),
        (&["read", &format!("{session}@99")], 3),
        (&["append", &session, "--kind", "session_created", "--text", "x"], 2),
        (&["append", &session, "--text", "x", "--expect-head", "7"], 4),
        (&["append", &session, "--json-value", "{", "--kind", "event"], 2),
        (&["append", &session, "--file", "missing"], 3),
        (&["append", &session, "--text", "x", "--dedupe", ""], 2),
        (&["rewind", &session], 2),
        (&["rewind", &format!("{session}@99")], 3),
        (&["branch", "use", &session], 2),
        (&["branch", "use", &format!("{session}:0000")], 3),
        (&["step", "resolve", &session, "nothing", "--happened"], 3),
        (&["session", "show", &format!("{session}@1")], 2),
        (&["no-such-command"], 2),
        (&["workspace", "cat"], 2),
        (&["completions", "nonsense"], 2),
        (&["--store", "/proc/none", "session", "new"], 3),
    ];
    let mut redactor = Redactor::new(&place);
    let mut golden = String::new();
    for (arguments, status) in cases {
        let mut error = place.json(arguments).error(*status);
        error.sort_all_objects();
        assert!(!error["hints"].as_array().unwrap().is_empty(), "{arguments:?}: {error}");
        golden.push_str(&redactor.text(&format!("samite {}\n  exit {status}: {error}\n", arguments.join(" "))));
    }
    insta::assert_snapshot!(golden);
}

#[test]
fn golden_error_for_a_person() {
    let place = Place::new();
    place.session();
    let did = place.run(&["read", "0000"]);
    assert_eq!((did.status, did.out.as_str()), (3, ""));
    insta::assert_snapshot!(did.err);
}

#[test]
fn an_ambiguous_prefix_names_what_it_could_mean() {
    let place = Place::new();
    let mut ids = Vec::new();
    // Among 17 ids at the latest, two begin with the same digit.
    let (one, other) = loop {
        let id = place.session();
        if let Some(other) = ids.iter().find(|other: &&String| other[..1] == id[..1]) {
            break (id, other.clone());
        }
        ids.push(id);
    };
    let error = place.json(&["session", "show", &one[..1]]).error(2);
    assert_eq!(error["code"], "ambiguous_prefix");
    assert!([one, other].iter().all(|id| error["hints"][0].as_str().unwrap().contains(id.as_str())), "{error}");
}

#[test]
fn there_is_no_store_until_a_session_is_made() {
    let place = Place::new();
    let error = place.json(&["session", "list"]).error(3);
    assert_eq!(error["code"], "no_store");
    assert!(!place.store().exists());
}

#[test]
fn first_use_says_where_the_master_key_is() {
    let place = Place::new();
    let did = place.run(&["session", "new"]);
    assert!(did.err.contains("master.key"), "{}", did.err);
    assert!(did.err.contains("key export"), "{}", did.err);
    let id = did.ok();
    assert_eq!(id.trim().len(), 32, "only the id is on standard output");
    assert!(!place.run(&["session", "new"]).err.contains("master.key"));
}
