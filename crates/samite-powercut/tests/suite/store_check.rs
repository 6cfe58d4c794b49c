//! What must hold of a store after a power cut.

use crate::acts::{Act, Files, files_of, known, position};
use crate::cuts::After;
use crate::store::{LARGE, checkpoint_options, client_of, event, noise, open, take_over};
use samite::embedded::Embedded;
use samite::{Client, NewSession, ReadOptions};
use samite_blocks::{FilePackStore, PackStore as _};
use samite_ledger::{BlockIndex as _, PackState};
use samite_model::step::State;
use samite_model::{BranchId, Position, SessionId};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// How many of the acknowledged trees are read back, the last ones.
const TREES: usize = 3;

pub(crate) async fn check(after: &After<'_, Act>) {
    let store = open(after.directory);
    verify(&store).await;
    let checked = Checked::new(after.acts);
    for (user, sessions) in &checked.sessions {
        let client = client_of(&store, user).await;
        for session in sessions {
            let info = client.session(*session).await.unwrap();
            assert_eq!(info.id, *session);
        }
    }
    entries_are_there(&store, after.acts).await;
    large_entries_are_there(&store, after.acts, &checked).await;
    steps_are_there(&store, after.acts, &checked).await;
    branches_are_there(&store, after.acts, &checked).await;
    trees_are_there(&store, &checked).await;
    go_on(&store, after, &checked).await;
    // Nothing writes now, so it must go through, and may take nothing that is to stay.
    client_of(&store, "after").await.collect().await.unwrap();
    trees_are_there(&store, &checked).await;
    large_entries_are_there(&store, after.acts, &checked).await;
    verify(&store).await;
    store.close().await;
}

/// What was acknowledged, sorted.
#[derive(Default)]
struct Checked<'a> {
    /// By user.
    sessions: BTreeMap<&'a str, Vec<SessionId>>,
    users: HashMap<SessionId, &'a str>,
    trees: Vec<(SessionId, Position, &'a Files)>,
    attached: Vec<(SessionId, &'a str)>,
}

impl<'a> Checked<'a> {
    fn new(acts: &'a [Act]) -> Self {
        let mut checked = Self::default();
        let gone = |at: Position| {
            acts.iter()
                .any(|act| matches!(act, Act::MayGo { branch, after } if *branch == at.journal && *after < at.seq))
        };
        for act in acts {
            match act {
                Act::Session { user, session } => {
                    checked.sessions.entry(user).or_default().push(*session);
                    checked.users.insert(*session, user);
                }
                Act::Tree { at, .. } if gone(position(*at)) => {}
                Act::Tree { session, at, files } => checked.trees.push((*session, position(*at), files)),
                Act::Attached { session, directory } => checked.attached.push((*session, directory)),
                _ => {}
            }
        }
        checked
    }

    async fn client(&self, store: &Embedded, session: SessionId) -> Client {
        client_of(store, self.users[&session]).await
    }
}

pub(crate) async fn verify(store: &Embedded) {
    let verified = store.store().verify(false, None).await.unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    assert!(verified.stale_views.is_empty(), "stale views of {:?}", verified.stale_views);
    assert_eq!(store.ledger().check_physical().await.unwrap(), []);
    let packs = FilePackStore::open(&store.home().join("packs")).unwrap();
    for pack in store.ledger().packs().await.unwrap() {
        if pack.state == PackState::Live {
            let size = packs.size(pack.id).await.unwrap();
            assert_eq!(size, Some(pack.size), "pack {} is not whole", pack.id);
        }
    }
}

async fn entries_are_there(store: &Embedded, acts: &[Act]) {
    let mut read: HashMap<BranchId, HashMap<u64, Vec<u8>>> = HashMap::new();
    for act in acts {
        let Act::Appended { user, session, branch, seq, text } = act else { continue };
        if !read.contains_key(branch) {
            let client = client_of(store, user).await;
            let options = ReadOptions::default();
            let reader = client.read(*session, Some(*branch), options).await;
            let entries = match reader {
                Ok(reader) => reader.all().await,
                Err(error) => Err(error),
            };
            let entries = entries.unwrap_or_else(|error| panic!("{act:?} cannot be read: {error}"));
            let events = entries.iter().filter(|entry| entry.is_event());
            let bodies = events.map(|entry| (entry.position.seq, entry.event().unwrap().body.to_vec()));
            read.insert(*branch, bodies.collect());
        }
        assert_eq!(read[branch].get(seq).map(Vec::as_slice), Some(text.as_bytes()), "{act:?} is lost");
    }
}

async fn large_entries_are_there(store: &Embedded, acts: &[Act], checked: &Checked<'_>) {
    for act in acts {
        let Act::AppendedLarge { session, branch, seq, seed } = act else { continue };
        let client = checked.client(store, *session).await;
        let options = ReadOptions { from: *seq, to: Some(*seq), ..ReadOptions::default() };
        let entries = client.read(*session, Some(*branch), options).await.unwrap().all().await.unwrap();
        assert!(entries[0].event().unwrap().body == noise(*seed, LARGE), "{act:?} has other bytes");
    }
}

async fn steps_are_there(store: &Embedded, acts: &[Act], checked: &Checked<'_>) {
    let mut steps: HashMap<BranchId, HashMap<String, (State, Option<serde_json::Value>)>> = HashMap::new();
    for act in acts {
        let (Act::Began { session, branch, key } | Act::Completed { session, branch, key, .. }) = act else { continue };
        if !steps.contains_key(branch) {
            let client = checked.client(store, *session).await;
            let found = client.steps(*session, Some(*branch)).await.unwrap();
            let found = found
                .into_iter()
                .map(|step| (step.started.key, (step.state, step.outcome.map(|outcome| outcome.output))));
            steps.insert(*branch, found.collect());
        }
        let (state, found) = steps[branch].get(key).unwrap_or_else(|| panic!("{act:?} is lost"));
        match act {
            Act::Completed { output, .. } => {
                assert_eq!(
                    (*state, found.as_ref().and_then(serde_json::Value::as_str)),
                    (State::Completed, Some(output.as_str()))
                );
            }
            _ => assert!(matches!(state, State::Started | State::InDoubt | State::Completed), "{act:?}: {state:?}"),
        }
    }
}

async fn branches_are_there(store: &Embedded, acts: &[Act], checked: &Checked<'_>) {
    let mut rewound: HashMap<SessionId, BranchId> = HashMap::new();
    for act in acts {
        match act {
            Act::Forked { session, branch, at } => {
                let branches = checked.client(store, *session).await.branches(*session).await.unwrap();
                let found =
                    branches.iter().find(|found| found.id == *branch).unwrap_or_else(|| panic!("{act:?} is lost"));
                assert_eq!(found.forked_at, Some(position(*at)));
            }
            Act::Rewound { session, branch } => {
                rewound.insert(*session, *branch);
            }
            _ => {}
        }
    }
    for (session, branch) in rewound {
        let client = checked.client(store, session).await;
        let current = client.current_branch(session).await.unwrap();
        // Another rewind may have been under way.
        let branches = client.branches(session).await.unwrap();
        let place = |id: BranchId| branches.iter().position(|found| found.id == id).unwrap();
        assert!(place(current) >= place(branch), "the rewind to {branch} is lost");
    }
}

async fn trees_are_there(store: &Embedded, checked: &Checked<'_>) {
    for (session, at, files) in checked.trees.iter().rev().take(TREES) {
        let client = checked.client(store, *session).await;
        tree_is(&client, *at, files).await;
    }
}

async fn tree_is(client: &Client, at: Position, files: &Files) {
    for (path, wanted) in files {
        let mut bytes = Vec::new();
        client.cat(at, path, &mut bytes).await.unwrap_or_else(|error| panic!("{path} at {at:?}: {error}"));
        assert_eq!(known(&bytes), *wanted, "{path} at {at:?}");
    }
}

/// Goes on: an entry and a checkpoint in each session that had a directory, and a new owner.
async fn go_on(store: &Embedded, after: &After<'_, Act>, checked: &Checked<'_>) {
    for (session, directory) in checked.attached.iter().rev().take(2) {
        let client = checked.client(store, *session).await;
        checkpoint_again(&client, *session, &after.beside.join(directory)).await;
    }
    let client = client_of(store, "after").await;
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    let writer = client.writer(session, None, take_over()).await.unwrap();
    let appended = writer.append(event("after the cut")).await.unwrap();
    assert_eq!(appended.position.seq, 1);
}

async fn checkpoint_again(client: &Client, session: SessionId, directory: &Path) {
    let writer = client.writer(session, None, take_over()).await.unwrap();
    let head = client.head(session, writer.branch()).await.unwrap();
    let appended = writer.append(event("after the cut")).await.unwrap();
    assert_eq!(appended.position.seq, head.seq + 1);
    let taken = match writer.checkpoint(checkpoint_options()).await {
        // Cut in a rewind, before the new branch had taken the directory over.
        Err(error) if error.code() == "no_workspace" => return,
        taken => taken.unwrap(),
    };
    // Whatever the cut left of the stat cache: the tree is what the directory holds.
    tree_is(client, taken.position, &files_of(directory)).await;
}
