//! The steps that one writer object started itself.

use samite_model::EntryId;
use std::collections::{HashSet, VecDeque};

/// So many steps that ended are still known: another thread may be looking at the open steps as they were a moment ago.
const ENDED: usize = 64;

/// The starts that a writer object asked for. Others of its epoch are of other processes with the same writer's id.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    known: HashSet<EntryId>,
    lost: HashSet<EntryId>,
    ended: VecDeque<EntryId>,
}

impl Starts {
    /// Notes a start that is about to be committed.
    pub(crate) fn add(&mut self, step: EntryId) {
        self.known.insert(step);
    }

    /// Whether it is one of them.
    pub(crate) fn has(&self, step: EntryId) -> bool {
        self.known.contains(&step)
    }

    /// Nobody can say how one of them ended, and nobody is at it any more.
    pub(crate) fn lose(&mut self, step: EntryId) {
        self.lost.insert(step);
    }

    /// Whether it was lost.
    pub(crate) fn has_lost(&self, step: EntryId) -> bool {
        self.lost.contains(&step)
    }

    /// A step ended, or never was: it is forgotten, once enough others have ended after it.
    pub(crate) fn end(&mut self, step: EntryId) {
        if !self.known.contains(&step) || self.ended.contains(&step) {
            return;
        }
        self.ended.push_back(step);
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u16) -> EntryId {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        EntryId(bytes)
    }

    #[test]
    fn what_ended_is_forgotten_and_what_is_open_is_not() {
        let mut starts = Starts::default();
        starts.add(id(0));
        for number in 1..1000 {
            starts.add(id(number));
            assert!(starts.has(id(number)));
            starts.end(id(number));
            starts.end(id(number));
            assert!(starts.has(id(number)), "it ended just now");
        }
        // Another writer's.
        starts.end(id(5000));
        assert!(starts.has(id(0)) && !starts.has(id(935)) && starts.has(id(936)) && !starts.has(id(5000)));
        assert_eq!((starts.known.len(), starts.ended.len()), (65, 64));
    }
}
