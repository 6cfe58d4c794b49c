//! The fabric: sessions, steps, checkpoints, forks, rewind and recovery over journals and workspaces.
//!
//! [`Store`] opens where the bytes live; [`Client`] is a store seen by one principal, and everything is asked of it;
//! [`Writer`] is a client's lease on one branch, and everything is appended through it.

pub mod access;
pub mod artifact;
pub mod audit;
mod backup;
mod branch;
mod client;
mod context;
mod core;
pub mod embedded;
pub mod erasure;
pub mod fingerprint;
mod gc;
pub mod hook;
pub mod import;
mod log;
pub mod merge;
mod named;
pub mod payload;
pub mod policy;
pub mod probe;
mod rebuild;
pub mod recover;
pub mod redaction;
pub mod run;
mod session;
mod settings;
mod status;
mod step;
mod subject_export;
pub mod syntax;
mod tenant;
pub mod transcript;
mod turn;
mod turns;
pub mod verify;
mod views;
pub mod workspace;
mod writer;

pub use backup::{Backup, BackupOptions};
pub use branch::{Branch, DEFAULT_TREES_KEPT, DeletionPlan, ForkOptions, ForkReport, LeftBehind, Lifetime, MergedFrom};
pub use client::Client;
pub use core::{Backends, Store};
pub use gc::{CollectionPlan, Reclaimable, ReclaimableArtifact};
pub use log::{Entry, ReadOptions, Reader};
pub use samite_model::{Observer, Progress};
pub use samite_workspace::CollectOptions;
pub use session::{NewSession, SessionInfo};
pub use status::{BranchStatus, SessionStatus, StoreStatus};
pub use step::{Begin, Completion, Ended, InDoubt, NewStep, Outcome, Resolution, Settled, StepHandle, StepRecord};
pub use subject_export::{SubjectExport, SubjectExportOptions};
pub use turn::EndedTurn;
pub use turns::{OtherLine, Said, Turn, TurnArtifact, TurnLog, TurnMerge, TurnTree};
pub use writer::{Appended, NewEvent, Writer, WriterOptions};
