//! Numbers of payment cards.

use super::{Number, luhn};

/// What a number of so many groups is, if it is that of a card.
pub(super) fn look(number: &Number<'_>, groups: usize) -> Option<&'static str> {
    let digits = number.digits(groups);
    if !(12..=19).contains(&digits.len()) || !number.ends(groups) || !is_issued(digits) || !luhn(digits) {
        return None;
    }
    let lengths = number.lengths(groups);
    let grouped = match lengths {
        [_] | [4, 6, 4 | 5] => true,
        [4, 4, 4, rest @ ..] => rest.iter().sum::<usize>() <= 7 && rest.iter().rev().skip(1).all(|length| *length == 4),
        _ => false,
    };
    (grouped && (number.joined_by(groups, b' ') || number.joined_by(groups, b'-'))).then_some("card")
}

/// Whether a number begins as those of an issuer do, and has their length.
fn is_issued(digits: &[u8]) -> bool {
    let lead = |length: usize| digits.iter().take(length).fold(0_u32, |number, digit| number * 10 + u32::from(*digit));
    match digits.len() {
        12 => matches!(lead(2), 50 | 56..=58 | 63 | 67),
        13 => lead(1) == 4 || matches!(lead(2), 50 | 56..=58 | 63 | 67),
        14 => matches!(lead(2), 36 | 38 | 39) || matches!(lead(3), 300..=305),
        15 => matches!(lead(2), 34 | 37) || matches!(lead(4), 2131 | 1800) || matches!(lead(2), 50 | 56..=58),
        16 => {
            lead(1) == 4
                || matches!(lead(2), 51..=55 | 35 | 62 | 65 | 50 | 56..=58 | 60 | 63 | 67)
                || (2221..=2720).contains(&lead(4))
                || matches!(lead(3), 644..=649)
        }
        17 | 18 => matches!(lead(2), 50 | 56..=58 | 62 | 63 | 65 | 67),
        19 => lead(1) == 4 || matches!(lead(2), 62 | 65 | 50 | 56..=58 | 60 | 63 | 67) || matches!(lead(3), 644..=649),
        _ => false,
    }
}
