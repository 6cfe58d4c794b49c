//! Which namespace a command is about.

use clap::Args;
use samite::Client;
use samite::memory::{Memory, MemorySettings, Namespace, Standing};
use samite_model::Result;

use crate::shape::RecordShape;

/// The namespace.
#[derive(Debug, Args)]
pub(super) struct Within {
    /// The namespace, a segment each time: --namespace team --namespace notes
    #[arg(long = "namespace", short = 'n', value_name = "NAME", required = true)]
    segments: Vec<String>,
}

impl Within {
    pub(super) fn of(&self, client: &Client) -> Result<Memory> {
        Ok(client.memory(Namespace::new(self.segments.iter().map(String::as_str))?))
    }
}

/// A record as an answer.
pub(super) fn shape(standing: &Standing, settings: &MemorySettings) -> RecordShape {
    RecordShape::new(standing, standing.is_quarantined(settings))
}
