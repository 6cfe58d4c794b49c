use super::*;
use crate::error::ErrorKind;
use proptest::prelude::*;

fn parts() -> SpaceParts {
    SpaceParts {
        provider: "builtin".to_owned(),
        model: "all-MiniLM-L6-v2".to_owned(),
        revision: "8199be6f699a395f".to_owned(),
        dimensions: 384,
        pooling: Pooling::Mean,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        normalisation: Normalisation::Unit,
    }
}

// The id was computed with Python's hashlib from docs/formats.md.
#[test]
fn a_space_has_its_documented_bytes_and_id() {
    let space = Space::new(parts()).unwrap();
    let mut right = vec![1, 1, 1, 0, 0, 1, 128];
    for text in ["builtin", "all-MiniLM-L6-v2", "8199be6f699a395f", "", ""] {
        right.extend([0, u8::try_from(text.len()).unwrap()]);
        right.extend(text.bytes());
    }
    assert_eq!(space.encode(), right);
    assert_eq!(space.id().to_string(), "bdace16a9865bea393ba2a89be276fd3");
    let document = include_str!("../../../../../docs/formats.md");
    assert_eq!(document.split("```space\n").nth(1).unwrap().lines().next(), Some(space.id().to_string().as_str()));
    let shown = "builtin/all-MiniLM-L6-v2@8199be6f699a (384 dimensions, mean pooling, unit length, space bdace16a9865)";
    assert_eq!(space.to_string(), shown);
}

#[test]
fn every_part_makes_another_space_and_the_error_names_both() {
    let space = Space::new(parts()).unwrap();
    space.same(&Space::new(parts()).unwrap()).unwrap();
    let others: [fn(&mut SpaceParts); 8] = [
        |parts| parts.provider = "file".to_owned(),
        |parts| parts.model = "all-MiniLM-L6-v3".to_owned(),
        |parts| parts.revision = String::new(),
        |parts| parts.dimensions = 383,
        |parts| parts.pooling = Pooling::Cls,
        |parts| parts.query_prefix = "query: ".to_owned(),
        |parts| parts.passage_prefix = "query: ".to_owned(),
        |parts| parts.normalisation = Normalisation::None,
    ];
    let mut ids = vec![space.id()];
    for change in others {
        let mut changed = parts();
        change(&mut changed);
        let other = Space::new(changed).unwrap();
        let error = space.same(&other).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "space_mismatch"));
        assert!(error.message().contains(&space.to_string()) && error.message().contains(&other.to_string()));
        assert!(!ids.contains(&other.id()));
        ids.push(other.id());
    }
}

#[test]
fn texts_do_not_run_into_each_other() {
    let joined = |provider: &str, model: &str| {
        Space::new(SpaceParts { provider: provider.to_owned(), model: model.to_owned(), ..parts() }).unwrap()
    };
    assert_ne!(joined("ab", "c").id(), joined("a", "bc").id());
}

#[test]
fn what_is_no_description_is_refused() {
    let wrong: [fn(&mut SpaceParts); 8] = [
        |parts| parts.provider = String::new(),
        |parts| parts.model = String::new(),
        |parts| parts.model = "a\nb".to_owned(),
        |parts| parts.revision = "x".repeat(257),
        |parts| parts.dimensions = 0,
        |parts| parts.dimensions = 65_537,
        |parts| parts.query_prefix = "x".repeat(2049),
        |parts| parts.passage_prefix = "x".repeat(2049),
    ];
    for change in wrong {
        let mut changed = parts();
        change(&mut changed);
        let error = Space::new(changed.clone()).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, "bad_space"), "{changed:?}");
        assert_eq!(Space::decode(&encoded(&changed)).unwrap_err().kind(), ErrorKind::Corrupt, "{changed:?}");
    }
}

#[test]
fn json_holds_the_parts_and_is_checked() {
    let space = Space::new(parts()).unwrap();
    let json = serde_json::to_value(&space).unwrap();
    assert_eq!(json.get("pooling"), Some(&"mean".into()));
    assert_eq!(json.get("normalisation"), Some(&"unit".into()));
    assert_eq!(serde_json::from_value::<Space>(json.clone()).unwrap(), space);
    let mut empty = json.clone();
    empty["model"] = "".into();
    assert!(serde_json::from_value::<Space>(empty).is_err());
    let mut more = json;
    more["id"] = "00".into();
    assert!(serde_json::from_value::<Space>(more).is_err());
}

#[test]
fn a_vector_has_the_right_dimensions_and_finite_numbers() {
    let space = Space::new(SpaceParts { dimensions: 2, ..parts() }).unwrap();
    space.check(&[0.0, 3.0]).unwrap();
    let code = |vector: &[f32]| space.check(vector).unwrap_err().code();
    assert_eq!(code(&[1.0]), "wrong_dimensions");
    assert_eq!(code(&[1.0, 2.0, 3.0]), "wrong_dimensions");
    assert_eq!(code(&[]), "wrong_dimensions");
    assert_eq!(code(&[f32::NAN, 1.0]), "bad_vector");
    assert_eq!(code(&[1.0, f32::INFINITY]), "bad_vector");
    assert_eq!(code(&[0.0, -0.0]), "bad_vector");
}

proptest! {
    #[test]
    fn bytes_come_back_and_every_cut_or_longer_one_is_refused(
        provider in "[a-z]{1,9}", model in "\\PC{1,20}", revision in "[0-9a-f]{0,64}", dimensions in 1_u32..=65_536,
        query_prefix in "(?s).{0,9}", passage_prefix in "(?s).{0,9}", cut in any::<prop::sample::Index>(),
    ) {
        let space = Space::new(SpaceParts {
            provider, model, revision, dimensions, query_prefix, passage_prefix,
            pooling: Pooling::Provider, normalisation: Normalisation::None,
        }).unwrap();
        let bytes = space.encode();
        prop_assert_eq!(&Space::decode(&bytes).unwrap(), &space);
        prop_assert!(Space::decode(&bytes[..cut.index(bytes.len())]).is_err());
        prop_assert!(Space::decode(&[bytes.as_slice(), &[0]].concat()).is_err());
    }

    #[test]
    fn no_bytes_make_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(space) = Space::decode(&bytes) {
            prop_assert_eq!(space.encode(), bytes);
        }
    }
}
