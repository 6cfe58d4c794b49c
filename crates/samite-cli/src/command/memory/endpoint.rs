//! Endpoints that make vectors, as they are described beside the store.

use samite_embed::{ApiKey, Endpoint, EndpointOptions, KeySource};
use samite_host::files;
use samite_model::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file in the store's directory.
const FILE: &str = "endpoints.json";

/// What is said of one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    /// The address before `/embeddings`.
    base: String,
    /// The model's name there.
    model: String,
    /// How many numbers its vectors have.
    dimensions: u32,
    #[serde(default)]
    revision: String,
    /// Whether the request says how many numbers are wanted.
    #[serde(default)]
    ask_dimensions: bool,
    #[serde(default)]
    query_prefix: String,
    #[serde(default)]
    passage_prefix: String,
    /// The environment variable that has the key.
    key_variable: Option<String>,
    /// The file that has the key.
    key_file: Option<PathBuf>,
}

/// The endpoint of a name. Nothing is sent.
///
/// # Errors
/// `not_found` (`no_endpoint`) where none of this name is described; `invalid` (`bad_endpoint`).
pub(super) fn open(store: &Path, name: &str) -> Result<Endpoint> {
    let path = store.join(FILE);
    let bytes = files::read_if_exists(&path)?.unwrap_or_else(|| b"{}".to_vec());
    let mut all: BTreeMap<String, Described> = serde_json::from_slice(&bytes).map_err(|error| {
        // Somebody may have written a key there.
        Error::invalid("bad_endpoint", format!("{} is wrong in line {}", path.display(), error.line()))
            .hint("it has, by name, an object with `base`, `model` and `dimensions`; see docs/formats.md")
    })?;
    let described = all.remove(name).ok_or_else(|| {
        Error::not_found("no_endpoint", format!("{} describes no endpoint {name:?}", path.display()))
            .hint("write there where it is, which model it has, and with how many dimensions")
    })?;
    let key: Option<KeySource> = match (described.key_variable, described.key_file) {
        (Some(variable), _) => Some(Box::new(move || ApiKey::from_environment(&variable))),
        (None, Some(file)) => Some(Box::new(move || ApiKey::from_bytes(&files::read(&file)?))),
        (None, None) => None,
    };
    let options = EndpointOptions {
        provider: Some(name.to_owned()),
        revision: described.revision,
        ask_dimensions: described.ask_dimensions,
        query_prefix: described.query_prefix,
        passage_prefix: described.passage_prefix,
        ..EndpointOptions::new(described.base, described.model, described.dimensions)
    };
    Endpoint::new(options, key)
}
