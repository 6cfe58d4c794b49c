//! docs/formats.md says what the code does: each of its vectors is made again, and opened.

use crate::common::{ENTRY, JOURNAL, Scratch, owner, random, seeded};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use samite_host::files::{self, write_atomic};
use samite_keys::{Body, Domain, EnvironmentMaster, FileMaster, Keyring, KeystoreName, Master};
use samite_model::envelope::{Envelope, block_additional_data, entry_additional_data};
use samite_model::hash::{self, JournalIdentity};
use samite_model::{BlockId, Commitment, EntryId, EntryKind, FamilyId, Header, JournalId, KeyId, Pseudonym, Tenant};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");

/// The vectors of the document: a fenced block whose info string is `vector NAME` and whose text is hexadecimal.
fn vectors() -> BTreeMap<String, Vec<u8>> {
    let text = String::from_utf8(files::read(Path::new(DOCUMENT)).unwrap()).unwrap();
    let mut vectors = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("```vector ") else { continue };
        let digits: String = lines.by_ref().take_while(|line| !line.starts_with("```")).flat_map(str::chars).collect();
        let digits: String = digits.chars().filter(char::is_ascii_hexdigit).collect();
        let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).unwrap();
        assert!(vectors.insert(name.to_owned(), bytes).is_none(), "{name} is there twice");
    }
    vectors
}

fn header() -> Header {
    Header {
        kind: EntryKind::MESSAGE,
        seq: 7,
        epoch: 2,
        time: 1_700_000_000_000_000_001,
        id: EntryId([1; 16]),
        actor: Pseudonym([2; 16]),
        owner: Pseudonym([3; 16]),
        key: KeyId([4; 8]),
        length: 42,
        commitment: Commitment([5; 32]),
    }
}

fn environment() -> Arc<dyn Master> {
    Arc::new(EnvironmentMaster::new(&"07".repeat(32)).unwrap())
}

/// What the code makes of the inputs that the document names.
fn made() -> BTreeMap<&'static str, Vec<u8>> {
    let mut made = BTreeMap::new();
    let journal =
        JournalIdentity { id: JournalId([1; 16]), family: FamilyId([2; 16]), owner: Pseudonym([3; 16]), kind: 1 };
    let bytes = header().encode();
    let genesis = hash::genesis(&journal);
    let link = hash::link(genesis, &bytes);
    let tenant = Tenant::new("local").unwrap();
    made.insert("header", bytes.to_vec());
    made.insert("genesis", genesis.0.to_vec());
    made.insert("link", link.0.to_vec());
    made.insert("fork", hash::fork(&journal, JournalId([9; 16]), 7, link).0.to_vec());
    made.insert("commitment", hash::commitment(&[7; 32], b"hello").0.to_vec());
    made.insert("envelope-prefix", Envelope::prefix(KeyId([4; 8]), [6; 12]).to_vec());
    let entry = entry_additional_data(&tenant, Pseudonym([3; 16]), JOURNAL, ENTRY);
    made.insert("entry-additional-data", entry);
    made.insert("block-additional-data", block_additional_data(&tenant, BlockId([8; 32])));

    let scratch = Scratch::new();
    let keyring = scratch.open_with(environment(), seeded(1), true).unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    made.insert("keystore", files::read(&scratch.keystore()).unwrap());
    made.insert("pseudonym-tenant", keyring.tenant_pseudonym().0.to_vec());
    made.insert("pseudonym-owner", ada.pseudonym.0.to_vec());
    made.insert("pseudonym-writer", keyring.writer("hook").0.to_vec());
    made.insert("index-hash", keyring.index_hash(ada, "step", b"key").unwrap().to_vec());
    made.insert("fingerprint", keyring.fingerprint(ada, b"key").unwrap().to_vec());
    made.insert("chunk-seed", keyring.chunk_seed().to_be_bytes().to_vec());
    made.insert("payload-raw", keyring.seal_payload(ada, JOURNAL, ENTRY, b"hello").unwrap().bytes);
    let words = keyring.seal_payload(ada, JOURNAL, ENTRY, &b"hello ".repeat(20)).unwrap();
    made.insert("payload-dictionary", words.bytes);
    let blocks = [BlockId([1; 32]), BlockId([2; 32])];
    let list = keyring.seal_block_list(ada, JOURNAL, ENTRY, &[5; 32], Commitment([6; 32]), 2_000_000, &blocks);
    made.insert("payload-blocks", list.unwrap().bytes);
    let id = keyring.block_id(Domain::Tenant, 1, b"hello").unwrap();
    made.insert("block-id", id.0.to_vec());
    made.insert("block", keyring.seal_block(Domain::Tenant, id, 1, b"hello").unwrap());

    let path = scratch.root.join("config/golden.key");
    let master = FileMaster::new(&path, seeded(2));
    let name = KeystoreName { tenant, id: [7; 16] };
    for _ in 0..2 {
        master.create_epoch(&name).unwrap();
    }
    master.destroy_epoch(&name, 1).unwrap();
    made.insert("master", files::read(&path).unwrap());
    made.insert("export", master.export("four random words").unwrap());
    made
}

#[test]
fn the_document_has_what_the_code_makes() {
    let (documented, made) = (vectors(), made());
    if std::env::var_os("SAMITE_PRINT_VECTORS").is_some() {
        for (name, bytes) in &made {
            eprintln!("VECTOR {name} {}", HEXLOWER.encode(bytes));
        }
    }
    for (name, bytes) in made {
        // Another version of zstd may find other matches: that one is only opened, below.
        if name != "payload-dictionary" {
            assert_eq!(
                documented.get(name).map(|bytes| HEXLOWER.encode(bytes)),
                Some(HEXLOWER.encode(&bytes)),
                "{name}"
            );
        }
    }
}

/// A store whose keystore is the document's.
fn documented_keyring(scratch: &Scratch, vectors: &BTreeMap<String, Vec<u8>>) -> Keyring {
    files::create_private_dir(&scratch.keys()).unwrap();
    write_atomic(&scratch.keystore(), &vectors["keystore"], 0o600).unwrap();
    scratch.open_with(environment(), random(), false).unwrap()
}

#[test]
fn what_the_document_sealed_is_opened() {
    let (scratch, vectors) = (Scratch::new(), vectors());
    let keyring = documented_keyring(&scratch, &vectors);
    let ada = keyring.subject(&owner("ada")).unwrap();
    assert_eq!(ada.pseudonym.0.as_slice(), vectors["pseudonym-owner"]);
    assert_eq!(keyring.owner_name(ada.pseudonym).unwrap(), Some(owner("ada")));
    let open = |name: &str, length| {
        let header = Header { id: ENTRY, owner: ada.pseudonym, key: ada.key, length, ..header() };
        keyring.open_payload(&header, JOURNAL, &vectors[name]).unwrap().body
    };
    assert_eq!(open("payload-raw", 5), Body::Inline(b"hello".to_vec()));
    assert_eq!(open("payload-dictionary", 120), Body::Inline(b"hello ".repeat(20)));
    assert_eq!(open("payload-blocks", 2_000_000), Body::Blocks(vec![BlockId([1; 32]), BlockId([2; 32])]));
    let id = BlockId::from_slice(&vectors["block-id"]).unwrap();
    assert_eq!(keyring.open_typed_block(Domain::Tenant, id, &vectors["block"]).unwrap(), (1, b"hello".to_vec()));
}

#[test]
fn the_master_file_of_the_document_is_read() {
    let (scratch, vectors) = (Scratch::new(), vectors());
    let path = scratch.root.join("master.key");
    write_atomic(&path, &vectors["master"], 0o600).unwrap();
    let name = KeystoreName { tenant: Tenant::new("local").unwrap(), id: [7; 16] };
    let master = FileMaster::new(&path, random());
    assert_eq!(master.secret(&name, 1).unwrap_err().code(), "epoch_destroyed");
    let secret = master.secret(&name, 2).unwrap();
    let imported = FileMaster::new(scratch.root.join("other/master.key"), random());
    assert_eq!(imported.import(&vectors["export"], "four random words").unwrap(), 1);
    assert_eq!(imported.secret(&name, 2).unwrap(), secret);
}
