//! What holds when something fails, shape by shape: covered, bounded or not covered, each with the tests that prove it.
//!
//! A claim without a test is not made: what nothing proves is not covered.

mod artifacts;
mod audit;
mod memory;
mod session;
mod text;
mod workspace;

pub use text::markdown;

use crate::settings::{Cadence, Settings};
use serde::Serialize;

/// A shape of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// Messages, tool calls, steps, results.
    Session,
    /// The sandbox's files.
    Workspace,
    /// Curated records.
    Memory,
    /// Deliverables.
    Artifacts,
    /// Who did what, for whom.
    Audit,
}

impl Store {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Session, Self::Workspace, Self::Memory, Self::Artifacts, Self::Audit];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Workspace => "workspace",
            Self::Memory => "memory",
            Self::Artifacts => "artifacts",
            Self::Audit => "audit",
        }
    }

    /// The store of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|store| store.name() == name)
    }
}

/// How a tree becomes a writable directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Substrate {
    /// A plain directory.
    Dir,
    /// A layer over a tree.
    Overlay,
    /// Files that come when they are opened.
    Lazy,
    /// A git work tree.
    Git,
    /// A directory that a script makes.
    Bootstrap,
}

impl Substrate {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Dir, Self::Overlay, Self::Lazy, Self::Git, Self::Bootstrap];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dir => "dir",
            Self::Overlay => "overlay",
            Self::Lazy => "lazy",
            Self::Git => "git",
            Self::Bootstrap => "bootstrap",
        }
    }

    /// Whether this version has it.
    pub const fn is_there(self) -> bool {
        matches!(self, Self::Dir)
    }
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The process of the harness dies.
    HarnessCrash,
    /// The harness goes on as another replica.
    ReplicaReschedule,
    /// The sandbox is gone, with its directory.
    SandboxLoss,
    /// The machine stops without notice and comes back with its disks.
    SameZoneRestart,
    /// The zone is gone, with its disks.
    ZoneLoss,
    /// A volume cannot be attached.
    VolumeCannotAttach,
    /// The sandbox is torn down before its last sync.
    TeardownBeforeSync,
    /// The machine is taken away with little notice or none.
    Preemption,
    /// The disk of the store is lost.
    DiskLoss,
    /// The master key is lost.
    KeyLoss,
    /// A person deletes the store, a branch or a directory.
    OperatorDeletion,
    /// Another process of the same user reads or writes.
    SameUserProcess,
    /// An effect is not what it was declared to be.
    WronglyDeclaredEffect,
    /// A log has what was intended, and not what was done.
    IntentOnlyLog,
}

impl Failure {
    /// Every one.
    pub const ALL: [Self; 14] = [
        Self::HarnessCrash,
        Self::ReplicaReschedule,
        Self::SandboxLoss,
        Self::SameZoneRestart,
        Self::ZoneLoss,
        Self::VolumeCannotAttach,
        Self::TeardownBeforeSync,
        Self::Preemption,
        Self::DiskLoss,
        Self::KeyLoss,
        Self::OperatorDeletion,
        Self::SameUserProcess,
        Self::WronglyDeclaredEffect,
        Self::IntentOnlyLog,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HarnessCrash => "harness_crash",
            Self::ReplicaReschedule => "replica_reschedule",
            Self::SandboxLoss => "sandbox_loss",
            Self::SameZoneRestart => "same_zone_restart",
            Self::ZoneLoss => "zone_loss",
            Self::VolumeCannotAttach => "volume_cannot_attach",
            Self::TeardownBeforeSync => "teardown_before_sync",
            Self::Preemption => "preemption",
            Self::DiskLoss => "disk_loss",
            Self::KeyLoss => "key_loss",
            Self::OperatorDeletion => "operator_deletion",
            Self::SameUserProcess => "same_user_process",
            Self::WronglyDeclaredEffect => "wrongly_declared_effect",
            Self::IntentOnlyLog => "intent_only_log",
        }
    }

    /// It in words.
    pub fn words(self) -> String {
        self.name().replace('_', " ")
    }
}

/// How far a failure is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// Nothing acknowledged is lost, and nothing is done twice.
    Covered,
    /// At most this is lost.
    Bounded(Bound),
    /// It is not.
    NotCovered,
}

impl Coverage {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::Bounded(_) => "bounded",
            Self::NotCovered => "not_covered",
        }
    }

    /// What is lost at most, in words; none where nothing bounds it, or nothing is lost. A session's settings make it exact.
    pub fn bound(self, settings: Option<&Settings>) -> Option<String> {
        match self {
            Self::Bounded(bound) => Some(bound.words(settings)),
            Self::Covered | Self::NotCovered => None,
        }
    }

    /// Whether it is a claim that tests must prove.
    pub const fn is_claim(self) -> bool {
        matches!(self, Self::Covered | Self::Bounded(_))
    }
}

/// What is lost at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// What changed in the workspace since its last tree.
    SinceLastTree,
    /// What changed among the deliverables since they were published.
    SinceLastPublished,
    /// What was changed of what was logged since a head was exported or cosigned.
    SinceLastPublishedHead,
    /// Whether a step happened that has no result: it is listed, and a person or a probe says.
    ListedDoubt,
}

impl Bound {
    /// It in words: with the settings of a session, exactly.
    pub fn words(self, settings: Option<&Settings>) -> String {
        match (self, settings.map(|settings| settings.cadence)) {
            (Self::ListedDoubt, _) => "whether a step without a result ran: each is listed".to_owned(),
            (Self::SinceLastPublishedHead, _) => {
                "what is changed of the record since a head was last exported or cosigned".to_owned()
            }
            (Self::SinceLastPublished, _) => {
                "what changed among the deliverables since they were published last (the end of a turn, a close, or \
                 `artifact deliver`)"
                    .to_owned()
            }
            (Self::SinceLastTree, None) => {
                "what changed in the directory since the last tree (a session's cadence says how long that is)"
                    .to_owned()
            }
            (Self::SinceLastTree, Some(Cadence::Turn)) => {
                "what changed since the last turn ended, the last contained step, or the last `samite checkpoint`"
                    .to_owned()
            }
            (Self::SinceLastTree, Some(Cadence::Step)) => {
                "what changed since the last step or turn ended, or the last `samite checkpoint`".to_owned()
            }
            (Self::SinceLastTree, Some(Cadence::Adaptive(bounds))) => format!(
                "what changed in the last {} while checkpoints keep to their share of time and bytes",
                seconds(bounds.max_loss)
            ),
        }
    }
}

fn seconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    if rest == 0 { format!("{whole} s") } else { format!("{whole}.{:03} s", rest / 1_000_000) }
}

/// What holds of one shape when one thing fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The shape.
    pub store: Store,
    /// How the shape lies there, where that makes a difference.
    pub substrate: Option<Substrate>,
    /// What fails.
    pub failure: Failure,
    /// How far that is covered.
    pub coverage: Coverage,
    /// Why, in a sentence.
    pub why: &'static str,
    /// What to do about it.
    pub next: &'static str,
    /// The tests that prove it, each as `crate::module::test`; of what is not covered there are none.
    pub tests: &'static [&'static str],
}

/// What claims are about.
struct Of {
    store: Store,
    substrate: Option<Substrate>,
}

impl Of {
    const fn claim(
        &self,
        failure: Failure,
        coverage: Coverage,
        why: &'static str,
        next: &'static str,
        tests: &'static [&'static str],
    ) -> Claim {
        Claim { store: self.store, substrate: self.substrate, failure, coverage, why, next, tests }
    }
}

/// Every claim, in the order of shapes and failures.
pub fn claims() -> Vec<Claim> {
    Store::ALL.into_iter().flat_map(claims_of).collect()
}

/// The claims about one shape, in the order of failures.
pub fn claims_of(store: Store) -> Vec<Claim> {
    match store {
        Store::Session => session::CLAIMS.to_vec(),
        Store::Workspace => workspace::CLAIMS.to_vec(),
        Store::Artifacts => artifacts::CLAIMS.to_vec(),
        Store::Audit => audit::CLAIMS.to_vec(),
        Store::Memory => memory::CLAIMS.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Bounds;
    use std::collections::BTreeSet;

    #[test]
    fn every_shape_says_something_about_every_failure_once() {
        let pairs: Vec<(Store, Failure)> = claims().iter().map(|claim| (claim.store, claim.failure)).collect();
        let right: Vec<(Store, Failure)> =
            Store::ALL.into_iter().flat_map(|store| Failure::ALL.map(|failure| (store, failure))).collect();
        assert_eq!(pairs, right);
    }

    #[test]
    fn what_is_claimed_is_proven_and_what_is_not_names_no_test() {
        for claim in claims() {
            let name = format!("{} {}", claim.store.name(), claim.failure.name());
            assert_eq!(claim.coverage.is_claim(), !claim.tests.is_empty(), "{name}");
            assert!(claim.why.ends_with('.') && claim.next.ends_with('.'), "{name}");
            assert_eq!(claim.substrate.is_some(), claim.store == Store::Workspace, "{name}");
        }
    }

    #[test]
    fn names_are_one_to_one() {
        let names: BTreeSet<&str> = Failure::ALL.iter().map(|failure| failure.name()).collect();
        assert_eq!(names.len(), Failure::ALL.len());
        for store in Store::ALL {
            assert_eq!(Store::from_name(store.name()), Some(store));
        }
        assert_eq!(Substrate::ALL.iter().filter(|one| one.is_there()).count(), 1);
    }

    #[test]
    fn the_bound_of_a_session_is_that_of_its_cadence() {
        let words = |cadence| {
            Coverage::Bounded(Bound::SinceLastTree).bound(Some(&Settings { cadence, ..Settings::default() })).unwrap()
        };
        assert!(words(Cadence::Turn).contains("last turn"));
        assert!(words(Cadence::Step).contains("last step"));
        let bounds = Bounds { max_loss: 90_500_000_000, ..Bounds::default() };
        assert!(words(Cadence::Adaptive(bounds)).contains("last 90.500 s"));
        assert!(Coverage::Bounded(Bound::SinceLastTree).bound(None).unwrap().contains("last tree"));
        assert_eq!(Coverage::Covered.bound(None), None);
    }
}
