//! What `samite audit` gives to outsiders, looked at with programs that nobody here wrote; `./test` installs them
//! (`crates/samite-audit/tests/verifiers`).

use crate::documents::root;
use crate::support::{Place, text};
use samite_audit::tile::bundle_entries;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A program that was installed for tests.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let verifiers = std::env::var_os("SAMITE_TEST_VERIFIERS");
    let folder = verifiers.map_or_else(|| root().join("target/tools/verifiers"), PathBuf::from);
    let found = folder.join(format!("{name}.installed")).exists().then(|| folder.join(name));
    if found.is_none() {
        eprintln!("SKIPPED: {name} is not installed for tests; ./test installs it where it can");
    }
    found
}

/// Whether a command ends well, in this place.
fn agrees(command: &mut Command, place: &Place) -> bool {
    command.current_dir(place.path()).output().unwrap().status.success()
}

/// A store with some acts, exported to `out`, and its key.
fn exported() -> (Place, String) {
    let place = Place::new();
    let session = place.session();
    place.say(&session, "hello");
    place.run(&["fork", &session]).ok();
    place.run(&["audit", "export", "out"]).ok();
    let key = place.run(&["audit", "key"]).ok().trim().to_owned();
    (place, key)
}

/// An entry of the export, into a file.
fn entry(place: &Place, index: usize) -> PathBuf {
    let bundle = fs::read_dir(place.path().join("out/tile/entries/000.p")).unwrap().next().unwrap().unwrap().path();
    let file = place.path().join("entry");
    fs::write(&file, bundle_entries(&fs::read(bundle).unwrap()).unwrap()[index]).unwrap();
    file
}

fn change(file: &Path, place: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[place] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn gos_and_rusts_libraries_verify_an_export_and_a_receipt() {
    let (place, key) = exported();
    place.run(&["audit", "prove", "1", "--reveal", "--to", "receipt"]).ok();
    let (first, second) = (entry(&place, 1), place.path().join("second"));
    fs::copy(&first, &second).unwrap();
    change(&second, 5);
    for name in ["sumdb-verify", "crates-verify"] {
        let Some(program) = installed(name) else { continue };
        assert!(agrees(Command::new(&program).args(["out", &key]), &place), "{name}");
        if name == "sumdb-verify" {
            let proves = |entry: &Path| agrees(Command::new(&program).args(["receipt", &key]).arg(entry), &place);
            assert!(proves(&first) && !proves(&second));
        }
        let head = place.path().join("out/checkpoint");
        change(&head, 1);
        assert!(!agrees(Command::new(&program).args(["out", &key]), &place), "{name}");
        change(&head, 1);
    }
}

#[test]
fn aics_tlog_verifies_an_export() {
    let Some(python) = installed("python") else { return };
    let (place, key) = exported();
    let aics = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-m", "aics_tlog"]).args(arguments).env("PYTHONPATH", &python);
        agrees(&mut command, &place)
    };
    let origin = key.split('+').next().unwrap();
    assert!(aics(&["verify-checkpoint", "--note", "out/checkpoint", "--log-key", &key, "--origin", origin]));
    assert!(aics(&["verify-inclusion", "--index", "1", "--tiles", "out", "--log-key", &key]));
    fs::copy(place.path().join("out/checkpoint"), place.path().join("older")).unwrap();
    place.session();
    place.run(&["audit", "export", "out"]).ok();
    assert!(aics(&["verify-consistency", "--old-checkpoint", "older", "--tiles", "out", "--log-key", &key]));
}

/// A witness that runs; it is ended with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn aics_witness_cosigns_the_log() {
    let Some(python) = installed("python") else { return };
    let (place, key) = exported();
    let witness = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-m", "aics_witness"]).args(arguments).args(["--config", "w.json"]);
        command.env("PYTHONPATH", &python).current_dir(place.path());
        command
    };
    let made = witness(&["init", "--name", "witness.example/w1"]).output().unwrap();
    let witness_key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let origin = key.split('+').next().unwrap();
    assert!(witness(&["add-log", "--origin", origin, "--vkey", &key]).output().unwrap().status.success());
    let serve = witness(&["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = Running(serve);
    let mut lines = BufReader::new(running.0.stderr.take().unwrap()).lines().map_while(std::result::Result::ok);
    let said = lines.find(|line| line.contains("listening on ")).unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    let url = said.split("listening on ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let ask = ["audit", "witness", &url, "--key", &witness_key];
    let first: Value = serde_json::from_str(&place.json(&ask).ok()).unwrap();
    place.session();
    let second: Value = serde_json::from_str(&place.json(&ask).ok()).unwrap();
    assert!(second["size"].as_u64() > first["size"].as_u64());
    place.run(&["audit", "prove", "1", "--to", "receipt"]).ok();
    let verify = ["audit", "verify-proof", "receipt", "--key", &key, "--witness", &witness_key];
    let verified: Value = serde_json::from_str(&place.json(&verify).ok()).unwrap();
    assert_eq!(text(&verified, "/cosigned_by/0"), "witness.example/w1");
}

#[test]
fn an_archived_beginning_verifies_in_the_cold_and_the_export_goes_on_without_it() {
    let (place, key) = exported();
    let archive = ["audit", "archive", "out", "cold", "--key", &key];
    let moved =
        |more: &[&str]| -> Value { serde_json::from_str(&place.json(&[&archive[..], more].concat()).ok()).unwrap() };
    assert_eq!(moved(&["--days", "183"])["before"], 0, "nothing is that old");
    let first = moved(&["--before", "2", "--prune"]);
    assert_eq!((&first["leaves"], first["files"].as_u64().unwrap() > 0), (&Value::from(2), true));
    // A bundle that has later leaves too stays.
    assert_eq!(first["pruned_files"], 0);
    let verify = |arguments: &[&str]| place.run(&[&["audit", "verify", "--key", &key, "--folder"], arguments].concat());
    verify(&["cold", "--to", "2"]).ok();
    verify(&["out", "--from", "2"]).ok();
    let bundle = place.path().join("cold/tile/entries/000.p");
    let bundle = fs::read_dir(bundle).unwrap().next().unwrap().unwrap().path();
    change(&bundle, 40);
    assert_eq!(verify(&["cold", "--to", "2"]).status, 8);
    assert_eq!(place.run(&[&archive[..], &["--before", "900"]].concat()).status, 2);
    assert_eq!(place.run(&archive).status, 2, "which leaves is to be said");
}
