//! Secrets: what they look like, and what only looks like one.
//!
//! One pass over the text finds prefixes, words and marks; a small matcher looks at a window around each.

mod assign;
mod block;
mod checksum;
mod format;
mod formats;
mod harmless;
mod header;
mod judge;
mod name;
mod prefilter;
mod scan;
mod structure;
mod url;

pub(crate) use assign::secret_field;
pub(crate) use scan::{Depth, names_secret, scan};
pub(crate) use structure::in_run;
pub(crate) use url::option_value;
