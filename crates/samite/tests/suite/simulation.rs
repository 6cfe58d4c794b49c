//! Harnesses that crash and start again over a ledger that fails, in thousands of orders: no effect is doubled, nothing
//! acknowledged is lost.

use crate::place::Place;
use crate::support::{principal, run};
use samite::payload::SettledBy;
use samite::{Backends, Begin, Client, NewSession, NewStep, Resolution, Settled, Store, Writer, WriterOptions};
use samite_ledger::testing::{Executor, Faults, FaultyStore, Seeded, for_seeds};
use samite_model::step::State;
use samite_model::{ErrorKind, Result, SessionId};
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

const TASKS: usize = 4;
const STEPS: u64 = 200_000;

/// The world outside: how often each task's effect happened.
type World = Rc<RefCell<[u32; TASKS]>>;

/// What a harness was told is durable.
type Told = Rc<RefCell<Vec<usize>>>;

/// Does it until the storage has answered.
async fn insist<T>(mut act: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    loop {
        match act().await {
            Err(error) if error.kind() == ErrorKind::Unavailable && error.code() != "ledger_crashed" => {}
            other => return other,
        }
    }
}

/// One life of a harness: it finds out what is done, settles what is in doubt by looking, and does the rest, in words of
/// its own.
async fn live(client: Client, session: SessionId, life: u32, world: World, told: Told) -> Result<()> {
    let id = format!("life {life}");
    let writer = insist(async || {
        let options = WriterOptions { id: Some(id.clone()), take_over: true, ..WriterOptions::default() };
        client.writer(session, None, options).await
    })
    .await?;
    let steps = insist(async || client.steps(session, None).await).await?;
    let done: Vec<u64> = steps
        .iter()
        .filter(|step| step.state == State::Completed)
        .filter_map(|step| step.started.input["task"].as_u64())
        .collect();
    for task in 0..TASKS {
        if !done.contains(&(task as u64)) {
            carry_out(&writer, task, life, &world, &told).await?;
        }
    }
    Ok(())
}

async fn carry_out(writer: &Writer, task: usize, life: u32, world: &World, told: &Told) -> Result<()> {
    let step = NewStep {
        touches: vec!["https://world.example/".into()],
        ..NewStep::new(format!("task {task}, as life {life} says it"), "act", json!({ "task": task, "life": life }))
    };
    loop {
        match insist(async || writer.begin(&step).await).await? {
            Begin::Run(handle) => {
                // Nothing can come between the start and the effect but the end of this process.
                world.borrow_mut()[task] += 1;
                insist(async || writer.complete(&handle, json!("done")).await).await?;
                told.borrow_mut().push(task);
                return Ok(());
            }
            Begin::Replay(_) => return Ok(()),
            Begin::Busy(step) => panic!("busy with {step:?} although there is one harness"),
            Begin::InDoubt(doubt) => {
                let other = usize::try_from(doubt.step.started.input["task"].as_u64().unwrap()).unwrap();
                let happened = world.borrow()[other] > 0;
                let what = if happened { Settled::Happened(json!("seen")) } else { Settled::DidNot };
                let resolution = Resolution { what, by: SettledBy::Probe, evidence: None, note: None };
                insist(async || writer.resolve(doubt.step.id, &resolution).await).await?;
                if happened && other == task {
                    told.borrow_mut().push(task);
                    return Ok(());
                }
            }
        }
    }
}

/// With the keys and packs of these backends.
fn simulate(seed: u64, backends: &Backends) -> std::result::Result<(), String> {
    let mut executor = Executor::new(seed);
    let random = Rc::new(Seeded::new(seed ^ 0x5eed));
    let storage = FaultyStore::new(Seeded::new(!seed), Arc::new(executor.time()), Faults::MANY);
    let now = executor.time();
    let store = |ledger: Arc<samite_ledger::testing::FaultyLedger>| {
        Store::new(Backends {
            ledger: ledger.clone(),
            blocks: ledger,
            clock: Arc::new(now.clone()),
            ..backends.clone()
        })
    };
    let opened = Arc::new(storage.open());
    let first = store(opened).reader(principal("ada")).unwrap();
    let setup = async move {
        let session = insist(async || first.create_session(NewSession::default()).await).await.unwrap();
        session.id
    };
    let world: World = Rc::default();
    let told: Told = Rc::default();
    let spawner = executor.spawner();
    let time = executor.time();
    let lives: Vec<_> = (0..6).map(|_| Arc::new(storage.open())).collect();
    let clients: Vec<Client> =
        lives.iter().map(|ledger| store(ledger.clone()).reader(principal("ada")).unwrap()).collect();
    let session = executor.block_on(setup, STEPS).map_err(|stopped| format!("{stopped:?}"))?;
    let last = lives.len() - 1;
    for (life, (ledger, client)) in lives.iter().zip(clients).enumerate() {
        let process = spawner.process();
        let ended = Rc::new(Cell::new(false));
        let (mark, world, told) = (ended.clone(), world.clone(), told.clone());
        spawner.spawn(process, async move {
            live(client, session, u32::try_from(life).unwrap(), world, told).await.unwrap();
            mark.set(true);
        });
        if life == last {
            executor.run(STEPS).map_err(|stopped| format!("{stopped:?}"))?;
            assert!(ended.get());
        } else {
            // It dies after a while, wherever it is then.
            let (sleep, wait) = (time.clone(), random.below(20_000_000));
            executor
                .block_on(async move { samite_host::Sleep::sleep(&sleep, wait).await }, STEPS)
                .map_err(|stopped| format!("{stopped:?}"))?;
            ledger.crash();
            spawner.kill(process);
        }
    }
    let counts = *world.borrow();
    if counts != [1; TASKS] {
        return Err(format!("effects happened {counts:?} times"));
    }
    storage.set_faults(Faults::NONE);
    let truth = store(Arc::new(storage.open()));
    run(async {
        let client = truth.reader(principal("ada")).unwrap();
        let steps = client.steps(session, None).await.unwrap();
        for task in told.borrow().iter() {
            let completed = steps
                .iter()
                .filter(|step| step.state == State::Completed && step.started.input["task"] == json!(task))
                .count();
            if completed != 1 {
                return Err(format!("task {task} is completed {completed} times in the log"));
            }
        }
        let verified = truth.verify(false, None).await.unwrap();
        if verified.findings.is_empty() && verified.stale_views.is_empty() {
            Ok(())
        } else {
            Err(format!("{verified:?}"))
        }
    })
}

#[test]
fn crashing_harnesses_double_no_effect_and_lose_no_outcome() {
    let place = Place::new();
    let backends = place.backends_in_memory();
    for_seeds(0..3000, |seed| simulate(seed, &backends));
}
