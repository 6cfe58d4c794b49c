//! Proofs that stand on their own, made from an export: verified by us, by Go's sumdb and by `aics-tlog`.

use crate::log::{LARGE, ORIGIN, entry, key, large, signed};
use crate::others::{self, Verifier};
use samite_audit::export::FolderTiles;
use samite_audit::merkle::prove_consistency;
use samite_audit::proof::PROOF_EXTENSION;
use samite_audit::tile::TileReader;
use samite_audit::{Hash, Proof};
use std::fs;
use std::path::Path;

fn proof(index: u64) -> Proof {
    let mut tiles = FolderTiles::new(&large().join("log"));
    Proof::make(&mut TileReader::new(LARGE, &mut tiles), index, &signed(LARGE)).unwrap()
}

/// One hash a line.
fn lines(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| hash.to_base64() + "\n").collect()
}

/// What each verifier that is installed says of a proof.
fn others_say(verifiers: &[Verifier], scratch: &Path, proof: &Proof, entry: &[u8]) -> Vec<(&'static str, bool)> {
    let file = |name: &str, bytes: &[u8]| {
        let path = scratch.join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let receipt = file(&format!("receipt.{PROOF_EXTENSION}"), proof.to_string().as_bytes());
    let (leaf, hashes) = (file("leaf", entry), file("hashes", lines(&proof.hashes).as_bytes()));
    let root = proof.signed.text().lines().nth(2).unwrap().to_owned();
    let (index, size) = (proof.index.to_string(), LARGE.to_string());
    let aics =
        ["verify-inclusion", "--leaf", &leaf, "--index", &index, "--size", &size, "--root", &root, "--proof", &hashes];
    let said = |verifier: &Verifier| match verifier {
        Verifier::Program("sumdb-verify", _) => Some(verifier.run(&[&receipt, &key().verifier().to_string(), &leaf])),
        Verifier::Program(..) => None,
        Verifier::Aics(_) => Some(verifier.run(&aics)),
    };
    verifiers.iter().filter_map(|verifier| Some((verifier.name(), said(verifier)?.is_ok()))).collect()
}

#[test]
fn proofs_from_an_export_verify_everywhere_and_for_their_entry_only() {
    let verifiers = others::installed();
    let scratch = tempfile::tempdir().unwrap();
    for index in [0, 255, 65_536, 69_999] {
        let proof = Proof::parse(proof(index).to_string().as_bytes()).unwrap();
        let opened = proof.verify(&entry(index), &key().verifier(), &[]).unwrap();
        assert_eq!((opened.head.origin.as_str(), opened.head.size), (ORIGIN, LARGE));
        let other = entry(index + 1);
        assert_eq!(proof.verify(&other, &key().verifier(), &[]).unwrap_err().code(), "not_included");
        if index == 65_536 || index == 69_999 {
            let right = others_say(&verifiers, scratch.path(), &proof, &entry(index));
            assert!(right.iter().all(|(_, verified)| *verified), "{index}: {right:?}");
            let wrong = others_say(&verifiers, scratch.path(), &proof, &other);
            assert!(wrong.iter().all(|(_, verified)| !verified), "{index}: {wrong:?}");
        }
    }
}

#[test]
fn gos_sumdb_accepts_our_proofs_that_a_log_was_only_continued() {
    let verifiers = others::installed();
    let Some(go) = verifiers.iter().find(|verifier| verifier.name() == "sumdb-verify") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let mut tiles = FolderTiles::new(&large().join("log"));
    let file = |name: &str, bytes: String| {
        let path = scratch.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let newer = file("newer", signed(LARGE).to_string());
    for old in [1, 256, 65_535, 69_990] {
        let hashes = prove_consistency(&mut TileReader::new(LARGE, &mut tiles), old, LARGE).unwrap();
        let older = file("older", signed(old).to_string());
        let key = key().verifier().to_string();
        let right = file("right", lines(&hashes));
        go.run(&[&older, &key, &newer, &right]).unwrap();
        let wrong = file("wrong", lines(&hashes[1..]));
        assert!(go.run(&[&older, &key, &newer, &wrong]).is_err(), "{old}");
    }
}
