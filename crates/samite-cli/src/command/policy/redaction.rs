//! `samite policy redaction`.

use crate::command::redact::{files, mode, on_or_off, pattern};
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::{Error, Result};
use samite_redact::{Files, Mode, Pattern, Policy};
use serde::Serialize;
use std::process::ExitCode;

/// Show or change what is looked for in what is written
///
/// Before an entry is stored, secrets in it are replaced by placeholders, and personal data is counted and stays: that is
/// the default. off looks for nothing, report counts, redact replaces. Other processes follow within a second. What is
/// stored already stays as it is, and so does what samite compares or acts on: names, step keys, paths, probes.
///
/// Files of workspaces stay as they are. Their new content is looked at when a checkpoint stores it, and where something is
/// found the file is listed: that is `--files report`, the default. separate stores the blocks that hold it under keys of
/// their owner's, so that they are shared with nobody and go everywhere with an erasure of that person. off does not look.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite policy redaction
  samite policy redaction --pii redact
  samite policy redaction --files separate --files-pii on
  samite policy redaction --pattern customer='CUST-[0-9]{6}'
  samite policy redaction --no-pattern customer --pii report")]
pub(crate) struct Redaction {
    /// What happens with secrets
    #[arg(long, value_name = "MODE", value_parser = mode)]
    secrets: Option<Mode>,
    /// What happens with personal data
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pii: Option<Mode>,
    /// What happens with what the patterns match
    #[arg(long, value_name = "MODE", value_parser = mode)]
    patterns: Option<Mode>,
    /// What happens with files: off, report or separate
    #[arg(long, value_name = "WHAT", value_parser = files)]
    files: Option<Files>,
    /// Whether personal data is looked for in files too: on or off
    #[arg(long, value_name = "ON", value_parser = on_or_off)]
    files_pii: Option<bool>,
    /// Add a pattern, or replace the one of this name (may be repeated)
    #[arg(long = "pattern", value_name = "NAME=REGEX", value_parser = pattern)]
    add: Vec<Pattern>,
    /// Take a pattern back (may be repeated)
    #[arg(long = "no-pattern", value_name = "NAME")]
    remove: Vec<String>,
}

#[derive(Serialize)]
struct PatternShape {
    name: String,
    expression: String,
}

#[derive(Serialize)]
struct RedactionPolicy {
    secrets: &'static str,
    pii: &'static str,
    patterns_mode: &'static str,
    patterns: Vec<PatternShape>,
    files: &'static str,
    files_pii: bool,
}

impl RedactionPolicy {
    fn new(policy: Policy) -> Self {
        Self {
            secrets: policy.secrets.name(),
            pii: policy.pii.name(),
            patterns_mode: policy.pattern_mode.name(),
            files: policy.files.name(),
            files_pii: policy.files_pii,
            patterns: policy
                .patterns
                .into_iter()
                .map(|pattern| PatternShape { name: pattern.name, expression: pattern.expression })
                .collect(),
        }
    }
}

impl Answer for RedactionPolicy {
    fn show(&self, page: &mut Page) {
        let files = format!("{}{}", self.files, if self.files_pii { ", personal data too" } else { "" });
        for (what, mode) in [
            ("secrets", self.secrets),
            ("personal data", self.pii),
            ("own patterns", self.patterns_mode),
            ("files", &files),
        ] {
            page.spans(&[(Style::Dim, &format!("{what:14} ")), (Style::Plain, mode)]);
        }
        for pattern in &self.patterns {
            page.spans(&[(Style::Dim, &format!("{:14} ", pattern.name)), (Style::Plain, &pattern.expression)]);
        }
    }
}

impl Redaction {
    fn changes(&self) -> bool {
        self.secrets.is_some()
            || self.pii.is_some()
            || self.patterns.is_some()
            || self.files.is_some()
            || self.files_pii.is_some()
            || !self.add.is_empty()
            || !self.remove.is_empty()
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let policy = if self.changes() {
            let client = surface.open(Access::Create)?.client().await?;
            let before = client.redaction_policy().await?;
            if let Some(unknown) =
                self.remove.iter().find(|name| !before.patterns.iter().any(|pattern| pattern.name == **name))
            {
                let shown: String = unknown.chars().take(40).collect();
                return Err(Error::not_found("no_pattern", format!("there is no pattern {shown:?}"))
                    .hint("`samite policy redaction` shows the patterns"));
            }
            client.change_redaction(|policy| self.change(policy)).await?
        } else {
            surface.open(Access::Read)?.client().await?.redaction_policy().await?
        };
        surface.printer.answer(&RedactionPolicy::new(policy))?;
        Ok(ExitCode::SUCCESS)
    }

    fn change(&self, policy: &mut Policy) {
        policy.secrets = self.secrets.unwrap_or(policy.secrets);
        policy.pii = self.pii.unwrap_or(policy.pii);
        policy.pattern_mode = self.patterns.unwrap_or(policy.pattern_mode);
        policy.files = self.files.unwrap_or(policy.files);
        policy.files_pii = self.files_pii.unwrap_or(policy.files_pii);
        policy.patterns.retain(|pattern| {
            !self.remove.contains(&pattern.name) && !self.add.iter().any(|added| added.name == pattern.name)
        });
        policy.patterns.extend(self.add.iter().cloned());
    }
}
