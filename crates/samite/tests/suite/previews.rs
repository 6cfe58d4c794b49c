//! What a collection says that it will take, and what it takes.

use crate::place::Place;
use crate::support::{assert_verifies, attached, event, noise, run, take_of};
use samite::embedded::Embedded;
use samite::{Client, CollectionPlan, ForkOptions, NewEvent, WriterOptions};
use samite_blocks::{FilePackStore, PackStore as _};
use samite_ledger::Ledger as _;
use samite_ledger::verify::What;
use samite_model::{BranchId, PackId, SessionId};
use std::fs;
use std::path::PathBuf;

/// A session whose first branch has a tree, and branches beside it that others work in.
struct Bench {
    place: Place,
    store: Embedded,
    client: Client,
    session: SessionId,
}

const LARGE: usize = 400_000;

impl Bench {
    async fn new() -> Self {
        let place = Place::new();
        let work = place.directory("work");
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        fs::write(work.join("living"), noise(1, LARGE)).unwrap();
        let bench = Self { place, store, client, session };
        bench.checkpoint(None).await;
        bench
    }

    async fn checkpoint(&self, branch: Option<BranchId>) {
        take_of(&self.client, self.session, branch).await;
    }

    /// A fork with files of its own beside those that it inherits, in a workspace of its own.
    async fn side(&self, name: &str, files: &[u64]) -> (BranchId, PathBuf) {
        let branch = self.client.fork(self.session, ForkOptions::default()).await.unwrap().branch;
        let directory = self.place.path(name);
        self.client.materialise(self.session, branch, &directory).await.unwrap();
        for seed in files {
            fs::write(directory.join(seed.to_string()), noise(*seed, LARGE)).unwrap();
        }
        self.checkpoint(Some(branch)).await;
        (branch, directory)
    }

    async fn delete(&self, branch: BranchId) {
        self.client.delete_branch(self.session, branch).await.unwrap();
    }

    async fn expire(&self, branch: BranchId) {
        self.client.set_lifetime(self.session, branch, Some(1)).await.unwrap();
    }

    /// Collects, and holds what is taken against what was said: branch, deleted or not, trees, and how many of the large
    /// files' bytes.
    async fn takes(&self, said: &[(BranchId, bool, usize, u64)]) -> CollectionPlan {
        let plan = self.client.plan_collection().await.unwrap();
        let large = LARGE as u64;
        let named: Vec<_> = plan
            .branches
            .iter()
            .map(|branch| (branch.branch, branch.deleted, branch.trees, branch.bytes / large))
            .collect();
        assert_eq!(named, said);
        let by_branch: u64 = plan.branches.iter().map(|branch| branch.bytes).sum();
        assert_eq!((by_branch, plan.unrecorded), (plan.bytes, 0));
        assert_eq!(self.client.collect().await.unwrap().bytes, plan.bytes);
        let after = self.client.plan_collection().await.unwrap();
        assert_eq!((after.branches.len(), after.bytes), (0, 0));
        let head =
            self.client.head(self.session, self.client.current_branch(self.session).await.unwrap()).await.unwrap();
        let mut bytes = Vec::new();
        self.client.cat(head, "living", &mut bytes).await.unwrap();
        assert!(bytes == noise(1, LARGE));
        assert_verifies(self.store.store());
        plan
    }
}

#[test]
fn of_a_deleted_branch_its_trees_and_large_payloads_are_previewed_and_go() {
    run(async {
        let bench = Bench::new().await;
        let (branch, directory) = bench.side("side", &[2]).await;
        let writer = bench.client.writer(bench.session, Some(branch), WriterOptions::default()).await.unwrap();
        writer.append(NewEvent { body: noise(3, 6 * LARGE), ..event("") }).await.unwrap();
        writer.release().await.unwrap();
        fs::write(directory.join("small"), "text").unwrap();
        bench.checkpoint(Some(branch)).await;
        assert_eq!(bench.client.plan_collection().await.unwrap().bytes, 0);
        bench.delete(branch).await;
        // One file of its own, and a payload as large as six; not what it shares with the branch that lives.
        bench.takes(&[(branch, true, 2, 7)]).await;
    });
}

#[test]
fn what_two_branches_share_is_counted_once_and_what_a_living_one_has_not_at_all() {
    run(async {
        let bench = Bench::new().await;
        let (deleted, _) = bench.side("one", &[2, 3]).await;
        let (over, _) = bench.side("two", &[2, 4]).await;
        let (kept, _) = bench.side("three", &[4]).await;
        bench.delete(deleted).await;
        bench.expire(over).await;
        // Whoever is told first has it.
        bench.takes(&[(over, false, 1, 1), (deleted, true, 1, 1)]).await;
        bench.expire(kept).await;
        bench.takes(&[(kept, false, 1, 1)]).await;
    });
}

#[test]
fn of_a_deleted_branch_what_its_forks_inherit_goes_with_the_last_of_them() {
    run(async {
        let bench = Bench::new().await;
        let (branch, directory) = bench.side("side", &[2]).await;
        let options = ForkOptions { branch: Some(branch), ..ForkOptions::default() };
        let leaf = bench.client.fork(bench.session, options).await.unwrap().branch;
        fs::write(directory.join("3"), noise(3, LARGE)).unwrap();
        bench.checkpoint(Some(branch)).await;
        bench.delete(branch).await;
        bench.takes(&[(branch, true, 1, 1)]).await;
        bench.delete(leaf).await;
        bench.takes(&[(branch, true, 1, 1)]).await;
        // Deleting it once more leaves nothing of it, and that is no damage.
        bench.delete(branch).await;
        assert_verifies(bench.store.store());
    });
}

#[test]
fn a_tree_that_a_retained_entry_names_too_does_not_go_with_another() {
    run(async {
        let bench = Bench::new().await;
        let first = bench.client.current_branch(bench.session).await.unwrap();
        bench.checkpoint(None).await;
        let options = ForkOptions { seq: Some(1), ..ForkOptions::default() };
        let fork = bench.client.fork(bench.session, options).await.unwrap().branch;
        bench.client.make_current(bench.session, fork).await.unwrap();
        bench.expire(first).await;
        bench.takes(&[]).await;
        bench.delete(first).await;
        bench.takes(&[]).await;
    });
}

#[test]
fn what_was_stored_and_never_recorded_is_previewed_and_goes() {
    run(async {
        let bench = Bench::new().await;
        // A pack as a snapshot leaves it that is cut off before its commit, when its pin has lapsed.
        let packs = FilePackStore::open(&bench.store.home().join("packs")).unwrap();
        let mut upload = packs.put(PackId([7; 16])).await.unwrap();
        upload.write(&noise(7, LARGE)).await.unwrap();
        upload.finish().await.unwrap();
        let plan = bench.client.plan_collection().await.unwrap();
        assert_eq!((plan.branches.len(), plan.unrecorded, plan.bytes), (0, LARGE as u64, LARGE as u64));
        let collected = bench.client.collect().await.unwrap();
        assert_eq!((collected.blocks, collected.litter, collected.bytes), (0, 1, LARGE as u64));
        bench.takes(&[]).await;
    });
}

#[test]
fn a_cut_that_no_deletion_recorded_is_told_from_a_deletion() {
    run(async {
        let bench = Bench::new().await;
        let (branch, directory) = bench.side("side", &[]).await;
        fs::write(directory.join("more"), "text").unwrap();
        bench.checkpoint(Some(branch)).await;
        let (other, _) = bench.side("other", &[]).await;
        bench.delete(other).await;
        assert_verifies(bench.store.store());
        let head = bench.client.head(bench.session, branch).await.unwrap().seq;
        // What follows from somebody's hand: the same marks that a deletion leaves, and no word of the session's.
        bench.store.ledger().delete_journal(branch, head - 1).await.unwrap();
        let found = bench.store.store().verify(false, None).await.unwrap().findings;
        let named: Vec<_> = found.iter().map(|found| (found.journal, found.first, found.what)).collect();
        assert_eq!(named, [(branch, head, What::Cut)]);
        assert!(found[0].message.contains("cut off by somebody else"), "{}", found[0].message);
    });
}
