//! Verification finds and names exactly what was damaged.

use futures_lite::future::block_on;
use proptest::prelude::*;
use samite_ledger::testing::Tampering;
use samite_ledger::verify::{Options, Progress, What, verify};
use samite_ledger::{
    Append, Commit, Direction, JournalFilter, JournalKind, Ledger, MemoryLedger, NewEntry, NewJournal, OpenOptions,
    Read, SqliteLedger,
};
use samite_model::{EntryId, EntryKind, Error, ErrorKind, FamilyId, JournalId, KeyId, Position, Pseudonym, hash};
use std::collections::BTreeSet;

const OWNER: Pseudonym = Pseudonym([3; 16]);

fn journal(number: u8) -> JournalId {
    JournalId([number; 16])
}

fn entry(number: u64) -> NewEntry {
    let payload = number.to_be_bytes().to_vec();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    NewEntry {
        id: EntryId(id),
        kind: EntryKind::MESSAGE,
        epoch: 1,
        time: 5,
        actor: Pseudonym([4; 16]),
        owner: OWNER,
        key: KeyId([5; 8]),
        length: 8,
        commitment: hash::commitment(&[0; 32], &payload),
        payload,
        rows: Vec::new(),
        registers: Vec::new(),
        leaf: None,
    }
}

fn make(ledger: &dyn Ledger, number: u8, parent: impl Into<Option<Position>>, entries: u64) {
    let parent = parent.into();
    let new =
        NewJournal { id: journal(number), family: FamilyId([1; 16]), kind: JournalKind::Branch, owner: OWNER, parent };
    let entries = (0..entries).map(|count| entry(u64::from(number) * 1_000 + count)).collect();
    let appends = vec![Append { journal: journal(number), entries }];
    block_on(ledger.commit(Commit { journals: vec![new], appends, ..Commit::default() })).unwrap();
}

fn at(number: u8, seq: u64) -> Position {
    Position { journal: journal(number), seq }
}

/// Journal 1 has 1 to 40, journal 2 is forked at 20 and has 21 to 50, journal 3 at 35 of it and has 36 to 45; journal 4
/// is an empty fork of journal 1 at 40.
fn fill(ledger: &dyn Ledger) {
    make(ledger, 1, None, 40);
    make(ledger, 2, at(1, 20), 30);
    make(ledger, 3, at(2, 35), 10);
    make(ledger, 4, at(1, 40), 0);
}

fn family() -> MemoryLedger {
    let ledger = MemoryLedger::default();
    fill(&ledger);
    ledger
}

/// All findings, entry by entry.
fn found(ledger: &dyn Ledger, page: usize) -> BTreeSet<(u8, u64, What)> {
    let mut check = |_: &_, header: &samite_model::Header, entry: &samite_ledger::StoredEntry| {
        let payload = entry.payload.as_deref().unwrap();
        if hash::commitment(&[0; 32], payload) == header.commitment {
            Ok(())
        } else {
            Err(Error::corrupt("commitment", "the payload is another"))
        }
    };
    let options = Options { payloads: Some(&mut check), page, ..Options::default() };
    let report = block_on(verify(ledger, options)).unwrap();
    let mut found = BTreeSet::new();
    for finding in report.findings {
        let number = finding.journal.0[0];
        assert!(finding.message.contains(&finding.journal.to_string()), "{}", finding.message);
        for seq in finding.first..=finding.last {
            assert!(found.insert((number, seq, finding.what)), "{finding:?} is told twice");
        }
    }
    found
}

/// The own entries of a journal of [`fill`].
fn own(number: u8) -> std::ops::RangeInclusive<u64> {
    match number {
        1 => 1..=40,
        2 => 21..=50,
        _ => 36..=45,
    }
}

/// What must be found of damage to a journal.
fn expected(number: u8, tampering: Tampering) -> BTreeSet<(u8, u64, What)> {
    let head = *own(number).end();
    let range = |seqs: std::ops::RangeInclusive<u64>, what| seqs.map(|seq| (number, seq, what)).collect();
    match tampering {
        Tampering::FlipHeader { seq, .. } => range(seq..=seq, What::Changed),
        Tampering::FlipLink { seq, .. } => range(seq..=seq, What::LinkChanged),
        Tampering::FlipPayload { seq, .. } => range(seq..=seq, What::Payload),
        Tampering::Remove { seq } => range(seq..=seq, if seq == head { What::Cut } else { What::Missing }),
        Tampering::Swap { a, b } if a == b => BTreeSet::new(),
        Tampering::Swap { a, b } => [(number, a, What::Reordered), (number, b, What::Reordered)].into(),
        Tampering::Cut { after } => range(after + 1..=head, What::Cut),
        Tampering::MoveHead { seq } => range(seq + 1..=head, What::HeadMismatch),
        Tampering::FlipHeadLink { .. } => range(head..=head, What::HeadMismatch),
        Tampering::MakeUnreadable { seq } => range(seq..=seq, What::Unreadable),
    }
}

fn any_tampering(seqs: std::ops::RangeInclusive<u64>) -> impl Strategy<Value = Tampering> {
    let seq = seqs.clone();
    let first = *seqs.start();
    prop_oneof![
        4 => (seq.clone(), 0..124 * 8_usize).prop_map(|(seq, bit)| Tampering::FlipHeader { seq, bit }),
        2 => (seq.clone(), 0..256_usize).prop_map(|(seq, bit)| Tampering::FlipLink { seq, bit }),
        1 => (seq.clone(), 0..64_usize).prop_map(|(seq, bit)| Tampering::FlipPayload { seq, bit }),
        2 => seq.clone().prop_map(|seq| Tampering::Remove { seq }),
        2 => (seq.clone(), seq.clone()).prop_map(|(a, b)| Tampering::Swap { a, b }),
        1 => (seq.clone()).prop_map(move |seq| Tampering::Cut { after: seq.max(first + 1) - 1 }),
        1 => seq.clone().prop_map(|seq| Tampering::MoveHead { seq }),
        1 => (0..256_usize).prop_map(|bit| Tampering::FlipHeadLink { bit }),
        2 => seq.prop_map(|seq| Tampering::MakeUnreadable { seq }),
    ]
}

fn anywhere() -> impl Strategy<Value = (u8, Tampering)> {
    (1..=3_u8).prop_flat_map(|number| (Just(number), any_tampering(own(number))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn one_damage_is_found_and_named_exactly((number, tampering) in anywhere(), page in 1..60_usize) {
        let ledger = family();
        ledger.tamper(journal(number), tampering).unwrap();
        prop_assert_eq!(found(&ledger, page), expected(number, tampering));
    }

    /// Damage with two intact entries between is told apart, whatever it is.
    #[test]
    fn several_damages_are_found_and_named_exactly(
        kinds in prop::collection::vec((0..5_u8, 0..992_usize), 1..8),
        number in 1..=2_u8,
        page in 1..60_usize,
    ) {
        let ledger = family();
        let mut right = BTreeSet::new();
        for (place, (kind, bit)) in (0..).zip(kinds) {
            let seq = own(number).start() + 3 * place + 2;
            let tampering = match kind {
                0 => Tampering::FlipHeader { seq, bit },
                1 => Tampering::FlipLink { seq, bit },
                2 => Tampering::Remove { seq },
                3 => Tampering::FlipPayload { seq, bit },
                _ => Tampering::MakeUnreadable { seq },
            };
            ledger.tamper(journal(number), tampering).unwrap();
            right.extend(expected(number, tampering));
        }
        prop_assert_eq!(found(&ledger, page), right);
    }

    /// Neighbours may hide whether header or link was changed, but not that they were.
    #[test]
    fn damaged_neighbours_are_all_named(first in 2..30_u64, flips in prop::collection::vec(any::<bool>(), 1..10)) {
        let ledger = family();
        let mut right = BTreeSet::new();
        for (seq, header) in (first..).zip(flips) {
            let bit = 300;
            let tampering = if header { Tampering::FlipHeader { seq, bit } } else { Tampering::FlipLink { seq, bit } };
            ledger.tamper(journal(1), tampering).unwrap();
            right.insert((1, seq));
        }
        let named: BTreeSet<(u8, u64)> = found(&ledger, 256).into_iter().map(|(number, seq, _)| (number, seq)).collect();
        prop_assert_eq!(named, right);
    }
}

#[test]
fn an_intact_ledger_has_no_findings() {
    let ledger = family();
    let mut seen = Vec::new();
    let mut progress = |progress: Progress| seen.push(progress);
    let options = Options { progress: Some(&mut progress), page: 16, ..Options::default() };
    let report = block_on(verify(&ledger, options)).unwrap();
    assert_eq!((report.journals, report.entries, report.findings), (4, 80, Vec::new()));
    assert_eq!(seen.last(), Some(&Progress { journals: 4, of_journals: 4, entries: 80, of_entries: 80 }));
    // Pages of 16: three of journal 1, two of journal 2, one of journal 3; and once a journal at its end.
    assert_eq!(seen.len(), 3 + 2 + 1 + 4);
}

#[test]
fn what_a_deletion_left_is_intact() {
    let ledger = family();
    block_on(ledger.delete_journal(journal(4), 0)).unwrap();
    block_on(ledger.delete_journal(journal(3), 0)).unwrap();
    block_on(ledger.delete_journal(journal(1), 20)).unwrap();
    assert_eq!(found(&ledger, 7), BTreeSet::new());
    block_on(ledger.delete_journal(journal(2), 0)).unwrap();
    block_on(ledger.delete_journal(journal(1), 0)).unwrap();
    assert_eq!(found(&ledger, 7), BTreeSet::new());
}

#[test]
fn a_renumbered_tail_is_out_of_order_and_cut() {
    let ledger = family();
    // Entry 38 is taken out and those after it move up, as an editor of the table would.
    for (a, b) in [(38, 39), (39, 40)] {
        ledger.tamper(journal(1), Tampering::Swap { a, b }).unwrap();
    }
    ledger.tamper(journal(1), Tampering::Cut { after: 39 }).unwrap();
    let right = [(1, 38, What::Reordered), (1, 39, What::Reordered), (1, 40, What::Cut)];
    assert_eq!(found(&ledger, 256), right.into());
}

#[test]
fn a_cycle_is_out_of_order_and_nothing_else() {
    let ledger = family();
    for (a, b) in [(5, 9), (9, 20)] {
        ledger.tamper(journal(1), Tampering::Swap { a, b }).unwrap();
    }
    let right = [5, 9, 20].map(|seq| (1, seq, What::Reordered));
    assert_eq!(found(&ledger, 256), right.into());
}

#[test]
fn a_lost_parent_is_a_finding_of_its_fork() {
    let ledger = family();
    let filter = JournalFilter { parent: Some(journal(1)), ..JournalFilter::default() };
    // Verified without its parent, a fork is compared with what the parent has stored.
    let options = Options { journals: filter.clone(), ..Options::default() };
    assert_eq!(block_on(verify(&ledger, options)).unwrap().findings, []);
    ledger.tamper(journal(1), Tampering::Cut { after: 30 }).unwrap();
    let report = block_on(verify(&ledger, Options { journals: filter, ..Options::default() })).unwrap();
    let named: Vec<_> = report.findings.iter().map(|finding| (finding.journal, finding.first, finding.what)).collect();
    assert_eq!(named, [(journal(4), 40, What::ForkPoint)]);
}

#[test]
fn an_entry_of_another_owner_is_named() {
    let ledger = family();
    let other = NewEntry { owner: Pseudonym([9; 16]), ..entry(7) };
    let appends = vec![Append { journal: journal(1), entries: vec![other, entry(8)] }];
    block_on(ledger.commit(Commit { appends, ..Commit::default() })).unwrap();
    assert_eq!(found(&ledger, 256), [(1, 41, What::WrongOwner)].into());
}

#[test]
fn messages_name_journal_and_range() {
    let ledger = family();
    ledger.tamper(journal(1), Tampering::Cut { after: 37 }).unwrap();
    ledger.tamper(journal(1), Tampering::FlipLink { seq: 3, bit: 1 }).unwrap();
    let report = block_on(verify(&ledger, Options::default())).unwrap();
    let messages: Vec<_> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "entry 3 of journal 01010101010101010101010101010101 has a changed link: what follows was chained to another",
            "entries 38 to 40 of journal 01010101010101010101010101010101 are cut off: not stored, though within the \
         journal's head",
        ]
    );
}

/// The same damage, done to a database's rows behind its back.
fn tamper_with_database(database: &rusqlite::Connection, number: u8, tampering: Tampering) {
    let id = journal(number).0;
    let row: i64 = database.query_row("SELECT row FROM journal WHERE id = ?1", [&id[..]], |row| row.get(0)).unwrap();
    let place = |seq: u64| (row, i64::try_from(seq).unwrap());
    let flip = |column: &str, seq: u64, bit: usize| {
        let (select, update) = (
            format!("SELECT {column} FROM entry WHERE journal = ?1 AND seq = ?2"),
            format!("UPDATE entry SET {column} = ?3 WHERE journal = ?1 AND seq = ?2"),
        );
        let mut bytes: Vec<u8> = database.query_row(&select, place(seq), |row| row.get(0)).unwrap();
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (row, seq) = place(seq);
        assert_eq!(database.execute(&update, (row, seq, bytes)).unwrap(), 1);
    };
    let run = |sql: &str, seq: u64| assert!(database.execute(sql, place(seq)).unwrap() > 0, "{sql}");
    match tampering {
        Tampering::FlipHeader { seq, bit } => flip("header", seq, bit),
        Tampering::FlipLink { seq, bit } => flip("link", seq, bit),
        Tampering::FlipPayload { seq, bit } => flip("payload", seq, bit),
        Tampering::Remove { seq } => run("DELETE FROM entry WHERE journal = ?1 AND seq = ?2", seq),
        Tampering::Swap { a, b } if a == b => {}
        Tampering::Swap { a, b } => {
            run("UPDATE entry SET seq = -1 WHERE journal = ?1 AND seq = ?2", a);
            let (row, a) = place(a);
            let sql = "UPDATE entry SET seq = ?3 WHERE journal = ?1 AND seq = ?2";
            assert_eq!(database.execute(sql, (row, place(b).1, a)).unwrap(), 1);
            assert_eq!(database.execute(sql, (row, -1, place(b).1)).unwrap(), 1);
        }
        Tampering::Cut { after } => run("DELETE FROM entry WHERE journal = ?1 AND seq > ?2", after),
        Tampering::MoveHead { seq } => run(
            "UPDATE journal SET head_seq = ?2, head_link = (SELECT link FROM entry WHERE journal = ?1 AND seq = ?2) \
             WHERE row = ?1",
            seq,
        ),
        Tampering::FlipHeadLink { bit } => {
            let sql = "SELECT head_link FROM journal WHERE row = ?1";
            let mut bytes: Vec<u8> = database.query_row(sql, [row], |row| row.get(0)).unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
            database.execute("UPDATE journal SET head_link = ?2 WHERE row = ?1", (row, bytes)).unwrap();
        }
        Tampering::MakeUnreadable { seq } => {
            run("UPDATE entry SET link = x'00' WHERE journal = ?1 AND seq = ?2", seq);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn damage_to_a_database_is_found_and_named_exactly((number, tampering) in anywhere(), page in 1..60_usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let ledger = SqliteLedger::open(OpenOptions::new(&path).create()).unwrap();
        fill(&ledger);
        let database = rusqlite::Connection::open(&path).unwrap();
        tamper_with_database(&database, number, tampering);
        prop_assert_eq!(found(&ledger, page), expected(number, tampering));
    }
}

#[test]
fn a_checked_read_names_damage_and_returns_what_is_intact() {
    for (tampering, code) in [
        (Tampering::FlipHeader { seq: 10, bit: 300 }, "changed_entry"),
        (Tampering::FlipHeader { seq: 10, bit: 40 }, "changed_entry"),
        (Tampering::Swap { a: 10, b: 12 }, "changed_entry"),
        (Tampering::Remove { seq: 10 }, "missing_entry"),
        (Tampering::Cut { after: 9 }, "missing_entry"),
        (Tampering::MakeUnreadable { seq: 10 }, "unreadable_entry"),
    ] {
        let memory = family();
        memory.tamper(journal(1), tampering).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let database = SqliteLedger::open(OpenOptions::new(&path).create()).unwrap();
        fill(&database);
        tamper_with_database(&rusqlite::Connection::open(&path).unwrap(), 1, tampering);
        for ledger in [&memory as &dyn Ledger, &database] {
            let error = block_on(ledger.read(Read::range(journal(1), 1, 40))).unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, code), "{tampering:?}: {error}");
            assert!(error.message().contains(&format!("entry 10 of journal {}", journal(1))), "{error}");
            assert_eq!(block_on(ledger.read(Read::range(journal(1), 1, 9))).unwrap().len(), 9);
            let backward = Read { direction: Direction::Backward, limit: 9, ..Read::range(journal(1), 1, 9) };
            assert_eq!(block_on(ledger.read(backward)).unwrap().len(), 9);
            if !matches!(tampering, Tampering::Cut { .. }) {
                assert_eq!(block_on(ledger.read(Read::range(journal(1), 13, 40))).unwrap().len(), 28);
            }
        }
    }
}
