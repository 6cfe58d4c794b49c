//! Where every record of a namespace stands: what its entries say, folded in their order. Pure.

use samite_model::memory::{
    Asserted, Changed, MemorySettings, Operation, Record, RecordKind, Replaces, Treatment, Trust, Verdict,
};
use samite_model::{Fingerprint, Position, RecordId};
use std::collections::{HashMap, HashSet};

/// How a record ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Another took its place.
    Replaced {
        /// The other.
        by: RecordId,
        /// Whether it was so until then, or never.
        changed: Changed,
    },
    /// It was retracted.
    Retracted {
        /// Why.
        reason: Option<String>,
    },
    /// Its source was revoked.
    Revoked {
        /// Why.
        reason: String,
    },
}

/// A record, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The record.
    pub record: Record,
    /// The entry that it is in.
    pub at: Position,
    /// When that was written, in nanoseconds since 1970.
    pub recorded: i64,
    /// Where it was written first, when it was taken over from a branch.
    pub origin: Option<Position>,
    /// The record whose place it took.
    pub replaces: Option<RecordId>,
    /// Whether it is in every prompt.
    pub pinned: bool,
    /// What was decided of it.
    pub verdict: Option<Verdict>,
    /// How and when it ended.
    pub ended: Option<(Ended, i64)>,
    /// How often it came back because what took its place was revoked: who ends it again ends this life of it.
    pub lives: u32,
}

impl Standing {
    /// Whether somebody has to approve it before it is found.
    pub fn is_quarantined(&self, settings: &MemorySettings) -> bool {
        self.verdict != Some(Verdict::Approved)
            && settings.treatment(self.record.provenance.trust) == Treatment::Quarantined
    }

    /// Whether it is found at a time: it did not end, it holds then, and nobody has to approve it or rejected it.
    pub fn is_found(&self, settings: &MemorySettings, time: i64) -> bool {
        self.ended.is_none()
            && self.record.valid.holds_at(time)
            && self.verdict != Some(Verdict::Rejected)
            && !self.is_quarantined(settings)
    }
}

/// All records of a namespace, as of some entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standings {
    all: Vec<Standing>,
    places: HashMap<RecordId, usize>,
    /// The last record of each content.
    contents: HashMap<Fingerprint, RecordId>,
    settings: MemorySettings,
    revoked: HashSet<RecordId>,
}

impl Standings {
    /// Takes in what an entry does. Entries come in their order; one about a record that is not there, as after an erasure, does
    /// nothing.
    pub fn apply(&mut self, at: Position, time: i64, operation: Operation) {
        match operation {
            Operation::Asserted(asserted) => self.assert(at, time, *asserted),
            Operation::Retracted(retracted) => {
                self.end(retracted.record, &Ended::Retracted { reason: retracted.reason }, time);
            }
            Operation::Pinned(pinned) => {
                if let Some(standing) = self.get_mut(pinned.record) {
                    standing.pinned = pinned.pinned && standing.record.provenance.trust.may_be_pinned();
                }
            }
            Operation::Decided(decided) => {
                for record in decided.records {
                    if let Some(standing) = self.get_mut(record) {
                        standing.verdict = Some(decided.verdict);
                    }
                }
            }
            Operation::Revoked(revoked) => {
                let ended = Ended::Revoked { reason: revoked.reason };
                for record in &revoked.records {
                    self.end(*record, &ended, time);
                }
                self.revoked.extend(revoked.records);
                self.bring_back();
            }
            Operation::Settled(settings) => self.settings = settings,
        }
    }

    fn assert(&mut self, at: Position, time: i64, asserted: Asserted) {
        let Asserted { record, replaces, origin, content, .. } = asserted;
        if self.places.contains_key(&record.record) {
            return;
        }
        // What a branch says and what its namespace says meanwhile is one record, under both ids.
        let known = self.contents.get(&content).and_then(|known| self.places.get(known).copied());
        if let Some(place) = known.filter(|place| self.all.get(*place).is_some_and(|one| one.ended.is_none())) {
            self.places.insert(record.record, place);
            // What it was to take the place of is replaced by what says the same.
            let by = self.all.get(place).map(|one| one.record.record);
            if let (Some(Replaces { record: replaced, changed, .. }), Some(by)) = (replaces, by)
                && self.places.get(&replaced) != Some(&place)
            {
                self.end(replaced, &Ended::Replaced { by, changed }, time);
            }
            return;
        }
        self.contents.insert(content, record.record);
        if let Some(Replaces { record: replaced, changed, .. }) = replaces {
            self.end(replaced, &Ended::Replaced { by: record.record, changed }, time);
        }
        // What is said to be derived is never trusted more than what it was made of, whoever wrote it.
        let mut record = record;
        let inputs = record.provenance.inputs.iter().filter_map(|input| self.get(*input));
        let trusts: Vec<Trust> = inputs.map(|input| input.record.provenance.trust).collect();
        record.provenance.trust = record.provenance.trust.derived(trusts);
        let pinned = record.kind == RecordKind::Pinned && record.provenance.trust.may_be_pinned();
        self.places.insert(record.record, self.all.len());
        let replaces = replaces.map(|replaces| replaces.record);
        self.all.push(Standing {
            record,
            at,
            recorded: time,
            origin,
            replaces,
            pinned,
            verdict: None,
            ended: None,
            lives: 0,
        });
    }

    /// The first end of a record is its end.
    fn end(&mut self, record: RecordId, ended: &Ended, time: i64) {
        if let Some(standing) = self.get_mut(record)
            && standing.ended.is_none()
        {
            standing.ended = Some((ended.clone(), time));
        }
    }

    /// Takes in what is left of an erased entry by which one record took the place of another: that stays ended, though nobody can
    /// say any more by what.
    pub fn replaced_by_erased(&mut self, replaced: RecordId, by: RecordId, time: i64) {
        self.end(replaced, &Ended::Replaced { by, changed: Changed::Superseded }, time);
    }

    /// What was revoked took nobody's place: whoever it replaced stands again.
    fn bring_back(&mut self) {
        let back: Vec<RecordId> = self
            .all
            .iter()
            .filter(|standing| !self.revoked.contains(&standing.record.record))
            .filter(|standing| self.is_replaced_by_revoked(standing))
            .map(|standing| standing.record.record)
            .collect();
        for record in back {
            if let Some(standing) = self.get_mut(record) {
                standing.ended = None;
                standing.lives = standing.lives.saturating_add(1);
            }
        }
    }

    /// Whether all that took a record's place, one after the other, was revoked.
    fn is_replaced_by_revoked(&self, standing: &Standing) -> bool {
        let mut last = standing;
        while let Some((Ended::Replaced { by, .. }, _)) = &last.ended {
            match self.get(*by) {
                Some(next) if self.revoked.contains(by) => last = next,
                // Erased since.
                None if self.revoked.contains(by) => return true,
                _ => return false,
            }
        }
        last.record.record != standing.record.record
    }

    fn get_mut(&mut self, record: RecordId) -> Option<&mut Standing> {
        let place = self.places.get(&record)?;
        self.all.get_mut(*place)
    }

    /// A record, if it is there.
    pub fn get(&self, record: RecordId) -> Option<&Standing> {
        self.all.get(*self.places.get(&record)?)
    }

    /// Whether a record was revoked, or made of one that was, as far as it is here.
    pub fn is_revoked(&self, record: RecordId) -> bool {
        self.get(record).is_some_and(|standing| self.revoked.contains(&standing.record.record))
    }

    /// The last record of this content, which may have ended.
    pub fn of_content(&self, content: Fingerprint) -> Option<&Standing> {
        self.get(*self.contents.get(&content)?)
    }

    /// All records in the order in which they came, those that ended among them.
    pub fn all(&self) -> &[Standing] {
        &self.all
    }

    /// What was decided for the namespace.
    pub fn settings(&self) -> &MemorySettings {
        &self.settings
    }

    /// The records that took each other's place, from the first to the one that stands last, of which this is one.
    pub fn history(&self, record: RecordId) -> Vec<&Standing> {
        let mut first = record;
        // Each goes to one that came before: it ends.
        while let Some(replaced) = self.get(first).and_then(|standing| standing.replaces)
            && self.get(replaced).is_some()
        {
            first = replaced;
        }
        let mut history = Vec::new();
        let mut next = self.get(first);
        while let Some(standing) = next {
            history.push(standing);
            next = match &standing.ended {
                Some((Ended::Replaced { by, .. }, _)) => {
                    self.get(*by).filter(|later| later.replaces == Some(standing.record.record))
                }
                _ => None,
            };
        }
        history
    }

    /// These records, and all that were made of them, of what was made of those, and so on: in the order in which they came.
    pub fn derived_from(&self, records: &[RecordId]) -> Vec<RecordId> {
        let mut taken: HashSet<RecordId> = records.iter().copied().collect();
        // What is made of others comes after them.
        for standing in &self.all {
            let provenance = &standing.record.provenance;
            if provenance.inputs.iter().any(|input| taken.contains(input)) {
                taken.insert(standing.record.record);
            }
        }
        self.all.iter().map(|standing| standing.record.record).filter(|record| taken.contains(record)).collect()
    }
}

#[cfg(test)]
mod tests;
