//! `samite memory forget`.

use super::within::Within;
use crate::command::erase::Asked;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::erasure::EraseWhat;
use samite_model::Result;
use std::process::ExitCode;

/// Erase records for good, with all that was made of them
///
/// It is an erasure like those of `samite erase`: the plan is shown first, and a proof is kept. What was made of the records goes with
/// them, and what was made of that; records that they had replaced stay, and stay ended. Nobody but the user says it again: agents,
/// imports and promotions are refused.
#[derive(Debug, Args)]
#[command(
    override_usage = "samite memory forget [OPTIONS] -n <NAME> --reason <REASON> <RECORD>...",
    after_long_help = "\
Examples:
  samite memory forget -n notes 8c1e --reason 'asked for' --plan
  samite memory forget -n notes 8c1e 77d0 --reason 'asked for' --yes"
)]
pub(crate) struct Forget {
    #[command(flatten)]
    within: Within,
    /// The records
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<String>,
    /// Why: it stays in the proof, and should name nobody
    #[arg(long)]
    reason: String,
    /// Erase this too, of what the plan says was made of it: an id, or its beginning; may be repeated
    #[arg(long, value_name = "ID")]
    also: Vec<String>,
    /// Only show what would go
    #[arg(long)]
    plan: bool,
    /// Erase without asking
    #[arg(long, conflicts_with = "plan")]
    yes: bool,
}

impl Forget {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(if self.plan { Access::Read } else { Access::Write })?;
        let client = store.client().await?;
        let memory = self.within.of(&client)?;
        let mut records = Vec::with_capacity(self.records.len());
        for record in &self.records {
            records.push(memory.find_record(record).await?);
        }
        let what = EraseWhat::Records { namespace: memory.namespace().clone(), records };
        let Self { reason, also, plan, yes, .. } = self;
        Asked { what, reason, also, plan, yes }.run(surface, &store, &client).await
    }
}
