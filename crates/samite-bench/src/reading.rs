//! Reading a session of 10,000 entries, against a scan of the same rows that also opens and decompresses.

use crate::Bench;
use crate::bare::failed;
use crate::store::Scratch;
use crate::table::{Row, Table, Target};
use crate::turns::{count, in_turns};
use futures_lite::future::block_on;
use rusqlite::{Connection, OpenFlags};
use samite::{NewEvent, ReadOptions};
use samite_keys::Keyring;
use samite_model::{BranchId, EntryKind, Error, Header, Result};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

const ENTRIES: usize = 10_000;
const AT_ONCE: usize = 100;
const ROUNDS: usize = 15;

/// A message as a harness logs it, about 1 KB.
fn message(place: usize) -> NewEvent {
    let mut lines = String::new();
    for line in 0..12 {
        let word = place.wrapping_mul(31).wrapping_add(line * 7919).wrapping_mul(2_654_435_761) % 1_000_003;
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{:>5}  let value_{word} = table.get({});", line + place % 400, word % 997);
    }
    let body = json!({
        "type": "user",
        "uuid": format!("{place:08x}-0000-4000-8000-{:012x}", place.wrapping_mul(0x9e37_79b9)),
        "message": { "role": "user", "content": [{ "type": "tool_result", "content": lines }] },
    });
    NewEvent {
        kind: EntryKind::MESSAGE,
        body: body.to_string().into_bytes(),
        attributes: None,
        dedupe: None,
        expected_head: None,
    }
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let ours = Scratch::new(bench)?;
    let (session, writer) = ours.session()?;
    for start in (0..ENTRIES).step_by(AT_ONCE) {
        let appends = (start..start + AT_ONCE).map(|place| {
            let writer = &writer;
            Box::pin(async move { writer.append(message(place)).await.map(|_| ()) }) as _
        });
        crate::together::run(1, appends.collect())?;
    }
    let database = ours.database();
    let (keys, branch) = (ours.embedded.keys(), writer.branch());
    let read = |_| {
        let all = block_on(async { ours.client.read(session, None, ReadOptions::default()).await?.all().await })?;
        expect(all.len(), all.iter().map(|entry| entry.payload.as_ref().map_or(0, Vec::len)).sum())
    };
    let (ours, other) = in_turns(ROUNDS, read, |_| scan(&database, keys, branch))?;
    table.row(&Row {
        name: "reading 10,000 entries / a scan that opens them",
        ours: ours * 1e3,
        other: other * 1e3,
        unit: "ms",
        ratio: ours / other,
        target: Target::AtMost(1.4),
    });
    Ok(())
}

fn expect(entries: usize, bytes: usize) -> Result<()> {
    if entries == ENTRIES && bytes > ENTRIES {
        return Ok(());
    }
    Err(Error::internal("short_read", format!("{entries} entries and {} KB were read", count(bytes) / 1e3)))
}

/// The limit: one statement, and one thread that opens each row.
fn scan(database: &Path, keys: &Keyring, branch: BranchId) -> Result<()> {
    let database = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    let mut statement = database
        .prepare(
            "SELECT seq, header, link, payload FROM entry \
             WHERE journal = (SELECT row FROM journal WHERE id = ?1) ORDER BY seq",
        )
        .map_err(failed)?;
    let mut rows = statement.query([branch.as_bytes()]).map_err(failed)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let blob = |place: usize| row.get_ref(place).and_then(|value| Ok(value.as_blob()?)).map_err(failed);
        let header = Header::decode(blob(1)?)?;
        let payload = keys.open_payload(&header, branch, blob(3)?)?.into_inline()?;
        all.push((header, payload));
    }
    expect(all.len(), all.iter().map(|(_, payload)| payload.len()).sum())
}
