//! The conformance suite: what every pack store must do.

use crate::{PackReader, PackStore, PackWriter, Place, read_index};
use samite_model::{BlockId, PackId, Pseudonym, Result};

/// Panics with what a store does otherwise. The store must be empty.
///
/// # Errors
/// Those of the store, which are failures too.
///
/// # Panics
/// When the store does something else than the contract says.
pub async fn conformance(store: &dyn PackStore) -> Result<()> {
    let (first, second) = (PackId([1; 16]), PackId([2; 16]));
    assert_eq!(store.list().await?, [], "a new store is empty");
    assert_eq!(store.size(first).await?, None);
    let missing = store.read(first, 0, 1).await.err();
    assert_eq!(missing.map(|error| error.code()), Some("pack_missing"));
    store.delete(first).await?;

    // A pack is seen by nobody before it is finished.
    let mut upload = store.put(first).await?;
    upload.write(b"01234").await?;
    upload.write(b"56789").await?;
    assert_eq!(store.size(first).await?, None, "an unfinished pack has no size");
    assert!(store.read(first, 0, 1).await.is_err(), "an unfinished pack cannot be read");
    upload.finish().await?;
    assert_eq!(store.size(first).await?, Some(10));
    assert_eq!(store.read(first, 3, 4).await?, b"3456");
    assert_eq!(store.read(first, 10, 0).await?, b"");
    let mut bytes = b"what was there before".to_vec();
    store.read_into(first, 2, 3, &mut bytes).await?;
    assert_eq!(bytes, b"234", "what was in the buffer is replaced");
    let cut = store.read(first, 8, 4).await.err();
    assert_eq!(cut.as_ref().map(samite_model::Error::code), Some("pack_cut"));
    assert!(cut.is_some_and(|error| error.message().contains(&first.to_string())), "the error names the pack");
    let again = store.put(first).await.err();
    assert_eq!(again.map(|error| error.code()), Some("pack_exists"), "a pack is written once");

    // One that is given up leaves nothing that can be read, and its id can be used again.
    let mut upload = store.put(second).await?;
    upload.write(b"lost").await?;
    drop(upload);
    store.delete(second).await?;
    assert_eq!(store.list().await?.len(), 1);

    // Blocks come back by their places, and the index says the same as the writer did.
    let mut writer = PackWriter::create(store, second).await?;
    let blocks: Vec<(BlockId, Vec<u8>)> =
        (0..200_u8).map(|n| (BlockId([n; 32]), vec![n; usize::from(n) * 1_000])).collect();
    let mut places = Vec::new();
    for (id, bytes) in &blocks {
        let offset = writer.append(*id, Pseudonym([9; 16]), bytes).await?;
        places.push(Place { id: *id, pack: second, offset, length: u32::try_from(bytes.len()).unwrap_or(0) });
    }
    let written = writer.finish().await?;
    assert_eq!(store.size(second).await?, Some(written.size));
    assert_eq!(read_index(store, second).await?, written.index);
    places.reverse();
    let mut found = vec![None; places.len()];
    let mut each = |at: usize, bytes: Result<&[u8]>| {
        if let Some(place) = found.get_mut(at) {
            *place = Some(bytes?.to_vec());
        }
        Ok(())
    };
    PackReader::new(store).read_many(&places, &mut each).await?;
    let expected: Vec<Option<Vec<u8>>> = blocks.iter().rev().map(|(_, bytes)| Some(bytes.clone())).collect();
    assert_eq!(found, expected, "a batch comes back whole");

    let ids: Vec<PackId> = store.list().await?.into_iter().map(|pack| pack.id).collect();
    assert_eq!(ids, [first, second], "packs are listed by id");
    store.delete(first).await?;
    assert_eq!(store.size(first).await?, None);
    assert!(store.read(first, 0, 1).await.is_err(), "a deleted pack cannot be read");
    Ok(())
}
