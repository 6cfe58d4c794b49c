//! From the pieces that a document had and those that it has to what is done. Pure.

use samite_memory::document::{Difference, Piece, difference};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// What is done to a document's records. The old ones and the new ones are named by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    /// Which old one is which new one.
    pub(super) kept: Vec<(usize, usize)>,
    /// What comes, in the order of the document, and the old one whose place it takes.
    pub(super) comes: Vec<(usize, Option<usize>)>,
    /// What ends, and nothing takes its place.
    pub(super) ends: Vec<usize>,
}

/// What is known of a piece that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OldPiece {
    /// What it is known by.
    pub(super) identity: String,
    /// What it stands under.
    pub(super) title: Option<String>,
}

/// What a piece stands under, as one text; none where that is nothing.
pub(super) fn title(piece: &Piece) -> Option<String> {
    (!piece.path.is_empty()).then(|| piece.path.join(" > "))
}

/// A new piece takes the place of an old one under the same headings where both come after the same piece that was kept, or both at the
/// beginning; the first that of the first.
pub(super) fn steps(old: &[OldPiece], new: &[Piece], identity: impl Fn(&Piece) -> String) -> Steps {
    let known: Vec<String> = old.iter().map(|one| one.identity.clone()).collect();
    let Difference { kept, added, gone } = difference(&known, new, identity);
    let old_of_new: BTreeMap<usize, usize> = kept.iter().map(|(old, new)| (*new, *old)).collect();
    let kept_old: BTreeSet<usize> = kept.iter().map(|(old, _)| *old).collect();
    // By what each comes after, and what it stands under.
    let mut free: HashMap<(Option<usize>, Option<String>), VecDeque<usize>> = HashMap::new();
    for number in gone {
        let after = kept_old.range(..number).next_back().copied();
        let title = old.get(number).and_then(|one| one.title.clone());
        free.entry((after, title)).or_default().push_back(number);
    }
    let comes = added
        .into_iter()
        .map(|number| {
            let after = old_of_new.range(..number).next_back().map(|(_, old)| *old);
            let title = new.get(number).and_then(title);
            (number, free.get_mut(&(after, title)).and_then(VecDeque::pop_front))
        })
        .collect();
    let mut ends: Vec<usize> = free.into_values().flatten().collect();
    ends.sort_unstable();
    Steps { kept, comes, ends }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(text: &str) -> Piece {
        Piece { text: text.to_owned(), span: 0..text.len(), path: Vec::new(), first_line: 1, last_line: 1 }
    }

    fn of(old: &str, new: &str) -> Steps {
        let old: Vec<OldPiece> = old.chars().map(|one| OldPiece { identity: one.to_string(), title: None }).collect();
        let new: Vec<Piece> = new.chars().map(|one| piece(&one.to_string())).collect();
        steps(&old, &new, |piece| piece.text.clone())
    }

    #[test]
    fn what_changed_takes_the_place_of_what_was_there() {
        assert_eq!(of("abc", "abc"), Steps { kept: vec![(0, 0), (1, 1), (2, 2)], ..Steps::default() });
        let changed = Steps { kept: vec![(0, 0), (2, 2)], comes: vec![(1, Some(1))], ends: Vec::new() };
        assert_eq!(of("abc", "axc"), changed);
        let first = Steps { kept: vec![(1, 1)], comes: vec![(0, Some(0))], ends: Vec::new() };
        assert_eq!(of("ab", "xb"), first);
        let more = Steps { kept: vec![(0, 0), (2, 3)], comes: vec![(1, Some(1)), (2, None)], ends: Vec::new() };
        assert_eq!(of("abc", "axyc"), more);
        let fewer = Steps { kept: vec![(0, 0), (3, 2)], comes: vec![(1, Some(1))], ends: vec![2] };
        assert_eq!(of("abcd", "axd"), fewer);
        // What comes elsewhere takes nobody's place.
        let elsewhere = Steps { kept: vec![(0, 0), (2, 1)], comes: vec![(2, None)], ends: vec![1] };
        assert_eq!(of("abc", "acx"), elsewhere);
        // Nor what stands under another heading.
        let old = OldPiece { identity: "a".into(), title: Some("One > Two".into()) };
        let under = |path: &[&str]| Piece { path: path.iter().map(|one| (*one).to_owned()).collect(), ..piece("b") };
        let replaced = |path: &[&str]| steps(std::slice::from_ref(&old), &[under(path)], |one| one.text.clone()).comes;
        assert_eq!(replaced(&["One", "Two"]), [(0, Some(0))]);
        assert_eq!((replaced(&["One"]), replaced(&[])), (vec![(0, None)], vec![(0, None)]));
        assert_eq!(of("", "ab").comes, [(0, None), (1, None)]);
        assert_eq!(of("ab", "").ends, [0, 1]);
    }

    proptest! {
        #[test]
        fn each_piece_is_dealt_with_once(old in "[a-e]{0,12}", new in "[a-e]{0,12}") {
            let steps = of(&old, &new);
            let mut olds: Vec<usize> = steps.kept.iter().map(|(old, _)| *old).collect();
            olds.extend(steps.comes.iter().filter_map(|(_, old)| *old));
            olds.extend(&steps.ends);
            olds.sort_unstable();
            prop_assert_eq!(olds, (0..old.len()).collect::<Vec<_>>());
            let mut news: Vec<usize> = steps.kept.iter().map(|(_, new)| *new).collect();
            news.extend(steps.comes.iter().map(|(new, _)| *new));
            news.sort_unstable();
            prop_assert_eq!(news, (0..new.len()).collect::<Vec<_>>());
        }
    }
}
