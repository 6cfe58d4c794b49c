//! Where the log and the state files of a workspace disagree.

use crate::support::{Place, Redactor};
use serde_json::Value;
use std::fs;

/// A session whose last tree has a progress.md and a plan.md, and whose directory has others.
fn torn_apart(place: &Place, authority: &str) -> String {
    let id = place.session();
    place.run(&["session", "set", &id, "--authority", authority]).ok();
    place.attach_work(&id);
    let write = |name: &str, text: &str| fs::write(place.path().join("work").join(name), text).unwrap();
    write("progress.md", "nine of ten done\n");
    write("plan.md", "1. go on\n");
    write("code.rs", "fn main() {}\n");
    place.run(&["checkpoint", &id, "--no-environment"]).ok();
    // As an older copy of the directory has it.
    write("progress.md", "one of ten done\n");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    fs::File::options()
        .write(true)
        .open(place.path().join("work/progress.md"))
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    fs::remove_file(place.path().join("work/plan.md")).unwrap();
    write("journal.md", "not in the log\n");
    write("code.rs", "fn main() { todo() }\n");
    id
}

/// A name, the text that the log has, that the directory has, and which is newer.
type Told<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn disagreements(recovered: &Value) -> Vec<Told<'_>> {
    let all = recovered["workspace"]["disagreements"].as_array().unwrap();
    all.iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["log"]["text"].as_str(),
                one["files"]["text"].as_str(),
                one["newer"].as_str(),
            )
        })
        .collect()
}

const BOTH: [Told<'static>; 3] = [
    ("progress.md", Some("nine of ten done\n"), Some("one of ten done\n"), Some("log")),
    ("plan.md", Some("1. go on\n"), None, None),
    ("journal.md", None, Some("not in the log\n"), None),
];

#[test]
fn under_log_the_tree_stands_and_the_command_that_is_named_puts_it_back() {
    let place = Place::new();
    let id = torn_apart(&place, "log");
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(disagreements(&recovered), BOTH);
    let workspace = &recovered["workspace"];
    assert_eq!((&workspace["authority"], &workspace["taken_up"]), (&"log".into(), &Value::Null));
    assert!(workspace["disagreements"].as_array().unwrap().iter().all(|one| one["decides"] == "log"));
    let page = place.run(&["recover", &id]).ok();
    let line = page.lines().find(|line| line.contains("workspace restore")).unwrap();
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    place.run(&words).ok();
    assert_eq!(place.read("work/progress.md").unwrap(), "nine of ten done\n");
    assert_eq!(place.read("work/plan.md").unwrap(), "1. go on\n");
    assert!(page.contains("the log has no journal.md: move it away yourself"), "{page}");
    assert_eq!(
        place.read("work/journal.md").unwrap(),
        "not in the log\n",
        "a restore takes nothing away that it never saw"
    );
    assert_eq!(place.read("work/code.rs").unwrap(), "fn main() { todo() }\n", "nothing else was touched");
    assert_eq!(disagreements(&place.json(&["recover", &id]).json()), []);
}

#[test]
fn under_files_the_directory_decides_and_is_taken_up() {
    let place = Place::new();
    let id = torn_apart(&place, "files");
    let head = |place: &Place| place.json(&["session", "show", &id]).json()["head"].as_u64().unwrap();
    let before = head(&place);
    let plan = place.json(&["recover", &id, "--plan"]).json();
    assert_eq!(disagreements(&plan), BOTH);
    assert_eq!((head(&place), &plan["workspace"]["taken_up"]), (before, &Value::Null), "a plan only lists");
    let mut redactor = Redactor::new(&place);
    let page = place.run(&["recover", &id, "--plan"]).ok();
    insta::assert_snapshot!(redactor.text(&page));
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(disagreements(&recovered), BOTH);
    let taken = recovered["workspace"]["taken_up"]["seq"].as_u64().unwrap();
    assert_eq!((taken, recovered["seq"].as_u64()), (before + 1, Some(taken)));
    assert_eq!(place.run(&["workspace", "cat", &id, "progress.md"]).ok(), "one of ten done\n");
    assert_eq!(place.json(&["workspace", "cat", &id, "plan.md"]).error(3)["kind"], "not_found");
    assert_eq!(place.run(&["workspace", "cat", &id, "journal.md"]).ok(), "not in the log\n");
    let again = place.json(&["recover", &id]).json();
    assert_eq!((disagreements(&again), &again["workspace"]["taken_up"]), (Vec::new(), &Value::Null));
    assert_eq!(head(&place), taken, "nothing is left to take up");
}
