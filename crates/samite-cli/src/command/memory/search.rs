//! `samite memory search`.

use super::encoder::with_encoder;
use super::list::AsOf;
use super::new::{parse_kind, parse_pair, parse_trust};
use super::within::{Seen, shape};
use crate::arguments::parse_time;
use crate::printer::words::{count, short_id};
use crate::printer::{Answer, Page, Style};
use crate::shape::RecordShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::{FoundRecord, MemorySettings, Recalled, RecordKind, Search as Wanted, Trust, fenced};
use samite_host::{Random, SystemRandomness};
use samite_model::Result;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

/// Find the records that answer a question best
///
/// The question is text: it has no operators. What was found, by whom and when, is recorded before it is shown (`samite memory
/// seen`). What a tool said stands in a short list of its own; what nobody approved is not found.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory search -n notes 'What does the user drink?'
  samite memory search -n notes 'Where does Grace work?' --hops 1
  samite memory search -n notes tea --as-of 2027-01-31 --explain
  samite memory search -n notes tea --prompt")]
pub(crate) struct Search {
    #[command(flatten)]
    seen: Seen,
    /// The question; nothing finds what is newest
    #[arg(default_value = "")]
    question: String,
    /// So many records at most
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Leave so many of the best out: what `next` of the page before says
    #[arg(long, default_value_t = 0, value_name = "COUNT")]
    skip: usize,
    /// Only of this kind
    #[arg(long, value_parser = parse_kind)]
    kind: Vec<RecordKind>,
    /// Only what this class stands behind
    #[arg(long, value_parser = parse_trust)]
    trust: Vec<Trust>,
    /// Only with exactly this in its metadata
    #[arg(long = "metadata", value_name = "NAME=VALUE", value_parser = parse_pair)]
    metadata: Vec<(String, Value)>,
    #[command(flatten)]
    as_of: AsOf,
    /// What is so at this time: a day or a time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    valid_at: Option<i64>,
    /// Follow so many edges from the best records
    #[arg(long, default_value_t = 0, value_name = "COUNT")]
    hops: u32,
    /// Say why each was found
    #[arg(long)]
    explain: bool,
    /// Print them as a prompt has them: data between two marks
    #[arg(long, conflicts_with_all = ["explain", "json"])]
    prompt: bool,
}

#[derive(Serialize)]
struct Answered {
    records: Vec<Found>,
    /// Of classes that are kept apart.
    apart: Vec<Found>,
    /// Up to which seq of the namespace records were seen.
    seq: u64,
    /// Where that is recorded.
    searched: Option<u64>,
    /// The vector spaces that were searched.
    spaces: Vec<String>,
    /// How many records have no vector yet, and are found by their words alone.
    behind: u64,
    /// Why vectors were not used, by the code of the error.
    encoder_failed: Option<&'static str>,
    /// What the next page skips.
    next: Option<usize>,
    #[serde(skip)]
    explain: bool,
}

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    record: RecordShape,
    score: f32,
    /// The share of the question's words that it and its neighbours answer.
    coverage: f32,
    /// How much nearer its vector is than others; null without vectors.
    dot: Option<f32>,
    /// Whether the question names who said it.
    speaker: bool,
    /// The share of the question's date that is its own.
    date: f32,
    /// Whether it ends with a question itself.
    asks: bool,
    /// The edges that led to it.
    over: Vec<String>,
}

impl Found {
    fn new(found: &FoundRecord, settings: &MemorySettings) -> Self {
        let scored = found.scored;
        Self {
            record: shape(&found.standing, settings),
            score: scored.score,
            coverage: scored.coverage,
            dot: scored.dot,
            speaker: scored.speaker,
            date: scored.date,
            asks: scored.asks,
            over: found.over.iter().map(ToString::to_string).collect(),
        }
    }

    fn show(&self, explain: bool, page: &mut Page) {
        let about = self.record.about();
        page.spans(&[(Style::Strong, &self.record.short()), (Style::Dim, &format!("  {about}"))]);
        page.block(2, self.record.text(), Some(6));
        if !self.over.is_empty() {
            let over: Vec<String> = self.over.iter().map(|edge| short_id(edge)).collect();
            page.styled(Style::Dim, format!("  over {}", over.join(", ")));
        } else if explain {
            let mut parts = vec![format!("score {:.3}", self.score), format!("words {:.3}", self.coverage)];
            parts.extend(self.dot.map(|dot| format!("vectors {dot:.3}")));
            parts.extend(self.speaker.then(|| "the question names who said it".to_owned()));
            parts.extend((self.date > 0.0).then(|| format!("date {:.2}", self.date)));
            parts.extend(self.asks.then(|| "it asks itself".to_owned()));
            page.styled(Style::Dim, format!("  {}", parts.join(", ")));
        }
    }
}

impl Answered {
    fn new(found: &Recalled, settings: &MemorySettings, explain: bool) -> Self {
        let all = |list: &[FoundRecord]| list.iter().map(|one| Found::new(one, settings)).collect();
        Self {
            records: all(&found.records),
            apart: all(&found.apart),
            seq: found.seq,
            searched: found.recorded.map(|at| at.seq),
            spaces: found.spaces.iter().map(ToString::to_string).collect(),
            behind: found.behind.records,
            encoder_failed: found.behind.failed,
            next: found.next,
            explain,
        }
    }
}

impl Answer for Answered {
    fn show(&self, page: &mut Page) {
        if self.records.is_empty() && self.apart.is_empty() {
            return page.styled(Style::Dim, "nothing was found");
        }
        for one in &self.records {
            one.show(self.explain, page);
        }
        if !self.apart.is_empty() {
            page.gap();
            page.styled(Style::Care, "from tools and others that nobody vouches for");
            for one in &self.apart {
                one.show(self.explain, page);
            }
        }
        if let Some(code) = self.encoder_failed {
            page.styled(Style::Care, format!("by words alone: the encoder failed ({code})"));
        } else if self.behind > 0 {
            let behind = count(self.behind, "record");
            page.styled(Style::Care, format!("{behind} found by words alone until `samite memory reindex`"));
        }
        if let Some(next) = self.next {
            page.gap();
            page.styled(Style::Dim, format!("the next: --skip {next} --as-of-seq {}", self.seq));
        }
    }
}

/// A mark that nobody who wrote a record could know.
pub(super) fn mark() -> Result<String> {
    let mut bytes = [0; 8];
    SystemRandomness::new().fill(&mut bytes)?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

impl Search {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = with_encoder(surface, self.seen.of(&client).await?)?;
        let wanted = Wanted {
            text: self.question,
            limit: self.limit,
            skip: self.skip,
            kinds: self.kind,
            trusts: self.trust,
            metadata: self.metadata,
            recorded: self.as_of.recorded(),
            valid_at: self.valid_at,
            hops: self.hops,
        };
        let found = memory.search(&wanted).await?;
        if self.prompt {
            let records = found.records.iter().chain(&found.apart).map(|one| &one.standing);
            surface.printer.bytes(fenced(records, &mark()?).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        surface.printer.answer(&Answered::new(&found, &memory.settings().await?, self.explain))?;
        Ok(ExitCode::SUCCESS)
    }
}
