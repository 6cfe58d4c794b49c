//! `samite artifact policy`.

use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Decide how long artifacts of a type are kept, or show what is decided
///
/// Days count from an artifact's publication. Nothing goes without a policy or a decision of its own (`artifact keep`):
/// artifacts without either are kept for ever, and `samite status` counts them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact policy
  samite artifact policy chart --days 90
  samite artifact policy document --forever
  samite artifact policy chart --none")]
pub(crate) struct Policy {
    /// The type; without it, the policies are shown
    #[arg(requires = "How")]
    of_type: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
#[group(id = "How", multiple = false, requires = "of_type")]
struct How {
    /// So many days after their publication
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// For ever
    #[arg(long)]
    forever: bool,
    /// Nothing is decided any more
    #[arg(long)]
    none: bool,
}

#[derive(Serialize)]
struct Policies {
    policies: Vec<OfType>,
}

#[derive(Serialize)]
struct OfType {
    #[serde(rename = "type")]
    of_type: String,
    days: Option<u32>,
}

impl Answer for Policies {
    fn show(&self, page: &mut Page) {
        if self.policies.is_empty() {
            return page.styled(Style::Dim, "no policy: artifacts are kept for ever, unless one has its own time");
        }
        let mut table = Table::new(&[("TYPE", Column::Flexible), ("KEPT", Column::Left)]);
        for policy in &self.policies {
            let kept = policy.days.map_or_else(|| "for ever".to_owned(), |days| format!("{days} days"));
            table.row([policy.of_type.clone(), kept]);
        }
        page.table(&table);
    }
}

impl Policy {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let access = if self.of_type.is_some() { Access::Write } else { Access::Read };
        let client = surface.open(access)?.client().await?;
        if let Some(of_type) = &self.of_type {
            let days = if self.how.none { None } else { Some(self.how.days) };
            client.set_artifact_policy(of_type, days).await?;
        }
        let policies = client.artifact_policies().await?;
        let policies = policies.into_iter().map(|policy| OfType { of_type: policy.of_type, days: policy.days });
        surface.printer.answer(&Policies { policies: policies.collect() })?;
        Ok(ExitCode::SUCCESS)
    }
}
