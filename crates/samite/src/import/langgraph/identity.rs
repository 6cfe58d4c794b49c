//! Which session a thread is.
//!
//! A thread's id says little: every program that follows a tutorial has a thread `1`. The ids of checkpoints are unique.
//! So a thread is the session of its name that knows one of its checkpoints, or the checkpoint before its first one; where
//! there is none, it is another thread of that name, and has a number.

use super::database::Checkpoints;
use super::planner::{checkpoint_id, session_key, write_id};
use crate::client::Client;
use crate::import::frame::plan::DedupeId;
use crate::views::{IndexHash as _, row};
use samite_ledger::RowQuery;
use samite_model::{Position, Result, SessionId};

/// How many ids are looked for at once.
const AT_ONCE: usize = 256;

/// Which of the threads with its name a thread is; the first one is 1.
pub(super) async fn number_of(client: &Client, checkpoints: &Checkpoints, thread: &str) -> Result<u64> {
    let mut namespaces = Vec::new();
    for namespace in checkpoints.namespaces(thread)? {
        let mut ids: Vec<DedupeId> = Vec::new();
        let skeleton = checkpoints.skeleton(thread, &namespace)?;
        ids.extend(skeleton.iter().map(|row| checkpoint_id(&row.id)));
        // One that was deleted since.
        ids.extend(skeleton.iter().filter_map(|row| row.parent.as_deref()).map(checkpoint_id));
        for id in checkpoints.strays(thread, &namespace)? {
            ids.push(checkpoint_id(&id));
            let writes = checkpoints.writes(thread, &namespace, &id)?;
            ids.extend(writes.iter().map(|write| write_id(&id, write)));
        }
        ids.sort();
        ids.dedup();
        namespaces.push((namespace, ids));
    }
    // Blobs alone tell nothing of whose they are.
    if namespaces.iter().all(|(_, ids)| ids.is_empty()) {
        return Ok(1);
    }
    let mut number = 1;
    loop {
        let Some(session) = client.session_by_key(&session_key(thread, number, "")).await? else { return Ok(number) };
        // An import that was cut off at its start left nothing in it.
        if !has_any(client, session, &[]).await? {
            return Ok(number);
        }
        for (namespace, ids) in &namespaces {
            let session = client.session_by_key(&session_key(thread, number, namespace)).await?;
            if let Some(session) = session.filter(|_| !ids.is_empty())
                && has_any(client, session, ids).await?
            {
                return Ok(number);
            }
        }
        number += 1;
    }
}

/// Whether a session has an entry that is known by one of these ids; without ids, by any.
async fn has_any(client: &Client, session: SessionId, ids: &[DedupeId]) -> Result<bool> {
    let of = client.core.hasher(client.subject.pseudonym, session);
    let hashes: Vec<[u8; 16]> =
        ids.iter().map(|id| of.hash("dedupe", &[id.as_str().as_bytes()])).collect::<Result<_>>()?;
    let parts: Vec<Vec<[u8; 16]>> =
        if hashes.is_empty() { vec![Vec::new()] } else { hashes.chunks(AT_ONCE).map(<[_]>::to_vec).collect() };
    for branch in client.branches(session).await? {
        let at = Position { journal: branch.id, seq: branch.head };
        for hashes in &parts {
            let query = RowQuery { at, kind: row::DEDUPE, hashes: hashes.clone(), limit: 1 };
            if !branch.deleted && !client.core.0.ledger.rows(query).await?.is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
