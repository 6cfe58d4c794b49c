//! A pack cut at every byte, and with one bit flipped: its index tells, and blocks before the cut stay readable.

use futures_lite::future::block_on;
use samite_blocks::{FilePackStore, PackReader, PackStore as _, PackWriter, Place, WrittenPack, read_index};
use samite_model::{BlockId, ErrorKind, PackId, Pseudonym};

const PACK: PackId = PackId([0xab; 16]);

fn write(store: &FilePackStore) -> WrittenPack {
    block_on(async {
        let mut writer = PackWriter::create(store, PACK).await?;
        writer.append(BlockId([1; 32]), Pseudonym([8; 16]), b"first").await?;
        writer.append(BlockId([2; 32]), Pseudonym([9; 16]), b"second block").await?;
        writer.append(BlockId([3; 32]), Pseudonym([8; 16]), b"third").await?;
        writer.finish().await
    })
    .unwrap()
}

fn places(written: &WrittenPack) -> Vec<Place> {
    let place = |block: &samite_blocks::IndexedBlock| Place {
        id: block.id,
        pack: PACK,
        offset: block.offset,
        length: block.length,
    };
    written.index.blocks.iter().map(place).collect()
}

#[test]
fn golden_vector() {
    let scratch = tempfile::tempdir().unwrap();
    let store = FilePackStore::open(scratch.path()).unwrap();
    write(&store);
    let bytes = std::fs::read(store.path(PACK)).unwrap();
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    let one = "01".repeat(32);
    let (two, three, eight, nine) = ("02".repeat(32), "03".repeat(32), "08".repeat(16), "09".repeat(16));
    let header = format!("73616d6974652f7061636b2f76310000{}", "ab".repeat(16));
    let blocks = "6669727374".to_owned() + "7365636f6e6420626c6f636b" + "7468697264";
    let index = format!("0002{eight}{nine}00000003{one}000000050000{two}0000000c0001{three}000000050000");
    let place = format!("{:016x}{:016x}", 32 + 22, index.len() / 2);
    let sum = blake3(&format!("{header}{index}{place}"));
    assert_eq!(hex, format!("{header}{blocks}{index}{place}{sum}73616d6974652f7061636b2f76310000"));
}

fn blake3(hex: &str) -> String {
    blake3::hash(&data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap()).to_hex().to_string()
}

#[test]
fn every_cut_is_found_and_what_is_before_it_stays_readable() {
    let scratch = tempfile::tempdir().unwrap();
    let store = FilePackStore::open(scratch.path()).unwrap();
    let written = write(&store);
    let whole = std::fs::read(store.path(PACK)).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(store.path(PACK), &whole[..cut]).unwrap();
        let error = block_on(read_index(&store, PACK)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "cut at {cut}");
        assert!(error.message().contains(&PACK.to_string()), "{error}");
        let mut readable = Vec::new();
        let mut each = |at: usize, bytes: samite_model::Result<&[u8]>| {
            match bytes {
                Ok(_) => readable.push(at),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                    let id = written.index.blocks[at].id.to_string();
                    assert!(error.message().contains(&id) && error.message().contains(&PACK.to_string()), "{error}");
                }
            }
            Ok(())
        };
        block_on(PackReader::new(&store).read_many(&places(&written), &mut each)).unwrap();
        let ends_before = |at: &usize| {
            let block = written.index.blocks[*at];
            block.offset + u64::from(block.length) <= cut as u64
        };
        assert_eq!(readable, (0..3).filter(ends_before).collect::<Vec<_>>(), "cut at {cut}");
    }
    block_on(store.delete(PACK)).unwrap();
    assert_eq!(block_on(read_index(&store, PACK)).unwrap_err().code(), "pack_missing");
}

#[test]
fn every_flipped_bit_outside_of_blocks_is_found() {
    let scratch = tempfile::tempdir().unwrap();
    let store = FilePackStore::open(scratch.path()).unwrap();
    let written = write(&store);
    let whole = std::fs::read(store.path(PACK)).unwrap();
    let blocks = 32..32 + 22;
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(store.path(PACK), &flipped).unwrap();
        match block_on(read_index(&store, PACK)) {
            Ok(index) => {
                assert!(blocks.contains(&(bit / 8)), "bit {bit}");
                assert_eq!(index, written.index);
            }
            Err(error) => assert_eq!(error.code(), "pack_damaged", "bit {bit}"),
        }
    }
}
