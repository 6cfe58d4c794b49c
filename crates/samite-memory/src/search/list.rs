//! From scores to what is shown: a list of what is open, a short one of what is apart, and no source that fills one of them.

use super::combine::Scored;
use samite_model::memory::{MemorySettings, Provenance, Trust};
use samite_model::{EntryId, RecordId, SessionId};
use std::collections::HashMap;

/// Whose word a record is: what is told apart when no source may fill a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An address, a path, a tool.
    Named(String),
    /// A step.
    Step(EntryId),
    /// A session.
    Session(SessionId),
    /// An agent.
    Agent(String),
}

impl Source {
    /// The source of a record: the nearest that is known.
    pub fn of(from: &Provenance) -> Self {
        match (&from.source, from.step, from.session) {
            (Some(source), ..) => Self::Named(source.clone()),
            (None, Some(step), _) => Self::Step(step),
            (None, None, Some(session)) => Self::Session(session),
            (None, None, None) => Self::Agent(from.writer.agent.clone()),
        }
    }
}

/// What is listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The records of classes that are open, the best first.
    pub open: Vec<(RecordId, Scored)>,
    /// Those of classes that are apart.
    pub apart: Vec<(RecordId, Scored)>,
}

/// The best of two rankings, so many of what is open and a share of so many of what is apart, no source of a class below `user` with
/// more than its share of a list. `skip` are left out of what is open, as on the pages before.
pub fn lists<'a>(
    open: &[Scored],
    apart: &[Scored],
    settings: &MemorySettings,
    (skip, limit): (usize, usize),
    of: impl Fn(u32) -> Option<(RecordId, &'a Provenance)>,
) -> Listed {
    let few = settings.places(Trust::Web, limit).unwrap_or(limit);
    let take = |ranked: &[Scored], skip: usize, size: usize| {
        let mut taken: HashMap<Source, usize> = HashMap::new();
        let mut list = Vec::new();
        for scored in ranked {
            if list.len() == skip + size {
                break;
            }
            let Some((record, from)) = of(scored.document) else { continue };
            // The list that a share is of is the page, so that the next page is not the same source again.
            if let Some(places) = settings.places(from.trust, limit) {
                let many = taken.entry(Source::of(from)).or_default();
                if *many >= places * (list.len() / limit.max(1) + 1) {
                    continue;
                }
                *many += 1;
            }
            list.push((record, *scored));
        }
        list.split_off(skip.min(list.len()))
    };
    Listed { open: take(open, skip, limit), apart: take(apart, 0, few) }
}
