//! Checkpoints, restores, rewinds and forks into directories that are cut off.

use crate::cell::{Call, Counts, Point, Scenario, Victim};
use crate::hold::{Cut, cut_off};
use crate::place::{Place, number, text};
use crate::recovery::recover;
use crate::tree::{first, listing, second};
use std::collections::BTreeMap;
use std::fs;

/// What is cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A checkpoint of a changed workspace.
    Checkpoint,
    /// A restore in place.
    Restore,
    /// The recovery of a restore that was cut off half-way.
    RecoverRestore,
    /// A rewind of conversation and files.
    Rewind,
    /// A fork into a directory of its own.
    Fork,
}

/// Something with a workspace that has two checkpoints.
pub(crate) struct OnTrees(pub(crate) Kind);

/// A session whose workspace was checkpointed, changed, and mostly checkpointed again.
pub(crate) struct Scene {
    pub(crate) session: String,
    pub(crate) acknowledged: Vec<(u64, String)>,
    /// The first checkpoint's position, and the workspace then.
    pub(crate) at: u64,
    pub(crate) before: BTreeMap<String, Vec<u8>>,
    /// The workspace now.
    pub(crate) now: BTreeMap<String, Vec<u8>>,
}

impl Scene {
    pub(crate) fn new(place: &Place, kind: Kind) -> Self {
        let session = place.session();
        let mut acknowledged = vec![place.say(&session, "first")];
        let work = place.path().join("work");
        first(place);
        let before = listing(&work);
        place.json(&["workspace", "attach", &session, "work"]);
        let at = number(&place.json(&["checkpoint", &session, "--no-environment"]), "/seq");
        acknowledged.push(place.say(&session, "second"));
        second(place);
        if kind != Kind::Checkpoint {
            place.json(&["checkpoint", &session, "--no-environment"]);
            place.write("work/mine.txt", b"a person made this, and no checkpoint has it\n");
        }
        let now = listing(&work);
        Self { session, acknowledged, at, before, now }
    }

    pub(crate) fn to(&self) -> String {
        format!("{}@{}", self.session, self.at)
    }

    /// The first workspace with what a person made beside it.
    pub(crate) fn target(&self) -> BTreeMap<String, Vec<u8>> {
        let mut target = self.before.clone();
        target.extend(self.now.get("mine.txt").map(|bytes| ("mine.txt".to_owned(), bytes.clone())));
        target
    }
}

/// Asserts that two listings are the same, naming what differs.
#[track_caller]
pub(crate) fn same(found: &BTreeMap<String, Vec<u8>>, right: &BTreeMap<String, Vec<u8>>, when: &str) {
    let differs: Vec<&String> =
        found.keys().chain(right.keys()).filter(|path| found.get(*path) != right.get(*path)).collect();
    assert!(differs.is_empty(), "{when}, these paths are not as they should be: {differs:?}");
}

impl Scenario for OnTrees {
    fn name(&self) -> String {
        match self.0 {
            Kind::Checkpoint => "checkpoint",
            Kind::Restore => "restore",
            Kind::RecoverRestore => "recover a restore",
            Kind::Rewind => "rewind",
            Kind::Fork => "fork into",
        }
        .to_owned()
    }

    fn calls(&self) -> Vec<Call> {
        match self.0 {
            Kind::Restore | Kind::Rewind => vec![Call::Same, Call::RecoverSame],
            _ => vec![Call::Same],
        }
    }

    fn run(&self, place: &Place, cut: &Cut, call: Call) -> Counts {
        let scene = Scene::new(place, self.0);
        let work = place.path().join("work");
        let to = scene.to();
        let arguments: Vec<&str> = match self.0 {
            Kind::Checkpoint => vec!["checkpoint", &scene.session, "--no-environment"],
            Kind::Restore => vec!["workspace", "restore", &to],
            Kind::RecoverRestore => vec!["recover", &scene.session],
            Kind::Rewind => vec!["rewind", &to],
            Kind::Fork => vec!["fork", &to, "--into", "other"],
        };
        let mut asks = 0;
        if self.0 == Kind::RecoverRestore {
            let half = Point::Named("restore.installing".to_owned(), 3);
            cut_off(place, place.command(&["workspace", "restore", &to]), &half, Victim::Samite);
        }
        cut.run(place, &arguments);
        match self.0 {
            Kind::Checkpoint => {
                place.json(&arguments);
                same(&listing(&work), &scene.now, "after a checkpoint");
                let status = place.json(&["workspace", "status", &scene.session]);
                assert_eq!(status["changes"].as_array().unwrap().len(), 0, "{status}");
                let recorded = text(&place.json(&["workspace", "cat", &scene.session, "a.txt"]), "/content");
                assert_eq!(recorded, "two, and longer\n");
            }
            Kind::Restore | Kind::RecoverRestore | Kind::Rewind => {
                if call.recovers_first() || self.0 == Kind::RecoverRestore {
                    recover(place, &scene.session, &mut asks, || true);
                    let found = listing(&work);
                    let half = "after recovery, a restore is either done or not begun";
                    if found.get("a.txt") == scene.now.get("a.txt") && self.0 != Kind::RecoverRestore {
                        same(&found, &scene.now, half);
                    } else {
                        same(&found, &scene.target(), half);
                    }
                }
                if self.0 != Kind::RecoverRestore {
                    finish(place, &scene, &arguments, &mut asks);
                }
                same(&listing(&work), &scene.target(), "in the end");
                let names: Vec<String> = listing(&place.path()).into_keys().collect();
                let litter = |name: &&String| name.contains("samite") && !name.starts_with("store/");
                assert_eq!(names.iter().find(litter), None, "something is left over");
            }
            Kind::Fork => {
                same(&copied(place, &arguments), &scene.before, "in a fork");
                same(&listing(&work), &scene.now, "beside a fork");
            }
        }
        let recorded = text(&place.json(&["workspace", "cat", &to, "deep/gone.txt"]), "/content");
        assert_eq!(recorded, "goes\n", "a checkpoint that was acknowledged");
        let kept: Vec<(u64, String)> = scene
            .acknowledged
            .iter()
            // A rewind leaves what came after behind, on a branch of its own.
            .filter(|(seq, _)| self.0 != Kind::Rewind || *seq <= scene.at)
            .cloned()
            .collect();
        Counts { kills: cut.kills.get(), asks, lost: place.lost(&scene.session, &kept), ..Counts::default() }
    }
}

/// What a fork into `other` has in its directory, once it was called again.
pub(crate) fn copied(place: &Place, arguments: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut arguments = arguments.to_vec();
    if fs::exists(place.path().join("other")).unwrap() && !listing(&place.path().join("other")).is_empty() {
        // Half of a copy is not taken for a workspace: the next one goes elsewhere.
        let elsewhere = arguments.len() - 1;
        arguments[elsewhere] = "another";
    }
    let forked = place.json(&arguments);
    listing(&place.path().join(text(&forked, "/workspace/directory")))
}

/// The same call again; when a cut one stands in its way, that is recovered first, as it says.
pub(crate) fn finish(place: &Place, scene: &Scene, arguments: &[&str], asks: &mut usize) {
    let did = place.run(arguments);
    if did.status == 4 && did.code() == "step_in_doubt" {
        recover(place, &scene.session, asks, || true);
        place.json(arguments);
    } else {
        did.json();
    }
}
