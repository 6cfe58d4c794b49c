//! What merges, artifacts, receipts and forks need outlives thinning and the collection after it: each is tried for real.

use crate::closing::site;
use crate::support::{assert_verifies, noise, run, take_of};
use crate::thinning::{Bench, DAY, MINUTE};
use samite::artifact::PutArtifact;
use samite::merge::{MergeReport, MergeRequest, MergeState};
use samite::workspace::{CloseOptions, RestoreRequest, ThinningPlan};
use samite::{ForkOptions, WriterOptions};
use samite_model::{ArtifactId, BranchId, Position};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What one session came to have: every checkpoint a minute apart, on one day.
struct Day {
    bench: Bench,
    main: BranchId,
    /// A branch that was merged, in a directory of its own.
    side: BranchId,
    other: PathBuf,
    merge: MergeReport,
    artifact: ArtifactId,
    receipt: Position,
    /// What the receipt's directory held.
    closed: Vec<(String, Vec<u8>)>,
    fork: BranchId,
    /// The checkpoints that something needs, and those that nothing does.
    needed: Needed,
    plain: Vec<u64>,
    plain_of_side: Vec<u64>,
}

/// Where on the first branch which is, and what the file holds there, by its seed.
struct Needed {
    base: u64,
    of_artifact: u64,
    of_receipt: u64,
    of_fork: u64,
    last: u64,
}

fn auto() -> MergeRequest {
    MergeRequest { auto: true, ..MergeRequest::default() }
}

/// The files at the top of a directory.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let all = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> =
        all.map(|path| (path.file_name().unwrap().display().to_string(), fs::read(&path).unwrap())).collect();
    all.sort();
    all
}

impl Day {
    async fn new() -> Self {
        let bench = Bench::new().await;
        let (client, session) = (&bench.client, bench.session);
        let main = bench.main().await;
        let take = async |seed| {
            bench.pass(MINUTE);
            bench.take(seed).await
        };
        let mut plain = vec![take(1).await];
        let base = take(2).await;
        // A branch that works elsewhere, and comes back.
        let side = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let other = bench.place.path("other");
        client.materialise(session, side, &other).await.unwrap();
        let take_side = async |words: &str| {
            bench.pass(MINUTE);
            fs::write(other.join("theirs"), words).unwrap();
            take_of(client, session, Some(side)).await.position.seq
        };
        let mut plain_of_side = vec![take_side("one").await];
        take_side("two").await;
        plain.push(take(3).await);
        fs::write(bench.work.join("ours"), "ours").unwrap();
        let merge = client.merge(session, side, Some(main), WriterOptions::default(), &auto()).await.unwrap();
        assert_eq!(merge.state, MergeState::Merged);
        plain_of_side.push(take_side("three").await);
        take_side("four").await;
        // A file that a step made, and what it was made of.
        fs::write(bench.work.join("in.txt"), "b\na\n").unwrap();
        fs::write(bench.work.join("out.txt"), "a\nb\n").unwrap();
        let of_artifact = take(4).await;
        let argv = ["sh", "-c", "sort in.txt > out.txt"].iter().map(OsString::from).collect();
        let put = PutArtifact {
            inputs: vec![bench.work.join("in.txt")],
            command: Some((argv, bench.work.clone())),
            ..PutArtifact::file(bench.work.join("out.txt"))
        };
        let writer = client.writer(session, Some(main), WriterOptions::default()).await.unwrap();
        let record = writer.put_artifact(&put).await.unwrap().record;
        assert_eq!(record.lineage.checkpoint, Some(Position { journal: main, seq: of_artifact }));
        writer.release().await.unwrap();
        plain.push(take(5).await);
        // A receipt: somebody may have deleted the directory because of it, and worked on in another.
        bench.pass(MINUTE);
        fs::write(bench.work.join("file"), noise(6, 100_000)).unwrap();
        let options = CloseOptions::default();
        let around = site(&bench.place);
        let closing = client.close(session, None, WriterOptions::default(), &options, &around);
        let receipt = closing.await.unwrap().receipt.unwrap();
        let closed = files(&bench.work);
        plain.push(take(7).await);
        let of_fork = take(8).await;
        plain.push(take(9).await);
        let options = ForkOptions { seq: Some(of_fork), keep: true, ..ForkOptions::default() };
        let fork = client.fork(session, options).await.unwrap().branch;
        let last = take(10).await;
        bench.pass(10 * DAY);
        let needed = Needed { base, of_artifact, of_receipt: receipt.closed.tree.seq, of_fork, last };
        let (artifact, receipt) = (record.artifact, receipt.position);
        Self { bench, main, side, other, merge, artifact, receipt, closed, fork, needed, plain, plain_of_side }
    }

    fn at(&self, seq: u64) -> Position {
        Position { journal: self.main, seq }
    }
}

/// What a plan gives up: branch, seqs, bytes.
fn told(plan: &ThinningPlan) -> Vec<(BranchId, Vec<u64>, u64)> {
    let seqs =
        |branch: &samite::workspace::ThinnedBranch| branch.thinned.iter().map(|tree| tree.position.seq).collect();
    plan.branches.iter().map(|branch| (branch.branch, seqs(branch), branch.bytes)).collect()
}

#[test]
fn what_merges_artifacts_receipts_and_forks_need_still_works_after_thinning_and_a_collection() {
    run(async {
        let day = Day::new().await;
        let Day { bench, main, side, needed, .. } = &day;
        let (client, session) = (&bench.client, bench.session);
        assert_eq!(bench.going(*main).await, day.plain);
        assert_eq!(bench.going(*side).await, day.plain_of_side);
        // What is shown is what is done, and what it frees is what a collection takes.
        let plan = bench.plan().await;
        assert_eq!(told(&bench.thin().await), told(&plan));
        assert_eq!(client.plan_collection().await.unwrap().bytes, plan.bytes());
        assert_eq!(client.collect().await.unwrap().bytes, plan.bytes());
        assert!(plan.bytes() > 400_000, "{}", plan.bytes());
        assert_verifies(&bench.store);
        for seq in &day.plain {
            assert_eq!(bench.file(*main, *seq).await, Err("tree_collected".to_owned()), "{seq}");
        }
        let Needed { base, of_artifact, of_receipt, of_fork, last } = *needed;
        for (seq, seed) in [(base, 2), (of_artifact, 4), (of_receipt, 6), (of_fork, 8), (last, 10)] {
            assert!(bench.file(*main, seq).await.unwrap() == noise(seed, 100_000), "{seq}");
        }
        // The merge: its parents can be compared, and what comes next on the other branch is merged on top of it.
        let merged: samite::payload::Merged = {
            let at = day.merge.position.unwrap().seq;
            let options = samite::ReadOptions { from: at, to: Some(at), ..samite::ReadOptions::default() };
            client.read(session, Some(*main), options).await.unwrap().all().await.unwrap()[0].json().unwrap()
        };
        let paths = |changes: Vec<samite_model::tree::Change>| -> Vec<String> {
            changes.iter().map(|change| change.path.to_string()).collect()
        };
        assert_eq!(paths(client.diff(merged.ours, merged.theirs).await.unwrap()), ["file", "ours", "theirs"]);
        assert_eq!(paths(client.diff(day.at(base), merged.theirs).await.unwrap()), ["theirs"]);
        fs::write(day.other.join("more"), "more").unwrap();
        take_of(client, session, Some(*side)).await;
        let again = client.merge(session, *side, Some(*main), WriterOptions::default(), &auto()).await.unwrap();
        assert_eq!((again.state, again.bases), (MergeState::Merged, vec![merged.theirs]));
        assert_eq!(fs::read_to_string(bench.work.join("theirs")).unwrap(), "four");
        assert_eq!(fs::read_to_string(bench.work.join("more")).unwrap(), "more");
        // The artifact: made again from its inputs; and the checkpoint that it names can be gone back to.
        let made = client.reproduce(day.artifact, &bench.place.path("made")).await.unwrap();
        let compared = client.run_again(&made, Duration::from_mins(1)).unwrap();
        assert_eq!((compared.same, compared.status), (true, Some(0)));
        let request = RestoreRequest { force: true, ..RestoreRequest::default() };
        let to = day.at(of_artifact);
        client.restore(session, Some(*main), to, WriterOptions::default(), &request).await.unwrap();
        assert!(fs::read(bench.work.join("file")).unwrap() == noise(4, 100_000));
        // The receipt: the directory that was closed can be made again.
        let options = ForkOptions { seq: Some(day.receipt.seq), keep: true, ..ForkOptions::default() };
        let reopened = client.fork(session, ForkOptions { branch: Some(*main), ..options }).await.unwrap().branch;
        client.materialise(session, reopened, &bench.place.path("reopened")).await.unwrap();
        assert!(files(&bench.place.path("reopened")) == day.closed);
        // The fork: its directory is made of what it goes on from.
        client.materialise(session, day.fork, &bench.place.path("forked")).await.unwrap();
        assert!(fs::read(bench.place.path("forked/file")).unwrap() == noise(8, 100_000));
        assert_verifies(&bench.store);
    });
}

#[test]
fn a_checkpoint_goes_when_what_needed_it_is_gone() {
    run(async {
        let day = Day::new().await;
        let Day { bench, main, needed, .. } = &day;
        let client = &bench.client;
        bench.thin().await;
        client.collect().await.unwrap();
        assert_eq!(bench.going(*main).await, Vec::<u64>::new());
        client.keep_artifact(day.artifact, Some(1)).await.unwrap();
        bench.pass(2 * DAY);
        // Its time is over, and it is still there.
        assert_eq!(bench.going(*main).await, Vec::<u64>::new());
        client.collect().await.unwrap();
        assert_eq!(bench.going(*main).await, [needed.of_artifact]);
        client.delete_branch(bench.session, day.fork).await.unwrap();
        assert_eq!(bench.going(*main).await, [needed.of_artifact, needed.of_fork]);
        // The merge stands in the log of the branch that it was made into, whatever becomes of the other.
        client.delete_branch(bench.session, day.side).await.unwrap();
        assert_eq!(bench.going(*main).await, [needed.base, needed.of_artifact, needed.of_fork]);
        assert_verifies(&bench.store);
    });
}

#[test]
fn a_branch_whose_parent_was_deleted_can_still_be_merged_where_that_began() {
    run(async {
        let bench = Bench::new().await;
        let (client, session) = (&bench.client, bench.session);
        let main = bench.main().await;
        let base = bench.take(1).await;
        bench.pass(MINUTE);
        // From the checkpoint a branch, which works; from that another, which is all that stays of it.
        let between = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let elsewhere = bench.place.path("between");
        client.materialise(session, between, &elsewhere).await.unwrap();
        fs::write(elsewhere.join("between"), "between").unwrap();
        take_of(client, session, Some(between)).await;
        let options = ForkOptions { branch: Some(between), ..ForkOptions::default() };
        let leaf = client.fork(session, options).await.unwrap().branch;
        let there = bench.place.path("leaf");
        client.materialise(session, leaf, &there).await.unwrap();
        fs::write(there.join("leaf"), "leaf").unwrap();
        take_of(client, session, Some(leaf)).await;
        client.delete_branch(session, between).await.unwrap();
        let later = bench.take(2).await;
        bench.pass(MINUTE);
        bench.take(3).await;
        bench.pass(10 * DAY);
        assert_eq!(bench.going(main).await, [later]);
        bench.thin().await;
        client.collect().await.unwrap();
        assert!(bench.file(main, base).await.unwrap() == noise(1, 100_000));
        let merged = client.merge(session, leaf, Some(main), WriterOptions::default(), &auto()).await.unwrap();
        assert_eq!(merged.state, MergeState::Merged, "{:?}", merged.undecided);
        assert_eq!(fs::read_to_string(bench.work.join("between")).unwrap(), "between");
        assert_eq!(fs::read_to_string(bench.work.join("leaf")).unwrap(), "leaf");
        assert!(fs::read(bench.work.join("file")).unwrap() == noise(3, 100_000));
        assert_verifies(&bench.store);
    });
}
