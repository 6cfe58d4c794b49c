//! Which cells of the full product are run: a sample by a fixed seed in which the values meet in pairs.

use crate::cell::Cell;
use std::collections::HashSet;

/// A small generator with a seed (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The cells in an order that a seed decides.
pub(crate) fn shuffled(mut cells: Vec<Cell>, seed: u64) -> Vec<Cell> {
    let mut random = Random::new(seed);
    for last in (1..cells.len()).rev() {
        let other = usize::try_from(random.next() % (last as u64 + 1)).unwrap();
        cells.swap(last, other);
    }
    cells
}

/// Cells in which every world, every declared effect and every kind of writer meets every point; every kind of writer
/// every world, every victim and every call; every subject every victim and every call; every victim every point and
/// every call.
pub(crate) fn pairwise(cells: Vec<Cell>, seed: u64) -> Vec<Cell> {
    let mut met: HashSet<(u8, String, String)> = HashSet::new();
    shuffled(cells, seed)
        .into_iter()
        .filter(|cell| {
            let (subject, point) = (cell.scenario.subject(), cell.point.name().to_owned());
            let (victim, call) = (format!("{:?}", cell.victim), format!("{:?}", cell.call));
            let mut pairs: Vec<(u8, String, String)> = Vec::new();
            for part in cell.scenario.parts() {
                pairs.extend([
                    (0, part.clone(), point.clone()),
                    (5, part.clone(), victim.clone()),
                    (6, part.clone(), call.clone()),
                    (7, part, subject.clone()),
                ]);
            }
            pairs.extend([
                (1, subject.clone(), victim.clone()),
                (2, subject, call.clone()),
                (3, point, victim.clone()),
                (4, victim, call),
            ]);
            pairs.into_iter().filter(|pair| met.insert(pair.clone())).count() > 0
        })
        .collect()
}
