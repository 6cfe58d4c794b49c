//! `samite policy organisation`.

use crate::printer::words::{count, rfc3339};
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::{Args, Subcommand};
use samite::organisation::{AVAILABLE, Decided, SCHEMA, check};
use samite_host::files;
use samite_model::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show or change the organisation's own policies, in Cedar
///
/// They are asked at each act of every client beside ownership, grants and scopes, and only take away: an act is done when
/// those allow it and the policies permit it too. What no policy permits is denied, forbid beats permit, and an error denies.
/// Other processes follow within a second. A build without the feature cedar serves no tenant that has policies.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite policy organisation schema > samite.cedarschema
  samite policy organisation check rules.cedar
  samite policy organisation set rules.cedar
  samite policy organisation show
  samite policy organisation clear")]
pub(crate) struct Organisation {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Decide the policies: those of all files take the place of what stood
    #[command(after_long_help = "Examples:\n  samite policy organisation set rules.cedar")]
    Set(Files),
    /// Say what is wrong with policies or may be, and decide nothing
    #[command(after_long_help = "Examples:\n  samite policy organisation check rules.cedar")]
    Check(Files),
    Show(Show),
    Clear(Clear),
    History(History),
    Schema(Schema),
}

/// Files of policies.
#[derive(Debug, Args)]
struct Files {
    /// Files in Cedar
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Print the policies that stand
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  samite policy organisation show\n  samite policy organisation show --seq 12")]
struct Show {
    /// Those that were decided by this entry instead (history shows which there are)
    #[arg(long, value_name = "SEQ")]
    seq: Option<u64>,
}

/// Take the policies back: ownership, grants and scopes decide alone
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  samite policy organisation clear")]
struct Clear {}

/// List what was decided and when
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  samite policy organisation history")]
struct History {}

/// Print what policies can speak of, as a Cedar schema
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  samite policy organisation schema > samite.cedarschema")]
struct Schema {}

#[derive(Serialize)]
struct SetAnswer {
    changed: bool,
    policies: usize,
    warnings: Vec<String>,
}

impl Answer for SetAnswer {
    fn show(&self, page: &mut Page) {
        page.line(match (self.changed, self.policies) {
            (true, 0) => "the organisation has no policies any more".to_owned(),
            (true, policies) => format!("{} in force", policies_of(policies)),
            (false, 0) => "there are none: nothing changed".to_owned(),
            (false, policies) => format!("{} in force already: nothing changed", policies_of(policies)),
        });
        warnings(page, &self.warnings);
    }
}

fn policies_of(number: usize) -> String {
    if number == 1 { "1 policy".to_owned() } else { format!("{number} policies") }
}

fn warnings(page: &mut Page, all: &[String]) {
    for warning in all {
        page.spans(&[(Style::Care, "may be a mistake: "), (Style::Plain, warning)]);
    }
}

#[derive(Serialize)]
struct CheckAnswer {
    policies: usize,
    warnings: Vec<String>,
}

impl Answer for CheckAnswer {
    fn show(&self, page: &mut Page) {
        page.line(format!("{}, and right", policies_of(self.policies)));
        warnings(page, &self.warnings);
    }
}

#[derive(Serialize)]
struct DecidedShape {
    seq: u64,
    since: String,
    actor: String,
    policies: Option<String>,
}

impl DecidedShape {
    fn new(decided: Decided) -> Self {
        let Decided { seq, since, actor, policies } = decided;
        Self { seq, since: rfc3339(since), actor: actor.to_string(), policies }
    }
}

#[derive(Serialize)]
struct ShowAnswer {
    available: bool,
    standing: Option<DecidedShape>,
}

impl Answer for ShowAnswer {
    fn show(&self, page: &mut Page) {
        match self.standing.as_ref().and_then(|standing| standing.policies.as_ref()) {
            Some(policies) => policies.lines().for_each(|line| page.line(line)),
            None => page.line("the organisation has no policies: ownership, grants and scopes decide"),
        }
    }
}

#[derive(Serialize)]
struct HistoryAnswer {
    decided: Vec<DecidedShape>,
}

impl Answer for HistoryAnswer {
    fn show(&self, page: &mut Page) {
        if self.decided.is_empty() {
            return page.line("the organisation never had policies");
        }
        for one in &self.decided {
            let what = one.policies.as_ref().map_or_else(
                || "none".to_owned(),
                |policies| format!("{} of policies", count(policies.lines().count() as u64, "line")),
            );
            page.spans(&[(Style::Dim, &format!("{:>6}  {}  ", one.seq, one.since)), (Style::Plain, &what)]);
        }
    }
}

#[derive(Serialize)]
struct SchemaAnswer {
    schema: &'static str,
}

impl Answer for SchemaAnswer {
    fn show(&self, page: &mut Page) {
        self.schema.lines().for_each(|line| page.line(line));
    }
}

impl Files {
    /// The policies of all files. Each is read for itself first, so that what is wrong is told with its file.
    fn read(&self) -> Result<String> {
        let mut all = String::new();
        for file in &self.files {
            let shown = file.display();
            let text = String::from_utf8(files::read(file)?).map_err(|_| {
                Error::invalid("bad_policy", format!("{shown} is no text in UTF-8"))
                    .hint("policies are written in Cedar")
            })?;
            check(&text).map_err(|error| error.context(shown))?;
            all.push_str(&text);
            if !all.ends_with('\n') {
                all.push('\n');
            }
        }
        Ok(all)
    }
}

impl Organisation {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let printer = &surface.printer;
        match self.command {
            Command::Schema(Schema {}) => printer.answer(&SchemaAnswer { schema: SCHEMA })?,
            Command::Check(files) => {
                let checked = check(&files.read()?)?;
                printer.answer(&CheckAnswer { policies: checked.policies, warnings: checked.warnings })?;
            }
            Command::Set(files) => {
                let text = files.read()?;
                let checked = check(&text)?;
                let client = surface.open(Access::Create)?.client().await?;
                let changed = client.set_organisation_policies(Some(&text)).await?;
                printer.answer(&SetAnswer { changed, policies: checked.policies, warnings: checked.warnings })?;
            }
            Command::Clear(Clear {}) => {
                let client = surface.open(Access::Create)?.client().await?;
                let changed = client.set_organisation_policies(None).await?;
                printer.answer(&SetAnswer { changed, policies: 0, warnings: Vec::new() })?;
            }
            Command::Show(Show { seq: None }) => {
                let client = surface.open(Access::Read)?.client().await?;
                let standing = client.organisation_policies().await?.map(DecidedShape::new);
                printer.answer(&ShowAnswer { available: AVAILABLE, standing })?;
            }
            Command::Show(Show { seq: Some(seq) }) => {
                let client = surface.open(Access::Read)?.client().await?;
                let found = client.organisation_history().await?.into_iter().find(|one| one.seq == seq);
                let found = found.ok_or_else(|| {
                    Error::not_found("no_policies", format!("no policies were decided by entry {seq}"))
                        .hint("`samite policy organisation history` shows which were")
                })?;
                printer.answer(&ShowAnswer { available: AVAILABLE, standing: Some(DecidedShape::new(found)) })?;
            }
            Command::History(History {}) => {
                let client = surface.open(Access::Read)?.client().await?;
                let decided = client.organisation_history().await?.into_iter().map(DecidedShape::new).collect();
                printer.answer(&HistoryAnswer { decided })?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
