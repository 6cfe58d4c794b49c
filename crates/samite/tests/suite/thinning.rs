//! Old checkpoints are thinned out, and what needs one keeps it.

use crate::place::Place;
use crate::support::{assert_verifies, attached, begin_restore, files_only, noise, principal, run, take};
use samite::payload::SettledBy;
use samite::workspace::{CheckpointOptions, ThinningPlan};
use samite::{Backends, Client, ForkOptions, NewSession, Resolution, Settled, Store, Writer, WriterOptions};
use samite_host::{Clock as _, SystemClock, TestClock};
use samite_model::cadence::Cause;
use samite_model::thinning::Rule;
use samite_model::{BlockId, BranchId, ErrorKind, Position, SessionId};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const MINUTE: i64 = 60_000_000_000;
pub(crate) const DAY: i64 = 24 * 60 * MINUTE;

/// A session that works in a directory, on a clock that is set.
pub(crate) struct Bench {
    pub(crate) place: Place,
    pub(crate) store: Store,
    pub(crate) client: Client,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) session: SessionId,
    pub(crate) work: PathBuf,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let place = Place::new();
        // A day's beginning, so that hours and days are those of the table.
        let clock = Arc::new(TestClock::new(SystemClock.now() / DAY * DAY));
        let store = Store::new(Backends { clock: clock.clone(), ..place.backends_in_memory() });
        let client = store.client(principal("ada")).await.unwrap();
        let work = place.directory("work");
        let session = attached(&client, &work).await;
        Self { place, store, client, clock, session, work }
    }

    pub(crate) async fn main(&self) -> BranchId {
        self.client.current_branch(self.session).await.unwrap()
    }

    pub(crate) fn pass(&self, time: i64) {
        self.clock.set(self.clock.now() + time);
    }

    /// A checkpoint with a file of its own, which no other has.
    pub(crate) async fn take(&self, seed: u64) -> u64 {
        fs::write(self.work.join("file"), noise(seed, 100_000)).unwrap();
        take(&self.client, self.session).await.position.seq
    }

    /// Checkpoints at ten o'clock, eleven, and half past eleven; then it is noon of the next day.
    async fn a_morning(&self) -> [u64; 3] {
        self.pass(600 * MINUTE);
        let ten = self.take(1).await;
        self.pass(60 * MINUTE);
        let eleven = self.take(2).await;
        self.pass(30 * MINUTE);
        let later = self.take(3).await;
        self.pass(DAY + 30 * MINUTE);
        [ten, eleven, later]
    }

    pub(crate) async fn plan(&self) -> ThinningPlan {
        self.client.plan_thinning(self.session, None, &Rule::default()).await.unwrap()
    }

    /// The seqs that would go of a branch.
    pub(crate) async fn going(&self, branch: BranchId) -> Vec<u64> {
        let plan = self.plan().await;
        let of = plan.branches.iter().find(|one| one.branch == branch).unwrap();
        of.thinned.iter().map(|tree| tree.position.seq).collect()
    }

    pub(crate) async fn thin(&self) -> ThinningPlan {
        let rule = Rule::default();
        let plan = self.client.plan_thinning(self.session, None, &rule).await.unwrap();
        self.client.thin(self.session, &rule, &plan).await.unwrap()
    }

    /// The file as it was at a checkpoint, or the error's code.
    pub(crate) async fn file(&self, branch: BranchId, seq: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let at = Position { journal: branch, seq };
        match self.client.cat(at, "file", &mut bytes).await {
            Ok(_) => Ok(bytes),
            Err(error) => Err(error.code().to_owned()),
        }
    }

    async fn take_as(&self, writer: &Writer, seed: u64) -> u64 {
        fs::write(self.work.join("file"), noise(seed, 100_000)).unwrap();
        writer.checkpoint(files_only()).await.unwrap().position.seq
    }

    async fn root(&self, branch: BranchId, seq: u64) -> BlockId {
        self.client.tree_at(Position { journal: branch, seq }).await.unwrap().unwrap().tree.root
    }

    async fn writer(&self) -> Writer {
        self.client.writer(self.session, None, WriterOptions::default()).await.unwrap()
    }
}

#[test]
fn what_was_shown_is_thinned_out_and_no_more() {
    run(async {
        let bench = Bench::new().await;
        let main = bench.main().await;
        let [ten, eleven, _] = bench.a_morning().await;
        let shown = bench.plan().await;
        assert_eq!(bench.going(main).await, [ten, eleven]);
        // While somebody thinks about it, what is older than a day becomes more.
        for seed in 4..7 {
            bench.pass(5 * MINUTE);
            bench.take(seed).await;
        }
        bench.pass(2 * DAY);
        assert!(bench.going(main).await.len() > 2);
        let gone = bench.client.thin(bench.session, &Rule::default(), &shown).await.unwrap();
        let seqs: Vec<u64> = gone.branches[0].thinned.iter().map(|tree| tree.position.seq).collect();
        assert_eq!(seqs, [ten, eleven]);
        assert_eq!(bench.client.thinned(bench.session).await.unwrap().positions.len(), 2);
    });
}

#[test]
fn what_is_thinned_out_goes_with_the_next_collection_and_the_rest_stays() {
    run(async {
        let bench = Bench::new().await;
        let main = bench.main().await;
        let [ten, eleven, later] = bench.a_morning().await;
        // At noon of the next day, twice within a minute.
        let noon = bench.take(4).await;
        bench.pass(MINUTE);
        let last = bench.take(5).await;
        assert_eq!([ten, eleven, later, noon, last], [1, 2, 3, 4, 5]);
        // Yesterday is longer ago than a day: of it the last is kept.
        let plan = bench.plan().await;
        assert_eq!(bench.going(main).await, [ten, eleven]);
        assert_eq!((plan.count(), plan.bytes() / 100_000), (2, 2));
        assert_eq!((plan.branches[0].checkpoints, plan.branches[0].needed), (5, 1));
        // The plan touched nothing.
        assert_eq!(bench.client.plan_collection().await.unwrap().bytes, 0);
        assert_eq!(bench.thin().await.bytes(), plan.bytes());
        assert_verifies(&bench.store);
        // Given up and not yet taken: it can still be had.
        assert_eq!(bench.file(main, eleven).await.unwrap(), noise(2, 100_000));
        assert_eq!(bench.plan().await.count(), 0);
        let collection = bench.client.plan_collection().await.unwrap();
        let named: Vec<_> = collection.branches.iter().map(|one| (one.branch, one.thinned, one.trees)).collect();
        assert_eq!((named, collection.bytes), (vec![(main, true, 2)], plan.bytes()));
        assert_eq!(bench.client.collect().await.unwrap().bytes, plan.bytes());
        assert_verifies(&bench.store);
        for (seq, seed) in [(later, 3), (noon, 4), (last, 5)] {
            assert_eq!(bench.file(main, seq).await.unwrap(), noise(seed, 100_000));
        }
        assert_eq!(bench.file(main, ten).await, Err("tree_collected".to_owned()));
        let error = bench.client.checkpoint_at(Position { journal: main, seq: eleven }).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "tree_collected"));
        let (session, branch) = (bench.session.short(), main.short());
        assert_eq!(error.message(), format!("the checkpoint at seq 2 of branch {branch} was thinned out"));
        assert_eq!(error.hints(), [format!("the nearest that is left: {session}:{branch}@3")]);
        // What stands in the log of it stays, and says what became of it.
        let records = bench.client.checkpoints(bench.session, None).await.unwrap();
        let told: Vec<_> = records.iter().map(|one| (one.thinned, one.there)).collect();
        assert_eq!(told, [(true, false), (true, false), (false, true), (false, true), (false, true)]);
        let costs = bench.client.session_checkpoints(bench.session).await.unwrap();
        assert_eq!((costs.count(), costs.thinned, costs.held / 100_000), (3, 2, 3));
        // Going back still works, and so does the next checkpoint.
        bench.take(6).await;
        assert_verifies(&bench.store);
    });
}

#[test]
fn a_checkpoint_that_something_needs_is_not_thinned_out() {
    run(async {
        let bench = Bench::new().await;
        let main = bench.main().await;
        let plain = bench.take(1).await;
        fs::write(bench.work.join("file"), noise(2, 100_000)).unwrap();
        let writer = bench.writer().await;
        let label = |label: &str, cause| CheckpointOptions { label: Some(label.to_owned()), cause, ..files_only() };
        let meant = writer.checkpoint(label("tests pass", Cause::Asked)).await.unwrap().position.seq;
        fs::write(bench.work.join("file"), noise(3, 100_000)).unwrap();
        let automatic = writer.checkpoint(label("after step k", Cause::StepEnd)).await.unwrap().position.seq;
        fs::write(bench.work.join("file"), noise(4, 100_000)).unwrap();
        let safety = writer.checkpoint(label("before a restore", Cause::Safety)).await.unwrap().position.seq;
        writer.release().await.unwrap();
        let forked = bench.take(5).await;
        let fork = bench.client.fork(bench.session, ForkOptions::default()).await.unwrap().branch;
        // A step that would be put back to a tree, and a restore that is between two.
        let open = bench.take(6).await;
        let (target, base) = (bench.root(main, plain).await, bench.root(main, open).await);
        let writer = bench.writer().await;
        let step = begin_restore(&writer, target, base).await;
        let last = bench.take_as(&writer, 7).await;
        bench.pass(10 * DAY);
        assert_eq!(bench.going(main).await, [automatic]);
        writer.release().await.unwrap();
        let writer = bench.writer().await;
        let resolution = Resolution { what: Settled::Abandoned, by: SettledBy::Person, evidence: None, note: None };
        writer.resolve(step.id, &resolution).await.unwrap();
        writer.release().await.unwrap();
        assert_eq!(bench.going(main).await, [plain, automatic, open]);
        // A fork that is gone needs nothing any more.
        bench.client.delete_branch(bench.session, fork).await.unwrap();
        assert_eq!(bench.going(main).await, [plain, automatic, forked, open]);
        bench.thin().await;
        bench.client.collect().await.unwrap();
        for (seq, seed) in [(meant, 2), (safety, 4), (last, 7)] {
            assert_eq!(bench.file(main, seq).await.unwrap(), noise(seed, 100_000), "{seq}");
        }
        assert_verifies(&bench.store);
    });
}

#[test]
fn who_forks_where_something_was_thinned_out_keeps_it_from_being_collected() {
    run(async {
        let bench = Bench::new().await;
        let main = bench.main().await;
        let first = bench.take(1).await;
        bench.take(2).await;
        bench.pass(3 * DAY);
        assert_eq!(bench.thin().await.count(), 1);
        let options = ForkOptions { seq: Some(first), ..ForkOptions::default() };
        let fork = bench.client.fork(bench.session, options).await.unwrap().branch;
        assert_eq!(bench.client.plan_collection().await.unwrap().bytes, 0);
        bench.client.collect().await.unwrap();
        let second = bench.place.path("second");
        bench.client.materialise(bench.session, fork, &second).await.unwrap();
        assert_eq!(fs::read(second.join("file")).unwrap(), noise(1, 100_000));
        // It goes with the fork.
        bench.client.delete_branch(bench.session, fork).await.unwrap();
        assert!(bench.client.collect().await.unwrap().bytes > 100_000);
        assert_eq!(bench.file(main, first).await, Err("tree_collected".to_owned()));
        assert_verifies(&bench.store);
    });
}

#[test]
fn a_tree_that_stands_in_two_places_goes_with_the_last_of_them_and_bytes_are_what_a_collection_takes() {
    run(async {
        let bench = Bench::new().await;
        let main = bench.main().await;
        let first = bench.take(1).await;
        let second = bench.take(2).await;
        // Nothing changed: the same tree once more, as the newest.
        let last = take(&bench.client, bench.session).await;
        assert!(last.unchanged);
        bench.pass(3 * DAY);
        let plan = bench.plan().await;
        assert_eq!((plan.count(), plan.bytes() / 100_000), (2, 1));
        bench.thin().await;
        assert_eq!(bench.client.collect().await.unwrap().bytes, plan.bytes());
        assert_eq!(bench.file(main, first).await, Err("tree_collected".to_owned()));
        assert_eq!(bench.file(main, second).await.unwrap(), noise(2, 100_000));
        assert_eq!(bench.file(main, last.position.seq).await.unwrap(), noise(2, 100_000));
        assert_verifies(&bench.store);
        // Another branch of another session is none of it.
        let other = bench.client.create_session(NewSession::default()).await.unwrap().id;
        let unknown = bench.client.plan_thinning(other, Some(main), &Rule::default()).await.unwrap_err();
        assert_eq!(unknown.code(), "no_branch");
        assert_eq!(bench.client.plan_thinning(other, None, &Rule::default()).await.unwrap().count(), 0);
    });
}
