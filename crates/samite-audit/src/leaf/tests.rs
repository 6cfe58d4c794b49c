use super::*;
use crate::Hash;
use crate::documented::joined;
use crate::merkle::leaf_hash;
use proptest::prelude::*;

fn word(word: &str) -> Word {
    Word::new(word).unwrap()
}

pub(crate) fn leaf() -> Leaf {
    Leaf {
        act: word("session_created"),
        at: 1_700_000_000_000_000_001,
        journal: JournalId([1; 16]),
        seq: 7,
        entry: EntryId([2; 16]),
        link: Link([3; 32]),
        commitment: Commitment([4; 32]),
        actor: Actor { user: Pseudonym([5; 16]), agent: None, workload: None },
        owner: Pseudonym([6; 16]),
        policy: BTreeSet::new(),
        consent: BTreeSet::new(),
        anchors: Vec::new(),
        previous: None,
        extra: Vec::new(),
    }
}

/// A leaf with a value for each field.
pub(crate) fn full() -> Leaf {
    Leaf {
        actor: Actor { user: Pseudonym([5; 16]), agent: Some(Pseudonym([7; 16])), workload: Some(Pseudonym([8; 16])) },
        policy: [word("held")].into(),
        consent: [word("training")].into(),
        anchors: vec![Anchor { journal: JournalId([9; 16]), seq: 12, link: Link([10; 32]) }],
        previous: Some(TreeHead { origin: "example.com/old".to_owned(), size: 3, root: Hash([11; 32]) }),
        ..leaf()
    }
}

#[test]
fn the_page_has_the_bytes_of_leaves_and_their_hashes() {
    for (leaf, name) in [(leaf(), "audit-leaf"), (full(), "audit-leaf-full")] {
        let bytes = leaf.encode().unwrap();
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), joined(name));
        assert_eq!(leaf_hash(&bytes).to_string(), joined(&format!("vector {name}-hash")));
        assert_eq!(Leaf::parse(&bytes).unwrap(), leaf);
    }
}

#[test]
fn a_full_leaf_and_extra_fields_come_back() {
    let mut leaf = full();
    leaf.policy.insert(word("allowed"));
    let big = "\u{1f600}\u{e000}\u{7f}\" \\ \u{1}\u{8}\t\n\u{c}\r/";
    leaf.extra = vec![
        ("A".to_owned(), Json::Null),
        ("counts".to_owned(), Json::Object(vec![("a".to_owned(), Json::Integer(-5))])),
        ("z".to_owned(), Json::Array(vec![Json::Bool(true), Json::Bool(false), Json::String(big.to_owned())])),
    ];
    let bytes = leaf.encode().unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.starts_with(r#"{"A":null,"act":"#), "{text}");
    assert!(
        text.ends_with(",\"v\":1,\"z\":[true,false,\"\u{1f600}\u{e000}\u{7f}\\\" \\\\ \\u0001\\b\\t\\n\\f\\r/\"]}")
    );
    assert!(text.contains(r#""policy":["allowed","held"],"previous":{"origin":"example.com/old","root":"0b0b"#));
    assert_eq!(Leaf::parse(&bytes).unwrap(), leaf);
}

#[test]
fn keys_are_in_the_order_of_utf_16() {
    let object = |keys: &[&str]| Json::Object(keys.iter().map(|key| ((*key).to_owned(), Json::Integer(1))).collect());
    // A character beyond the first plane begins with a surrogate, which is before U+E000.
    let text = object(&["\u{e000}", "\u{1f600}", "b", "a", ""]).write().unwrap();
    assert_eq!(text, "{\"\":1,\"a\":1,\"b\":1,\"\u{1f600}\":1,\"\u{e000}\":1}");
    assert_eq!(Json::parse(&text).unwrap().write().unwrap(), text);
    assert!(Json::parse("{\"\u{e000}\":1,\"\u{1f600}\":1}").is_err());
    assert_eq!(object(&["a", "a"]).write().unwrap_err().code(), "bad_json_value");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let code = |change: &dyn Fn(&mut Leaf)| {
        let mut other = leaf();
        change(&mut other);
        other.encode().err().map(|error| error.code())
    };
    assert_eq!(code(&|leaf| leaf.seq = LARGEST_INTEGER.unsigned_abs()), None);
    assert_eq!(code(&|leaf| leaf.seq = LARGEST_INTEGER.unsigned_abs() + 1), Some("bad_json_value"));
    assert_eq!(code(&|leaf| leaf.seq = u64::MAX), Some("bad_json_value"));
    assert_eq!(code(&|leaf| leaf.extra = vec![("act".to_owned(), Json::Null)]), Some("bad_json_value"));
    let long = |length| Json::String("x".repeat(length));
    let room = LONGEST - leaf().encode().unwrap().len() - r#","x":"""#.len();
    assert_eq!(code(&|leaf| leaf.extra = vec![("x".to_owned(), long(room))]), None);
    assert_eq!(code(&|leaf| leaf.extra = vec![("x".to_owned(), long(room + 1))]), Some("leaf_too_long"));
    let anchor = Anchor { journal: JournalId([1; 16]), seq: LARGEST_INTEGER.unsigned_abs(), link: Link([1; 32]) };
    let most = Leaf { anchors: vec![anchor; MOST_ANCHORS], at: i64::MIN, ..full() };
    assert!(most.encode().unwrap().len() < LONGEST - 4096);
    for bad in ["", "a b", "A", "a-b", "\u{e4}", &"a".repeat(65)] {
        assert_eq!(Word::new(bad).unwrap_err().code(), "bad_word", "{bad:?}");
    }
}

#[test]
fn only_the_one_spelling_is_read() {
    let text = String::from_utf8(full().encode().unwrap()).unwrap();
    let changes = [
        (r#"{"act""#, r#"{ "act""#),
        (r#""seq":7"#, r#""seq":07"#),
        (r#""seq":7"#, r#""seq":7.0"#),
        (r#""seq":7"#, r#""seq":7e0"#),
        (r#""seq":7"#, r#""seq":-7"#),
        (r#""seq":7"#, r#""seq":-0"#),
        (r#""seq":7"#, r#""seq":+7"#),
        (r#""seq":7"#, r#""seq":"7""#),
        (r#""seq":7"#, r#""seq":9007199254740992"#),
        (r#""seq":7"#, r#""seq":99999999999999999999"#),
        (r#""seq":7"#, r#""seq":7,"seq":7"#),
        (r#""v":1"#, r#""v":2"#),
        (r#""v":1"#, r#""v":true"#),
        (r#","v":1"#, ""),
        (r#""v":1}"#, r#""v":1} "#),
        (r#""v":1}"#, r#""v":1}}"#),
        (r#""v":1}"#, r#""v":1,}"#),
        (r#""v":1}"#, r#""v":1"#),
        (r#""at":"1700000000000000001""#, r#""at":1700000000000000001"#),
        (r#""at":"1"#, r#""at":"01"#),
        (r#""at":"1"#, r#""at":"+1"#),
        (r#""at":"1"#, r#""at":"9999999991"#),
        (r#""held""#, r#""\u0068eld""#),
        (r#""held""#, r#""HELD""#),
        (r#"["held"]"#, r#"["held","held"]"#),
        (r#"["held"]"#, r#"["held","allowed"]"#),
        (r#"["held"]"#, "[]"),
        (r#"["held"]"#, "[,]"),
        (r#"["held"]"#, "[1]"),
        (r#"["held"]"#, "null"),
        (r#""policy":["held"],"#, r#""policy":["held"],"policy":["held"],"#),
        ("05050505050505050505050505050505", "0505050505050505050505050505050"),
        ("05050505050505050505050505050505", "0A050505050505050505050505050505"),
        (r#""user""#, r#""usex""#),
        (r#""workload":"#, r#""work":"#),
        ("example.com/old", "example.com/o ld"),
        ("example.com/old", "example.com/o\u{1}ld"),
        ("example.com/old", r"example.com\/old"),
        ("example.com/old", r"example.com/o\ud800ld"),
        (r#""size":3"#, r#""size":0"#),
        (r#""anchors":[{"#, r#""anchors":[{"extra":1,"#),
    ];
    for (from, to) in changes {
        let other = text.replacen(from, to, 1);
        assert_ne!(other, text, "{from}");
        assert_eq!(Leaf::parse(other.as_bytes()).unwrap_err().code(), "bad_leaf", "{from} to {to}");
    }
    for cut in 0..text.len() {
        assert!(Leaf::parse(&text.as_bytes()[..cut]).is_err(), "{cut}");
    }
    assert!(Leaf::parse(b"\xff").is_err());
    assert!(Leaf::parse(b"[1]").is_err());
    assert!(Leaf::parse(&vec![b'['; 60_000]).is_err(), "no depth is too deep for the stack");
    assert!(Leaf::parse(&vec![b' '; LONGEST + 1]).is_err());
}

fn json() -> impl Strategy<Value = Json> {
    let plain = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (-LARGEST_INTEGER..=LARGEST_INTEGER).prop_map(Json::Integer),
        any::<String>().prop_map(Json::String),
    ];
    plain.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn values_come_back_and_have_one_spelling(value in json()) {
        let text = value.write().unwrap();
        let read = Json::parse(&text).unwrap();
        prop_assert_eq!(read.write().unwrap(), text);
    }

    #[test]
    fn a_leaf_with_one_other_byte_is_another_leaf_or_none(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = full().encode().unwrap();
        let place = place.index(bytes.len());
        prop_assume!(bytes[place] != byte);
        bytes[place] = byte;
        if let Ok(other) = Leaf::parse(&bytes) {
            prop_assert_ne!(&other, &full());
            prop_assert_eq!(other.encode().unwrap(), bytes);
        }
    }

    #[test]
    fn any_bytes_are_read_as_written_or_refused(text in r#"[{}\[\]",:0-9a\\un.e-]{0,30}"#) {
        if let Ok(value) = Json::parse(&text) {
            prop_assert_eq!(value.write().unwrap(), text);
        }
    }
}
