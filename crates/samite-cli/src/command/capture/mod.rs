//! `samite capture`: how much of events is kept.

mod set;
mod show;

use crate::printer::{Answer, Column, Page, Table};
use crate::surface::Surface;
use clap::Subcommand;
use samite::policy::Capture as Captured;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Decide how much of what agents and models say is kept: all, what was decided, or that something was said
#[derive(Debug, Subcommand)]
pub(crate) enum Capture {
    Set(set::Set),
    Show(show::Show),
}

impl Capture {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Set(command) => command.run(surface).await,
            Self::Show(command) => command.run(surface).await,
        }
    }
}

#[derive(Serialize)]
struct OfKind {
    kind: String,
    level: &'static str,
}

/// How much is kept of which kinds.
#[derive(Serialize)]
pub(super) struct CaptureShape {
    others: &'static str,
    kinds: Vec<OfKind>,
}

impl CaptureShape {
    pub(super) fn new(capture: &Captured) -> Self {
        let kinds = capture.kinds.iter().map(|(kind, level)| OfKind { kind: kind.name(), level: level.name() });
        Self { others: capture.others.name(), kinds: kinds.collect() }
    }
}

impl Answer for CaptureShape {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(&[("KIND", Column::Left), ("KEPT", Column::Left)]);
        for one in &self.kinds {
            table.row([one.kind.clone(), one.level.to_owned()]);
        }
        let others = if self.kinds.is_empty() { "all" } else { "all others" };
        table.row([others.to_owned(), self.others.to_owned()]);
        page.table(&table);
    }
}
