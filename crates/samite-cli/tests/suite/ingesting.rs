//! `memory ingest`: documents come in, come again by difference, and a death in between leaves what can be gone on with.

use crate::support::{Did, Place, text};
use serde_json::{Value, json};
use std::fs;

fn with(place: &Place, arguments: &[&str]) -> Did {
    let arguments = [&["--json", "memory"], arguments, &["--namespace", "manual"]].concat();
    Did::new(&place.command(&arguments).env("SAMITE_EMBEDDER", "off").output().unwrap())
}

fn done(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&with(place, arguments).ok()).unwrap()
}

fn sections(count: usize) -> String {
    let about = |number: usize| format!("This part says what the number {number} is for. ").repeat(23);
    let section = |number: usize| ["# Part ", &number.to_string(), "\n\n", about(number).trim_end(), "\n\n"].concat();
    (0..count).map(section).collect()
}

/// Of each document: kept, added, replaced, ended.
fn counted(answer: &Value) -> Vec<(&str, [u64; 4])> {
    let of = |one: &Value| ["kept", "added", "replaced", "ended"].map(|name| one[name].as_u64().unwrap());
    answer["documents"].as_array().unwrap().iter().map(|one| (one["name"].as_str().unwrap(), of(one))).collect()
}

#[test]
fn a_directory_comes_in_and_comes_again_by_difference() {
    let place = Place::new();
    let docs = place.path().join("docs");
    fs::create_dir_all(docs.join("sub")).unwrap();
    fs::write(docs.join("tea.md"), "# Tea\n\nThe kettle stands in the kitchen.\n").unwrap();
    fs::write(docs.join("sub/coffee.txt"), "The grinder is broken.\n").unwrap();
    fs::write(docs.join("picture.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    // A plan makes nothing, not even where nothing was.
    with(&place, &["add", "a fact", "--trust", "user"]).ok();
    let ingest = ["ingest", "docs", "--trust", "user"];
    let plan = done(&place, &[&ingest[..], &["--plan"]].concat());
    assert_eq!((plan["plan"].as_bool(), counted(&plan).len()), (Some(true), 2));
    assert_eq!(done(&place, &["list"])["records"].as_array().unwrap().len(), 1);
    let answer = done(&place, &ingest);
    assert_eq!(counted(&answer), [("docs/sub/coffee.txt", [0, 1, 0, 0]), ("docs/tea.md", [0, 1, 0, 0])]);
    assert_eq!(answer["skipped"], json!([{ "name": "docs/picture.png", "reason": "binary" }]));
    assert_eq!(counted(&done(&place, &ingest)), [("docs/sub/coffee.txt", [1, 0, 0, 0]), ("docs/tea.md", [1, 0, 0, 0])]);
    // Whoever finds a piece is told where it is from.
    let found = done(&place, &["search", "kettle"]);
    let record = &found["records"][0];
    assert_eq!((record["source"].as_str(), record["kind"].as_str()), (Some("docs/tea.md"), Some("chunk")));
    assert_eq!((&record["metadata"]["title"], &record["metadata"]["lines"]), (&json!("Tea"), &json!([1, 3])));
    let id = text(record, "/id");
    let shown = place.run(&["memory", "why", &id, "-n", "manual"]).ok();
    assert!(shown.contains("docs/tea.md") && shown.contains("samite-document 1"), "{shown}");
    // From elsewhere, under its name, it is the same.
    fs::rename(&docs, place.path().join("unpacked")).unwrap();
    let moved = ["ingest", "unpacked", "--name", "docs", "--trust", "user"];
    assert_eq!(counted(&done(&place, &moved))[1], ("docs/tea.md", [1, 0, 0, 0]));
    fs::write(place.path().join("unpacked/tea.md"), "# Tea\n\nThe kettle stands in the garden.\n").unwrap();
    fs::remove_file(place.path().join("unpacked/sub/coffee.txt")).unwrap();
    let answer = done(&place, &moved);
    assert_eq!(
        (counted(&answer), &answer["missing"]),
        (vec![("docs/tea.md", [0, 0, 1, 0])], &json!(["docs/sub/coffee.txt"]))
    );
    assert_eq!(done(&place, &["history", &id])["history"].as_array().unwrap().len(), 2);
    // What is gone is shown before it goes.
    let missing = [&moved[..], &["--delete-missing"]].concat();
    assert_eq!(with(&place, &missing).error(2)["code"], "not_confirmed");
    let gone = [("docs/tea.md", [1, 0, 0, 0]), ("docs/sub/coffee.txt", [0, 0, 0, 1])];
    assert_eq!(counted(&done(&place, &[&missing[..], &["--plan"]].concat())), gone);
    assert_eq!(counted(&done(&place, &[&missing[..], &["--yes"]].concat())), gone);
    assert_eq!(done(&place, &["search", "grinder"])["records"], json!([]));
    let shown = place.run(&["memory", "ingest", "unpacked", "--name", "docs", "-n", "manual", "--trust", "user"]).ok();
    assert_eq!(shown, "1 document unchanged\nleft out: docs/picture.png (not text in UTF-8)\n");
    // Without a word of who stands behind it, it is apart.
    fs::write(place.path().join("page.html"), "<p>The cellar is locked.</p>").unwrap();
    let shown = place.run(&["memory", "ingest", "page.html", "-n", "manual"]).ok();
    assert!(shown.contains("found in a list of their own"), "{shown}");
    let found = done(&place, &["search", "cellar"]);
    assert_eq!((found["records"].as_array().unwrap().len(), found["apart"].as_array().unwrap().len()), (0, 1));
    for (arguments, status, code) in
        [(&["ingest", "nowhere"][..], 3, "no_file"), (&["ingest", "unpacked", "--name", ""], 2, "bad_name")]
    {
        assert_eq!(with(&place, arguments).error(status)["code"], code);
    }
    // A single file that is none is an error, and not a line that somebody overlooks.
    assert_eq!(with(&place, &["ingest", "unpacked/picture.png"]).error(2)["code"], "not_a_document");
}

#[test]
fn a_death_while_a_document_comes_in_leaves_what_can_be_gone_on_with() {
    let place = Place::new();
    let (old, new) = (sections(3), sections(3).replace("number 1", "number 9"));
    fs::write(place.path().join("a.md"), &old).unwrap();
    with(&place, &["ingest", "a.md"]).ok();
    let standing = || -> Vec<String> {
        let listed = done(&place, &["list", "--all"]);
        let records = listed["records"].as_array().unwrap();
        records.iter().filter(|one| one["state"] == "found").map(|one| text(one, "/text")).collect()
    };
    let before = standing();
    fs::write(place.path().join("a.md"), &new).unwrap();
    let dies = |point: &str, file: &str| {
        let arguments = ["memory", "ingest", file, "-n", "manual"];
        let output = place.command(&arguments).env("SAMITE_KILL_POINT", point).output().unwrap();
        assert!(!output.status.success(), "{point}");
    };
    // One commit: the old is whole, or the new is.
    dies("ledger.before_commit", "a.md");
    assert_eq!(standing(), before);
    dies("ledger.after_commit", "a.md");
    let after = standing();
    assert!(after.len() == 3 && after != before && after.iter().any(|text| text.contains("number 9")), "{after:?}");
    assert_eq!(counted(&done(&place, &["ingest", "a.md"])), [("a.md", [3, 0, 0, 0])]);
    // Of a document that takes several what was committed is not done again.
    fs::write(place.path().join("long.md"), sections(600)).unwrap();
    dies("memory.ingest.committed", "long.md");
    assert_eq!(standing().len(), 3 + 512);
    assert_eq!(counted(&done(&place, &["ingest", "long.md"])), [("long.md", [512, 88, 0, 0])]);
    assert_eq!(counted(&done(&place, &["ingest", "long.md"])), [("long.md", [600, 0, 0, 0])]);
    place.run(&["verify"]).ok();
}
