//! A finisher whose leaves can be told at a glance.

use crate::{Finisher, Finishing, LeafReader, LogState, Placed};
use samite_model::{Error, Result};

/// Makes leaves of the draft, the journal, the seq and the link, joined; the state is the number of groups. The log ends
/// with a leaf whose draft is `end`: the next group begins another.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainFinisher;

struct PlainGroup {
    log: u64,
    size: u64,
    groups: u64,
}

impl Finisher for PlainFinisher {
    fn begin(&self, current: Option<LogState>, leaf: LeafReader<'_>) -> Result<Box<dyn Finishing>> {
        let Some(current) = current else { return Ok(Box::new(PlainGroup { log: 1, size: 0, groups: 0 })) };
        let last = leaf(current.log, current.size.saturating_sub(1))?
            .ok_or_else(|| Error::corrupt("missing_leaf", "the last leaf is not there"))?;
        if last.starts_with(b"end") {
            return Ok(Box::new(PlainGroup { log: current.log.saturating_add(1), size: 0, groups: 0 }));
        }
        let groups = current.state.first_chunk().map_or(0, |groups| u64::from_be_bytes(*groups));
        Ok(Box::new(PlainGroup { log: current.log, size: current.size, groups }))
    }
}

impl Finishing for PlainGroup {
    fn log(&self) -> u64 {
        self.log
    }

    fn leaf(&mut self, draft: &[u8], entry: &Placed<'_>) -> Result<Vec<u8>> {
        self.size = self.size.saturating_add(1);
        Ok([draft, entry.journal.as_bytes(), &entry.header.seq.to_be_bytes(), entry.link.as_bytes()].concat())
    }

    fn finish(self: Box<Self>) -> Result<LogState> {
        let state = self.groups.saturating_add(1).to_be_bytes().to_vec();
        Ok(LogState { log: self.log, size: self.size, state })
    }
}
