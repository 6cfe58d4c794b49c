//! Every way in which somebody may change a log in a folder, and what finds it.

use crate::log::{LARGE, key, large, small};
use crate::others;
use proptest::prelude::*;
use samite_audit::export::{Finding, verify};
use samite_audit::tile::{TilePath, files};
use std::fs;
use std::path::Path;

/// A change of one file.
pub(crate) struct Tampering {
    pub(crate) name: &'static str,
    file: &'static str,
    /// None for a file that is removed.
    change: Option<fn(&mut Vec<u8>)>,
    /// An entry that cannot be proved after it.
    pub(crate) index: u64,
    /// What our verifier says first.
    finding: (&'static str, Option<u64>, &'static str),
}

fn flip(bytes: &mut [u8], place: usize) {
    *bytes.get_mut(place).unwrap() ^= 0x10;
}

/// What whoever has the folder, and not the key, may try.
pub(crate) const TAMPERINGS: [Tampering; 11] = [
    Tampering {
        name: "a bit in an entry",
        file: "tile/entries/100",
        change: Some(|bytes| flip(bytes, 50)),
        index: 25_600,
        finding: ("tile/entries/100", Some(25_600), "the entry was changed"),
    },
    Tampering {
        name: "a bit in an entry of the last bundle",
        file: "tile/entries/273.p/112",
        change: Some(|bytes| flip(bytes, 50)),
        index: 69_888,
        finding: ("tile/entries/273.p/112", Some(69_888), "the entry was changed"),
    },
    Tampering {
        name: "a bit in a tile of leaves",
        file: "tile/0/100",
        change: Some(|bytes| flip(bytes, 33)),
        index: 25_601,
        finding: ("tile/0/100", Some(25_601), "has another hash than its entry"),
    },
    Tampering {
        name: "a bit in a tile of nodes",
        file: "tile/1/000",
        change: Some(|bytes| flip(bytes, 4096)),
        index: 32_768,
        finding: ("tile/1/000", Some(32_768), "has another hash than what is below it"),
    },
    Tampering {
        name: "a bit in the topmost tile",
        file: "tile/2/000.p/1",
        change: Some(|bytes| flip(bytes, 16)),
        index: 5,
        finding: ("tile/2/000.p/1", Some(0), "has another hash than what is below it"),
    },
    Tampering {
        name: "the size edited",
        file: "checkpoint",
        change: Some(|bytes| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            *bytes = text.replacen("\n70000\n", "\n69999\n", 1).into_bytes();
        }),
        index: 5,
        finding: ("checkpoint", None, "the signature of example.com/audit/test does not verify"),
    },
    Tampering {
        name: "a bundle missing",
        file: "tile/entries/007",
        change: None,
        index: 1800,
        finding: ("tile/entries/007", Some(1792), "is missing"),
    },
    Tampering {
        name: "the last bundle missing",
        file: "tile/entries/273.p/112",
        change: None,
        index: 69_999,
        finding: ("tile/entries/273.p/112", Some(69_888), "is missing"),
    },
    Tampering {
        name: "the last tile missing",
        file: "tile/0/273.p/112",
        change: None,
        index: 69_999,
        finding: ("tile/0/273.p/112", Some(69_888), "is missing"),
    },
    Tampering {
        name: "the tail cut",
        file: "tile/entries/273.p/112",
        change: Some(|bytes| bytes.truncate(bytes.len() - 1)),
        index: 69_999,
        finding: ("tile/entries/273.p/112", Some(69_888), "is cut off in an entry"),
    },
    Tampering {
        name: "the tail of the tile cut",
        file: "tile/0/273.p/112",
        change: Some(|bytes| bytes.truncate(bytes.len() - 32)),
        index: 69_999,
        finding: ("tile/0/273.p/112", Some(69_888), "has 111 hashes, and not 112"),
    },
];

impl Tampering {
    /// Changes the folder, looks at it, and changes it back.
    pub(crate) fn during<T>(&self, folder: &Path, look: impl FnOnce() -> T) -> T {
        let file = folder.join(self.file);
        let before = fs::read(&file).unwrap();
        match self.change {
            Some(change) => {
                let mut bytes = before.clone();
                change(&mut bytes);
                assert_ne!(bytes, before, "{}", self.name);
                fs::write(&file, bytes).unwrap();
            }
            None => fs::remove_file(&file).unwrap(),
        }
        let seen = look();
        fs::write(&file, before).unwrap();
        seen
    }
}

#[test]
fn ours_finds_it_and_names_file_and_index() {
    let folder = large().join("log");
    let look = || verify(&folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
    let right = look();
    assert!(right.is_right(), "{:?}", right.findings);
    assert_eq!((right.entries, right.others, right.files), (LARGE, 0, 552));
    for tampering in TAMPERINGS {
        let found = tampering.during(&folder, look);
        assert!(!found.is_right(), "{}", tampering.name);
        let Finding { file, index, what } = &found.findings[0];
        let (right_file, right_index, right_what) = tampering.finding;
        assert_eq!((file.as_str(), *index), (right_file, right_index), "{}: {what}", tampering.name);
        assert!(what.contains(right_what), "{}: {what}", tampering.name);
    }
    assert!(look().is_right(), "it was all put back");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_flipped_bit_of_any_file_is_found(
        place in any::<prop::sample::Index>(), byte in any::<prop::sample::Index>(), bit in 0_u8..8,
    ) {
        let folder = small();
        let names: Vec<TilePath> = files(600).collect();
        let file = folder.join(names.get(place.index(names.len())).unwrap().to_string());
        let before = fs::read(&file).unwrap();
        let mut bytes = before.clone();
        *bytes.get_mut(byte.index(before.len())).unwrap() ^= 1 << bit;
        fs::write(&file, bytes).unwrap();
        let found = verify(folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
        fs::write(&file, before).unwrap();
        prop_assert!(!found.is_right(), "{}", file.display());
        prop_assert_eq!(folder.join(&found.findings[0].file), file);
    }
}

/// One test, since it changes a folder that is costly to make: every verifier that is installed sees every change.
#[test]
fn other_peoples_verifiers_find_it_too() {
    let verifiers = others::installed();
    if verifiers.is_empty() {
        return;
    }
    let folder = large().join("log");
    for verifier in &verifiers {
        let right = verifier.verify(&folder, LARGE, 5);
        assert!(right.is_ok(), "{}: {right:?}", verifier.name());
    }
    for tampering in TAMPERINGS {
        tampering.during(&folder, || {
            for verifier in &verifiers {
                let verified = verifier.verify(&folder, LARGE, tampering.index);
                assert!(verified.is_err(), "{} does not see {}", verifier.name(), tampering.name);
            }
        });
    }
}
