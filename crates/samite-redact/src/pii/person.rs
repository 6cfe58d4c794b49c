//! Numbers that states give to persons, in digits (one letter may end them).

use super::{Context, Number, add, is_date, is_word, luhn, weighted};
use crate::alphabet::{DIGIT, byte, slice};
use crate::finding::Hit;

/// What a number of so many groups is.
pub(super) fn look(number: &Number<'_>, groups: usize, context: &Context<'_>) -> Option<&'static str> {
    if !number.ends(groups) || number.start != number.first() {
        return None;
    }
    let digits = number.digits(groups);
    let lengths = number.lengths(groups);
    let dashed = number.joined_by(groups, b'-');
    let spaced = number.joined_by(groups, b' ');
    match (digits.len(), lengths) {
        (9, [3, 2, 4]) if (dashed || spaced && context.says(US)) && is_us(digits) => Some("us-ssn"),
        (9, [9]) if context.says(US) && is_us(digits) => Some("us-ssn"),
        (9, [9] | [3, 3, 3] | [4, 2, 3])
            if context.says(&["bsn", "burgerservice", "sofinummer"]) && is_dutch(digits) =>
        {
            Some("nl-bsn")
        }
        (9, [9] | [3, 3, 3]) if context.says(&["sin", "social insurance"]) && luhn(digits) => Some("ca-sin"),
        (9, [9] | [3, 3, 3])
            if context.says(&["tfn", "tax file"])
                && weighted(digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) =>
        {
            Some("au-tfn")
        }
        (9, [9] | [3, 3, 3]) if context.says(&["nif", "contribuinte"]) && is_portuguese(digits) => Some("pt-nif"),
        (10, [6, 4])
            if number.sign(1) == b'-'
                && is_date(part(digits, 0, 2), part(digits, 2, 4), &swedish_day(part(digits, 4, 6)))
                && luhn(digits) =>
        {
            Some("se-personnummer")
        }
        (10, [6, 4])
            if number.sign(1) == b'-'
                && context.says(&["cpr", "personnummer"])
                && is_date(part(digits, 4, 6), part(digits, 2, 4), part(digits, 0, 2)) =>
        {
            Some("dk-cpr")
        }
        (10, [3, 3, 4] | [10]) if context.says(&["nhs"]) && is_nhs(digits) => Some("uk-nhs"),
        (12, [8, 4])
            if number.sign(1) == b'-'
                && is_date(part(digits, 0, 4), part(digits, 4, 6), &swedish_day(part(digits, 6, 8)))
                && luhn(part(digits, 2, 12)) =>
        {
            Some("se-personnummer")
        }
        (11, [3, 3, 3, 2]) if number.sign(3) == b'-' && is_brazilian(digits) => Some("br-cpf"),
        (11, [11]) if is_polish(digits) => Some("pl-pesel"),
        (11, [11]) if is_norwegian(digits) => Some("no-fodselsnummer"),
        (11, [11]) if context.says(&["cpf"]) && is_brazilian(digits) => Some("br-cpf"),
        (11, [11]) if context.says(&["kimlik", "tckn", "t.c."]) && is_turkish(digits) => Some("tr-kimlik"),
        (11, [2, 3, 3, 3]) if spaced && is_german(digits) => Some("de-tax-id"),
        (11, [11]) if context.says(&["steuer", "tax id", "idnr", "tin"]) && is_german(digits) => Some("de-tax-id"),
        (11, [6, 3, 2] | [2, 2, 2, 3, 2]) if is_belgian(digits) => Some("be-national-number"),
        (11, [11])
            if context.says(&["rijksregister", "national number", "niss", "insz", "registre national"])
                && is_belgian(digits) =>
        {
            Some("be-national-number")
        }
        (12, [4, 4, 4]) if (spaced || dashed) && is_indian(digits) => Some("in-aadhaar"),
        (12, [12]) if context.says(&["aadhaar", "aadhar", "uidai"]) && is_indian(digits) => Some("in-aadhaar"),
        (13, [3, 4, 4, 2] | [13]) if digits.starts_with(&[7, 5, 6]) && is_ean(digits) => Some("ch-ahv"),
        (13, [6, 7])
            if number.sign(1) == b'-'
                && is_date(part(digits, 0, 2), part(digits, 2, 4), part(digits, 4, 6))
                && matches!(digits.get(6), Some(1..=8)) =>
        {
            Some("kr-rrn")
        }
        (13, [13])
            if is_date(part(digits, 0, 2), part(digits, 2, 4), part(digits, 4, 6))
                && matches!(digits.get(10), Some(0 | 1))
                && matches!(digits.get(11), Some(8 | 9))
                && luhn(digits) =>
        {
            Some("za-id")
        }
        (15, _) if is_french(digits) && (spaced || groups == 1) => Some("fr-nir"),
        (18, [18]) if is_chinese(digits, digits.get(17).copied().map_or(0, u32::from)) => Some("cn-id"),
        _ => None,
    }
}

const US: &[&str] = &["ssn", "social security"];

fn part(digits: &[u8], from: usize, to: usize) -> &[u8] {
    digits.get(from..to).unwrap_or_default()
}

fn value(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |number, digit| number * 10 + u64::from(*digit))
}

/// A number of ten to eighteen digits, or of eight, that ends with a letter.
pub(super) fn with_letter(text: &[u8], start: usize, hits: &mut Vec<Hit>) -> Option<usize> {
    let count = DIGIT.run(text, start, 18);
    if !matches!(count, 6 | 8 | 17) {
        return None;
    }
    let digits: Vec<u8> = slice(text, start, start + count).iter().map(|digit| digit - b'0').collect();
    let letter_at = start + count + usize::from(count == 8 && byte(text, start + count) == b'-');
    let letter = byte(text, letter_at).to_ascii_uppercase();
    if is_word(byte(text, letter_at + 1)) && count != 6 {
        return None;
    }
    let end = letter_at + 1;
    match (count, letter) {
        (8, b'A'..=b'Z') if dni_letter(value(&digits)) == letter => add(hits, start..end, "es-dni"),
        (17, b'X') if is_chinese(&digits, 10) => add(hits, start..end, "cn-id"),
        (6, b'A' | b'-' | b'+') => return finnish(text, start, &digits, hits),
        _ => return None,
    }
    Some(end)
}

/// The letter that ends a Spanish number.
pub(super) fn dni_letter(number: u64) -> u8 {
    b"TRWAGMYFPDXBNJZSQVHLCKE".get(usize::try_from(number % 23).unwrap_or(0)).copied().unwrap_or(0)
}

/// `131052-308T`.
fn finnish(text: &[u8], start: usize, digits: &[u8], hits: &mut Vec<Hit>) -> Option<usize> {
    let rest = slice(text, start + 7, start + 10);
    if rest.len() != 3
        || !DIGIT.covers(rest)
        || is_word(byte(text, start + 11))
        || !is_date(part(digits, 4, 6), part(digits, 2, 4), part(digits, 0, 2))
    {
        return None;
    }
    let mut all = digits.to_vec();
    all.extend(rest.iter().map(|digit| digit - b'0'));
    let check = b"0123456789ABCDEFHJKLMNPRSTUVWXY".get(usize::try_from(value(&all) % 31).ok()?)?;
    if byte(text, start + 10).to_ascii_uppercase() != *check {
        return None;
    }
    add(hits, start..start + 11, "fi-hetu");
    Some(start + 11)
}

/// The rules of the Social Security Administration.
fn is_us(digits: &[u8]) -> bool {
    let area = value(part(digits, 0, 3));
    area != 0 && area != 666 && area < 900 && value(part(digits, 3, 5)) != 0 && value(part(digits, 5, 9)) != 0
}

fn is_dutch(digits: &[u8]) -> bool {
    let sum = weighted(part(digits, 0, 8), &[9, 8, 7, 6, 5, 4, 3, 2]);
    let last = digits.get(8).copied().map_or(0, u32::from);
    sum != 0 && (sum + 110 - last).is_multiple_of(11)
}

fn is_portuguese(digits: &[u8]) -> bool {
    let rest = weighted(part(digits, 0, 8), &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    digits.get(8).copied().map(u32::from) == Some(check)
}

fn is_nhs(digits: &[u8]) -> bool {
    let check = 11 - weighted(part(digits, 0, 9), &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digits.get(9).copied().map(u32::from) == Some(check % 11)
}

fn swedish_day(day: &[u8]) -> [u8; 2] {
    // Numbers of people who wait for one have sixty added to the day.
    match day {
        [tens @ 6..=9, ones] => [tens - 6, *ones],
        [tens, ones] => [*tens, *ones],
        _ => [0, 0],
    }
}

fn is_brazilian(digits: &[u8]) -> bool {
    let check = |count: u32| {
        let weights: Vec<u32> = (2..=count + 1).rev().collect();
        let rest = weighted(digits.get(..count as usize).unwrap_or_default(), &weights) * 10 % 11 % 10;
        digits.get(count as usize).copied().map(u32::from) == Some(rest)
    };
    digits.windows(2).any(|pair| pair.first() != pair.last()) && check(9) && check(10)
}

fn is_polish(digits: &[u8]) -> bool {
    let month = value(part(digits, 2, 4)) % 20;
    let day = value(part(digits, 4, 6));
    let sum = weighted(digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
    (1..=12).contains(&month) && (1..=31).contains(&day) && sum.is_multiple_of(10)
}

fn is_norwegian(digits: &[u8]) -> bool {
    let day = value(part(digits, 0, 2));
    let born = is_date(part(digits, 4, 6), part(digits, 2, 4), part(digits, 0, 2))
        || (41..=71).contains(&day) && (1..=12).contains(&value(part(digits, 2, 4)));
    born && weighted(digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]).is_multiple_of(11)
        && weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

fn is_turkish(digits: &[u8]) -> bool {
    let at = |place: usize| digits.get(place).copied().map_or(0, u32::from);
    let odd = at(0) + at(2) + at(4) + at(6) + at(8);
    let even = at(1) + at(3) + at(5) + at(7);
    at(0) != 0 && (odd * 7 + 100 - even) % 10 == at(9) && (odd + even + at(9)) % 10 == at(10)
}

/// One digit of the first ten stands twice or three times, and the last is a check of ISO 7064.
fn is_german(digits: &[u8]) -> bool {
    let first = part(digits, 0, 10);
    let most = (0..10).map(|digit| memchr::memchr_iter(digit, first).count()).max().unwrap_or(0);
    let product = first.iter().fold(10_u32, |product, digit| {
        let sum = (u32::from(*digit) + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    let check = (11 - product) % 10;
    digits.first() != Some(&0) && matches!(most, 2 | 3) && digits.get(10).copied().map(u32::from) == Some(check)
}

fn is_belgian(digits: &[u8]) -> bool {
    let (number, check) = (value(part(digits, 0, 9)), value(part(digits, 9, 11)));
    let month = value(part(digits, 2, 4));
    month <= 12
        && value(part(digits, 4, 6)) <= 31
        && (97 - number % 97 == check || 97 - (2_000_000_000 + number) % 97 == check)
}

/// Verhoeff's check, on the group of the symmetries of a pentagon.
fn is_indian(digits: &[u8]) -> bool {
    let product = |a: u8, b: u8| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + (b - 5)) % 5 + 5,
        (false, true) => (a - 5 + 5 - b) % 5 + 5,
        (false, false) => (a - 5 + 5 - (b - 5)) % 5,
    };
    let permuted = |times: usize, digit: u8| {
        (0..times).fold(digit, |digit, _| [1, 5, 7, 6, 2, 8, 3, 0, 9, 4].get(usize::from(digit)).copied().unwrap_or(0))
    };
    let check = digits.iter().rev().enumerate().fold(0, |check, (at, digit)| product(check, permuted(at % 8, *digit)));
    matches!(digits.first(), Some(2..=9)) && check == 0
}

/// The check digit of European article numbers.
fn is_ean(digits: &[u8]) -> bool {
    weighted(digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
}

fn is_french(digits: &[u8]) -> bool {
    let month = value(part(digits, 3, 5));
    matches!(digits.first(), Some(1 | 2))
        && (matches!(month, 1..=12 | 20 | 30..=42 | 50..=99))
        && 97 - value(part(digits, 0, 13)) % 97 == value(part(digits, 13, 15))
}

fn is_chinese(digits: &[u8], check: u32) -> bool {
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let year = value(part(digits, 6, 10));
    (1900..=2100).contains(&year)
        && is_date(part(digits, 6, 10), part(digits, 10, 12), part(digits, 12, 14))
        && (12 - weighted(part(digits, 0, 17), &weights) % 11) % 11 == check
}

#[cfg(test)]
mod tests {
    use super::super::found;

    #[test]
    fn numbers_of_persons_satisfy_their_checks() {
        for (text, kind) in [
            ("536-90-4399", "us-ssn"),
            ("bsn 111222333", "nl-bsn"),
            ("SIN 046 454 286", "ca-sin"),
            ("811218-9876", "se-personnummer"),
            ("529.982.247-25", "br-cpf"),
            ("44051401359", "pl-pesel"),
            ("IdNr 86095742719", "de-tax-id"),
            ("86 095 742 719", "de-tax-id"),
            ("85.07.30-033.28", "be-national-number"),
            ("2341 2341 2346", "in-aadhaar"),
            ("756.9217.0769.85", "ch-ahv"),
            ("255081416802538", "fr-nir"),
            ("11010519491231002X", "cn-id"),
            ("12345678Z", "es-dni"),
            ("131052-308T", "fi-hetu"),
            ("8001015009087", "za-id"),
            ("TCKN 10000000146", "tr-kimlik"),
            ("NIF 123456789", "pt-nif"),
            ("NHS 943 476 5919", "uk-nhs"),
        ] {
            let found = found(text);
            assert_eq!(found.first().map(|one| one.1.as_str()), Some(kind), "{text}: {found:?}");
        }
        for text in [
            "536-90-0000",
            "bsn 111222334",
            "44051401358",
            "12345678A",
            "131052-308U",
            "255081416802539",
            "11010519491231002Y",
            "811218-9875",
            "2341 2341 2347",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
