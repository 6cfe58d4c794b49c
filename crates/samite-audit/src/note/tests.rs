use super::*;
use crate::testing::TestSigner;
use proptest::prelude::*;

/// The verifier key that the specification of signed notes names.
const FOO: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
/// Its note: the text is a line, and the signature was made elsewhere.
const QUASIMODO: &str = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned \u{e8} subito sera.\n\n\
    \u{2014} quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";

const TEXT: &str = "a text\n\nof two parts\n";

fn code(bytes: &[u8]) -> &'static str {
    Note::parse(bytes).unwrap_err().code()
}

#[test]
fn the_specifications_key_is_read_and_written() {
    let key: VerifierKey = FOO.parse().unwrap();
    assert_eq!((key.name(), key.kind(), key.id()), ("example.com/foo", KeyKind::Ed25519, [0x53, 0x0d, 0x90, 0x3a]));
    assert_eq!(key.to_string(), FOO);
}

#[test]
fn a_note_made_elsewhere_is_read_as_it_is() {
    let note = Note::parse(QUASIMODO.as_bytes()).unwrap();
    assert!(note.text().ends_with("sole:\n\ned \u{e8} subito sera.\n"), "{:?}", note.text());
    assert_eq!(note.signatures().len(), 1);
    assert_eq!(note.signatures()[0].key_id, [0x36, 0x7b, 0xa0, 0x4b]);
    assert_eq!(note.to_string(), QUASIMODO);
}

#[test]
fn other_text_is_no_key() {
    let bad = [
        ("", "bad_verifier_key"),
        ("example.com/foo", "bad_verifier_key"),
        ("example.com/foo+530d903a", "bad_verifier_key"),
        ("example.com/foo+530d903a+", "bad_verifier_key"),
        ("example.com/foo+530d903b+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", "bad_verifier_key"),
        ("example.com/foo+530D903A+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", "bad_verifier_key"),
        ("example.com/fop+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", "bad_verifier_key"),
        ("example.com/foo+530d903a+AukyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", "bad_verifier_key"),
        ("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2", "bad_verifier_key"),
        ("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv", "bad_verifier_key"),
        ("+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", "bad_key_name"),
        ("a b+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", "bad_key_name"),
    ];
    for (text, code) in bad {
        assert_eq!(text.parse::<VerifierKey>().unwrap_err().code(), code, "{text}");
    }
    for name in ["a b", "a\u{a0}b", "a+b", "a\nb", "\u{2003}", "a\u{7f}"] {
        assert_eq!(VerifierKey::new(name, KeyKind::Ed25519, [1; 32]).unwrap_err().code(), "bad_key_name", "{name:?}");
    }
}

#[test]
fn a_signed_note_is_verified_with_the_public_key() {
    let (signer, other) = (TestSigner::new("example.com/a", 1), TestSigner::new("example.com/b", 2));
    let note = Note::sign(TEXT, &[&signer, &other]).unwrap();
    let read = Note::parse(note.to_string().as_bytes()).unwrap();
    assert_eq!(read, note);
    assert_eq!(read.text(), TEXT);
    assert_eq!(read.verify(&[other.verifier()]).unwrap().signers, [other.verifier()]);
    let both = read.verify(&[other.verifier(), signer.verifier()]).unwrap();
    assert_eq!(both.signers, [signer.verifier(), other.verifier()]);
    assert_eq!(read.verify(&[FOO.parse().unwrap()]).unwrap_err().code(), "not_signed");
    assert_eq!(read.verify(&[]).unwrap_err().code(), "not_signed");
}

#[test]
fn a_known_key_with_a_bad_signature_fails_and_an_unknown_one_is_passed_over() {
    let (signer, other) = (TestSigner::new("example.com/a", 1), TestSigner::new("example.com/b", 2));
    let mut note = Note::sign(TEXT, &[&signer, &other]).unwrap();
    note.signatures[1].bytes[10] ^= 1;
    assert_eq!(note.verify(&[signer.verifier()]).unwrap().signers, [signer.verifier()]);
    assert_eq!(note.verify(&[signer.verifier(), other.verifier()]).unwrap_err().code(), "bad_signature");
    // The same name with another id is another key.
    let namesake = TestSigner::new("example.com/b", 3);
    assert_eq!(note.verify(&[signer.verifier(), namesake.verifier()]).unwrap().signers, [signer.verifier()]);
    let changed = note.to_string().replace("two parts", "two farts");
    assert_eq!(
        Note::parse(changed.as_bytes()).unwrap().verify(&[signer.verifier()]).unwrap_err().code(),
        "bad_signature"
    );
    // A signature that is cut off is one that does not verify.
    note.signatures[1].bytes.truncate(63);
    assert_eq!(note.verify(&[other.verifier()]).unwrap_err().code(), "bad_signature");
}

#[test]
fn a_witness_signs_the_time_as_well() {
    let (log, witness) = (TestSigner::new("example.com/a", 1), TestSigner::new("witness.example/w", 2));
    let mut note = Note::sign(TEXT, &[&log]).unwrap();
    note.add(Signature::cosign(TEXT, 1_679_315_100, &witness).unwrap());
    // Asked again, it says a later time.
    note.add(Signature::cosign(TEXT, 1_679_315_147, &witness).unwrap());
    assert_eq!(note.signatures().len(), 2);
    assert_eq!(note.signatures()[1].bytes.len(), 72);
    let key = VerifierKey::of(&witness, KeyKind::Cosignature).unwrap();
    assert_eq!(key.to_string().parse::<VerifierKey>().unwrap(), key);
    let verified = note.verify(&[log.verifier(), key.clone()]).unwrap();
    assert_eq!(verified.signers, [log.verifier()]);
    assert_eq!(verified.cosigners, [Cosigner { key: key.clone(), seconds: 1_679_315_147 }]);
    note.signatures[1].bytes[7] ^= 1;
    assert_eq!(note.verify(&[log.verifier(), key]).unwrap_err().code(), "bad_signature");
}

#[test]
fn what_is_no_note_is_refused() {
    let signer = TestSigner::new("example.com/a", 1);
    let note = Note::sign(TEXT, &[&signer]).unwrap().to_string();
    assert!(Note::parse(note.as_bytes()).is_ok());
    let line = note.rsplit("\n\n").next().unwrap().to_owned();
    for bad in [
        String::new(),
        "\n".to_owned(),
        "text\n".to_owned(),
        "text\n\n".to_owned(),
        note.trim_end().to_owned(),
        note.replace('\u{2014}', "-"),
        note.replace("example.com/a ", "example.com/a  "),
        note.replace("a text", "a\ttext"),
        note.replace("a text\n", "a text\r\n"),
        note.replace("example.com/a", "example.com+a"),
        format!("{note}\n"),
        format!("{note}more\n"),
        note.replace('=', ""),
        "text\n\n\u{2014} a AAAAAA==\n".to_owned(),
        format!("text\n\n{}", line.repeat(MOST_SIGNATURES + 1)),
        format!("{}\n\n{line}", "x".repeat(LONGEST_NOTE)),
    ] {
        let shown: String = bad.chars().take(80).collect();
        assert_eq!(code(bad.as_bytes()), "bad_note", "{shown:?}");
    }
    assert_eq!(code(b"\xff\n\nx\n"), "bad_note");
    assert!(Note::parse(format!("text\n\n{}", line.repeat(MOST_SIGNATURES)).as_bytes()).is_ok());
    for text in ["", "no end", "a\rb\n", "\0\n"] {
        assert_eq!(Note::sign(text, &[&signer]).unwrap_err().code(), "bad_note_text", "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_as_written_or_refused(text in "[a-z\n\u{2014} +=]{0,60}") {
        let signer = TestSigner::new("n", 1);
        if let Ok(note) = Note::sign(&text, &[&signer]) {
            let read = Note::parse(note.to_string().as_bytes()).unwrap();
            prop_assert_eq!(read.text(), &text);
        }
        if let Ok(note) = Note::parse(text.as_bytes()) {
            prop_assert_eq!(note.to_string(), text);
        }
    }

    #[test]
    fn a_flipped_bit_never_verifies_another_text(place in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let signer = TestSigner::new("example.com/a", 1);
        let mut bytes = Note::sign(TEXT, &[&signer]).unwrap().to_string().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let verified = Note::parse(&bytes).and_then(|note| note.verify(&[signer.verifier()]).map(|_| note));
        prop_assert!(verified.is_err(), "{:?}", verified);
    }
}
