//! The vectors of a namespace's records: made when somebody searches or asks for it, kept in a sealed file, and made again where that is
//! gone. They are never what a record is: that is its entry.

mod change;
mod file;
mod models;

pub use change::{ModelOutcome, SpaceState};
pub use models::ModelSource;
pub(super) use models::{Encoders, Encoding};

use super::Memory;
use file::VectorFile;
use samite_embed::{Embedder, Side, is_blank};
use samite_memory::Standings;
use samite_memory::search::{Index, embedded_text};
use samite_model::{Error, JournalId, Observer, Result, SpaceId};

/// A search makes at most so many vectors in each space before it answers; what is left is found by its words alone.
const A_SEARCH: usize = 64;

/// It begins no more of them after so many nanoseconds: 0.2 s.
const A_WAIT: i64 = 200_000_000;

/// So many texts are given to the encoder at a time while somebody waits.
const FEW: usize = 8;

/// So many texts are given to the encoder at a time.
const BATCH: usize = 64;

/// What came of looking for vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// How many records have no vector yet.
    pub records: u64,
    /// Why none could be made, by its code.
    pub failed: Option<&'static str>,
}

impl Memory {
    /// Makes the vectors of all records that have none yet, in the space of each model that there is, and says how many were made. When
    /// this returns, they are kept.
    ///
    /// # Errors
    /// `invalid` (`no_embedder`) without an encoder; `conflict` (`space_mismatch`) for one of another space than the namespace has; those
    /// of the encoder, and then those that were made are kept.
    pub async fn embed_all(&self, observer: &Observer) -> Result<u64> {
        let models = self.shared(false).await?.standings.models().clone();
        let encoders = self.encoders(&models).await?;
        if encoders.all.is_empty() {
            return Err(encoders.failed.unwrap_or_else(no_embedder));
        }
        let mut made = 0;
        for encoder in &encoders.all {
            made += self.fill(encoder.as_ref(), None, observer).await?;
        }
        encoders.failed.map_or(Ok(made), Err)
    }

    /// Makes all vectors that are missing in an encoder's space, so many a second at most, and keeps each batch before the next.
    async fn fill(&self, embedder: &dyn Embedder, rate: Option<u32>, observer: &Observer) -> Result<u64> {
        let core = &self.client.core;
        let space = embedder.space().id();
        let mut done = 0;
        loop {
            let erasures = core.settled_erasures().await?;
            let view = self.view(None, true).await?;
            let Some(state) = self.state().await? else { return Ok(done) };
            // What is kept is what the file has.
            let mut index = view.index.without_vectors();
            let file = VectorFile::of(core, state.owner, state.id, space);
            if let Some(file) = &file {
                file.read_into(&mut index)?;
            }
            let missing = missing(&view.standings, &index, space);
            if missing.is_empty() {
                view.keep_vectors(&index);
                return Ok(done);
            }
            let whole = done + missing.len() as u64;
            let (mut is_current, begun) = (true, done);
            for batch in missing.chunks(BATCH) {
                observer.tell("making vectors", done, Some(whole));
                let mut made = Vec::new();
                let outcome = make(embedder, &view.standings, &mut index, batch, &mut made);
                if let (Some(file), Some(erasures)) = (&file, erasures) {
                    is_current = file.add(&index, &made, erasures, true).await?;
                }
                outcome?;
                done += made.len() as u64;
                if !is_current {
                    break;
                }
                if let Some(rate) = rate.filter(|rate| *rate > 0) {
                    let batch = u32::try_from(made.len()).unwrap_or(u32::MAX);
                    std::thread::sleep(std::time::Duration::from_secs(1) * batch / rate);
                }
            }
            // Where nothing may be kept, there is no more to do; where something was erased, it is looked at anew.
            if file.is_none() || erasures.is_none() || (is_current && done == begun) {
                return Ok(done);
            }
        }
    }

    /// Gives an index the vectors that are kept, and makes some of those that are not. Nothing of it fails a search.
    pub(super) async fn vectors(
        &self,
        journal: JournalId,
        erasures: Option<u64>,
        standings: &Standings,
        (index, encoders): (&mut Index, &Encoders),
    ) -> Behind {
        let core = &self.client.core;
        let mut behind = Behind { records: 0, failed: encoders.failed.as_ref().map(Error::code) };
        for (place, encoder) in encoders.all.iter().enumerate() {
            let space = encoder.space().id();
            if index.taken(space).is_none() && !encoders.chosen.is_empty() {
                // What a process left that was killed after a change of model.
                VectorFile::remove_others(core, journal, &encoders.chosen).ok();
            }
            let file = VectorFile::of(core, self.client.subject.pseudonym, journal, space);
            let mut missing = missing(standings, index, space);
            if let Some(file) = file.as_ref().filter(|_| !missing.is_empty()) {
                // What is damaged is made again.
                file.read_into(index).ok();
                missing.retain(|document| index.rows(space).is_none_or(|rows| !rows.contains(*document)));
            }
            let left = missing.len();
            missing.truncate(A_SEARCH);
            let (mut made, begun) = (Vec::new(), core.now());
            for few in missing.chunks(FEW) {
                if let Err(error) = make(encoder.as_ref(), standings, index, few, &mut made) {
                    behind.failed = Some(error.code());
                    break;
                }
                if core.now().saturating_sub(begun) > A_WAIT {
                    break;
                }
            }
            if let (Some(file), Some(erasures), false) = (&file, erasures, made.is_empty()) {
                file.add(index, &made, erasures, false).await.ok();
            }
            // What is left of the model that it is changed to is not behind yet.
            if place == 0 {
                behind.records = (left - made.len()) as u64;
            }
        }
        behind
    }

    /// The vectors of a question, one for each space in which there are any; and why there is none in one of them.
    pub(super) fn question_vectors(
        text: &str,
        encoders: &Encoders,
        index: &Index,
    ) -> (Vec<(SpaceId, Vec<f32>)>, Option<&'static str>) {
        let (mut vectors, mut failed) = (Vec::new(), None);
        if is_blank(text) {
            return (vectors, failed);
        }
        for encoder in &encoders.all {
            let space = encoder.space().id();
            if index.rows(space).is_none() {
                continue;
            }
            match encoder.embed(&[text], Side::Query) {
                Ok(made) => vectors.extend(made.into_iter().next().map(|vector| (space, vector))),
                Err(error) => failed = Some(error.code()),
            }
        }
        (vectors, failed)
    }
}

fn no_embedder() -> Error {
    Error::invalid("no_embedder", "there is no encoder to make vectors with").hint("name one, or use the built-in one")
}

/// What a vector of a record is made of; none of what has nothing to say.
fn text_of(standings: &Standings, document: u32) -> Option<&str> {
    let text = embedded_text(&standings.all().get(document as usize)?.record);
    (!is_blank(text)).then_some(text)
}

/// The records that have something to say and no vector in a space, the newest first, and what can be found before what ended or waits
/// for approval.
fn missing(standings: &Standings, index: &Index, space: SpaceId) -> Vec<u32> {
    let mut missing: Vec<u32> =
        index.without_vector(space).filter(|document| text_of(standings, *document).is_some()).collect();
    missing.reverse();
    let waits = |document: u32| {
        let standing = standings.all().get(document as usize);
        standing.is_none_or(|one| one.ended.is_some() || one.is_quarantined(standings.settings()))
    };
    missing.sort_by_key(|document| waits(*document));
    missing
}

/// Makes vectors of records, and says of which. After an error those that were made before it are there.
fn make(
    embedder: &dyn Embedder,
    standings: &Standings,
    index: &mut Index,
    records: &[u32],
    made: &mut Vec<u32>,
) -> Result<()> {
    let space = embedder.space().id();
    for batch in records.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().filter_map(|document| text_of(standings, *document)).collect();
        let vectors = samite_embed::accept(embedder.space(), texts.len(), embedder.embed(&texts, Side::Passage)?)?;
        for (document, vector) in batch.iter().zip(vectors) {
            index.put_vector(space, *document, &vector)?;
            made.push(*document);
        }
    }
    Ok(())
}
