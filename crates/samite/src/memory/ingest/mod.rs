//! Taking in documents: a record for each piece, and only the difference when a document comes again.

mod steps;
mod walk;

pub use samite_memory::document::Format as DocumentFormat;
pub use walk::{DocumentFile, DocumentTree, NotRead, document_tree, read_document};

use super::batch::{Basis, Change, TRIES, is_overtaken};
use super::write::busy;
use super::{Memory, NewRecord};
use crate::views::IndexHash as _;
use samite_host::kill_point;
use samite_ledger::Guard;
use samite_memory::document::{Limits, PIECES, Piece, pieces, text};
use samite_memory::{Ended, Standing, Standings};
use samite_model::memory::{Extractor, Record, RecordKind, Trust};
use samite_model::{FamilyId, JournalId, RecordId, Result, limits};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use steps::{OldPiece, Steps, steps, title};

/// What makes pieces of documents, as it is named in their provenance.
pub const DOCUMENT_EXTRACTOR: &str = "samite-document";

/// A commit has at most so many changes. A document that needs more is taken in by several, and whoever is interrupted goes on where
/// that was.
const A_COMMIT: usize = 512;

/// A document that is taken in.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// What it is called: the source of its pieces. The same name is the same document.
    pub name: &'a str,
    /// What it holds: text in UTF-8.
    pub bytes: &'a [u8],
    /// How it is read; none means that its name or its beginning says so.
    pub format: Option<DocumentFormat>,
    /// How far it is trusted.
    pub trust: Trust,
}

/// What came of a document, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Its name.
    pub name: String,
    /// How it was read; none where it is gone.
    pub format: Option<DocumentFormat>,
    /// Pieces that were there and stay as they are.
    pub kept: usize,
    /// Pieces that came.
    pub added: usize,
    /// Pieces that took the place of others.
    pub replaced: usize,
    /// Pieces that ended, and nothing took their place.
    pub ended: usize,
    /// Pieces that were left out, since somebody forgot what they say.
    pub forgotten: usize,
    /// Pieces that were left out, since they were revoked with their source.
    pub revoked: usize,
}

impl Ingested {
    /// Whether nothing was to be written.
    pub fn is_unchanged(&self) -> bool {
        self.added + self.replaced + self.ended == 0
    }
}

/// A document whose pieces stand in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDocument {
    /// What it is called, as far as the tenant's policy lets names be kept.
    pub name: String,
    /// What its whole name is known by: a keyed hash, in hexadecimal digits.
    pub document: String,
    /// How many pieces there are.
    pub pieces: usize,
    /// The least that one of them is trusted.
    pub trust: Trust,
}

/// Takes in documents one after the other, and reads the namespace once for all of them as long as nobody else writes to it.
pub struct Ingester<'a> {
    memory: &'a Memory,
    basis: Option<Basis>,
}

impl Memory {
    /// For taking in documents.
    pub fn ingester(&self) -> Ingester<'_> {
        Ingester { memory: self, basis: None }
    }
}

impl Ingester<'_> {
    /// Takes in a document: pieces that are there stay, those that changed take the place of what was there, those that are gone are
    /// retracted. When this returns, that is durable. One of more than 512 changes is taken in by several commits; whoever was
    /// interrupted takes it in again, and the rest is done.
    ///
    /// What says what was forgotten, or was revoked with its source, is left out; what was revoked comes again where the user or an
    /// operator stands behind it.
    ///
    /// # Errors
    /// `invalid`: `binary_document` for what is not text in UTF-8, what [`limits::check_name`] says of its name; `denied`:
    /// `not_vouched_for`, and `less_trusted` where its pieces are trusted more than it is now; `unavailable` (`store_busy`) when others
    /// kept writing.
    pub async fn ingest(&mut self, document: &Document<'_>) -> Result<Ingested> {
        self.take(document, false).await
    }

    /// What taking in a document would do. Changes nothing.
    ///
    /// # Errors
    /// As [`Ingester::ingest`].
    pub async fn plan(&mut self, document: &Document<'_>) -> Result<Ingested> {
        self.take(document, true).await
    }

    /// The documents whose pieces stand, by their names.
    ///
    /// # Errors
    /// Those of the ledger.
    pub async fn documents(&mut self) -> Result<Vec<HeldDocument>> {
        let memory = self.memory;
        let mut held: BTreeMap<(String, &str), HeldDocument> = BTreeMap::new();
        for standing in self.current(memory).await?.standings.all().iter().filter(|one| is_piece(one)) {
            let from = &standing.record.provenance;
            let (name, document) = (from.source.clone().unwrap_or_default(), said(standing, "document"));
            let one = held.entry((name.clone(), document)).or_insert_with(|| HeldDocument {
                name,
                document: document.to_owned(),
                pieces: 0,
                trust: from.trust,
            });
            (one.pieces, one.trust) = (one.pieces + 1, one.trust.min(from.trust));
        }
        Ok(held.into_values().collect())
    }

    /// What the name of a document is known by in this namespace: [`HeldDocument::document`].
    ///
    /// # Errors
    /// Those of the ledger and the keys.
    pub async fn known_by(&self, name: &str) -> Result<String> {
        let journal = self.memory.own_journal().await?;
        keyed(self.memory, journal, "memory-document-name", &[name.as_bytes()])
    }

    /// Retracts the pieces of a document that is not there any more. When this returns, that is durable.
    ///
    /// # Errors
    /// `denied` (`not_vouched_for`) where the principal does not speak for those who stand behind it; `unavailable` (`store_busy`).
    pub async fn withdraw(&mut self, document: &HeldDocument) -> Result<Ingested> {
        let mut done = Ingested { name: document.name.clone(), ..Ingested::default() };
        for _ in 0..TRIES {
            let memory = self.memory;
            let standing = held(&self.current(memory).await?.standings, &document.document);
            if standing.is_empty() {
                return Ok(done);
            }
            let ends = standing.iter().take(A_COMMIT);
            let reason = || Some("the document is gone".to_owned());
            let changes: Vec<Change> = ends.map(|(record, _)| Change::Retract(*record, reason())).collect();
            let count = changes.len();
            if self.commit(changes, Vec::new()).await? {
                done.ended += count;
                if count == standing.len() {
                    return Ok(done);
                }
            }
        }
        Err(busy())
    }

    /// What stands now: what was known, where nobody wrote since.
    async fn current(&mut self, memory: &Memory) -> Result<&mut Basis> {
        let known = match self.basis.take() {
            Some(basis) if memory.is_current(&basis).await? => basis,
            _ => memory.basis().await?,
        };
        Ok(self.basis.insert(known))
    }

    /// Whether the changes are made; not where somebody else wrote meanwhile.
    async fn commit(&mut self, changes: Vec<Change>, guards: Vec<Guard>) -> Result<bool> {
        // What an error leaves is not known.
        let Some(mut basis) = self.basis.take() else { return Ok(false) };
        match self.memory.commit_batch(&mut basis, changes, guards).await {
            Ok(()) => {
                self.basis = Some(basis);
                kill_point("memory.ingest.committed");
                Ok(true)
            }
            Err(error) if is_overtaken(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn take(&mut self, document: &Document<'_>, is_plan: bool) -> Result<Ingested> {
        limits::check_name("the document's name", document.name)?;
        let memory = self.memory;
        let format = match document.format {
            Some(format) => format,
            None => DocumentFormat::guess(document.name, document.bytes)?,
        };
        let cut = pieces(format, text(document.name, document.bytes)?, &Limits::default());
        let journal = memory.own_journal().await?;
        let cut = Cut::new(memory, document, format, cut, journal)?;
        let mut done = Ingested { name: document.name.to_owned(), format: Some(format), ..Ingested::default() };
        let mut left_out: HashSet<String> = HashSet::new();
        let mut tries = 0;
        while tries < TRIES {
            let standings = &self.current(memory).await?.standings;
            let old = held(standings, &cut.known_as);
            let pieces: Vec<OldPiece> = old.iter().map(|(_, piece)| piece.clone()).collect();
            let steps = steps(&pieces, &cut.pieces, |piece| cut.known_by(piece));
            let revoked =
                if document.trust >= Trust::User { HashSet::new() } else { revoked(standings, &cut.known_as) };
            let planned = cut.changes(memory, &old, &steps, &revoked, &mut left_out, is_plan).await?;
            (done.forgotten, done.revoked) = (planned.forgotten + done.forgotten, planned.revoked);
            if done.is_unchanged() {
                done.kept = steps.kept.len();
            }
            if is_plan {
                (done.added, done.replaced, done.ended) = planned.counts;
                return Ok(done);
            }
            if planned.changes.is_empty() {
                return Ok(done);
            }
            if self.commit(planned.changes, planned.guards).await? {
                let (added, replaced, ended) = planned.counts;
                (done.added, done.replaced) = (done.added + added, done.replaced + replaced);
                done.ended += ended;
                if planned.is_all {
                    return Ok(done);
                }
            } else {
                tries += 1;
            }
        }
        Err(busy())
    }
}

/// Whether it is a piece of a document that stands.
fn is_piece(standing: &Standing) -> bool {
    let record = &standing.record;
    let made_by = record.provenance.extractor.as_ref().map(|made_by| made_by.name.as_str());
    standing.ended.is_none() && record.kind == RecordKind::Chunk && made_by == Some(DOCUMENT_EXTRACTOR)
}

/// The pieces of a document that stand, in the order of the document as it was when each was cut.
fn held(standings: &Standings, document: &str) -> Vec<(RecordId, OldPiece)> {
    let is_its = |one: &&Standing| is_piece(one) && said(one, "document") == document;
    let mut pieces: Vec<&Standing> = standings.all().iter().filter(is_its).collect();
    let number = |one: &&Standing| one.record.metadata.get("piece").and_then(Value::as_u64).unwrap_or_default();
    pieces.sort_by_key(number);
    let title = |one: &Standing| one.record.metadata.get("title").and_then(Value::as_str).map(str::to_owned);
    let old = |one: &Standing| OldPiece { identity: known_as(one), title: title(one) };
    pieces.into_iter().map(|one| (one.record.record, old(one))).collect()
}

/// What a piece is known by: what it says and under what, and who stands behind it.
fn known_as(standing: &Standing) -> String {
    format!("{} {}", standing.record.provenance.trust, said(standing, "identity"))
}

/// A text of a record's metadata; an empty one where there is none.
fn said<'a>(standing: &'a Standing, name: &str) -> &'a str {
    standing.record.metadata.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A keyed hash in hexadecimal digits: by it something is known again, and nothing of what was redacted or forgotten is learnt.
fn keyed(memory: &Memory, journal: JournalId, domain: &'static str, bytes: &[&[u8]]) -> Result<String> {
    let hash = memory.client.core.hasher(memory.client.subject.pseudonym, FamilyId(journal.0));
    Ok(data_encoding::HEXLOWER.encode(&hash.hash(domain, bytes)?))
}

/// What pieces of a document are known by that were revoked, and did not come again.
fn revoked(standings: &Standings, document: &str) -> HashSet<String> {
    let is_its = |one: &&Standing| said(one, "document") == document;
    let is_revoked = |one: &&Standing| matches!(one.ended, Some((Ended::Revoked { .. }, _)));
    standings.all().iter().filter(is_its).filter(is_revoked).map(known_as).collect()
}

/// A document in pieces, and what is said of them.
struct Cut<'a> {
    document: &'a Document<'a>,
    format: DocumentFormat,
    pieces: Vec<Piece>,
    /// What each is known by.
    identities: Vec<String>,
    /// What the document's name is known by.
    known_as: String,
    /// What the bytes of the document are known by.
    version: String,
}

/// What is to be committed.
struct Planned {
    changes: Vec<Change>,
    guards: Vec<Guard>,
    /// How many are added, replaced and ended.
    counts: (usize, usize, usize),
    forgotten: usize,
    revoked: usize,
    /// Whether nothing is left to do after it.
    is_all: bool,
}

impl<'a> Cut<'a> {
    fn new(
        memory: &Memory,
        document: &'a Document<'a>,
        format: DocumentFormat,
        pieces: Vec<Piece>,
        journal: JournalId,
    ) -> Result<Self> {
        let version = keyed(memory, journal, "memory-document", &[document.bytes])?;
        let known_as = keyed(memory, journal, "memory-document-name", &[document.name.as_bytes()])?;
        let mut identities = Vec::new();
        for piece in &pieces {
            let path = samite_model::json::canonical(&json!(piece.path));
            let said: [&[u8]; 2] = [path.as_ref(), piece.text.as_bytes()];
            identities.push(keyed(memory, journal, "memory-piece", &said)?);
        }
        Ok(Self { document, format, pieces, identities, known_as, version })
    }

    fn known_by(&self, piece: &Piece) -> String {
        // Pieces are asked about in no certain way; where each begins is its own.
        let number = self.pieces.partition_point(|one| one.span.start < piece.span.start);
        self.known(number)
    }

    fn known(&self, number: usize) -> String {
        format!("{} {}", self.document.trust, self.identities.get(number).map_or("", String::as_str))
    }

    /// The record of a piece.
    fn record(&self, memory: &Memory, number: usize, piece: &Piece, previous: Option<RecordId>) -> Result<Record> {
        let name = self.document.name;
        let mut metadata = Map::new();
        metadata.insert("path".into(), json!(name));
        if let Some(title) = title(piece) {
            metadata.insert("title".into(), json!(title));
        }
        metadata.insert("format".into(), json!(self.format.name()));
        if let Some(language) = language(self.format, name) {
            metadata.insert("language".into(), json!(language));
        }
        metadata.insert("piece".into(), json!(number + 1));
        metadata.insert("bytes".into(), json!([piece.span.start, piece.span.end]));
        metadata.insert("lines".into(), json!([piece.first_line, piece.last_line]));
        metadata.insert("document".into(), json!(self.known_as));
        metadata.insert("version".into(), json!(self.version));
        metadata.insert("identity".into(), json!(self.identities.get(number)));
        let new = NewRecord {
            metadata,
            previous,
            source: Some(name.to_owned()),
            extractor: Some(Extractor { name: DOCUMENT_EXTRACTOR.into(), version: PIECES.to_string() }),
            ..NewRecord::new(RecordKind::Chunk, piece.text.clone(), self.document.trust)
        };
        memory.record(&new, Vec::new())
    }

    /// The next changes: as many as one commit has, or all of them for a plan.
    async fn changes(
        &self,
        memory: &Memory,
        old: &[(RecordId, OldPiece)],
        steps: &Steps,
        revoked: &HashSet<String>,
        left_out: &mut HashSet<String>,
        is_plan: bool,
    ) -> Result<Planned> {
        let most = if is_plan { usize::MAX } else { A_COMMIT };
        let journal = memory.own_journal().await?;
        let record_of = |old_number: usize| old.get(old_number).map(|(record, _)| *record);
        let mut records: BTreeMap<usize, RecordId> =
            steps.kept.iter().filter_map(|(old, new)| Some((*new, record_of(*old)?))).collect();
        let mut planned = Planned {
            changes: Vec::new(),
            guards: Vec::new(),
            counts: (0, 0, 0),
            forgotten: 0,
            revoked: 0,
            is_all: true,
        };
        let mut ends: Vec<RecordId> = steps.ends.iter().filter_map(|one| record_of(*one)).collect();
        for (number, replaces) in steps.comes.iter().copied() {
            let Some(piece) = self.pieces.get(number) else { continue };
            let replaces = replaces.and_then(record_of);
            let known = self.known(number);
            if revoked.contains(&known) || left_out.contains(&known) {
                planned.revoked += usize::from(revoked.contains(&known));
                ends.extend(replaces);
                continue;
            }
            if planned.changes.len() >= most {
                planned.is_all = false;
                continue;
            }
            let previous = records.range(..number).next_back().map(|(_, record)| *record);
            let record = self.record(memory, number, piece, previous)?;
            match memory.not_taken_over(journal, &record).await {
                Ok(guard) => planned.guards.extend(guard),
                Err(error) if error.code() == "record_forgotten" => {
                    planned.forgotten += 1;
                    left_out.insert(known);
                    ends.extend(replaces);
                    continue;
                }
                Err(error) => return Err(error),
            }
            records.insert(number, record.record);
            let record = Box::new(record);
            if let Some(replaces) = replaces {
                planned.counts.1 += 1;
                planned.changes.push(Change::Replace(replaces, record));
            } else {
                planned.counts.0 += 1;
                planned.changes.push(Change::Assert(record));
            }
        }
        for record in ends {
            if planned.changes.len() >= most {
                planned.is_all = false;
                break;
            }
            planned.counts.2 += 1;
            let reason = Some("the document does not say it any more".to_owned());
            planned.changes.push(Change::Retract(record, reason));
        }
        Ok(planned)
    }
}

/// The language of code, by what the name of its file ends with.
fn language(format: DocumentFormat, name: &str) -> Option<String> {
    let extension = || Path::new(name).extension()?.to_str().map(str::to_lowercase);
    (format == DocumentFormat::Code).then(extension).flatten()
}
