//! Where workspaces may lie, how sessions and branches are named, and that a collection asks first.

use crate::support::{Place, hints, text};
use serde_json::json;
use std::fs;

/// A session that works in `work`, with a checkpoint.
fn begin(place: &Place) -> String {
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/a"), "a\n").unwrap();
    place.run(&["checkpoint", &id, "--no-environment"]).ok();
    id
}

fn branches(place: &Place, id: &str) -> usize {
    place.json(&["branch", "list", id]).json()["branches"].as_array().unwrap().len()
}

#[test]
fn no_fork_is_made_in_a_workspace_unless_that_leaves_it_out() {
    let place = Place::new();
    let id = begin(&place);
    let other = place.session();
    for into in ["work/fork", "work/deep/er", "work"] {
        let error = place.json(&["fork", &id, "--into", into]).error(if into == "work" { 4 } else { 2 });
        let code = if into == "work" { "not_empty" } else { "nested_workspace" };
        assert_eq!(error["code"], code, "{error}");
        assert!(into == "work" || hints(&error).contains("samiteignore"), "{error}");
    }
    assert_eq!(branches(&place, &id), 1, "what is refused leaves no branch");
    assert!(!place.path().join("work/fork").exists() && !place.path().join("work/deep").exists());
    // Nor in that of another session.
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    place.run(&["workspace", "attach", &other, "elsewhere"]).ok();
    place.run(&["checkpoint", &other, "--no-environment"]).ok();
    let error = place.json(&["fork", &other, "--into", "work/fork"]).error(2);
    assert!(text(&error, "/message").contains("of another session"), "{error}");
    // What the outer one's rules leave out is in none of its checkpoints.
    fs::write(place.path().join("work/.samiteignore"), "/forks/\n").unwrap();
    place.run(&["checkpoint", &id, "--no-environment"]).ok();
    place.run(&["fork", &id, "--into", "work/forks/one"]).ok();
    assert_eq!(place.read("work/forks/one/a").as_deref(), Some("a\n"));
    assert_eq!(place.json(&["workspace", "status", &id]).json()["changes"], json!([]));
    place.run(&["fork", &id, "--into", "beside"]).ok();
}

#[test]
fn an_attached_directory_says_who_else_works_there_and_git_s_own_is_none() {
    let place = Place::new();
    let id = begin(&place);
    let alone = place.session();
    let branch = text(&place.json(&["branch", "list", &id]).json(), "/branches/0/id");
    fs::create_dir_all(place.path().join("work/sub/.git/objects")).unwrap();
    // Another session may work there, or below.
    let work = place.path().canonicalize().unwrap().join("work");
    let shared = json!([{"session": id, "branch": branch, "directory": work.to_str().unwrap()}]);
    for directory in ["work/sub", "work"] {
        let other = place.session();
        let attached = place.json(&["workspace", "attach", &other, directory]).json();
        let with = attached["shared_with"].as_array().unwrap();
        assert!(with.contains(&shared[0]), "{attached}");
        place.run(&["branch", "list", &other]).ok();
    }
    fs::create_dir(place.path().join("alone")).unwrap();
    assert_eq!(place.json(&["workspace", "attach", &alone, "alone"]).json()["shared_with"], json!([]));
    let said = place.run(&["workspace", "attach", &place.session(), "work"]).ok();
    assert!(said.contains(&format!("session {} works here too", &id[..12])), "{said}");
    // Of one session no branch works in another's directory, nor around it.
    let fork = text(&place.json(&["fork", &id]).json(), "/id");
    let fork = format!("{id}:{fork}");
    let error = place.json(&["workspace", "attach", &fork, "work/sub"]).error(2);
    assert_eq!(error["code"], "nested_workspace", "{error}");
    fs::create_dir_all(place.path().join("top/inner")).unwrap();
    let session = place.session();
    place.run(&["workspace", "attach", &session, "top/inner"]).ok();
    let around = text(&place.json(&["fork", &session]).json(), "/id");
    let error = place.json(&["workspace", "attach", &format!("{session}:{around}"), "top"]).error(2);
    assert_eq!(error["code"], "nested_workspace", "{error}");
    for directory in ["work/sub/.git", "work/sub/.git/objects"] {
        let error = place.json(&["workspace", "attach", &place.session(), directory]).error(2);
        assert_eq!(error["code"], "inside_repository", "{error}");
        assert!(hints(&error).contains("work/sub;"), "{error}");
    }
}

#[test]
fn names_mean_what_has_them_ids_come_first_and_one_of_several_is_not_guessed() {
    let place = Place::new();
    let id = text(&place.json(&["session", "new", "--name", "fix the greeting"]).json(), "/id");
    place.say(&id, "hello");
    let fork = |name: &str| text(&place.json(&["fork", &id, "--name", name]).json(), "/id");
    let (second, first) = (fork("second try"), fork("beef"));
    let branch = |reference: &str| place.json(&["log", reference]);
    assert_eq!(text(&branch(&format!("{id}:second try")).json(), "/branch"), second);
    assert_eq!(text(&branch("fix the greeting:second try").json(), "/branch"), second);
    assert_eq!(text(&branch(&format!("{id}:beef")).json(), "/branch"), first);
    // An id is met first, whoever is called so.
    let called = fork(&second[..12]);
    assert_eq!(text(&branch(&format!("{id}:{}", &second[..12])).json(), "/branch"), second);
    assert_eq!(text(&branch(&format!("{id}:{}", called.to_uppercase())).json(), "/branch"), called);
    let twin = fork("second try");
    let error = branch(&format!("{id}:second try")).error(2);
    assert_eq!(error["code"], "ambiguous_name", "{error}");
    assert!(hints(&error).contains(&second) && hints(&error).contains(&twin), "{error}");
    place.run(&["branch", "delete", &format!("{id}:{twin}"), "--yes"]).ok();
    assert_eq!(text(&branch(&format!("{id}:second try")).json(), "/branch"), second);
    place.run(&["session", "new", "--name", "fix the greeting"]).ok();
    assert_eq!(branch("fix the greeting").error(2)["code"], "ambiguous_name");
    // What nothing is called says how to find out.
    let error = branch(&format!("{id}:other")).error(3);
    assert!(hints(&error).contains(&format!("samite branch list {}", &id[..12])), "{error}");
    assert!(hints(&branch("nobody").error(3)).contains("samite session list"));
}

#[test]
fn a_collection_that_takes_something_needs_a_yes() {
    let place = Place::new();
    let id = begin(&place);
    place.run(&["gc"]).ok();
    fs::write(place.path().join("work/big"), vec![7; 100_000]).unwrap();
    let fork = text(&place.json(&["fork", &id, "--into", "other"]).json(), "/id");
    fs::write(place.path().join("other/more"), vec![8; 100_000]).unwrap();
    place.run(&["checkpoint", &format!("{id}:{fork}"), "--no-environment"]).ok();
    place.run(&["branch", "delete", &format!("{id}:{fork}"), "--yes"]).ok();
    let plan = place.json(&["gc", "--dry-run"]).json()["plan"].clone();
    assert!(plan["bytes"].as_u64().unwrap() > 0, "{plan}");
    let error = place.json(&["gc"]).error(2);
    assert_eq!(error["code"], "not_confirmed", "{error}");
    assert!(hints(&error).contains("--yes"), "{error}");
    assert_eq!(place.json(&["gc", "--dry-run"]).json()["plan"], plan, "nothing was touched");
    assert_eq!(place.json(&["gc", "--dry-run", "--yes"]).status, 2);
    assert_eq!(place.json(&["gc", "--yes"]).json()["plan"], plan);
    place.run(&["gc"]).ok();
}
