//! A session's branches: where a record belongs, and when a new branch starts.

use super::context::ContextRole;
use super::index::{Index, Key, Node, NodeId, TurnAfter};
use super::plan::LineRange;

/// What a record is to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A prompt, or a model's response; the response's id joins its records.
    Turn(Option<Key>),
    /// Another record of the conversation: results of tools, injected text.
    Reply,
    /// A compaction's boundary or summary: the conversation goes on from it, so that a turn after the record before it
    /// goes back over the compaction.
    Compaction,
    /// Anything else.
    Side,
}

/// Where a record belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) branch: usize,
    /// The branch and line of the fork point, when the record starts the branch.
    pub(super) fork: Option<(usize, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Branch {
    /// The first and last lines in context.
    window: Option<LineRange>,
    /// What the last boundary took out of context, until its summary comes.
    pending: Option<LineRange>,
}

/// The branches of one session.
#[derive(Debug)]
pub(super) struct Tree {
    session: usize,
    branches: Vec<Branch>,
    current: usize,
}

impl Tree {
    pub(super) fn new(session: usize) -> Self {
        Self { session, branches: vec![Branch::default()], current: 0 }
    }

    pub(super) const fn current(&self) -> usize {
        self.current
    }

    /// The first line in context on a branch.
    pub(super) fn window(&self, branch: usize) -> Option<u64> {
        self.branches.get(branch).and_then(|branch| branch.window).map(|window| window.first)
    }

    /// Places a record whose parent, if it has one, is in a line before it.
    pub(super) fn place(&mut self, index: &mut Index, parent: Option<NodeId>, shape: Shape, line: u64) -> Place {
        let on = |branch| Place { branch, fork: None };
        let known = parent.and_then(|id| index.node(id).map(|node| (id, *node)));
        let Some((parent, above)) = known.filter(|(_, node)| node.session == self.session) else {
            return on(self.current);
        };
        let Some(anchor) = index.node(above.anchor).copied() else { return on(above.branch) };
        if shape == Shape::Compaction && anchor.turn.is_none() {
            index.set_turn(above.anchor, TurnAfter { first_line: line, message: None, branch: above.branch });
        }
        let Shape::Turn(message) = shape else { return on(above.branch) };
        let place = self.place_turn(&anchor, parent == above.anchor, &above, message);
        if message.is_none() || anchor.message != message {
            let first_line = anchor.turn.map_or(line, |turn| turn.first_line);
            index.set_turn(above.anchor, TurnAfter { first_line, message, branch: place.branch });
        }
        self.current = place.branch;
        place
    }

    fn place_turn(&mut self, anchor: &Node, direct: bool, above: &Node, message: Option<Key>) -> Place {
        let on = |branch| Place { branch, fork: None };
        if message.is_some() && anchor.message == message {
            return on(anchor.branch);
        }
        match anchor.turn {
            None => on(above.branch),
            Some(turn) if message.is_some() && turn.message == message => on(turn.branch),
            // A side record written after the conversation had gone on: its place in the file is all that it tells.
            Some(turn) if !direct && above.line > turn.first_line => on(self.current),
            Some(_) => {
                let window = above.window.map(|first| LineRange { first, last: above.line });
                self.branches.push(Branch { window, pending: None });
                Place { branch: self.branches.len() - 1, fork: Some((above.branch, above.line)) }
            }
        }
    }

    /// Adds an entry to a branch's context; the answer is the range of lines that it summarises.
    pub(super) fn see(&mut self, branch: usize, role: ContextRole, line: u64) -> Option<LineRange> {
        let branch = self.branches.get_mut(branch)?;
        let own = LineRange { first: line, last: line };
        match role {
            ContextRole::Outside => None,
            ContextRole::Inside => {
                branch.window = joined(branch.window, Some(own));
                None
            }
            ContextRole::Boundary => {
                branch.pending = joined(branch.pending, branch.window.take());
                branch.pending
            }
            ContextRole::Summary => joined(branch.pending.take(), branch.window.replace(own)),
        }
    }
}

/// From the start of the earlier to the end of the later.
fn joined(earlier: Option<LineRange>, later: Option<LineRange>) -> Option<LineRange> {
    match (earlier, later) {
        (Some(earlier), Some(later)) => Some(LineRange { first: earlier.first, last: later.last }),
        (one, None) | (None, one) => one,
    }
}
