//! Cuts a normalised text into runs: of words with what joins them, of scripts without spaces, and single signs.

use unicode_normalization::char::is_combining_mark;

use super::compound::chunk;
use super::script::{Class, class};
use super::token::{Kind, Sink};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Words,
    Unspaced,
}

/// Gives the sink every term of the text.
pub(super) fn scan(text: &str, sink: &mut Sink) {
    let mut run: Option<(Run, usize)> = None;
    let mut flag: Option<usize> = None;
    let mut previous = '\0';
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map_or('\0', |(_, next)| *next);
        let class = match class(character) {
            // A comma within a number.
            Class::End if character == ',' && previous.is_ascii_digit() && next.is_ascii_digit() => Class::Joiner,
            class => class,
        };
        let kind = match class {
            Class::Word | Class::Joiner => Some(Run::Words),
            Class::Unspaced => Some(Run::Unspaced),
            Class::Symbol | Class::End => None,
        };
        if let Some((of, start)) = run
            && kind != Some(of)
        {
            end(of, text.get(start..at).unwrap_or_default(), sink);
            run = None;
        }
        match kind {
            Some(of) if run.is_none() => run = Some((of, at)),
            _ => {}
        }
        if class == Class::Symbol {
            symbol(text, at, character, &mut flag, sink);
        } else {
            flag = None;
        }
        previous = character;
    }
    if let Some((of, start)) = run {
        end(of, text.get(start..).unwrap_or_default(), sink);
    }
}

fn end(run: Run, text: &str, sink: &mut Sink) {
    match run {
        Run::Words => chunk(text, sink),
        Run::Unspaced => unspaced(text, sink),
    }
}

/// A sign is a term. Two letters of a flag are one flag.
fn symbol(text: &str, at: usize, character: char, flag: &mut Option<usize>, sink: &mut Sink) {
    sink.flush_dates();
    let end = at + character.len_utf8();
    let start = if matches!(character, '\u{1f1e6}'..='\u{1f1ff}') {
        let Some(first) = flag.take() else {
            *flag = Some(at);
            return;
        };
        first
    } else {
        *flag = None;
        at
    };
    let position = sink.advance();
    sink.push(Kind::Symbol, text.get(start..end).unwrap_or_default(), position);
}

/// Whether it is of a script without spaces whose characters are letters: one of them says nothing.
fn is_spelled(text: &str) -> bool {
    text.starts_with(|first| matches!(first, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'))
}

/// A script without spaces: each character with its marks, and each two neighbours.
fn unspaced(text: &str, sink: &mut Sink) {
    let starts = text
        .char_indices()
        .filter(|(at, character)| *at == 0 || !is_combining_mark(*character))
        .map(|(at, _)| at)
        .chain([text.len()]);
    let mut before: Option<(usize, usize, u32)> = None;
    let alone = text.chars().filter(|character| !is_combining_mark(*character)).take(2).count() < 2;
    let mut start: Option<usize> = None;
    for end in starts {
        if let Some(start) = start {
            let one = text.get(start..end).unwrap_or_default();
            if start > 0 || !sink.dates.unit(one) {
                sink.flush_dates();
            }
            let position = sink.advance();
            if alone {
                sink.push(Kind::Word, one, position);
            } else if !is_spelled(one) {
                sink.push(Kind::Single, one, position);
            }
            if let Some((first, _, place)) = before {
                sink.push(Kind::Pair, text.get(first..end).unwrap_or_default(), place);
            }
            before = Some((start, end, position));
        }
        start = Some(end);
    }
}
