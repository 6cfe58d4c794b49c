//! Plans carried out against a small store that keeps the fabric's rules: nothing is added twice, and nothing is lost.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Default)]
struct Branch {
    /// The branch and position that it was forked at.
    parent: Option<(usize, usize)>,
    entries: Vec<(String, Vec<u8>)>,
}

impl Branch {
    fn head(&self) -> usize {
        self.parent.map_or(0, |(_, at)| at) + self.entries.len()
    }
}

#[derive(Default)]
struct Session {
    branches: Vec<Branch>,
    by_key: HashMap<String, usize>,
}

impl Session {
    /// The position and bytes of an id on a branch's ancestry.
    fn find(&self, branch: usize, id: &str) -> Option<(usize, &[u8])> {
        let (mut branch, mut until) = (branch, usize::MAX);
        loop {
            let one = &self.branches[branch];
            let start = one.parent.map_or(0, |(_, at)| at);
            for (at, (known, bytes)) in one.entries.iter().enumerate() {
                if known == id && start + at < until {
                    return Some((start + at + 1, bytes));
                }
            }
            (branch, until) = one.parent.map(|(parent, at)| (parent, at.min(until)))?;
        }
    }
}

/// A session's key, a branch, its fork point, and the ids of its entries.
type Entries = (String, usize, Option<(usize, usize)>, Vec<String>);

#[derive(Default)]
struct Store(HashMap<String, Session>);

impl Store {
    /// Carries out a plan up to some number of items, as if the process was killed there.
    fn import(&mut self, bytes: &[u8], items: usize) -> Report {
        let identity = Identity { session_id: "s1".into(), ..Identity::default() };
        let (mut planner, mut lines) = (Planner::new(identity), Lines::new(bytes));
        let (mut keys, mut branches) = (Vec::<String>::new(), HashMap::new());
        let mut positions = HashMap::new();
        let (mut done, mut before, mut changed) = (0, Vec::new(), Vec::new());
        while let Some(line) = lines.next_line().unwrap() {
            for item in planner.accept(&line) {
                done += 1;
                if done > items {
                    return Report::default();
                }
                match item {
                    Item::Begin(begin) => {
                        let session = self.0.entry(begin.key.clone()).or_default();
                        if session.branches.is_empty() {
                            session.branches.push(Branch::default());
                        }
                        branches.insert((begin.session, BranchRef(0)), 0);
                        keys.push(begin.key);
                    }
                    Item::Fork(fork) => {
                        let session = self.0.get_mut(&keys[fork.session.0]).unwrap();
                        let from = branches[&(fork.session, fork.from)];
                        let fresh = session.branches.len();
                        let branch = *session.by_key.entry(fork.key.as_str().to_owned()).or_insert(fresh);
                        if branch == fresh {
                            let parent = Some((from, positions[&fork.at_line]));
                            session.branches.push(Branch { parent, entries: Vec::new() });
                        }
                        branches.insert((fork.session, fork.branch), branch);
                    }
                    Item::Append(append) => {
                        let session = self.0.get_mut(&keys[append.session.0]).unwrap();
                        let branch = branches[&(append.session, append.branch)];
                        let mut id = append.dedupe.as_str();
                        if session.find(branch, id).is_some_and(|(_, bytes)| bytes != &append.payload[..]) {
                            id = append.dedupe_if_changed.as_str();
                            changed.extend(append.class.map(|class| (append.line, class)));
                        }
                        if let Some((position, stored)) = session.find(branch, id) {
                            assert_eq!(stored, &append.payload[..]);
                            positions.insert(append.line, position);
                            before.extend(append.class);
                        } else {
                            let branch = &mut session.branches[branch];
                            branch.entries.push((id.to_owned(), append.payload.to_vec()));
                            positions.insert(append.line, branch.head());
                        }
                    }
                    _ => {}
                }
            }
        }
        let mut report = planner.finish().report;
        for class in before {
            report.accounting.stored_before(class);
        }
        for (line, class) in changed {
            report.changed_since(line, class);
        }
        report
    }

    /// All entries but those of torn lines, by session and branch.
    fn entries(&self) -> Vec<Entries> {
        let mut all: Vec<_> = self
            .0
            .iter()
            .flat_map(|(key, session)| {
                session.branches.iter().enumerate().map(move |(at, branch)| {
                    let whole = branch
                        .entries
                        .iter()
                        .filter(|(_, bytes)| serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
                    (key.clone(), at, branch.parent, whole.map(|(id, _)| id.clone()).collect())
                })
            })
            .collect();
        all.sort();
        all
    }
}

fn sample() -> String {
    let side = |uuid: &str, parent: &str| {
        record("user", uuid, parent, ",\"isSidechain\":true,\"message\":{\"content\":\"x\"}")
    };
    user("u1", "-")
        + &call("a1", "u1", "m1", "t1")
        + "{\"type\":\"file-history-snapshot\"}\n"
        + &side("x1", "-")
        + &result("r1", "a1", "t1", false)
        + "{\"type\":\"file-history-snapshot\"}\n"
        + &assistant("a2", "r1", "m2")
        + &user("u2", "a2")
        + &side("x2", "x1")
        + &user("u3", "a2")
        + &user("u1", "-")
        + &assistant("a3", "u3", "m3")
}

#[test]
fn importing_twice_adds_nothing() {
    let text = sample();
    let mut store = Store::default();
    let first = store.import(text.as_bytes(), usize::MAX).accounting;
    assert_eq!(first, Accounting { imported: 11, duplicates: 1, reported: 0 });
    let entries = store.entries();
    let second = store.import(text.as_bytes(), usize::MAX).accounting;
    assert_eq!(second, Accounting { imported: 0, duplicates: 12, reported: 0 });
    assert_eq!(store.entries(), entries);
}

#[test]
fn an_import_that_was_killed_goes_on() {
    let text = sample();
    let mut whole = Store::default();
    whole.import(text.as_bytes(), usize::MAX);
    for items in 0..20 {
        let mut store = Store::default();
        store.import(text.as_bytes(), items);
        store.import(text.as_bytes(), usize::MAX);
        assert_eq!(store.entries(), whole.entries(), "killed after {items}");
    }
}

#[test]
fn a_grown_transcript_adds_its_new_lines_wherever_it_was_cut() {
    let text = sample();
    let mut whole = Store::default();
    whole.import(text.as_bytes(), usize::MAX);
    let ids = |store: &Store| {
        store.entries().into_iter().filter(|one| !one.3.is_empty()).map(|one| (one.0, one.1, one.3)).collect::<Vec<_>>()
    };
    for cut in 0..text.len() {
        let mut store = Store::default();
        store.import(&text.as_bytes()[..cut], usize::MAX);
        let report = store.import(text.as_bytes(), usize::MAX);
        assert_eq!(ids(&store), ids(&whole), "cut at {cut}");
        assert_eq!(report.accounting.lines(), 12);
        assert_eq!(report.accounting.reported, 0);
    }
}

#[test]
fn a_record_that_was_changed_since_is_kept_beside_the_first() {
    let text = sample();
    let mut store = Store::default();
    store.import(text.as_bytes(), usize::MAX);
    let changed = text.replacen("go on", "go away", 1);
    let report = store.import(changed.as_bytes(), usize::MAX);
    // The transcript's own repetition of the record is another record now, and the one that the store knows.
    assert_eq!(report.reported_lines(), [1, 11]);
    assert_eq!(report.accounting, Accounting { imported: 0, duplicates: 10, reported: 2 });
    let again = store.import(changed.as_bytes(), usize::MAX);
    assert_eq!(again.accounting.imported, 0);
}

proptest! {
    #[test]
    fn damaged_transcripts_are_imported_once(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        items in 0usize..30,
    ) {
        let mut bytes = sample().into_bytes();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let mut store = Store::default();
        store.import(&bytes, items);
        store.import(&bytes, usize::MAX);
        let entries = store.entries();
        let again = store.import(&bytes, usize::MAX);
        prop_assert_eq!(again.accounting.imported, 0);
        prop_assert_eq!(store.entries(), entries);
    }
}
