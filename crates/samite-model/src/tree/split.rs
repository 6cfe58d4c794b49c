//! Where a long list is cut: by its content alone, never by how it came to be.

/// A node never takes more bytes than this, except with a single entry that is larger by itself.
pub const LEAF_CAP: usize = 32 << 10;
/// A directory that takes no more bytes than this is one node.
pub const SMALL_DIRECTORY: usize = 16 << 10;
/// One item in so many ends a part.
const MEAN: u64 = 64;

/// Cuts a list into parts and returns how many items each has.
///
/// Each item has a hash of what names it, and a size. A part ends after an item whose hash says so (one in 64), or
/// before one that would make it larger than `cap`. So a change touches the part it is in and, when a boundary appears,
/// disappears or moves by the cap, those up to the next boundary that a hash says.
pub fn split(items: impl Iterator<Item = (u64, usize)>, cap: usize) -> Vec<usize> {
    let mut parts = Vec::new();
    let (mut count, mut size) = (0, 0_usize);
    for (hash, item) in items {
        if count > 0 && size.saturating_add(item) > cap {
            parts.push(count);
            (count, size) = (0, 0);
        }
        count += 1;
        size = size.saturating_add(item);
        if hash.is_multiple_of(MEAN) {
            parts.push(count);
            (count, size) = (0, 0);
        }
    }
    if count > 0 {
        parts.push(count);
    }
    parts
}

/// The hash of a name that decides about boundaries of a level.
pub(super) fn name_hash(level: u8, name: &[u8]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[level]).update(name);
    hasher.finalize().as_bytes().first_chunk::<8>().map_or(0, |first| u64::from_le_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_end_after_a_boundary_or_before_the_cap() {
        let items = [(1, 4), (64, 4), (1, 4), (1, 4), (1, 4), (0, 100), (1, 1)];
        assert_eq!(split(items.into_iter(), 10), [2, 2, 1, 1, 1]);
        assert_eq!(split(std::iter::empty(), 10), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_part_is_larger_than_the_cap(
            items in prop::collection::vec((any::<u64>(), 1_usize..50), 0..400), cap in 1_usize..300,
        ) {
            let parts = split(items.iter().copied(), cap);
            prop_assert_eq!(parts.iter().sum::<usize>(), items.len());
            let mut rest = items.as_slice();
            for count in parts {
                let (part, after) = rest.split_at(count);
                rest = after;
                prop_assert!(count == 1 || part.iter().map(|item| item.1).sum::<usize>() <= cap);
            }
        }

        #[test]
        fn what_follows_a_boundary_is_cut_the_same_whatever_is_before(
            before in prop::collection::vec((any::<u64>(), 1_usize..50), 0..50),
            after in prop::collection::vec((any::<u64>(), 1_usize..50), 0..200),
        ) {
            let whole = before.iter().copied().chain([(0, 1)]).chain(after.iter().copied());
            let whole = split(whole, 300);
            let alone = split(after.iter().copied(), 300);
            prop_assert!(whole.ends_with(&alone));
        }
    }
}
