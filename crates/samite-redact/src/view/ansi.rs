//! Text without the escape sequences that colour it on a terminal.

use super::View;
use crate::alphabet::byte;
use memchr::memchr;

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
        b'(' | b')' => (at + 3).min(text.len()),
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
        ] {
            assert_eq!(stripped(text.as_bytes()).unwrap().text, expected.as_bytes(), "{text:?}");
        }
        assert_eq!(stripped(b"plain"), None);
        let view = stripped(b"gh\x1b[31mp_\x1b[0m").unwrap();
        assert_eq!(view.place(&(0..4)), Some(0..9));
    }
}
