//! What is durable of a file's bytes, and what may or may not be.

use crate::choice::Choice;
use crate::disk::Model;
use crate::operation::Bytes;
use crate::volume::write_at;
use std::collections::BTreeMap;

/// What survives or does not as a whole, mostly.
const BLOCK: usize = 4096;
/// What survives or does not as a whole, always.
const SECTOR: usize = 512;

/// A change that no sync has made durable.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, bytes: Bytes },
    Truncate(u64),
}

/// A file on the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskFile {
    durable: Vec<u8>,
    pending: Vec<Change>,
    pub(crate) mode: u32,
    /// Never on the disk: shared memory that happens to be a file.
    pub(crate) volatile: bool,
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Change {
    /// The blocks whose bytes it changes, of a file that had this length before it.
    fn blocks(&self, length: usize) -> std::ops::Range<usize> {
        match self {
            Self::Write { bytes, .. } if bytes.is_empty() => 0..0,
            Self::Write { offset, bytes } => {
                let start = index(*offset);
                start / BLOCK..(start + bytes.len()).div_ceil(BLOCK)
            }
            Self::Truncate(to) => index(*to) / BLOCK..length.div_ceil(BLOCK),
        }
    }

    /// The length of a file that had this one before it.
    fn length(&self, before: usize) -> usize {
        match self {
            Self::Write { offset, bytes } => before.max(index(*offset) + bytes.len()),
            Self::Truncate(to) => index(*to),
        }
    }

    /// Changes one block.
    fn change(&self, number: usize, block: &mut [u8; BLOCK]) {
        let start = number * BLOCK;
        match self {
            Self::Write { offset, bytes } => {
                let offset = index(*offset);
                let (from, to) = (offset.max(start), (offset + bytes.len()).min(start + BLOCK));
                if let (Some(place), Some(new)) =
                    (block.get_mut(from - start..to.max(from) - start), bytes.get(from - offset..to.max(from) - offset))
                {
                    place.copy_from_slice(new);
                }
            }
            Self::Truncate(to) => {
                if let Some(beyond) = block.get_mut(index(*to).saturating_sub(start)..) {
                    beyond.fill(0);
                }
            }
        }
    }
}

impl DiskFile {
    pub(crate) fn new(mode: u32, volatile: bool) -> Self {
        Self { mode, volatile, ..Self::default() }
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &Bytes) {
        if !self.volatile {
            self.pending.push(Change::Write { offset, bytes: bytes.clone() });
        }
    }

    pub(crate) fn truncate(&mut self, length: u64) {
        if !self.volatile {
            self.pending.push(Change::Truncate(length));
        }
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Change::Write { offset, bytes } => write_at(&mut self.durable, offset, &bytes),
                Change::Truncate(length) => self.durable.resize(index(length), 0),
            }
        }
    }

    /// What a disk may hold of it, when so many of a hundred changes survive.
    pub(crate) fn after_cut(&self, model: Model, rate: u64, choice: &mut Choice) -> Vec<u8> {
        if self.pending.is_empty() {
            return self.durable.clone();
        }
        let mut lengths = vec![self.durable.len()];
        let mut touched: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, change) in self.pending.iter().enumerate() {
            let before = lengths.last().copied().unwrap_or(0);
            for block in change.blocks(before) {
                touched.entry(block).or_default().push(at);
            }
            lengths.push(change.length(before));
        }
        let kept = version(self.pending.len(), rate, choice);
        let length = lengths.get(kept).copied().unwrap_or(0);
        let mut bytes = self.durable.clone();
        bytes.resize(length, 0);
        for (number, changes) in touched {
            let start = number * BLOCK;
            if start >= length {
                continue;
            }
            let grown = start >= self.durable.len();
            let block = match model {
                // The length of a file grows after the blocks that it grows by are written.
                Model::Ordered if grown => self.block(number, &changes, changes.partition_point(|at| *at < kept)),
                Model::Ordered | Model::Harsh => self.chosen(number, &changes, rate, choice),
            };
            let end = length.min(start + BLOCK);
            if let (Some(place), Some(block)) = (bytes.get_mut(start..end), block.get(..end - start)) {
                place.copy_from_slice(block);
            }
        }
        bytes
    }

    /// A block that has some of its changes, or is torn between two states.
    fn chosen(&self, number: usize, changes: &[usize], rate: u64, choice: &mut Choice) -> [u8; BLOCK] {
        let mut block = self.block(number, changes, version(changes.len(), rate, choice));
        if choice.happens(25) && (1..100).contains(&rate) {
            let other = self.block(number, changes, version(changes.len(), 50, choice));
            for (sector, new) in block.chunks_exact_mut(SECTOR).zip(other.chunks_exact(SECTOR)) {
                if choice.happens(50) {
                    sector.copy_from_slice(new);
                }
            }
        }
        block
    }

    /// A block with the first so many of its changes.
    fn block(&self, number: usize, changes: &[usize], count: usize) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let start = number * BLOCK;
        let durable = self.durable.get(start..).unwrap_or_default();
        let durable = durable.get(..durable.len().min(BLOCK)).unwrap_or_default();
        if let Some(place) = block.get_mut(..durable.len()) {
            place.copy_from_slice(durable);
        }
        for change in changes.iter().take(count).filter_map(|at| self.pending.get(*at)) {
            change.change(number, &mut block);
        }
        block
    }
}

/// How many of the changes are there: all in so many of a hundred cases, else none or some.
fn version(changes: usize, rate: u64, choice: &mut Choice) -> usize {
    if choice.happens(rate) {
        changes
    } else if rate == 0 || choice.happens(50) {
        0
    } else {
        choice.below(changes + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(durable: &[u8]) -> DiskFile {
        DiskFile { durable: durable.to_vec(), ..DiskFile::default() }
    }

    #[test]
    fn nothing_unsynced_survives_at_none_and_everything_at_a_hundred() {
        let mut file = file(&[1; 5000]);
        file.write(4000, &Bytes::from(&[2; 3000][..]));
        file.truncate(4500);
        let mut wanted = vec![1; 4500];
        wanted[4000..].fill(2);
        for model in [Model::Ordered, Model::Harsh] {
            let mut choice = Choice::new(1);
            assert_eq!(file.after_cut(model, 0, &mut choice), [1; 5000]);
            assert_eq!(file.after_cut(model, 100, &mut choice), wanted);
        }
    }

    #[test]
    fn sectors_are_never_torn_and_blocks_are() {
        let mut file = file(&vec![1; 3 * BLOCK]);
        file.write(0, &Bytes::from(vec![2; 3 * BLOCK].as_slice()));
        let (mut torn, mut mixed) = (0, 0);
        for seed in 0..200 {
            let bytes = file.after_cut(Model::Harsh, 50, &mut Choice::new(seed));
            assert_eq!(bytes.len(), 3 * BLOCK);
            assert!(bytes.chunks(SECTOR).all(|sector| sector == [1; SECTOR] || sector == [2; SECTOR]));
            let whole = |block: &[u8]| block.iter().all(|byte| *byte == block[0]);
            torn += usize::from(!bytes.chunks(BLOCK).all(whole));
            mixed += usize::from(bytes.chunks(BLOCK).all(whole) && !whole(&bytes));
        }
        assert!(torn > 20 && mixed > 20, "{torn} torn, {mixed} mixed");
    }

    #[test]
    fn a_file_that_grew_in_order_has_no_holes() {
        let mut file = DiskFile::default();
        for number in 1..=8_u8 {
            file.write(u64::from(number - 1) * BLOCK as u64, &Bytes::from(vec![number; BLOCK].as_slice()));
        }
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let bytes = file.after_cut(Model::Ordered, 50, &mut Choice::new(seed));
            lengths.insert(bytes.len() / BLOCK);
            assert!(bytes.chunks(BLOCK).zip(1..).all(|(block, number)| block == [number; BLOCK]));
        }
        assert_eq!(lengths.len(), 9);
        let holes = (0..200).any(|seed| {
            let bytes = file.after_cut(Model::Harsh, 50, &mut Choice::new(seed));
            bytes.chunks(BLOCK).any(|block| block == [0; BLOCK])
        });
        assert!(holes);
    }
}
