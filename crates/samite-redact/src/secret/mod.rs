//! Secrets: what they look like, and what only looks like one.
//!
//! One pass over the text finds prefixes, words and marks; a small matcher looks at a window around each.

mod account;
mod assign;
mod block;
mod checksum;
mod command;
mod format;
mod formats;
mod harmless;
mod header;
mod judge;
mod name;
mod pair;
mod prefilter;
mod prose;
mod scan;
mod structure;
mod url;

pub(crate) use assign::secret_field;
pub(crate) use name::is_secret_id as names_secret_id;
pub(crate) use scan::{Depth, names_secret, scan};
pub(crate) use structure::in_run;
pub(crate) use url::option_value;
