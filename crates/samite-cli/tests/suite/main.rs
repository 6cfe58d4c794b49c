//! The command as people and harnesses use it: the built binary, on stores of its own.

mod errors;
mod help;
mod journals;
mod readme;
mod steps;
mod support;
