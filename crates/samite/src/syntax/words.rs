//! A command in one string, split into words as a shell splits it, and nothing else of a shell.

use samite_model::{Error, Result};

/// Splits at blanks; quotes of either kind and backslashes keep blanks. Nothing is expanded.
///
/// # Errors
/// `invalid` (`bad_quotes`) when a quote does not end.
pub fn split_words(text: &str) -> Result<Vec<String>> {
    let open = |what: &str| Error::invalid("bad_quotes", format!("{what} does not end in {text:?}"));
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(other) => word.push(other),
                        None => return Err(open("a single quote")),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('\\') => match characters.next() {
                            Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                            Some(other) => word.extend(['\\', other]),
                            None => return Err(open("a double quote")),
                        },
                        Some(other) => word.push(other),
                        None => return Err(open("a double quote")),
                    }
                }
            }
            '\\' => {
                let escaped = characters.next().ok_or_else(|| open("a backslash"))?;
                word.get_or_insert_default().push(escaped);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (text, right) in [
            ("", &[][..]),
            ("  a  b\tc\n", &["a", "b", "c"]),
            ("'a b' c", &["a b", "c"]),
            (r#"a"b 'c' "d"#, &["ab 'c' d"]),
            (r#""a\"b\\c\n""#, &[r#"a"b\c\n"#]),
            (r"a\ b \' \\", &["a b", "'", r"\"]),
            ("'' \"\"", &["", ""]),
            ("$HOME `ls` *", &["$HOME", "`ls`", "*"]),
        ] {
            assert_eq!(split_words(text).unwrap(), right, "{text}");
        }
        for text in ["'", "\"a", "\"a\\", "a\\"] {
            assert_eq!(split_words(text).unwrap_err().code(), "bad_quotes", "{text}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("\\PC{0,9}", 0..6)) {
            let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(split_words(&quoted.join(" ")).unwrap(), words);
        }
    }
}
