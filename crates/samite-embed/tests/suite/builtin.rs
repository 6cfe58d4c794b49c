//! The built-in encoder.

use crate::cosine;
use samite_embed::{Builtin, Embedder, Side};
use serde::Deserialize;
use std::num::NonZeroUsize;

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) text: String,
    vector: Vec<f32>,
}

pub(crate) fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../data/reference.json")).unwrap()
}

fn encoder(threads: usize) -> Builtin {
    Builtin::new(NonZeroUsize::new(threads).unwrap()).unwrap()
}

#[test]
fn the_space_says_what_the_vectors_are() {
    let shown = encoder(1).space().to_string();
    let begin = "builtin/all-MiniLM-L6-v2@8199be6f699a (384 dimensions, mean pooling, unit length, space ";
    assert!(shown.starts_with(begin), "{shown}");
}

// tests/data/make-reference says where the right vectors come from.
#[test]
fn vectors_are_those_of_another_runtime() {
    let (encoder, cases) = (encoder(2), cases());
    let texts: Vec<&str> = cases.iter().map(|case| case.text.as_str()).collect();
    let vectors = encoder.embed(&texts, Side::Passage).unwrap();
    assert_eq!(vectors.len(), 14);
    for (case, vector) in cases.iter().zip(&vectors) {
        assert_eq!(vector.len(), 384);
        let length: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
        let near = cosine(vector, &case.vector);
        assert!(near > 0.9999, "{near}: {:?}", case.text);
    }
    // Of "The cat sits on the mat.", then against the kitten and the revenue.
    for (number, right) in vectors[0].iter().zip([0.1309_f32, -0.0326, -0.0226, 0.0399, -0.036, 0.0414]) {
        assert!((number - right).abs() < 0.0005, "{number} {right}");
    }
    assert!((cosine(&vectors[0], &vectors[1]) - 0.5545).abs() < 0.001);
    assert!((cosine(&vectors[0], &vectors[2]) + 0.0127).abs() < 0.001);
}

#[test]
fn a_text_has_one_vector_whoever_it_is_with() {
    let encoder = encoder(1);
    let texts: Vec<String> = (1..40).map(|count| "a word more ".repeat(count * 7 % 40 + 1)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = encoder.embed(&texts, Side::Passage).unwrap();
    for place in [0, 7, 20, 38] {
        let alone = encoder.embed(&[texts[place]], Side::Query).unwrap();
        assert!(cosine(&alone[0], &together[place]) > 0.99999, "{place}");
    }
}

#[test]
fn no_texts_have_no_vectors_and_a_blank_one_is_refused() {
    let encoder = encoder(1);
    assert!(encoder.embed(&[], Side::Query).unwrap().is_empty());
    for blank in ["", " \n", "\u{200b}", "\u{0}"] {
        assert_eq!(encoder.embed(&["a", blank], Side::Query).unwrap_err().code(), "blank_text", "{blank:?}");
    }
}

#[test]
fn a_text_of_a_megabyte_is_cut() {
    let encoder = encoder(1);
    let begin = "the beginning of a long text ".repeat(60);
    let long = begin.clone() + &"and then something else altogether ".repeat(30_000);
    let endless = "x".repeat(1 << 20);
    let marks = format!("a{}", "\u{301}".repeat(1 << 19));
    let vectors = encoder.embed(&[&begin, &long, &endless, &marks], Side::Passage).unwrap();
    assert!(cosine(&vectors[0], &vectors[1]) > 0.99999);
    let unaccented = encoder.embed(&["a"], Side::Passage).unwrap();
    assert!(cosine(&vectors[3], &unaccented[0]) > 0.99999);
}

#[test]
fn threads_share_one_encoder() {
    let encoder = encoder(2);
    let texts = ["The cat sits on the mat.", "Quarterly revenue grew by nine percent."];
    let right = encoder.embed(&texts, Side::Passage).unwrap();
    std::thread::scope(|scope| {
        let ask = || encoder.embed(&texts, Side::Passage).unwrap();
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        for answer in asked {
            for (vector, right) in answer.join().unwrap().iter().zip(&right) {
                assert!(cosine(vector, right) > 0.99999);
            }
        }
    });
}
