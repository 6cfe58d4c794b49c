//! The views of artifacts. Pure: the same functions serve the append and the rebuild.

use crate::payload::{ArtifactPublished, ArtifactRecord, ArtifactRetained, Keep};
use crate::views::{IndexHash, Projection, dedupe, register, row};
use samite_ledger::{Register, Row};
use samite_model::artifact::Retention;
use samite_model::{ArtifactId, BlockId, EntryKind, Error, Result};
use std::collections::HashMap;

/// A record's row: enough to collect by, without opening the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordRow {
    /// The artifact.
    pub(crate) artifact: ArtifactId,
    /// Its tree.
    pub(crate) root: BlockId,
    /// The hash of its type.
    pub(crate) of_type: [u8; 16],
    /// When it was published, in nanoseconds since 1970.
    pub(crate) published: i64,
}

impl RecordRow {
    /// The row of a record.
    pub(crate) fn of(hash: &dyn IndexHash, record: &ArtifactRecord) -> Result<Self> {
        Ok(Self {
            artifact: record.artifact,
            root: record.root,
            of_type: type_hash(hash, &record.of_type)?,
            published: record.published,
        })
    }

    fn encode(&self) -> Vec<u8> {
        [self.root.as_bytes().as_slice(), &self.of_type, &self.published.to_be_bytes()].concat()
    }

    /// Reads a row of an owner's artifacts.
    pub(crate) fn decode(row: &Row) -> Result<Self> {
        let damaged = || {
            Error::corrupt("bad_view", format!("the row of an artifact at seq {} is unreadable", row.position.seq))
                .hint("run `samite verify --rebuild`")
        };
        let (root, rest) = row.value.split_first_chunk::<32>().ok_or_else(damaged)?;
        let (of_type, rest) = rest.split_first_chunk::<16>().ok_or_else(damaged)?;
        let published = i64::from_be_bytes(rest.try_into().map_err(|_| damaged())?);
        Ok(Self { artifact: ArtifactId(row.hash), root: BlockId(*root), of_type: *of_type, published })
    }
}

/// The hash of a name within a session.
pub(crate) fn name_hash(hash: &dyn IndexHash, name: &str) -> Result<[u8; 16]> {
    hash.hash("artifact-name", &[name.as_bytes()])
}

/// The hash of a type among an owner's artifacts.
pub(crate) fn type_hash(hash: &dyn IndexHash, of_type: &str) -> Result<[u8; 16]> {
    hash.hash("artifact-type", &[of_type.as_bytes()])
}

/// What was submitted under a dedupe id.
pub(crate) fn submitted(hash: &dyn IndexHash, published: &ArtifactPublished) -> Result<[u8; 16]> {
    let code = EntryKind::ARTIFACT_PUBLISHED.code().to_be_bytes();
    hash.hash("submitted", &[&code, published.sha256.as_bytes(), published.name.as_bytes()])
}

/// On a branch: found by its name, and by the caller's id for it.
pub(crate) fn published(hash: &dyn IndexHash, published: &ArtifactPublished) -> Result<Projection> {
    let name = name_hash(hash, &published.name)?;
    let mut projection = Projection::default().row(row::ARTIFACT, name, published.artifact.as_bytes().to_vec());
    if let Some(key) = &published.dedupe {
        projection.rows.push(dedupe(hash.hash("dedupe", &[key.as_bytes()])?, submitted(hash, published)?));
    }
    Ok(projection)
}

/// Among an owner's artifacts: found by its id.
pub(crate) fn recorded(hash: &dyn IndexHash, record: &ArtifactRecord) -> Result<Projection> {
    let row = RecordRow::of(hash, record)?;
    Ok(Projection::default().row(row::ARTIFACT, *record.artifact.as_bytes(), row.encode()))
}

/// How long one, or all of a type, are kept.
pub(crate) fn retained(hash: &dyn IndexHash, retained: &ArtifactRetained) -> Result<Projection> {
    let (what, place) = match (&retained.artifact, &retained.of_type) {
        (Some(artifact), _) => (ONE, *artifact.as_bytes()),
        (None, Some(of_type)) => (TYPE, type_hash(hash, of_type)?),
        (None, None) => return Ok(Projection::default()),
    };
    let keep = match retained.keep {
        Keep::Forever => Retention::Forever,
        Keep::Days(days) => Retention::Days(days),
        Keep::Until(time) => Retention::Until(time),
        Keep::Default => return Ok(Projection::default().clear(register::ARTIFACT_RETENTION, place)),
    };
    let value = [&[what][..], &keep.encode()].concat();
    Ok(Projection::default().set(register::ARTIFACT_RETENTION, place, value))
}

const ONE: u8 = 1;
const TYPE: u8 = 2;

/// What was decided about an owner's artifacts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions {
    /// Of single ones.
    pub(crate) own: HashMap<ArtifactId, Retention>,
    /// Of types, by the hash of the type.
    pub(crate) types: HashMap<[u8; 16], (Retention, u64)>,
}

impl Decisions {
    /// Reads them from registers.
    pub(crate) fn decode(registers: &[Register]) -> Result<Self> {
        let mut decisions = Self::default();
        for found in registers.iter().filter(|found| found.kind == register::ARTIFACT_RETENTION) {
            let damaged = || {
                Error::corrupt("bad_view", format!("what seq {} decides about artifacts is unreadable", found.seq))
                    .hint("run `samite verify --rebuild`")
            };
            let (what, keep) = found.value.split_first().ok_or_else(damaged)?;
            let keep = Retention::decode(keep).ok_or_else(damaged)?;
            match *what {
                ONE => drop(decisions.own.insert(ArtifactId(found.hash), keep)),
                TYPE => drop(decisions.types.insert(found.hash, (keep, found.seq))),
                _ => return Err(damaged()),
            }
        }
        Ok(decisions)
    }

    /// How long an artifact is kept.
    pub(crate) fn kept(&self, row: &RecordRow) -> samite_model::artifact::Kept {
        let own = self.own.get(&row.artifact).copied();
        let of_type = self.types.get(&row.of_type).map(|(keep, _)| *keep);
        samite_model::artifact::kept(own, of_type, row.published)
    }
}
