//! The identity of a vector space: vectors may be compared within one, and never across two.
//!
//! Two models, two revisions of one, or one model with another pooling or prefix give numbers that look alike and mean nothing to
//! each other. So a space is all of what decides about the numbers, its id is a hash over that, and whatever holds vectors says
//! which space they are of.

use crate::error::{Error, Result};
use crate::hash;
use crate::id::SpaceId;
use serde::{Deserialize, Serialize};
use std::fmt;

const SPACE: &[u8] = b"samite/space/v1\0";
const VERSION: u8 = 1;

/// The longest provider, model or revision, in bytes.
const LONGEST_NAME: usize = 256;
/// The longest prefix, in bytes.
const LONGEST_PREFIX: usize = 2048;
/// The most dimensions.
const MOST_DIMENSIONS: u32 = 65_536;

/// How the vectors of a text's tokens became one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Their mean, over the tokens of the text and not over padding.
    Mean,
    /// The first token's, which BERT calls `[CLS]`.
    Cls,
    /// What the provider does, who gives one vector a text and does not say how.
    Provider,
}

impl Pooling {
    const ALL: [Self; 3] = [Self::Mean, Self::Cls, Self::Provider];

    const fn code(self) -> u8 {
        match self {
            Self::Mean => 1,
            Self::Cls => 2,
            Self::Provider => 3,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean pooling",
            Self::Cls => "pooling by the first token",
            Self::Provider => "the provider's pooling",
        }
    }
}

/// What was done about a vector's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalisation {
    /// Nothing.
    None,
    /// It is 1 (L2), so that a dot product is the cosine.
    Unit,
}

impl Normalisation {
    const ALL: [Self; 2] = [Self::None, Self::Unit];

    const fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Unit => 1,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::None => "any length",
            Self::Unit => "unit length",
        }
    }
}

/// What a vector space is described by. All of it is part of its identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpaceParts {
    /// Who makes the vectors: `builtin`, `file`, or the name of an endpoint. 1 to 256 bytes.
    pub provider: String,
    /// The model's name. 1 to 256 bytes.
    pub model: String,
    /// Which of the models of this name: a revision, or a digest of its files. At most 256 bytes; empty when the provider has none.
    pub revision: String,
    /// How many numbers a vector has: 1 to 65,536.
    pub dimensions: u32,
    /// How the vectors of tokens became one.
    pub pooling: Pooling,
    /// What is put before a query. At most 2,048 bytes.
    pub query_prefix: String,
    /// What is put before a text that is to be found. At most 2,048 bytes.
    pub passage_prefix: String,
    /// What was done about lengths.
    pub normalisation: Normalisation,
}

/// A vector space: [`SpaceParts`] that were checked, with their id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "SpaceParts", into = "SpaceParts")]
pub struct Space {
    parts: SpaceParts,
    id: SpaceId,
}

impl Space {
    /// A space.
    ///
    /// # Errors
    /// `invalid` (`bad_space`) when a part is empty, too long, or has control characters (in a name; a prefix may have line feeds).
    pub fn new(parts: SpaceParts) -> Result<Self> {
        if let Some(what) = fault(&parts) {
            return Err(Error::invalid("bad_space", what));
        }
        let id = id(&encoded(&parts));
        Ok(Self { parts, id })
    }

    /// What it is described by.
    pub fn parts(&self) -> &SpaceParts {
        &self.parts
    }

    /// The first sixteen bytes of SHA-256 over a domain and the canonical bytes (docs/formats.md).
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// How many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        usize::try_from(self.parts.dimensions).unwrap_or(usize::MAX)
    }

    /// The canonical bytes: equal for equal spaces, and for no others (docs/formats.md).
    pub fn encode(&self) -> Vec<u8> {
        encoded(&self.parts)
    }

    /// Reads what [`Space::encode`] made.
    ///
    /// # Errors
    /// `corrupt` (`bad_space`) for anything else.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let damaged = |what: &str| {
            Error::corrupt("bad_space", format!("the description of a vector space is damaged: {what}"))
                .hint("run `samite verify --rebuild`")
        };
        let parts = Reader(bytes).parts().ok_or_else(|| damaged("it is cut off, or has a part that is not known"))?;
        if let Some(what) = fault(&parts) {
            return Err(damaged(&what));
        }
        let id = id(bytes);
        Ok(Self { parts, id })
    }

    /// Refuses vectors of another space than this one.
    ///
    /// # Errors
    /// `conflict` (`space_mismatch`), which names both: whoever asked read the model from somewhere, and there is another one here.
    pub fn same(&self, other: &Self) -> Result<()> {
        if self == other {
            return Ok(());
        }
        Err(Error::conflict("space_mismatch", format!("vectors of {other} cannot be compared with those of {self}"))
            .hint("ask with the model that the index was made with, or make the index again: `samite memory reindex --to MODEL`"))
    }

    /// Refuses what cannot be a vector of this space. Its length is not looked at.
    ///
    /// # Errors
    /// `invalid`: `wrong_dimensions`; `bad_vector` when a number is infinite or none at all (NaN), or all are 0.
    pub fn check(&self, vector: &[f32]) -> Result<()> {
        if vector.len() != self.dimensions() {
            let what =
                format!("a vector has {} dimensions, and those of {self} have {}", vector.len(), self.dimensions());
            return Err(Error::invalid("wrong_dimensions", what).hint("give the model's own number of dimensions"));
        }
        let bad = |what: &str| Error::invalid("bad_vector", format!("a vector for {self} {what}"));
        if let Some(place) = vector.iter().position(|number| !number.is_finite()) {
            return Err(bad(&format!("has no finite number at place {place}")));
        }
        if vector.iter().all(|number| *number == 0.0) {
            return Err(bad("has no direction: all its numbers are 0"));
        }
        Ok(())
    }
}

impl fmt::Display for Space {
    /// `builtin/all-MiniLM-L6-v2@8199be6f699a (384 dimensions, mean pooling, unit length, space 0123456789ab)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.parts;
        write!(f, "{}/{}", parts.provider, parts.model)?;
        if !parts.revision.is_empty() {
            let short: String = parts.revision.chars().take(12).collect();
            write!(f, "@{short}")?;
        }
        let (pooling, length) = (parts.pooling.name(), parts.normalisation.name());
        write!(f, " ({} dimensions, {pooling}, {length}", parts.dimensions)?;
        if !parts.query_prefix.is_empty() || !parts.passage_prefix.is_empty() {
            write!(f, ", prefixes {:?} and {:?}", parts.query_prefix, parts.passage_prefix)?;
        }
        write!(f, ", space {})", self.id.short())
    }
}

impl TryFrom<SpaceParts> for Space {
    type Error = Error;

    fn try_from(parts: SpaceParts) -> Result<Self> {
        Self::new(parts)
    }
}

impl From<Space> for SpaceParts {
    fn from(space: Space) -> Self {
        space.parts
    }
}

/// What is wrong with a description.
fn fault(parts: &SpaceParts) -> Option<String> {
    let names = [("provider", &parts.provider), ("model", &parts.model), ("revision", &parts.revision)];
    for (what, name) in names {
        if name.is_empty() && what != "revision" {
            return Some(format!("a vector space has no {what}"));
        }
        if name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Some(format!(
                "the {what} of a vector space is longer than {LONGEST_NAME} bytes, or has control characters"
            ));
        }
    }
    if parts.query_prefix.len().max(parts.passage_prefix.len()) > LONGEST_PREFIX {
        return Some(format!("a prefix of a vector space is longer than {LONGEST_PREFIX} bytes"));
    }
    let possible = 1..=MOST_DIMENSIONS;
    (!possible.contains(&parts.dimensions))
        .then(|| format!("a vector space has {} dimensions; it may have 1 to {MOST_DIMENSIONS}", parts.dimensions))
}

fn id(encoded: &[u8]) -> SpaceId {
    let mut id = [0; 16];
    let digest = hash::digest(&[SPACE, encoded]);
    id.iter_mut().zip(digest).for_each(|(place, byte)| *place = byte);
    SpaceId(id)
}

fn encoded(parts: &SpaceParts) -> Vec<u8> {
    let mut bytes = vec![VERSION, parts.pooling.code(), parts.normalisation.code()];
    bytes.extend(parts.dimensions.to_be_bytes());
    for text in [&parts.provider, &parts.model, &parts.revision, &parts.query_prefix, &parts.passage_prefix] {
        // No text is longer than its limit, which is below 65,536.
        bytes.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::from(u16::from_be_bytes(self.array()?));
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }

    /// All of it, and nothing behind it.
    fn parts(mut self) -> Option<SpaceParts> {
        let [version, pooling, normalisation] = self.array()?;
        if version != VERSION {
            return None;
        }
        let dimensions = u32::from_be_bytes(self.array()?);
        let (provider, model, revision) = (self.text()?, self.text()?, self.text()?);
        let (query_prefix, passage_prefix) = (self.text()?, self.text()?);
        let pooling = Pooling::ALL.into_iter().find(|known| known.code() == pooling)?;
        let normalisation = Normalisation::ALL.into_iter().find(|known| known.code() == normalisation)?;
        let parts =
            SpaceParts { provider, model, revision, dimensions, pooling, query_prefix, passage_prefix, normalisation };
        self.0.is_empty().then_some(parts)
    }
}

#[cfg(test)]
mod tests;
