//! `samite memory policy`.

use super::new::parse_trust;
use super::within::Within;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::{Adoption, MemorySettings, Treatment, Trust};
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show how a namespace treats records, or decide it
///
/// Records of a class are found among the others (open), in a short list of their own (apart), or not before somebody approved them
/// (quarantined). Without being asked for, those of the web are quarantined, a tool's are apart, all others are open.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory policy -n notes
  samite memory policy -n notes --open tool --quarantine model
  samite memory policy -n notes --share 10 --adopt at-turn-end")]
pub(crate) struct Policy {
    #[command(flatten)]
    within: Within,
    /// A class that is found among the others from now on
    #[arg(long, value_name = "TRUST", value_parser = parse_trust)]
    open: Vec<Trust>,
    /// A class that is found in a list of its own
    #[arg(long, value_name = "TRUST", value_parser = parse_trust)]
    apart: Vec<Trust>,
    /// A class that waits for approval
    #[arg(long, value_name = "TRUST", value_parser = parse_trust)]
    quarantine: Vec<Trust>,
    /// When what a branch writes for itself is taken over: by-hand, at-close or at-turn-end
    #[arg(long, value_name = "WHEN", value_parser = parse_adoption)]
    adopt: Option<Adoption>,
    /// How much of a list one source may fill, in percent, unless the user or an operator is that
    #[arg(long, value_name = "PERCENT")]
    share: Option<u8>,
}

#[derive(Serialize)]
struct Treats {
    treatments: Vec<Treated>,
    /// In percent.
    share: u8,
    /// `by_hand`, `at_close` or `at_turn_end`.
    adoption: &'static str,
}

#[derive(Serialize)]
struct Treated {
    trust: &'static str,
    /// `open`, `apart` or `quarantined`.
    treatment: &'static str,
}

impl Treats {
    fn new(settings: &MemorySettings) -> Self {
        let treated = |trust: Trust| Treated {
            trust: trust.name(),
            treatment: match settings.treatment(trust) {
                Treatment::Open => "open",
                Treatment::Apart => "apart",
                Treatment::Quarantined => "quarantined",
            },
        };
        Self {
            treatments: Trust::ALL.into_iter().rev().map(treated).collect(),
            share: settings.share,
            adoption: adoption_name(settings.adoption),
        }
    }
}

const fn adoption_name(adoption: Adoption) -> &'static str {
    match adoption {
        Adoption::ByHand => "by_hand",
        Adoption::AtClose => "at_close",
        Adoption::AtTurnEnd => "at_turn_end",
    }
}

fn parse_adoption(text: &str) -> std::result::Result<Adoption, String> {
    match text {
        "by-hand" => Ok(Adoption::ByHand),
        "at-close" => Ok(Adoption::AtClose),
        "at-turn-end" => Ok(Adoption::AtTurnEnd),
        _ => Err("write by-hand, at-close or at-turn-end".to_owned()),
    }
}

impl Answer for Treats {
    fn show(&self, page: &mut Page) {
        let mut facts: Vec<(&str, String)> =
            self.treatments.iter().map(|one| (one.trust, one.treatment.to_owned())).collect();
        facts.push(("share", format!("one source fills at most {} % of a list", self.share)));
        facts.push(("adoption", format!("what a branch writes is taken over {}", self.adoption.replace('_', " "))));
        page.facts(&facts);
    }
}

impl Policy {
    fn decides(&self) -> bool {
        self.share.is_some()
            || self.adopt.is_some()
            || !(self.open.is_empty() && self.apart.is_empty() && self.quarantine.is_empty())
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let access = if self.decides() { Access::Create } else { Access::Read };
        let client = surface.open(access)?.client().await?;
        let memory = self.within.of(&client)?;
        let mut settings = memory.settings().await?;
        if self.decides() {
            for (trusts, treatment) in [
                (&self.open, Treatment::Open),
                (&self.apart, Treatment::Apart),
                (&self.quarantine, Treatment::Quarantined),
            ] {
                settings.treatments.extend(trusts.iter().map(|trust| (*trust, treatment)));
            }
            settings.share = self.share.unwrap_or(settings.share);
            settings.adoption = self.adopt.unwrap_or(settings.adoption);
            memory.set_settings(&settings).await?;
        }
        surface.printer.answer(&Treats::new(&settings))?;
        Ok(ExitCode::SUCCESS)
    }
}
