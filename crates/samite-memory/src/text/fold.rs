//! One form for what people type in several.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::script::{Script, is_unseen};

/// The text in NFKC, without characters that nobody sees. All normal forms of a text come to the same.
pub(super) fn normalised(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    // Unseen characters go first, so that what they stood between composes, and again, since NFKC makes some.
    Cow::Owned(
        text.chars()
            .filter(|character| !is_unseen(*character))
            .nfkc()
            .filter(|character| !is_unseen(*character))
            .collect(),
    )
}

/// A word of a normalised text in lower case, without marks that a person may leave out.
///
/// Vowel signs, tones and whatever else makes another word of a word in its script stay: those of the scripts of India and
/// South-East Asia, voiced kana, й, ї. What goes: accents in Latin and Greek, ё's dots and stress in Cyrillic, vowel points
/// in Hebrew and Arabic with the forms of alef and yeh that are used for each other, nukta in Devanagari.
pub(super) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    let mut base = '\0';
    // Lower case of upper case joins what has one upper case in common: ß and ss, ς and σ, ı and i.
    for character in word.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfd() {
        if is_combining_mark(character) {
            folded.extend(mark(base, character));
        } else {
            base = character;
            letter(character, &mut folded);
        }
    }
    folded.nfc().collect()
}

/// What remains of a mark on a base.
fn mark(base: char, mark: char) -> Option<char> {
    let script = match Script::of(mark) {
        Script::Other => Script::of(base),
        own => own,
    };
    let stays = match script {
        Script::Latin | Script::Greek | Script::Hebrew | Script::Arabic => false,
        Script::Cyrillic => match mark {
            '\u{300}' => false,
            // Stress, but the Macedonian ѓ and ќ are letters.
            '\u{301}' => matches!(base, 'г' | 'к'),
            '\u{308}' => base != 'е',
            _ => true,
        },
        Script::Devanagari => match mark {
            '\u{93c}' => false,
            // Both nasal signs are written for the same sound.
            '\u{901}' => return Some('\u{902}'),
            _ => true,
        },
        Script::Tamil | Script::Unspaced => true,
        Script::Other => !('\u{300}'..='\u{36f}').contains(&mark),
    };
    stays.then_some(mark)
}

/// Appends a letter without the strokes and joins that have no decomposition.
fn letter(character: char, folded: &mut String) {
    match character {
        'æ' => folded.push_str("ae"),
        'œ' => folded.push_str("oe"),
        'þ' => folded.push_str("th"),
        'ø' => folded.push('o'),
        'ł' => folded.push('l'),
        'đ' | 'ð' => folded.push('d'),
        'ħ' => folded.push('h'),
        'ŧ' => folded.push('t'),
        'ŋ' => folded.push('n'),
        // Arabic: the long stroke is ornament; other forms of alef, yeh and kaf.
        '\u{640}' => {}
        '\u{671}' => folded.push('\u{627}'),
        '\u{649}' | '\u{6cc}' => folded.push('\u{64a}'),
        '\u{6a9}' => folded.push('\u{643}'),
        _ => folded.push(digit(character).unwrap_or(character)),
    }
}

/// The ASCII digit for a decimal digit of Arabic, Persian, the scripts of India, Thai, Lao, Burmese or Khmer.
pub(super) fn digit(character: char) -> Option<char> {
    const ZEROS: [u32; 16] = [
        0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040,
        0x17e0,
    ];
    let code = u32::from(character);
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    char::from_digit(code - zero, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_in_several_forms_comes_to_one() {
        for (typed, folded) in [
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("Müller", "muller"),
            ("ﬁnance", "finance"),
            ("Ｆｕｌｌ", "full"),
            ("Łódź", "lodz"),
            ("smørrebrød", "smorrebrod"),
            ("İstanbul", "istanbul"),
            ("ISPARTA", "isparta"),
            ("Việt", "viet"),
            ("Ὀδυσσεύς", "οδυσσευσ"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
            ("Ёлка", "елка"),
            ("за́мок", "замок"),
            ("Йод", "йод"),
            ("Україна", "україна"),
            ("كِتَابٌ", "كتاب"),
            ("أحمد", "احمد"),
            ("شَـــدّة", "شدة"),
            ("שָׁלוֹם", "שלום"),
            ("हिन्दी", "हिन्दी"),
            ("फ़ोन", "फोन"),
            ("हूँ", "हूं"),
            ("ภาษาไทย", "ภาษาไทย"),
            ("น้ำ", "น\u{e49}\u{e4d}\u{e32}"),
            ("ｶﾞﾗｽ", "ガラス"),
            ("がっこう", "がっこう"),
            ("한국어", "한국어"),
            ("١٢٣", "123"),
            ("user\u{200b}id", "userid"),
            ("\u{202e}abc\u{202c}", "abc"),
        ] {
            assert_eq!(fold(&normalised(typed)), folded, "{typed}");
            let decomposed: String = typed.nfd().collect();
            assert_eq!(fold(&normalised(&decomposed)), folded, "{typed} decomposed");
        }
    }
}
