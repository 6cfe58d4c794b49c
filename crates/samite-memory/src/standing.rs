//! Where every record of a namespace stands: what its entries say, folded in their order. Pure.

mod bytes;

use samite_model::memory::{
    Asserted, Changed, MemorySettings, Models, Operation, Provenance, Record, RecordKind, Replaces, Revoked,
    RevokedSource, Treatment, Trust, Verdict,
};
use samite_model::{Fingerprint, Position, RecordId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

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

/// One of several times that a record was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Saying {
    /// The id under which it was said.
    pub id: RecordId,
    /// When, in nanoseconds since 1970.
    pub time: i64,
    /// Where it came from then.
    pub provenance: Provenance,
}

/// A record, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The record, with the provenance of the first time that it was said by a source that was not revoked: shared by whoever looks.
    pub record: Arc<Record>,
    /// The id under which it was said then: its own, unless the source of that was revoked.
    pub said_as: RecordId,
    /// The other times that it was said, by sources that were not revoked.
    pub again: Vec<Saying>,
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
    /// Each time that it was said, by the id, with where it came from and when.
    pub fn sayings(&self) -> impl Iterator<Item = (RecordId, &Provenance, i64)> {
        let again = self.again.iter().map(|saying| (saying.id, &saying.provenance, saying.time));
        std::iter::once((self.said_as, &self.record.provenance, self.recorded)).chain(again)
    }

    /// Whether it was said there before: nothing is new about it.
    pub fn was_said(&self, from: &Provenance) -> bool {
        let same = |one: &Provenance| {
            one.session == from.session
                && one.step == from.step
                && one.inputs == from.inputs
                && one.writer.agent == from.writer.agent
        };
        self.sayings().any(|(_, one, _)| same(one))
    }

    /// Whether another record says the same, whoever said it and when.
    fn says_the_same(&self, other: &Self) -> bool {
        let (one, other) = (&self.record, &other.record);
        one.kind == other.kind
            && one.text == other.text
            && one.metadata == other.metadata
            && one.edge == other.edge
            && one.valid == other.valid
            && one.previous == other.previous
            && one.provenance.trust == other.provenance.trust
            && one.provenance.source == other.provenance.source
    }

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
    models: Models,
    /// The ids under which revoked sources said something.
    revoked: HashSet<RecordId>,
    /// The sources that were revoked, and when.
    sources: Vec<(RevokedSource, i64)>,
}

/// What a revocation takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Each time that something was said that goes, by its id.
    pub sayings: Vec<RecordId>,
    /// The records that the source said, and nobody else.
    pub direct: Vec<RecordId>,
    /// Those that were made of what goes, and said by nobody else.
    pub derived: Vec<RecordId>,
    /// Those that somebody else said too: they stay.
    pub stay: Vec<RecordId>,
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
            Operation::Revoked(revoked) => self.revoke(revoked, time),
            Operation::Settled(settings) => self.settings = settings,
            Operation::Model(changed) => self.models.apply(*changed),
        }
    }

    fn assert(&mut self, at: Position, time: i64, asserted: Asserted) {
        let is_held_back = asserted.namespace.is_some() && self.is_held_back(&asserted.record, time);
        let Asserted { mut record, replaces, origin, content, .. } = asserted;
        // It takes nobody's place either.
        let replaces = replaces.filter(|_| !is_held_back);
        let id = record.record;
        if self.places.contains_key(&id) {
            return;
        }
        // What is said to be derived is never trusted more than what it was made of, whoever wrote it.
        let inputs = record.provenance.inputs.iter().filter_map(|input| self.get(*input));
        let trusts: Vec<Trust> = inputs.map(|input| input.record.provenance.trust).collect();
        record.provenance.trust = record.provenance.trust.derived(trusts);
        if is_held_back {
            self.revoked.insert(id);
        }
        // What a branch says and what its namespace says meanwhile is one record, under both ids.
        let known = self.contents.get(&content).and_then(|known| self.places.get(known).copied());
        if let Some(place) = known.filter(|place| self.all.get(*place).is_some_and(|one| one.ended.is_none())) {
            self.places.insert(id, place);
            let saying = Saying { id, time, provenance: record.provenance };
            if let Some(standing) = self.all.get_mut(place).filter(|_| !is_held_back) {
                standing.again.push(saying);
            }
            // What it was to take the place of is replaced by what says the same.
            let by = self.all.get(place).map(|one| one.record.record);
            if let (Some(Replaces { record: replaced, changed, .. }), Some(by)) = (replaces, by)
                && self.places.get(&replaced) != Some(&place)
            {
                self.end(replaced, &Ended::Replaced { by, changed }, time);
            }
            return;
        }
        self.contents.insert(content, id);
        if let Some(Replaces { record: replaced, changed, .. }) = replaces {
            self.end(replaced, &Ended::Replaced { by: id, changed }, time);
        }
        // What takes the place of what is in every prompt is in every prompt itself.
        let was_pinned = replaces.is_some_and(|old| self.get(old.record).is_some_and(|old| old.pinned));
        let pinned = (record.kind == RecordKind::Pinned || was_pinned) && record.provenance.trust.may_be_pinned();
        self.places.insert(id, self.all.len());
        let replaces = replaces.map(|replaces| replaces.record);
        let reason = "its source was revoked".to_owned();
        let ended = is_held_back.then_some((Ended::Revoked { reason }, time));
        self.all.push(Standing {
            record: Arc::new(record),
            said_as: id,
            again: Vec::new(),
            at,
            recorded: time,
            origin,
            replaces,
            pinned,
            verdict: None,
            ended,
            lives: 0,
        });
    }

    /// Whether what a branch said at a time is from a source that was revoked later, or made of what is revoked.
    pub fn is_held_back(&self, record: &Record, time: i64) -> bool {
        let from = &record.provenance;
        self.sources.iter().any(|(source, revoked)| time <= *revoked && source.matches(&[record.record], from, time))
            || from.inputs.iter().any(|input| self.is_revoked(*input))
    }

    fn revoke(&mut self, revoked: Revoked, time: i64) {
        let ended = Ended::Revoked { reason: revoked.reason };
        self.revoked.extend(&revoked.records);
        for id in &revoked.records {
            let Some(standing) = self.places.get(id).and_then(|place| self.all.get_mut(*place)) else { continue };
            standing.again.retain(|saying| !self.revoked.contains(&saying.id));
            if !self.revoked.contains(&standing.said_as) {
                continue;
            }
            if standing.again.is_empty() {
                self.end(*id, &ended, time);
            } else {
                let saying = standing.again.remove(0);
                standing.said_as = saying.id;
                Arc::make_mut(&mut standing.record).provenance = saying.provenance;
                standing.pinned &= standing.record.provenance.trust.may_be_pinned();
            }
        }
        if !revoked.source.is_empty() {
            self.sources.push((revoked.source, time));
        }
        self.bring_back();
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

    /// What was revoked took nobody's place: whoever it replaced stands again, unless the same was said anew meanwhile.
    fn bring_back(&mut self) {
        let back: Vec<RecordId> = self
            .all
            .iter()
            .filter(|standing| !self.is_gone(standing))
            .filter(|standing| self.is_replaced_by_revoked(standing))
            .map(|standing| standing.record.record)
            .collect();
        for record in back {
            let Some(standing) = self.get(record) else { continue };
            let says = |one: &&Standing| one.ended.is_none() && one.says_the_same(standing);
            let anew = self.all.iter().find(says).map(|one| one.record.record);
            let Some(standing) = self.get_mut(record) else { continue };
            if let (Some(anew), Some((Ended::Replaced { by, .. }, _))) = (anew, &mut standing.ended) {
                *by = anew;
            } else {
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
                Some(next) if self.is_gone(next) => last = next,
                // Erased since.
                None if self.revoked.contains(by) => return true,
                _ => return false,
            }
        }
        last.record.record != standing.record.record
    }

    /// Whether all that said it was revoked.
    fn is_gone(&self, standing: &Standing) -> bool {
        self.revoked.contains(&standing.said_as)
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
        self.get(record).is_some_and(|standing| self.is_gone(standing))
    }

    /// The last record of this content, which may have ended.
    pub fn of_content(&self, content: Fingerprint) -> Option<&Standing> {
        self.get(*self.contents.get(&content)?)
    }

    /// All records in the order in which they came, those that ended among them.
    pub fn all(&self) -> &[Standing] {
        &self.all
    }

    /// About how many bytes of memory they take.
    pub fn memory(&self) -> usize {
        // A record has some strings beside its text; a place, or a hash of what is said, is in a table that is half full.
        let of = |one: &Standing| size_of::<Standing>() + size_of::<Record>() + 2 * one.record.text.len() + 512;
        self.all.iter().map(of).sum::<usize>() + (self.places.capacity() + self.contents.capacity()) * 64
    }

    /// Which models make its vectors.
    pub fn models(&self) -> &Models {
        &self.models
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
        let begin: HashSet<usize> = records.iter().filter_map(|record| self.places.get(record).copied()).collect();
        let taken = self.spread(begin, |standing, is_taken| {
            standing.sayings().any(|(_, from, _)| from.inputs.iter().any(|input| is_taken(*input)))
        });
        self.all
            .iter()
            .enumerate()
            .filter(|(place, _)| taken.contains(place))
            .map(|(_, one)| one.record.record)
            .collect()
    }

    /// What a revocation of a source takes: all that it said, and, however many steps away, what was made of what nobody else said.
    pub fn retired_by(&self, source: &RevokedSource) -> Retired {
        let matches = |standing: &Standing, (id, from, time): (RecordId, &Provenance, i64)| {
            source.matches(&[id, standing.record.record], from, time)
        };
        let is_direct = |standing: &Standing| standing.sayings().all(|saying| matches(standing, saying));
        let direct: HashSet<usize> =
            self.all.iter().enumerate().filter(|(_, one)| is_direct(one)).map(|(place, _)| place).collect();
        let goes = |standing: &Standing, saying: (RecordId, &Provenance, i64), is_taken: &dyn Fn(RecordId) -> bool| {
            matches(standing, saying) || saying.1.inputs.iter().any(|input| is_taken(*input))
        };
        let all = self.spread(direct.clone(), |standing, is_taken| {
            standing.sayings().all(|saying| goes(standing, saying, is_taken))
        });
        let is_taken = |record: RecordId| self.places.get(&record).is_some_and(|place| all.contains(place));
        let mut retired = Retired::default();
        for (place, standing) in self.all.iter().enumerate().filter(|(_, one)| !self.is_gone(one)) {
            let before = retired.sayings.len();
            let going = standing.sayings().filter(|saying| goes(standing, *saying, &is_taken));
            retired.sayings.extend(going.map(|(id, ..)| id));
            let list = match (direct.contains(&place), all.contains(&place), retired.sayings.len() > before) {
                (true, ..) => &mut retired.direct,
                (_, true, _) => &mut retired.derived,
                (_, _, true) => &mut retired.stay,
                _ => continue,
            };
            list.push(standing.record.record);
        }
        retired
    }

    /// All records that go when some go: `goes` says whether one does, given which others do.
    fn spread(
        &self,
        mut taken: HashSet<usize>,
        goes: impl Fn(&Standing, &dyn Fn(RecordId) -> bool) -> bool,
    ) -> HashSet<usize> {
        if taken.is_empty() {
            return taken;
        }
        // What was said first may have been said again of what came later: until nothing more goes.
        loop {
            let before = taken.len();
            for (place, standing) in self.all.iter().enumerate() {
                if taken.contains(&place) {
                    continue;
                }
                let is_taken = |record: RecordId| self.places.get(&record).is_some_and(|place| taken.contains(place));
                if goes(standing, &is_taken) {
                    taken.insert(place);
                }
            }
            if taken.len() == before {
                return taken;
            }
        }
    }
}

#[cfg(test)]
mod tests;
