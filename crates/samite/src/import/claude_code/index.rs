//! The records seen so far, by id: what a later record can hang off. It holds hashes and numbers, no text.

pub(super) use super::ids::{Key, key};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A record's number in the index.
pub(super) type NodeId = usize;

/// The turn that follows a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnAfter {
    /// The line of the first turn that followed.
    pub(super) first_line: u64,
    /// The model's response that the latest one is, if it is one.
    pub(super) message: Option<Key>,
    /// The branch of the latest one.
    pub(super) branch: usize,
}

/// A record in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) line: u64,
    pub(super) session: usize,
    pub(super) branch: usize,
    /// Its bytes.
    pub(super) content: Key,
    /// The nearest record of the conversation above it, itself included; at the root, the root.
    pub(super) anchor: NodeId,
    /// The model's response that it belongs to.
    pub(super) message: Option<Key>,
    pub(super) turn: Option<TurnAfter>,
    /// The first line in context at its position of its branch.
    pub(super) window: Option<u64>,
}

/// Records by their ids, with those that are only named as parents so far.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_uuid: HashMap<Key, NodeId>,
    nodes: Vec<Option<Node>>,
    /// Disjoint sets over records joined by parenthood, to find cycles without walking them.
    sets: Vec<NodeId>,
    /// Other records under known ids.
    others: HashSet<Key>,
    /// How many equal lines without an id there were.
    equal: HashMap<Key, u64>,
}

impl Index {
    /// The number of an id, seen or only named.
    pub(super) fn node_id(&mut self, uuid: &str) -> NodeId {
        let fresh = self.nodes.len();
        let id = *self.by_uuid.entry(key(uuid.as_bytes())).or_insert(fresh);
        if id == fresh {
            self.nodes.push(None);
            self.sets.push(fresh);
        }
        id
    }

    /// The record of a number, if it was seen.
    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id).and_then(Option::as_ref)
    }

    /// The record of an id, if it was seen.
    pub(super) fn find(&self, uuid: &str) -> Option<(NodeId, &Node)> {
        let id = *self.by_uuid.get(&key(uuid.as_bytes()))?;
        Some((id, self.node(id)?))
    }

    /// Puts a record in its place.
    pub(super) fn set(&mut self, id: NodeId, node: Node) {
        if let Some(place) = self.nodes.get_mut(id) {
            *place = Some(node);
        }
    }

    /// Notes the turn after a record.
    pub(super) fn set_turn(&mut self, id: NodeId, turn: TurnAfter) {
        if let Some(Some(node)) = self.nodes.get_mut(id) {
            node.turn = Some(turn);
        }
    }

    fn root(&mut self, mut id: NodeId) -> NodeId {
        loop {
            let above = self.sets.get(id).copied().unwrap_or(id);
            if above == id {
                return id;
            }
            let next = self.sets.get(above).copied().unwrap_or(above);
            if let Some(set) = self.sets.get_mut(id) {
                *set = next;
            }
            id = next;
        }
    }

    /// Joins a record, which had no parent so far, to its parent; `false` when that closes a cycle.
    ///
    /// Each record has at most one parent, so a set without a cycle has one record without a parent: joining that one
    /// to a record of its own set is the only way to close a cycle.
    pub(super) fn join(&mut self, child: NodeId, parent: NodeId) -> bool {
        let (below, above) = (self.root(child), self.root(parent));
        if below == above {
            return false;
        }
        if let Some(set) = self.sets.get_mut(below) {
            *set = above;
        }
        true
    }

    /// Notes another record under a known id; `false` when it was noted before.
    pub(super) fn note_other(&mut self, uuid: &str, content: &Key) -> bool {
        let mut bytes = key(uuid.as_bytes()).to_vec();
        bytes.extend_from_slice(content);
        self.others.insert(key(&bytes))
    }

    /// Counts a line without an id; the answer is how many equal ones came before.
    pub(super) fn count_equal(&mut self, content: Key) -> u64 {
        let count = self.equal.entry(content).or_insert(0);
        let before = *count;
        *count += 1;
        before
    }
}

/// The ids of a transcript's records, for a child session whose first records hang off them. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct KnownRecords(Arc<HashSet<Key>>);

impl KnownRecords {
    pub(super) fn of(index: &Index) -> Self {
        let seen = index.by_uuid.iter().filter(|(_, id)| index.node(**id).is_some());
        Self(Arc::new(seen.map(|(key, _)| *key).collect()))
    }

    /// Whether the transcript has a record with this id.
    pub fn contains(&self, uuid: &str) -> bool {
        self.0.contains(&key(uuid.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_join_that_closes_a_cycle_is_refused() {
        let mut index = Index::default();
        let mut join = |child: &str, parent: &str| {
            let (child, parent) = (index.node_id(child), index.node_id(parent));
            index.join(child, parent)
        };
        assert!(join("a", "b"));
        assert!(join("c", "d"));
        assert!(join("b", "c"));
        assert!(!join("d", "a"));
        assert!(!join("d", "d"));
        assert!(join("d", "e"));
    }
}
