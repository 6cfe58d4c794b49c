//! What makes vectors of texts.

use super::endpoint;
use crate::surface::Surface;
use samite::memory::{Embedder, Memory, ModelSource};
use samite_host::files;
use samite_model::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The variable that names it.
const VARIABLE: &str = "SAMITE_EMBEDDER";

const BUILT_IN: &str = "builtin";

/// What stands before the directory of a model.
const FILE: &str = "file:";

/// What stands before the name of an endpoint, which is that of a processor.
const ENDPOINT: &str = "endpoint:";

/// Opens models by their names, and keeps them open.
struct Models {
    /// The store's directory, in which endpoints are described.
    store: PathBuf,
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
        let model = open(&self.store, name)?;
        opened.insert(name.to_owned(), model.clone());
        Ok(model)
    }
}

fn open(store: &Path, name: &str) -> Result<Arc<dyn Embedder>> {
    if name == BUILT_IN {
        return built_in();
    }
    if let Some(directory) = name.strip_prefix(FILE) {
        return of_files(Path::new(directory));
    }
    match name.strip_prefix(ENDPOINT).filter(|name| !name.is_empty()) {
        Some(endpoint) => Ok(Arc::new(endpoint::open(store, endpoint)?)),
        None => Err(Error::invalid("bad_embedder", format!("{name:?} names no model"))
            .hint("name `builtin`, `file:DIR` or `endpoint:NAME`; SAMITE_EMBEDDER may be `off` too")),
    }
}

#[cfg(feature = "encoder")]
fn built_in() -> Result<Arc<dyn Embedder>> {
    // One text at a time gains next to nothing from more threads.
    Ok(Arc::new(samite_embed::Builtin::new(std::num::NonZeroUsize::MIN)?))
}

/// A model from files, whose vectors are of a space of their own. How it pools and what it puts before texts is read where models of
/// sentence-transformers have it; without that it takes the mean, and puts nothing.
#[cfg(feature = "encoder")]
fn of_files(directory: &Path) -> Result<Arc<dyn Embedder>> {
    use samite_embed::Pooling;
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let read = |name: &str| -> Result<serde_json::Value> {
        let path = directory.join(name);
        let Some(bytes) = files::read_if_exists(&path)? else { return Ok(serde_json::Value::Null) };
        serde_json::from_slice(&bytes)
            .map_err(|error| Error::invalid("bad_model", format!("{} is no JSON", path.display())).because(error))
    };
    let (pooling, prompts) = (read("1_Pooling/config.json")?, read("config_sentence_transformers.json")?);
    let is_cls = pooling.get("pooling_mode_cls_token").and_then(serde_json::Value::as_bool).unwrap_or(false);
    let prefix = |names: &[&str]| {
        let prompts = prompts.get("prompts");
        let found = names.iter().find_map(|name| prompts?.get(name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    let options = samite_embed::FileOptions {
        model: name.filter(|name| !name.is_empty()).unwrap_or_else(|| "model".to_owned()),
        pooling: if is_cls { Pooling::Cls } else { Pooling::Mean },
        query_prefix: prefix(&["query"]),
        passage_prefix: prefix(&["document", "passage"]),
        tokens: 256,
        threads: std::num::NonZeroUsize::MIN,
    };
    Ok(Arc::new(samite_embed::FileModel::open(directory, options, &files::read_if_exists)?))
}

#[cfg(not(feature = "encoder"))]
fn of_files(_directory: &Path) -> Result<Arc<dyn Embedder>> {
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
    let directory = name.strip_prefix(FILE).and_then(|directory| files::canonical(Path::new(directory)).ok());
    directory.map_or_else(|| name.to_owned(), |directory| format!("{FILE}{}", directory.display()))
}

/// The same namespace, searched with the models that were chosen for it, or else with the built-in one.
///
/// # Errors
/// Those of finding the store.
pub(super) fn with_models(surface: &Surface, memory: &Memory) -> Result<Memory> {
    let standard = cfg!(feature = "encoder").then(|| BUILT_IN.to_owned());
    let models = Models { store: surface.directory()?, standard, opened: Mutex::default() };
    Ok(memory.with_models(Arc::new(models)))
}

/// The same namespace, searched with the encoder that the variable names, or else with the models that were chosen for it.
///
/// # Errors
/// `invalid` (`bad_embedder`) for a name that is none.
pub(super) fn with_encoder(surface: &Surface, memory: Memory) -> Result<Memory> {
    match named().as_deref() {
        None => with_models(surface, &memory),
        Some("off") => Ok(memory),
        Some(name) => Ok(memory.with_embedder(open(&surface.directory()?, &whole(name))?)),
    }
}
