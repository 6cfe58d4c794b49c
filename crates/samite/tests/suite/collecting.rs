//! Collection in one process beside checkpoints in others.

use crate::children::{Role, soon, start};
use crate::place::{Place, backends_of};
use crate::support::{assert_verifies, attached, event, files_only, noise, packs, principal, run};
use samite::payload::SettledBy;
use samite::workspace::{Checkpoint, CheckpointOptions, RestoreRequest};
use samite::{
    Backends, Begin, Client, ForkOptions, NewEvent, NewSession, NewStep, ReadOptions, Resolution, Settled, Store,
    WriterOptions,
};
use samite_host::{Clock, SystemClock, SystemSleep};
use samite_ledger::{BlockIndex, BlockPlace, BlockRow, Collection, MemoryLedger, PackRow, Pin};
use samite_model::{BlockId, EntryKind, ErrorKind, JournalId, PinId, Position, Pseudonym, Result, SessionId};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const ROUNDS: u64 = 16;

/// The contents that every process writes again and again: too large for the ledger.
fn content(number: u64) -> Vec<u8> {
    noise(number % 3 + 1, 300_000)
}

async fn take(client: &Client, session: SessionId) -> Result<Checkpoint> {
    client.checkpoint(session, None, WriterOptions::default(), files_only()).await
}

/// Takes a checkpoint, again when a collection came in between.
async fn insist(client: &Client, session: SessionId) -> Checkpoint {
    loop {
        match take(client, session).await {
            Ok(taken) => return taken,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{} {error}", error.code()),
        }
    }
}

async fn holds(client: &Client, at: Position, number: u64) {
    let mut bytes = Vec::new();
    client.cat(at, "big", &mut bytes).await.unwrap();
    assert!(bytes == content(number));
    bytes.clear();
    client.cat(at, "small", &mut bytes).await.unwrap();
    assert_eq!(bytes, number.to_string().as_bytes());
}

fn write(work: &Path, number: u64) {
    std::fs::write(work.join("big"), content(number)).unwrap();
    std::fs::write(work.join("small"), number.to_string()).unwrap();
}

async fn workspace(role: &Role, client: &Client) -> (SessionId, std::path::PathBuf) {
    let new = NewSession { key: Some(role.name.clone()), ..NewSession::default() };
    let session = client.create_session(new).await.unwrap().id;
    let work = role.file("work");
    std::fs::create_dir(&work).unwrap();
    client.attach(session, None, &work).await.unwrap();
    (session, work)
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_keeps() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let client = role.open().client().await.unwrap();
        let (session, work) = workspace(&role, &client).await;
        for number in 0..ROUNDS {
            write(&work, number);
            let taken = insist(&client, session).await;
            role.say(&format!("{session} {} {number}", taken.position.seq));
        }
    });
}

/// Makes garbage of what the other process writes: rewinds, and lets the trees of the left line go at once.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_discards() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let client = role.open().client().await.unwrap();
        let (session, work) = workspace(&role, &client).await;
        write(&work, 0);
        let base = insist(&client, session).await.position;
        for number in 1..ROUNDS {
            write(&work, number);
            let taken = insist(&client, session).await;
            holds(&client, taken.position, number).await;
            let options = ForkOptions { seq: Some(base.seq), ..ForkOptions::default() };
            let request = RestoreRequest::default();
            let (left, restored) = client.rewind(session, options, WriterOptions::default(), &request).await.unwrap();
            assert!(restored.unwrap().report.is_complete());
            assert_eq!(std::fs::read(work.join("small")).unwrap(), b"0");
            client.set_lifetime(session, left.previous, Some(1)).await.unwrap();
        }
        role.say(&format!("{session} {} 0", base.seq));
    });
}

#[test]
fn collecting_beside_checkpoints_of_other_processes_loses_nothing() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let roles = ["keeps", "discards", "keeps too"].map(|name| Role::new(place.root(), name));
        let mut processes = roles.clone().map(|role| {
            let test = if role.name == "discards" { "collecting::child_discards" } else { "collecting::child_keeps" };
            start(test, place.root(), &role.name)
        });
        let (mut collected, mut busy) = (0, 0);
        while !processes.iter_mut().all(super::children::Process::has_ended) {
            match client.collect().await {
                Ok(done) => collected += done.blocks,
                Err(error) => {
                    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "store_busy"));
                    busy += 1;
                }
            }
        }
        for (process, role) in processes.into_iter().zip(&roles) {
            process.succeeds(role);
        }
        let last = client.collect().await.unwrap();
        eprintln!("{collected} blocks went beside writers and {} after them; {busy} times too busy", last.blocks);
        assert!(collected + last.blocks > 0);
        for role in &roles {
            let said = role.said();
            assert_eq!(said.len(), if role.name == "discards" { 1 } else { usize::try_from(ROUNDS).unwrap() });
            for line in said {
                let words: Vec<&str> = line.split(' ').collect();
                let session = client.find_session(words[0]).await.unwrap();
                let branch = client.current_branch(session).await.unwrap();
                let at = client.position(session, branch, words[1].parse().unwrap()).await.unwrap();
                holds(&client, at, words[2].parse().unwrap()).await;
            }
        }
        assert_eq!(client.collect().await.unwrap().blocks, 0, "everything that could go has gone");
        assert_verifies(store.store());
    });
}

/// A clock that is some days ahead.
struct Ahead;

impl Clock for Ahead {
    fn now(&self) -> i64 {
        SystemClock.now() + 3 * 24 * 3600 * 1_000_000_000
    }
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_is_stopped_in_a_checkpoint() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let client = role.open().client().await.unwrap();
        let session = client.session_by_key("stopped").await.unwrap().unwrap();
        match take(&client, session).await {
            Ok(taken) => role.say(&format!("at once {}", taken.position.seq)),
            Err(error) => {
                role.say(&format!("{} {}", error.kind(), error.code()));
                role.say(&format!("then {}", insist(&client, session).await.position.seq));
            }
        }
    });
}

#[test]
fn a_checkpoint_whose_pin_lapsed_is_no_checkpoint_until_it_is_taken_again() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let new = NewSession { key: Some("stopped".into()), ..NewSession::default() };
        let session = client.create_session(new).await.unwrap().id;
        client.attach(session, None, &work).await.unwrap();
        for number in 0..40 {
            std::fs::write(work.join(number.to_string()), noise(number + 100, 200_000)).unwrap();
        }
        let role = Role::new(place.root(), "stopped");
        let stopped = start("collecting::child_is_stopped_in_a_checkpoint", place.root(), "stopped");
        // Its pin is recorded before its pack is there.
        soon("a pack is begun", || !packs(&store.home()).is_empty());
        stopped.stop();
        // The pin lapses, as far as the collector's clock can tell, and what it kept is litter.
        let backends = Backends { clock: Arc::new(Ahead), ..backends_of(&store) };
        let later = Store::new(backends).client(principal("collector")).await.unwrap();
        let mut collected = later.collect().await;
        while let Err(error) = &collected {
            // It was stopped inside of a transaction: let it leave that.
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            stopped.go_on();
            std::thread::sleep(std::time::Duration::from_millis(1));
            stopped.stop();
            collected = later.collect().await;
        }
        stopped.go_on();
        stopped.succeeds(&role);
        eprintln!("{:?}, {:?}", collected, role.said());
        let said = role.said();
        let seq: u64 = said.last().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        let branch = client.current_branch(session).await.unwrap();
        let at = Position { journal: branch, seq };
        for number in 0..40 {
            let mut bytes = Vec::new();
            client.cat(at, &number.to_string(), &mut bytes).await.unwrap();
            assert!(bytes == noise(number + 100, 200_000));
        }
        client.collect().await.unwrap();
        client.cat(at, "0", &mut Vec::new()).await.unwrap();
        assert_verifies(store.store());
    });
}

/// An index that loses the next so many pins as soon as they are recorded, as if they had lapsed.
struct Losing {
    index: Arc<MemoryLedger>,
    pins: AtomicUsize,
    /// Collects once, just before the next snapshot is committed: its mark is the last that is recorded.
    collector: Mutex<Option<Client>>,
    tenant: Pseudonym,
    litter: AtomicUsize,
    /// Once a collection has seen what is retained, somebody lets go of this branch's trees, and collects.
    beside: Mutex<Option<(Client, SessionId, JournalId)>>,
}

impl Losing {
    fn over(index: Arc<MemoryLedger>, tenant: Pseudonym) -> Arc<Self> {
        Arc::new(Self {
            index,
            pins: AtomicUsize::new(0),
            collector: Mutex::new(None),
            tenant,
            litter: AtomicUsize::new(0),
            beside: Mutex::new(None),
        })
    }
}

#[async_trait::async_trait]
impl BlockIndex for Losing {
    async fn find_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<BlockPlace>>> {
        self.index.find_blocks(blocks).await
    }

    async fn inline_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<Vec<u8>>>> {
        self.index.inline_blocks(blocks).await
    }

    async fn pin(&self, pin: Pin) -> Result<()> {
        let (id, is_mark) = (pin.id, pin.owner == self.tenant && pin.packs.is_empty());
        self.index.pin(pin).await?;
        let collector = self.collector.lock().unwrap().take_if(|_| is_mark);
        if let Some(collector) = collector {
            let litter = collector.collect().await?.litter;
            self.litter.store(usize::try_from(litter).unwrap(), Ordering::SeqCst);
        }
        let lose = |left: usize| left.checked_sub(1);
        if self.pins.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok() {
            self.index.unpin(id).await?;
        }
        Ok(())
    }

    async fn unpin(&self, pin: PinId) -> Result<()> {
        self.index.unpin(pin).await
    }

    async fn pins(&self, now: i64) -> Result<Vec<Pin>> {
        self.index.pins(now).await
    }

    async fn packs(&self) -> Result<Vec<PackRow>> {
        let beside = self.beside.lock().unwrap().take();
        if let Some((client, session, branch)) = beside {
            client.set_lifetime(session, branch, Some(1)).await?;
            assert!(client.collect().await?.blocks > 0);
        }
        self.index.packs().await
    }

    async fn blocks(&self, after: Option<BlockId>, limit: usize) -> Result<Vec<BlockRow>> {
        self.index.blocks(after, limit).await
    }

    async fn collect(&self, collection: Collection) -> Result<()> {
        self.index.collect(collection).await
    }
}

#[test]
fn what_is_refused_because_its_pin_lapsed_is_stored_anew() {
    let place = Place::new();
    let work = place.directory("work");
    let ledger = Arc::new(MemoryLedger::new(Arc::new(SystemSleep)));
    let backends = place.backends(ledger.clone(), ledger.clone());
    let losing = Losing::over(ledger, backends.keys.tenant_pseudonym());
    let backends = Backends { blocks: losing.clone(), ..backends };
    let store = Store::new(backends.clone());
    run(async {
        let client = store.client(principal("ada")).await.unwrap();
        let session = attached(&client, &work).await;
        std::fs::write(work.join("file"), "text").unwrap();
        losing.pins.store(1, Ordering::SeqCst);
        let taken = take(&client, session).await.unwrap();
        let mut bytes = Vec::new();
        client.cat(taken.position, "file", &mut bytes).await.unwrap();
        assert_eq!((bytes.as_slice(), losing.pins.load(Ordering::SeqCst)), (&b"text"[..], 0));
        let body = noise(7, 3 << 20);
        losing.pins.store(3, Ordering::SeqCst);
        let mut writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let large = NewEvent { body: body.clone(), ..event("") };
        let at = writer.append(large).await.unwrap();
        assert!(!at.duplicate && losing.pins.load(Ordering::SeqCst) == 0);
        let reader = client.read(session, None, ReadOptions::default()).await.unwrap();
        let entries = reader.all().await.unwrap();
        assert_eq!(entries.len(), 2);
        assert!(entries[1].event().unwrap().body == body);
        // So is an outcome that comes too late, as evidence.
        let step = NewStep::new("large", "tool", json!({}));
        let Begin::Run(step) = writer.begin(&step).await.unwrap() else { panic!("not to run") };
        let options = WriterOptions { take_over: true, ..WriterOptions::default() };
        let zombie = std::mem::replace(&mut writer, client.writer(session, None, options).await.unwrap());
        losing.pins.store(3, Ordering::SeqCst);
        let output = json!("x".repeat(2 << 20));
        let error = zombie.complete(&step, output.clone()).await.unwrap_err();
        assert_eq!((error.kind(), losing.pins.load(Ordering::SeqCst)), (ErrorKind::Fenced, 0));
        let recorded = writer.doubts().await.unwrap().remove(0).recorded;
        assert!(recorded.len() == 1 && recorded[0].output == output);
        let settled = Resolution { what: Settled::DidNot, by: SettledBy::Person, evidence: None, note: None };
        writer.resolve(step.id, &settled).await.unwrap();
        // Stopped before its commit until its pin has lapsed, while a collection takes its pack for litter.
        let later = Store::new(Backends { clock: Arc::new(Ahead), ..backends });
        std::fs::write(work.join("file"), noise(9, 400_000)).unwrap();
        *losing.collector.lock().unwrap() = Some(later.client(principal("collector")).await.unwrap());
        let taken = writer.checkpoint(CheckpointOptions::default()).await.unwrap();
        // Another is that of the payload that was refused.
        assert_eq!(losing.litter.load(Ordering::SeqCst), 2);
        bytes.clear();
        client.cat(taken.position, "file", &mut bytes).await.unwrap();
        assert!(bytes == noise(9, 400_000));
        // One of the same tree is not pinned, so none of its pins lapses.
        losing.pins.store(usize::MAX, Ordering::SeqCst);
        assert!(writer.checkpoint(CheckpointOptions::default()).await.unwrap().unchanged);
        assert_eq!(losing.pins.load(Ordering::SeqCst), usize::MAX);
        // One that is refused again and again is refused in the end.
        std::fs::write(work.join("file"), "other").unwrap();
        let error = writer.checkpoint(CheckpointOptions::default()).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "pin_lapsed"));
        losing.pins.store(0, Ordering::SeqCst);
        assert!(!writer.checkpoint(CheckpointOptions::default()).await.unwrap().unchanged);
        assert_verifies(&store);
        // The first entry of a fork is as large as the restore that it begins with.
        writer.release().await.unwrap();
        let directory = "d".repeat(250);
        let within: Vec<String> = (0..5000).map(|number| format!("{directory}/{number}")).collect();
        let request = RestoreRequest { within, ..RestoreRequest::default() };
        let back = || ForkOptions { seq: Some(taken.position.seq), ..ForkOptions::default() };
        losing.pins.store(1, Ordering::SeqCst);
        let (fork, restored) = client.rewind(session, back(), WriterOptions::default(), &request).await.unwrap();
        assert!(restored.is_some() && losing.pins.load(Ordering::SeqCst) == 0);
        assert_eq!(client.branches(session).await.unwrap().len(), 2);
        assert_eq!(client.current_branch(session).await.unwrap(), fork.branch);
        let reader = client.read(session, None, ReadOptions { from: fork.at.seq + 1, ..ReadOptions::default() });
        let first = reader.await.unwrap().all().await.unwrap().remove(0);
        assert!(first.header.kind == EntryKind::STEP_STARTED && !first.blocks.is_empty());
        assert_eq!(
            first.json::<samite::payload::StepStarted>().unwrap().input["within"].as_array().unwrap().len(),
            5000
        );
        // One that is refused again and again leaves no branch behind.
        losing.pins.store(usize::MAX, Ordering::SeqCst);
        let error = client.rewind(session, back(), WriterOptions::default(), &request).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "pin_lapsed"));
        losing.pins.store(0, Ordering::SeqCst);
        assert_eq!(client.branches(session).await.unwrap().len(), 2);
        assert_verifies(&store);
    });
}

#[test]
fn a_collection_begins_again_when_another_took_what_it_was_to_keep() {
    let place = Place::new();
    let work = place.directory("work");
    let ledger = Arc::new(MemoryLedger::new(Arc::new(SystemSleep)));
    let backends = place.backends(ledger.clone(), ledger.clone());
    let index = Losing::over(ledger, backends.keys.tenant_pseudonym());
    let store = Store::new(Backends { blocks: index.clone(), ..backends });
    run(async {
        let client = store.client(principal("ada")).await.unwrap();
        let session = attached(&client, &work).await;
        write(&work, 0);
        let base = take(&client, session).await.unwrap().position;
        write(&work, 1);
        let gone = take(&client, session).await.unwrap().position;
        // What is in the directory when it is put back is kept with the new branch.
        write(&work, 2);
        take(&client, session).await.unwrap();
        let options = ForkOptions { seq: Some(base.seq), ..ForkOptions::default() };
        let request = RestoreRequest::default();
        let (left, _) = client.rewind(session, options, WriterOptions::default(), &request).await.unwrap();
        *index.beside.lock().unwrap() = Some((client.clone(), session, left.previous));
        // What it was to keep when it looked has gone since, and it is not damage.
        assert_eq!(client.collect().await.unwrap().blocks, 0);
        assert!(index.beside.lock().unwrap().is_none());
        holds(&client, base, 0).await;
        let error = client.cat(gone, "big", &mut Vec::new()).await.unwrap_err();
        assert_eq!(error.code(), "tree_collected");
        assert_verifies(&store);
    });
}
