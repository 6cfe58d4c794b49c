use super::*;
use samite_model::memory::{Decided, Pinned, Provenance, Retracted, Revoked, Validity, WriterName};
use samite_model::{Fingerprint, JournalId};

fn id(number: u8) -> RecordId {
    RecordId([number; 16])
}

fn record(number: u8, trust: Trust, inputs: &[u8]) -> Record {
    Record {
        record: id(number),
        kind: RecordKind::Semantic,
        text: format!("fact {number}"),
        metadata: serde_json::Map::new(),
        edge: None,
        valid: Validity::default(),
        previous: None,
        provenance: Provenance {
            session: None,
            branch: None,
            entries: Vec::new(),
            step: None,
            inputs: inputs.iter().map(|input| id(*input)).collect(),
            source: None,
            extractor: None,
            writer: WriterName { user: "ada".into(), agent: "test".into(), workload: "suite".into() },
            trust,
        },
    }
}

fn asserted(record: Record, replaces: Option<(u8, Changed)>) -> Operation {
    let replaces = replaces.map(|(replaced, changed)| Replaces { record: id(replaced), changed, life: 0 });
    let content = Fingerprint(record.record.0);
    Operation::Asserted(Box::new(Asserted { namespace: None, record, replaces, content, origin: None }))
}

fn folded(operations: Vec<Operation>) -> Standings {
    let mut standings = Standings::default();
    for (seq, operation) in (1..).zip(operations) {
        let at = Position { journal: JournalId([9; 16]), seq };
        standings.apply(at, i64::try_from(seq).unwrap() * 10, operation);
    }
    standings
}

fn found(standings: &Standings, time: i64) -> Vec<u8> {
    let all = standings.all().iter().filter(|standing| standing.is_found(standings.settings(), time));
    all.map(|standing| standing.record.record.0[0]).collect()
}

#[test]
fn one_that_took_the_place_of_another_is_found_in_its_stead() {
    let standings = folded(vec![
        asserted(record(1, Trust::User, &[]), None),
        asserted(record(2, Trust::User, &[]), None),
        asserted(record(3, Trust::User, &[]), Some((1, Changed::Superseded))),
        asserted(record(4, Trust::User, &[]), Some((3, Changed::Corrected))),
        Operation::Retracted(Retracted { namespace: None, record: id(2), life: 0, reason: Some("no".into()) }),
        // One that is not there.
        Operation::Retracted(Retracted { namespace: None, record: id(9), life: 0, reason: None }),
    ]);
    assert_eq!(found(&standings, 0), [4]);
    let ids = |history: Vec<&Standing>| history.iter().map(|one| one.record.record.0[0]).collect::<Vec<_>>();
    for one in [1, 3, 4] {
        assert_eq!(ids(standings.history(id(one))), [1, 3, 4]);
    }
    assert_eq!(ids(standings.history(id(2))), [2]);
    assert_eq!(ids(standings.history(id(9))), [0_u8; 0]);
    let replaced = Ended::Replaced { by: id(3), changed: Changed::Superseded };
    assert_eq!(standings.get(id(1)).unwrap().ended, Some((replaced, 30)));
}

#[test]
fn what_has_ended_does_not_end_again() {
    let standings = folded(vec![
        asserted(record(1, Trust::User, &[]), None),
        Operation::Retracted(Retracted { namespace: None, record: id(1), life: 0, reason: None }),
        Operation::Revoked(Revoked { records: vec![id(1)], reason: "bad".into(), ..Revoked::default() }),
        asserted(record(1, Trust::Operator, &[]), None),
    ]);
    let standing = standings.get(id(1)).unwrap();
    assert_eq!(standing.ended, Some((Ended::Retracted { reason: None }, 20)));
    assert_eq!((standings.all().len(), standing.record.provenance.trust), (1, Trust::User));
}

#[test]
fn what_nobody_vouches_for_is_found_once_it_is_approved() {
    let decided = |records: Vec<u8>, verdict| {
        let records = records.into_iter().map(id).collect();
        Operation::Decided(Decided { records, verdict, reason: None })
    };
    let mut operations = vec![
        asserted(record(1, Trust::Web, &[]), None),
        asserted(record(2, Trust::Web, &[]), None),
        asserted(record(3, Trust::User, &[1]), None),
        asserted(record(4, Trust::Tool, &[]), None),
        asserted(record(5, Trust::User, &[4]), None),
    ];
    let standings = folded(operations.clone());
    // What was made of it is no better.
    assert_eq!(found(&standings, 0), [4, 5]);
    assert_eq!(standings.get(id(3)).unwrap().record.provenance.trust, Trust::Web);
    assert_eq!(standings.get(id(5)).unwrap().record.provenance.trust, Trust::Tool);
    operations.push(decided(vec![1, 2], Verdict::Approved));
    operations.push(decided(vec![2, 4], Verdict::Rejected));
    assert_eq!(found(&folded(operations.clone()), 0), [1, 5]);
    // It can be decided otherwise for a class.
    let mut settings = MemorySettings::default();
    settings.treatments.insert(Trust::Web, Treatment::Apart);
    operations.push(Operation::Settled(settings));
    assert_eq!(found(&folded(operations), 0), [1, 3, 5]);
}

#[test]
fn only_what_a_person_said_is_pinned() {
    let pinned = |number, pinned| Operation::Pinned(Pinned { namespace: None, record: id(number), pinned });
    let kind = |record: Record| Record { kind: RecordKind::Pinned, ..record };
    let standings = folded(vec![
        asserted(kind(record(1, Trust::User, &[])), None),
        asserted(record(2, Trust::Operator, &[]), None),
        asserted(record(3, Trust::Model, &[]), None),
        asserted(kind(record(4, Trust::Tool, &[])), None),
        asserted(kind(record(5, Trust::User, &[3])), None),
        pinned(2, true),
        pinned(3, true),
        pinned(4, true),
    ]);
    let all = |standings: &Standings| standings.all().iter().map(|one| one.pinned).collect::<Vec<_>>();
    assert_eq!(all(&standings), [true, true, false, false, false]);
    // What corrects it is pinned too, unless nobody may pin that.
    let corrected = |trust| {
        let correction = asserted(record(2, trust, &[]), Some((1, Changed::Corrected)));
        all(&folded(vec![asserted(kind(record(1, Trust::User, &[])), None), correction]))
    };
    assert_eq!((corrected(Trust::User), corrected(Trust::Model)), (vec![true, true], vec![true, false]));
}

#[test]
fn what_was_made_of_a_source_goes_with_it_however_many_steps_away() {
    let standings = folded(vec![
        asserted(record(1, Trust::Web, &[]), None),
        asserted(record(2, Trust::User, &[]), None),
        asserted(record(3, Trust::Model, &[1, 2]), None),
        asserted(record(4, Trust::Model, &[3]), None),
        asserted(record(5, Trust::Model, &[2]), None),
        asserted(record(6, Trust::Model, &[4]), Some((2, Changed::Superseded))),
    ]);
    let ids = |records: Vec<RecordId>| records.iter().map(|record| record.0[0]).collect::<Vec<_>>();
    assert_eq!(ids(standings.derived_from(&[id(1)])), [1, 3, 4, 6]);
    assert_eq!(ids(standings.derived_from(&[id(5)])), [5]);
    assert_eq!(ids(standings.derived_from(&[])), [0_u8; 0]);
}

#[test]
fn what_holds_for_a_time_is_found_then() {
    let valid = |from, to| Record { valid: Validity { from, to }, ..record(1, Trust::User, &[]) };
    let at = |from, to, time| found(&folded(vec![asserted(valid(from, to), None)]), time) == [1];
    assert!(at(None, None, 5));
    assert!(at(Some(5), None, 5) && !at(Some(6), None, 5));
    assert!(at(None, Some(6), 5) && !at(None, Some(5), 5));
}

#[test]
fn what_a_revoked_source_had_replaced_stands_again() {
    let revoked = |records: &[u8]| {
        let records = records.iter().map(|record| id(*record)).collect();
        Operation::Revoked(Revoked { records, reason: "poisoned".into(), ..Revoked::default() })
    };
    let mut operations = vec![
        asserted(record(1, Trust::User, &[]), None),
        asserted(record(2, Trust::Tool, &[]), Some((1, Changed::Superseded))),
        asserted(record(3, Trust::Tool, &[2]), Some((2, Changed::Corrected))),
        asserted(record(4, Trust::User, &[]), None),
        asserted(record(5, Trust::Tool, &[]), Some((4, Changed::Superseded))),
        asserted(record(6, Trust::User, &[]), Some((5, Changed::Superseded))),
        revoked(&[2]),
    ];
    // What took the place of the revoked one still stands.
    assert_eq!(found(&folded(operations.clone()), 0), [3, 6]);
    operations.push(revoked(&[3, 5]));
    let standings = folded(operations.clone());
    assert_eq!(found(&standings, 0), [1, 6]);
    assert_eq!((standings.get(id(1)).unwrap().lives, standings.get(id(4)).unwrap().lives), (1, 0));
    // It can end again, and then for good.
    operations.push(asserted(record(7, Trust::User, &[]), Some((1, Changed::Superseded))));
    operations.push(revoked(&[3]));
    assert_eq!(found(&folded(operations), 0), [6, 7]);
}

#[test]
fn what_a_forgotten_record_had_replaced_stays_ended_unless_it_was_revoked() {
    // The second took the place of the first, and is forgotten.
    let forgotten = |after: Vec<Operation>| {
        let mut standings = folded(vec![asserted(record(1, Trust::User, &[]), None)]);
        standings.replaced_by_erased(id(1), id(2), 7);
        for (number, operation) in after.into_iter().enumerate() {
            let at = Position { journal: samite_model::JournalId([9; 16]), seq: number as u64 + 10 };
            standings.apply(at, 10, operation);
        }
        standings
    };
    let standings = forgotten(Vec::new());
    let first = standings.get(id(1)).unwrap();
    assert_eq!(first.ended, Some((Ended::Replaced { by: id(2), changed: Changed::Superseded }, 7)));
    assert_eq!(found(&standings, 9), [0_u8; 0]);
    assert_eq!(standings.history(id(1)).len(), 1);
    let revoked = |record| {
        Operation::Revoked(Revoked { records: vec![id(record)], reason: "poisoned".into(), ..Revoked::default() })
    };
    assert_eq!(found(&forgotten(vec![revoked(2)]), 9), [1]);
    assert_eq!(found(&forgotten(vec![revoked(3)]), 9), [0_u8; 0]);
    // Of what is not there nothing ends.
    let mut none = Standings::default();
    none.replaced_by_erased(id(1), id(2), 7);
    assert_eq!(none, Standings::default());
}

#[test]
fn the_same_content_is_one_record_under_both_ids_until_it_ends() {
    let of = |number: u8, content: u8| {
        let content = Fingerprint([content; 16]);
        let record = record(number, Trust::User, &[]);
        Operation::Asserted(Box::new(Asserted { namespace: None, record, replaces: None, content, origin: None }))
    };
    let retracted = Operation::Retracted(Retracted { namespace: None, record: id(2), life: 0, reason: None });
    let standings = folded(vec![of(1, 7), of(2, 7), of(3, 8)]);
    assert_eq!(found(&standings, 0), [1, 3]);
    assert_eq!(standings.get(id(2)).unwrap().record.record, id(1));
    assert_eq!(standings.of_content(Fingerprint([7; 16])).unwrap().record.record, id(1));
    // Whoever ends one ends both, and the same said again comes after that.
    let standings = folded(vec![of(1, 7), of(2, 7), retracted, of(4, 7)]);
    assert_eq!(found(&standings, 0), [4]);
}
