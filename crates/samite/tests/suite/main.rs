//! The fabric, tried as a harness uses it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests stop at what they do not expect, make their own files, and say what they skip"
)]

mod ages;
mod artifacts;
mod audit_archive;
mod audit_log;
mod audit_moving;
mod cadence;
mod cadence_hour;
mod cases;
mod changing_models;
mod children;
mod closing;
mod collecting;
mod damage;
mod disks;
mod erasing;
mod erasing_again;
mod erasing_in_order;
mod erasing_memory;
mod erasing_returned;
mod erasing_shared;
mod fixtures;
mod forks;
mod histories;
mod imports;
mod imports_grown;
mod imports_rows;
mod ingesting;
mod keeping;
mod leaking;
mod limits;
mod long;
mod memories;
mod merges;
mod mount;
#[cfg(feature = "cedar")]
mod organisation;
mod outside;
mod place;
mod previews;
mod processes;
mod recalling;
mod recorded_reads;
mod recovery;
mod redaction;
mod releases;
mod repeats;
mod retaining_memory;
mod revoking;
mod scripts;
mod sessions;
mod settings;
mod sharing;
mod simulation;
mod step_trees;
mod steps;
mod support;
mod sweeping;
mod tenants;
mod thinning;
mod thinning_keeps;
mod tool_views;
mod unacknowledged;
mod watched;
mod workspaces;
mod zombies;
