//! Cutting large files by their content.

use fastcdc::v2020::{FastCDC, Normalization};

const SMALLEST: usize = 256 << 10;
const AVERAGE: usize = 1 << 20;
/// No chunk is larger.
pub(crate) const LARGEST: usize = 4 << 20;

/// Finds cuts that depend on the bytes around them and on a secret seed.
#[derive(Clone, Copy)]
pub(crate) struct Chunker {
    seed: u64,
}

impl Chunker {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The lengths of the chunks at the front of `bytes`. Unless they are the `last` of a stretch, bytes are left over
    /// whose cut is not certain yet.
    pub(crate) fn cut(self, bytes: &[u8], last: bool) -> Vec<usize> {
        let cutter = FastCDC::with_level_and_seed(bytes, SMALLEST, AVERAGE, LARGEST, Normalization::Level1, self.seed);
        let mut lengths = Vec::new();
        let mut start = 0;
        while start < bytes.len() && (last || bytes.len() - start >= LARGEST) {
            let (_, end) = cutter.cut(start, bytes.len() - start);
            lengths.push(end - start);
            start = end;
        }
        lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let mut bytes = vec![0; length];
        blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
        bytes
    }

    #[test]
    fn cuts_do_not_depend_on_how_the_bytes_come() {
        let bytes = noise(20 << 20, 1);
        let chunker = Chunker::new(7);
        let whole = chunker.cut(&bytes, true);
        assert_eq!(whole.iter().sum::<usize>(), bytes.len());
        assert!(whole.iter().all(|length| *length <= LARGEST));
        let (mut lengths, mut start, mut end) = (Vec::new(), 0, 0);
        while start < bytes.len() {
            end = (end + (5 << 20)).min(bytes.len());
            let cuts = chunker.cut(&bytes[start..end], end == bytes.len());
            start += cuts.iter().sum::<usize>();
            lengths.extend(cuts);
        }
        assert_eq!(lengths, whole);
    }

    #[test]
    fn an_insertion_moves_few_cuts_and_another_seed_moves_all() {
        let bytes = noise(16 << 20, 2);
        let ends = |bytes: &[u8], seed| -> std::collections::HashSet<Vec<u8>> {
            let mut start = 0;
            let lengths = Chunker::new(seed).cut(bytes, true);
            lengths
                .iter()
                .map(|length| {
                    start += length;
                    bytes[start - 16..start].to_vec()
                })
                .collect()
        };
        let mut changed = bytes.clone();
        changed.splice(1_000..1_000, [9; 100]);
        let (before, after, other) = (ends(&bytes, 7), ends(&changed, 7), ends(&bytes, 8));
        assert!(before.difference(&after).count() <= 2);
        assert!(before.intersection(&other).count() <= 1);
    }
}
