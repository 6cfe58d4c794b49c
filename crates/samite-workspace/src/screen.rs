//! Looking at new content of files: what is found in it, and whose key seals it.
//!
//! Chunks of files are the tenant's, so that equal ones are stored once. A chunk in which something was found may be its owner's
//! instead: it has another name then, shares nothing with others, and goes with the owner's keys. Which of both it is stands in
//! no tree: the index knows the name, and the sealed bytes say whose key opens them.

use crate::store::Store;
use samite_keys::Domain;
use samite_model::tree::{TreePath, block_type};
use samite_model::{BlockId, Pseudonym, Result};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// So many bytes on both sides of a chunk are looked at with it: a secret may lie across a cut.
pub(crate) const CONTEXT: usize = 4 << 10;

/// Something that was found in the bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// What it is.
    pub class: &'static str,
    /// Of which kind.
    pub kind: String,
    /// The beginning of its keyed hash.
    pub fingerprint: [u8; 4],
    /// Where it is in what was looked at.
    pub place: Range<usize>,
}

/// What looks for something in the bytes of files.
pub trait Screen: Send + Sync {
    /// What is in a stretch of a file.
    fn screen(&self, bytes: &[u8]) -> Vec<Match>;
}

/// Whether new content of files is looked at, and what happens with what is found.
#[derive(Clone, Default)]
pub struct Screening {
    /// What looks; none looks for nothing.
    pub screen: Option<Arc<dyn Screen>>,
    /// Whether chunks in which something is found are their owner's.
    pub separates: bool,
    /// Whether there may be such chunks already.
    pub separated: bool,
}

impl fmt::Debug for Screening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { screen, separates, separated } = self;
        let looks = screen.is_some();
        write!(f, "Screening {{ looks: {looks}, separates: {separates}, separated: {separated} }}")
    }
}

/// How often a kind of thing was found in a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FoundKind {
    /// What it is.
    pub class: &'static str,
    /// Of which kind.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// The beginnings of the keyed hashes of the first few that differ, in hexadecimal.
    pub fingerprints: Vec<String>,
}

/// A chunk of a file in which something was found when it was stored anew.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FoundChunk {
    /// The file's path when it was read.
    pub path: TreePath,
    /// The chunk's name.
    pub block: BlockId,
    /// Whether it is its owner's, and not the tenant's.
    pub separate: bool,
    /// What was found, by kind.
    pub found: Vec<FoundKind>,
}

/// So many fingerprints of a kind are kept for a chunk.
const FINGERPRINTS: usize = 16;
/// So many kinds.
const KINDS: usize = 64;

/// A chunk that is about to be named and stored.
pub(crate) struct Chunk<'a> {
    /// It, and what stands around it.
    context: &'a [u8],
    range: Range<usize>,
    pub(crate) id: BlockId,
    pub(crate) domain: Domain,
    /// Whether it was looked at.
    screened: bool,
    /// What was found, where that begins in it.
    found: Vec<Match>,
}

impl<'a> Chunk<'a> {
    pub(crate) fn new(context: &'a [u8], range: Range<usize>) -> Self {
        let (id, domain) = (BlockId([0; 32]), Domain::Tenant);
        Self { context, range, id, domain, screened: false, found: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.context.get(self.range.clone()).unwrap_or_default()
    }

    pub(crate) fn length(&self) -> u64 {
        self.range.len() as u64
    }

    /// Looks at it. Says whether anything lies in it, if only in part.
    fn look(&mut self, screen: &dyn Screen) -> bool {
        self.screened = true;
        let range = self.range.clone();
        let mut found = screen.screen(self.context);
        found.retain(|one| one.place.start < range.end && one.place.end > range.start);
        let any = !found.is_empty();
        // What lies across a cut is told once.
        found.retain(|one| range.contains(&one.place.start));
        self.found = found;
        any
    }

    /// Forgets what was found in it: it is no new content.
    pub(crate) fn tell_nothing(&mut self) {
        self.found.clear();
    }

    /// What was found in it, if anything; the path is its file's.
    pub(crate) fn taken(self, path: &TreePath) -> Option<FoundChunk> {
        let mut kinds: Vec<FoundKind> = Vec::new();
        for Match { class, kind, fingerprint, .. } in self.found {
            let fingerprint = format!("{:08x}", u32::from_be_bytes(fingerprint));
            if let Some(known) = kinds.iter_mut().find(|known| known.class == class && known.kind == kind) {
                known.count += 1;
                if known.fingerprints.len() < FINGERPRINTS && !known.fingerprints.contains(&fingerprint) {
                    known.fingerprints.push(fingerprint);
                }
            } else if kinds.len() < KINDS {
                kinds.push(FoundKind { class, kind, count: 1, fingerprints: vec![fingerprint] });
            }
        }
        kinds.sort_by(|a, b| (a.class, &a.kind).cmp(&(b.class, &b.kind)));
        let separate = self.domain != Domain::Tenant;
        let path = path.clone();
        (!kinds.is_empty()).then_some(FoundChunk { path, block: self.id, separate, found: kinds })
    }
}

impl Store {
    /// Gives chunks their names, and says whose they are: the tenant's, unless the index knows them as the owner's, or something
    /// is found in new content that is to be the owner's then. So the same bytes get the same name again, whatever is decided
    /// meanwhile, while the index knows them.
    pub(crate) fn name_chunks(&self, owner: Pseudonym, chunks: &mut [Chunk<'_>]) -> Result<()> {
        for chunk in &mut *chunks {
            chunk.id = self.sealing.block_id(Domain::Tenant, block_type::CHUNK, chunk.bytes())?;
        }
        let Screening { screen, separates, separated } = &self.screening;
        if !separates && !separated {
            return Ok(());
        }
        let domain = Domain::Owner(owner);
        let own = chunks
            .iter()
            .map(|chunk| self.sealing.block_id(domain, block_type::CHUNK, chunk.bytes()))
            .collect::<Result<Vec<BlockId>>>()?;
        let shared: Vec<BlockId> = chunks.iter().map(|chunk| chunk.id).collect();
        let known = self.find(&own)?;
        let shared = if *separates { self.find(&shared)? } else { Vec::new() };
        for (at, (chunk, own)) in chunks.iter_mut().zip(own).enumerate() {
            let is_known = |places: &[Option<_>]| places.get(at).is_some_and(Option::is_some);
            let is_own = is_known(&known)
                || *separates && !is_known(&shared) && screen.as_ref().is_some_and(|screen| chunk.look(&**screen));
            if is_own {
                (chunk.id, chunk.domain) = (own, domain);
            }
        }
        Ok(())
    }

    /// Looks at a chunk that is stored anew, unless naming did so already.
    pub(crate) fn look_at_new(&self, chunk: &mut Chunk<'_>) {
        if let Some(screen) = self.screening.screen.as_ref().filter(|_| !chunk.screened) {
            chunk.look(&**screen);
        }
    }

    /// The plaintexts of chunks of an owner's trees, in the order of the question.
    ///
    /// # Errors
    /// As [`Store::read_blocks`].
    pub(crate) fn read_chunk(&self, owner: Pseudonym, chunk: BlockId) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_sealed(&[chunk], &mut |_, sealed| {
            let sealed = sealed?;
            let domain = self.sealing.chunk_domain(owner, sealed);
            bytes = self.sealing.open_block(domain, chunk, sealed).map_err(|error| self.naming(chunk, error))?;
            Ok(())
        })?;
        Ok(bytes)
    }
}
