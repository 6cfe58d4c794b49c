//! The shapes of answers: what JSON they are, and how they look on a page. Their field names are stable.

mod artifact;
mod assessment;
mod branch;
mod checkpoints;
mod closed;
mod entry;
mod error;
mod fork;
mod gist;
mod merge;
mod own;
mod plan;
mod position;
mod session;
mod step;
mod transcript;
mod turns;
mod workspace;

pub(crate) use artifact::{ArtifactShape, LineageShape, ListedArtifact, artifact_table, command_words};
pub(crate) use assessment::{AssessmentShape, SettlementShape};
pub(crate) use branch::{BranchShape, branches};
pub(crate) use checkpoints::{BranchCheckpointsShape, CheckpointsShape};
pub(crate) use closed::{ClosedAtShape, ClosedShape};
pub(crate) use entry::EntryShape;
pub(crate) use error::ErrorShape;
pub(crate) use fork::ForkShape;
pub(crate) use merge::MergeShape;
pub(crate) use own::Keys;
pub(crate) use plan::PlanShape;
pub(crate) use position::PositionShape;
pub(crate) use session::{SessionRow, SessionShape, SettingsShape};
pub(crate) use step::{OutcomeShape, StepShape, step_table};
pub(crate) use transcript::TranscriptShape;
pub(crate) use turns::TurnLogShape;
pub(crate) use workspace::{ChangeShape, CheckpointShape, RestoredShape, TreeShape, show_paths, show_scan};
