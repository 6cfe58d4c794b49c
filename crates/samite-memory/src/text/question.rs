//! Whether a text asks.

/// Whether the last mark at a sentence's end is a question mark. A mark before a letter or digit ends no sentence: `a.b/c?d`.
pub fn asks(text: &str) -> bool {
    let mut last = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let question = match character {
            '?' | '\u{ff1f}' | '\u{61f}' | '\u{37e}' => true,
            '.' | '!' | '\u{3002}' | '\u{ff0e}' | '\u{ff01}' | '\u{6d4}' | '\u{964}' => false,
            _ => continue,
        };
        if !characters.peek().is_some_and(|next| next.is_alphanumeric()) {
            last = question;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::asks;

    #[test]
    fn the_last_mark_says_whether_a_text_asks() {
        for text in ["Really?", "Is this it? [a photo of a dog]", "何ですか？", "هل هذا هو؟", "v1.2?"] {
            assert!(asks(text), "{text}");
        }
        for text in ["", "no marks", "Why? Because.", "see https://a.b/c?d=e", "What?!", "क्यों? यह है।"]
        {
            assert!(!asks(text), "{text}");
        }
    }
}
