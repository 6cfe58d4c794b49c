//! `samite redact`.

use crate::input::reading_input;
use crate::printer::words::count;
use crate::printer::{Answer, Page, Printer};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_host::files::io_error;
use samite_host::{Random, SystemRandomness};
use samite_model::{Error, Result};
use samite_redact::{Class, Files, Located, Mode, Pattern, Policy, Redactor, Stream, Units};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Replace secrets in what comes from standard input, and write it to standard output
///
/// A typed placeholder such as [secret:github-token:3f9a2c1b:40] takes the place of each: what it was, four bytes of a
/// keyed hash, and its length. The same secret reads the same wherever it stands. Policy, registered secrets and key are those
/// of the store; where there is no store, the key is drawn for this run alone.
///
/// Text is taken line by line; JSON stays the JSON that it is, and only its strings are looked at, with what is encoded
/// in them. Personal data is counted in the report and stays, unless --pii says otherwise.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  printenv | samite redact
  samite redact --jsonl --field content < session.jsonl > shared.jsonl
  samite redact --pii redact --report found.jsonl < notes.txt
  samite redact --pattern customer='CUST-[0-9]{6}' < ticket.txt")]
pub(crate) struct Redact {
    /// Each line is a document of JSON
    #[arg(long)]
    jsonl: bool,
    /// With --jsonl: look only at the strings in fields of this name, at any depth (may be repeated)
    #[arg(long = "field", value_name = "NAME", requires = "jsonl")]
    fields: Vec<String>,
    /// What happens with secrets: off, report or redact [default: as the store's policy says, and redact without a store]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    secrets: Option<Mode>,
    /// What happens with personal data (e-mail, phone, cards, accounts, ids of persons, IP addresses that do not look like versions) [default: as the store's policy says, and report without a store]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pii: Option<Mode>,
    /// Replace what a regular expression matches as well; NAME stands in the placeholder (may be repeated)
    #[arg(long = "pattern", value_name = "NAME=REGEX", value_parser = pattern)]
    patterns: Vec<Pattern>,
    /// Write what was found to a file, one finding a line of JSON; never the secrets themselves
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Say on standard error how much was looked at and what was found
    #[arg(long)]
    progress: bool,
}

/// The most that one document of JSON may hold, in bytes.
const WHOLE: u64 = 64 << 20;

pub(super) fn mode(name: &str) -> Result<Mode, String> {
    Mode::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| "it is off, report or redact".to_owned())
}

pub(super) fn files(name: &str) -> Result<Files, String> {
    Files::ALL.into_iter().find(|files| files.name() == name).ok_or_else(|| "it is off, report or separate".to_owned())
}

pub(super) fn on_or_off(word: &str) -> Result<bool, String> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("it is on or off".to_owned()),
    }
}

pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    let (name, expression) = text.split_once('=').ok_or("it is NAME=REGEX")?;
    Ok(Pattern { name: name.to_owned(), expression: expression.to_owned() })
}

/// One finding.
#[derive(Serialize)]
struct Finding {
    class: &'static str,
    kind: String,
    fingerprint: String,
    length: u64,
    redacted: bool,
    line: u64,
}

impl Finding {
    fn new(located: &Located) -> Self {
        let finding = &located.finding;
        Self {
            class: finding.class.name(),
            kind: finding.kind.to_string(),
            fingerprint: data_encoding::HEXLOWER.encode(&finding.fingerprint),
            length: finding.length as u64,
            redacted: finding.redacted,
            line: located.line,
        }
    }
}

/// The text with what was found.
#[derive(Serialize)]
struct Redaction {
    text: String,
    findings: Vec<Finding>,
}

impl Answer for Redaction {
    // For a person the text itself is the answer.
    fn show(&self, _: &mut Page) {}
}

/// How many of each kind were found.
#[derive(Default)]
struct Counts(BTreeMap<(Class, String, bool), u64>);

impl Counts {
    fn add(&mut self, located: &Located) {
        let finding = &located.finding;
        *self.0.entry((finding.class, finding.kind.to_string(), finding.redacted)).or_default() += 1;
    }

    fn show(&self, printer: &Printer, bytes: u64) {
        let found: u64 = self.0.values().sum();
        printer.note(&format!("{} looked at, {} found", crate::printer::words::bytes(bytes), count(found, "thing")));
        for ((class, kind, redacted), many) in &self.0 {
            let what = if *redacted { "replaced" } else { "stays" };
            printer.note(&format!("  {} {kind}: {many}, {what}", class.name()));
        }
    }
}

/// Where findings go as they come.
struct Report<'a> {
    path: &'a Path,
    file: BufWriter<File>,
}

impl<'a> Report<'a> {
    fn create(path: &'a Path) -> Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        Ok(Self { path, file: BufWriter::new(file.map_err(|error| io_error("write", path, error))?) })
    }

    fn write(&mut self, found: &[Located]) -> Result<()> {
        for located in found {
            let mut line = serde_json::to_vec(&Finding::new(located))
                .map_err(|error| Error::internal("unserialisable", "a finding is not JSON").because(error))?;
            line.push(b'\n');
            self.file.write_all(&line).map_err(|error| io_error("write", self.path, error))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(|error| io_error("write", self.path, error))
    }
}

impl Redact {
    /// The policy, secrets and key of the store; where there is none, the default policy and a key for this run.
    async fn redactor(&self, surface: &Surface) -> Result<Redactor> {
        match surface.open(Access::Read) {
            Ok(store) => {
                let client = store.client().await?;
                let policy = self.over(client.redaction_policy().await?);
                client.redactor_with(&policy).await
            }
            Err(error) if error.code() == "no_store" => {
                let mut key = [0; 32];
                SystemRandomness::new().fill(&mut key)?;
                let fingerprint = move |secret: &[u8]| -> [u8; 4] {
                    let hash = samite_model::hash::commitment(&key, secret);
                    hash.as_bytes().first_chunk().copied().unwrap_or_default()
                };
                Redactor::new(&self.over(Policy::default()), &[], Arc::new(fingerprint))
            }
            Err(error) => Err(error),
        }
    }

    /// What was asked for, over a policy.
    fn over(&self, mut policy: Policy) -> Policy {
        policy.secrets = self.secrets.unwrap_or(policy.secrets);
        policy.pii = self.pii.unwrap_or(policy.pii);
        if !self.patterns.is_empty() {
            policy.pattern_mode = Mode::Redact;
            policy.patterns.extend(self.patterns.iter().cloned());
        }
        policy
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let redactor = self.redactor(surface).await?;
        let units = match (self.jsonl, self.fields.is_empty()) {
            (false, _) => Units::Text,
            (true, true) => Units::Documents,
            (true, false) => Units::Fields(self.fields.clone()),
        };
        let mut stream = Stream::new(&redactor, units);
        let mut report = self.report.as_deref().map(Report::create).transpose()?;
        let mut counts = Counts::default();
        let mut kept = Redaction { text: String::new(), findings: Vec::new() };
        let mut whole = Vec::new();
        let mut input = reading_input("the text")?;
        let mut piece = vec![0; 64 << 10];
        let (mut read, mut out, mut found) = (0_u64, Vec::new(), Vec::new());
        loop {
            let length = match input.read(&mut piece) {
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let message = format!("cannot read standard input: {error}");
                    return Err(Error::unavailable("input_failed", message).because(error));
                }
            };
            match piece.get(..length) {
                Some(bytes) if !bytes.is_empty() => stream.push(bytes, &mut out, &mut found),
                _ => stream.finish(&mut out, &mut found),
            }
            read += length as u64;
            if let Some(report) = &mut report {
                report.write(&found)?;
            }
            for located in &found {
                counts.add(located);
            }
            if surface.printer.is_json() {
                kept.findings.extend(found.iter().map(Finding::new));
                whole.append(&mut out);
                if whole.len() as u64 > WHOLE {
                    return Err(Error::invalid(
                        "input_too_large",
                        "with --json all of the text is one document, and this is too large for one",
                    )
                    .hint("without --json it may be of any length; --report has what was found"));
                }
            } else {
                surface.printer.bytes(&out)?;
            }
            out.clear();
            found.clear();
            if length == 0 {
                break;
            }
        }
        if let Some(report) = report {
            report.finish()?;
        }
        if self.progress {
            counts.show(&surface.printer, read);
        }
        if surface.printer.is_json() {
            kept.text = String::from_utf8_lossy(&whole).into_owned();
            surface.printer.answer(&kept)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
