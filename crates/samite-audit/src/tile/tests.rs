use super::*;
use crate::Frontier;
use crate::merkle::{Hash, HashReader as _, Node, leaf_hash, prove_consistency, prove_inclusion, verify_inclusion};
use proptest::prelude::*;
use samite_model::{Error, Result};
use std::collections::BTreeSet;

fn entry(number: u64) -> Vec<u8> {
    format!("entry {number}").into_bytes()
}

fn entries(from: u64, to: u64) -> impl Iterator<Item = Result<Vec<u8>>> {
    (from..to).map(|number| Ok(entry(number)))
}

/// All files of the log of the first so many entries, and its frontier.
fn log(size: u64) -> (Tiles, Frontier) {
    let mut stream = TileStream::new(Edge::default(), entries(0, size));
    let tiles = stream.by_ref().map(|file| file.map(|file| (file.path, file.bytes))).collect::<Result<_>>().unwrap();
    (tiles, stream.frontier())
}

fn frontier(size: u64) -> Frontier {
    let mut frontier = Frontier::new();
    (0..size).for_each(|number| frontier.push(leaf_hash(&entry(number))));
    frontier
}

#[test]
fn paths_are_those_of_the_specification() {
    let path = |kind, index, width| TilePath { kind, index, width };
    let hashes = TileKind::Hashes;
    for (path, text) in [
        (path(hashes(0), 0, 256), "tile/0/000"),
        (path(hashes(0), 1_234_067, 256), "tile/0/x001/x234/067"),
        (path(hashes(1), 999, 17), "tile/1/999.p/17"),
        (path(hashes(63), 1000, 1), "tile/63/x001/000.p/1"),
        (path(TileKind::Entries, 273, 112), "tile/entries/273.p/112"),
        (path(TileKind::Entries, 1_000_000, 255), "tile/entries/x001/x000/000.p/255"),
        (path(hashes(0), u64::MAX, 256), "tile/0/x018/x446/x744/x073/x709/x551/615"),
    ] {
        assert_eq!(path.to_string(), text);
        assert_eq!(text.parse::<TilePath>().unwrap(), path);
    }
    for text in [
        "",
        "tile",
        "tile/0",
        "tile/0/",
        "tile/0/0",
        "tile/0/0000",
        "tile/00/000",
        "tile/64/000",
        "tile/+1/000",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000.p/",
        "tile/0/x000/000",
        "tile/0/001/000",
        "tile/0/x001/x000",
        "tile/0/+00",
        "tile/data/000",
        "/tile/0/000",
        "tile/0/000/",
        "tile/0/../000",
        "tile/0/x018/x446/x744/x073/x709/x551/616",
    ] {
        assert_eq!(text.parse::<TilePath>().unwrap_err().code(), "bad_tile_path", "{text}");
    }
}

#[test]
fn a_log_of_70000_has_the_files_of_the_specification() {
    let names: Vec<String> = files(70_000).map(|path| path.to_string()).collect();
    assert_eq!(names.len(), 274 + 274 + 2 + 1);
    assert_eq!(names[..2], ["tile/entries/000", "tile/entries/001"]);
    assert_eq!(names[272..275], ["tile/entries/272", "tile/entries/273.p/112", "tile/0/000"]);
    assert_eq!(names[547..], ["tile/0/273.p/112", "tile/1/000", "tile/1/001.p/17", "tile/2/000.p/1"]);
    let names: Vec<String> = files(256).map(|path| path.to_string()).collect();
    assert_eq!(names, ["tile/entries/000", "tile/0/000", "tile/1/000.p/1"]);
    assert_eq!(files(0).count(), 0);
    let names: Vec<String> = changed(70_000, 70_200).map(|path| path.to_string()).collect();
    assert_eq!(
        names,
        ["tile/entries/273", "tile/entries/274.p/56", "tile/0/273", "tile/0/274.p/56", "tile/1/001.p/18",]
    );
    assert_eq!(changed(70_000, 70_000).count(), 0);
    assert_eq!(files(u64::MAX >> 1).take(3).count(), 3, "it is no list in memory");
}

#[test]
fn the_stream_makes_exactly_these_files() {
    for size in [0, 1, 2, 255, 256, 257, 511, 512, 70_000] {
        let (tiles, edge) = log(size);
        let paths: BTreeSet<TilePath> = files(size).collect();
        assert_eq!(tiles.keys().copied().collect::<BTreeSet<_>>(), paths, "{size}");
        assert_eq!(edge, frontier(size), "{size}");
        for (path, bytes) in &tiles {
            let count =
                if path.kind == TileKind::Entries { bundle_entries(bytes).unwrap().len() } else { bytes.len() / 32 };
            assert_eq!(count, usize::from(path.width), "{path}");
        }
    }
}

#[test]
fn a_log_goes_on_from_its_edge_as_if_it_had_been_made_at_once() {
    for (old, new) in [(0, 3), (3, 3), (3, 4), (250, 256), (256, 257), (256, 1000), (1000, 70_000), (65_536, 65_537)] {
        let (mut tiles, before) = log(old);
        let (edge, read) = Edge::read(&mut tiles, old).unwrap();
        assert_eq!((edge.size(), &read), (old, &before));
        let mut stream = TileStream::new(edge, entries(old, new));
        let added: Vec<TileFile> = stream.by_ref().collect::<Result<_>>().unwrap();
        let paths: BTreeSet<TilePath> = added.iter().map(|file| file.path).collect();
        assert_eq!(paths.len(), added.len());
        assert_eq!(paths, changed(old, new).collect(), "{old} to {new}");
        let (whole, after) = log(new);
        assert_eq!(stream.frontier(), after);
        for file in added {
            assert_eq!(whole.get(&file.path), Some(&file.bytes), "{}", file.path);
        }
    }
}

/// As a log that removed what is not full any more.
struct Wider(Tiles);

impl TileSource for Wider {
    fn read(&mut self, path: TilePath) -> Result<Vec<u8>> {
        let found = self.0.iter().find(|(other, _)| other.kind == path.kind && other.index == path.index);
        found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| Error::not_found("no_tile", path.to_string()))
    }
}

#[test]
fn a_wider_file_does_where_a_narrower_one_is_gone() {
    let (wide, _) = log(300);
    for size in [257, 280, 300] {
        let (edge, read) = Edge::read(&mut Wider(wide.clone()), size).unwrap();
        assert_eq!(read, frontier(size));
        let mut stream = TileStream::new(edge, entries(size, 300));
        assert!(stream.by_ref().all(|file| file.is_ok()));
        assert_eq!(stream.frontier(), frontier(300));
    }
}

#[test]
fn an_edge_that_was_changed_is_found() {
    let (tiles, right) = log(70_000);
    let bundle: TilePath = "tile/entries/273.p/112".parse().unwrap();
    for path in ["tile/entries/273.p/112", "tile/0/273.p/112", "tile/1/001.p/17", "tile/2/000.p/1"] {
        let path: TilePath = path.parse().unwrap();
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut other = tiles.clone();
            change(other.get_mut(&path).unwrap());
            Edge::read(&mut other, 70_000)
        };
        match with(&|bytes| bytes[5] ^= 1) {
            Ok((_, frontier)) => assert_ne!(frontier.root(), right.root(), "{path}"),
            Err(error) => assert_eq!(error.code(), "bad_bundle", "{path}"),
        }
        let cut = with(&|bytes| bytes.truncate(bytes.len() - 1)).unwrap_err();
        assert_eq!(cut.code(), if path == bundle { "bad_bundle" } else { "bad_tile" });
        let mut other = tiles.clone();
        other.remove(&path);
        assert_eq!(Edge::read(&mut other, 70_000).unwrap_err().code(), "no_tile");
    }
}

#[test]
fn proofs_are_made_from_tiles() {
    let size = 70_000;
    let (mut tiles, frontier) = log(size);
    let leaves: Vec<Hash> = (0..size).map(|number| leaf_hash(&entry(number))).collect();
    let root = frontier.root();
    for index in [0, 1, 255, 256, 34_567, 65_535, 65_536, 69_887, 69_888, 69_999] {
        let proof = prove_inclusion(&mut TileReader::new(size, &mut tiles), index, size).unwrap();
        let leaf = leaf_hash(&entry(index));
        verify_inclusion(leaf, index, size, &proof, root).unwrap();
        assert_eq!(proof, prove_inclusion(&mut &leaves[..], index, size).unwrap());
    }
    for old in [1, 256, 257, 65_535, 65_536, 65_537, 69_999] {
        let proof = prove_consistency(&mut TileReader::new(size, &mut tiles), old, size).unwrap();
        assert_eq!(proof, prove_consistency(&mut &leaves[..], old, size).unwrap());
        // Sizes below that of the reader are in its tiles too.
        assert_eq!(Frontier::read(&mut TileReader::new(size, &mut tiles), old).unwrap(), super::tests::frontier(old));
    }
    let mut reader = TileReader::new(size, &mut tiles);
    for node in [
        Node { height: 0, index: 70_000 },
        Node { height: 16, index: 1 },
        Node { height: 63, index: 1 },
        Node { height: 64, index: 0 },
        Node { height: 40, index: u64::MAX },
    ] {
        assert_eq!(reader.read(node).unwrap_err().code(), "no_leaf", "{node:?}");
    }
}

#[test]
fn an_entry_has_at_most_65535_bytes() {
    let mut bundle = Vec::new();
    bundle_push(&mut bundle, &vec![7; LONGEST_ENTRY]).unwrap();
    assert_eq!(bundle_push(&mut bundle, &vec![7; LONGEST_ENTRY + 1]).unwrap_err().code(), "leaf_too_long");
    assert_eq!(bundle.len(), 2 + LONGEST_ENTRY);
    assert_eq!(bundle_entries(&bundle).unwrap(), [&vec![7; LONGEST_ENTRY][..]]);
    let stream = TileStream::new(Edge::default(), [Ok(vec![1]), Ok(vec![0; 65_536]), Ok(vec![1])].into_iter());
    let files: Vec<_> = stream.collect();
    assert_eq!(files.len(), 1, "it ends with what it cannot take");
    assert_eq!(files[0].as_ref().unwrap_err().code(), "leaf_too_long");
}

#[test]
fn a_bundle_that_is_cut_or_too_long_is_refused() {
    let mut bundle = Vec::new();
    bundle_push(&mut bundle, b"").unwrap();
    bundle_push(&mut bundle, b"ab").unwrap();
    assert_eq!(bundle, b"\0\0\0\x02ab");
    assert_eq!(bundle_entries(&bundle).unwrap(), [&b""[..], b"ab"]);
    assert_eq!(bundle_entries(b"").unwrap(), Vec::<&[u8]>::new());
    for cut in [1, 3, 4, 5] {
        assert_eq!(bundle_entries(&bundle[..cut]).unwrap_err().code(), "bad_bundle", "{cut}");
    }
    assert_eq!(bundle_entries(&[0; 512]).unwrap().len(), 256);
    assert_eq!(bundle_entries(&[0; 514]).unwrap_err().code(), "bad_bundle");
}

proptest! {
    #[test]
    fn any_text_is_a_path_of_one_spelling_or_none(text in "tile/[0-9e]{1,2}/[x0-9/.p]{0,12}") {
        if let Ok(path) = text.parse::<TilePath>() {
            prop_assert_eq!(path.to_string(), text);
        }
    }

    #[test]
    fn what_is_new_together_with_what_was_full_is_all(old in 0_u64..200_000, grown in 0_u64..200_000) {
        let new = old + grown;
        let kept = files(old).filter(TilePath::is_full);
        let all: BTreeSet<TilePath> = kept.chain(changed(old, new)).collect();
        let expected: BTreeSet<TilePath> = files(new).collect();
        // A file that is not full and did not grow is in neither.
        let same: BTreeSet<TilePath> = expected.difference(&all).copied().collect();
        prop_assert!(all.is_subset(&expected));
        prop_assert!(same.iter().all(|path| !path.is_full() && files(old).any(|before| before == *path)));
    }
}
