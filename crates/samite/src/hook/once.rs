//! Recording an event once, however often it is told.

use super::event::{HookEvent, Side, side_of};
use super::sessions::name;
use crate::log::{Entry, ReadOptions};
use crate::payload::{Compaction, Event, is_event};
use crate::views::row;
use crate::writer::{Appended, NewEvent, Writer};
use samite_model::{EntryKind, Position, Result};
use serde_json::{Map, Value};

/// How often an event is appended anew because something else came in between.
const ROUNDS: usize = 3;

/// An event's other fields are kept beside it up to so many bytes of JSON, and as an event of their own beyond.
const ATTRIBUTES: usize = 32 << 10;

/// An event that nothing tells from another is one that came twice when it is the same as one of so many before it.
const BEFORE: usize = 3;

/// A placeholder is at most so many times as long as what it stands for.
const LONGER: u64 = 8;

/// So many entries are looked at for those: trees, the ends of turns and parts of transcripts do not count.
const LOOKED_AT: u64 = 32;

/// Where an event was recorded, if it was just now.
pub(super) fn newly(appended: Appended) -> Option<Position> {
    (!appended.duplicate).then_some(appended.position)
}

impl Writer {
    /// Records an event as it came. None when it was there already.
    pub(super) async fn hook_event(&self, event: &HookEvent) -> Result<Option<Position>> {
        self.hook_append(event, EntryKind::EVENT, event.raw.clone(), None).await.map(newly)
    }

    /// Appends an event, unless it came before.
    pub(super) async fn hook_append(
        &self,
        event: &HookEvent,
        kind: EntryKind,
        body: Vec<u8>,
        role: Option<&str>,
    ) -> Result<Appended> {
        let mut attributes = attributes(event, role, body == event.raw);
        let more = attributes.get("more").map_or(0, |more| more.to_string().len());
        if more > ATTRIBUTES {
            attributes.remove("more");
            let (attributes, raw) = (attributes.clone(), event.raw.clone());
            self.append_once(event, EntryKind::EVENT, raw, attributes, "more ").await?;
        }
        if kind == EntryKind::COMPACTION {
            let head = self.core().journal(self.branch()).await?.head;
            if let Value::Object(range) = crate::core::to_value(&Compaction { from: 1, to: head })? {
                attributes.extend(range);
            }
        }
        let appended = self.append_once(event, kind, body, attributes, "").await?;
        samite_host::kill_point("hook.appended");
        Ok(appended)
    }

    /// Appends once: by what tells the event from others, or else unless it is among the last.
    async fn append_once(
        &self,
        event: &HookEvent,
        kind: EntryKind,
        body: Vec<u8>,
        attributes: Map<String, Value>,
        which: &str,
    ) -> Result<Appended> {
        let dedupe = event.identity.as_ref().map(|identity| format!("hook {which}{} {identity}", name(&event.name)));
        let new = |expected_head| NewEvent {
            kind,
            body: body.clone(),
            attributes: Some(Value::Object(attributes.clone())),
            dedupe: dedupe.clone(),
            expected_head,
        };
        if let Some(dedupe) = &dedupe {
            return match self.append(new(None)).await {
                // A range that moved on meanwhile is no other event.
                Err(error) if error.code() == "dedupe_mismatch" => {
                    let found = self.latest_row(row::DEDUPE, self.hashes("dedupe", dedupe.as_bytes())?).await?;
                    found.map(|found| Appended { position: found.position, duplicate: true }).ok_or(error)
                }
                other => other,
            };
        }
        for _ in 0..ROUNDS {
            let head = self.core().journal(self.branch()).await?.head;
            if let Some(position) = self.among_last(head, event, kind, &body).await? {
                return Ok(Appended { position, duplicate: true });
            }
            match self.append(new(Some(head))).await {
                Err(error) if error.code() == "head_moved" => {}
                other => return other,
            }
        }
        self.append(new(None)).await
    }

    /// Where this very event is among the last ones, when it is there. What is said at the beginning or the end of a turn is
    /// said again, and no repetition, once something else happened.
    async fn among_last(&self, head: u64, event: &HookEvent, kind: EntryKind, body: &[u8]) -> Result<Option<Position>> {
        if head == 0 {
            return Ok(None);
        }
        let from = head.saturating_sub(LOOKED_AT - 1).max(1);
        let options = ReadOptions { from, headers_only: true, backward: true, ..ReadOptions::default() };
        let side = side_of(&event.name);
        let again = Event::encode(None, None, body)?;
        let mut seen = 0;
        for header in self.read(options).await?.all().await? {
            if seen == BEFORE {
                break;
            }
            if !is_event(header.header.kind) {
                let is_call = is_step(header.header.kind);
                if is_call && side.is_some() {
                    break;
                }
                seen += usize::from(is_call);
                continue;
            }
            // One that is far longer is another, and may be long to read. What is shorter may have placeholders.
            if header.header.length > LONGER * body.len() as u64 + 2 * ATTRIBUTES as u64 {
                continue;
            }
            let entry = self.core().entry_at(header.position).await?;
            match told(&entry, side) {
                Told::Nothing => {}
                Told::OtherSide => break,
                Told::Event(named) => {
                    let may_be = named == event.name && entry.header.kind == kind;
                    if may_be && self.core().repeats(&entry, &again).await? {
                        return Ok(Some(entry.position));
                    }
                    seen += 1;
                }
            }
        }
        Ok(None)
    }
}

/// What an entry tells that was read for a repetition.
enum Told {
    /// Nothing that happened: a part of a transcript.
    Nothing,
    /// Where the turn began or ended, and the event that is looked for does the other.
    OtherSide,
    /// An event, with its name; none for what no hook recorded.
    Event(String),
}

fn told(entry: &Entry, side: Option<Side>) -> Told {
    let attributes = entry.event().ok().and_then(|known| known.attributes).unwrap_or_default();
    if attributes.get("transcript_part").is_some() {
        return Told::Nothing;
    }
    let named = attributes.get("event").and_then(Value::as_str).unwrap_or_default();
    match (side, side_of(named)) {
        (Some(own), Some(other)) if own != other => Told::OtherSide,
        _ => Told::Event(named.to_owned()),
    }
}

fn is_step(kind: EntryKind) -> bool {
    [EntryKind::STEP_STARTED, EntryKind::STEP_COMPLETED, EntryKind::STEP_FAILED].contains(&kind)
}

/// What is kept beside an event's words.
fn attributes(event: &HookEvent, role: Option<&str>, is_whole: bool) -> Map<String, Value> {
    let mut attributes = Map::new();
    attributes.insert("harness".to_owned(), event.harness.name().into());
    attributes.insert("event".to_owned(), name(&event.name).into());
    if let Some(role) = role {
        attributes.insert("role".to_owned(), role.into());
    }
    // An event that is kept whole says these itself.
    if !is_whole {
        attributes.insert("session".to_owned(), event.session.clone().into());
        if let Some(transcript) = event.transcript.as_ref().and_then(|path| path.to_str()) {
            attributes.insert("transcript".to_owned(), transcript.into());
        }
    }
    // How far the harness's own transcript went, where there is one: it tells which part of it this position has.
    let length = event.transcript.as_ref().and_then(|path| samite_host::files::size(path).ok());
    if let Some(length) = length {
        attributes.insert("transcript_bytes".to_owned(), length.into());
    }
    if !is_whole && !event.more.is_empty() {
        attributes.insert("more".to_owned(), Value::Object(event.more.clone()));
    }
    attributes
}
