use super::*;
use futures_lite::future::block_on;
use std::cell::RefCell;

fn missed(id: &str) -> Unrecorded {
    let event = HookEvent::parse(Harness::Codex, br#"{"hook_event_name":"Stop","session_id":"s"}"#.to_vec()).unwrap();
    Unrecorded::of(&event, id.to_owned(), 7, &Error::unavailable("disk_full", "no room"))
}

#[test]
fn what_is_noted_comes_back_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::beside(&folder.path().join("store"));
    assert_eq!(spool.path(), folder.path().join("store.unrecorded"));
    assert_eq!(spool.has_notes(), None);
    spool.reserve().unwrap();
    assert_eq!(spool.has_notes(), Some(false));
    for id in ["a", "b", "c"] {
        spool.add(&missed(id)).unwrap();
    }
    assert_eq!(spool.has_notes(), Some(true));
    assert_eq!(files::size(spool.path()).unwrap(), RESERVED as u64, "it does not grow for a few");
    assert_eq!(files::mode(spool.path()).unwrap() & 0o777, 0o600);
    let seen = RefCell::new(Vec::new());
    let drain = |until: &str| {
        block_on(spool.drain(async |missed| {
            if missed.id == until {
                return Err(Error::unavailable("busy", "not now"));
            }
            seen.borrow_mut().push(missed.id.clone());
            Ok(true)
        }))
    };
    assert_eq!(drain("b").unwrap_err().code(), "busy");
    spool.add(&missed("d")).unwrap();
    assert_eq!(drain("").unwrap(), 3);
    assert_eq!(*seen.borrow(), ["a", "b", "c", "d"]);
    assert_eq!(spool.has_notes(), Some(false));
}

#[test]
fn what_is_another_sessions_waits_for_it_and_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::beside(&folder.path().join("store"));
    for id in ["a", "b", "c"] {
        spool.add(&missed(id)).unwrap();
    }
    let drain = |own: &str| block_on(spool.drain(async |missed| Ok(missed.id == own)));
    assert_eq!(drain("b").unwrap(), 1);
    assert_eq!(drain("b").unwrap(), 0);
    assert_eq!(drain("c").unwrap(), 1);
    assert_eq!(spool.has_notes(), Some(true));
    assert_eq!(drain("a").unwrap(), 1);
    assert_eq!(spool.has_notes(), Some(false));
}

#[test]
fn a_torn_line_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::beside(&folder.path().join("store"));
    spool.add(&missed("a")).unwrap();
    let mut text = String::from_utf8(files::read(spool.path()).unwrap()).unwrap();
    text = format!("{}\n{{\"id\":\"torn\n", text.trim_end());
    files::write_atomic(spool.path(), text.as_bytes(), 0o600).unwrap();
    spool.add(&missed("b")).unwrap();
    let seen = RefCell::new(Vec::new());
    let count = block_on(spool.drain(async |missed| {
        seen.borrow_mut().push(missed.id.clone());
        Ok(true)
    }));
    assert_eq!((count.unwrap(), seen.into_inner()), (2, vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn a_note_says_what_happened_and_nothing_of_what_was_said() {
    let raw = br#"{"hook_event_name":"PostToolUseFailure","session_id":"s","cwd":"/w","tool_name":"Bash",
        "tool_use_id":"t","tool_input":{"command":"SECRET"},"tool_response":"SECRET"}"#;
    let event = HookEvent::parse(Harness::ClaudeCode, raw.to_vec()).unwrap();
    let note = Unrecorded::of(&event, "1".to_owned(), 7, &Error::unavailable("disk_full", "SECRET"));
    let line = note.line();
    assert!(!line.contains("SECRET"), "{line}");
    assert_eq!(serde_json::from_str::<Unrecorded>(&line).unwrap(), note);
    assert_eq!((note.call.as_deref(), note.ending, note.why.as_str()), (Some("t"), Some(Ending::Failed), "disk_full"));
}

#[test]
fn the_file_does_not_grow_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::beside(&folder.path().join("store"));
    let line = format!("{}\n", missed("a").line());
    files::write_atomic(spool.path(), line.repeat(LINES).as_bytes(), 0o600).unwrap();
    assert_eq!(spool.add(&missed("b")).unwrap_err().code(), "spool_full");
}
