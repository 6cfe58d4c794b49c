//! What is written without a blank: words that are joined like code, addresses, contractions, numbers.

use super::date::month;
use super::fold::fold;
use super::token::{Kind, MAX_CHARACTERS, Sink, cut};

/// What separates the segments of a path, an address, an assignment. Each segment may be a whole of its own.
const SEPARATORS: [char; 9] = ['/', '\\', ':', '=', '?', '&', '~', '%', '@'];

/// What is left after the apostrophe of an English contraction or genitive.
const ENDINGS: [&str; 7] = ["s", "t", "d", "m", "re", "ve", "ll"];

/// What stands before the apostrophe of a French or Italian elision.
const ELISIONS: [&str; 25] = [
    "l", "d", "j", "m", "n", "s", "t", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "un", "dell", "all", "dall",
    "nell", "sull", "coll", "gl", "quell", "quest", "bell", "sant",
];

/// At most so many words are joined without what joined them.
const MAX_JOINED: usize = 4;

/// Gives the sink the terms of a run of words and joiners.
pub(super) fn chunk(chunk: &str, sink: &mut Sink) {
    if !chunk.contains(is_joiner) {
        atom(chunk, ' ', sink);
        return;
    }
    let position = sink.position;
    let (mut start, mut before, mut segments) = (0, ' ', 0_usize);
    for (at, separator) in chunk.match_indices(SEPARATORS).chain([(chunk.len(), "")]) {
        for piece in commas(chunk.get(start..at).unwrap_or_default()) {
            segments += usize::from(segment(piece, before, sink));
        }
        start = at + separator.len();
        before = separator.chars().next().unwrap_or(' ');
    }
    if (segments > 1 || (segments == 1 && chunk.starts_with('@')))
        && !chunk.contains(',')
        && let Some(core) = core(chunk)
    {
        sink.push(Kind::Whole, core, position);
    }
}

/// A segment that holds commas is one number, or several pieces.
fn commas(segment: &str) -> impl Iterator<Item = &str> {
    let whole = !segment.contains(',') || is_grouped(segment);
    let mut pieces = segment.split(',');
    std::iter::from_fn(move || if whole { None } else { pieces.next() }).chain(whole.then_some(segment))
}

/// Whether it is digits in groups of three, perhaps with a fraction.
fn is_grouped(segment: &str) -> bool {
    let (integer, fraction) = segment.split_once('.').unwrap_or((segment, ""));
    let mut groups = integer.split(',');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && digits(first))
        && groups.all(|group| group.len() == 3 && digits(group))
        && digits(fraction)
}

const fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '\u{2019}' | '\u{2018}' | '\u{2bc}')
}

const fn is_joiner(character: char) -> bool {
    is_apostrophe(character)
        || matches!(
            character,
            '.' | '_' | '-' | '+' | '#' | '@' | '/' | '\\' | ':' | '=' | '?' | '&' | '~' | '%' | ',' | '\u{2010}'
        )
}

/// Without the joiners at both ends, but with those that belong to a name: `C++`, `C#`, `.env`, `#42`, `@alice`.
fn core(text: &str) -> Option<&str> {
    let first = text.find(|character| !is_joiner(character))?;
    let start = match text.get(..first) {
        Some("." | "#" | "@") => 0,
        _ => first,
    };
    let last = text.rfind(|character| !is_joiner(character))?;
    let end = last + text.get(last..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    let tail = text.get(end..)?;
    let decoration = tail.len() - tail.trim_start_matches(['+', '#']).len();
    text.get(start..if decoration <= 2 { end + decoration } else { end })
}

const APOSTROPHE: u8 = 1;
const HYPHEN: u8 = 2;
const DOT: u8 = 4;
const OTHER: u8 = 8;

/// What a segment is put together of.
#[derive(Default)]
struct Joins {
    words: usize,
    /// The kinds of joiners between its words, a bit each.
    kinds: u8,
    /// Whether there are only letters beside them.
    letters: bool,
    /// Whether each word is one character.
    initials: bool,
}

/// Without the ending of a genitive or contraction, and without the elision before a word.
fn without_contraction(core: &str) -> &str {
    let listed = |word: &str, list: &[&str]| list.iter().any(|entry| word.eq_ignore_ascii_case(entry));
    let mut rest = core;
    while let Some((word, ending)) = rest.rsplit_once(is_apostrophe)
        && listed(ending, &ENDINGS)
        && !word.is_empty()
    {
        rest = word;
    }
    if let Some((elision, word)) = rest.split_once(is_apostrophe)
        && listed(elision, &ELISIONS)
        && !word.is_empty()
    {
        rest = word;
    }
    self::core(rest).unwrap_or(rest)
}

/// The terms of one segment: its words, and the whole of it. Whether it has any.
fn segment(text: &str, before: char, sink: &mut Sink) -> bool {
    let Some(core) = core(text) else { return false };
    let number: String;
    let core = if core.contains(',') {
        number = core.replace(',', "");
        &number
    } else {
        core
    };
    let core = without_contraction(core);
    let position = sink.position;
    let joins = words(core, before, sink);
    if !core.contains(is_joiner) {
        return true;
    }
    let short = cut(core, 4 * MAX_CHARACTERS);
    if joins.kinds == APOSTROPHE {
        sink.push(Kind::Word, &short.replace(is_apostrophe, ""), position);
        return true;
    }
    sink.push(Kind::Whole, &short.replace(is_apostrophe, "'").replace('\u{2010}', "-"), position);
    if let Some(version) = short.strip_prefix(['v', 'V'])
        && version.starts_with(|character: char| character.is_ascii_digit())
        && version.contains(is_joiner)
    {
        sink.push(Kind::Whole, version, position);
    }
    let hyphenated = joins.kinds == HYPHEN && joins.letters && (2..=MAX_JOINED).contains(&joins.words);
    let initials = joins.kinds == DOT && joins.initials && joins.words > 1;
    if hyphenated || initials {
        sink.push(Kind::Word, &short.replace(is_joiner, ""), position);
    }
    true
}

/// The single words of a segment, and what joins them.
fn words(core: &str, before: char, sink: &mut Sink) -> Joins {
    let mut joins = Joins { letters: true, initials: true, ..Joins::default() };
    let (mut start, mut before) = (0, before);
    for (at, joiner) in core.match_indices(is_joiner).chain([(core.len(), "")]) {
        let word = core.get(start..at).unwrap_or_default();
        let after = joiner.chars().next().unwrap_or(' ');
        joins.kinds |= match after {
            ' ' => 0,
            '-' | '_' | '\u{2010}' => HYPHEN,
            '.' => DOT,
            _ if is_apostrophe(after) => APOSTROPHE,
            _ => OTHER,
        };
        if !word.is_empty() {
            joins.words += 1;
            joins.letters &= word.chars().all(char::is_alphabetic);
            joins.initials &= word.chars().nth(1).is_none();
            atom(word, before, sink);
        }
        start = at + joiner.len();
        before = after;
    }
    joins
}

/// One word: letters, marks and digits.
fn atom(word: &str, before: char, sink: &mut Sink) {
    // The end of a date and the begin of a time, as in 2023-05-07T12:30.
    if let Some((day, hour)) = word.split_once(['T', 't'])
        && [day, hour].iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        atom(day, before, sink);
        atom(hour, 'T', sink);
        return;
    }
    let position = sink.advance();
    let folded = fold(cut(word, 4 * MAX_CHARACTERS));
    let folded = cut(&folded, MAX_CHARACTERS);
    if is_digits(folded) {
        sink.push_folded(Kind::Word, without_zeros(folded), position);
        number(folded, before, position, sink);
        return;
    }
    sink.push_folded(Kind::Word, folded, position);
    if let Some(day) = ordinal(folded) {
        sink.push_folded(Kind::Part, without_zeros(day), position);
        number(day, before, position, sink);
        return;
    }
    match month(folded) {
        Some((number, is_name)) => sink.dates.month(number, is_name, position),
        None => {
            if sink.dates.word(folded) {
                sink.flush_dates();
                sink.dates.word(folded);
            }
        }
    }
    parts(word, position, sink);
}

fn number(digits: &str, before: char, position: u32, sink: &mut Sink) {
    if !digits.parse().is_ok_and(|value| sink.dates.number(value, digits.len(), before, position)) {
        sink.flush_dates();
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digits of `7th`, `1st`.
fn ordinal(word: &str) -> Option<&str> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending))?;
    (is_digits(digits) && digits.len() <= 3).then_some(digits)
}

fn without_zeros(digits: &str) -> &str {
    let short = digits.trim_start_matches('0');
    if short.is_empty() { digits.get(..1).unwrap_or(digits) } else { short }
}

/// What a word in several cases, or of letters and digits, is put together of.
fn parts(word: &str, position: u32, sink: &mut Sink) {
    const MAX_LENGTH: usize = 4 * MAX_CHARACTERS;
    if word.len() < 3 || word.len() > MAX_LENGTH || word.starts_with("0x") || word.starts_with("0X") {
        return;
    }
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let at = |index: usize| characters.get(index).map_or('\0', |(_, character)| *character);
    let mut bounds = vec![0];
    let mut digits = false;
    for (index, (offset, character)) in characters.iter().enumerate().skip(1) {
        let previous = at(index - 1);
        let change = previous.is_numeric() != character.is_numeric()
            && !unicode_normalization::char::is_combining_mark(*character);
        let hump = previous.is_lowercase() && character.is_uppercase();
        let acronym = previous.is_uppercase()
            && character.is_uppercase()
            && at(index + 1).is_lowercase()
            && at(index + 2).is_lowercase();
        if change || hump || acronym {
            digits |= change;
            bounds.push(*offset);
        }
    }
    if bounds.len() < 2 || bounds.len() > if digits { 4 } else { 8 } {
        return;
    }
    bounds.push(word.len());
    for (start, end) in bounds.iter().zip(bounds.iter().skip(1)) {
        let part = word.get(*start..*end).unwrap_or_default();
        if is_digits(part) {
            sink.push_folded(Kind::Part, without_zeros(part), position);
        } else if part.chars().nth(1).is_some() {
            sink.push(Kind::Part, part, position);
        }
    }
}
