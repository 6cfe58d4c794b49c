//! What is kept of a harness's transcript at the end of each turn: harnesses delete transcripts, some of them those that a person
//! resumed. Each part is what was added since the part before.

use crate::hook::HookEvent;
use crate::views::{IndexHash as _, REBUILD, row};
use crate::writer::{NewEvent, Writer};
use data_encoding::HEXLOWER;
use samite_host::files::RangeFile;
use samite_ledger::{NewRow, RowQuery};
use samite_model::policy::capture::Level;
use samite_model::{EntryKind, Error, JournalId, Position, Result};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

/// An entry holds a part of about so many bytes.
const PART: u64 = 8 << 20;

/// So many bytes before a part tell whether the transcript is still the one that the part before is of.
const CHECKED: u64 = 4096;

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

/// How far a transcript was kept by one part: what its row says, also when the part was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    from: u64,
    to: u64,
    /// The keyed hash of the last bytes before `to`.
    check: [u8; 16],
}

impl Kept {
    fn decode(value: &[u8]) -> Result<Self> {
        let bad = || Error::corrupt("bad_view", "a row of a transcript's part has another length").hint(REBUILD);
        let (from, rest) = value.split_first_chunk().ok_or_else(bad)?;
        let (to, check) = rest.split_first_chunk().ok_or_else(bad)?;
        let check = check.try_into().map_err(|_| bad())?;
        Ok(Self { from: u64::from_be_bytes(*from), to: u64::from_be_bytes(*to), check })
    }

    fn encode(&self) -> Vec<u8> {
        [&self.from.to_be_bytes()[..], &self.to.to_be_bytes(), &self.check].concat()
    }
}

/// The row of an event that holds a part of a transcript. It stays when the event is erased, so that what was erased is not read
/// from the transcript again.
pub(crate) fn row_of(attributes: Option<&Value>) -> Option<NewRow> {
    let part = attributes?.get("transcript_part")?;
    let bytes = |name: &str| {
        let text = part.get(name)?.as_str()?;
        HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
    };
    let kept = Kept { from: part.get("from")?.as_u64()?, to: part.get("to")?.as_u64()?, check: bytes("check")? };
    Some(NewRow { kind: row::TRANSCRIPT, hash: bytes("of")?, value: kept.encode() })
}

impl Writer {
    /// Keeps what the harness added to its transcript since this was called last, up to the end of a line. When this returns, it is
    /// durable. A transcript that is not there, or cannot be read, is none.
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
        let own = self.own_hash();
        let of = own.hash("transcript", &[path.as_os_str().as_encoded_bytes()])?;
        let check = |to: u64| own.hash("transcript-before", &[&bytes_before(&file, to)]);
        let last =
            self.latest_row(row::TRANSCRIPT, self.hashes("transcript", path.as_os_str().as_encoded_bytes())?).await?;
        let (mut from, mut after) = (0, 0);
        if let Some(last) = &last {
            let kept = Kept::decode(&last.value)?;
            after = last.position.seq;
            if kept.to <= length && check(kept.to)? == kept.check {
                from = kept.to;
            }
        }
        // What was erased stays away although the harness still has it.
        let mut erased = if from == 0 && last.is_some() { self.erased_parts(path).await? } else { Vec::new() };
        erased.retain(|kept| kept.to <= length && check(kept.to).is_ok_and(|now| now == kept.check));
        while from < length {
            if let Some(kept) = erased.iter().find(|kept| kept.from <= from && from < kept.to) {
                from = kept.to;
                continue;
            }
            let end = erased.iter().map(|kept| kept.from).filter(|start| *start > from).min().unwrap_or(length);
            let Some(bytes) = whole_lines(&file, from, end) else { break };
            let to = from + bytes.len() as u64;
            let (of, check) = (HEXLOWER.encode(&of), HEXLOWER.encode(&check(to)?));
            let part = json!({"path": path, "of": of, "from": from, "to": to, "check": check});
            let attributes = json!({"harness": event.harness.name(), "transcript_part": part});
            // What is added twice to the same part before is one part, and what comes back after others is another.
            let hash = own.hash("transcript-part", &[path.as_os_str().as_encoded_bytes(), &[0], &bytes])?;
            let dedupe = Some(format!("transcript part {from} after {after} {}", HEXLOWER.encode(&hash)));
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

    /// The parts of a transcript that were erased, along the branch's ancestry.
    async fn erased_parts(&self, path: &Path) -> Result<Vec<Kept>> {
        let core = self.core();
        let at = Position { journal: self.branch, seq: core.journal(self.branch).await?.head };
        let hashes = self.hashes("transcript", path.as_os_str().as_encoded_bytes())?;
        let query = RowQuery { at, kind: row::TRANSCRIPT, hashes, limit: usize::MAX };
        let mut tombstones: BTreeMap<JournalId, BTreeMap<u64, Vec<NewRow>>> = BTreeMap::new();
        let mut erased = Vec::new();
        for found in core.0.ledger.rows(query).await? {
            let journal = found.position.journal;
            let of_journal = match tombstones.entry(journal) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(core.kept_rows(journal).await?),
            };
            if of_journal.contains_key(&found.position.seq) {
                erased.push(Kept::decode(&found.value)?);
            }
        }
        Ok(erased)
    }
}

/// The next part: whole lines from an offset, and at most one of them past [`PART`]; none when there is no whole one. The last line may
/// lack its end where it is all there.
fn whole_lines(file: &RangeFile, from: u64, end: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let place = from + bytes.len() as u64;
        let known = bytes.len();
        let size = usize::try_from(end.saturating_sub(place).min(PART)).unwrap_or_default();
        bytes.resize(known + size, 0);
        let filled = file.fill_at(place, bytes.get_mut(known..)?).ok()?;
        bytes.truncate(known + filled);
        let is_end = filled < size || from + bytes.len() as u64 >= end;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        if is_end {
            let is_record = |rest: &[u8]| {
                rest.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(rest).is_ok()
            };
            if !bytes.get(whole..).is_some_and(is_record) {
                bytes.truncate(whole);
            }
            return (!bytes.is_empty()).then_some(bytes);
        }
        if whole > 0 {
            bytes.truncate(whole);
            return Some(bytes);
        }
    }
}

fn bytes_before(file: &RangeFile, to: u64) -> Vec<u8> {
    let size = usize::try_from(to.min(CHECKED)).unwrap_or_default();
    let mut bytes = vec![0; size];
    let filled = file.fill_at(to - to.min(CHECKED), &mut bytes).unwrap_or_default();
    bytes.truncate(filled);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(content: &[u8], from: u64, end: u64) -> Option<Vec<u8>> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t");
        samite_host::files::write_atomic(&path, content, samite_host::files::PRIVATE_FILE).unwrap();
        whole_lines(&RangeFile::open(&path).unwrap(), from, end)
    }

    /// A transcript, where a part begins in it, and the part.
    type Case = (&'static [u8], u64, Option<&'static [u8]>);

    #[test]
    fn a_part_ends_with_a_line() {
        let cases: [Case; 8] = [
            (b"", 0, None),
            (b"{\"a\":1}\n{\"b\":2}\n", 0, Some(b"{\"a\":1}\n{\"b\":2}\n")),
            (b"{\"a\":1}\n{\"b\":2}\n", 8, Some(b"{\"b\":2}\n")),
            // Half of a line waits for the rest.
            (b"{\"a\":1}\n{\"b\":", 0, Some(b"{\"a\":1}\n")),
            (b"{\"a\":", 0, None),
            // One that is all there needs no end; a number might go on.
            (b"{\"a\":1}\n{\"b\":2}", 0, Some(b"{\"a\":1}\n{\"b\":2}")),
            (b"1\n2", 0, Some(b"1\n")),
            (b"12", 0, None),
        ];
        for (content, from, wanted) in cases {
            let found = lines_of(content, from, content.len() as u64);
            assert_eq!(found.as_deref(), wanted, "{}", String::from_utf8_lossy(content));
        }
    }

    #[test]
    fn a_line_longer_than_a_part_is_one_part() {
        let long = usize::try_from(PART).unwrap() + 5;
        let content = [vec![b'x'; long], b"\nshort\n".to_vec()].concat();
        let first = lines_of(&content, 0, content.len() as u64).unwrap();
        // What is read with the end of the line is whole lines too.
        assert_eq!(first.len(), content.len());
        let content = [&b"short\n"[..], &vec![b'x'; long], b"\n"].concat();
        assert_eq!(lines_of(&content, 0, content.len() as u64).unwrap(), b"short\n");
        assert_eq!(lines_of(&content, 6, content.len() as u64).unwrap().len(), long + 1);
    }

    #[test]
    fn a_row_says_how_far_a_transcript_was_kept() {
        let part = json!({"path": "/t", "of": "01".repeat(16), "from": 3, "to": 9, "check": "ab".repeat(16)});
        let row = row_of(Some(&json!({ "transcript_part": part }))).unwrap();
        assert_eq!((row.kind, row.hash), (row::TRANSCRIPT, [1; 16]));
        assert_eq!(Kept::decode(&row.value).unwrap(), Kept { from: 3, to: 9, check: [0xab; 16] });
        assert_eq!(row_of(Some(&json!({"transcript_part": {"path": "/t", "from": 3, "to": 9}}))), None);
        assert_eq!(row_of(Some(&json!({}))), None);
        assert_eq!(Kept::decode(&row.value[1..]).unwrap_err().code(), "bad_view");
    }
}
