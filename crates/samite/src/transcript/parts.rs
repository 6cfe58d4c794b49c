//! What is kept of a harness's transcript at the end of each turn: harnesses delete transcripts, some of them those that a person
//! resumed. Each part is what was added since the part before.

use crate::hook::HookEvent;
use crate::log::ReadOptions;
use crate::writer::{NewEvent, Writer};
use samite_host::files::RangeFile;
use samite_model::policy::capture::Level;
use samite_model::{EntryKind, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// An entry holds a part of at most so many bytes.
const PART: u64 = 8 << 20;

/// So many bytes before a part tell whether the transcript is still the one that the part before is of.
const CHECKED: u64 = 4096;

/// How many of the last entries are looked through for the part before; without it, the transcript is kept anew.
const LAST: u64 = 4096;

/// A part of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The transcript.
    pub(super) path: PathBuf,
    /// Where the part begins there.
    pub(super) from: u64,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
}

impl Part {
    /// The part that an event holds, when it holds one.
    pub(super) fn of(attributes: &Value, body: &[u8]) -> Option<Self> {
        let part = attributes.get("transcript_part")?;
        Some(Self {
            path: PathBuf::from(part.get("path")?.as_str()?),
            from: part.get("from")?.as_u64()?,
            bytes: body.to_vec(),
        })
    }
}

/// A transcript put together from its parts; none when there are none, or one is missing.
pub(super) fn whole(parts: &[Part], path: &Path) -> Option<Vec<u8>> {
    let mut whole: Option<Vec<u8>> = None;
    for part in parts.iter().filter(|part| part.path == path) {
        let bytes = whole.get_or_insert_default();
        let from = usize::try_from(part.from).ok()?;
        if from > bytes.len() {
            return None;
        }
        // One that begins earlier replaces what came after: the transcript was written anew.
        bytes.truncate(from);
        bytes.extend_from_slice(&part.bytes);
    }
    whole
}

impl Writer {
    /// Keeps what the harness added to its transcript since this was called last. When this returns, it is durable. A
    /// transcript that is not there, or cannot be read, is none.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub(crate) async fn keep_transcript(&self, event: &HookEvent) -> Result<()> {
        // Nothing of it would be kept but that it was there, which the hook's own event says.
        if self.capture().await?.level(EntryKind::EVENT) == Level::Metadata {
            return Ok(());
        }
        // Nothing that could block, such as a pipe, is opened.
        let Some(path) = event.transcript.as_ref().filter(|path| path.is_file()) else { return Ok(()) };
        let Ok(file) = RangeFile::open(path) else { return Ok(()) };
        let Ok(length) = file.length() else { return Ok(()) };
        let (mut from, check, mut after) = self.kept_to(path).await?;
        if from > length || check_before(&file, from) != check {
            from = 0;
        }
        while from < length {
            let size = usize::try_from((length - from).min(PART)).unwrap_or_default();
            let mut bytes = vec![0; size];
            let Ok(filled) = file.fill_at(from, &mut bytes) else { return Ok(()) };
            bytes.truncate(filled);
            if bytes.is_empty() {
                break;
            }
            let to = from + bytes.len() as u64;
            let check = check_before(&file, to);
            let part = json!({"path": path, "from": from, "to": to, "check": check});
            let attributes = json!({"harness": event.harness.name(), "transcript_part": part});
            let mut hash = blake3::Hasher::new();
            hash.update(path.as_os_str().as_encoded_bytes()).update(&[0]).update(check.as_bytes()).update(&bytes);
            // What is added twice to the same part before is one part, and what comes back after others is another.
            let dedupe = Some(format!("transcript part {from} after {after} {}", hash.finalize().to_hex()));
            let new = NewEvent {
                kind: EntryKind::EVENT,
                body: bytes,
                attributes: Some(attributes),
                dedupe,
                expected_head: None,
            };
            after = self.append(new).await?.position.seq;
            samite_host::kill_point("transcript.part_kept");
            from = to;
        }
        Ok(())
    }

    /// How far a transcript was kept, the check of what is before that, and where the last part is.
    async fn kept_to(&self, path: &Path) -> Result<(u64, String, u64)> {
        let head = self.core().journal(self.branch()).await?.head;
        let first = head.saturating_sub(LAST).max(1);
        let options =
            ReadOptions { from: first, kinds: vec![EntryKind::EVENT], backward: true, ..ReadOptions::default() };
        let mut reader = self.read(options).await?;
        loop {
            let page = reader.next().await?;
            if page.is_empty() {
                return Ok((0, check_of(&[]), first));
            }
            for entry in page {
                let Ok(known) = entry.event() else { continue };
                let part = known.attributes.as_ref().and_then(|attributes| attributes.get("transcript_part"));
                let Some(part) = part.filter(|part| part.get("path") == Some(&json!(path))) else { continue };
                let to = part.get("to").and_then(Value::as_u64).unwrap_or_default();
                let check = part.get("check").and_then(Value::as_str).unwrap_or_default();
                return Ok((to, check.to_owned(), entry.position.seq));
            }
        }
    }
}

fn check_before(file: &RangeFile, to: u64) -> String {
    let size = usize::try_from(to.min(CHECKED)).unwrap_or_default();
    let mut bytes = vec![0; size];
    let filled = file.fill_at(to - to.min(CHECKED), &mut bytes).unwrap_or_default();
    bytes.truncate(filled);
    check_of(&bytes)
}

fn check_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
