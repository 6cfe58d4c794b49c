use super::*;
use proptest::prelude::*;

const VOCABULARY: &str = include_str!("../../data/vocab.txt");

#[derive(serde::Deserialize)]
struct Case {
    text: String,
    ids: Vec<i32>,
}

fn small() -> WordPiece {
    let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##a", "a", ".", "[", "]", "sep"];
    WordPiece::from_lines(&tokens.join("\n")).unwrap()
}

#[test]
fn words_are_made_of_the_longest_pieces() {
    let tokenizer = small();
    assert_eq!(tokenizer.encode("Unaffable  a.", 64), [2, 4, 5, 6, 8, 9, 3]);
    assert_eq!(tokenizer.encode("unaffaa", 64), [2, 4, 5, 7, 7, 3]);
    assert_eq!(tokenizer.encode("unx a", 64), [2, 1, 8, 3], "no piece of an unknown word is left");
    assert_eq!(tokenizer.encode("", 64), [2, 3]);
    assert_eq!(tokenizer.padding, 0);
}

#[test]
fn the_name_of_a_special_token_is_a_word() {
    assert_eq!(small().encode("a[SEP]a", 64), [2, 8, 10, 12, 11, 8, 3]);
}

#[test]
fn a_text_is_cut_and_ends_as_every_text_does() {
    let tokenizer = small();
    assert_eq!(tokenizer.encode("a a a a", 4), [2, 8, 8, 3]);
    assert_eq!(tokenizer.encode("unaffable", 4), [2, 4, 5, 3]);
    assert_eq!(tokenizer.encode("a a a a", 2), [2, 3]);
    assert_eq!(tokenizer.encode("a a a a", 0), [3]);
}

#[test]
fn a_word_of_more_than_a_hundred_characters_is_unknown() {
    let tokenizer = small();
    assert_eq!(tokenizer.encode(&"a".repeat(100), 256).len(), 102);
    assert_eq!(tokenizer.encode(&"a".repeat(101), 256), [2, 1, 3]);
    assert_eq!(tokenizer.encode(&format!("{} a", "a".repeat(1_000_000)), 256), [2, 1, 8, 3]);
}

#[test]
fn the_reference_has_the_same_numbers() {
    let tokenizer = WordPiece::from_lines(VOCABULARY).unwrap();
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../tests/data/reference.json")).unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        assert_eq!(tokenizer.encode(&case.text, 256), case.ids, "{:?}", case.text);
    }
}

fn json() -> serde_json::Value {
    serde_json::json!({
        "version": "1.0",
        "truncation": null,
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": false},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "@@", "max_input_chars_per_word": 4,
            "vocab": {"<unk>": 7, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "À": 4, "b": 5, "@@b": 6}}
    })
}

#[test]
fn a_tokenizer_json_says_how() {
    let tokenizer = WordPiece::from_json(json().to_string().as_bytes()).unwrap();
    assert_eq!(tokenizer.encode("À bbbb bbbbb B", 64), [1, 4, 5, 6, 6, 6, 7, 7, 2]);
    assert_eq!(tokenizer.padding, 3);
}

#[test]
fn other_tokenizers_are_refused() {
    let changes: [fn(&mut serde_json::Value); 8] = [
        |json| json["normalizer"] = serde_json::Value::Null,
        |json| json["normalizer"]["type"] = "NFC".into(),
        |json| json["pre_tokenizer"]["type"] = "Metaspace".into(),
        |json| json["model"]["type"] = "Unigram".into(),
        |json| json["model"]["vocab"] = serde_json::json!([["a", -1.0]]),
        |json| json["model"]["vocab"]["b"] = (-1).into(),
        |json| json["model"]["vocab"]["b"] = 3_000_000_000_u32.into(),
        |json| _ = json["model"]["vocab"].as_object_mut().unwrap().remove("[SEP]"),
    ];
    for change in changes {
        let mut json = json();
        change(&mut json);
        let error = WordPiece::from_json(json.to_string().as_bytes()).err().unwrap();
        assert_eq!(error.code(), "bad_tokenizer", "{json}");
    }
    for bytes in [b"".as_slice(), b"{}", b"\xff", b"[1"] {
        assert_eq!(WordPiece::from_json(bytes).err().unwrap().code(), "bad_tokenizer");
    }
    assert_eq!(WordPiece::from_lines("a\nb\n").err().unwrap().code(), "bad_tokenizer");
}

proptest! {
    #[test]
    fn no_text_makes_a_panic_or_too_many_tokens(text in "(?s).{0,80}", limit in 2_usize..40) {
        let ids = small().encode(&text, limit);
        prop_assert!(ids.len() <= limit && ids.len() >= 2);
        prop_assert_eq!((ids[0], ids[ids.len() - 1]), (2, 3));
    }

    #[test]
    fn a_limit_only_cuts(text in "[a-z .]{0,60}", limit in 2_usize..20) {
        let (whole, cut) = (small().encode(&text, 1_000), small().encode(&text, limit));
        let kept = cut.len() - 1;
        prop_assert_eq!(&cut[..kept], &whole[..kept]);
        prop_assert_eq!(cut.len(), whole.len().min(limit));
    }
}
