use super::*;
use proptest::prelude::*;

/// The tree by its definition alone.
fn naive(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of_nothing(),
        [leaf] => *leaf,
        _ => {
            let mut middle = 1;
            while middle * 2 < leaves.len() {
                middle *= 2;
            }
            node_hash(naive(&leaves[..middle]), naive(&leaves[middle..]))
        }
    }
}

/// PATH of RFC 6962, 2.1.1.
fn naive_path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() < 2 {
        return Vec::new();
    }
    let mut middle = 1;
    while middle * 2 < leaves.len() {
        middle *= 2;
    }
    let (left, right) = leaves.split_at(middle);
    let (mut path, beside) = if index < middle {
        (naive_path(index, left), naive(right))
    } else {
        (naive_path(index - middle, right), naive(left))
    };
    path.push(beside);
    path
}

/// SUBPROOF of RFC 6962, 2.1.2.
fn naive_subproof(old: usize, leaves: &[Hash], whole: bool) -> Vec<Hash> {
    if old == leaves.len() {
        return if whole { Vec::new() } else { vec![naive(leaves)] };
    }
    let mut middle = 1;
    while middle * 2 < leaves.len() {
        middle *= 2;
    }
    let (left, right) = leaves.split_at(middle);
    let (mut proof, beside) = if old <= middle {
        (naive_subproof(old, left, whole), naive(right))
    } else {
        (naive_subproof(old - middle, right, false), naive(left))
    };
    proof.push(beside);
    proof
}

fn leaves(count: usize) -> Vec<Hash> {
    (0..count).map(|number| leaf_hash(&number.to_be_bytes())).collect()
}

/// The inputs that implementations of RFC 6962 test with, and the roots of the first so many of them.
const VECTORS: [(&[u8], &str); 8] = [
    (b"", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
    (b"\x00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
    (b"\x10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
    (b"\x20\x21", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
    (b"\x30\x31", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
    (b"\x40\x41\x42\x43", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
    (b"PQRSTUVW", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
    (b"`abcdefghijklmno", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
];

#[test]
fn roots_are_those_of_rfc_6962() {
    assert_eq!(Frontier::new().root().to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    let mut frontier = Frontier::new();
    for (number, (entry, root)) in VECTORS.iter().enumerate() {
        frontier.push(leaf_hash(entry));
        assert_eq!(frontier.root().to_string(), *root, "{number}");
        assert_eq!(frontier.size(), number as u64 + 1);
    }
}

#[test]
fn proofs_are_those_of_rfc_6962() {
    let hashes: Vec<Hash> = VECTORS.iter().map(|(entry, _)| leaf_hash(entry)).collect();
    let hex = |proof: Vec<Hash>| proof.iter().map(Hash::to_string).collect::<Vec<_>>();
    assert_eq!(
        hex(prove_inclusion(&mut &hashes[..], 5, 8).unwrap()),
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
    assert_eq!(
        hex(prove_consistency(&mut &hashes[..], 6, 8).unwrap()),
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
}

#[test]
fn a_frontier_gives_the_root_of_the_definition_and_its_bytes_come_back() {
    let hashes = leaves(300);
    let mut frontier = Frontier::new();
    for size in 0..hashes.len() {
        assert_eq!(frontier.root(), naive(&hashes[..size]), "{size}");
        assert_eq!(Frontier::decode(&frontier.encode()).unwrap(), frontier);
        assert_eq!(Frontier::read(&mut &hashes[..], size as u64).unwrap(), frontier);
        assert_eq!(root(&mut &hashes[..], size as u64).unwrap(), frontier.root());
        frontier.push(hashes[size]);
    }
    assert_eq!(frontier.peaks().len(), 4, "300 is 100101100");
}

#[test]
fn whole_subtrees_are_appended_where_they_fit() {
    let hashes = leaves(12);
    let mut frontier = Frontier::read(&mut &hashes[..], 8).unwrap();
    assert!(frontier.push_complete(naive(&hashes[8..12]), 2));
    assert_eq!((frontier.size(), frontier.root()), (12, naive(&hashes)));
    assert!(!frontier.push_complete(hashes[0], 3), "12 is no multiple of 8");
    assert!(!frontier.push_complete(hashes[0], 64));
    assert_eq!((frontier.size(), frontier.root()), (12, naive(&hashes)));
}

#[test]
fn other_bytes_are_no_frontier() {
    let mut frontier = Frontier::new();
    for hash in leaves(3) {
        frontier.push(hash);
    }
    let bytes = frontier.encode();
    assert_eq!(bytes.len(), 9 + 64);
    for cut in 0..bytes.len() {
        assert_eq!(Frontier::decode(&bytes[..cut]).unwrap_err().code(), "bad_frontier", "{cut}");
    }
    for (place, value) in [(0, 2), (8, 4), (8, 7), (1, 0x80)] {
        let mut other = bytes.clone();
        other[place] = value;
        assert!(Frontier::decode(&other).is_err(), "{place}");
    }
    assert!(Frontier::decode(&[&bytes[..], &[0]].concat()).is_err());
}

#[test]
fn every_proof_of_every_small_tree_is_that_of_the_definition_and_verifies() {
    let hashes = leaves(40);
    for size in 0..=hashes.len() {
        let tree = &hashes[..size];
        let root = naive(tree);
        for index in 0..size {
            let proof = prove_inclusion(&mut &hashes[..], index as u64, size as u64).unwrap();
            assert_eq!(proof, naive_path(index, tree), "{index} of {size}");
            verify_inclusion(tree[index], index as u64, size as u64, &proof, root).unwrap();
        }
        for old in 0..=size {
            let proof = prove_consistency(&mut &hashes[..], old as u64, size as u64).unwrap();
            let expected = if old == 0 { Vec::new() } else { naive_subproof(old, tree, true) };
            assert_eq!(proof, expected, "{old} to {size}");
            verify_consistency((old as u64, naive(&hashes[..old])), (size as u64, root), &proof).unwrap();
        }
    }
}

#[test]
fn what_is_not_there_is_not_proved() {
    let hashes = leaves(5);
    let reader = &mut &hashes[..];
    assert_eq!(prove_inclusion(reader, 5, 5).unwrap_err().code(), "bad_leaf_range");
    assert_eq!(prove_inclusion(reader, 0, 0).unwrap_err().code(), "bad_leaf_range");
    assert_eq!(prove_consistency(reader, 5, 4).unwrap_err().code(), "bad_leaf_range");
    assert_eq!(prove_inclusion(reader, 1, 8).unwrap_err().code(), "no_leaf");
    assert_eq!(range_root(reader, 3, 3).unwrap_err().code(), "bad_leaf_range");
    assert_eq!(range_root(reader, 1, 4).unwrap(), node_hash(node_hash(hashes[1], hashes[2]), hashes[3]));
}

proptest! {
    #[test]
    fn a_changed_inclusion_proof_is_refused(
        size in 1_usize..200, index in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), bit in 0_u32..256,
    ) {
        let hashes = leaves(size);
        let index = index.index(size);
        let (at, count, root) = (index as u64, size as u64, naive(&hashes));
        let proof = prove_inclusion(&mut &hashes[..], at, count).unwrap();
        let verify = |leaf, at, count, proof: &[Hash], root| verify_inclusion(leaf, at, count, proof, root);
        let flip = |hash: &mut Hash| hash.0[bit as usize / 8] ^= 1 << (bit % 8);
        prop_assert!(verify(hashes[index], at, count, &proof, root).is_ok());
        let mut other = hashes[index];
        flip(&mut other);
        prop_assert!(verify(other, at, count, &proof, root).is_err());
        let mut other = root;
        flip(&mut other);
        prop_assert!(verify(hashes[index], at, count, &proof, other).is_err());
        prop_assert!(verify(hashes[index], count, count, &proof, root).is_err());
        prop_assert!(verify(hashes[index], at, count, &[&proof[..], &[root]].concat(), root).is_err());
        if !proof.is_empty() {
            let mut other = proof.clone();
            flip(&mut other[place.index(proof.len())]);
            prop_assert!(verify(hashes[index], at, count, &other, root).is_err());
            prop_assert!(verify(hashes[index], at, count, &proof[..proof.len() - 1], root).is_err());
            prop_assert!(verify(hashes[index], at, count, &proof[1..], root).is_err());
            prop_assert!(verify(hashes[index], at ^ 1, count, &proof, root).is_err());
        }
    }

    #[test]
    fn a_changed_consistency_proof_is_refused(
        new in 2_usize..200, old in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), bit in 0_u32..256,
    ) {
        let hashes = leaves(new);
        let old = old.index(new - 1) + 1;
        let (before, after) = ((old as u64, naive(&hashes[..old])), (new as u64, naive(&hashes)));
        let proof = prove_consistency(&mut &hashes[..], before.0, after.0).unwrap();
        let flip = |mut hash: Hash| { hash.0[bit as usize / 8] ^= 1 << (bit % 8); hash };
        prop_assert!(verify_consistency(before, after, &proof).is_ok());
        prop_assert!(verify_consistency((before.0, flip(before.1)), after, &proof).is_err());
        prop_assert!(verify_consistency(before, (after.0, flip(after.1)), &proof).is_err());
        prop_assert!(verify_consistency(after, before, &proof).is_err());
        prop_assert!(verify_consistency(before, after, &[&proof[..], &[after.1]].concat()).is_err());
        let mut other = proof.clone();
        let place = place.index(proof.len());
        other[place] = flip(other[place]);
        prop_assert!(verify_consistency(before, after, &other).is_err());
        prop_assert!(verify_consistency(before, after, &proof[..proof.len() - 1]).is_err());
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(frontier) = Frontier::decode(&bytes) {
            prop_assert_eq!(frontier.encode(), bytes);
        }
    }
}
