//! Cutting a recording in many places, and looking at each disk.

use crate::planned::{Planned, note};
use crate::recording::{Recording, say, scratch};
use samite_powercut::{Choice, Disk, Model, Operation, Remains};
use serde::de::DeserializeOwned;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

/// The cuts to make instead of all: `POSITION:MODEL:SEED`, several with commas.
const CUTS: &str = "SAMITE_POWERCUT_CUTS";
/// How many times as many cuts to make as usual, and from which seed they follow.
const TIMES: &str = "SAMITE_POWERCUT_TIMES";
const SEED: &str = "SAMITE_POWERCUT_SEED";
const THREADS: usize = 2;

/// A place to cut, and the chance that decides what is left.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// So many operations have happened.
    position: usize,
    model: Model,
    seed: u64,
}

impl Cut {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let position = parts.next()?.parse().ok()?;
        let model = match parts.next()? {
            "ordered" => Model::Ordered,
            "harsh" => Model::Harsh,
            _ => return None,
        };
        Some(Self { position, model, seed: parts.next()?.parse().ok()? })
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let model = if self.model == Model::Ordered { "ordered" } else { "harsh" };
        write!(f, "{}:{model}:{}", self.position, self.seed)
    }
}

/// The disk after a cut, in a directory, with what was acknowledged by then, oldest first.
pub(crate) struct After<'a, Act> {
    pub(crate) directory: &'a Path,
    /// Beside the recorded file system: as it was when the recording ended.
    pub(crate) beside: &'a Path,
    pub(crate) acts: &'a [Act],
}

/// Three in four cuts are just before or after something that changes what is durable or known; the others anywhere.
fn choose(operations: &[Operation], count: usize, seed: u64) -> Vec<Cut> {
    let telling: Vec<usize> = operations
        .iter()
        .zip(0..)
        .filter(|(operation, _)| !matches!(operation, Operation::Write { .. } | Operation::Create { .. }))
        .map(|(_, at)| at)
        .collect();
    let mut choice = Choice::new(seed);
    let mut cuts: Vec<Cut> = (0..count)
        .map(|number| {
            let position = if choice.happens(75) {
                // Spread over the whole, one from each of as many stretches as there are cuts.
                let stretch = telling.len() * number / count..telling.len() * (number + 1) / count;
                let at = telling[(stretch.start + choice.below(stretch.len())).min(telling.len() - 1)];
                at + choice.below(2)
            } else {
                choice.below(operations.len() + 1)
            };
            let model = if choice.happens(50) { Model::Ordered } else { Model::Harsh };
            Cut { position, model, seed: choice.number() }
        })
        .collect();
    cuts.sort_by_key(|cut| cut.position);
    cuts
}

/// Cuts a recording in as many places as are planned; `check` panics where the disk is not as it must be.
pub(crate) fn replay<Act: DeserializeOwned + Sync + Send>(
    mut recording: Recording,
    planned: &Planned,
    check: impl Fn(&After<'_, Act>) + Sync,
) {
    let Planned { name, cuts: count } = *planned;
    let asked = std::env::var(CUTS).ok();
    let mut cuts = match &asked {
        Some(text) => text.split(',').map(|cut| Cut::parse(cut).expect("POSITION:MODEL:SEED")).collect(),
        None => choose(&recording.operations, count * number(TIMES), number(SEED) as u64),
    };
    cuts.sort_by_key(|cut| cut.position);
    let beside = recording.beside();
    let (places, acts): (Vec<usize>, Vec<Act>) = recording
        .operations
        .iter()
        .zip(0..)
        .filter_map(|(operation, at)| match operation {
            Operation::Acknowledge { bytes } => Some((at, serde_json::from_slice(bytes).unwrap())),
            _ => None,
        })
        .unzip();
    let failures = Mutex::new(Vec::new());
    let (send, receive) = sync_channel::<(Cut, Remains)>(THREADS);
    let receive = Mutex::new(receive);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((cut, remains)) = next(&receive) {
                    let folder = tempfile::tempdir_in(scratch()).unwrap();
                    remains.write_to(folder.path()).unwrap();
                    let known = places.partition_point(|at| *at < cut.position);
                    let after = After { directory: folder.path(), beside: &beside, acts: &acts[..known] };
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&after))) {
                        let text = panic.downcast_ref::<String>().cloned();
                        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                        failures.lock().unwrap().push((cut, text.unwrap_or_default()));
                    }
                }
            });
        }
        let (mut ordered, mut harsh) = (Disk::new(Model::Ordered), Disk::new(Model::Harsh));
        let mut done = 0;
        for cut in &cuts {
            for operation in &recording.operations[done..cut.position] {
                ordered.apply(operation);
                harsh.apply(operation);
            }
            done = cut.position;
            let disk = if cut.model == Model::Ordered { &ordered } else { &harsh };
            send.send((*cut, disk.cut(cut.seed))).unwrap();
        }
        drop(send);
    });
    let failures = failures.into_inner().unwrap();
    let (operations, known) = (recording.operations.len(), acts.len());
    let told = format!("{name}: {} power cuts in {operations} operations with {known} acknowledgements", cuts.len());
    say(&told);
    note(planned, &told);
    assert!(asked.is_some() || cuts.len() >= count, "only {} of {count} power cuts were made", cuts.len());
    if !failures.is_empty() {
        let again = recording.keep();
        for (cut, text) in &failures {
            say(&format!("FAILED after a power cut: {text}\n  again: {again} {CUTS}={cut}"));
        }
        panic!("{} of {} power cuts of {name} left a disk that is not as it must be", failures.len(), cuts.len());
    }
}

fn number(variable: &str) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn next(receive: &Mutex<Receiver<(Cut, Remains)>>) -> Option<(Cut, Remains)> {
    receive.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
