//! The embedded store: sessions, steps, new owners' keys, checkpoints, forks and rewinds, in two processes.

use crate::acts::{Act, files_of, noted};
use crate::cuts::replay;
use crate::planned::{STORE, STORE_KILLED};
use crate::recording::{Recording, Worker};
use crate::store_check::check;
use futures_lite::future::block_on;
use samite::embedded::{Embedded, EmbeddedOptions};
use samite::workspace::{CheckpointOptions, RestoreRequest};
use samite::{
    Begin, Client, Completion, ForkOptions, NewEvent, NewSession, NewStep, StepHandle, Writer, WriterOptions,
};
use samite_host::SystemRandomness;
use samite_keys::FileMaster;
use samite_model::{EntryKind, ErrorKind, Principal, SessionId, Tenant};
use serde_json::json;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::Arc;

const ROUNDS: u64 = 10;
/// The number of the first process that is to be killed.
const KILLED: u64 = 10;

/// Opens the store of a disk, or makes it. Its master key is on the same disk.
pub(crate) fn open(disk: &Path) -> Embedded {
    Embedded::open(EmbeddedOptions {
        directory: disk.join("data/store"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(disk.join("config/master.key"), Arc::new(SystemRandomness::new()))),
        create: true,
        read_only: false,
        accept_behind: false,
    })
    .unwrap()
}

fn principal(user: &str) -> Principal {
    Principal {
        tenant: Tenant::new("local").unwrap(),
        user: user.to_owned(),
        agent: "agent".to_owned(),
        workload: "powercut".to_owned(),
        scopes: vec!["samite:all".to_owned()],
        parents: Vec::new(),
    }
}

/// The store as a user sees it.
pub(crate) async fn client_of(store: &Embedded, user: &str) -> Client {
    store.store().client(principal(user)).await.unwrap()
}

pub(crate) fn event(text: &str) -> NewEvent {
    NewEvent {
        kind: EntryKind::MESSAGE,
        body: text.as_bytes().to_vec(),
        attributes: None,
        dedupe: Some(text.to_owned()),
        expected_head: None,
    }
}

/// Whoever writes before a power cut is not asked after it.
pub(crate) fn take_over() -> WriterOptions {
    WriterOptions { take_over: true, ..WriterOptions::default() }
}

pub(crate) fn checkpoint_options() -> CheckpointOptions {
    CheckpointOptions { no_environment: true, ..CheckpointOptions::default() }
}

/// One user's line of work in a session.
struct Work<'a> {
    worker: &'a Worker,
    client: Client,
    user: String,
    session: SessionId,
}

impl<'a> Work<'a> {
    async fn begin(worker: &'a Worker, store: &Embedded, user: &str) -> Self {
        let client = client_of(store, user).await;
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        worker.acknowledge(&Act::Session { user: user.to_owned(), session });
        Self { worker, client, user: user.to_owned(), session }
    }

    async fn writer(&self) -> Writer {
        self.client.writer(self.session, None, take_over()).await.unwrap()
    }

    async fn append(&self, writer: &Writer, text: String) {
        let appended = writer.append(event(&text)).await.unwrap();
        self.worker.acknowledge(&Act::Appended {
            user: self.user.clone(),
            session: self.session,
            branch: writer.branch(),
            seq: appended.position.seq,
            text,
        });
    }

    async fn append_large(&self, writer: &Writer, seed: u64) {
        let event = NewEvent { body: noise(seed, LARGE), dedupe: None, ..event("") };
        let appended = writer.append(event).await.unwrap();
        let (session, branch, seq) = (self.session, writer.branch(), appended.position.seq);
        self.worker.acknowledge(&Act::AppendedLarge { session, branch, seq, seed });
    }

    fn began(&self, writer: &Writer, begin: Begin, key: &str) -> StepHandle {
        let Begin::Run(handle) = begin else { panic!("step {key} is not to run: {begin:?}") };
        self.worker.acknowledge(&Act::Began { session: self.session, branch: writer.branch(), key: key.to_owned() });
        handle
    }

    fn completed(&self, writer: &Writer, key: &str) {
        self.worker.acknowledge(&Act::Completed {
            session: self.session,
            branch: writer.branch(),
            key: key.to_owned(),
            output: output_of(key),
        });
    }

    /// A chain of steps, each begun with the end of the one before.
    async fn steps(&self, writer: &Writer, round: u64) {
        let key = |number: u64| format!("{round}-{number}");
        let new = |key: &str| NewStep::new(key, "tool", json!({ "key": key }));
        let mut handle = self.began(writer, writer.begin(&new(&key(0))).await.unwrap(), &key(0));
        for number in 1..4 {
            let done = Completion::completed(json!(output_of(&key(number - 1))));
            let next = writer.complete_and_begin(&handle, &done, &new(&key(number))).await.unwrap();
            self.completed(writer, &key(number - 1));
            handle = self.began(writer, next, &key(number));
        }
        writer.complete(&handle, json!(output_of(&key(3)))).await.unwrap();
        self.completed(writer, &key(3));
    }

    /// Works on a fork in a directory of its own, and lets its trees go at once: their pack goes with them.
    async fn discard(&self, round: u64) {
        let fork = self.client.fork(self.session, ForkOptions::default()).await.unwrap();
        let directory = self.worker.beside.join(format!("fork-{}-{round}", self.worker.number));
        self.client.materialise(self.session, fork.branch, &directory).await.unwrap();
        std::fs::write(directory.join("discarded"), noise(self.worker.number * 100 + 50 + round, 400_000)).unwrap();
        let options = checkpoint_options();
        match self.client.checkpoint(self.session, Some(fork.branch), take_over(), options).await {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
        self.worker.acknowledge(&Act::MayGo { branch: fork.branch, after: fork.at.seq });
        self.client.set_lifetime(self.session, fork.branch, Some(1)).await.unwrap();
        match self.client.collect().await {
            Ok(_) => self.worker.acknowledge(&Act::Collected),
            Err(error) => assert_eq!(error.code(), "store_busy"),
        }
    }

    /// Takes one, again when a collection came in between.
    async fn checkpoint(&self, writer: &Writer, directory: &Path) -> u64 {
        let taken = loop {
            match writer.checkpoint(checkpoint_options()).await {
                Ok(taken) => break taken,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
            }
        };
        let files = files_of(directory);
        self.worker.acknowledge(&Act::Tree { session: self.session, at: noted(taken.position), files });
        taken.position.seq
    }
}

/// What a step with a key gives.
pub(crate) fn output_of(key: &str) -> String {
    format!("what {key} gave")
}

/// The user of a process: one for all that are killed.
fn user_of(number: u64) -> String {
    if number < KILLED { format!("main-{number}") } else { "main".to_owned() }
}

/// Larger than what a journal takes.
pub(crate) const LARGE: usize = 1_200_000;

pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_be_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Changes files: small ones, whose blocks stay in the ledger, and at times one that fills a pack. Processes that work at
/// once share its bytes, and so the pack; of those that are killed each has its own, which can be collected.
fn change_files(directory: &Path, number: u64, round: u64) {
    std::fs::write(directory.join("small"), format!("round {round}")).unwrap();
    std::fs::write(directory.join(format!("kept-{}", round % 4)), noise(round, 3_000)).unwrap();
    let own = if number < KILLED { 0 } else { number };
    if round % 3 == 1 {
        std::fs::write(directory.join("large"), noise(own * 100 + round, 400_000)).unwrap();
    }
}

/// A process that works in a directory of its own.
#[test]
fn child() {
    let Some(worker) = Worker::this() else { return };
    let name = format!("work-{}", worker.number);
    let directory = worker.beside.join(&name);
    let _ = std::fs::create_dir(&directory);
    block_on(async {
        let store = open(&worker.mount);
        worker.acknowledge(&Act::Opened(worker.number));
        let work = Work::begin(&worker, &store, &user_of(worker.number)).await;
        work.client.attach(work.session, None, &directory).await.unwrap();
        worker.acknowledge(&Act::Attached { session: work.session, directory: name });
        let mut writer = work.writer().await;
        let mut trees = Vec::new();
        for round in 1..=ROUNDS {
            work.append(&writer, format!("round {round} begins")).await;
            work.steps(&writer, round).await;
            if round == 2 {
                work.append_large(&writer, worker.number).await;
            }
            change_files(&directory, worker.number, round);
            trees.push(work.checkpoint(&writer, &directory).await);
            // An owner that nobody has heard of: new keys, then entries under them.
            let user = format!("user-{}-{round}", worker.number);
            let other = Work::begin(&worker, &store, &user).await;
            let others = other.writer().await;
            other.append(&others, format!("{user} was here")).await;
            if round % 3 == 0 {
                let fork = work.client.fork(work.session, ForkOptions::default()).await.unwrap();
                let (session, branch) = (work.session, fork.branch);
                worker.acknowledge(&Act::Forked { session, branch, at: noted(fork.at) });
            }
            if round % 4 == 0 {
                writer.release().await.unwrap();
                let options = ForkOptions { seq: Some(trees[trees.len() - 2]), ..ForkOptions::default() };
                let rewound =
                    work.client.rewind(work.session, options, take_over(), &RestoreRequest::default()).await.unwrap();
                let (session, branch) = (work.session, rewound.0.branch);
                worker.acknowledge(&Act::Rewound { session, branch });
                work.discard(round).await;
                writer = work.writer().await;
                trees = vec![work.checkpoint(&writer, &directory).await];
            }
            if round == 7 {
                store.ledger().checkpoint().await.unwrap_or_default();
            }
        }
        store.close().await;
    });
}

#[test]
fn a_store_of_two_processes_loses_nothing_acknowledged_in_a_power_cut() {
    let recording = Recording::make(|workload| {
        let children: Vec<_> = (0..2).map(|number| workload.start("store::child", number, None)).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    });
    let Some(recording) = recording else { return };
    replay(recording, &STORE, |after| block_on(check(after)));
}

/// What one process saw done and had not synced when it was killed, the next must not take for durable.
#[test]
fn a_store_whose_processes_were_killed_loses_nothing_acknowledged_in_a_power_cut() {
    // First each file and directory that a new store has, between its name and the sync above it; last that of the first
    // user's keys, which the processes after it use as they are.
    const POINTS: [&str; 24] = [
        "files.directory.made:1",
        "files.directory.made:1",
        "files.atomic.renamed:1",
        "files.directory.made:1",
        "files.directory.made:1",
        "files.directory.made:1",
        "files.directory.made:1",
        "files.atomic.renamed:1",
        "files.atomic.renamed:2",
        "keys.copied:1",
        "files.atomic.renamed:3",
        "keys.copied:1",
        "files.atomic.renamed:2",
        "ledger.after_commit:9",
        "ledger.after_high_water:12",
        "files.atomic.renamed:3",
        "pack.synced:1",
        "pack.finished:1",
        "checkpoint.before_commit:2",
        "gc.marked:1",
        "gc.dying:1",
        "gc.forgotten:1",
        "gc.unlinked:1",
        "ledger.after_commit:60",
    ];
    let recording = Recording::make(|workload| {
        for (point, number) in POINTS.into_iter().zip(KILLED..) {
            let killed = workload.start("store::child", number, Some(point)).wait().unwrap();
            assert_eq!(killed.signal(), Some(9), "{point} was never reached");
        }
    });
    let Some(recording) = recording else { return };
    replay(recording, &STORE_KILLED, |after| block_on(check(after)));
}
