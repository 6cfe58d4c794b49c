//! Makes text that others wrote safe to show: an agent's words must not move the cursor, change colours, or run
//! right to left over ours.

use std::borrow::Cow;
use std::fmt::Write as _;

/// One line of text: everything that a terminal would act on, line breaks included, is shown as an escape.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    if text.chars().any(acts) {
        let mut safe = String::with_capacity(text.len() + 16);
        for char in text.chars() {
            push(&mut safe, char);
        }
        Cow::Owned(safe)
    } else {
        Cow::Borrowed(text)
    }
}

fn push(safe: &mut String, char: char) {
    match char {
        '\n' => safe.push_str("\\n"),
        '\r' => safe.push_str("\\r"),
        '\t' => safe.push_str("\\t"),
        char if acts(char) => {
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(char));
        }
        char => safe.push(char),
    }
}

/// Control characters, and the invisible ones that turn the direction of writing or hide text.
fn acts(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(line("ünï – 日本 👍"), "ünï – 日本 👍");
    }

    #[test]
    fn what_a_terminal_acts_on_is_shown() {
        assert_eq!(line("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(line("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(line("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
        assert_eq!(line("user\u{202e}txt.exe"), "user\\u{202e}txt.exe");
    }
}
