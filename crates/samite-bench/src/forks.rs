//! 500 forks of a session of 64 MB.

use crate::Bench;
use crate::store::{Scratch, bytes_below};
use crate::table::{Row, Table, Target};
use crate::turns::{count, in_turns};
use futures_lite::future::block_on;
use samite::{ForkOptions, NewEvent};
use samite_host::{Random, SystemRandomness};
use samite_model::{EntryKind, Result};

const FORKS: usize = 500;
const ENTRIES: usize = 1_024;
const ENTRY: usize = 64 << 10;
const SMALL: usize = 500;

/// A message of so many random bytes.
pub(crate) fn event(bytes: usize) -> Result<NewEvent> {
    // Randomness does not shrink: the session is as large on the disk as it says.
    let mut body = vec![0; bytes];
    SystemRandomness::new().fill(&mut body)?;
    Ok(NewEvent { kind: EntryKind::MESSAGE, body, attributes: None, dedupe: None, expected_head: None })
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let ours = Scratch::new(bench)?;
    let (session, writer) = ours.session()?;
    for _ in 0..ENTRIES {
        block_on(writer.append(event(ENTRY)?))?;
    }
    let settled = || -> Result<u64> {
        block_on(ours.embedded.ledger().checkpoint())?;
        bytes_below(&ours.path())
    };
    let before = settled()?;
    // The appends go to another session, so that only the forks' bytes are counted below.
    let (_, other) = ours.session()?;
    let append = |_| block_on(async { other.append(event(SMALL)?).await.map(|_| ()) });
    let fork = |_| block_on(async { ours.client.fork(session, ForkOptions::default()).await.map(|_| ()) });
    let (one_fork, one_append) = in_turns(FORKS, fork, append)?;
    let with_appends = settled()?;
    for round in 0..FORKS {
        append(round)?;
    }
    let appends = settled()?.saturating_sub(with_appends);
    let added = with_appends.saturating_sub(before).saturating_sub(appends);
    table.row(&Row {
        name: "500 forks of a 64 MB session add / 1 MB",
        ours: count(added) / 1e6,
        other: 1.0,
        unit: "MB",
        ratio: count(added) / 1e6,
        target: Target::AtMost(1.0),
    });
    table.row(&Row {
        name: "a fork / an append",
        ours: one_fork * 1e3,
        other: one_append * 1e3,
        unit: "ms",
        ratio: one_fork / one_append,
        target: Target::AtMost(2.0),
    });
    Ok(())
}
