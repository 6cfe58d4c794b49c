//! How much of callers' events is kept, applied before anything of them is written.

use super::{ROUNDS, contended};
use crate::client::Client;
use crate::core::Core;
use crate::payload::{CaptureSet, Event, Marks, Submitted};
use crate::status::SessionStatus;
use crate::views::{self, register, row};
use crate::writer::Writer;
use samite_ledger::{NewRow, RowQuery};
use samite_model::policy::capture::{Capture, Level, keep, keep_value};
use samite_model::{EntryKind, Error, Position, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The attribute that says what was dropped. It is no caller's to give.
const ATTRIBUTE: &str = "samite:capture";

/// The attribute under which attributes stand that are no object.
const OTHERS: &str = "samite:attributes";

/// A writer at work looks so often what is decided: once a second.
const LOOK: i64 = 1_000_000_000;

/// What was dropped of an event, as its attributes say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dropped {
    /// The level that was in force.
    level: Level,
    /// How many pieces.
    pub(crate) pieces: u64,
    /// How many bytes less there are.
    pub(crate) bytes: u64,
    /// How many bytes there were.
    size: u64,
}

impl Dropped {
    /// What an event's attributes say was dropped of it.
    pub(crate) fn of(event: &Event<'_>) -> Option<Self> {
        event.attributes.as_ref()?.get(ATTRIBUTE).and_then(|dropped| serde_json::from_value(dropped.clone()).ok())
    }

    /// Whether a body is what was submitted, as far as what was kept of it tells.
    pub(crate) fn is_of(&self, kind: EntryKind, body: &[u8], kept: &[u8]) -> bool {
        self.size == body.len() as u64 && *keep(self.level, kind, body).body == *kept
    }

    /// Attributes as their caller gave them.
    pub(crate) fn without(attributes: Option<Value>) -> Option<Value> {
        match attributes? {
            Value::Object(mut all) => {
                all.remove(ATTRIBUTE);
                all.remove(OTHERS).or_else(|| (!all.is_empty()).then_some(Value::Object(all)))
            }
            other => Some(other),
        }
    }

    /// The row by which it is counted.
    pub(crate) fn row(&self) -> NewRow {
        views::captured(self.pieces, self.bytes)
    }
}

/// What was dropped of events before they were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Of how many events.
    pub entries: u64,
    /// How many pieces.
    pub pieces: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// An event that is about to be written.
pub(crate) struct Framed {
    /// Its payload.
    pub(crate) payload: Vec<u8>,
    /// The row of what was dropped.
    pub(crate) row: Option<NewRow>,
}

/// Frames an event, and keeps of it what is to be kept. `submitted` is the fingerprint of its body as it came, where something
/// may compare it.
pub(crate) fn frame(
    capture: &Capture,
    kind: EntryKind,
    dedupe: Option<&str>,
    attributes: Option<&Value>,
    body: &[u8],
    submitted: Option<[u8; 16]>,
) -> Result<Framed> {
    if attributes.is_some_and(|given| given.get(ATTRIBUTE).is_some()) {
        return Err(Error::invalid("reserved_attribute", format!("the attribute {ATTRIBUTE} is samite's own"))
            .hint("give it another name"));
    }
    let level = capture.level(kind);
    if level == Level::Full {
        return Ok(Framed { payload: Event::encode(dedupe, attributes, body)?, row: None });
    }
    let kept = keep(level, kind, body);
    let (attributes, beside) = match attributes {
        Some(given) => {
            let (given, dropped) = keep_value(level, given.clone());
            (Some(given), dropped)
        }
        None => (None, 0),
    };
    let pieces = kept.dropped.saturating_add(beside);
    if pieces == 0 {
        return Ok(Framed { payload: Event::encode(dedupe, attributes.as_ref(), body)?, row: None });
    }
    let (size, left) = (body.len() as u64, kept.body.len() as u64);
    let dropped = Dropped { level, pieces, bytes: size.saturating_sub(left), size };
    let mut all = match attributes {
        Some(Value::Object(all)) => all,
        Some(other) => Map::from_iter([(OTHERS.to_owned(), other)]),
        None => Map::new(),
    };
    all.insert(ATTRIBUTE.to_owned(), json!(dropped));
    // By that it is known when it comes again.
    let marks = submitted.map(|hash| Marks { submitted: Some(Submitted(hash)), found: Vec::new() });
    let payload = Event::encode_marked(dedupe, Some(&Value::Object(all)), marks.as_ref(), &kept.body)?;
    Ok(Framed { payload, row: Some(dropped.row()) })
}

/// What a register of a decision is found by: zeros for all other kinds.
pub(crate) fn kind_hash(kind: Option<EntryKind>) -> [u8; 16] {
    let mut hash = [0; 16];
    let code = kind.map_or(0, EntryKind::code).to_be_bytes();
    hash.iter_mut().zip(code).for_each(|(place, byte)| *place = byte);
    hash
}

impl Core {
    /// How much is kept of which kinds.
    pub(crate) async fn capture(&self) -> Result<Capture> {
        let (_, registers) = self.decided_registers().await?;
        let mut capture = Capture::default();
        for found in registers.iter().filter(|entry| entry.kind == register::CAPTURE) {
            let level = Level::from_code(found.value.first().copied().unwrap_or(u8::MAX));
            let [high, low, ..] = found.hash;
            match u16::from_be_bytes([high, low]) {
                0 => capture.others = level,
                code => {
                    capture.kinds.insert(EntryKind::from_code(code), level);
                }
            }
        }
        Ok(capture)
    }
}

impl Writer {
    /// How much is kept of which kinds, as it was decided at most a second ago.
    pub(crate) async fn capture(&self) -> Result<Arc<Capture>> {
        let now = self.core().now();
        if let Some((at, known)) = self.known_capture()
            && (at..at.saturating_add(LOOK)).contains(&now)
        {
            return Ok(known);
        }
        let capture = Arc::new(self.core().capture().await?);
        self.remember_capture(now, &capture);
        Ok(capture)
    }
}

impl Client {
    /// How much of callers' events is kept, by kind.
    ///
    /// # Errors
    /// `unavailable` when the store cannot be read.
    pub async fn capture(&self) -> Result<Capture> {
        self.core.capture().await
    }

    /// What was dropped of the events of some sessions.
    pub(crate) async fn captured(&self, sessions: &[SessionStatus]) -> Result<Captured> {
        let mut captured = Captured::default();
        for branch in sessions.iter().flat_map(|session| &session.branches) {
            let state = self.core.journal(branch.branch.id).await?;
            let at = Position { journal: state.id, seq: state.head };
            let query = RowQuery { at, kind: row::CAPTURED, hashes: Vec::new(), limit: usize::MAX };
            for found in self.core.0.ledger.rows(query).await? {
                // What a fork inherits is counted where it was written.
                if found.position.journal == state.id {
                    let (pieces, bytes) = views::captured_of(&found.value)?;
                    captured.entries = captured.entries.saturating_add(1);
                    captured.pieces = captured.pieces.saturating_add(pieces);
                    captured.bytes = captured.bytes.saturating_add(bytes);
                }
            }
        }
        Ok(captured)
    }

    /// Decides how much is kept of a kind of callers' events, or of all for which nothing else is decided; none takes a
    /// kind's own decision back. When this returns, it is durable; a writer at work heeds it within a second. What is
    /// stored already stays.
    ///
    /// # Errors
    /// `invalid` (`bad_kind`) for a kind that callers do not write.
    pub async fn set_capture(&self, kind: Option<EntryKind>, level: Option<Level>) -> Result<()> {
        let this = &self.operator().await?;
        if let Some(kind) = kind.filter(|kind| !crate::payload::is_event(*kind)) {
            return Err(Error::invalid("bad_kind", format!("{kind} is nothing that callers write"))
                .hint("message, model_response, event and compaction are"));
        }
        let set = CaptureSet { kind: kind.map(EntryKind::name), level };
        for _ in 0..ROUNDS {
            let (version, _) = this.core.decided_registers().await?;
            let draft = this.core.draft(EntryKind::CAPTURE_SET, &set, super::views::capture_set(&set))?;
            if this.decide_as_tenant(draft, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }
}
