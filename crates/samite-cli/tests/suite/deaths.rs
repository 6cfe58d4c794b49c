//! Commands that are cut off, killed, or run where they should not: what becomes of their steps.

use crate::mount::Mount;
use crate::support::{Place, hints, text};
use std::fs;

fn with_workspace() -> (Place, String) {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    (place, id)
}

fn last_state(place: &Place, id: &str) -> String {
    let steps = place.json(&["step", "list", id]).json();
    text(steps["steps"].as_array().unwrap().last().unwrap(), "/state")
}

#[test]
fn a_key_in_doubt_runs_nothing_for_another_command() {
    for effect in ["idempotent", "keyed", "contained", "observable", "opaque"] {
        let (place, id) = with_workspace();
        let words = |script| {
            let mut run = vec!["step", "run", &id, "--key", "q", "--tool", "q", "--cwd", "work", "--effect", effect];
            if effect == "observable" {
                run.extend(["--probe", "file:done.txt"]);
            }
            run.extend(["--", "sh", "-c", script]);
            run
        };
        let old = "echo old >> begun.txt; test $(wc -l < begun.txt) -ge 2 || sleep 60; echo x > done.txt";
        place.cut_off(&words(old), "work/begun.txt");
        for _ in 0..2 {
            let error = place.json(&words("echo new >> begun.txt")).error(4);
            assert_eq!(error["code"], "step_mismatch", "{effect}: {error}");
            assert!(hints(&error).contains("samite recover"), "{effect}: {error}");
            assert!(hints(&error).contains("another key"), "{effect}: {error}");
        }
        assert_eq!(fs::read_to_string(place.path().join("work/begun.txt")).unwrap(), "old\n", "{effect}");
        // What was asked for goes on as it would have.
        place.json(&["recover", &id]).json();
        let again = match effect {
            // It was put back, so that nothing tells the second call from the first.
            "contained" => continue,
            _ => place.json(&words(old)),
        };
        if effect == "opaque" {
            assert_eq!(again.error(4)["code"], "step_in_doubt");
        } else {
            assert_eq!(text(&again.json(), "/answer"), "ran", "{effect}");
        }
    }
}

#[test]
fn a_contained_step_runs_in_the_workspace_of_its_branch_alone() {
    let (place, id) = with_workspace();
    fs::write(place.path().join("work/f.txt"), "").unwrap();
    place.json(&["checkpoint", &id, "--no-environment"]).json();
    let fork = place.json(&["fork", &id, "--into", "other"]).json();
    let branch = text(&fork, "/id");
    let run = |target: &str, directory: &str, effect: &str| {
        let script = "echo once >> f.txt";
        place.json(&[
            "step", "run", target, "--key", "w", "--cwd", directory, "--effect", effect, "--", "sh", "-c", script,
        ])
    };
    let before = place.json(&["read", &id]).lines().len();
    let error = run(&id, "other", "contained").error(2);
    assert_eq!(error["code"], "outside_workspace");
    assert!(hints(&error).contains(&branch[..12]), "{error}");
    let error = run(&id, ".", "contained").error(2);
    assert_eq!(error["code"], "outside_workspace");
    assert!(!hints(&error).contains(&branch[..12]), "{error}");
    assert_eq!(place.json(&["read", &id]).lines().len(), before, "nothing is recorded");
    assert_eq!(fs::read_to_string(place.path().join("other/f.txt")).unwrap(), "");
    // By another name it is the same place, and so is what lies in it.
    std::os::unix::fs::symlink(place.path().join("other"), place.path().join("link")).unwrap();
    run(&format!("{id}:{branch}"), "link", "contained").json();
    assert_eq!(fs::read_to_string(place.path().join("other/f.txt")).unwrap(), "once\n");
    fs::create_dir(place.path().join("work/below")).unwrap();
    run(&id, "work/below", "contained").json();
    assert_eq!(fs::read_to_string(place.path().join("work/below/f.txt")).unwrap(), "once\n");
}

#[test]
fn a_command_that_a_signal_ends_is_doubted_where_half_of_it_may_have_happened() {
    // The effect, whether its probe finds something, the exit status, the step's state, and how often a second call runs it.
    let table = [
        ("idempotent", false, 137, "failed", 1),
        ("keyed", false, 137, "failed", 1),
        ("contained", false, 137, "failed", 1),
        ("observable", false, 137, "failed", 1),
        ("observable", true, 0, "completed", 1),
        ("opaque", true, 4, "in_doubt", 1),
    ];
    for (effect, happens, status, state, count) in table {
        let (place, id) = with_workspace();
        let script = if happens { "echo x >> done.txt; kill -9 $$" } else { "echo x >> half.txt; kill -9 $$" };
        let mut run = vec!["step", "run", &id, "--key", "k", "--cwd", "work", "--effect", effect];
        if effect == "observable" {
            run.extend(["--probe", "file:done.txt"]);
        }
        run.extend(["--", "sh", "-c", script]);
        let first = place.json(&run);
        assert_eq!(first.status, status, "{effect}: {first:?}");
        assert_eq!(last_state(&place, &id), state, "{effect}");
        assert_eq!(place.json(&run).status, status, "{effect}");
        let file = if happens { "work/done.txt" } else { "work/half.txt" };
        let ran = fs::read_to_string(place.path().join(file)).unwrap().lines().count();
        assert_eq!(ran, count, "{effect}");
        if happens && effect == "observable" {
            assert_eq!(text(&first.json(), "/settled/decision"), "completed");
        } else if effect == "opaque" {
            // Whoever decides is told of the signal; another call on the same tool waits for that.
            let error = first.error(4);
            assert_eq!(error["code"], "step_in_doubt");
            assert!(hints(&error).contains("signal 9"), "{error}");
            let recovered = place.json(&["recover", &id]).json();
            assert!(text(&recovered, "/steps/0/evidence/seen").contains("signal 9"), "{recovered}");
            let other = place.json(&["step", "run", &id, "--key", "new", "--retry", "--", "sh", "-c", "kill -9 $$"]);
            assert_eq!(other.error(4)["code"], "step_in_doubt");
        }
    }
}

#[test]
fn a_signal_that_a_shell_tells_of_is_an_exit_status() {
    let (place, id) = with_workspace();
    for (key, retry, state) in [("a", false, "failed"), ("b", true, "failed_retryable")] {
        let mut run = vec!["step", "run", &id, "--key", key];
        run.extend(retry.then_some("--retry"));
        run.extend(["--", "sh", "-c", "sh -c 'kill -9 $$'; exit $?"]);
        assert_eq!(place.json(&run).status, 137);
        assert_eq!(last_state(&place, &id), state);
    }
}

#[test]
fn an_outcome_that_finds_no_room_is_told_as_a_command_that_ran() {
    let place = Place::new();
    let Some(_disk) = Mount::new(&["-t", "tmpfs", "-o", "size=3m", "none"], &place.store()) else { return };
    let id = place.session();
    let script = "echo effect >> effects.txt; dd if=/dev/zero of=store/fill bs=4096 2> /dev/null; \
                  head -c 400000 /dev/urandom | base64; exit 3";
    let did = place.json(&["step", "run", &id, "--key", "k", "--", "sh", "-c", script]);
    let error = did.error(7);
    assert_eq!(error["code"], "outcome_unrecorded", "{error}");
    assert!(text(&error, "/message").contains("ran and ended with status 3"), "{error}");
    assert!(hints(&error).contains("free some space") && hints(&error).contains("samite recover"), "{error}");
    assert!(!error.to_string().contains("nothing was written"), "{error}");
    fs::remove_file(place.path().join("store/fill")).unwrap();
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(text(&recovered, "/steps/0/decision"), "ask");
    assert_eq!(fs::read_to_string(place.path().join("effects.txt")).unwrap(), "effect\n");
}
