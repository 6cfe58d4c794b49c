//! What steps changed in the workspace, taken back and told apart.

use crate::support::{Place, text, wait_for};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// A session with a workspace in `work`, a file and a checkpoint.
fn begin(place: &Place) -> (String, u64) {
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/a.txt"), "one\n").unwrap();
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
    assert_eq!(place.read("work/a.txt").as_deref(), Some("one\n"));
    assert!(!place.path().join("work/d").exists());
    assert_eq!(place.read("work/mine.txt").as_deref(), Some("by a person\n"));
    // Going to the outcome of a step on the line that was left brings what it made.
    let left = text(&back, "/previous");
    fs::remove_file(place.path().join("work/mine.txt")).unwrap();
    place.json(&["rewind", &format!("{id}:{left}@{after}")]).json();
    assert_eq!((place.read("work/a.txt"), place.read("work/d/b.txt").as_deref()), (None, Some("newer\n")));
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
    assert_eq!(place.read("work/a.txt").as_deref(), Some("one\n"));
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
    assert_eq!(place.read("other/a.txt").as_deref(), Some("work in progress\n"));
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
    assert_eq!(place.read("other/a.txt").as_deref(), Some("one\n"));
}

#[test]
fn drift_is_what_is_there_after_settling_and_is_a_steps_only_where_that_is_certain() {
    let place = Place::new();
    let (id, _) = begin(&place);
    let script = "echo half > a.txt; echo x > ../begun.txt; sleep 60";
    let run = ["step", "run", &id, "--key", "k1", "--effect", "contained", "--cwd", "work", "--", "sh", "-c", script];
    place.cut_off(&run, "begun.txt");
    let files = |recovered: &Value| -> Vec<Value> {
        let drift = recovered.pointer("/workspace/drift").and_then(Value::as_array).unwrap();
        drift.iter().filter(|drift| text(drift, "/path").contains('.')).cloned().collect()
    };
    let plan = files(&place.json(&["recover", &id, "--plan"]).json());
    assert_eq!((text(&plan[0], "/path"), text(&plan[0], "/step")), ("a.txt".into(), "k1".into()));
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(text(&recovered, "/steps/0/settlement/decision"), "put_back_and_run_again");
    assert_eq!(files(&recovered), Vec::<Value>::new(), "what was put back differs from nothing");
    assert_eq!(place.read("work/a.txt").as_deref(), Some("one\n"));
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

fn git(place: &Place, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main", "-C"]);
    let out = git.arg(place.path().join("work")).args(arguments).output().unwrap();
    assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Whether nothing of the repository is missing, and how many commits it has.
fn commits(place: &Place) -> usize {
    let checked = git(place, &["fsck", "--full", "--no-dangling"]);
    assert!(!checked.contains("missing"), "{checked}");
    git(place, &["log", "--format=%H %T"]).lines().count()
}

const COMMIT: &str = "git -c user.name=n -c user.email=e@example.com commit -qm step";

fn committed(place: &Place, id: &str, key: &str) {
    let run =
        ["step", "run", id, "--key", key, "--effect", "observable", "--probe", "git:.#HEAD", "--cwd", "work", "--"];
    let run: Vec<&str> = run.into_iter().chain(["sh", "-c", COMMIT]).collect();
    place.run(&run).ok();
}

fn kept(answer: &Value) -> Vec<(String, String, bool)> {
    let kept = answer.pointer("/workspace/report/kept").and_then(Value::as_array).unwrap();
    let whole = |kept: &Value| kept["repository"].as_bool().unwrap_or_default();
    kept.iter().map(|kept| (text(kept, "/path"), text(kept, "/reason"), whole(kept))).collect()
}

/// A session in a repository with one commit, and a checkpoint of it.
fn begin_in_repository(place: &Place) -> (String, String) {
    fs::create_dir(place.path().join("work")).unwrap();
    git(place, &["init", "-q"]);
    git(place, &["commit", "-q", "--allow-empty", "-m", "begin"]);
    let id = place.session();
    place.run(&["workspace", "attach", &id, "work"]).ok();
    let seq = place.json(&["checkpoint", &id, "--no-environment"]).json()["seq"].as_u64().unwrap();
    let at = format!("{id}@{seq}");
    (id, at)
}

#[test]
fn a_rewind_leaves_a_git_repository_whole() {
    let place = Place::new();
    let (id, first) = begin_in_repository(&place);
    for number in ["1", "2"] {
        let script = format!("echo {number} > {number}.txt && git add {number}.txt");
        contained(&place, &id, &format!("write-{number}"), &script);
        committed(&place, &id, &format!("commit-{number}"));
    }
    let back = place.json(&["rewind", &first]).json();
    assert_eq!((commits(&place), place.read("work/1.txt")), (3, None));
    assert_eq!(kept(&back), [(".git".to_owned(), "changed".to_owned(), true)], "{back}");
    let page = place.run(&["rewind", &first]).ok();
    assert!(page.contains(".git (a git repository, kept whole: changed since)"), "{page}");
    assert!(page.contains("take a checkpoint first"), "{page}");
    // What a checkpoint has is the session's.
    let whole = place.json(&["checkpoint", &id, "--no-environment"]).json()["seq"].as_u64().unwrap();
    let whole = format!("{id}:{}@{whole}", text(&place.json(&["session", "show", &id]).json(), "/branch"));
    let back = place.json(&["rewind", &first]).json();
    assert_eq!((kept(&back), commits(&place)), (Vec::new(), 1), "{back}");
    // And forth again.
    let forth = place.json(&["rewind", &whole]).json();
    assert_eq!((kept(&forth), commits(&place)), (Vec::new(), 3), "{forth}");
    // A part of it goes back only where the rest is right.
    let restore = ["workspace", "restore", &first, "--within", ".git/index"];
    let part = place.json(&restore).json();
    assert_eq!((text(&part, "/report/kept/0/reason"), commits(&place)), ("parted".to_owned(), 3), "{part}");
    let all = place.json(&["workspace", "restore", &first, "--within", ".git"]).json();
    assert_eq!((all["complete"].as_bool(), commits(&place)), (Some(true), 1), "{all}");
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
}

#[test]
fn a_git_repository_that_sessions_share_stays_whole_whoever_goes_back() {
    for later in [false, true] {
        let place = Place::new();
        let (one, first) = begin_in_repository(&place);
        let two = place.session();
        place.run(&["workspace", "attach", &two, "work"]).ok();
        let seq = place.json(&["checkpoint", &two, "--no-environment"]).json()["seq"].as_u64().unwrap();
        let second = format!("{two}@{seq}");
        contained(&place, &one, "write-1", "echo 1 > 1.txt && git add 1.txt");
        contained(&place, &two, "write-2", "echo 2 > 2.txt && git add 2.txt");
        committed(&place, &one, "commit");
        for at in if later { [&second, &first] } else { [&first, &second] } {
            let back = place.json(&["rewind", at]).json();
            assert_eq!(commits(&place), 2, "{back}");
            assert!(kept(&back).iter().any(|(path, _, whole)| path == ".git" && *whole), "{back}");
        }
    }
}

#[test]
fn what_a_person_did_after_a_crash_is_not_the_steps_although_something_of_it_still_ran() {
    let place = Place::new();
    let (id, _) = begin(&place);
    let script = "echo half > a.txt; echo $PPID > ../started.new; mv ../started.new ../started; sleep 60 & wait";
    let run = ["step", "run", &id, "--key", "k", "--effect", "contained", "--cwd", "work", "--", "sh", "-c", script];
    let mut child = place.command(&run).spawn().unwrap();
    wait_for(&place.path().join("started"));
    // Both at once, so that nobody ends what the command started.
    let supervisor = place.read("started").unwrap();
    let pids = [supervisor.trim(), &child.id().to_string()];
    assert!(Command::new("kill").arg("-9").args(pids).status().unwrap().success());
    child.wait().unwrap();
    // Changes within a second of the last sign of life are the step's.
    std::thread::sleep(Duration::from_millis(1100));
    fs::write(place.path().join("work/mine.txt"), "by a person\n").unwrap();
    let recovered = place.json(&["recover", &id]);
    let recovered: Value = serde_json::from_str(&recovered.out).unwrap();
    assert_eq!(text(&recovered, "/steps/0/reason"), "changed_by_others", "{recovered}");
    assert_eq!(text(&recovered, "/steps/0/evidence/paths/0"), "mine.txt", "{recovered}");
    assert_eq!(place.read("work/mine.txt").as_deref(), Some("by a person\n"));
}

#[test]
fn a_command_that_sits_elsewhere_is_named() {
    let place = Place::new();
    let said = place.run(&["restore", "3f2a"]);
    assert!(said.err.contains("'workspace restore'") && !said.err.contains("recover"), "{}", said.err);
    let error = place.json(&["cat", "3f2a"]).error(2);
    assert_eq!(text(&error, "/hints/0"), "`samite workspace cat` is meant, perhaps", "{error}");
    let error = place.json(&["workspace", "attach", &place.session(), "/proc"]).error(2);
    assert_eq!(error["code"], "pseudo_file_system");
}

#[test]
fn the_branch_that_a_rewind_left_says_how_it_gets_its_directory_back() {
    let place = Place::new();
    let (id, first) = begin(&place);
    let back = place.json(&["rewind", &format!("{id}@{first}")]).json();
    let left = format!("{id}:{}", text(&back, "/previous"));
    let error = place.json(&["workspace", "status", &left]).error(3);
    assert!(error["hints"].to_string().contains("samite branch use"), "{error}");
    place.run(&["branch", "use", &left]).ok();
    place.run(&["workspace", "status", &left]).ok();
}
