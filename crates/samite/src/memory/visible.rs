//! Which records a search sees.

use super::search::treatment_of;
use samite_memory::{Bits, Standings};
use samite_model::memory::{Treatment, Validity};

/// The records that are found at some time, by how they are treated: what of that follows from where they stand.
#[derive(Debug, Default)]
pub(super) struct Found {
    open: Bits,
    apart: Bits,
    /// Those among them that do not hold always.
    at_times: Vec<(u32, Validity)>,
}

impl Found {
    /// Those of a namespace.
    pub(super) fn of(standings: &Standings) -> Self {
        let count = u32::try_from(standings.all().len()).unwrap_or(u32::MAX);
        let mut found = Self { open: Bits::none(count), apart: Bits::none(count), at_times: Vec::new() };
        let settings = standings.settings();
        for (document, standing) in (0..count).zip(standings.all()) {
            let valid = standing.record.valid;
            // A time at which it holds, if there is one.
            let at = valid.from.or(valid.to.map(|to| to.saturating_sub(1))).unwrap_or_default();
            if !standing.is_found(settings, at) {
                continue;
            }
            match treatment_of(standing, settings) {
                Treatment::Open => found.open.insert(document),
                Treatment::Apart => found.apart.insert(document),
                Treatment::Quarantined => continue,
            }
            if valid != Validity::default() {
                found.at_times.push((document, valid));
            }
        }
        found
    }

    /// Those of a treatment that are found at a time.
    pub(super) fn at(&self, treatment: Treatment, time: i64) -> Bits {
        let mut bits = match treatment {
            Treatment::Open => self.open.clone(),
            Treatment::Apart => self.apart.clone(),
            Treatment::Quarantined => return Bits::none(self.open.documents()),
        };
        for (document, _) in self.at_times.iter().filter(|(_, valid)| !valid.holds_at(time)) {
            bits.remove(*document);
        }
        bits
    }
}
