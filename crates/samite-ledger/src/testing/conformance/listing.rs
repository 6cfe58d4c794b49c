//! Listing journals.

use super::Backend;
use super::fixture::{OWNER, at, family, journal, listed, new_journal, ok, root, state};
use crate::{Commit, JournalFilter, JournalKind, NewJournal};
use samite_model::JournalId;
use std::sync::Arc;

/// Journals 9, 5, 7 and 3: a branch, its control journal, a fork of the branch and one of another family.
async fn prepare(ledger: &dyn Backend) {
    root(ledger, 9, 1..=2).await;
    let make = |number, kind, family, parent| {
        let journals = vec![NewJournal { family, kind, ..new_journal(number, parent) }];
        ledger.commit(Commit { journals, ..Commit::default() })
    };
    ok(make(5, JournalKind::SessionControl, family(9), None).await);
    ok(make(7, JournalKind::Branch, family(9), Some(at(9, 2))).await);
    ok(make(3, JournalKind::Workspace, family(3), None).await);
}

pub(super) async fn journals_come_in_the_order_of_their_making(ledger: Arc<dyn Backend>) {
    assert_eq!(listed(&*ledger, JournalFilter::default()).await, []);
    prepare(&*ledger).await;
    let all = ok(ledger.journals(JournalFilter::default()).await);
    let mut expected = Vec::new();
    for number in [9, 5, 7, 3] {
        expected.push(state(&*ledger, number).await);
    }
    assert_eq!(all, expected);
}

pub(super) async fn journals_are_found_by_family_kind_and_parent(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    let by = |family, kind, parent| JournalFilter { family, kind, parent, prefix: None };
    for (filter, expected) in [
        (by(Some(family(9)), None, None), &[9, 5, 7][..]),
        (by(None, Some(JournalKind::Branch), None), &[9, 7]),
        (by(Some(family(9)), Some(JournalKind::SessionControl), None), &[5]),
        (by(None, None, Some(journal(9))), &[7]),
        (by(Some(family(3)), None, Some(journal(9))), &[]),
        (by(None, Some(JournalKind::Audit), None), &[]),
        (by(Some(family(8)), None, None), &[]),
    ] {
        let expected: Vec<JournalId> = expected.iter().map(|number| journal(*number)).collect();
        assert_eq!(listed(&*ledger, filter.clone()).await, expected, "{filter:?}");
    }
}

pub(super) async fn journals_are_found_by_prefix(ledger: Arc<dyn Backend>) {
    let id = |first, second| {
        let mut id = [second; 16];
        if let Some(byte) = id.first_mut() {
            *byte = first;
        }
        JournalId(id)
    };
    let [first, second, third] = [id(0xab, 0xcd), id(0xab, 0xce), id(0x1b, 0xcd)];
    for (id, second) in [(first, 0xcd), (second, 0xce), (third, 0xcd)] {
        let new = NewJournal { id, family: family(second), kind: JournalKind::Branch, owner: OWNER, parent: None };
        ok(ledger.commit(Commit { journals: vec![new], ..Commit::default() }).await);
    }
    let whole = first.to_string();
    for (digits, of_family, expected) in [
        ("ab", false, vec![first, second]),
        ("a", false, vec![first, second]),
        ("abc", false, vec![first, second]),
        ("abce", false, vec![second]),
        ("1", false, vec![third]),
        ("", false, vec![first, second, third]),
        ("bc", false, vec![]),
        ("AB", false, vec![]),
        ("%", false, vec![]),
        ("a_", false, vec![]),
        (&whole, false, vec![first]),
        ("cd", true, vec![first, third]),
        ("c", true, vec![first, second, third]),
        ("cec", true, vec![second]),
        ("ab", true, vec![]),
    ] {
        let filter = JournalFilter { prefix: Some((digits.to_owned(), of_family)), ..JournalFilter::default() };
        assert_eq!(listed(&*ledger, filter).await, expected, "{digits:?} {of_family}");
    }
}

pub(super) async fn an_unknown_journal_has_no_state(ledger: Arc<dyn Backend>) {
    prepare(&*ledger).await;
    assert_eq!(ok(ledger.journal(journal(4)).await), None);
}
