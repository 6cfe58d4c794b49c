//! A cell of the matrix: what is done, where it is cut off, who dies, and what is called afterwards.

use crate::hold::Cut;
use crate::place::Place;
use std::sync::Arc;

/// Where something is cut off.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Point {
    /// At a named point of samite, at the Nth time.
    Named(String, usize),
    /// At a moment of the command that it runs.
    Gate(&'static str),
}

impl Point {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(name, _) => name,
            Self::Gate(name) => name,
        }
    }

    /// Whether the same act passes it at one time and not at another.
    pub(crate) fn may_be_missed(&self) -> bool {
        self.name().starts_with("files.atomic.")
    }
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Victim {
    /// Samite alone.
    Samite,
    /// Its process group: samite and whoever called it.
    Group,
    /// The supervisor of its command alone; samite goes on.
    Supervisor,
    /// Samite, and its supervisor at once.
    Both,
}

/// What is called after the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// The same call.
    Same,
    /// A model's new words for it: another key, another text.
    Reworded,
    /// `recover`, then the same call.
    RecoverSame,
    /// `recover`, then the call in new words.
    RecoverReworded,
}

impl Call {
    pub(crate) const ALL: [Self; 4] = [Self::Same, Self::Reworded, Self::RecoverSame, Self::RecoverReworded];

    pub(crate) fn recovers_first(self) -> bool {
        matches!(self, Self::RecoverSame | Self::RecoverReworded)
    }

    pub(crate) fn is_reworded(self) -> bool {
        matches!(self, Self::Reworded | Self::RecoverReworded)
    }
}

/// What came of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Processes killed at their point.
    pub(crate) kills: usize,
    /// Questions to a person.
    pub(crate) asks: usize,
    /// Effects beyond the one that was wanted.
    pub(crate) doubled: usize,
    /// Effects that never happened although they were reported.
    pub(crate) missing: usize,
    /// Acknowledged entries that are gone.
    pub(crate) lost: usize,
}

/// Something that samite does.
pub(crate) trait Scenario: Send + Sync {
    /// Its name in the table.
    fn name(&self) -> String;

    /// What it is about: in the sample, each of these meets each victim and each call.
    fn subject(&self) -> String {
        self.name()
    }

    /// What it is made of: in the sample, each of these is cut off at each of its points, and meets each subject, victim
    /// and call.
    fn parts(&self) -> Vec<String> {
        vec![self.name()]
    }

    /// Whether a person may be asked: the effect is opaque, or its probe cannot tell.
    fn may_ask(&self) -> bool {
        false
    }

    /// The moments of its command at which it can be cut off.
    fn gates(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Whether it runs a command under a supervisor.
    fn is_supervised(&self) -> bool {
        false
    }

    /// What can be called after the crash.
    fn calls(&self) -> Vec<Call> {
        vec![Call::Same]
    }

    /// Makes what it needs, does it cut off as told, recovers, and counts. Fails by panic.
    fn run(&self, place: &Place, cut: &Cut, call: Call) -> Counts;
}

/// A cell.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) scenario: Arc<dyn Scenario>,
    pub(crate) point: Point,
    pub(crate) victim: Victim,
    pub(crate) call: Call,
}

impl Cell {
    pub(crate) fn name(&self) -> String {
        format!("{} / {:?} / {:?} / {:?}", self.scenario.name(), self.point, self.victim, self.call)
    }
}
