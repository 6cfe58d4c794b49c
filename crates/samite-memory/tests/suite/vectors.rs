//! Search by vectors, against what it must give by definition.

use proptest::prelude::*;
use samite_memory::Bits;
use samite_memory::vectors::{Decoder, Hit, Part, Query, Rows, exact, nearest, scan};
use samite_model::ErrorKind;
use std::num::NonZeroUsize;

const ONE: NonZeroUsize = NonZeroUsize::MIN;

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Vectors of a generator of numbers: components from -1 to 1, none of them all 0.
fn vectors(seed: u64, count: usize, dimensions: usize) -> Vec<Vec<f32>> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [_, first, second, ..] = state.to_be_bytes();
        f32::from(i16::from_be_bytes([first, second])) / 32768.0 + 1e-6
    };
    (0..count).map(|_| (0..dimensions).map(|_| next()).collect()).collect()
}

fn rows(vectors: &[Vec<f32>]) -> Rows {
    let mut rows = Rows::new(vectors[0].len()).unwrap();
    for (document, vector) in (0..).zip(vectors) {
        rows.push(document, vector).unwrap();
    }
    rows
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|component| f64::from(*component).powi(2)).sum::<f64>().sqrt()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() / length(a) / length(b)
}

/// The best of all by their exact scores, of equal ones the newest.
fn by_definition(parts: &[Part<'_>], query: &Query, top: usize) -> Vec<Hit> {
    let mut all = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let documents: Vec<u32> = (0..part.visible.documents()).collect();
        let scores = exact(*part, query, &documents).unwrap();
        let hits = documents.iter().zip(scores);
        all.extend(hits.filter_map(|(document, score)| Some(Hit { part: number, document: *document, score: score? })));
    }
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then((b.part, b.document).cmp(&(a.part, a.document))));
    all.truncate(top);
    all
}

#[test]
fn the_nearest_are_found_in_order_and_of_equal_ones_the_newest_first() {
    let older = rows(&[vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0, 1.0], vec![2.0, 0.0]]);
    let newer = rows(&[vec![-1.0, 0.0], vec![3.0, 0.0]]);
    let (every, both) = (Bits::all(4), Bits::all(2));
    let parts = [Part { rows: &older, visible: &every }, Part { rows: &newer, visible: &both }];
    let query = Query::new(&[5.0, 0.0]).unwrap();
    let found = nearest(&parts, &query, 10, ONE).unwrap();
    let places: Vec<(usize, u32)> = found.iter().map(|hit| (hit.part, hit.document)).collect();
    assert_eq!(places, [(1, 1), (0, 3), (0, 0), (0, 2), (0, 1), (1, 0)]);
    let scores: Vec<f32> = found.iter().map(|hit| (hit.score * 1e3).round() / 1e3).collect();
    assert_eq!(scores, [1.0, 1.0, 1.0, 0.707, 0.0, -1.0]);
    assert_eq!(nearest(&parts, &query, 2, ONE).unwrap(), found[..2]);
    assert_eq!(nearest(&parts, &query, 0, ONE).unwrap(), []);
    assert_eq!(nearest(&[], &query, 5, ONE).unwrap(), []);
}

#[test]
fn what_is_invisible_or_has_no_vector_is_not_found_and_changes_no_score() {
    let data = vectors(1, 40, 8);
    let mut some = Rows::new(8).unwrap();
    let mut visible = Bits::none(41);
    for document in (0..40_u32).filter(|document| document % 3 != 0) {
        some.push(document, &data[document as usize]).unwrap();
    }
    for document in (0..41).filter(|document| document % 2 == 0) {
        visible.insert(document);
    }
    let query = Query::new(&data[4]).unwrap();
    let part = Part { rows: &some, visible: &visible };
    let found = nearest(&[part], &query, 100, ONE).unwrap();
    assert_eq!(found[0].document, 4);
    let mut documents: Vec<u32> = found.iter().map(|hit| hit.document).collect();
    documents.sort_unstable();
    assert_eq!(documents, (0..40).filter(|document| document % 2 == 0 && document % 3 != 0).collect::<Vec<_>>());
    // The same without the others altogether.
    let mut alone = Rows::new(8).unwrap();
    for document in documents {
        alone.copy(document, &some, document).unwrap();
    }
    assert_eq!(nearest(&[Part { rows: &alone, visible: &Bits::all(41) }], &query, 100, ONE).unwrap(), found);
    let mut scores = vec![7.0; 500];
    scan(part, &query, &mut scores).unwrap();
    assert_eq!(scores.len(), 41);
    assert!(
        scores
            .iter()
            .zip(0_u32..)
            .all(|(score, document)| (document % 2 == 0 && document % 3 != 0 && document < 40) == (*score != 0.0))
    );
    assert_eq!(exact(part, &query, &[0, 1, 40, 99]).unwrap(), [None; 4]);
    assert_eq!(exact(part, &query, &[4]).unwrap(), [Some(found[0].score)]);
}

#[test]
fn another_space_is_refused() {
    let some = rows(&vectors(1, 3, 4));
    let part = Part { rows: &some, visible: &Bits::all(3) };
    let query = Query::new(&[1.0, 2.0, 3.0]).unwrap();
    let errors = [
        nearest(&[part], &query, 3, ONE).unwrap_err(),
        scan(part, &query, &mut Vec::new()).unwrap_err(),
        exact(part, &query, &[0]).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, "vector_dimensions"));
        assert_eq!(error.message(), "the vector has 3 dimensions, and its space 4");
    }
    assert_eq!(Query::new(&[]).unwrap_err().code(), "vector_dimensions");
    assert_eq!(Query::new(&[0.0; 4]).unwrap_err().code(), "vector_zero");
    assert_eq!(Query::new(&[f32::NAN, 1.0]).unwrap_err().code(), "vector_not_finite");
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let some = rows(&vectors(3, 50_000, 6));
    let more = rows(&vectors(4, 20_000, 6));
    let (visible, all) = (Bits::all(50_000), Bits::all(20_000));
    let parts = [Part { rows: &some, visible: &visible }, Part { rows: &more, visible: &all }];
    for query in vectors(5, 5, 6) {
        let query = Query::new(&query).unwrap();
        let one = nearest(&parts, &query, 25, ONE).unwrap();
        assert_eq!(one, by_definition(&parts, &query, 25));
        for count in [2, 3, 64] {
            assert_eq!(nearest(&parts, &query, 25, threads(count)).unwrap(), one);
        }
    }
}

#[test]
fn more_precise_numbers_than_the_scan_has_decide() {
    // All so near to each other that their high bytes are the same.
    let data: Vec<Vec<f32>> =
        (0..2000_u16).map(|number| vec![1.0, 0.5 + f32::from(number % 100) * 1e-5, 0.2]).collect();
    let some = rows(&data);
    let part = Part { rows: &some, visible: &Bits::all(2000) };
    let query = Query::new(&[0.0, 1.0, 0.0]).unwrap();
    let found = nearest(&[part], &query, 30, ONE).unwrap();
    assert_eq!(found, by_definition(&[part], &query, 30));
    // 20 of each. A unit of the low byte is 3e-5, which about three of the hundred share.
    assert!(found.iter().all(|hit| hit.document % 100 >= 93), "{found:?}");
}

#[test]
fn the_bytes_are_as_documented() {
    let mut some = Rows::new(2).unwrap();
    some.push(258, &[0.0, -1.0]).unwrap();
    some.push(3, &[1.0, 1.003]).unwrap();
    let bytes = some.encode();
    let scale = (1.0 / 32512.0_f32).to_bits().to_be_bytes();
    assert_eq!(&bytes[..24], b"samite/rows/v1\0\0\0\0\0\x02\0\0\0\x02");
    assert_eq!(bytes[24..32], [0, 0, 0, 3, 0, 0, 1, 2]);
    assert_eq!(bytes[36..40], scale);
    // 32512 / 1.003 = 32415 = 256 * 127 - 97.
    assert_eq!(bytes[40..48], [127, 127, 0, 129, 159, 0, 0, 0]);
    assert_eq!(bytes.len(), 48);
    assert_eq!(Rows::decode(&bytes, 259).unwrap().encode(), bytes);
    let code = |bytes: &[u8], documents| Rows::decode(bytes, documents).unwrap_err().code();
    assert_eq!(code(&bytes, 258), "vectors_damaged");
    assert_eq!(code(&[], 300), "vectors_damaged");
    assert_eq!(code(&[&bytes[..], &[0]].concat(), 300), "vectors_damaged");
    for (at, byte) in
        [(0, b'S'), (13, b'2'), (19, 0), (16, 1), (23, 1), (23, 3), (27, 3), (32, 0xff), (32, 0x80), (32, 0x7f)]
    {
        // A document twice at 27, with the next one's higher byte gone.
        let mut damaged = bytes.clone();
        damaged[at] = byte;
        if at == 27 {
            damaged[30..32].copy_from_slice(&[0, 3]);
        }
        assert_eq!(code(&damaged, 300), "vectors_damaged", "byte {at}");
    }
}

proptest! {
    #[test]
    fn nothing_better_is_left_out(
        seed in any::<u64>(),
        dimensions in 1_usize..40,
        count in 1_usize..300,
        top in 1_usize..40,
        distinct in 1_usize..300,
        hidden in prop::collection::vec(any::<bool>(), 300),
    ) {
        let distinct = vectors(seed, distinct, dimensions);
        let data: Vec<Vec<f32>> = (0..count).map(|at| distinct[at * 7 % distinct.len()].clone()).collect();
        let (first, second) = data.split_at(count / 2);
        let mut visible = Bits::all(u32::try_from(second.len()).unwrap());
        for (document, _) in (0..).zip(&hidden).filter(|(_, hidden)| **hidden) {
            visible.remove(document);
        }
        let second = rows(second);
        let first = if first.is_empty() { Rows::new(dimensions).unwrap() } else { rows(first) };
        let all = Bits::all(first.len());
        let parts = [Part { rows: &first, visible: &all }, Part { rows: &second, visible: &visible }];
        let query = Query::new(&vectors(!seed, 1, dimensions)[0]).unwrap();
        prop_assert_eq!(nearest(&parts, &query, top, ONE).unwrap(), by_definition(&parts, &query, top));
    }

    #[test]
    fn scores_are_cosines(seed in any::<u64>(), dimensions in prop::sample::select(vec![1_usize, 3, 64, 384, 700, 1536])) {
        let data = vectors(seed, 12, dimensions);
        let some = rows(&data);
        let part = Part { rows: &some, visible: &Bits::all(12) };
        let query = Query::new(&data[3]).unwrap();
        let documents: Vec<u32> = (0..12).collect();
        let exact = exact(part, &query, &documents).unwrap();
        let mut rough = Vec::new();
        scan(part, &query, &mut rough).unwrap();
        for ((exact, rough), vector) in exact.iter().zip(&rough).zip(&data) {
            let right = cosine(vector, &data[3]);
            prop_assert!((f64::from(exact.unwrap()) - right).abs() < 6e-5, "{exact:?} {right}");
            let sum: f64 = data[3].iter().map(|component| f64::from(component.abs())).sum::<f64>() / length(&data[3]);
            let largest = f64::from(vector.iter().fold(0.0_f32, |most, component| most.max(component.abs()))) / length(vector);
            prop_assert!((f64::from(*rough) - right).abs() <= sum * largest / 254.0 * 1.05 + 1e-5, "{rough} {right}");
        }
    }

    #[test]
    fn rows_come_back_from_their_bytes_in_pieces_of_any_length(
        seed in any::<u64>(),
        dimensions in 1_usize..9,
        documents in prop::collection::vec(0_u32..5000, 0..2500),
        piece in 1_usize..5000,
    ) {
        let data = vectors(seed, documents.len().max(1), dimensions);
        let mut some = Rows::new(dimensions).unwrap();
        for (document, vector) in documents.iter().zip(&data) {
            if !some.contains(*document) {
                some.push(*document, vector).unwrap();
            }
        }
        let bytes = some.encode();
        let mut decoder = Decoder::new(5000);
        for piece in bytes.chunks(piece) {
            decoder.feed(piece).unwrap();
        }
        let mut back = decoder.end().unwrap();
        prop_assert_eq!(back.encode(), bytes);
        prop_assert_eq!(back.documents().collect::<Vec<_>>(), some.documents().collect::<Vec<_>>());
        let (query, all) = (Query::new(&data[0]).unwrap(), Bits::all(5001));
        let find = |rows: &Rows| nearest(&[Part { rows, visible: &all }], &query, 9, ONE).unwrap();
        prop_assert_eq!(find(&back), find(&some));
        // What was read can be added to.
        back.push(5000, &data[0]).unwrap();
        let added = exact(Part { rows: &back, visible: &all }, &query, &[5000]).unwrap();
        prop_assert!(added[0].is_some_and(|score| (score - 1.0).abs() < 1e-4));
        prop_assert_eq!(Rows::decode(&back.encode(), 5001).unwrap().len(), some.len() + 1);
    }

    #[test]
    fn damaged_bytes_are_refused_or_searched(
        seed in any::<u64>(),
        count in 1_usize..20,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let data = vectors(seed, count, 5);
        let mut bytes = rows(&data).encode();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let query = Query::new(&data[0]).unwrap();
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            match Rows::decode(bytes, 20) {
                Err(error) => prop_assert_eq!(error.code(), "vectors_damaged"),
                Ok(rows) if rows.dimensions() == 5 => {
                    let visible = Bits::all(20);
                    let parts = [Part { rows: &rows, visible: &visible }];
                    prop_assert_eq!(nearest(&parts, &query, 4, ONE).unwrap(), by_definition(&parts, &query, 4));
                }
                Ok(_) => {}
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), with_magic in any::<bool>()) {
        let bytes = if with_magic { [&b"samite/rows/v1\0\0\0\0"[..], &bytes].concat() } else { bytes };
        if let Err(error) = Rows::decode(&bytes, 1000) {
            prop_assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
    }
}
