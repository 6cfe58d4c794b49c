//! Parts as bytes.

use proptest::prelude::*;
use samite_memory::Bits;
use samite_memory::lexical::{Builder, Context, Corpus, Field, Part, Query, Weights};

fn sample() -> Part {
    let mut builder = Builder::default();
    for number in 0..40 {
        let text =
            format!("word{number} and the apple, again word{} häuser 北京 {}", number % 7, "often ".repeat(number));
        builder.add(&[(Field::Body, &text), (Field::Speaker, "Ann"), (Field::Date, "2023-05-07")]).unwrap();
    }
    builder.build()
}

#[test]
fn a_part_is_the_same_after_it_was_bytes() {
    for part in [Part::default(), Builder::default().build(), sample()] {
        let bytes = part.encode();
        let again = Part::decode(&bytes).unwrap();
        assert_eq!(again, part);
        assert_eq!(again.encode(), bytes);
    }
    let mut blank = Builder::default();
    blank.add(&[]).unwrap();
    blank.add(&[(Field::Body, "")]).unwrap();
    let part = blank.build();
    assert_eq!(part.encode(), [1, 1, 2, 0, 2, 0, 0]);
    assert_eq!(Part::decode(&part.encode()).unwrap(), part);
}

#[test]
fn the_bytes_are_as_written_down() {
    let mut builder = Builder::default();
    builder.add(&[(Field::Body, "apple apples"), (Field::Speaker, "Ann")]).unwrap();
    builder.add(&[(Field::Body, "the apple ann")]).unwrap();
    let expected = [
        &[1, 1][..],               // format, analyser
        &[2],                      // documents
        &[0b101],                  // lengths of body and speaker
        &[2, 3, 1, 0],             // two and three words, one and none
        &[2, 0],                   // both in English
        &[3],                      // terms
        b"\0\x03ann\x03",          // whole, three bytes of postings
        b"\x01\x03ppl\x03",        // after "a": appl, three bytes
        b"\0\x03the\x01",          // one byte
        &[0 << 1, 0b0001_0100, 1], // document 0: once in the speaker; document 1: once in the body
        &[0 << 1, 0b0010_0001, 1], // document 0: twice in the body; document 1: once
        &[1 << 1 | 1],             // one document skipped, document 1: once
    ]
    .concat();
    assert_eq!(builder.build().encode(), expected);
}

#[test]
fn other_versions_and_other_bytes_are_refused() {
    let bytes = sample().encode();
    for (at, byte, code) in
        [(0, 2, "lexical_part_outdated"), (1, 0, "lexical_part_outdated"), (2, 41, "bad_lexical_part")]
    {
        let mut other = bytes.clone();
        other[at] = byte;
        assert_eq!(Part::decode(&other).unwrap_err().code(), code);
    }
    for end in 0..bytes.len() {
        assert_eq!(Part::decode(&bytes[..end]).unwrap_err().code(), "bad_lexical_part", "{end}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(Part::decode(&longer).unwrap_err().code(), "bad_lexical_part");
    // Numbers that promise more than there is must not allocate it.
    let lies = [
        &[1, 1, 0xff, 0xff, 0xff, 0x07, 1][..],
        &[1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        &[1, 1, 0xff, 0xff, 0xff, 0x7f, 0],
    ];
    for lie in lies {
        assert_eq!(Part::decode(lie).unwrap_err().code(), "bad_lexical_part");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = sample().encode();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(part) = Part::decode(&bytes) {
            let visible = Bits::all(part.documents());
            let corpus = Corpus::new(&[(&part, &visible)]);
            let scores = corpus.score(&Query::new("apple word3 often ann 北京"), &Weights::default(), &Context::default());
            prop_assert_eq!(scores.scores.len(), part.documents() as usize);
            prop_assert_eq!(Part::decode(&part.encode()).unwrap(), part);
        }
    }

    #[test]
    fn random_bytes_make_it_no_part(mut bytes in prop::collection::vec(any::<u8>(), 2..200)) {
        bytes[0] = 1;
        bytes[1] = 1;
        let _ = Part::decode(&bytes);
    }
}
