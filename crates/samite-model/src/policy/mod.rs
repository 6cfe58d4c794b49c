//! What an organisation decides about its data: consent to training, where it may be, and who else is given it. Pure.

pub mod capture;
mod consent;
mod derived;
mod processor;
mod region;
pub mod retention;

pub use consent::{ConsentOn, given};
pub use derived::{Derivation, Node, NodeFacts, Source, Sources};
pub use processor::{RECEIVES, check_receives};
pub use region::{Placement, Region};
