//! The samite command.
fn main() {}
