//! `workspace close`: exit statuses, receipts, refusals.

use crate::support::{Place, Redactor, text};
use serde_json::Value;
use std::fs;

/// A session that works in `work`, with a file that no tree has.
fn at_work(place: &Place) -> String {
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/a.txt"), "two hours of work\n").unwrap();
    id
}

fn codes(closed: &Value, name: &str) -> Vec<(String, Value)> {
    closed[name].as_array().unwrap().iter().map(|one| (text(one, "/code"), one["path"].clone())).collect()
}

#[test]
fn what_is_safe_to_delete_is_there_after_it_was_deleted() {
    let place = Place::new();
    let id = at_work(&place);
    let closed = place.json(&["workspace", "close", &id]).json();
    assert_eq!((closed["safe"].as_bool(), &closed["code"]), (Some(true), &Value::Null), "{closed}");
    let seq = closed["receipt"]["seq"].as_u64().unwrap();
    assert_eq!(closed["receipt"]["head"].as_u64().unwrap() + 1, seq);
    let status = place.json(&["status"]).json();
    assert_eq!(status["sessions"][0]["branches"][0]["closed"]["seq"], seq);
    assert_eq!(place.json(&["workspace", "status", &id]).json()["closed"]["seq"], seq);
    assert!(place.run(&["status"]).ok().contains("1 workspace closed: "), "{status}");
    fs::remove_dir_all(place.path().join("work")).unwrap();
    place.run(&["fork", &id, "--into", "again"]).ok();
    assert_eq!(place.read("again/a.txt").unwrap(), "two hours of work\n");
    assert_eq!(place.json(&["workspace", "close", &id]).error(3)["code"], "workspace_gone");
    assert!(place.run(&["read", &id]).ok().contains("all durable"));
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
}

#[test]
fn a_step_that_was_lost_refuses_until_it_is_settled() {
    let place = Place::new();
    let id = at_work(&place);
    let script = "echo > ../mail; kill -9 $PPID; sleep 60";
    let lost = ["--json", "step", "run", &id, "--key", "mail", "--cwd", "work", "--", "sh", "-c", script];
    place.cut_off(&lost, "mail");
    let did = place.json(&["workspace", "close", &id]);
    assert_eq!(did.status, 1, "{did:?}");
    let closed: Value = serde_json::from_str(&did.out).unwrap();
    assert_eq!(closed["code"], "not_safe_to_delete");
    let doubt = &closed["refusals"][0];
    assert_eq!((text(doubt, "/code"), text(doubt, "/step")), ("step_in_doubt".to_owned(), "mail".to_owned()));
    assert_eq!(closed["receipt"], Value::Null);
    assert_eq!(closed["tree"]["label"], "at the close", "what was there is saved all the same");
    place.run(&["recover", &id]).ok();
    place.run(&["step", "resolve", &id, "mail", "--happened"]).ok();
    assert_eq!(place.json(&["workspace", "close", &id]).json()["safe"], true);
}

#[test]
fn a_command_that_runs_is_named_with_its_processes() {
    let place = Place::new();
    let id = at_work(&place);
    let script = "echo > ../started; read line < ../go";
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path().join("go"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let mut command = place.command(&["step", "run", &id, "--key", "k", "--cwd", "work", "--", "sh", "-c", script]);
    let mut running = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    crate::support::wait_for(&place.path().join("started"));
    let did = place.json(&["workspace", "close", &id]);
    assert_eq!(did.status, 1, "{did:?}");
    let closed: Value = serde_json::from_str(&did.out).unwrap();
    let found: Vec<String> = codes(&closed, "refusals").into_iter().map(|(code, _)| code).collect();
    assert_eq!(found.first().map(String::as_str), Some("writer_alive"));
    assert!(found.contains(&"step_open".to_owned()), "{closed}");
    assert_eq!(found.iter().filter(|code| *code == "process_running").count(), 3, "{closed}");
    assert!(codes(&closed, "refusals").contains(&("unsaved".to_owned(), "a.txt".into())), "{closed}");
    assert_eq!(closed["unsaved_bytes"], 18);
    fs::write(place.path().join("go"), "go\n").unwrap();
    assert!(running.wait().unwrap().success());
    assert_eq!(place.json(&["workspace", "close", &id]).json()["safe"], true);
}

#[test]
fn golden_pages_of_a_close() {
    let place = Place::new();
    let id = at_work(&place);
    fs::write(place.path().join("work/.samiteignore"), "*.log\n").unwrap();
    fs::write(place.path().join("work/run.log"), "x").unwrap();
    fs::write(place.path().join("work/.env"), "TOKEN=x\n").unwrap();
    let mut redactor = Redactor::new(&place);
    let mut golden = String::new();
    let mut note = |arguments: &[&str], status: i32| {
        let did = place.run(arguments);
        assert_eq!((did.status, did.err.as_str()), (status, ""), "{did:?}");
        golden.push_str(&redactor.text(&format!("$ samite {}\n{}\n", arguments.join(" "), did.out)));
    };
    note(&["workspace", "close", &id, "--deadline", "0s"], 1);
    note(&["workspace", "close", &id], 0);
    let socket = std::os::unix::net::UnixListener::bind(place.path().join("work/socket")).unwrap();
    note(&["workspace", "close", &id], 1);
    drop(socket);
    fs::remove_file(place.path().join("work/socket")).unwrap();
    note(&["workspace", "close", &id], 0);
    insta::assert_snapshot!(golden);
}
