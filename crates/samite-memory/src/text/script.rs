//! The scripts that are treated differently, and what kind of character a character is.

use unicode_normalization::char::is_combining_mark;

/// A script whose words have stems, or that puts no spaces between words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    /// Latin.
    Latin,
    /// Cyrillic.
    Cyrillic,
    /// Greek.
    Greek,
    /// Arabic.
    Arabic,
    /// Hebrew.
    Hebrew,
    /// Devanagari.
    Devanagari,
    /// Tamil.
    Tamil,
    /// Written without spaces between words, or with particles joined to them: Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer.
    Unspaced,
    /// Any other, and digits.
    Other,
}

impl Script {
    /// The script of a letter or mark, by Unicode's blocks.
    pub const fn of(character: char) -> Self {
        match character as u32 {
            0x41..=0x5a
            | 0x61..=0x7a
            | 0xaa
            | 0xba
            | 0xc0..=0x24f
            | 0x250..=0x2af
            | 0x1e00..=0x1eff
            | 0x2c60..=0x2c7f => Self::Latin,
            0x370..=0x3ff | 0x1f00..=0x1fff => Self::Greek,
            0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => Self::Cyrillic,
            0x590..=0x5ff => Self::Hebrew,
            0x600..=0x6ff | 0x750..=0x77f | 0x8a0..=0x8ff => Self::Arabic,
            0x900..=0x97f => Self::Devanagari,
            0xb80..=0xbff => Self::Tamil,
            0xe00..=0xeff
            | 0x1000..=0x109f
            | 0x1100..=0x11ff
            | 0x1780..=0x17ff
            | 0x2e80..=0x2fdf
            | 0x3005..=0x3007
            | 0x3041..=0x30ff
            | 0x3105..=0x318f
            | 0x31a0..=0x31ff
            | 0x3400..=0x4dbf
            | 0x4e00..=0x9fff
            | 0xa960..=0xa97f
            | 0xac00..=0xd7ff
            | 0xf900..=0xfaff
            | 0x1b000..=0x1b16f
            | 0x20000..=0x3ffff => Self::Unspaced,
            _ => Self::Other,
        }
    }
}

/// What a character is to the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter, digit or mark of a word.
    Word,
    /// One of a script without spaces.
    Unspaced,
    /// What may join words into one that is written like code, an address or a contraction.
    Joiner,
    /// An emoji or another sign that is looked for as such.
    Symbol,
    /// What ends a word: blanks, control characters, brackets, quotes, other punctuation.
    End,
}

/// The class of a character of a normalised text.
pub(super) fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Word,
        '.' | '_' | '-' | '+' | '#' | '@' | '/' | '\\' | ':' | '=' | '?' | '&' | '~' | '%' | '\''
        // Apostrophes and hyphens of typesetters.
        | '\u{2018}' | '\u{2019}' | '\u{2bc}' | '\u{2010}' => Class::Joiner,
        '\0'..='\x7f' => Class::End,
        _ if character.is_alphanumeric() || is_combining_mark(character) => match Script::of(character) {
            Script::Unspaced if !is_digit(character) => Class::Unspaced,
            _ => Class::Word,
        },
        _ if character.is_whitespace() || character.is_control() || is_punctuation(character) => Class::End,
        _ => Class::Symbol,
    }
}

/// Whether it is a decimal digit of a script that has its own.
fn is_digit(character: char) -> bool {
    super::fold::digit(character).is_some()
}

/// The blocks of punctuation that a text is likely to have. A mark that is missing here becomes a term that nobody asks for.
const fn is_punctuation(character: char) -> bool {
    matches!(character as u32,
        0xa0..=0xa1 | 0xa6..=0xa8 | 0xab | 0xad | 0xaf | 0xb4 | 0xb6..=0xb8 | 0xbb | 0xbf
        | 0x2b0..=0x2ff | 0x37e | 0x387 | 0x55a..=0x55f | 0x589..=0x58a | 0x5be | 0x5c0 | 0x5c3 | 0x5f3..=0x5f4
        | 0x600..=0x61f | 0x66a..=0x66d | 0x6d4 | 0x964..=0x965 | 0x970 | 0xe4f | 0xe5a..=0xe5b | 0xf04..=0xf14 | 0xf3a..=0xf3d
        | 0x104a..=0x104f | 0x10fb | 0x1361..=0x1368 | 0x17d4..=0x17dc | 0x2000..=0x206f | 0x2e00..=0x2e7f | 0x3000..=0x3004
        | 0x3008..=0x3020 | 0x3030 | 0x30a0 | 0x30fb | 0xfd3e..=0xfd3f | 0xfe10..=0xfe6f | 0xfffc..=0xfffd)
}

/// Whether nobody sees it and no word is another for it: joiners, marks of direction, selectors of variants, soft hyphens,
/// the tones of emoji.
pub(crate) const fn is_unseen(character: char) -> bool {
    matches!(character as u32,
        0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x202a..=0x202e
        | 0x2060..=0x206f | 0x20e3 | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfff8 | 0x1bca0..=0x1bca3
        | 0x1d173..=0x1d17a | 0x1f3fb..=0x1f3ff | 0xe0000..=0xe0fff)
}
