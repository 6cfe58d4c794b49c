//! `samite memory seen`.

use super::within::Within;
use crate::arguments::parse_time;
use crate::printer::words::{count, rfc3339, short_id, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::{Seen as Which, SeenBy};
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List who searched a namespace, when, and what was found
///
/// The questions themselves are not kept: `--question` finds those that asked the very same.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory seen -n notes
  samite memory seen -n notes --record 8c1e
  samite memory seen -n notes --agent helper --since 2027-01-31")]
pub(crate) struct Seen {
    #[command(flatten)]
    within: Within,
    /// Those that found this record
    #[arg(long)]
    record: Option<String>,
    /// Those that asked this very question
    #[arg(long, value_name = "TEXT")]
    question: Option<String>,
    /// Those by this agent
    #[arg(long)]
    agent: Option<String>,
    /// Those at this time or later: a day or a time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<i64>,
}

#[derive(Serialize)]
struct Searches {
    searches: Vec<SearchShape>,
}

#[derive(Serialize)]
struct SearchShape {
    /// Where it is recorded, in the journal of the namespace's searches.
    seq: u64,
    time: String,
    user: String,
    agent: String,
    workload: String,
    /// A keyed hash of the question.
    question: String,
    /// Up to which seq of the namespace records were seen.
    seen: u64,
    /// The branch on which it was asked.
    branch: Option<String>,
    /// What was found, the best first.
    records: Vec<String>,
    /// What was found of classes that are kept apart.
    apart: Vec<String>,
    /// The vector spaces that were searched.
    spaces: Vec<String>,
    #[serde(skip)]
    nanoseconds: i64,
}

impl SearchShape {
    fn new(found: &SeenBy) -> Self {
        let searched = &found.searched;
        let ids = |records: &[samite_model::RecordId]| records.iter().map(ToString::to_string).collect();
        Self {
            seq: found.at.seq,
            time: rfc3339(found.time),
            user: searched.by.user.clone(),
            agent: searched.by.agent.clone(),
            workload: searched.by.workload.clone(),
            question: searched.query.to_string(),
            seen: searched.seq,
            branch: searched.on.map(|on| on.journal.to_string()),
            records: ids(&searched.records),
            apart: ids(&searched.apart),
            spaces: searched.spaces.iter().map(ToString::to_string).collect(),
            nanoseconds: found.time,
        }
    }
}

impl Answer for Searches {
    fn show(&self, page: &mut Page) {
        if self.searches.is_empty() {
            return page.styled(Style::Dim, "nobody searched");
        }
        let mut table = Table::new(&[
            ("WHEN", Column::Left),
            ("AGENT", Column::Left),
            ("QUESTION", Column::Left),
            ("FOUND", Column::Right),
            ("THE BEST", Column::Flexible),
        ]);
        for one in &self.searches {
            let best: Vec<String> =
                one.records.iter().chain(&one.apart).take(4).map(|record| short_id(record)).collect();
            let found = (one.records.len() + one.apart.len()).to_string();
            table.row([time(one.nanoseconds), one.agent.clone(), short_id(&one.question), found, best.join(" ")]);
        }
        page.table(&table);
        page.styled(Style::Dim, count(self.searches.len() as u64, "search"));
    }
}

impl Seen {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let memory = self.within.of(&client)?;
        let record = match &self.record {
            Some(record) => Some(memory.find_record(record).await?),
            None => None,
        };
        let which = Which { record, text: self.question, agent: self.agent, since: self.since };
        let searches = memory.seen(&which).await?.iter().map(SearchShape::new).collect();
        surface.printer.answer(&Searches { searches })?;
        Ok(ExitCode::SUCCESS)
    }
}
