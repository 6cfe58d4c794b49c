//! The difference of two texts, line by line, as `diff -u` shows it.

/// So many lines that are alike are shown around what differs.
const CONTEXT: usize = 3;

/// Texts with more lines that differ are shown as replaced whole.
const LONGEST: usize = 2000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Before,
    After,
}

/// What has to change to make one text of the other; empty when they are alike. Beginnings and ends of lines stay; the
/// headers name both texts.
pub fn diff(before: &str, after: &str, name: &str) -> String {
    if before == after {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = merged(&old, &new);
    let changed: Vec<usize> =
        (0..lines.len()).filter(|at| lines.get(*at).is_some_and(|line| line.0 != Side::Both)).collect();
    let mut shown = format!("--- {name}\n+++ {name}\n");
    let mut at = 0;
    while let Some(first) = changed.get(at) {
        let mut last = *first;
        while let Some(next) = changed.get(at + 1).filter(|next| **next <= last + 2 * CONTEXT + 1) {
            last = *next;
            at += 1;
        }
        at += 1;
        let (from, to) = (first.saturating_sub(CONTEXT), (last + CONTEXT + 1).min(lines.len()));
        let count = |upto: usize, side: Side| {
            lines.iter().take(upto).filter(|line| line.0 == Side::Both || line.0 == side).count()
        };
        let range = |side: Side| {
            let (start, end) = (count(from, side), count(to, side));
            format!("{},{}", if end > start { start + 1 } else { start }, end - start)
        };
        let (was, is) = (range(Side::Before), range(Side::After));
        shown.extend(["@@ -", &was, " +", &is, " @@\n"]);
        for (side, line) in lines.iter().take(to).skip(from) {
            shown.push(match side {
                Side::Both => ' ',
                Side::Before => '-',
                Side::After => '+',
            });
            shown.push_str(line);
            shown.push('\n');
        }
    }
    shown
}

/// All lines of both, each once, in an order that both keep.
fn merged<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Side, &'a str)> {
    let alike = |(one, other): &(&&str, &&str)| one == other;
    let head = old.iter().zip(new).take_while(alike).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(alike).count();
    let part = |lines: &[&'a str]| lines.get(head..lines.len() - tail).unwrap_or_default().to_vec();
    let (was, is) = (part(old), part(new));
    let mut lines: Vec<(Side, &str)> = old.iter().take(head).map(|line| (Side::Both, *line)).collect();
    if was.len().max(is.len()) > LONGEST {
        lines.extend(was.iter().map(|line| (Side::Before, *line)));
        lines.extend(is.iter().map(|line| (Side::After, *line)));
    } else {
        lines.extend(longest(&was, &is));
    }
    lines.extend(old.iter().skip(old.len() - tail).map(|line| (Side::Both, *line)));
    lines
}

/// The same by the longest run of lines that both have.
fn longest<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Side, &'a str)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let get = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or_default();
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let length = if one == other {
                get(&lengths, i + 1, j + 1) + 1
            } else {
                get(&lengths, i + 1, j).max(get(&lengths, i, j + 1))
            };
            if let Some(place) = lengths.get_mut(i * width + j) {
                *place = length;
            }
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(one), Some(other)) if one == other => {
                lines.push((Side::Both, *one));
                (i, j) = (i + 1, j + 1);
            }
            (Some(one), other) if other.is_none() || get(&lengths, i + 1, j) >= get(&lengths, i, j + 1) => {
                lines.push((Side::Before, *one));
                i += 1;
            }
            (_, Some(other)) => {
                lines.push((Side::After, *other));
                j += 1;
            }
            (_, None) => return lines,
        }
    }
}
