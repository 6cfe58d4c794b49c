//! A branch that an agent holds for the length of its turn, as the person understands it who works with the agent.

use super::event::Harness;
use super::sessions::session_key;
use crate::client::Client;
use crate::transcript::uuid;
use samite_model::{BranchId, Error, SessionId};

/// Where the writer that holds a branch is an agent, in the middle of a turn: what a person does then is to wait for its end.
fn turn_runs(branch: BranchId, harness: &str, error: &Error) -> Error {
    let message = format!("a turn of {harness} runs on branch {}, and what it does is recorded there", branch.short());
    let by = error.hints().iter().find_map(|hint| hint.strip_prefix("wait for process ")?.split(' ').next());
    let pid = by.map_or_else(String::new, |pid| format!(" (process {pid})"));
    Error::conflict("lease_held", message)
        .hint(format!("wait until the turn has ended: {harness}{pid} itself may go on running, and need not be ended"))
        .hint("fork the session to work beside it, or take over, which fences it: its next event then belongs to the branch \
               that is current by then")
}

impl Client {
    /// A branch that is held, as a person understands it who works with an agent.
    pub(crate) async fn held_by_turn(&self, session: SessionId, branch: BranchId, error: Error) -> Error {
        if error.code() != "lease_held" {
            return error;
        }
        let Ok(info) = self.session(session).await else { return error };
        let source = |name: &str| info.created.source.as_ref()?.get(name)?.as_str();
        let Some((harness, its)) = source("harness").and_then(Harness::from_name).zip(source("session")) else {
            return error;
        };
        // One that was resumed from a branch is known by the branch.
        let keys = [session_key(harness, its, source("agent")), session_key(harness, &uuid(branch.as_bytes()), None)];
        for key in keys {
            if self.is_held_by(session, Some(branch), &key).await.unwrap_or(false) {
                return turn_runs(branch, harness.name(), &error);
            }
        }
        error
    }
}
