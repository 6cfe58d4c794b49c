//! Which texts go through the model together.

/// The most texts of a batch.
const MOST_TEXTS: usize = 32;
/// The most tokens of a batch, padding among them: what is held between two layers grows with it (some 25 MB).
const MOST_TOKENS: usize = 2_048;

/// The places of sequences of these lengths, in batches. Those of like length go together, so that little is padded, and each
/// batch is bounded; one sequence is a batch at least.
pub(super) fn plan(lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut places: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
    // The longest of a batch is its first.
    places.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (place, length) in places {
        match batches.last_mut() {
            Some(batch) if batch.len() < room => batch.push(place),
            _ => {
                room = (MOST_TOKENS / length.max(1)).clamp(1, MOST_TEXTS);
                batches.push(vec![place]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn like_lengths_go_together() {
        assert_eq!(plan(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(plan(&[5, 900, 4, 1_000, 3]), [vec![3, 1], vec![0, 2, 4]]);
        assert_eq!(plan(&[5_000, 1]), [vec![0], vec![1]]);
        assert_eq!(plan(&[8; 40]).iter().map(Vec::len).collect::<Vec<_>>(), [32, 8]);
    }

    proptest! {
        #[test]
        fn every_place_is_in_one_bounded_batch(lengths in prop::collection::vec(0_usize..600, 0..200)) {
            let batches = plan(&lengths);
            for batch in &batches {
                let longest = batch.iter().map(|place| lengths[*place]).max().unwrap();
                prop_assert!(batch.len() <= MOST_TEXTS && (batch.len() == 1 || batch.len() * longest <= MOST_TOKENS));
            }
            let mut places: Vec<usize> = batches.concat();
            places.sort_unstable();
            prop_assert_eq!(places, (0..lengths.len()).collect::<Vec<_>>());
        }
    }
}
