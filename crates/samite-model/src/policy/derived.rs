//! What something was made of: a fork of its parent's journal, a merge of both sides, a child session of the one that it
//! works for, an artifact of its session and its inputs.

use crate::{ArtifactId, JournalId, Pseudonym, SessionId};
use std::collections::{BTreeMap, BTreeSet};

/// Something that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A branch.
    Journal(JournalId),
    /// An artifact.
    Artifact(ArtifactId),
    /// All branches of a session.
    Session(SessionId),
}

/// Where something came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The session.
    pub session: SessionId,
    /// Whose it was.
    pub owner: Pseudonym,
}

/// What is known of something that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Where it came from directly.
    pub sources: BTreeSet<Source>,
    /// What it was made of.
    pub from: BTreeSet<Node>,
    /// Whether a part of what it was made of cannot be said.
    pub unknown: bool,
}

/// All that something came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The sources.
    pub all: BTreeSet<Source>,
    /// Whether there are others, of which nothing is known.
    pub unknown: bool,
}

/// What was made of what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derivation {
    nodes: BTreeMap<Node, NodeFacts>,
}

impl Derivation {
    /// What is known of a node, to be added to.
    pub fn node(&mut self, node: Node) -> &mut NodeFacts {
        self.nodes.entry(node).or_default()
    }

    /// All that a node came from, however far back. What it was made of and is not there any more counts as unknown.
    pub fn sources(&self, node: Node) -> Sources {
        let mut found = Sources::default();
        let (mut seen, mut next) = (BTreeSet::from([node]), vec![node]);
        while let Some(node) = next.pop() {
            let Some(facts) = self.nodes.get(&node) else {
                found.unknown = true;
                continue;
            };
            found.unknown |= facts.unknown;
            found.all.extend(&facts.sources);
            next.extend(facts.from.iter().filter(|from| seen.insert(**from)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FamilyId;

    fn journal(number: u8) -> Node {
        Node::Journal(JournalId([number; 16]))
    }

    fn source(number: u8) -> Source {
        Source { session: FamilyId([number; 16]), owner: Pseudonym([number; 16]) }
    }

    fn told(found: &Sources) -> (Vec<u8>, bool) {
        (found.all.iter().map(|source| source.session.0[0]).collect(), found.unknown)
    }

    #[test]
    fn what_was_derived_comes_from_all_that_it_was_made_of() {
        let mut graph = Derivation::default();
        for number in 1..=5 {
            graph.node(journal(number)).sources.insert(source(number));
        }
        // 2 is a fork of 1; 3 merged 2; an artifact of 3 had another one, of 4, for input; 5 stands alone.
        graph.node(journal(2)).from.insert(journal(1));
        graph.node(journal(3)).from.insert(journal(2));
        let (made, input) = (Node::Artifact(ArtifactId([8; 16])), Node::Artifact(ArtifactId([9; 16])));
        graph.node(input).from.insert(journal(4));
        graph.node(made).from.extend([journal(3), input]);
        let table: [(Node, &[u8]); 7] = [
            (journal(1), &[1]),
            (journal(2), &[1, 2]),
            (journal(3), &[1, 2, 3]),
            (input, &[4]),
            (made, &[1, 2, 3, 4]),
            (journal(4), &[4]),
            (journal(5), &[5]),
        ];
        for (node, expected) in table {
            assert_eq!(told(&graph.sources(node)), (expected.to_vec(), false), "{node:?}");
        }
    }

    #[test]
    fn circles_end_and_what_is_gone_is_unknown() {
        let mut graph = Derivation::default();
        graph.node(journal(1)).sources.insert(source(1));
        graph.node(journal(2)).sources.insert(source(2));
        graph.node(journal(1)).from.insert(journal(2));
        graph.node(journal(2)).from.insert(journal(1));
        assert_eq!(told(&graph.sources(journal(1))), (vec![1, 2], false));
        graph.node(journal(2)).from.insert(journal(7));
        assert_eq!(told(&graph.sources(journal(1))), (vec![1, 2], true));
        assert_eq!(told(&Derivation::default().sources(journal(1))), (vec![], true));
    }
}
