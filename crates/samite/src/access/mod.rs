//! Access: one place that nothing passes by. A client's ledger is not the tenant's but one that shows what its principal may
//! see and takes what it may write; what a principal may not see is, for everything above, not there.
//!
//! What an entry's kind says is done tells which right it needs (`acts`). Whoever adds a method to the client gets the
//! check with it; whoever adds a kind has to say whose act it is. Work that is the whole tenant's, such as a collection,
//! asks for the right to operate it ([`Client::operator`](crate::Client)).

mod acts;
mod authority;
mod enter;
mod grants;
mod guard;
mod ledger;
mod overseer;
mod reads;

pub(crate) use authority::Authority;
pub use authority::{OfWhat, Policies};
pub use enter::SharedSession;
pub use grants::{RecordedRead, Shared};
pub(crate) use ledger::Guarded;
pub(crate) use reads::{Reads, Registry};
