//! The chain computed again, and what explains where it differs.
//!
//! An entry whose stored link is not the hash of what came before has a changed header or a changed link. Which one,
//! the next entry tells: it was chained to the true link. Until then both stay possible.

use super::finding::{Findings, What};
use samite_model::{Link, hash};
use std::collections::BTreeMap;

/// Explanations to keep at most; enough for as many damaged neighbours.
const PATHS: usize = 16;
/// Damaged neighbours after which the simplest explanation is taken, so that memory stays bounded.
const UNEXPLAINED: usize = 64;

/// One explanation of all entries since the last one that was beyond doubt.
#[derive(Clone)]
struct Path {
    /// The true link after the last entry; `None` when it cannot be known.
    link: Option<Link>,
    found: Vec<(u64, What)>,
    points: Vec<(u64, Link)>,
}

pub(super) struct Chain {
    /// The first is the simplest.
    paths: Vec<Path>,
    /// The links that may be the true ones at the points of interest: mostly one, and none when nothing is known.
    pub(super) points: BTreeMap<u64, Vec<Link>>,
}

impl Chain {
    /// Begins after one of these links; after an unknown one when there is none.
    pub(super) fn new(before: &[Link]) -> Self {
        let path = |link| Path { link, found: Vec::new(), points: Vec::new() };
        let mut paths: Vec<Path> = before.iter().map(|link| path(Some(*link))).collect();
        if paths.is_empty() {
            paths.push(path(None));
        }
        Self { paths, points: BTreeMap::new() }
    }

    /// Goes on with the next entry. Returns whether its link was the expected one beyond doubt.
    pub(super) fn push(
        &mut self,
        seq: u64,
        header: &[u8],
        stored: Link,
        of_interest: bool,
        findings: &mut Findings,
    ) -> bool {
        let computed: Vec<Option<Link>> =
            self.paths.iter().map(|path| path.link.map(|link| hash::link(link, header))).collect();
        // A match proves the explanation that leads to it.
        let proven = computed.iter().position(|link| *link == Some(stored));
        let unknown = computed.iter().position(Option::is_none);
        if let Some(index) = proven.or(unknown) {
            self.settle(index, proven.is_some(), findings);
            self.note(seq, Some(stored), of_interest);
            return proven.is_some();
        }
        let mut next: Vec<Path> = Vec::with_capacity(self.paths.len().saturating_add(1));
        if let Some(path) = self.paths.first() {
            let mut changed = path.with(Some(stored), seq, What::Changed);
            // Whichever explanation was right until here, they all lead to the stored link.
            changed.points = self.paths.iter().flat_map(|path| path.points.iter().copied()).collect();
            next.push(changed);
        }
        let changed_links = self.paths.iter().zip(computed);
        next.extend(changed_links.map(|(path, link)| path.with(link, seq, What::LinkChanged)));
        next.truncate(PATHS);
        self.paths = next;
        if of_interest {
            for path in &mut self.paths {
                path.points.extend(path.link.map(|link| (seq, link)));
            }
        }
        if self.paths.first().is_some_and(|path| path.found.len() > UNEXPLAINED) {
            self.settle(0, false, findings);
        }
        false
    }

    /// Goes on after entries whose links cannot be known.
    pub(super) fn lose(&mut self, seq: u64, of_interest: bool, findings: &mut Findings) {
        self.settle(0, false, findings);
        self.note(seq, None, of_interest);
    }

    /// Ends where the true link is said to be this. Returns the true link, as far as it can be known.
    pub(super) fn end(&mut self, said: Option<Link>, findings: &mut Findings) -> Option<Link> {
        let proven = self.paths.iter().position(|path| said.is_some() && path.link == said);
        self.settle(proven.unwrap_or(0), proven.is_some(), findings);
        self.paths.first().and_then(|path| path.link)
    }

    fn note(&mut self, seq: u64, link: Option<Link>, of_interest: bool) {
        if let Some(path) = self.paths.first_mut() {
            path.link = link;
        }
        if of_interest {
            self.points.insert(seq, link.into_iter().collect());
        }
    }

    /// Takes one explanation for the truth; unless it is proven, the others' links at points of interest stay possible.
    fn settle(&mut self, index: usize, proven: bool, findings: &mut Findings) {
        if index < self.paths.len() {
            self.paths.swap(0, index);
        }
        for (place, path) in self.paths.iter_mut().enumerate() {
            for (seq, link) in path.points.drain(..).filter(|_| place == 0 || !proven) {
                let links = self.points.entry(seq).or_default();
                if !links.contains(&link) {
                    links.push(link);
                }
            }
        }
        self.paths.truncate(1);
        if let Some(path) = self.paths.first_mut() {
            for (seq, what) in path.found.drain(..) {
                findings.add(seq, seq, what);
            }
        }
    }
}

impl Path {
    fn with(&self, link: Option<Link>, seq: u64, what: What) -> Self {
        let mut path = self.clone();
        path.link = link;
        path.found.push((seq, what));
        path
    }
}
