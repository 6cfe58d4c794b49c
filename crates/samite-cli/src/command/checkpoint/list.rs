//! `samite checkpoint list`.

use crate::printer::words::{bytes, duration, rfc3339, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::workspace::CheckpointRecord;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the checkpoints of a branch, with what each cost
///
/// NEW is what it added to the store, TOOK how long the look through the workspace took, and AT RISK for how long work had
/// gone on that no checkpoint had: what a loss just before it would have cost. Those that a fork inherits are listed with the
/// branch that took them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite checkpoint list 3f2a
  samite checkpoint list 3f2a:9c41
  samite checkpoint list 3f2a --json | jq '.checkpoints[].new_bytes'")]
pub(super) struct List {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
}

#[derive(Serialize)]
struct Listed {
    session: String,
    branch: String,
    checkpoints: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    seq: u64,
    time: String,
    label: Option<String>,
    cause: Option<&'static str>,
    new_bytes: u64,
    duration_ns: Option<u64>,
    exposed_ns: u64,
    thinned: bool,
    there: bool,
    #[serde(skip)]
    when: i64,
}

impl Row {
    fn new(record: &CheckpointRecord) -> Self {
        Self {
            id: record.tree.tree.root.to_string(),
            seq: record.tree.position.seq,
            time: rfc3339(record.tree.time),
            label: record.tree.tree.label.clone(),
            cause: record.cause.map(samite_model::cadence::Cause::name),
            new_bytes: record.new_bytes,
            duration_ns: record.duration,
            exposed_ns: record.exposed,
            thinned: record.thinned,
            there: record.there,
            when: record.tree.time,
        }
    }
}

impl Answer for Listed {
    fn show(&self, page: &mut Page) {
        if self.checkpoints.is_empty() {
            return page.line("this branch took no checkpoint yet; `samite checkpoint SESSION` takes one");
        }
        let mut table = Table::new(&[
            ("SEQ", Column::Right),
            ("TIME", Column::Left),
            ("WHY", Column::Flexible),
            ("NEW", Column::Right),
            ("TOOK", Column::Right),
            ("AT RISK", Column::Right),
            ("", Column::Left),
        ]);
        for row in &self.checkpoints {
            let why = row.label.clone().or_else(|| row.cause.map(|cause| cause.replace('_', " ")));
            let state = match (row.there, row.thinned) {
                (true, false) => "",
                (true, true) => "thinned out",
                (false, _) => "gone",
            };
            let style = if state.is_empty() { Style::Plain } else { Style::Dim };
            table.styled(
                style,
                [
                    row.seq.to_string(),
                    time(row.when),
                    why.unwrap_or_default(),
                    bytes(row.new_bytes),
                    row.duration_ns.map(duration).unwrap_or_default(),
                    if row.exposed_ns == 0 { String::new() } else { duration(row.exposed_ns) },
                    state.to_owned(),
                ],
            );
        }
        page.table(&table);
    }
}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let branch = found.branch_or_current(&client).await?;
        let checkpoints = client.checkpoints(found.session, Some(branch)).await?;
        surface.printer.answer(&Listed {
            session: found.session.to_string(),
            branch: branch.to_string(),
            checkpoints: checkpoints.iter().map(Row::new).collect(),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
