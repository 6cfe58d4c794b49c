//! What `samite memory files` and `samite memory graph` have in common.

use super::new::parse_trust;
use super::within::Within;
use crate::input::standard_input;
use crate::reference::Reference;
use clap::Args;
use samite::Client;
use samite::memory::{Memory, ToolWriter, Trust};
use samite_model::{Error, Result};
use serde_json::Value;

/// A call has at most so many bytes.
const CALL: u64 = 4 << 20;

/// Who calls a tool.
#[derive(Debug, Args)]
pub(super) struct Calling {
    #[command(flatten)]
    within: Within,
    /// Who stands behind what is written: user, operator, model, tool or web
    #[arg(long, default_value = "model", value_parser = parse_trust)]
    trust: Trust,
    /// Say that what is written comes from SESSION or SESSION:BRANCH
    #[arg(long, short = 's', value_name = "SESSION")]
    session: Option<Reference>,
}

impl Calling {
    /// The namespace, and who writes to it.
    pub(super) async fn of(&self, client: &Client) -> Result<(Memory, ToolWriter)> {
        let from = match &self.session {
            Some(session) => {
                let found = session.find_branch(client).await?;
                Some((found.session, found.branch_or_current(client).await?, None))
            }
            None => None,
        };
        Ok((self.within.of(client)?, ToolWriter { trust: self.trust, from }))
    }
}

/// The call on standard input.
pub(super) fn call() -> Result<Value> {
    let bytes = standard_input("the call", CALL)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::invalid("bad_call", format!("the call is not JSON: {error}")).because(error))
}
