//! What makes vectors of texts.

use samite::memory::{Embedder, Memory, ModelSource};
use samite_embed::{ApiKey, Endpoint, EndpointOptions, KeySource};
use samite_model::{Error, Result};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The variable that names it.
const VARIABLE: &str = "SAMITE_EMBEDDER";

/// The variable that holds the key for endpoints.
const KEY: &str = "SAMITE_EMBEDDER_KEY";

const BUILT_IN: &str = "builtin";

/// What stands before the directory of a model.
const FILE: &str = "file:";

/// What stands before an endpoint: the processor that it is, its address, its model, and how many numbers a vector has.
const ENDPOINT: &str = "endpoint:";

/// Opens models by their names, and keeps them open.
struct Models {
    standard: Option<String>,
    opened: Mutex<HashMap<String, Arc<dyn Embedder>>>,
}

impl ModelSource for Models {
    fn standard(&self) -> Option<&str> {
        self.standard.as_deref()
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Embedder>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(name) {
            return Ok(known.clone());
        }
        let model = open(name)?;
        opened.insert(name.to_owned(), model.clone());
        Ok(model)
    }
}

fn open(name: &str) -> Result<Arc<dyn Embedder>> {
    if name == BUILT_IN {
        return built_in();
    }
    if let Some(directory) = name.strip_prefix(FILE) {
        return of_files(directory);
    }
    match name.strip_prefix(ENDPOINT) {
        Some(endpoint) => of_endpoint(name, endpoint),
        None => Err(bad(name)),
    }
}

fn bad(name: &str) -> Error {
    Error::invalid("bad_embedder", format!("{name} names no model")).hint(
        "name `builtin`, `file:DIR`, or `endpoint:PROCESSOR,https://HOST/v1,MODEL,DIMENSIONS`; SAMITE_EMBEDDER may be `off` too",
    )
}

/// `PROCESSOR,ADDRESS,MODEL,DIMENSIONS`.
fn of_endpoint(name: &str, text: &str) -> Result<Arc<dyn Embedder>> {
    let [processor, address, model, dimensions] = text.split(',').collect::<Vec<_>>()[..] else {
        return Err(bad(name));
    };
    let dimensions = dimensions.parse().map_err(|_| bad(name))?;
    if processor.is_empty() || model.is_empty() {
        return Err(bad(name));
    }
    let options =
        EndpointOptions { provider: Some(processor.to_owned()), ..EndpointOptions::new(address, model, dimensions) };
    let key: Option<KeySource> = match std::env::var_os(KEY).is_some_and(|key| !key.is_empty()) {
        true => Some(Box::new(|| ApiKey::from_environment(KEY))),
        false => None,
    };
    Ok(Arc::new(Endpoint::new(options, key)?))
}

#[cfg(feature = "encoder")]
fn built_in() -> Result<Arc<dyn Embedder>> {
    // One text at a time gains next to nothing from more threads.
    Ok(Arc::new(samite_embed::Builtin::new(std::num::NonZeroUsize::MIN)?))
}

/// A model from files, whose vectors are of a space of their own.
#[cfg(feature = "encoder")]
fn of_files(directory: &str) -> Result<Arc<dyn Embedder>> {
    let directory = Path::new(directory);
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let options = samite_embed::FileOptions {
        model: name.filter(|name| !name.is_empty()).unwrap_or_else(|| "model".to_owned()),
        pooling: samite_embed::Pooling::Mean,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        tokens: 256,
        threads: std::num::NonZeroUsize::MIN,
    };
    let model = samite_embed::FileModel::open(directory, options, &samite_host::files::read_if_exists)?;
    Ok(Arc::new(model))
}

#[cfg(not(feature = "encoder"))]
fn of_files(_directory: &str) -> Result<Arc<dyn Embedder>> {
    Err(Error::invalid("bad_embedder", "this build reads no models").hint("set SAMITE_EMBEDDER to `off`"))
}

#[cfg(not(feature = "encoder"))]
fn built_in() -> Result<Arc<dyn Embedder>> {
    Err(Error::invalid("bad_embedder", "this build has no encoder").hint("set SAMITE_EMBEDDER to `off`"))
}

/// The name that the variable has; none where it has none.
fn named() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())
}

/// The name of a model as it is kept: the path of a directory that is there is whole, so that it is found from everywhere.
pub(super) fn whole(name: &str) -> String {
    let directory =
        name.strip_prefix(FILE).and_then(|directory| samite_host::files::canonical(Path::new(directory)).ok());
    directory.map_or_else(|| name.to_owned(), |directory| format!("{FILE}{}", directory.display()))
}

/// The same namespace, searched with the models that were chosen for it, or else with the built-in one.
pub(super) fn with_models(memory: &Memory) -> Memory {
    let standard = cfg!(feature = "encoder").then(|| BUILT_IN.to_owned());
    memory.with_models(Arc::new(Models { standard, opened: Mutex::default() }))
}

/// The same namespace, searched with the encoder that the variable names, or else with the models that were chosen for it.
///
/// # Errors
/// `invalid` (`bad_embedder`) for a name that is none.
pub(super) fn with_encoder(memory: Memory) -> Result<Memory> {
    match named().as_deref() {
        None => Ok(with_models(&memory)),
        Some("off") => Ok(memory),
        Some(name) => Ok(memory.with_embedder(open(&whole(name))?)),
    }
}
