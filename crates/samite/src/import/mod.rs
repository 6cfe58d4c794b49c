//! Importers: what another harness left behind, as a plan that the fabric carries out.
//!
//! Planning is pure: it reads bytes that it is given and answers with data. [`Importer`] carries the plan out.

mod carry_out;
pub mod claude_code;
mod codex;
mod frame;
mod gemini_cli;
mod langgraph;
mod openhands;
mod responses;
mod sources;
mod swe_agent;
#[cfg(test)]
mod tests;
mod words;

pub use carry_out::{Imported, Importer, NOT_A_TRANSCRIPT, OnBytes};
pub use frame::report::Unit;
pub use langgraph::{Checkpoints, is_address};
pub use sources::Harness;
pub(crate) use words::Teller;
