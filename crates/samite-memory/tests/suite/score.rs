//! Scores, computed by hand.

use samite_memory::Bits;
use samite_memory::lexical::{Builder, Context, Corpus, Field, Match, NONE, Part, Query, Scores, Weights};

fn part(documents: &[&[(Field, &str)]]) -> Part {
    let mut builder = Builder::default();
    for fields in documents {
        builder.add(fields).unwrap();
    }
    builder.build()
}

fn bodies(documents: &[&str]) -> Part {
    let mut builder = Builder::default();
    for text in documents {
        builder.add(&[(Field::Body, text)]).unwrap();
    }
    builder.build()
}

fn score(part: &Part, query: &str, weights: &Weights, context: &Context) -> Scores {
    let visible = Bits::all(part.documents());
    Corpus::new(&[(part, &visible)]).score(&Query::new(query), weights, context)
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
}

#[test]
fn the_usual_bm25() {
    // n 3, lengths 2, 3, 1, average 2. Of apple df 2: idf ln(1 + 1.5 / 2.5) = 0.470004.
    // d0: 1 / (0.25 + 0.75) = 1, times 2.2 / (1 + 1.2) = 1. d1: 2 / (0.25 + 0.75 * 1.5) = 1.454545, 3.2 / 2.654545 = 1.205479.
    let part = bodies(&["apple banana", "apple apple cherry", "banana"]);
    let scores = score(&part, "apples", &Weights::bm25(), &Context::default());
    assert_near(&scores.scores, &[0.470_004, 0.566_580, 0.0]);
    assert_eq!(scores.fields, [1, 1, 0]);
    assert_eq!((scores.terms[0].document_frequency, scores.terms[0].text.as_str()), (2, "apples"));
    // Of cherry df 1: ln(1 + 2.5 / 1.5) = 0.980829; in d1 1 / 1.375 = 0.727273, 1.6 / 1.927273 = 0.830189.
    let scores = score(&part, "apple cherry?", &Weights::bm25(), &Context::default());
    assert_near(&scores.scores, &[0.470_004, 0.566_580 + 0.980_829 * 0.830_189, 0.0]);
}

#[test]
fn stop_words_are_not_looked_for_and_twice_asked_is_once_asked() {
    let part = bodies(&["apple banana", "apple apple cherry", "the"]);
    for query in ["apple", "the apple", "Apple, APPLES: apple!"] {
        let scores = score(&part, query, &Weights::bm25(), &Context::default());
        assert_near(&scores.scores, &[0.470_004, 0.566_580, 0.0]);
    }
    // Alone it is: idf 0.980829, x = 1 / (0.25 + 0.75 / 2) = 1.6.
    assert_near(
        &score(&part, "the", &Weights::bm25(), &Context::default()).scores,
        &[0.0, 0.0, 0.980_829 * 1.6 * 2.2 / 2.8],
    );
}

#[test]
fn fields_are_added_before_frequency_saturates() {
    let part = part(&[
        &[(Field::Body, "apple pie"), (Field::Title, "apple")],
        &[(Field::Body, "pear pie"), (Field::Title, "apple")],
        &[(Field::Body, "plum pie"), (Field::Title, "plum")],
    ]);
    let mut weights = Weights::bm25();
    weights.field_mut(Field::Title).weight = 3.0;
    // All lengths are average. d0: x = 1 + 3, d1: x = 3; idf ln 1.6.
    let scores = score(&part, "apple", &weights, &Context::default());
    assert_near(&scores.scores, &[0.470_004 * 8.8 / 5.2, 0.470_004 * 6.6 / 4.2, 0.0]);
    assert_eq!(scores.fields, [3, 2, 0]);
    // Without a weight, the title adds nothing and is not counted, but is known.
    let scores = score(&part, "apple", &Weights::bm25(), &Context::default());
    assert_near(&scores.scores, &[0.980_829, 0.0, 0.0]);
    assert_eq!((scores.fields, scores.terms[0].document_frequency), (vec![3, 2, 0], 1));
}

#[test]
fn neighbours_add_their_frequencies() {
    let part = bodies(&["apple", "pear", "plum", "fig", "apple"]);
    let context = Context::new(vec![NONE, 0, 1, 2, NONE]);
    // Every length is 1, and the score is the share: y / (y + 0.35).
    let scores = score(&part, "plum", &Weights::default(), &context);
    assert_near(&scores.scores, &[0.1 / 0.45, 0.2 / 0.55, 1.0 / 1.35, 0.5 / 0.85, 0.0]);
    let scores = score(&part, "apple", &Weights::default(), &context);
    assert_near(&scores.scores, &[1.0 / 1.35, 0.5 / 0.85, 0.3 / 0.65, 0.2 / 0.55, 1.0 / 1.35]);
}

#[test]
fn a_document_may_have_several_successors() {
    let part = bodies(&["apple", "pear", "plum", "fig"]);
    let context = Context::new(vec![NONE, 0, 0, 2]);
    let scores = score(&part, "apple", &Weights::default(), &context);
    assert_near(&scores.scores, &[1.0 / 1.35, 0.5 / 0.85, 0.5 / 0.85, 0.3 / 0.65]);
    assert_eq!(context.successors(0).collect::<Vec<_>>(), [1, 2]);
    // Links in a circle end.
    let circle = Context::new(vec![3, 0, 1, 2]);
    assert!(score(&part, "apple", &Weights::default(), &circle).scores.iter().all(|score| *score > 0.0));
}

#[test]
fn a_share_is_of_all_terms_also_of_those_that_nobody_has() {
    let part = bodies(&["apple", "pear", "plum"]);
    // Of apple ln(1 + 2.5 / 1.5) = 0.980829, of zebra ln(1 + 3.5 / 0.5) = 2.079442.
    let scores = score(&part, "apple zebra", &Weights::default(), &Context::default());
    assert_near(&scores.scores, &[0.980_829 / 1.35 / (0.980_829 + 2.079_442), 0.0, 0.0]);
}

#[test]
fn a_name_of_a_speaker_weighs_less_and_is_not_expected() {
    let part = part(&[
        &[(Field::Body, "apple"), (Field::Speaker, "Caroline")],
        &[(Field::Body, "apple caroline"), (Field::Speaker, "Bob")],
        &[(Field::Body, "pear"), (Field::Speaker, "Bob")],
    ]);
    let mut weights = Weights::default();
    weights.field_mut(Field::Body).b = 0.0;
    let scores = score(&part, "caroline's apples", &weights, &Context::default());
    // caroline: df 1 in the body, idf 0.980829, weight 0.2; apple: df 2, idf 0.470004, which is all that is expected.
    let (name, apple) = (0.2 * 0.980_829 / 1.35, 0.470_004 / 1.35);
    assert_near(&scores.scores, &[apple / 0.470_004, (apple + name) / 0.470_004, 0.0]);
    assert_eq!(scores.fields, [Field::Body.bit() | Field::Speaker.bit(), Field::Body.bit(), 0]);
    assert_eq!(scores.terms.iter().map(|term| term.is_name).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn an_invisible_neighbour_has_no_score() {
    let part = bodies(&["apple", "pear", "plum"]);
    let mut visible = Bits::all(3);
    visible.remove(1);
    let corpus = Corpus::new(&[(&part, &visible)]);
    let (query, weights, context) = (Query::new("apple pear"), Weights::default(), Context::new(vec![NONE, 0, NONE]));
    let scores = corpus.score(&query, &weights, &context);
    // n 2, apple df 1: ln(1 + 1.5 / 1.5); pear df 0: ln(1 + 2.5 / 0.5).
    let (apple, pear) = (2.0_f32.ln(), 6.0_f32.ln());
    assert_near(&scores.scores, &[apple / 1.35 / (apple + pear), 0.0, 0.0]);
    assert_eq!(corpus.explain(&query, &weights, &context, &[1]), [vec![]]);
}

#[test]
fn an_explanation_adds_up_to_the_score() {
    let part = bodies(&["apple banana", "apple apple cherry", "banana", "fig"]);
    let visible = Bits::all(4);
    let corpus = Corpus::new(&[(&part, &visible)]);
    let context = Context::new(vec![NONE, 0, 1, NONE]);
    let (query, weights) = (Query::new("apple cherry"), Weights::default());
    let scores = corpus.score(&query, &weights, &context);
    let explained = corpus.explain(&query, &weights, &context, &[2, 0, 1, 3]);
    for (document, matches) in [2, 0, 1, 3].into_iter().zip(&explained) {
        let sum: f32 = matches.iter().map(|matched| matched.score).sum();
        assert!((sum - scores.scores[document]).abs() < 1e-6);
    }
    let own: Vec<Vec<(usize, u32)>> = explained
        .iter()
        .map(|all| all.iter().map(|Match { term, frequencies, .. }| (*term, frequencies[0])).collect())
        .collect();
    assert_eq!(own, [vec![(0, 0), (1, 0)], vec![(0, 1), (1, 0)], vec![(0, 2), (1, 1)], vec![]]);
}

#[test]
fn every_document_answers_in_its_own_language() {
    let part = bodies(&[
        "Die Häuser sind nicht groß und die Katzen sind klein",
        "The houses are not large and the cats are small",
        "Les maisons ne sont pas grandes et les chats sont petits",
    ]);
    for (query, expected) in [
        ("Haus", [true, false, false]),
        ("house", [false, true, false]),
        ("maison", [false, false, true]),
        ("cat", [false, true, false]),
        ("Katze", [true, false, false]),
        ("sind", [true, false, false]),
    ] {
        let scores = score(&part, query, &Weights::default(), &Context::default());
        assert_eq!(scores.scores.iter().map(|score| *score > 0.0).collect::<Vec<_>>(), expected, "{query}");
    }
}

#[test]
fn stop_words_of_the_query_are_expected_of_no_document() {
    let part = bodies(&["Die Katzen sind nicht im Haus", "zzz"]);
    let weights = Weights { k1: 0.0, ..Weights::default() };
    // With k1 0, a document that has all of the query has the share 1.
    for query in ["Katze", "What did they do about the Katze?", "ist das die Katze"] {
        assert_near(&score(&part, query, &weights, &Context::default()).scores, &[1.0, 0.0]);
    }
}

#[test]
fn documents_are_numbered_through_all_parts() {
    let (one, two) = (bodies(&["apple", "pear"]), bodies(&["fig", "apple", "plum"]));
    let (first, second) = (Bits::all(2), Bits::all(3));
    let corpus = Corpus::new(&[(&one, &first), (&two, &second)]);
    assert_eq!((corpus.documents(), corpus.visible(), corpus.offset(1), corpus.offset(2)), (5, 5, Some(2), None));
    assert_eq!(
        [0, 1, 2, 4, 5].map(|document| corpus.locate(document)),
        [Some((0, 0)), Some((0, 1)), Some((1, 0)), Some((1, 2)), None]
    );
    let scores = corpus.score(&Query::new("apple"), &Weights::bm25(), &Context::default());
    assert_eq!(scores.scores.iter().map(|score| *score > 0.0).collect::<Vec<_>>(), [true, false, false, true, false]);
}

#[test]
fn an_empty_query_and_an_empty_corpus_find_nothing() {
    let part = bodies(&["apple", ""]);
    for query in ["", "?!", "\0"] {
        assert!(Query::new(query).is_empty());
        assert_eq!(score(&part, query, &Weights::default(), &Context::default()).scores, [0.0, 0.0]);
    }
    let corpus = Corpus::new(&[]);
    assert!(corpus.score(&Query::new("apple"), &Weights::default(), &Context::default()).scores.is_empty());
    let none = Bits::none(2);
    let corpus = Corpus::new(&[(&part, &none)]);
    assert_eq!(corpus.score(&Query::new("apple"), &Weights::default(), &Context::default()).scores, [0.0, 0.0]);
}

/// Five records of two sessions, with the values of an independent computation.
#[test]
fn a_conversation() {
    let records = [
        ("Ann", "I bought a red bicycle in Berlin."),
        ("Bob", "Nice! Does it have gears?"),
        ("Ann", "Seven gears, and a bell."),
        ("Bob", "My bicycle was stolen last year."),
        ("Ann", "Sorry to hear that."),
    ];
    let fields = records.map(|(speaker, text)| [(Field::Body, text), (Field::Speaker, speaker)]);
    let part = part(&fields.each_ref().map(|fields| &fields[..]));
    let context = Context::new(vec![NONE, 0, 1, NONE, 3]);
    // The name's genitive leaves nothing else than the name: no other kind of term than words is in these queries.
    for (query, coverage, named) in [
        (
            "How many gears does Ann's bicycle have?",
            [0.244_767, 0.275_948, 0.257_106, 0.150_923, 0.118_858],
            [true, false, true, false, true],
        ),
        ("What was stolen in July 2023?", [0.0, 0.0, 0.0, 0.159_265, 0.125_427], [false; 5]),
        ("bicycle unicycle", [0.185_845, 0.144_440, 0.111_360, 0.190_243, 0.149_824], [false; 5]),
    ] {
        let scores = score(&part, query, &Weights::default(), &context);
        assert_near(&scores.scores, &coverage);
        assert_eq!(
            scores.fields.iter().map(|fields| fields & Field::Speaker.bit() != 0).collect::<Vec<_>>(),
            named,
            "{query}"
        );
    }
}
