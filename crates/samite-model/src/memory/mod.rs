//! Long-term memory: namespaces, records, where they come from, and what was decided about them. Pure.

mod namespace;
mod operation;
mod record;
mod settings;
mod trust;

pub use namespace::Namespace;
pub use operation::{
    Asserted, Changed, Decided, Opened, Operation, Pinned, Promoted, Replaces, Retracted, Revoked, Verdict,
};
pub use record::{Edge, Extractor, Provenance, Record, RecordKind, Span, TEXT, Validity, WriterName, not_pinnable};
pub use settings::{Adoption, MemorySettings, Treatment};
pub use trust::Trust;
