//! Forks, rewinds and merges beside a restore that was cut off half-way, cut off themselves.

use crate::cell::{Call, Counts, Point, Scenario, Victim};
use crate::hold::{Cut, cut_off};
use crate::merge::Merging;
use crate::place::{Place, number, text};
use crate::recovery::recover;
use crate::restore::{Kind, Scene, copied, finish, same};
use crate::tree::listing;
use std::collections::BTreeMap;
use std::path::Path;

/// What is done while a directory is half restored, or as soon as it is not any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// A fork into another directory: the half one has nothing to do with it.
    Fork,
    /// A rewind, which waits for the restore's end.
    Rewind,
    /// A merge into the branch whose directory it is, which waits as well.
    MergeInto,
    /// A merge of the branch whose directory it is: what was recorded of it is merged, and the half one left alone.
    MergeFrom,
}

impl Half {
    pub(crate) const ALL: [Self; 4] = [Self::Fork, Self::Rewind, Self::MergeInto, Self::MergeFrom];
}

impl Scenario for Half {
    fn name(&self) -> String {
        match self {
            Self::Fork => "fork beside half a restore",
            Self::Rewind => "rewind after half a restore",
            Self::MergeInto => "merge into half a restore",
            Self::MergeFrom => "merge from half a restore",
        }
        .to_owned()
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        let scene = Scene::new(place, Kind::Restore);
        let mut asks = 0;
        match self {
            Self::Fork => fork(place, cut, &scene, &mut asks),
            Self::Rewind => rewind(place, cut, &scene, &mut asks),
            Self::MergeInto => merge_into(place, cut, &scene, &mut asks),
            Self::MergeFrom => merge_from(place, cut, &scene, &mut asks),
        }
        Counts {
            kills: cut.kills.get(),
            asks,
            lost: place.lost(&scene.session, &scene.acknowledged),
            ..Counts::default()
        }
    }
}

/// Cuts a restore off half-way; what is in the directory then.
fn halve(place: &Place, to: &str, directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let before = listing(directory);
    let half = Point::Named("restore.installing".to_owned(), 3);
    let (killed, _) = cut_off(place, place.command(&["workspace", "restore", to]), &half, Victim::Samite);
    let halfway = listing(directory);
    assert!(killed && halfway != before, "nothing was restored yet");
    halfway
}

/// Asserts that something is refused until the restore is finished, and touches nothing.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], directory: &Path, halfway: &BTreeMap<String, Vec<u8>>) {
    let did = place.run(arguments);
    assert_eq!((did.status, did.code().as_str()), (4, "step_in_doubt"), "{did:?}");
    same(&listing(directory), halfway, "what is refused touches nothing");
}

fn fork(place: &Place, cut: &Cut, scene: &Scene, asks: &mut usize) {
    let (work, to) = (place.path().join("work"), scene.to());
    let halfway = halve(place, &to, &work);
    let arguments = ["fork", &to, "--into", "other"];
    cut.run(place, &arguments);
    same(&copied(place, &arguments), &scene.before, "in a fork");
    same(&listing(&work), &halfway, "beside a fork");
    recover(place, &scene.session, asks, || true);
    same(&listing(&work), &scene.target(), "recovered");
}

fn rewind(place: &Place, cut: &Cut, scene: &Scene, asks: &mut usize) {
    let work = place.path().join("work");
    // What was there before the restore is its safety snapshot, and the second checkpoint stands right after the words.
    let second = format!("{}@{}", scene.session, scene.at + 2);
    let halfway = halve(place, &scene.to(), &work);
    refused(place, &["rewind", &second], &work, &halfway);
    recover(place, &scene.session, asks, || true);
    same(&listing(&work), &scene.target(), "recovered");
    cut.run(place, &["rewind", &second]);
    finish(place, scene, &["rewind", &second], asks);
    same(&listing(&work), &scene.now, "in the end");
}

/// A fork of the session in a directory of its own, with a file that is checkpointed there.
fn beside(place: &Place, scene: &Scene) -> String {
    let fork = text(&place.json(&["fork", &scene.session, "--into", "other"]), "/id");
    let fork = format!("{}:{fork}", scene.session);
    place.write("other/theirs.txt", b"theirs\n");
    place.json(&["checkpoint", &fork, "--no-environment"]);
    fork
}

fn merge_into(place: &Place, cut: &Cut, scene: &Scene, asks: &mut usize) {
    let work = place.path().join("work");
    let fork = beside(place, scene);
    let merge = ["merge", fork.as_str()];
    let halfway = halve(place, &scene.to(), &work);
    refused(place, &merge, &work, &halfway);
    recover(place, &scene.session, asks, || true);
    cut.run(place, &merge);
    Merging::Clean.end(place, &scene.session, &merge, &[], &[], asks);
    let mut merged = scene.target();
    merged.insert("theirs.txt".to_owned(), b"theirs\n".to_vec());
    same(&listing(&work), &merged, "merged");
    assert_eq!(merges(place, scene), 1);
}

fn merge_from(place: &Place, cut: &Cut, scene: &Scene, asks: &mut usize) {
    let [work, other] = ["work", "other"].map(|name| place.path().join(name));
    let fork = beside(place, scene);
    let merge = ["merge", fork.as_str()];
    let halfway = halve(place, &format!("{fork}@{}", scene.at), &other);
    cut.run(place, &merge);
    Merging::Clean.end(place, &scene.session, &merge, &[], &[], asks);
    let mut merged = scene.now.clone();
    merged.insert("theirs.txt".to_owned(), b"theirs\n".to_vec());
    same(&listing(&work), &merged, "merged");
    assert_eq!(merges(place, scene), 1);
    same(&listing(&other), &halfway, "a merge leaves the directory of what it merges alone");
    recover(place, &fork, asks, || true);
    same(&listing(&other), &scene.before, "recovered");
}

/// How often something was merged into the first branch.
fn merges(place: &Place, scene: &Scene) -> usize {
    let tree = place.json(&["session", "tree", &scene.session]);
    assert!(number(&tree["branches"][0], "/head") > 0);
    tree["branches"][0]["merged"].as_array().unwrap().len()
}
