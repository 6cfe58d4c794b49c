//! What the checkpoints of a session cost, as an answer.

use crate::printer::words::{bytes, count, duration};
use crate::printer::{Page, Style};
use samite::workspace::{BranchCheckpoints, SessionCheckpoints};
use samite_model::BranchId;
use serde::Serialize;

/// What the checkpoints of a session cost, against its bounds.
#[derive(Debug, Serialize)]
pub(crate) struct CheckpointsShape {
    pub(crate) count: usize,
    thinned: usize,
    pub(crate) held_bytes: u64,
    max_bytes: Option<u64>,
    pub(crate) full: bool,
    pub(crate) worst_loss_ns: u64,
    pub(crate) unsaved_ns: Option<u64>,
    max_loss_ns: Option<u64>,
    loss_kept_ns: Option<u64>,
    duration_ns: u64,
    overhead_permille: Option<u64>,
}

impl CheckpointsShape {
    /// The shape; what is unsaved is that of the current branch.
    pub(crate) fn new(costs: &SessionCheckpoints, current: BranchId) -> Self {
        let current = costs.branches.iter().find(|branch| branch.branch == current);
        Self {
            count: costs.count(),
            thinned: costs.thinned,
            held_bytes: costs.held,
            max_bytes: costs.bounds.map(|bounds| bounds.max_bytes),
            full: costs.is_full(),
            worst_loss_ns: costs.worst_loss(),
            unsaved_ns: current.and_then(|branch| branch.unsaved),
            max_loss_ns: costs.bounds.map(|bounds| bounds.max_loss),
            loss_kept_ns: costs.loss_kept,
            duration_ns: costs.duration(),
            overhead_permille: costs.overhead(),
        }
    }

    /// What they hold, and of how much.
    pub(crate) fn held(&self) -> String {
        match self.max_bytes {
            Some(most) => format!("{} of {}", bytes(self.held_bytes), bytes(most)),
            None => bytes(self.held_bytes),
        }
    }

    /// The worst loss so far, in words; nothing where none was possible.
    pub(crate) fn worst(&self) -> String {
        if self.worst_loss_ns == 0 { String::new() } else { duration(self.worst_loss_ns) }
    }

    /// How long all took, in words.
    pub(crate) fn took(&self) -> String {
        duration(self.duration_ns)
    }

    /// Which part of the time they took, in words; nothing where that cannot be told.
    pub(crate) fn part(&self) -> Option<String> {
        self.overhead_permille.map(|part| format!("{}.{} %", part / 10, part % 10))
    }

    /// For how long work has gone on since the last one; nothing where none has.
    pub(crate) fn unsaved(&self) -> String {
        self.unsaved_ns.map(duration).unwrap_or_default()
    }

    /// The facts, for a person.
    pub(crate) fn facts(&self) -> [(&'static str, String); 3] {
        if self.count == 0 && self.thinned == 0 {
            return [("", String::new()), ("", String::new()), ("", String::new())];
        }
        let thinned = if self.thinned == 0 { String::new() } else { format!(", {} thinned out", self.thinned) };
        let taken =
            format!("{}{thinned}, {}, took {}", count(self.count as u64, "checkpoint"), self.held(), self.took());
        let part = self.part().map(|part| format!(", {part} of the time")).unwrap_or_default();
        let unsaved = self.unsaved_ns.map(|unsaved| format!("; {} since the last one", duration(unsaved)));
        let worst = if self.worst_loss_ns == 0 { "nothing".to_owned() } else { self.worst() };
        [
            ("taken", taken + &part),
            ("at risk", format!("{worst} at worst so far{}", unsaved.unwrap_or_default())),
            (
                "kept to",
                match (self.max_loss_ns, self.loss_kept_ns) {
                    (Some(bound), Some(kept)) if kept > bound => format!(
                        "a loss of {}: a checkpoint takes too long for the overhead to allow {}",
                        duration(kept),
                        duration(bound)
                    ),
                    _ => String::new(),
                },
            ),
        ]
    }

    /// Says when no bytes are left.
    pub(crate) fn show_full(&self, session: &str, page: &mut Page) {
        if self.full {
            let held = self.held();
            page.styled(Style::Care, format!("the trees of session {session} hold {held}: only turns are still kept"));
            page.line(format!("  `samite checkpoint thin {session}` thins old ones out, and `samite gc` takes them"));
        }
    }
}

/// What the checkpoints of one branch cost, beside its other costs.
#[derive(Debug, Default, Serialize)]
pub(crate) struct BranchCheckpointsShape {
    checkpoints: usize,
    worst_loss_ns: u64,
    unsaved_ns: Option<u64>,
}

impl BranchCheckpointsShape {
    /// The shape of a branch's.
    pub(crate) fn new(costs: &BranchCheckpoints) -> Self {
        Self { checkpoints: costs.count, worst_loss_ns: costs.worst_loss, unsaved_ns: costs.unsaved }
    }
}
