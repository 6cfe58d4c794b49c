//! Reading a branch: its own entries and those that it inherits, in the order of their positions.

use crate::core::{Core, Segment, from_json};
use crate::payload::{Event, is_event};
use samite_ledger::{Direction, Read};
use samite_model::{BlockId, EntryKind, Error, Header, Link, Position, Result};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// An entry, opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub position: Position,
    /// Its header.
    pub header: Header,
    /// Its link.
    pub link: Link,
    /// Its payload; `None` when it was erased, not asked for, or so large that it is in `blocks` only.
    pub payload: Option<Vec<u8>>,
    /// The blocks of a payload that is too large for its journal.
    pub blocks: Vec<BlockId>,
}

impl Entry {
    /// The payload as a caller's event.
    ///
    /// # Errors
    /// `corrupt` when it is not framed as one; `not_found` when it was erased.
    pub fn event(&self) -> Result<Event<'_>> {
        match &self.payload {
            Some(payload) => Event::decode(payload).map_err(|error| {
                error.context(format!("journal {}, seq {}", self.position.journal, self.position.seq))
            }),
            None => Err(self.erased()),
        }
    }

    /// Whether a caller wrote it, so that its payload is an [`Event`].
    pub fn is_event(&self) -> bool {
        is_event(self.header.kind)
    }

    fn erased(&self) -> Error {
        Error::not_found(
            "erased",
            format!(
                "the payload of journal {}, seq {} ({}) was erased",
                self.position.journal, self.position.seq, self.header.kind
            ),
        )
    }

    /// The payload as one of samite's own.
    ///
    /// # Errors
    /// `corrupt` when it is not what the kind says; `not_found` when it was erased.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        let what = format!("journal {}, seq {} ({})", self.position.journal, self.position.seq, self.header.kind);
        match &self.payload {
            Some(payload) => from_json(&what, payload),
            None => Err(self.erased()),
        }
    }
}

/// Which entries of a branch to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The first seq; 0 and 1 both mean the beginning.
    pub from: u64,
    /// The last seq, included; none means the head at the time of the call.
    pub to: Option<u64>,
    /// Only these kinds; empty means all.
    pub kinds: Vec<EntryKind>,
    /// Newest first.
    pub backward: bool,
    /// Without payloads.
    pub headers_only: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { from: 1, to: None, kinds: Vec::new(), backward: false, headers_only: false }
    }
}

const PAGE: usize = 512;

/// Reads a branch page by page.
pub struct Reader {
    core: Arc<Core>,
    segments: Vec<Segment>,
    options: ReadOptions,
}

impl Reader {
    pub(crate) async fn new(core: Arc<Core>, at: Position, options: ReadOptions) -> Result<Self> {
        let at = Position { seq: options.to.unwrap_or(at.seq), ..at };
        let mut segments = core.ancestry(at).await?;
        segments.retain_mut(|segment| {
            segment.from = segment.from.max(options.from);
            segment.from <= segment.to
        });
        // The next segment is taken from the end.
        if !options.backward {
            segments.reverse();
        }
        Ok(Self { core, segments, options })
    }

    /// The next entries, or none at the end.
    ///
    /// # Errors
    /// `corrupt` naming journal and seq; what lies before the damage was returned by earlier calls or is with a
    /// narrower range.
    pub async fn next(&mut self) -> Result<Vec<Entry>> {
        while let Some(segment) = self.segments.last_mut() {
            let stored = self
                .core
                .0
                .ledger
                .read(Read {
                    journal: segment.journal,
                    from: segment.from,
                    to: segment.to,
                    kinds: self.options.kinds.clone(),
                    limit: PAGE,
                    direction: if self.options.backward { Direction::Backward } else { Direction::Forward },
                    payloads: !self.options.headers_only,
                    unchecked: false,
                })
                .await?;
            let journal = segment.journal;
            match stored.last() {
                Some(last) if stored.len() == PAGE => {
                    if self.options.backward {
                        segment.to = last.seq.saturating_sub(1);
                    } else {
                        segment.from = last.seq + 1;
                    }
                    if segment.from > segment.to {
                        self.segments.pop();
                    }
                }
                _ => {
                    self.segments.pop();
                }
            }
            if !stored.is_empty() {
                return stored.iter().map(|entry| self.core.open(journal, entry)).collect();
            }
        }
        Ok(Vec::new())
    }

    /// All that is left, in one vector.
    ///
    /// # Errors
    /// As [`Reader::next`].
    pub async fn all(mut self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        loop {
            let mut page = self.next().await?;
            if page.is_empty() {
                return Ok(entries);
            }
            entries.append(&mut page);
        }
    }
}
