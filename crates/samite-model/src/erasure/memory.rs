//! Records of long-term memory: which go, and which were made of what goes.

use super::plan::{Because, Derived, DerivedKind, Facts, JournalFacts, Plan, Role};
use super::{Run, RunSet};
use crate::{FamilyId, Fingerprint, JournalId, Position, Pseudonym, RecordId, SessionId};
use std::collections::HashSet;

/// A record as known.
#[derive(Clone, Debug)]
pub struct RecordFacts {
    /// The record.
    pub record: RecordId,
    /// Whose it is.
    pub owner: Pseudonym,
    /// The entry that says it.
    pub at: Position,
    /// The session that it comes from.
    pub session: Option<SessionId>,
    /// The entries that it was made of, its step among them.
    pub entries: Vec<Position>,
    /// The records that it was made of.
    pub inputs: Vec<RecordId>,
    /// Where it was written first, when it was taken over from a branch.
    pub origin: Option<Position>,
    /// The keyed hash of what it says: in a namespace, and on branches, the same is one record, whatever its ids.
    pub content: Fingerprint,
}

/// An entry that says something about records: that they ended, are pinned, were decided about.
#[derive(Clone, Debug)]
pub struct SaidFacts {
    /// The entry.
    pub at: Position,
    /// The records.
    pub of: Vec<RecordId>,
    /// Whether it revoked their source. That stays: what they had replaced stands again by it.
    pub revokes: bool,
}

const fn one(at: Position) -> Run {
    Run { journal: at.journal, first: at.seq, last: at.seq }
}

/// A namespace as a whole, with what was written of it on branches, and the journal of what was found in it.
pub(super) fn whole(journal: JournalId, facts: &Facts) -> Plan {
    let of_it = || facts.journals.iter().filter(|known| known.role == Role::Memory && known.family.0 == journal.0);
    Plan {
        runs: of_it().filter_map(JournalFacts::whole).chain(facts.named.iter().copied()).collect(),
        close: of_it().map(|known| known.id).collect(),
        ..Plan::default()
    }
}

/// Some records: where they stand, where they were taken over from, and where a branch says the same.
pub(super) fn some(records: &[RecordId], facts: &Facts) -> Plan {
    let of_them = || facts.records.iter().filter(|known| records.contains(&known.record));
    let origins: HashSet<Position> = of_them().filter_map(|known| known.origin).collect();
    let contents: HashSet<Fingerprint> = of_them().map(|known| known.content).collect();
    let is_one = |known: &&RecordFacts| {
        records.contains(&known.record) || origins.contains(&known.at) || contents.contains(&known.content)
    };
    let all: Vec<&RecordFacts> = facts.records.iter().filter(is_one).collect();
    Plan {
        runs: all.iter().map(|known| one(known.at)).collect(),
        records: all.iter().map(|known| known.record).collect(),
        ..Plan::default()
    }
}

/// What else was said about records that go. What was said of several at once stays while one of them does, and that they were revoked
/// stays.
pub(super) fn said_of(records: &[RecordId], facts: &Facts) -> Vec<Run> {
    let records: HashSet<RecordId> = records.iter().copied().collect();
    let goes = |said: &&SaidFacts| {
        !said.revokes && !said.of.is_empty() && said.of.iter().all(|record| records.contains(record))
    };
    facts.said.iter().filter(goes).map(|said| one(said.at)).collect()
}

/// The records that stay, and were made of what goes: in sessions that go, of their entries, or of records.
pub(super) fn made_of(plan: &Plan, facts: &Facts) -> Vec<Derived> {
    let runs = RunSet::new(plan.runs.iter().copied());
    let going: HashSet<RecordId> =
        facts.records.iter().filter(|known| runs.has(known.at)).map(|known| known.record).collect();
    let mut found = Vec::new();
    for known in facts.records.iter().filter(|known| !runs.has(known.at)) {
        let is_of = |at: &Position| runs.has(*at);
        let because = if known.session.is_some_and(|session| plan.sessions.contains(&session)) {
            Because::MadeThere
        } else if known.entries.iter().chain(&known.origin).any(is_of)
            || known.inputs.iter().any(|input| going.contains(input))
            || going.contains(&known.record)
        {
            Because::MadeOf
        } else {
            continue;
        };
        found.push(Derived::new(DerivedKind::Record, FamilyId(known.record.0), known.owner, because));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{Hold, HoldOn, Scope, held_also, held_memory, plan};
    use super::*;

    const ADA: Pseudonym = Pseudonym([0xa; 16]);
    const BO: Pseudonym = Pseudonym([0xb; 16]);
    /// Ada's namespace, Bo's, and a branch of a session of Ada's.
    const NOTES: u8 = 1;
    const OTHER: u8 = 2;
    const BRANCH: u8 = 3;
    /// What was found in Ada's namespace.
    const SEARCHES: u8 = 5;
    const SESSION: SessionId = FamilyId([4; 16]);

    fn at(journal: u8, seq: u64) -> Position {
        Position { journal: JournalId([journal; 16]), seq }
    }

    fn run(journal: u8, first: u64, last: u64) -> Run {
        Run { journal: JournalId([journal; 16]), first, last }
    }

    fn id(number: u8) -> RecordId {
        RecordId([number; 16])
    }

    fn record(number: u8, at: Position, inputs: &[u8]) -> RecordFacts {
        let owner = if at.journal == JournalId([OTHER; 16]) { BO } else { ADA };
        let inputs = inputs.iter().map(|input| id(*input)).collect();
        let content = Fingerprint([number; 16]);
        RecordFacts { record: id(number), owner, at, session: None, entries: Vec::new(), inputs, origin: None, content }
    }

    /// Of what the branch said at 5, 10 was made; 11 of that, 12 of 11; 13 of nothing. Bo's 20 was made in Ada's session. 14 was taken
    /// over from the branch.
    fn facts() -> Facts {
        let journal = |number: u8, family: FamilyId, role, owner, head| JournalFacts {
            id: JournalId([number; 16]),
            family,
            role,
            owner,
            parent: None,
            head,
            runs: Vec::new(),
        };
        let own = |number: u8| FamilyId([number; 16]);
        Facts {
            journals: vec![
                journal(NOTES, own(NOTES), Role::Memory, ADA, 10),
                journal(OTHER, own(OTHER), Role::Memory, BO, 2),
                journal(SEARCHES, own(NOTES), Role::Memory, ADA, 3),
                journal(BRANCH, SESSION, Role::Branch, ADA, 8),
            ],
            records: vec![
                RecordFacts { session: Some(SESSION), entries: vec![at(BRANCH, 5)], ..record(10, at(NOTES, 2), &[]) },
                record(11, at(NOTES, 3), &[10]),
                record(12, at(NOTES, 4), &[13, 11]),
                record(13, at(NOTES, 5), &[]),
                RecordFacts { origin: Some(at(BRANCH, 7)), ..record(14, at(NOTES, 6), &[]) },
                record(14, at(BRANCH, 7), &[]),
                RecordFacts { session: Some(SESSION), ..record(20, at(OTHER, 2), &[]) },
            ],
            said: vec![
                SaidFacts { at: at(NOTES, 7), of: vec![id(11)], revokes: false },
                SaidFacts { at: at(NOTES, 8), of: vec![id(11), id(13)], revokes: false },
                SaidFacts { at: at(NOTES, 9), of: vec![id(10), id(12)], revokes: false },
                SaidFacts { at: at(NOTES, 10), of: vec![id(11)], revokes: true },
            ],
            ..Facts::default()
        }
    }

    fn forgetting(records: &[u8]) -> Plan {
        let asked = records.iter().map(|record| id(*record)).collect();
        plan(&Scope::Records { journal: JournalId([NOTES; 16]) }, ADA, &Facts { asked, ..facts() }, &[])
    }

    fn derived(number: u8, owner: Pseudonym, because: Because, taken: bool) -> Derived {
        Derived { taken, ..Derived::new(DerivedKind::Record, FamilyId([number; 16]), owner, because) }
    }

    #[test]
    fn a_record_goes_with_all_that_was_made_of_it_and_what_was_said_of_it_alone() {
        let plan = forgetting(&[10]);
        assert_eq!(plan.runs, [run(NOTES, 2, 4), run(NOTES, 7, 7), run(NOTES, 9, 9)]);
        assert_eq!(plan.records, [id(10), id(11), id(12)]);
        let made = |number| derived(number, ADA, Because::MadeOf, true);
        assert_eq!(plan.derived, [made(11), made(12)]);
        assert_eq!((plan.close, plan.foreign), (Vec::new(), Vec::new()));
        // What was said of 11 and 13 goes when both do.
        assert_eq!(forgetting(&[11, 13]).runs, [run(NOTES, 3, 5), run(NOTES, 7, 8)]);
    }

    #[test]
    fn what_was_taken_over_goes_where_it_came_from_too() {
        assert_eq!(forgetting(&[14]).runs, [run(NOTES, 6, 6), run(BRANCH, 7, 7)]);
    }

    #[test]
    fn what_a_branch_says_that_is_the_same_goes_too() {
        let mut facts = facts();
        let content = Fingerprint([13; 16]);
        facts.records.push(RecordFacts { content, ..record(30, at(BRANCH, 8), &[]) });
        facts.records.push(RecordFacts { session: Some(SESSION), ..record(31, at(BRANCH, 3), &[30]) });
        facts.asked = vec![id(13)];
        let plan = plan(&Scope::Records { journal: JournalId([NOTES; 16]) }, ADA, &facts, &[]);
        // 12 was made of it by its first id, 31 by the other.
        assert_eq!(plan.runs, [run(NOTES, 4, 5), run(BRANCH, 3, 3), run(BRANCH, 8, 8)]);
        assert_eq!(plan.derived.iter().map(|one| one.id.0[0]).collect::<Vec<_>>(), [12, 31]);
    }

    #[test]
    fn a_namespace_is_closed_and_goes_with_what_is_on_branches() {
        let facts = Facts { named: vec![run(BRANCH, 7, 7)], ..facts() };
        let plan = plan(&Scope::Memory { journal: JournalId([NOTES; 16]) }, ADA, &facts, &[]);
        assert_eq!(plan.runs, [run(NOTES, 1, 10), run(BRANCH, 7, 7), run(SEARCHES, 1, 3)]);
        assert_eq!(plan.close, [JournalId([NOTES; 16]), JournalId([SEARCHES; 16])]);
        assert_eq!(plan.derived, []);
    }

    #[test]
    fn what_was_made_of_a_session_or_of_its_entries_is_listed_and_goes_when_it_is_decided() {
        let of_session = |also: &[FamilyId]| plan(&Scope::Session { session: SESSION }, ADA, &facts(), also);
        let there = |number, owner, taken| derived(number, owner, Because::MadeThere, taken);
        let stays = of_session(&[]);
        assert_eq!(
            stays.derived,
            [there(10, ADA, false), derived(14, ADA, Because::MadeOf, false), there(20, BO, false)]
        );
        assert_eq!(stays.runs, [run(BRANCH, 1, 8)]);
        // What was made of what goes too is listed in turn.
        let goes = of_session(&[FamilyId([10; 16])]);
        assert_eq!(goes.runs, [run(NOTES, 2, 2), run(BRANCH, 1, 8)]);
        assert!(goes.derived.contains(&derived(11, ADA, Because::MadeOf, false)));
        assert_eq!(goes.records, [id(10)]);

        let scope = Scope::Entries { session: SESSION, branch: JournalId([BRANCH; 16]), from: 5, to: 5 };
        let facts = Facts { named: vec![run(BRANCH, 1, 8)], ..facts() };
        let plan = plan(&scope, ADA, &facts, &[]);
        assert_eq!(plan.derived, [derived(10, ADA, Because::MadeOf, false)]);
    }

    #[test]
    fn a_hold_on_the_session_that_it_came_from_stands_against_it() {
        let on = HoldOn::Session { session: SESSION, subject: ADA };
        let holds = [Hold { on, reason: "a case".to_owned(), since: 1 }];
        let scope = Scope::Records { journal: JournalId([NOTES; 16]) };
        let is_held = |plan: &Plan| held_memory(&holds, &scope, plan, &facts()).is_some();
        assert!(is_held(&forgetting(&[10])) && is_held(&forgetting(&[14])) && !is_held(&forgetting(&[13])));
        let also = plan(&Scope::Session { session: FamilyId([9; 16]) }, ADA, &facts(), &[]);
        assert!(held_also(&holds, &also, &facts()).is_none());
    }
}
