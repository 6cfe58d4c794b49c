//! The vectors of a namespace's records: made when somebody searches or asks for it, kept in a sealed file, and made again where that is
//! gone. They are never what a record is: that is its entry.

use super::Memory;
use crate::core::Core;
use samite_embed::{Embedder, Side, is_blank};
use samite_host::files;
use samite_keys::{Domain, MAXIMUM_BLOCK};
use samite_memory::Standings;
use samite_memory::search::{Index, embedded_text};
use samite_memory::vectors::Rows;
use samite_model::{BlockId, Error, JournalId, Observer, Pseudonym, RecordId, Result, SpaceId};
use std::path::PathBuf;
use std::sync::Arc;

/// A search makes at most so many vectors before it answers; what is left is found by its words alone.
const A_SEARCH: usize = 64;

/// So many texts are given to the encoder at a time.
const BATCH: usize = 64;

/// What a sealed piece of the file is, among the kinds of sealed blocks.
const PIECE: u8 = 9;

const MAGIC: &[u8; 8] = b"samite\0v";

const ID: usize = 16;

const BLOCK: usize = 32;

/// What a file had.
struct Kept {
    ids: Vec<RecordId>,
    rows: Rows,
}

/// What came of looking for vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// How many records have no vector yet.
    pub records: u64,
    /// Why none could be made, by its code.
    pub failed: Option<&'static str>,
}

impl Memory {
    /// The same namespace, searched by vectors of this encoder too.
    #[must_use]
    pub fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder: Some(embedder), ..self.clone() }
    }

    /// Makes the vectors of all records that have none yet, and says how many were made. When this returns, they are kept.
    ///
    /// # Errors
    /// `invalid` (`no_embedder`) without an encoder; those of the encoder, and then those that were made are kept.
    pub async fn embed_all(&self, observer: &Observer) -> Result<u64> {
        let embedder = self.embedder.clone().ok_or_else(|| {
            Error::invalid("no_embedder", "there is no encoder to make vectors with")
                .hint("name one, or use the built-in one")
        })?;
        let erasures = self.client.core.erasures_so_far().await?;
        let view = self.view(None, true).await?;
        let standings = &view.standings;
        // What is kept is what the file has.
        let mut index = view.index.without_vectors();
        let journal = self.client.core.memory_state(self.client.subject.pseudonym, &self.namespace).await?.0;
        // What is damaged is made again.
        let before = self.load(journal, embedder.space().id(), &mut index).ok().flatten();
        let (made, failed) = make(embedder.as_ref(), standings, &mut index, usize::MAX, observer);
        self.keep(journal, embedder.space().id(), &index, (made, before.as_ref()))?;
        self.let_go_of_erased(journal, erasures).await?;
        failed.map_or(Ok(made), Err)
    }

    /// Removes what was kept of records that may be erased since they were read: an erasure that begins later finds it by itself.
    pub(super) async fn let_go_of_erased(&self, journal: JournalId, erasures: u64) -> Result<()> {
        let Some(space) = self.embedder.as_ref().map(|embedder| embedder.space().id()) else { return Ok(()) };
        let Some(path) = self.file(journal, space) else { return Ok(()) };
        if self.client.core.erasures_so_far().await? != erasures && files::exists(&path)? {
            files::remove(&path)?;
        }
        Ok(())
    }

    /// Gives an index the vectors that are kept, and makes some of those that are not. Nothing of it fails a search.
    pub(super) fn vectors(&self, journal: JournalId, standings: &Standings, index: &mut Index) -> Behind {
        let Some(embedder) = &self.embedder else { return Behind::default() };
        let space = embedder.space().id();
        // What is damaged is made again.
        let is_whole = !index.without_vector(space).any(|document| text_of(standings, document).is_some());
        let before = if is_whole { None } else { self.load(journal, space, index).ok().flatten() };
        let (made, failed) = make(embedder.as_ref(), standings, index, A_SEARCH, &Observer::default());
        self.keep(journal, space, index, (made, before.as_ref())).ok();
        Behind { records: index.without_vector(space).count() as u64, failed: failed.map(|error| error.code()) }
    }

    /// The vector of a question; none where there is no encoder, or it has nothing to say.
    pub(super) fn question_vector(&self, text: &str) -> Result<Option<(SpaceId, Vec<f32>)>> {
        let Some(embedder) = self.embedder.as_ref().filter(|_| !is_blank(text)) else { return Ok(None) };
        let mut vectors = embedder.embed(&[text], Side::Query)?;
        Ok(vectors.pop().map(|vector| (embedder.space().id(), vector)))
    }

    fn file(&self, journal: JournalId, space: SpaceId) -> Option<PathBuf> {
        let directory = self.client.core.0.memory.as_ref()?;
        Some(directory.join(journal.to_string()).join(format!("{space}.vectors")))
    }

    fn load(&self, journal: JournalId, space: SpaceId, index: &mut Index) -> Result<Option<Kept>> {
        let Some(path) = self.file(journal, space) else { return Ok(None) };
        let Some(bytes) = files::read_if_exists(&path)? else { return Ok(None) };
        let plain = self.client.core.open_vectors(self.client.subject.pseudonym, &bytes)?;
        let damaged = || Error::corrupt("vectors_damaged", format!("{} is damaged", path.display()));
        let (count, rest) = plain.split_first_chunk::<4>().ok_or_else(damaged)?;
        let count = u32::from_be_bytes(*count);
        let (ids, rows) = rest.split_at_checked(count as usize * ID).ok_or_else(damaged)?;
        let rows = Rows::decode(rows, count)?;
        let ids = ids.chunks(ID).map(RecordId::from_slice).collect::<Result<Vec<_>>>()?;
        for (place, id) in (0..count).zip(&ids) {
            index.take_vector(space, *id, &rows, place)?;
        }
        Ok(Some(Kept { ids, rows }))
    }

    /// Keeps the vectors of an index, and those that were kept before of records that this view of the namespace has not.
    fn keep(
        &self,
        journal: JournalId,
        space: SpaceId,
        index: &Index,
        (made, before): (u64, Option<&Kept>),
    ) -> Result<()> {
        let (Some(path), Some(rows)) = (self.file(journal, space), index.rows(space)) else { return Ok(()) };
        if made == 0 {
            return Ok(());
        }
        let mut kept = Rows::new(rows.dimensions())?;
        let mut ids: Vec<u8> = Vec::new();
        for document in rows.documents() {
            let Some(record) = index.record(document) else { continue };
            let place = u32::try_from(ids.len() / ID).unwrap_or(u32::MAX);
            if kept.copy(place, rows, document)? {
                ids.extend(record.as_bytes());
            }
        }
        for (record, from) in before.iter().flat_map(|before| before.ids.iter().zip(0..)) {
            let place = u32::try_from(ids.len() / ID).unwrap_or(u32::MAX);
            let Some(before) = before else { break };
            if index.document(*record).is_none() && kept.copy(place, &before.rows, from)? {
                ids.extend(record.as_bytes());
            }
        }
        let mut plain = kept.len().to_be_bytes().to_vec();
        plain.extend(ids);
        plain.extend(kept.encode());
        let sealed = self.client.core.seal_vectors(self.client.subject.pseudonym, &plain)?;
        if let Some(directory) = path.parent() {
            files::create_private_dir(directory)?;
        }
        files::write_atomic(&path, &sealed, files::PRIVATE_FILE)
    }
}

/// What a vector of a record is made of; none of what has nothing to say.
fn text_of(standings: &Standings, document: u32) -> Option<&str> {
    let text = embedded_text(&standings.all().get(document as usize)?.record);
    (!is_blank(text)).then_some(text)
}

/// Makes vectors of records that have none, the newest first; how many, and what went wrong.
fn make(
    embedder: &dyn Embedder,
    standings: &Standings,
    index: &mut Index,
    limit: usize,
    observer: &Observer,
) -> (u64, Option<Error>) {
    let space = embedder.space().id();
    let mut missing: Vec<(u32, &str)> =
        index.without_vector(space).filter_map(|document| Some((document, text_of(standings, document)?))).collect();
    missing.reverse();
    // What can be found comes before what ended or waits for approval.
    let waits = |document: u32| {
        let standing = standings.all().get(document as usize);
        standing.is_none_or(|one| one.ended.is_some() || one.is_quarantined(standings.settings()))
    };
    missing.sort_by_key(|(document, _)| waits(*document));
    missing.truncate(limit);
    let (mut made, whole) = (0, missing.len() as u64);
    for batch in missing.chunks(BATCH) {
        observer.tell("making vectors", made, Some(whole));
        let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
        let vectors = match embedder.embed(&texts, Side::Passage) {
            Ok(vectors) => vectors,
            Err(error) => return (made, Some(error)),
        };
        for ((document, _), vector) in batch.iter().zip(vectors) {
            match index.put_vector(space, *document, &vector) {
                Ok(()) => made += 1,
                Err(error) => return (made, Some(error)),
            }
        }
    }
    (made, None)
}

impl Core {
    /// Pieces of at most 16 MiB, each sealed for its owner: block id ‖ length (u32) ‖ sealed bytes, after eight bytes that say what it is.
    fn seal_vectors(&self, owner: Pseudonym, plain: &[u8]) -> Result<Vec<u8>> {
        let domain = Domain::Owner(owner);
        let mut bytes = MAGIC.to_vec();
        for piece in plain.chunks(MAXIMUM_BLOCK) {
            let id = self.0.keys.block_id(domain, PIECE, piece)?;
            let sealed = self.0.keys.seal_block(domain, id, PIECE, piece)?;
            bytes.extend(id.as_bytes());
            bytes.extend(u32::try_from(sealed.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend(sealed);
        }
        Ok(bytes)
    }

    fn open_vectors(&self, owner: Pseudonym, bytes: &[u8]) -> Result<Vec<u8>> {
        let damaged = || Error::corrupt("vectors_damaged", "kept vectors are damaged");
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let mut plain = Vec::new();
        while !rest.is_empty() {
            let (id, after) = rest.split_first_chunk::<BLOCK>().ok_or_else(damaged)?;
            let (length, after) = after.split_first_chunk::<4>().ok_or_else(damaged)?;
            let (sealed, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or_else(damaged)?;
            plain.extend(self.0.keys.open_block(Domain::Owner(owner), BlockId(*id), sealed)?);
            rest = after;
        }
        Ok(plain)
    }
}
