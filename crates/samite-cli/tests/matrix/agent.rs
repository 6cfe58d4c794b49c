//! A harness in one process that stands on the library: it appends, or carries out a chain of steps, and notes what
//! was acknowledged. Started again, it goes through the same from the beginning.

use crate::place::{Place, noise};
use data_encoding::HEXLOWER;
use samite::embedded::FileMaster;
use samite::embedded::{Embedded, EmbeddedOptions};
use samite::recover::Site;
use samite::{Begin, Client, Completion, NewEvent, NewStep, StepHandle, Writer, WriterOptions};
use samite_host::{SystemRandomness, kill_point, process};
use samite_model::step::{Effect, Probe};
use samite_model::{EntryKind, Tenant};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// What a harness appends.
#[derive(Clone, Copy)]
pub(crate) struct Entries {
    /// The name of what it does.
    pub(crate) name: &'static str,
    /// How many.
    pub(crate) count: usize,
    /// How many bytes of noise are in each.
    noise: usize,
}

/// A few short ones.
pub(crate) const SHORT: Entries = Entries { name: "append", count: 10, noise: 10 };
/// So much that the database's log, which is moved once it has 8 MiB, is moved.
pub(crate) const LONG: Entries = Entries { name: "append-long", count: 17, noise: 520_000 };

impl Entries {
    /// The words of the Nth.
    pub(crate) fn words(self, number: usize) -> String {
        format!("{number} {}", HEXLOWER.encode(&noise(number as u64, self.noise)))
    }
}

/// How many steps the chain has.
pub(crate) const STEPS: usize = 5;

/// The words of the Nth effect.
pub(crate) fn words(number: usize) -> String {
    format!("this is number {number}.")
}

/// What the harness noted as acknowledged: seq, and number or key.
pub(crate) fn acknowledged(place: &Place) -> Vec<(u64, String)> {
    let noted = place.read("acknowledged");
    let note = |line: &str| line.split_once(' ').map(|(seq, which)| (seq.parse().unwrap(), which.to_owned()));
    noted.lines().filter_map(note).collect()
}

fn add_line(file: &str, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(file);
    file.unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// `append SESSION`, `append-long SESSION` or `chain SESSION`, in the directory of the cell.
pub(crate) fn main(arguments: &[&str]) -> ExitCode {
    let [what, session] = arguments else { return ExitCode::FAILURE };
    let path = |name: &str| PathBuf::from(std::env::var_os(name).unwrap());
    let store = Embedded::open(EmbeddedOptions {
        directory: path("SAMITE_STORE"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(path("SAMITE_MASTER_FILE"), Arc::new(SystemRandomness::new()))),
        create: false,
        read_only: false,
        accept_behind: false,
    })
    .unwrap();
    futures_lite::future::block_on(async {
        let client: Client = store.client().await.unwrap();
        let session = client.find_session(session).await.unwrap();
        let process = Some(process::current().unwrap());
        let options = WriterOptions { id: Some("harness".to_owned()), process, ..WriterOptions::default() };
        let writer = client.writer(session, None, options).await.unwrap();
        let site = Site { base: std::env::current_dir().unwrap(), lives: store.lives().unwrap() };
        match [SHORT, LONG].into_iter().find(|entries| entries.name == *what) {
            Some(entries) => append(&writer, entries).await,
            None => chain(&writer, &site).await,
        }
    });
    ExitCode::SUCCESS
}

async fn append(writer: &Writer, entries: Entries) {
    for number in 0..entries.count {
        let event = NewEvent {
            kind: EntryKind::MESSAGE,
            body: entries.words(number).into_bytes(),
            attributes: None,
            dedupe: Some(format!("entry-{number}")),
            expected_head: None,
        };
        let appended = writer.append(event).await.unwrap();
        add_line("acknowledged", &format!("{} {number}", appended.position.seq));
    }
}

fn step(number: usize, site: &Site) -> NewStep {
    let argv = ["grep", "-qx", &words(number), "effects"].map(str::to_owned).to_vec();
    let probe = Probe::Command { argv, directory: None, before: None };
    let probe = samite::probe::prepare(probe, &samite::probe::Lookout::new(&site.base)).unwrap();
    NewStep {
        effect: Effect::Observable { settle_seconds: None },
        probe: Some(probe),
        ..NewStep::new(format!("step-{number}"), "note", json!({ "words": words(number) }))
    }
}

/// Each step's outcome and the next one's start are one commit.
async fn chain(writer: &Writer, site: &Site) {
    let mut open: Option<(StepHandle, usize)> = None;
    for number in 0..STEPS {
        let new = step(number, site);
        let mut begun = match open.take() {
            Some((done, before)) => {
                let completion = Completion::completed(json!({ "done": before }));
                let begun = writer.complete_and_begin(&done, &completion, &new).await.unwrap();
                add_line("acknowledged", &format!("0 step-{before}"));
                begun
            }
            None => writer.begin(&new).await.unwrap(),
        };
        loop {
            match begun {
                Begin::Run(handle) => {
                    kill_point("harness.before_effect");
                    add_line("effects", &words(number));
                    kill_point("harness.after_effect");
                    open = Some((handle, number));
                    break;
                }
                Begin::Replay(_) => break,
                Begin::InDoubt(doubt) => {
                    let assessment = writer.assess(&doubt, site).await.unwrap();
                    let settlement = writer.settle(&assessment, site).await.unwrap();
                    assert!(settlement.decided, "nobody is there to be asked: {assessment:?}");
                    begun = writer.begin(&new).await.unwrap();
                }
                Begin::Busy(step) => panic!("step {step:?} is busy"),
            }
        }
    }
    if let Some((done, before)) = open {
        writer.complete(&done, json!({ "done": before })).await.unwrap();
        add_line("acknowledged", &format!("0 step-{before}"));
    }
}
