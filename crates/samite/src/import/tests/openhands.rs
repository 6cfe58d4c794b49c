use super::{Plan, bytes, plan};
use crate::import::frame::elements::Elements;
use crate::import::openhands::{EventFiles, OpenHands, folder_of, identify};
use samite_host::files;
use samite_model::EntryKind;
use std::path::{Path, PathBuf};

/// A conversation that the SDK wrote: a fork, a call of a tool that is not there, and a process that died in its last
/// call. `tests/fixtures/imports/README.md` says how it was made.
fn real() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imports/openhands/4ac5c60eee9249239fdf265e389ec12c")
}

fn format(folder: &Path) -> OpenHands {
    identify(folder, &mut EventFiles::open(folder).unwrap()).unwrap().unwrap()
}

fn planned(folder: &Path) -> Plan {
    plan(format(folder), &mut EventFiles::open(folder).unwrap())
}

/// A copy of the real conversation, without the events of these numbers, and with these events cut.
fn copy(without: &[u64], cut: &[u64]) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    files::create_private_dir(&to.path().join("c/events")).unwrap();
    files::write_atomic(&to.path().join("c/base_state.json"), &bytes(&real().join("base_state.json")), 0o600).unwrap();
    for path in files::files_below(&real().join("events")).unwrap().files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let number = name[6..11].parse().unwrap();
        let mut text = bytes(&path);
        if cut.contains(&number) {
            text.truncate(text.len() / 2);
        }
        if !without.contains(&number) {
            files::write_atomic(&to.path().join("c/events").join(name), &text, 0o600).unwrap();
        }
    }
    to
}

#[test]
fn a_real_conversation_becomes_a_session_with_its_branches_and_steps() {
    let plan = planned(&real());
    assert_eq!(plan.key, "openhands:4ac5c60e-ee92-4923-9fdf-265e389ec12c");
    assert_eq!((plan.counts(), plan.codes()), ((14, 0, 0), vec![(14, "in_doubt")]));
    let ended: Vec<_> = plan.ended.iter().map(|(line, id, failed)| (*line, id.as_str(), *failed)).collect();
    assert_eq!(ended, [(6, "call_1", false), (7, "call_2", true), (9, "call_3", true)]);
    assert_eq!(plan.started.iter().map(|call| call.2.as_str()).collect::<Vec<_>>(), ["add", "add", "nothing", "add"]);
    // The state is record 1, so event n is record n + 2.
    assert_eq!(plan.forks, [(0, 1, 3, 11)]);
    assert_eq!(plan.current, 0);
    assert_eq!((plan.context(0), plan.context(1)), ((2..=10).chain(13..=14).collect(), vec![2, 3, 11, 12]));
    assert_eq!((plan.count(EntryKind::MESSAGE), plan.count(EntryKind::MODEL_RESPONSE)), (7, 6));
}

#[test]
fn missing_and_torn_events_are_named_and_the_others_count() {
    let folder = copy(&[0, 4, 5], &[7]);
    let plan = planned(&folder.path().join("c"));
    let expected = [
        (2, "gap"),
        (2, "parent_missing"),
        (3, "in_doubt"),
        (4, "in_doubt"),
        (5, "gap"),
        (5, "parent_missing"),
        (5, "in_doubt"),
        (6, "torn"),
        (7, "parent_missing"),
        (11, "in_doubt"),
    ];
    assert_eq!((plan.codes(), plan.counts()), (expected.to_vec(), (7, 0, 4)));
}

#[test]
fn two_events_with_one_number_are_both_kept() {
    let folder = copy(&[], &[]);
    let events = folder.path().join("c/events");
    let text = "{\"id\":\"other-id\",\"source\":\"user\",\"kind\":\"MessageEvent\"}";
    files::write_atomic(&events.join("event-00012-zzzzzzzz.json"), text.as_bytes(), 0o600).unwrap();
    files::write_atomic(&events.join("event-00013-aaaaaaaa.json"), b"", 0o600).unwrap();
    let plan = planned(&folder.path().join("c"));
    assert_eq!(plan.codes(), [(14, "in_doubt"), (15, "same_number"), (16, "blank")]);
}

#[test]
fn older_events_and_exported_lists_are_read() {
    let all = [
        "{\"id\":0,\"source\":\"agent\",\"action\":\"system\",\"args\":{}}",
        "{\"id\":1,\"source\":\"user\",\"action\":\"message\",\"args\":{\"content\":\"go\"}}",
        "{\"id\":2,\"source\":\"agent\",\"action\":\"run\",\"args\":{\"command\":\"ls\"}}",
        "{\"id\":3,\"source\":\"agent\",\"observation\":\"run\",\"cause\":2,\"extras\":{\"metadata\":{\"exit_code\":0}}}",
        "{\"id\":4,\"source\":\"agent\",\"action\":\"edit\",\"args\":{}}",
        "{\"id\":5,\"source\":\"agent\",\"observation\":\"error\",\"cause\":4}",
        "{\"id\":5,\"source\":\"agent\",\"observation\":\"error\",\"cause\":4}",
        "{\"id\":6,\"source\":\"agent\",\"observation\":\"edit\",\"cause\":4}",
        "{\"id\":7,\"source\":\"environment\",\"observation\":\"agent_state_changed\",\"cause\":1}",
        "{\"id\":8,\"source\":\"agent\",\"action\":\"run\",\"args\":{\"command\":\"git push\"}}",
    ];
    let text = format!("[{}]", all.join(", "));
    let format = identify(Path::new("t/one.json"), &mut Elements::new(text.as_bytes())).unwrap().unwrap();
    let plan = plan(format, &mut Elements::new(text.as_bytes()));
    assert_eq!((plan.key.as_str(), plan.counts()), ("openhands:t/one.json", (8, 1, 1)));
    assert_eq!(plan.codes(), [(7, "repeated"), (8, "result_repeated"), (10, "in_doubt")]);
    assert_eq!(plan.ended, [(4, "event-2".to_owned(), false), (6, "event-4".to_owned(), true)]);
}

#[test]
fn conversations_are_found_by_their_events() {
    assert_eq!(folder_of(Path::new("a/c1/events/event-00000-ab.json")), Some(PathBuf::from("a/c1")));
    assert_eq!(folder_of(Path::new("a/c1/events/12.json")), Some(PathBuf::from("a/c1")));
    for path in ["a/c1/base_state.json", "a/c1/events/.eventlog.lock", "a/c1/events/x.json", "12.json"] {
        assert_eq!(folder_of(Path::new(path)), None, "{path}");
    }
}

#[test]
fn a_conversation_without_a_state_is_known_by_its_path() {
    let id = |path: &str| {
        let event = "[{\"source\":\"user\",\"kind\":\"MessageEvent\",\"id\":\"a\"}]";
        let format = identify(Path::new(path), &mut Elements::new(event.as_bytes())).unwrap().unwrap();
        crate::import::frame::flat::Format::begin(&format).key
    };
    let paths = ["/r/a/trajectory.json", "/r/b/trajectory.json", "/r/runs/eval.v1", "/r/runs/eval.v2", "/r/runs/eval"];
    let mut ids: Vec<_> = paths.map(id).to_vec();
    assert_eq!(ids[0], "openhands:r/a/trajectory.json");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), paths.len());
}

#[test]
fn what_is_no_file_among_the_events_is_named_and_not_read() {
    let folder = copy(&[1, 2, 3, 4], &[]);
    let at = |name: &str| folder.path().join("c/events").join(name);
    let (secret, state) = (folder.path().join("secret"), folder.path().join("c/base_state.json"));
    let words = "{\"source\":\"user\",\"kind\":\"MessageEvent\",\"id\":\"stolen\"}";
    files::write_atomic(&secret, words.as_bytes(), 0o600).unwrap();
    files::remove(&state).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("event-00001-x.json")).status().unwrap().success());
    std::os::unix::fs::symlink(&secret, at("event-00002-x.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", at("event-00003-x.json")).unwrap();
    files::create_private_dir(&at("event-00004-x.json")).unwrap();
    std::os::unix::fs::symlink(&secret, &state).unwrap();
    let plan = planned(&folder.path().join("c"));
    let named: Vec<_> =
        plan.codes().into_iter().filter(|(_, code)| *code == "not_a_file").map(|(line, _)| line).collect();
    assert_eq!(named, [1, 3, 4, 5, 6]);
    // They are the fifth part of fifteen records: the other events count.
    assert_eq!((plan.entries.len(), plan.counts().2 >= 5), (9, true));
    assert!(plan.entries.iter().all(|entry| entry.line == 2 || entry.line > 6));
    let events = folder.path().join("d");
    files::create_private_dir(&events).unwrap();
    std::os::unix::fs::symlink(folder.path().join("c/events"), events.join("events")).unwrap();
    assert_eq!(EventFiles::open(&events).unwrap_err().code(), "wrong_file_type");
}
