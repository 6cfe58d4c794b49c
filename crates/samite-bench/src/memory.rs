//! Searching 10,000 records of long-term memory, against embedding the question alone; and what a search is made of.

use crate::Bench;
use crate::store::{Scratch, open};
use crate::table::{Row, Table, Target};
use crate::turns::{in_turns, median, seconds};
use futures_lite::future::block_on;
use samite::memory::{Embedder, Memory, Namespace, NewRecord, RecordKind, Search, Trust};
use samite::{Client, Observer};
use samite_embed::{Builtin, Side, Space};
use samite_host::files;
use samite_memory::Bits;
use samite_memory::search::{Index, Wanted, score};
use samite_model::{Error, Result, SpaceId};
use std::num::NonZeroUsize;
use std::sync::Arc;

const RECORDS: usize = 10_000;
const AT_ONCE: usize = 100;
const ROUNDS: usize = 51;
const OPENED: usize = 9;

const QUESTION: &str = "What did Alice say about the deployment of the payment service in May?";

/// The built-in encoder for questions. Vectors of records are made up, since making them is not measured here.
#[derive(Debug)]
struct Questions(Builtin);

impl Embedder for Questions {
    fn space(&self) -> &Space {
        self.0.space()
    }

    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        if matches!(side, Side::Query) {
            return self.0.embed(texts, side);
        }
        let dimensions = self.0.space().dimensions();
        let of = |text: &&str| {
            let mut state =
                text.bytes().fold(7_u64, |state, byte| state.wrapping_mul(31).wrapping_add(u64::from(byte)));
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                f32::from(i16::from_ne_bytes([state.to_be_bytes()[0], state.to_be_bytes()[1]]))
            };
            (0..dimensions).map(|_| next()).collect()
        };
        Ok(texts.iter().map(of).collect())
    }
}

/// A turn of a conversation, of some of 3,000 words.
fn turn(place: usize) -> NewRecord {
    let word = |number: usize| {
        let number = place.wrapping_mul(7919).wrapping_add(number * 104_729).wrapping_mul(2_654_435_761) >> 7;
        // Few words are said often, and many seldom.
        let number = (number % 3000) * (number / 3000 % 3000) / 3000;
        let known = ["deployment", "payment", "service", "Alice", "May", "the", "of", "what", "about", "say"];
        known.get(number).map_or_else(|| format!("word{number}"), |word| (*word).to_owned())
    };
    let text: Vec<String> = (0..18 + place % 13).map(word).collect();
    let mut metadata = serde_json::Map::new();
    metadata.insert("speaker".to_owned(), (if place.is_multiple_of(2) { "Alice" } else { "Bob" }).into());
    NewRecord { metadata, ..NewRecord::new(RecordKind::Episodic, format!("{place} {}", text.join(" ")), Trust::User) }
}

fn named(client: &Client) -> Result<Memory> {
    Ok(client.memory(Namespace::new(["bench"])?))
}

async fn ask(memory: &Memory, question: &str) -> Result<()> {
    let found = memory.search(&Search::new(question)).await?;
    if found.records.is_empty() || found.behind.failed.is_some() {
        return Err(Error::internal("nothing_found", "a search found nothing"));
    }
    Ok(())
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let scratch = Scratch::new(bench)?;
    let words = named(&scratch.client)?;
    let encoder = Arc::new(Questions(Builtin::new(NonZeroUsize::MIN)?));
    let hybrid = words.with_embedder(encoder.clone());
    for start in (0..RECORDS).step_by(AT_ONCE) {
        let writes = (start..start + AT_ONCE).map(|place| {
            let words = &words;
            Box::pin(async move { words.assert(&turn(place)).await.map(|_| ()) }) as _
        });
        crate::together::run(1, writes.collect())?;
    }
    block_on(hybrid.embed_all(&Observer::default()))?;
    block_on(ask(&hybrid, QUESTION))?;

    let embed = |_| encoder.embed(&[QUESTION], Side::Query).map(|_| ());
    let mut of_embedding = |name: &str, target: f64, what: &mut dyn FnMut(usize) -> Result<()>| {
        let (ours, other) = in_turns(ROUNDS, &mut *what, embed)?;
        let (ratio, target) = (ours / other, Target::AtMost(target));
        table.row(&Row { name, ours: ours * 1e3, other: other * 1e3, unit: "ms", ratio, target });
        Ok::<_, Error>(())
    };
    of_embedding("search of 10,000, hybrid / embedding it", 1.5, &mut |_| block_on(ask(&hybrid, QUESTION)))?;
    of_embedding("search of 10,000, words alone / the same", 1.0, &mut |_| block_on(ask(&words, QUESTION)))?;
    let mut place = RECORDS;
    of_embedding("add, then search of 10,000, words / the same", 2.0, &mut |_| {
        place += 1;
        block_on(async {
            words.assert(&turn(place)).await?;
            ask(&words, QUESTION).await
        })
    })?;
    parts(&scratch, &words, encoder.as_ref(), &mut of_embedding)?;
    first(scratch, table)
}

type Measure<'a> = dyn FnMut(&str, f64, &mut dyn FnMut(usize) -> Result<()>) -> Result<()> + 'a;

/// What a hybrid search does beside the embedding of its question.
fn parts(scratch: &Scratch, words: &Memory, encoder: &Questions, measure: &mut Measure<'_>) -> Result<()> {
    let standings = block_on(words.standings(None))?;
    let mut index = Index::default();
    index.catch_up(&standings)?;
    let space = encoder.space().id();
    for (document, standing) in (0..).zip(standings.all()) {
        let vectors = encoder.embed(&[standing.record.text.as_str()], Side::Passage)?;
        index.put_vector(space, document, vectors.first().map_or(&[], Vec::as_slice))?;
    }
    let vectors = encoder.embed(&[QUESTION], Side::Query)?;
    let vectors: Vec<(SpaceId, &[f32])> = vectors.iter().map(|vector| (space, vector.as_slice())).collect();
    let visible = Bits::all(index.documents());
    measure("of it: what words score / embedding", 0.25, &mut |_| {
        score(&index, &visible, &Wanted { text: QUESTION, vectors: &[] }).map(|_| ())
    })?;
    measure("of it: what words and vectors score / embedding", 0.5, &mut |_| {
        score(&index, &visible, &Wanted { text: QUESTION, vectors: &vectors }).map(|_| ())
    })?;
    measure("of it: that nothing came since / embedding", 0.1, &mut |_| block_on(words.standings(None)).map(|_| ()))?;
    // An entry of about the size, as durable.
    let (_, writer) = scratch.session()?;
    measure("of it: a durable entry / embedding", 1.0, &mut |_| {
        let event = samite::NewEvent {
            kind: samite_model::EntryKind::MESSAGE,
            body: vec![b'x'; 700],
            attributes: None,
            dedupe: None,
            expected_head: None,
        };
        block_on(writer.append(event)).map(|_| ())
    })
}

/// The first search of a process, by words alone: with what is kept between processes, and without.
fn first(scratch: Scratch, table: &mut Table) -> Result<()> {
    let directory = scratch.close();
    let search = |keeps: bool| {
        let embedded = open(directory.path())?;
        let kept = embedded.home().join("memory");
        if !keeps && files::exists(&kept)? {
            files::remove_tree(&kept)?;
        }
        let client = block_on(embedded.client())?;
        let took = seconds(|| block_on(ask(&named(&client)?, QUESTION)))?;
        block_on(embedded.close());
        Ok::<_, Error>(took)
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..OPENED {
        without.push(search(false)?);
        with.push(search(true)?);
    }
    let (ours, other) = (median(&mut with), median(&mut without));
    table.row(&Row {
        name: "first search of a process, kept / not kept",
        ours: ours * 1e3,
        other: other * 1e3,
        unit: "ms",
        ratio: ours / other,
        target: Target::AtMost(0.5),
    });
    Ok(())
}
