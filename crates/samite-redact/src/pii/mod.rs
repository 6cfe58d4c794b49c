//! Personal data.

use crate::finding::Hit;

/// Adds the personal data of a text; `name` is what the field around it is called.
pub(crate) fn scan(_text: &[u8], _name: &[u8], _hits: &mut Vec<Hit>) {}
