//! Whether what is submitted under a key again is what was submitted first, although that is not what is stored: something
//! in it was replaced, or not kept.
//!
//! An entry of which this is so has a keyed fingerprint of what came, so that no later policy makes it another. It is over
//! what tells one submission from another, and nothing else: times and ids differ each time.

use crate::core::{Core, FamilyHash, from_json};
use crate::log::Entry;
use crate::payload::{Event, Submitted, is_event};
use crate::policy::Dropped;
use crate::views::IndexHash;
use samite_model::json::canonical;
use samite_model::{EntryKind, FamilyId, JournalId, Pseudonym, Result};
use serde_json::Value;
use std::borrow::Cow;

/// What of samite's own entries is compared, of what may be replaced in them: pointers into their JSON.
fn compared(kind: EntryKind) -> &'static [&'static str] {
    match kind {
        EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED | EntryKind::STEP_RESOLVED | EntryKind::STEP_ABANDONED => {
            &["/output"]
        }
        EntryKind::SESSION_CREATED => &["/name", "/source"],
        EntryKind::ARTIFACT_PUBLISHED => &["/description", "/lineage/command"],
        _ => &[],
    }
}

/// The bytes that tell one submission from another; none where nothing compares them.
fn telling(kind: EntryKind, payload: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
    if is_event(kind) {
        return Event::decode(payload).map(|event| Some(Cow::Borrowed(event.body)));
    }
    let pointers = compared(kind);
    if pointers.is_empty() {
        return Ok(None);
    }
    let value: Value = from_json("an entry", payload)?;
    // What is not there and what is null are alike.
    let parts = pointers.iter().map(|pointer| value.pointer(pointer).cloned().unwrap_or_default()).collect();
    Ok(Some(Cow::Owned(canonical(&Value::Array(parts)))))
}

fn fingerprint(hash: &FamilyHash<'_>, kind: EntryKind, telling: &[u8]) -> Result<Submitted> {
    hash.hash("submitted", &[&kind.code().to_be_bytes(), telling]).map(Submitted)
}

impl Core {
    /// The fingerprint of what is submitted, for an entry of a journal that has no row with one.
    pub(crate) fn submitted(
        &self,
        owner: Pseudonym,
        journal: JournalId,
        kind: EntryKind,
        payload: &[u8],
    ) -> Result<Option<Submitted>> {
        let own = self.hasher(owner, FamilyId(journal.0));
        telling(kind, payload)?.map(|telling| fingerprint(&own, kind, &telling)).transpose()
    }

    /// The same, of the body of an event.
    pub(crate) fn submitted_body(
        &self,
        owner: Pseudonym,
        journal: JournalId,
        kind: EntryKind,
        body: &[u8],
    ) -> Result<[u8; 16]> {
        fingerprint(&self.hasher(owner, FamilyId(journal.0)), kind, body).map(|submitted| submitted.0)
    }

    /// Whether a payload of an entry's kind, as it is submitted now, is what was submitted when the entry was written. What
    /// was erased is nothing any more.
    ///
    /// # Errors
    /// `corrupt` when the entry cannot be read.
    pub(crate) async fn repeats(&self, entry: &Entry, now: &[u8]) -> Result<bool> {
        let entry = self.whole(entry.clone())?;
        let Some(stored) = &entry.payload else { return Ok(false) };
        let (kind, owner, journal) = (entry.header.kind, entry.header.owner, entry.position.journal);
        let (Some(then), Some(new)) = (telling(kind, stored)?, telling(kind, now)?) else { return Ok(false) };
        let marks = super::apply::marks_of(&entry).unwrap_or_default();
        let event = if entry.is_event() { Some(entry.event()?) } else { None };
        if let Some(submitted) = marks.submitted {
            // With a dedupe id it is the one that the id's row has, which holds for the session.
            let family = match event.as_ref().and_then(|event| event.dedupe) {
                Some(_) => self.journal(journal).await?.family,
                None => FamilyId(journal.0),
            };
            return Ok(fingerprint(&self.hasher(owner, family), kind, &new)? == submitted);
        }
        if let Some(dropped) = event.as_ref().and_then(Dropped::of) {
            return Ok(dropped.is_of(kind, &new, &then));
        }
        Ok(then == new)
    }
}
