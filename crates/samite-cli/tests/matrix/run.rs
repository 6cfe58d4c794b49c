//! Runs the matrix: traces each scenario once, lays out the cells, runs them side by side, and reports.

use crate::append::Append;
use crate::artifact::Artifact;
use crate::cadence::OnCadence;
use crate::cell::{Call, Cell, Counts, Point, Scenario, Victim};
use crate::close::Close;
use crate::decided;
use crate::gc::Collect;
use crate::half::Half;
use crate::hold::{Cut, MISSED, has_points};
use crate::hooks::Hook;
use crate::leaving::Leaving;
use crate::merge::Merging;
use crate::once::Once;
use crate::outside::{Declared, On, World};
use crate::place::{Place, WriterIs};
use crate::rebuild::Rebuild;
use crate::report::Report;
use crate::restore::{Kind, OnTrees};
use crate::sample::{pairwise, shuffled};
use crate::script::Script;
use crate::step::Step;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// How many cells run side by side: more than cores, since they wait a lot.
const SIDE_BY_SIDE: usize = 6;

/// How often a cell is run at most. A point that a command passes several times may be passed less often than when it was
/// traced: how many commits it takes depends on how fast the machine is, such as whether a pin is renewed.
const TRIES: usize = 3;

/// What continuous integration must see.
const FEWEST_KILLS: usize = 200;

/// Points that no scenario passes: keys are destroyed over texts that are planted everywhere (`tests/suite/canaries`), where
/// namespaces are large enough for an index to be kept too, the model of one is changed in `tests/suite/changing_model.rs`,
/// refusals are taken in a test of their own (`tests/suite/policies`), documents come in in another (`tests/suite/ingesting`),
/// logs that are long enough to be pruned are the audit crate's, and transcripts are written for real agents, whose tests kill
/// samite there.
const ELSEWHERE: [&str; 25] = [
    "audit.prune.anchored",
    "audit.prune.archived",
    "audit.prune.recorded",
    "audit.prune.removed",
    "erase.keys_destroyed",
    "erase.others",
    "erase.said_again",
    "erase.replayed",
    "keys.epoch_destroyed",
    "keys.master.before_destroy",
    "files.new.named",
    "files.new.written",
    "memory.before_index",
    "memory.before_vectors",
    "memory.index_kept",
    "memory.ingest.committed",
    "memory.model_begun",
    "memory.model_changed",
    "memory.model_made",
    "memory.vectors_kept",
    "refusal.taken",
    "snapshot.separate",
    "transcript.before_write",
    "transcript.part_kept",
    "transcript.written",
];

fn scenarios() -> Vec<Arc<dyn Scenario>> {
    let world = |on, effect| World { on, effect };
    let mut all: Vec<Arc<dyn Scenario>> = Vec::new();
    for writer in [WriterIs::Command, WriterIs::Named, WriterIs::Living] {
        all.extend(World::ALL.map(|world| Arc::new(Step(world, writer)) as Arc<dyn Scenario>));
    }
    all.extend(Script::ALL.map(|script| Arc::new(script) as Arc<dyn Scenario>));
    let appends = [Append::Short, Append::Large, Append::Checkpointing, Append::Ten, Append::FirstUse];
    all.extend(appends.map(|append| Arc::new(append) as Arc<dyn Scenario>));
    let kinds = [Kind::Checkpoint, Kind::Restore, Kind::RecoverRestore, Kind::Rewind, Kind::Fork];
    all.extend(kinds.map(|kind| Arc::new(OnTrees(kind)) as Arc<dyn Scenario>));
    all.extend(Half::ALL.map(|half| Arc::new(half) as Arc<dyn Scenario>));
    let merges = [Merging::Clean, Merging::LayOut, Merging::Undecided, Merging::Continue, Merging::Abort];
    all.extend(merges.map(|merge| Arc::new(merge) as Arc<dyn Scenario>));
    all.extend([false, true].map(|after_snapshot| Arc::new(Collect { after_snapshot }) as Arc<dyn Scenario>));
    all.extend(OnCadence::ALL.map(|on| Arc::new(on) as Arc<dyn Scenario>));
    all.push(Arc::new(Rebuild));
    all.extend(Hook::ALL.map(|hook| Arc::new(hook) as Arc<dyn Scenario>));
    all.extend(Artifact::ALL.map(|artifact| Arc::new(artifact) as Arc<dyn Scenario>));
    all.push(Arc::new(Close));
    let onces = [
        Once::Recover(world(On::Commit, Declared::Observable)),
        Once::Recover(world(On::Line, Declared::Contained)),
        Once::RunAgain(world(On::Line, Declared::Contained)),
        Once::RunAgain(world(On::Mcp, Declared::Keyed)),
        Once::RunAgain(world(On::Http, Declared::Keyed)),
        Once::RunAgain(world(On::Commit, Declared::Observable)),
        Once::Resolve,
        Once::Chain,
        Once::Attach,
        Once::Delete,
        Once::Backup,
    ];
    all.extend(onces.map(|once| Arc::new(once) as Arc<dyn Scenario>));
    all.extend(decided::ALL.iter().map(|decided| Arc::new(decided) as Arc<dyn Scenario>));
    all.extend(Leaving::ALL.map(|leaving| Arc::new(leaving) as Arc<dyn Scenario>));
    all
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: std::cell::Cell<String> = const { std::cell::Cell::new(String::new()) };
}

/// Runs something that fails by panic.
fn guarded<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        format!("{} ({})", text.unwrap_or_default(), PLACE.take())
    })
}

/// Does something for each item, several side by side; the answers are in the items' order.
fn side_by_side<I: Sync, T: Send>(items: &[I], act: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some((place, item)) = {
                    let place = next.fetch_add(1, Ordering::SeqCst);
                    items.get(place).map(|item| (place, item))
                } {
                    let answer = act(item);
                    answers.lock().unwrap().push((place, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap();
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The points that a scenario passes when nobody kills it, in their order.
fn trace(scenario: &Arc<dyn Scenario>) -> Vec<String> {
    let place = Place::new();
    let cut = Cut::new(None);
    scenario.run(&place, &cut, Call::Same);
    place.verify();
    cut.passed.take()
}

/// The shorter of two traces of a scenario: what one of them has more was passed only because the machine was slow just then.
fn shorter(one: Vec<String>, other: Vec<String>) -> Vec<String> {
    if other.len() < one.len() { other } else { one }
}

/// Every cell of a scenario.
fn cells(scenario: &Arc<dyn Scenario>, passed: &[String]) -> Vec<Cell> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    let mut points: Vec<(Point, Vec<Victim>)> = Vec::new();
    let mut is_supervised = false;
    // Before the last of these, a supervisor was only made ready and let go again, because a doubt had to be settled.
    let ready = passed.iter().rposition(|name| name == "step.before_begin");
    for (index, name) in passed.iter().enumerate() {
        let time = times.entry(name).or_default();
        *time += 1;
        // From here the supervisor lives; once the command may have ended, the gates are where it is killed.
        is_supervised |= Some(index) == ready;
        is_supervised &= name != "step.after_go";
        let mut victims = vec![Victim::Samite, Victim::Group];
        if is_supervised && scenario.is_supervised() {
            victims.extend([Victim::Supervisor, Victim::Both]);
        }
        points.push((Point::Named(name.clone(), *time), victims));
    }
    let all = vec![Victim::Samite, Victim::Group, Victim::Supervisor, Victim::Both];
    points.extend(scenario.gates().into_iter().map(|gate| (Point::Gate(gate), all.clone())));
    let mut cells = Vec::new();
    for (point, victims) in points {
        for victim in victims {
            for call in scenario.calls() {
                cells.push(Cell { scenario: Arc::clone(scenario), point: point.clone(), victim, call });
            }
        }
    }
    cells
}

/// Runs a cell; again when its command did its work without coming to the point.
fn run(cell: &Cell) -> Result<Counts, String> {
    let once = || {
        guarded(|| {
            let place = Place::new();
            let cut = Cut::new(Some((cell.point.clone(), cell.victim)));
            let counts = cell.scenario.run(&place, &cut, cell.call);
            place.verify();
            counts
        })
    };
    let is_missed = |result: &Result<Counts, String>| result.as_ref().is_err_and(|why| why.starts_with(MISSED));
    let mut result = once();
    for _ in 1..TRIES {
        if !is_missed(&result) {
            break;
        }
        result = once();
    }
    result
}

/// The names in the code of all crates that samite is made of.
fn named_points(crates: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut directories = vec![crates.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "tests") {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let calls = text.split("kill_point(\"").skip(1);
                names.extend(calls.filter_map(|call| call.split_once('"').map(|(name, _)| name.to_owned())));
            }
        }
    }
    names
}

/// Runs the whole matrix.
pub(crate) fn all() -> ExitCode {
    let began = Instant::now();
    assert!(has_points(), "samite was built without the feature kill-points");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // What fails is told in the table; a panic of each cell would only be noise.
    std::panic::set_hook(Box::new(|panic| PLACE.set(panic.location().map(ToString::to_string).unwrap_or_default())));
    let only = variable("SAMITE_MATRIX_ONLY");
    let scenarios = scenarios();
    let run_all = || side_by_side(&scenarios, |scenario| guarded(|| trace(scenario)));
    let traced = run_all().into_iter().zip(run_all()).map(|(one, other)| Ok::<_, String>(shorter(one?, other?)));
    let mut report = Report::default();
    let mut product = Vec::new();
    let mut passed: BTreeSet<String> = BTreeSet::new();
    for (scenario, traced) in scenarios.iter().zip(traced) {
        match traced {
            Ok(traced) => {
                product.extend(cells(scenario, &traced));
                passed.extend(traced);
            }
            Err(why) => report.faults.push(format!("{} without a kill: {why}", scenario.name())),
        }
    }
    let whole = product.len();
    let seed = variable("SAMITE_MATRIX_SEED").parse().unwrap_or(20_261);
    let mut chosen = match variable("SAMITE_MATRIX").as_str() {
        "full" => product,
        many => match many.parse() {
            Ok(many) => shuffled(product, seed).into_iter().take(many).collect(),
            Err(_) => pairwise(product, seed),
        },
    };
    chosen.retain(|cell| cell.name().contains(&only));
    let times = variable("SAMITE_MATRIX_TIMES").parse().unwrap_or(1);
    let chosen: Vec<Cell> = std::iter::repeat_n(chosen, times).flatten().collect();
    for (cell, result) in chosen.iter().zip(side_by_side(&chosen, run)) {
        report.add(cell, result);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in named_points(root) {
        if passed.contains(&name) == ELSEWHERE.contains(&name.as_str()) {
            report.faults.push(format!("the point {name}: passed here, or said to be killed elsewhere, but not both"));
        }
    }
    let kills = report.kills();
    if only.is_empty() && kills < FEWEST_KILLS {
        report.faults.push(format!("only {kills} kills, and {FEWEST_KILLS} are needed"));
    }
    let mut table = report.table();
    table.push_str(&format!(
        "{} of {whole} cells, {} points, seed {seed}, {} s\n",
        chosen.len(),
        passed.len(),
        began.elapsed().as_secs()
    ));
    for fault in &report.faults {
        table.push_str(&format!("FAULT {fault}\n"));
    }
    println!("{table}");
    let _ = fs::write(root.parent().unwrap().join("target/kill-matrix.txt"), &table);
    ExitCode::from(u8::from(!report.faults.is_empty()))
}
