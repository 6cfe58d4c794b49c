//! What entries say of consent, processors, regions and data sets. All of them are sealed under the tenant's own key, and
//! hold no name or word of the persons concerned.

use samite_model::erasure::{Run, Scope};
use samite_model::policy::capture::Level;
use samite_model::policy::{ConsentOn, Region, Source};
use samite_model::{FamilyId, Pseudonym, SessionId};
use serde::{Deserialize, Serialize};

/// `consent_set`: what was said about training. The header says who wrote it, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentSet {
    /// About what.
    pub on: ConsentOn,
    /// Whether it may be used.
    pub given: bool,
    /// On which basis: a form, a clause, a letter.
    pub basis: String,
    /// Why, where there is something to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `processor_set`: somebody else who is given data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorSet {
    /// The processor.
    pub name: String,
    /// Where it is.
    pub region: Region,
    /// What for.
    pub purpose: String,
    /// The agreement with it.
    pub agreement: String,
    /// The stores that it receives.
    pub receives: Vec<String>,
    /// Whether it receives nothing any more; then the rest is what stood before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Why it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `region_set`: the tenant is pinned to a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionSet {
    /// The region.
    pub region: Region,
    /// The one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Region>,
}

/// `transfer_decided`: data may go to another region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferDecided {
    /// The region.
    pub to: Region,
    /// On which basis.
    pub basis: String,
    /// Why, where there is something to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it is taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

/// `capture_set`: how much of callers' events is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureSet {
    /// The kind; none for all for which nothing else is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How much; none takes back what was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
}

/// `retention_set`: how long a kind of things is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionSet {
    /// The kind: `session`, `artifact` or `audit`.
    pub kind: String,
    /// How many days; none for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Where the audit log's leaves go that are older; none leaves them in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
}

/// `refused`: something in another region was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// A random id.
    pub refusal: FamilyId,
    /// What: `open` for a node, `processor`, `export`.
    pub what: String,
    /// The other region; none of a node that states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
    /// When, in nanoseconds since 1970.
    pub time: i64,
}

/// `dataset_exported`: what left the store for training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetExported {
    /// The data set.
    pub dataset: FamilyId,
    /// Where it went.
    pub region: Region,
    /// On which basis.
    pub basis: String,
    /// The Merkle root (RFC 6962) of the commitments of the entries in it, in the order of its lines, as 64 hexadecimal
    /// digits.
    pub root: String,
    /// How many lines it has.
    pub entries: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The plain SHA-256 of its lines, in hexadecimal digits.
    pub sha256: String,
    /// The entries in it.
    pub runs: Vec<Run>,
    /// The sessions that they came from, also by what they were made of.
    pub sources: Vec<ExportedSource>,
    /// How many branches were left out.
    pub left_out: u64,
}

/// A session that a data set came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedSource {
    /// The session.
    pub session: SessionId,
    /// Whose it was.
    pub owner: Pseudonym,
}

impl From<Source> for ExportedSource {
    fn from(source: Source) -> Self {
        Self { session: source.session, owner: source.owner }
    }
}

impl DatasetExported {
    /// Whether it may hold something of what is erased.
    pub(crate) fn may_hold(&self, scope: &Scope, subject: Pseudonym) -> bool {
        self.sources.iter().any(|source| match scope {
            Scope::Session { session } | Scope::Entries { session, .. } => source.session == *session,
            Scope::User | Scope::Artifact { .. } | Scope::Memory { .. } | Scope::Records { .. } => {
                source.owner == subject
            }
            Scope::Secret { .. } => false,
        })
    }
}

/// `organisation_set`, in the tenant's control journal: the organisation's policies from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrganisationSet {
    /// In Cedar, as they were given; none takes them back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<String>,
}
