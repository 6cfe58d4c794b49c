use super::*;
use crate::leaf::Actor;
use crate::merkle::leaf_hash;
use crate::note::KeyKind;
use crate::{Frontier, Leaf, TreeHead, VerifierKey};
use samite_host::SystemRandomness;
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::{Finisher, LogState, Placed};
use samite_model::{Commitment, EntryId, EntryKind, Header, JournalId, KeyId, Link, Pseudonym, Result, Tenant};
use std::collections::BTreeSet;
use std::sync::Arc;
use tempfile::TempDir;

fn keyring() -> (Keyring, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let random = Arc::new(SystemRandomness::new());
    let keys = Keyring::open(KeyringOptions {
        directory: folder.path().join("keys"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(folder.path().join("master.key"), random.clone())),
        random,
        create: true,
    })
    .unwrap();
    keys.ensure_audit_key().unwrap();
    (keys, folder)
}

fn header(seq: u64) -> Header {
    Header {
        kind: EntryKind::SESSION_CREATED,
        seq,
        epoch: 0,
        time: 1_700_000_000_000_000_001,
        id: EntryId([u8::try_from(seq).unwrap(); 16]),
        actor: Pseudonym([2; 16]),
        owner: Pseudonym([3; 16]),
        key: KeyId([4; 8]),
        length: 42,
        commitment: Commitment([5; 32]),
    }
}

fn draft() -> Vec<u8> {
    let actor = Actor { user: Pseudonym([6; 16]), agent: Some(Pseudonym([7; 16])), workload: None };
    let (policy, consent) = (BTreeSet::new(), BTreeSet::new());
    LeafDraft { actor, owner: Pseudonym([8; 16]), policy, consent, anchors: Vec::new() }.encode()
}

/// A ledger's part: leaves by log and the newest state.
#[derive(Clone, Default)]
struct Stored {
    leaves: Vec<(u64, Vec<u8>)>,
    state: Option<LogState>,
}

impl Stored {
    fn of(&self, log: u64) -> Vec<&[u8]> {
        self.leaves.iter().filter(|(of, _)| *of == log).map(|(_, leaf)| leaf.as_slice()).collect()
    }

    fn add(&mut self, finisher: &LogFinisher, seqs: std::ops::RangeInclusive<u64>) -> Result<()> {
        let leaves = self.clone();
        let mut read =
            |log: u64, index: u64| Ok(leaves.of(log).get(usize::try_from(index).unwrap()).map(|leaf| leaf.to_vec()));
        let mut group = finisher.begin(self.state.clone(), &mut read)?;
        for seq in seqs {
            let placed = Placed { journal: JournalId([1; 16]), header: &header(seq), link: Link([9; 32]) };
            self.leaves.push((group.log(), group.leaf(&draft(), &placed)?));
        }
        self.state = Some(group.finish()?);
        Ok(())
    }

    fn head(&self) -> TreeHead {
        LogHead::decode(&self.state.as_ref().unwrap().state).unwrap().head().unwrap()
    }
}

fn published(stored: &Stored) -> Published {
    let state = stored.state.as_ref().unwrap();
    let last_leaf = leaf_hash(stored.of(state.log).last().unwrap());
    Published { log: state.log, head: stored.head(), last_leaf }
}

#[test]
fn the_head_is_that_of_the_leaves_and_signed_under_the_origin() {
    let (keys, _folder) = keyring();
    let finisher = LogFinisher::new(keys.clone(), None);
    let mut stored = Stored::default();
    stored.add(&finisher, 1..=3).unwrap();
    stored.add(&finisher, 4..=5).unwrap();
    let mut frontier = Frontier::new();
    stored.of(1).iter().for_each(|leaf| frontier.push(leaf_hash(leaf)));
    let name = format!("samite.local/{}/1", data_encoding::HEXLOWER.encode(&keys.name().id));
    assert_eq!(stored.head(), TreeHead { origin: name.clone(), size: 5, root: frontier.root() });
    let state = LogHead::decode(&stored.state.as_ref().unwrap().state).unwrap();
    let key = VerifierKey::new(&name, KeyKind::Ed25519, keys.audit_key().unwrap().public()).unwrap();
    TreeHead::open(state.note.to_string().as_bytes(), &key, &[]).unwrap();
    let other = VerifierKey::new(&name, KeyKind::Ed25519, [7; 32]).unwrap();
    assert!(TreeHead::open(state.note.to_string().as_bytes(), &other, &[]).is_err());
}

#[test]
fn a_leaf_says_what_its_entry_is() {
    let (keys, _folder) = keyring();
    let mut stored = Stored::default();
    stored.add(&LogFinisher::new(keys, None), 7..=7).unwrap();
    let leaf = Leaf::parse(stored.of(1)[0]).unwrap();
    assert_eq!((leaf.act.as_str(), leaf.at, leaf.seq), ("session_created", 1_700_000_000_000_000_001, 7));
    assert_eq!((leaf.journal, leaf.link), (JournalId([1; 16]), Link([9; 32])));
    assert_eq!((leaf.entry, leaf.commitment), (EntryId([7; 16]), Commitment([5; 32])));
    assert_eq!((leaf.owner, leaf.actor.user), (Pseudonym([8; 16]), Pseudonym([6; 16])));
    assert_eq!(leaf.previous, None);
}

#[test]
fn an_older_copy_begins_another_log_that_names_what_was_published() {
    let (keys, _folder) = keyring();
    let mut stored = Stored::default();
    stored.add(&LogFinisher::new(keys.clone(), None), 1..=3).unwrap();
    let copy = stored.clone();
    stored.add(&LogFinisher::new(keys.clone(), None), 4..=6).unwrap();
    let published = published(&stored);
    // The store that has it goes on.
    let finisher = || LogFinisher::new(keys.clone(), Some(published.clone()));
    stored.add(&finisher(), 7..=7).unwrap();
    assert_eq!(stored.head().size, 7);

    // One that is shorter does not, nor one that went on otherwise, nor one that lost its log.
    let mut shorter = copy.clone();
    shorter.add(&finisher(), 8..=9).unwrap();
    let mut apart = copy;
    apart.add(&LogFinisher::new(keys.clone(), None), 10..=14).unwrap();
    apart.add(&finisher(), 8..=9).unwrap();
    let mut empty = Stored::default();
    empty.add(&finisher(), 8..=9).unwrap();
    for other in [&shorter, &apart, &empty] {
        let second = other.of(2);
        assert_eq!((other.head().size, second.len()), (2, 2));
        assert!(other.head().origin.ends_with("/2"), "{}", other.head().origin);
        assert_eq!(Leaf::parse(second[0]).unwrap().previous, Some(published.head.clone()));
        assert_eq!(Leaf::parse(second[1]).unwrap().previous, None);
    }
    // The new log goes on, also beside the old note.
    shorter.add(&finisher(), 15..=15).unwrap();
    assert_eq!((shorter.of(2).len(), shorter.of(3).len()), (3, 0));
}

#[test]
fn a_damaged_state_is_not_gone_on_with() {
    let (keys, _folder) = keyring();
    let mut stored = Stored::default();
    stored.add(&LogFinisher::new(keys.clone(), None), 1..=3).unwrap();
    let state = stored.state.clone().unwrap();
    // The signatures are made again with the next leaf.
    let text = LogHead::decode(&state.state).unwrap().note.text().len();
    for place in 0..3 + 9 + 2 * 32 + text {
        let mut damaged = stored.clone();
        damaged.state.as_mut().unwrap().state[place] ^= 1;
        let error = damaged.add(&LogFinisher::new(keys.clone(), None), 4..=4).unwrap_err();
        assert_eq!(error.kind(), samite_model::ErrorKind::Corrupt, "{place}: {error}");
    }
}
