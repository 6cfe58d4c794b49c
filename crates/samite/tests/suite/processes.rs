//! Several processes write one store at once.

use crate::children::{Role, start};
use crate::place::Place;
use crate::support::{assert_verifies, event, principal, run};
use samite::embedded::Embedded;
use samite::payload::ForkReason;
use samite::{Begin, Client, ForkOptions, NewEvent, NewSession, NewStep, ReadOptions, Writer, WriterOptions};
use samite_host::process;
use samite_model::{BranchId, ErrorKind, SessionId};
use serde_json::json;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

const NAMES: [&str; 4] = ["one", "two", "three", "four"];
const EACH: usize = 20;

fn mine() -> WriterOptions {
    WriterOptions { process: Some(process::current().unwrap()), ..WriterOptions::default() }
}

/// Becomes a branch's writer as soon as whoever holds it gives it up.
async fn contend(client: &Client, session: SessionId, branch: Option<BranchId>) -> Writer {
    loop {
        match client.writer(session, branch, mine()).await {
            Ok(writer) => return writer,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                assert!(matches!(error.code(), "lease_held" | "lease_contended"), "{}", error.code());
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }
}

/// Appends under a dedupe id, twice, as a caller that lost the first answer does, and writes the place down.
async fn append_and_repeat(role: &Role, writer: &Writer, word: &str) {
    let new = NewEvent { dedupe: Some(word.to_owned()), ..event(word) };
    let first = writer.append(new.clone()).await.unwrap();
    role.say(&format!("{} {} {} {word}", writer.session(), first.position.journal, first.position.seq));
    let again = writer.append(new).await.unwrap();
    assert_eq!((again.position, again.duplicate), (first.position, true));
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_writes() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let store = role.open();
        let client = store.client().await.unwrap();
        let shared = client.session_by_key("shared").await.unwrap().unwrap();
        let base = std::fs::read_to_string(role.root.join("base")).unwrap();
        let base = client.find_branch(shared, &base).await.unwrap();
        let own = NewSession { key: Some(role.name.clone()), ..NewSession::default() };
        let own = client.create_session(own).await.unwrap().id;
        let fork = ForkOptions { branch: Some(base), seq: Some(1), ..ForkOptions::default() };
        let branch = client.fork(shared, fork).await.unwrap().branch;
        let writer = client.writer(own, None, mine()).await.unwrap();
        let beside = client.writer(shared, Some(branch), mine()).await.unwrap();
        for number in 0..EACH {
            append_and_repeat(&role, &writer, &format!("{} own {number}", role.name)).await;
            append_and_repeat(&role, &beside, &format!("{} beside {number}", role.name)).await;
            let step = NewStep::new(format!("step {number}"), "tool", json!({ "number": number }));
            let Begin::Run(handle) = beside.begin(&step).await.unwrap() else { panic!("not run") };
            beside.complete(&handle, json!(number)).await.unwrap();
            let one = contend(&client, shared, Some(base)).await;
            append_and_repeat(&role, &one, &format!("{} same {number}", role.name)).await;
            one.release().await.unwrap();
            // Another handle of the same process, as a harness's hooks are.
            if number % 8 == 7 {
                let again = role.open();
                let client = again.client().await.unwrap();
                assert_eq!(client.session(own).await.unwrap().head, number as u64 + 1);
                again.close().await;
            }
        }
    });
}

/// What a branch holds, as texts by seq.
async fn texts(client: &Client, session: SessionId, branch: BranchId) -> BTreeMap<u64, String> {
    let entries = client.read(session, Some(branch), ReadOptions::default()).await.unwrap().all().await.unwrap();
    let events = entries.iter().filter(|entry| entry.is_event());
    events.map(|entry| (entry.position.seq, String::from_utf8(entry.event().unwrap().body.to_vec()).unwrap())).collect()
}

#[test]
fn writers_on_branches_and_sessions_lose_nothing_and_write_nothing_twice() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let shared = NewSession { key: Some("shared".into()), ..NewSession::default() };
        let shared = client.create_session(shared).await.unwrap();
        let writer = client.writer(shared.id, None, mine()).await.unwrap();
        writer.append(event("before all")).await.unwrap();
        writer.release().await.unwrap();
        std::fs::write(place.path("base"), shared.current.to_string()).unwrap();
        let processes = NAMES.map(|name| start("processes::child_writes", place.root(), name));
        for (process, name) in processes.into_iter().zip(NAMES) {
            process.succeeds(&Role::new(place.root(), name));
        }
        let mut branches: HashMap<(SessionId, BranchId), BTreeMap<u64, String>> = HashMap::new();
        let mut acknowledged = 0;
        for name in NAMES {
            for line in Role::new(place.root(), name).said() {
                let mut words = line.splitn(4, ' ');
                let mut next = || words.next().unwrap();
                let session = client.find_session(next()).await.unwrap();
                let branch = client.find_branch(session, next()).await.unwrap();
                let (seq, word): (u64, &str) = (next().parse().unwrap(), next());
                let found = match branches.entry((session, branch)) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(texts(&client, session, branch).await),
                };
                assert_eq!(found[&seq], word);
                assert_eq!(found.values().filter(|text| *text == word).count(), 1, "{word}");
                acknowledged += 1;
            }
        }
        assert_eq!(acknowledged, NAMES.len() * EACH * 3);
        // Nothing that nobody wrote, and no gap: the common branch has one entry of each and the one before all.
        let same = &branches[&(shared.id, shared.current)];
        assert_eq!(same.keys().copied().collect::<Vec<_>>(), (1..=81).collect::<Vec<_>>());
        assert_eq!(client.sessions().await.unwrap().len(), 1 + NAMES.len());
        for branch in client.branches(shared.id).await.unwrap() {
            let steps = client.steps(shared.id, Some(branch.id)).await.unwrap();
            assert_eq!(steps.len(), if branch.id == shared.current { 0 } else { EACH });
            assert!(steps.iter().all(|step| step.outcome.is_some()));
        }
        assert_verifies(store.store());
    });
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_forks() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let client = role.open().client().await.unwrap();
        let session = client.session_by_key("stormy").await.unwrap().unwrap();
        let base = std::fs::read_to_string(role.root.join("base")).unwrap();
        let base = client.find_branch(session, &base).await.unwrap();
        for number in 0..EACH as u64 {
            let options = ForkOptions { branch: Some(base), seq: Some(number + 1), ..ForkOptions::default() };
            // All race for this one.
            let key = Some(format!("key {number}"));
            let keyed = client.fork(session, ForkOptions { key, ..options.clone() }).await.unwrap();
            role.say(&format!("keyed {} {number}", keyed.branch));
            let fork = client.fork(session, options.clone()).await.unwrap();
            let writer = client.writer(session, Some(fork.branch), mine()).await.unwrap();
            writer.append(event(&format!("{} {number}", role.name))).await.unwrap();
            role.say(&format!("fork {} {number}", fork.branch));
            let rewind = ForkOptions { reason: ForkReason::Rewind, ..options };
            let rewound = client.fork(session, rewind).await.unwrap();
            role.say(&format!("rewind {} {number}", rewound.branch));
        }
    });
}

#[test]
fn a_storm_of_forks_and_rewinds_leaves_every_branch_in_its_place() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = NewSession { key: Some("stormy".into()), ..NewSession::default() };
        let session = client.create_session(session).await.unwrap();
        let writer = client.writer(session.id, None, mine()).await.unwrap();
        for number in 1..=EACH {
            writer.append(event(&number.to_string())).await.unwrap();
        }
        std::fs::write(place.path("base"), session.current.to_string()).unwrap();
        let mut processes = NAMES.map(|name| start("processes::child_forks", place.root(), name));
        // The parent's line goes on below them.
        let mut beneath = EACH as u64;
        while !processes.iter_mut().all(super::children::Process::has_ended) {
            writer.append(event("beneath")).await.unwrap();
            beneath += 1;
        }
        for (process, name) in processes.into_iter().zip(NAMES) {
            process.succeeds(&Role::new(place.root(), name));
        }
        let branches: HashMap<String, _> =
            client.branches(session.id).await.unwrap().into_iter().map(|found| (found.id.to_string(), found)).collect();
        let mut keyed: HashMap<u64, Vec<String>> = HashMap::new();
        let mut rewound = Vec::new();
        for name in NAMES {
            for line in Role::new(place.root(), name).said() {
                let words: Vec<&str> = line.split(' ').collect();
                let number: u64 = words[2].parse().unwrap();
                let branch = &branches[words[1]];
                assert_eq!(branch.forked_at.unwrap().seq, number + 1);
                let found: Vec<String> = texts(&client, session.id, branch.id).await.into_values().collect();
                let mut expected: Vec<String> = (1..=number + 1).map(|number| number.to_string()).collect();
                match words[0] {
                    "keyed" => keyed.entry(number).or_default().push(words[1].to_owned()),
                    "rewind" => rewound.push(words[1].to_owned()),
                    _ => expected.push(format!("{name} {number}")),
                }
                assert_eq!(found, expected);
            }
        }
        for same in keyed.values() {
            assert!(same.len() == NAMES.len() && same.iter().all(|branch| *branch == same[0]), "{same:?}");
        }
        assert_eq!(branches.len(), 1 + EACH + 2 * NAMES.len() * EACH);
        assert!(rewound.contains(&client.current_branch(session.id).await.unwrap().to_string()));
        assert_eq!(client.head(session.id, session.current).await.unwrap().seq, beneath);
        assert_verifies(store.store());
    });
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_brings_people() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        // Each opens the store for the first time, all at once.
        let store = role.open();
        for number in 0..6 {
            for user in [format!("{} {number}", role.name), format!("all {number}")] {
                let client = store.store().client(principal(&user)).await.unwrap();
                let session = client.create_session(NewSession::default()).await.unwrap().id;
                let writer = client.writer(session, None, mine()).await.unwrap();
                let written = writer.append(event(&user)).await.unwrap();
                role.say(&format!("{session} {} {user}", written.position.seq));
            }
        }
    });
}

#[test]
fn processes_that_bring_new_people_at_once_share_their_keys() {
    let place = Place::new();
    // There is no store yet: they race for making it, too.
    let processes = NAMES.map(|name| start("processes::child_brings_people", place.root(), name));
    for (process, name) in processes.into_iter().zip(NAMES) {
        process.succeeds(&Role::new(place.root(), name));
    }
    run(async {
        let store = place.open();
        let mut sessions: HashMap<String, usize> = HashMap::new();
        for name in NAMES {
            for line in Role::new(place.root(), name).said() {
                let mut words = line.splitn(3, ' ');
                let mut next = || words.next().unwrap();
                let (session, seq, user) = (next(), next(), next());
                let client = store.store().client(principal(user)).await.unwrap();
                let session = client.find_session(session).await.unwrap();
                let found = texts(&client, session, client.current_branch(session).await.unwrap()).await;
                assert_eq!(found[&seq.parse().unwrap()], user);
                *sessions.entry(user.to_owned()).or_default() += 1;
            }
        }
        for (user, count) in &sessions {
            assert_eq!(*count, if user.starts_with("all") { NAMES.len() } else { 1 }, "{user}");
            let client = store.store().client(principal(user)).await.unwrap();
            assert_eq!(client.sessions().await.unwrap().len(), *count);
        }
        assert_eq!(sessions.len(), 6 * (NAMES.len() + 1));
        assert_eq!(people(&store), sessions.len());
        assert_verifies(store.store());
    });
}

/// How many people the keystore knows: each once.
fn people(store: &Embedded) -> usize {
    store.keys().subjects().unwrap().len()
}
