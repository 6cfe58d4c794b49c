//! What is sealed is opened, by the right key, in the right place, unchanged.

use crate::common::{ENTRY, JOURNAL, Scratch, open, owner, seal};
use proptest::prelude::*;
use samite_keys::{Body, Domain, MAXIMUM_BLOCK};
use samite_model::hash::CommitmentHasher;
use samite_model::{BlockId, EntryId, JournalId, limits};
use std::sync::{LazyLock, Mutex};

static SHARED: LazyLock<Mutex<(Scratch, samite_keys::Keyring)>> = LazyLock::new(|| {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    Mutex::new((scratch, keyring))
});

proptest! {
    #[test]
    fn any_payload_comes_back(payload in prop::collection::vec(any::<u8>(), 0..2000), repeat in 1_usize..40) {
        let shared = SHARED.lock().unwrap();
        let ada = shared.1.subject(&owner("ada")).unwrap();
        let payload = payload.repeat(repeat);
        let sealed = seal(&shared.1, ada.pseudonym, &payload);
        prop_assert_eq!(sealed.0.length, payload.len() as u64);
        // Raw at worst: prefix 22, codec 1, salt 32, tag 16.
        prop_assert!(sealed.1.len() <= payload.len() + 71);
        prop_assert_eq!(open(&shared.1, &sealed).unwrap(), payload);
    }

    #[test]
    fn any_block_comes_back(plaintext in prop::collection::vec(any::<u8>(), 0..2000), kind: u8, repeat in 1_usize..40) {
        let shared = SHARED.lock().unwrap();
        let ada = shared.1.subject(&owner("ada")).unwrap();
        let plaintext = plaintext.repeat(repeat);
        for domain in [Domain::Tenant, Domain::Owner(ada.pseudonym)] {
            let id = shared.1.block_id(domain, kind, &plaintext).unwrap();
            let sealed = shared.1.seal_block(domain, id, kind, &plaintext).unwrap();
            prop_assert_eq!(shared.1.open_typed_block(domain, id, &sealed).unwrap(), (kind, plaintext.clone()));
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_payload_is_found() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let (header, mut bytes) = seal(&keyring, ada.pseudonym, &b"some words that are said again and again, ".repeat(4));
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = keyring.open_payload(&header, JOURNAL, &bytes).unwrap_err();
        assert_eq!(error.kind(), samite_model::ErrorKind::Corrupt, "bit {bit}: {error}");
        assert!(error.message().contains(&ENTRY.to_string()), "{error}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    for length in 0..bytes.len() {
        assert!(keyring.open_payload(&header, JOURNAL, &bytes[..length]).is_err(), "cut at {length}");
    }
}

#[test]
fn every_flipped_bit_of_a_block_is_found() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let id = keyring.block_id(Domain::Tenant, 1, b"words").unwrap();
    let mut bytes = keyring.seal_block(Domain::Tenant, id, 1, b"words").unwrap();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(keyring.open_block(Domain::Tenant, id, &bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert_eq!(keyring.open_block(Domain::Tenant, id, &bytes).unwrap(), b"words");
}

#[test]
fn a_payload_belongs_to_its_owner_journal_and_entry() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let bob = keyring.subject(&owner("bob")).unwrap();
    let (header, bytes) = seal(&keyring, ada.pseudonym, b"words");
    let elsewhere = keyring.open_payload(&header, JournalId([9; 16]), &bytes).unwrap_err();
    assert_eq!(elsewhere.code(), "bad_payload");
    for wrong in [
        samite_model::Header { id: EntryId([9; 16]), ..header.clone() },
        samite_model::Header { owner: bob.pseudonym, key: bob.key, ..header.clone() },
        samite_model::Header { length: header.length + 1, ..header.clone() },
        samite_model::Header { length: header.length - 1, ..header.clone() },
    ] {
        assert_eq!(keyring.open_payload(&wrong, JOURNAL, &bytes).unwrap_err().code(), "bad_payload");
    }
    let unknown = samite_model::Header { owner: bob.pseudonym, ..header };
    assert_eq!(keyring.open_payload(&unknown, JOURNAL, &bytes).unwrap_err().code(), "unknown_key");
}

#[test]
fn a_block_belongs_to_its_domain_and_id() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = Domain::Owner(keyring.subject(&owner("ada")).unwrap().pseudonym);
    let bob = Domain::Owner(keyring.subject(&owner("bob")).unwrap().pseudonym);
    let ids = [Domain::Tenant, ada, bob].map(|domain| keyring.block_id(domain, 1, b"words").unwrap());
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    assert_ne!(keyring.block_id(ada, 2, b"words").unwrap(), ids[1]);
    assert_eq!(keyring.block_id(ada, 1, b"words").unwrap(), ids[1]);
    let sealed = keyring.seal_block(ada, ids[1], 1, b"words").unwrap();
    assert!(keyring.open_block(bob, ids[1], &sealed).is_err());
    assert_eq!(keyring.open_block(ada, ids[2], &sealed).unwrap_err().code(), "bad_block");
    // Sealed under an id that its content does not have.
    let lie = keyring.seal_block(ada, ids[1], 1, b"other").unwrap();
    assert!(keyring.open_block(ada, ids[1], &lie).unwrap_err().message().contains("content"));
    let large = vec![0; MAXIMUM_BLOCK + 1];
    assert_eq!(keyring.seal_block(ada, ids[1], 1, &large).unwrap_err().code(), "block_too_large");
}

#[test]
fn a_large_payload_is_a_list_of_blocks() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let payload = vec![7; usize::try_from(limits::INLINE_PAYLOAD).unwrap() + 1];
    let refused = keyring.seal_payload(ada, JOURNAL, ENTRY, &payload).unwrap_err();
    assert_eq!(refused.code(), "payload_not_inline");
    seal(&keyring, ada.pseudonym, &payload[1..]);

    let (salt, blocks) = ([5; 32], vec![BlockId([1; 32]), BlockId([2; 32])]);
    let mut hasher = CommitmentHasher::new(&salt);
    payload.chunks(1000).for_each(|piece| hasher.update(piece));
    let (commitment, length) = (hasher.finish(), payload.len() as u64);
    let sealed = keyring.seal_block_list(ada, JOURNAL, ENTRY, &salt, commitment, length, &blocks).unwrap();
    let (mut header, _) = seal(&keyring, ada.pseudonym, b"");
    (header.length, header.commitment) = (sealed.length, sealed.commitment);
    let opened = keyring.open_payload(&header, JOURNAL, &sealed.bytes).unwrap();
    assert_eq!((&opened.body, opened.salt), (&Body::Blocks(blocks), salt));
    samite_keys::check_commitment(&salt, &payload, header.commitment).unwrap();
    let wrong = samite_keys::check_commitment(&salt, &payload[1..], header.commitment).unwrap_err();
    assert_eq!(wrong.code(), "commitment_mismatch");
    assert_eq!(opened.into_inline().unwrap_err().code(), "payload_in_blocks");
}

#[test]
fn hashes_are_of_their_subject_and_domain() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    let bob = keyring.subject(&owner("bob")).unwrap();
    let hash = |subject, domain, bytes: &[u8]| keyring.index_hash(subject, domain, bytes).unwrap();
    assert_eq!(hash(ada, "step", b"key"), hash(ada, "step", b"key"));
    assert_ne!(hash(ada, "step", b"key"), hash(bob, "step", b"key"));
    assert_ne!(hash(ada, "step", b"key"), hash(ada, "ste", b"pkey"));
    assert_ne!(keyring.fingerprint(ada, b"key").unwrap()[..16], hash(ada, "", b"key"));
    assert_ne!(keyring.writer("x"), keyring.writer("y"));
    assert_eq!(keyring.owner_name(ada.pseudonym).unwrap(), Some(owner("ada")));
    assert_eq!(keyring.owner_name(keyring.tenant_pseudonym()).unwrap(), None);
    assert_eq!(keyring.index_hash(samite_model::Pseudonym([0; 16]), "", b"").unwrap_err().code(), "unknown_subject");
}

#[test]
fn the_tenant_has_keys_of_its_own() {
    let scratch = Scratch::new();
    let keyring = scratch.open().unwrap();
    assert!(keyring.created());
    let tenant = keyring.tenant_pseudonym();
    let sealed = seal(&keyring, tenant, b"words");
    let again = scratch.open().unwrap();
    assert!(!again.created());
    assert_eq!(again.tenant_pseudonym(), tenant);
    assert_eq!(again.chunk_seed(), keyring.chunk_seed());
    assert_eq!(open(&again, &sealed).unwrap(), b"words");
    assert_eq!(again.destroy_subject(tenant).unwrap_err().code(), "tenant_keys");
    assert_eq!(again.subjects().unwrap(), []);
}
