//! `samite append`.

use crate::input::{file_or_input, standard_input};
use crate::printer::{Answer, Page, Style};
use crate::reference::{Found, Reference};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::payload::Compaction;
use samite::{Client, NewEvent, ReadOptions};
use samite_model::{EntryKind, Error, Result, limits};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Append a message, a model's response or another event to a branch
///
/// When this returns, the entry is durable. The payload's bytes are kept as they are; standard input is read unless
/// one of --text, --json-value and --file gives it. Appending again with the same --dedupe id and the same bytes
/// answers with the first entry, so a caller that lost an answer may simply repeat itself.
///
/// An empty payload is refused, as a pipe that broke leaves one; only an event may be empty, when --text or --file says
/// so. A compaction names the range that it summarises, in --attributes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  echo 'please fix the build' | samite append 3f2a --kind message
  samite append 3f2a --kind model_response --file answer.json --dedupe msg_01
  samite append 3f2a --kind event --json-value '{\"budget\": 12}' \\
      --expect-head 41
  samite append 3f2a --kind compaction --file summary.txt \\
      --attributes '{\"from\": 1, \"to\": 40}'")]
pub(crate) struct Append {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// What it is: `message`, `model_response`, `event` or `compaction`
    #[arg(long, default_value = "message", value_parser = kind, value_name = "KIND")]
    kind: EntryKind,
    /// The caller's id for it: the same id with the same bytes is appended once
    #[arg(long, value_name = "ID")]
    dedupe: Option<String>,
    /// Append only if the branch's last seq is this
    #[arg(long, value_name = "SEQ")]
    expect_head: Option<u64>,
    /// What samite should know beside the payload, as JSON: for a compaction, the range {"from": SEQ, "to": SEQ}
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    attributes: Option<serde_json::Value>,
    /// The payload, as text (others on this machine can see arguments: no secrets)
    #[arg(long, group = "payload", value_name = "TEXT")]
    text: Option<String>,
    /// The payload, as JSON, which is checked
    #[arg(long, group = "payload", value_name = "JSON")]
    json_value: Option<String>,
    /// The payload, from a file; - is standard input
    #[arg(long, group = "payload", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The kinds that a caller may append; the others are samite's own.
fn kind(name: &str) -> Result<EntryKind, String> {
    match EntryKind::from_name(name) {
        Some(kind @ (EntryKind::MESSAGE | EntryKind::MODEL_RESPONSE | EntryKind::EVENT | EntryKind::COMPACTION)) => {
            Ok(kind)
        }
        _ => Err("a caller appends message, model_response, event or compaction".to_owned()),
    }
}

fn json_value(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Appended {
    id: String,
    session: String,
    branch: String,
    seq: u64,
    duplicate: bool,
}

impl Answer for Appended {
    fn show(&self, page: &mut Page) {
        let note = if self.duplicate { " (it was there already)" } else { "" };
        page.spans(&[(Style::Plain, "seq "), (Style::Strong, &self.seq.to_string()), (Style::Plain, note)]);
    }
}

impl Append {
    fn payload(&self) -> Result<Vec<u8>> {
        if let Some(text) = &self.text {
            return Ok(text.clone().into_bytes());
        }
        if let Some(json) = &self.json_value {
            serde_json::from_str::<&serde_json::value::RawValue>(json)
                .map_err(|error| Error::invalid("bad_json", format!("--json-value is not JSON: {error}")))?;
            return Ok(json.clone().into_bytes());
        }
        match &self.file {
            Some(file) => file_or_input("the payload", file, limits::PAYLOAD),
            None => standard_input("the payload", limits::PAYLOAD),
        }
    }

    /// Refuses a payload that is empty by mistake.
    fn check_payload(&self, body: &[u8]) -> Result<()> {
        let meant = self.kind == EntryKind::EVENT && (self.text.is_some() || self.file.is_some());
        if !body.is_empty() || meant {
            return Ok(());
        }
        let error = Error::invalid("empty_payload", format!("the payload of this {} is empty", self.kind));
        Err(match (&self.text, &self.file) {
            (None, None) => error.hint("nothing came on standard input; --text, --json-value and --file give it too"),
            _ => error.hint("only an event may be empty: --kind event"),
        })
    }

    /// Refuses a compaction that does not say what it summarises, or that summarises what is not there.
    async fn check_range(&self, client: &Client, found: Found) -> Result<()> {
        if self.kind != EntryKind::COMPACTION {
            return Ok(());
        }
        let refuse = |what: String| {
            Error::invalid("bad_range", what)
                .hint("name the range that it summarises: --attributes '{\"from\": 1, \"to\": 40}'")
        };
        let attributes = self.attributes.clone().unwrap_or_default();
        let Compaction { from, to } = serde_json::from_value(attributes)
            .map_err(|_| refuse("a compaction has attributes with a range, from and to".to_owned()))?;
        let branch = found.branch_or_current(client).await?;
        let head = client.head(found.session, branch).await?.seq;
        if from == 0 || from > to || to > head {
            return Err(refuse(format!("there is no range from seq {from} to {to} on a branch that ends at {head}")));
        }
        Ok(())
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let body = self.payload()?;
        self.check_payload(&body)?;
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        self.check_range(&client, found).await?;
        let event = NewEvent {
            kind: self.kind,
            body,
            attributes: self.attributes,
            dedupe: self.dedupe,
            expected_head: self.expect_head,
        };
        let (appended, id) = surface
            .write_to(&client, found, async |writer| {
                let appended = writer.append(event).await?;
                let seq = appended.position.seq;
                let only = ReadOptions { from: seq, to: Some(seq), headers_only: true, ..ReadOptions::default() };
                let id = writer.read(only).await?.next().await?.first().map(|entry| entry.header.id.to_string());
                Ok((appended, id))
            })
            .await?;
        surface.printer.answer(&Appended {
            id: id.unwrap_or_default(),
            session: found.session.to_string(),
            branch: appended.position.journal.to_string(),
            seq: appended.position.seq,
            duplicate: appended.duplicate,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
