//! What damaged stores, full disks, odd input and zombies end with, on the command line.

use crate::mount::Mount;
use crate::support::{Did, Place, SAMITE, text, wait_for};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The error of a command: its status is that of its kind, and it says what to do next.
#[track_caller]
fn error(place: &Place, arguments: &[&str], status: i32, code: &str) -> Value {
    let error = place.json(arguments).error(status);
    assert_eq!(error["code"], code, "{arguments:?}: {error}");
    assert!(!error["hints"].as_array().unwrap().is_empty(), "{arguments:?}: {error}");
    error
}

fn home(place: &Place) -> PathBuf {
    place.store().join("tenants/local")
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn payloads(place: &Place, session: &str) -> Vec<String> {
    place.json(&["read", session]).lines().iter().map(|entry| text(entry, "/payload")).collect()
}

#[test]
fn a_cut_log_is_corrupt_until_a_person_accepts_the_loss() {
    let place = Place::new();
    let id = place.session();
    let log = home(&place).join("ledger.db-wal");
    place.say(&id, "one");
    place.say(&id, "two");
    let size = fs::metadata(&log).unwrap().len();
    place.say(&id, "three");
    fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(size).unwrap();
    let refused = error(&place, &["append", &id, "--text", "four"], 8, "ledger_behind");
    assert!(text(&refused, "/message").contains("ledger"), "{refused}");
    let verified = place.json(&["verify"]);
    assert_eq!(verified.status, 8);
    let verified: Value = serde_json::from_str(&verified.out).unwrap();
    assert!(!verified["lost"].as_array().unwrap().is_empty(), "{verified}");
    assert_eq!(place.json(&["verify", "--accept-loss"]).json()["ok"], true);
    assert_eq!(payloads(&place, &id), ["one", "two"]);
    place.say(&id, "four");
    assert_eq!(payloads(&place, &id), ["one", "two", "four"]);
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
}

#[test]
fn a_damaged_pack_is_found_by_verify_and_the_rest_is_read() {
    let place = Place::new();
    let id = place.session();
    let work = place.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("first"), random(1 << 20)).unwrap();
    place.run(&["workspace", "attach", &id, "work"]).ok();
    place.run(&["checkpoint", &id, "--no-environment"]).ok();
    place.say(&id, "words");
    let folder = fs::read_dir(home(&place).join("packs")).unwrap().next().unwrap().unwrap().path();
    let pack = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    flip(&pack, 100_000);
    let verified = place.json(&["verify"]);
    assert_eq!(verified.status, 8);
    let verified: Value = serde_json::from_str(&verified.out).unwrap();
    assert_eq!(text(&verified, "/findings/0/what"), "tree");
    assert_eq!(verified["findings"][0]["first"], 1);
    assert!(text(&verified, "/findings/0/message").contains(pack.file_stem().unwrap().to_str().unwrap()), "{verified}");
    assert_eq!(place.run(&["workspace", "cat", &id, "first"]).status, 8);
    assert_eq!(place.json(&["read", &id, "--kind", "message"]).lines().len(), 1);
    fs::remove_file(&pack).unwrap();
    let verified: Value = serde_json::from_str(&place.json(&["verify"]).out).unwrap();
    assert_eq!(verified["packs"].as_array().unwrap().len(), 1, "{verified}");
}

fn random(size: usize) -> Vec<u8> {
    use std::io::Read as _;
    let mut bytes = vec![0; size];
    fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn keys_and_formats_of_others_are_refused() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "words");
    let master = place.path().join("master.key");
    let good = fs::read(&master).unwrap();
    let other = Place::new();
    other.session();
    fs::copy(other.path().join("master.key"), &master).unwrap();
    assert_eq!(place.json(&["read", &id]).error(6)["kind"], "denied");
    fs::write(&master, &good[..good.len() / 2]).unwrap();
    assert_eq!(place.json(&["read", &id]).error(8)["kind"], "corrupt");
    fs::write(&master, good).unwrap();
    let node = place.store().join("node.toml");
    let good = fs::read_to_string(&node).unwrap();
    fs::write(&node, good.replace("format = 1", "format = 2")).unwrap();
    error(&place, &["read", &id], 2, "newer_store");
    fs::write(&node, &good[..9]).unwrap();
    error(&place, &["append", &id, "--text", "x"], 8, "bad_node");
    fs::remove_file(&node).unwrap();
    error(&place, &["session", "new"], 8, "no_node");
    fs::write(&node, good).unwrap();
    assert_eq!(payloads(&place, &id), ["words"]);
}

#[test]
fn paths_outside_of_the_workspace_are_invalid() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/file"), "inside").unwrap();
    fs::write(place.path().join("x"), "outside").unwrap();
    let seq = place.json(&["checkpoint", &id, "--no-environment"]).json()["seq"].as_u64().unwrap();
    let at = format!("{id}@{seq}");
    fs::write(place.path().join("work/file"), "changed").unwrap();
    for path in ["../x", "../../etc/passwd", "/etc/passwd", "a/../../x"] {
        error(&place, &["workspace", "cat", &at, path], 2, "path_outside");
        error(&place, &["workspace", "log", &id, path], 2, "path_outside");
        error(&place, &["workspace", "restore", &at, "--within", path, "--force"], 2, "path_outside");
    }
    assert_eq!(place.json(&["step", "list", &id]).json()["steps"].as_array().unwrap().len(), 0);
    assert_eq!(fs::read_to_string(place.path().join("work/file")).unwrap(), "changed");
    assert_eq!(fs::read_to_string(place.path().join("x")).unwrap(), "outside");
}

#[test]
fn a_payload_that_is_too_large_is_refused_before_it_is_read() {
    let place = Place::new();
    let id = place.session();
    let file = fs::File::create(place.path().join("huge")).unwrap();
    file.set_len((4 << 30) + 1).unwrap();
    let error = error(&place, &["append", &id, "--file", "huge"], 2, "input_too_large");
    assert!(text(&error, "/message").contains("4294967296"), "{error}");
    // A file that tells no length is read up to the limit, and has no end here.
    let endless = ["--json", "step", "resolve", &id, "k", "--happened", "--output", "/dev/zero"];
    let mut shell = Command::new("sh");
    for (name, value) in place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))) {
        shell.env(name, value);
    }
    shell.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh", SAMITE]).args(endless);
    assert_eq!(Did::new(&shell.output().unwrap()).error(2)["code"], "input_too_large");
    assert_eq!(payloads(&place, &id), [""; 0]);
}

#[test]
fn odd_json_comes_back_as_it_was_and_never_breaks_a_line() {
    let place = Place::new();
    let id = place.session();
    for value in [r#""\u0000""#, r#"{"\u0000": "\ud83d\ude00"}"#] {
        place.json(&["append", &id, "--json-value", value]).json();
        let line = place.json(&["read", &id, "--backward", "--limit", "1"]).lines().remove(0);
        assert_eq!(line["payload"], serde_json::from_str::<Value>(value).unwrap());
    }
    // Half of a pair is no text that every reader can take: it is handed over as the text that it came as.
    let half = r#"{"a": "\ud800", "b": "\uDFFF"}"#;
    place.json(&["append", &id, "--json-value", half]).json();
    let line = place.json(&["read", &id, "--backward", "--limit", "1"]).lines().remove(0);
    assert_eq!((text(&line, "/encoding"), text(&line, "/payload")), ("text".to_owned(), half.to_owned()));
    for bad in ["{", "\"\u{1}\"", "01", "nul", "\"\\x\"", "[1,]", ""] {
        let error = place.json(&["append", &id, "--json-value", bad]).error(2);
        assert_eq!(error["kind"], "invalid", "{bad:?}");
    }
    assert_eq!(place.json(&["read", &id]).lines().len(), 3);
}

#[test]
fn a_full_disk_and_one_that_cannot_be_written_are_unavailable() {
    let place = Place::new();
    let Some(disk) = Mount::new(&["-t", "tmpfs", "-o", "size=2m", "none"], &place.store()) else { return };
    let id = place.session();
    place.say(&id, "words");
    let words = data_encoding::HEXLOWER.encode(&random(30_000));
    let refused = loop {
        let did = place.json(&["append", &id, "--text", &words]);
        if did.status != 0 {
            break did.error(7);
        }
    };
    assert_eq!(refused["code"], "disk_full");
    let count = payloads(&place, &id).len();
    assert!(count > 1);
    assert!(Command::new("mount").args(["-o", "remount,size=8m"]).arg(&disk.0).status().unwrap().success());
    place.say(&id, "after");
    assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap().success());
    assert_eq!(payloads(&place, &id).len(), count + 1);
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
    error(&place, &["append", &id, "--text", "x"], 7, "read_only");
    error(&place, &["session", "new"], 7, "read_only");
}

#[test]
fn verify_answers_with_an_object_whatever_is_damaged() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "words");
    let ledger = place.path().join("copy/tenants/local/ledger.db");
    let database = || fs::OpenOptions::new().read(true).write(true).open(&ledger).unwrap();
    // All of a backup is in one file.
    place.run(&["backup", "copy"]).ok();
    let whole = fs::read(&ledger).unwrap();
    assert_eq!(place.json(&["--store", "copy", "verify"]).json()["ok"], true);
    for at in (0..whole.len()).step_by(4096).chain([40, 4096 * 2 - 64, 4096 * 5 - 64]) {
        fs::write(&ledger, &whole).unwrap();
        database().write_all_at(&[0xa5; 64], at as u64).unwrap();
        for arguments in [&["--store", "copy", "verify"][..], &["--store", "copy", "verify", "--rebuild"]] {
            let did = place.json(arguments);
            let answer: Value =
                serde_json::from_str(did.out.trim()).unwrap_or_else(|_| panic!("{at} {arguments:?} {did:?}"));
            assert!(matches!(did.status, 0 | 8), "{at} {did:?}");
            assert_eq!(answer["ok"], did.status == 0, "{at} {answer}");
        }
    }
}

#[test]
fn a_store_on_a_network_file_system_is_refused() {
    let place = Place::new();
    // What the kernel calls it is what counts: a bind of a disk that says so cannot be made everywhere.
    let Some(_mount) = Mount::new(&["-t", "nfs", "127.0.0.1:/none", "-o", "soft,timeo=1,retry=0"], &place.store())
    else {
        return;
    };
    error(&place, &["session", "new"], 2, "network_file_system");
}

#[test]
fn a_step_whose_branch_was_taken_over_ends_as_fenced_and_is_evidence() {
    let place = Place::new();
    let id = place.session();
    let script = "echo sent > sent; while ! test -e go; do sleep 0.01; done; echo done";
    let arguments = ["--json", "step", "run", &id, "--key", "mail", "--tool", "mail", "--", "sh", "-c", script];
    let zombie = place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&place.path().join("sent"));
    let signal = |name: &str| {
        assert!(Command::new("kill").arg(name).arg(zombie.id().to_string()).status().unwrap().success());
    };
    signal("-STOP");
    // It lives, so nobody gets the branch who does not insist.
    assert_eq!(place.json(&["append", &id, "--text", "x"]).error(4)["code"], "lease_held");
    place.json(&["--take-over", "append", &id, "--text", "by the successor"]).json();
    fs::write(place.path().join("go"), "").unwrap();
    signal("-CONT");
    let output = zombie.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(error["kind"], "fenced");
    assert!(error["hints"].to_string().contains("evidence"), "{error}");
    let plan = place.json(&["recover", &id, "--plan"]).json();
    assert!(plan.to_string().contains("done"), "the outcome is offered to whoever settles the doubt: {plan}");
    let kinds: Vec<String> = place.json(&["read", &id]).lines().iter().map(|entry| text(entry, "/kind")).collect();
    assert_eq!(kinds, ["step_started", "message", "step_evidence"]);
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
}
