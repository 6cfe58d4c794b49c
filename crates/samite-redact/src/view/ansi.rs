//! Text without the escape sequences that colour it on a terminal.

use super::View;
use crate::alphabet::byte;
use memchr::memchr;
use std::ops::Range;

/// The text without its escape sequences; none when it has none.
pub(crate) fn stripped(text: &[u8]) -> Option<View> {
    memchr(0x1b, text)?;
    let mut view = View::default();
    let mut at = 0;
    while let Some(next) = memchr(0x1b, text.get(at..).unwrap_or_default()) {
        view.copy(text, at..at + next);
        at = end(text, at + next);
    }
    view.copy(text, at..text.len());
    Some(view)
}

/// What stands within escape sequences: titles of windows and addresses of links.
pub(crate) fn within(text: &[u8]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(next) = memchr(0x1b, text.get(at..).unwrap_or_default()) {
        let start = at + next;
        at = end(text, start).max(start + 1);
        if byte(text, start + 1) == b']' && at > start + 3 {
            all.push(start + 2..at);
        }
    }
    all
}

/// Where the escape sequence at a place ends.
fn end(text: &[u8], at: usize) -> usize {
    let body = text.get(at + 2..).unwrap_or_default();
    match byte(text, at + 1) {
        // Parameters, then one letter.
        b'[' => {
            let parameters = body.iter().take(64).take_while(|byte| (0x20..0x40).contains(*byte)).count();
            let closed = body.get(parameters).is_some_and(|byte| (0x40..0x7f).contains(byte));
            at + 2 + parameters + usize::from(closed)
        }
        // A title or a link, up to a bell or another escape.
        b']' => {
            let title = body.iter().take(4096).take_while(|byte| !matches!(byte, 7 | 0x1b | b'\n')).count();
            match (body.get(title), body.get(title + 1)) {
                (Some(7), _) => at + 3 + title,
                (Some(0x1b), Some(b'\\')) => at + 4 + title,
                _ => at + 2,
            }
        }
        b'(' | b')' if matches!(byte(text, at + 2), b'B' | b'0' | b'A' | b'U' | b'K' | b'1' | b'2') => at + 3,
        // Strings for the device, and what needs no more than a letter.
        b'(' | b')' | b'P' | b'X' | b'^' | b'_' | b'\\' | b'7' | b'8' | b'=' | b'>' | b'c' | b'D' | b'M' => at + 2,
        _ => at + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_text_stays() {
        for (text, expected) in [
            ("a\x1b[31mb\x1b[0mc", "abc"),
            ("\x1b[1;38;5;208mx\x1b[K", "x"),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b(Bx", "x"),
            ("x\x1b", "x"),
            ("x\x1b[", "x"),
            ("\x1bPx\x1b\\y\x1b(zz", "xyzz"),
        ] {
            assert_eq!(stripped(text.as_bytes()).unwrap().text, expected.as_bytes(), "{text:?}");
        }
        let titled = b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\l\x1b]8;;\x1b\\";
        let inside: Vec<&[u8]> = within(titled).into_iter().map(|range| &titled[range]).collect();
        assert_eq!(inside, [&b"0;title\x07"[..], b"8;;http://a\x1b\\", b"8;;\x1b\\"]);
        assert_eq!(stripped(b"plain"), None);
        let view = stripped(b"gh\x1b[31mp_\x1b[0m").unwrap();
        assert_eq!(view.place(&(0..4)), Some(0..9));
    }
}
