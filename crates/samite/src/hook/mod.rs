//! Hooks of CLI agents: a harness runs a short command at each event and tells it what happens. Here that becomes entries,
//! steps and checkpoints of a session.
//!
//! [`HookEvent::parse`] reads what a harness tells, [`Policy`] says what its tools can do to the world, both pure;
//! [`Client::hook`](crate::Client::hook) carries an event out.

mod calls;
mod carry_out;
mod event;
mod held;
mod once;
mod parse;
pub mod policy;
mod push;
mod sessions;
pub mod setup;
mod shell;
mod spool;
mod tools;
mod turn;

pub use carry_out::{Handled, HookOptions};
pub use event::{Agent, Compacting, Ending, Harness, HookEvent, Tool, What};
pub use policy::Policy;
pub use sessions::session_key;
pub use spool::{Spool, Unrecorded};
