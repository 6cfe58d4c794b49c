//! What of an entry is redacted, by its kind.

use crate::core::{Core, Draft, from_json, to_json};
use crate::log::Entry;
use crate::payload::{Event, FileFound, FoundMany, KindFound, Marks, StepStarted, Submitted, is_event};
use crate::views::{StepRow, row};
use samite_model::{EntryKind, JournalId, Pseudonym, Result};
use samite_redact::{Class, Finding, Mode, Redactor};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The fields of samite's own entries that hold what callers and tools said; the others are compared, hashed or acted on.
fn fields(kind: EntryKind) -> &'static [&'static str] {
    match kind {
        EntryKind::STEP_STARTED => &["input"],
        EntryKind::STEP_COMPLETED
        | EntryKind::STEP_FAILED
        | EntryKind::STEP_EVIDENCE
        | EntryKind::STEP_RESOLVED
        | EntryKind::STEP_ABANDONED => &["output", "evidence", "note"],
        EntryKind::SESSION_CREATED => &["name", "source"],
        EntryKind::TREE => &["label", "environment"],
        EntryKind::ARTIFACT_PUBLISHED => &["description", "command"],
        EntryKind::MEMORY_ASSERTED => &["text", "metadata", "edge", "source"],
        EntryKind::MEMORY_RETRACTED | EntryKind::MEMORY_DECIDED | EntryKind::MEMORY_REVOKED => &["reason"],
        _ => &[],
    }
}

/// Tools of samite itself, whose inputs it acts on.
const OWN: &str = crate::workspace::RESTORE;

impl Core {
    /// A draft as the policy lets it be stored.
    pub(crate) fn redacted_draft(&self, owner: Pseudonym, journal: JournalId, draft: Draft) -> Result<Draft> {
        let names = fields(draft.kind);
        if names.is_empty() && !is_event(draft.kind) {
            return Ok(draft);
        }
        let redactor = self.redactor()?;
        if Class::ALL.iter().all(|class| redactor.policy().mode(*class) == Mode::Off) {
            return Ok(draft);
        }
        let submitted = |draft: &Draft| match in_row(draft) {
            Some(submitted) => Ok(Some(submitted)),
            None => self.submitted(owner, journal, draft.kind, &draft.payload),
        };
        if is_event(draft.kind) { event(&redactor, submitted, draft) } else { own(&redactor, submitted, names, draft) }
    }

    /// A payload of samite's own as it would be stored now; none where it would be as it is.
    pub(crate) fn redacted_payload(&self, kind: EntryKind, payload: &[u8]) -> Result<Option<Vec<u8>>> {
        let names: Vec<String> = fields(kind).iter().map(|name| (*name).to_owned()).collect();
        Ok(self.redactor()?.redact_only(&names, payload).bytes)
    }
}

/// What was submitted, told by its fingerprint.
type Told = Result<Option<Submitted>>;

fn event(redactor: &Redactor, submitted: impl Fn(&Draft) -> Told, mut draft: Draft) -> Result<Draft> {
    let event = Event::decode(&draft.payload)?;
    let body = redactor.redact(event.body);
    let mut findings = body.findings;
    let mut attributes = event.attributes;
    if let Some(value) = &attributes {
        let redacted = redactor.redact(&to_json(value)?);
        findings.extend(redacted.findings);
        if let Some(bytes) = redacted.bytes {
            attributes = Some(from_json("an event's attributes", &bytes)?);
        }
    }
    // What was found before, in an entry that is written again, counts on.
    let before = event.marks.unwrap_or_default();
    if findings.is_empty() {
        return Ok(draft);
    }
    let submitted = match before.submitted {
        None if body.bytes.is_some() => submitted(&draft)?,
        known => known,
    };
    let marks = Marks { submitted, found: counted(before.found, &findings) };
    let bytes = body.bytes.as_deref().unwrap_or(event.body);
    draft.payload = Event::encode_marked(event.dedupe, attributes.as_ref(), Some(&marks), bytes)?;
    Ok(draft)
}

fn own(redactor: &Redactor, submitted: impl Fn(&Draft) -> Told, names: &[&str], mut draft: Draft) -> Result<Draft> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let redacted = redactor.redact_only(&names, &draft.payload);
    if redacted.findings.is_empty() {
        return Ok(draft);
    }
    let mut before = Marks::default();
    if draft.kind == EntryKind::STEP_STARTED {
        let started: StepStarted = from_json("a step's start", &draft.payload)?;
        if started.tool == OWN {
            return Ok(draft);
        }
        // A step that runs again has its marks already, and placeholders where something was.
        if let Some(marks) = started.redaction {
            if redacted.bytes.is_none() {
                return Ok(draft);
            }
            before = marks;
        }
    }
    let submitted = match before.submitted {
        None if redacted.bytes.is_some() => submitted(&draft)?,
        known => known,
    };
    let again = before != Marks::default();
    let marks = Marks { submitted, found: counted(before.found, &redacted.findings) };
    let bytes = redacted.bytes.unwrap_or(draft.payload);
    draft.payload = if again {
        let mut started: StepStarted = from_json("a step's start", &bytes)?;
        started.redaction = Some(marks);
        to_json(&started)?
    } else {
        with_marks(bytes, &marks)?
    };
    Ok(draft)
}

/// An object of JSON with one field more at its end: its other bytes stay.
fn with_marks(mut object: Vec<u8>, marks: &Marks) -> Result<Vec<u8>> {
    if object.pop() == Some(b'}') {
        object.extend_from_slice(b",\"redaction\":");
        object.extend_from_slice(&to_json(marks)?);
        object.push(b'}');
    }
    Ok(object)
}

/// The fingerprint of what was submitted, where a row of the draft's has it: that of a step's end is its start's.
fn in_row(draft: &Draft) -> Option<Submitted> {
    draft.views.rows.iter().find_map(|found| match found.kind {
        row::DEDUPE if is_event(draft.kind) => found.value.as_slice().try_into().ok().map(Submitted),
        row::STEP if draft.kind == EntryKind::STEP_STARTED => {
            StepRow::decode(&found.value).ok().map(|step| Submitted(step.fingerprint))
        }
        _ => None,
    })
}

fn counted(before: Vec<FoundMany>, findings: &[Finding]) -> Vec<FoundMany> {
    let mut counts: BTreeMap<(Class, String, bool), u64> = BTreeMap::new();
    for found in before {
        *counts.entry((found.class, found.kind, found.redacted)).or_default() += found.count;
    }
    for finding in findings {
        *counts.entry((finding.class, finding.kind.to_string(), finding.redacted)).or_default() += 1;
    }
    // A payload's frame has room for so many.
    counts
        .into_iter()
        .take(256)
        .map(|((class, kind, redacted), count)| FoundMany { class, kind, count, redacted })
        .collect()
}

/// Whether something was found in what is about to be sealed, or in the files that it speaks of: a row says so.
pub(crate) fn is_marked(kind: EntryKind, payload: &[u8]) -> Result<bool> {
    if is_event(kind) {
        return Ok(Event::decode(payload)?.marks.is_some_and(|marks| !marks.found.is_empty()));
    }
    Ok(has_marks(kind, payload) || !files_of(kind, payload).is_empty())
}

/// The same for an entry as it is stored.
pub(crate) fn is_marked_entry(entry: &Entry) -> Result<bool> {
    match &entry.payload {
        Some(payload) => is_marked(entry.header.kind, payload),
        None => Ok(false),
    }
}

fn has_marks(kind: EntryKind, payload: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Marked {
        redaction: Option<Marks>,
    }
    !fields(kind).is_empty()
        && memchr::memmem::find(payload, b"\"redaction\":").is_some()
        && serde_json::from_slice::<Marked>(payload)
            .is_ok_and(|marked| marked.redaction.is_some_and(|marks| !marks.found.is_empty()))
}

/// What was found in files, where an entry speaks of that.
fn files_of(kind: EntryKind, payload: &[u8]) -> Vec<FileFound> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Found {
        found: Vec<FileFound>,
    }
    #[derive(Deserialize)]
    struct Reported {
        report: Found,
    }
    if memchr::memmem::find(payload, b"\"found\":[{").is_none() {
        return Vec::new();
    }
    match kind {
        EntryKind::TREE => serde_json::from_slice::<Reported>(payload).map(|tree| tree.report.found),
        EntryKind::MERGE_STARTED | EntryKind::ARTIFACT_PUBLISHED => {
            serde_json::from_slice::<Found>(payload).map(|found| found.found)
        }
        _ => return Vec::new(),
    }
    .unwrap_or_default()
}

/// What was found in files, where an entry speaks of that.
pub(super) fn found_files_in(entry: &Entry) -> Vec<FileFound> {
    entry.payload.as_deref().map(|payload| files_of(entry.header.kind, payload)).unwrap_or_default()
}

/// In how many files an entry says that something was found.
pub(crate) fn files_with_findings(entry: &Entry) -> u64 {
    let mut paths: Vec<String> = found_files_in(entry).into_iter().map(|found| found.path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.len() as u64
}

/// The most chunks of files that an entry names.
const NAMED: usize = 1000;

/// What a snapshot found, as an entry says it, and in how many chunks more something was found.
pub(crate) fn found_files(found: &[samite_workspace::FoundChunk]) -> (Vec<FileFound>, usize) {
    let class = |name: &str| Class::ALL.into_iter().find(|class| class.name() == name).unwrap_or(Class::Secret);
    let named = found.iter().take(NAMED).map(|one| FileFound {
        path: one.path.to_string(),
        block: one.block,
        separate: one.separate,
        found: one
            .found
            .iter()
            .map(|kind| KindFound {
                class: class(kind.class),
                kind: kind.kind.clone(),
                count: kind.count,
                fingerprints: kind.fingerprints.clone(),
            })
            .collect(),
    });
    (named.collect(), found.len().saturating_sub(NAMED))
}

/// What was found in an entry as it was written.
pub(super) fn marks_of(entry: &Entry) -> Option<Marks> {
    #[derive(Deserialize)]
    struct Marked {
        redaction: Option<Marks>,
    }
    if entry.is_event() {
        return entry.event().ok()?.marks;
    }
    if fields(entry.header.kind).is_empty() {
        return None;
    }
    entry.json::<Marked>().ok()?.redaction
}
