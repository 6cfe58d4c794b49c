//! `samite artifact usage`.

use crate::printer::words::{bytes, short_id};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::{Access, Surface};
use clap::{Args, ValueEnum};
use samite::artifact::UsageBy;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Sum up what artifacts take, by type, session or user
///
/// What a collection took does not count. Versions, inputs and workspaces share equal bytes: less may be on disk.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact usage
  samite artifact usage --by session")]
pub(crate) struct Usage {
    /// By what
    #[arg(long, value_enum, default_value = "type")]
    by: By,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Type,
    Session,
    User,
}

impl By {
    const fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Session => "session",
            Self::User => "user",
        }
    }
}

#[derive(Serialize)]
struct Summed {
    by: &'static str,
    groups: Vec<Group>,
}

#[derive(Serialize)]
struct Group {
    #[serde(rename = "group")]
    what: String,
    names: u64,
    versions: u64,
    bytes: u64,
    input_bytes: u64,
    without_policy: u64,
}

impl Answer for Summed {
    fn show(&self, page: &mut Page) {
        if self.groups.is_empty() {
            return page.styled(Style::Dim, "no artifacts");
        }
        let by = self.by.to_ascii_uppercase();
        let mut table = Table::new(&[
            (by.as_str(), Column::Flexible),
            ("NAMES", Column::Right),
            ("VERSIONS", Column::Right),
            ("BYTES", Column::Right),
            ("INPUTS", Column::Right),
            ("NO POLICY", Column::Right),
        ]);
        for group in &self.groups {
            let name = if self.by == "session" { short_id(&group.what) } else { group.what.clone() };
            table.row([
                name,
                group.names.to_string(),
                group.versions.to_string(),
                bytes(group.bytes),
                bytes(group.input_bytes),
                group.without_policy.to_string(),
            ]);
        }
        page.table(&table);
    }
}

impl Usage {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let by = match self.by {
            By::Type => UsageBy::Type,
            By::Session => UsageBy::Session,
            By::User => UsageBy::User,
        };
        let groups = client.artifact_usage(by).await?.into_iter().map(|usage| Group {
            what: usage.group,
            names: usage.names,
            versions: usage.versions,
            bytes: usage.bytes,
            input_bytes: usage.input_bytes,
            without_policy: usage.without_policy,
        });
        surface.printer.answer(&Summed { by: self.by.name(), groups: groups.collect() })?;
        Ok(ExitCode::SUCCESS)
    }
}
