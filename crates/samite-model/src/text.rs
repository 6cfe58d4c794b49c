//! Merging the lines of a file that two sides changed, where their edits do not overlap.
//!
//! Lines are bytes up to and with a line feed; a carriage return before it is part of the line, and so is a last line
//! without a line feed. Bounded in time and memory: texts are at most [`LIMIT`] bytes, and sides that differ from the base
//! in more than some thousand lines are not merged.

use std::collections::HashMap;
use std::ops::Range;

/// The size in bytes up to which a file is merged as text: 1 MiB.
pub const LIMIT: u64 = 1 << 20;

/// Whether bytes are text as far as a merge is concerned: not too many, and without a NUL.
pub fn is_text(bytes: &[u8]) -> bool {
    bytes.len() as u64 <= LIMIT && !bytes.contains(&0)
}

/// Stretches of lines that one side made of lines of the base.
type Edit = (Range<usize>, Range<usize>);

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Lines removed and added of a side that is merged, at most: the comparison takes the square of it in steps, and twice that
/// in bytes.
const EDITED_LINES: usize = 2_000;

/// What a side made of the base, in as few lines as can be; none when they are too many.
fn edits(base: &[&[u8]], side: &[&[u8]]) -> Option<Vec<Edit>> {
    let head = base.iter().zip(side).take_while(|(a, b)| a == b).count();
    let (base, side) = (base.get(head..)?, side.get(head..)?);
    let tail = base.iter().rev().zip(side.iter().rev()).take_while(|(a, b)| a == b).count();
    let (base, side) = (base.get(..base.len() - tail)?, side.get(..side.len() - tail)?);
    // Numbers are compared faster than lines.
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut numbered: Vec<usize> = Vec::with_capacity(base.len() + side.len());
    for line in base.iter().chain(side) {
        let next = numbers.len();
        numbered.push(*numbers.entry(line).or_insert(next));
    }
    let (base, side) = numbered.split_at(base.len());
    let (removed, added) = differing(base, side)?;
    let mut edits: Vec<Edit> = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < base.len() || new < side.len() {
        let (from_old, from_new) = (old, new);
        old += removed.iter().skip(old).take_while(|removed| **removed).count();
        new += added.iter().skip(new).take_while(|added| **added).count();
        if (from_old, from_new) == (old, new) {
            (old, new) = (old + 1, new + 1);
        } else {
            edits.push((from_old + head..old + head, from_new + head..new + head));
        }
    }
    Some(edits)
}

/// Where the next edited line leads on a diagonal (the `place`-th from the one on which lines were only added), from how far
/// one line less led on those beside it: so many lines of the base, and whether a line was added rather than removed.
fn step(before: &[u32], place: usize) -> Option<(usize, bool)> {
    let added = before.get(place);
    let removed = place.checked_sub(1).and_then(|place| before.get(place));
    match (added, removed) {
        (Some(added), Some(removed)) if removed < added => Some((*added as usize, true)),
        (_, Some(removed)) => Some((*removed as usize + 1, false)),
        (Some(added), None) => Some((*added as usize, true)),
        (None, None) => None,
    }
}

/// Which lines of the base were removed and which of the side were added (E. Myers, "An O(ND) difference algorithm", 1986).
fn differing(base: &[usize], side: &[usize]) -> Option<(Vec<bool>, Vec<bool>)> {
    let mut reached: Vec<Vec<u32>> = Vec::new();
    let mut end = None;
    for edited in 0..=EDITED_LINES {
        let mut now = Vec::with_capacity(edited + 1);
        for place in 0..=edited {
            let mut old = match reached.last() {
                Some(before) => step(before, place)?.0,
                None => 0,
            };
            let mut new = (old + edited).checked_sub(2 * place)?;
            while base.get(old).is_some_and(|line| side.get(new) == Some(line)) {
                (old, new) = (old + 1, new + 1);
            }
            now.push(u32::try_from(old).ok()?);
            if old >= base.len() && new >= side.len() {
                end = Some(place);
                break;
            }
        }
        if end.is_some() {
            break;
        }
        reached.push(now);
    }
    let mut place = end?;
    let (mut removed, mut added) = (vec![false; base.len()], vec![false; side.len()]);
    for (edited, before) in reached.iter().enumerate().rev().map(|(at, before)| (at + 1, before)) {
        let (old, was_added) = step(before, place)?;
        if was_added {
            let new = (old + edited).checked_sub(2 * place + 1)?;
            *added.get_mut(new)? = true;
        } else {
            *removed.get_mut(old.checked_sub(1)?)? = true;
            place -= 1;
        }
    }
    Some((removed, added))
}

/// The edits of both sides together, or none when two of them overlap or touch and are not the same.
pub fn merge_text(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if ![base, ours, theirs].into_iter().all(is_text) {
        return None;
    }
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let (our_edits, their_edits) = (edits(&base, &ours)?, edits(&base, &theirs)?);
    let mut merged = Vec::new();
    let mut at = 0;
    let (mut our_edits, mut their_edits) = (our_edits.into_iter().peekable(), their_edits.into_iter().peekable());
    loop {
        let (edit, side) = match (our_edits.peek(), their_edits.peek()) {
            (None, None) => break,
            (Some(_), None) => (our_edits.next()?, &ours),
            (None, Some(_)) => (their_edits.next()?, &theirs),
            (Some(our), Some(their)) => {
                let apart = our.0.end < their.0.start || their.0.end < our.0.start;
                if apart && our.0.start < their.0.start {
                    (our_edits.next()?, &ours)
                } else if apart {
                    (their_edits.next()?, &theirs)
                } else if our.0 == their.0 && ours.get(our.1.clone())? == theirs.get(their.1.clone())? {
                    their_edits.next();
                    (our_edits.next()?, &ours)
                } else {
                    return None;
                }
            }
        };
        for line in base.get(at..edit.0.start)?.iter().chain(side.get(edit.1)?) {
            merged.extend_from_slice(line);
        }
        at = edit.0.end;
    }
    for line in base.get(at..)? {
        merged.extend_from_slice(line);
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        let both = merge_text(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
        let swapped = merge_text(base.as_bytes(), theirs.as_bytes(), ours.as_bytes());
        assert_eq!(both, swapped, "a merge does not depend on whose side is whose");
        both.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn edits_apart_are_merged_and_others_are_not() {
        let base = "a\nb\nc\nd\ne\n";
        let table = [
            ("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", Some("A\nb\nc\nd\nE\n")),
            ("A\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", Some("A\nb\nc\nd\ne\n")),
            ("x\na\nb\nc\nd\ne\n", "a\nb\nc\nd\n", Some("x\na\nb\nc\nd\n")),
            ("A\nb\nc\nd\ne\n", "A\nb\nc\nD\ne\n", Some("A\nb\nc\nD\ne\n")),
            // Both changed one line, a line beside the other's, or put something in at one place.
            ("A\nb\nc\nd\ne\n", "X\nb\nc\nd\ne\n", None),
            ("A\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", None),
            ("a\nb\nx\nc\nd\ne\n", "a\nb\ny\nc\nd\ne\n", None),
            ("a\nc\nd\ne\n", "a\nB\nc\nd\ne\n", None),
            ("", "A\nb\nc\nd\ne\n", None),
            ("", "", Some("")),
        ];
        for (ours, theirs, right) in table {
            assert_eq!(merged(base, ours, theirs).as_deref(), right, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn line_ends_are_kept_as_they_are() {
        assert_eq!(merged("a\r\nb\r\nc", "A\r\nb\r\nc", "a\r\nb\r\nC").as_deref(), Some("A\r\nb\r\nC"));
        assert_eq!(merged("a\nb\nc\n", "a\nb\nc", "A\nb\nc\n").as_deref(), Some("A\nb\nc"));
        // What one side put after a last line without a line feed is an edit of that line.
        assert_eq!(merged("a\nb\nc", "A\nb\nc", "a\nb\nc\nd\n").as_deref(), Some("A\nb\nc\nd\n"));
        assert_eq!(
            merge_text(b"a\nb\nc\n", b"\xff\nb\nc\n", b"a\nb\n\xfe\n").as_deref(),
            Some(&b"\xff\nb\n\xfe\n"[..])
        );
    }

    #[test]
    fn what_is_no_text_or_too_long_is_not_merged() {
        assert_eq!(merge_text(b"a\0\nb\nc\n", b"A\0\nb\nc\n", b"a\0\nb\nC\n"), None);
        let long = vec![b'x'; usize::try_from(LIMIT).unwrap() + 1];
        assert_eq!(merge_text(b"", &long, b""), None);
        assert!(is_text(&long[1..]) && !is_text(&long));
    }

    #[test]
    fn texts_that_differ_in_too_many_lines_are_not_merged() {
        // Every line occurs everywhere, in another order: the worst that a comparison of lines can meet.
        let text = |seed: u64| {
            let mut state = seed;
            let mut bytes = Vec::new();
            while bytes.len() < 1_000_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                bytes.extend_from_slice(&[b'a' + (state >> 60) as u8, b'\n']);
            }
            bytes
        };
        let (base, ours, theirs) = (text(1), text(2), text(3));
        assert_eq!(merge_text(&base, &ours, &theirs), None);
        // A long text of which little differs is merged.
        let changed = |at: usize, letter: u8| {
            let mut changed = base.clone();
            changed[at] = letter;
            changed
        };
        let (ours, theirs) = (changed(0, b'X'), changed(999_998, b'Y'));
        let mut right = ours.clone();
        right[999_998] = b'Y';
        assert_eq!(merge_text(&base, &ours, &theirs), Some(right));
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec("[a-d]{0,2}", 0..12).prop_flat_map(|lines| {
            let text = lines.join("\n");
            prop_oneof![Just(text.clone()), Just(format!("{text}\n"))].prop_map(String::into_bytes)
        })
    }

    proptest! {
        #[test]
        fn one_side_alone_is_taken(base in text(), side in text()) {
            prop_assert_eq!(merge_text(&base, &side, &base), Some(side.clone()));
            prop_assert_eq!(merge_text(&base, &base, &side), Some(side.clone()));
            prop_assert_eq!(merge_text(&base, &side, &side), Some(side));
        }

        #[test]
        fn a_merge_holds_no_line_that_no_side_has(base in text(), ours in text(), theirs in text()) {
            if let Some(merged) = merge_text(&base, &ours, &theirs) {
                let known: std::collections::HashSet<&[u8]> =
                    [&base, &ours, &theirs].into_iter().flat_map(|text| lines(text)).collect();
                prop_assert!(lines(&merged).iter().all(|line| known.contains(line)));
                prop_assert_eq!(merge_text(&base, &theirs, &ours), Some(merged));
            }
        }
    }
}
