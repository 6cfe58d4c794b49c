//! Merges that are cut off once all is decided.

use crate::support::{Place, text};
use std::fs;

/// A session in `work`, and a fork of it in `other`, both of which changed `a` and `b`.
fn both_changed(place: &Place) -> (String, String) {
    let id = place.session();
    fs::create_dir(place.path().join("work")).unwrap();
    let write = |name: &str, words: &str| fs::write(place.path().join(name), words).unwrap();
    write("work/a", "base\n");
    write("work/b", "base\n");
    place.json(&["workspace", "attach", &id, "work"]);
    place.json(&["checkpoint", &id, "--no-environment"]);
    let fork = text(&place.json(&["fork", &id, "--into", "other"]).json(), "/id");
    for name in ["a", "b"] {
        write(&format!("work/{name}"), "ours\n");
        write(&format!("other/{name}"), "theirs\n");
    }
    place.json(&["checkpoint", &format!("{id}:{fork}"), "--no-environment"]);
    let theirs = format!("{id}:{fork}");
    (id, theirs)
}

#[test]
fn what_was_decided_when_a_merge_was_killed_is_not_asked_again() {
    for begun in [false, true] {
        let place = Place::new();
        let (id, theirs) = both_changed(&place);
        let decided = ["--take", "a=theirs", "--take", "b=ours"];
        if begun {
            assert_eq!(place.run(&["merge", &theirs]).status, 4);
        }
        let mut call = if begun { vec!["merge", "--continue", &id] } else { vec!["merge", &theirs] };
        call.extend(decided);
        let output = place.command(&call).env("SAMITE_KILL_POINT", "merge.decided").output().unwrap();
        assert!(!output.status.success());
        assert_eq!(place.read("work/a").unwrap(), "ours\n");
        let done = place.json(&["merge", "--continue", &id]);
        assert_eq!(done.status, 0, "{done:?}");
        let done = done.json();
        assert_eq!(text(&done, "/state"), "merged");
        let choices: Vec<String> =
            done["decisions"].as_array().unwrap().iter().map(|one| text(one, "/choice")).collect();
        assert_eq!(choices, ["theirs", "ours"], "{done}");
        let changes: Vec<String> = done["changes"].as_array().unwrap().iter().map(|one| text(one, "/path")).collect();
        assert_eq!(changes, ["a"], "{done}");
        assert_eq!(
            (place.read("work/a").unwrap(), place.read("work/b").unwrap()),
            ("theirs\n".into(), "ours\n".into())
        );
        let verified = place.json(&["verify"]).json();
        assert!(verified["findings"].as_array().unwrap().is_empty(), "{verified}");
    }
}

#[test]
fn what_changed_after_a_decided_merge_was_killed_is_asked_anew() {
    let place = Place::new();
    let (id, theirs) = both_changed(&place);
    let call = ["merge", theirs.as_str(), "--take", "a=theirs", "--take", "b=ours"];
    assert!(!place.command(&call).env("SAMITE_KILL_POINT", "merge.decided").output().unwrap().status.success());
    fs::write(place.path().join("work/a"), "ours, and more\n").unwrap();
    let asked = place.json(&["merge", "--continue", &id]);
    assert_eq!(asked.status, 4, "{asked:?}");
    assert_eq!(place.read("work/a").unwrap(), "ours, and more\n");
    place.json(&["merge", "--continue", &id, "--take", "a=ours", "--take", "b=ours"]);
    assert_eq!(place.read("work/a").unwrap(), "ours, and more\n");
}

#[test]
fn a_named_layout_that_a_killed_merge_left_is_laid_out_anew_and_anothers_is_not() {
    let place = Place::new();
    let (id, theirs) = both_changed(&place);
    let call = ["merge", theirs.as_str(), "--layout", "decide"];
    assert!(!place.command(&call).env("SAMITE_KILL_POINT", "merge.laid_out").output().unwrap().status.success());
    assert_eq!(place.run(&["session", "tree", &id]).status, 0);
    // Nothing was recorded of it.
    assert_eq!(text(&place.json(&["merge", "--abort", &id]).error(3), "/code"), "no_open_merge");
    assert_eq!(place.run(&call).status, 4);
    assert_eq!(place.read("decide/1.theirs").unwrap(), "theirs\n");
    // The other way round it would take the place of what waits there.
    let fork = theirs.split_once(':').unwrap().1;
    let list = place.json(&["branch", "list", &id]).json();
    let main = list["branches"].as_array().unwrap().iter().map(|one| text(one, "/id")).find(|one| one != fork).unwrap();
    let other = ["merge", &format!("{id}:{main}"), "--into", fork, "--layout", "decide"];
    assert_eq!(text(&place.json(&other).error(4), "/code"), "not_empty");
    fs::write(place.path().join("decide/mine"), "mine").unwrap();
    place.json(&["merge", "--continue", &id, "--take", "a=ours", "--take", "b=mine"]);
    assert_eq!((place.read("work/a").unwrap(), place.read("work/b").unwrap()), ("ours\n".into(), "mine".into()));
}

#[test]
fn a_layout_lies_neither_in_the_workspace_nor_in_the_store() {
    let place = Place::new();
    let (id, theirs) = both_changed(&place);
    std::os::unix::fs::symlink(place.path().join("work"), place.path().join("alias")).unwrap();
    std::os::unix::fs::symlink(place.store(), place.path().join("drawer")).unwrap();
    fs::write(place.path().join("file"), "a file").unwrap();
    let store = place.store();
    let in_store = |name: &str| store.join(name).display().to_string();
    let before = place.json(&["log", &id, "--all"]).out;
    for (layout, status, code) in [
        ("work".to_owned(), 4, "not_empty"),
        ("work/decide".to_owned(), 2, "layout_in_workspace"),
        ("work/not/there/yet".to_owned(), 2, "layout_in_workspace"),
        ("other/../work/decide".to_owned(), 2, "layout_in_workspace"),
        ("alias/decide".to_owned(), 2, "layout_in_workspace"),
        (in_store("decide"), 2, "inside_store"),
        (in_store("merges/decide"), 2, "inside_store"),
        (in_store("tenants/local/packs/decide"), 2, "inside_store"),
        ("drawer/decide".to_owned(), 2, "inside_store"),
        ("file".to_owned(), 2, "wrong_file_type"),
        ("file/decide".to_owned(), 2, "wrong_file_type"),
    ] {
        let error = place.json(&["merge", &theirs, "--layout", &layout]).error(status);
        assert_eq!(text(&error, "/code"), code, "{layout}: {error}");
        assert_eq!(text(&place.json(&["merge", "--abort", &id]).error(3), "/code"), "no_open_merge", "{layout}");
    }
    // Nothing was made on the way, and nothing recorded.
    for name in ["work/decide", "work/not", "alias/decide"] {
        assert!(!place.path().join(name).exists(), "{name}");
    }
    assert!(!store.join("decide").exists() && !store.join("merges/decide").exists());
    assert_eq!(place.json(&["log", &id, "--all"]).out, before);
    assert_eq!(place.read("file").unwrap(), "a file");
    // Beside them it may lie anywhere.
    assert_eq!(place.run(&["merge", &theirs, "--layout", "beside/decide"]).status, 4);
    assert_eq!(place.read("beside/decide/1.theirs").unwrap(), "theirs\n");
}
