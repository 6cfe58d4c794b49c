//! The words that agents' messages are made of, so that a short message need not bring its own.
//!
//! Version 1. Never changed: what was sealed with it is opened with it. What is more common stands nearer to the end,
//! where it costs less to refer to.

/// The dictionary's bytes.
pub(crate) const DICTIONARY: &[u8] = br#"{"type":"message","role":"assistant","content":[{"type":"text","text":""}]}"#;
