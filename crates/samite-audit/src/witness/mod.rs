//! The client's side of a witness (C2SP tlog-witness): it is sent a new tree head with a proof that it continues the one that it saw
//! last, and cosigns it.

mod message;
mod submit;

pub use message::{Answer, answer, request};
pub use submit::{Submission, accept, reach, submit};
