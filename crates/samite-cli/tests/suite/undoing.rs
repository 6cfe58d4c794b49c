//! What steps changed in the workspace, taken back and told apart.

use crate::support::{Place, text};
use serde_json::Value;
use std::fs;

fn read(place: &Place, path: &str) -> Option<String> {
    fs::read_to_string(place.path().join(path)).ok()
}

/// A session with a workspace in `work`, a file and a checkpoint.
fn begin(place: &Place) -> (String, u64) {
    let id = place.session();
    fs::create_dir(place.path().join("work")).unwrap();
    fs::write(place.path().join("work/a.txt"), "one\n").unwrap();
    place.run(&["workspace", "attach", &id, "work"]).ok();
    let seq = place.json(&["checkpoint", &id, "--no-environment"]).json()["seq"].as_u64().unwrap();
    (id, seq)
}

fn contained(place: &Place, id: &str, key: &str, script: &str) -> Value {
    let run = ["step", "run", id, "--key", key, "--effect", "contained", "--cwd", "work", "--", "sh", "-c", script];
    place.json(&run).json()
}

#[test]
fn a_rewind_takes_back_what_a_contained_step_changed_although_no_checkpoint_followed() {
    let place = Place::new();
    let (id, first) = begin(&place);
    contained(&place, &id, "k1", "echo two > a.txt; mkdir d; echo new > d/b.txt");
    assert_eq!(place.json(&["workspace", "status", &id]).json()["changes"], Value::Array(Vec::new()));
    let after = contained(&place, &id, "k2", "rm a.txt; echo newer > d/b.txt");
    let after = after.pointer("/outcome/seq").and_then(Value::as_u64).unwrap();
    fs::write(place.path().join("work/mine.txt"), "by a person\n").unwrap();
    let back = place.json(&["rewind", &format!("{id}@{first}")]).json();
    assert_eq!(read(&place, "work/a.txt").as_deref(), Some("one\n"));
    assert!(!place.path().join("work/d").exists());
    assert_eq!(read(&place, "work/mine.txt").as_deref(), Some("by a person\n"));
    // Going to the outcome of a step on the line that was left brings what it made.
    let left = text(&back, "/previous");
    fs::remove_file(place.path().join("work/mine.txt")).unwrap();
    place.json(&["rewind", &format!("{id}:{left}@{after}")]).json();
    assert_eq!((read(&place, "work/a.txt"), read(&place, "work/d/b.txt").as_deref()), (None, Some("newer\n")));
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
}

#[test]
fn a_rewind_says_how_many_paths_are_kept_and_that_a_workspace_is_gone() {
    let place = Place::new();
    let (id, first) = begin(&place);
    let at = format!("{id}@{first}");
    assert!(place.run(&["rewind", &at]).ok().contains(&format!("is as at seq {first}\n")));
    for name in ["mine.txt", "yours.txt"] {
        fs::write(place.path().join("work").join(name), "by a person\n").unwrap();
    }
    let said = place.run(&["rewind", &at]).ok();
    assert!(said.contains(&format!("is as at seq {first}, but for 2 paths kept as they are")), "{said}");
    fs::remove_dir_all(place.path().join("work")).unwrap();
    let said = place.run(&["rewind", &at]).ok();
    assert!(said.contains("/work is gone, so no file was put back"), "{said}");
    let gone = place.json(&["rewind", &at]).json();
    assert!(text(&gone, "/workspace_gone").ends_with("/work"), "{gone}");
    assert_eq!(gone["workspace"], Value::Null);
    // And what it says to do brings the files.
    fs::create_dir(place.path().join("work")).unwrap();
    place.run(&["workspace", "restore", &id, "--force"]).ok();
    assert_eq!(read(&place, "work/a.txt").as_deref(), Some("one\n"));
}

#[test]
fn a_fork_that_is_asked_for_again_under_its_key_is_the_same_fork_in_the_same_directory() {
    let place = Place::new();
    let (id, _) = begin(&place);
    let fork = ["fork", &id, "--key", "try-1", "--into", "other"];
    let first = place.json(&fork).json();
    fs::write(place.path().join("other/a.txt"), "work in progress\n").unwrap();
    // The session goes on, and the answer is the same.
    place.say(&id, "meanwhile");
    let again = place.json(&fork).json();
    for pointer in ["/id", "/workspace/directory", "/workspace/tree"] {
        assert_eq!(text(&first, pointer), text(&again, pointer));
    }
    assert_eq!(first["at"], again["at"]);
    assert_eq!(read(&place, "other/a.txt").as_deref(), Some("work in progress\n"));
    assert_eq!(place.json(&["branch", "list", &id]).json()["branches"].as_array().unwrap().len(), 2);
    let elsewhere = ["fork", &id, "--key", "try-1", "--into", "elsewhere"];
    assert_eq!(place.json(&elsewhere).error(4)["code"], "workspace_in_use");
    assert!(!place.path().join("elsewhere").exists());
    let another_place = ["fork", &format!("{id}@2"), "--key", "try-1", "--into", "other"];
    assert_eq!(place.json(&another_place).error(4)["code"], "branch_key_exists");
}

#[test]
fn a_fork_whose_directory_was_not_made_gets_it_when_it_is_asked_for_again() {
    let place = Place::new();
    let (id, _) = begin(&place);
    let first = place.json(&["fork", &id, "--key", "try-1"]).json();
    let again = place.json(&["fork", &id, "--key", "try-1", "--into", "other"]).json();
    assert_eq!(text(&first, "/id"), text(&again, "/id"));
    assert_eq!(read(&place, "other/a.txt").as_deref(), Some("one\n"));
}

#[test]
fn drift_is_what_is_there_after_settling_and_is_a_steps_only_where_that_is_certain() {
    let place = Place::new();
    let (id, _) = begin(&place);
    let begun = place.path().join("begun.txt");
    let script = "echo half > a.txt; echo x > ../begun.txt; sleep 60";
    let run = ["step", "run", &id, "--key", "k1", "--effect", "contained", "--cwd", "work", "--", "sh", "-c", script];
    let mut child = place.command(&run).spawn().unwrap();
    while !fs::metadata(&begun).is_ok_and(|found| found.len() > 0) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let files = |recovered: &Value| -> Vec<Value> {
        let drift = recovered.pointer("/workspace/drift").and_then(Value::as_array).unwrap();
        drift.iter().filter(|drift| text(drift, "/path").contains('.')).cloned().collect()
    };
    let plan = files(&place.json(&["recover", &id, "--plan"]).json());
    assert_eq!((text(&plan[0], "/path"), text(&plan[0], "/step")), ("a.txt".into(), "k1".into()));
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(text(&recovered, "/steps/0/settlement/decision"), "put_back_and_run_again");
    assert_eq!(files(&recovered), Vec::<Value>::new(), "what was put back differs from nothing");
    assert_eq!(read(&place, "work/a.txt").as_deref(), Some("one\n"));
    // Steps that declare nothing about files leave no tree.
    for key in ["k2", "k3"] {
        let script = format!("echo {key} >> c.txt");
        place.run(&["step", "run", &id, "--key", key, "--tool", key, "--cwd", "work", "--", "sh", "-c", &script]).ok();
    }
    let drift = files(&place.json(&["recover", &id]).json());
    assert_eq!((text(&drift[0], "/path"), &drift[0]["step"]), ("c.txt".into(), &Value::Null));
    assert_eq!(drift[0]["one_of"], serde_json::json!(["k3", "k2"]));
    assert!(place.run(&["recover", &id]).ok().contains("c.txt  (one of: k3, k2)"));
}
