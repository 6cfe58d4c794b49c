//! Long-term memory: namespaces, records, where they come from, what was decided about them, and
//! the spaces of their vectors. Pure.

mod model;
mod namespace;
mod operation;
mod record;
mod revoked;
mod settings;
mod space;
mod trust;

pub use model::{Model, ModelChanged, ModelStep, Models};
pub use namespace::Namespace;
pub use operation::{
    Asserted, Changed, Decided, Opened, Operation, Pinned, Promoted, Replaces, Retracted, Searched, Verdict,
};
pub use record::{Edge, Extractor, Provenance, Record, RecordKind, Span, TEXT, Validity, WriterName, not_pinnable};
pub use revoked::{Revoked, RevokedSource};
pub use settings::{Adoption, MemorySettings, Treatment};
pub use space::{Normalisation, Pooling, Space, SpaceParts};
pub use trust::Trust;
