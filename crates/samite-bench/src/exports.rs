//! Exporting an audit log and verifying the export, against hashing its entries alone.

use crate::Bench;
use crate::table::{Row, Table, Target};
use crate::turns::{count, in_turns, seconds};
use samite_audit::export::{export, verify};
use samite_audit::leaf::{Actor, Word};
use samite_audit::merkle::leaf_hash;
use samite_audit::testing::TestSigner;
use samite_audit::{Frontier, Leaf, Signer, TreeHead, VerifierKey};
use samite_model::{Commitment, EntryId, Error, JournalId, Link, Pseudonym, Result};
use std::path::Path;

const ENTRIES: u32 = 500_000;
const ROUNDS: usize = 5;
/// What verifying is to do, in entries a second on one core.
const WANTED: f64 = 300_000.0;

/// An entry as a store writes them, of about 500 bytes.
fn entry(index: u32) -> Result<Vec<u8>> {
    let mut id = [7; 32];
    for (place, byte) in id.iter_mut().zip(u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()) {
        *place = byte;
    }
    let short: [u8; 16] = std::array::from_fn(|place| id.get(place).copied().unwrap_or_default());
    let leaf = Leaf {
        act: Word::new("session_created")?,
        at: 1_700_000_000_000_000_000 + i64::from(index),
        journal: JournalId(short),
        seq: u64::from(index) + 1,
        entry: EntryId(short),
        link: Link(id),
        commitment: Commitment(id),
        actor: Actor { user: Pseudonym(short), agent: Some(Pseudonym([1; 16])), workload: Some(Pseudonym([2; 16])) },
        owner: Pseudonym(short),
        policy: [].into(),
        consent: [].into(),
        anchors: Vec::new(),
        previous: None,
        extra: Vec::new(),
    };
    leaf.encode()
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let directory = bench.directory()?;
    let folder = directory.path().join("log");
    let key = TestSigner::new("bench.example/audit", 1);
    let verifier = key.verifier();
    let entries: Vec<Vec<u8>> = (0..ENTRIES).map(entry).collect::<Result<_>>()?;
    let mut frontier = Frontier::new();
    for entry in &entries {
        frontier.push(leaf_hash(entry));
    }
    let signed = TreeHead::of(key.name(), &frontier)?.sign(&key)?;
    let all = || entries.iter().map(|entry| Ok(entry.clone()));
    let exported = seconds(|| export(&folder, &signed, &verifier, |_| all(), &mut |_| {}).map(drop))?;
    let hashed = |_| {
        let mut seen = 0_u8;
        for entry in &entries {
            seen ^= leaf_hash(entry).as_bytes()[0];
        }
        // What nobody looks at might not be made.
        std::hint::black_box(seen);
        Ok(())
    };
    let (ours, other) = in_turns(ROUNDS, |_| verified(&folder, &verifier), hashed)?;
    let [exported, ours, other] = [exported, ours, other].map(|seconds| count(ENTRIES) / seconds);
    let row = |name, ours, other, target| Row { name, ours, other, unit: "entries/s", ratio: ours / other, target };
    table.row(&row("audit: verify an export; the rate wanted", ours, WANTED, Target::AtLeast(1.0)));
    table.row(&row("  the same; hashing its entries alone", ours, other, Target::AtLeast(0.3)));
    table.row(&row("audit: export; the rate wanted", exported, WANTED / 10.0, Target::AtLeast(1.0)));
    Ok(())
}

fn verified(folder: &Path, key: &VerifierKey) -> Result<()> {
    let found = verify(folder, key, &[], &mut |_, _| Ok(()))?;
    if found.is_right() && found.entries == u64::from(ENTRIES) {
        return Ok(());
    }
    Err(Error::internal("bench", format!("the export does not verify: {:?}", found.findings.first())))
}
