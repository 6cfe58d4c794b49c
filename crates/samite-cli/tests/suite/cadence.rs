//! Checkpoints that nobody asks for, and what becomes of old ones.

use crate::support::{Place, hints, text, wait_for};
use serde_json::Value;
use std::fs;

/// The checkpoints of a session's current branch.
fn checkpoints(place: &Place, session: &str) -> Vec<Value> {
    let listed = place.json(&["checkpoint", "list", session]).json();
    listed["checkpoints"].as_array().unwrap().clone()
}

fn causes(place: &Place, session: &str) -> Vec<String> {
    checkpoints(place, session).iter().map(|one| text(one, "/cause")).collect()
}

/// A session that loses at most a second's work.
fn hasty(place: &Place) -> String {
    let id = place.session();
    place.attach_work(&id);
    place.run(&["session", "set", &id, "--max-loss", "1s", "--max-overhead", "99%"]).ok();
    id
}

/// Runs a step whose command writes a file and goes on, and kills samite once a checkpoint has that file; where it is.
fn cut_off_amid(place: &Place, id: &str, effect: &[&str]) -> u64 {
    let script = "echo half > half; sleep 600";
    let mut arguments = vec!["step", "run", id, "--key", "long", "--cwd", "work"];
    arguments.extend_from_slice(effect);
    arguments.extend_from_slice(&["--", "sh", "-c", script]);
    let mut child = place.command(&arguments).spawn().unwrap();
    wait_for(&place.path().join("work/half"));
    let amid = || {
        checkpoints(place, id).iter().filter(|one| one["cause"] == "tick").find_map(|one| {
            let at = format!("{id}@{}", one["seq"]);
            (place.json(&["workspace", "cat", &at, "half"]).status == 0).then(|| one["seq"].as_u64().unwrap())
        })
    };
    let found = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        amid()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    found.unwrap_or_else(|| panic!("no checkpoint in the middle of the step"))
}

#[test]
fn a_command_that_is_lost_with_its_sandbox_has_left_what_it_did_so_far() {
    let place = Place::new();
    let id = hasty(&place);
    let at = cut_off_amid(&place, &id, &[]);
    fs::remove_dir_all(place.path().join("work")).unwrap();
    // Nobody knows how far an opaque command came: it is in doubt, and its half is there to look at.
    let error = place.json(&["step", "run", &id, "--key", "long", "--", "sh", "-c", "true"]).error(4);
    assert_eq!(error["code"], "step_mismatch", "{error}");
    let forked = place.json(&["fork", &format!("{id}@{at}"), "--into", "other"]).json();
    assert_eq!(place.read("other/half").unwrap(), "half\n");
    assert_eq!(text(&forked, "/in_doubt/0/key"), "long");
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
}

#[test]
fn a_contained_command_is_put_back_to_its_start_whatever_was_kept_in_its_middle() {
    let place = Place::new();
    let id = hasty(&place);
    fs::write(place.path().join("work/before"), "before").unwrap();
    cut_off_amid(&place, &id, &["--effect", "contained"]);
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(text(&recovered, "/steps/0/decision"), "put_back_and_run_again", "{recovered:#}");
    assert_eq!(place.read("work/before").as_deref(), Some("before"));
    assert_eq!(place.read("work/half"), None);
}

#[test]
fn a_checkpoint_that_fails_is_told_and_its_step_is_none_the_worse() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    place.run(&["session", "set", &id, "--cadence", "step"]).ok();
    let step = |key: &str, script: &str| place.run(&["step", "run", &id, "--key", key, "--", "sh", "-c", script]);
    assert_eq!(step("k1", "echo one > work/a").status, 0);
    assert_eq!(causes(&place, &id), ["step_end"]);
    let did = step("k2", "rm -r work; exit 3");
    assert_eq!(did.status, 3, "{did:?}");
    assert!(did.err.contains("a checkpoint could not be taken"), "{did:?}");
    assert_eq!(place.json(&["step", "list", &id]).json()["steps"][1]["outcome"]["output"]["status"], 3);
    let ended = place.json(&["turn", "end", &id, "--dedupe", "t"]).json();
    assert_eq!((text(&ended, "/failed/code").as_str(), &ended["checkpoint"]), ("no_file", &Value::Null));
    assert_eq!(place.json(&["turn", "end", &id, "--dedupe", "t"]).json()["duplicate"], true);
}

#[test]
fn the_end_of_a_turn_publishes_what_is_for_the_user() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    place.run(&["session", "set", &id, "--deliver", "*.md"]).ok();
    fs::write(place.path().join("work/report.md"), "done").unwrap();
    let ends = || place.json(&["turn", "end", &id]).json()["delivered"].clone();
    assert_eq!((ends(), ends()), (Value::from(1), Value::from(0)));
}

#[test]
fn old_checkpoints_are_shown_before_they_are_thinned_out() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    let mut seqs = Vec::new();
    for (number, label) in [None, Some("mine"), None, None].into_iter().enumerate() {
        fs::write(place.path().join("work/a"), format!("{number}").repeat(9000)).unwrap();
        let mut arguments = vec!["checkpoint", &id, "--no-environment"];
        arguments.extend(label.into_iter().flat_map(|label| ["--label", label]));
        seqs.push(place.json(&arguments).json()["seq"].as_u64().unwrap());
    }
    let thin = |more: &[&str]| {
        let all = ["checkpoint", "thin", &id, "--all-for", "0s", "--hourly-for", "0s"];
        place.json(&[&all[..], more].concat())
    };
    // All of the last hour stay.
    assert_eq!(place.json(&["checkpoint", "thin", &id]).json()["count"], 0);
    let error = thin(&[]).error(2);
    assert_eq!(error["code"], "not_confirmed");
    let plan = thin(&["--dry-run"]).json();
    let going: Vec<&Value> = plan["branches"][0]["thinned"].as_array().unwrap().iter().map(|one| &one["seq"]).collect();
    assert_eq!(going, [seqs[0], seqs[2]]);
    let thinned = || checkpoints(&place, &id).iter().map(|one| one["thinned"] == true).collect::<Vec<_>>();
    assert_eq!(thinned(), [false; 4]);
    assert_eq!(thin(&["--yes"]).json()["count"], 2);
    assert_eq!(thinned(), [true, false, true, false]);
    let freed = place.json(&["gc", "--yes"]).json();
    assert_eq!(freed["plan"]["bytes"], plan["bytes"]);
    let error = place.json(&["workspace", "cat", &format!("{id}@{}", seqs[2]), "a"]).error(3);
    assert_eq!(error["code"], "tree_collected");
    assert!(hints(&error).contains(&format!("@{} before it", seqs[1])), "{error}");
    assert!(hints(&error).contains(&format!("@{} after it", seqs[3])), "{error}");
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
    assert!(place.run(&["status"]).ok().contains("checkpoints, and the work that a loss would have cost"));
}

#[test]
fn where_the_bytes_are_used_up_status_says_what_to_do() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    place.run(&["session", "set", &id, "--max-bytes", "1"]).ok();
    fs::write(place.path().join("work/a"), "a").unwrap();
    let step = |key: &str| place.run(&["step", "run", &id, "--key", key, "--", "true"]).ok();
    step("k1");
    step("k2");
    place.run(&["turn", "end", &id]).ok();
    assert_eq!(causes(&place, &id), ["tick", "turn_end"]);
    for arguments in [&["status"][..], &["session", "show", &id]] {
        let page = place.run(arguments).ok();
        assert!(page.contains("only turns are still kept") && page.contains("samite checkpoint thin"), "{page}");
    }
    let shown = place.json(&["session", "show", &id]).json();
    assert_eq!(
        (&shown["checkpoints"]["full"], &shown["checkpoints"]["max_bytes"]),
        (&Value::Bool(true), &Value::from(1))
    );
}
