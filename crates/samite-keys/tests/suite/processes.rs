//! Several threads and processes on one keystore.

use crate::common::{Scratch, open, owner, seal};
use samite_keys::Keyring;
use samite_model::Owner;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const ROOT: &str = "SAMITE_TEST_ROOT";
const NAME: &str = "SAMITE_TEST_NAME";
const EACH: usize = 20;

/// Runs one of this binary's ignored tests in a process of its own.
pub(crate) fn child(test: &str, scratch: &Scratch, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(ROOT, &scratch.root)
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The scratch directory of the process that started this one.
pub(crate) fn parent_scratch() -> Option<Scratch> {
    std::env::var_os(ROOT).map(|root| Scratch::at(&PathBuf::from(root)))
}

fn own(name: &str, number: usize) -> Owner {
    owner(&format!("{name}-{number}"))
}

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn child_makes_subjects() {
    let Some(scratch) = parent_scratch() else { return };
    let name = std::env::var(NAME).unwrap();
    let keyring = scratch.open().unwrap();
    for number in 0..EACH {
        keyring.subject(&own(&name, number)).unwrap();
        // All of them race for this one.
        keyring.subject(&own("all", number)).unwrap();
    }
}

#[test]
fn processes_that_change_one_keystore_lose_nothing() {
    let scratch = Scratch::new();
    // Not even made yet: they race for that too.
    let names = ["one", "two", "three"];
    let children = names.map(|name| child("processes::child_makes_subjects", &scratch, &[(NAME, name)]));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let keyring = scratch.open().unwrap();
    assert!(!keyring.created());
    assert_eq!(keyring.subjects().unwrap().len(), 4 * EACH);
    for name in names.iter().chain(&["all"]) {
        for number in 0..EACH {
            let subject = keyring.subject(&own(name, number)).unwrap();
            assert_eq!(keyring.owner_name(subject.pseudonym).unwrap(), Some(own(name, number)));
        }
    }
    assert_eq!(keyring.subjects().unwrap().len(), 4 * EACH);
}

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn child_makes_and_destroys_subjects() {
    let Some(scratch) = parent_scratch() else { return };
    let name = std::env::var(NAME).unwrap();
    let keyring = scratch.open().unwrap();
    for number in 0..EACH {
        let subject = keyring.subject(&own(&name, number)).unwrap();
        let sealed = seal(&keyring, subject.pseudonym, b"words");
        assert_eq!(open(&keyring, &sealed).unwrap(), b"words");
        keyring.destroy_subject(subject.pseudonym).unwrap();
        assert_eq!(open(&keyring, &sealed).unwrap_err().code(), "key_destroyed");
    }
}

#[test]
fn reading_and_making_go_on_while_others_destroy() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let sealed = seal(&keyring, ada.pseudonym, b"words");
    let mut children = vec![
        child("processes::child_makes_and_destroys_subjects", &scratch, &[(NAME, "one")]),
        child("processes::child_makes_and_destroys_subjects", &scratch, &[(NAME, "two")]),
        child("processes::child_makes_subjects", &scratch, &[(NAME, "three")]),
    ];
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        keyring.refresh().unwrap();
        assert_eq!(open(&keyring, &sealed).unwrap(), b"words");
        assert_eq!(open(&scratch.open().unwrap(), &sealed).unwrap(), b"words");
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    // Of the child that only made: its own and those of all.
    assert_eq!(keyring.subjects().unwrap().len(), 1 + 2 * EACH);
    assert_eq!(scratch.open().unwrap().take_notices(), Vec::<String>::new());
}

#[test]
fn threads_share_a_keyring() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let keyring = keyring.clone();
            scope.spawn(move || {
                for number in 0..8 {
                    let subject = keyring.subject(&own("shared", number)).unwrap();
                    let payload = format!("{thread} {number} ").repeat(100).into_bytes();
                    let sealed = seal(&keyring, subject.pseudonym, &payload);
                    assert_eq!(open(&keyring, &sealed).unwrap(), payload);
                }
            });
        }
    });
    assert_eq!(keyring.subjects().unwrap().len(), 8);
}

#[test]
fn a_key_that_another_process_made_is_found() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.open().unwrap(), scratch.open().unwrap());
    let ada = one.subject(&owner("ada")).unwrap();
    let sealed = seal(&one, ada.pseudonym, b"words");
    assert_eq!(open(&two, &sealed).unwrap(), b"words");
    assert_eq!(two.subject(&owner("ada")).unwrap(), ada);
    assert_eq!(two.owner_name(ada.pseudonym).unwrap(), Some(owner("ada")));
}

#[test]
fn a_key_that_another_process_destroyed_is_forgotten_at_a_refresh() {
    let scratch = Scratch::new();
    let (one, two) = (scratch.open().unwrap(), scratch.open().unwrap());
    let ada = one.subject(&owner("ada")).unwrap();
    let sealed = seal(&one, ada.pseudonym, b"words");
    open(&two, &sealed).unwrap();
    one.destroy_subject(ada.pseudonym).unwrap();
    two.refresh().unwrap();
    assert_eq!(open(&two, &sealed).unwrap_err().code(), "key_destroyed");
    assert_live_keys(&two, 0);
}

fn assert_live_keys(keyring: &Keyring, subjects: usize) {
    // Six of the tenant, four of each subject.
    assert_eq!(keyring.live_keys().unwrap().len(), 6 + 4 * subjects);
}
