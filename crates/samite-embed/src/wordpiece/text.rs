//! Texts as the tokenizer takes them.

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// What is done to a text's characters first, in this order.
#[expect(clippy::struct_excessive_bools, reason = "a tokenizer.json has these four")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Normal {
    /// Control characters go, and white space of every kind becomes spaces.
    pub(crate) clean: bool,
    /// Each ideograph is a word.
    pub(crate) ideographs: bool,
    /// Letters lose their accents.
    pub(crate) strip_accents: bool,
    /// Letters are lower-case.
    pub(crate) lowercase: bool,
}

impl Normal {
    /// As "uncased" models have it.
    pub(crate) const UNCASED: Self = Self { clean: true, ideographs: true, strip_accents: true, lowercase: true };

    /// A text's characters, as they are asked for.
    pub(crate) fn characters(self, text: &str) -> Box<dyn Iterator<Item = char> + '_> {
        let mut chars: Box<dyn Iterator<Item = char> + '_> = Box::new(text.chars());
        if self.clean {
            chars = Box::new(chars.filter_map(cleaned));
        }
        if self.ideographs {
            chars = Box::new(chars.flat_map(apart));
        }
        if self.strip_accents {
            chars = Box::new(chars.nfd().filter(|char| char.general_category() != GeneralCategory::NonspacingMark));
        }
        if self.lowercase {
            chars = Box::new(chars.flat_map(char::to_lowercase));
        }
        chars
    }
}

fn cleaned(char: char) -> Option<char> {
    use GeneralCategory::{Control, Format, PrivateUse};
    match char {
        '\t' | '\n' | '\r' => Some(' '),
        '\u{0}' | '\u{fffd}' => None,
        _ if char.is_ascii() && !char.is_ascii_control() => Some(char),
        _ if matches!(char.general_category(), Control | Format | PrivateUse) => None,
        _ if char.is_whitespace() => Some(' '),
        _ => Some(char),
    }
}

/// A character, between spaces when it is an ideograph.
fn apart(char: char) -> impl Iterator<Item = char> {
    let (before, after) = if is_ideograph(char) { (Some(' '), Some(' ')) } else { (None, None) };
    before.into_iter().chain([char]).chain(after)
}

/// The blocks of CJK ideographs that BERT's tokenizer knows: no kana and no Hangul, whose languages write words apart or are left
/// to pieces.
fn is_ideograph(char: char) -> bool {
    matches!(u32::from(char),
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x2_A6DF | 0x2_A700..=0x2_CEAF | 0x2_F800..=0x2_FA1F)
}

/// Whether a character is a word of its own: all of ASCII that is no letter or digit, and what Unicode calls punctuation.
pub(super) fn is_punctuation(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_punctuation();
    }
    char.general_category_group() == GeneralCategoryGroup::Punctuation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_come_as_uncased_models_take_them() {
        let normal = |text: &str| Normal::UNCASED.characters(text).collect::<String>();
        assert_eq!(normal("Grüße\tÀ\u{a0}Z"), "gruße a z");
        assert_eq!(normal("a\u{0}b\u{200b}c\u{202e}d\u{7}e\u{e000}f\u{fffd}g"), "abcdefg");
        assert_eq!(normal("x東京y"), "x 東  京 y");
        assert_eq!(normal("がİ"), "か".to_owned() + "i");
        assert_eq!(normal("한"), "\u{1112}\u{1161}\u{11ab}");
    }

    #[test]
    fn characters_stay_where_nothing_is_said() {
        let nothing = Normal { clean: false, ideographs: false, strip_accents: false, lowercase: false };
        let text = "À\t東\u{200b}";
        assert_eq!(nothing.characters(text).collect::<String>(), text);
        let lower = Normal { lowercase: true, ..nothing };
        assert_eq!(lower.characters("ÀB").collect::<String>(), "àb");
    }

    #[test]
    fn punctuation_is_that_of_ascii_and_of_unicode() {
        assert!("!$+<=>^`|~-_“—。".chars().all(is_punctuation));
        assert!(!"aß9 東€×".chars().any(is_punctuation));
    }
}
