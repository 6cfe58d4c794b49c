//! What holds for every text and every index.

use proptest::prelude::*;
use samite_memory::Bits;
use samite_memory::lexical::{Builder, Context, Corpus, Field, NONE, Part, Query, Scores, Weights};
use samite_memory::text::{Language, Languages, MAX_CHARACTERS, tokens};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::find::finds;

/// Texts of all characters, and of those that the analyser treats in some way of its own.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::collection::vec(
            prop_oneof![
                prop::sample::select(WORDS).prop_map(str::to_owned),
                prop::sample::select(&SIGNS[..]).prop_map(str::to_owned),
                any::<char>().prop_map(String::from),
            ],
            0..24
        )
        .prop_map(|pieces| pieces.concat()),
    ]
}

/// Words of the letters of one script, which stemmers take apart.
fn word() -> impl Strategy<Value = String> {
    let letters = prop_oneof![
        Just('a'..='z'),
        Just('α'..='ω'),
        Just('а'..='я'),
        Just('\u{627}'..='\u{64a}'),
        Just('\u{905}'..='\u{94d}'),
        Just('\u{b85}'..='\u{bcd}'),
    ];
    letters.prop_flat_map(|range| {
        prop::collection::vec(proptest::char::range(*range.start(), *range.end()), 1..24)
            .prop_map(|letters| letters.into_iter().collect())
    })
}

const WORDS: &[&str] = &[
    "running",
    "Häuser",
    "été",
    "niño",
    "książki",
    "книги",
    "й",
    "ё",
    "ї",
    "المدرسة",
    "أ",
    "किताबें",
    "ड़",
    "北",
    "京",
    "が",
    "ﾗ",
    "서울",
    "ข้าว",
    "May",
    "2023",
    "07",
    "ß",
    "İ",
    "ı",
    "ﬁ",
    "ŉ",
    "ǰ",
    "ͅ",
    "ᾳ",
    "Σ",
    "ς",
    "🇩",
    "👍🏽",
    "don't",
    "l'",
    "camelCase",
    "0x1F",
    "v1",
    "C++",
];
const SIGNS: [&str; 30] = [
    " ", " ", " ", ".", ",", "-", "_", "'", "’", "/", "\\", ":", "@", "#", "+", "=", "?", "&", "~", "%", "(", "\"",
    "\0", "\u{200b}", "\u{200d}", "\u{301}", "\u{308}", "\u{3099}", "年", "\u{202e}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_text_has_terms_within_limits(text in text()) {
        let found = tokens(&text);
        prop_assert_eq!(&found, &tokens(&text));
        for token in &found {
            prop_assert!(!token.text.is_empty() && token.text.chars().count() <= MAX_CHARACTERS);
            for language in Language::ALL {
                prop_assert!(!language.stem(&token.text).is_empty());
            }
        }
        let languages = Languages::of(&found);
        prop_assert_eq!(Languages::from_code(languages.code()).unwrap(), languages);
    }

    #[test]
    fn every_word_has_a_stem_in_every_language(word in word()) {
        for language in Language::ALL {
            prop_assert!(!language.stem(&word).is_empty());
        }
    }

    #[test]
    fn all_normal_forms_of_a_text_have_the_same_terms(text in text()) {
        let found = tokens(&text);
        prop_assert_eq!(&tokens(&text.nfd().collect::<String>()), &found);
        prop_assert_eq!(&tokens(&text.nfc().collect::<String>()), &found);
        prop_assert_eq!(&tokens(&text.nfkc().collect::<String>()), &found);
        prop_assert_eq!(&tokens(&text.nfkd().collect::<String>()), &found);
    }

    #[test]
    fn a_text_is_found_by_itself_however_it_is_typed(text in text()) {
        if !tokens(&text).is_empty() {
            prop_assert!(finds(&text, &text));
            prop_assert!(finds(&text, &text.to_uppercase()));
            prop_assert!(finds(&text, &text.to_lowercase()));
            prop_assert!(finds(&text.to_uppercase(), &text));
        }
    }

    #[test]
    fn each_word_of_a_text_finds_it(words in prop::collection::vec(prop::sample::select(WORDS), 1..12)) {
        let text = words.join(" ");
        for word in words {
            for typed in [word.to_owned(), word.to_uppercase(), word.to_lowercase(), word.nfd().collect()] {
                prop_assert!(tokens(&typed).is_empty() || finds(&text, &typed), "{} in {}", typed, text);
            }
            if word.chars().all(|character| character < '\u{400}') {
                let bare: String = word.nfd().filter(|character| !is_combining_mark(*character)).collect();
                prop_assert!(tokens(&bare).is_empty() || finds(&text, &bare), "{} in {}", bare, text);
            }
        }
    }
}

/// A document: its words, its speaker, whether it is visible, and how many documents before it its predecessor is.
type Document = (Vec<&'static str>, &'static str, bool, usize);

fn documents() -> impl Strategy<Value = Vec<Document>> {
    let vocabulary = &[
        "apple",
        "apples",
        "pear",
        "plum",
        "the",
        "und",
        "nicht",
        "ist",
        "Häuser",
        "Haus",
        "книга",
        "книги",
        "北京",
        "user-id",
        "camelCase",
        "7 May 2023",
        "Caroline",
        "👍",
    ];
    let words = prop::collection::vec(prop::sample::select(&vocabulary[..]), 0..12);
    let speaker = prop::sample::select(&["Caroline", "Bob", ""][..]);
    prop::collection::vec((words, speaker, any::<bool>(), 0_usize..4), 0..40)
}

fn add(builder: &mut Builder, document: &Document) {
    builder.add(&[(Field::Body, &document.0.join(" ")), (Field::Speaker, document.1)]).unwrap();
}

/// The scores and fields of visible documents.
type Seen = Vec<(f32, u8)>;

/// All documents in parts of so many, and the visible ones alone in one part, each with scores and explanations.
fn both_ways(documents: &[Document], size: usize, query: &str, weights: &Weights) -> (Seen, Seen, Scores, Scores) {
    let visible: Vec<usize> = (0..documents.len()).filter(|number| documents[*number].2).collect();
    let mut all_previous = vec![NONE; documents.len()];
    let mut only_previous = vec![NONE; visible.len()];
    for (place, number) in visible.iter().enumerate() {
        let distance = documents[*number].3;
        if distance > 0 && place >= distance {
            all_previous[*number] = u32::try_from(visible[place - distance]).unwrap();
            only_previous[place] = u32::try_from(place - distance).unwrap();
        }
    }
    let query = Query::new(query);

    let parts: Vec<(Part, Bits)> = documents
        .chunks(size)
        .map(|chunk| {
            let (mut builder, mut bits) = (Builder::default(), Bits::none(u32::try_from(chunk.len()).unwrap()));
            for document in chunk {
                if document.2 {
                    bits.insert(builder.documents());
                }
                add(&mut builder, document);
            }
            (builder.build(), bits)
        })
        .collect();
    let parts: Vec<(&Part, &Bits)> = parts.iter().map(|(part, bits)| (part, bits)).collect();
    let all = Corpus::new(&parts).score(&query, weights, &Context::new(all_previous));

    let mut builder = Builder::default();
    for number in &visible {
        add(&mut builder, &documents[*number]);
    }
    let part = builder.build();
    assert_eq!(Part::merged(&parts), part);
    let bits = Bits::all(part.documents());
    let only = Corpus::new(&[(&part, &bits)]).score(&query, weights, &Context::new(only_previous));

    let seen = visible.iter().map(|number| (all.scores[*number], all.fields[*number])).collect();
    let alone = only.scores.iter().copied().zip(only.fields.iter().copied()).collect();
    for (number, document) in documents.iter().enumerate() {
        assert!(document.2 || all.scores[number] == 0.0 && all.fields[number] == 0);
    }
    (seen, alone, all, only)
}

proptest! {
    #[test]
    fn what_is_invisible_influences_nothing(
        documents in documents(),
        size in 1_usize..12,
        query in prop::collection::vec(prop::sample::select(&["apple", "pears", "the", "haus", "книгу", "京", "userId", "May 2023", "caroline", "nicht"][..]), 1..6),
        usual in any::<bool>(),
    ) {
        let weights = if usual { Weights::bm25() } else { Weights::default() };
        let (seen, alone, all, only) = both_ways(&documents, size, &query.join(" "), &weights);
        let bits = |scores: &[(f32, u8)]| scores.iter().map(|(score, fields)| (score.to_bits(), *fields)).collect::<Vec<_>>();
        prop_assert_eq!(bits(&seen), bits(&alone));
        prop_assert_eq!(all.terms, only.terms);
    }
}
