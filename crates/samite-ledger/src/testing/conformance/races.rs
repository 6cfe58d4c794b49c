//! Callers on several threads at once.

use super::Backend;
use super::fixture::{
    all, appending, at, entry, entry_with_row, found, header, identity, journal, links, ok, root, row, seqs,
};
use crate::{Commit, Guard, LeaseOutcome, LeaseRequest};
use futures_lite::future::block_on;
use samite_model::{ErrorKind, Pseudonym, Result, hash};
use std::sync::{Arc, Barrier};

const THREADS: u8 = 4;
const ROUNDS: u8 = 12;

/// Runs this on several threads at once and returns what came of it, thread by thread.
fn at_once<T: Send>(run: impl Fn(u8) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(usize::from(THREADS));
    std::thread::scope(|scope| {
        let (start, run) = (&start, &run);
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                scope.spawn(move || {
                    start.wait();
                    run(number)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
            .collect()
    })
}

/// How many succeeded, when the others failed in the expected way.
#[track_caller]
fn winners<T>(results: Vec<Result<T>>, code: &str) -> usize {
    let count = results.len();
    let losers: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    for error in &losers {
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, code), "{error}");
    }
    count - losers.len()
}

pub(super) async fn one_of_two_wins_a_head(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 0..=0).await;
    for round in 1..=ROUNDS {
        let results = at_once(|number| {
            let guards = vec![Guard::Head { journal: journal(1), seq: u64::from(round) }];
            block_on(ledger.commit(Commit { guards, ..appending(1, vec![entry(number)]) }))
        });
        assert_eq!(winners(results, "head_moved"), 1, "round {round}");
    }
    assert_eq!(seqs(&*ledger, 1).await.len(), usize::from(ROUNDS) + 1);
}

pub(super) async fn many_writers_append_without_gaps(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 0..=0).await;
    let receipts = at_once(|number| {
        let append = |round: u8| {
            let two = vec![entry(10 * number + round), entry(100 + 10 * number + round)];
            (round, ok(block_on(ledger.commit(appending(1, two)))).first_seqs)
        };
        (0..6).map(append).collect::<Vec<_>>()
    });
    let stored = all(&*ledger, 1).await;
    assert_eq!(stored.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (1..=1 + 48).collect::<Vec<u64>>());
    let stored_links: Vec<_> = stored.iter().map(|entry| entry.link).collect();
    assert_eq!(stored_links, links(hash::genesis(&identity(1)), &stored));
    for (number, rounds) in (0..).zip(receipts) {
        let mut last = 0;
        for (round, first) in rounds {
            let [first] = first[..] else { panic!("{first:?} is not one seq") };
            assert!(first > last, "a writer's own commits keep their order");
            last = first;
            let of = |seq: u64| stored.iter().find(|entry| entry.seq == seq).map(|entry| entry.header.clone());
            assert_eq!(of(first), Some(header(10 * number + round, first).encode().to_vec()));
            assert_eq!(of(first + 1), Some(header(100 + 10 * number + round, first + 1).encode().to_vec()));
        }
    }
}

pub(super) async fn one_of_two_wins_a_dedupe_row(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 0..=0).await;
    for round in 1..=ROUNDS {
        let results = at_once(|number| {
            let guards = vec![Guard::RowAbsent { journal: journal(1), kind: 1, hashes: vec![[round; 16]] }];
            let entries = vec![entry_with_row(number, row(1, round, number))];
            block_on(ledger.commit(Commit { guards, ..appending(1, entries) }))
        });
        assert_eq!(winners(results, "row_exists"), 1, "round {round}");
        assert_eq!(found(&*ledger, at(1, u64::MAX), 1, &[round]).await.len(), 1);
    }
}

pub(super) async fn one_of_two_wins_a_lease(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 0..=0).await;
    for round in 1..=ROUNDS {
        let outcomes = at_once(|number| {
            let request = LeaseRequest {
                journal: journal(1),
                writer: Pseudonym([round * 10 + number; 16]),
                now: i64::from(round) * 100,
                expires: i64::from(round) * 100 + 50,
                process: Vec::new(),
                take_over: None,
            };
            ok(block_on(ledger.lease(request)))
        });
        let held = outcomes.iter().filter(|outcome| matches!(outcome, LeaseOutcome::Held { .. })).count();
        assert_eq!(held, 1, "round {round}: {outcomes:?}");
        for outcome in outcomes {
            match outcome {
                LeaseOutcome::Held { epoch, .. } => assert_eq!(epoch, u64::from(round)),
                LeaseOutcome::Busy(lease) => assert_eq!(lease.epoch, u64::from(round)),
                LeaseOutcome::Released => panic!("nobody gave the lease up"),
            }
        }
    }
}

pub(super) async fn a_refused_commit_does_not_take_others_with_it(ledger: Arc<dyn Backend>) {
    root(&*ledger, 1, 0..=0).await;
    root(&*ledger, 2, 0..=0).await;
    let results = at_once(|number| {
        let commit = |round: u8| {
            // Odd threads write what must be refused after part of it could have been applied.
            let mut commit = appending(1, vec![entry_with_row(round, row(1, number, round))]);
            if number % 2 == 1 {
                commit.appends.extend(appending(9, vec![entry(1)]).appends);
            }
            block_on(ledger.commit(commit)).map_err(|error| (error.kind(), error.code())).map(drop)
        };
        (0..6).map(commit).collect::<Vec<_>>()
    });
    for (number, results) in (0..).zip(results) {
        let expected = if number % 2 == 1 { Err((ErrorKind::NotFound, "no_journal")) } else { Ok(()) };
        assert!(results.iter().all(|result| *result == expected), "thread {number}: {results:?}");
    }
    assert_eq!(seqs(&*ledger, 1).await.len(), 1 + 12);
    assert_eq!(found(&*ledger, at(1, u64::MAX), 1, &[1, 3]).await, []);
    assert_eq!(found(&*ledger, at(1, u64::MAX), 1, &[0, 2]).await.len(), 12);
}
