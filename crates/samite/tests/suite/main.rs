//! The fabric, tried as a harness uses it.

mod forks;
mod imports;
mod sessions;
mod steps;
mod support;
mod workspaces;
