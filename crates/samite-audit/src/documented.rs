//! The vectors of docs/formats.md, and what they are made of.

use crate::leaf::tests::{full, leaf};
use crate::merkle::leaf_hash;
use crate::note::{KeyKind, Signature, VerifierKey};
use crate::testing::TestSigner;
use crate::{Frontier, TreeHead};
use data_encoding::HEXLOWER;

/// The lines of the block with this name.
pub(crate) fn documented(name: &str) -> String {
    let document = include_str!("../../../docs/formats.md");
    let after = document.split(&format!("```{name}\n")).nth(1).unwrap();
    after.split("```").next().unwrap().to_owned()
}

/// The same in one line, as it was before the page broke it.
pub(crate) fn joined(name: &str) -> String {
    documented(name).lines().collect()
}

/// The log of the two leaves that the page names.
pub(crate) fn log() -> Frontier {
    let mut frontier = Frontier::new();
    for leaf in [leaf(), full()] {
        frontier.push(leaf_hash(&leaf.encode().unwrap()));
    }
    frontier
}

pub(crate) fn signers() -> (TestSigner, TestSigner) {
    (TestSigner::new("example.com/audit", 1), TestSigner::new("witness.example/w", 2))
}

/// The signed and cosigned tree head of [`log`].
pub(crate) fn signed() -> String {
    let (log_signer, witness) = signers();
    let mut note = TreeHead::of("example.com/audit", &log()).unwrap().sign(&log_signer).unwrap();
    note.add(Signature::cosign(note.text(), 1_700_000_000, &witness).unwrap());
    note.to_string()
}

#[test]
fn the_page_has_the_root_and_the_frontier() {
    let mut frontier = log();
    assert_eq!(frontier.root().to_string(), joined("vector audit-root"));
    frontier.push(leaf_hash(b"a"));
    assert_eq!(HEXLOWER.encode(&frontier.encode()), joined("vector audit-frontier"));
}

#[test]
fn the_page_has_the_tree_head_and_the_keys() {
    let (log_signer, witness) = signers();
    assert_eq!(signed(), documented("audit-tree-head"));
    let witness_key = VerifierKey::of(&witness, KeyKind::Cosignature).unwrap();
    assert_eq!(format!("{}\n{witness_key}\n", log_signer.verifier()), documented("audit-verifier-keys"));
    let opened = TreeHead::open(signed().as_bytes(), &log_signer.verifier(), &[witness_key]).unwrap();
    assert_eq!((opened.head.size, opened.cosigners[0].seconds), (2, 1_700_000_000));
}
