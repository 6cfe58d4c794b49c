//! Artifacts that are cut off while they are published, handed out or collected.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Place, noise, number, text};
use serde_json::Value;
use std::fs;

/// Something that is done with artifacts.
pub(crate) enum Artifact {
    /// A short one, whose blocks go into the ledger.
    Put,
    /// A large one with an input, whose blocks go into a pack.
    PutLarge,
    /// A session's deliverables, several in one commit.
    Deliver,
    /// The bytes into a file.
    Get,
    /// One whose time is over, beside one that is kept.
    Collect,
}

impl Artifact {
    pub(crate) const ALL: [Self; 5] = [Self::Put, Self::PutLarge, Self::Deliver, Self::Get, Self::Collect];
}

impl Scenario for Artifact {
    fn name(&self) -> String {
        match self {
            Self::Put => "artifact put",
            Self::PutLarge => "artifact put large",
            Self::Deliver => "artifact deliver",
            Self::Get => "artifact get",
            Self::Collect => "artifact gc",
        }
        .to_owned()
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        let session = place.session();
        let acknowledged = vec![place.say(&session, "first")];
        place.write("work/in.bin", &noise(1, 300_000));
        place.json(&["workspace", "attach", &session, "work"]);
        let (doubled, missing) = match self {
            Self::Put => put(place, cut, &session, &noise(2, 2_000)),
            Self::PutLarge => put(place, cut, &session, &noise(3, 1_500_000)),
            Self::Deliver => deliver(place, cut, &session),
            Self::Get => get(place, cut, &session),
            Self::Collect => collect(place, cut, &session),
        };
        let lost = place.lost(&session, &acknowledged);
        Counts { kills: cut.kills.get(), doubled, missing, lost, ..Counts::default() }
    }
}

/// Every version that there is.
fn all(place: &Place) -> Vec<Value> {
    place.json(&["artifact", "list", "--all-versions"])["artifacts"].as_array().unwrap().clone()
}

#[track_caller]
fn holds(place: &Place, id: &str, bytes: &[u8]) {
    place.json(&["artifact", "get", id, "check", "--force"]);
    assert!(fs::read(place.path().join("check")).unwrap() == bytes, "artifact {id} holds something else");
}

fn put(place: &Place, cut: &Cut, session: &str, bytes: &[u8]) -> (usize, usize) {
    place.write("work/out.bin", bytes);
    let arguments = ["artifact", "put", session, "work/out.bin", "--type", "chart", "--input", "work/in.bin"];
    cut.run(place, &arguments);
    // Half a publication is none: what is listed is whole.
    for found in all(place) {
        holds(place, &text(&found, "/id"), bytes);
    }
    let first = place.json(&arguments);
    let again = place.json(&arguments);
    assert_eq!((&first["id"], &again["duplicate"]), (&again["id"], &Value::Bool(true)));
    holds(place, &text(&first, "/id"), bytes);
    let lineage = place.json(&["artifact", "lineage", &text(&first, "/id")]);
    assert_eq!(lineage["inputs"].as_array().unwrap().len(), 1);
    place.json(&["artifact", "reproduce", &text(&first, "/id"), "again"]);
    assert!(fs::read(place.path().join("again/work/in.bin")).unwrap() == noise(1, 300_000));
    let on_branch = place.entries(session).iter().filter(|entry| entry["kind"] == "artifact_published").count();
    let recorded = all(place).len();
    assert_eq!(on_branch, recorded, "on the branch and in the owner's artifacts");
    (recorded.saturating_sub(1), usize::from(recorded == 0))
}

fn deliver(place: &Place, cut: &Cut, session: &str) -> (usize, usize) {
    place.json(&["session", "set", session, "--deliver", "dist/**"]);
    for name in 0..5 {
        place.write(&format!("work/dist/{name}"), &noise(10 + name, 90_000));
    }
    cut.run(place, &["artifact", "deliver", session]);
    // All of one commit or nothing.
    let before = all(place).len();
    assert!([0, 5].contains(&before), "{before} of 5");
    place.json(&["artifact", "deliver", session]);
    let again = place.json(&["artifact", "deliver", session]);
    assert_eq!((again["published"].as_array().unwrap().len(), number(&again, "/unchanged")), (0, 5));
    let found = all(place);
    for name in 0..5 {
        let wanted = format!("dist/{name}");
        let of_name = found.iter().find(|found| found["name"] == wanted.as_str()).unwrap();
        holds(place, &text(of_name, "/id"), &noise(10 + name, 90_000));
    }
    (found.len().saturating_sub(5), 5_usize.saturating_sub(found.len()))
}

fn get(place: &Place, cut: &Cut, session: &str) -> (usize, usize) {
    let bytes = noise(4, 600_000);
    place.write("work/out.bin", &bytes);
    let id = text(&place.json(&["artifact", "put", session, "work/out.bin"]), "/id");
    place.write("copy", b"what was there");
    cut.run(place, &["artifact", "get", &id, "copy", "--force"]);
    let now = fs::read(place.path().join("copy")).unwrap();
    assert!(now == bytes || now == b"what was there", "a file is whole, or as it was");
    holds(place, &id, &bytes);
    (0, 0)
}

fn collect(place: &Place, cut: &Cut, session: &str) -> (usize, usize) {
    let bytes = [noise(5, 700_000), noise(6, 700_000)];
    let mut ids = Vec::new();
    for (bytes, of_type) in bytes.iter().zip(["chart", "table"]) {
        place.write(&format!("work/{of_type}"), bytes);
        let path = format!("work/{of_type}");
        ids.push(text(&place.json(&["artifact", "put", session, &path, "--type", of_type]), "/id"));
    }
    place.json(&["artifact", "policy", "chart", "--days", "0"]);
    cut.run(place, &["gc", "--yes"]);
    holds(place, &ids[1], &bytes[1]);
    place.json(&["gc", "--yes"]);
    holds(place, &ids[1], &bytes[1]);
    let gone = place.run(&["artifact", "get", &ids[0]]);
    assert_eq!(gone.code(), "artifact_collected", "{gone:?}");
    assert_eq!(place.json(&["artifact", "show", &ids[0]])["collected"], true);
    let plan = place.json(&["gc", "--dry-run"]);
    assert_eq!(number(&plan, "/plan/bytes"), 0, "something is left: {plan}");
    // What was collected is not taken for stored any more.
    let again = place.json(&["artifact", "put", session, "work/chart", "--type", "chart"]);
    assert_eq!(number(&again, "/version"), 2);
    holds(place, &text(&again, "/id"), &bytes[0]);
    (0, 0)
}
