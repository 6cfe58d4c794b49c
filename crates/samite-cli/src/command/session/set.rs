//! `samite session set`.

use crate::printer::Printer;
use crate::reference::Reference;
use crate::shape::SettingsShape;
use crate::surface::{Access, Surface};
use clap::{Args, ValueEnum};
use samite::syntax::{parse_bytes, parse_seconds, parse_share};
use samite_model::Result;
use samite_model::settings::{Authority, Bounds, Branching, Cadence, Settings};
use std::process::ExitCode;

/// Decide for a session what may be done to it, and when checkpoints are taken
///
/// What is not named stays as it is. With nothing named it shows what holds.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session set 3f2a --branching linear
  samite session set 3f2a --cadence adaptive --max-loss 60s --max-overhead 5%
  samite session set 3f2a --deliver 'dist/**' --deliver report.pdf")]
pub(crate) struct Set {
    /// The session
    session: Reference,
    #[command(flatten)]
    choices: Choices,
}

/// What can be decided for a session.
#[derive(Debug, Args)]
pub(crate) struct Choices {
    /// Whether it may be forked and rewound: tree (both), rewind (no forks), linear (neither)
    #[arg(long, value_enum)]
    branching: Option<BranchingName>,
    /// What decides where the log and the agent's own state files disagree
    #[arg(long, value_enum)]
    authority: Option<AuthorityName>,
    /// When checkpoints are taken: at each turn's end, each step's end too, or within the bounds below
    #[arg(long, value_enum)]
    cadence: Option<CadenceName>,
    /// Adaptive: lose the work of at most so long (60s)
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    max_loss: Option<u64>,
    /// Adaptive: take at most this part of the time (5%)
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    max_overhead: Option<u32>,
    /// Adaptive: take at most so many bytes for trees (10G)
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    max_bytes: Option<u64>,
    /// Files for the user: published whenever a turn or the session ends and they changed
    ///
    /// A pattern is as in .gitignore, from the workspace's top on: a leading / is that top, and not that of the machine.
    #[arg(long, value_name = "PATTERN")]
    deliver: Vec<String>,
    /// Publish nothing by itself
    #[arg(long, conflicts_with = "deliver")]
    no_deliver: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BranchingName {
    Tree,
    Rewind,
    Linear,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AuthorityName {
    Log,
    Files,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CadenceName {
    Turn,
    Step,
    Adaptive,
}

impl Choices {
    /// Puts into the settings what was chosen. A bound that is named makes the cadence adaptive.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        if let Some(branching) = self.branching {
            settings.branching = match branching {
                BranchingName::Tree => Branching::Tree,
                BranchingName::Rewind => Branching::Rewind,
                BranchingName::Linear => Branching::Linear,
            };
        }
        if let Some(authority) = self.authority {
            settings.authority = match authority {
                AuthorityName::Log => Authority::Log,
                AuthorityName::Files => Authority::Files,
            };
        }
        let bounded = self.max_loss.is_some() || self.max_overhead.is_some() || self.max_bytes.is_some();
        match self.cadence {
            Some(CadenceName::Turn) => settings.cadence = Cadence::Turn,
            Some(CadenceName::Step) => settings.cadence = Cadence::Step,
            None if !bounded => {}
            Some(CadenceName::Adaptive) | None => {
                let mut bounds = match settings.cadence {
                    Cadence::Adaptive(bounds) => bounds,
                    Cadence::Turn | Cadence::Step => Bounds::default(),
                };
                if let Some(seconds) = self.max_loss {
                    bounds.max_loss = seconds.saturating_mul(1_000_000_000);
                }
                bounds.max_overhead = self.max_overhead.unwrap_or(bounds.max_overhead);
                bounds.max_bytes = self.max_bytes.unwrap_or(bounds.max_bytes);
                settings.cadence = Cadence::Adaptive(bounds);
            }
        }
        if self.no_deliver {
            settings.deliver.clear();
        } else if !self.deliver.is_empty() {
            settings.deliver.clone_from(&self.deliver);
        }
    }

    /// Says what a pattern means that looks like a path of the machine.
    pub(crate) fn explain(&self, printer: &Printer) {
        for pattern in self.deliver.iter().filter(|pattern| pattern.starts_with('/')) {
            let inside = pattern.trim_start_matches('/');
            printer
                .note(&format!("{pattern} names {inside} at the top of the workspace: nothing outside is delivered"));
        }
    }

    /// Refuses bounds beside a cadence that has none.
    ///
    /// # Errors
    /// `invalid` (`bad_cadence`).
    pub(crate) fn check(&self) -> Result<()> {
        let bounded = self.max_loss.is_some() || self.max_overhead.is_some() || self.max_bytes.is_some();
        if bounded && matches!(self.cadence, Some(CadenceName::Turn | CadenceName::Step)) {
            return Err(samite_model::Error::invalid("bad_cadence", "only adaptive checkpoints have bounds")
                .hint("leave --cadence out, or say --cadence adaptive"));
        }
        Ok(())
    }
}

impl Set {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        self.choices.check()?;
        let client = surface.open(Access::Write)?.client().await?;
        let session = self.session.find_session(&client).await?;
        let settings = client.change_settings(session, |settings| self.choices.apply(settings)).await?;
        self.choices.explain(&surface.printer);
        surface.printer.answer(&SettingsShape::new(&settings))?;
        Ok(ExitCode::SUCCESS)
    }
}
